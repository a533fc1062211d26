//! How a fused operator runs, as a value: what drives it, what of a sparse main input it visits, how its work is cut, and
//! what becomes of the values that units give.
//!
//! [`Schedule::of`] makes it from a [`Profile`], which says what decides: skeletons make one of a plan and its inputs, the
//! cost model one of an operator and its sizes. [`Schedule::cut`] then places boundaries in one strip of rows. Skeletons
//! execute what is said here, the cost model prices it, and the counters of a run equal it. Nothing depends on the machine
//! or on the number of threads, so that results do not either.
//!
//! A *unit* is what one call of generated code serves; a *block* has some units and is the work of one thread; a *strip* has
//! some rows, all of whose blocks reduce to one result, and strips merge in a binary tree ([`strips`]).

pub mod access;
pub mod dense;
pub mod product;
pub mod sparse;
pub mod strips;
#[cfg(test)]
mod tests;

use crate::template::Space;
use crate::work::{
    BLOCK_CELLS, BLOCK_NON_ZEROS, MAX_PARTIALS, STRIP_BYTES, UNIT_CELLS, column_ranges, even_blocks, has_private_sums,
    partial_count, weight_in_cells,
};
pub use access::{Access, Extent};
use dense::few_long_rows;
pub use dense::{DensePartition, MAX_UNIT_ROWS, Tile, WholeRows};
pub use sparse::{Runs, Segment, SparsePartition, SparseRows};
use std::fmt;
pub use strips::Strips;

/// From this many columns on, blocks of columns aggregate the columns of dense cells, without private sums.
const WIDE: usize = 8192;

/// Columns of such a block.
const WIDE_BLOCK: usize = WIDE / 16;

/// Values of all inputs that are read of a row. Up to this many, they all count for the rows of a unit, so that units have
/// rows enough for everything that happens once for each; above, the widest vector of a row counts alone.
const NARROW_ROW: usize = 64;

/// The length from which on computed vectors decide how many rows a unit has.
pub const LONG_VECTOR: usize = 256;

/// The most non-zeros of a unit of products of factors, which stay in the second-level cache.
pub const UNIT_POSITIONS: usize = 2048;

/// The most values of their factors' rows, which stay in the second-level cache.
const UNIT_FACTORS: usize = 1 << 16;

/// Floating-point operations of a block of products of factors, about: few enough that a small X makes work for several
/// threads.
const BLOCK_FLOPS: usize = 1 << 18;

/// Of so many rows, one without non-zeros costs less than numbers for the others, by which their values are looked up.
const ROWS_FOR_EMPTY: usize = 2;

/// The least non-zeros of a unit of products of factors.
const MIN_UNIT: usize = 256;

/// The most units of a block of these.
const MAX_UNITS: usize = 32;

/// Cells that take as long as a non-zero of rows of several matrices that are joined, or meet.
const COMBINED_POSITION_CELLS: usize = 6;

/// What of a fused operator and its main input decides how it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    /// What its values belong to.
    pub space: Space,
    /// Rows of the main input.
    pub rows: usize,
    /// Columns of the main input.
    pub cols: usize,
    /// Whether units run over the non-zeros of a sparse main input, by the sparse entry of the code.
    pub runs_over_non_zeros: bool,
    /// Whether rows of a sparse main input without non-zeros contribute nothing and are left out.
    pub skips_empty_rows: bool,
    /// Whether a value belongs to one row, so that units keep rows apart.
    pub keeps_rows: bool,
    /// Whether units have whole rows that are combined of those of several matrices: they are joined, or meet in a result
    /// that is stored.
    pub combines_rows: bool,
    /// Whether a value belongs to one column.
    pub keeps_columns: bool,
    /// Operators over rows: how long the values of a row are.
    pub row: RowProfile,
    /// Columns of the factors of an Outer operator.
    pub rank: usize,
    /// What becomes of the values that units give.
    pub flow: Flow,
}

