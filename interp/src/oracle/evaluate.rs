//! The plain evaluator of HOP DAGs: one operator after the other, in id order.

use super::aggregate::{aggregate, dot};
use super::cell::OracleCell;
use super::value::{OracleMatrix, OracleValue};
use cranelift_entity::SecondaryMap;
use fuseline_ir::Value;
use fuseline_ir::hop::infer::seq_length;
use fuseline_ir::hop::{CastOp, DataGenOp, Hop, HopDag, HopId, HopOp, NaryOp, ReorgOp, ShapeOp};
use fuseline_ir::ops::{AggOp, BinaryOp, Direction};
use std::collections::BTreeMap;
use thiserror::Error;

/// Why a DAG has no value.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum OracleError {
    /// A variable that is read but not given.
    #[error("the variable {name} is not given")]
    Missing {
        /// The variable.
        name: String,
    },
    /// An operation that is not a function of its inputs: effects, files, random numbers, fused operators.
    #[error("the oracle does not evaluate {operation}")]
    Unsupported {
        /// The operation.
        operation: String,
    },
    /// Values that do not fit an operation.
    #[error("{operation}: {message}")]
    Inputs {
        /// The operation.
        operation: String,
        /// What does not fit.
        message: String,
    },
}

/// The values of all output variables of a DAG.
///
/// # Errors
/// A variable is missing, an operation is no function of its inputs, or values do not fit.
pub fn evaluate(
    dag: &HopDag,
    inputs: &BTreeMap<String, OracleValue>,
) -> Result<BTreeMap<String, OracleValue>, OracleError> {
    let mut needed: SecondaryMap<HopId, bool> = SecondaryMap::new();
    for output in &dag.outputs {
        needed[output.hop] = true;
    }
    for (id, hop) in dag.hops.iter().rev() {
        if needed[id] {
            for &input in &hop.inputs {
                needed[input] = true;
            }
        }
    }
    let mut values: SecondaryMap<HopId, Option<OracleValue>> = SecondaryMap::new();
    for (id, hop) in &dag.hops {
        if needed[id] {
            let value = Evaluation { dag, hop, inputs, values: &values }.run()?;
            values[id] = Some(value);
        }
    }
    let value = |hop: HopId| values[hop].clone().expect("outputs are needed, so they were evaluated");
    Ok(dag.outputs.iter().map(|output| (output.name.clone(), value(output.hop))).collect())
}

struct Evaluation<'a> {
    dag: &'a HopDag,
    hop: &'a Hop,
    inputs: &'a BTreeMap<String, OracleValue>,
    values: &'a SecondaryMap<HopId, Option<OracleValue>>,
}

/// Cells of a matrix, or of a scalar that repeats.
#[derive(Clone, Copy)]
enum Operand<'a> {
    Matrix(&'a OracleMatrix),
    Scalar(OracleCell),
}

impl Operand<'_> {
    /// The cell for (i, j) of a result that may be larger in a direction in which the operand has one cell.
    fn get(&self, i: usize, j: usize) -> OracleCell {
        match self {
            Operand::Scalar(cell) => *cell,
            Operand::Matrix(matrix) => {
                matrix.get(if matrix.rows == 1 { 0 } else { i }, if matrix.cols == 1 { 0 } else { j })
            }
        }
    }
}

