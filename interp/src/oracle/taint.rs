//! Why legal plans may disagree about a cell.

use std::ops::{BitOr, BitOrAssign};

/// A set of reasons.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Taint {
    /// A zero may annihilate NaN, an infinity or a division by zero, or a chain of products may be regrouped around an
    /// overflow or an infinity: plans agree in strict IEEE arithmetic.
    default_arithmetic: bool,
    /// An interval straddles a jump, a sum may overflow, or the sign of a zero decides.
    unstable: bool,
}

impl Taint {
    pub(crate) const NONE: Taint = Taint { default_arithmetic: false, unstable: false };
    pub(crate) const DEFAULT_ARITHMETIC: Taint = Taint { default_arithmetic: true, unstable: false };
    pub(crate) const UNSTABLE: Taint = Taint { default_arithmetic: false, unstable: true };

    pub(crate) fn in_strict_arithmetic(self) -> Self {
        Taint { default_arithmetic: false, ..self }
    }
}

/// Whether something is unstable.
impl From<bool> for Taint {
    fn from(unstable: bool) -> Self {
        Taint { default_arithmetic: false, unstable }
    }
}

impl<T: Into<Taint>> BitOr<T> for Taint {
    type Output = Taint;
    fn bitor(self, other: T) -> Taint {
        let other = other.into();
        Taint {
            default_arithmetic: self.default_arithmetic || other.default_arithmetic,
            unstable: self.unstable || other.unstable,
        }
    }
}

impl BitOrAssign for Taint {
    fn bitor_assign(&mut self, other: Taint) {
        *self = *self | other;
    }
}
