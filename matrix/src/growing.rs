//! Vectors and texts that grow within the budget: for what has its size from data.

use crate::budget::{MemoryKind, Reservation};
use crate::refusal::AllocationFailure;
use crate::run_context::{SMALLEST_RESERVED, StopListener, try_reserve};
use fuseline_allocator::fallible;
use std::fmt;
use std::ops::{Deref, DerefMut};

/// A vector that reserves its memory before it grows, once it is large. Whatever makes it grow unwinds with
/// [`AllocationFailure`] where the memory is refused.
#[derive(Debug)]
pub struct Growing<T> {
    kind: MemoryKind,
    values: Vec<T>,
    /// Of the whole capacity, where that is large.
    reservation: Option<Reservation>,
}

impl<T> Growing<T> {
    /// No values.
    pub fn new(kind: MemoryKind) -> Self {
        Growing { kind, values: Vec::new(), reservation: None }
    }

    /// No values, and room for so many.
    pub fn with_capacity(kind: MemoryKind, len: usize) -> Self {
        let mut growing = Growing::new(kind);
        growing.reserve(len);
        growing
    }

    /// So many equal values.
    pub fn filled(kind: MemoryKind, len: usize, value: T) -> Self
    where
        T: Clone,
    {
        let mut growing = Growing::new(kind);
        growing.extend_with(len, value);
        growing
    }

    /// Makes room for so many values more, and for twice as many as there was for, if there is so much memory.
    #[inline]
    pub fn reserve(&mut self, additional: usize) {
        let needed = self.values.len().saturating_add(additional);
        if needed > self.values.capacity() {
            self.grow(needed);
        }
    }

    #[cold]
    fn grow(&mut self, needed: usize) {
        let doubled = needed.max(self.values.capacity().saturating_mul(2));
        let grown = self.try_grow(doubled).or_else(|_| self.try_grow(needed));
        grown.unwrap_or_else(|failure| failure.unwind());
    }

    fn try_grow(&mut self, capacity: usize) -> Result<(), AllocationFailure> {
        let failure = || AllocationFailure::of_system::<T>(capacity);
        let bytes = capacity.checked_mul(size_of::<T>()).ok_or_else(failure)?;
        let more = if bytes < SMALLEST_RESERVED {
            None
        } else {
            let held = self.reservation.as_ref().map_or(0, Reservation::bytes);
            try_reserve(self.kind, (bytes as u64).saturating_sub(held))?
        };
        fallible(|| self.values.try_reserve_exact(capacity - self.values.len())).map_err(|_| failure())?;
        match (&mut self.reservation, more) {
            (Some(held), Some(more)) => held.absorb(more),
            (held, more) => *held = held.take().or(more),
        }
        Ok(())
    }

    /// Appends a value.
    #[inline]
    pub fn push(&mut self, value: T) {
        self.reserve(1);
        self.values.push(value);
    }

    /// Appends the values of a vector.
    pub fn append(&mut self, mut values: Vec<T>) {
        self.reserve(values.len());
        self.values.append(&mut values);
    }

    /// Appends copies of values.
    pub fn extend_from_slice(&mut self, values: &[T])
    where
        T: Clone,
    {
        self.reserve(values.len());
        self.values.extend_from_slice(values);
    }

    /// Appends so many equal values.
    pub fn extend_with(&mut self, additional: usize, value: T)
    where
        T: Clone,
    {
        self.reserve(additional);
        self.values.resize(self.values.len() + additional, value);
    }

    /// Forgets the values, and keeps the room.
    pub fn clear(&mut self) {
        self.values.clear();
    }

    /// The vector, for those who write no more to it than there is room for.
    pub fn vec_mut(&mut self) -> &mut Vec<T> {
        &mut self.values
    }

    /// The values, no longer reserved.
    pub fn into_vec(self) -> Vec<T> {
        self.values
    }

    /// The values, and what is reserved for them.
    pub(crate) fn into_reserved(self) -> (Vec<T>, Option<Reservation>) {
        (self.values, self.reservation)
    }
}

impl<T: Clone> Clone for Growing<T> {
    fn clone(&self) -> Self {
        let mut copy = Growing::with_capacity(self.kind, self.values.len());
        copy.extend_from_slice(&self.values);
        copy
    }
}

impl<T> Extend<T> for Growing<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, values: I) {
        let values = values.into_iter();
        self.reserve(values.size_hint().0);
        values.for_each(|value| self.push(value));
    }
}

