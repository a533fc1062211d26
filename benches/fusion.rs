//! Fused operators against the read bandwidth of the machine, a hand-written loop and unfused operators.
//!
//! `cargo bench --bench fusion [-- quick]`. Everything is timed in turn, round after round, since the bandwidth of
//! shared machines wanders; the best and the median of the rounds are printed. GB/s count each input once.

use fuseline::ir::SizeInfo;
use fuseline::ir::hop::{HopDag, HopId, HopOp, ReorgOp};
use fuseline::ir::ops::{AggOp, BinaryOp, Direction};
use fuseline::{CompileOptions, CompileStage, Dense, MatrixBlock, Mode, RuntimeValue, Session, Variables};
use rayon::prelude::*;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Rounds per workload.
const ROUNDS: usize = 15;

/// A DAG with its inputs, and the same computation as a plain loop.
struct Workload {
    name: &'static str,
    dag: HopDag,
    inputs: Variables,
    bytes: usize,
    by_hand: Box<dyn Fn() -> f64>,
}

fn main() {
    let quick = std::env::args().any(|argument| argument == "quick");
    let scale = if quick { 10 } else { 1 };
    println!("{} threads", rayon::current_num_threads());
    println!("{:<34} {:>10} {:>10} {:>10} {:>10}   GB/s, best (median)", "", "read", "by hand", "gen", "base");
    for workload in [products(100_000 / scale, 1000), chain(100_000 / scale, 1000), chain(10_000_000 / scale, 10)] {
        measure(&workload);
    }
}

/// Distinct pages for every input, filled with cheap numbers.
fn matrix(rows: usize, cols: usize, seed: usize) -> Dense {
    Dense::from_fn(rows, cols, |i, j| ((i * 7 + j * 13 + seed) % 17) as f64 / 16.0 - 0.5)
}

fn read(dag: &mut HopDag, inputs: &mut Variables, name: &str, matrix: &MatrixBlock) -> HopId {
    inputs.insert(name.to_owned(), RuntimeValue::Matrix(matrix.clone()));
    dag.read_matrix(name, SizeInfo::dims(matrix.rows() as u64, matrix.cols() as u64))
}

fn add(dag: &mut HopDag, op: impl Into<HopOp>, inputs: &[HopId]) -> HopId {
    dag.add(op.into(), inputs, None).expect("shapes fit")
}

fn dense(block: &MatrixBlock) -> &Dense {
    match block {
        MatrixBlock::Dense(dense) => dense,
        MatrixBlock::Sparse(_) => unreachable!("the inputs are dense"),
    }
}

/// sum(X * Y * Z)
fn products(rows: usize, cols: usize) -> Workload {
    let blocks: Vec<MatrixBlock> = (0..3).map(|seed| matrix(rows, cols, seed).into()).collect();
    let (mut dag, mut inputs) = (HopDag::new(), Variables::new());
    let x = read(&mut dag, &mut inputs, "X", &blocks[0]);
    let y = read(&mut dag, &mut inputs, "Y", &blocks[1]);
    let z = read(&mut dag, &mut inputs, "Z", &blocks[2]);
    let xy = add(&mut dag, BinaryOp::Mult, &[x, y]);
    let xyz = add(&mut dag, BinaryOp::Mult, &[xy, z]);
    let sum = add(&mut dag, (AggOp::Sum, Direction::Full), &[xyz]);
    dag.write("s", sum);
    let by_hand = move || {
        let [x, y, z] = [&blocks[0], &blocks[1], &blocks[2]].map(|block| dense(block).values());
        let chunks = x.par_chunks(1 << 16).zip(y.par_chunks(1 << 16)).zip(z.par_chunks(1 << 16));
        chunks.map(|((x, y), z)| lanes(x.len(), |i| x[i] * y[i] * z[i])).sum()
    };
    Workload { name: "sum(X*Y*Z)", dag, inputs, bytes: 24 * rows * cols, by_hand: Box::new(by_hand) }.named(rows, cols)
}

