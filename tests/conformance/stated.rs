//! What a run does by its schedule, stated beforehand from the schedule and the main input's non-zeros: every counter of the
//! run equals it, without tolerance (ADR 0044).

use crate::data::Data;
use fuseline_ir::cplan::{CNode, COutput, CPlan, Variant};
use fuseline_ir::schedule::{
    DensePartition, Driver, Extent, Flow, MAX_UNIT_ROWS, Partition, Rows, Segment, SparseRows, Sums, Tile,
    UNIT_POSITIONS, leaves_out_empty_rows,
};
use fuseline_ir::work::{CELL_BYTES, multiplies_whole_tile};
use fuseline_matrix::{Csr, Layout, MatrixBlock};
use fuseline_skeletons::{CompiledCPlan, Counters, Execution, Scheduled};
use std::collections::BTreeSet;
use std::ops::Range;

/// What a run of an operator does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Activity {
    strips: u64,
    blocks: u64,
    private_sums: u64,
    calls: u64,
    rows: u64,
    cells: u64,
    /// Bytes read of each input, by id.
    read: Vec<u64>,
    /// Bytes of the result.
    written: u64,
}

impl Activity {
    /// What a run counted.
    pub(crate) fn counted(counters: &Counters) -> Activity {
        Activity {
            strips: counters.strips(),
            blocks: counters.blocks(),
            private_sums: counters.private_sums(),
            calls: counters.genexec_calls(),
            rows: counters.rows(),
            cells: counters.cells(),
            read: without_last_zeros(counters.bytes_read()),
            written: counters.bytes_written(),
        }
    }

    /// What the schedule states.
    pub(crate) fn stated(
        compiled: &CompiledCPlan,
        data: &Data,
        result: &MatrixBlock,
        execution: &Execution<'_>,
    ) -> Activity {
        let scheduled = fuseline_skeletons::schedule(compiled, &data.stored, &data.scalars, execution);
        let scheduled = scheduled.expect("the plan ran");
        let main = data.stored[0].layout();
        let csr = match &main {
            Layout::Sparse(csr) => Some(csr.as_ref()),
            Layout::Dense(_) => None,
        };
        let sparse = |&input: &usize| match data.stored[input].layout() {
            Layout::Sparse(csr) => csr.into_owned(),
            Layout::Dense(_) => panic!("sparse rows are combined"),
        };
        let [joined, met] = [&scheduled.joined, &scheduled.met].map(|inputs| inputs.iter().map(sparse).collect());
        let statement = Statement { plan: compiled.plan(), scheduled: &scheduled, data, csr, joined, met };
        let mut activity = Activity { read: vec![0; scheduled.accesses.len()], ..Activity::default() };
        let (rows, cols) = data.stored[0].dims();
        // Cell operators over no cells give the neutral elements at once.
        if !matches!(statement.plan.variant, Variant::Cell(_)) || rows * cols > 0 {
            statement.add(&mut activity);
        }
        activity.read = without_last_zeros(activity.read);
        activity.written = statement.written(result);
        activity
    }

    fn add_unit(&mut self, unit: Extent, scheduled: &Scheduled) {
        self.calls += 1;
        self.rows += unit.rows() as u64;
        self.cells += unit.cells() as u64;
        self.read.iter_mut().zip(&scheduled.accesses).for_each(|(read, access)| *read += access.bytes(unit));
    }
}

/// Operators that have no unit count none of their inputs.
fn without_last_zeros(mut bytes: Vec<u64>) -> Vec<u64> {
    bytes.truncate(bytes.iter().rposition(|&bytes| bytes > 0).map_or(0, |last| last + 1));
    bytes
}

/// What [`Activity::stated`] is made from.
struct Statement<'a> {
    plan: &'a CPlan,
    scheduled: &'a Scheduled,
    data: &'a Data,
    /// The main input, if it is stored as non-zeros.
    csr: Option<&'a Csr>,
    /// The matrices whose rows are joined with its.
    joined: Vec<Csr>,
    /// The matrices that meet it.
    met: Vec<Csr>,
}

