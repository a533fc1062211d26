//! Hash-consing of CPlan nodes, and the registry of inputs.

use super::{ConstructError, CoverInput};
use fuseline_ir::cplan::{Bits, CInput, CInputId, CNode, CNodeId, CPlan, Variant};
use fuseline_ir::hop::{HopDag, HopId, HopOp, NaryOp};
use fuseline_ir::memo::TemplateType;
use fuseline_ir::ops::TernaryOp;
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
            plan.inputs.push(CInput::MATRIX);
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

    /// The side or scalar input for a value, read in this way.
    pub(super) fn input(&mut self, source: CoverInput, access: Access) -> CInputId {
        let wanted = (source, Some(access));
        let mut known = self.inputs.iter().copied().zip(self.accesses.iter().copied());
        if let Some(position) = known.position(|input| input == wanted) {
            return CInputId::from_u32(position as u32);
        }
        self.inputs.push(wanted.0);
        self.accesses.push(wanted.1);
        self.plan.inputs.push(if access == Access::Scalar { CInput::Scalar } else { CInput::MATRIX })
    }

    /// A scalar or the cell of a 1 x 1 matrix: baked in if it is a literal of the script, else an input.
    pub(super) fn scalar(&mut self, id: HopId) -> CNodeId {
        let node = match self.dag.literal_f64(id) {
            Some(value) => CNode::Literal(Bits::new(value)),
            None => {
                let source = if self.dag[id].is_matrix() { CoverInput::Scalar(id) } else { CoverInput::Hop(id) };
                CNode::Scalar(self.input(source, Access::Scalar))
            }
        };
        self.node(node)
    }

    /// A column of a matrix, in row i.
    pub(super) fn column(&mut self, matrix: HopId, column: u32) -> CNodeId {
        let input = self.input(CoverInput::Hop(matrix), Access::RowScalar);
        self.node(CNode::SideRowScalar(input, column))
    }

    /// The value of `seq(from, to, by)` in row i, rounded once as the kernel does.
    pub(super) fn sequence(&mut self, from: f64, by: f64) -> CNodeId {
        let [from, row, by] = [CNode::Literal(Bits::new(from)), CNode::RowIndex, CNode::Literal(Bits::new(by))]
            .map(|node| self.node(node));
        self.node(CNode::Ternary(TernaryOp::PlusMult, from, row, by))
    }

    /// An element-wise operation, or columns side by side, on these values of the inputs.
    pub(super) fn elementwise(&mut self, id: HopId, operands: &[CNodeId]) -> Result<CNodeId, ConstructError> {
        let node = match (&self.dag[id].op, operands) {
            (&HopOp::Unary(op), &[a]) => CNode::Unary(op, a),
            (&(HopOp::Binary(op) | HopOp::Outer(op)), &[a, b]) => CNode::Binary(op, a, b),
            (&HopOp::Ternary(op), &[a, b, c]) => CNode::Ternary(op, a, b, c),
            (&HopOp::Nary(op), &[first, ref rest @ ..]) => return self.folded(id, op, first, rest),
            _ => return Err(self.no_operation(id)),
        };
        Ok(self.node(node))
    }

    /// An operation of any number of operands, from left to right.
    fn folded(&mut self, id: HopId, op: NaryOp, first: CNodeId, rest: &[CNodeId]) -> Result<CNodeId, ConstructError> {
        let mut result = first;
        for &value in rest {
            result = match op.fold() {
                Some(fold) => self.node(CNode::Binary(fold, result, value)),
                None if op == NaryOp::Cbind => self.node(CNode::Cbind(result, value)),
                None => return Err(self.no_operation(id)),
            };
        }
        Ok(result)
    }

    /// The error that the template has no such operation.
    pub(super) fn no_operation(&self, id: HopId) -> ConstructError {
        ConstructError::Operation { template: self.template, label: self.dag[id].op.label() }
    }
}
