//! The instruction footprint of fused operators (section 5.2 of the paper): `sum(f(X/rowSums(X)))`, where `f` is a
//! sequence of `n` row operations `X*i`, with calls of shared vector primitives, with inlined code, and by cost.
//!
//! `cargo bench --bench footprint [-- quick]`. X is dense, 100,000 x 1,000 (800 MB), a tenth of that with `quick`. The
//! factors are inputs, so that nothing folds. A time is the best of several runs; ns are those of one thread, for each
//! cell and operation of `f`. Buffers are the vectors that a thread holds besides rows of X.

#[cfg(any(feature = "llvm22", feature = "llvm19"))]
fn main() {
    footprint::run();
}

#[cfg(not(any(feature = "llvm22", feature = "llvm19")))]
fn main() {
    println!("this benchmark needs the LLVM backend");
}

#[cfg(any(feature = "llvm22", feature = "llvm19"))]
mod footprint {
    use fuseline::{Dense, MatrixBlock};
    use fuseline_ir::cplan::{CInput, CNode, COutput, CPlan, MAIN, RowType, Variant, VerifiedCPlan};
    use fuseline_ir::ops::{AggOp, BinaryOp};
    use fuseline_llvm_backend::{LlvmBackend, LlvmOptions, PrimMode};
    use fuseline_matrix::BufferPool;
    use fuseline_skeletons::{Backend, CompiledCPlan, Counters, Execution};
    use std::time::{Duration, Instant};

    /// The numbers of row operations.
    const OPERATIONS: [usize; 6] = [1, 10, 31, 100, 300, 1000];
    const MODES: [PrimMode; 3] = [PrimMode::Shared, PrimMode::Inlined, PrimMode::Auto];
    /// A plan runs until it has taken this long, at least twice and at most ten times.
    const ENOUGH: Duration = Duration::from_secs(2);

    pub(crate) fn run() {
        let quick = std::env::args().any(|argument| argument == "quick");
        let (rows, cols) = (if quick { 10_000 } else { 100_000 }, 1000);
        let x = Dense::from_fn(rows, cols, |i, j| ((i * 7 + j * 13) % 17) as f64 / 16.0 + 0.5);
        let machine = Machine::new(x.into());
        println!("sum(f(X/rowSums(X))), f = n operations X*i, X dense {rows} x {cols}; {} threads", machine.threads());
        println!(
            "{:>5}  {:<8} {:>10} {:>9} {:>12} {:>12} {:>8}",
            "n", "code", "time", "ns/op", "code bytes", "compile", "buffers"
        );
        let backends = MODES.map(|prims| {
            let backend =
                LlvmBackend::new(LlvmOptions { prims, ..LlvmOptions::default() }).expect("a machine with AVX2");
            // The first plan pays for what LLVM sets up once.
            backend.compile(&plan(1)).expect("plans compile");
            backend
        });
        for operations in OPERATIONS {
            let mut results = Vec::new();
            for backend in &backends {
                let compiled = backend.compile(&plan(operations)).expect("plans of this length compile");
                let (time, result) = machine.best_time(&compiled, operations);
                let nanoseconds =
                    time.as_secs_f64() * 1e9 * machine.threads() as f64 / (rows * cols * operations) as f64;
                // Each further cell of the longest vector needs one more value per buffer.
                let buffers = compiled.kernel.scratch_len(1, 2) - compiled.kernel.scratch_len(1, 1);
                println!(
                    "{operations:>5}  {:<8} {:>8.1}ms {nanoseconds:>9.4} {:>12} {:>10.2}ms {buffers:>8}",
                    format!("{:?}", backend.options().prims).to_lowercase(),
                    time.as_secs_f64() * 1e3,
                    compiled.info.code_bytes,
                    compiled.info.duration.as_secs_f64() * 1e3,
                );
                results.push(result);
            }
            assert!(results.windows(2).all(|pair| pair[0].to_bits() == pair[1].to_bits()), "{results:?} differ");
        }
    }

    /// `sum(f(X/rowSums(X)))` with this many operations in `f`.
    fn plan(operations: usize) -> VerifiedCPlan {
        let mut plan = CPlan::new(Variant::Row(RowType::FullAgg));
        assert_eq!(plan.inputs.push(CInput::Matrix), MAIN);
        let x = plan.nodes.push(CNode::Main);
        let sums = plan.nodes.push(CNode::RowAgg(AggOp::Sum, x));
        let mut value = plan.nodes.push(CNode::Binary(BinaryOp::Div, x, sums));
        for _ in 0..operations {
            let factor = plan.inputs.push(CInput::Scalar);
            let factor = plan.nodes.push(CNode::Scalar(factor));
            value = plan.nodes.push(CNode::Binary(BinaryOp::Mult, value, factor));
        }
        plan.outputs.push(COutput { node: value, agg: Some(AggOp::Sum), left: None });
        plan.verify().expect("the plan is well-formed")
    }

    /// What executions need, and their input.
    struct Machine {
        x: MatrixBlock,
        pool: rayon::ThreadPool,
        buffers: std::sync::Arc<BufferPool>,
        counters: Counters,
    }

    impl Machine {
        fn new(x: MatrixBlock) -> Self {
            let pool = rayon::ThreadPoolBuilder::new().build().expect("a thread pool");
            Machine { x, pool, buffers: BufferPool::new(1 << 30), counters: Counters::default() }
        }

        fn threads(&self) -> usize {
            self.pool.current_num_threads()
        }

        /// The shortest of several runs, and the sum.
        fn best_time(&self, compiled: &CompiledCPlan, operations: usize) -> (Duration, f64) {
            let env =
                Execution { pool: &self.pool, buffers: &self.buffers, counters: &self.counters, strict_ieee: false };
            // Close to 1, so that no product overflows or vanishes.
            let factors: Vec<f64> =
                (0..operations).map(|index| 1.0 + (index % 7) as f64 / 4096.0 - 3.0 / 4096.0).collect();
            let run = || {
                let start = Instant::now();
                let sum = fuseline_skeletons::execute(compiled, std::slice::from_ref(&self.x), &factors, &env);
                let MatrixBlock::Dense(sum) = sum.expect("the plan runs") else {
                    unreachable!("a full aggregate is dense")
                };
                (start.elapsed(), sum.values()[0])
            };
            let begin = Instant::now();
            let (mut best, sum) = run();
            let mut runs = 1;
            while runs < 2 || (runs < 10 && begin.elapsed() < ENOUGH) {
                best = best.min(run().0);
                runs += 1;
            }
            (best, sum)
        }
    }
}
