//! Why legal plans may disagree about a cell.

use std::ops::{BitOr, BitOrAssign};

/// A set of reasons.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Taint {
    /// A zero may annihilate NaN, an infinity or a division by zero: plans agree in strict IEEE arithmetic.
    zeros: bool,
    /// An interval straddles a jump, a sum may overflow, or the sign of a zero decides.
    unstable: bool,
}

impl Taint {
    pub(crate) const NONE: Taint = Taint { zeros: false, unstable: false };
    pub(crate) const ZEROS: Taint = Taint { zeros: true, unstable: false };
    pub(crate) const UNSTABLE: Taint = Taint { zeros: false, unstable: true };

    pub(crate) fn without_zeros(self) -> Self {
        Taint { zeros: false, ..self }
    }
}

/// Whether something is unstable.
impl From<bool> for Taint {
    fn from(unstable: bool) -> Self {
        Taint { zeros: false, unstable }
    }
}

impl<T: Into<Taint>> BitOr<T> for Taint {
    type Output = Taint;
    fn bitor(self, other: T) -> Taint {
        let other = other.into();
        Taint { zeros: self.zeros || other.zeros, unstable: self.unstable || other.unstable }
    }
}

impl BitOrAssign for Taint {
    fn bitor_assign(&mut self, other: Taint) {
        *self = *self | other;
    }
}
