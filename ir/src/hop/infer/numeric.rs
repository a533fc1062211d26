//! Types and sizes of the numeric functions.

use super::{Context, SCALAR, ShapeError};
use crate::hop::{HopId, NumericFunction};
use crate::ops::Direction;
use crate::size::SizeInfo;
use crate::types::{DataType, Value};

impl Context<'_> {
    pub(super) fn numeric(
        &self,
        function: NumericFunction,
        names: &[String],
    ) -> Result<(DataType, SizeInfo), ShapeError> {
        for position in 0..function.positional_inputs() {
            let takes_either = matches!(
                function,
                NumericFunction::DistributionFunction | NumericFunction::QuantileFunction | NumericFunction::Quantile
            );
            match function.takes_matrix(position) {
                true if takes_either => self.expect_number(position)?,
                true => self.expect_matrix(position)?,
                false => self.expect_scalar(position)?,
            }
        }
        let matrix = |size: SizeInfo| Ok((DataType::MATRIX, size));
        match function {
            NumericFunction::Solve => self.solve(),
            NumericFunction::Inverse | NumericFunction::Cholesky | NumericFunction::MatrixRoot => {
                let rows = self.square()?;
                matrix(SizeInfo { rows, cols: rows, nnz: None })
            }
            NumericFunction::Determinant => self.square().map(|_| (DataType::F64, SCALAR)),
            NumericFunction::Eigen | NumericFunction::Lu => self.square().map(|_| (DataType::List, SCALAR)),
            NumericFunction::Svd | NumericFunction::Qr => Ok((DataType::List, SCALAR)),
            NumericFunction::Quantile => match self.data_type(1) {
                DataType::Scalar(_) => Ok((DataType::F64, SCALAR)),
                DataType::Matrix(_) => matrix(SizeInfo { rows: self.size(1).cells(), cols: Some(1), nnz: None }),
                _ => Ok((DataType::Unknown, SCALAR)),
            },
            NumericFunction::Median | NumericFunction::InterQuartileMean => Ok((DataType::F64, SCALAR)),
            NumericFunction::Unique => matrix(match self.direction(1) {
                Some(Direction::Full) => SizeInfo { cols: Some(1), ..SizeInfo::UNKNOWN },
                Some(Direction::Row) => SizeInfo { rows: self.size(0).rows, ..SizeInfo::UNKNOWN },
                Some(Direction::Col) => SizeInfo { cols: self.size(0).cols, ..SizeInfo::UNKNOWN },
                None => SizeInfo::UNKNOWN,
            }),
            NumericFunction::CountDistinct => Ok(match self.direction(1) {
                Some(Direction::Full) => (DataType::F64, SCALAR),
                Some(Direction::Row) => {
                    (DataType::MATRIX, SizeInfo { rows: self.size(0).rows, cols: Some(1), nnz: None })
                }
                Some(Direction::Col) => {
                    (DataType::MATRIX, SizeInfo { rows: Some(1), cols: self.size(0).cols, nnz: None })
                }
                None => (DataType::Unknown, SCALAR),
            }),
            NumericFunction::Fourier | NumericFunction::InverseFourier => self.fourier(names),
            NumericFunction::GroupedAggregate => matrix(self.grouped(names)),
            NumericFunction::Sample => matrix(SizeInfo { rows: self.literal_dim(1), cols: Some(1), nnz: None }),
            NumericFunction::Roll => matrix(self.size(0)),
            NumericFunction::LowerTriangle | NumericFunction::UpperTriangle => {
                let keeps_values = self.dag.literal_value(self.inputs[2]) == Some(&Value::Bool(true));
                matrix(SizeInfo { nnz: self.size(0).nnz.filter(|_| keeps_values), ..self.size(0) })
            }
            NumericFunction::CumulativeSumProduct => {
                matrix(SizeInfo { rows: self.size(0).rows, cols: Some(1), nnz: None })
            }
            NumericFunction::DistributionFunction | NumericFunction::QuantileFunction => Ok(match self.data_type(0) {
                DataType::Scalar(_) => (DataType::F64, SCALAR),
                data_type => (data_type, SizeInfo { nnz: None, ..self.size(0) }),
            }),
            NumericFunction::Conv2d => {
                matrix(SizeInfo { rows: self.size(0).rows, cols: self.output_cells(2, self.size(1).rows), nnz: None })
            }
            NumericFunction::Conv2dBackwardFilter => {
                let cells = self.product_of(&[3, 6, 7]);
                matrix(SizeInfo { rows: self.literal_dim(2), cols: cells, nnz: None })
            }
            NumericFunction::Conv2dBackwardData
            | NumericFunction::MaxPoolBackward
            | NumericFunction::AvgPoolBackward => {
                matrix(SizeInfo { rows: self.size(1).rows, cols: self.product_of(&[2, 3, 4]), nnz: None })
            }
            NumericFunction::MaxPool | NumericFunction::AvgPool => {
                let channels = self.literal_dim(1);
                matrix(SizeInfo { rows: self.size(0).rows, cols: self.output_cells(1, channels), nnz: None })
            }
        }
    }

    /// Type and size of a result of a function with several.
    pub(super) fn numeric_result(&self, function: NumericFunction, position: usize) -> SizeInfo {
        let size = self.size(0);
        let rank = size.known_dims().map(|(rows, cols)| rows.min(cols));
        let dims = |rows, cols| SizeInfo { rows, cols, nnz: None };
        let square = size.rows.or(size.cols);
        match (function, position) {
            (NumericFunction::Eigen, 0) => dims(square, Some(1)),
            (NumericFunction::Eigen | NumericFunction::Lu, _) => dims(square, square),
            (NumericFunction::Svd, 0) => dims(size.rows, rank),
            (NumericFunction::Svd, 1) => SizeInfo { nnz: rank, ..dims(rank, rank) },
            (NumericFunction::Svd, _) => dims(size.cols, rank),
            (NumericFunction::Qr | NumericFunction::Fourier | NumericFunction::InverseFourier, _) => {
                dims(size.rows, size.cols)
            }
            _ => SizeInfo::UNKNOWN,
        }
    }

    fn solve(&self) -> Result<(DataType, SizeInfo), ShapeError> {
        let (matrix, sides) = (self.size(0), self.size(1));
        if matrix.rows.zip(sides.rows).is_some_and(|(left, right)| left != right) {
            return Err(self.dimensions(0, 1, "the numbers of rows must be equal"));
        }
        Ok((DataType::MATRIX, SizeInfo { rows: matrix.cols, cols: sides.cols, nnz: None }))
    }

    /// The real and the imaginary part must have the same shape.
    fn fourier(&self, names: &[String]) -> Result<(DataType, SizeInfo), ShapeError> {
        if self.named(names, "imaginary").is_some() {
            let imaginary = self.inputs.len() - 1;
            self.expect_matrix(imaginary)?;
            let (left, right) = (self.size(0), self.size(imaginary));
            let differ =
                |left: Option<u64>, right: Option<u64>| left.zip(right).is_some_and(|(left, right)| left != right);
            if differ(left.rows, right.rows) || differ(left.cols, right.cols) {
                return Err(self.dimensions(0, imaginary, "real and imaginary part must have the same size"));
            }
        }
        Ok((DataType::List, SCALAR))
    }

    /// The direction that an input names.
    fn direction(&self, position: usize) -> Option<Direction> {
        match self.dag.literal_value(self.inputs[position]) {
            Some(Value::Str(text)) => text.parse().ok(),
            _ => None,
        }
    }

    /// The product of inputs that are known numbers.
    fn product_of(&self, positions: &[usize]) -> Option<u64> {
        positions.iter().try_fold(1_u64, |product, &position| product.checked_mul(self.literal_dim(position)?))
    }

    /// The number of rows of an input that must be square.
    fn square(&self) -> Result<Option<u64>, ShapeError> {
        let size = self.size(0);
        match size.known_dims() {
            Some((rows, cols)) if rows != cols => {
                let (dims, rule) = (SizeInfo { nnz: None, ..size }, "the matrix must be square");
                Err(ShapeError::Size { operation: self.operation(), size: dims, rule })
            }
            _ => Ok(size.rows.or(size.cols)),
        }
    }

    fn grouped(&self, names: &[String]) -> SizeInfo {
        let target = self.size(0);
        // A row vector is grouped like a column.
        let is_column = target.cols == Some(1);
        let cols = target.cols.filter(|_| is_column || target.rows.is_some_and(|rows| rows != 1));
        let rows = self.named(names, "ngroups").and_then(|input: HopId| self.dim_of(input));
        SizeInfo { rows, cols, nnz: None }
    }

    /// The cells of one output image: `channels` times the windows that fit. The channels, height and width of an
    /// input image stand from `first` on, then those of a window, strides and paddings.
    fn output_cells(&self, first: usize, channels: Option<u64>) -> Option<u64> {
        let windows = |axis: usize| {
            let value = |position: usize| self.literal_dim(first + position + axis);
            window_count(value(1)?, value(3)?, value(5)?, value(7)?)
        };
        channels?.checked_mul(windows(0)?)?.checked_mul(windows(1)?)
    }
}

/// How many windows fit into an extent with padding at both ends; none where the stride is zero or the window larger.
pub fn window_count(extent: u64, window: u64, stride: u64, padding: u64) -> Option<u64> {
    let padded = extent.checked_add(padding.checked_mul(2)?)?;
    Some(padded.checked_sub(window)?.checked_div(stride)? + 1)
}
