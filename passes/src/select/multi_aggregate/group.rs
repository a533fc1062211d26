//! An aggregate, or several that one pass computes.

use crate::cost::CostModel;
use crate::cover::{Operator, has_common_rows, is_full_aggregate, is_worth_fusing, iteration_space, outside_inputs};
use crate::facts::Context;
use crate::template::aggregated_rows;
use fuseline_ir::SizeInfo;
use fuseline_ir::hop::{HopId, HopOp};
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
pub(in crate::select) struct Group {
    space: Space,
    /// What computes them, with the template of the space where they are several.
    pub(in crate::select) operator: Operator,
    /// Seconds of the multi-aggregate, or of the one operator.
    pub(in crate::select) seconds: f64,
    /// Seconds of the operators by themselves.
    pub(in crate::select) alone: f64,
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
    pub(in crate::select) fn of(context: &Context<'_>, operator: &Operator, alone: f64) -> Option<Group> {
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
    pub(in crate::select) fn all(context: &Context<'_>, model: &CostModel, singles: &[&Group]) -> Option<Group> {
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
    pub(in crate::select) fn is_pass(&self) -> bool {
        self.operator.is_multi_aggregate()
    }

    /// Seconds that one pass saves.
    pub(in crate::select) fn saving(&self) -> f64 {
        self.alone - self.seconds
    }

    /// Whether the two run over cells of equal sizes, or over equally many rows, share a matrix of these, and neither
    /// reads the other's results.
    pub(in crate::select) fn can_merge(&self, context: &Context<'_>, other: &Group) -> bool {
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
    pub(super) fn merge(&self, context: &Context<'_>, model: &CostModel, other: &Group) -> Option<Group> {
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