/// How long the values are that an operator over rows has for each row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowProfile {
    /// The longest vector that is computed, or copied from a side input.
    pub longest_computed: usize,
    /// How many element-wise operations compute vectors of [`LONG_VECTOR`] values and more.
    pub long_operations: usize,
    /// The longest vector, the main row included where it is read.
    pub widest: usize,
    /// The values that are read of all inputs by row.
    pub inputs: usize,
    /// Whether a vector or a matrix serves row after row, so that units of few rows would load it often.
    pub keeps_vectors: bool,
    /// The cells of the largest matrix that rows are multiplied with: each unit of dense rows goes through all of them.
    pub swept: usize,
}

/// What becomes of the values that units give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Each belongs to a cell or position of the output: blocks write parts of their own.
    Cells,
    /// Each belongs to a row of the output: blocks write parts of their own, whole rows.
    Rows,
    /// Units give one value for each output, a full aggregate, which merge.
    Values,
    /// Units add to sums (column aggregates and products over rows) of so many cells, all outputs together.
    Sums {
        /// How many.
        cells: usize,
    },
}

/// How an operator runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// What units go over.
    pub driver: Driver,
    /// Whether rows of a sparse main input without non-zeros are left out.
    pub skips_empty_rows: bool,
    /// What becomes of the values that units give.
    pub flow: Flow,
    /// Rows of the main input.
    rows: usize,
    /// Columns of the main input.
    cols: usize,
}

/// What the units of an operator go over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Driver {
    /// All cells of the main input, as one run over all rows.
    Run,
    /// Tiles of cells of the main input.
    Cells,
    /// Whole rows of the main input.
    Rows {
        /// How many values a row counts for.
        weight: usize,
        /// How rows make units.
        whole: WholeRows,
    },
    /// Tiles of products of factors, of which those of non-zeros of a dense main input are taken.
    Products {
        /// Columns of the factors.
        rank: usize,
    },
    /// The non-zeros of the main input.
    NonZeros(Runs),
    /// The non-zeros of the main input, each with a row of both factors.
    Samples {
        /// How they are cut.
        runs: Runs,
        /// Columns of the factors.
        rank: usize,
    },
}

/// How sums over rows are kept apart until they merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sums {
    /// Each of at most this many blocks of rows has sums of its own, which merge in order.
    Private(usize),
    /// Each of so many blocks goes over all rows, and has the sums of a range of columns for itself.
    ByColumns(usize),
}

/// Rows whose boundaries [`Schedule::cut`] places.
#[derive(Clone, Copy, Debug)]
pub enum Rows<'a> {
    /// Rows of dense cells, this many from the first one on.
    Dense {
        /// The first row.
        first_row: usize,
        /// How many there are.
        rows: usize,
    },
    /// Rows of a sparse main input, those that are visited.
    Sparse(SparseRows<'a>),
}

