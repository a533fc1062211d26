//! Sketches of the sparse matrices that a block meets, at a bounded price: large matrices are counted in part.

use crate::value::RuntimeValue;
use fuseline_matrix::Csr;
use fuseline_passes::sketch::{Counts, Sketch};

/// The most rows, columns and non-zeros that are counted one by one: about a millisecond each.
const COUNTED: usize = 1 << 20;

/// The most values whose signs are looked at.
const SIGNS: usize = 1 << 12;

/// How the non-zeros of a sparse matrix are spread.
pub(crate) fn sketch_of(value: &RuntimeValue) -> Option<Sketch> {
    match value {
        RuntimeValue::Matrix(block) if block.format().is_sparse() => {
            block.layout().sparse().map(|csr| sketch(&csr, COUNTED))
        }
        _ => None,
    }
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
    fn dense_matrices_and_empty_ones_need_none() {
        assert_eq!(sketch_of(&RuntimeValue::Matrix(Dense::from_fn(3, 3, |_, _| 1.0).into())), None);
        let empty = sketch(&Csr::empty(5, 4), COUNTED);
        assert_eq!((empty.non_zeros(), empty.cols().len()), (0.0, 4));
    }
}
