//! How work is cut: blocks, which threads take as a whole, made of units, one genexec call each.
//!
//! All boundaries follow from the shape of the data and the plan, never from the number of threads, so that results are
//! the same bits for every number of threads.

pub(crate) use fuseline_ir::work::UNIT_CELLS;
use fuseline_ir::work::{BLOCK_CELLS, even_blocks};
use fuseline_vecprims::PANEL;
use std::ops::Range;

/// Cells of a unit of whole rows: while it is in the first-level cache, there is room for the one that follows.
const ROW_UNIT_CELLS: usize = 4096;
/// The least rows of such a unit if they fit into an ordinary one: products load what they accumulate into once for all.
const MIN_UNIT_ROWS: usize = 16;
/// Cells of a unit of rows with long vectors computed for each of them: two of these vectors stay in the cache, too.
const LONG_VECTOR_CELLS: usize = 2048;
/// Columns of a tile of factors' products: their factors stay in the second-level cache while the rows of a block pass by.
const FACTOR_VALUES: usize = 1 << 14;
const FACTOR_PANELS: (usize, usize) = (2, 10);
/// Rows of a tile of products are a multiple of those that stay in registers together.
const PRODUCT_ROWS: usize = 8;
/// The least rows of a block that meet the same columns' factors.
const FACTOR_ROWS: usize = 128;
/// The most rows of a unit: bounds what is laid out per row.
pub(crate) const MAX_UNIT_ROWS: usize = 4096;

/// A rectangle of cells of a dense matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tile {
    pub(crate) first_row: usize,
    pub(crate) rows: usize,
    pub(crate) first_col: usize,
    pub(crate) cols: usize,
}

/// Consecutive positions of a CSR matrix: those of whole rows, or with `rows` = 1 any run of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    /// The row of the first position.
    pub(crate) first_row: usize,
    pub(crate) rows: usize,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// The cells of a dense matrix, cut into blocks and these into tiles.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DensePartition {
    rows: usize,
    cols: usize,
    block_rows: usize,
    block_cols: usize,
    tile_rows: usize,
    tile_cols: usize,
}

/// Cells of a cache line.
pub(crate) const LINE_CELLS: usize = LINE_BYTES / size_of::<f64>();
/// Bytes of a cache line.
pub(crate) const LINE_BYTES: usize = 64;
/// Rows that some primitives take at once.
const ROWS_AT_ONCE: usize = 4;

/// Even parts of at most `limit`, in multiples of `unit` where there are several.
fn even_part(total: usize, limit: usize, unit: usize) -> usize {
    if total <= limit { total.max(1) } else { total.div_ceil(total.div_ceil(limit)).next_multiple_of(unit).min(limit) }
}

/// The rows of even blocks, and of their tiles, which have at most so many.
fn even_rows(rows: usize, blocks: usize, most: usize) -> (usize, usize) {
    let tile_rows = even_part(rows.div_ceil(blocks.max(1)), most, ROWS_AT_ONCE);
    (rows.div_ceil(blocks.max(1)).max(1).next_multiple_of(tile_rows), tile_rows)
}

impl DensePartition {
    /// Tiles of about `UNIT_CELLS` cells in blocks of whole rows, or of whole columns where there is one row.
    pub(crate) fn cells(rows: usize, cols: usize) -> Self {
        let blocks = even_blocks(rows.saturating_mul(cols), BLOCK_CELLS);
        if rows == 1 {
            let block_cols = cols.div_ceil(blocks).max(1).next_multiple_of(LINE_CELLS);
            return DensePartition { rows, cols, block_rows: 1, block_cols, tile_rows: 1, tile_cols: UNIT_CELLS };
        }
        DensePartition::row_blocks(rows, cols, blocks)
    }

    /// Tiles of about `UNIT_CELLS` cells of a product of factors of this rank, each of which begins a panel of columns;
    /// blocks of whole rows.
    pub(crate) fn outer(rows: usize, cols: usize, rank: usize) -> Self {
        let tile_cols = (FACTOR_VALUES / rank.max(1) / PANEL).clamp(FACTOR_PANELS.0, FACTOR_PANELS.1) * PANEL;
        let tile_rows = UNIT_CELLS / tile_cols / PRODUCT_ROWS * PRODUCT_ROWS;
        let block_rows = (BLOCK_CELLS / cols.max(1)).max(FACTOR_ROWS).next_multiple_of(tile_rows);
        DensePartition { rows, cols, block_rows, block_cols: cols.max(1), tile_rows, tile_cols }
    }

