//! Operators over cells: what they run over, and which input's zeros they exploit.

use super::{Hops, Operator};
use crate::facts::{Context, is_inner_product, sparsity};
use crate::hops::{drawn_share, untransposed};
use crate::zeros::{Driven, Zeros, keeps_zeros};
use fuseline_ir::SizeInfo;
use fuseline_ir::cplan::fewest;
use fuseline_ir::hop::{HopId, HopOp};
use fuseline_ir::ops::Direction;
use smallvec::SmallVec;

/// The share of non-zeros that an Outer operator is expected to visit where the number of non-zeros is unknown and data
/// may be behind it.
pub const UNKNOWN_DRIVER_SPARSITY: f64 = 0.1;

/// The share of the cells that an Outer operator with this driver visits. Where non-zeros are not known the driver may be
/// sparse data, or have its zeros; products sum many values, and `1 - X ^ 2` is zero by chance.
pub(crate) fn driver_sparsity(context: &Context<'_>, driver: HopId) -> f64 {
    let hop = context.hop(driver);
    match (context.expected_size(driver).nnz, drawn_share(context.dag, hop)) {
        (Some(_), _) => sparsity(context, driver),
        (None, Some(share)) => share,
        _ if hop.op == HopOp::MatMul => 1.0,
        _ if !keeps_zeros(context.dag, driver, context.limits.strict_ieee) => 1.0,
        _ => UNKNOWN_DRIVER_SPARSITY,
    }
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
        // Operators come after what they read.
        let after = self.members.partition_point(|&member| member <= input);
        let mut later = self.members[after..].iter().map(|&member| context.hop(member));
        later.any(|hop| hop.inputs.contains(&input) && !matches!(hop.op, HopOp::Index))
    }

    /// The input that the cells of all roots are zero with, and whose sparsity an operator over the cells of `space`
    /// therefore exploits: the sparsest, and of equally sparse ones the first.
    pub(crate) fn driver(&self, context: &Context<'_>, space: &SizeInfo) -> Option<HopId> {
        let mut candidates: SmallVec<[HopId; 8]> = self.inputs_by_cell(context, space).collect();
        candidates
            .sort_by(|&one, &other| sparsity(context, one).total_cmp(&sparsity(context, other)).then(one.cmp(&other)));
        candidates.into_iter().find(|&id| self.is_zero_with(context, id, Zeros::Cell))
    }

    /// The main input of an operator over the cells of `space` that is not zero with any: the densest.
    pub(crate) fn densest(&self, context: &Context<'_>, space: &SizeInfo) -> Option<HopId> {
        let by_cell = self.inputs_by_cell(context, space);
        by_cell.reduce(|one, other| if sparsity(context, other) > sparsity(context, one) { other } else { one })
    }

    /// Whether all roots, or what they aggregate, are zero with the cells or the row of an input.
    pub(crate) fn is_zero_with(&self, context: &Context<'_>, input: HopId, zeros: Zeros) -> bool {
        self.are_zero_with(context, &[input], zeros)
    }

    fn are_zero_with(&self, context: &Context<'_>, drivers: &[HopId], zeros: Zeros) -> bool {
        self.driven(context, drivers, zeros).makes_zero(&self.roots)
    }

    fn driven<'a>(&'a self, context: &'a Context<'_>, drivers: &'a [HopId], zeros: Zeros) -> Driven<'a> {
        Driven { dag: context.dag, members: &self.members, drivers, zeros, strict: context.limits.strict_ieee }
    }

    /// The sparse inputs at whose non-zeros an operator over the cells of `space` without a driver is computed, the sparsest
    /// first: where all of them are zero, the cells of each root have one value. None if there are no such inputs. Of several,
    /// that value is zero for roots that have a place for each cell, or each column: these would have to know how many positions
    /// there are.
    pub(crate) fn visited_inputs(&self, context: &Context<'_>, space: &SizeInfo) -> Option<Hops> {
        let mut sparse: Hops = self.inputs_by_cell(context, space).filter(|&id| sparsity(context, id) < 1.0).collect();
        if sparse.is_empty() || self.is_driven() {
            return None;
        }
        sparse
            .sort_by(|&one, &other| sparsity(context, one).total_cmp(&sparsity(context, other)).then(one.cmp(&other)));
        let needs_zero = |&root: &HopId| match context.hop(root).op {
            HopOp::AggUnary(_, direction) => direction == Direction::Col,
            HopOp::MatMul => false,
            _ => true,
        };
        let counts_zeros = |&root: &HopId| match context.hop(root).op {
            HopOp::AggUnary(agg, Direction::Col) => !agg.ignores_zeros(),
            _ => false,
        };
        let inputs = fewest(&sparse, |inputs| {
            !inputs.is_empty() && self.driven(context, inputs, Zeros::Cell).makes_constant(&self.roots)
        })?;
        let are_zero = || !self.roots.iter().any(needs_zero) || self.are_zero_with(context, &inputs, Zeros::Cell);
        let can_be_joined = || !self.roots.iter().any(counts_zeros) && are_zero();
        (inputs.len() == 1 || can_be_joined()).then(|| Hops::from_vec(inputs.clone()))
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
