//! Generation of matrices: `matrix`, `seq`, `rand`, and the expansion of vectors.

use crate::blocks::{BLOCK_CELLS, copy_cells, fill_blocks, in_best_format, map_parts, most_block_rows, row_ranges};
use crate::multiply_add::{progression, spread};
use crate::{KernelContext, KernelError, random};
use fuseline_ir::SizeInfo;
use fuseline_ir::hop::infer::seq_length;
use fuseline_matrix::{Csr, CsrRows, Dense, Layout, MatrixBlock, MemoryKind, StopListener, Tally};
use indexmap::IndexMap;
use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::borrow::Cow;
use std::ops::Range;

fn argument(operation: &'static str, problem: String) -> KernelError {
    KernelError::Argument { operation, problem }
}

/// Rows and columns as `usize`, if the matrix can exist.
pub(crate) fn checked_dims(operation: &'static str, rows: i64, cols: i64) -> Result<(usize, usize), KernelError> {
    let (Ok(r), Ok(c)) = (usize::try_from(rows), usize::try_from(cols)) else {
        return Err(argument(operation, format!("a matrix cannot have {rows} rows and {cols} columns")));
    };
    match r.checked_mul(c).and_then(|cells| cells.checked_mul(size_of::<f64>())) {
        Some(bytes) if bytes <= isize::MAX as usize / 2 => Ok((r, c)),
        _ => Err(argument(operation, format!("a {rows} x {cols} matrix does not fit into memory"))),
    }
}

/// Checks that the columns of a sparse matrix can be numbered.
pub(crate) fn check_sparse_cols(operation: &'static str, cols: usize) -> Result<(), KernelError> {
    match u32::try_from(cols) {
        Ok(_) => Ok(()),
        Err(_) => {
            let problem = format!("a sparse matrix has at most {} columns, not {cols}", u32::MAX);
            Err(KernelError::Argument { operation, problem })
        }
    }
}

/// A matrix whose every cell is `value`.
///
/// # Errors
/// Dimensions that are negative or exceed the address space.
pub fn fill(context: &KernelContext<'_>, value: f64, rows: i64, cols: i64) -> Result<MatrixBlock, KernelError> {
    let (rows, cols) = checked_dims("matrix", rows, cols)?;
    if value == 0.0 && SizeInfo::with_nnz(rows as u64, cols as u64, 0).format().is_sparse() {
        return Ok(Csr::empty(rows, cols).into());
    }
    let mut result = Dense::uninit_in(context.buffers, rows, cols);
    fill_blocks(context, &mut result, BLOCK_CELLS, |_, cells| cells.fill(value));
    Ok(result.into())
}

/// A matrix with the cells of another, row after row. One that is stored as non-zeros stays so where that suits its new
/// shape.
///
/// # Errors
/// The number of cells differs.
pub fn reshape(
    context: &KernelContext<'_>,
    matrix: &MatrixBlock,
    rows: i64,
    cols: i64,
) -> Result<MatrixBlock, KernelError> {
    let (rows, cols) = checked_dims("matrix", rows, cols)?;
    if matrix.rows() * matrix.cols() != rows * cols {
        let problem = format!("{} x {} cells cannot fill {rows} x {cols}", matrix.rows(), matrix.cols());
        return Err(KernelError::Argument { operation: "matrix", problem });
    }
    if matrix.dims() == (rows, cols) {
        return Ok(matrix.clone());
    }
    match matrix.layout() {
        Layout::Sparse(csr)
            if u32::try_from(cols).is_ok() && MatrixBlock::best_format(rows, cols, csr.nnz()).is_sparse() =>
        {
            Ok(reshape_sparse(context, &csr, rows, cols).into())
        }
        Layout::Dense(Cow::Borrowed(dense)) => {
            let mut result = Dense::uninit_in(context.buffers, rows, cols);
            copy_cells(context, dense.values(), &mut result);
            Ok(result.into())
        }
        layout => Ok(layout.into_dense().into_owned().reshape(rows, cols).into()),
    }
}

/// The non-zeros of a matrix at their places in another one of as many cells.
fn reshape_sparse(context: &KernelContext<'_>, matrix: &Csr, rows: usize, cols: usize) -> Csr {
    let stop = StopListener::current();
    let cells = || {
        (0..matrix.rows()).flat_map(|i| {
            stop.check();
            let (columns, values) = matrix.row(i);
            columns.iter().zip(values).map(move |(&j, &value)| (i * matrix.cols() + j as usize, value))
        })
    };
    let count = |_, lengths: &mut [usize]| {
        lengths.fill(0);
        cells().for_each(|(cell, _)| lengths[cell / cols] += 1);
    };
    Csr::build_in(context.buffers, cols, &[rows], count, |_, columns, values| {
        for ((cell, cell_value), (column, value)) in cells().zip(columns.iter_mut().zip(values)) {
            *column = (cell % cols) as u32;
            *value = cell_value;
        }
    })
}

