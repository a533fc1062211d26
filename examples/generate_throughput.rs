//! How fast synthetic data is generated, for each kind.
//!
//! ```text
//! cargo run --release --example generate_throughput [MEGABYTES]
//! ```

use fuseline::generate::{Kind, Specification};
use std::error::Error;
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let megabytes: f64 = std::env::args().nth(1).map_or(Ok(200.0), |argument| argument.parse())?;
    println!("{:<12} {:>10} {:>8} {:>10} {:>8} {:>10} {:>10}", "kind", "rows", "cols", "nnz", "MB", "seconds", "MB/s");
    for kind in Kind::all() {
        let start = Instant::now();
        let data = specification(kind, megabytes).generate()?.data;
        let seconds = start.elapsed().as_secs_f64();
        let (rows, cols) = data.dims();
        let size = data.bytes() as f64 / 1e6;
        let nnz = data.nnz();
        println!("{kind:<12} {rows:>10} {cols:>8} {nnz:>10} {size:>8.0} {seconds:>10.3} {:>10.0}", size / seconds);
    }
    Ok(())
}

/// Data of about this size in memory.
fn specification(kind: Kind, megabytes: f64) -> Specification {
    let rows = |bytes_per_row: f64| Some((megabytes * 1e6 / bytes_per_row) as u64);
    let default = Specification::new(kind);
    match kind {
        Kind::Airline78 => Specification { rows: rows(29.0 * 8.0), ..default },
        Kind::Mnist => Specification { rows: rows(784.0 * 0.25 * 12.0), ..default },
        // The number of non-zeros grows with the square of the scale.
        Kind::Netflix => Specification { scale: (megabytes / 1230.0).sqrt(), ..default },
        Kind::Amazon => Specification { scale: (megabytes / 340.0).min(1.0).sqrt(), ..default },
        Kind::Graph => Specification { rows: rows(8.0 * 12.0 + 8.0), ..default },
        Kind::Ratings => Specification { rows: rows(10_000.0 * 0.01 * 12.0), cols: Some(10_000), ..default },
        _ => Specification { rows: rows(100.0 * 8.0), cols: Some(100), ..default },
    }
}
