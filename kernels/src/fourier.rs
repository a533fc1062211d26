//! The discrete Fourier transform, of vectors of any length, by row or in both dimensions.
//!
//! Angles go through the project's own sine and cosine, so that the bits do not depend on the machine.

use crate::{KernelContext, KernelError};
use faer::c64;
use fuseline_ir::ops::math;
use fuseline_matrix::{Dense, MatrixBlock, StopListener};
use rayon::prelude::*;

/// A matrix of complex numbers.
#[derive(Clone, Debug)]
pub struct ComplexMatrix {
    /// The real parts.
    pub real: MatrixBlock,
    /// The imaginary parts, as many.
    pub imaginary: MatrixBlock,
}

/// What is transformed, and which way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transform {
    /// Whether each row is transformed by itself; else the rows and then the columns.
    pub by_row: bool,
    /// Whether it is the inverse, which divides by the number of values.
    pub is_inverse: bool,
}

/// The discrete Fourier transform of a matrix: of a vector x of n values, `sum(x[j] * exp(-2 pi i j k / n))` for each k
/// from 0 to n - 1. Without an imaginary part, that is zero.
///
/// # Errors
/// A real and an imaginary part of different sizes.
pub fn fourier(
    context: &KernelContext<'_>,
    real: &MatrixBlock,
    imaginary: Option<&MatrixBlock>,
    transform: Transform,
) -> Result<ComplexMatrix, KernelError> {
    let (rows, cols) = real.dims();
    if let Some(other) = imaginary.filter(|imaginary| imaginary.dims() != real.dims()) {
        let operation = if transform.is_inverse { "ifft" } else { "fft" };
        let rule = "real and imaginary part must have the same size";
        return Err(KernelError::Shapes {
            operation: operation.to_owned(),
            left: real.dims(),
            right: other.dims(),
            rule,
        });
    }
    let mut cells = complex_cells(real, imaginary);
    context.pool.install(|| {
        transform_rows(&mut cells, cols, transform.is_inverse);
        if !transform.by_row {
            let mut columns = transposed(&cells, rows, cols);
            transform_rows(&mut columns, rows, transform.is_inverse);
            cells = transposed(&columns, cols, rows);
        }
    });
    let part = |part: fn(&c64) -> f64| Dense::from_vec(rows, cols, cells.iter().map(part).collect()).into();
    Ok(ComplexMatrix { real: part(|cell| cell.re), imaginary: part(|cell| cell.im) })
}

fn complex_cells(real: &MatrixBlock, imaginary: Option<&MatrixBlock>) -> Vec<c64> {
    let real = real.to_dense();
    match imaginary.map(MatrixBlock::to_dense) {
        Some(imaginary) => real.values().iter().zip(imaginary.values()).map(|(&re, &im)| c64::new(re, im)).collect(),
        None => real.values().iter().map(|&re| c64::new(re, 0.0)).collect(),
    }
}

/// The cells of a `rows` x `cols` matrix, column by column.
fn transposed(cells: &[c64], rows: usize, cols: usize) -> Vec<c64> {
    (0..rows * cols).map(|at| cells[at % rows * cols + at / rows]).collect()
}

/// Transforms each row of `length` cells.
fn transform_rows(cells: &mut [c64], length: usize, is_inverse: bool) {
    if length == 0 {
        return;
    }
    let plan = Plan::new(length);
    let stop = StopListener::current();
    cells.par_chunks_mut(length).filter(|_| !stop.hears()).for_each(|row| {
        if is_inverse {
            // Real and imaginary part exchanged before and after turn the transform around.
            row.iter_mut().for_each(|cell| *cell = c64::new(cell.im, cell.re));
            plan.run(row);
            row.iter_mut().for_each(|cell| *cell = c64::new(cell.im / length as f64, cell.re / length as f64));
        } else {
            plan.run(row);
        }
    });
    stop.check();
}

/// What the transforms of one length share.
enum Plan {
    PowerOfTwo(PowerOfTwo),
    AnyLength(Chirp),
}

