//! Dense cells, cut into blocks, which threads take as a whole, and these into tiles, one unit each.

use crate::work::{BLOCK_CELLS, MAX_PARTIALS, PANEL_COLS, UNIT_CELLS, even_blocks};

/// Cells of a unit of whole rows: while it is in the first-level cache, there is room for the one that follows.
const ROW_UNIT_CELLS: usize = 4096;
/// The least rows of such a unit if they fit into an ordinary one: products load what they accumulate into once for all.
const MIN_UNIT_ROWS: usize = 16;
/// The least rows of a unit of long rows, for the same reason, as long as they stay in the second-level cache.
const MIN_LONG_ROWS: usize = 8;
const LONG_ROWS_CELLS: usize = 4 * UNIT_CELLS;
/// The least sparse rows of a unit that have long vectors besides, whose number changes from unit to unit.
const SPARSE_LONG_ROWS: usize = 4 * MIN_LONG_ROWS;
/// Cells that the second-level cache does not hold, of sums, which each unit loads and stores where they lie, or of a matrix that
/// rows are multiplied with.
const LARGE: usize = 1 << 17;
/// Cells of a unit that adds to large sums, which has several rows all the same: they lie beside the sums.
const LARGE_SUMS_ROWS_CELLS: usize = 1 << 20;
/// Computed cells of such a unit, of each of its vectors: two of these stay in the second-level cache.
const LARGE_COMPUTED_CELLS: usize = 1 << 16;
/// Sums that stay in registers, however many rows a unit has.
const FEW_SUMS: usize = 64;
/// The longest vector that is computed for a row, of operators that wait for memory: `t(X) %*% (w * (X %*% v))` and `exp(X %*% v)`
/// compute single values.
const STREAMED_COLUMNS: usize = 2;
/// Cells of a unit of such an operator, which stay in the second-level cache: more rows share a pass over the sums, and what is
/// computed for rows, while nothing is read, is computed less often, for more of them.
const STREAMED_ROWS_CELLS: usize = LONG_ROWS_CELLS;
/// Values that are computed for a row, of operators that have more to do with it than to wait.
const SHORT_VECTOR: usize = 64;
/// The least rows of a unit of such an operator, and their cells: primitives ask for rows of up to so many ahead.
const SHORT_VECTOR_ROWS: usize = 32;
const SHORT_VECTOR_ROWS_CELLS: usize = 1 << 14;
/// Cells of a unit of rows that are multiplied with a large matrix, which has several rows, too, as long as they stay in the
/// second-level cache.
const LARGE_SWEPT_ROWS_CELLS: usize = 1 << 17;
/// From so many element-wise operations on long vectors of a row on, what one hands on to the next should stay in the first-level
/// cache: to wait for memory at the beginning of a unit is nothing beside them.
const MANY_LONG_OPERATIONS: usize = 32;
/// Cells of a unit of such an operator: two of its vectors stay in that cache, which are all there are if each has one use.
const NEAR_VECTOR_CELLS: usize = 2048;
/// Values of a factor for the columns of a tile of products, which stay in the second-level cache while the rows of a block
/// pass by.
const FACTOR_VALUES: usize = 1 << 14;
/// The fewest and the most panels of such a tile.
const FACTOR_PANELS: [usize; 2] = [2, 10];
/// Rows of a tile of products are a multiple of those that stay in registers together.
const PRODUCT_ROWS: usize = 8;
/// The least rows of a block that meet the same columns' factors.
const FACTOR_ROWS: usize = 128;
/// Blocks that sixteen threads share evenly, and more of them about so.
const MANY_BLOCKS: usize = 4 * MAX_PARTIALS;
/// Cells of the longest row that is a block of cells by itself: the second-level cache holds it.
const LONGEST_BLOCK_ROW: usize = 1 << 17;
/// The most rows of a unit: bounds what is laid out per row.
pub const MAX_UNIT_ROWS: usize = 4096;
/// Bytes of a cache line.
const LINE_BYTES: usize = 64;
/// Cells of a cache line.
const LINE_CELLS: usize = LINE_BYTES / size_of::<f64>();
/// Rows that some primitives take at once.
const ROWS_AT_ONCE: usize = 4;

/// A rectangle of cells of a dense matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tile {
    /// The first row.
    pub first_row: usize,
    /// How many rows there are.
    pub rows: usize,
    /// The first column.
    pub first_col: usize,
    /// How many columns there are.
    pub cols: usize,
}

/// The cells of a dense matrix, cut into blocks and these into tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DensePartition {
    /// All cells.
    area: Tile,
    block_rows: usize,
    block_cols: usize,
    tile_rows: usize,
    tile_cols: usize,
}

/// How rows are cut that units take as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WholeRows {
    /// The longest of the vectors that a unit holds for each row.
    pub widest: usize,
    /// The longest of those among them that are computed.
    pub computed: usize,
    /// How many operations compute long vectors for each row, if nothing serves row after row: units of long rows then have fewer
    /// rows. None where there are no such vectors.
    pub long_operations: usize,
    /// The cells that a unit adds to.
    pub sums: usize,
    /// The cells of the largest matrix that its rows are multiplied with.
    pub swept: usize,
}

