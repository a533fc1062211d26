//! What cells of frames hold: the types that suit them, and which of them are empty.

use super::{Column, Frame, FrameError, copied_texts, moved_names};
use crate::collected::Collected;
use crate::run_context::StopListener;
use fuseline_ir::{ScalarType, Value};

impl Frame {
    /// The columns at these positions, from 0, in this order.
    ///
    /// # Panics
    /// There is no such column.
    pub fn select_columns(&self, columns: &[usize]) -> Self {
        let names = moved_names(columns.iter().map(|&column| (column, &self.names[column])));
        let columns: Collected<_> = columns.iter().map(|&column| self.columns[column].clone()).collect();
        Self::of_rows(self.rows, columns.into_vec(), names)
    }

    /// A frame of one row of texts.
    pub fn row_of_texts(texts: impl IntoIterator<Item = String>) -> Self {
        let columns: Collected<_> = texts.into_iter().map(|text| Column::Str(vec![Some(text)])).collect();
        Self::of_rows(1, columns.into_vec(), Vec::new())
    }

    /// The frame with the cells replaced that equal a value: as texts in columns of texts, as numbers and truth values in
    /// others, where a text is what it says. A column whose type does not hold the replacement takes one that does.
    pub fn with_replaced(&self, pattern: &Value, replacement: &Value) -> Self {
        self.with_columns(|column, _| column.with_replaced(pattern, replacement))
    }

    /// The rows that have a cell which is not empty.
    pub fn nonempty_rows(&self) -> Collected<bool> {
        let has_cell = |row: usize| self.columns.iter().any(|column| !column.is_empty_cell(row));
        (0..self.rows).map(has_cell).collect()
    }

    /// The columns that have a cell which is not empty.
    pub fn nonempty_columns(&self) -> Collected<bool> {
        let stop = StopListener::current();
        let is_nonempty = |column: &Column, row: usize| {
            stop.check();
            !column.is_empty_cell(row)
        };
        let has_cell = |column: &Column| (0..self.rows).any(|row| is_nonempty(column, row));
        self.columns.iter().map(has_cell).collect()
    }

    /// The frame with the cells missing that do not suit these types.
    ///
    /// # Errors
    /// There are not as many types as columns.
    pub fn without_invalid_types(&self, types: &[ScalarType]) -> Result<Self, FrameError> {
        self.check_count(types.len())?;
        let kept = |column: &Column, at: usize| column.keeping(|row| column.suits(row, types[at]));
        Ok(self.with_columns(kept))
    }

    /// The frame with the cells missing whose texts have more characters than these; a negative length keeps all.
    ///
    /// # Errors
    /// There are not as many lengths as columns.
    pub fn without_long_cells(&self, lengths: &[f64]) -> Result<Self, FrameError> {
        self.check_count(lengths.len())?;
        let fits =
            |column: &Column, row: usize, most: f64| most < 0.0 || column.text(row).chars().count() as f64 <= most;
        let kept = |column: &Column, at: usize| column.keeping(|row| fits(column, row, lengths[at]));
        Ok(self.with_columns(kept))
    }

    fn with_columns(&self, column: impl Fn(&Column, usize) -> Column) -> Self {
        let columns: Collected<_> = self.columns.iter().enumerate().map(|(at, old)| column(old, at)).collect();
        Self::of_rows(self.rows, columns.into_vec(), copied_texts(&self.names))
    }

    fn check_count(&self, count: usize) -> Result<(), FrameError> {
        let cols = self.cols();
        if count == cols { Ok(()) } else { Err(FrameError::Bind { left: cols, right: count, of: "columns" }) }
    }
}

impl Column {
    /// Whether a cell is missing or zero: an empty text, or a text or number that says zero, or FALSE.
    fn is_empty_cell(&self, row: usize) -> bool {
        match self {
            Column::Bool(cells) => !cells[row],
            _ => self.is_missing(row) || self.number(row) == Some(0.0),
        }
    }

    /// The narrowest type that suits every cell that is not missing; that of texts where there is none.
    pub fn detected_type(&self) -> ScalarType {
        if self.scalar_type() != ScalarType::Str {
            return self.scalar_type();
        }
        let stop = StopListener::current();
        let present = || {
            (0..self.len()).filter(|&row| {
                stop.check();
                !self.is_missing(row)
            })
        };
        let suits_all = |scalar: &ScalarType| present().all(|row| self.suits(row, *scalar));
        let narrow = [ScalarType::Bool, ScalarType::I64, ScalarType::F64];
        if present().next().is_none() {
            return ScalarType::Str;
        }
        narrow.into_iter().find(suits_all).unwrap_or(ScalarType::Str)
    }

