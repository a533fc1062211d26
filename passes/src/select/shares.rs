//! The sparsity that operators exploit, as far as lower bounds may count on it: how few of their cells they visit.
//!
//! The paper leaves open which sparsity its bound assumes. That of the sparsest matrix of the partition is admissible,
//! and makes the bound useless where a single Outer operator is; here each group has its own share.

use super::entry::{ByMember, Member};
use super::search::PartitionSearch;
use super::space::SearchSpace;
use crate::template::{TEMPLATES, Template};
use fuseline_ir::Space;
use fuseline_ir::hop::{Hop, HopId, HopOp};
use fuseline_ir::ops::{BinaryOp, BinaryZero};

/// The least share of their cells that operators visit.
pub(super) struct LeastShares<'a> {
    /// Operators that start at the group.
    pub(super) starting: ByMember<'a, f64>,
    /// Operators that contain the group.
    pub(super) containing: ByMember<'a, f64>,
}

impl<'a> LeastShares<'a> {
    /// Of all templates, whose operators may skip zeros of cells or go by the non-zeros of rows.
    pub(super) fn new(space: &SearchSpace<'a>) -> Self {
        let mut least = LeastShares { starting: ones(space), containing: ones(space) };
        for template in TEMPLATES {
            let shares = LeastShares::of_template(space, *template);
            for group in space.search.members() {
                least.starting[group] = least.starting[group].min(shares.starting[group]);
                least.containing[group] = least.containing[group].min(shares.containing[group]);
            }
        }
        least
    }

    fn of_template(space: &SearchSpace<'a>, template: &dyn Template) -> Self {
        let mut starting = driven_shares(space, template);
        let has_place = space.search.members().map(|group| has_place(space, group, template));
        let has_place = ByMember::new(has_place, space.search.scratch);
        for group in space.search.members() {
            if !has_place[group] || template.is_driven() && !space.starts(group, template.ttype()) {
                starting[group] = 1.0;
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
fn ones<'a>(space: &SearchSpace<'a>) -> ByMember<'a, f64> {
    ByMember::filled(1.0, space.search.partition.members.len(), space.search.scratch)
}

/// Whether an operator of the template may contain the group, as one of its own, or as one of another template that it
/// takes the place of where that is not needed.
fn has_place(space: &SearchSpace<'_>, group: Member, template: &dyn Template) -> bool {
    let id = space.search.id(group);
    template.is_driven()
        || space.has_template(group, template.ttype())
        || TEMPLATES
            .iter()
            .filter(|other| other.simpler() == Some(template.ttype()))
            .any(|other| !other.is_needed(space.search.context, id, id))
}

/// By group: the sparsity of the sparsest matrix that determines the group's cells where it is zero.
fn driven_shares<'a>(space: &SearchSpace<'a>, template: &dyn Template) -> ByMember<'a, f64> {
    let PartitionSearch { partition, scratch, .. } = space.search;
    let mut shares =
        DrivenShares { space, template, groups: ByMember::with_capacity(partition.members.len(), scratch) };
    for &id in &partition.members {
        let share = shares.determined(id).min(shares.driver(id));
        shares.groups.push(share);
    }
    shares.groups
}

/// The shares of [`driven_shares`], group by group.
struct DrivenShares<'s, 'a> {
    space: &'s SearchSpace<'a>,
    template: &'s dyn Template,
    /// Of the groups so far.
    groups: ByMember<'a, f64>,
}

impl DrivenShares<'_, '_> {
    /// The share of a value if it drives the operator.
    fn driver(&self, id: HopId) -> f64 {
        let context = self.space.search.context;
        if context.hop(id).is_matrix() { self.template.visited_share(context, id) } else { 1.0 }
    }

    /// The share of a value that an operation reads.
    fn input(&self, id: HopId) -> f64 {
        let group = self.space.search.member(id);
        group.map_or(1.0, |group| self.groups[group]).min(self.driver(id))
    }

    /// The share that the inputs of an operation leave of its cells.
    fn determined(&self, id: HopId) -> f64 {
        let hop = self.space.search.context.hop(id);
        match hop.op {
            HopOp::Binary(op) | HopOp::Outer(op) if needs_all(op) => self.all(hop),
            HopOp::Nary(op) if op.fold().is_none_or(needs_all) => self.all(hop),
            HopOp::Index => self.input(hop.inputs[0]),
            HopOp::DataGen(_) | HopOp::Parameterized { .. } => 1.0,
            _ => self.any(&hop.inputs),
        }
    }

    /// Where one operand determines the result.
    fn any(&self, inputs: &[HopId]) -> f64 {
        let shares = inputs.iter().map(|&id| if self.literal(id) == Some(0.0) { 0.0 } else { self.input(id) });
        shares.fold(1.0, f64::min)
    }

    /// Where all operands together determine the result: a scalar is the same everywhere, and a value of a row in all of its
    /// columns, which makes what is computed of positions another value between them, but one alone.
    fn all(&self, hop: &Hop) -> f64 {
        let context = self.space.search.context;
        let is_by_row = |id: HopId| {
            let goes_by_rows = self.template.ttype().space() == Space::Rows;
            goes_by_rows && context.hop(id).size.cols == Some(1) && hop.size.cols != Some(1)
        };
        let matrices = hop.inputs.iter().filter(|&&id| context.hop(id).is_matrix() && !is_by_row(id));
        matrices.map(|&id| self.input(id)).fold(0.0, f64::max)
    }

    fn literal(&self, id: HopId) -> Option<f64> {
        self.space.search.context.dag.literal_f64(id)
    }
}

/// Whether no zero of one operand determines the result of an operation.
fn needs_all(op: BinaryOp) -> bool {
    matches!(op.zero(), BinaryZero::Joint | BinaryZero::Fills) && op != BinaryOp::Minus1Mult
}
