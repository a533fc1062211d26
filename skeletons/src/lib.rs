//! Operator skeletons: the hand-written iteration, blocking, threading, memory and aggregation around generated code
//! (section 2.2, "Runtime Integration"), the genexec ABI between the two, and the [`Backend`] trait.
//!
//! [`execute`] binds a compiled plan to its inputs, checks every extent that generated code relies on, and hands out
//! units: the modules `cell`, `magg`, `row` and `outer` are the paper's `SpoofCell`, `SpoofMAgg`, `SpoofRow` and
//! `SpoofOuter`.

use fuseline_ir::cplan::Variant;
use fuseline_ir::schedule::{Access, Schedule, Strips};
use fuseline_matrix::{BufferPool, MatrixBlock};
use fuseline_vecprims::Primitives;
use operator::{Operator, Tally};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

pub mod abi;
mod access;
mod accumulate;
mod aggregate;
pub mod backend;
mod binding;
mod built;
mod by_row;
mod cell;
mod combined;
mod cumulative;
mod dense_row;
mod error;
mod factors;
mod fit;
mod known;
mod layout;
mod magg;
mod nonzeros;
mod operator;
mod outer;
mod output;
mod places;
mod profile;
mod roles;
mod row;
mod row_output;
mod sampled;
mod short_row;
mod side;
mod source;
mod sparse_unit;
mod suited;
mod transpose;
mod visited;
mod work;
mod write;
mod zeros;

pub use backend::{Backend, BackendActivity, BackendError, CodeStore, CompileInfo, CompiledCPlan};
pub use error::SkeletonError;

/// What an execution uses: all of it owned by the session.
#[derive(Clone, Copy, Debug)]
pub struct Execution<'a> {
    /// Threads. Results do not depend on their number.
    pub pool: &'a rayon::ThreadPool,
    /// Memory of outputs, accumulators and tiles.
    pub buffers: &'a Arc<BufferPool>,
    /// Where calls are counted.
    pub counters: &'a Counters,
    /// What units are laid out with. Results do not depend on the instruction set.
    pub primitives: &'static Primitives,
    /// Exactly IEEE: the zeros of a sparse main input are multiplied, too, since a zero times infinity is NaN. Plans
    /// must then be marked sparse-safe by that rule.
    pub strict_ieee: bool,
    /// Bytes of a strip of rows: [`fuseline_ir::work::STRIP_BYTES`] but in tests, since results do depend on it.
    pub strip_bytes: u64,
}

/// Counts over all executions of a session.
#[derive(Debug, Default)]
pub struct Counters {
    genexec_calls: AtomicU64,
    rows: AtomicU64,
    cells: AtomicU64,
    strips: AtomicU64,
    blocks: AtomicU64,
    private_sums: AtomicU64,
    read: Mutex<Vec<u64>>,
    written: AtomicU64,
}

impl Counters {
    /// Calls of genexec, one per unit.
    pub fn genexec_calls(&self) -> u64 {
        self.genexec_calls.load(Ordering::Relaxed)
    }

    /// Rows of all units.
    pub fn rows(&self) -> u64 {
        self.rows.load(Ordering::Relaxed)
    }

    /// Cells of all dense units and positions of all sparse ones.
    pub fn cells(&self) -> u64 {
        self.cells.load(Ordering::Relaxed)
    }

    /// Strips of rows.
    pub fn strips(&self) -> u64 {
        self.strips.load(Ordering::Relaxed)
    }

    /// Blocks of all strips.
    pub fn blocks(&self) -> u64 {
        self.blocks.load(Ordering::Relaxed)
    }

    /// Blocks that had sums of their own, those of all outputs together.
    pub fn private_sums(&self) -> u64 {
        self.private_sums.load(Ordering::Relaxed)
    }