impl<T> Deref for Growing<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self.values
    }
}

impl<T> DerefMut for Growing<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.values
    }
}

/// Bytes that are copied between two looks at a request to stop.
const COPIED_AT_ONCE: usize = 1 << 20;

/// A text under construction. What makes it grow unwinds with [`AllocationFailure`] where the memory is refused, and after a
/// request to stop.
#[derive(Debug)]
pub struct TextBuffer {
    bytes: Growing<u8>,
    stop: StopListener,
}

impl Default for TextBuffer {
    fn default() -> Self {
        TextBuffer { bytes: Growing::new(MemoryKind::Text), stop: StopListener::current() }
    }
}

impl TextBuffer {
    /// The parts of a text, one after the other.
    pub fn of_parts(parts: &[&str]) -> Self {
        let bytes = parts.iter().fold(0, |sum: usize, part| sum.saturating_add(part.len()));
        let mut text = TextBuffer::default();
        text.bytes.reserve(bytes);
        parts.iter().for_each(|part| text.push_str(part));
        text
    }

    /// Appends a text.
    pub fn push_str(&mut self, text: &str) {
        for part in text.as_bytes().chunks(COPIED_AT_ONCE) {
            self.stop.check();
            self.bytes.extend_from_slice(part);
        }
    }

    /// The text, no longer reserved.
    pub fn into_string(self) -> String {
        String::from_utf8(self.bytes.into_vec()).expect("texts one after the other are a text")
    }
}

impl fmt::Write for TextBuffer {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.push_str(text);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::{Budget, Exhausted};
    use crate::refusal::Refusal;
    use crate::run_context::{Abort, RunContext, StopFlag, caught};
    use crate::{BufferPool, Dense};

    const MIB: usize = 1 << 20;

    fn context(limit: usize) -> RunContext {
        RunContext::new(BufferPool::within(Budget::new(limit as u64), 0), StopFlag::default())
    }

    #[test]
    fn vectors_reserve_their_capacity_and_hand_it_on() {
        let context = context(20 * MIB);
        let matrix = context.run(|| {
            let mut values = Growing::new(MemoryKind::Matrix);
            (0..MIB).for_each(|value| values.push(value as f64));
            Dense::from_memory(1, MIB, values.into())
        });
        let held = context.budget().held() as usize;
        assert!((8 * MIB..=16 * MIB).contains(&held), "{held}");
        assert_eq!(matrix.expect("it fits").get(0, MIB - 1), (MIB - 1) as f64);
        assert_eq!(context.budget().held(), 0);
    }

    /// Up to the last value that fits, although there is no room for twice as many.
    #[test]
    fn growth_ends_at_the_limit() {
        let context = context(3 * MIB);
        let filled = |len: usize| {
            context.run(|| {
                let mut bytes = Growing::new(MemoryKind::File);
                (0..len).for_each(|_| bytes.push(0_u8));
            })
        };
        assert_eq!(filled(3 * MIB), Ok(()));
        let refused = filled(3 * MIB + 1);
        let exhausted = Exhausted { held: 3 * MIB as u64, limit: 3 * MIB as u64 };
        let failure = AllocationFailure { bytes: 1, refusal: Refusal::Budget(exhausted) };
        assert_eq!(refused, Err(Abort::Memory(failure)));
        assert_eq!(context.budget().held(), 0);
    }

    #[test]
    fn what_no_machine_holds_is_refused() {
        let refused = caught(|| Growing::<u64>::with_capacity(MemoryKind::File, usize::MAX / 16).len());
        assert!(matches!(refused, Err(Abort::Memory(AllocationFailure { refusal: Refusal::System, .. }))));
        let overflow = caught(|| Growing::<u64>::with_capacity(MemoryKind::File, usize::MAX).len());
        assert!(matches!(overflow, Err(Abort::Memory(AllocationFailure { bytes: u64::MAX, .. }))));
    }

    #[test]
    fn texts_are_put_together() {
        assert_eq!(TextBuffer::of_parts(&["a", "", "bc"]).into_string(), "abc");
        let text = "x".repeat(MIB);
        assert!(context(3 * MIB).run(|| TextBuffer::of_parts(&[&text, &text]).into_string().len()).is_ok());
        assert!(context(MIB).run(|| TextBuffer::of_parts(&[&text, &text]).into_string().len()).is_err());
    }
}