/// A row of `cols` columns in which each cell of the vector repeats equally often.
///
/// # Errors
/// The length of the vector does not divide the number of columns.
pub fn expand(context: &KernelContext<'_>, vector: &MatrixBlock, cols: i64) -> Result<MatrixBlock, KernelError> {
    let (_, width) = checked_dims("expand", 1, cols)?;
    let (rows, cols) = vector.dims();
    let cells = rows * cols;
    if rows.min(cols) > 1 || cells == 0 || width % cells != 0 {
        let problem = format!("a {rows} x {cols} matrix is no vector whose length divides {width} columns");
        return Err(KernelError::Argument { operation: "expand", problem });
    }
    let mut result = Dense::uninit_in(context.buffers, 1, width);
    let repeated = width / cells;
    if repeated > 0 {
        let runs = result.values_mut().chunks_exact_mut(repeated);
        runs.zip(vector.to_dense().values()).for_each(|(run, &value)| run.fill(value));
    }
    let result = MatrixBlock::from(result);
    Ok(if vector.format().is_sparse() { in_best_format(context, result) } else { result })
}

/// The column `from, from + by, ...` up to at most `to`.
///
/// # Errors
/// An increment that never arrives.
pub fn seq(context: &KernelContext<'_>, from: f64, to: f64, by: f64) -> Result<MatrixBlock, KernelError> {
    let length = seq_length(from, to, by).and_then(|length| i64::try_from(length).ok());
    let length = length.ok_or_else(|| argument("seq", format!("seq({from}, {to}, {by}) does not end")))?;
    let (rows, _) = checked_dims("seq", length, 1)?;
    Ok(progression_of(context, rows, from, by).into())
}

/// The column `from, from + by, ...` of so many cells.
fn progression_of(context: &KernelContext<'_>, cells: usize, from: f64, by: f64) -> Dense {
    let mut result = Dense::uninit_in(context.buffers, cells, 1);
    fill_blocks(context, &mut result, BLOCK_CELLS, |block, cells| {
        progression(cells, block * BLOCK_CELLS, from, by);
    });
    result
}

/// The density function of random values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Density {
    /// Uniform between minimum and maximum.
    Uniform,
    /// Normal with mean 0 and deviation 1.
    Normal,
    /// Counts of a Poisson distribution with this mean.
    Poisson(f64),
}

/// Arguments of [`rand()`].
#[derive(Clone, Copy, Debug)]
pub struct RandomParameters {
    /// Rows.
    pub rows: i64,
    /// Columns.
    pub cols: i64,
    /// Smallest value (uniform).
    pub min: f64,
    /// Largest value (uniform).
    pub max: f64,
    /// Expected share of non-zeros, 0 to 1.
    pub sparsity: f64,
    /// Seed: the same seed gives the same matrix for every number of threads.
    pub seed: u64,
    /// Density function.
    pub density: Density,
}

/// A random matrix. Every row block has a generator of its own, seeded from the seed and the block's number.
///
/// # Errors
/// Dimensions that cannot be, or a sparsity outside of 0 to 1.
pub fn rand(context: &KernelContext<'_>, parameters: &RandomParameters) -> Result<MatrixBlock, KernelError> {
    let (rows, cols) = checked_dims("rand", parameters.rows, parameters.cols)?;
    if !(0.0..=1.0).contains(&parameters.sparsity) {
        let problem = format!("the sparsity {} is not between 0 and 1", parameters.sparsity);
        return Err(KernelError::Argument { operation: "rand", problem });
    }
    if let Density::Poisson(mean) = parameters.density
        && !(0.0..=1e6).contains(&mean)
    {
        let problem = format!("the mean of a Poisson distribution must lie between 0 and 1e6, not be {mean}");
        return Err(KernelError::Argument { operation: "rand", problem });
    }
    let expected_nnz = (rows as f64 * cols as f64 * parameters.sparsity) as usize;
    if MatrixBlock::best_format(rows, cols, expected_nnz).is_sparse() {
        check_sparse_cols("rand", cols)?;
        return Ok(rand_sparse(context, parameters, rows, cols).into());
    }
    let mut result = Dense::uninit_in(context.buffers, rows, cols);
    let step = most_block_rows(cols);
    fill_blocks(context, &mut result, step * cols, |block, cells| {
        let mut generator = block_generator(parameters.seed, block);
        if parameters.density == Density::Uniform && parameters.sparsity >= 1.0 {
            cells.iter_mut().for_each(|cell| *cell = generator.random());
            return spread(cells, parameters.min, parameters.max);
        }
        for cell in cells {
            let keeps = parameters.sparsity >= 1.0 || generator.random::<f64>() < parameters.sparsity;
            *cell = if keeps { draw(&mut generator, parameters) } else { 0.0 };
        }
    });
    Ok(result.into())
}

