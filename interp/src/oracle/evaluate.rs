//! The plain evaluator of HOP DAGs: one operator after the other, in id order.

use super::aggregate::{aggregate, cumulative, dot};
use super::cell::OracleCell;
use super::chain::in_any_order;
use super::value::{Operand, OracleMatrix, OracleValue};
use cranelift_entity::SecondaryMap;
use fuseline_ir::Value;
use fuseline_ir::hop::{CastOp, Function, FusedOp, Hop, HopDag, HopId, HopOp, HopOutput, NaryOp, ShapeOp};
use fuseline_ir::ops::{AggOp, Direction};
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
    /// The size of the result depends on cells that are not certain.
    #[error("the size of {operation} depends on cells that are not certain")]
    Undecided {
        /// The operation.
        operation: String,
    },
}

/// The values of the operators of a DAG, evaluated one by one.
#[derive(Clone, Debug, Default)]
pub struct OracleValues {
    values: SecondaryMap<HopId, Option<OracleValue>>,
}

impl OracleValues {
    /// The value of an operator that was evaluated.
    pub fn get(&self, id: HopId) -> Option<&OracleValue> {
        self.values[id].as_ref()
    }

    /// Evaluates an operator, and first what it reads as far as that was not evaluated yet.
    ///
    /// # Errors
    /// A variable is missing, an operation is no function of its inputs, or values do not fit.
    pub fn evaluate(
        &mut self,
        dag: &HopDag,
        id: HopId,
        inputs: &BTreeMap<String, OracleValue>,
    ) -> Result<&OracleValue, OracleError> {
        let mut pending = vec![id];
        while let Some(&id) = pending.last() {
            let missing = |input: &HopId| self.values[*input].is_none();
            let before = pending.len();
            if self.values[id].is_none() {
                pending.extend(dag[id].inputs.iter().copied().filter(missing));
            }
            if pending.len() == before {
                if self.values[id].is_none() {
                    let value = Evaluation { dag, id, hop: &dag[id], inputs, values: &self.values }.run()?;
                    self.values[id] = Some(value);
                }
                pending.pop();
            }
        }
        Ok(self.values[id].as_ref().expect("it was evaluated just now"))
    }
}

/// The values of all output variables of a DAG.
///
/// # Errors
/// A variable is missing, an operation is no function of its inputs, or values do not fit.
pub fn evaluate(
    dag: &HopDag,
    inputs: &BTreeMap<String, OracleValue>,
) -> Result<BTreeMap<String, OracleValue>, OracleError> {
    let mut values = OracleValues::default();
    let output = |output: &HopOutput| Ok((output.name.clone(), values.evaluate(dag, output.hop, inputs)?.clone()));
    dag.outputs.iter().map(output).collect()
}

pub(super) struct Evaluation<'a> {
    dag: &'a HopDag,
    id: HopId,
    pub(super) hop: &'a Hop,
    inputs: &'a BTreeMap<String, OracleValue>,
    values: &'a SecondaryMap<HopId, Option<OracleValue>>,
}

impl<'a> Evaluation<'a> {
    fn run(&self) -> Result<OracleValue, OracleError> {
        Ok(match &self.hop.op {
            HopOp::Read(name) => {
                self.inputs.get(name).cloned().ok_or_else(|| OracleError::Missing { name: name.clone() })?
            }
            HopOp::Literal(value) => OracleValue::from(value),
            HopOp::Unary(op) => {
                let [x] = self.operands()?;
                self.element_wise(|i, j| OracleCell::unary(*op, x.get(i, j)))?
            }
            HopOp::Binary(op) | HopOp::Outer(op) => {
                let [x, y] = self.operands()?;
                match self.element_wise(|i, j| OracleCell::binary(*op, x.get(i, j), y.get(i, j)))? {
                    OracleValue::Matrix(matrix) => OracleValue::Matrix(self.in_any_order(matrix)),
                    other => other,
                }
            }
            HopOp::Ternary(op) => {
                let [a, b, c] = self.operands()?;
                self.element_wise(|i, j| OracleCell::ternary(*op, a.get(i, j), b.get(i, j), c.get(i, j)))?
            }
            HopOp::Nary(op) => self.nary(*op)?,
            HopOp::AggUnary(op, direction) => self.aggregate(*op, *direction)?,
            HopOp::Cumulative(op) => OracleValue::Matrix(self.cumulative(*op)?),
            HopOp::MatMul => OracleValue::Matrix(self.product()?),
            HopOp::Reorg(op) => OracleValue::Matrix(self.reorganise(*op)?),
            HopOp::Index => OracleValue::Matrix(self.index()?),
            HopOp::LeftIndex => OracleValue::Matrix(self.left_index()?),
            HopOp::DataGen(op) => OracleValue::Matrix(self.generate(*op)?),
            HopOp::Shape(op) => self.shape(*op)?,
            HopOp::Cast(op) => self.cast(*op)?,
            HopOp::Concat => OracleValue::Text(self.text(0)? + &self.text(1)?),
            HopOp::Parameterized { function: Function::Numeric(function), names } => self.numeric(*function, names)?,
            HopOp::Parameterized { function, names } => OracleValue::Matrix(self.function(*function, names)?),
            HopOp::Fused(op) => self.fused(*op)?,
            HopOp::Item(_) | HopOp::SpoofOp { .. } => return Err(self.unsupported()),
        })
    }

