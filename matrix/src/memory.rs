//! Memory for long runs of numbers: zero at first, aligned to 64 bytes unless it is small, on huge pages where it is large.
//!
//! The system clears every page that it hands out, and each page costs a fault besides: filling fresh memory by small
//! pages takes several times as long as copying the values. Huge pages leave hardly more than the clearing. They are also
//! read faster, even in the cache, since there are addresses of fewer pages to look up.

use crate::borrowed::Borrowed;
use crate::budget::{Budget, MemoryKind, Reservation};
use crate::growing::Growing;
use crate::refusal::AllocationFailure;
use crate::run_context::{SMALLEST_RESERVED, count, give_up_idle, reserve};
use aligned_vec::{AVec, ConstAlign};
use bytemuck::{Pod, cast_slice, cast_slice_mut};
use memmap2::MmapMut;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// A vector of this many zeros, for results whose size the data decide. Unwinds with [`AllocationFailure`] where the memory
/// is refused.
pub fn zeros(len: usize) -> Vec<f64> {
    Growing::filled(MemoryKind::Scratch, len, 0.0).into_vec()
}

/// Reserves the memory of so many values, unless they are few. Unwinds with [`AllocationFailure`] where so much is not left.
pub(crate) fn reserve_for<T>(kind: MemoryKind, len: usize) -> Option<Reservation> {
    match len.checked_mul(size_of::<T>()) {
        Some(bytes) if bytes < SMALLEST_RESERVED => None,
        Some(bytes) => reserve(kind, bytes as u64),
        None => AllocationFailure::raise::<T>(len),
    }
}

/// Bytes of a huge page. Where they are larger, or there are none, runs lie on small ones.
const HUGE_PAGE: usize = 2 << 20;
/// Bytes from which a run has pages of its own, most of which are huge.
const SMALLEST_MAPPED: usize = 2 * HUGE_PAGE;

/// Bytes from which alignment saves more than an aligned allocation costs.
const SMALLEST_ALIGNED: usize = 1 << 10;

enum Storage<T: 'static> {
    Heap(AVec<T, ConstAlign<64>>),
    Vector(Vec<T>),
    Pages(Pages),
    /// Of another owner: copied before it is written.
    Borrowed(Borrowed<T>),
}

/// Bytes on pages of their own, the whole huge pages first.
struct Pages {
    map: MmapMut,
    /// Where the first huge page begins, and how many bytes there are from there on.
    start: usize,
    bytes: usize,
}

impl Pages {
    fn try_new(bytes: usize) -> Option<Self> {
        // What lies before the first huge page is never touched, and so takes no memory.
        let map = MmapMut::map_anon(bytes.checked_add(HUGE_PAGE)?).ok()?;
        let start = map.as_ptr().align_offset(HUGE_PAGE);
        // A hint: without huge pages everything works, but takes longer. The rest, which would waste most of one, has none.
        #[cfg(target_os = "linux")]
        let _ = map.advise_range(memmap2::Advice::HugePage, start, bytes / HUGE_PAGE * HUGE_PAGE);
        Some(Pages { map, start, bytes })
    }
}

impl<T: Pod> Deref for Storage<T> {
    type Target = [T];
    #[inline]
    fn deref(&self) -> &[T] {
        match self {
            Storage::Heap(values) => values,
            Storage::Vector(values) => values,
            Storage::Pages(Pages { map, start, bytes }) => cast_slice(&map[*start..start + bytes]),
            Storage::Borrowed(values) => values,
        }
    }
}

/// A run of numbers, in memory of its own or borrowed.
pub(crate) struct Memory<T: 'static> {
    storage: Storage<T>,
    /// At most that of the storage.
    len: usize,
    /// Where the storage is large, and was allocated in a run.
    reservation: Option<Reservation>,
}

impl<T: Pod> Memory<T> {
    /// A run of zeros. Large runs cost nothing before they are written. Unwinds with [`AllocationFailure`] where the memory
    /// is refused.
    pub(crate) fn zeroed(len: usize) -> Self {
        let reservation = reserve_for::<T>(MemoryKind::Matrix, len);
        Memory { reservation, ..Self::allocated(len).unwrap_or_else(|| AllocationFailure::raise::<T>(len)) }
    }

    /// A run of zeros that is not reserved, or none where the system refuses that much memory.
    fn allocated(len: usize) -> Option<Self> {
        let bytes = len.checked_mul(size_of::<T>())?;
        if bytes < SMALLEST_MAPPED {
            return Some(Self::on_heap(len));
        }
        let pages = Pages::try_new(bytes).or_else(|| {
            give_up_idle();
            Pages::try_new(bytes)
        });
        Some(Memory { storage: Storage::Pages(pages?), len, reservation: None })
    }

    fn on_heap(len: usize) -> Self {
        if len * size_of::<T>() < SMALLEST_ALIGNED {
            return vec![T::zeroed(); len].into();
        }
        let mut values = AVec::new(64);
        values.resize(len, T::zeroed());
        Memory { storage: Storage::Heap(values), len, reservation: None }
    }

    /// The values of a vector, whose memory is reserved already.
    fn of_reserved(values: Vec<T>, reservation: Option<Reservation>) -> Self {
        Memory { len: values.len(), storage: Storage::Vector(values), reservation }
    }

    /// The number of values that fit.
    pub(crate) fn capacity(&self) -> usize {
        self.storage.len()
    }

    /// Whether what was reserved for it is of this budget, if anything was.
    pub(crate) fn is_within(&self, budget: &Arc<Budget>) -> bool {
        self.reservation.as_ref().is_none_or(|reservation| reservation.is_of(budget))
    }

