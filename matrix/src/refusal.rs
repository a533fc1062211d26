//! Memory that is refused: what is unwound with where nobody could return an error.

use crate::budget::Exhausted;
use fuseline_ir::size::bytes_text;
use std::fmt;

/// Memory that is refused. Where so much is asked for there is nobody to return an error to: this is the payload of an
/// unwinding, to be caught where an operator is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllocationFailure {
    /// The bytes that were asked for; `u64::MAX` where these are more.
    pub bytes: u64,
    /// Who refuses them.
    pub refusal: Refusal,
}

impl fmt::Display for AllocationFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = bytes_text(self.bytes);
        match self.refusal {
            Refusal::System => write!(f, "{bytes}, which the system refuses"),
            Refusal::Budget(Exhausted { held: 0, limit }) => {
                write!(f, "{bytes}, the memory budget is {}", bytes_text(limit))
            }
            Refusal::Budget(Exhausted { held, limit }) => {
                write!(f, "{bytes} beside {} in use, the memory budget is {}", bytes_text(held), bytes_text(limit))
            }
        }
    }
}

/// Who refuses memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The system.
    System,
    /// The budget, which has not so much left.
    Budget(Exhausted),
}

impl AllocationFailure {
    /// The system refuses so many values.
    pub(crate) fn of_system<T>(len: usize) -> Self {
        let bytes = len.checked_mul(size_of::<T>()).map_or(u64::MAX, |bytes| bytes as u64);
        AllocationFailure { bytes, refusal: Refusal::System }
    }

    /// Unwinds, without the message of a panic.
    pub fn unwind(self) -> ! {
        std::panic::resume_unwind(Box::new(self))
    }

    /// Unwinds where the system refuses so many values.
    pub(crate) fn raise<T>(len: usize) -> ! {
        AllocationFailure::of_system::<T>(len).unwind()
    }
}
