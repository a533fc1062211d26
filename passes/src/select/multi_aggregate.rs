//! Composition of multi-aggregates (MAgg): full aggregates over cells of equal sizes that share an input are computed
//! in one pass.
//!
//! Candidates are the fused Cell operators that end in a full aggregate, and basic full aggregates, of all partitions;
//! inner products `t(x) %*% y` are sums of cells, too.
//! They are merged greedily in ascending order, any number of them, as long as none depends on another and the cost
//! model finds the merged operator no slower.

use super::{cover, saves_work};
use crate::construct::outside_inputs;
use crate::cost::{self, CostModel, Operator};
use crate::template::{Context, is_cell_aggregate, is_inner_product};
use cranelift_entity::{EntitySet, SecondaryMap};
use fuseline_ir::SizeInfo;
use fuseline_ir::hop::{FusionCover, HopId, HopOp};
use fuseline_ir::memo::TemplateType;
use fuseline_ir::ops::Direction;

/// Operators to be computed together.
#[derive(Clone)]
struct Group {
    space: SizeInfo,
    roots: Vec<HopId>,
    members: Vec<HopId>,
    inputs: Vec<HopId>,
    seconds: f64,
}

/// The covers of the chosen operators, with full aggregates merged where that pays.
pub(crate) fn compose(context: &Context<'_>, model: &CostModel, operators: Vec<Operator>) -> Vec<FusionCover> {
    let mut fused_roots = EntitySet::new();
    for operator in operators.iter().filter(|operator| operator.template.is_some()) {
        fused_roots.insert(operator.root);
    }
    let (mut candidates, others): (Vec<Operator>, Vec<Operator>) =
        operators.into_iter().partition(|operator| is_candidate(context, operator));
    candidates.extend(
        context.dag.hops.keys().filter(|id| !fused_roots.contains(*id)).filter_map(|id| basic_aggregate(context, id)),
    );
    candidates.sort_by_key(|operator| operator.root);

    let mut groups: Vec<Group> = Vec::new();
    for candidate in candidates {
        let single = Group::of(context, model, &candidate);
        let partner = (0..groups.len()).find_map(|slot| {
            let merged = groups[slot].merge(context, model, &single)?;
            let alone = groups[slot].seconds + single.seconds;
            (merged.seconds <= alone && is_independent(context, &groups, slot, &merged)).then_some((slot, merged))
        });
        match partner {
            Some((slot, merged)) => groups[slot] = merged,
            None => groups.push(single),
        }
    }
    let singles = others.iter().filter_map(|operator| cover(context, operator));
    groups.iter().filter_map(|group| group.cover(context)).chain(singles).collect()
}

pub(crate) fn is_full_aggregate(context: &Context<'_>, id: HopId) -> bool {
    match context.hop(id).op {
        HopOp::AggUnary(_, Direction::Full) => is_cell_aggregate(context, id),
        _ => is_inner_product(context, id),
    }
}

fn is_candidate(context: &Context<'_>, operator: &Operator) -> bool {
    operator.template == Some(TemplateType::Cell) && is_full_aggregate(context, operator.root)
}

/// A live aggregate that no fused operator computes.
fn basic_aggregate(context: &Context<'_>, id: HopId) -> Option<Operator> {
    let is_candidate = context.is_live(id) && is_full_aggregate(context, id);
    is_candidate.then(|| Operator {
        template: Some(TemplateType::Cell),
        root: id,
        members: vec![id],
        inputs: context.hop(id).inputs.to_vec(),
    })
}

/// The operator with the transpose that it reads through, if it ends in an inner product, as one of its members.
fn with_transpose(context: &Context<'_>, operator: &Operator) -> Operator {
    let mut operator = operator.clone();
    let root = context.hop(operator.root);
    if root.op == HopOp::MatMul {
        operator.members.push(root.inputs[0]);
        operator.members.sort_unstable();
        operator.members.dedup();
        operator.inputs = outside_inputs(context.dag, &operator.members);
    }
    operator
}

impl Group {
    fn of(context: &Context<'_>, model: &CostModel, operator: &Operator) -> Group {
        let operator = with_transpose(context, operator);
        let space = cost::iteration_space(context, &operator.members, operator.root);
        let (roots, members, inputs) = (vec![operator.root], operator.members, operator.inputs);
        Group { space, roots, members, inputs, seconds: 0.0 }.costed(context, model)
    }

    fn costed(mut self, context: &Context<'_>, model: &CostModel) -> Group {
        self.seconds = model.multi_aggregate_seconds(context, &self.space, &self.roots, &self.members, &self.inputs);
        self
    }

    /// The two together, if they run over cells of equal sizes, share a matrix, and neither reads the other's results.
    fn merge(&self, context: &Context<'_>, model: &CostModel, other: &Group) -> Option<Group> {
        let shares = |id: &HopId| context.hop(*id).is_matrix() && other.inputs.contains(id);
        let depends = |one: &Group, other: &Group| one.inputs.iter().any(|input| other.roots.contains(input));
        if !self.space.same_dims(&other.space)
            || !self.inputs.iter().any(shares)
            || depends(self, other)
            || depends(other, self)
        {
            return None;
        }
        let union = |one: &[HopId], other: &[HopId]| {
            let mut all = [one, other].concat();
            all.sort_unstable();
            all.dedup();
            all
        };
        let members = union(&self.members, &other.members);
        let mut inputs = union(&self.inputs, &other.inputs);
        inputs.retain(|input| members.binary_search(input).is_err());
        let roots = union(&self.roots, &other.roots);
        Some(Group { space: self.space, roots, members, inputs, seconds: 0.0 }.costed(context, model))
    }

    /// The cover, unless it is a single basic operator.
    fn cover(&self, context: &Context<'_>) -> Option<FusionCover> {
        if let [root] = self.roots[..] {
            let operator = Operator {
                template: Some(TemplateType::Cell),
                root,
                members: self.members.clone(),
                inputs: self.inputs.clone(),
            };
            return cover(context, &operator).filter(|cover| saves_work(context, &cover.members));
        }
        let operator = Operator {
            template: Some(TemplateType::MAgg),
            root: self.roots[0],
            members: self.members.clone(),
            inputs: vec![],
        };
        cover(context, &operator).map(|cover| FusionCover { roots: self.roots.clone(), ..cover })
    }
}

/// Whether no input of the merged group depends on one of its roots, given the groups merged before: each of these is
/// one operator that needs all of its inputs.
fn is_independent(context: &Context<'_>, groups: &[Group], slot: usize, merged: &Group) -> bool {
    let mut group_of = SecondaryMap::<HopId, Option<u32>>::new();
    for (number, group) in groups.iter().enumerate().filter(|(number, group)| *number != slot && group.roots.len() > 1)
    {
        for &root in &group.roots {
            group_of[root] = Some(number as u32);
        }
    }
    let mut pending = merged.inputs.clone();
    let mut seen = EntitySet::new();
    while let Some(id) = pending.pop() {
        if merged.roots.contains(&id) {
            return false;
        }
        if seen.insert(id) {
            pending.extend(context.hop(id).inputs.iter().copied());
            pending.extend(group_of[id].into_iter().flat_map(|number| groups[number as usize].inputs.iter().copied()));
        }
    }
    true
}
