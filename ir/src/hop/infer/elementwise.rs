//! Types and sizes of element-wise operations.

use super::{Context, SCALAR, ShapeError, scalar_binary_type};
use crate::ops::{BinaryOp, BinaryZero, TernaryOp, UnaryOp, UnaryZero};
use crate::size::SizeInfo;
use crate::types::{DataType, ScalarType};

impl Context<'_> {
    pub(super) fn unary(&self, op: UnaryOp) -> Result<(DataType, SizeInfo), ShapeError> {
        self.arity(1)?;
        self.expect_number(0)?;
        let size = self.size(0);
        Ok(match self.data_type(0) {
            DataType::Scalar(scalar) => {
                let keeps_integers = matches!(op, UnaryOp::Abs | UnaryOp::Neg | UnaryOp::Pow2 | UnaryOp::Sign);
                let result = match op {
                    UnaryOp::Not => ScalarType::Bool,
                    _ if keeps_integers && scalar == ScalarType::I64 => ScalarType::I64,
                    _ => ScalarType::F64,
                };
                (DataType::Scalar(result), SCALAR)
            }
            data_type => (data_type, SizeInfo { nnz: size.nnz.filter(|_| op.zero() == UnaryZero::Preserves), ..size }),
        })
    }

    pub(super) fn binary(&self, op: BinaryOp) -> Result<(DataType, SizeInfo), ShapeError> {
        self.arity(2)?;
        if self.compares_text(op) {
            return Ok((DataType::BOOL, SCALAR));
        }
        self.expect_number(0)?;
        self.expect_number(1)?;
        match (self.data_type(0), self.data_type(1)) {
            (DataType::Scalar(left), DataType::Scalar(right)) => {
                Ok((DataType::Scalar(scalar_binary_type(op, left, right)), SCALAR))
            }
            (DataType::Matrix(_), DataType::Scalar(_)) => {
                // A scalar may be zero or not: only an operation that a left zero annihilates keeps the zeros.
                let keeps = matches!(op.zero(), BinaryZero::Annihilates | BinaryZero::LeftAnnihilates);
                let keeps =
                    keeps || self.dag.literal_f64(self.inputs[1]).is_some_and(|value| op.eval(0.0, value) == 0.0);
                Ok((DataType::MATRIX, SizeInfo { nnz: self.size(0).nnz.filter(|_| keeps), ..self.size(0) }))
            }
            (DataType::Scalar(_), DataType::Matrix(_)) => {
                let keeps = op.zero() == BinaryZero::Annihilates
                    || self.dag.literal_f64(self.inputs[0]).is_some_and(|value| op.eval(value, 0.0) == 0.0);
                Ok((DataType::MATRIX, SizeInfo { nnz: self.size(1).nnz.filter(|_| keeps), ..self.size(1) }))
            }
            (DataType::Unknown, DataType::Unknown) => Ok((DataType::Unknown, SizeInfo::UNKNOWN)),
            (DataType::Matrix(_) | DataType::Unknown, DataType::Matrix(_) | DataType::Unknown) => {
                let size = self.broadcast(0, 1)?;
                Ok((DataType::MATRIX, SizeInfo { nnz: self.binary_nnz(op, &size), ..size }))
            }
            (DataType::Unknown, DataType::Scalar(_)) | (DataType::Scalar(_), DataType::Unknown) => {
                Ok((DataType::Unknown, SizeInfo::UNKNOWN))
            }
            (DataType::List | DataType::Frame, _) => Err(self.type_error(0, "a matrix or a number")),
            (_, DataType::List | DataType::Frame) => Err(self.type_error(1, "a matrix or a number")),
        }
    }

    /// Whether this is a comparison of a text with another scalar.
    fn compares_text(&self, op: BinaryOp) -> bool {
        let types = [self.data_type(0), self.data_type(1)];
        let is_comparison = op.algebra().boolean && !matches!(op, BinaryOp::And | BinaryOp::Or);
        is_comparison && types.contains(&DataType::STR) && !types.iter().any(|data_type| data_type.is_matrix())
    }

    /// Worst-case number of non-zeros of a binary operation of two matrices of which one may be broadcast.
    fn binary_nnz(&self, op: BinaryOp, output: &SizeInfo) -> Option<u64> {
        let cells = output.cells()?;
        let expanded = |position: usize| {
            let size = self.size(position);
            match size.cells() {
                Some(own) if own == cells => size.nnz,
                // A broadcast cell repeats at most `cells / own` times.
                Some(own) if own > 0 => size.nnz.map(|nnz| nnz.saturating_mul(cells / own)),
                _ => None,
            }
        };
        match op.zero() {
            BinaryZero::Annihilates => match (expanded(0), expanded(1)) {
                (Some(left), Some(right)) => Some(left.min(right)),
                (left, right) => left.or(right),
            },
            BinaryZero::LeftAnnihilates => expanded(0),
            BinaryZero::Joint => Some(expanded(0)?.saturating_add(expanded(1)?).min(cells)),
            BinaryZero::Fills => None,
        }
    }

    /// The size of an element-wise operation of two matrices: equal sizes, or a row, a column or a single cell that
    /// repeats.
    pub(super) fn broadcast(&self, left: usize, right: usize) -> Result<SizeInfo, ShapeError> {
        self.broadcast_to(self.size(left), left, right)
    }

    /// The size `l` of an element-wise operation of inputs from `left` on, with the input `right`, too.
    pub(super) fn broadcast_to(&self, l: SizeInfo, left: usize, right: usize) -> Result<SizeInfo, ShapeError> {
        let r = self.size(right);
        let axis = |l: Option<u64>, r: Option<u64>| match (l, r) {
            (Some(l), Some(r)) if l == r => Ok(Some(l)),
            (Some(1), other) | (other, Some(1)) => Ok(other),
            (Some(_), Some(_)) => Err(()),
            (known, None) | (None, known) => Ok(known),
        };
        let rule = "equal sizes, a row vector of as many columns, a column vector of as many rows, or a single cell";
        let is_outer = (l.is_col_vector() && r.is_row_vector() || l.is_row_vector() && r.is_col_vector())
            && l.known_dims().is_some()
            && r.known_dims().is_some();
        match (axis(l.rows, r.rows), axis(l.cols, r.cols)) {
            (Ok(rows), Ok(cols)) if !is_outer => Ok(SizeInfo { rows, cols, nnz: None }),
            _ => Err(self.dimensions(left, right, rule)),
        }
    }

    pub(super) fn ternary(&self, op: TernaryOp) -> Result<(DataType, SizeInfo), ShapeError> {
        self.arity(3)?;
        let mut result: Option<SizeInfo> = None;
        for position in 0..3 {
            if !(op == TernaryOp::IfElse && self.data_type(position) == DataType::STR) {
                self.expect_number(position)?;
            }
            if self.data_type(position).is_matrix() {
                let size = self.size(position);
                result = Some(match result {
                    None => SizeInfo { nnz: None, ..size },
                    Some(so_far) => {
                        let first = (0..position).find(|&p| self.data_type(p).is_matrix()).unwrap_or(0);
                        self.broadcast_to(so_far, first, position)?
                    }
                });
            }
        }
        match result {
            Some(size) => Ok((DataType::MATRIX, size)),
            None if (0..3).any(|position| self.data_type(position) == DataType::Unknown) => {
                Ok((DataType::Unknown, SizeInfo::UNKNOWN))
            }
            None if self.data_type(1) == self.data_type(2) => Ok((self.data_type(1), SCALAR)),
            None if self.data_type(1) == DataType::STR || self.data_type(2) == DataType::STR => {
                Ok((DataType::STR, SCALAR))
            }
            None => Ok((DataType::F64, SCALAR)),
        }
    }

    /// Cell by cell over any number of matrices and scalars, at least one of them a matrix.
    pub(super) fn nary_elementwise(&self, op: BinaryOp) -> Result<(DataType, SizeInfo), ShapeError> {
        let mut result: Option<(SizeInfo, usize)> = None;
        for position in 0..self.inputs.len() {
            self.expect_number(position)?;
            if self.data_type(position).is_scalar() {
                continue;
            }
            let (size, first) = match result {
                None => (SizeInfo { nnz: None, ..self.size(position) }, position),
                Some((so_far, first)) => (self.broadcast_to(so_far, first, position)?, first),
            };
            result = Some((size, first));
        }
        let (size, _) = result.ok_or_else(|| self.type_error(0, "a matrix"))?;
        // Where the operation keeps joint zeros, no cell is filled that is zero in all inputs.
        let nnz_of = |position: usize| {
            let input = self.size(position);
            input.nnz.filter(|_| self.data_type(position).is_matrix() && input.same_dims(&size))
        };
        let sum = (0..self.inputs.len()).map(nnz_of).try_fold(0_u64, |sum, nnz| Some(sum.saturating_add(nnz?)));
        let nnz = sum.zip(size.cells()).map(|(sum, cells)| sum.min(cells)).filter(|_| op.zero() == BinaryZero::Joint);
        Ok((DataType::MATRIX, SizeInfo { nnz, ..size }))
    }

    pub(super) fn outer(&self, op: BinaryOp) -> Result<(DataType, SizeInfo), ShapeError> {
        self.arity(2)?;
        self.expect_matrix(0)?;
        self.expect_matrix(1)?;
        let (left, right) = (self.size(0), self.size(1));
        let is_one = |extent: Option<u64>| extent.is_none_or(|extent| extent == 1);
        let may_equal = |one: Option<u64>, other: Option<u64>| one.zip(other).is_none_or(|(one, other)| one == other);
        let is_outer = is_one(left.cols) && is_one(right.rows);
        // Cell by cell it has as many rows as the left and columns as the right, too.
        let is_by_cell = may_equal(left.cols, right.cols) && (may_equal(left.rows, right.rows) || is_one(right.rows));
        if !is_outer && !is_by_cell {
            return Err(self.dimensions(0, 1, "outer takes a column vector and a row vector"));
        }
        let product = left.nnz.zip(right.nnz).map(|(left, right)| left.saturating_mul(right));
        let size = SizeInfo { rows: left.rows, cols: right.cols, nnz: None };
        let nnz = product.map(|product| size.cells().map_or(product, |cells| product.min(cells)));
        Ok((DataType::MATRIX, SizeInfo { nnz: nnz.filter(|_| op.zero() == BinaryZero::Annihilates), ..size }))
    }
}
