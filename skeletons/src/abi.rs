//! The genexec ABI: what a skeleton hands to generated code, and nothing else.
//!
//! A skeleton cuts its work into *units* (tiles of rows, runs of cells or of non-zeros), lays out every side input for
//! the unit, and calls one entry point per unit. Generated code never looks anything up. The safe view ([`Unit`],
//! [`Side`], [`Output`]) is what interpreters see; the raw view (C layout) is what machine code sees; [`NativeKernel`]
//! is the one place where one becomes the other.
//!
//! ## Units by template
//!
//! | template | entry | `rows` x `cols` | main input | `Side` of a matrix / row vector / column vector |
//! |---|---|---|---|---|
//! | Cell, MAgg | dense | tile of rows | dense rows | row `r` at `r * row_stride` / one row / column `j` of row `r` at `r * row_stride + j` |
//! | Cell, MAgg | sparse | CSR rows | non-zeros, by position | gathered: one value per position / gathered / as dense |
//! | Row | dense | tile of rows | dense rows | as Cell dense; whole vectors and matrices for `SideVector`, `VectMatMult` |
//! | Row | sparse | CSR rows | CSR rows, by position | as Row dense; gathered where rows are read at the main row's positions alone |
//! | Outer | dense | tile of X without zeros, or of all its cells | dense rows | as Cell dense; U and V as below; `products` of both: row `r` at `r * cols` |
//! | Outer | sparse | CSR rows | non-zeros of X | gathered / gathered / per row; U: rows of the unit, in `left_mm`; V: all of it; `products` of both |
//!
//! In sparse entries positions are relative to the unit: row `r` owns positions `row_offsets[r] - row_offsets[0] ..
//! row_offsets[r + 1] - row_offsets[0]` of `columns` and `values`. Columns ascend, but for those of joined rows, which
//! may have any order.
//!
//! A side that is read by row begins at column 0 of the unit's first row: column `j` of row `r` (`SideRowScalar`), and a
//! range of columns from `j` on (`SideRow`), lie at `r * row_stride + j`. Columns that no node reads may hold anything. A
//! matrix of `VectMatMult` has `row_stride` = `cols`, a vector of `SideVector` has `row_stride` 0. Columns count from
//! `first_col`, and V begins with the row of that column.
//!
//! `RowIndex` is `first_row + r` in row `r` of a unit, as a double. Units of plans that read it have consecutive rows; the
//! rows of other units need only ascend, since whatever is read by row is laid out for the unit's rows.
//!
//! Row plans without a `Main` node read nothing of the main input but its number of rows. Sparse units of the others run the
//! plan's [form for them](fuseline_ir::cplan::CPlan::sparse_form), in which values lie by position as
//! [`fuseline_ir::cplan::Positions`] says: one for each position, and zero in other columns where that matters.
//!
//! Zeros that a sparse unit of Cell, MAgg and Outer leaves out are the skeleton's, which takes what they contribute into
//! the aggregates of the positions: units of Cell `row_agg` therefore have 0 for `cols`, so that no row seems to lack
//! positions. Rows that Row plans aggregate as vectors include their zeros.
//!
//! [`has_sparse_entry`] says which plans have a sparse entry. It is a rule for all backends, as the two entries of a
//! plan may round differently.
//!
//! ## Outputs by variant
//!
//! | variant | what the entry does with its output |
//! |---|---|
//! | Cell `no_agg` | writes cell (r, c) at `r * row_stride + c`; sparse entry: one value per position |
//! | Cell `cum_agg`, Row `cum_agg` | writes as `no_agg` and `row_agg` do, no value lies by position; skeletons merge downwards |
//! | Cell `row_agg`, Row `row_agg` | writes cell `r` at index `r` |
//! | Cell `full_agg`, MAgg, Row `full_agg`, Outer `full_agg` | writes the unit's aggregate at index 0 of each output |
//! | Cell `col_agg` | accumulates into cell `c` (sparse entry: `columns[p]`), rows in order |
//! | Row `no_agg`, `no_agg_b1`, `no_agg_const` | writes row `r` at `r * row_stride`; a value that lies by position as one per position |
//! | Row `col_agg`, `col_agg_b1r`, `col_agg_const`, `col_agg_t` | accumulates into cell `c`, rows in order |
//! | Row `col_agg_b1`, `col_agg_b1_t` | accumulates the product of the short vector (length k) and the long vector (length n, as long as main): short-major, cell (j, i) at `j * row_stride + i`; of a long vector that lies by position long-major, cell (i, j) at `i * row_stride + j` |
//! | Outer `no_agg` | as Cell `no_agg` |
//! | Outer `right_mm` | accumulates into row `r` at `r * row_stride`, length of the rank |
//! | Outer `left_mm` | accumulates into row `c` (sparse entry: `columns[p]`) at `c * row_stride`, length of the rank |
//!
//! Each output of a Row `multi_agg` plan is treated as that of the variant which a plan with it alone has
//! ([`fuseline_ir::cplan::CPlan::output_variant`]), and has a row stride of its own.
//!
//! Skeletons set accumulators to the neutral element before the first unit, and own everything that happens between
//! units.

