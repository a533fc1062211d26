//! Plan partitions and interesting points (section 4.2).
//!
//! A partition is a connected component of groups over fusion references; partitions are optimised independently.
//! Components of a single group leave nothing to decide and are not listed. Transposes without plans belong to the partition of
//! the products that read them: whether these read through them decides whether they are computed.

#[cfg(test)]
mod tests;

use crate::facts::Context;
use crate::hops::{is_elementwise, is_transpose};
use crate::template;
use crate::union_find::UnionFind;
use cranelift_entity::{EntitySet, SecondaryMap};
use fuseline_ir::Space;
use fuseline_ir::hop::{HopId, HopOp};
use fuseline_ir::memo::{MemoEntry, MemoTable, TemplateType};
use serde::Serialize;

/// A boolean fusion decision: whether `consumer` reads `producer` from a materialised intermediate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InterestingPoint {
    /// The reading operator.
    pub consumer: HopId,
    /// The operator that may be materialised.
    pub producer: HopId,
}

/// Which fusion decisions are interesting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
pub enum PointKinds {
    /// All that may pay: consumers of materialisation points, template switches, and edges over which small values are
    /// computed again and again.
    #[default]
    Paying,
    /// The paper's definition (section 4.2): consumers of materialisation points, and edges to groups with plans of
    /// a template of which their consumer has none.
    Paper,
}

/// A set of groups that are connected by fusion references.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanPartition {
    /// The groups, ascending.
    pub members: Vec<HopId>,
    /// Members with plans that no member refers to: where costing starts.
    pub roots: Vec<HopId>,
    /// Matrices from outside that members read.
    pub inputs: Vec<HopId>,
    /// Members other than roots with several consumers.
    pub materialization_points: Vec<HopId>,
    /// Members other than roots that operators outside, or the outputs of the DAG, read too.
    pub externally_consumed: Vec<HopId>,
    /// The decisions that span the search space, of these kinds.
    pub points: Vec<InterestingPoint>,
}

/// Splits the memo table into partitions, in ascending order of their first members.
pub fn partition(context: &Context<'_>, memo: &MemoTable) -> Vec<PlanPartition> {
    partition_by(context, memo, PointKinds::default())
}

/// [`partition`] with points of these kinds.
pub fn partition_by(context: &Context<'_>, memo: &MemoTable, kinds: PointKinds) -> Vec<PlanPartition> {
    let components = with_transposes(context, memo, connected_components(memo));
    components.into_iter().map(|members| analyze(context, memo, members, kinds)).collect()
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

/// Components with the transposes without plans that their products read, those with a common one as one component.
fn with_transposes(context: &Context<'_>, memo: &MemoTable, components: Vec<Vec<HopId>>) -> Vec<Vec<HopId>> {
    let mut connected = UnionFind::new(components.len());
    let mut reader_of: SecondaryMap<HopId, Option<usize>> = SecondaryMap::new();
    let mut transposes = Vec::new();
    for (number, component) in components.iter().enumerate() {
        for transpose in component.iter().flat_map(|&id| read_through(context, id)) {
            if !memo.entries(transpose).is_empty() {
                continue;
            }
            match reader_of[transpose] {
                Some(other) => connected.union(number, other),
                None => {
                    reader_of[transpose] = Some(number);
                    transposes.push((transpose, number));
                }
            }
        }
    }
    let mut merged: Vec<Vec<HopId>> = vec![Vec::new(); components.len()];
    for (number, component) in components.into_iter().enumerate() {
        merged[connected.find(number)].extend(component);
    }
    for (transpose, reader) in transposes {
        merged[connected.find(reader)].push(transpose);
    }
    merged.retain(|component| !component.is_empty());
    merged.iter_mut().for_each(|component| component.sort_unstable());
    merged.sort_unstable_by_key(|component| component[0]);
    merged
}

/// The transposes that an operator reads through by itself: of products.
fn read_through(context: &Context<'_>, id: HopId) -> impl Iterator<Item = HopId> {
    let hop = context.hop(id);
    hop.inputs.iter().copied().filter(move |&input| !needs_value(context, id, input))
}

/// Whether an operator by itself needs the value of its input: a product reads through a transpose.
fn needs_value(context: &Context<'_>, consumer: HopId, input: HopId) -> bool {
    let is_read_through = context.hop(consumer).op == HopOp::MatMul && is_transpose(context.dag, input);
    !is_read_through || context.dag.evaluated_inputs(context.hop(consumer)).contains(&input)
}

/// All partitions as one, for a search without partitioning.
pub(crate) fn merge(
    context: &Context<'_>,
    memo: &MemoTable,
    partitions: &[PlanPartition],
    kinds: PointKinds,
) -> PlanPartition {
    let mut members: Vec<HopId> = partitions.iter().flat_map(|partition| partition.members.iter().copied()).collect();
    members.sort_unstable();
    analyze(context, memo, members, kinds)
}

fn analyze(context: &Context<'_>, memo: &MemoTable, members: Vec<HopId>, kinds: PointKinds) -> PlanPartition {
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
        let has_plans = !memo.entries(member).is_empty();
        if !referenced.contains(member) && has_plans {
            partition.roots.push(member);
            continue;
        }
        if context.consumer_count(member) > 1 && has_plans {
            partition.materialization_points.push(member);
        }
        let is_needed_outside =
            |&consumer: &HopId| !inside.contains(consumer) && needs_value(context, consumer, member);
        if context.leaves_dag(member) || context.consumers(member).iter().any(is_needed_outside) {
            partition.externally_consumed.push(member);
        }
    }
    partition.inputs.sort_unstable();
    partition.inputs.dedup();
    partition.points = interesting_points(context, memo, &members, &partition.materialization_points, kinds);
    partition.members = members;
    partition
}