    /// Tiles of a product of factors, as [`Self::outer`], in at most this many blocks.
    pub(crate) fn outer_rows(rows: usize, cols: usize, rank: usize, count: usize) -> Self {
        let tiles = DensePartition::outer(rows, cols, rank);
        DensePartition { block_rows: rows.div_ceil(count).max(1).next_multiple_of(tiles.tile_rows), ..tiles }
    }

    /// Tiles of about `UNIT_CELLS` cells, in at most this many blocks, all of whole rows.
    pub(crate) fn row_blocks(rows: usize, cols: usize, count: usize) -> Self {
        let tile_cols = even_part(cols, UNIT_CELLS, LINE_CELLS);
        let (block_rows, tile_rows) = even_rows(rows, count, (UNIT_CELLS / tile_cols).clamp(1, MAX_UNIT_ROWS));
        DensePartition { rows, cols, block_rows, block_cols: cols.max(1), tile_rows, tile_cols }
    }

    /// Tiles of about `UNIT_CELLS` cells, in this many blocks of whole columns.
    pub(crate) fn col_blocks(rows: usize, cols: usize, count: usize) -> Self {
        let block_cols = cols.div_ceil(count).max(1).next_multiple_of(LINE_CELLS);
        let tile_cols = even_part(block_cols, UNIT_CELLS, LINE_CELLS);
        let tile_rows = (UNIT_CELLS / tile_cols).clamp(1, MAX_UNIT_ROWS);
        DensePartition { rows, cols, block_rows: rows.max(1), block_cols, tile_rows, tile_cols }
    }

    /// Tiles of whole rows, as many as fit when each holds vectors of up to `widest` cells, or fewer where long vectors are
    /// computed for each row; in at most `count` blocks.
    pub(crate) fn whole_rows(
        rows: usize,
        cols: usize,
        widest: usize,
        has_long_vectors: bool,
        count: Option<usize>,
    ) -> Self {
        let within = |cells: usize| cells / widest.max(1);
        let tile_rows = if has_long_vectors {
            within(LONG_VECTOR_CELLS)
        } else {
            within(ROW_UNIT_CELLS).max(within(UNIT_CELLS).min(MIN_UNIT_ROWS))
        };
        let count = count.unwrap_or_else(|| even_blocks(rows.saturating_mul(widest), BLOCK_CELLS));
        let (block_rows, tile_rows) = even_rows(rows, count, tile_rows.clamp(1, MAX_UNIT_ROWS));
        let cols_or_one = cols.max(1);
        DensePartition { rows, cols, block_rows, block_cols: cols_or_one, tile_rows, tile_cols: cols_or_one }
    }

    /// The number of blocks.
    pub(crate) fn len(&self) -> usize {
        self.rows.div_ceil(self.block_rows) * self.blocks_across()
    }

    fn blocks_across(&self) -> usize {
        // Row operators run over rows without columns too.
        self.cols.div_ceil(self.block_cols).max(1)
    }

    /// The cells of a block.
    pub(crate) fn block(&self, block: usize) -> Tile {
        let first_row = block / self.blocks_across() * self.block_rows;
        let first_col = block % self.blocks_across() * self.block_cols;
        Tile {
            first_row,
            rows: self.block_rows.min(self.rows - first_row),
            first_col,
            cols: self.block_cols.min(self.cols - first_col),
        }
    }

    /// The tiles of a block, row after row.
    pub(crate) fn tiles(&self, block: usize) -> impl Iterator<Item = Tile> + use<> {
        let block = self.block(block);
        let (down, across) = self.tiles_of(block);
        let this = *self;
        (0..down * across).map(move |tile| this.tile_of(block, tile / across, tile % across))
    }

    /// The tiles of a block, column after column.
    pub(crate) fn tiles_down(&self, block: usize) -> impl Iterator<Item = Tile> + use<> {
        let block = self.block(block);
        let (down, across) = self.tiles_of(block);
        let this = *self;
        (0..down * across).map(move |tile| this.tile_of(block, tile % down, tile / down))
    }

    /// The numbers of tiles below and beside each other.
    fn tiles_of(&self, block: Tile) -> (usize, usize) {
        (block.rows.div_ceil(self.tile_rows), block.cols.div_ceil(self.tile_cols).max(1))
    }

    fn tile_of(&self, block: Tile, down: usize, across: usize) -> Tile {
        let (row, col) = (down * self.tile_rows, across * self.tile_cols);
        Tile {
            first_row: block.first_row + row,
            rows: self.tile_rows.min(block.rows - row),
            first_col: block.first_col + col,
            cols: self.tile_cols.min(block.cols - col),
        }
    }

    /// The rows of a block.
    pub(crate) fn block_height(&self) -> usize {
        self.block_rows
    }
}