    /// Whether a cell is a value of a type.
    fn suits(&self, row: usize, scalar: ScalarType) -> bool {
        let Column::Str(cells) = self else {
            return match (self.get(row), scalar) {
                (_, ScalarType::Str | ScalarType::F64) => true,
                (Value::F64(number), ScalarType::I64) => number.fract() == 0.0,
                (Value::Bool(_) | Value::I64(_) | Value::Str(_), ScalarType::I64) => true,
                (value, ScalarType::Bool) => matches!(value.as_f64(), Some(0.0 | 1.0)),
            };
        };
        let text = cells[row].as_deref().unwrap_or_default().trim();
        match scalar {
            ScalarType::Str => true,
            ScalarType::Bool => text.eq_ignore_ascii_case("true") || text.eq_ignore_ascii_case("false"),
            ScalarType::I64 => text.parse::<i64>().is_ok(),
            ScalarType::F64 => text.parse::<f64>().is_ok(),
        }
    }

    /// The column with the other cells missing: no texts, or NaN, for which a column of integers or truth values becomes
    /// one of doubles.
    fn keeping(&self, keeps: impl Fn(usize) -> bool) -> Column {
        let dropped: Collected<bool> = (0..self.len()).map(|row| !keeps(row)).collect();
        if !dropped.contains(&true) {
            return self.clone();
        }
        match self {
            Column::Str(_) => {
                let cell = |row: usize| if dropped[row] { None } else { self.optional_text(row) };
                Column::of_optional_texts((0..self.len()).map(cell))
            }
            _ => {
                let cell = |row: usize| if dropped[row] { None } else { self.number(row) };
                Column::of_doubles((0..self.len()).map(|row| cell(row).unwrap_or(f64::NAN)))
            }
        }
    }

    fn with_replaced(&self, pattern: &Value, replacement: &Value) -> Column {
        let [pattern, replacement] = [pattern, replacement].map(|value| {
            let cell = Column::single(value);
            let scalar = if matches!(self, Column::Str(_)) { ScalarType::Str } else { cell.detected_type() };
            cell.converted(scalar).unwrap_or(cell)
        });
        let equals = |row: usize| match (self, &pattern) {
            (Column::Str(cells), Column::Str(pattern)) => cells[row] == pattern[0],
            (Column::Bool(cells), Column::Bool(pattern)) => cells[row] == pattern[0],
            (Column::F64(_) | Column::I64(_), Column::F64(_) | Column::I64(_)) => {
                let same = |cell: f64, pattern: f64| cell == pattern || cell.is_nan() && pattern.is_nan();
                self.number(row).zip(pattern.number(0)).is_some_and(|(cell, pattern)| same(cell, pattern))
            }
            _ => false,
        };
        let behind = self.len();
        let rows: Collected<usize> = (0..behind).map(|row| if equals(row) { behind } else { row }).collect();
        if !rows.contains(&behind) {
            return self.clone();
        }
        Column::concatenated(&[self, &replacement]).select(rows.iter().copied())
    }

    /// The cells as values of a type; `None` where one is none.
    pub fn converted(&self, scalar: ScalarType) -> Option<Column> {
        let rows = 0..self.len();
        if self.scalar_type() == scalar {
            return Some(self.clone());
        }
        Some(match scalar {
            ScalarType::Str => Column::of_optional_texts(rows.map(|row| self.optional_text(row))),
            ScalarType::F64 => {
                let numbers: Option<Collected<_>> = rows.map(|row| self.number(row)).collect();
                Column::F64(numbers?.into_vec())
            }
            ScalarType::I64 => {
                let integer = |row: usize| Some(self.number(row)?).filter(|number| number.fract() == 0.0);
                let integers: Option<Collected<_>> = rows.map(|row| integer(row).map(|number| number as i64)).collect();
                Column::I64(integers?.into_vec())
            }
            ScalarType::Bool => {
                let truth = |row: usize| match self.text(row).to_ascii_lowercase().as_str() {
                    "true" => Some(true),
                    "false" => Some(false),
                    _ => self.number(row).map(|number| number != 0.0),
                };
                Column::Bool(rows.map(truth).collect::<Option<Collected<_>>>()?.into_vec())
            }
        })
    }
}
