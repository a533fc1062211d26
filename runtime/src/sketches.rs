//! Sketches of the matrices that a block meets, at a bounded price: large sparse ones are counted in part, and of dense ones the
//! signs of some cells are looked at.

use crate::value::RuntimeValue;
use fuseline_matrix::{Csr, MatrixBlock};
use fuseline_passes::sketch::{Counts, Sketch};

/// The most rows, columns and non-zeros that are counted one by one: about a millisecond each.
const COUNTED: usize = 1 << 20;

/// The most values whose signs are looked at.
const SIGNS: usize = 1 << 12;

/// The golden ratio as a fraction of 2^64.
const GOLDEN_RATIO: u64 = 0x9E37_79B9_7F4A_7C15;

/// Signs of dense cells are told apart by so many shares of them: data that differ by chance have the same sketch.
const SIGN_SHARES: f64 = 4.0;

/// How the non-zeros of a matrix are spread, and their signs.
pub(crate) fn sketch_of(value: &RuntimeValue) -> Option<Sketch> {
    let RuntimeValue::Matrix(block) = value else { return None };
    if !block.format().is_sparse() {
        return dense_sketch(block);
    }
    block.layout().sparse().map(|csr| sketch(&csr, COUNTED))
}

/// A matrix without zeros, as far as some cells tell, with the share of these that is negative; none of one that has zeros among
/// them.
fn dense_sketch(block: &MatrixBlock) -> Option<Sketch> {
    let (rows, cols) = block.dims();
    let cells = rows * cols;
    let sampled = cells.min(SIGNS);
    let mut negative = 0;
    for number in 0..sampled as u64 {
        // Multiples of the golden ratio lie evenly, and in no column more than in others.
        let share = u128::from(number.wrapping_mul(GOLDEN_RATIO));
        let place = ((share * cells as u128) >> u64::BITS) as usize;
        let value = block.get(place / cols, place % cols);
        if value == 0.0 {
            return None;
        }
        negative += usize::from(value < 0.0);
    }
    let share = negative as f64 / sampled.max(1) as f64;
    Some(Sketch::dense(rows as u64, cols as u64).with_negative((share * SIGN_SHARES).round() / SIGN_SHARES))
}

/// The sketch from at most `limit` rows, columns and non-zeros each.
fn sketch(csr: &Csr, limit: usize) -> Sketch {
    let (rows, cols) = (rows(csr, limit), columns(csr, limit));
    let is_exact = csr.rows() <= limit && csr.cols() <= limit && csr.nnz() <= limit;
    let sketch = if is_exact { Sketch::exact(rows, cols) } else { Sketch::expected(rows, cols) };
    match negative(csr) {
        Some(negative) => sketch.with_negative(negative),
        None => sketch,
    }
}

/// The share of some of the values, at equal distances, that is negative; of none it is not known.
fn negative(csr: &Csr) -> Option<f64> {
    let step = csr.nnz().div_ceil(SIGNS).max(1);
    let sampled = csr.nnz().div_ceil(step);
    let negative = csr.values().iter().step_by(step).filter(|&&value| value < 0.0).count();
    (sampled > 0).then(|| negative as f64 / sampled as f64)
}

fn rows(csr: &Csr, limit: usize) -> Counts {
    if csr.rows() > limit {
        return Counts::uniform(csr.rows(), csr.nnz() as f64 / csr.rows() as f64);
    }
    csr.row_offsets().windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect::<Vec<_>>().into()
}

/// Non-zeros by column, from every one or from a sample at equal distances.
fn columns(csr: &Csr, limit: usize) -> Counts {
    if csr.cols() > limit {
        return Counts::uniform(csr.cols(), csr.nnz() as f64 / csr.cols() as f64);
    }
    let step = csr.nnz().div_ceil(limit).max(1);
    let sampled = csr.nnz().div_ceil(step);
    let weight = if sampled > 0 { csr.nnz() as f64 / sampled as f64 } else { 0.0 };
    let mut counts = vec![0.0; csr.cols()];
    for &column in csr.columns().iter().step_by(step) {
        counts[column as usize] += weight;
    }
    counts.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use fuseline_matrix::Dense;

    /// Cell (i, j) of 60 x 40 is not zero where 7 divides i * j.
    fn matrix() -> Csr {
        Csr::from_dense(&Dense::from_fn(60, 40, |i, j| if (i * j) % 7 == 0 { 1.0 } else { 0.0 }))
    }

    #[test]
    fn small_matrices_are_counted() {
        let sketch = sketch(&matrix(), COUNTED);
        assert!(sketch.is_exact());
        assert_eq!((sketch.rows().at(0), sketch.rows().at(1)), (40.0, 6.0));
        assert_eq!((sketch.cols().at(0), sketch.cols().at(1)), (60.0, 9.0));
    }

    #[test]
    fn large_matrices_are_sampled() {
        let csr = matrix();
        let sketch = sketch(&csr, 100);
        assert!(!sketch.is_exact());
        assert_eq!(sketch.rows().at(1), 6.0);
        assert!((sketch.cols().sum() - csr.nnz() as f64).abs() < 1e-9);
        let sketch = super::sketch(&csr, 50);
        assert_eq!(sketch.rows().at(1), csr.nnz() as f64 / 60.0);
        assert_eq!((sketch.rows().len(), sketch.cols().len()), (60, 40));
    }

    #[test]
    fn of_dense_matrices_signs_are_told() {
        let of = |cell: fn(usize, usize) -> f64| {
            sketch_of(&RuntimeValue::Matrix(Dense::from_fn(300, 128, cell).into())).map(|sketch| sketch.negative())
        };
        assert_eq!(of(|_, _| 1.0), Some(0.0));
        assert_eq!(of(|_, _| -1.0), Some(1.0));
        assert_eq!(of(|_, j| if j % 4 == 0 { -1.0 } else { 1.0 }), Some(0.25));
        assert_eq!(of(|i, _| if i % 2 == 0 { 1.0 } else { -2.0 }), Some(0.5));
        assert_eq!(of(|i, _| if i % 10 == 0 { 0.0 } else { 1.0 }), None);
    }

    #[test]
    fn empty_matrices_have_no_signs() {
        let empty = sketch(&Csr::empty(5, 4), COUNTED);
        assert_eq!((empty.non_zeros(), empty.cols().len()), (0.0, 4));
    }
}
