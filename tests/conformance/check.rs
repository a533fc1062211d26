//! Running plans everywhere and comparing what comes out.

use crate::axes::{Factors, Formats, MainFormat, SideFormat, THREADS};
use crate::data::{Data, Numbers};
use crate::plans::Plan;
use crate::reference;
use crate::stated::Activity;
use fuseline_interp::InterpBackend;
use fuseline_ir::cplan::{CNode, VerifiedCPlan};
use fuseline_ir::ops::AggOp;
use fuseline_ir::work::STRIP_BYTES;
use fuseline_matrix::{BufferPool, Dense, Layout, MatrixBlock};
use fuseline_skeletons::{Backend, CompiledCPlan, Counters, Execution, SkeletonError};
use fuseline_vecprims::Isa;
use std::sync::Arc;

/// The shape of most cells of the matrix: no multiple of a register, but a power of two columns, so that means and
/// variances of integers are exact.
pub(crate) const SHAPE: (usize, usize) = (37, 32);
/// Shapes at the edges.
const EDGES: [(usize, usize); 7] = [(0, 0), (0, 5), (5, 0), (1, 1), (1, 45), (70, 1), (3, 301)];

/// Backends, threads and memory.
pub(crate) struct Checker {
    backends: Vec<(String, Box<dyn Backend>)>,
    pools: Vec<rayon::ThreadPool>,
    buffers: Arc<BufferPool>,
    counters: Counters,
    pub(crate) executions: usize,
}

/// A plan on all backends.
pub(crate) type Compiled = Vec<CompiledCPlan>;

/// Every backend on every instruction set of this machine, in every form of primitives.
fn backends() -> Vec<(String, Box<dyn Backend>)> {
    let interp = |isa| (format!("interp {isa}"), Box::new(InterpBackend::with_isa(isa)) as Box<dyn Backend>);
    let mut backends: Vec<(String, Box<dyn Backend>)> = Isa::available().into_iter().map(interp).collect();
    backends.extend(llvm_backends());
    backends
}

#[cfg(feature = "llvm")]
fn llvm_backends() -> Vec<(String, Box<dyn Backend>)> {
    use fuseline_llvm_backend::{LlvmBackend, LlvmOptions, PrimitiveMode};
    let with_code = Isa::available().into_iter().filter(|&isa| isa != Isa::Portable);
    let options = with_code.flat_map(|isa| {
        [PrimitiveMode::Auto, PrimitiveMode::Shared, PrimitiveMode::Inlined].map(|prims| LlvmOptions {
            isa,
            prims,
            ..LlvmOptions::default()
        })
    });
    options
        .map(|options| {
            let backend = LlvmBackend::new(options).expect("the machine has this instruction set");
            (format!("llvm {} {:?}", options.isa, options.prims), Box::new(backend) as Box<dyn Backend>)
        })
        .collect()
}

#[cfg(not(feature = "llvm"))]
fn llvm_backends() -> Vec<(String, Box<dyn Backend>)> {
    Vec::new()
}

/// The bits of a result, every NaN the same: there is none where the result notes that.
pub(crate) fn bits(block: &MatrixBlock) -> Vec<u64> {
    let has_nan = block.to_dense().values().iter().any(|value| value.is_nan());
    assert!(!(has_nan && block.is_nan_free()), "a result has NaN, and notes that it has none");
    block.to_dense().values().iter().map(|value| if value.is_nan() { u64::MAX } else { value.to_bits() }).collect()
}

/// Whether results equal the plain evaluation exactly, and not only nearly.
fn is_exact(plan: &VerifiedCPlan, cols: usize) -> bool {
    let has_mean = |node: &CNode| matches!(node, CNode::RowAgg(AggOp::Mean | AggOp::Var, _));
    cols.is_power_of_two() || !plan.nodes.values().any(has_mean)
}

fn assert_equal(actual: &MatrixBlock, expected: &Dense, is_exact: bool, context: &dyn Fn() -> String) {
    assert_eq!(actual.dims(), (expected.rows(), expected.cols()), "{}", context());
    let actual = actual.to_dense();
    for (cell, (&x, &y)) in actual.values().iter().zip(expected.values()).enumerate() {
        let is_close = !is_exact && (x - y).abs() <= 1e-12 * y.abs();
        assert!(x == y || x.is_nan() && y.is_nan() || is_close, "{}: cell {cell} is {x:e}, not {y:e}", context());
    }
}

