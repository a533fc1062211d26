//! Vectors and maps of the parts of frames, which are many small allocations: counted together, so that what they hold is
//! within the budget and what the system refuses is an error, and heard between them.

use crate::budget::{MemoryKind, Reservation};
use crate::growing::TextBuffer;
use crate::refusal::AllocationFailure;
use crate::run_context::{SMALLEST_RESERVED, StopListener, reserve};
use fuseline_allocator::fallible;
use fuseline_ir::ScalarType;
use indexmap::IndexMap;
use std::ops::{Deref, DerefMut};

/// Bytes that a tally reserves at a time.
const LUMP: usize = 1 << 20;

/// The memory of many vectors, maps and texts, reserved as it grows. What makes it grow unwinds with [`AllocationFailure`]
/// where the memory is refused.
#[derive(Debug)]
pub struct Tally {
    kind: MemoryKind,
    /// Bytes that are not reserved yet.
    pending: usize,
    held: Vec<Reservation>,
}

impl Tally {
    /// Nothing yet.
    pub fn new(kind: MemoryKind) -> Self {
        Tally { kind, pending: 0, held: Vec::new() }
    }

    /// Reserves so many bytes more.
    #[inline]
    pub fn add(&mut self, bytes: usize) {
        self.pending = self.pending.saturating_add(bytes);
        if self.pending >= LUMP {
            self.held.extend(reserve(self.kind, std::mem::take(&mut self.pending) as u64));
        }
    }

    /// Appends a value to a vector.
    #[inline]
    pub fn push<T>(&mut self, values: &mut Vec<T>, value: T) {
        if values.len() == values.capacity() {
            self.make_room(values, values.len().max(4));
        }
        values.push(value);
    }

    /// Makes room for so many values more in a vector.
    pub fn make_room<T>(&mut self, values: &mut Vec<T>, additional: usize) {
        let needed = values.len().saturating_add(additional);
        let failure = AllocationFailure::of_system::<T>(needed);
        self.add(
            usize::try_from(failure.bytes).unwrap_or(usize::MAX).saturating_sub(values.capacity() * size_of::<T>()),
        );
        if fallible(|| values.try_reserve_exact(additional)).is_err() {
            failure.unwind();
        }
    }

    /// Makes room for an entry more in a map, and at least for as many as it has.
    #[inline]
    pub fn make_room_in_map<K, V>(&mut self, map: &mut IndexMap<K, V>) {
        if map.len() == map.capacity() {
            let additional = map.len().max(4);
            // Beside each entry stand its hash and its place in the table.
            let bytes = size_of::<(K, V)>() + 2 * size_of::<usize>();
            self.add(additional.saturating_mul(bytes));
            if fallible(|| map.try_reserve(additional)).is_err() {
                AllocationFailure::raise::<(K, V)>(map.len().saturating_add(additional));
            }
        }
    }
}

/// A part of a frame.
pub trait Part {
    /// Bytes of its own, beside those that it takes in a vector.
    fn own_bytes(&self) -> usize {
        0
    }
}

impl Part for f64 {}
impl Part for i64 {}
impl Part for u32 {}
impl Part for usize {}
impl Part for bool {}
impl Part for ScalarType {}
impl<T: ?Sized> Part for &T {}

impl Part for (usize, usize) {}
impl Part for (f64, f64) {}

impl Part for String {
    fn own_bytes(&self) -> usize {
        self.len()
    }
}

impl<T: Part> Part for Option<T> {
    fn own_bytes(&self) -> usize {
        self.as_ref().map_or(0, Part::own_bytes)
    }
}

impl<T: Part> Part for Vec<T> {
    fn own_bytes(&self) -> usize {
        size_of_val(&self[..]) + self.iter().map(Part::own_bytes).sum::<usize>()
    }
}

/// Parts of a frame that are made one by one. What makes them more unwinds with [`AllocationFailure`] where the memory is
/// refused, and after a request to stop.
#[derive(Debug)]
pub struct Collected<T> {
    values: Vec<T>,
    held: Tally,
    stop: StopListener,
}

impl<T> Default for Collected<T> {
    fn default() -> Self {
        Collected { values: Vec::new(), held: Tally::new(MemoryKind::Frame), stop: StopListener::current() }
    }
}

impl<T: Part> Collected<T> {
    /// So many equal parts.
    pub fn filled(len: usize, part: T) -> Self
    where
        T: Clone,
    {
        std::iter::repeat_n(part, len).collect()
    }

