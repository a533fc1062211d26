//! What Row operators go through anew for dense rows: the right sides of their products for every row, and the sums that
//! products below a transpose add to for every unit of rows.
//!
//! The paper's model reads each input once (section 4.3), which holds where these stay in the caches of a core. Beyond,
//! they are fetched again from where they lie. Products of matrices by themselves go by blocks of rows, and do not.

use super::product::{Passes, passes};
use crate::cover::Operator;
use crate::facts::{Context, bytes_of, sparsity};
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
    /// Whether it is a thread's own sums, which are written, too.
    pub is_sum: bool,
}

impl Sweep {
    /// Seconds of so many threads that go through it, or through one each; none where it stays in the caches of a core.
    pub(super) fn seconds(&self, machine: &Machine, threads: f64) -> f64 {
        if self.bytes <= machine.caches[1].size {
            return 0.0;
        }
        let bandwidth = machine.bandwidth(if self.is_sum { threads * self.bytes } else { self.bytes });
        let once = self.bytes / bandwidth.read + if self.is_sum { self.bytes / bandwidth.write } else { 0.0 };
        self.times * once
    }
}

/// The sweeps of a fused operator over rows, which runs in so many units; where that is unknown each row is one.
pub(super) fn sweeps(context: &Context<'_>, operator: &Operator, units: Option<usize>) -> SmallVec<[Sweep; 2]> {
    operator.members.iter().filter_map(|&id| sweep(context, id, units)).collect()
}

/// What a product of dense rows and a matrix of several columns goes through.
fn sweep(context: &Context<'_>, id: HopId, units: Option<usize>) -> Option<Sweep> {
    let Passes { rows_of, through, is_sum } = passes(context, id)?;
    if context.hop(id).size.cols == Some(1) || sparsity(context, rows_of) < 1.0 {
        return None;
    }
    let rows = context.hop(rows_of).size.rows? as f64;
    let passes = units.filter(|_| is_sum).map_or(rows, |units| units as f64);
    Some(Sweep { bytes: bytes_of(context, through), times: (passes - 1.0).max(0.0), is_sum })
}
