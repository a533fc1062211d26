//! Numeric functions by their definitions. Decompositions, distributions and random numbers have no evaluation here:
//! tests check them by what defines them.

use super::aggregate::aggregate;
use super::cell::OracleCell;
use super::evaluate::{Evaluation, OracleError};
use super::rules::may_differ_in_order;
use super::value::{OracleMatrix, OracleValue};
use fuseline_ir::hop::NumericFunction;
use fuseline_ir::ops::{AggOp, BinaryOp, Direction};
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
            NumericFunction::CountDistinct => self.count_distinct()?,
            NumericFunction::Conv2d => OracleValue::Matrix(self.convolution()?),
            NumericFunction::Conv2dBackwardFilter => OracleValue::Matrix(self.convolution_by_filters()?),
            NumericFunction::Conv2dBackwardData => OracleValue::Matrix(self.convolution_by_images()?),
            NumericFunction::MaxPool | NumericFunction::AvgPool => OracleValue::Matrix(self.pool(function)?),
            NumericFunction::MaxPoolBackward => OracleValue::Matrix(self.max_pool_by_images()?),
            NumericFunction::AvgPoolBackward => OracleValue::Matrix(self.mean_pool_by_images()?),
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

    /// The distinct values of all cells, or of each row or column, in order of first appearance. Cells are given: of
    /// others it is not certain which are equal.
    fn distinct(&self, direction: Direction) -> Result<Vec<Vec<f64>>, OracleError> {
        let matrix = self.matrix(0)?;
        if matrix.cells.iter().any(|cell| cell.is_tainted() || cell.radius() != 0.0) {
            return Err(self.undecided());
        }
        let count = match direction {
            Direction::Full => 1,
            Direction::Row => matrix.rows,
            Direction::Col => matrix.cols,
        };
        let mut lines = vec![Vec::<f64>::new(); count];
        for (at, value) in matrix.cells.iter().map(OracleCell::value).enumerate() {
            let line = match direction {
                Direction::Full => &mut lines[0],
                Direction::Row => &mut lines[at / matrix.cols],
                Direction::Col => &mut lines[at % matrix.cols],
            };
            if !line.iter().any(|&known| known == value || known.is_nan() && value.is_nan()) {
                line.push(value);
            }
        }
        Ok(lines)
    }

    fn direction(&self, position: usize) -> Result<Direction, OracleError> {
        self.text(position)?.parse().map_err(|problem: String| self.error(problem))
    }

    fn unique(&self) -> Result<OracleMatrix, OracleError> {
        let direction = self.direction(1)?;
        let mut lines = self.distinct(direction)?;
        lines.iter_mut().for_each(|line| line.sort_by(|x, y| ascending(*x, *y)));
        let longest = lines.iter().map(Vec::len).max().unwrap_or(0);
        let cell = |line: usize, at: usize| OracleCell::given(lines[line].get(at).copied().unwrap_or(0.0));
        Ok(match direction {
            Direction::Row => OracleMatrix::from_fn(lines.len(), longest, cell),
            _ => OracleMatrix::from_fn(longest, lines.len(), |at, line| cell(line, at)),
        })
    }

    fn count_distinct(&self) -> Result<OracleValue, OracleError> {
        let direction = self.direction(1)?;
        let counts = self.distinct(direction)?;
        let count = |line: usize| OracleCell::given(counts[line].len() as f64);
        Ok(match direction {
            Direction::Full => OracleValue::Scalar(count(0)),
            Direction::Row => OracleValue::Matrix(OracleMatrix::from_fn(counts.len(), 1, |i, _| count(i))),
            Direction::Col => OracleValue::Matrix(OracleMatrix::from_fn(1, counts.len(), |_, j| count(j))),
        })
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
        let position = |probability: OracleCell| {
            if probability.radius() == 0.0 && (0.0..=1.0).contains(&probability.value()) {
                Ok((probability.value() * cells.len() as f64).ceil() as usize)
            } else {
                Err(self.undecided())
            }
        };
        match self.input(1) {
            OracleValue::Matrix(probabilities) => {
                let at = |&p: &OracleCell| Ok(cells[position(p)?.max(1) - 1]);
                let cells: Vec<OracleCell> = probabilities.cells.iter().map(at).collect::<Result<_, _>>()?;
                Ok(OracleValue::Matrix(OracleMatrix { rows: cells.len(), cols: 1, cells }))
            }
            // Halfway to the next cell where the number of cells is even, except at both ends.
            _ => Ok(OracleValue::Scalar(match position(self.scalar(1)?)? {
                0 => cells[0],
                last if last == cells.len() => cells[last - 1],
                place if cells.len() % 2 == 1 => cells[place - 1],
                place => halfway(cells[place - 1], cells[place]),
            })),
        }
    }

    fn median(&self, names: &[String]) -> Result<OracleCell, OracleError> {
        let cells = self.sorted(names)?;
        let middle = cells.len() / 2;
        Ok(match cells.len() % 2 {
            1 => cells[middle],
            _ => halfway(cells[middle - 1], cells[middle]),
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
            "min" => AggOp::Min,
            "max" => AggOp::Max,
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
}

/// The mean of two cells.
fn halfway(x: OracleCell, y: OracleCell) -> OracleCell {
    OracleCell::binary(BinaryOp::Mult, OracleCell::binary(BinaryOp::Plus, x, y), OracleCell::given(0.5))
}

/// NaN last.
fn ascending(x: f64, y: f64) -> Ordering {
    x.partial_cmp(&y).unwrap_or_else(|| x.is_nan().cmp(&y.is_nan()))
}
