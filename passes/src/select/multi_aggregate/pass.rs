//! A pass over cells or rows that computes an aggregate, or several.

use super::super::renumber::Renumbered;
use crate::cost::CostModel;
use crate::cover::{Operator, outside_inputs};
use crate::facts::{Context, aggregated_rows, aggregates_all_cells};
use crate::hops::untransposed;
use fuseline_ir::hop::{HopId, HopOp};
use fuseline_ir::memo::TemplateType;
use fuseline_ir::{SizeInfo, Space};
use smallvec::{Array, SmallVec};

/// What a pass runs over.
#[derive(Clone, Copy, PartialEq)]
enum Extent {
    /// Cells of a matrix of this size.
    Cells(SizeInfo),
    /// So many rows.
    Rows(u64),
}

/// Aggregates to be computed together, by these operators.
#[derive(Clone, PartialEq)]
pub(in crate::select) struct Pass {
    space: Extent,
    /// What computes them, with the template of the space where they are several.
    pub(in crate::select) operator: Operator,
    /// Seconds of the multi-aggregate, or of the one operator.
    pub(in crate::select) seconds: f64,
    /// Seconds of the operators by themselves.
    pub(in crate::select) alone: f64,
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

/// Whether an operator reads a transpose that is a member of another one.
fn reads_transpose_of(context: &Context<'_>, one: &Operator, other: &Operator) -> bool {
    one.inputs.iter().any(|&input| untransposed(context.dag, input).is_some() && other.covers(input))
}

impl Pass {
    /// An aggregate that takes `alone` seconds by itself; none if no pass can compute what its operator does.
    pub(in crate::select) fn of(context: &Context<'_>, operator: &Operator, alone: f64) -> Option<Pass> {
        let operator = if operator.is_worth_fusing(context) {
            operator.clone()
        } else {
            Operator::basic(context, operator.root())
        };
        let runs_over = Extent::template_for(context, &operator)?;
        let operator = with_transpose(context, Operator { template: Some(runs_over), ..operator });
        let space = Extent::of(context, &operator)?;
        if space.is_rows() && !operator.is_constructible(context) {
            return None;
        }
        Some(Pass { space, operator, seconds: alone, alone })
    }

    /// All of these together, if they can be merged one after the other.
    pub(in crate::select) fn all(context: &Context<'_>, model: &CostModel, singles: &[&Pass]) -> Option<Pass> {
        Pass::all_unpriced(context, singles).map(|merged| merged.priced(context, model))
    }

    /// All of these together, but for the price.
    pub(in crate::select) fn all_unpriced(context: &Context<'_>, singles: &[&Pass]) -> Option<Pass> {
        let (first, rest) = singles.split_first()?;
        let mut rest: SmallVec<[&Pass; 8]> = SmallVec::from_slice(rest);
        let mut merged = (*first).clone();
        while !rest.is_empty() {
            let slot = rest.iter().position(|single| merged.absorb(context, single))?;
            rest.remove(slot);
        }
        Some(merged)
    }

    /// This and another one together, but for the price.
    pub(in crate::select) fn with(&self, context: &Context<'_>, other: &Pass) -> Option<Pass> {
        let mut merged = self.clone();
        merged.absorb(context, other).then_some(merged)
    }

    /// Whether several aggregates are computed together.
    pub(in crate::select) fn is_shared(&self) -> bool {
        self.operator.is_multi_aggregate()
    }

    /// Seconds that one pass saves.
    pub(in crate::select) fn saving(&self) -> f64 {
        self.alone - self.seconds
    }

    /// Whether the two run over cells of equal sizes, or over equally many rows, share a matrix of these, and neither
    /// reads the other's results, nor, as a matrix, a transpose that the other's product reads through: nothing computes that.
    pub(in crate::select) fn can_merge(&self, context: &Context<'_>, other: &Pass) -> bool {
        let (own, others) = (&self.operator, &other.operator);
        let is_shared = |id: &HopId| others.inputs.binary_search(id).is_ok() && self.space.reads_in_parts(context, *id);
        let depends =
            |one: &Operator, other: &Operator| one.inputs.iter().any(|input| other.roots.binary_search(input).is_ok());
        self.space.is_same(&other.space)
            && own.inputs.iter().any(is_shared)
            && !depends(own, others)
            && !depends(others, own)
            && !(self.space.is_rows()
                && (reads_transpose_of(context, own, others) || reads_transpose_of(context, others, own)))
    }

    /// With the price of a pass of several; what is none has its own.
    pub(in crate::select) fn priced(mut self, context: &Context<'_>, model: &CostModel) -> Pass {
        if self.is_shared() {
            self.seconds = model.operator_seconds(context, &self.operator);
        }
        self
    }

    /// The two together, if they can be merged.
    pub(super) fn merge(&self, context: &Context<'_>, model: &CostModel, other: &Pass) -> Option<Pass> {
        self.with(context, other).map(|merged| merged.priced(context, model))
    }

    /// Takes in another one, but for the price; whether that can be.
    fn absorb(&mut self, context: &Context<'_>, other: &Pass) -> bool {
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
            && !self.operator.is_constructible(context)
        {
            self.operator = before;
            return false;
        }
        self.alone += other.alone;
        true
    }
}

impl Renumbered for Pass {
    fn renumbered(&self, id: &dyn Fn(HopId) -> Option<HopId>) -> Option<Self> {
        Some(Pass { operator: self.operator.renumbered(id)?, ..*self })
    }
}

/// Adds operators to others; both ascend.
fn insert_all<A: Array<Item = HopId>>(all: &mut SmallVec<A>, more: &[HopId]) {
    all.extend_from_slice(more);
    all.sort_unstable();
    all.dedup();
}

impl Extent {
    /// The template of the pass that an aggregate's operator may become a part of; none if there is no such pass.
    fn template_for(context: &Context<'_>, operator: &Operator) -> Option<TemplateType> {
        let is_over_cells = aggregates_all_cells(context, operator.root());
        match operator.template.map(TemplateType::space) {
            Some(Space::Factors) => None,
            None | Some(Space::Cells) if is_over_cells => Some(TemplateType::MAgg),
            // The cells of a column are those of its rows, too.
            _ => aggregated_rows(context, operator.root()).map(|_| TemplateType::Row),
        }
    }

    /// What a pass of this operator runs over.
    fn of(context: &Context<'_>, operator: &Operator) -> Option<Extent> {
        match operator.template?.space() {
            Space::Rows => aggregated_rows(context, operator.root()).map(Extent::Rows),
            Space::Cells | Space::Factors => Some(Extent::Cells(operator.space(context))),
        }
    }

    fn is_rows(&self) -> bool {
        matches!(self, Extent::Rows(_))
    }

    fn is_same(&self, other: &Extent) -> bool {
        match (self, other) {
            (Extent::Cells(one), Extent::Cells(other)) => one.same_dims(other),
            (Extent::Rows(one), Extent::Rows(other)) => one == other,
            _ => false,
        }
    }

    /// Whether an input is a matrix that the pass goes through; over rows it may read others as a whole.
    fn reads_in_parts(&self, context: &Context<'_>, input: HopId) -> bool {
        let hop = context.hop(input);
        hop.is_matrix()
            && match self {
                Extent::Cells(_) => true,
                Extent::Rows(rows) => hop.size.rows == Some(*rows),
            }
    }
}
