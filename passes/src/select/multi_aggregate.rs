//! Composition of multi-aggregates: aggregates that share an input are computed in one pass.
//!
//! Full aggregates over cells of equal sizes make a pass over cells (MAgg): fused Cell operators that end in one, and
//! basic ones, of all partitions; inner products `t(x) %*% y` are sums of cells, too. Beyond the paper, whatever
//! aggregates the same number of rows makes a pass over these (Row): fused Row operators that end in an aggregate or in
//! a product `t(X) %*% S`, and aggregates by column.
//! Given the operators, they are merged greedily in ascending order, any number of them, as long as none depends on
//! another and the cost model finds the merged operator no slower. The exact solver decides about both at once.

use super::PartitionPlan;
use crate::cost::CostModel;
use crate::cover::{
    Operator, cover, has_common_rows, is_aggregate, is_full_aggregate, is_worth_fusing, iteration_space, outside_inputs,
};
use crate::facts::Context;
use crate::template::aggregated_rows;
use cranelift_entity::{EntitySet, SecondaryMap};
use fuseline_ir::SizeInfo;
use fuseline_ir::hop::{FusionCover, HopId, HopOp};
use fuseline_ir::memo::TemplateType;
use smallvec::{Array, SmallVec};

/// What a pass runs over.
#[derive(Clone, Copy, PartialEq)]
enum Space {
    /// Cells of a matrix of this size.
    Cells(SizeInfo),
    /// So many rows.
    Rows(u64),
}

/// Aggregates to be computed together, by these operators.
#[derive(Clone)]
pub(super) struct Group {
    space: Space,
    /// What computes them, with the template of the space where they are several.
    pub(super) operator: Operator,
    /// Seconds of the multi-aggregate, or of the one operator.
    pub(super) seconds: f64,
    /// Seconds of the operators by themselves.
    pub(super) alone: f64,
}

/// The aggregates outside of the partitions, as operators to merge.
pub(super) fn outside_partitions(context: &Context<'_>, partitions: &[PartitionPlan]) -> Vec<Operator> {
    let mut inside = EntitySet::new();
    inside.extend(partitions.iter().flat_map(|plan| plan.partition.members.iter().copied()));
    let is_aggregate = |&id: &HopId| !inside.contains(id) && context.is_live(id) && is_aggregate(context, id);
    context.dag.hops.keys().filter(is_aggregate).map(|id| Operator::basic(context, id)).collect()
}

/// The aggregates of the chosen operators and from outside of the partitions, merged greedily.
pub(super) fn greedy(context: &Context<'_>, model: &CostModel, partitions: &[PartitionPlan]) -> Vec<Group> {
    let outside = outside_partitions(context, partitions);
    let operators = partitions.iter().flat_map(|plan| &plan.operators).chain(&outside);
    let single = |operator| Group::of(context, operator, model.operator_seconds(context, operator));
    let mut singles: Vec<Group> = operators.filter_map(single).collect();
    singles.sort_by_key(|single| single.operator.root());

    let mut groups: Vec<Group> = Vec::new();
    for single in singles {
        let partner = (0..groups.len()).find_map(|slot| {
            let merged = groups[slot].merge(context, model, &single)?;
            let apart = groups[slot].seconds + single.seconds;
            // Where a constraint forbids everything, passes would only need more memory.
            (merged.seconds.is_finite() && merged.seconds <= apart && is_independent(context, &groups, slot, &merged))
                .then_some((slot, merged))
        });
        match partner {
            Some((slot, merged)) => groups[slot] = merged,
            None => groups.push(single),
        }
    }
    groups
}

/// The operators of the partitions that run by themselves: those that no pass computes, besides what only an operator
/// of the pass read that another one of the pass has at hand.
pub(super) fn apart<'p>(
    context: &Context<'_>,
    partitions: impl Iterator<Item = &'p PartitionPlan>,
    groups: &[Group],
) -> Vec<&'p Operator> {
    let mut pass_of = SecondaryMap::<HopId, Option<&Group>>::new();
    for pass in groups.iter().filter(|group| group.is_pass()) {
        pass.operator.roots.iter().for_each(|&root| pass_of[root] = Some(pass));
    }
    let mut operators: Vec<&Operator> =
        partitions.flat_map(|plan| &plan.operators).filter(|operator| pass_of[operator.root()].is_none()).collect();
    let mut operator_of = SecondaryMap::<HopId, Option<&Operator>>::new();
    operators.iter().for_each(|operator| operator_of[operator.root()] = Some(operator));
    let mut needed = EntitySet::new();
    let mut pending = context.dag.roots();
    while let Some(id) = pending.pop() {
        if needed.insert(id) {
            let inputs: &[HopId] = match (pass_of[id], operator_of[id]) {
                (Some(pass), _) => &pass.operator.inputs,
                (None, Some(operator)) => &operator.inputs,
                (None, None) => &context.hop(id).inputs,
            };
            pending.extend_from_slice(inputs);
        }
    }
    operators.retain(|operator| needed.contains(operator.root()));
    operators
}

