//! Prints compile times of two operators and the throughput of `sum(X * Y * Z)` on one thread:
//! `cargo run --release -p fuseline-llvm-backend --example throughput`.

use fuseline_ir::cplan::{VerifiedCPlan, parse};
use fuseline_llvm_backend::{LlvmBackend, LlvmLevel, LlvmOptions, PrimitiveMode};
use fuseline_skeletons::abi::{Context, Main, Output, Side, Unit, UnitSize};
use fuseline_skeletons::backend::{Backend, CompiledCPlan};
use fuseline_vecprims::Isa;
use std::time::{Duration, Instant};

const CELL: &str = "cplan cell full_agg sparse_safe=true {
  in0 = matrix
  in1 = matrix
  in2 = matrix
  %0 = main
  %1 = side_cell in1
  %2 = side_cell in2
  %3 = mult %0, %1
  %4 = mult %3, %2
  out %4 agg=sum
}";

const ROW: &str = "cplan row col_agg_t sparse_safe=true {
  in0 = matrix
  in1 = matrix
  %0 = main
  %1 = side_vector in1
  %2 = dot_product %0, %1
  out %2 left=%0
}";

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// Gigabytes of input per second, the best of several measurements.
fn throughput(compiled: &CompiledCPlan, rows: usize, cols: usize) -> f64 {
    let cells = rows * cols;
    let aligned = || {
        // Room to begin at a multiple of 64 bytes.
        let values = vec![1.0_f64; cells + 8];
        let skip = values.as_ptr().align_offset(64);
        (values, skip)
    };
    let inputs = [aligned(), aligned(), aligned()];
    let view = |index: usize| &inputs[index].0[inputs[index].1..inputs[index].1 + cells];
    let side = |index: usize| Side { values: view(index), row_stride: cols, cols, factor: &[] };
    let sides = [side(0), side(1), side(2)];
    let main = Main::Dense { values: view(0), row_stride: cols };
    let unit = Unit { rows, cols, first_row: 0, first_col: 0, main, sides: &sides, products: &[], next_unit: 0 };
    let mut scratch = vec![0.0; compiled.scratch_len(UnitSize { rows, positions: 0, longest: cols })];
    let mut result = [0.0];
    let repeat = (20_000_000 / cells).max(3);
    let mut best = Duration::MAX;
    for _ in 0..5 {
        let start = Instant::now();
        for _ in 0..repeat {
            let mut context = Context { scalars: &[0.0; 3], scratch: &mut scratch };
            // SAFETY: the operands have the extents that the plan reads and writes.
            unsafe { compiled.genexec(&mut context, &unit, &mut [Output { values: &mut result, row_stride: 1 }]) };
        }
        best = best.min(start.elapsed());
    }
    assert_eq!(result[0], cells as f64);
    (repeat * cells * 24) as f64 / best.as_secs_f64() / 1e9
}

/// Processor time of all threads, which other processes do not lengthen; zero where the system does not tell.
fn processor_time() -> Duration {
    let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let nanoseconds = threads.filter_map(|thread| {
        let text = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(nanoseconds.sum())
}

/// The median processor time of something.
fn median_processor_time(mut work: impl FnMut()) -> Duration {
    let mut once = |_| {
        let start = processor_time();
        work();
        processor_time().saturating_sub(start)
    };
    median((0..30).map(&mut once).collect())
}

fn report(options: LlvmOptions, plans: &[(&str, VerifiedCPlan)]) -> Result<(), Box<dyn std::error::Error>> {
    let backend = LlvmBackend::new(options)?;
    println!("{} {:?} {:?}", options.isa.name(), options.prims, options.opt);
    for (name, plan) in plans {
        let start = processor_time();
        let compiled = backend.compile(plan)?;
        let first = processor_time().saturating_sub(start);
        let time = median_processor_time(|| drop(backend.compile(plan)));
        println!(
            "  {name}: first {first:.2?}, median {time:.2?} of processor time, {} bytes",
            compiled.info.code_bytes
        );
    }
    let compiled = backend.compile(&plans[0].1)?;
    let shapes = [("L1", 1, 1024), ("L2", 1, 16 * 1024), ("DRAM", 1, 10_000_000), ("L1", 100, 10), ("L1", 30, 35)];
    for (level, rows, cols) in shapes {
        let speed = throughput(&compiled, rows, cols);
        println!("  sum(X*Y*Z) of {rows} x {cols} from {level}: {speed:.1} GB/s");
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let plan = |text: &str| -> Result<VerifiedCPlan, String> {
        let plan = parse(text).map_err(|error| format!("{error:?}"))?;
        plan.verify().map_err(|errors| format!("{errors:?}"))
    };
    let plans = [("sum(X*Y*Z)", plan(CELL)?), ("t(X)%*%(X%*%v)", plan(ROW)?)];
    for isa in Isa::available().into_iter().filter(|&isa| isa != Isa::Portable) {
        for prims in [PrimitiveMode::Auto, PrimitiveMode::Shared] {
            report(LlvmOptions { isa, prims, ..LlvmOptions::default() }, &plans)?;
        }
    }
    report(LlvmOptions { opt: LlvmLevel::O3, ..LlvmOptions::default() }, &plans)
}
