//! Memory of the program's image, which is part of its address space from the start: bytes are handed out one block after the
//! other, and all of them again when the last block is freed.

use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Bytes of the reserve: some more than are allocated from one look at the refusal to the next.
const BYTES: usize = 16 << 20;

/// Before each block stands its size.
const HEADER: usize = size_of::<usize>();

#[repr(align(4096))]
struct Reserve(UnsafeCell<[u8; BYTES]>);

// SAFETY: its bytes are handed out once each, under the lock of `TAKEN`.
unsafe impl Sync for Reserve {}

static RESERVE: Reserve = Reserve(UnsafeCell::new([0; BYTES]));

struct Taken {
    bytes: usize,
    /// Blocks in use.
    blocks: usize,
}

static TAKEN: Mutex<Taken> = Mutex::new(Taken { bytes: 0, blocks: 0 });

fn start() -> *mut u8 {
    RESERVE.0.get().cast()
}

fn taken() -> MutexGuard<'static, Taken> {
    TAKEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes a block of one byte at least, if there is so much left: a block without bytes could begin behind the reserve. The
/// alignment is a power of two.
pub(crate) fn take(bytes: usize, alignment: usize) -> Option<*mut c_void> {
    let bytes = bytes.max(1);
    let mut taken = taken();
    let least = taken.bytes + HEADER;
    let begin = least.checked_add(start().wrapping_add(least).align_offset(alignment))?;
    let end = begin.checked_add(bytes).filter(|&end| end <= BYTES)?;
    taken.bytes = end;
    taken.blocks += 1;
    let block = start().wrapping_add(begin);
    // SAFETY: the header lies in the reserve, before this block and behind the one before it.
    unsafe { write_header(block, bytes) };
    Some(block.cast())
}

/// Notes the size of a block.
///
/// # Safety
/// The bytes before it are its header's.
unsafe fn write_header(block: *mut u8, bytes: usize) {
    // SAFETY: the caller's.
    unsafe { block.sub(HEADER).cast::<usize>().write_unaligned(bytes) };
}

/// The size of a block.
///
/// # Safety
/// It is a block of the reserve that is in use.
pub(crate) unsafe fn bytes_of(block: *const c_void) -> usize {
    // SAFETY: the header stands before the block.
    unsafe { block.cast::<u8>().sub(HEADER).cast::<usize>().read_unaligned() }
}

/// Makes a block larger where it lies, and says whether it did: it is the last one, and there is so much left.
///
/// # Safety
/// It is a block of the reserve that is in use, and has fewer bytes.
pub(crate) unsafe fn grow(block: *mut c_void, bytes: usize) -> bool {
    let mut taken = taken();
    let begin = block.addr() - start().addr();
    // SAFETY: the caller's.
    let is_last = begin + unsafe { bytes_of(block) } == taken.bytes;
    let Some(end) = begin.checked_add(bytes).filter(|&end| is_last && end <= BYTES) else { return false };
    taken.bytes = end;
    // SAFETY: the header stands before the block.
    unsafe { write_header(block.cast(), bytes) };
    true
}

/// Counts a block as free. Called once for each.
pub(crate) fn give_back() {
    let mut taken = taken();
    taken.blocks -= 1;
    if taken.blocks == 0 {
        taken.bytes = 0;
    }
}

/// Whether memory is of the reserve.
pub(crate) fn contains(memory: *const c_void) -> bool {
    let start = start().addr();
    (start..start + BYTES).contains(&memory.addr())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Tests take turns at the reserve: each finds it empty, and leaves it so.
    pub(crate) fn turn() -> MutexGuard<'static, ()> {
        static TURN: Mutex<()> = Mutex::new(());
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        assert_eq!(taken().blocks, 0, "another test left blocks");
        turn
    }

    #[test]
    fn all_of_the_reserve_is_free_again_when_its_last_block_is() {
        let _turn = turn();
        let first = take(100, 16).unwrap();
        let second = take(100, 16).unwrap();
        assert!(first.addr() + 100 <= second.addr());
        give_back();
        let third = take(100, 16).unwrap();
        assert!(second.addr() + 100 <= third.addr(), "two blocks are in use");
        give_back();
        give_back();
        assert_eq!(take(BYTES - 16, 16), Some(first));
        give_back();
    }

    #[test]
    fn blocks_are_aligned() {
        let _turn = turn();
        let alignments: Vec<usize> = (4..22).map(|exponent| 1 << exponent).collect();
        for &alignment in &alignments {
            let block = take(1, alignment).unwrap();
            assert!(contains(block) && block.addr().is_multiple_of(alignment), "{block:?} at {alignment}");
        }
        assert_eq!(take(1, 1 << 63), None);
        alignments.iter().for_each(|_| give_back());
    }

    #[test]
    fn no_block_is_taken_that_does_not_fit() {
        let _turn = turn();
        assert_eq!(take(BYTES, 16), None);
        assert_eq!(take(usize::MAX, 16), None);
        take(BYTES - 16, 16).unwrap();
        assert_eq!(take(1, 16), None);
        give_back();
    }

    #[test]
    fn blocks_without_bytes_are_of_the_reserve() {
        let _turn = turn();
        for left in 0..64 {
            take(BYTES - 16 - left, 16).unwrap();
            let empty = take(0, 16);
            assert!(empty.is_none_or(|block| contains(block)), "{empty:?} where {left} bytes are left");
            empty.inspect(|_| give_back());
            give_back();
        }
    }

    #[test]
    fn the_last_block_grows_where_it_lies() {
        let _turn = turn();
        let first = take(100, 16).unwrap();
        // SAFETY: blocks in use, of fewer bytes each time.
        unsafe {
            assert!(grow(first, 1000));
            assert_eq!(bytes_of(first), 1000);
            let second = take(100, 16).unwrap();
            assert!(first.addr() + 1000 <= second.addr());
            assert!(!grow(first, 1001), "it is not the last");
            assert!(!grow(second, BYTES));
            assert!(!grow(second, usize::MAX));
            assert_eq!((bytes_of(first), bytes_of(second)), (1000, 100));
            let left = start().addr() + BYTES - second.addr();
            assert!(!grow(second, left + 1));
            assert!(grow(second, left));
        }
        give_back();
        give_back();
    }
}