    /// Appends a part.
    #[inline]
    pub fn push(&mut self, part: T) {
        self.stop.check();
        self.held.add(part.own_bytes());
        self.held.push(&mut self.values, part);
    }

    /// The parts, no longer reserved.
    pub fn into_vec(self) -> Vec<T> {
        self.values
    }
}

impl<T: Part> Extend<T> for Collected<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, parts: I) {
        let parts = parts.into_iter();
        self.held.make_room(&mut self.values, parts.size_hint().0);
        parts.for_each(|part| self.push(part));
    }
}

impl<T: Part> FromIterator<T> for Collected<T> {
    fn from_iter<I: IntoIterator<Item = T>>(parts: I) -> Self {
        let mut collected = Collected::default();
        collected.extend(parts);
        collected
    }
}

impl<'a, T> IntoIterator for &'a Collected<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;
    fn into_iter(self) -> Self::IntoIter {
        self.values.iter()
    }
}

impl<T: PartialEq> PartialEq for Collected<T> {
    fn eq(&self, other: &Self) -> bool {
        self.values == other.values
    }
}

impl<T> Deref for Collected<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self.values
    }
}

impl<T> DerefMut for Collected<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.values
    }
}

/// A copy of a text. Unwinds with [`AllocationFailure`] where it is long and its memory is refused.
pub fn copied_text(text: &str) -> String {
    if text.len() < SMALLEST_RESERVED { text.to_owned() } else { TextBuffer::of_parts(&[text]).into_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Budget;
    use crate::run_context::{Abort, RunContext, StopFlag, check_stop};
    use crate::{BufferPool, Refusal};

    const MIB: usize = 1 << 20;

    fn context(limit: usize) -> RunContext {
        RunContext::new(BufferPool::within(Budget::new(limit as u64), 0), StopFlag::default())
    }

    #[test]
    fn parts_and_what_they_own_are_reserved() {
        let context = context(20 * MIB);
        let held = || context.budget().held() as usize;
        let collected = context.run(|| {
            let texts: Collected<String> = (0..100_000).map(|_| "0123456789".repeat(10)).collect();
            assert!((10 * MIB..14 * MIB).contains(&held()), "{}", held());
            texts.into_vec()
        });
        assert_eq!((collected.map(|texts| texts.len()), held()), (Ok(100_000), 0));
        let too_many = context.run(|| (0..200_000).map(|_| "0123456789".repeat(10)).collect::<Collected<_>>().len());
        assert!(matches!(too_many, Err(Abort::Memory(failure)) if failure.refusal != Refusal::System), "{too_many:?}");
        assert_eq!(held(), 0);
    }

    #[test]
    fn what_no_machine_holds_is_refused() {
        for len in [usize::MAX, usize::MAX / 8, 1 << 50] {
            let refused = context(usize::MAX).run(|| Collected::filled(len, 0.0).len());
            assert!(matches!(refused, Err(Abort::Memory(_))), "{refused:?}");
        }
        let mut values = vec![0_u32; 3];
        let refused = context(usize::MAX).run(|| Tally::new(MemoryKind::Frame).make_room(&mut values, 1 << 60));
        assert!(matches!(refused, Err(Abort::Memory(_))), "{refused:?}");
    }

    #[test]
    fn maps_are_reserved_as_they_grow() {
        let context = context(8 * MIB);
        let filled = |entries: usize| {
            context.run(|| {
                let (mut map, mut held) = (IndexMap::new(), Tally::new(MemoryKind::Frame));
                for key in 0..entries {
                    held.make_room_in_map(&mut map);
                    map.insert(key, key);
                }
                map.len()
            })
        };
        assert_eq!(filled(100_000), Ok(100_000));
        assert!(matches!(filled(1_000_000), Err(Abort::Memory(_))));
    }

    #[test]
    fn collecting_hears_a_request_to_stop() {
        let context = context(MIB);
        let endless = || {
            let raise = |number: usize| {
                if number == 1000 {
                    context.stop().raise();
                }
                number
            };
            std::iter::successors(Some(0), |number| Some(number + 1)).map(raise).collect::<Collected<usize>>().len()
        };
        assert_eq!(context.run(endless), Err(Abort::Stopped));
        assert!(context.stop().take());
        assert_eq!(context.run(check_stop), Ok(()));
    }

    #[test]
    fn long_texts_are_copied_within_the_budget() {
        let text = "x".repeat(MIB);
        assert_eq!(context(2 * MIB).run(|| copied_text(&text)).as_deref(), Ok(text.as_str()));
        assert!(matches!(context(MIB / 2).run(|| copied_text(&text)), Err(Abort::Memory(_))));
    }
}
