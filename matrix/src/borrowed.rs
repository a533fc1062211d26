//! Values in memory of another owner: read where they lie, never written, never recycled, and not part of the budget.

use crate::error::BorrowError;
use bytemuck::{Pod, try_cast_slice};
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use yoke::Yoke;
use yoke::erased::ErasedArcCart;

/// A run of values that another owner keeps in memory. The owner is held for as long as anything reads the values.
pub struct Borrowed<T: 'static> {
    values: Yoke<&'static [T], ErasedArcCart>,
    may_change: bool,
}

impl<T: Pod> Borrowed<T> {
    /// The values in these bytes of an owner.
    ///
    /// What an owner lends by safe code cannot change while it is lent.
    ///
    /// # Errors
    /// The bytes are no run of aligned values.
    pub fn new<O: Send + Sync + 'static>(owner: Arc<O>, bytes: impl FnOnce(&O) -> &[u8]) -> Result<Self, BorrowError> {
        let values = Yoke::try_attach_to_cart(owner, |owner| values_in(bytes(owner)))?.erase_arc_cart();
        Ok(Borrowed { values, may_change: false })
    }

    /// The values of an owner that lets others change them between evaluations, such as an interpreter whose scripts write
    /// to its arrays. That takes unsafe code, which answers for it that nothing changes *during* an evaluation. Results
    /// of evaluations are copies then, and positions of sparse matrices are checked before each.
    pub fn changing(self) -> Self {
        Borrowed { may_change: true, ..self }
    }

    /// Whether the owner may change the values between evaluations.
    pub(crate) fn may_change(&self) -> bool {
        self.may_change
    }
}

/// The bytes as values, where they are a run of them.
fn values_in<T: Pod>(bytes: &[u8]) -> Result<&[T], BorrowError> {
    if bytes.is_empty() {
        return Ok(&[]);
    }
    let misfit = |_| BorrowError::Bytes { bytes: bytes.len(), address: bytes.as_ptr().addr(), width: size_of::<T>() };
    try_cast_slice(bytes).map_err(misfit)
}

impl<T> Deref for Borrowed<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        self.values.get()
    }
}

impl<T: fmt::Debug> fmt::Debug for Borrowed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}