impl Rows<'_> {
    /// The first row.
    pub fn first_row(&self) -> usize {
        match *self {
            Rows::Dense { first_row, .. } | Rows::Sparse(SparseRows { first_row, .. }) => first_row,
        }
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        match self {
            Rows::Dense { rows, .. } => *rows,
            Rows::Sparse(sparse) => sparse.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Their non-zeros; none of dense cells, which do not say.
    pub fn non_zeros(&self) -> usize {
        match self {
            Rows::Dense { .. } => 0,
            Rows::Sparse(sparse) => sparse.non_zeros(),
        }
    }
}

/// Rows that have been cut into blocks.
#[derive(Clone, Copy, Debug)]
pub enum Partition<'a> {
    /// Tiles of dense cells. Blocks have all rows where they keep sums [by columns](Sums::ByColumns).
    Tiles(DensePartition),
    /// Runs of non-zeros.
    Segments(SparsePartition<'a>),
    /// Ranges of columns of sparse rows: each block goes over all of these, and takes the non-zeros of its range.
    Ranges(DensePartition),
}

impl Partition<'_> {
    /// The number of blocks, some of which may be without units.
    pub fn len(&self) -> usize {
        match self {
            Partition::Tiles(partition) | Partition::Ranges(partition) => partition.len(),
            Partition::Segments(partition) => partition.len(),
        }
    }

    /// Whether there are no blocks.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Schedule {
    /// How an operator of this profile runs.
    pub fn of(profile: &Profile) -> Schedule {
        let Profile { rows, cols, flow, skips_empty_rows, .. } = *profile;
        let driver = match (profile.space, profile.runs_over_non_zeros) {
            (Space::Cells, true) => Driver::NonZeros(cell_runs(profile)),
            (Space::Cells, false) if profile.keeps_rows || profile.keeps_columns => Driver::Cells,
            (Space::Cells, false) => Driver::Run,
            (Space::Rows, true) => Driver::NonZeros(row_runs(profile)),
            (Space::Rows, false) => Driver::Rows { weight: profile.row.widest, whole: whole_rows(&profile.row, flow) },
            (Space::Factors, true) => Driver::Samples { runs: sample_runs(profile), rank: profile.rank },
            (Space::Factors, false) => Driver::Products { rank: profile.rank },
        };
        Schedule { driver, skips_empty_rows, flow, rows, cols }
    }

    /// Columns of the grid that dense tiles are cut from: those of the main input, or all its cells in one row.
    pub fn grid_cols(&self) -> usize {
        if self.driver == Driver::Run { self.rows * self.cols } else { self.cols }
    }

    /// The strips that the rows of the main input are reduced in, given their bytes and those of a strip: a single one where
    /// each row has outputs of its own.
    pub fn strips(&self, row_bytes: u64, strip_bytes: u64) -> Strips {
        match self.flow {
            Flow::Cells | Flow::Rows => Strips::whole(self.rows),
            Flow::Values => Strips::new(self.rows, row_bytes, strip_bytes, 0),
            Flow::Sums { cells } => Strips::new(self.rows, row_bytes, strip_bytes, cells),
        }
    }

    /// How the sums of some rows with so many non-zeros are kept apart; `None` where outputs are no sums.
    pub fn sums(&self, rows: usize, non_zeros: usize) -> Option<Sums> {
        let Flow::Sums { cells } = self.flow else { return None };
        Some(match self.driver {
            Driver::Cells if self.cols >= WIDE => Sums::ByColumns(self.cols.div_ceil(WIDE_BLOCK)),
            Driver::Samples { rank, .. } if has_private_sums(non_zeros, rank, cells) => Sums::Private(MAX_PARTIALS),
            Driver::Samples { rank, .. } => Sums::ByColumns(column_ranges(non_zeros, rank, rows, self.cols)),
            Driver::Run | Driver::Cells | Driver::Products { .. } => {
                Sums::Private(partial_count(rows.saturating_mul(self.cols), cells))
            }
            Driver::Rows { weight, .. } => Sums::Private(partial_count(rows.saturating_mul(weight), cells)),
            // Besides its non-zeros a row may have vectors that are computed for all columns.
            Driver::NonZeros(runs) => {
                let weight = runs.cells(rows, non_zeros);
                let few = product::few_results(non_zeros, cells).min(even_blocks(weight, BLOCK_CELLS));
                // Cells of private sums are filled and merged in half of the time of a visit each: that does not pay for them.
                Sums::Private(partial_count(weight - non_zeros, cells).max(few))
            }
        })
    }

    /// Places the boundaries of blocks and units in the rows of one strip.
    pub fn cut<'a>(&self, rows: Rows<'a>) -> Partition<'a> {
        let sums = self.sums(rows.len(), rows.non_zeros());
        match (self.driver, rows) {
            (Driver::NonZeros(runs) | Driver::Samples { runs, .. }, Rows::Sparse(sparse)) => match sums {
                Some(Sums::ByColumns(count)) => Partition::Ranges(DensePartition::col_blocks(self.area(&rows), count)),
                Some(Sums::Private(count)) => Partition::Segments(SparsePartition::new(sparse, runs).in_blocks(count)),
                None => Partition::Segments(SparsePartition::new(sparse, runs)),
            },
            _ => Partition::Tiles(self.cut_dense(self.area(&rows), sums)),
        }
    }

    /// How many blocks [`Self::cut`] makes of so many visited rows with so many non-zeros, whichever row has them.
    pub fn blocks(&self, rows: usize, non_zeros: usize) -> usize {
        let sums = self.sums(rows, non_zeros);
        let dense = Rows::Dense { first_row: 0, rows };
        match self.driver {
            Driver::NonZeros(runs) | Driver::Samples { runs, .. } => match sums {
                Some(Sums::ByColumns(count)) => DensePartition::col_blocks(self.area(&dense), count).len(),
                Some(Sums::Private(count)) => runs.blocks(rows, non_zeros, Some(count)),
                None => runs.blocks(rows, non_zeros, None),
            },
            _ => self.cut_dense(self.area(&dense), sums).len(),
        }
    }

    /// What an operator does with so many visited rows with so many non-zeros, of which each strip has its share.
    pub fn outline(&self, rows: usize, non_zeros: usize, row_bytes: u64) -> Outline {
        let strips = self.strips(row_bytes, STRIP_BYTES);
        let (full, last) = (strips.len() - 1, strips.rows_of(strips.len() - 1).len());
        let visited = |part: usize, all: usize| (part as u128 * all as u128 / self.rows.max(1) as u128) as usize;
        let of_strip = |height: usize| self.outline_of_strip(visited(height, rows), visited(height, non_zeros));
        let reduces = !matches!(self.flow, Flow::Cells | Flow::Rows);
        let (of_full, of_last) = (of_strip(strips.height), of_strip(last));
        Outline {
            strips: if reduces { strips.len() } else { 0 },
            blocks: full * of_full.blocks + of_last.blocks,
            private_sums: full * of_full.private_sums + of_last.private_sums,
            cells: if self.runs_over_non_zeros() { non_zeros } else { rows.saturating_mul(self.cols) },
            units: of_full.units.zip(of_last.units).map(|(of_full, of_last)| full * of_full + of_last),
        }
    }

    /// The units of an operator over so many visited rows with so many non-zeros, if these are spread evenly.
    pub fn even_units(&self, rows: usize, non_zeros: usize, row_bytes: u64) -> usize {
        match self.driver {
            Driver::NonZeros(runs) => runs.even_units(rows, non_zeros),
            _ => self.outline(rows, non_zeros, row_bytes).units.unwrap_or(0),
        }
    }

    fn outline_of_strip(&self, rows: usize, non_zeros: usize) -> Outline {
        let (blocks, sums) = (self.blocks(rows, non_zeros), self.sums(rows, non_zeros));
        let has_private_sums = matches!(sums, Some(Sums::Private(_)));
        let dense = || self.cut_dense(self.area(&Rows::Dense { first_row: 0, rows }), sums).tiles_of_all();
        Outline {
            strips: 1,
            blocks,
            private_sums: if has_private_sums { blocks } else { 0 },
            cells: if self.runs_over_non_zeros() { non_zeros } else { rows.saturating_mul(self.cols) },
            units: (!self.runs_over_non_zeros()).then(dense),
        }
    }

    fn runs_over_non_zeros(&self) -> bool {
        matches!(self.driver, Driver::NonZeros(_) | Driver::Samples { .. })
    }

    /// Tiles of dense cells.
    fn cut_dense(&self, area: Tile, sums: Option<Sums>) -> DensePartition {
        match (self.driver, sums) {
            (Driver::Rows { whole, .. }, _) => {
                let even = || even_blocks(area.rows.saturating_mul(whole.widest), BLOCK_CELLS);
                let private = |sums| match sums {
                    Sums::Private(count) | Sums::ByColumns(count) => count,
                };
                DensePartition::whole_rows(area, whole, sums.map_or_else(even, private))
            }
            (Driver::Products { rank }, Some(Sums::Private(count))) => {
                DensePartition::products(area, rank).in_blocks(count)
            }
            (Driver::Products { rank }, _) if self.flow == Flow::Values => {
                DensePartition::products(area, rank).cut_across()
            }
            (Driver::Products { rank }, _) => DensePartition::products(area, rank),
            (_, Some(Sums::Private(count))) => DensePartition::row_blocks(area, count),
            (_, Some(Sums::ByColumns(count))) => DensePartition::col_blocks(area, count),
            (_, None) if self.flow == Flow::Rows => {
                let height = DensePartition::cells(area).block_height();
                DensePartition::row_blocks(area, area.rows.div_ceil(height))
            }
            // Results may be stored row by row.
            (Driver::Run, None) if self.flow == Flow::Cells => DensePartition::cells(area).between_rows(self.cols),
            (_, None) => DensePartition::cells(area),
        }
    }

    /// The cells of some rows in the grid that tiles are cut from.
    fn area(&self, rows: &Rows<'_>) -> Tile {
        let (first_row, count) = (rows.first_row(), rows.len());
        if self.driver != Driver::Run {
            return Tile { first_row, rows: count, first_col: 0, cols: self.cols };
        }
        let cells = count * self.cols;
        Tile { first_row: 0, rows: usize::from(cells > 0), first_col: first_row * self.cols, cols: cells }
    }
}

