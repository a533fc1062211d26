//! The safe methods: the primitives on slices, with extents asserted before each call.
//!
//! Every method panics when an operand does not cover the extents it is asked to serve: callers own the shapes.

use crate::isa::Isa;
use crate::panels::Panels;
use crate::primitive::Form;
use crate::table::Primitives;
use crate::tile::{CsrTile, Operand, Tile, TileMut, check_offsets, covers};
use fuseline_ops::{AggOp, BinaryOp, TernaryOp, UnaryOp, WindowOp, Windows};

/// Panics for means and variances where only aggregates that merge are meant.
fn check_merges(op: AggOp) {
    assert!(op.merges(), "{op}: means and variances of partial results do not merge");
}

/// Asserts that an accumulator has `len` values.
fn check_accumulator(acc: &[f64], len: usize) {
    assert!(acc.len() >= len, "the accumulator has {len} values");
}

/// Defines the dot products of rows of narrow values.
macro_rules! narrow_dots {
    ($($name:ident: $type:ty)*) => {
        $(
            /// The dot product of each row of `a`, one behind the other, with `b`: the bits of [`Self::dot_product`] over the
            /// values as doubles.
            pub fn $name(&self, a: &[$type], b: &[f64], out: &mut [f64]) {
                let (rows, len) = (out.len(), b.len());
                assert!(rows.checked_mul(len) == Some(a.len()), "{} values are not {rows} rows of {len}", a.len());
                // SAFETY: the slices cover the extents, `out` is borrowed exclusively, and the table is this machine's.
                unsafe { (self.$name)(rows, len, a.as_ptr(), b.as_ptr(), out.as_mut_ptr()) }
            }
        )*
    };
}

impl Primitives {
    /// The instruction set.
    pub fn isa(&self) -> Isa {
        self.isa
    }

    /// Checks a sparse tile: there are a value and a column for each position, and the row of `len` values that the column
    /// names lies in `available` values.
    fn check_tile(&self, a: CsrTile<'_>, available: usize, row_stride: usize, len: usize) {
        a.check_values();
        self.check_columns(a.row_offsets, a.columns, available, row_stride, len);
    }

    /// Checks that every position has a column, and that the row it names lies in `available` values.
    fn check_columns(&self, offsets: &[usize], columns: &[u32], available: usize, row_stride: usize, len: usize) {
        check_offsets(offsets, columns.len());
        let rows = self.width(&columns[..offsets[offsets.len() - 1] - offsets[0]]);
        assert!(covers(available, rows, row_stride, len), "every column lies within the operand");
    }

    /// How many columns there must be for these: one more than the largest of them, or none.
    fn width(&self, columns: &[u32]) -> usize {
        let mut largest = 0;
        // SAFETY: the columns are live, and the table is this machine's.
        unsafe { (self.largest_column)(columns.len(), columns.as_ptr(), &mut largest) };
        if columns.is_empty() { 0 } else { largest as usize + 1 }
    }

    /// How many columns are not above the one before.
    pub fn descents(&self, columns: &[u32]) -> usize {
        let mut count = 0;
        // SAFETY: the columns are live, and the table is this machine's.
        unsafe { (self.descents)(columns.len(), columns.as_ptr(), &mut count) };
        count
    }

    /// Writes the cells of a row that are not zero and their columns, one behind the other, as long as there is room for both; how many
    /// these are. What lies behind them may be overwritten.
    pub fn compress(&self, cells: &[f64], columns: &mut [u32], values: &mut [f64]) -> usize {
        assert!(u32::try_from(cells.len()).is_ok(), "columns are 32-bit numbers");
        let (room, mut kept) = (columns.len().min(values.len()), 0);
        let (columns, values) = (columns.as_mut_ptr(), values.as_mut_ptr());
        // SAFETY: there are as many cells, and as many columns and values as there is room for, borrowed exclusively, and the table is
        // this machine's.
        unsafe { (self.compress)(cells.len(), cells.as_ptr(), room, columns, values, &mut kept) };
        kept
    }

    /// Writes a bit for each value that is not zero (NaN is not), the first one's last, in words of 64; what is left of the last
    /// word is zero.
    pub fn nonzero_bits(&self, values: &[f64], words: &mut [u64]) {
        assert!(words.len() >= values.len().div_ceil(64), "a bit for each value");
        // SAFETY: the values are live, the words are borrowed exclusively and have a bit for each, and the table is this machine's.
        unsafe { (self.nonzero_bits)(values.len(), values.as_ptr(), words.as_mut_ptr()) }
    }