/// The positions of a CSR matrix, cut into blocks and these into segments.
#[derive(Clone, Debug)]
pub(crate) struct SparsePartition<'a> {
    offsets: &'a [usize],
    /// Whether blocks and segments keep rows apart.
    by_rows: bool,
    /// Weight of a row besides its positions.
    row_weight: usize,
    unit_weight: usize,
    block_weight: usize,
    /// Whether long rows may be cut.
    cuts_rows: bool,
}

impl<'a> SparsePartition<'a> {
    /// Runs of positions, whatever their rows.
    pub(crate) fn positions(offsets: &'a [usize]) -> Self {
        SparsePartition {
            offsets,
            by_rows: false,
            row_weight: 0,
            unit_weight: UNIT_CELLS,
            block_weight: BLOCK_CELLS,
            cuts_rows: true,
        }
        .even()
    }

    /// Whole rows, each weighing its positions and `row_weight`. Rows above the weight of a unit are cut if they may.
    pub(crate) fn rows(offsets: &'a [usize], row_weight: usize, cuts_rows: bool) -> Self {
        let row_weight = row_weight.max(1);
        let (unit_weight, block_weight) = (UNIT_CELLS, BLOCK_CELLS);
        SparsePartition { offsets, by_rows: true, row_weight, unit_weight, block_weight, cuts_rows }.even()
    }

    /// The partition with units of this weight, in blocks of so many units.
    pub(crate) fn with_units(self, unit_weight: usize, per_block: usize) -> Self {
        SparsePartition { unit_weight, block_weight: unit_weight * per_block, ..self }.even()
    }

    /// The partition with even blocks.
    fn even(self) -> Self {
        let count = even_blocks(self.total(), self.block_weight);
        self.with_blocks(count)
    }

    /// The partition with at most this many blocks.
    pub(crate) fn with_blocks(self, count: usize) -> Self {
        let block_weight = self.total().div_ceil(count).max(1);
        SparsePartition { block_weight, ..self }
    }

    fn weight_before(&self, row: usize) -> usize {
        self.offsets[row] + row * self.row_weight
    }

    /// The weight of everything.
    pub(crate) fn total(&self) -> usize {
        self.weight_before(self.offsets.len() - 1)
    }

    /// The number of blocks, some of which may be without rows.
    pub(crate) fn len(&self) -> usize {
        self.total().div_ceil(self.block_weight)
    }

    fn row_reaching(&self, weight: usize) -> usize {
        let (mut low, mut high) = (0, self.offsets.len() - 1);
        while low < high {
            let middle = low.midpoint(high);
            if self.weight_before(middle) < weight { low = middle + 1 } else { high = middle }
        }
        low
    }

    /// The rows of a block of whole rows.
    pub(crate) fn block_rows(&self, block: usize) -> Range<usize> {
        self.row_reaching(block * self.block_weight)..self.row_reaching((block + 1) * self.block_weight)
    }

    /// The positions of a block.
    pub(crate) fn block_positions(&self, block: usize) -> Range<usize> {
        if self.by_rows {
            let rows = self.block_rows(block);
            self.offsets[rows.start]..self.offsets[rows.end]
        } else {
            let start = block * self.block_weight;
            start..(start + self.block_weight).min(self.total())
        }
    }

    /// Visits the segments of a block in order.
    pub(crate) fn for_each_segment(&self, block: usize, mut visit: impl FnMut(Segment)) {
        if !self.by_rows {
            let positions = self.block_positions(block);
            return self.cut(positions, |offsets, start| offsets.partition_point(|&offset| offset <= start) - 1, visit);
        }
        let rows = self.block_rows(block);
        let mut first_row = rows.start;
        while first_row < rows.end {
            let limit = self.weight_before(first_row) + self.unit_weight;
            let mut last_row = first_row + 1;
            while last_row < rows.end
                && last_row - first_row < MAX_UNIT_ROWS
                && self.weight_before(last_row + 1) <= limit
            {
                last_row += 1;
            }
            let (start, end) = (self.offsets[first_row], self.offsets[last_row]);
            if self.cuts_rows && end - start > self.unit_weight {
                self.cut(start..end, |_, _| first_row, &mut visit);
            } else {
                visit(Segment { first_row, rows: last_row - first_row, start, end });
            }
            first_row = last_row;
        }
    }

    fn cut(&self, positions: Range<usize>, row_of: impl Fn(&[usize], usize) -> usize, mut visit: impl FnMut(Segment)) {
        for start in positions.clone().step_by(self.unit_weight) {
            let end = (start + self.unit_weight).min(positions.end);
            visit(Segment { first_row: row_of(self.offsets, start), rows: 1, start, end });
        }
    }
}

#[cfg(test)]
mod tests;
