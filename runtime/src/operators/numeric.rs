//! Functions of linear algebra, statistics and images.

use super::Operator;
use super::generate::seed;
use crate::error::{RuntimeError, RuntimeErrorKind};
use crate::value::{List, RuntimeValue};
use fuseline_ir::Value;
use fuseline_ir::builtins::DistributionName;
use fuseline_ir::hop::NumericFunction;
use fuseline_ir::ops::Direction;
use fuseline_kernels::{self as kernels, Distribution, GroupFunction, Pooling, Transform, Triangle, Windows};
use fuseline_matrix::MatrixBlock;

impl Operator<'_> {
    pub(super) fn numeric(&self, function: NumericFunction, names: &[String]) -> Result<RuntimeValue, RuntimeError> {
        let context = self.engine.kernel_context();
        Ok(match function {
            NumericFunction::Solve => kernels::solve(self.matrix(0)?, self.matrix(1)?)?.into(),
            NumericFunction::Inverse => kernels::inverse(self.matrix(0)?)?.into(),
            NumericFunction::Determinant => kernels::determinant(self.matrix(0)?)?.into(),
            NumericFunction::Cholesky => kernels::cholesky(self.matrix(0)?)?.into(),
            NumericFunction::Eigen => {
                let result = kernels::eigen(self.matrix(0)?)?;
                results([result.values, result.vectors])
            }
            NumericFunction::Svd => {
                let result = kernels::svd(self.matrix(0)?)?;
                results([result.left, result.values, result.right])
            }
            NumericFunction::Lu => {
                let result = kernels::lu(self.matrix(0)?)?;
                results([result.permutation, result.lower, result.upper])
            }
            NumericFunction::Qr => {
                let result = kernels::qr(self.matrix(0)?);
                results([result.reflectors, result.triangle])
            }
            NumericFunction::Quantile => match self.inputs[1] {
                RuntimeValue::Matrix(p) => {
                    kernels::quantiles(&context, self.matrix(0)?, self.weights(names)?, p)?.into()
                }
                _ => kernels::quantile(&context, self.matrix(0)?, self.weights(names)?, self.number(1)?)?.into(),
            },
            NumericFunction::Median => kernels::median(&context, self.matrix(0)?, self.weights(names)?)?.into(),
            NumericFunction::InterQuartileMean => {
                kernels::inter_quartile_mean(&context, self.matrix(0)?, self.weights(names)?)?.into()
            }
            NumericFunction::MatrixRoot => kernels::matrix_root(self.matrix(0)?)?.into(),
            NumericFunction::Unique => kernels::unique(&context, self.matrix(0)?, self.direction(1)?).into(),
            NumericFunction::CountDistinct => match self.direction(1)? {
                Direction::Full => kernels::count_distinct(&context, self.matrix(0)?, Direction::Full).get(0, 0).into(),
                direction => kernels::count_distinct(&context, self.matrix(0)?, direction).into(),
            },
            NumericFunction::Fourier | NumericFunction::InverseFourier => {
                let imaginary = self.named(names, "imaginary").map(|position| self.matrix(position)).transpose()?;
                let is_inverse = function == NumericFunction::InverseFourier;
                let transform = Transform { by_row: self.number(1)? != 0.0, is_inverse };
                let result = kernels::fourier(&context, self.matrix(0)?, imaginary, transform)?;
                results([result.real, result.imaginary])
            }
            NumericFunction::GroupedAggregate => self.grouped_aggregate(names, self.weights(names)?)?.into(),
            NumericFunction::Sample => {
                let replacement = self.number(2)? != 0.0;
                let (range, size, seed) = (self.integer(0)?, self.integer(1)?, seed(self.integer(3)?));
                kernels::sample(&context, range, size, replacement, seed)?.into()
            }
            NumericFunction::Roll => kernels::roll(&context, self.matrix(0)?, self.integer(1)?).into(),
            NumericFunction::LowerTriangle | NumericFunction::UpperTriangle => {
                let is_lower = function == NumericFunction::LowerTriangle;
                let part = Triangle { is_lower, has_diagonal: self.number(1)? != 0.0 };
                kernels::triangle(&context, self.matrix(0)?, part, self.number(2)? != 0.0).into()
            }
            NumericFunction::CumulativeSumProduct => kernels::cumulative_sum_product(&context, self.matrix(0)?)?.into(),
            NumericFunction::DistributionFunction => {
                let (distribution, is_lower) = (self.distribution()?, self.number(4)? != 0.0);
                self.cell_by_cell(|cells| Ok(kernels::distribution_function(&context, distribution, is_lower, cells)?))?
            }
            NumericFunction::QuantileFunction => {
                let distribution = self.distribution()?;
                self.cell_by_cell(|cells| Ok(kernels::quantile_function(&context, distribution, cells)?))?
            }
            NumericFunction::Conv2d => {
                kernels::conv2d(&context, self.matrix(0)?, self.matrix(1)?, &self.windows(2)?)?.into()
            }
            NumericFunction::Conv2dBackwardFilter => {
                let (images, gradient, filters) = (self.matrix(0)?, self.matrix(1)?, self.integer(2)?);
                kernels::conv2d_backward_filter(&context, images, gradient, filters, &self.windows(3)?)?.into()
            }
            NumericFunction::Conv2dBackwardData => {
                kernels::conv2d_backward_data(&context, self.matrix(0)?, self.matrix(1)?, &self.windows(2)?)?.into()
            }
            NumericFunction::MaxPoolBackward => self.pool_backward(Pooling::Max)?.into(),
            NumericFunction::AvgPoolBackward => self.pool_backward(Pooling::Mean)?.into(),
            NumericFunction::MaxPool => {
                kernels::pool(&context, Pooling::Max, self.matrix(0)?, &self.windows(1)?)?.into()
            }
            NumericFunction::AvgPool => {
                kernels::pool(&context, Pooling::Mean, self.matrix(0)?, &self.windows(1)?)?.into()
            }
        })
    }

    fn pool_backward(&self, pooling: Pooling) -> Result<MatrixBlock, RuntimeError> {
        let (images, gradient) = (self.matrix(0)?, self.matrix(1)?);
        let context = self.engine.kernel_context();
        Ok(kernels::pool_backward(&context, pooling, images, gradient, &self.windows(2)?)?)
    }

    /// The direction that an input names.
    fn direction(&self, position: usize) -> Result<Direction, RuntimeError> {
        self.text(position)?.parse().map_err(|_| self.type_error(position, "a direction"))
    }

    fn grouped_aggregate(&self, names: &[String], weights: Option<&MatrixBlock>) -> Result<MatrixBlock, RuntimeError> {
        let function = match self.named(names, "fn").map(|position| self.text(position)).transpose()? {
            Some("count") => GroupFunction::Count,
            Some("sum") => GroupFunction::Sum,
            Some("mean") => GroupFunction::Mean,
            Some("variance") => GroupFunction::Variance,
            Some("min") => GroupFunction::Min,
            Some("max") => GroupFunction::Max,
            Some("centralmoment") => GroupFunction::CentralMoment(self.moment_order(names)?),
            other => {
                let (operation, expected) = ("aggregate".to_owned(), "the name of a function as `fn`");
                let actual = other.map_or("none".to_owned(), |text| format!("{text:?}"));
                return Err(RuntimeErrorKind::Type { operation, expected, actual }.into());
            }
        };
        let count = self.named(names, "ngroups").map(|position| self.integer(position)).transpose()?;
        Ok(kernels::grouped_aggregate(self.matrix(0)?, self.matrix(1)?, weights, function, count)?)
    }

    /// The order of a moment, which DML also takes as a text.
    fn moment_order(&self, names: &[String]) -> Result<u32, RuntimeError> {
        let order = match self.named(names, "order").map(|position| self.inputs[position]) {
            Some(RuntimeValue::Scalar(Value::Str(text))) => text.trim().parse().ok(),
            Some(value) => {
                value.as_f64().filter(|order| order.fract() == 0.0 && *order >= 0.0).map(|order| order as u32)
            }
            None => None,
        };
        order.filter(|order| (1..=100).contains(order)).ok_or_else(|| {
            let (operation, expected) = ("aggregate".to_owned(), "the order of the moment as `order`");
            RuntimeErrorKind::Type { operation, expected, actual: "none".to_owned() }.into()
        })
    }

    fn distribution(&self) -> Result<Distribution, RuntimeError> {
        let (first, second) = (self.number(2)?, self.number(3)?);
        let name = DistributionName::from_name(self.text(1)?);
        Ok(match name.ok_or_else(|| self.type_error(1, "the name of a distribution"))? {
            DistributionName::Normal => Distribution::Normal { mean: first, deviation: second },
            DistributionName::Exponential => Distribution::Exponential { rate: first },
            DistributionName::ChiSquared => Distribution::ChiSquared { freedom: first },
            DistributionName::StudentT => Distribution::StudentT { freedom: first },
            DistributionName::FisherF => Distribution::FisherF { numerator: first, denominator: second },
        })
    }

    /// A function of the cells of the first input, which may be a scalar.
    fn cell_by_cell(
        &self,
        function: impl Fn(&MatrixBlock) -> Result<MatrixBlock, RuntimeError>,
    ) -> Result<RuntimeValue, RuntimeError> {
        match self.inputs[0] {
            RuntimeValue::Matrix(cells) => Ok(function(cells)?.into()),
            _ => Ok(function(&MatrixBlock::single(self.number(0)?))?.get(0, 0).into()),
        }
    }

    /// The windows of an image, by the inputs from this position on.
    fn windows(&self, first: usize) -> Result<Windows, RuntimeError> {
        Ok(Windows {
            channels: self.integer(first)?,
            image: self.pair(first + 1)?,
            window: self.pair(first + 3)?,
            stride: self.pair(first + 5)?,
            padding: self.pair(first + 7)?,
        })
    }

    fn pair(&self, first: usize) -> Result<[i64; 2], RuntimeError> {
        Ok([self.integer(first)?, self.integer(first + 1)?])
    }

    fn weights(&self, names: &[String]) -> Result<Option<&MatrixBlock>, RuntimeError> {
        self.named(names, "weights").map(|position| self.matrix(position)).transpose()
    }
}

/// Several results.
fn results<const COUNT: usize>(blocks: [MatrixBlock; COUNT]) -> RuntimeValue {
    List::unnamed(blocks.map(RuntimeValue::Matrix)).into()
}
