//! The program's `malloc`: that of the GNU C library, with a reserve for what the system refuses.
//!
//! Rust, LLVM and the C library itself abort a process whose small allocations are refused. A program that links this crate
//! (`use fuseline_malloc as _;`) replaces `malloc` and its kin, as the C library allows: what the system refuses is served
//! from the reserve, and `fuseline_allocator` remembers that it was. Where the reserve does not suffice, the process ends
//! with a message and the status of an error. Who can do without gets none (`fuseline_allocator::fallible`).
//!
//! `reallocarray`, `strdup` and what else the C library allocates for its callers goes through these functions. `valloc` and
//! `pvalloc`, which are obsolete, do not: they return null where the system refuses, and what they return may be freed here.
//!
//! With other C libraries the crate is empty.
#![cfg(all(target_os = "linux", target_env = "gnu"))]

mod reserve;

use fuseline_allocator::{is_fallible, note_refusal};
use std::ffi::{c_char, c_int, c_void};
use std::io::{Cursor, Write};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

/// The alignment of all memory.
const ALIGNMENT: usize = 16;

/// Exit status after an error.
const FAILURE: c_int = 1;

const STANDARD_ERROR: c_int = 2;

/// Tells `dlsym` to look in the libraries behind the program.
const RTLD_NEXT: *mut c_void = std::ptr::without_provenance_mut(usize::MAX);

const ENOMEM: c_int = 12;
const EINVAL: c_int = 22;

unsafe extern "C" {
    fn __libc_malloc(bytes: usize) -> *mut c_void;
    fn __libc_calloc(count: usize, bytes: usize) -> *mut c_void;
    fn __libc_realloc(memory: *mut c_void, bytes: usize) -> *mut c_void;
    fn __libc_memalign(alignment: usize, bytes: usize) -> *mut c_void;
    fn __libc_free(memory: *mut c_void);
    fn __errno_location() -> *mut c_int;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    fn write(file: c_int, bytes: *const c_void, count: usize) -> isize;
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
    count.checked_mul(bytes).map_or_else(|| fail(ENOMEM), zeros_of_reserve)
}

/// `calloc` of bytes that the system refuses.
fn zeros_of_reserve(bytes: usize) -> *mut c_void {
    let memory = or_reserve(null_mut(), bytes, ALIGNMENT);
    if !memory.is_null() {
        // SAFETY: it has so many bytes. They may have been used before.
        unsafe { memory.cast::<u8>().write_bytes(0, bytes) };
    }
    memory
}

/// `realloc` of the C standard. Without bytes, it frees, like that of the GNU C library.
///
/// # Safety
/// The memory is null, or came from these functions and was not freed.
#[unsafe(no_mangle)]
unsafe extern "C" fn realloc(memory: *mut c_void, bytes: usize) -> *mut c_void {
    if memory.is_null() {
        return malloc(bytes);
    }
    if reserve::contains(memory) {
        // SAFETY: it is of the reserve, and in use.
        return unsafe { realloc_of_reserve(memory, bytes) };
    }
    // SAFETY: it came from the C library.
    let moved = unsafe { __libc_realloc(memory, bytes) };
    if !moved.is_null() || bytes == 0 {
        return moved;
    }
    // SAFETY: what could not be grown is still in use.
    unsafe { grown_in_reserve(memory, bytes) }
}

/// `realloc` of a block of the reserve, which goes back to the system where that has memory.
///
/// # Safety
/// It is a block of the reserve that is in use.
unsafe fn realloc_of_reserve(memory: *mut c_void, bytes: usize) -> *mut c_void {
    // SAFETY: the caller's, and `__libc_malloc` takes any size.
    unsafe {
        if bytes == 0 {
            free(memory);
            return null_mut();
        }
        if bytes <= reserve::bytes_of(memory) {
            return memory;
        }
        let moved = __libc_malloc(bytes);
        if moved.is_null() { grown_in_reserve(memory, bytes) } else { moved_to(moved, memory, bytes) }
    }
}

