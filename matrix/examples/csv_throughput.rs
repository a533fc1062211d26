//! How fast CSV files are read.
//!
//! ```text
//! cargo run --release --package fuseline-matrix --example csv_throughput [MEGABYTES]
//! ```

use fuseline_matrix::io::{Metadata, read_matrix, write_matrix};
use fuseline_matrix::{Dense, MatrixBlock};
use std::error::Error;
use std::time::Instant;

const COLS: usize = 50;
const REPETITIONS: usize = 5;

type Cell = fn(f64) -> f64;

/// What a file holds: its name, and a cell for each random number from 0 to 1.
const CONTENTS: &[(&str, Cell)] = &[
    ("17 digits", |random| random),
    ("4 digits", |random| (random * 1e4).round() / 1e4),
    ("small integers", |random| (random * 10.0).floor()),
];

fn main() -> Result<(), Box<dyn Error>> {
    let megabytes: usize = std::env::args().nth(1).map_or(Ok(200), |argument| argument.parse())?;
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("data.csv");
    println!("{:<16} {:>8} {:>8} {:>10} {:>10}", "cells", "MB", "threads", "seconds", "MB/s");
    for (name, cell) in CONTENTS {
        let bytes = write_file(&path, megabytes, *cell)?;
        for threads in [1, std::thread::available_parallelism()?.get()] {
            let seconds = best_time(&path, threads)?;
            let size = bytes as f64 / 1e6;
            println!("{name:<16} {size:>8.0} {threads:>8} {seconds:>10.3} {:>10.0}", size / seconds);
        }
    }
    Ok(())
}

/// Writes a file of about this size and returns its exact one.
fn write_file(path: &std::path::Path, megabytes: usize, cell: Cell) -> Result<u64, Box<dyn Error>> {
    let mut state = 1_u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    let mut sample = |rows: usize| -> MatrixBlock { Dense::from_fn(rows, COLS, |_, _| cell(random())).into() };
    write_matrix(&sample(100), path, &Metadata::default())?;
    let bytes_per_row = std::fs::metadata(path)?.len() as usize / 100;
    write_matrix(&sample(megabytes * 1_000_000 / bytes_per_row), path, &Metadata::default())?;
    Ok(std::fs::metadata(path)?.len())
}

fn best_time(path: &std::path::Path, threads: usize) -> Result<f64, Box<dyn Error>> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
    let mut best = f64::INFINITY;
    for _ in 0..REPETITIONS {
        let start = Instant::now();
        let block = pool.install(|| read_matrix(path, &Metadata::default()))?;
        best = best.min(start.elapsed().as_secs_f64());
        std::hint::black_box(block);
    }
    Ok(best)
}
