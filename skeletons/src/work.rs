//! The work of an operator: blocks, which threads take as a whole, of units.

use crate::blocks::{DensePartition, Segment, SparsePartition, Tile};
use crate::built::BuiltRows;
use crate::visited::VisitedRows;
use std::ops::Range;

/// How an operator runs over its main input.
pub(crate) enum Work<'a> {
    /// Over dense tiles; of a CSR main input perhaps of visited rows alone, which `rows` then counts.
    Tiles(DensePartition, Option<&'a VisitedRows<'a>>),
    /// Over the positions of visited rows.
    Segments(SparsePartition<'a>, &'a VisitedRows<'a>),
}

/// A unit before its inputs are laid out. Tiles and segments count visited rows.
#[derive(Clone, Copy)]
pub(crate) enum UnitOf<'a> {
    /// Dense cells of the grid.
    Tile(Tile, Option<&'a VisitedRows<'a>>),
    /// Positions of a CSR main input.
    Segment(Segment, &'a VisitedRows<'a>),
    /// Rows built from a tile of the main input.
    Built {
        /// The rows.
        rows: &'a BuiltRows,
        /// The tile.
        tile: Tile,
    },
    /// A tile of a dense main input, of an Outer plan, that has no zeros.
    WithoutZeros {
        /// The tile.
        tile: Tile,
        /// The products of its factors.
        products: TileProducts<'a>,
    },
    /// One cell that is zero, of a main input that nothing else is read beside.
    ZeroCell,
}

/// What is known of a tile of products before it runs.
#[derive(Clone, Copy)]
pub(crate) struct TileProducts<'a> {
    /// The products, each row behind the one before; none where the plan reads none.
    pub(crate) products: &'a [f64],
    /// [`crate::abi::Unit::next_unit`]: how many cells behind this tile the next one begins.
    pub(crate) next_unit: usize,
}

impl TileProducts<'_> {
    /// Of tiles that have nothing to do with factors.
    pub(crate) const NONE: TileProducts<'static> = TileProducts { products: &[], next_unit: 0 };
}

impl<'a> Work<'a> {
    /// The number of blocks, some of which may be without units.
    pub(crate) fn len(&self) -> usize {
        match self {
            Work::Tiles(partition, _) => partition.len(),
            Work::Segments(partition, _) => partition.len(),
        }
    }

    /// The visited rows of a block of whole rows.
    pub(crate) fn block_rows(&self, block: usize) -> Range<usize> {
        match self {
            Work::Tiles(partition, _) => {
                let tile = partition.block(block);
                tile.first_row..tile.first_row + tile.rows
            }
            Work::Segments(partition, _) => partition.block_rows(block),
        }
    }

    /// Visits the units of a block in order.
    pub(crate) fn for_each_unit(&self, block: usize, mut visit: impl FnMut(UnitOf<'a>)) {
        match self {
            Work::Tiles(partition, visited) => {
                partition.tiles(block).for_each(|tile| visit(UnitOf::Tile(tile, *visited)));
            }
            Work::Segments(partition, visited) => {
                partition.for_each_segment(block, |segment| visit(UnitOf::Segment(segment, visited)));
            }
        }
    }
}

impl UnitOf<'_> {
    /// The visited rows.
    pub(crate) fn rows(&self) -> Range<usize> {
        match self {
            UnitOf::Tile(Tile { first_row, rows, .. }, _)
            | UnitOf::Segment(Segment { first_row, rows, .. }, _)
            | UnitOf::Built { tile: Tile { first_row, rows, .. }, .. }
            | UnitOf::WithoutZeros { tile: Tile { first_row, rows, .. }, .. } => *first_row..*first_row + *rows,
            UnitOf::ZeroCell => 0..1,
        }
    }

    /// The first column of the main input.
    pub(crate) fn first_col(&self) -> usize {
        match self {
            UnitOf::Tile(tile, _) | UnitOf::Built { tile, .. } | UnitOf::WithoutZeros { tile, .. } => tile.first_col,
            UnitOf::Segment(..) | UnitOf::ZeroCell => 0,
        }
    }

    /// Whether the unit is one of positions, and has none.
    pub(crate) fn has_no_positions(&self) -> bool {
        matches!(self, UnitOf::Segment(segment, _) if segment.start == segment.end)
    }
}
