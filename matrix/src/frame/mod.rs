//! Frames: tables whose columns have scalar types of their own, such as a CSV file with texts.

mod cells;
mod column;
#[cfg(test)]
mod tests;

pub use column::Column;

use crate::budget::{MemoryKind, Reservation};
use crate::collected::{Collected, Part, copied_text};
use crate::nan::has_other_nan;
use crate::run_context::{StopListener, count};
use crate::{Dense, MatrixBlock, zeros};
use fuseline_ir::ScalarType;
use std::ops::Range;
use std::sync::Arc;
use thiserror::Error;

/// A table of named columns of equal lengths.
#[derive(Debug, Default)]
pub struct Frame {
    rows: usize,
    names: Vec<String>,
    columns: Vec<Column>,
    /// The memory of the columns.
    _reservation: Option<Reservation>,
}

impl Clone for Frame {
    fn clone(&self) -> Self {
        let columns: Collected<_> = self.columns.iter().cloned().collect();
        Self::of_rows(self.rows, columns.into_vec(), copied_texts(&self.names))
    }
}

/// Copies of texts.
fn copied_texts(texts: impl IntoIterator<Item: AsRef<str>>) -> Vec<String> {
    texts.into_iter().map(|text| copied_text(text.as_ref())).collect::<Collected<_>>().into_vec()
}

/// The name of a column at a position, from 0, that has no other.
fn default_name(position: usize) -> String {
    format!("C{}", position + 1)
}

/// The names of columns that stood at these positions, from 0, and stand one after the other now.
fn moved_names<'a>(columns: impl Iterator<Item = (usize, &'a String)>) -> Vec<String> {
    let moved = |(to, (from, name)): (usize, (usize, &String))| {
        if *name == default_name(from) { default_name(to) } else { copied_text(name) }
    };
    columns.enumerate().map(moved).collect::<Collected<_>>().into_vec()
}

impl PartialEq for Frame {
    fn eq(&self, other: &Self) -> bool {
        (self.rows, &self.names, &self.columns) == (other.rows, &other.names, &other.columns)
    }
}

/// Columns that do not fit together, or that are no numbers where numbers are needed. Positions are 1-based.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FrameError {
    /// Columns of several lengths.
    #[error("column {column} of the frame has {actual} rows, not {expected}")]
    Length {
        /// Its position.
        column: usize,
        /// Rows of the first column.
        expected: usize,
        /// Rows of this column.
        actual: usize,
    },
    /// Frames that cannot be put side by side or below each other.
    #[error("the frames do not fit: {left} and {right} {of}")]
    Bind {
        /// Rows or columns of the first frame.
        left: usize,
        /// Rows or columns of the other.
        right: usize,
        /// What is counted.
        of: &'static str,
    },
    /// A range that is not inside of the frame.
    #[error("the range [{}:{}, {}:{}] lies outside of a frame {} x {}", first.0, last.0, first.1, last.1, size.0, size.1)]
    Range {
        /// First row and column.
        first: (i64, i64),
        /// Last row and column.
        last: (i64, i64),
        /// Rows and columns of the frame.
        size: (usize, usize),
    },
    /// A replacement of another size than the range that it replaces.
    #[error("a frame {} x {} cannot replace a range {} x {}", actual.0, actual.1, expected.0, expected.1)]
    Replacement {
        /// Rows and columns of the range.
        expected: (usize, usize),
        /// Rows and columns of the replacement.
        actual: (usize, usize),
    },
    /// A text where a number is needed.
    #[error("row {row} of the column `{column}` is {text:?}, which is no number")]
    NoNumber {
        /// Its row.
        row: usize,
        /// The column's name.
        column: String,
        /// What it holds.
        text: String,
    },
}

impl Frame {
    /// A frame of these columns; where `names` are fewer, the others are called `C1`, `C2`, ... by position.
    ///
    /// # Errors
    /// Columns of several lengths.
    pub fn new(columns: Vec<Column>, names: Vec<String>) -> Result<Self, FrameError> {
        let rows = columns.first().map_or(0, Column::len);
        if let Some(position) = columns.iter().position(|column| column.len() != rows) {
            let actual = columns[position].len();
            return Err(FrameError::Length { column: position + 1, expected: rows, actual });
        }
        Ok(Self::of_rows(rows, columns, names))
    }

    fn of_rows(rows: usize, columns: Vec<Column>, mut names: Vec<String>) -> Self {
        names.truncate(columns.len());
        if names.len() < columns.len() {
            let others = (names.len()..columns.len()).map(default_name);
            names = names.into_iter().chain(others).collect::<Collected<_>>().into_vec();
        }
        let bytes = columns.iter().map(Column::own_bytes).sum::<usize>()
            + names.iter().map(String::own_bytes).sum::<usize>()
            + size_of_val(&columns[..])
            + size_of_val(&names[..]);
        Frame { rows, names, columns, _reservation: count(MemoryKind::Frame, bytes as u64) }
    }

    /// A frame of doubles.
    pub fn from_matrix(matrix: &MatrixBlock) -> Self {
        let column = |j: usize| Column::of_doubles((0..matrix.rows()).map(|i| matrix.get(i, j)));
        let columns: Collected<_> = (0..matrix.cols()).map(column).collect();
        Self::of_rows(matrix.rows(), columns.into_vec(), Vec::new())
    }

