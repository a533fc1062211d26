//! Functions with named arguments: sorting, selection, contingency tables, positions of extremes.

use super::cell::OracleCell;
use super::evaluate::{Evaluation, OracleError};
use super::rules::may_differ_in_order;
use super::value::{Operand, OracleMatrix, OracleValue};
use fuseline_ir::hop::Function;
use std::cmp::Ordering;

impl Evaluation<'_> {
    pub(super) fn function(&self, function: Function, names: &[String]) -> Result<OracleMatrix, OracleError> {
        match function {
            Function::Order => self.order(names),
            Function::RemoveEmpty => self.remove_empty(names),
            Function::Table => self.table(names),
            Function::RowIndexMax => self.row_index(names, |x, y| x > y),
            Function::RowIndexMin => self.row_index(names, |x, y| x < y),
            Function::Read
            | Function::Write
            | Function::Print
            | Function::Stop
            | Function::Assert
            | Function::ToString
            | Function::Time
            | Function::Numeric(_)
            | Function::List
            | Function::Remove
            | Function::TransformEncode
            | Function::TransformApply
            | Function::TransformDecode
            | Function::Frame(_)
            | Function::TypeOf => Err(self.unsupported()),
        }
    }

    /// The position of the input with this name.
    pub(super) fn named(&self, names: &[String], name: &str) -> Option<usize> {
        let first = self.hop.inputs.len() - names.len();
        names.iter().position(|other| other == name).map(|position| first + position)
    }

    fn flag(&self, names: &[String], name: &str, default: bool) -> Result<bool, OracleError> {
        self.named(names, name).map_or(Ok(default), |position| Ok(self.scalar(position)?.value() != 0.0))
    }

    /// The columns to sort by, 0-based, the first one first.
    fn sort_columns(&self, names: &[String], cols: usize) -> Result<Vec<usize>, OracleError> {
        let values = match self.named(names, "by") {
            None => vec![1.0],
            Some(position) => match self.input(position) {
                OracleValue::Matrix(matrix) => matrix.cells.iter().map(OracleCell::value).collect(),
                _ => vec![self.scalar(position)?.value()],
            },
        };
        let column = |&value: &f64| (1.0..=cols as f64).contains(&value).then_some(value as usize - 1);
        values.iter().map(column).collect::<Option<_>>().ok_or_else(|| self.error("there is no such column"))
    }

    /// Rows in order of the cells of some columns: stable, NaN last.
    fn order(&self, names: &[String]) -> Result<OracleMatrix, OracleError> {
        let matrix = self.matrix(0)?;
        let columns = self.sort_columns(names, matrix.cols)?;
        let is_decreasing = self.flag(names, "decreasing", false)?;
        let compare = |x: f64, y: f64| match (x.is_nan(), y.is_nan()) {
            (false, false) if is_decreasing => y.partial_cmp(&x).unwrap_or(Ordering::Equal),
            (false, false) => x.partial_cmp(&y).unwrap_or(Ordering::Equal),
            (x_is_nan, y_is_nan) => x_is_nan.cmp(&y_is_nan),
        };
        let mut rows: Vec<usize> = (0..matrix.rows).collect();
        rows.sort_by(|&one, &other| {
            let keys = columns.iter().map(|&j| compare(matrix.get(one, j).value(), matrix.get(other, j).value()));
            keys.fold(Ordering::Equal, Ordering::then)
        });
        // Neighbours in a sorted column decide whether another order is possible.
        let is_unstable = columns.iter().any(|&j| {
            let mut keys: Vec<OracleCell> = (0..matrix.rows).map(|i| matrix.get(i, j)).collect();
            keys.sort_by(|x, y| compare(x.value(), y.value()));
            keys.iter().any(OracleCell::is_tainted) || keys.windows(2).any(|pair| may_differ_in_order(pair[0], pair[1]))
        });
        let result = if self.flag(names, "index.return", false)? {
            OracleMatrix::from_fn(matrix.rows, 1, |i, _| OracleCell::given((rows[i] + 1) as f64))
        } else {
            OracleMatrix::from_fn(matrix.rows, matrix.cols, |i, j| matrix.get(rows[i], j))
        };
        let cells = result.cells.into_iter().map(|cell| cell.with_taint(is_unstable)).collect();
        Ok(OracleMatrix { cells, ..result })
    }

    /// The rows or columns that are not empty, or that a vector selects.
    fn remove_empty(&self, names: &[String]) -> Result<OracleMatrix, OracleError> {
        let matrix = self.matrix(0)?;
        let margin = self.named(names, "margin").map_or(Ok("rows".to_owned()), |position| self.text(position))?;
        let by_rows = match margin.as_str() {
            "rows" => true,
            "cols" => false,
            other => return Err(self.error(format!("{other:?} is no margin"))),
        };
        let (count, width) = if by_rows { (matrix.rows, matrix.cols) } else { (matrix.cols, matrix.rows) };
        let get = |line: usize, k: usize| if by_rows { matrix.get(line, k) } else { matrix.get(k, line) };
        let select = self.named(names, "select").map(|position| self.matrix(position)).transpose()?;
        if select.is_some_and(|select| select.cells.len() != count) {
            return Err(self.error("the selection does not fit"));
        }
        let mut kept = Vec::new();
        for line in 0..count {
            let is_kept = match select {
                Some(select) => self.is_any_not_zero(std::iter::once(select.cells[line]))?,
                None => self.is_any_not_zero((0..width).map(|k| get(line, k)))?,
            };
            if is_kept {
                kept.push(line);
            }
        }
        let zero = OracleCell::given(0.0);
        let is_empty = kept.is_empty() && self.flag(names, "empty.return", true)?;
        let lines = if is_empty { 1 } else { kept.len() };
        let cell = |line: usize, k: usize| kept.get(line).map_or(zero, |&line| get(line, k));
        Ok(if by_rows {
            OracleMatrix::from_fn(lines, width, cell)
        } else {
            OracleMatrix::from_fn(width, lines, |i, j| cell(j, i))
        })
    }

    /// Whether one of these cells is not zero; an error where that is not certain.
    fn is_any_not_zero(&self, cells: impl Iterator<Item = OracleCell>) -> Result<bool, OracleError> {
        let mut is_certain = true;
        for cell in cells {
            match cell.truth().filter(|_| !cell.is_tainted()) {
                Some(true) => return Ok(true),
                Some(false) => {}
                None => is_certain = false,
            }
        }
        if is_certain { Ok(false) } else { Err(self.undecided()) }
    }

    /// Sums of weights by the values of two vectors, either of which may be a row or a column. What is not a number, or
    /// lies outside of given dimensions, counts nowhere.
    fn table(&self, names: &[String]) -> Result<OracleMatrix, OracleError> {
        let operands: [Operand<'_>; 3] = self.operands()?;
        let lengths = || {
            operands.iter().filter_map(|operand| match operand {
                Operand::Matrix(matrix) => Some(matrix.cells.len()),
                Operand::Scalar(_) => None,
            })
        };
        let length = lengths().next().ok_or_else(|| self.error("there is no vector"))?;
        if lengths().any(|other| other != length) {
            return Err(self.error("vectors of several lengths"));
        }
        let dimension = |name| self.named(names, name).map(|position| self.count(position)).transpose();
        let limits = (dimension("dim1")?, dimension("dim2")?);
        let ignores_small = limits.0.is_some() && self.flag(names, "ignore", true)?;
        let category = |cell: OracleCell| match cell.truncated() {
            cell if cell.is_tainted() => Err(self.undecided()),
            cell if cell.value().is_nan() || cell.value() < 1.0 && ignores_small => Ok(None),
            cell if cell.value() >= 1.0 => Ok(Some(cell.value() as usize - 1)),
            _ => Err(self.error("categories start at 1")),
        };
        let mut entries = Vec::new();
        for at in 0..length {
            let [a, b, weight] = operands.map(|operand| match operand {
                Operand::Matrix(matrix) => matrix.cells[at],
                Operand::Scalar(cell) => cell,
            });
            if let (Some(row), Some(col)) = (category(a)?, category(b)?) {
                entries.push((row, col, weight));
            }
        }
        let greatest = |of: fn(&(usize, usize, OracleCell)) -> usize| entries.iter().map(|entry| of(entry) + 1).max();
        let rows = limits.0.or_else(|| greatest(|entry| entry.0)).unwrap_or(0);
        let cols = limits.1.or_else(|| greatest(|entry| entry.1)).unwrap_or(0);
        Ok(OracleMatrix::from_fn(rows, cols, |i, j| {
            let matching = entries.iter().filter(|&&(row, col, _)| (row, col) == (i, j)).map(|entry| entry.2);
            super::aggregate::aggregate(fuseline_ir::ops::AggOp::Sum, matching)
        }))
    }

    /// Per row the 1-based column of the number that no other is better than, the last of equals; NaN is passed over. With
    /// `first`, the first of equals, and NaN before any number. 1 for a row of NaN alone, 0 for a row without columns.
    fn row_index(
        &self,
        names: &[String],
        is_more_extreme: impl Fn(f64, f64) -> bool,
    ) -> Result<OracleMatrix, OracleError> {
        let (matrix, takes_first) = (self.matrix(0)?, self.flag(names, "first", false)?);
        let is_better = |cell: f64, best: f64| match takes_first {
            true => !best.is_nan() && (cell.is_nan() || is_more_extreme(cell, best)),
            false => !is_more_extreme(best, cell),
        };
        Ok(OracleMatrix::from_fn(matrix.rows, 1, |i, _| {
            let row = || (0..matrix.cols).map(|j| matrix.get(i, j));
            let mut best: Option<usize> = None;
            for (j, cell) in row().enumerate().filter(|(_, cell)| takes_first || !cell.value().is_nan()) {
                if best.is_none_or(|best| is_better(cell.value(), matrix.get(i, best).value())) {
                    best = Some(j);
                }
            }
            let best = best.unwrap_or(0);
            let is_unstable = |(j, cell): (usize, OracleCell)| {
                cell.is_tainted() || j != best && may_differ_in_order(cell, matrix.get(i, best))
            };
            let result = if matrix.cols == 0 { 0.0 } else { (best + 1) as f64 };
            OracleCell::given(result).with_taint(row().enumerate().any(is_unstable))
        }))
    }
}
