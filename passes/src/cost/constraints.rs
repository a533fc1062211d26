//! Constraints on operators (section 4.1): memory budgets, and the block size of distributed matrices.
//!
//! An operator whose inputs and output exceed the memory budget runs on the cluster, or not at all. Both follow from
//! the operator's own inputs, so fusing one more input can move an operator to the cluster. Memory counts worst-case
//! sizes; what is unknown is taken to fit.

use super::vector::{CostVector, InputRead};
use super::{CostModel, CostTerms};
use crate::facts::Context;
use crate::machine::Cluster;
use fuseline_ir::Space;
use fuseline_ir::hop::HopId;
use fuseline_ir::memo::{MemoEntry, MemoTable, TemplateType};

/// Where an operator runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExecutionType {
    /// On this machine.
    Local,
    /// On the workers of the cluster.
    Distributed,
}

impl CostModel {
    /// Where an operator runs, or `None` where a constraint forbids it.
    pub fn execution(
        &self,
        context: &Context<'_>,
        template: Option<TemplateType>,
        vector: &CostVector,
    ) -> Option<ExecutionType> {
        let Some(budget) = self.machine.memory_budget else { return Some(ExecutionType::Local) };
        let inputs: f64 = vector.inputs.iter().map(|read| worst_case_bytes(context, read.id)).sum();
        if inputs + vector.output <= budget {
            return Some(ExecutionType::Local);
        }
        let cluster = self.machine.cluster.as_ref()?;
        let main = largest_input(vector).map(|main| main.id);
        let is_distributed = |id: HopId| Some(id) == main || !cluster.is_broadcast(worst_case_bytes(context, id));
        let splits_rows = |read: &InputRead| is_distributed(read.id) && has_split_rows(context, cluster, read.id);
        let is_row = template.map(TemplateType::space) == Some(Space::Rows);
        (!is_row || !vector.inputs.iter().any(splits_rows)).then_some(ExecutionType::Distributed)
    }

    /// The terms of an operator on the workers: the largest input is read where it lies, the others are brought there.
    pub(super) fn distributed_terms(&self, vector: &CostVector) -> CostTerms {
        let Some(cluster) = &self.machine.cluster else { return CostTerms::FORBIDDEN };
        let main = largest_input(vector).map(|main| main.id);
        let read = |input: &InputRead| {
            if Some(input.id) == main { cluster.read_time(input.touched) } else { cluster.side_input_time(input.bytes) }
        };
        CostTerms {
            start: cluster.start,
            write: cluster.write_time(vector.output),
            read: vector.inputs.iter().map(read).sum(),
            compute: vector.work.seconds(&self.machine, self.machine.threads as f64) / cluster.workers as f64,
            exposed: 0.0,
            hidden: 0.0,
            once: 0.0,
        }
    }
}

/// The largest input, of equally large ones the first.
fn largest_input(vector: &CostVector) -> Option<&InputRead> {
    vector.inputs.iter().rev().max_by(|one, other| one.bytes.total_cmp(&other.bytes))
}

/// Whether the rows of a distributed matrix lie in several blocks.
fn has_split_rows(context: &Context<'_>, cluster: &Cluster, id: HopId) -> bool {
    context.hop(id).size.cols.is_some_and(|cols| cols > cluster.block_size)
}

fn worst_case_bytes(context: &Context<'_>, id: HopId) -> f64 {
    context.worst_case_bytes(id).unwrap_or(0) as f64
}

/// Removes Row entries that no feasible operator contains: those that read a matrix which exceeds the memory budget by
/// itself, and whose rows lie in several blocks. What other combinations violate costs infinity.
pub(crate) fn prune_impossible(context: &Context<'_>, model: &CostModel, memo: &mut MemoTable) {
    let (Some(budget), Some(cluster)) = (model.machine.memory_budget, &model.machine.cluster) else { return };
    let is_unreadable = |id: HopId| {
        let bytes = worst_case_bytes(context, id);
        bytes > budget && !cluster.is_broadcast(bytes) && has_split_rows(context, cluster, id)
    };
    let groups: Vec<HopId> = memo.groups().map(|(group, _)| group).collect();
    // Groups ascend, so those that an entry refers to are done before it.
    for group in groups {
        let inputs = &context.hop(group).inputs;
        let impossible: Vec<MemoEntry> = memo
            .entries(group)
            .iter()
            .copied()
            .filter(|entry| {
                let mut read = inputs.iter().filter(|&&id| entry.references().all(|reference| reference != id));
                entry.ttype.space() == Space::Rows && read.any(|&id| is_unreadable(id))
                    || entry.references().any(|reference| memo.entries(reference).is_empty())
            })
            .collect();
        memo.retain(group, |entry| !impossible.contains(entry));
    }
}
