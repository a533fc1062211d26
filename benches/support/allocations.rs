//! Counts what the program allocates while something runs. LLVM allocates on its own, and does not count.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicIsize, AtomicU64, Ordering::Relaxed};

/// What was allocated meanwhile.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allocated {
    /// Number of allocations; one that grows counts again.
    pub(crate) count: u64,
    /// Bytes that were held at a time at most, those of the result among them.
    pub(crate) peak: u64,
}

/// The allocator of the system, which counts where it is told to.
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

static IS_COUNTING: AtomicBool = AtomicBool::new(false);
static COUNT: AtomicU64 = AtomicU64::new(0);
static HELD: AtomicIsize = AtomicIsize::new(0);
static PEAK: AtomicIsize = AtomicIsize::new(0);

/// Does something while allocations of all threads are counted. What was allocated before may be released meanwhile.
pub(crate) fn during<T>(work: impl FnOnce() -> T) -> (T, Allocated) {
    COUNT.store(0, Relaxed);
    HELD.store(0, Relaxed);
    PEAK.store(0, Relaxed);
    IS_COUNTING.store(true, Relaxed);
    let result = work();
    IS_COUNTING.store(false, Relaxed);
    (result, Allocated { count: COUNT.load(Relaxed), peak: PEAK.load(Relaxed).unsigned_abs() as u64 })
}

/// Counts an allocation in the place of `released` bytes.
fn count(bytes: usize, released: usize) {
    if IS_COUNTING.load(Relaxed) {
        COUNT.fetch_add(1, Relaxed);
        let change = bytes as isize - released as isize;
        PEAK.fetch_max(HELD.fetch_add(change, Relaxed) + change, Relaxed);
    }
}

// SAFETY: memory comes from and returns to the allocator of the system, whose contract is that of the trait.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        // SAFETY: the caller keeps to the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        // SAFETY: the caller keeps to the contract.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        count(bytes, layout.size());
        // SAFETY: the caller keeps to the contract.
        unsafe { System.realloc(pointer, layout, bytes) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        if IS_COUNTING.load(Relaxed) {
            HELD.fetch_sub(layout.size() as isize, Relaxed);
        }
        // SAFETY: the caller keeps to the contract.
        unsafe { System.dealloc(pointer, layout) }
    }
}
