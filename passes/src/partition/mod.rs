//! Plan partitions and interesting points (section 4.2).
//!
//! A partition is a connected component of groups over fusion references; partitions are optimised independently.
//! Components of a single group leave nothing to decide and are not listed.

#[cfg(test)]
mod tests;

use crate::facts::Context;
use crate::template;
use crate::union_find::UnionFind;
use cranelift_entity::EntitySet;
use fuseline_ir::hop::HopId;
use fuseline_ir::memo::{MemoEntry, MemoTable, TemplateType};

/// A boolean fusion decision: whether `consumer` reads `producer` from a materialised intermediate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InterestingPoint {
    /// The reading operator.
    pub consumer: HopId,
    /// The operator that may be materialised.
    pub producer: HopId,
}

/// A set of groups that are connected by fusion references.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanPartition {
    /// The groups, ascending.
    pub members: Vec<HopId>,
    /// Members that no member refers to: where costing starts.
    pub roots: Vec<HopId>,
    /// Matrices from outside that members read.
    pub inputs: Vec<HopId>,
    /// Members other than roots with several consumers.
    pub materialization_points: Vec<HopId>,
    /// Members other than roots that operators outside, or the outputs of the DAG, read too.
    pub externally_consumed: Vec<HopId>,
    /// The decisions that span the search space: consumers of materialisation points, and template switches.
    pub points: Vec<InterestingPoint>,
}

/// Splits the memo table into partitions, in ascending order of their first members.
pub fn partition(context: &Context<'_>, memo: &MemoTable) -> Vec<PlanPartition> {
    connected_components(memo).into_iter().map(|members| analyze(context, memo, members)).collect()
}

/// The groups that references connect, in ascending order; sets of at least two.
fn connected_components(memo: &MemoTable) -> Vec<Vec<HopId>> {
    let groups: Vec<HopId> = memo.groups().map(|(group, _)| group).collect();
    let mut connected = UnionFind::new(groups.len());
    for (position, (_, entries)) in memo.groups().enumerate() {
        for reference in entries.iter().flat_map(MemoEntry::references) {
            if let Ok(referenced) = groups.binary_search(&reference) {
                connected.union(position, referenced);
            }
        }
    }
    let mut components: Vec<Vec<HopId>> = vec![Vec::new(); groups.len()];
    for (position, &group) in groups.iter().enumerate() {
        components[connected.find(position)].push(group);
    }
    components.retain(|component| component.len() > 1);
    components
}

/// All partitions as one, for a search without partitioning.
pub(crate) fn merge(context: &Context<'_>, memo: &MemoTable, partitions: &[PlanPartition]) -> PlanPartition {
    let mut members: Vec<HopId> = partitions.iter().flat_map(|partition| partition.members.iter().copied()).collect();
    members.sort_unstable();
    analyze(context, memo, members)
}

fn analyze(context: &Context<'_>, memo: &MemoTable, members: Vec<HopId>) -> PlanPartition {
    let mut inside = EntitySet::new();
    let mut referenced = EntitySet::new();
    for &member in &members {
        inside.insert(member);
    }
    for reference in members.iter().flat_map(|&member| memo.entries(member)).flat_map(MemoEntry::references) {
        referenced.insert(reference);
    }
    let mut partition = PlanPartition::default();
    for &member in &members {
        for &input in &context.hop(member).inputs {
            if !inside.contains(input) && context.hop(input).is_matrix() {
                partition.inputs.push(input);
            }
        }
        if !referenced.contains(member) {
            partition.roots.push(member);
            continue;
        }
        if context.consumer_count(member) > 1 {
            partition.materialization_points.push(member);
        }
        if context.leaves_dag(member) || context.consumers(member).iter().any(|&c| !inside.contains(c)) {
            partition.externally_consumed.push(member);
        }
    }
    partition.inputs.sort_unstable();
    partition.inputs.dedup();
    partition.points = interesting_points(memo, &members, &partition.materialization_points);
    partition.members = members;
    partition
}

/// Edges of which an entry makes a reference, and that lead to a materialisation point or switch the template.
fn interesting_points(memo: &MemoTable, members: &[HopId], materialization: &[HopId]) -> Vec<InterestingPoint> {
    let mut points = Vec::new();
    for &consumer in members {
        for producer in memo.entries(consumer).iter().flat_map(MemoEntry::references) {
            let point = InterestingPoint { consumer, producer };
            if materialization.binary_search(&producer).is_ok() || is_template_switch(memo, point) {
                points.push(point);
            }
        }
    }
    points.sort_unstable();
    points.dedup();
    points
}

/// Whether the producer has valid fused plans of a template that the consumer cannot continue.
fn is_template_switch(memo: &MemoTable, point: InterestingPoint) -> bool {
    let continued = |ttype: TemplateType| {
        memo.entries(point.consumer).iter().any(|entry| {
            // A plan that has no driver yet, and needs one, continues nothing that would be worth keeping.
            entry.ttype == ttype
                && entry.references().any(|id| id == point.producer)
                && (!template::of(ttype).is_driven() || entry.close.is_valid())
        })
    };
    memo.entries(point.producer)
        .iter()
        .any(|entry| entry.close.is_valid() && entry.has_references() && !continued(entry.ttype))
}