    /// Copies the positions whose values are not zero, their columns and values, one behind the other, as long as there is room for
    /// both; how many these are. What lies behind them may be overwritten.
    pub fn keep_nonzeros(
        &self,
        columns: &[u32],
        values: &[f64],
        columns_out: &mut [u32],
        values_out: &mut [f64],
    ) -> usize {
        assert_eq!(columns.len(), values.len(), "a column for each value");
        let (room, mut kept) = (columns_out.len().min(values_out.len()), 0);
        let (columns, from, columns_out, to) =
            (columns.as_ptr(), values.as_ptr(), columns_out.as_mut_ptr(), values_out.as_mut_ptr());
        // SAFETY: there are as many columns as values, and as much of both as there is room for, borrowed exclusively, and the table
        // is this machine's.
        unsafe { (self.keep_nonzeros)(values.len(), columns, from, room, columns_out, to, &mut kept) };
        kept
    }

    /// `out[r, i] = op(a[r, i])` for `rows` rows of `len` values.
    pub fn unary(&self, op: UnaryOp, rows: usize, len: usize, a: Tile<'_>, mut out: TileMut<'_>) {
        let (a_values, out_values) = (a.covering(rows, len), out.covering(rows, len));
        // SAFETY: both tiles cover the extents, `out` is borrowed exclusively, and the table is this machine's.
        unsafe { self.unary[op.index()](rows, len, a_values, a.row_stride, out_values, out.row_stride) }
    }

    /// `out[r, i] = op(a[r, i], b[r, i])`; a scalar side of the form has one value per row instead.
    #[allow(clippy::too_many_arguments, reason = "an operation, its form, extents and operands")]
    pub fn binary(
        &self,
        op: BinaryOp,
        form: Form,
        rows: usize,
        len: usize,
        a: Tile<'_>,
        b: Tile<'_>,
        mut out: TileMut<'_>,
    ) {
        let a_values = a.covering(rows, if form == Form::ScalarVect { len.min(1) } else { len });
        let b_values = b.covering(rows, if form == Form::VectScalar { len.min(1) } else { len });
        let out_values = out.covering(rows, len);
        let function = self.binary_form(form)[op.index()];
        // SAFETY: the tiles cover the extents, `out` is borrowed exclusively, and the table is this machine's.
        unsafe { function(rows, len, a_values, a.row_stride, b_values, b.row_stride, out_values, out.row_stride) }
    }