    /// Whether the memory is of another owner, who keeps it.
    pub(crate) fn is_borrowed(&self) -> bool {
        matches!(self.storage, Storage::Borrowed(_))
    }

    /// Whether the memory is of another owner, who may change it between evaluations.
    pub(crate) fn may_change(&self) -> bool {
        matches!(&self.storage, Storage::Borrowed(values) if values.may_change())
    }

    /// Whether the memory is aligned and may serve another matrix.
    pub(crate) fn is_recyclable(&self) -> bool {
        matches!(self.storage, Storage::Heap(_) | Storage::Pages(_))
    }

    /// The memory as a run of another length, with unspecified content.
    ///
    /// # Panics
    /// The capacity is smaller.
    pub(crate) fn with_len(self, len: usize) -> Self {
        assert!(len <= self.capacity(), "{len} values do not fit into {}", self.capacity());
        Memory { len, ..self }
    }

    /// The values as a vector; copied unless they came as one.
    pub(crate) fn into_vec(self) -> Vec<T> {
        match self.storage {
            Storage::Vector(values) if values.len() == self.len => values,
            storage => storage[..self.len].to_vec(),
        }
    }
}

impl<T: Pod> From<Borrowed<T>> for Memory<T> {
    fn from(values: Borrowed<T>) -> Self {
        Memory { len: values.len(), storage: Storage::Borrowed(values), reservation: None }
    }
}

impl<T: Pod> From<Vec<T>> for Memory<T> {
    fn from(values: Vec<T>) -> Self {
        let bytes = values.capacity() * size_of::<T>();
        let reservation = if bytes < SMALLEST_RESERVED { None } else { count(MemoryKind::Matrix, bytes as u64) };
        Memory::of_reserved(values, reservation)
    }
}

impl<T: Pod> From<Growing<T>> for Memory<T> {
    fn from(values: Growing<T>) -> Self {
        let (values, reservation) = values.into_reserved();
        Memory::of_reserved(values, reservation)
    }
}

impl<T: Pod> Default for Memory<T> {
    fn default() -> Self {
        Vec::new().into()
    }
}

impl<T: Pod> Deref for Memory<T> {
    type Target = [T];
    #[inline]
    fn deref(&self) -> &[T] {
        &self.storage[..self.len]
    }
}

impl<T: Pod> DerefMut for Memory<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        if matches!(self.storage, Storage::Borrowed(_)) {
            *self = self.clone();
        }
        let values: &mut [T] = match &mut self.storage {
            Storage::Heap(values) => values,
            Storage::Vector(values) => values,
            Storage::Pages(Pages { map, start, bytes }) => cast_slice_mut(&mut map[*start..*start + *bytes]),
            Storage::Borrowed(_) => unreachable!("a copy has memory of its own"),
        };
        &mut values[..self.len]
    }
}

impl<T: Pod> Clone for Memory<T> {
    fn clone(&self) -> Self {
        let mut copy = Self::zeroed(self.len);
        copy.copy_from_slice(self);
        copy
    }
}

impl<T: Pod + PartialEq> PartialEq for Memory<T> {
    fn eq(&self, other: &Self) -> bool {
        self[..] == other[..]
    }
}

impl<T: Pod + fmt::Debug> fmt::Debug for Memory<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::refusal::Refusal;
    use crate::run_context::{Abort, caught};

    /// Lengths on both sides of where pages begin.
    const LENGTHS: [usize; 6] =
        [0, 1, 1000, (SMALLEST_MAPPED >> 3) - 1, (SMALLEST_MAPPED >> 3) + 1, ((5 * HUGE_PAGE) >> 3) - 1];

    #[test]
    fn runs_of_any_length_are_aligned_zeros_that_can_be_written_and_copied() {
        for len in LENGTHS {
            let mut memory = Memory::<f64>::zeroed(len);
            assert_eq!(memory.len(), len);
            assert!(len * 8 < SMALLEST_ALIGNED || memory.as_ptr().addr().is_multiple_of(64), "{len}");
            assert!(memory.iter().all(|&value| value == 0.0), "{len}");
            memory.iter_mut().enumerate().for_each(|(index, value)| *value = index as f64);
            assert_eq!(memory.clone(), memory);
            let shorter = memory.with_len(len / 2);
            assert_eq!(shorter.len(), len / 2);
            assert!(shorter.into_vec().iter().enumerate().all(|(index, &value)| value == index as f64), "{len}");
        }
    }

    #[test]
    fn what_the_system_refuses_unwinds_with_the_bytes() {
        for (len, bytes) in [(1 << 50, 1 << 53), (usize::MAX, u64::MAX)] {
            let refused = caught(|| drop(Memory::<f64>::zeroed(len))).expect_err("there is not that much memory");
            assert_eq!(refused, Abort::Memory(AllocationFailure { bytes, refusal: Refusal::System }));
        }
    }

    #[test]
    fn vectors_of_zeros_are_refused_alike() {
        assert_eq!(zeros(3), [0.0; 3]);
        assert!(caught(|| drop(zeros(1 << 50))).is_err() && caught(|| drop(zeros(usize::MAX))).is_err());
    }

    #[test]
    fn long_runs_begin_with_a_huge_page() {
        for len in LENGTHS.into_iter().filter(|len| 8 * len >= SMALLEST_MAPPED) {
            let memory = Memory::<f64>::zeroed(len);
            assert_eq!((memory.as_ptr().addr() % HUGE_PAGE, memory.capacity()), (0, len));
        }
    }

    #[test]
    fn vectors_pass_through_without_a_copy() {
        let values = vec![1_u32, 2, 3];
        let address = values.as_ptr();
        let memory = Memory::from(values);
        assert!(!memory.is_recyclable());
        let values = memory.into_vec();
        assert_eq!(values.as_ptr(), address);
    }
}
