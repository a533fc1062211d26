//! What LLVM's levels of optimization cost and bring: the DAGs of the file tests of CPlans, compiled at each level, and
//! the time of their fused operators, the levels in turn.
//!
//! `cargo bench --bench levels [ROUNDS]`, on an idle machine. ADR 0053 has what it showed.

use fuseline::{BackendKind, CompileOptions, Csr, Dense, LlvmLevel, MatrixBlock, RuntimeValue, Session, Variables};
use fuseline_ir::SizeInfo;
use fuseline_ir::hop::{Hop, HopDag, HopOp, parse};
use std::error::Error;
use std::fs;
use std::path::Path;

/// Rounds of which the fastest counts.
const ROUNDS: usize = 9;

/// Executions of a DAG in a round.
const EXECUTIONS: usize = 5;

/// A DAG at one level.
struct Measured {
    session: Session,
    compile_seconds: f64,
    code_bytes: u64,
    /// The least of all rounds.
    seconds: f64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let rounds = std::env::args().filter_map(|argument| argument.parse().ok()).next().unwrap_or(ROUNDS);
    println!("| DAG | operators | {} | {} |", header("compile"), header("run"));
    println!("|{}", "---|".repeat(2 + 2 * LlvmLevel::ALL.len()));
    let mut all: Vec<Vec<f64>> = Vec::new();
    for (name, dag) in dags(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/filetests/cplan"))? {
        let Some(variables) = variables(&dag) else { continue };
        let mut levels =
            LlvmLevel::ALL.map(|level| measured(level, &dag, &variables)).into_iter().collect::<Result<Vec<_>, _>>()?;
        for _ in 0..rounds {
            for level in &mut levels {
                level.seconds = level.seconds.min(fused_seconds(&level.session, &dag, &variables)?);
            }
        }
        if levels[0].seconds == 0.0 || levels[0].code_bytes == 0 {
            continue;
        }
        let compile =
            levels.iter().map(|level| format!("{:.1} ms, {} B", 1e3 * level.compile_seconds, level.code_bytes));
        let run = levels.iter().map(|level| format!("{:.1} us", 1e6 * level.seconds));
        let cells: Vec<String> = compile.chain(run).collect();
        println!("| {name} | {} | {} |", dag.hops.len(), cells.join(" | "));
        all.push(
            levels.iter().map(|level| level.compile_seconds).chain(levels.iter().map(|level| level.seconds)).collect(),
        );
    }
    summarize(&all);
    Ok(())
}

fn header(what: &str) -> String {
    LlvmLevel::ALL.map(|level| format!("{what}, {level:?}")).join(" | ")
}

/// Geometric means of the ratios to the first level, and their extremes.
fn summarize(all: &[Vec<f64>]) {
    let levels = LlvmLevel::ALL.len();
    for (what, first) in [("compile", 0), ("run", levels)] {
        for (number, level) in LlvmLevel::ALL.iter().enumerate().skip(1) {
            let mut ratios: Vec<f64> = all.iter().map(|times| times[first + number] / times[first]).collect();
            ratios.sort_by(f64::total_cmp);
            let mean = (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp();
            let (least, most) = (ratios.first().copied().unwrap_or(1.0), ratios.last().copied().unwrap_or(1.0));
            println!("\n{what}, {level:?}: {mean:.3} of the time of {:?} ({least:.2} to {most:.2})", LlvmLevel::ALL[0]);
        }
    }
}

/// The DAGs of all files of a folder.
fn dags(folder: &Path) -> Result<Vec<(String, HopDag)>, Box<dyn Error>> {
    let mut paths = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>, std::io::Error>>()?;
    paths.sort();
    let mut all = Vec::new();
    for path in paths.iter().filter(|path| path.extension().is_some_and(|extension| extension == "hop")) {
        let file = path.file_stem().unwrap_or_default().to_string_lossy();
        let dags = parse(&fs::read_to_string(path)?).map_err(|errors| format!("{}: {errors}", path.display()))?;
        all.extend(dags.into_iter().map(|(name, dag)| (format!("{file}, {name}"), dag)));
    }
    Ok(all)
}

/// Values for what a DAG reads; none where a size is open.
fn variables(dag: &HopDag) -> Option<Variables> {
    let value = |hop: &Hop| {
        if hop.is_matrix() { matrix(&hop.size).map(RuntimeValue::Matrix) } else { Some(RuntimeValue::from(0.5)) }
    };
    let reads = dag.hops.values().filter_map(|hop| match &hop.op {
        HopOp::Read(name) => Some((name.clone(), hop)),
        _ => None,
    });
    reads.map(|(name, hop)| Some((name, value(hop)?))).collect()
}

/// Positive cells that differ, and as few of them as the size says.
fn matrix(size: &SizeInfo) -> Option<MatrixBlock> {
    let (rows, cols) = size.known_dims()?;
    let share = size.sparsity();
    let cell = |i: usize, j: usize| {
        let number =
            (i.wrapping_mul(0x9E37_79B9) ^ j.wrapping_mul(0x85EB_CA6B)).wrapping_mul(0xC2B2_AE35) >> 7 & 0xFFFF;
        let number = number as f64 / 65536.0;
        if number < share { 0.25 + number / share / 2.0 } else { 0.0 }
    };
    let dense = Dense::from_fn(usize::try_from(rows).ok()?, usize::try_from(cols).ok()?, cell);
    Some(if size.format().is_sparse() { Csr::from_dense(&dense).into() } else { dense.into() })
}

fn measured(level: LlvmLevel, dag: &HopDag, variables: &Variables) -> Result<Measured, fuseline::Error> {
    let options = CompileOptions { llvm: level, backend: BackendKind::Llvm, threads: 1, ..CompileOptions::default() };
    let session = Session::new(options.clone())?;
    // What the first compilation of a process needs is none of the level's cost.
    session.run_dag(dag, variables.clone())?;
    let again = session.reconfigured(options)?;
    let statistics = again.run_dag(dag, variables.clone())?.statistics;
    let (compile_seconds, code_bytes) = (statistics.codegen_seconds, statistics.code_bytes);
    Ok(Measured { session, compile_seconds, code_bytes, seconds: f64::INFINITY })
}

/// The time in fused operators, of the fastest execution: others on the machine only ever lengthen one.
fn fused_seconds(session: &Session, dag: &HopDag, variables: &Variables) -> Result<f64, fuseline::Error> {
    let mut least = f64::INFINITY;
    for _ in 0..EXECUTIONS {
        let statistics = session.run_dag(dag, variables.clone())?.statistics;
        let fused = statistics.heavy_hitters.iter().filter(|(name, _)| name.starts_with("spoof"));
        least = least.min(fused.map(|(_, hitter)| hitter.seconds).sum());
    }
    Ok(least)
}
