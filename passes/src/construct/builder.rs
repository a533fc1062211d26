//! Hash-consing of CPlan nodes, and the registry of inputs.

use super::{ConstructError, CoverInput};
use fuseline_ir::cplan::{Bits, CInput, CInputId, CNode, CNodeId, CPlan, Variant};
use fuseline_ir::hop::{HopDag, HopId, HopOp};
use fuseline_ir::memo::TemplateType;
use std::collections::{BTreeMap, HashMap};

/// How nodes read a side input. Skeletons lay an input out in one way, so an operator that is read in two ways is two
/// inputs (`X %*% v - v` for a square `X`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Scalar,
    Cell,
    Row,
    RowScalar,
    ColScalar,
    Vector,
    Matrix,
}

/// A CPlan under construction.
pub(super) struct Builder<'a> {
    pub(super) dag: &'a HopDag,
    pub(super) template: TemplateType,
    pub(super) plan: CPlan,
    pub(super) inputs: Vec<CoverInput>,
    /// How each input is read; none for the leading ones, the main input and factors, which nodes never read as sides.
    accesses: Vec<Option<Access>>,
    /// Values of translated members.
    pub(super) values: BTreeMap<HopId, CNodeId>,
    interned: HashMap<CNode, CNodeId, foldhash::fast::FixedState>,
}

impl<'a> Builder<'a> {
    /// Starts a plan with its leading inputs; the variant is set at the end.
    pub(super) fn new(dag: &'a HopDag, variant: Variant, leading: &[CoverInput]) -> Self {
        let mut plan = CPlan::new(variant);
        for _ in leading {
            plan.inputs.push(CInput::Matrix);
        }
        Builder {
            dag,
            template: variant.template(),
            plan,
            inputs: leading.to_vec(),
            accesses: vec![None; leading.len()],
            values: BTreeMap::new(),
            interned: HashMap::default(),
        }
    }

    /// The node, new or as interned before.
    pub(super) fn node(&mut self, node: CNode) -> CNodeId {
        let nodes = &mut self.plan.nodes;
        *self.interned.entry(node).or_insert_with(|| nodes.push(node))
    }

    /// The side or scalar input for an operator's value, read in this way.
    pub(super) fn input(&mut self, id: HopId, access: Access) -> CInputId {
        let wanted = (CoverInput::Hop(id), Some(access));
        let mut known = self.inputs.iter().copied().zip(self.accesses.iter().copied());
        if let Some(position) = known.position(|input| input == wanted) {
            return CInputId::from_u32(position as u32);
        }
        self.inputs.push(wanted.0);
        self.accesses.push(wanted.1);
        self.plan.inputs.push(if access == Access::Scalar { CInput::Scalar } else { CInput::Matrix })
    }

    /// A scalar: baked in if it is a literal of the script, else an input.
    pub(super) fn scalar(&mut self, id: HopId) -> CNodeId {
        let node = match self.dag.literal_f64(id) {
            Some(value) => CNode::Literal(Bits::new(value)),
            None => CNode::Scalar(self.input(id, Access::Scalar)),
        };
        self.node(node)
    }

    /// An element-wise operation on values that `operand` gives.
    pub(super) fn elementwise(
        &mut self,
        id: HopId,
        mut operand: impl FnMut(&mut Self, HopId) -> Result<CNodeId, ConstructError>,
    ) -> Result<CNodeId, ConstructError> {
        let dag = self.dag;
        let hop = &dag[id];
        let mut at = |position: usize| operand(self, hop.inputs[position]);
        let node = match hop.op {
            HopOp::Unary(op) => CNode::Unary(op, at(0)?),
            HopOp::Binary(op) => CNode::Binary(op, at(0)?, at(1)?),
            HopOp::Ternary(op) => CNode::Ternary(op, at(0)?, at(1)?, at(2)?),
            _ => return Err(self.no_operation(id)),
        };
        Ok(self.node(node))
    }

    /// The error that the template has no such operation.
    pub(super) fn no_operation(&self, id: HopId) -> ConstructError {
        ConstructError::Operation { template: self.template, label: self.dag[id].op.label() }
    }
}
