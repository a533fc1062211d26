//! Frames to matrices by what was learnt, and back.

use super::learn::number;
use super::{Encoding, Learnt, TransformError};
use fuseline_matrix::{Collected, Column, Csr, Frame, MatrixBlock, copied_text};

/// The matrix of a frame.
///
/// # Errors
/// The frame has other columns than what was learnt, or a cell is no number where one is needed.
pub(crate) fn encode(frame: &Frame, learnt: &[Learnt]) -> Result<MatrixBlock, TransformError> {
    if frame.cols() != learnt.len() {
        return Err(TransformError::Columns { what: "the frame", expected: learnt.len(), actual: frame.cols() });
    }
    let cols = learnt.iter().map(Learnt::width).sum();
    let (mut row_offsets, mut columns, mut values) =
        (Collected::default(), Collected::default(), Collected::<f64>::default());
    row_offsets.push(0);
    for row in 0..frame.rows() {
        let mut first = 0;
        for (column, learnt) in frame.columns().iter().zip(learnt) {
            let value = learnt.value(column, row)?;
            let position = if learnt.dummycode && value >= 1.0 { first + value as usize - 1 } else { first };
            let value = match learnt.dummycode {
                true if value.is_nan() => 0.0,
                true => 1.0,
                false => value,
            };
            if value != 0.0 {
                columns.push(position as u32);
                values.push(value);
            }
            first += learnt.width();
        }
        row_offsets.push(values.len());
    }
    let matrix = Csr::from_parts(frame.rows(), cols, row_offsets.into_vec(), columns.into_vec(), values.into_vec());
    Ok(MatrixBlock::from(matrix).in_best_format())
}

impl Learnt {
    /// The number of a cell before dummy coding.
    fn value(&self, column: &Column, row: usize) -> Result<f64, TransformError> {
        let replacement;
        let (column, at) = match &self.replacement {
            Some(text) if column.is_missing(row) => {
                replacement = Column::of_texts([text.clone()]);
                (&replacement, 0)
            }
            _ => (column, row),
        };
        if column.is_missing(at) {
            return Ok(f64::NAN);
        }
        match &self.encoding {
            Encoding::PassThrough => number(column, &self.name, at).map_err(|error| at_row(error, row)),
            Encoding::Recode(codes) => Ok(codes.code(&column.text(at)).map_or(f64::NAN, |code| code as f64)),
            Encoding::Bin(bins) => {
                let number = number(column, &self.name, at).map_err(|error| at_row(error, row))?;
                if number.is_nan() {
                    return Ok(f64::NAN);
                }
                let bin = bins.partition_point(|&(_, upper)| upper < number);
                Ok(if bins.is_empty() { f64::NAN } else { (bin + 1).min(bins.len()) as f64 })
            }
        }
    }
}

/// The error with the row of the frame, in place of that of a replacement.
fn at_row(error: TransformError, row: usize) -> TransformError {
    match error {
        TransformError::NoNumber { column, text, .. } => TransformError::NoNumber { row: row + 1, column, text },
        other => other,
    }
}

/// The code of a category in a row, whose columns begin with this one; none where there is no category.
fn code_of(matrix: &MatrixBlock, learnt: &Learnt, row: usize, first: usize) -> Option<usize> {
    if learnt.dummycode {
        return (0..learnt.width()).position(|code| matrix.get(row, first + code) != 0.0);
    }
    let code = matrix.get(row, first);
    (code >= 1.0).then(|| code as usize - 1)
}

/// The frame of a matrix: categories of recoded and dummy coded columns, numbers of others. A code that no category has
/// is a missing text.
///
/// # Errors
/// The matrix has other columns than what was learnt, or a column was binned.
pub(crate) fn decode(matrix: &MatrixBlock, learnt: &[Learnt]) -> Result<Frame, TransformError> {
    let expected = learnt.iter().map(Learnt::width).sum();
    if matrix.cols() != expected {
        return Err(TransformError::Columns { what: "the matrix", expected, actual: matrix.cols() });
    }
    let (mut columns, mut first) = (Collected::default(), 0);
    for learnt in learnt {
        let rows = 0..matrix.rows();
        columns.push(match &learnt.encoding {
            Encoding::PassThrough => Column::of_doubles(rows.map(|row| matrix.get(row, first))),
            Encoding::Bin(_) => return Err(TransformError::NoDecoder(learnt.name.clone())),
            Encoding::Recode(codes) => {
                let categories = rows.map(|row| codes.category(code_of(matrix, learnt, row, first)?));
                Column::of_optional_texts(categories.map(|category| category.map(copied_text)))
            }
        });
        first += learnt.width();
    }
    let names: Collected<_> = learnt.iter().map(|learnt| learnt.name.clone()).collect();
    // Every column has a cell per row of the matrix.
    Ok(Frame::new(columns.into_vec(), names.into_vec()).unwrap_or_default())
}
