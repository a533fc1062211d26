//! How fast binary files are read, against copying as many bytes within memory.
//!
//! ```text
//! cargo run --release --package fuseline-matrix --example binary_throughput [MEGABYTES]
//! ```

use fuseline_matrix::io::{Metadata, read_matrix, write_matrix};
use fuseline_matrix::{Csr, Dense, MatrixBlock};
use rayon::prelude::*;
use std::error::Error;
use std::path::Path;
use std::time::Instant;

const COLS: usize = 1000;
const ROW_NONZEROS: usize = 100;
const REPETITIONS: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let megabytes: usize = std::env::args().nth(1).map_or(Ok(1000), |argument| argument.parse())?;
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("data.bin");
    println!("{:<24} {:>8} {:>8} {:>10} {:>10}", "", "MB", "threads", "seconds", "MB/s");
    for (name, block) in [("dense", dense(megabytes)), ("CSR", sparse(megabytes))] {
        let start = Instant::now();
        write_matrix(&block, &path, &Metadata::default())?;
        let size = std::fs::metadata(&path)?.len();
        report(&format!("write {name}"), size, 1, start.elapsed().as_secs_f64());
        drop(block);
        for threads in [1, std::thread::available_parallelism()?.get()] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
            report(&format!("read {name}"), size, threads, best_time(|| pool.install(|| load(&path)))?);
        }
    }
    compare_with_copies(megabytes)
}

/// Copies of values: onto memory that was used before, and onto fresh memory.
fn compare_with_copies(megabytes: usize) -> Result<(), Box<dyn Error>> {
    let original = Dense::from_fn(megabytes * 125, COLS, |i, j| (i * COLS + j) as f64);
    let bytes = size_of_val(original.values()) as u64;
    let mut copy = original.clone();
    for threads in [1, std::thread::available_parallelism()?.get()] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
        let seconds = best_time(|| {
            pool.install(|| copy_into(&mut copy, &original));
            Ok(())
        })?;
        report("copy", bytes, threads, seconds);
        let seconds = best_time(|| {
            let mut fresh = Dense::zeros(original.rows(), COLS);
            pool.install(|| copy_into(&mut fresh, &original));
            Ok(fresh)
        })?;
        report("copy to fresh memory", bytes, threads, seconds);
    }
    Ok(())
}

fn copy_into(copy: &mut Dense, original: &Dense) {
    let chunks = copy.values_mut().par_chunks_mut(1 << 15);
    chunks.zip(original.values().par_chunks(1 << 15)).for_each(|(copy, original)| copy.copy_from_slice(original));
}

fn dense(megabytes: usize) -> MatrixBlock {
    Dense::from_fn(megabytes * 125, COLS, |i, j| (i + j) as f64).into()
}

fn sparse(megabytes: usize) -> MatrixBlock {
    let rows = megabytes * 1_000_000 / (ROW_NONZEROS * 12 + 8);
    let columns = (0..rows).flat_map(|_| (0..ROW_NONZEROS).map(|position| (position * COLS / ROW_NONZEROS) as u32));
    let row_offsets = (0..=rows).map(|row| row * ROW_NONZEROS).collect();
    Csr::from_parts(rows, COLS, row_offsets, columns.collect(), vec![1.5; rows * ROW_NONZEROS]).into()
}

fn load(path: &Path) -> Result<MatrixBlock, Box<dyn Error + Send + Sync>> {
    Ok(read_matrix(path, &Metadata::default())?)
}

fn best_time<T>(mut run: impl FnMut() -> Result<T, Box<dyn Error + Send + Sync>>) -> Result<f64, Box<dyn Error>> {
    let mut best = f64::INFINITY;
    for _ in 0..REPETITIONS {
        let start = Instant::now();
        let result = run().map_err(|error| error.to_string())?;
        best = best.min(start.elapsed().as_secs_f64());
        drop(std::hint::black_box(result));
    }
    Ok(best)
}

fn report(what: &str, bytes: u64, threads: usize, seconds: f64) {
    let size = bytes as f64 / 1e6;
    println!("{what:<24} {size:>8.0} {threads:>8} {seconds:>10.3} {:>10.0}", size / seconds);
}
