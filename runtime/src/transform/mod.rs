//! Frames as numbers: `transformencode`, `transformapply`, `transformdecode`.
//!
//! A specification says per column what becomes of it. What is learnt of a frame, such as the codes of its categories,
//! is a frame of texts with the same columns, so that scripts can write it and read it again. Its entries are pairs
//! `first·second`, as in SystemDS: `category·code` for recoded columns, `lower·upper` for the bounds of bins, in order.
//! An entry without a first part, `·value`, holds what replaces a missing cell.
//!
//! Codes count from 1 in the order in which the categories first appear in the column (SystemDS' default). A category
//! that was not learnt, and a missing cell that nothing replaces, is NaN, or a row of zeros under dummy coding.

mod encode;
mod learn;
mod meta;
mod spec;
#[cfg(test)]
mod tests;

pub(crate) use encode::{decode, encode};
pub(crate) use learn::learn;
pub(crate) use meta::{from_frame, split_entry, to_frame};
pub(crate) use spec::Specification;

use fuseline_matrix::{Collected, Column, Frame, MemoryKind, Part, StopListener, Tally};
use indexmap::IndexMap;
use thiserror::Error;

/// A frame that cannot be transformed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TransformError {
    /// A specification that is not of the right form.
    #[error("the specification of a transformation is not valid: {0}")]
    Specification(String),
    /// A column that the frame does not have.
    #[error("the specification names the column {name}, which the frame does not have; its columns are {known}")]
    NoColumn {
        /// The name or the position.
        name: String,
        /// The names of the columns.
        known: String,
    },
    /// A cell that is no number, in a column that is not recoded.
    #[error("row {row} of the column `{column}` is {text:?}, which is no number; recode the column")]
    NoNumber {
        /// From 1.
        row: usize,
        /// The name of the column.
        column: String,
        /// The cell.
        text: String,
    },
    /// A frame of what was learnt that does not fit the specification, or is none.
    #[error("the column `{column}` of the learnt frame {problem}")]
    Meta {
        /// The name of the column.
        column: String,
        /// What is wrong.
        problem: String,
    },
    /// Frames or matrices of other widths than what was learnt.
    #[error("{what} has {actual} columns, what was learnt asks for {expected}")]
    Columns {
        /// `the frame` or `the matrix`.
        what: &'static str,
        /// Columns that are needed.
        expected: usize,
        /// Columns that are there.
        actual: usize,
    },
    /// A transformation that cannot be undone.
    #[error("the column `{0}` is binned, which transformdecode does not support")]
    NoDecoder(String),
}

/// What was learnt of a column.
#[derive(Debug, PartialEq)]
pub(crate) struct Learnt {
    /// Its name.
    name: String,
    encoding: Encoding,
    /// Whether each code has a column of its own.
    dummycode: bool,
    /// What replaces a missing cell.
    replacement: Option<String>,
}

impl Part for Learnt {}

/// How the cells of a column become numbers.
#[derive(Debug, PartialEq)]
enum Encoding {
    /// They are numbers.
    PassThrough,
    /// By the codes of categories.
    Recode(Codes),
    /// By the bins that they fall into: lower and upper bounds, ascending. A bin has its upper bound, not its lower one,
    /// except that the first and the last bin have all that lies beyond them.
    Bin(Collected<(f64, f64)>),
}

/// Categories in the order of their codes, which count from 1.
#[derive(Debug)]
struct Codes {
    categories: IndexMap<String, ()>,
    /// The memory of the categories.
    held: Tally,
}

impl Default for Codes {
    fn default() -> Self {
        Codes { categories: IndexMap::new(), held: Tally::new(MemoryKind::Frame) }
    }
}

impl PartialEq for Codes {
    fn eq(&self, other: &Self) -> bool {
        self.categories == other.categories
    }
}

impl Codes {
    /// Adds a category unless it is known.
    fn insert(&mut self, category: String) {
        if !self.categories.contains_key(&category) {
            self.held.add(category.len());
            self.held.make_room_in_map(&mut self.categories);
            self.categories.insert(category, ());
        }
    }

    /// The code of a category.
    fn code(&self, category: &str) -> Option<usize> {
        self.categories.get_index_of(category).map(|position| position + 1)
    }

    /// The category at this position, from 0.
    fn category(&self, position: usize) -> Option<&str> {
        self.categories.get_index(position).map(|(category, ())| category.as_str())
    }
}

impl Learnt {
    /// How many columns of the matrix the column becomes.
    fn width(&self) -> usize {
        match &self.encoding {
            _ if !self.dummycode => 1,
            Encoding::PassThrough => 1,
            Encoding::Recode(codes) => codes.categories.len(),
            Encoding::Bin(bins) => bins.len(),
        }
    }
}

/// The rows that keep their place: those without a missing cell in the columns that say `omit`.
pub(crate) fn without_omitted(frame: &Frame, specification: &Specification) -> Option<Frame> {
    let omit: Vec<&Column> = specification.omitted().map(|position| &frame.columns()[position]).collect();
    let stop = StopListener::current();
    let kept = (0..frame.rows()).filter(|&row| {
        stop.check();
        !omit.iter().any(|column| column.is_missing(row))
    });
    let kept: Collected<usize> = kept.collect();
    (kept.len() < frame.rows()).then(|| frame.select_rows(&kept))
}