    /// `out[r, i] = op(a, b, c)` of cells (or row values) of three operands.
    pub fn ternary(&self, op: TernaryOp, rows: usize, len: usize, operands: [Operand<'_>; 3], mut out: TileMut<'_>) {
        let [(a, a_row, a_col), (b, b_row, b_col), (c, c_row, c_col)] =
            operands.map(|operand| operand.covering(rows, len));
        let out_values = out.covering(rows, len);
        let function = self.ternary[op.index()];
        // SAFETY: the tiles cover the extents, `out` is borrowed exclusively, and the table is this machine's.
        unsafe {
            function(rows, len, a, a_row, a_col, b, b_row, b_col, c, c_row, c_col, out_values, out.row_stride);
        }
    }

    /// The aggregate of each row, at `r * out.row_stride`.
    pub fn row_agg(&self, op: AggOp, rows: usize, len: usize, a: Tile<'_>, mut out: TileMut<'_>) {
        let (a_values, out_values) = (a.covering(rows, len), out.covering(rows, 1));
        // SAFETY: both tiles cover the extents, `out` is borrowed exclusively, and the table is this machine's.
        unsafe { self.row_agg[op as usize](rows, len, a_values, a.row_stride, out_values, out.row_stride) }
    }

    /// The partial aggregates of each row, from its first cell to each, for cumulative functions.
    pub fn row_cumulative(&self, op: AggOp, rows: usize, len: usize, a: Tile<'_>, mut out: TileMut<'_>) {
        assert!(op.is_cumulative(), "{op} has no cumulative form");
        let (a_values, out_values) = (a.covering(rows, len), out.covering(rows, len));
        // SAFETY: both tiles cover the extents, `out` is borrowed exclusively, and the table is this machine's.
        unsafe { self.row_cumulative[op as usize](rows, len, a_values, a.row_stride, out_values, out.row_stride) }
    }

    /// `out[r, i] = a[r, i]` for `rows` rows of `len` values.
    pub fn copy(&self, rows: usize, len: usize, a: Tile<'_>, mut out: TileMut<'_>) {
        let (a_values, out_values) = (a.covering(rows, len), out.covering(rows, len));
        // SAFETY: both tiles cover the extents, `out` is borrowed exclusively, and the table is this machine's.
        unsafe { (self.copy)(rows, len, a_values, a.row_stride, out_values, out.row_stride) }
    }

    /// As [`Self::copy`], past the caches: for what is larger than these, and not read again soon.
    pub fn stream(&self, rows: usize, len: usize, a: Tile<'_>, mut out: TileMut<'_>) {
        let (a_values, out_values) = (a.covering(rows, len), out.covering(rows, len));
        // SAFETY: both tiles cover the extents, `out` is borrowed exclusively, and the table is this machine's.
        unsafe { (self.stream)(rows, len, a_values, a.row_stride, out_values, out.row_stride) }
    }

    /// `out[r, i] = a[r, 0]` for `rows` rows of `len` values.
    pub fn spread(&self, rows: usize, len: usize, a: Tile<'_>, mut out: TileMut<'_>) {
        let (a_values, out_values) = (a.covering(rows, len.min(1)), out.covering(rows, len));
        // SAFETY: both tiles cover the extents, `out` is borrowed exclusively, and the table is this machine's.
        unsafe { (self.spread)(rows, len, a_values, a.row_stride, out_values, out.row_stride) }
    }

    /// The aggregate of the whole tile (no mean, no variance).
    pub fn full_agg(&self, op: AggOp, rows: usize, len: usize, a: Tile<'_>) -> f64 {
        check_merges(op);
        let mut result = 0.0;
        // SAFETY: the tile covers the extents, and the table is this machine's.
        unsafe { self.full_agg[op as usize](rows, len, a.covering(rows, len), a.row_stride, &raw mut result) };
        result
    }

    /// Whether it is known that none of the values is NaN: a sum is NaN if one of its terms is. It is, too, where infinities of both
    /// signs meet, those that sums overflow to among them.
    pub fn are_numbers(&self, rows: usize, len: usize, a: Tile<'_>) -> bool {
        // Rows without gaps are one run.
        let (rows, len) = if a.row_stride == len { (1, rows * len) } else { (rows, len) };
        !self.full_agg(AggOp::Sum, rows, len, a).is_nan()
    }

    /// Whether a value is zero.
    pub fn contains_zero(&self, values: &[f64]) -> bool {
        self.full_agg(AggOp::Nnz, 1, values.len(), Tile::new(values, values.len())) < values.len() as f64
    }

    /// Merges each row into `acc`, rows in order (no mean, no variance).
    pub fn col_agg(&self, op: AggOp, rows: usize, len: usize, a: Tile<'_>, acc: &mut [f64]) {
        check_merges(op);
        check_accumulator(acc, len);
        // SAFETY: tile and accumulator cover the extents, and the table is this machine's.
        unsafe { self.col_agg[op as usize](rows, len, a.covering(rows, len), a.row_stride, acc.as_mut_ptr()) }
    }

    /// The dot product of each row of `a` with the same row of `b`.
    pub fn dot_product(&self, rows: usize, len: usize, a: Tile<'_>, b: Tile<'_>, mut out: TileMut<'_>) {
        let (a_values, b_values) = (a.covering(rows, len), b.covering(rows, len));
        let out_values = out.covering(rows, 1);
        // SAFETY: the tiles cover the extents, `out` is borrowed exclusively, and the table is this machine's.
        unsafe {
            (self.dot_product)(rows, len, a_values, a.row_stride, b_values, b.row_stride, out_values, out.row_stride);
        }
    }

    narrow_dots!(dot_f32: f32 dot_i32: i32 dot_u8: u8);

    /// Each row of `a` times a matrix of `k` columns. `factor` has its cells row after row if it
    /// [adds up rows](crate::adds_up_rows), else those of its transpose.
    pub fn vect_mat_mult(&self, rows: usize, len: usize, k: usize, a: Tile<'_>, factor: &[f64], mut out: TileMut<'_>) {
        let (a_values, factor_values) = (a.covering(rows, len), Tile::new(factor, k).covering(len, k));
        let out_values = out.covering(rows, k);
        let function = self.vect_mat_mult;
        // SAFETY: the tiles cover the extents, `out` is borrowed exclusively, and the table is this machine's.
        unsafe { function(rows, len, k, a_values, a.row_stride, factor_values, out_values, out.row_stride) }
    }

    /// Adds each row of `a` (`len` values) times `b`, of `len` rows of `k` values, to what `out` holds.
    pub fn mat_mult_add(&self, rows: usize, len: usize, k: usize, a: Tile<'_>, b: Tile<'_>, mut out: TileMut<'_>) {
        let (a_values, b_values) = (a.covering(rows, len), b.covering(len, k));
        let out_values = out.covering(rows, k);
        let function = self.mat_mult_add;
        // SAFETY: the tiles cover the extents, `out` is borrowed exclusively, and the table is this machine's.
        unsafe { function(rows, len, k, a_values, a.row_stride, b_values, b.row_stride, out_values, out.row_stride) }
    }

    /// Adds the outer product of each row of `a` (`n` values) and the same row of `b` (`k` values) to the `k` rows of
    /// `acc`, rows in order.
    pub fn outer_mult_add(&self, rows: usize, n: usize, k: usize, a: Tile<'_>, b: Tile<'_>, mut acc: TileMut<'_>) {
        let (a_values, b_values) = (a.covering(rows, n), b.covering(rows, k));
        let acc_values = acc.covering(k, n);
        let function = self.outer_mult_add;
        // SAFETY: the tiles cover the extents, `acc` is borrowed exclusively, and the table is this machine's.
        unsafe { function(rows, n, k, a_values, a.row_stride, b_values, b.row_stride, acc_values, acc.row_stride) }
    }

    /// The aggregate of the values of each row, which has `cols` cells with its zeros. `values` by position.
    pub fn segment_row_agg(&self, op: AggOp, row_offsets: &[usize], values: &[f64], cols: usize, mut out: TileMut<'_>) {
        check_offsets(row_offsets, values.len());
        let rows = row_offsets.len() - 1;
        let out_values = out.covering(rows, 1);
        let function = self.segment_row_agg[op as usize];
        // SAFETY: the offsets lie within the values, `out` is borrowed exclusively, and the table is this machine's.
        unsafe { function(rows, row_offsets.as_ptr(), values.as_ptr(), cols, out_values, out.row_stride) }
    }

    /// Merges each value into the cell of `acc` that its column names (no mean, no variance).
    pub fn sparse_col_agg(&self, op: AggOp, a: CsrTile<'_>, acc: &mut [f64]) {
        check_merges(op);
        self.check_tile(a, acc.len(), 1, 1);
        let function = self.sparse_col_agg[op as usize];
        let (offsets, columns) = (a.row_offsets.as_ptr(), a.columns.as_ptr());
        // SAFETY: offsets and columns were checked, and the table is this machine's.
        unsafe { function(a.rows(), offsets, columns, a.values.as_ptr(), acc.as_mut_ptr()) }
    }

    /// The value of each row of `a`, one for each row, for every position of the row.
    pub fn segment_spread(&self, row_offsets: &[usize], a: Tile<'_>, out: &mut [f64]) {
        check_offsets(row_offsets, out.len());
        let rows = row_offsets.len() - 1;
        let (a_values, function) = (a.covering(rows, 1), self.segment_spread);
        // SAFETY: offsets were checked, `out` is borrowed exclusively, and the table is this machine's.
        unsafe { function(rows, row_offsets.as_ptr(), a_values, a.row_stride, out.as_mut_ptr()) }
    }

    /// The value in the column of each position, of the same row of `b`.
    pub fn sparse_gather(&self, row_offsets: &[usize], columns: &[u32], b: Tile<'_>, out: &mut [f64]) {
        check_offsets(row_offsets, out.len().min(columns.len()));
        let rows = row_offsets.len() - 1;
        let positions = row_offsets[rows] - row_offsets[0];
        let longest = self.width(&columns[..positions]);
        let (b_values, function) = (b.covering(rows, longest), self.sparse_gather);
        // SAFETY: offsets and columns were checked, `out` is borrowed exclusively, and the table is this machine's.
        unsafe {
            function(rows, row_offsets.as_ptr(), columns.as_ptr(), b_values, b.row_stride, out.as_mut_ptr());
        }
    }

    /// Each sparse row as a dense one of `cols` values, with the value of the same row of `b`, one for each row, in the
    /// columns without a position.
    pub fn sparse_scatter(&self, a: CsrTile<'_>, cols: usize, b: Tile<'_>, mut out: TileMut<'_>) {
        self.check_tile(a, cols, 1, 1);
        let rows = a.rows();
        let (b_values, out_values) = (b.covering(rows, 1), out.covering(rows, cols));
        let (offsets, columns, values) = (a.row_offsets.as_ptr(), a.columns.as_ptr(), a.values.as_ptr());
        let function = self.sparse_scatter;
        // SAFETY: offsets and columns were checked, `out` is borrowed exclusively, and the table is this machine's.
        unsafe { function(rows, offsets, columns, values, cols, b_values, b.row_stride, out_values, out.row_stride) }
    }

    /// The products of the values of each sparse row with those of `b` at its positions, added up.
    pub fn segment_dot_product(&self, row_offsets: &[usize], a: &[f64], b: &[f64], mut out: TileMut<'_>) {
        check_offsets(row_offsets, a.len().min(b.len()));
        let rows = row_offsets.len() - 1;
        let (out_values, function) = (out.covering(rows, 1), self.segment_dot_product);
        // SAFETY: offsets were checked, `out` is borrowed exclusively, and the table is this machine's.
        unsafe { function(rows, row_offsets.as_ptr(), a.as_ptr(), b.as_ptr(), out_values, out.row_stride) }
    }

    /// The product of each sparse row with the same row of `b`.
    pub fn sparse_dot_product(&self, a: CsrTile<'_>, b: Tile<'_>, mut out: TileMut<'_>) {
        let rows = a.rows();
        a.check_positions();
        let longest = self.width(&a.columns[..a.positions()]);
        let (b_values, out_values) = (b.covering(rows, longest), out.covering(rows, 1));
        let (offsets, columns, values) = (a.row_offsets.as_ptr(), a.columns.as_ptr(), a.values.as_ptr());
        let function = self.sparse_dot_product;
        // SAFETY: offsets and columns were checked, `out` is borrowed exclusively, and the table is this machine's.
        unsafe { function(rows, offsets, columns, values, b_values, b.row_stride, out_values, out.row_stride) }
    }

    /// Each sparse row times `b`, `k` columns wide.
    pub fn sparse_vect_mat_mult(&self, a: CsrTile<'_>, k: usize, b: Tile<'_>, mut out: TileMut<'_>) {
        self.check_tile(a, b.values.len(), b.row_stride, k);
        let out_values = out.covering(a.rows(), k);
        let (offsets, columns, values) = (a.row_offsets.as_ptr(), a.columns.as_ptr(), a.values.as_ptr());
        let (function, b_values) = (self.sparse_vect_mat_mult, b.values.as_ptr());
        // SAFETY: offsets and columns were checked, `out` is borrowed exclusively, and the table is this machine's.
        unsafe { function(a.rows(), offsets, columns, values, k, b_values, b.row_stride, out_values, out.row_stride) }
    }

    /// Adds each sparse row times `b`, `k` columns wide, to what `out` holds.
    pub fn sparse_mat_mult_add(&self, a: CsrTile<'_>, k: usize, b: Tile<'_>, mut out: TileMut<'_>) {
        self.check_tile(a, b.values.len(), b.row_stride, k);
        let out_values = out.covering(a.rows(), k);
        let (offsets, columns, values) = (a.row_offsets.as_ptr(), a.columns.as_ptr(), a.values.as_ptr());
        let (function, b_values) = (self.sparse_mat_mult_add, b.values.as_ptr());
        // SAFETY: offsets and columns were checked, `out` is borrowed exclusively, and the table is this machine's.
        unsafe { function(a.rows(), offsets, columns, values, k, b_values, b.row_stride, out_values, out.row_stride) }
    }

    /// Adds the outer product of each sparse row and the same row of `b` (`k` values): position `p` scales the row of
    /// `b` into row `columns[p]` of `acc`.
    pub fn sparse_outer_mult_add(&self, a: CsrTile<'_>, k: usize, b: Tile<'_>, acc: TileMut<'_>) {
        self.check_tile(a, acc.values.len(), acc.row_stride, k);
        let TileMut { values: acc, row_stride: acc_row } = acc;
        let b_values = b.covering(a.rows(), k);
        let (offsets, columns, values) = (a.row_offsets.as_ptr(), a.columns.as_ptr(), a.values.as_ptr());
        let (function, acc_values) = (self.sparse_outer_mult_add, acc.as_mut_ptr());
        // SAFETY: offsets and columns were checked, `acc` is borrowed exclusively, and the table is this machine's.
        unsafe { function(a.rows(), offsets, columns, values, k, b_values, b.row_stride, acc_values, acc_row) }
    }

    /// For each position `out[p]`, the product of its row of `u` with the row `columns[p]` of `v`, both of `rank`
    /// values.
    pub fn sampled_product(
        &self,
        row_offsets: &[usize],
        columns: &[u32],
        rank: usize,
        u: Tile<'_>,
        v: Tile<'_>,
        out: &mut [f64],
    ) {
        check_offsets(row_offsets, out.len());
        self.check_columns(row_offsets, columns, v.values.len(), v.row_stride, rank);
        let rows = row_offsets.len() - 1;
        let (u_values, v_values) = (u.covering(rows, rank), v.values.as_ptr());
        let (offsets, columns, function) = (row_offsets.as_ptr(), columns.as_ptr(), self.sampled_product);
        // SAFETY: offsets and columns were checked, `out` is borrowed exclusively, and the table is this machine's.
        unsafe {
            function(rows, offsets, columns, rank, u_values, u.row_stride, v_values, v.row_stride, out.as_mut_ptr());
        }
    }

    /// Rows of `a` times the `cols` columns of `panels` from `first` on, which must begin a panel.
    pub fn tile_mat_mult(
        &self,
        rows: usize,
        (first, cols): (usize, usize),
        a: Tile<'_>,
        panels: &Panels,
        mut out: TileMut<'_>,
    ) {
        let inner = panels.inner();
        let (a_values, columns) = (a.covering(rows, inner), panels.covering(first, cols).as_ptr());
        let (out_values, function) = (out.covering(rows, cols), self.tile_mat_mult);
        // SAFETY: tiles and panels cover the extents, `out` is borrowed exclusively, and the table is this machine's.
        unsafe { function(rows, cols, inner, a_values, a.row_stride, columns, out_values, out.row_stride) }
    }

    /// Of each row of `a`, which is an image, what is computed of its windows.
    pub fn windows(&self, op: WindowOp, rows: usize, windows: &Windows, a: Tile<'_>, mut out: TileMut<'_>) {
        assert!(windows.is_valid(), "there are such windows");
        let (a_values, out_values) = (a.covering(rows, windows.image_cells()), out.covering(rows, op.cells(windows)));
        let function = self.of_windows(op);
        // SAFETY: the tiles cover images and results, `out` is borrowed exclusively, and the table is this machine's.
        unsafe { function(rows, windows, a_values, a.row_stride, out_values, out.row_stride) }
    }

    /// The product of `filters` rows of `len` values, those of `b`, with each row of `a`, which is a matrix of `len` rows
    /// of `k` values.
    pub fn convolve(
        &self,
        rows: usize,
        (filters, len, k): (usize, usize, usize),
        a: Tile<'_>,
        b: Tile<'_>,
        mut out: TileMut<'_>,
    ) {
        let (unfolded, result) = (len.checked_mul(k), filters.checked_mul(k));
        let (a_values, b_values) =
            (a.covering(rows, unfolded.expect("cells can be addressed")), b.covering(filters, len));
        let out_values = out.covering(rows, result.expect("cells can be addressed"));
        let (function, a_row, b_row) = (self.convolve, a.row_stride, b.row_stride);
        // SAFETY: the tiles cover the extents, `out` is borrowed exclusively, and the table is this machine's.
        unsafe { function(rows, filters, len, k, a_values, a_row, b_values, b_row, out_values, out.row_stride) }
    }
}
