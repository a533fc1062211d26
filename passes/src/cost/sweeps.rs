//! What Row operators go through anew for every unit of dense rows: the right sides of their products, the sums that products
//! below a transpose add to, sums by column, and vectors with a value for each column.
//!
//! The paper's model reads each input once (section 4.3), which holds where these stay in the caches of a core. Beyond,
//! each unit fetches them again from where they lie. Products of matrices by themselves go by larger blocks of rows, and do not.

use super::product::{Passes, passes};
use super::sparse_rows::SparseRows;
use super::vectors::Vectors;
use super::work::{is_by_cell, is_column_aggregate};
use crate::cover::Operator;
use crate::facts::{Context, SCALAR_BYTES, bytes_of};
use crate::machine::Machine;
use fuseline_ir::SizeInfo;
use fuseline_ir::hop::HopId;
use smallvec::SmallVec;

/// Bytes of rows from which on these and a few vectors beside them may not fit the caches of a core.
const LONG_ROW: f64 = (1_u64 << 16) as f64;

/// A matrix that an operator goes through again and again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sweep {
    /// Its bytes.
    pub bytes: f64,
    /// Bytes of what passes through the caches of a core between two of these times.
    pub beside: f64,
    /// How often after the first time.
    pub times: f64,
    /// What it is.
    pub of: Swept,
}

/// What an operator goes through again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Swept {
    /// The right side of a product.
    Factor,
    /// A thread's own sums, which are written, too.
    Sums,
    /// A thread's own sums by column and other vectors that it stores of a row, which are written, too.
    Vectors,
    /// Vectors with a value for each column.
    OfColumns,
}

impl Sweep {
    /// Seconds of so many threads that go through it, or through one each; none where it stays in the caches of a core.
    pub(super) fn seconds(&self, machine: &Machine, threads: f64) -> f64 {
        let (near, held) = (machine.caches[1].size, self.bytes + self.beside);
        if held <= near {
            return 0.0;
        }
        // Of a few vectors, each of which is done with before the next row, a part is still there.
        let missing = || ((held - near) / near).min(1.0);
        let read = || self.bytes / machine.bandwidth(self.bytes).read;
        let once = match self.of {
            Swept::Factor => read(),
            Swept::Sums => self.seconds_of_own(machine, threads),
            Swept::Vectors => self.seconds_of_own(machine, threads) * missing(),
            Swept::OfColumns => read() * missing(),
        };
        self.times * once
    }

    /// Seconds to read and to write what each of so many threads has one of.
    fn seconds_of_own(&self, machine: &Machine, threads: f64) -> f64 {
        let bandwidth = machine.bandwidth(threads * self.bytes);
        self.bytes / bandwidth.read + self.bytes / bandwidth.write
    }
}

/// The matrices that a fused operator over rows goes through for every unit. How many there are its schedule says.
pub(super) fn swept(
    context: &Context<'_>,
    operator: &Operator,
    sparse_rows: Option<&SparseRows>,
) -> SmallVec<[Sweep; 2]> {
    operator.members.iter().filter_map(|&id| sweep(context, id, sparse_rows)).collect()
}

/// What a fused operator over rows stores of each row, which comes between one row's use of it and the next one's: sums by column,
/// sparse rows that are laid out, rows of products with several columns, and computed rows that products take in. The product
/// of a transpose with a column is such a sum, too.
pub(super) fn vectors_of_rows(context: &Context<'_>, operator: &Operator, sparse_rows: Option<&SparseRows>) -> Sweep {
    let is_column = |id: HopId| context.hop(id).size.cols == Some(1);
    let of_member = |id: HopId| match dense_passes(context, id, sparse_rows) {
        Some(Passes { rows_of, is_sum: true, .. }) => {
            let sums = is_column(id).then_some(rows_of);
            [sums, Some(rows_of).filter(|&rows| operator.covers(rows) && is_by_cell(context, rows))]
        }
        Some(_) => [Some(id).filter(|&id| !is_column(id)), None],
        None => [is_column_aggregate(context, id).then_some(id), None],
    };
    let laid_out = sparse_rows.into_iter().flat_map(|rows| rows.scattered(context, operator));
    let stored = laid_out.chain(operator.members.iter().copied().flat_map(of_member).flatten());
    let bytes = stored.map(|id| context.hop(id).size.cols.unwrap_or(0) as f64 * SCALAR_BYTES).sum();
    Sweep { bytes, beside: 0.0, times: 0.0, of: Swept::Vectors }
}

/// The vectors with a value for each column that dense rows, or rows that are laid out, are multiplied with, cell by cell or in
/// products.
pub(super) fn vectors_of_columns(
    context: &Context<'_>,
    operator: &Operator,
    sparse_rows: Option<&SparseRows>,
) -> Option<Sweep> {
    let sizes = operator.inputs.iter().map(|&id| &context.hop(id).size);
    let is_long = |size: &&SizeInfo| size.cols.is_some_and(|cols| SCALAR_BYTES * cols as f64 >= LONG_ROW);
    let rows = sizes.filter(is_long).filter(|size| size.rows != Some(1)).max_by_key(|size| size.cols)?;
    let row = SCALAR_BYTES * rows.cols.unwrap_or(0) as f64;
    if sparse_rows.is_some_and(|sparse| sparse.scattered(context, operator).next().is_none()) {
        return None;
    }
    let vectors = Vectors::of(context, operator);
    let is_right = |id: HopId| {
        let right = |passes: Passes| !passes.is_sum && passes.through == id && context.hop(id).size.cols == Some(1);
        operator.members.iter().any(|&member| dense_passes(context, member, sparse_rows).is_some_and(right))
    };
    let of_columns = operator.inputs.iter().filter(|&&id| vectors.belongs_to_columns(id, rows) || is_right(id));
    let bytes: f64 = of_columns.map(|&id| bytes_of(context, id)).sum();
    (bytes > 0.0).then_some(Sweep { bytes, beside: row, times: 0.0, of: Swept::OfColumns })
}

/// What a product of dense rows and a matrix of several columns goes through.
fn sweep(context: &Context<'_>, id: HopId, sparse_rows: Option<&SparseRows>) -> Option<Sweep> {
    let Passes { through, is_sum, .. } = dense_passes(context, id, sparse_rows)?;
    if context.hop(id).size.cols == Some(1) {
        return None;
    }
    let of = if is_sum { Swept::Sums } else { Swept::Factor };
    Some(Sweep { bytes: bytes_of(context, through), beside: 0.0, times: 0.0, of })
}

/// What a product of dense rows goes through. Rows that are computed for all columns are dense, however many zeros they have.
fn dense_passes(context: &Context<'_>, id: HopId, sparse_rows: Option<&SparseRows>) -> Option<Passes> {
    let takes_sparse = |passes: &Passes| sparse_rows.is_some_and(|rows| rows.takes_sparse(id, passes.rows_of));
    passes(context, id).filter(|passes| !takes_sparse(passes))
}
