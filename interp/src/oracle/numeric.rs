//! Numeric functions by their definitions. Decompositions, distributions and random numbers have no evaluation here:
//! tests check them by what defines them.

use super::aggregate::{aggregate, dot};
use super::cell::OracleCell;
use super::evaluate::{Evaluation, OracleError};
use super::rules::may_differ_in_order;
use super::value::{OracleMatrix, OracleValue};
use fuseline_ir::hop::NumericFunction;
use fuseline_ir::ops::{AggOp, BinaryOp};
use std::cmp::Ordering;

impl Evaluation<'_> {
    pub(super) fn numeric(&self, function: NumericFunction, names: &[String]) -> Result<OracleValue, OracleError> {
        Ok(match function {
            NumericFunction::Roll => OracleValue::Matrix(self.roll()?),
            NumericFunction::LowerTriangle => OracleValue::Matrix(self.triangle(|i, j| i > j)?),
            NumericFunction::UpperTriangle => OracleValue::Matrix(self.triangle(|i, j| i < j)?),
            NumericFunction::CumulativeSumProduct => OracleValue::Matrix(self.cumulative_sum_product()?),
            NumericFunction::Unique => OracleValue::Matrix(self.unique()?),
            NumericFunction::Quantile => self.quantile(names)?,
            NumericFunction::Median => OracleValue::Scalar(self.median(names)?),
            NumericFunction::GroupedAggregate => OracleValue::Matrix(self.grouped_aggregate(names)?),
            NumericFunction::Conv2d => OracleValue::Matrix(self.convolution()?),
            NumericFunction::MaxPool | NumericFunction::AvgPool => OracleValue::Matrix(self.pool(function)?),
            _ => return Err(self.unsupported()),
        })
    }

    /// Row i of the result is the row that moved there.
    fn roll(&self) -> Result<OracleMatrix, OracleError> {
        let matrix = self.matrix(0)?;
        let shift = self.scalar(1)?.value() as i128;
        let rows = matrix.rows as i128;
        Ok(OracleMatrix::from_fn(matrix.rows, matrix.cols, |i, j| {
            matrix.get((i as i128 - shift).rem_euclid(rows) as usize, j)
        }))
    }

    fn triangle(&self, is_beyond: impl Fn(usize, usize) -> bool) -> Result<OracleMatrix, OracleError> {
        let matrix = self.matrix(0)?;
        let (has_diagonal, keeps_values) = (self.scalar(1)?.value() != 0.0, self.scalar(2)?.value() != 0.0);
        Ok(OracleMatrix::from_fn(matrix.rows, matrix.cols, |i, j| {
            match is_beyond(i, j) || (i == j && has_diagonal) {
                true if keeps_values => matrix.get(i, j),
                is_inside => OracleCell::given(f64::from(u8::from(is_inside))),
            }
        }))
    }

    fn cumulative_sum_product(&self) -> Result<OracleMatrix, OracleError> {
        let matrix = self.matrix(0)?;
        if matrix.cols != 2 {
            return Err(self.error("the matrix does not have two columns"));
        }
        let mut before = OracleCell::given(0.0);
        Ok(OracleMatrix::from_fn(matrix.rows, 1, |i, _| {
            let product = OracleCell::binary(BinaryOp::Mult, matrix.get(i, 1), before);
            before = OracleCell::binary(BinaryOp::Plus, matrix.get(i, 0), product);
            before
        }))
    }

    /// The values of given cells; of others it is not certain which are equal.
    fn unique(&self) -> Result<OracleMatrix, OracleError> {
        let cells = &self.matrix(0)?.cells;
        if cells.iter().any(|cell| cell.is_tainted() || cell.radius() != 0.0) {
            return Err(self.undecided());
        }
        let mut values: Vec<f64> = Vec::new();
        for value in cells.iter().map(OracleCell::value) {
            if !values.iter().any(|&known| known == value || known.is_nan() && value.is_nan()) {
                values.push(value);
            }
        }
        values.sort_by(|x, y| ascending(*x, *y));
        Ok(OracleMatrix::from_fn(values.len(), 1, |i, _| OracleCell::given(values[i])))
    }

    /// The cells of a vector as often as their weights say, in order; tainted where the order is not certain.
    fn sorted(&self, names: &[String]) -> Result<Vec<OracleCell>, OracleError> {
        let values = &self.matrix(0)?.cells;
        let mut cells = values.clone();
        if let Some(position) = self.named(names, "weights") {
            let weights = &self.matrix(position)?.cells;
            if weights.len() != values.len() || weights.iter().any(|weight| !weight.is_exact()) {
                return Err(self.unsupported());
            }
            let repeat = |(cell, weight): (&OracleCell, &OracleCell)| vec![*cell; weight.value() as usize];
            cells = values.iter().zip(weights).flat_map(repeat).collect();
        }
        if cells.is_empty() {
            return Err(self.error("there are no values"));
        }
        cells.sort_by(|x, y| ascending(x.value(), y.value()));
        let is_unstable = cells.iter().any(OracleCell::is_tainted)
            || cells.windows(2).any(|pair| may_differ_in_order(pair[0], pair[1]));
        Ok(cells.into_iter().map(|cell| cell.with_taint(is_unstable)).collect())
    }

    fn quantile(&self, names: &[String]) -> Result<OracleValue, OracleError> {
        let cells = self.sorted(names)?;
        let at = |probability: OracleCell| {
            let position = (probability.value() * cells.len() as f64).ceil().max(1.0) as usize;
            match cells.get(position - 1) {
                Some(cell) if probability.radius() == 0.0 && (0.0..=1.0).contains(&probability.value()) => Ok(*cell),
                _ => Err(self.undecided()),
            }
        };
        match self.input(1) {
            OracleValue::Matrix(probabilities) => {
                let cells: Vec<OracleCell> = probabilities.cells.iter().map(|&p| at(p)).collect::<Result<_, _>>()?;
                Ok(OracleValue::Matrix(OracleMatrix { rows: cells.len(), cols: 1, cells }))
            }
            _ => Ok(OracleValue::Scalar(at(self.scalar(1)?)?)),
        }
    }

    fn median(&self, names: &[String]) -> Result<OracleCell, OracleError> {
        let cells = self.sorted(names)?;
        let middle = cells.len() / 2;
        Ok(match cells.len() % 2 {
            1 => cells[middle],
            _ => {
                let sum = OracleCell::binary(BinaryOp::Plus, cells[middle - 1], cells[middle]);
                OracleCell::binary(BinaryOp::Mult, sum, OracleCell::given(0.5))
            }
        })
    }

    /// Aggregates of the rows of each group.
    fn grouped_aggregate(&self, names: &[String]) -> Result<OracleMatrix, OracleError> {
        let (matrix, groups) = (self.matrix(0)?, &self.matrix(1)?.cells);
        let function = self.named(names, "fn").map(|position| self.text(position)).transpose()?.unwrap_or_default();
        let op = match function.as_str() {
            "sum" => AggOp::Sum,
            "mean" => AggOp::Mean,
            "variance" => AggOp::Var,
            "count" => AggOp::Nnz,
            _ => return Err(self.unsupported()),
        };
        if self.named(names, "weights").is_some() || groups.len() != matrix.rows {
            return Err(self.unsupported());
        }
        if groups.iter().any(|group| group.is_tainted() || !group.is_exact()) {
            return Err(self.undecided());
        }
        let largest = groups.iter().map(|group| group.value() as usize).max().unwrap_or(0);
        let count = self.named(names, "ngroups").map(|position| self.count(position)).transpose()?.unwrap_or(largest);
        Ok(OracleMatrix::from_fn(count, matrix.cols, |group, j| {
            let rows = (0..matrix.rows).filter(|&i| groups[i].value() as usize == group + 1);
            match op {
                _ if rows.clone().next().is_none() => OracleCell::given(0.0),
                AggOp::Nnz => OracleCell::given(rows.count() as f64),
                AggOp::Var if rows.clone().count() == 1 => OracleCell::given(0.0),
                _ => aggregate(op, rows.map(|i| matrix.get(i, j))),
            }
        }))
    }

    /// Counts from this position on.
    fn counts<const COUNT: usize>(&self, first: usize) -> Result<[usize; COUNT], OracleError> {
        let mut counts = [0; COUNT];
        for (at, count) in counts.iter_mut().enumerate() {
            *count = self.count(first + at)?;
        }
        Ok(counts)
    }

    /// The numbers of windows in both directions, and the cells of a window of a channel of an image: `None` in the
    /// padding.
    fn windows(
        &self,
        first: usize,
    ) -> Result<([usize; 2], impl Fn(usize, usize, usize, usize) -> Vec<Option<OracleCell>>), OracleError> {
        let matrix = self.matrix(0)?;
        let [_, height, width, window_height, window_width, stride, stride_across, padding, padding_across] =
            self.counts::<9>(first)?;
        let free = |extent: usize, window: usize, padding: usize| (extent + 2 * padding).checked_sub(window);
        let (Some(free_rows), Some(free_cols)) =
            (free(height, window_height, padding), free(width, window_width, padding_across))
        else {
            return Err(self.error("the windows do not fit"));
        };
        let count = [free_rows / stride + 1, free_cols / stride_across + 1];
        let cells = move |n: usize, channel: usize, p: usize, q: usize| {
            let places = (0..window_height).flat_map(move |i| (0..window_width).map(move |j| (i, j)));
            let cell = |(i, j): (usize, usize)| {
                let row = (p * stride + i).checked_sub(padding).filter(|row| *row < height)?;
                let col = (q * stride_across + j).checked_sub(padding_across).filter(|col| *col < width)?;
                Some(matrix.get(n, (channel * height + row) * width + col))
            };
            places.map(cell).collect()
        };
        Ok((count, cells))
    }

    fn convolution(&self) -> Result<OracleMatrix, OracleError> {
        let (images, filters) = (self.matrix(0)?, self.matrix(1)?);
        let ([rows, cols], cells) = self.windows(2)?;
        let channels = self.count(2)?;
        Ok(OracleMatrix::from_fn(images.rows, filters.rows * rows * cols, |n, at| {
            let (filter, p, q) = (at / (rows * cols), at / cols % rows, at % cols);
            let window: Vec<OracleCell> = (0..channels)
                .flat_map(|channel| cells(n, channel, p, q))
                .map(|cell| cell.unwrap_or(OracleCell::given(0.0)))
                .collect();
            dot(window.iter().enumerate().map(|(k, &cell)| (cell, filters.get(filter, k))))
        }))
    }

    fn pool(&self, function: NumericFunction) -> Result<OracleMatrix, OracleError> {
        let images = self.matrix(0)?;
        let ([rows, cols], cells) = self.windows(1)?;
        let channels = self.count(1)?;
        Ok(OracleMatrix::from_fn(images.rows, channels * rows * cols, |n, at| {
            let window = cells(n, at / (rows * cols), at / cols % rows, at % cols);
            match function {
                NumericFunction::MaxPool => aggregate(AggOp::Max, window.iter().flatten().copied()),
                _ => aggregate(AggOp::Mean, window.iter().map(|cell| cell.unwrap_or(OracleCell::given(0.0)))),
            }
        }))
    }
}

/// NaN last.
fn ascending(x: f64, y: f64) -> Ordering {
    x.partial_cmp(&y).unwrap_or_else(|| x.is_nan().cmp(&y.is_nan()))
}
