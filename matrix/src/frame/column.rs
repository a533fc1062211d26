//! A column of a frame.

use crate::block::replace_nan;
use fuseline_ir::{ScalarType, Value};
use std::ops::Range;

/// The cells of a column, all of one type. A missing text is an empty one.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Doubles.
    F64(Vec<f64>),
    /// Integers.
    I64(Vec<i64>),
    /// Truth values.
    Bool(Vec<bool>),
    /// Texts.
    Str(Vec<String>),
}

impl Column {
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

    /// The memory of the cells in bytes.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Column::F64(cells) => size_of_val(&cells[..]),
            Column::I64(cells) => size_of_val(&cells[..]),
            Column::Bool(cells) => size_of_val(&cells[..]),
            Column::Str(cells) => size_of_val(&cells[..]) + cells.iter().map(String::len).sum::<usize>(),
        }
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

    /// The cell of a row, from 0.
    ///
    /// # Panics
    /// There is no such row.
    pub fn get(&self, row: usize) -> Value {
        match self {
            Column::F64(cells) => Value::F64(cells[row]),
            Column::I64(cells) => Value::I64(cells[row]),
            Column::Bool(cells) => Value::Bool(cells[row]),
            Column::Str(cells) => Value::Str(cells[row].clone()),
        }
    }

    /// The cell of a row as text, as DML prints scalars; truth values in lower case, as frames hold them.
    ///
    /// # Panics
    /// There is no such row.
    pub fn text(&self, row: usize) -> String {
        match self {
            Column::Bool(cells) => cells[row].to_string(),
            Column::F64(_) | Column::I64(_) | Column::Str(_) => self.get(row).to_string(),
        }
    }

    /// The cell of a row as a number: texts are read as such, an empty one as NaN.
    ///
    /// # Panics
    /// There is no such row.
    pub fn number(&self, row: usize) -> Option<f64> {
        match self {
            Column::Str(cells) if cells[row].is_empty() => Some(f64::NAN),
            Column::Str(cells) => cells[row].trim().parse().ok(),
            _ => self.get(row).as_f64(),
        }
    }

    /// Some of the cells.
    pub(super) fn slice(&self, rows: Range<usize>) -> Column {
        match self {
            Column::F64(cells) => Column::F64(cells[rows].to_vec()),
            Column::I64(cells) => Column::I64(cells[rows].to_vec()),
            Column::Bool(cells) => Column::Bool(cells[rows].to_vec()),
            Column::Str(cells) => Column::Str(cells[rows].to_vec()),
        }
    }

    /// The cells of these rows, in this order.
    pub(super) fn select(&self, rows: &[usize]) -> Column {
        match self {
            Column::F64(cells) => Column::F64(rows.iter().map(|&row| cells[row]).collect()),
            Column::I64(cells) => Column::I64(rows.iter().map(|&row| cells[row]).collect()),
            Column::Bool(cells) => Column::Bool(rows.iter().map(|&row| cells[row]).collect()),
            Column::Str(cells) => Column::Str(rows.iter().map(|&row| cells[row].clone()).collect()),
        }
    }

    /// The cells of all parts, one after the other: of the type that all have, of doubles where all are numbers, else
    /// of texts.
    pub fn concatenated(parts: &[&Column]) -> Column {
        let parts: Vec<&Column> = parts.iter().copied().filter(|part| !part.is_empty()).collect();
        let cells = || parts.iter().flat_map(|part| (0..part.len()).map(move |row| part.get(row)));
        let types: Vec<ScalarType> = parts.iter().map(|part| part.scalar_type()).collect();
        let common = match types.as_slice() {
            [first, others @ ..] if others.iter().all(|other| other == first) => *first,
            types if types.iter().all(|one| matches!(one, ScalarType::F64 | ScalarType::I64)) => ScalarType::F64,
            _ => ScalarType::Str,
        };
        match common {
            ScalarType::F64 => Column::F64(cells().filter_map(|cell| cell.as_f64()).collect()),
            ScalarType::I64 => Column::I64(cells().filter_map(|cell| cell.as_i64()).collect()),
            ScalarType::Bool => Column::Bool(cells().map(|cell| cell == Value::Bool(true)).collect()),
            ScalarType::Str => {
                Column::Str(parts.iter().flat_map(|part| (0..part.len()).map(move |row| part.text(row))).collect())
            }
        }
    }
}
