//! What Row operators go through anew for every unit of dense rows: the right sides of their products, the sums that products
//! below a transpose add to, and sums by column.
//!
//! The paper's model reads each input once (section 4.3), which holds where these stay in the caches of a core. Beyond,
//! each unit fetches them again from where they lie. Products of matrices by themselves go by larger blocks of rows, and do not.

use super::product::{Passes, passes};
use super::work::is_column_aggregate;
use crate::cover::Operator;
use crate::facts::{Context, SCALAR_BYTES, bytes_of, sparsity};
use crate::machine::Machine;
use fuseline_ir::hop::HopId;
use smallvec::SmallVec;

/// A matrix that an operator goes through again and again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sweep {
    /// Its bytes.
    pub bytes: f64,
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
    /// A thread's own sums by column and vectors of a row, which are written, too.
    Vectors,
}

impl Sweep {
    /// Seconds of so many threads that go through it, or through one each; none where it stays in the caches of a core.
    pub(super) fn seconds(&self, machine: &Machine, threads: f64) -> f64 {
        let near = machine.caches[1].size;
        if self.bytes <= near {
            return 0.0;
        }
        let once = match self.of {
            Swept::Factor => self.bytes / machine.bandwidth(self.bytes).read,
            Swept::Sums => self.seconds_of_own(machine, threads),
            // Of a few vectors, each of which is done with before the next row, a part is still there.
            Swept::Vectors => self.seconds_of_own(machine, threads) * ((self.bytes - near) / near).min(1.0),
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
pub(super) fn swept(context: &Context<'_>, operator: &Operator) -> SmallVec<[Sweep; 2]> {
    operator.members.iter().filter_map(|&id| sweep(context, id)).collect()
}

/// The sums by column of a fused operator over rows, if it has some, and what it stores of each row besides, which comes between
/// one row's additions to these and the next one's: sparse rows that are laid out, and those of products with several columns.
pub(super) fn sums_by_column(
    context: &Context<'_>,
    operator: &Operator,
    laid_out: impl Iterator<Item = HopId>,
) -> Option<Sweep> {
    let is_sum = |&id: &HopId| is_column_aggregate(context, id);
    let is_product = |&id: &HopId| {
        let is_product = passes(context, id).is_some_and(|passes| !passes.is_sum);
        is_product && context.hop(id).size.cols != Some(1)
    };
    if !operator.members.iter().any(is_sum) {
        return None;
    }
    let stored = laid_out.chain(operator.members.iter().copied().filter(|id| is_sum(id) || is_product(id)));
    let bytes = stored.map(|id| context.hop(id).size.cols.unwrap_or(0) as f64 * SCALAR_BYTES).sum();
    Some(Sweep { bytes, times: 0.0, of: Swept::Vectors })
}

/// What a product of dense rows and a matrix of several columns goes through.
fn sweep(context: &Context<'_>, id: HopId) -> Option<Sweep> {
    let Passes { rows_of, through, is_sum } = passes(context, id)?;
    if context.hop(id).size.cols == Some(1) || sparsity(context, rows_of) < 1.0 {
        return None;
    }
    let of = if is_sum { Swept::Sums } else { Swept::Factor };
    Some(Sweep { bytes: bytes_of(context, through), times: 0.0, of })
}