impl WholeRows {
    /// The least rows of a unit that has little to do with each, so that it waits for memory, or adds to sums, which it loads and
    /// stores once for all of them.
    fn least_rows(&self) -> usize {
        let within = |cells: usize| cells / self.widest.max(1);
        if self.sums > LARGE {
            within(LARGE_SUMS_ROWS_CELLS).min(LARGE_COMPUTED_CELLS / self.computed.max(1)).min(MIN_LONG_ROWS)
        } else if self.computed <= STREAMED_COLUMNS {
            let adds_in_registers = self.sums > 0 && self.sums < FEW_SUMS;
            within(if adds_in_registers { SHORT_VECTOR_ROWS_CELLS } else { STREAMED_ROWS_CELLS })
        } else if self.sums >= FEW_SUMS && self.computed <= SHORT_VECTOR {
            within(SHORT_VECTOR_ROWS_CELLS).min(SHORT_VECTOR_ROWS)
        } else {
            1
        }
    }
}

/// The cells of the fewest sparse rows of a unit that have long vectors besides, as long as these stay in the second-level cache.
/// How many a unit has depends on its non-zeros: of several times as many as primitives multiply with a matrix at once, few are
/// left over, for which the matrix is read again.
pub(super) fn few_long_rows(cells_of_row: usize) -> usize {
    SPARSE_LONG_ROWS.saturating_mul(cells_of_row).min(LONG_ROWS_CELLS)
}

/// Even parts of at most `limit`, in multiples of `unit` where there are several.
fn even_part(total: usize, limit: usize, unit: usize) -> usize {
    if total <= limit { total.max(1) } else { total.div_ceil(total.div_ceil(limit)).next_multiple_of(unit).min(limit) }
}

/// Rows of a block, and of its tiles.
struct Heights {
    block: usize,
    tile: usize,
}

/// The rows of even blocks, and of their tiles, which have at most `most`.
fn even_rows(rows: usize, blocks: usize, most: usize) -> Heights {
    let tile = even_part(rows.div_ceil(blocks.max(1)), most, ROWS_AT_ONCE);
    Heights { block: rows.div_ceil(blocks.max(1)).max(1).next_multiple_of(tile), tile }
}

impl DensePartition {
    /// Tiles of about `UNIT_CELLS` cells in blocks of whole rows, or of whole columns where there is one row.
    pub(super) fn cells(area: Tile) -> Self {
        let Tile { rows, cols, .. } = area;
        let blocks = even_blocks(rows.saturating_mul(cols), BLOCK_CELLS);
        if rows == 1 {
            let block_cols = cols.div_ceil(blocks).max(1).next_multiple_of(LINE_CELLS);
            return DensePartition { area, block_rows: 1, block_cols, tile_rows: 1, tile_cols: UNIT_CELLS };
        }
        DensePartition::row_blocks(area, blocks)
    }

    /// Tiles of about `UNIT_CELLS` cells of a product of factors of this rank, each of which begins a panel of columns;
    /// blocks of whole rows.
    pub(super) fn products(area: Tile, rank: usize) -> Self {
        let [fewest, most] = FACTOR_PANELS;
        let tile_cols = (FACTOR_VALUES / rank.max(1) / PANEL_COLS).clamp(fewest, most) * PANEL_COLS;
        let tile_cols = tile_cols.min(area.cols.max(1));
        let tile_rows = (UNIT_CELLS / tile_cols / PRODUCT_ROWS * PRODUCT_ROWS).min(MAX_UNIT_ROWS);
        let block_rows = (BLOCK_CELLS / area.cols.max(1)).max(FACTOR_ROWS).next_multiple_of(tile_rows);
        DensePartition { area, block_rows, block_cols: area.cols.max(1), tile_rows, tile_cols }
    }

    /// Its tiles in blocks of fewer columns, where there are few of whole rows, so that threads have something to share.
    pub(super) fn cut_across(self) -> Self {
        if self.len() >= MAX_PARTIALS {
            return self;
        }
        let cols_of_cells = BLOCK_CELLS / self.block_rows.min(self.area.rows).max(1);
        let block_cols = cols_of_cells.max(1).next_multiple_of(self.tile_cols);
        DensePartition { block_cols: block_cols.min(self.block_cols), ..self }
    }

    /// Its tiles in at most this many blocks of whole rows.
    pub(super) fn in_blocks(self, count: usize) -> Self {
        let block_rows = self.area.rows.div_ceil(count).max(1).next_multiple_of(self.tile_rows);
        DensePartition { block_rows, ..self }
    }