impl Evaluation<'_> {
    fn run(&self) -> Result<OracleValue, OracleError> {
        Ok(match &self.hop.op {
            HopOp::Read(name) => {
                self.inputs.get(name).cloned().ok_or_else(|| OracleError::Missing { name: name.clone() })?
            }
            HopOp::Literal(value) => OracleValue::from(value),
            HopOp::Unary(op) => self.element_wise(|cells| OracleCell::unary(*op, cells[0]))?,
            HopOp::Binary(op) => self.element_wise(|cells| OracleCell::binary(*op, cells[0], cells[1]))?,
            HopOp::Ternary(op) => self.element_wise(|cells| OracleCell::ternary(*op, cells[0], cells[1], cells[2]))?,
            HopOp::Nary(op) => OracleValue::Matrix(self.concatenate(*op)?),
            HopOp::AggUnary(op, direction) => self.aggregate(*op, *direction)?,
            HopOp::MatMul => OracleValue::Matrix(self.product()?),
            HopOp::Reorg(ReorgOp::Transpose) => {
                let matrix = self.matrix(0)?;
                OracleValue::Matrix(OracleMatrix::from_fn(matrix.cols, matrix.rows, |i, j| matrix.get(j, i)))
            }
            HopOp::Index => OracleValue::Matrix(self.index()?),
            HopOp::LeftIndex => OracleValue::Matrix(self.left_index()?),
            HopOp::DataGen(op) => OracleValue::Matrix(self.generate(*op)?),
            HopOp::Shape(op) => self.shape(*op)?,
            HopOp::Cast(op) => self.cast(*op)?,
            HopOp::Concat => OracleValue::Text(self.text(0)? + &self.text(1)?),
            HopOp::Parameterized { .. } | HopOp::SpoofOp { .. } => return Err(self.unsupported()),
        })
    }

    fn unsupported(&self) -> OracleError {
        OracleError::Unsupported { operation: self.hop.op.label() }
    }

    fn error(&self, message: impl Into<String>) -> OracleError {
        OracleError::Inputs { operation: self.hop.op.label(), message: message.into() }
    }

    fn input(&self, position: usize) -> &OracleValue {
        self.values[self.hop.inputs[position]].as_ref().expect("inputs precede their users")
    }

    fn matrix(&self, position: usize) -> Result<&OracleMatrix, OracleError> {
        match self.input(position) {
            OracleValue::Matrix(matrix) => Ok(matrix),
            _ => Err(self.error(format!("input {} is no matrix", position + 1))),
        }
    }

    fn scalar(&self, position: usize) -> Result<OracleCell, OracleError> {
        match self.input(position) {
            OracleValue::Scalar(cell) => Ok(*cell),
            _ => Err(self.error(format!("input {} is no number", position + 1))),
        }
    }

    /// A number of rows or columns, or a position.
    fn count(&self, position: usize) -> Result<usize, OracleError> {
        let value = self.scalar(position)?.value();
        if (0.0..9.0e15).contains(&value) {
            Ok(value as usize)
        } else {
            Err(self.error(format!("{value} is no count")))
        }
    }

    /// A scalar as text, which only given values have for certain.
    fn text(&self, position: usize) -> Result<String, OracleError> {
        match (self.input(position), self.dag.literal_value(self.hop.inputs[position])) {
            (OracleValue::Text(text), _) => Ok(text.clone()),
            (_, Some(literal)) => Ok(literal.to_string()),
            _ => Err(self.unsupported()),
        }
    }

    fn element_wise(&self, compute: impl Fn(&[OracleCell]) -> OracleCell) -> Result<OracleValue, OracleError> {
        let mut operands: Vec<Operand<'_>> = Vec::new();
        let mut dims: Option<(usize, usize)> = None;
        for position in 0..self.hop.inputs.len() {
            operands.push(match self.input(position) {
                OracleValue::Scalar(cell) => Operand::Scalar(*cell),
                OracleValue::Text(_) => return Err(self.unsupported()),
                OracleValue::Matrix(matrix) => {
                    let (rows, cols) = dims.unwrap_or((matrix.rows, matrix.cols));
                    dims = Some((self.extent(rows, matrix.rows)?, self.extent(cols, matrix.cols)?));
                    Operand::Matrix(matrix)
                }
            });
        }
        let cell = |i, j| compute(&operands.iter().map(|operand| operand.get(i, j)).collect::<Vec<_>>());
        Ok(match dims {
            Some((rows, cols)) => OracleValue::Matrix(OracleMatrix::from_fn(rows, cols, cell)),
            None => OracleValue::Scalar(cell(0, 0)),
        })
    }

    /// The common extent of two operands in one direction, where a single row or column repeats.
    fn extent(&self, left: usize, right: usize) -> Result<usize, OracleError> {
        match (left, right) {
            (1, other) | (other, 1) => Ok(other),
            (left, right) if left == right => Ok(left),
            (left, right) => Err(self.error(format!("{left} and {right} rows or columns do not fit"))),
        }
    }

    fn concatenate(&self, op: NaryOp) -> Result<OracleMatrix, OracleError> {
        let parts: Vec<&OracleMatrix> =
            (0..self.hop.inputs.len()).map(|position| self.matrix(position)).collect::<Result<_, _>>()?;
        let first = parts.first().ok_or_else(|| self.error("nothing to concatenate"))?;
        let fits =
            |part: &&OracleMatrix| if op == NaryOp::Cbind { part.rows == first.rows } else { part.cols == first.cols };
        if !parts.iter().all(fits) {
            return Err(self.error("the parts do not fit"));
        }
        Ok(match op {
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

    fn aggregate(&self, op: AggOp, direction: Direction) -> Result<OracleValue, OracleError> {
        let matrix = self.matrix(0)?;
        let (rows, cols) = (matrix.rows, matrix.cols);
        Ok(match direction {
            Direction::Full => OracleValue::Scalar(aggregate(op, matrix.cells.iter().copied())),
            Direction::Row => OracleValue::Matrix(OracleMatrix::from_fn(rows, 1, |i, _| {
                aggregate(op, (0..cols).map(|j| matrix.get(i, j)))
            })),
            Direction::Col => OracleValue::Matrix(OracleMatrix::from_fn(1, cols, |_, j| {
                aggregate(op, (0..rows).map(|i| matrix.get(i, j)))
            })),
        })
    }

    fn product(&self) -> Result<OracleMatrix, OracleError> {
        let (left, right) = (self.matrix(0)?, self.matrix(1)?);
        if left.cols != right.rows {
            return Err(self.error(format!("{} columns meet {} rows", left.cols, right.rows)));
        }
        Ok(OracleMatrix::from_fn(left.rows, right.cols, |i, j| {
            dot((0..left.cols).map(|k| (left.get(i, k), right.get(k, j))))
        }))
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

    fn index(&self) -> Result<OracleMatrix, OracleError> {
        let matrix = self.matrix(0)?;
        let [(row, rows), (col, cols)] = self.range(matrix, 1)?;
        Ok(OracleMatrix::from_fn(rows, cols, |i, j| matrix.get(row + i, col + j)))
    }

    fn left_index(&self) -> Result<OracleMatrix, OracleError> {
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

    fn generate(&self, op: DataGenOp) -> Result<OracleMatrix, OracleError> {
        match op {
            DataGenOp::Rand => Err(self.unsupported()),
            DataGenOp::Seq => {
                let (from, to, by) = (self.scalar(0)?, self.scalar(1)?, self.scalar(2)?);
                let rows =
                    seq_length(from.value(), to.value(), by.value()).ok_or_else(|| self.error("does not end"))?;
                let step = |i: usize| OracleCell::binary(BinaryOp::Mult, OracleCell::given(i as f64), by);
                Ok(OracleMatrix::from_fn(rows as usize, 1, |i, _| OracleCell::binary(BinaryOp::Plus, from, step(i))))
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

    fn shape(&self, op: ShapeOp) -> Result<OracleValue, OracleError> {
        let matrix = self.matrix(0)?;
        let count = match op {
            ShapeOp::Nrow => matrix.rows,
            ShapeOp::Ncol => matrix.cols,
            ShapeOp::Length => matrix.rows * matrix.cols,
        };
        Ok(OracleValue::from(&Value::I64(count as i64)))
    }

    fn cast(&self, op: CastOp) -> Result<OracleValue, OracleError> {
        let single = || match self.input(0) {
            OracleValue::Matrix(matrix) if matrix.cells.len() != 1 => Err(self.error("the matrix is not 1 x 1")),
            OracleValue::Matrix(matrix) => Ok(matrix.cells[0]),
            OracleValue::Scalar(cell) => Ok(*cell),
            OracleValue::Text(_) => Err(self.unsupported()),
        };
        Ok(match (op, self.input(0)) {
            (CastOp::AsMatrix, OracleValue::Matrix(_)) | (CastOp::AsScalar, OracleValue::Text(_)) => {
                self.input(0).clone()
            }
            (CastOp::AsMatrix, _) => OracleValue::Matrix(OracleMatrix { rows: 1, cols: 1, cells: vec![single()?] }),
            (CastOp::AsScalar | CastOp::AsDouble, _) => OracleValue::Scalar(single()?),
            (CastOp::AsInteger, _) => OracleValue::Scalar(single()?.truncated()),
            (CastOp::AsLogical, _) => OracleValue::Scalar(single()?.truth_value()),
        })
    }
}