impl Checker {
    pub(crate) fn new() -> Self {
        let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        Checker {
            backends: backends(),
            pools: THREADS.into_iter().map(pool).collect(),
            buffers: BufferPool::new(1 << 28),
            counters: Counters::default(),
            executions: 0,
        }
    }

    /// The combinations of backends and threads.
    pub(crate) fn combinations(&self) -> usize {
        self.backends.len() * self.pools.len()
    }

    pub(crate) fn compile(&self, plan: &Plan) -> Compiled {
        let compile = |(name, backend): &(String, Box<dyn Backend>)| {
            backend.compile(&plan.cplan).unwrap_or_else(|error| panic!("{} on {name}: {error}", plan.name))
        };
        self.backends.iter().map(compile).collect()
    }

    fn run(
        &mut self,
        plan: &Plan,
        compiled: &CompiledCPlan,
        data: &Data,
        pool: usize,
        context: &dyn Fn() -> String,
    ) -> MatrixBlock {
        self.executions += 1;
        let (buffers, counters) = (&self.buffers, &self.counters);
        let sets = Isa::available();
        let primitives = fuseline_vecprims::primitives(sets[pool % sets.len()]);
        let execution = Execution {
            pool: &self.pools[pool],
            buffers,
            counters,
            primitives,
            strict_ieee: false,
            strip_bytes: STRIP_BYTES,
        };
        let result = fuseline_skeletons::execute(compiled, &data.stored, &data.scalars, &execution)
            .unwrap_or_else(|error| panic!("{}: {error}", context()));
        let stated = Activity::stated(compiled, data, &result, &execution);
        let counters = std::mem::take(&mut self.counters);
        assert_eq!(Activity::counted(&counters), stated, "{}", context());
        if let (true, Layout::Sparse(csr)) = (plan.goes_by_non_zeros(), data.stored[0].layout()) {
            assert!(counters.cells() <= csr.nnz() as u64, "{}: {} cells", context(), counters.cells());
        }
        let of_cells = || data.stored.iter().filter(|matrix| matrix.dims() == data.stored[0].dims());
        if plan.goes_by_joined_non_zeros() && of_cells().all(|matrix| matrix.format().is_sparse()) {
            let most: usize = of_cells().map(MatrixBlock::nnz).sum();
            assert!(counters.cells() <= most as u64, "{}: {} cells", context(), counters.cells());
        }
        result
    }

    /// One cell of the matrix: all backends with all numbers of threads.
    pub(crate) fn check(&mut self, plan: &Plan, compiled: &Compiled, formats: Formats) {
        for numbers in [Numbers::Integers, Numbers::Reals] {
            let data = Data::new(plan, SHAPE, formats, numbers);
            let first =
                self.same_bits(plan, compiled, &data, 0..compiled.len(), &|| format!("{formats:?}, {numbers:?}"));
            if numbers == Numbers::Integers {
                let expected = reference::evaluate(&plan.cplan, &data.dense, &data.scalars);
                let context = || format!("{}: {formats:?}\n{}", plan.name, plan.cplan);
                assert_equal(&first, &expected, true, &context);
            }
        }
    }

    /// Runs a plan on some backends with all numbers of threads; all results have the same bits and the same format.
    fn same_bits(
        &mut self,
        plan: &Plan,
        compiled: &Compiled,
        data: &Data,
        backends: impl IntoIterator<Item = usize>,
        what: &dyn Fn() -> String,
    ) -> MatrixBlock {
        let mut first: Option<(MatrixBlock, Vec<u64>)> = None;
        for backend in backends {
            for (pool, threads) in THREADS.into_iter().enumerate() {
                let name = self.backends[backend].0.clone();
                let context = || format!("{} on {name}, {threads} threads, {}\n{}", plan.name, what(), plan.cplan);
                let result = self.run(plan, &compiled[backend], data, pool, &context);
                let Some((known, known_bits)) = &first else {
                    let result_bits = bits(&result);
                    first = Some((result, result_bits));
                    continue;
                };
                assert_eq!((result.dims(), result.format()), (known.dims(), known.format()), "{}", context());
                assert!(bits(&result) == *known_bits, "other bits than the first backend: {}", context());
            }
        }
        first.expect("there is a backend").0
    }