pub use crate::roles::has_sparse_entry;

/// A side input laid out for one unit.
#[derive(Clone, Copy, Debug)]
pub struct Side<'a> {
    /// The values.
    pub values: &'a [f64],
    /// Distance between the unit's consecutive rows in `values`; 0 where every row sees the same.
    pub row_stride: usize,
    /// Columns of a matrix, or cells of a vector.
    pub cols: usize,
    /// For matrices that dense vectors are multiplied with: the matrix, if they
    /// [add up its rows](fuseline_vecprims::adds_up_rows), else its transpose (`cols` rows), row after row. Empty for others.
    pub factor: &'a [f64],
}

impl Side<'_> {
    /// The entry of inputs that are no side inputs.
    pub const EMPTY: Side<'static> = Side { values: &[], row_stride: 0, cols: 0, factor: &[] };
}

/// The main input of one unit.
#[derive(Clone, Copy, Debug)]
pub enum Main<'a> {
    /// Dense rows, `row_stride` apart.
    Dense {
        /// The cells.
        values: &'a [f64],
        /// Distance between rows.
        row_stride: usize,
    },
    /// CSR rows; see the module's notes on positions.
    Sparse {
        /// Row offsets, one more than rows; the first need not be 0.
        row_offsets: &'a [usize],
        /// Column of each position.
        columns: &'a [u32],
        /// Value of each position.
        values: &'a [f64],
    },
}

/// A unit of work.
#[derive(Clone, Copy, Debug)]
pub struct Unit<'a> {
    /// Number of rows.
    pub rows: usize,
    /// Number of columns of the main input (of the tile, for dense Cell units; 0 for sparse ones of `row_agg`).
    pub cols: usize,
    /// Index of the first row in the main input; that of the others where the plan reads `RowIndex`.
    pub first_row: usize,
    /// Index of the first column in the main input.
    pub first_col: usize,
    /// The main input.
    pub main: Main<'a>,
    /// Side inputs by [`fuseline_ir::cplan::CInputId`] (the main input's entry and those of scalars are unused).
    pub sides: &'a [Side<'a>],
    /// The product of a row of U and one of V for each cell or position, in Outer plans that read them.
    pub products: &'a [f64],
    /// How far behind the cells of a dense Outer unit those of the next one lie, around the end of the address space, in
    /// X and its dense sides: code may ask for these ahead. 0 where no unit follows.
    pub next_unit: usize,
}

/// An output of one unit.
#[derive(Debug)]
pub struct Output<'a> {
    /// The cells.
    pub values: &'a mut [f64],
    /// Distance between rows.
    pub row_stride: usize,
}

/// What does not change from unit to unit, and the scratch memory of the calling thread.
#[derive(Debug)]
pub struct Context<'a> {
    /// Scalar inputs by [`fuseline_ir::cplan::CInputId`] (entries of matrices are unused).
    pub scalars: &'a [f64],
    /// Scratch memory, at least [`Kernel::scratch_len`] values for the largest unit.
    pub scratch: &'a mut [f64],
}

/// What of a unit the memory depends on that code needs for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitSize {
    /// Rows.
    pub rows: usize,
    /// Positions of a sparse unit, else none.
    pub positions: usize,
    /// The most values of a row that are computed or copied for all columns: those of a tile, or of the longest vector.
    pub longest: usize,
}

/// The compiled genexec of a fused operator: native code or an interpreter.
pub trait Kernel: Send + Sync + std::fmt::Debug {
    /// Whether there is an entry for units with a sparse main input. Where there is none, the skeleton hands out dense rows.
    fn has_sparse_entry(&self) -> bool;

    /// The scratch values that a unit needs.
    fn scratch_len(&self, unit: UnitSize) -> usize;

    /// Runs the plan on one unit. `outputs` has one entry per output of the plan. Skeletons alone call this, through a
    /// [`CompiledCPlan`](crate::CompiledCPlan): what they hand out has the extents that the plan reads and writes.
    fn genexec(&self, context: &mut Context<'_>, unit: &Unit<'_>, outputs: &mut [Output<'_>]);
}

/// C layout of [`Side`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RawSide {
    /// First value.
    pub values: *const f64,
    /// Distance between rows.
    pub row_stride: usize,
    /// Columns.
    pub cols: usize,
    /// First value of what dense vectors are multiplied with.
    pub factor: *const f64,
}

/// C layout of [`Output`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RawOutput {
    /// First value.
    pub values: *mut f64,
    /// Distance between rows.
    pub row_stride: usize,
}

/// C layout of [`Context`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RawContext {
    /// Scalars by input id.
    pub scalars: *const f64,
    /// Scratch memory.
    pub scratch: *mut f64,
}

