//! Memory of the program's image, which is part of its address space from the start: bytes are handed out one block after the
//! other, and all of them again when the last block is freed.

use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::sync::{Mutex, PoisonError};

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

/// Takes a block, if there is so much left. The alignment is a power of two, and that of a size at least.
pub(crate) fn take(bytes: usize, alignment: usize) -> Option<*mut c_void> {
    let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
    let least = taken.bytes + HEADER;
    let begin = least.checked_add(start().wrapping_add(least).align_offset(alignment))?;
    let end = begin.checked_add(bytes).filter(|&end| end <= BYTES)?;
    taken.bytes = end;
    taken.blocks += 1;
    let block = start().wrapping_add(begin);
    // SAFETY: the header lies in the reserve, before this block and behind the one before it.
    unsafe { block.sub(HEADER).cast::<usize>().write_unaligned(bytes) };
    Some(block.cast())
}

/// The size of a block.
///
/// # Safety
/// It is a block of the reserve that is in use.
pub(crate) unsafe fn bytes_of(block: *const c_void) -> usize {
    // SAFETY: the header stands before the block.
    unsafe { block.cast::<u8>().sub(HEADER).cast::<usize>().read_unaligned() }
}

/// Counts a block as free. Called once for each.
pub(crate) fn give_back() {
    let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
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
