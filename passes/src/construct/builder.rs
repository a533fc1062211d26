//! Hash-consing of CPlan nodes, and the registry of inputs.

use super::{ConstructError, CoverInput};
use fuseline_ir::cplan::{Bits, CInput, CInputId, CNode, CNodeId, CPlan, Variant};
use fuseline_ir::hop::{HopDag, HopId, HopOp};
use fuseline_ir::memo::TemplateType;
use std::collections::{BTreeMap, HashMap};

/// A CPlan under construction.
pub(super) struct Builder<'a> {
    pub(super) dag: &'a HopDag,
    pub(super) template: TemplateType,
    pub(super) plan: CPlan,
    pub(super) inputs: Vec<CoverInput>,
    /// Inputs with a role of their own: the main input and factors, which nodes never read as sides.
    leading: usize,
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
            leading: leading.len(),
            values: BTreeMap::new(),
            interned: HashMap::default(),
        }
    }

    /// The node, new or as interned before.
    pub(super) fn node(&mut self, node: CNode) -> CNodeId {
        let nodes = &mut self.plan.nodes;
        *self.interned.entry(node).or_insert_with(|| nodes.push(node))
    }

    /// The side or scalar input for an operator's value.
    pub(super) fn input(&mut self, id: HopId, kind: CInput) -> CInputId {
        let input = CoverInput::Hop(id);
        let known = self.inputs.iter().skip(self.leading).position(|&known| known == input);
        let position = known.map(|position| position + self.leading);
        position.map_or_else(
            || {
                self.inputs.push(input);
                self.plan.inputs.push(kind)
            },
            |position| CInputId::from_u32(position as u32),
        )
    }

    /// A scalar: baked in if it is a literal of the script, else an input.
    pub(super) fn scalar(&mut self, id: HopId) -> CNodeId {
        let node = match self.dag.literal_f64(id) {
            Some(value) => CNode::Literal(Bits::new(value)),
            None => CNode::Scalar(self.input(id, CInput::Scalar)),
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