    /// Its numbers; truth values are 0 and 1, and texts are read as numbers, an empty one as NaN.
    ///
    /// # Errors
    /// A text that is no number.
    pub fn to_matrix(&self) -> Result<Dense, FrameError> {
        let mut values = zeros(self.rows.saturating_mul(self.cols()));
        let stop = StopListener::current();
        for (j, column) in self.columns.iter().enumerate() {
            for i in 0..self.rows {
                stop.check();
                let no_number =
                    || FrameError::NoNumber { row: i + 1, column: self.names[j].clone(), text: column.text(i) };
                values[i * self.columns.len() + j] = column.number(i).ok_or_else(no_number)?;
            }
        }
        Ok(Dense::from_vec(self.rows, self.cols(), values))
    }

    /// Gives all NaN of a frame the same bits, as [`MatrixBlock::unify_nan`] does with those of a matrix; who shares the
    /// frame keeps it as it is.
    pub fn unify_nan(self: &mut Arc<Self>) {
        let has_other = |column: &Column| matches!(column, Column::F64(cells) if has_other_nan(cells));
        if self.columns.iter().any(has_other) {
            Arc::make_mut(self).columns.iter_mut().for_each(Column::unify_nan);
        }
    }

    /// The frame with the names of the columns of another one; where these are fewer, the others keep theirs.
    pub fn with_names_of(mut self, other: &Frame) -> Self {
        let kept = self.names.iter().skip(other.names.len());
        self.names = copied_texts(other.names.iter().take(self.columns.len()).chain(kept));
        self
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.columns.len()
    }

    /// The names of the columns.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The columns.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The types of the columns.
    pub fn schema(&self) -> impl Iterator<Item = ScalarType> {
        self.columns.iter().map(Column::scalar_type)
    }

    /// A range of rows and columns, 1-based and inclusive, as 0-based half-open ranges.
    fn checked_range(&self, rows: (i64, i64), cols: (i64, i64)) -> Result<(Range<usize>, Range<usize>), FrameError> {
        let within = |(first, last): (i64, i64), limit: usize| {
            (first >= 1 && first <= last && last as u64 <= limit as u64).then(|| first as usize - 1..last as usize)
        };
        let error =
            || FrameError::Range { first: (rows.0, cols.0), last: (rows.1, cols.1), size: (self.rows, self.cols()) };
        within(rows, self.rows).zip(within(cols, self.cols())).ok_or_else(error)
    }

    /// The part of these rows and columns, 1-based and inclusive.
    ///
    /// # Errors
    /// The range is not inside of the frame.
    pub fn slice(&self, rows: (i64, i64), cols: (i64, i64)) -> Result<Self, FrameError> {
        let (rows, cols) = self.checked_range(rows, cols)?;
        let columns: Collected<_> =
            self.columns[cols.clone()].iter().map(|column| column.slice(rows.clone())).collect();
        let names = moved_names(cols.map(|column| (column, &self.names[column])));
        Ok(Self::of_rows(rows.len(), columns.into_vec(), names))
    }

    /// The rows at these positions, from 0, in this order.
    ///
    /// # Panics
    /// There is no such row.
    pub fn select_rows(&self, rows: &[usize]) -> Self {
        let columns: Collected<_> = self.columns.iter().map(|column| column.select(rows.iter().copied())).collect();
        Self::of_rows(rows.len(), columns.into_vec(), copied_texts(&self.names))
    }

    /// The frame with these rows and columns, 1-based and inclusive, replaced. The columns keep their types where these
    /// hold the new cells, else they become texts.
    ///
    /// # Errors
    /// The range is not inside of the frame, or of another size than the replacement.
    pub fn replace(&self, rows: (i64, i64), cols: (i64, i64), replacement: &Frame) -> Result<Self, FrameError> {
        let (rows, cols) = self.checked_range(rows, cols)?;
        let (expected, actual) = ((rows.len(), cols.len()), (replacement.rows(), replacement.cols()));
        if expected != actual {
            return Err(FrameError::Replacement { expected, actual });
        }
        let mut result = self.clone();
        for (new, j) in replacement.columns.iter().zip(cols) {
            let (before, after) = (self.columns[j].slice(0..rows.start), self.columns[j].slice(rows.end..self.rows));
            result.columns[j] = Column::concatenated(&[&before, new, &after]);
        }
        Ok(result)
    }

    /// Frames side by side; names that columns have by their position are those of their new one.
    ///
    /// # Errors
    /// Their numbers of rows differ.
    pub fn bind_columns(frames: &[&Frame]) -> Result<Self, FrameError> {
        let rows = frames.first().map_or(0, |first| first.rows);
        if let Some(other) = frames.iter().find(|frame| frame.rows != rows) {
            return Err(FrameError::Bind { left: rows, right: other.rows, of: "rows" });
        }
        let columns: Collected<_> = frames.iter().flat_map(|frame| frame.columns.iter().cloned()).collect();
        let names = moved_names(frames.iter().flat_map(|frame| frame.names.iter().enumerate()));
        Ok(Self::of_rows(rows, columns.into_vec(), names))
    }

    /// Frames below each other, with the names of the first. A column of several types becomes one of texts, or of
    /// doubles where all are numbers.
    ///
    /// # Errors
    /// Their numbers of columns differ.
    pub fn bind_rows(frames: &[&Frame]) -> Result<Self, FrameError> {
        let Some(first) = frames.first() else { return Ok(Frame::default()) };
        if let Some(other) = frames.iter().find(|frame| frame.cols() != first.cols()) {
            return Err(FrameError::Bind { left: first.cols(), right: other.cols(), of: "columns" });
        }
        let of = |j: usize| frames.iter().map(|frame| &frame.columns[j]).collect::<Vec<_>>();
        let columns: Collected<_> = (0..first.cols()).map(|j| Column::concatenated(&of(j))).collect();
        let rows = frames.iter().map(|frame| frame.rows).sum();
        Ok(Self::of_rows(rows, columns.into_vec(), copied_texts(&first.names)))
    }
}
