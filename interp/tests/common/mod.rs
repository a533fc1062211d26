//! Plans and data for the tests of skeletons, interpreter and oracle.
#![allow(dead_code, unreachable_pub, reason = "each test uses its part of the module")]

pub mod plans;

use fuseline_interp::InterpBackend;
use fuseline_ir::cplan::CPlan;
use fuseline_ir::work::STRIP_BYTES;
use fuseline_matrix::{BufferPool, Csr, Dense, MatrixBlock};
use fuseline_skeletons::{Backend, CompiledCPlan, Counters, Execution, SkeletonError};
use fuseline_vecprims::Isa;
use std::sync::{Arc, OnceLock};

/// A small generator of pseudo-random numbers.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    pub fn unit(&mut self) -> f64 {
        self.below(1 << 30) as f64 / f64::from(1 << 30)
    }
}

/// What values a matrix gets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Values {
    /// Integers from -4 to 4: all sums of products are exact.
    Integers,
    /// Numbers of all sizes between 0 and 1, and their negatives.
    Reals,
}

/// A matrix with this share of non-zeros.
pub fn matrix(rows: usize, cols: usize, density: f64, values: Values, seed: u64) -> Dense {
    let mut random = Random::new(seed);
    Dense::from_fn(rows, cols, |_, _| {
        if random.unit() >= density {
            return 0.0;
        }
        match values {
            Values::Integers => {
                let magnitude = 1.0 + random.below(4) as f64;
                if random.below(2) == 0 { magnitude } else { -magnitude }
            }
            Values::Reals => random.unit() - 0.5,
        }
    })
}

/// The storage of an input.
pub fn stored(dense: &Dense, is_sparse: bool) -> MatrixBlock {
    if is_sparse { Csr::from_dense(dense).into() } else { dense.clone().into() }
}

pub fn compile(plan: &CPlan, isa: Isa) -> CompiledCPlan {
    let verified = plan.clone().verify().unwrap_or_else(|errors| panic!("{plan:?}\n{errors}"));
    InterpBackend::with_isa(isa).compile(&verified).expect("the interpreter runs every plan")
}

/// The pools of threads that tests run with.
pub fn pools() -> &'static [rayon::ThreadPool] {
    static POOLS: OnceLock<Vec<rayon::ThreadPool>> = OnceLock::new();
    POOLS.get_or_init(|| {
        let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        [1, 2, 3, 7].into_iter().map(pool).collect()
    })
}

/// The memory that all tests recycle.
pub fn buffers() -> Arc<BufferPool> {
    static BUFFERS: OnceLock<Arc<BufferPool>> = OnceLock::new();
    Arc::clone(BUFFERS.get_or_init(|| BufferPool::new(1 << 28)))
}

pub fn execute(
    compiled: &CompiledCPlan,
    inputs: &[MatrixBlock],
    scalars: &[f64],
    pool: &rayon::ThreadPool,
    counters: &Counters,
) -> Result<MatrixBlock, SkeletonError> {
    let primitives = fuseline_vecprims::primitives(Isa::detect());
    let env =
        Execution { pool, buffers: &buffers(), counters, primitives, strict_ieee: false, strip_bytes: STRIP_BYTES };
    fuseline_skeletons::execute(compiled, inputs, scalars, &env)
}

/// The bits of a result, every NaN the same.
pub fn bits(block: &MatrixBlock) -> Vec<u64> {
    block.to_dense().values().iter().map(|value| if value.is_nan() { u64::MAX } else { value.to_bits() }).collect()
}
