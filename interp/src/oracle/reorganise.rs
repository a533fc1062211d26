//! Operators that move cells: ranges, concatenation, reorganisation, and matrices made from scalars.

use super::cell::OracleCell;
use super::evaluate::{Evaluation, OracleError};
use super::value::{Operand, OracleMatrix, OracleValue};
use fuseline_ir::hop::infer::seq_length;
use fuseline_ir::hop::{DataGenOp, NaryOp, ReorgOp};
use fuseline_ir::ops::BinaryOp;

impl Evaluation<'_> {
    pub(super) fn concatenate(&self, op: NaryOp) -> Result<OracleMatrix, OracleError> {
        let parts: Vec<&OracleMatrix> =
            (0..self.hop.inputs.len()).map(|position| self.matrix(position)).collect::<Result<_, _>>()?;
        let first = parts.first().ok_or_else(|| self.error("nothing to concatenate"))?;
        let fits =
            |part: &&OracleMatrix| if op == NaryOp::Cbind { part.rows == first.rows } else { part.cols == first.cols };
        if !parts.iter().all(fits) {
            return Err(self.error("the parts do not fit"));
        }
        Ok(match op {
            NaryOp::Min | NaryOp::Max | NaryOp::Plus => return Err(self.unsupported()),
            NaryOp::Rbind => OracleMatrix {
                rows: parts.iter().map(|part| part.rows).sum(),
                cols: first.cols,
                cells: parts.iter().flat_map(|part| part.cells.iter().copied()).collect(),
            },
            NaryOp::Cbind => OracleMatrix {
                rows: first.rows,
                cols: parts.iter().map(|part| part.cols).sum(),
                cells: (0..first.rows)
                    .flat_map(|i| parts.iter().flat_map(move |part| (0..part.cols).map(move |j| part.get(i, j))))
                    .collect(),
            },
        })
    }

    pub(super) fn reorganise(&self, op: ReorgOp) -> Result<OracleMatrix, OracleError> {
        let matrix = self.matrix(0)?;
        let (rows, cols) = (matrix.rows, matrix.cols);
        let zero = OracleCell::given(0.0);
        Ok(match op {
            ReorgOp::Transpose => OracleMatrix::from_fn(cols, rows, |i, j| matrix.get(j, i)),
            ReorgOp::Rev => OracleMatrix::from_fn(rows, cols, |i, j| matrix.get(rows - 1 - i, j)),
            ReorgOp::Diag if cols == 1 => {
                OracleMatrix::from_fn(rows, rows, |i, j| if i == j { matrix.get(i, 0) } else { zero })
            }
            ReorgOp::Diag if rows == cols => OracleMatrix::from_fn(rows, 1, |i, _| matrix.get(i, i)),
            ReorgOp::Diag => return Err(self.error("the matrix is neither square nor a column")),
        })
    }

    /// The rows and columns of a 1-based inclusive range, as first and number.
    fn range(&self, matrix: &OracleMatrix, first: usize) -> Result<[(usize, usize); 2], OracleError> {
        let mut ranges = [(0, 0); 2];
        for (range, (position, limit)) in ranges.iter_mut().zip([(first, matrix.rows), (first + 2, matrix.cols)]) {
            let (low, high) = (self.count(position)?, self.count(position + 1)?);
            if low < 1 || high < low || high > limit {
                return Err(self.error(format!("the range {low}:{high} lies outside of 1:{limit}")));
            }
            *range = (low - 1, high - low + 1);
        }
        Ok(ranges)
    }

    pub(super) fn index(&self) -> Result<OracleMatrix, OracleError> {
        let matrix = self.matrix(0)?;
        let [(row, rows), (col, cols)] = self.range(matrix, 1)?;
        Ok(OracleMatrix::from_fn(rows, cols, |i, j| matrix.get(row + i, col + j)))
    }

    pub(super) fn left_index(&self) -> Result<OracleMatrix, OracleError> {
        let matrix = self.matrix(0)?;
        let [(row, rows), (col, cols)] = self.range(matrix, 2)?;
        let replacement = match self.input(1) {
            OracleValue::Matrix(part) if (part.rows, part.cols) != (rows, cols) => {
                return Err(self.error("the replacement does not have the size of the range"));
            }
            OracleValue::Matrix(part) => Operand::Matrix(part),
            _ => Operand::Scalar(self.scalar(1)?),
        };
        Ok(OracleMatrix::from_fn(matrix.rows, matrix.cols, |i, j| {
            let is_replaced = (row..row + rows).contains(&i) && (col..col + cols).contains(&j);
            if is_replaced { replacement.get(i - row, j - col) } else { matrix.get(i, j) }
        }))
    }

    pub(super) fn generate(&self, op: DataGenOp) -> Result<OracleMatrix, OracleError> {
        match op {
            DataGenOp::Rand => Err(self.unsupported()),
            DataGenOp::Seq => {
                let (from, to, by) = (self.scalar(0)?, self.scalar(1)?, self.scalar(2)?);
                let rows =
                    seq_length(from.value(), to.value(), by.value()).ok_or_else(|| self.error("does not end"))?;
                let step = |i: usize| OracleCell::binary(BinaryOp::Mult, OracleCell::given(i as f64), by);
                Ok(OracleMatrix::from_fn(rows as usize, 1, |i, _| OracleCell::binary(BinaryOp::Plus, from, step(i))))
            }
            DataGenOp::Expand => {
                let (vector, cols) = (self.matrix(0)?, self.count(1)?);
                let repeat = cols.checked_div(vector.cells.len()).filter(|repeat| repeat * vector.cells.len() == cols);
                let repeat = repeat.ok_or_else(|| self.error("the vector does not divide the columns"))?;
                Ok(OracleMatrix::from_fn(1, cols, |_, j| vector.cells[j / repeat]))
            }
            DataGenOp::Matrix => {
                let (rows, cols) = (self.count(1)?, self.count(2)?);
                let cells = match self.input(0) {
                    OracleValue::Matrix(matrix) => matrix.cells.clone(),
                    OracleValue::Scalar(cell) => vec![*cell; rows * cols],
                    OracleValue::Text(text) => text
                        .split_whitespace()
                        .map(|word| word.parse().map(OracleCell::given))
                        .collect::<Result<_, _>>()
                        .map_err(|_| self.error(format!("{text:?} is no list of numbers")))?,
                };
                if cells.len() == rows * cols {
                    Ok(OracleMatrix { rows, cols, cells })
                } else {
                    Err(self.error(format!("{} cells do not fill {rows} x {cols}", cells.len())))
                }
            }
        }
    }
}
