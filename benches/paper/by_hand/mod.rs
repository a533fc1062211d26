//! The workloads as one would write them by hand for this machine: the limit that fused operators are held against.
//!
//! Functions marked `multiversion` exist for several instruction sets, of which the best of the machine is taken. What
//! they call is inlined into them, and so compiled for the same instruction set; but not what is inlined into functions of
//! other crates, such as `array::from_fn`, so that inner loops are written out. Threads are those of rayon, as many as
//! sessions have, and take pieces of the input; accumulators are private to a piece.

pub(crate) mod dense;
pub(crate) mod outer;
pub(crate) mod sparse;

use rayon::prelude::*;
use std::ops::Range;

/// Cells that are added up side by side: four registers of AVX-512.
const LANES: usize = 32;

/// Pieces that an input is cut into: several for each thread, so that none waits long for another.
pub(crate) const PIECES: usize = 16;

/// Values after which pieces begin, so that their vectors do not straddle cache lines, where there are so many.
const LINES: usize = 64;

/// Cuts `0..len` into pieces, works on all in parallel and gives the results in order.
pub(crate) fn pieces<T: Send>(len: usize, work: impl Fn(Range<usize>) -> T + Sync) -> Vec<T> {
    let unit = if len < 16 * LINES * PIECES { 1 } else { LINES };
    let start = |piece: usize| if piece == PIECES { len } else { len * piece / PIECES / unit * unit };
    let bounds = |piece: usize| start(piece)..start(piece + 1);
    (0..PIECES).into_par_iter().map(|piece| work(bounds(piece))).collect()
}

/// The sum of vectors of one length.
pub(crate) fn add_up(vectors: Vec<Vec<f64>>) -> Vec<f64> {
    let sum = vectors.into_iter().reduce(|mut sum, vector| {
        sum.iter_mut().zip(&vector).for_each(|(sum, value)| *sum += value);
        sum
    });
    sum.unwrap_or_default()
}

/// The dot product of vectors of one length.
#[inline(always)]
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    let mut lanes = [0.0_f64; LANES];
    for (a, b) in a.iter().zip(b) {
        for lane in 0..LANES {
            lanes[lane] = a[lane].mul_add(b[lane], lanes[lane]);
        }
    }
    let mut rest = [0.0_f64; 8];
    let ((a, a_rest), (b, b_rest)) = (a_rest.as_chunks::<8>(), b_rest.as_chunks::<8>());
    for (a, b) in a.iter().zip(b) {
        for lane in 0..8 {
            rest[lane] = a[lane].mul_add(b[lane], rest[lane]);
        }
    }
    let last: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    for (lane, value) in lanes.into_iter().enumerate() {
        rest[lane % 8] += value;
    }
    rest.into_iter().sum::<f64>() + last
}

/// A sum in which the compiler finds registers: the upper half is added to the lower one until one cell is left.
#[inline(always)]
pub(crate) fn halved_sum<const COLS: usize>(mut cells: [f64; COLS]) -> f64 {
    let mut width = COLS;
    while width > 1 {
        let half = width.div_ceil(2);
        for j in half..width {
            cells[j - half] += cells[j];
        }
        width = half;
    }
    cells[0]
}

/// `into += factor * values`.
#[inline(always)]
pub(crate) fn add_scaled(into: &mut [f64], factor: f64, values: &[f64]) {
    into.iter_mut().zip(values).for_each(|(into, value)| *into = factor.mul_add(*value, *into));
}

/// A `rows` x `cols` matrix, row by row, from its transpose.
fn transposed(values: &[f64], rows: usize, cols: usize) -> Vec<f64> {
    (0..rows * cols).map(|cell| values[cell % cols * rows + cell / cols]).collect()
}

/// The dot products of four vectors with one, whose loads they share.
#[inline(always)]
fn four_dots(a: [&[f64]; 4], b: &[f64]) -> [f64; 4] {
    let [(a0, a0_rest), (a1, a1_rest), (a2, a2_rest), (a3, a3_rest)] =
        [a[0].as_chunks::<16>(), a[1].as_chunks::<16>(), a[2].as_chunks::<16>(), a[3].as_chunks::<16>()];
    let (b, b_rest) = b.as_chunks::<16>();
    let mut lanes = [[0.0_f64; 16]; 4];
    for ((((b, a0), a1), a2), a3) in b.iter().zip(a0).zip(a1).zip(a2).zip(a3) {
        for lane in 0..16 {
            lanes[0][lane] = a0[lane].mul_add(b[lane], lanes[0][lane]);
            lanes[1][lane] = a1[lane].mul_add(b[lane], lanes[1][lane]);
            lanes[2][lane] = a2[lane].mul_add(b[lane], lanes[2][lane]);
            lanes[3][lane] = a3[lane].mul_add(b[lane], lanes[3][lane]);
        }
    }
    let rest = |a: &[f64]| {
        let mut sum = 0.0;
        for (a, b) in a.iter().zip(b_rest) {
            sum += a * b;
        }
        sum
    };
    [
        halved_sum(lanes[0]) + rest(a0_rest),
        halved_sum(lanes[1]) + rest(a1_rest),
        halved_sum(lanes[2]) + rest(a2_rest),
        halved_sum(lanes[3]) + rest(a3_rest),
    ]
}

/// `into += factors[0] * values[0] + ...`, four at a time.
#[inline(always)]
fn add_four_scaled(into: &mut [f64], factors: [f64; 4], values: [&[f64]; 4]) {
    let values = values[0].iter().zip(values[1]).zip(values[2]).zip(values[3]);
    for (into, (((v0, v1), v2), v3)) in into.iter_mut().zip(values) {
        let two = factors[1].mul_add(*v1, factors[0].mul_add(*v0, *into));
        *into = factors[3].mul_add(*v3, factors[2].mul_add(*v2, two));
    }
}
