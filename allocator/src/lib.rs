//! Allocations that the system refused.
//!
//! Most allocations have nobody to return an error to. In the program, `malloc` serves them from a reserve (`fuseline-malloc`)
//! and notes the refusal here; who runs operators looks for it now and then, and ends what is under way with an error.
//! Whoever can do with less asks for memory in [`fallible`], and is refused as the system refuses it.
#![forbid(unsafe_code)]

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of the first allocation that was refused and not forgotten since; 0 where there is none.
static REFUSED: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// Whether who allocates now can do without.
    static IS_FALLIBLE: Cell<bool> = const { Cell::new(false) };
}

/// The bytes of an allocation that the system refused and the reserve served, until that is forgotten.
#[inline]
pub fn refused_bytes() -> Option<u64> {
    match REFUSED.load(Ordering::Relaxed) {
        0 => None,
        bytes => Some(bytes),
    }
}

/// Remembers that the system refused so many bytes, unless it refused some before: the first tell how it came to that.
pub fn note_refusal(bytes: u64) {
    let _ = REFUSED.compare_exchange(0, bytes.max(1), Ordering::Relaxed, Ordering::Relaxed);
}

/// Forgets the refusal: an error tells it.
pub fn forget_refusal() {
    REFUSED.store(0, Ordering::Relaxed);
}

/// Allocates what may be refused: the reserve does not serve it.
pub fn fallible<T>(allocate: impl FnOnce() -> T) -> T {
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            IS_FALLIBLE.set(self.0);
        }
    }
    let _restored = Restore(IS_FALLIBLE.replace(true));
    allocate()
}

/// Whether the thread is in [`fallible`].
pub fn is_fallible() -> bool {
    IS_FALLIBLE.get()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One test, since there is one memory of refusals.
    #[test]
    fn the_first_refusal_is_remembered_until_it_is_forgotten() {
        assert_eq!(refused_bytes(), None);
        note_refusal(100);
        note_refusal(7);
        assert_eq!(refused_bytes(), Some(100));
        forget_refusal();
        assert_eq!(refused_bytes(), None);
    }

    #[test]
    fn fallible_allocations_nest_and_end_by_panics() {
        assert!(!is_fallible());
        fallible(|| {
            fallible(|| assert!(is_fallible()));
            assert!(is_fallible());
        });
        let panicked = std::panic::catch_unwind(|| fallible(|| std::panic::resume_unwind(Box::new(()))));
        assert!(panicked.is_err() && !is_fallible());
    }
}
