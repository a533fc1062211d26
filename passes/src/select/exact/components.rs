//! Which partitions and aggregates have to be decided about together, because multi-aggregates may span them.

use super::super::PartitionPlan;
use super::super::multi_aggregate::{Pass, outside_partitions};
use crate::cover::Operator;
use crate::facts::{Context, can_share_pass};
use crate::hops::is_transpose;
use crate::union_find::UnionFind;
use foldhash::{HashMap, HashMapExt};
use fuseline_ir::hop::HopId;
use smallvec::{SmallVec, smallvec};

/// Partitions and aggregates outside of them that may read the same matrices, row by row of equally many.
#[derive(Clone, Debug, Default)]
pub(super) struct Component {
    /// The numbers of the partitions.
    pub(super) partitions: Vec<usize>,
    /// The aggregates that are in no partition.
    pub(super) outside: Vec<Operator>,
    /// All aggregates, ascending.
    pub(super) aggregates: Vec<HopId>,
}

/// The components that have several aggregates.
pub(super) fn components(context: &Context<'_>, partitions: &[PartitionPlan]) -> Vec<Component> {
    let mut parts = Vec::new();
    for (number, plan) in partitions.iter().enumerate() {
        let members = plan.partition.members.iter().copied();
        let aggregates: Vec<HopId> = members.filter(|&id| can_share_pass(context, id)).collect();
        if !aggregates.is_empty() {
            parts.push(Component { partitions: vec![number], outside: vec![], aggregates });
        }
    }
    for operator in outside_partitions(context, partitions) {
        let aggregates = vec![operator.root()];
        parts.push(Component { partitions: vec![], outside: vec![operator], aggregates });
    }

    let mut connected = UnionFind::new(parts.len());
    let are_rows_known = parts.iter().all(|part| part.passed_rows(context).all(|rows| rows.is_some()));
    let mut first_reader = HashMap::<(HopId, Option<u64>), usize>::new();
    for (number, part) in parts.iter().enumerate() {
        let mut passed_rows: SmallVec<[Option<u64>; 4]> =
            if are_rows_known { part.passed_rows(context).collect() } else { smallvec![None] };
        passed_rows.sort_unstable();
        passed_rows.dedup();
        for id in part.may_read(context, partitions) {
            for &rows in &passed_rows {
                connected.union(number, *first_reader.entry((id, rows)).or_insert(number));
            }
        }
    }
    let mut components = vec![Component::default(); parts.len()];
    for (number, part) in parts.into_iter().enumerate() {
        let component = &mut components[connected.find(number)];
        component.partitions.extend(part.partitions);
        component.outside.extend(part.outside);
        component.aggregates.extend(part.aggregates);
    }
    components.retain(|component| component.aggregates.len() > 1);
    components.iter_mut().for_each(|component| component.aggregates.sort_unstable());
    components
}

impl Component {
    /// The plans of its partitions, among those of all.
    pub(super) fn plans<'p>(&self, partitions: &'p [PartitionPlan]) -> impl Iterator<Item = &'p PartitionPlan> {
        self.partitions.iter().map(|&number| &partitions[number])
    }

    /// How many groups and aggregates there are to decide about.
    pub(super) fn size(&self, partitions: &[PartitionPlan]) -> usize {
        self.plans(partitions).map(|plan| plan.partition.members.len()).sum::<usize>() + self.outside.len()
    }

    /// Whether a pass computes one of its aggregates.
    pub(super) fn has_aggregate_of(&self, pass: &Pass) -> bool {
        pass.operator.roots.iter().any(|root| self.aggregates.binary_search(root).is_ok())
    }

    /// How many rows a pass of each of its aggregates goes through: no pass serves two that differ in that.
    fn passed_rows(&self, context: &Context<'_>) -> impl Iterator<Item = Option<u64>> {
        // What is aggregated comes last, in `t(X) %*% S`, too.
        self.aggregates.iter().filter_map(|&id| context.hop(id).inputs.last()).map(|&id| context.hop(id).size.rows)
    }

    /// The matrices that some operator of an aggregate may read, and perhaps others.
    fn may_read(&self, context: &Context<'_>, partitions: &[PartitionPlan]) -> Vec<HopId> {
        let inside = self.plans(partitions).map(|plan| &plan.partition);
        let mut all: Vec<HopId> = inside.flat_map(|part| part.members.iter().chain(&part.inputs)).copied().collect();
        all.extend(self.outside.iter().flat_map(|operator| operator.inputs.iter().copied()));
        // Inner products read through a transpose.
        let transposes: Vec<HopId> = all.iter().copied().filter(|&id| is_transpose(context.dag, id)).collect();
        all.extend(transposes.into_iter().map(|id| context.hop(id).inputs[0]));
        all.retain(|&id| context.hop(id).is_matrix());
        all
    }
}
