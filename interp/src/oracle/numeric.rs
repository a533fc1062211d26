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
        Ok(OracleMatrix::from_fn(matrix.rows, matrix.cols, |i, j| match is_beyond(i, j) || (i == j && has_diagonal) {
            true if keeps_values => matrix.get(i, j),
            is_inside => OracleCell::given(f64::from(u8::from(is_inside))),
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

    /// The windows of images, whose extents stand from this position on.
    fn windows(&self, first: usize) -> Result<Windows<'_>, OracleError> {
        let mut counts = [0; 9];
        for (at, count) in counts.iter_mut().enumerate() {
            *count = self.count(first + at)?;
        }
        let [channels, height, width, window_height, window_width, down, across, above, left] = counts;
        let (image, window) = ([height, width], [window_height, window_width]);
        let (stride, padding) = ([down, across], [above, left]);
        let fits = (0..2).all(|axis| window[axis] <= image[axis] + 2 * padding[axis] && stride[axis] > 0);
        let images = self.matrix(0)?;
        if fits && images.cols == channels * height * width {
            Ok(Windows { images, channels, image, window, stride, padding })
        } else {
            Err(self.error("the windows do not fit"))
        }
    }

    fn convolution(&self) -> Result<OracleMatrix, OracleError> {
        let (windows, filters) = (self.windows(2)?, self.matrix(1)?);
        let [rows, cols] = windows.count();
        Ok(OracleMatrix::from_fn(windows.images.rows, filters.rows * rows * cols, |n, at| {
            let (filter, place) = (at / (rows * cols), [at / cols % rows, at % cols]);
            let cells = (0..windows.channels).flat_map(|channel| windows.cells(n, channel, place));
            let cells = cells.map(|cell| cell.unwrap_or(OracleCell::given(0.0)));
            dot(cells.enumerate().map(|(k, cell)| (cell, filters.get(filter, k))))
        }))
    }

    fn pool(&self, function: NumericFunction) -> Result<OracleMatrix, OracleError> {
        let windows = self.windows(1)?;
        let [rows, cols] = windows.count();
        Ok(OracleMatrix::from_fn(windows.images.rows, windows.channels * rows * cols, |n, at| {
            let cells = windows.cells(n, at / (rows * cols), [at / cols % rows, at % cols]);
            match function {
                NumericFunction::MaxPool => aggregate(AggOp::Max, cells.iter().flatten().copied()),
                _ => aggregate(AggOp::Mean, cells.iter().map(|cell| cell.unwrap_or(OracleCell::given(0.0)))),
            }
        }))
    }
}

/// Windows over images of several channels; pairs are of rows and columns.
struct Windows<'a> {
    images: &'a OracleMatrix,
    channels: usize,
    image: [usize; 2],
    window: [usize; 2],
    stride: [usize; 2],
    padding: [usize; 2],
}

impl Windows<'_> {
    fn count(&self) -> [usize; 2] {
        let count =
            |axis: usize| (self.image[axis] + 2 * self.padding[axis] - self.window[axis]) / self.stride[axis] + 1;
        [count(0), count(1)]
    }

    /// The cells of a window of a channel of an image: `None` in the padding.
    fn cells(&self, n: usize, channel: usize, place: [usize; 2]) -> Vec<Option<OracleCell>> {
        let [height, width] = self.image;
        let within = |axis: usize, offset: usize| {
            let position = (place[axis] * self.stride[axis] + offset).checked_sub(self.padding[axis])?;
            Some(position).filter(|position| *position < self.image[axis])
        };
        let places = (0..self.window[0]).flat_map(|i| (0..self.window[1]).map(move |j| (i, j)));
        let cell = |(i, j): (usize, usize)| {
            Some(self.images.get(n, (channel * height + within(0, i)?) * width + within(1, j)?))
        };
        places.map(cell).collect()
    }
}

/// NaN last.
fn ascending(x: f64, y: f64) -> Ordering {
    x.partial_cmp(&y).unwrap_or_else(|| x.is_nan().cmp(&y.is_nan()))
}