/// Edges of which an entry makes a reference, and that lead to a materialisation point, switch the template or repeat a
/// smaller value.
fn interesting_points(
    context: &Context<'_>,
    memo: &MemoTable,
    members: &[HopId],
    materialization: &[HopId],
    kinds: PointKinds,
) -> Vec<InterestingPoint> {
    let pays = |point: InterestingPoint| match kinds {
        PointKinds::Paying => is_template_switch(memo, point) || repeats_smaller_value(context, memo, point),
        PointKinds::Paper => lacks_template(memo, point),
    };
    let mut points = Vec::new();
    for &consumer in members {
        for producer in memo.entries(consumer).iter().flat_map(MemoEntry::references) {
            let point = InterestingPoint { consumer, producer };
            if materialization.binary_search(&producer).is_ok() || pays(point) {
                points.push(point);
            }
        }
    }
    points.sort_unstable();
    points.dedup();
    points
}

/// The entries of the consumer that refer to the producer.
fn entries_across(memo: &MemoTable, point: InterestingPoint) -> impl Iterator<Item = &MemoEntry> {
    let InterestingPoint { consumer, producer } = point;
    memo.entries(consumer).iter().filter(move |entry| entry.references().any(|id| id == producer))
}

/// Whether the producer has plans of a template of which the consumer has none: the paper's definition of a switch.
fn lacks_template(memo: &MemoTable, point: InterestingPoint) -> bool {
    let of_consumer = |ttype| memo.entries(point.consumer).iter().any(|entry| entry.ttype == ttype);
    memo.entries(point.producer).iter().any(|entry| !of_consumer(entry.ttype))
}

/// Whether the producer has valid plans, of a single operator or more, of a template that the consumer cannot continue.
fn is_template_switch(memo: &MemoTable, point: InterestingPoint) -> bool {
    let continued = |ttype: TemplateType| {
        // A plan that has no driver yet, and needs one, continues nothing that would be worth keeping.
        let is_worth = |entry: &MemoEntry| !template::of(ttype).is_driven() || entry.close.is_valid();
        entries_across(memo, point).any(|entry| entry.ttype == ttype && is_worth(entry))
    };
    memo.entries(point.producer).iter().any(|entry| entry.close.is_valid() && !continued(entry.ttype))
}

/// Whether an operator over cells that fuses the edge computes the producer for each of the consumer's cells, of which there
/// are more than the producer has: `X * exp(v)`.
fn repeats_smaller_value(context: &Context<'_>, memo: &MemoTable, point: InterestingPoint) -> bool {
    let [consumer, producer] = [point.consumer, point.producer].map(|id| context.hop(id));
    let is_smaller = is_elementwise(context.dag, point.consumer) && !producer.size.same_dims(&consumer.size);
    is_smaller && entries_across(memo, point).any(|entry| entry.ttype.space() != Space::Rows)
}
