//! The program's `malloc`: that of the GNU C library, with a reserve for what the system refuses.
//!
//! Rust, LLVM and the C library itself abort a process whose small allocations are refused. A program that links this crate
//! (`use fuseline_malloc as _;`) replaces `malloc` and its kin, as the C library allows: what the system refuses is served
//! from the reserve, and `fuseline_allocator` remembers that it was. Where the reserve does not suffice, the process ends
//! with a message and the status of an error. Who can do without gets none (`fuseline_allocator::fallible`).
//!
//! With other C libraries the crate is empty.
#![cfg(all(target_os = "linux", target_env = "gnu"))]

mod reserve;

use fuseline_allocator::{is_fallible, note_refusal};
use std::ffi::{c_int, c_void};
use std::io::{Cursor, Write};
use std::ptr::null_mut;

/// The alignment of all memory.
const ALIGNMENT: usize = 16;

/// Exit status after an error.
const FAILURE: c_int = 1;

const ENOMEM: c_int = 12;
const EINVAL: c_int = 22;

unsafe extern "C" {
    fn __libc_malloc(bytes: usize) -> *mut c_void;
    fn __libc_calloc(count: usize, bytes: usize) -> *mut c_void;
    fn __libc_realloc(memory: *mut c_void, bytes: usize) -> *mut c_void;
    fn __libc_memalign(alignment: usize, bytes: usize) -> *mut c_void;
    fn __libc_free(memory: *mut c_void);
    fn malloc_usable_size(memory: *mut c_void) -> usize;
    fn _exit(status: c_int) -> !;
}

/// `malloc` of the C standard.
#[unsafe(no_mangle)]
extern "C" fn malloc(bytes: usize) -> *mut c_void {
    // SAFETY: it takes any size.
    or_reserve(unsafe { __libc_malloc(bytes) }, bytes, ALIGNMENT)
}

/// `calloc` of the C standard.
#[unsafe(no_mangle)]
extern "C" fn calloc(count: usize, bytes: usize) -> *mut c_void {
    // SAFETY: it takes any sizes.
    let memory = unsafe { __libc_calloc(count, bytes) };
    if !memory.is_null() {
        return memory;
    }
    let Some(bytes) = count.checked_mul(bytes) else { return null_mut() };
    let memory = or_reserve(null_mut(), bytes, ALIGNMENT);
    if !memory.is_null() {
        // SAFETY: it has so many bytes. They may have been used before.
        unsafe { memory.cast::<u8>().write_bytes(0, bytes) };
    }
    memory
}

/// `realloc` of the C standard.
///
/// # Safety
/// The memory is null, or came from these functions and was not freed.
#[unsafe(no_mangle)]
unsafe extern "C" fn realloc(memory: *mut c_void, bytes: usize) -> *mut c_void {
    let known = if reserve::contains(memory) {
        // SAFETY: it is of the reserve, and in use.
        unsafe { reserve::bytes_of(memory) }
    } else {
        // SAFETY: it is null or came from the C library.
        let moved = unsafe { __libc_realloc(memory, bytes) };
        if !moved.is_null() || bytes == 0 {
            return moved;
        }
        // SAFETY: what could not be grown is still in use.
        unsafe { malloc_usable_size(memory) }
    };
    let moved = if reserve::contains(memory) { malloc(bytes) } else { or_reserve(null_mut(), bytes, ALIGNMENT) };
    if !moved.is_null() {
        // SAFETY: both have so many bytes, unless none are copied, and are apart; what is copied is freed once.
        unsafe {
            moved.cast::<u8>().copy_from_nonoverlapping(memory.cast(), known.min(bytes));
            free(memory);
        }
    }
    moved
}

/// `free` of the C standard.
///
/// # Safety
/// The memory is null, or came from these functions and was not freed.
#[unsafe(no_mangle)]
unsafe extern "C" fn free(memory: *mut c_void) {
    if reserve::contains(memory) {
        reserve::give_back();
    } else {
        // SAFETY: it is null or came from the C library.
        unsafe { __libc_free(memory) };
    }
}

