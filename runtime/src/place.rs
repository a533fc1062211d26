//! Where a program of a single block runs: on a thread of the pool, or where it is, if all of it is done there before another
//! thread has woken up.

use crate::compiled_dag::CompiledDag;
use crate::threads::Threads;
use crate::value::{RuntimeValue, Variables};
use fuseline_ir::hop::{Hop, HopDag, HopOp};
use fuseline_matrix::run_context::Abort;
use fuseline_passes::cost::Prediction;

/// What it takes to wake a thread of the pool up and to wait for it, in seconds: 10 us where the threads have just worked,
/// 60 to 120 where their processors rest.
const HANDED_OVER: f64 = 50e-6;

/// Seconds of blocks that may run on one thread alone: threads share some operators that the cost model takes for the work of
/// one, and of longer blocks [`HANDED_OVER`] is a small share.
const MOST_ALONE: f64 = 4.0 * HANDED_OVER;

/// Bytes of the inputs of a block below which hardly any of its operators is worth several threads.
const SMALL_BYTES: usize = 256 << 10;

/// Where a block runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// On the thread that runs the program.
    Here,
    /// On that thread, and on no other.
    Alone,
    /// On that thread, from where its operators ask the pool for others.
    Outside,
    /// On a thread of the pool.
    Pool,
}

impl Place {
    /// Where a block is fastest that is a program of its own, and not on a thread of the pool yet.
    pub(crate) fn of(compiled: &CompiledDag, variables: &Variables, threads: &Threads) -> Place {
        match Place::fastest(compiled.expected, threads.pool().current_num_threads()) {
            Place::Pool if is_small(&compiled.dag, variables) => Place::Outside,
            place => place,
        }
    }

    /// Where that is fastest of which so much is expected, with so many threads in the pool.
    fn fastest(expected: Prediction, threads: usize) -> Place {
        let is_brief = expected.alone <= MOST_ALONE && expected.saved_by(threads) <= HANDED_OVER;
        if is_brief { Place::Alone } else { Place::Pool }
    }

    /// Runs a block there.
    ///
    /// # Errors
    /// Memory that is refused, or a request to stop, outside of operators.
    pub(crate) fn run<T: Send>(self, threads: &Threads, block: impl FnOnce() -> T + Send) -> Result<T, Abort> {
        match self {
            Place::Here => Ok(block()),
            Place::Alone => threads.run_alone(block),
            Place::Outside => threads.run_here(block),
            Place::Pool => threads.run(block),
        }
    }
}

/// Whether a block reads little data.
fn is_small(dag: &HopDag, variables: &Variables) -> bool {
    let bytes = |hop: &Hop| match &hop.op {
        HopOp::Read(name) => variables.get(name).map_or(0, |value| match value {
            RuntimeValue::Matrix(block) => block.bytes(),
            RuntimeValue::Scalar(_) => 0,
            RuntimeValue::List(_) | RuntimeValue::Frame(_) => SMALL_BYTES,
        }),
        _ => 0,
    };
    dag.hops.values().map(bytes).sum::<usize>() < SMALL_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_threads_save_decides() {
        let fastest = |seconds: f64, alone: f64| Place::fastest(Prediction { seconds, alone }, 8);
        assert_eq!(fastest(0.0, 0.0), Place::Alone);
        assert_eq!(fastest(8e-6, 48e-6), Place::Alone);
        assert_eq!(fastest(10e-6, 80e-6), Place::Pool, "threads save 70 us");
        assert_eq!(fastest(150e-6, 151e-6), Place::Alone, "threads share nothing");
        assert_eq!(fastest(1.0, 1.0), Place::Pool, "an operator may be shared that is not expected to");
        let unknown = [Prediction::FREE, Prediction::UNKNOWN].into_iter().sum();
        assert_eq!(Place::fastest(unknown, 8), Place::Pool);
    }

    #[test]
    fn few_threads_save_less() {
        let fastest = |threads: usize| Place::fastest(Prediction { seconds: 10e-6, alone: 80e-6 }, threads);
        assert_eq!([1, 2, 3].map(fastest), [Place::Alone, Place::Alone, Place::Pool]);
        let unknown = Place::fastest(Prediction::UNKNOWN, 1);
        assert_eq!(unknown, Place::Pool);
    }
}
