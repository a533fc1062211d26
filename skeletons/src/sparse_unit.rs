//! Units of positions: of a CSR main input, or of rows that a skeleton built.

use crate::built::BuiltRows;
use crate::combined::CombinedRows;
use crate::layout::Positions;
use crate::visited::{RowNumbers, VisitedRows};
use fuseline_ir::schedule::{Extent, Segment, Tile};

/// A sparse unit before its sides are laid out.
#[derive(Clone, Copy)]
pub(crate) struct SparseUnit<'a> {
    pub(crate) rows: usize,
    pub(crate) first_col: usize,
    pub(crate) cols: usize,
    /// Columns of the positions, counted from `first_col`.
    pub(crate) columns: &'a [u32],
    pub(crate) row_offsets: &'a [usize],
    pub(crate) values: &'a [f64],
    /// The products of factors by position, where they are known already; else none.
    pub(crate) products: &'a [f64],
    /// The rows that the unit's were combined from, if they were.
    pub(crate) combined: Option<&'a CombinedRows>,
    pub(crate) positions: Positions<'a>,
}

impl<'a> SparseUnit<'a> {
    /// A segment; `run` is where it starts and ends.
    pub(crate) fn of_segment(segment: Segment, run: &'a [usize; 2], visited: &'a VisitedRows<'a>) -> Self {
        let Segment { first_row, rows, start, end } = segment;
        let (csr, offsets) = (visited.csr(), &visited.offsets()[first_row..]);
        let (columns, values) = (&csr.columns()[start..end], &csr.values()[start..end]);
        let row_offsets = if rows == 1 { &run[..] } else { &offsets[..=rows] };
        let numbers = visited.numbers_from(first_row);
        let cols = csr.cols();
        let positions = Positions { numbers, offsets, start, end, columns, first_col: 0, cols };
        SparseUnit { rows, first_col: 0, cols, columns, row_offsets, values, products: &[], combined: None, positions }
    }

    /// Rows that have been combined, with the main input's cells as values.
    pub(crate) fn of_combined(combined: &'a CombinedRows, numbers: RowNumbers<'a>, rows: usize, cols: usize) -> Self {
        let (offsets, columns, values) = (combined.offsets(), combined.columns(), combined.values(0));
        let positions = Positions { numbers, offsets, start: 0, end: values.len(), columns, first_col: 0, cols };
        // Of several rows that nobody tells apart one run is made; what is looked up beside it goes by rows all the
        // same.
        let row_offsets = if rows == 1 { &combined.run()[..] } else { offsets };
        let combined = Some(combined);
        SparseUnit { rows, first_col: 0, cols, columns, row_offsets, values, products: &[], combined, positions }
    }

    /// The rows that a skeleton built from a tile of the main input.
    pub(crate) fn of_built(built: &'a BuiltRows, tile: Tile) -> Self {
        let (numbers, offsets) = (RowNumbers::of(&built.numbers), &built.offsets[..]);
        let (end, columns, Tile { first_col, cols, .. }) = (built.values.len(), &built.columns[..], tile);
        let positions = Positions { numbers, offsets, start: 0, end, columns, first_col, cols };
        SparseUnit {
            rows: built.rows(),
            first_col,
            cols,
            columns,
            row_offsets: offsets,
            values: &built.values,
            products: &built.products,
            combined: None,
            positions,
        }
    }

    /// What the unit goes over.
    pub(crate) fn extent(&self) -> Extent {
        let tile_cols = (!self.products.is_empty()).then_some(self.cols);
        Extent::Positions { rows: self.rows, positions: self.values.len(), tile_cols }
    }

    /// The numbers of the unit's rows.
    pub(crate) fn row_numbers(&self) -> RowNumbers<'a> {
        self.positions.numbers.first(self.rows)
    }
}
