//! The analytical cost model (section 4.3): `C = sum over operators of T_write + max(T_read, T_compute)`.
//!
//! What an operator writes, reads (each distinct input once) and computes is its [`CostVector`], a function of sizes
//! alone (`vector`, `work`). [`CostModel`] turns it into seconds on a [`Machine`], within the constraints of memory and
//! cluster (`constraints`). Refinements of the paper's model:
//!
//! * A matrix moves at the bandwidth of the cache level that holds all of it: small intermediates never leave the cache.
//! * Classes of operations have different rates; every operator takes a moment to start, so do threads that share its
//!   work, and each row that a product or an aggregation takes in, which decides where rows are short.
//! * Sparse matrices count with their stored bytes, a visit of each row and non-zero, and the dense cells fetched for
//!   these; new ones with a store of each non-zero, and results of an input's pattern with their values alone. Fused operators
//!   pass over rows without non-zeros.
//! * Row operators over dense rows read a row in their first pass over it, and compute on it in others: how much of either
//!   the other hides is a fact of the machine. So is how much of writing computation hides where it takes longer than
//!   reading.
//! * Right sides and sums of Row operators' products that outgrow the caches of a core are fetched anew for each row.
//! * A non-zero fetches a cache line of each row vector, right side and sum that it meets, which lie anywhere in these: what
//!   that takes grows with the bytes of all of them, as fewer of their lines are in the nearer caches.
//! * Sums that blocks keep to themselves are filled and merged.
//! * What overlaps is not free: in every operator a share of the shorter of reading and computing shows.
//! * A convolution, fused or basic, unfolds each image and multiplies filters with it row after row, two operations for each
//!   cell of a filter and each value; a pool takes one for each cell of a window. Basic operators run the same primitives, so
//!   that fusion pays by what it does not store. The rates are those measured of products and element-wise operations row
//!   after row, which is an estimate.
//! * Outer operators over dense cells multiply factors in tiles, at the rate of matrix products.
//! * Sparse-safe Cell operators are scaled like Outer ones: the main input and the factors are read whole, while
//!   computation and other inputs of its size scale with the main input's sparsity.
//! * A value of fewer cells inside of a Cell operator is computed once per cell of the main input.
//!
//! Rates are facts of a machine, which calibration measures; how loops cut their work is said by `ir::work` and
//! `ir::schedule`. A constant that is called *fitted* relates what calibration does not measure to what it does: it was set
//! where predictions of the operators that it concerns meet their times in the section *model* of the benchmarks.

mod constraints;
mod outer;
mod prediction;
mod product;
mod schedule;
mod sparse_rows;
mod sweeps;
#[cfg(test)]
mod tests;
mod vector;
mod vectors;
mod work;

use crate::cover::Operator;
use crate::facts::{Context, SCALAR_BYTES};
use crate::machine::Machine;
use fuseline_ir::hop::HopId;
use fuseline_ir::memo::TemplateType;
pub use fuseline_ir::work::BLOCK_CELLS;
use fuseline_ir::{SizeInfo, Space};
use serde::Serialize;

pub use constraints::ExecutionType;
pub(crate) use constraints::prune_impossible;
pub use prediction::{Prediction, Predictions};
pub use schedule::Scheduled;
pub use sweeps::{Sweep, Swept};
pub use vector::{CostVector, InputRead, cost_vector};
pub(crate) use vector::{expected_output_bytes, least_read, least_visits};
pub use work::Work;

/// The cost model of a machine.
#[derive(Clone, Debug, Default, Serialize)]
pub struct CostModel {
    /// Its rates.
    pub machine: Machine,
    /// How often each operator will run, where that is known: what is paid once counts with its share. `None` leaves it
    /// out, as the paper does, whose scripts run their operators many times.
    pub executions: Option<f64>,
}

/// The seconds of one operator, by term.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CostTerms {
    /// Starting it.
    pub start: f64,
    /// Writing the output.
    pub write: f64,
    /// Reading the distinct inputs; overlaps with `compute`.
    pub read: f64,
    /// Computing.
    pub compute: f64,
    /// The part of the shorter of the two that the other does not hide.
    pub exposed: f64,
    /// The part of the write that computing hides.
    pub hidden: f64,
    /// The share of what is paid once.
    pub once: f64,
}

impl CostTerms {
    /// An operator on scalars, which takes no time to speak of.
    pub const FREE: CostTerms =
        CostTerms { start: 0.0, write: 0.0, read: 0.0, compute: 0.0, exposed: 0.0, hidden: 0.0, once: 0.0 };

    /// An operator that a constraint forbids.
    pub const FORBIDDEN: CostTerms = CostTerms { start: f64::INFINITY, ..CostTerms::FREE };

