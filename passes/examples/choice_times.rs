//! What the optimizer takes per DAG: `cargo run --release -p fuseline-passes --example choice_times -- FILE.hop...`
//!
//! The files hold DAGs with sizes, as `fuseline run --explain hops` prints them. Times are medians over repetitions, in
//! microseconds: fusion alone, rewriting alone, and the search over both.

use fuseline_ir::hop::{HopDag, parse};
use fuseline_passes::joint::{Chosen, choose};
use fuseline_passes::pipeline::OptimizerOptions;
use fuseline_passes::rewrite::{RewriteOptions, rewrite};
use std::collections::BTreeSet;
use std::error::Error;
use std::time::Instant;

const REPETITIONS: usize = 9;

fn main() -> Result<(), Box<dyn Error>> {
    println!(
        "{:>24} {:>9} {:>9} {:>9} {:>9} {:>5} {:>8}  chosen",
        "DAG", "operators", "fuse", "rewrite", "both", "forms", "explored"
    );
    for path in std::env::args().skip(1) {
        let text = std::fs::read_to_string(&path)?;
        let dags = parse(&text).map_err(|errors| errors.to_string())?;
        let mut seen = BTreeSet::new();
        for (number, (_, dag)) in dags.iter().enumerate().filter(|(_, (_, dag))| seen.insert(dag.to_string())) {
            let name = path.rsplit('/').next().unwrap_or(&path).trim_end_matches(".hop");
            print_row(&format!("{name} {number}"), dag);
        }
    }
    Ok(())
}

fn print_row(name: &str, dag: &HopDag) {
    let (on, off) = (RewriteOptions::default(), RewriteOptions { enabled: false, ..RewriteOptions::default() });
    let options = OptimizerOptions::default();
    let fuse = median_microseconds(|| drop(choose(dag, &off, &options)));
    let simplify = median_microseconds(|| drop(rewrite(dag, &on)));
    let both = median_microseconds(|| drop(choose(dag, &on, &options)));
    let Chosen { report, .. } = choose(dag, &on, &options);
    let chosen = &report.tried[report.chosen];
    println!(
        "{name:>24} {:>9} {fuse:>9.0} {simplify:>9.0} {both:>9.0} {:>5} {:>8}  {chosen}",
        dag.hops.len(),
        report.tried.len(),
        report.explored
    );
}

fn median_microseconds(mut work: impl FnMut()) -> f64 {
    let mut times: Vec<f64> = (0..REPETITIONS)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[REPETITIONS / 2]
}
