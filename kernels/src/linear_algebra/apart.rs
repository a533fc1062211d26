//! Long calls of a library, which hear no request to stop before they end: they run on a thread of their own, which is left
//! behind when there is one. It ends by itself, or with the program, and keeps its memory reserved until then.

use super::lanes::Lane;
use super::{argument, lanes_of};
use crate::KernelError;
use faer::Mat;
use fuseline_matrix::affinity::start_anywhere;
use fuseline_matrix::run_context::{check_stop, reserve};
use fuseline_matrix::{Dense, MemoryKind, Reservation};
use std::io;
use std::panic::resume_unwind;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// How long nothing is heard but the end of the call.
const PATIENCE: Duration = Duration::from_millis(50);

/// Bytes of the stack of a thread: those that programs usually run on.
const STACK_BYTES: usize = 8 << 20;

/// Products of cells and rows or columns up to which a decomposition takes less than some 20 ms.
const SHORT: u64 = 1 << 23;

/// What the library makes of a matrix beside right-hand sides, which are none for most; and the memory of so many copies of
/// them, which it takes for that.
///
/// # Errors
/// The system has no thread for it.
pub(super) fn decomposed<T: Send + 'static>(
    operation: &'static str,
    matrix: &Dense,
    right_cols: usize,
    copies: u64,
    decompose: impl FnOnce(Mat<Lane>) -> T + Send + 'static,
) -> Result<(T, Option<Reservation>), KernelError> {
    let (rows, cols) = (matrix.rows() as u64, matrix.cols() as u64);
    let all_cols = cols.saturating_add(right_cols as u64);
    let bytes = (size_of::<f64>() as u64).saturating_mul(copies).saturating_mul(rows).saturating_mul(all_cols);
    let scratch = reserve(MemoryKind::Scratch, bytes);
    let lanes = lanes_of(matrix);
    let work = move || (decompose(lanes), scratch);
    if rows.saturating_mul(all_cols).saturating_mul(rows.min(cols)) <= SHORT {
        return Ok(work());
    }
    apart(work).map_err(|error| argument(operation, format!("there is no thread for it: {error}")))
}

/// Does something on a thread of its own. Unwinds where there is a request to stop meanwhile.
fn apart<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> io::Result<T> {
    let (sender, receiver) = channel();
    let thread = std::thread::Builder::new().name("fuseline-apart".to_owned()).stack_size(STACK_BYTES);
    // Nobody listens any more where the thread was left behind.
    let thread = start_anywhere(thread, move || _ = sender.send(work()))?;
    loop {
        check_stop();
        match receiver.recv_timeout(PATIENCE) {
            Ok(value) => return Ok(value),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                let panic = thread.join().expect_err("without a panic it sends a value");
                resume_unwind(panic);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fuseline_matrix::run_context::{Abort, caught};
    use fuseline_matrix::{Budget, BufferPool, RunContext, StopFlag};
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[test]
    fn work_that_is_left_behind_keeps_its_memory_until_it_ends() {
        let stop = StopFlag::default();
        let context = RunContext::new(BufferPool::within(Budget::new(100), 0), stop.clone());
        let (begun, has_begun) = channel();
        let (end, may_end) = channel::<()>();
        let raiser = std::thread::spawn(move || {
            has_begun.recv().expect("it begins");
            stop.raise();
        });
        let stopped = context.run(|| {
            let scratch = reserve(MemoryKind::Scratch, 60);
            let work = move || {
                begun.send(()).expect("it is awaited");
                may_end.recv().expect("it is told to end");
                drop(scratch);
            };
            apart(work).expect("a thread");
        });
        assert_eq!(stopped, Err(Abort::Stopped));
        raiser.join().expect("no panic");
        assert_eq!(context.budget().held(), 60);
        end.send(()).expect("it is still there");
        while context.budget().held() > 0 {
            std::thread::yield_now();
        }
    }

    #[test]
    fn values_and_panics_come_back() {
        assert_eq!(caught(|| apart(|| 7).expect("a thread")), Ok(7));
        let panicked = catch_unwind(AssertUnwindSafe(|| apart(|| resume_unwind(Box::new("on purpose")))));
        assert_eq!(panicked.err().and_then(|panic| panic.downcast_ref().copied()), Some("on purpose"));
    }
}
