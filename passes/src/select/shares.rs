//! The sparsity that operators exploit, as far as lower bounds may count on it: how few of their cells they visit.
//!
//! The paper leaves open which sparsity its bound assumes. That of the sparsest matrix of the partition is admissible,
//! and makes the bound useless where a single Outer operator is; here each group has its own share.

use super::space::SearchSpace;
use crate::template::{TEMPLATES, Template};
use bumpalo::collections::Vec as BumpVec;
use fuseline_ir::Space;
use fuseline_ir::hop::{HopId, HopOp};
use fuseline_ir::ops::{BinaryOp, BinaryZero};

/// By group: the least share of their cells that operators visit.
pub(super) struct LeastShares<'a> {
    /// Operators that start at the group.
    pub(super) starting: BumpVec<'a, f64>,
    /// Operators that contain the group.
    pub(super) containing: BumpVec<'a, f64>,
}

impl<'a> LeastShares<'a> {
    /// Of all templates whose operators may skip zeros of cells.
    pub(super) fn new(space: &SearchSpace<'a>) -> Self {
        let by_cell = TEMPLATES.iter().filter(|template| template.ttype().space() != Space::Rows);
        let shares = by_cell.map(|template| LeastShares::of_template(space, *template));
        let none = LeastShares { starting: ones(space), containing: ones(space) };
        shares.fold(none, |least, other| LeastShares {
            starting: lesser(least.starting, &other.starting),
            containing: lesser(least.containing, &other.containing),
        })
    }

    fn of_template(space: &SearchSpace<'a>, template: &dyn Template) -> Self {
        let mut starting = driven_shares(space, template);
        let has_place = (0..starting.len()).map(|group| has_place(space, group, template));
        let has_place = BumpVec::from_iter_in(has_place, space.scratch);
        for (group, share) in starting.iter_mut().enumerate() {
            if !has_place[group] || template.is_driven() && !space.starts(group, template.ttype()) {
                *share = 1.0;
            }
        }
        let mut containing = starting.clone();
        // An operator visits what its root needs, wherever above it starts. References ascend by consumer.
        for reference in space.graph.references.iter().rev().filter(|reference| has_place[reference.producer]) {
            containing[reference.producer] = containing[reference.producer].min(containing[reference.consumer]);
        }
        LeastShares { starting, containing }
    }
}

/// All cells, by group.
fn ones<'a>(space: &SearchSpace<'a>) -> BumpVec<'a, f64> {
    bumpalo::vec![in space.scratch; 1.0; space.partition.members.len()]
}

fn lesser<'a>(mut one: BumpVec<'a, f64>, other: &[f64]) -> BumpVec<'a, f64> {
    one.iter_mut().zip(other).for_each(|(one, other)| *one = one.min(*other));
    one
}

/// Whether an operator of the template may contain the group, as one of its own, or as one of another template that it
/// takes the place of where that is not needed.
fn has_place(space: &SearchSpace<'_>, group: usize, template: &dyn Template) -> bool {
    let id = space.partition.members[group];
    let gives_place = |other: &&&dyn Template| other.simpler() == Some(template.ttype());
    template.is_driven()
        || space.has_template(group, template.ttype())
        || TEMPLATES.iter().filter(gives_place).any(|other| !other.is_needed(space.context, id, id))
}

/// By group: the sparsity of the sparsest matrix that determines the group's cells where it is zero.
fn driven_shares<'a>(space: &SearchSpace<'a>, template: &dyn Template) -> BumpVec<'a, f64> {
    let members = &space.partition.members;
    let driver_share = |id: HopId| {
        if space.context.hop(id).is_matrix() { template.visited_share(space.context, id) } else { 1.0 }
    };
    let mut shares: BumpVec<'_, f64> = BumpVec::with_capacity_in(members.len(), space.scratch);
    for &id in members {
        let inputs = &space.context.hop(id).inputs;
        let literal = |input: HopId| space.context.dag.literal_f64(input);
        let share = |input: HopId| {
            let group = members[..shares.len()].binary_search(&input);
            group.map_or(1.0, |group| shares[group]).min(driver_share(input))
        };
        // Where one operand determines the result, and where all do.
        let any =
            || inputs.iter().map(|&id| if literal(id) == Some(0.0) { 0.0 } else { share(id) }).fold(1.0, f64::min);
        let all = || inputs.iter().map(|&id| if literal(id).is_some() { 0.0 } else { share(id) }).fold(0.0, f64::max);
        let driven = match space.context.hop(id).op {
            HopOp::Binary(op) | HopOp::Outer(op) if needs_all(op) => all(),
            HopOp::Nary(op) if op.fold().is_none_or(needs_all) => all(),
            HopOp::Index => share(inputs[0]),
            HopOp::DataGen(_) => 1.0,
            _ => any(),
        };
        shares.push(driven.min(driver_share(id)));
    }
    shares
}

/// Whether no zero of one operand determines the result of an operation.
fn needs_all(op: BinaryOp) -> bool {
    matches!(op.zero(), BinaryZero::Joint | BinaryZero::Fills) && op != BinaryOp::Minus1Mult
}
