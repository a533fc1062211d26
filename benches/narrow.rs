//! Values narrower than doubles, beyond the caches: products that read them part by part, against the same of doubles.
//!
//! `./x bench narrow [MEGABYTES]`: of doubles, 1000 unless said. A basic operator (Base) and a fused one (Gen), each on the
//! same prepared script; doubles and narrow values take turns, and times are medians.

use fuseline::ir::DataType;
use fuseline::{CompileOptions, Dense, Error, MatrixBlock, Mode, NarrowDense, NarrowValue, ScriptInterface, Session};
use std::time::Instant;

const COLS: usize = 1000;
const ROUNDS: usize = 7;

const PRODUCTS: &[(&str, Mode, &str)] =
    &[("X %*% v", Mode::Base, "r = X %*% v"), ("t(X) %*% (X %*% v)", Mode::Gen, "r = t(X) %*% (X %*% v)")];

fn main() -> Result<(), Error> {
    let megabytes = std::env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(1000);
    let rows = megabytes * 1_000_000 / (8 * COLS);
    let blocks = [
        ("f64", MatrixBlock::from(Dense::from_fn(rows, COLS, |i, j| f64::from(byte(i, j))))),
        ("f32", narrow(rows, f32::from)),
        ("i32", narrow(rows, i32::from)),
        ("u8", narrow(rows, |byte| byte)),
    ];
    println!(
        "{rows} x {COLS}, {megabytes} MB of doubles, {} threads",
        std::thread::available_parallelism().map_or(1, usize::from)
    );
    println!("{:<20} {:>5} {:>10} {:>8} {:>8}", "", "", "ms", "GB/s", "speed");
    for &(name, mode, text) in PRODUCTS {
        let mut seconds = [const { Vec::new() }; 4];
        for _ in 0..ROUNDS {
            for ((_, block), seconds) in blocks.iter().zip(&mut seconds) {
                seconds.push(time(mode, text, block)?);
            }
        }
        let medians = seconds.map(median);
        for ((kind, block), seconds) in blocks.iter().zip(medians) {
            let rate = block.bytes() as f64 / seconds / 1e9;
            let speed = medians[0] / seconds;
            println!("{name:<20} {kind:>5} {:>10.1} {rate:>8.1} {speed:>8.2}", 1e3 * seconds);
        }
    }
    Ok(())
}

fn byte(i: usize, j: usize) -> u8 {
    ((i * 31 + j * 17) % 251) as u8
}

fn narrow<T: NarrowValue>(rows: usize, value: impl Fn(u8) -> T) -> MatrixBlock {
    let values = (0..rows).flat_map(|i| (0..COLS).map(move |j| (i, j))).map(|(i, j)| value(byte(i, j))).collect();
    NarrowDense::from_vec(rows, COLS, values).into()
}

/// Seconds of a run that compiles nothing.
fn time(mode: Mode, text: &str, x: &MatrixBlock) -> Result<f64, Error> {
    let session = Session::new(CompileOptions { mode, ..CompileOptions::default() })?;
    let inputs = [("X", DataType::MATRIX), ("v", DataType::MATRIX)];
    let interface = ScriptInterface { inputs: &inputs, outputs: &["r"], ..ScriptInterface::default() };
    let mut script = session.prepare_script("<text>", text, &interface)?;
    let mut seconds = 0.0;
    for _ in 0..2 {
        script.bind("X", x.clone())?.bind("v", Dense::from_fn(COLS, 1, |i, _| i as f64))?;
        let start = Instant::now();
        script.execute(&mut std::io::sink())?;
        seconds = start.elapsed().as_secs_f64();
    }
    assert_eq!(x.narrow_dense().is_none(), x.bytes() == x.rows() * x.cols() * 8, "narrow values stay narrow");
    Ok(seconds)
}

fn median(mut seconds: Vec<f64>) -> f64 {
    seconds.sort_by(f64::total_cmp);
    seconds[seconds.len() / 2]
}
