//! The rates of the machine: what reading, writing, copying, multiply-adds and matrix products reach by hand.

use crate::by_hand::dense;
use crate::document::{Part, digits};
use crate::rounds::{Contender, Times, in_turn};
use crate::workload::READ;
use fuseline::Dense;
use fuseline::ir::work::CELL_BYTES;
use gemm::Parallelism;
use multiversion::multiversion;
use rayon::prelude::*;
use std::hint::black_box;

/// Values that are streamed: 1 GiB, which no cache holds.
const STREAMED: usize = 1 << 27;
/// Rows and columns of the factors of a product.
const PRODUCT: usize = 1024;
/// Multiply-adds of a thread: rounds over 16 registers of 8 lanes.
const FMA_ROUNDS: usize = 1 << 20;
const FMA_LANES: usize = 16 * 8;

/// The name of [`multiply_adds`] among contenders.
pub(crate) const MULTIPLY_ADDS: &str = "multiply-add, in registers";
/// The name of the product of two square matrices.
pub(crate) const MATRIX_PRODUCT: &str = "matrix product, 1024 squared";

/// What the machine reaches by hand, in units of something per second.
pub(crate) struct Rate {
    pub(crate) name: String,
    pub(crate) per_second: f64,
    unit: &'static str,
    /// The median distance of a round from the median, as a share of it.
    spread: f64,
}

/// All rates, in turn.
pub(crate) fn measure(rounds: usize) -> Vec<Rate> {
    let source = Dense::from_fn(1, STREAMED, |_, j| (j % 1013) as f64);
    let mut target = Dense::zeros(1, STREAMED);
    let mut written = Dense::zeros(1, STREAMED);
    let factors = [1.0, 2.0].map(|scale| Dense::from_fn(PRODUCT, PRODUCT, |i, j| scale + ((i + j) % 7) as f64));
    let mut product = vec![0.0; PRODUCT * PRODUCT];
    let threads = rayon::current_num_threads();
    let share = STREAMED.div_ceil(4 * threads);
    let mut contenders = [
        Contender::new(READ, || _ = black_box(dense::read(source.values()))),
        Contender::new("write", || {
            written.values_mut().par_chunks_mut(share).for_each(|part| part.fill(black_box(1.5)));
        }),
        Contender::new("copy", || {
            let parts = target.values_mut().par_chunks_mut(share).zip(source.values().par_chunks(share));
            parts.for_each(|(target, source)| target.copy_from_slice(source));
        }),
        Contender::new(MULTIPLY_ADDS, multiply_adds),
        Contender::new(MATRIX_PRODUCT, || multiply(&mut product, &factors)),
    ];
    let times = in_turn(&mut contenders, rounds);
    let streamed = (CELL_BYTES * STREAMED as u64) as f64;
    let amounts = [
        (streamed, "GB/s"),
        (streamed, "GB/s"),
        (2.0 * streamed, "GB/s"),
        (multiply_add_flops(), "GFLOP/s"),
        (2.0 * (PRODUCT as f64).powi(3), "GFLOP/s"),
    ];
    let rate = |(times, (amount, unit)): (&Times, (f64, &'static str))| Rate {
        name: times.name.clone(),
        per_second: amount / times.median(),
        unit,
        spread: times.spread(),
    };
    times.iter().zip(amounts).map(rate).collect()
}

pub(crate) fn section(rates: &[Rate]) -> Vec<Part> {
    let row = |rate: &Rate| {
        let Rate { name, per_second, unit, spread } = rate;
        vec![name.clone(), format!("{} {unit}", digits(per_second / 1e9)), format!("{:.0} %", 100.0 * spread)]
    };
    vec![
        Part::heading("The machine"),
        Part::text(
            "Rates of all threads together by loops written by hand: medians, and the median distance from them. A copy \
             counts the bytes read and the bytes written. Reading is measured again beside every workload, on its own \
             inputs.",
        ),
        Part::table(&["what", "rate", "spread"], rates.iter().map(row).collect()),
    ]
}

/// Multiply-adds of all threads, [`multiply_add_flops`] in all.
pub(crate) fn multiply_adds() {
    rayon::broadcast(|_| black_box(chains(black_box(0.5))));
}

/// Floating-point operations of [`multiply_adds`].
pub(crate) fn multiply_add_flops() -> f64 {
    (2 * FMA_ROUNDS * FMA_LANES * rayon::current_num_threads()) as f64
}

#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx2+fma", "x86_64+avx2+fma"))]
fn chains(factor: f64) -> f64 {
    let mut lanes = [1.0_f64; FMA_LANES];
    for _ in 0..FMA_ROUNDS {
        for lane in &mut lanes {
            *lane = lane.mul_add(factor, 1.0);
        }
    }
    lanes.iter().sum()
}

/// The product of two square matrices, row by row.
fn multiply(product: &mut [f64], factors: &[Dense; 2]) {
    let [left, right] = factors.each_ref().map(Dense::values);
    assert!(product.len() >= PRODUCT * PRODUCT);
    let stride = PRODUCT as isize;
    // SAFETY: all three are square matrices of this many rows, row by row.
    unsafe {
        gemm::gemm(
            PRODUCT,
            PRODUCT,
            PRODUCT,
            product.as_mut_ptr(),
            1,
            stride,
            false,
            left.as_ptr(),
            1,
            stride,
            right.as_ptr(),
            1,
            stride,
            0.0,
            1.0,
            false,
            false,
            false,
            Parallelism::Rayon(0),
        );
    }
}