impl Statement<'_> {
    fn add(&self, activity: &mut Activity) {
        let Scheduled { schedule, strips, .. } = self.scheduled;
        let reduces = matches!(schedule.flow, Flow::Values | Flow::Sums { .. });
        activity.strips = if reduces { strips.len() as u64 } else { 0 };
        (0..strips.len()).for_each(|strip| self.add_strip(strips.rows_of(strip), activity));
    }

    fn add_strip(&self, rows: Range<usize>, activity: &mut Activity) {
        let schedule = &self.scheduled.schedule;
        let goes_over_non_zeros = matches!(schedule.driver, Driver::NonZeros(_) | Driver::Samples { .. });
        let dense = Rows::Dense { first_row: rows.start, rows: rows.len() };
        let (numbers, offsets) = match self.csr {
            Some(csr) if goes_over_non_zeros || schedule.skips_empty_rows => self.visited(csr, rows),
            _ => return self.add_blocks(dense, &[], activity),
        };
        self.add_blocks(Rows::Sparse(SparseRows { first_row: 0, offsets: &offsets }), &numbers, activity);
    }

    /// The numbers of the rows that are visited, and where their non-zeros begin and end.
    fn visited(&self, csr: &Csr, rows: Range<usize>) -> (Vec<usize>, Vec<usize>) {
        let count =
            |row: usize| csr.row(row).0.len() + self.joined.iter().map(|csr| csr.row(row).0.len()).sum::<usize>();
        let empty = rows.clone().filter(|&row| count(row) == 0).count();
        let leaves_out = self.scheduled.schedule.skips_empty_rows && leaves_out_empty_rows(empty, rows.len());
        let numbers: Vec<usize> = rows.filter(|&row| !leaves_out || count(row) > 0).collect();
        let ends = numbers.iter().scan(0, |end, &row| {
            *end += count(row);
            Some(*end)
        });
        let offsets = std::iter::once(0).chain(ends).collect();
        (numbers, offsets)
    }

    fn add_blocks(&self, rows: Rows<'_>, numbers: &[usize], activity: &mut Activity) {
        let schedule = &self.scheduled.schedule;
        let partition = schedule.cut(rows);
        activity.blocks += partition.len() as u64;
        let keeps_sums = matches!(schedule.sums(rows.len(), rows.non_zeros()), Some(Sums::Private(_)));
        activity.private_sums += if keeps_sums { partition.len() as u64 } else { 0 };
        for block in 0..partition.len() {
            match &partition {
                Partition::Tiles(tiles) if matches!(schedule.driver, Driver::Products { .. }) => {
                    tiles.tiles(block).for_each(|tile| self.add_products(tile, activity));
                }
                Partition::Tiles(tiles) => tiles.tiles(block).for_each(|Tile { rows, cols, .. }| {
                    activity.add_unit(Extent::Tile { rows, cols }, self.scheduled);
                }),
                Partition::Segments(segments) => {
                    segments.for_each_segment(block, |segment| self.add_segment(segment, numbers, activity));
                }
                Partition::Ranges(ranges) => self.add_range(ranges, block, numbers, activity),
            }
        }
    }

    fn add_segment(&self, segment: Segment, numbers: &[usize], activity: &mut Activity) {
        let most = segment.end - segment.start;
        let positions = match self.csr {
            Some(csr) if !self.joined.is_empty() => {
                let rows = &numbers[segment.first_row..segment.first_row + segment.rows];
                rows.iter().map(|&row| self.columns_of_all(csr, row)).sum()
            }
            Some(csr) if !self.met.is_empty() => {
                // A segment may be a run over several rows, and begin anywhere in one that is cut.
                let rows = numbers[segment.first_row..].iter();
                let before: usize = numbers[..segment.first_row].iter().map(|&row| csr.row(row).0.len()).sum();
                let all = rows.flat_map(|&row| (0..csr.row(row).0.len()).map(move |place| (row, place)));
                all.skip(segment.start - before).take(most).filter(|&(row, place)| self.is_met(csr, row, place)).count()
            }
            _ => most,
        };
        if most > 0 || !self.scheduled.skips_empty_units {
            let unit = Extent::Positions { rows: segment.rows, positions, tile_cols: None };
            activity.add_unit(unit, self.scheduled);
        }
    }

    /// Whether a position of a row is not zero, and in a column of all that meet it.
    fn is_met(&self, csr: &Csr, row: usize, place: usize) -> bool {
        let (columns, values) = csr.row(row);
        values[place] != 0.0 && self.met.iter().all(|csr| csr.row(row).0.contains(&columns[place]))
    }

    /// In how many columns a row of the main input, or of what is joined with it, has a non-zero.
    fn columns_of_all(&self, csr: &Csr, row: usize) -> usize {
        let mut columns: BTreeSet<u32> = csr.row(row).0.iter().copied().collect();
        self.joined.iter().for_each(|csr| columns.extend(csr.row(row).0));
        columns.len()
    }

    /// A tile of products of factors: a unit of its non-zeros, or of all cells where none is zero or the plan visits all.
    fn add_products(&self, tile: Tile, activity: &mut Activity) {
        let main = &self.data.dense[0];
        let cells = (tile.first_row..tile.first_row + tile.rows)
            .flat_map(|row| &main.row(row)[tile.first_col..tile.first_col + tile.cols]);
        let is_visited = |value: &&f64| !self.plan.sparse_safe || **value != 0.0;
        let (positions, all) = (cells.filter(is_visited).count(), tile.rows * tile.cols);
        let reads_products = self.plan.nodes.values().any(|node| matches!(node, CNode::OuterProduct));
        let is_multiplied = reads_products && multiplies_whole_tile(positions, all);
        if positions > 0 && positions == all {
            activity.add_unit(Extent::Tile { rows: tile.rows, cols: tile.cols }, self.scheduled);
        } else if positions > 0 {
            let tile_cols = is_multiplied.then_some(tile.cols);
            activity.add_unit(Extent::Positions { rows: tile.rows, positions, tile_cols }, self.scheduled);
        }
    }

    /// A range of columns of all rows, in units that have enough non-zeros, or rows.
    fn add_range(&self, ranges: &DensePartition, block: usize, numbers: &[usize], activity: &mut Activity) {
        let csr = self.csr.expect("ranges are of sparse rows");
        let range = ranges.block(block);
        let is_in_range = |j: &&u32| (range.first_col..range.first_col + range.cols).contains(&(**j as usize));
        let keeps_empty_rows = self.plan.nodes.values().any(|node| matches!(node, CNode::RowIndex));
        let (mut rows, mut positions) = (0, 0);
        for (place, &number) in numbers.iter().enumerate() {
            let found = csr.row(number).0.iter().filter(is_in_range).count();
            positions += found;
            rows += usize::from(found > 0 || keeps_empty_rows);
            let is_full = positions >= UNIT_POSITIONS || rows >= MAX_UNIT_ROWS;
            if is_full || place + 1 == numbers.len() {
                if positions > 0 {
                    activity.add_unit(Extent::Positions { rows, positions, tile_cols: None }, self.scheduled);
                }
                (rows, positions) = (0, 0);
            }
        }
    }

    /// Bytes of the result. A sparse one has as many non-zeros as it has; else the flow says how many cells there are.
    fn written(&self, result: &MatrixBlock) -> u64 {
        let (rows, cols) = self.data.stored[0].dims();
        let cells = match (self.scheduled.schedule.flow, self.plan.outputs[0]) {
            _ if result.format().is_sparse() => return result.bytes() as u64,
            (Flow::Values, _) => self.plan.outputs.len(),
            (Flow::Sums { cells }, _) => cells,
            (Flow::Rows, COutput::TimesFactor(_)) => rows * self.data.stored[2].cols(),
            (Flow::Rows, COutput::RowAgg(..)) => rows,
            (Flow::Rows, _) => result.rows() * result.cols(),
            (Flow::Cells, _) => rows * cols,
        };
        cells as u64 * CELL_BYTES
    }
}