    /// The first and the last backend: an interpreter and, where there is one, a compiler.
    fn ends(&self) -> Vec<usize> {
        let mut ends = vec![0, self.backends.len() - 1];
        ends.dedup();
        ends
    }

    /// Shapes without cells, of one cell, of one row and of one column.
    pub(crate) fn check_edges(&mut self, plan: &Plan, compiled: &Compiled, formats: Formats) {
        for shape in EDGES {
            let data = Data::new(plan, shape, formats, Numbers::Integers);
            let expected = reference::evaluate(&plan.cplan, &data.dense, &data.scalars);
            for backend in self.ends() {
                let context = || format!("{}: {shape:?}, {formats:?}\n{}", plan.name, plan.cplan);
                let result = self.run(plan, &compiled[backend], &data, 1, &context);
                assert_equal(&result, &expected, is_exact(&plan.cplan, shape.1), &context);
            }
        }
    }

    /// Inputs of wrong number or dimensions are errors.
    pub(crate) fn check_misfits(&mut self, plan: &Plan, compiled: &Compiled, side: SideFormat) {
        let formats = Formats { main: MainFormat::Dense, side, factors: Factors::of(plan.cplan.template())[0] };
        let Data { stored, scalars, .. } = Data::new(plan, (6, 8), formats, Numbers::Integers);
        let run = |inputs: &[MatrixBlock], scalars: &[f64]| {
            let (buffers, counters) = (&self.buffers, &self.counters);
            let primitives = fuseline_vecprims::primitives(Isa::detect());
            let execution = Execution {
                pool: &self.pools[0],
                buffers,
                counters,
                primitives,
                strict_ieee: false,
                strip_bytes: STRIP_BYTES,
            };
            fuseline_skeletons::execute(&compiled[0], inputs, scalars, &execution)
        };
        let missing = run(&stored[1..], &scalars);
        assert!(matches!(missing, Err(SkeletonError::Matrices { .. })), "{}: {missing:?}", plan.name);
        let superfluous = run(&stored, &[&scalars[..], &[1.0]].concat());
        assert!(matches!(superfluous, Err(SkeletonError::Scalars { .. })), "{}: {superfluous:?}", plan.name);
        for position in 1..stored.len() {
            let mut wrong = stored.clone();
            // No side input may have a row and a column less than it should.
            wrong[position] = Dense::zeros(stored[position].rows() - 1, stored[position].cols() - 1).into();
            assert!(run(&wrong, &scalars).is_err(), "{}: input {position} is too small", plan.name);
        }
    }

    /// Shapes of several blocks, so that threads share the work. Integers give the plain evaluation's result.
    pub(crate) fn check_blocks(&mut self, plan: &Plan, compiled: &Compiled, side: SideFormat) {
        let factors = Factors::of(plan.cplan.template())[0];
        let shapes = [
            (MainFormat::Dense, (9001, 16)),
            (MainFormat::Csr, (15_000, 32)),
            (MainFormat::UltraSparse, (70_000, 8)),
            (MainFormat::Narrow, (9001, 16)),
        ];
        for (main, shape) in shapes {
            let formats = Formats { main, side, factors };
            let data = Data::new(plan, shape, formats, Numbers::Reals);
            let ends = self.ends();
            self.same_bits(plan, compiled, &data, ends, &|| format!("{shape:?}, {formats:?}"));
        }
        // A power of two columns, so that means and variances of integers are exact.
        let shape = (9001, 16);
        for main in [MainFormat::Dense, MainFormat::Csr] {
            let formats = Formats { main, side, factors };
            let data = Data::new(plan, shape, formats, Numbers::Integers);
            let expected = reference::evaluate(&plan.cplan, &data.dense, &data.scalars);
            let context = || format!("{} in blocks: {formats:?}\n{}", plan.name, plan.cplan);
            let result = self.run(plan, &compiled[0], &data, 3, &context);
            assert_equal(&result, &expected, is_exact(&plan.cplan, shape.1), &context);
        }
    }
}
