//! The discrete Fourier transform, of vectors of any length, by row or in both dimensions.
//!
//! Angles go through the project's own sine and cosine, so that the bits do not depend on the machine.
//!
//! A request to stop is heard in the middle of a transform: the blocks that are left are skipped, and whoever asked for the
//! transform unwinds.

use crate::blocks::BLOCK_CELLS;
use crate::{KernelContext, KernelError};
use faer::c64;
use fuseline_ir::ops::math;
use fuseline_matrix::{BufferPool, Dense, MatrixBlock, StopListener};
use rayon::prelude::*;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

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
    let (transformer, real) = (Transformer::new(context), real.to_dense());
    let imaginary = imaginary.map(MatrixBlock::to_dense);
    let parts = context.pool.install(|| {
        let mut cells = transformer.cells_of(real.values(), imaginary.as_ref().map(|imaginary| imaginary.values()));
        transformer.rows(&mut cells, cols, transform.is_inverse);
        if !transform.by_row && rows > 1 {
            let mut columns = transformer.transposed(&cells, cols);
            transformer.rows(&mut columns, rows, transform.is_inverse);
            cells = transformer.transposed(&columns, rows);
        }
        let parts: [fn(&c64) -> f64; 2] = [|cell| cell.re, |cell| cell.im];
        let [real, imaginary] = parts.map(|part| Dense::reshape(transformer.part(&cells, part), rows, cols).into());
        ComplexMatrix { real, imaginary }
    });
    Ok(parts)
}

/// Complex numbers, in memory of the pool.
struct Cells(Dense);

impl Deref for Cells {
    type Target = [c64];
    fn deref(&self) -> &[c64] {
        bytemuck::cast_slice(self.0.values())
    }
}

impl DerefMut for Cells {
    fn deref_mut(&mut self) -> &mut [c64] {
        bytemuck::cast_slice_mut(self.0.values_mut())
    }
}

/// Transforms on the threads of a pool, until there is a request to stop.
struct Transformer<'a> {
    buffers: &'a Arc<BufferPool>,
    stop: StopListener,
}

impl<'a> Transformer<'a> {
    fn new(context: &KernelContext<'a>) -> Self {
        Transformer { buffers: context.buffers, stop: StopListener::current() }
    }

    /// So many numbers of unspecified value.
    fn uninit(&self, length: usize) -> Cells {
        Cells(Dense::uninit_in(self.buffers, length, 2))
    }

    /// Does something with each block of values and the position of its first.
    fn in_blocks<T: Send>(&self, values: &mut [T], length: usize, work: impl Fn(usize, &mut [T]) + Sync) {
        let blocks = values.par_chunks_mut(length).enumerate().filter(|_| !self.stop.hears());
        blocks.for_each(|(block, values)| work(block * length, values));
    }

    /// Each number by its position.
    fn filled(&self, length: usize, number: impl Fn(usize) -> c64 + Sync) -> Cells {
        let mut cells = self.uninit(length);
        self.in_blocks(&mut cells, BLOCK_CELLS, |first, cells| {
            cells.iter_mut().zip(first..).for_each(|(cell, position)| *cell = number(position));
        });
        cells
    }

    fn cells_of(&self, real: &[f64], imaginary: Option<&[f64]>) -> Cells {
        self.filled(real.len(), |at| c64::new(real[at], imaginary.map_or(0.0, |imaginary| imaginary[at])))
    }

    /// The real or imaginary parts. Unwinds after a request to stop.
    fn part(&self, cells: &[c64], part: fn(&c64) -> f64) -> Dense {
        let mut result = Dense::uninit_in(self.buffers, 1, cells.len());
        self.in_blocks(result.values_mut(), BLOCK_CELLS, |first, values| {
            values.iter_mut().zip(&cells[first..]).for_each(|(value, cell)| *value = part(cell));
        });
        self.stop.check();
        result
    }

    /// The cells of a matrix with so many columns, column by column.
    fn transposed(&self, cells: &[c64], cols: usize) -> Cells {
        let mut result = self.uninit(cells.len());
        let rows = cells.len() / cols.max(1);
        // Some columns at a time, so that short ones are not blocks of their own.
        let together = (BLOCK_CELLS / rows.max(1)).max(1);
        self.in_blocks(&mut result, together * rows.max(1), |first, columns| {
            for (j, column) in (first / rows..).zip(columns.chunks_exact_mut(rows)) {
                column.iter_mut().zip(cells[j..].iter().step_by(cols)).for_each(|(to, from)| *to = *from);
            }
        });
        result
    }

    /// Transforms each row of `length` cells. A single cell is its own transform.
    fn rows(&self, cells: &mut [c64], length: usize, is_inverse: bool) {
        if length <= 1 {
            return;
        }
        let plan = Plan::new(self, length);
        self.in_blocks(cells, length, |_, row| {
            if is_inverse {
                // Real and imaginary part exchanged before and after turn the transform around.
                self.in_blocks(row, BLOCK_CELLS, |_, row| row.iter_mut().for_each(|cell| *cell = exchanged(*cell)));
                plan.run(self, row);
                let share = |cell: c64| c64::new(cell.im / length as f64, cell.re / length as f64);
                self.in_blocks(row, BLOCK_CELLS, |_, row| row.iter_mut().for_each(|cell| *cell = share(*cell)));
            } else {
                plan.run(self, row);
            }
        });
    }
}

fn exchanged(cell: c64) -> c64 {
    c64::new(cell.im, cell.re)
}

