//! Functions of frames.

use serde::{Deserialize, Serialize};

/// A function of a frame, whose value is a frame. Inputs are in the order of the text; those that may be left out have
/// names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum FrameFunction {
    /// A frame of cells. Inputs: cells (a scalar for all of them; a list for all cells, row by row, or for each row),
    /// rows, columns; `schema` (the types of the columns).
    Make,
    /// The names of the columns, as a frame of one row.
    ColumnNames,
    /// What a function (see [`crate::cell_function`]) gives for each cell, row, column or pair of cells, as texts.
    /// Inputs: frame or matrix, function; `margin` (0: cells, 1: rows, 2: columns).
    Map,
    /// Texts in words, one in a row or those of a document in a row. Inputs: frame, specification (JSON); `max_tokens`.
    Tokenize,
    /// The types that suit the cells of each column, as a frame of one row.
    DetectSchema,
    /// The frame in whose columns the cells that are not of the types asked for are missing. Inputs: frame, types
    /// (a frame of one row).
    DropInvalidType,
    /// The frame in whose columns the cells that are longer than asked for are missing. Inputs: frame, lengths (a row,
    /// -1 for any length).
    DropInvalidLength,
    /// A frame with each row replaced by the only one of another. Inputs: frame, row.
    Replicate,
    /// The frame with the cells replaced that equal a value. Inputs: frame, value, replacement.
    ReplaceCells,
    /// Whether the cells of two frames compare as asked, cell by cell. Inputs: frames, comparison (a text).
    Compare,
}

impl FrameFunction {
    /// How many inputs the function takes by position; the others have names.
    pub fn positional_inputs(self) -> usize {
        match self {
            FrameFunction::ColumnNames | FrameFunction::DetectSchema => 1,
            FrameFunction::Map
            | FrameFunction::Tokenize
            | FrameFunction::DropInvalidType
            | FrameFunction::DropInvalidLength
            | FrameFunction::Replicate => 2,
            FrameFunction::Make | FrameFunction::ReplaceCells | FrameFunction::Compare => 3,
        }
    }

    /// Whether an input may be a matrix.
    pub fn takes_matrix(self, position: usize) -> bool {
        match self {
            FrameFunction::Map => position == 0,
            FrameFunction::DropInvalidLength => position == 1,
            _ => false,
        }
    }
}