    /// Tiles of about `UNIT_CELLS` cells, in at most this many blocks, all of whole rows.
    pub(super) fn row_blocks(area: Tile, count: usize) -> Self {
        let tile_cols = even_part(area.cols, UNIT_CELLS, LINE_CELLS);
        let heights = even_rows(area.rows, count, (UNIT_CELLS / tile_cols).clamp(1, MAX_UNIT_ROWS));
        DensePartition {
            area,
            block_rows: heights.block,
            block_cols: area.cols.max(1),
            tile_rows: heights.tile,
            tile_cols,
        }
    }

    /// Tiles of about `UNIT_CELLS` cells, in this many blocks of whole columns.
    pub(super) fn col_blocks(area: Tile, count: usize) -> Self {
        let block_cols = area.cols.div_ceil(count).max(1).next_multiple_of(LINE_CELLS);
        let tile_cols = even_part(block_cols, UNIT_CELLS, LINE_CELLS);
        let tile_rows = (UNIT_CELLS / tile_cols).clamp(1, MAX_UNIT_ROWS);
        DensePartition { area, block_rows: area.rows.max(1), block_cols, tile_rows, tile_cols }
    }

    /// Tiles of whole rows, as many as fit when each holds vectors of up to `widest` cells, fewer long ones where long vectors are
    /// computed for each row, fewer still where many operations do that, and more where hardly anything is computed, or where they add
    /// to large sums or are multiplied with a large matrix; in at most `count` blocks.
    pub(super) fn whole_rows(area: Tile, whole: WholeRows, count: usize) -> Self {
        let within = |cells: usize| cells / whole.widest.max(1);
        let tile_rows = match whole.long_operations {
            0 => {
                let few = within(UNIT_CELLS).min(MIN_UNIT_ROWS).max(within(LONG_ROWS_CELLS).min(MIN_LONG_ROWS));
                within(ROW_UNIT_CELLS).max(few)
            }
            1..MANY_LONG_OPERATIONS => within(UNIT_CELLS),
            _ => within(NEAR_VECTOR_CELLS),
        };
        let beside_swept = if whole.swept > LARGE { within(LARGE_SWEPT_ROWS_CELLS).min(ROWS_AT_ONCE) } else { 1 };
        let tile_rows = tile_rows.max(whole.least_rows()).max(beside_swept);
        let heights = even_rows(area.rows, count, tile_rows.clamp(1, MAX_UNIT_ROWS));
        let cols_or_one = area.cols.max(1);
        DensePartition {
            area,
            block_rows: heights.block,
            block_cols: cols_or_one,
            tile_rows: heights.tile,
            tile_cols: cols_or_one,
        }
    }

    /// Its blocks, of a single row that is rows of so many cells one behind the other: cut where these end. Rows longer than a block
    /// are one each, unless they are so long that no near cache holds one, or so few that many threads would share them unevenly.
    pub(super) fn between_rows(self, cols: usize) -> Self {
        let rows = self.block_cols / cols.max(1);
        if rows == 0 {
            let are_many = self.area.cols / cols.max(1) >= MANY_BLOCKS;
            let block_cols = if are_many && cols <= LONGEST_BLOCK_ROW { cols } else { self.block_cols };
            return DensePartition { block_cols, ..self };
        }
        // Blocks of many rows begin with a cache line.
        let rows = if rows < LINE_CELLS { rows } else { rows / LINE_CELLS * LINE_CELLS };
        DensePartition { block_cols: rows * cols, ..self }
    }

    /// The number of blocks.
    pub fn len(&self) -> usize {
        self.area.rows.div_ceil(self.block_rows) * self.blocks_across()
    }

    /// Whether there are no blocks, since there are no rows.
    pub fn is_empty(&self) -> bool {
        self.area.rows == 0
    }

    /// The number of tiles of all blocks.
    pub(super) fn tiles_of_all(&self) -> usize {
        let tiles = |block| {
            let (down, across) = self.tiles_of(self.block(block));
            down * across
        };
        (0..self.len()).map(tiles).sum()
    }

    fn blocks_across(&self) -> usize {
        // Row operators run over rows without columns too.
        self.area.cols.div_ceil(self.block_cols).max(1)
    }

    /// The cells of a block.
    pub fn block(&self, block: usize) -> Tile {
        let down = block / self.blocks_across() * self.block_rows;
        let across = block % self.blocks_across() * self.block_cols;
        Tile {
            first_row: self.area.first_row + down,
            rows: self.block_rows.min(self.area.rows - down),
            first_col: self.area.first_col + across,
            cols: self.block_cols.min(self.area.cols - across),
        }
    }

    /// The tiles of a block, row after row.
    pub fn tiles(&self, block: usize) -> impl Iterator<Item = Tile> + use<> {
        let block = self.block(block);
        let (down, across) = self.tiles_of(block);
        let this = *self;
        (0..down * across).map(move |tile| this.tile_of(block, tile / across, tile % across))
    }

    /// The tiles of a block, column after column.
    pub fn tiles_down(&self, block: usize) -> impl Iterator<Item = Tile> + use<> {
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

    /// The rows of a block, but for the last one.
    pub(super) fn block_height(&self) -> usize {
        self.block_rows
    }
}
