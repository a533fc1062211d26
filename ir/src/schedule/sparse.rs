//! Non-zeros of CSR rows, cut into blocks, which threads take as a whole, and these into segments, one unit each.

use super::dense::MAX_UNIT_ROWS;
use crate::work::even_blocks;
use std::ops::Range;

/// Consecutive positions of a CSR matrix: those of whole rows, or with `rows` = 1 any run of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The row of the first position.
    pub first_row: usize,
    /// How many rows there are.
    pub rows: usize,
    /// The first position.
    pub start: usize,
    /// One more than the last position.
    pub end: usize,
}

/// Some rows of a CSR matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SparseRows<'a> {
    /// The first of them.
    pub first_row: usize,
    /// Where their positions begin and, of the last one, end: one more than rows. The first need not be zero.
    pub offsets: &'a [usize],
}

impl SparseRows<'_> {
    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The positions of all these rows.
    pub fn non_zeros(&self) -> usize {
        self.offsets[self.len()] - self.offsets[0]
    }
}

/// How runs of non-zeros are cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Runs {
    /// Weight of a row besides its positions; none where blocks and segments do not keep rows apart.
    pub row_weight: Option<usize>,
    /// Cells that take as long as a position.
    pub position_cells: usize,
    /// Whether rows longer than a unit may be cut.
    pub cuts_rows: bool,
    /// Weight of a unit, at most, unless a row that may not be cut weighs more.
    pub unit_weight: usize,
    /// Weight of a block, about.
    pub block_weight: usize,
}

impl Runs {
    /// The weight of rows with so many positions.
    pub(super) fn weight(&self, rows: usize, non_zeros: usize) -> usize {
        non_zeros.saturating_add(rows.saturating_mul(self.row_weight.unwrap_or(0)))
    }

    /// The cells that take as long as rows with so many positions.
    pub(super) fn cells(&self, rows: usize, non_zeros: usize) -> usize {
        self.weight(rows, 0).saturating_add(non_zeros.saturating_mul(self.position_cells))
    }

    /// How many units there are of rows with so many positions, which are not cut, if each has as many of these.
    pub(super) fn even_units(&self, rows: usize, non_zeros: usize) -> usize {
        let of_row = self.weight(rows, non_zeros).div_ceil(rows.max(1)).max(1);
        rows.div_ceil((self.unit_weight / of_row).max(1))
    }

    /// How many blocks there are of rows with so many positions, whichever row has them: at most `most`, where that is given.
    pub(super) fn blocks(&self, rows: usize, non_zeros: usize, most: Option<usize>) -> usize {
        let total = self.weight(rows, non_zeros);
        let count = most.unwrap_or_else(|| even_blocks(total, self.block_weight));
        total.div_ceil(even_weight(total, count))
    }
}

/// The weight of each of so many even blocks.
fn even_weight(total: usize, count: usize) -> usize {
    total.div_ceil(count).max(1)
}

/// The positions of CSR rows, cut into blocks and these into segments.
#[derive(Clone, Copy, Debug)]
pub struct SparsePartition<'a> {
    rows: SparseRows<'a>,
    runs: Runs,
}

impl<'a> SparsePartition<'a> {
    /// Even blocks.
    pub(super) fn new(rows: SparseRows<'a>, runs: Runs) -> Self {
        let partition = SparsePartition { rows, runs };
        partition.in_blocks(even_blocks(partition.total(), runs.block_weight))
    }

    /// The partition in at most this many blocks.
    pub(super) fn in_blocks(self, count: usize) -> Self {
        SparsePartition { runs: Runs { block_weight: even_weight(self.total(), count), ..self.runs }, ..self }
    }

    /// The weight of the first few rows.
    fn weight_before(&self, row: usize) -> usize {
        let offsets = self.rows.offsets;
        self.runs.weight(row, offsets[row] - offsets[0])
    }

    /// The weight of everything.
    fn total(&self) -> usize {
        self.weight_before(self.rows.len())
    }

    /// The number of blocks, some of which may be without rows.
    pub fn len(&self) -> usize {
        self.total().div_ceil(self.runs.block_weight)
    }

    /// Whether there are no blocks, since there is nothing to visit.
    pub fn is_empty(&self) -> bool {
        self.total() == 0
    }

    /// The first of some rows that has at least this weight before it, or else their end.
    fn row_reaching(&self, rows: Range<usize>, weight: usize) -> usize {
        let Range { start: mut low, end: mut high } = rows;
        while low < high {
            let middle = low.midpoint(high);
            if self.weight_before(middle) < weight { low = middle + 1 } else { high = middle }
        }
        low
    }

    /// One more than the last row of the unit that begins with the first of some rows: as many as its weight allows, but at least
    /// one.
    fn end_of_unit(&self, rows: Range<usize>) -> usize {
        let most = rows.end.min(rows.start + MAX_UNIT_ROWS);
        let limit = self.weight_before(rows.start).saturating_add(self.runs.unit_weight);
        // Searched for in steps that double: units of long rows have few.
        let (mut end, mut step) = (rows.start + 1, 1);
        while end + step <= most && self.weight_before(end + step) <= limit {
            end += step;
            step *= 2;
        }
        self.row_reaching(end + 1..most.min(end + step) + 1, limit.saturating_add(1)) - 1
    }

    /// The rows of a block of whole rows, counted from the first one of the partition.
    fn own_rows(&self, block: usize) -> Range<usize> {
        let weight = self.runs.block_weight;
        let row_reaching = |weight| self.row_reaching(0..self.rows.len(), weight);
        row_reaching(block * weight)..row_reaching((block + 1) * weight)
    }

    /// The rows of a block of whole rows.
    pub fn block_rows(&self, block: usize) -> Range<usize> {
        let Range { start, end } = self.own_rows(block);
        self.rows.first_row + start..self.rows.first_row + end
    }

    /// The positions of a block.
    pub fn block_positions(&self, block: usize) -> Range<usize> {
        let offsets = self.rows.offsets;
        if self.runs.row_weight.is_some() {
            let rows = self.own_rows(block);
            return offsets[rows.start]..offsets[rows.end];
        }
        let (weight, total) = (self.runs.block_weight, self.total());
        offsets[0] + block * weight..offsets[0] + ((block + 1) * weight).min(total)
    }

    /// Visits the segments of a block in order.
    pub fn for_each_segment(&self, block: usize, mut visit: impl FnMut(Segment)) {
        let (offsets, unit_weight) = (self.rows.offsets, self.runs.unit_weight);
        if self.runs.row_weight.is_none() {
            let row_of = |start| offsets.partition_point(|&offset| offset <= start) - 1;
            return self.cut(self.block_positions(block), row_of, visit);
        }
        let rows = self.own_rows(block);
        let mut first_row = rows.start;
        while first_row < rows.end {
            let last_row = self.end_of_unit(first_row..rows.end);
            let (start, end) = (offsets[first_row], offsets[last_row]);
            if self.runs.cuts_rows && end - start > unit_weight {
                self.cut(start..end, |_| first_row, &mut visit);
            } else {
                visit(Segment { first_row: self.rows.first_row + first_row, rows: last_row - first_row, start, end });
            }
            first_row = last_row;
        }
    }

    /// Visits runs of positions of one unit each, whose rows `row_of` knows.
    fn cut(&self, positions: Range<usize>, row_of: impl Fn(usize) -> usize, mut visit: impl FnMut(Segment)) {
        for start in positions.clone().step_by(self.runs.unit_weight) {
            let end = (start + self.runs.unit_weight).min(positions.end);
            visit(Segment { first_row: self.rows.first_row + row_of(start), rows: 1, start, end });
        }
    }
}
