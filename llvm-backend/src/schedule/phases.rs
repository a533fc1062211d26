//! Which element-wise operations share a loop.
//!
//! Operations of one extent belong to one loop unless something that is not element-wise lies between them. Each
//! operation gets the earliest phase that its operands allow, a step of another kind in between costing one phase;
//! then element-wise operations move to the latest phase that their users allow, which joins them with their users
//! and shortens their lives. Within a phase nothing depends on anything outside its own loop.

use super::{Extent, FusedLoop, OPERATIONS_PER_LOOP, PrimitiveMode, Scheduler, Step};
use cranelift_entity::SecondaryMap;
use fuseline_ir::cplan::{CNode, CNodeId};
use fuseline_ir::ops::AggOp;
use fuseline_ir::template::Space;

impl Scheduler<'_> {
    /// Fused loops where they are worth it, calls elsewhere.
    pub(super) fn fused(&self) -> Vec<Step> {
        let (phases, output_phase) = self.phases();
        let mut by_phase = vec![Vec::new(); output_phase + 1];
        self.operations().for_each(|id| by_phase[phases[id]].push(id));
        let mut steps = Vec::new();
        for (phase, here) in by_phase.into_iter().enumerate() {
            let (joining, calls): (Vec<CNodeId>, Vec<CNodeId>) =
                here.into_iter().partition(|&id| self.is_fusable(id) || self.joins(id).is_some());
            steps.extend(calls.into_iter().map(Step::Call));
            let outputs = if phase == output_phase { self.fusable_outputs() } else { vec![] };
            for group in self.groups(&joining, outputs) {
                self.emit_group(group, &mut steps);
            }
        }
        steps
    }

    /// The element-wise operand whose loop a row aggregate can join.
    fn joins(&self, id: CNodeId) -> Option<CNodeId> {
        match self.plan.nodes[id] {
            // A variance runs over its values twice. Where rows are sparse, they would be loops of their own.
            CNode::RowAgg(agg, operand) if agg != AggOp::Var && self.extents[operand] != Extent::Positions => {
                self.is_fusable(operand).then_some(operand)
            }
            _ => None,
        }
    }

    /// Whether the user reads the operand within its own loop.
    fn shares_loop(&self, operand: CNodeId, user: CNodeId) -> bool {
        let same_loop =
            self.is_fusable(operand) && self.is_fusable(user) && self.extents[operand] == self.extents[user];
        same_loop || self.joins(user) == Some(operand)
    }

    fn fusable_outputs(&self) -> Vec<usize> {
        (0..self.plan.outputs.len()).filter(|&index| self.is_fusable_output(index)).collect()
    }

    /// The phase of every operation, and that of the outputs: the last.
    fn phases(&self) -> (SecondaryMap<CNodeId, usize>, usize) {
        let mut phases = SecondaryMap::new();
        for id in self.operations() {
            let operands = self.plan.nodes[id].operands().into_iter().filter(|&operand| self.is_computed(operand));
            let after = operands.map(|operand| phases[operand] + usize::from(!self.shares_loop(operand, id)));
            phases[id] = after.max().unwrap_or(0);
        }
        let output_phase = self
            .fusable_outputs()
            .into_iter()
            .map(|index| {
                let node = self.plan.outputs[index].node();
                let in_loop = self.is_fusable(node) && self.extents[node] == self.output_extent(index);
                if self.is_computed(node) { phases[node] + usize::from(!in_loop) } else { 0 }
            })
            .chain(self.operations().map(|id| phases[id]))
            .max()
            .unwrap_or(0);
        self.delay(&mut phases, output_phase);
        (phases, output_phase)
    }

    /// Moves element-wise operations to the latest phase that their users allow.
    fn delay(&self, phases: &mut SecondaryMap<CNodeId, usize>, output_phase: usize) {
        let mut latest = SecondaryMap::with_default(usize::MAX);
        for index in self.fusable_outputs() {
            let node = self.plan.outputs[index].node();
            let in_loop = self.extents[node] == self.output_extent(index);
            latest[node] = output_phase - usize::from(!in_loop && output_phase > 0);
        }
        for id in self.operations().rev() {
            if self.is_fusable(id) && latest[id] != usize::MAX {
                phases[id] = phases[id].max(latest[id]);
            }
            for operand in self.plan.nodes[id].operands() {
                if self.is_computed(operand) {
                    let limit = phases[id] - usize::from(!self.shares_loop(operand, id));
                    latest[operand] = latest[operand].min(limit);
                }
            }
        }
    }

    /// Loops over these operations, one per extent, with the row aggregates and outputs that can join.
    fn groups(&self, operations: &[CNodeId], outputs: Vec<usize>) -> Vec<FusedLoop> {
        let mut groups: Vec<FusedLoop> = Vec::new();
        let group = |extent: Extent, groups: &mut Vec<FusedLoop>| {
            groups.iter().position(|group| group.extent == extent).unwrap_or_else(|| {
                groups.push(FusedLoop { extent, nodes: vec![], row_aggs: vec![], outputs: vec![] });
                groups.len() - 1
            })
        };
        for &id in operations {
            let index = group(self.extents[self.joins(id).unwrap_or(id)], &mut groups);
            match self.joins(id) {
                Some(_) => groups[index].row_aggs.push(id),
                None => groups[index].nodes.push(id),
            }
        }
        for output in outputs {
            let index = group(self.output_extent(output), &mut groups);
            groups[index].outputs.push(output);
        }
        groups
    }

    /// Loops, or the calls that they would replace.
    fn emit_group(&self, mut group: FusedLoop, steps: &mut Vec<Step>) {
        if self.is_worth_inlining(&group) && !self.is_row_aggregate_alone(&group) {
            let operations = self.operations_per_loop(group.nodes.len());
            while group.nodes.len() > operations {
                let rest = group.nodes.split_off(operations);
                let nodes = std::mem::replace(&mut group.nodes, rest);
                steps.push(Step::Loop(FusedLoop { extent: group.extent, nodes, row_aggs: vec![], outputs: vec![] }));
            }
            steps.push(Step::Loop(group));
        } else {
            steps.extend(group.nodes.iter().map(|&id| self.single(id)));
            steps.extend(group.row_aggs.iter().map(|&id| Step::Call(id)));
        }
    }

    /// The most operations of each loop that does a part of so many.
    fn operations_per_loop(&self, operations: usize) -> usize {
        match self.prims {
            PrimitiveMode::Auto => operations.div_ceil(operations.div_ceil(OPERATIONS_PER_LOOP).max(1)),
            PrimitiveMode::Shared | PrimitiveMode::Inlined => operations,
        }
    }

    /// Row plans leave aggregates of values that are in memory to the primitives.
    fn is_row_aggregate_alone(&self, group: &FusedLoop) -> bool {
        group.nodes.is_empty() && self.plan.space() == Space::Rows
    }
}