impl Plan {
    fn new(length: usize) -> Self {
        if length.is_power_of_two() {
            Plan::PowerOfTwo(PowerOfTwo::new(length))
        } else {
            Plan::AnyLength(Chirp::new(length))
        }
    }

    fn run(&self, values: &mut [c64]) {
        match self {
            Plan::PowerOfTwo(plan) => plan.run(values),
            Plan::AnyLength(plan) => plan.run(values),
        }
    }
}

/// `exp(-2 pi i k / n)`, exact where the angle is a multiple of a right one.
fn root(k: usize, n: usize) -> c64 {
    let (quarter, rest) = (4 * k / n, 4 * k % n);
    let angle = std::f64::consts::FRAC_PI_2 * (rest as f64 / n as f64);
    let (cos, sin) = if rest == 0 { (1.0, 0.0) } else { (math::cos(angle), math::sin(angle)) };
    match quarter % 4 {
        0 => c64::new(cos, -sin),
        1 => c64::new(-sin, -cos),
        2 => c64::new(-cos, sin),
        _ => c64::new(sin, cos),
    }
}

/// The transform of a length that is a power of two: halves, over and over (Cooley and Tukey).
struct PowerOfTwo {
    /// The first half of the roots of one.
    roots: Vec<c64>,
}

impl PowerOfTwo {
    fn new(length: usize) -> Self {
        PowerOfTwo { roots: (0..length / 2).map(|k| root(k, length)).collect() }
    }

    fn run(&self, values: &mut [c64]) {
        let length = values.len();
        let bits = length.trailing_zeros();
        for at in 0..length {
            let reversed = at.reverse_bits().checked_shr(usize::BITS - bits).unwrap_or(0);
            if at < reversed {
                values.swap(at, reversed);
            }
        }
        let mut half = 1;
        while half < length {
            let step = length / (2 * half);
            for block in values.chunks_exact_mut(2 * half) {
                let (even, odd) = block.split_at_mut(half);
                for (k, (even, odd)) in even.iter_mut().zip(odd).enumerate() {
                    let turned = *odd * self.roots[k * step];
                    (*even, *odd) = (*even + turned, *even - turned);
                }
            }
            half *= 2;
        }
    }
}

/// The transform of any length n as a convolution of a power of two (Bluestein).
struct Chirp {
    /// `exp(-pi i k^2 / n)` for k from 0 to n - 1.
    chirp: Vec<c64>,
    /// The transform of the conjugated chirp, laid around a circle.
    filter: Vec<c64>,
    plan: PowerOfTwo,
}

impl Chirp {
    fn new(length: usize) -> Self {
        let period = 2 * length as u128;
        let square = |k: usize| ((k as u128 * k as u128) % period) as usize;
        let chirp: Vec<c64> = (0..length).map(|k| root(square(k), 2 * length)).collect();
        let size = (2 * length - 1).next_power_of_two();
        let plan = PowerOfTwo::new(size);
        let mut filter = vec![c64::new(0.0, 0.0); size];
        for (k, value) in chirp.iter().enumerate() {
            filter[k] = value.conj();
            filter[(size - k) % size] = value.conj();
        }
        plan.run(&mut filter);
        Chirp { chirp, filter, plan }
    }

    fn run(&self, values: &mut [c64]) {
        let size = self.filter.len();
        let mut padded = vec![c64::new(0.0, 0.0); size];
        for ((padded, value), chirp) in padded.iter_mut().zip(&*values).zip(&self.chirp) {
            *padded = *value * *chirp;
        }
        self.plan.run(&mut padded);
        for (value, filter) in padded.iter_mut().zip(&self.filter) {
            let product = *value * *filter;
            // Exchanged for the way back.
            *value = c64::new(product.im, product.re);
        }
        self.plan.run(&mut padded);
        for ((value, padded), chirp) in values.iter_mut().zip(&padded).zip(&self.chirp) {
            *value = c64::new(padded.im / size as f64, padded.re / size as f64) * *chirp;
        }
    }
}
