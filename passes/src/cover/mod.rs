//! What an operator of a plan covers: its members and inputs, and what it runs over, by cells or by rows.
//!
//! What depends on the template of an operator the template knows, see [`crate::template`].

mod cells;
mod positions;
mod rows;
mod work;

pub use cells::UNKNOWN_DRIVER_SPARSITY;
pub(crate) use cells::driver_sparsity;
pub(crate) use positions::ByPosition;
pub(crate) use rows::{is_row_aggregate, is_row_operation, needs_rows};

use crate::facts::Context;
use crate::hops::untransposed;
use fuseline_ir::hop::{FusionCover, HopDag, HopId, HopOp};
use fuseline_ir::memo::TemplateType;
use smallvec::{SmallVec, smallvec};

/// Operators of a DAG: few enough to lie in place for nearly all that selection looks at.
pub type Hops = SmallVec<[HopId; 20]>;

/// A basic operator (without template, one member), fused operator or multi-aggregate, as a plan has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Operator {
    /// The template of a fused operator.
    pub template: Option<TemplateType>,
    /// The members whose values leave, ascending: several of a multi-aggregate, else one.
    pub roots: SmallVec<[HopId; 4]>,
    /// The covered operators, ascending.
    pub members: Hops,
    /// Distinct inputs, ascending, scalars included.
    pub inputs: Hops,
}

impl Operator {
    /// The basic operator of a value. A product reads through transposes.
    pub(crate) fn basic(context: &Context<'_>, root: HopId) -> Operator {
        let mut inputs = Hops::from_slice(&context.dag.evaluated_inputs(context.hop(root)));
        inputs.sort_unstable();
        inputs.dedup();
        Operator { template: None, roots: smallvec![root], members: smallvec![root], inputs }
    }

    /// The fused operator of a cover.
    pub(crate) fn of_cover(context: &Context<'_>, cover: &FusionCover) -> Operator {
        let (roots, members) = (SmallVec::from_slice(&cover.roots), Hops::from_slice(&cover.members));
        Operator { template: Some(cover.template), inputs: outside_inputs(context.dag, &members), roots, members }
    }

    /// The operator as a cover; none of a basic one.
    pub fn to_cover(&self) -> Option<FusionCover> {
        let template = self.template?;
        Some(FusionCover { template, roots: self.roots.to_vec(), members: self.members.to_vec() })
    }

    /// The member that the operator ends in, the first of several.
    pub fn root(&self) -> HopId {
        self.roots[0]
    }

    /// Whether an operator of the DAG is a member.
    pub fn covers(&self, id: HopId) -> bool {
        self.members.binary_search(&id).is_ok()
    }

    /// Whether it computes several aggregates in one pass.
    pub fn is_multi_aggregate(&self) -> bool {
        self.roots.len() > 1
    }
}

/// The distinct operators that the members of a cover read and do not compute, ascending: those outside, and transposes of
/// matrices inside that a product reads through, where another member reads the matrix.
pub(crate) fn outside_inputs(dag: &HopDag, members: &[HopId]) -> Hops {
    let read = |member: HopId| dag[member].inputs.iter().map(move |&input| (member, input));
    let is_outside = |&(member, input): &(HopId, HopId)| {
        members.binary_search(&input).is_err() || reads_as_matrix(dag, member, input)
    };
    let mut inputs: Hops =
        members.iter().flat_map(|&member| read(member)).filter(is_outside).map(|(_, input)| input).collect();
    inputs.sort_unstable();
    inputs.dedup();
    inputs
}

/// Whether an input is the transpose of a matrix, and the operator does not read through it, as products do, and what is
/// cumulative does on both sides.
fn reads_as_matrix(dag: &HopDag, reader: HopId, input: HopId) -> bool {
    let is_matrix = |id: HopId| !dag[id].size.is_vector() && !matches!(dag[id].op, HopOp::Cumulative(_));
    untransposed(dag, input).is_some_and(is_matrix)
        && matches!(dag[reader].op, HopOp::AggUnary(..) | HopOp::Unary(_) | HopOp::Binary(_) | HopOp::Ternary(_))
}