/// `realloc` to bytes that the system refuses.
///
/// # Safety
/// The memory is a block in use that has fewer bytes.
unsafe fn grown_in_reserve(memory: *mut c_void, bytes: usize) -> *mut c_void {
    // SAFETY: the caller's.
    if reserve::contains(memory) && !is_fallible() && unsafe { reserve::grow(memory, bytes) } {
        note_refusal(bytes as u64);
        return memory;
    }
    let moved = or_reserve(null_mut(), bytes, ALIGNMENT);
    if moved.is_null() {
        return moved;
    }
    // SAFETY: the caller's, and the block is new.
    unsafe { moved_to(moved, memory, bytes) }
}

/// Moves the content of a block to a new one, of so many bytes, and frees the old one.
///
/// # Safety
/// Both are blocks in use.
unsafe fn moved_to(moved: *mut c_void, memory: *mut c_void, bytes: usize) -> *mut c_void {
    // SAFETY: both have so many bytes, and are apart; the old one is freed once.
    unsafe {
        let known = malloc_usable_size(memory);
        moved.cast::<u8>().copy_from_nonoverlapping(memory.cast(), known.min(bytes));
        free(memory);
    }
    moved
}

/// `malloc_usable_size` of the GNU C library.
///
/// # Safety
/// The memory is null, or came from these functions and was not freed.
#[unsafe(no_mangle)]
unsafe extern "C" fn malloc_usable_size(memory: *mut c_void) -> usize {
    // SAFETY: the caller's.
    unsafe { if reserve::contains(memory) { reserve::bytes_of(memory) } else { usable_size_of_c_library(memory) } }
}

