//! Operators over cells: what they run over, and which input's zeros they exploit.

use super::{Hops, Operator};
use crate::facts::{Context, is_inner_product, sparsity};
use crate::hops::untransposed;
use crate::zeros::{Driven, Zeros, keeps_zeros};
use fuseline_ir::SizeInfo;
use fuseline_ir::hop::{HopId, HopOp};
use fuseline_ir::ops::Direction;
use smallvec::SmallVec;

/// The share of non-zeros that an Outer operator is expected to visit where the number of non-zeros is unknown and data
/// may be behind it.
pub const UNKNOWN_DRIVER_SPARSITY: f64 = 0.1;

/// The share of the cells that an Outer operator with this driver visits. Where non-zeros are not known the driver may be
/// sparse data, or have its zeros; products sum many values, and `1 - X ^ 2` is zero by chance.
pub(crate) fn driver_sparsity(context: &Context<'_>, driver: HopId) -> f64 {
    match context.expected_size(driver).nnz {
        Some(_) => sparsity(context, driver),
        None if context.hop(driver).op == HopOp::MatMul => 1.0,
        None if !keeps_zeros(context.dag, driver, context.limits.strict_ieee) => 1.0,
        None => UNKNOWN_DRIVER_SPARSITY,
    }
}

/// The fewest of these inputs that suffice, of several that do without the last ones; `None` if all of them do not.
pub(super) fn fewest(inputs: &[HopId], suffice: impl Fn(&[HopId]) -> bool) -> Option<Hops> {
    if !suffice(inputs) {
        return None;
    }
    let mut left = Hops::from_slice(inputs);
    for &input in inputs.iter().rev() {
        let others: Hops = left.iter().copied().filter(|&other| other != input).collect();
        if suffice(&others) {
            left = others;
        }
    }
    Some(left)
}

impl Operator {
    /// The size whose cells an operator over cells runs over.
    pub(crate) fn space(&self, context: &Context<'_>) -> SizeInfo {
        self.space_of(context, self.root())
    }

    /// The size whose cells one of its roots is computed from.
    pub(crate) fn space_of(&self, context: &Context<'_>, root: HopId) -> SizeInfo {
        let hop = context.hop(root);
        match hop.op {
            HopOp::AggUnary(..) => context.hop(hop.inputs[0]).size,
            HopOp::MatMul => {
                let inner = hop.inputs.iter().rev().find(|&&id| self.covers(id)).copied().unwrap_or(hop.inputs[0]);
                context.hop(untransposed(context.dag, inner).unwrap_or(inner)).size
            }
            _ => hop.size,
        }
    }

    /// The inputs of an operator over the cells of `space` that are read cell by cell, so that they can be the main
    /// input. (An index reads its source otherwise.)
    pub(crate) fn inputs_by_cell<'a>(
        &'a self,
        context: &'a Context<'_>,
        space: &'a SizeInfo,
    ) -> impl Iterator<Item = HopId> + 'a {
        let inputs = self.inputs.iter().copied();
        inputs.filter(|&id| context.hop(id).size.same_dims(space) && self.reads_by_cell(context, id))
    }

    /// Whether a member reads an input otherwise than an index does.
    fn reads_by_cell(&self, context: &Context<'_>, input: HopId) -> bool {
        let mut readers = self.members.iter().map(|&member| context.hop(member));
        readers.any(|hop| hop.op != HopOp::Index && hop.inputs.contains(&input))
    }

    /// The input that the cells of all roots are zero with, and whose sparsity an operator over the cells of `space`
    /// therefore exploits: the sparsest, and of equally sparse ones the first.
    pub(crate) fn driver(&self, context: &Context<'_>, space: &SizeInfo) -> Option<HopId> {
        let mut candidates: SmallVec<[HopId; 8]> = self.inputs_by_cell(context, space).collect();
        candidates
            .sort_by(|&one, &other| sparsity(context, one).total_cmp(&sparsity(context, other)).then(one.cmp(&other)));
        candidates.into_iter().find(|&id| self.is_zero_with(context, id, Zeros::Cell))
    }

    /// Whether all roots, or what they aggregate, are zero with the cells or the row of an input.
    pub(crate) fn is_zero_with(&self, context: &Context<'_>, input: HopId, zeros: Zeros) -> bool {
        self.are_zero_with(context, &[input], zeros)
    }

    fn are_zero_with(&self, context: &Context<'_>, drivers: &[HopId], zeros: Zeros) -> bool {
        let strict = context.limits.strict_ieee;
        Driven { dag: context.dag, members: &self.members, drivers, zeros, strict }.makes_zero(&self.roots)
    }

    /// The sparse inputs that the cells of all roots are zero with where all of them are, the sparsest first: an operator
    /// over the cells of `space` that has no driver visits the non-zeros of any of them. None if there are no such inputs, or
    /// a column's extreme would have to know how many zeros it has.
    pub(crate) fn joined_drivers(&self, context: &Context<'_>, space: &SizeInfo) -> Option<Hops> {
        let mut sparse: Hops = self.inputs_by_cell(context, space).filter(|&id| sparsity(context, id) < 1.0).collect();
        let counts_zeros = |&root: &HopId| match context.hop(root).op {
            HopOp::AggUnary(agg, Direction::Col) => !agg.ignores_zeros(),
            _ => false,
        };
        if sparse.len() < 2 || self.is_driven() || self.roots.iter().any(counts_zeros) {
            return None;
        }
        sparse
            .sort_by(|&one, &other| sparsity(context, one).total_cmp(&sparsity(context, other)).then(one.cmp(&other)));
        fewest(&sparse, |drivers| self.are_zero_with(context, drivers, Zeros::Cell))
    }

    /// An input that an operator over cells can bind cell by cell, for each of its roots; that of the first root.
    pub(crate) fn main_input_by_cell(&self, context: &Context<'_>) -> Option<HopId> {
        let mut mains = self.roots.iter().map(|&root| self.main_input_of(context, root));
        let first = mains.next()??;
        mains.all(|main| main.is_some()).then_some(first)
    }

    fn main_input_of(&self, context: &Context<'_>, root: HopId) -> Option<HopId> {
        // An inner product reads its left operand through the transpose.
        let left = context.hop(root).inputs.first().and_then(|&left| untransposed(context.dag, left));
        let left = left.filter(|&left| is_inner_product(context, root) && !self.covers(left));
        left.or_else(|| self.inputs_by_cell(context, &self.space_of(context, root)).next())
    }
}
