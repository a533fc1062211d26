//! What units of a fused operator read of its inputs, in bytes.

use crate::work::{CELL_BYTES, NON_ZERO_BYTES};

/// How the units of an operator read one of its inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Not at all.
    Unread,
    /// What the units go over: the cells of tiles, if `reads_cells`, and the non-zeros of sparse units with their columns.
    Main {
        /// Whether anything is computed of the cells of a tile.
        reads_cells: bool,
    },
    /// A value for each cell of a tile, or position of a sparse unit.
    Cells,
    /// So many values for each row.
    Rows(usize),
    /// So many values for each column of a tile, or position of a sparse unit.
    Columns(usize),
    /// All of so many values.
    Whole(usize),
}

/// What a unit goes over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Cells of some rows.
    Tile {
        /// How many rows.
        rows: usize,
        /// How many columns.
        cols: usize,
    },
    /// Non-zeros of some rows.
    Positions {
        /// How many rows.
        rows: usize,
        /// How many non-zeros.
        positions: usize,
        /// Columns of the tile whose products with the rows of factors were computed as a whole, if they were.
        tile_cols: Option<usize>,
    },
}

impl Extent {
    /// Rows, each of which counts as often as units have a part of it.
    pub fn rows(self) -> usize {
        match self {
            Extent::Tile { rows, .. } | Extent::Positions { rows, .. } => rows,
        }
    }

    /// Cells of a tile, or non-zeros.
    pub fn cells(self) -> usize {
        match self {
            Extent::Tile { rows, cols } => rows * cols,
            Extent::Positions { positions, .. } => positions,
        }
    }

    /// How often something is read of which there is one for each column.
    fn columns(self) -> usize {
        match self {
            Extent::Tile { cols, .. } => cols,
            Extent::Positions { positions, tile_cols, .. } => tile_cols.unwrap_or(positions),
        }
    }
}

impl Access {
    /// Bytes that a unit reads.
    pub fn bytes(self, unit: Extent) -> u64 {
        let values = match (self, unit) {
            (Access::Unread, _) | (Access::Main { reads_cells: false }, Extent::Tile { .. }) => 0,
            (Access::Main { .. }, Extent::Positions { positions, .. }) => return positions as u64 * NON_ZERO_BYTES,
            (Access::Main { .. } | Access::Cells, _) => unit.cells(),
            (Access::Rows(values), _) => unit.rows() * values,
            (Access::Columns(values), _) => unit.columns() * values,
            (Access::Whole(values), _) => values,
        };
        values as u64 * CELL_BYTES
    }
}