/// The covers of the chosen operators, aggregates in these groups.
pub(super) fn covers(context: &Context<'_>, partitions: &[PartitionPlan], groups: &[Group]) -> Vec<FusionCover> {
    let others = apart(context, partitions.iter(), groups).into_iter();
    let others = others.filter(|operator| is_worth_fusing(context, operator));
    let others = others.filter_map(|operator| cover(context, operator));
    groups
        .iter()
        .filter(|group| group.is_pass())
        .filter_map(|pass| cover(context, &pass.operator))
        .chain(others)
        .collect()
}

/// Seconds of the partitions' operators and of these aggregates outside, those of a group in one pass.
pub(super) fn seconds<'p>(
    context: &Context<'_>,
    model: &CostModel,
    partitions: impl Iterator<Item = &'p PartitionPlan>,
    outside: &[Operator],
    groups: &[Group],
) -> f64 {
    let passes: Vec<&Group> = groups.iter().filter(|group| group.is_pass()).collect();
    let is_merged =
        |aggregate: &&Operator| passes.iter().any(|pass| pass.operator.roots.binary_search(&aggregate.root()).is_ok());
    let outside = outside.iter().filter(|aggregate| !is_merged(aggregate));
    let apart = apart(context, partitions, groups).into_iter().chain(outside);
    let apart = apart.map(|operator| model.operator_seconds(context, operator));
    apart.chain(passes.iter().map(|pass| pass.seconds)).sum()
}

/// The operator as a pass computes it, if one can: with the template of the pass.
fn mergeable(context: &Context<'_>, operator: &Operator) -> Option<Operator> {
    let root = operator.root();
    let is_full = is_full_aggregate(context, root);
    let (template, operator) = match operator.template.filter(|_| is_worth_fusing(context, operator)) {
        None if is_full => (TemplateType::Cell, Operator::basic(context, root)),
        None => (TemplateType::Row, Operator::basic(context, root)),
        // The cells of a column are those of its rows, too.
        Some(TemplateType::Cell) if !is_full => (TemplateType::Row, operator.clone()),
        Some(template) => (template, operator.clone()),
    };
    let can_aggregate = match template {
        TemplateType::Cell => is_full,
        TemplateType::Row => aggregated_rows(context, root).is_some(),
        TemplateType::MAgg | TemplateType::Outer => false,
    };
    can_aggregate.then(|| with_transpose(context, Operator { template: Some(template), ..operator }))
}

/// The operator with the transpose that it reads through, if it ends in a product, as one of its members.
fn with_transpose(context: &Context<'_>, mut operator: Operator) -> Operator {
    let root = context.hop(operator.root());
    if root.op == HopOp::MatMul {
        operator.members.push(root.inputs[0]);
        operator.members.sort_unstable();
        operator.members.dedup();
        operator.inputs = outside_inputs(context.dag, &operator.members);
    }
    operator
}

impl Group {
    /// An aggregate that takes `alone` seconds by itself; none if no pass can compute what its operator does.
    pub(super) fn of(context: &Context<'_>, operator: &Operator, alone: f64) -> Option<Group> {
        let operator = mergeable(context, operator)?;
        let space = match operator.template {
            Some(TemplateType::Row) => Space::Rows(aggregated_rows(context, operator.root())?),
            _ => Space::Cells(iteration_space(context, &operator.members, operator.root())),
        };
        if space.is_rows() && !has_common_rows(context, &operator.members, &operator.roots) {
            return None;
        }
        let operator = Operator { template: Some(space.template()), ..operator };
        Some(Group { space, operator, seconds: alone, alone })
    }

    /// All of these together, if they can be merged one after the other.
    pub(super) fn all(context: &Context<'_>, model: &CostModel, singles: &[&Group]) -> Option<Group> {
        let (first, rest) = singles.split_first()?;
        let mut rest: SmallVec<[&Group; 8]> = SmallVec::from_slice(rest);
        let mut merged = (*first).clone();
        while !rest.is_empty() {
            let slot = rest.iter().position(|single| merged.absorb(context, single))?;
            rest.remove(slot);
        }
        Some(if merged.is_pass() { merged.priced(context, model) } else { merged })
    }

    /// Whether several aggregates are computed together.
    fn is_pass(&self) -> bool {
        self.operator.is_multi_aggregate()
    }