    /// All of it: reads and computation overlap, but for what is exposed, and computation hides a part of the write.
    pub fn seconds(&self) -> f64 {
        self.start + self.write - self.hidden + self.read.max(self.compute) + self.exposed + self.once
    }
}

impl CostModel {
    /// A model of this machine.
    pub fn new(machine: Machine) -> Self {
        CostModel { machine, executions: None }
    }

    /// What operators take that one thread runs, again and again.
    fn of_one_thread(&self) -> CostModel {
        CostModel::new(self.machine.of_one_thread())
    }

    /// Seconds of one basic or fused operator of a plan; infinite where a constraint forbids it.
    pub fn operator_seconds(&self, context: &Context<'_>, operator: &Operator) -> f64 {
        self.operator_terms(context, operator).seconds()
    }

    /// The terms that [`Self::operator_seconds`] adds up.
    pub fn operator_terms(&self, context: &Context<'_>, operator: &Operator) -> CostTerms {
        let Some(vector) = cost_vector(context, operator) else { return CostTerms::FORBIDDEN };
        self.terms(context, operator.template, &vector)
    }

    /// The seconds of an operator that writes, computes and reads this.
    pub(crate) fn terms(
        &self,
        context: &Context<'_>,
        template: Option<TemplateType>,
        vector: &CostVector,
    ) -> CostTerms {
        let terms = match self.execution(context, template, vector) {
            None => return CostTerms::FORBIDDEN,
            Some(ExecutionType::Local) => self.local_terms(template, vector),
            Some(ExecutionType::Distributed) => self.distributed_terms(vector),
        };
        let executions = self.executions.unwrap_or(f64::INFINITY);
        CostTerms { once: self.machine.first_time(template.is_some(), vector.output) / executions, ..terms }
    }

    fn local_terms(&self, template: Option<TemplateType>, vector: &CostVector) -> CostTerms {
        let machine = &self.machine;
        let is_scalar = vector.inputs.is_empty() && vector.output <= SCALAR_BYTES;
        if is_scalar {
            return CostTerms::FREE;
        }
        let is_shared = vector.is_shared && machine.threads > 1;
        let threads = if is_shared { machine.threads as f64 } else { 1.0 };
        let read = |input: &InputRead| machine.read_part_time(input.touched, input.bytes);
        // Cells that are fetched one by one take no longer than all of them in a row from memory; the loop over the non-zeros
        // waits.
        let waits = |input: &InputRead| {
            let gathers = input.gathers * machine.gather_time(input.bytes) / threads;
            let lines = input.lines * machine.line_time(input.line_bytes) / threads;
            (gathers.min(input.bytes / machine.memory.read) - read(input)).max(0.0) + lines
        };
        let own_start = match template.map(TemplateType::space) {
            Some(Space::Rows) => machine.start.fused_rows,
            Some(_) => machine.start.fused,
            None => machine.basic_start(vector.output),
        };
        let start = own_start + if is_shared { machine.start.parallel } else { 0.0 };
        let swept: f64 = vector.sweeps.iter().map(|sweep| sweep.seconds(machine, threads)).sum();
        let swept = swept + merge_seconds(machine, vector.private_sums);
        let read: f64 = vector.inputs.iter().map(&read).sum::<f64>() + swept;
        let waits: f64 = vector.inputs.iter().map(waits).sum();
        let compute = vector.work.seconds(machine, threads) + waits;
        let written = machine.local_write_time(vector.output);
        // Copies are made afterwards.
        let copied = machine.read_part_time(vector.copied, vector.copied) + machine.local_write_time(vector.copied);
        let apart = if vector.computes_apart { 1.0 - machine.overlap } else { 0.0 };
        let exposed = machine.exposed.max(apart) * read.min(compute);
        let hidden = machine.hidden_write * written.min((compute - read).max(0.0));
        CostTerms { start, write: written + copied, read, compute, exposed, hidden, once: 0.0 }
    }

    /// The fewest seconds that any plan computes on an operator, given the smallest sparsity by size.
    pub(crate) fn least_compute_time(
        &self,
        context: &Context<'_>,
        id: HopId,
        least_sparsity: impl Fn(&SizeInfo) -> f64,
    ) -> f64 {
        work::least_seconds(context, id, least_sparsity, &self.machine)
    }
}

/// Seconds to fill the sums that blocks keep to themselves, of so many bytes in all, and to merge them.
fn merge_seconds(machine: &Machine, private_sums: f64) -> f64 {
    let bandwidth = machine.bandwidth(private_sums);
    private_sums / bandwidth.write + private_sums / bandwidth.read
}