    /// A hand-coded fused operator, by its definition.
    fn fused(&self, op: FusedOp) -> Result<OracleValue, OracleError> {
        let hops: Vec<&Hop> = self.hop.inputs.iter().map(|&input| &self.dag[input]).collect();
        let (definition, root) = op.as_dag(&hops).map_err(|error| self.error(error.to_string()))?;
        let value = |(position, name): (usize, &&str)| ((*name).to_owned(), self.input(position).clone());
        let inputs = op.inputs().iter().enumerate().map(value).collect();
        OracleValues::default().evaluate(&definition, root, &inputs).cloned()
    }

    pub(super) fn unsupported(&self) -> OracleError {
        OracleError::Unsupported { operation: self.hop.op.label() }
    }

    pub(super) fn error(&self, message: impl Into<String>) -> OracleError {
        OracleError::Inputs { operation: self.hop.op.label(), message: message.into() }
    }

    pub(super) fn undecided(&self) -> OracleError {
        OracleError::Undecided { operation: self.hop.op.label() }
    }

    pub(super) fn input(&self, position: usize) -> &'a OracleValue {
        self.values[self.hop.inputs[position]].as_ref().expect("inputs precede their users")
    }

    pub(super) fn matrix(&self, position: usize) -> Result<&'a OracleMatrix, OracleError> {
        match self.input(position) {
            OracleValue::Matrix(matrix) => Ok(matrix),
            _ => Err(self.error(format!("input {} is no matrix", position + 1))),
        }
    }

    pub(super) fn scalar(&self, position: usize) -> Result<OracleCell, OracleError> {
        match self.input(position) {
            OracleValue::Scalar(cell) => Ok(*cell),
            _ => Err(self.error(format!("input {} is no number", position + 1))),
        }
    }

    /// A number of rows or columns, or a position.
    pub(super) fn count(&self, position: usize) -> Result<usize, OracleError> {
        let value = self.scalar(position)?.value();
        if (0.0..9.0e15).contains(&value) {
            Ok(value as usize)
        } else {
            Err(self.error(format!("{value} is no count")))
        }
    }

    /// A scalar as text, which only given values have for certain.
    pub(super) fn text(&self, position: usize) -> Result<String, OracleError> {
        match (self.input(position), self.dag.literal_value(self.hop.inputs[position])) {
            (OracleValue::Text(text), _) => Ok(text.clone()),
            (_, Some(literal)) => Ok(literal.to_string()),
            _ => Err(self.unsupported()),
        }
    }

    pub(super) fn operand(&self, position: usize) -> Result<Operand<'a>, OracleError> {
        Operand::of(self.input(position)).ok_or_else(|| self.unsupported())
    }

    pub(super) fn operands<const COUNT: usize>(&self) -> Result<[Operand<'a>; COUNT], OracleError> {
        let mut operands = [Operand::Scalar(OracleCell::given(0.0)); COUNT];
        for (position, operand) in operands.iter_mut().enumerate() {
            *operand = self.operand(position)?;
        }
        Ok(operands)
    }

    /// A scalar, or a matrix of the extent that the matrices among the inputs share.
    fn element_wise(&self, cell: impl Fn(usize, usize) -> OracleCell) -> Result<OracleValue, OracleError> {
        let mut dims: Option<(usize, usize)> = None;
        for position in 0..self.hop.inputs.len() {
            if let OracleValue::Matrix(matrix) = self.input(position) {
                let (rows, cols) = dims.unwrap_or((matrix.rows, matrix.cols));
                dims = Some((self.extent(rows, matrix.rows)?, self.extent(cols, matrix.cols)?));
            }
        }
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

    fn nary(&self, op: NaryOp) -> Result<OracleValue, OracleError> {
        let Some(fold) = op.fold() else { return Ok(OracleValue::Matrix(self.concatenate(op)?)) };
        let operands: Vec<Operand<'_>> =
            (0..self.hop.inputs.len()).map(|position| self.operand(position)).collect::<Result<_, _>>()?;
        let (first, others) = operands.split_first().ok_or_else(|| self.error("there are no inputs"))?;
        self.element_wise(|i, j| {
            others.iter().fold(first.get(i, j), |cell, operand| OracleCell::binary(fold, cell, operand.get(i, j)))
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

    /// Aggregates down each column, up to each row.
    fn cumulative(&self, op: AggOp) -> Result<OracleMatrix, OracleError> {
        let matrix = self.matrix(0)?;
        let mut result = matrix.clone();
        for j in 0..matrix.cols {
            let column = (0..matrix.rows).map(|i| matrix.get(i, j));
            for (i, cell) in cumulative(op, column).enumerate() {
                result.cells[i * matrix.cols + j] = cell;
            }
        }
        Ok(result)
    }

    /// The value of a product or scaling, in whatever order the chain is computed that it ends.
    fn in_any_order(&self, written: OracleMatrix) -> OracleMatrix {
        in_any_order(self.dag, self.id, written, self.values)
    }

    fn product(&self) -> Result<OracleMatrix, OracleError> {
        let (left, right) = (self.matrix(0)?, self.matrix(1)?);
        if left.cols != right.rows {
            return Err(self.error(format!("{} columns meet {} rows", left.cols, right.rows)));
        }
        let cell = |i: usize, j: usize| dot((0..left.cols).map(|k| (left.get(i, k), right.get(k, j))));
        Ok(self.in_any_order(OracleMatrix::from_fn(left.rows, right.cols, cell)))
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
            (CastOp::AsList | CastOp::AsFrame, _) => return Err(self.unsupported()),
        })
    }
}