    /// Bytes that units read of each input, by its number in the plan: of several operators those of one number together.
    pub fn bytes_read(&self) -> Vec<u64> {
        self.read.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Bytes of results.
    pub fn bytes_written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    /// Adds what blocks have done.
    fn add(&self, tally: &Tally) {
        self.blocks.fetch_add(tally.blocks, Ordering::Relaxed);
        self.genexec_calls.fetch_add(tally.calls, Ordering::Relaxed);
        self.rows.fetch_add(tally.rows, Ordering::Relaxed);
        self.cells.fetch_add(tally.cells, Ordering::Relaxed);
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let inputs = read.len().max(tally.read.len());
        read.resize(inputs, 0);
        read.iter_mut().zip(&tally.read).for_each(|(read, bytes)| *read += bytes);
    }

    /// Adds strips that are reduced.
    fn reduce(&self, strips: usize) {
        self.strips.fetch_add(strips as u64, Ordering::Relaxed);
    }

    /// Adds a block that has sums of its own.
    fn add_private_sums(&self) {
        self.private_sums.fetch_add(1, Ordering::Relaxed);
    }
}

/// Runs a fused operator. `inputs` are the plan's matrices and `scalars` its scalars, both in the order of input ids.
///
/// The result has the shape that the plan's variant says ([`fuseline_ir::cplan`]): 1 x 1 for full aggregates, k x 1 for
/// those of a multi-aggregate; a multi-aggregate over rows gives one column of the cells of all its outputs, each by row.
/// Plans that keep the zeros, or the empty rows, of a sparse main input give sparse results where these are sparse enough;
/// other results are dense. Aggregates of no cells are the neutral element: 0, 1 for the product, +Inf for the minimum,
/// -Inf for the maximum.
///
/// A plan that is marked sparse-safe promises that the value of its output nodes is zero wherever the main input is
/// (Row: wherever its row is all zeros), or that nothing is accumulated from there. Zeros of a sparse main input (Row: rows
/// of zeros) are then skipped; extremes and products take one zero for all of them. Cell and MAgg plans that read nothing
/// beside a sparse main input but scalars skip its zeros, too: what one zero gives, all of them give. Where output nodes are
/// zero wherever the main input and some side inputs are, and all of these are sparse, the positions of any of them are visited.
///
/// # Errors
/// The inputs do not fit the plan: their number, their dimensions, or vectors of different lengths.
pub fn execute(
    compiled: &CompiledCPlan,
    inputs: &[MatrixBlock],
    scalars: &[f64],
    env: &Execution<'_>,
) -> Result<MatrixBlock, SkeletonError> {
    let operator = Operator::new(compiled, inputs, scalars, env)?;
    let result = match operator.binding.plan.variant {
        Variant::Cell(_) => cell::execute(&operator),
        Variant::MAgg => magg::execute(&operator),
        Variant::Row(_) => row::execute(&operator),
        Variant::Outer(outer_type) => outer::execute(&operator, outer_type),
    }?;
    env.counters.written.fetch_add(result.bytes() as u64, Ordering::Relaxed);
    Ok(result)
}

/// What [`execute`] does with a plan on some inputs: from this and the main input's rows follows how often it calls generated
/// code, on what, and what it reads.
#[derive(Clone, Debug)]
pub struct Scheduled {
    /// How the operator runs.
    pub schedule: Schedule,
    /// The strips that rows are reduced in; a single one where each row has outputs of its own.
    pub strips: Strips,
    /// Whether units of positions that have none contribute nothing and are left out.
    pub skips_empty_units: bool,
    /// How units read each input of the plan, by id.
    pub accesses: Vec<Access>,
    /// The side inputs whose rows are joined with those of a sparse main input, by number: units have their positions, too.
    pub joined: Vec<usize>,
    /// The side inputs that meet a sparse main input, by number: units have its non-zeros in whose columns these have
    /// positions, too.
    pub met: Vec<usize>,
}

/// How [`execute`] will run a plan on these inputs.
///
/// # Errors
/// [`execute`]'s.
pub fn schedule(
    compiled: &CompiledCPlan,
    inputs: &[MatrixBlock],
    scalars: &[f64],
    env: &Execution<'_>,
) -> Result<Scheduled, SkeletonError> {
    Ok(Operator::new(compiled, inputs, scalars, env)?.scheduled())
}