/// How much an operator runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outline {
    /// Strips of rows, each of which reduces to one result; none where each row has outputs of its own.
    pub strips: usize,
    /// Blocks of all strips, each the work of one thread.
    pub blocks: usize,
    /// Blocks among them that have sums of their own.
    pub private_sums: usize,
    /// Cells, or non-zeros, that are visited.
    pub cells: usize,
    /// Units, each of which is a call of generated code; unknown where row offsets decide.
    pub units: Option<usize>,
}

/// Whether an operator that may leave rows without non-zeros out does so in a strip of so many rows, of which so many have none.
/// Where most have some, numbers for these cost more.
pub fn leaves_out_empty_rows(empty: usize, rows: usize) -> bool {
    empty > rows / ROWS_FOR_EMPTY
}

/// Non-zeros of a sparse main input of an operator over cells: whatever their rows, unless values belong to these.
fn cell_runs(profile: &Profile) -> Runs {
    Runs {
        row_weight: (profile.keeps_rows || profile.combines_rows).then_some(1),
        position_cells: position_cells(profile),
        cuts_rows: profile.flow != Flow::Rows && !profile.combines_rows,
        unit_weight: UNIT_CELLS,
        block_weight: BLOCK_NON_ZEROS,
    }
}

/// The cells that take as long as a non-zero.
fn position_cells(profile: &Profile) -> usize {
    if profile.combines_rows { COMBINED_POSITION_CELLS } else { weight_in_cells(1) }
}