/// `malloc_usable_size` of the C library, which has no other name. It is looked up without a lock of ours: what the look-up
/// might allocate is served like all else, and threads that look it up at a time find the same.
///
/// # Safety
/// The memory is null, or a block of the C library in use.
unsafe fn usable_size_of_c_library(memory: *mut c_void) -> usize {
    static FOUND: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
    let mut found = FOUND.load(Ordering::Relaxed);
    if found.is_null() {
        // SAFETY: the name is a C string.
        found = unsafe { dlsym(RTLD_NEXT, c"malloc_usable_size".as_ptr()) };
        FOUND.store(found, Ordering::Relaxed);
    }
    // SAFETY: null is none, and what was found has this type.
    let function: Option<unsafe extern "C" fn(*mut c_void) -> usize> = unsafe { std::mem::transmute(found) };
    // Each GNU C library has it, and a wrong size would lose content.
    let Some(function) = function else { std::process::abort() };
    // SAFETY: the caller's.
    unsafe { function(memory) }
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

/// `memalign` of the GNU C library. An alignment that is no power of two is an error.
#[unsafe(no_mangle)]
extern "C" fn memalign(alignment: usize, bytes: usize) -> *mut c_void {
    if !alignment.is_power_of_two() {
        return fail(EINVAL);
    }
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
    if !memory.is_null() {
        return memory;
    }
    if is_fallible() {
        return fail(ENOMEM);
    }
    note_refusal(bytes as u64);
    reserve::take(bytes, alignment).unwrap_or_else(|| end(bytes))
}

/// No memory, for this reason.
fn fail(error: c_int) -> *mut c_void {
    // SAFETY: each thread has its own.
    unsafe { *__errno_location() = error };
    null_mut()
}

/// Ends the process with a message and the status of an error. Nothing may allocate, be tidied up, or wait for a lock any
/// more: who holds that of standard error may wait for memory, or for a reader.
#[cold]
fn end(bytes: usize) -> ! {
    // In one piece, where other threads write, too.
    let mut buffer = [0; 128];
    let mut line = Cursor::new(&mut buffer[..]);
    let written = writeln!(line, "error: the system refuses {bytes} bytes, and the reserve is used up");
    let length = written.map_or(0, |()| line.position() as usize);
    // SAFETY: the buffer has so many bytes, and any status is taken.
    unsafe {
        write(STANDARD_ERROR, buffer.as_ptr().cast(), length);
        _exit(FAILURE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fuseline_allocator::{fallible, forget_refusal, refused_bytes};
    use std::hint::black_box;
    use std::io::Error;
    use std::process::Command;

    unsafe extern "C" {
        fn reallocarray(memory: *mut c_void, count: usize, bytes: usize) -> *mut c_void;
    }

    /// A block of the reserve, each byte 7.
    fn sevens_of_reserve(bytes: usize) -> *mut c_void {
        let memory = or_reserve(null_mut(), bytes, ALIGNMENT);
        assert!(reserve::contains(memory));
        // SAFETY: the block has so many bytes.
        unsafe { memory.cast::<u8>().write_bytes(7, bytes) };
        memory
    }

    /// The first bytes of a block.
    ///
    /// # Safety
    /// It is in use, has so many, and they were written.
    unsafe fn content(memory: *mut c_void, bytes: usize) -> Vec<u8> {
        // SAFETY: the caller's.
        unsafe { std::slice::from_raw_parts(memory.cast::<u8>(), bytes).to_vec() }
    }

    /// Whether there is no memory, for this reason.
    fn failed(error: c_int, allocate: impl FnOnce() -> *mut c_void) -> bool {
        fail(0);
        // A compiler takes an allocation that nobody looks at for one that succeeds.
        let memory = black_box(allocate());
        memory.is_null() && Error::last_os_error().raw_os_error() == Some(error)
    }

    #[test]
    fn blocks_of_the_reserve_go_back_to_the_system_as_they_grow() {
        let _turn = reserve::tests::turn();
        // SAFETY: blocks are read within their bounds, and freed once each.
        unsafe {
            let moved = realloc(sevens_of_reserve(100), 5000);
            assert!(!reserve::contains(moved), "the system has memory");
            assert_eq!(content(moved, 100), [7; 100]);
            free(moved);
            let moved = reallocarray(sevens_of_reserve(100), 50, 100);
            assert!(!reserve::contains(moved), "the system has memory");
            assert_eq!(content(moved, 100), [7; 100]);
            free(moved);
        }
        forget_refusal();
    }

    #[test]
    fn blocks_of_the_reserve_shrink_and_grow_where_they_lie() {
        let _turn = reserve::tests::turn();
        let memory = sevens_of_reserve(1000);
        // SAFETY: blocks are read within their bounds, and freed once each.
        unsafe {
            assert_eq!(realloc(memory, 100), memory);
            assert_eq!(realloc(memory, 1000), memory);
            // In one place: new blocks of these sizes would take more than the reserve has.
            for mebibytes in 1..16 {
                forget_refusal();
                assert_eq!(grown_in_reserve(memory, mebibytes << 20), memory);
                assert_eq!(refused_bytes(), Some(mebibytes as u64 * (1 << 20)));
            }
            assert!(failed(ENOMEM, || fallible(|| grown_in_reserve(memory, (15 << 20) + 1))));
            let last = sevens_of_reserve(10);
            let moved = grown_in_reserve(last, 20);
            assert_eq!(moved, last);
            free(moved);
            assert_eq!(content(memory, 1000), [7; 1000]);
            assert!(realloc(memory, 0).is_null());
        }
        assert_eq!(reserve::take(1, ALIGNMENT), Some(memory), "all was freed");
        reserve::give_back();
        forget_refusal();
    }

    #[test]
    fn what_the_system_cannot_grow_moves_to_the_reserve() {
        let _turn = reserve::tests::turn();
        // SAFETY: blocks are read and written within their bounds, and freed once each.
        unsafe {
            let memory = black_box(malloc(100));
            assert!(!reserve::contains(memory));
            memory.cast::<u8>().write_bytes(7, 100);
            assert!(failed(ENOMEM, || fallible(|| grown_in_reserve(memory, 5000))));
            let moved = grown_in_reserve(memory, 5000);
            assert!(reserve::contains(moved));
            assert_eq!(content(moved, 100), [7; 100]);
            // A block that is not the last moves.
            let last = sevens_of_reserve(1);
            let again = grown_in_reserve(moved, 6000);
            assert!(reserve::contains(again) && again.addr() > last.addr());
            assert_eq!(content(again, 100), [7; 100]);
            free(last);
            free(again);
            free(realloc(null_mut(), 100));
        }
        forget_refusal();
    }

    #[test]
    fn used_memory_of_the_reserve_is_zeroed() {
        let _turn = reserve::tests::turn();
        // SAFETY: blocks are read within their bounds, and freed once each.
        unsafe {
            let first = sevens_of_reserve(100);
            let second = sevens_of_reserve(100);
            free(first);
            free(second);
            let zeros = zeros_of_reserve(200);
            assert_eq!(zeros, first, "bytes that were used");
            assert_eq!(content(zeros, 200), [0; 200]);
            free(zeros);
            let zeros = black_box(calloc(10, 10));
            assert_eq!(content(zeros, 100), [0; 100]);
            free(zeros);
        }
        forget_refusal();
    }

    #[test]
    fn usable_sizes_are_those_of_the_reserve_and_of_the_system() {
        let _turn = reserve::tests::turn();
        // SAFETY: null and blocks in use, which are freed once each.
        unsafe {
            let memory = sevens_of_reserve(100);
            assert_eq!(malloc_usable_size(memory), 100);
            free(memory);
            let memory = black_box(malloc(100));
            assert!((100..1000).contains(&malloc_usable_size(memory)));
            free(memory);
            assert_eq!(malloc_usable_size(null_mut()), 0);
        }
        forget_refusal();
    }

    #[test]
    fn alignments_are_powers_of_two() {
        let _turn = reserve::tests::turn();
        for alignment in [0, 24, (1 << 63) + 1, usize::MAX] {
            assert!(failed(EINVAL, || memalign(alignment, 10)), "{alignment}");
            assert!(failed(EINVAL, || aligned_alloc(alignment, 10)), "{alignment}");
            let mut aligned = null_mut();
            // SAFETY: the result may be written.
            assert_eq!(unsafe { posix_memalign(&raw mut aligned, alignment, 10) }, EINVAL);
            assert!(aligned.is_null());
        }
        assert_eq!(refused_bytes(), None);
        // SAFETY: blocks are freed once each.
        unsafe {
            let mut aligned = null_mut();
            assert_eq!(posix_memalign(&raw mut aligned, 4096, 10), 0);
            assert!(aligned.addr().is_multiple_of(4096));
            free(aligned);
            let aligned = or_reserve(null_mut(), 10, 1 << 16);
            assert!(reserve::contains(aligned) && aligned.addr().is_multiple_of(1 << 16));
            free(aligned);
            free(null_mut());
        }
        forget_refusal();
    }

    #[test]
    fn who_can_do_without_is_told_why() {
        let _turn = reserve::tests::turn();
        assert!(failed(ENOMEM, || fallible(|| or_reserve(null_mut(), 1, ALIGNMENT))));
        assert!(failed(ENOMEM, || fallible(|| zeros_of_reserve(1))));
        assert!(failed(ENOMEM, || fallible(|| malloc(usize::MAX))));
        assert!(failed(ENOMEM, || calloc(usize::MAX, 2)));
        assert_eq!(refused_bytes(), None);
    }

    /// Another thread holds the lock of standard error, and waits for the one that ends the process.
    #[test]
    fn a_used_up_reserve_ends_the_process_without_waiting() {
        const IS_TO_END: &str = "FUSELINE_MALLOC_TEST_IS_TO_END";
        if std::env::var_os(IS_TO_END).is_some() {
            let _held = std::io::stderr().lock();
            let ends = || {
                or_reserve(null_mut(), usize::MAX, ALIGNMENT);
            };
            std::thread::scope(|scope| scope.spawn(ends).join()).unwrap();
            return;
        }
        let name = "tests::a_used_up_reserve_ends_the_process_without_waiting";
        let mut this = Command::new(std::env::current_exe().unwrap());
        let output = this.args([name, "--exact", "--nocapture"]).env(IS_TO_END, "").output().unwrap();
        let message = format!("error: the system refuses {} bytes, and the reserve is used up\n", usize::MAX);
        assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(1), &message[..]));
    }
}