/// `memalign` of the GNU C library. The alignment is a power of two.
#[unsafe(no_mangle)]
extern "C" fn memalign(alignment: usize, bytes: usize) -> *mut c_void {
    // SAFETY: it takes any size and alignment.
    or_reserve(unsafe { __libc_memalign(alignment, bytes) }, bytes, alignment.max(ALIGNMENT))
}

/// `aligned_alloc` of the C standard.
#[unsafe(no_mangle)]
extern "C" fn aligned_alloc(alignment: usize, bytes: usize) -> *mut c_void {
    memalign(alignment, bytes)
}

/// `posix_memalign` of POSIX.
///
/// # Safety
/// The result may be written.
#[unsafe(no_mangle)]
unsafe extern "C" fn posix_memalign(result: *mut *mut c_void, alignment: usize, bytes: usize) -> c_int {
    if !alignment.is_power_of_two() || !alignment.is_multiple_of(size_of::<usize>()) {
        return EINVAL;
    }
    let memory = memalign(alignment, bytes);
    if memory.is_null() {
        return ENOMEM;
    }
    // SAFETY: the caller's.
    unsafe { *result = memory };
    0
}

/// The memory, or some of the reserve where there is none; none for who can do without.
fn or_reserve(memory: *mut c_void, bytes: usize, alignment: usize) -> *mut c_void {
    if !memory.is_null() || is_fallible() {
        return memory;
    }
    note_refusal(bytes as u64);
    reserve::take(bytes, alignment).unwrap_or_else(|| end(bytes))
}

/// Ends the process with a message and the status of an error. Nothing may allocate or be tidied up any more.
#[cold]
fn end(bytes: usize) -> ! {
    // In one piece, where other threads write, too.
    let mut buffer = [0; 128];
    let mut line = Cursor::new(&mut buffer[..]);
    let written = writeln!(line, "error: the system refuses {bytes} bytes, and the reserve is used up");
    let length = written.map_or(0, |()| line.position() as usize);
    let _ = std::io::stderr().write_all(&buffer[..length]);
    // SAFETY: it takes any status.
    unsafe { _exit(FAILURE) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks of the C library and of the reserve, which change places as they grow.
    #[test]
    fn blocks_keep_their_content_wherever_they_lie() {
        let filled = |memory: *mut c_void, bytes: usize| {
            // SAFETY: the block has so many bytes.
            unsafe { memory.cast::<u8>().write_bytes(7, bytes) };
            memory
        };
        // SAFETY: blocks are read and written within their bounds, and freed once each.
        unsafe {
            let content = |memory: *mut c_void| std::slice::from_raw_parts(memory.cast::<u8>(), 100).to_vec();
            let served = filled(or_reserve(null_mut(), 100, ALIGNMENT), 100);
            assert!(reserve::contains(served));
            let moved = realloc(served, 5000);
            assert!(!reserve::contains(moved), "the system has memory");
            assert_eq!(content(moved), [7; 100]);
            free(moved);
            assert!(fallible_is_refused());
            let zeros = calloc(10, 10);
            assert_eq!(content(zeros), [0; 100]);
            free(zeros);
            let mut aligned = null_mut();
            assert_eq!(posix_memalign(&raw mut aligned, 4096, 10), 0);
            assert_eq!(aligned.addr() % 4096, 0);
            free(aligned);
            assert_eq!(posix_memalign(&raw mut aligned, 24, 10), EINVAL);
            free(null_mut());
        }
        // A compiler takes an allocation that nobody looks at for one that succeeds.
        assert!(std::hint::black_box(calloc(usize::MAX, 2)).is_null());
        fuseline_allocator::forget_refusal();
    }

    fn fallible_is_refused() -> bool {
        fuseline_allocator::fallible(|| or_reserve(null_mut(), 1, ALIGNMENT)).is_null()
    }
}