/// What the transforms of one length share.
enum Plan {
    PowerOfTwo(PowerOfTwo),
    AnyLength(Chirp),
}

impl Plan {
    fn new(transformer: &Transformer<'_>, length: usize) -> Self {
        if length.is_power_of_two() {
            Plan::PowerOfTwo(PowerOfTwo::new(transformer, length))
        } else {
            Plan::AnyLength(Chirp::new(transformer, length))
        }
    }

    fn run(&self, transformer: &Transformer<'_>, values: &mut [c64]) {
        match self {
            Plan::PowerOfTwo(plan) => plan.run(transformer, values),
            Plan::AnyLength(plan) => plan.run(transformer, values),
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

/// Values whose transform is made in one go, in a cache and on one thread.
const AT_ONCE: usize = 1 << 12;

/// The transform of a length that is a power of two: halves, over and over (Cooley and Tukey).
struct PowerOfTwo {
    /// For each half from one value on, the first half of the roots of one of twice its length: those of `half` values lie
    /// behind the `half - 1` ones of shorter halves.
    roots: Cells,
}

impl PowerOfTwo {
    fn new(transformer: &Transformer<'_>, length: usize) -> Self {
        let roots = transformer.filled(length - 1, |at| {
            let half = (at + 1).next_power_of_two() / if (at + 1).is_power_of_two() { 1 } else { 2 };
            root(at + 1 - half, 2 * half)
        });
        PowerOfTwo { roots }
    }

    fn run(&self, transformer: &Transformer<'_>, values: &mut [c64]) {
        let length = values.len();
        let bits = length.trailing_zeros();
        for first in (0..length).step_by(BLOCK_CELLS) {
            if transformer.stop.hears() {
                return;
            }
            for at in first..length.min(first + BLOCK_CELLS) {
                let reversed = at.reverse_bits().checked_shr(usize::BITS - bits).unwrap_or(0);
                if at < reversed {
                    values.swap(at, reversed);
                }
            }
        }
        self.combine(transformer, values);
    }

    /// Transforms values whose positions are reversed bit by bit: the halves first, which are shorter and lie in nearer
    /// caches, and then both together.
    fn combine(&self, transformer: &Transformer<'_>, values: &mut [c64]) {
        if transformer.stop.hears() {
            return;
        }
        if values.len() <= AT_ONCE {
            let mut half = 1;
            while half < values.len() {
                for block in values.chunks_exact_mut(2 * half) {
                    let (even, odd) = block.split_at_mut(half);
                    turn_and_add(even, odd, self.roots_of(half));
                }
                half *= 2;
            }
            return;
        }
        let half = values.len() / 2;
        let (even, odd) = values.split_at_mut(half);
        rayon::join(|| self.combine(transformer, even), || self.combine(transformer, odd));
        let blocks = even.par_chunks_mut(AT_ONCE).zip(odd.par_chunks_mut(AT_ONCE));
        let blocks = blocks.zip(self.roots_of(half).par_chunks(AT_ONCE)).filter(|_| !transformer.stop.hears());
        blocks.for_each(|((even, odd), roots)| turn_and_add(even, odd, roots));
    }

    fn roots_of(&self, half: usize) -> &[c64] {
        &self.roots[half - 1..2 * half - 1]
    }
}

/// The transform of values from those of their even and their odd ones.
fn turn_and_add(even: &mut [c64], odd: &mut [c64], roots: &[c64]) {
    for ((even, odd), root) in even.iter_mut().zip(odd).zip(roots) {
        let turned = *odd * *root;
        (*even, *odd) = (*even + turned, *even - turned);
    }
}

/// The transform of any length n as a convolution of a power of two (Bluestein).
struct Chirp {
    /// `exp(-pi i k^2 / n)` for k from 0 to n - 1.
    chirp: Cells,
    /// The transform of the conjugated chirp, laid around a circle.
    filter: Cells,
    plan: PowerOfTwo,
}

impl Chirp {
    fn new(transformer: &Transformer<'_>, length: usize) -> Self {
        let period = 2 * length as u128;
        let square = |k: usize| ((k as u128 * k as u128) % period) as usize;
        let chirp = transformer.filled(length, |k| root(square(k), 2 * length));
        let size = (2 * length - 1).next_power_of_two();
        let around = |at: usize| chirp.get(at.min(size - at)).map_or(c64::new(0.0, 0.0), c64::conj);
        let (plan, mut filter) = (PowerOfTwo::new(transformer, size), transformer.filled(size, around));
        plan.run(transformer, &mut filter);
        Chirp { chirp, filter, plan }
    }

    fn run(&self, transformer: &Transformer<'_>, values: &mut [c64]) {
        let (size, zero) = (self.filter.len(), c64::new(0.0, 0.0));
        let turned = |at: usize| values.get(at).map_or(zero, |value| *value * self.chirp[at]);
        let mut padded = transformer.filled(size, turned);
        self.plan.run(transformer, &mut padded);
        transformer.in_blocks(&mut padded, BLOCK_CELLS, |first, padded| {
            let pairs = padded.iter_mut().zip(&self.filter[first..]);
            // Exchanged for the way back.
            pairs.for_each(|(value, filter)| *value = exchanged(*value * *filter));
        });
        self.plan.run(transformer, &mut padded);
        transformer.in_blocks(values, BLOCK_CELLS, |first, values| {
            for ((value, padded), chirp) in values.iter_mut().zip(&padded[first..]).zip(&self.chirp[first..]) {
                *value = c64::new(padded.im / size as f64, padded.re / size as f64) * *chirp;
            }
        });
    }
}