fn block_generator(seed: u64, block: usize) -> Pcg64Mcg {
    Pcg64Mcg::seed_from_u64(seed ^ (block as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

fn draw(generator: &mut impl Rng, parameters: &RandomParameters) -> f64 {
    match parameters.density {
        Density::Uniform => generator.random::<f64>().mul_add(parameters.max - parameters.min, parameters.min),
        Density::Normal => random::normal(generator),
        Density::Poisson(mean) => random::poisson(generator, mean),
    }
}

/// `size` integers from 1 to `range`, uniformly drawn, as a column: each at most once, or with `replacement` any
/// number of times.
///
/// # Errors
/// A range or size that cannot be, or a size above the range without replacement.
pub fn sample(
    context: &KernelContext<'_>,
    range: i64,
    size: i64,
    replacement: bool,
    seed: u64,
) -> Result<MatrixBlock, KernelError> {
    let (rows, _) = checked_dims("sample", size, 1)?;
    let limit = usize::try_from(range).ok().filter(|&limit| limit > 0 || rows == 0);
    let limit = limit.ok_or_else(|| argument("sample", format!("there are no values from 1 to {range}")))?;
    if rows > limit && !replacement {
        return Err(argument("sample", format!("{rows} values cannot be drawn out of {limit} without replacement")));
    }
    let mut generator = block_generator(seed, 0);
    Ok(if replacement {
        drawn(context, rows, || generator.random_range(0..limit))
    } else if rows < limit / SEVERAL {
        let (mut known, mut held) = (IndexMap::new(), Tally::new(MemoryKind::Scratch));
        drawn(context, rows, || {
            held.make_room_in_map(&mut known);
            loop {
                let number = generator.random_range(0..limit);
                if known.insert(number, ()).is_none() {
                    return number;
                }
            }
        })
    } else {
        shuffled(context, limit, rows, &mut generator)
    }
    .into())
}

/// Where fewer than one in so many numbers is drawn, drawing again what was drawn before costs less than to lay all out.
const SEVERAL: usize = 16;

/// So many numbers from 0 on, each one larger, as a column.
fn drawn(context: &KernelContext<'_>, rows: usize, mut number: impl FnMut() -> usize) -> Dense {
    let mut result = Dense::uninit_in(context.buffers, rows, 1);
    let stop = StopListener::current();
    for cell in result.values_mut() {
        stop.check();
        *cell = (number() + 1) as f64;
    }
    result
}

/// The first of the numbers from 1 to `limit` in random order (R. Fisher and F. Yates).
fn shuffled(context: &KernelContext<'_>, limit: usize, rows: usize, generator: &mut impl Rng) -> Dense {
    let mut numbers = progression_of(context, limit, 1.0, 1.0);
    let stop = StopListener::current();
    for at in 0..rows {
        stop.check();
        numbers.values_mut().swap(at, generator.random_range(at..limit));
    }
    if rows == limit {
        return numbers;
    }
    let mut result = Dense::uninit_in(context.buffers, rows, 1);
    fill_blocks(context, &mut result, BLOCK_CELLS, |block, cells| {
        cells.copy_from_slice(&numbers.values()[block * BLOCK_CELLS..][..cells.len()]);
    });
    result
}

/// Draws the gaps between non-zeros, so that the cost follows the non-zeros.
fn rand_sparse(context: &KernelContext<'_>, parameters: &RandomParameters, rows: usize, cols: usize) -> Csr {
    let step = most_block_rows(((cols as f64 * parameters.sparsity) as usize).max(1));
    let ranges = row_ranges(rows, step).into_iter().enumerate().collect();
    let stop = StopListener::current();
    let blocks = map_parts(context, ranges, |(block, range): (usize, Range<usize>)| {
        let mut generator = block_generator(parameters.seed, block);
        let mut result = CsrRows::default();
        for _ in range {
            let start = result.values.len();
            let mut j = random::gap(&mut generator, parameters.sparsity);
            while j < cols {
                stop.check();
                let value = draw(&mut generator, parameters);
                if value != 0.0 {
                    result.columns.push(j as u32);
                    result.values.push(value);
                }
                j = j.saturating_add(1).saturating_add(random::gap(&mut generator, parameters.sparsity));
            }
            result.lengths.push(result.values.len() - start);
        }
        result
    });
    Csr::from_blocks(cols, &blocks)
}
