//! Views of tiles for the safe methods of [`Primitives`](crate::Primitives), and the checks of their extents.

/// Rows of values, `row_stride` apart in `values`; a stride of 0 shows every row the same values.
#[derive(Clone, Copy, Debug)]
pub struct Tile<'a> {
    /// The values.
    pub values: &'a [f64],
    /// Distance between rows.
    pub row_stride: usize,
}

impl<'a> Tile<'a> {
    /// Rows of `values`, `row_stride` apart.
    pub fn new(values: &'a [f64], row_stride: usize) -> Tile<'a> {
        Tile { values, row_stride }
    }

    pub(crate) fn covering(self, rows: usize, len: usize) -> *const f64 {
        assert!(covers(self.values.len(), rows, self.row_stride, len), "the tile covers {rows} rows of {len} values");
        self.values.as_ptr()
    }
}

/// Rows of values that are written.
#[derive(Debug)]
pub struct TileMut<'a> {
    /// The values.
    pub values: &'a mut [f64],
    /// Distance between rows.
    pub row_stride: usize,
}

impl<'a> TileMut<'a> {
    /// Rows of `values`, `row_stride` apart.
    pub fn new(values: &'a mut [f64], row_stride: usize) -> TileMut<'a> {
        TileMut { values, row_stride }
    }

    pub(crate) fn covering(&mut self, rows: usize, len: usize) -> *mut f64 {
        assert!(covers(self.values.len(), rows, self.row_stride, len), "the output covers {rows} rows of {len} values");
        self.values.as_mut_ptr()
    }
}

/// An operand of a ternary operation: one value per cell, or one per row.
#[derive(Clone, Copy, Debug)]
pub struct Operand<'a> {
    /// The values.
    pub tile: Tile<'a>,
    /// Whether the operand has one value per row instead of one per cell.
    pub scalar: bool,
}

impl<'a> Operand<'a> {
    /// One value per cell.
    pub fn cells(values: &'a [f64], row_stride: usize) -> Operand<'a> {
        Operand { tile: Tile::new(values, row_stride), scalar: false }
    }

    /// One value per row.
    pub fn scalars(values: &'a [f64], row_stride: usize) -> Operand<'a> {
        Operand { tile: Tile::new(values, row_stride), scalar: true }
    }

    pub(crate) fn covering(self, rows: usize, len: usize) -> (*const f64, usize, usize) {
        let values = self.tile.covering(rows, if self.scalar { len.min(1) } else { len });
        (values, self.tile.row_stride, usize::from(!self.scalar))
    }
}

/// Rows of a CSR matrix. Row `r` owns the positions `row_offsets[r] - row_offsets[0] .. row_offsets[r + 1] -
/// row_offsets[0]` of `columns` and `values`.
#[derive(Clone, Copy, Debug)]
pub struct CsrTile<'a> {
    /// Row offsets, one more than rows; the first need not be 0.
    pub row_offsets: &'a [usize],
    /// Column of each position.
    pub columns: &'a [u32],
    /// Value of each position.
    pub values: &'a [f64],
}

impl CsrTile<'_> {
    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.row_offsets.len().saturating_sub(1)
    }

    /// The number of positions that the rows own.
    pub fn positions(&self) -> usize {
        self.row_offsets.last().map_or(0, |last| last.saturating_sub(self.row_offsets[0]))
    }

    /// Checks that the offsets increase and that there is a value for each position.
    pub(crate) fn check_values(&self) {
        check_offsets(self.row_offsets, self.values.len());
    }

    /// Checks also that there is a column for each position.
    pub(crate) fn check_positions(&self) {
        self.check_values();
        assert!(self.positions() <= self.columns.len(), "every position has a column");
    }
}

/// Checks that the offsets increase and end within `available` positions.
pub(crate) fn check_offsets(row_offsets: &[usize], available: usize) {
    assert!(!row_offsets.is_empty(), "row offsets are one more than rows");
    assert!(row_offsets.is_sorted(), "row offsets increase");
    assert!(row_offsets[row_offsets.len() - 1] - row_offsets[0] <= available, "every position has a value");
}

/// Whether `rows` rows of `len` values, `row_stride` apart, lie within `available` values.
pub(crate) fn covers(available: usize, rows: usize, row_stride: usize, len: usize) -> bool {
    if rows == 0 || len == 0 {
        return true;
    }
    (rows - 1).checked_mul(row_stride).and_then(|start| start.checked_add(len)).is_some_and(|end| end <= available)
}