    /// Seconds that one pass saves.
    pub(super) fn saving(&self) -> f64 {
        self.alone - self.seconds
    }

    /// Whether the two run over cells of equal sizes, or over equally many rows, share a matrix of these, and neither
    /// reads the other's results.
    pub(super) fn can_merge(&self, context: &Context<'_>, other: &Group) -> bool {
        let (own, others) = (&self.operator, &other.operator);
        let is_shared = |id: &HopId| others.inputs.binary_search(id).is_ok() && self.space.reads_in_parts(context, *id);
        let depends =
            |one: &Operator, other: &Operator| one.inputs.iter().any(|input| other.roots.binary_search(input).is_ok());
        self.space.is_same(&other.space)
            && own.inputs.iter().any(is_shared)
            && !depends(own, others)
            && !depends(others, own)
    }

    fn priced(mut self, context: &Context<'_>, model: &CostModel) -> Group {
        self.seconds = model.operator_seconds(context, &self.operator);
        self
    }

    /// The two together, if they can be merged.
    fn merge(&self, context: &Context<'_>, model: &CostModel, other: &Group) -> Option<Group> {
        if !self.can_merge(context, other) {
            return None;
        }
        let mut merged = self.clone();
        merged.absorb(context, other).then(|| merged.priced(context, model))
    }

    /// Takes in another one, but for the price; whether that can be.
    fn absorb(&mut self, context: &Context<'_>, other: &Group) -> bool {
        if !self.can_merge(context, other) {
            return false;
        }
        let before = self.space.is_rows().then(|| self.operator.clone());
        let own = &mut self.operator;
        insert_all(&mut own.roots, &other.operator.roots);
        insert_all(&mut own.members, &other.operator.members);
        insert_all(&mut own.inputs, &other.operator.inputs);
        let members = &own.members;
        own.inputs.retain(|input| members.binary_search(input).is_err());
        if let Some(before) = before
            && !has_common_rows(context, &self.operator.members, &self.operator.roots)
        {
            self.operator = before;
            return false;
        }
        self.alone += other.alone;
        true
    }
}

/// Adds operators to others; both ascend.
fn insert_all<A: Array<Item = HopId>>(all: &mut SmallVec<A>, more: &[HopId]) {
    all.extend_from_slice(more);
    all.sort_unstable();
    all.dedup();
}

impl Space {
    fn is_rows(&self) -> bool {
        matches!(self, Space::Rows(_))
    }

    fn is_same(&self, other: &Space) -> bool {
        match (self, other) {
            (Space::Cells(one), Space::Cells(other)) => one.same_dims(other),
            (Space::Rows(one), Space::Rows(other)) => one == other,
            _ => false,
        }
    }

    /// The template of operators that compute several aggregates.
    fn template(&self) -> TemplateType {
        match self {
            Space::Cells(_) => TemplateType::MAgg,
            Space::Rows(_) => TemplateType::Row,
        }
    }

    /// Whether an input is a matrix that the pass goes through; over rows it may read others as a whole.
    fn reads_in_parts(&self, context: &Context<'_>, input: HopId) -> bool {
        let hop = context.hop(input);
        hop.is_matrix()
            && match self {
                Space::Cells(_) => true,
                Space::Rows(rows) => hop.size.rows == Some(*rows),
            }
    }
}

/// Whether none of these groups waits for itself.
pub(super) fn are_independent(context: &Context<'_>, groups: &[Group]) -> bool {
    let several = groups.iter().enumerate().filter(|(_, group)| group.is_pass());
    several.into_iter().all(|(slot, group)| is_independent(context, groups, slot, group))
}

/// Whether no input of the merged group depends on one of its roots, given the groups merged before: each of these is
/// one operator that needs all of its inputs.
fn is_independent(context: &Context<'_>, groups: &[Group], slot: usize, merged: &Group) -> bool {
    let mut group_of = SecondaryMap::<HopId, Option<u32>>::new();
    for (number, group) in groups.iter().enumerate().filter(|(number, group)| *number != slot && group.is_pass()) {
        for &root in &group.operator.roots {
            group_of[root] = Some(number as u32);
        }
    }
    let Operator { roots, inputs, .. } = &merged.operator;
    let mut pending: SmallVec<[HopId; 32]> = SmallVec::from_slice(inputs);
    let mut seen = EntitySet::new();
    while let Some(id) = pending.pop() {
        if roots.binary_search(&id).is_ok() {
            return false;
        }
        if seen.insert(id) {
            pending.extend(context.hop(id).inputs.iter().copied());
            pending.extend(
                group_of[id].into_iter().flat_map(|number| groups[number as usize].operator.inputs.iter().copied()),
            );
        }
    }
    true
}