/// Whole rows of non-zeros.
fn row_runs(profile: &Profile) -> Runs {
    let row_weight = profile.row.longest_computed.max(1);
    let few = few_long_rows(row_weight);
    Runs {
        row_weight: Some(row_weight),
        position_cells: position_cells(profile),
        cuts_rows: false,
        // Long rows and their non-zeros: no row of a block is left over.
        unit_weight: if few > UNIT_CELLS { few + UNIT_CELLS } else { UNIT_CELLS },
        block_weight: BLOCK_NON_ZEROS.max(few),
    }
}

/// Non-zeros with rows of factors.
fn sample_runs(profile: &Profile) -> Runs {
    let rank = profile.rank.max(1);
    let positions = (BLOCK_FLOPS / (2 * rank)).clamp(MIN_UNIT, MAX_UNITS * UNIT_POSITIONS);
    let unit_weight = positions.min((UNIT_FACTORS / rank).clamp(MIN_UNIT, UNIT_POSITIONS));
    let block_weight = unit_weight * positions.div_ceil(unit_weight);
    let cuts_rows = !profile.combines_rows;
    Runs { row_weight: Some(1), position_cells: weight_in_cells(1), cuts_rows, unit_weight, block_weight }
}

/// Rows of dense values.
fn whole_rows(row: &RowProfile, flow: Flow) -> WholeRows {
    WholeRows {
        widest: row.widest.max(row.inputs.min(NARROW_ROW)),
        computed: row.longest_computed,
        long_operations: match row.keeps_vectors || row.longest_computed < LONG_VECTOR {
            true => 0,
            // Something else computes such a vector.
            false => row.long_operations.max(1),
        },
        sums: if let Flow::Sums { cells } = flow { cells } else { 0 },
        swept: row.swept,
    }
}

impl fmt::Display for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Driver::Run => f.write_str("cells"),
            Driver::Cells => f.write_str("tiles of cells"),
            Driver::Rows { .. } => f.write_str("rows"),
            Driver::Products { rank } => write!(f, "tiles of products of rank {rank}"),
            Driver::NonZeros(Runs { row_weight: None, .. }) => f.write_str("non-zeros"),
            Driver::NonZeros(_) => f.write_str("non-zeros of rows"),
            Driver::Samples { rank, .. } => write!(f, "non-zeros with factors of rank {rank}"),
        }
    }
}
