//! The work of an operator: blocks, which threads take as a whole, of units.

use crate::built::BuiltRows;
use crate::visited::VisitedRows;
use fuseline_ir::schedule::{DensePartition, Partition, Segment, Tile};
use std::ops::Range;

/// Rows of an operator's main input, cut into blocks of units.
pub(crate) struct Work<'a> {
    /// The blocks.
    pub(crate) partition: Partition<'a>,
    /// The rows of a sparse main input that are visited, and that rows of blocks and units count then.
    pub(crate) visited: Option<&'a VisitedRows<'a>>,
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
    /// A tile of the main input of an Outer plan of which all cells are visited.
    WholeTile {
        /// The tile.
        tile: Tile,
        /// The products of its factors.
        products: TileProducts<'a>,
    },
}

/// What is known of a tile of products before it runs.
#[derive(Clone, Copy)]
pub(crate) struct TileProducts<'a> {
    /// The products, each row behind the one before; none where the plan reads none.
    pub(crate) products: &'a [f64],
    /// [`crate::abi::Unit::next_unit`]: how many cells behind this tile the next one begins.
    pub(crate) next_unit: usize,
    /// Whether the tile is taken as one run over its cells, which is all of its rows, and no value belongs to one of these.
    pub(crate) is_run: bool,
}

impl TileProducts<'_> {
    /// Of tiles that have nothing to do with factors.
    pub(crate) const NONE: TileProducts<'static> = TileProducts { products: &[], next_unit: 0, is_run: false };
}

impl<'a> Work<'a> {
    /// The number of blocks, some of which may be without units.
    pub(crate) fn len(&self) -> usize {
        self.partition.len()
    }

    /// The tiles of work over dense cells.
    pub(crate) fn tiles(&self) -> &DensePartition {
        match &self.partition {
            Partition::Tiles(tiles) => tiles,
            Partition::Segments(_) | Partition::Ranges(_) => unreachable!("dense cells are cut into tiles"),
        }
    }

    /// The visited rows of a block of whole rows.
    pub(crate) fn block_rows(&self, block: usize) -> Range<usize> {
        match &self.partition {
            Partition::Tiles(tiles) | Partition::Ranges(tiles) => {
                let tile = tiles.block(block);
                tile.first_row..tile.first_row + tile.rows
            }
            Partition::Segments(segments) => segments.block_rows(block),
        }
    }

    /// How many cells, or positions, a block has.
    pub(crate) fn block_len(&self, block: usize) -> usize {
        match &self.partition {
            Partition::Tiles(tiles) | Partition::Ranges(tiles) => {
                let tile = tiles.block(block);
                tile.rows * tile.cols
            }
            Partition::Segments(segments) => segments.block_positions(block).len(),
        }
    }

    /// Visits the units of a block in order. Ranges of columns have no units of their own: who runs over them builds these.
    pub(crate) fn for_each_unit(&self, block: usize, mut visit: impl FnMut(UnitOf<'a>)) {
        match (&self.partition, self.visited) {
            (Partition::Tiles(tiles), visited) => {
                tiles.tiles(block).for_each(|tile| visit(UnitOf::Tile(tile, visited)));
            }
            (Partition::Segments(segments), Some(visited)) => {
                segments.for_each_segment(block, |segment| visit(UnitOf::Segment(segment, visited)));
            }
            (Partition::Segments(_) | Partition::Ranges(_), _) => unreachable!("segments are of visited rows"),
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
            | UnitOf::WholeTile { tile: Tile { first_row, rows, .. }, .. } => *first_row..*first_row + *rows,
        }
    }

    /// The first column of the main input.
    pub(crate) fn first_col(&self) -> usize {
        match self {
            UnitOf::Tile(tile, _) | UnitOf::Built { tile, .. } | UnitOf::WholeTile { tile, .. } => tile.first_col,
            UnitOf::Segment(..) => 0,
        }
    }

    /// Whether the unit is one of positions, and has none.
    pub(crate) fn has_no_positions(&self) -> bool {
        matches!(self, UnitOf::Segment(segment, _) if segment.start == segment.end)
    }
}
