//! A column of a frame.

use crate::collected::{Collected, Part, copied_text};
use crate::nan::replace_nan;
use fuseline_ir::{ScalarType, Value};
use std::ops::Range;

/// The cells of a column, all of one type. Columns that are made or cloned are [`Collected`]: within the budget, and until
/// there is a request to stop.
#[derive(Debug, PartialEq)]
pub enum Column {
    /// Doubles.
    F64(Vec<f64>),
    /// Integers.
    I64(Vec<i64>),
    /// Truth values.
    Bool(Vec<bool>),
    /// Texts, and `None` where one is missing.
    Str(Vec<Option<String>>),
}

impl Clone for Column {
    fn clone(&self) -> Self {
        self.slice(0..self.len())
    }
}

impl Part for Column {
    fn own_bytes(&self) -> usize {
        match self {
            Column::F64(cells) => size_of_val(&cells[..]),
            Column::I64(cells) => size_of_val(&cells[..]),
            Column::Bool(cells) => size_of_val(&cells[..]),
            Column::Str(cells) => size_of_val(&cells[..]) + cells.iter().map(Part::own_bytes).sum::<usize>(),
        }
    }
}

impl Column {
    /// A column of doubles.
    pub fn of_doubles(cells: impl IntoIterator<Item = f64>) -> Self {
        Column::F64(cells.into_iter().collect::<Collected<_>>().into_vec())
    }

    /// A column of integers.
    pub fn of_integers(cells: impl IntoIterator<Item = i64>) -> Self {
        Column::I64(cells.into_iter().collect::<Collected<_>>().into_vec())
    }

    /// A column of truth values.
    pub fn of_truth_values(cells: impl IntoIterator<Item = bool>) -> Self {
        Column::Bool(cells.into_iter().collect::<Collected<_>>().into_vec())
    }

    /// A column of texts, of which none is missing.
    pub fn of_texts(cells: impl IntoIterator<Item = String>) -> Self {
        Column::of_optional_texts(cells.into_iter().map(Some))
    }

    /// A column of texts, and `None` where one is missing.
    pub fn of_optional_texts(cells: impl IntoIterator<Item = Option<String>>) -> Self {
        Column::Str(cells.into_iter().collect::<Collected<_>>().into_vec())
    }

    /// A column of one cell.
    pub fn single(value: &Value) -> Self {
        match value {
            Value::F64(cell) => Column::F64(vec![*cell]),
            Value::I64(cell) => Column::I64(vec![*cell]),
            Value::Bool(cell) => Column::Bool(vec![*cell]),
            Value::Str(cell) => Column::Str(vec![Some(copied_text(cell))]),
        }
    }

    /// Number of cells.
    pub fn len(&self) -> usize {
        match self {
            Column::F64(cells) => cells.len(),
            Column::I64(cells) => cells.len(),
            Column::Bool(cells) => cells.len(),
            Column::Str(cells) => cells.len(),
        }
    }

    /// Whether there is no cell.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn unify_nan(&mut self) {
        if let Column::F64(cells) = self {
            replace_nan(cells);
        }
    }

    /// The type of the cells.
    pub fn scalar_type(&self) -> ScalarType {
        match self {
            Column::F64(_) => ScalarType::F64,
            Column::I64(_) => ScalarType::I64,
            Column::Bool(_) => ScalarType::Bool,
            Column::Str(_) => ScalarType::Str,
        }
    }

    /// The cell of a row, from 0; an empty text for a missing one.
    ///
    /// # Panics
    /// There is no such row.
    pub fn get(&self, row: usize) -> Value {
        match self {
            Column::F64(cells) => Value::F64(cells[row]),
            Column::I64(cells) => Value::I64(cells[row]),
            Column::Bool(cells) => Value::Bool(cells[row]),
            Column::Str(cells) => Value::Str(present_text(&cells[row])),
        }
    }

    /// The cell of a row as text, as DML prints scalars; truth values in lower case, as frames hold them.
    ///
    /// # Panics
    /// There is no such row.
    pub fn text(&self, row: usize) -> String {
        match self {
            Column::Bool(cells) => cells[row].to_string(),
            Column::Str(cells) => present_text(&cells[row]),
            Column::F64(_) | Column::I64(_) => self.get(row).to_string(),
        }
    }

    /// The cell of a row as a number: texts are read as such, an empty one and a missing one as NaN.
    ///
    /// # Panics
    /// There is no such row.
    pub fn number(&self, row: usize) -> Option<f64> {
        match self {
            Column::Str(_) if self.is_missing(row) => Some(f64::NAN),
            Column::Str(cells) => cells[row].as_ref()?.trim().parse().ok(),
            _ => self.get(row).as_f64(),
        }
    }

    /// Whether the cell of a row has no value: a missing or empty text, or NaN.
    ///
    /// # Panics
    /// There is no such row.
    pub fn is_missing(&self, row: usize) -> bool {
        match self {
            Column::Str(cells) => cells[row].as_ref().is_none_or(String::is_empty),
            Column::F64(cells) => cells[row].is_nan(),
            Column::I64(_) | Column::Bool(_) => false,
        }
    }

    /// The cell of a row as text, unless it is a missing one.
    pub(super) fn optional_text(&self, row: usize) -> Option<String> {
        match self {
            Column::Str(cells) => cells[row].as_deref().map(copied_text),
            _ => Some(self.text(row)),
        }
    }

    /// Some of the cells.
    pub(super) fn slice(&self, rows: Range<usize>) -> Column {
        self.select(rows)
    }

    /// The cells of these rows, in this order.
    pub(super) fn select(&self, rows: impl IntoIterator<Item = usize>) -> Column {
        let rows = rows.into_iter();
        match self {
            Column::F64(cells) => Column::of_doubles(rows.map(|row| cells[row])),
            Column::I64(cells) => Column::of_integers(rows.map(|row| cells[row])),
            Column::Bool(cells) => Column::of_truth_values(rows.map(|row| cells[row])),
            Column::Str(_) => Column::of_optional_texts(rows.map(|row| self.optional_text(row))),
        }
    }

    /// The cells of all parts, one after the other: of the type that all have, of doubles where all are numbers, else
    /// of texts.
    pub fn concatenated(parts: &[&Column]) -> Column {
        let parts: Collected<&Column> = parts.iter().copied().filter(|part| !part.is_empty()).collect();
        let cells = || parts.iter().flat_map(|part| (0..part.len()).map(move |row| part.get(row)));
        let types = || parts.iter().map(|part| part.scalar_type());
        let common = match types().next() {
            Some(first) if types().all(|other| other == first) => first,
            _ if types().all(|one| matches!(one, ScalarType::F64 | ScalarType::I64)) => ScalarType::F64,
            _ => ScalarType::Str,
        };
        match common {
            ScalarType::F64 => Column::of_doubles(cells().filter_map(|cell| cell.as_f64())),
            ScalarType::I64 => Column::of_integers(cells().filter_map(|cell| cell.as_i64())),
            ScalarType::Bool => Column::of_truth_values(cells().map(|cell| cell == Value::Bool(true))),
            ScalarType::Str => {
                let texts = parts.iter().flat_map(|part| (0..part.len()).map(move |row| part.optional_text(row)));
                Column::of_optional_texts(texts)
            }
        }
    }
}

/// A copy of a text; an empty one for a missing one.
fn present_text(text: &Option<String>) -> String {
    text.as_deref().map_or_else(String::new, copied_text)
}