/// t(X) %*% (X %*% v)
fn chain(rows: usize, cols: usize) -> Workload {
    let block: MatrixBlock = matrix(rows, cols, 1).into();
    let vector: MatrixBlock = matrix(cols, 1, 5).into();
    let (mut dag, mut inputs) = (HopDag::new(), Variables::new());
    let x = read(&mut dag, &mut inputs, "X", &block);
    let v = read(&mut dag, &mut inputs, "v", &vector);
    let xv = add(&mut dag, HopOp::MatMul, &[x, v]);
    let transposed = add(&mut dag, HopOp::Reorg(ReorgOp::Transpose), &[x]);
    let product = add(&mut dag, HopOp::MatMul, &[transposed, xv]);
    dag.write("p", product);
    let by_hand = move || {
        let (x, v) = (dense(&block), dense(&vector).values());
        let partials: Vec<Vec<f64>> = (0..16_usize)
            .into_par_iter()
            .map(|part| {
                let mut acc = vec![0.0; cols];
                for i in rows * part / 16..rows * (part + 1) / 16 {
                    let row = x.row(i);
                    let product = lanes(cols, |j| row[j] * v[j]);
                    acc.iter_mut().zip(row).for_each(|(cell, value)| *cell += product * value);
                }
                acc
            })
            .collect();
        partials.iter().map(|partial| partial[0]).sum()
    };
    Workload { name: "t(X)%*%(X%*%v)", dag, inputs, bytes: 8 * rows * cols, by_hand: Box::new(by_hand) }
        .named(rows, cols)
}

impl Workload {
    fn named(self, rows: usize, cols: usize) -> Self {
        Workload { name: format!("{} {rows} x {cols}", self.name).leak(), ..self }
    }
}

/// A sum over 32 accumulators, which compilers turn into vector code.
fn lanes(len: usize, value: impl Fn(usize) -> f64) -> f64 {
    let mut acc = [0.0; 32];
    let blocks = len / 32;
    for block in 0..blocks {
        for (lane, acc) in acc.iter_mut().enumerate() {
            *acc += value(block * 32 + lane);
        }
    }
    acc.iter().sum::<f64>() + (blocks * 32..len).map(value).sum::<f64>()
}

/// Reads the largest input once, all threads together.
fn read_once(inputs: &Variables) -> (f64, usize) {
    let largest = inputs.values().filter_map(|value| match value {
        RuntimeValue::Matrix(block) => Some(dense(block).values()),
        RuntimeValue::Scalar(_) | RuntimeValue::List(_) | RuntimeValue::Frame(_) => None,
    });
    let cells = largest.max_by_key(|cells| cells.len()).expect("an input");
    let total = cells.par_chunks(1 << 16).map(|chunk| lanes(chunk.len(), |i| chunk[i])).sum();
    (total, size_of_val(cells))
}

fn timed(mut work: impl FnMut() -> f64) -> Duration {
    let start = Instant::now();
    black_box(work());
    start.elapsed()
}

fn session(mode: Mode) -> Session {
    Session::new(CompileOptions { mode, ..CompileOptions::default() }).expect("a session")
}

fn measure(workload: &Workload) {
    let (fused, unfused) = (session(Mode::Gen), session(Mode::Base));
    let mut compiled = Vec::new();
    let start = Instant::now();
    fused
        .compile_dag(&workload.dag, &mut |stage| {
            if let CompileStage::Operator(_, operator) = stage {
                compiled.push((operator.plan.variant.mnemonic(), operator.info.duration, operator.info.code_bytes));
            }
        })
        .expect("the workload compiles");
    let compile_time = start.elapsed();
    let run = |session: &Session| {
        let outcome = session.run_dag(&workload.dag, workload.inputs.clone()).expect("the workload runs");
        outcome.statistics.execute_seconds
    };
    let (_, read_bytes) = read_once(&workload.inputs);
    let mut rates: [Vec<f64>; 4] = Default::default();
    for _ in 0..ROUNDS {
        let seconds = timed(|| read_once(&workload.inputs).0).as_secs_f64();
        rates[0].push(read_bytes as f64 / seconds);
        rates[1].push(workload.bytes as f64 / timed(&workload.by_hand).as_secs_f64());
        rates[2].push(workload.bytes as f64 / run(&fused));
        rates[3].push(workload.bytes as f64 / run(&unfused));
    }
    let cells: Vec<String> = rates
        .iter_mut()
        .map(|rates| {
            rates.sort_by(f64::total_cmp);
            format!("{:>4.1} ({:.1})", rates[ROUNDS - 1] / 1e9, rates[ROUNDS / 2] / 1e9)
        })
        .collect();
    println!("{:<34} {:>10} {:>10} {:>10} {:>10}", workload.name, cells[0], cells[1], cells[2], cells[3]);
    for (variant, duration, bytes) in compiled {
        println!("    {variant}: compiled in {:.2} ms, {bytes} bytes of code", duration.as_secs_f64() * 1e3);
    }
    println!("    the whole DAG: {:.2} ms", compile_time.as_secs_f64() * 1e3);
}