/// C layout of [`Unit`] with its outputs.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RawUnit {
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub cols: usize,
    /// Index of the first row.
    pub first_row: usize,
    /// Index of the first column.
    pub first_col: usize,
    /// Main input: dense cells or non-zero values.
    pub main: *const f64,
    /// Distance between dense rows.
    pub main_stride: usize,
    /// Row offsets of a sparse main input, else null.
    pub row_offsets: *const usize,
    /// Columns of a sparse main input, else null.
    pub columns: *const u32,
    /// Side inputs by input id.
    pub sides: *const RawSide,
    /// Products of factors by cell or position.
    pub products: *const f64,
    /// How far behind the unit's cells those of the next unit lie.
    pub next_unit: usize,
    /// Outputs.
    pub outputs: *const RawOutput,
}

/// An entry point of generated code.
///
/// # Safety
/// The context and the unit must describe live memory of the extents that the plan reads and writes, and outputs must
/// overlap nothing else.
pub type GenExec = unsafe extern "C" fn(context: *const RawContext, unit: *const RawUnit);

/// Entry points of generated code with the owner of their memory.
pub struct NativeKernel<Owner> {
    dense: Option<GenExec>,
    sparse: Option<GenExec>,
    scratch: fn(&Owner, UnitSize) -> usize,
    owner: Owner,
}

impl<Owner> std::fmt::Debug for NativeKernel<Owner> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NativeKernel").field("dense", &self.dense).field("sparse", &self.sparse).finish_non_exhaustive()
    }
}

impl<Owner: Send + Sync> NativeKernel<Owner> {
    /// Wraps entry points.
    ///
    /// # Safety
    /// Each entry point must implement the genexec of one verified plan as the module says, must not unwind, and must
    /// stay mapped as long as `owner` lives. The kernel must be given away as that of a
    /// [`CompiledCPlan`](crate::CompiledCPlan) of the same plan alone, or behind one, since it runs whatever unit it gets.
    pub unsafe fn new(
        dense: Option<GenExec>,
        sparse: Option<GenExec>,
        scratch: fn(&Owner, UnitSize) -> usize,
        owner: Owner,
    ) -> Self {
        NativeKernel { dense, sparse, scratch, owner }
    }

    /// The owner of the code.
    pub fn owner(&self) -> &Owner {
        &self.owner
    }
}

/// The most inputs or outputs for which the raw views are kept on the stack.
const INLINE_VIEWS: usize = 16;

impl<Owner: Send + Sync> Kernel for NativeKernel<Owner> {
    fn has_sparse_entry(&self) -> bool {
        self.sparse.is_some()
    }

    fn scratch_len(&self, unit: UnitSize) -> usize {
        (self.scratch)(&self.owner, unit)
    }

    fn genexec(&self, context: &mut Context<'_>, unit: &Unit<'_>, outputs: &mut [Output<'_>]) {
        let sides: smallvec::SmallVec<[RawSide; INLINE_VIEWS]> = unit
            .sides
            .iter()
            .map(|side| RawSide {
                values: side.values.as_ptr(),
                row_stride: side.row_stride,
                cols: side.cols,
                factor: side.factor.as_ptr(),
            })
            .collect();
        let outputs: smallvec::SmallVec<[RawOutput; INLINE_VIEWS]> = outputs
            .iter_mut()
            .map(|output| RawOutput { values: output.values.as_mut_ptr(), row_stride: output.row_stride })
            .collect();
        let (entry, main, main_stride, row_offsets, columns) = match unit.main {
            Main::Dense { values, row_stride } => {
                (self.dense, values.as_ptr(), row_stride, std::ptr::null(), std::ptr::null())
            }
            Main::Sparse { row_offsets, columns, values } => {
                (self.sparse, values.as_ptr(), 0, row_offsets.as_ptr(), columns.as_ptr())
            }
        };
        let raw_context = RawContext { scalars: context.scalars.as_ptr(), scratch: context.scratch.as_mut_ptr() };
        let raw_unit = RawUnit {
            rows: unit.rows,
            cols: unit.cols,
            first_row: unit.first_row,
            first_col: unit.first_col,
            main,
            main_stride,
            row_offsets,
            columns,
            sides: sides.as_ptr(),
            products: unit.products.as_ptr(),
            next_unit: unit.next_unit,
            outputs: outputs.as_ptr(),
        };
        let entry = entry.expect("skeletons ask has_sparse_entry before they hand out sparse units");
        // SAFETY: `new`'s contract says that the entry implements its plan's genexec, is mapped while `owner` lives, which
        // `self` holds, and is reached through a `CompiledCPlan` of this plan alone. So the unit is one of `execute`, which
        // sized the slices above for the plan, or of somebody who vouched for them.
        unsafe { entry(&raw const raw_context, &raw const raw_unit) }
    }
}
