//! Cases: a DAG with its inputs.

use super::narrow::narrowed;
use fuseline::{Dense, MatrixBlock, RuntimeValue, Variables};
use fuseline_interp::oracle::{self, OracleError, OracleValue};
use fuseline_ir::hop::{HopDag, HopId, HopOp};
use fuseline_ir::{SizeInfo, Value};
use std::collections::BTreeMap;

/// A leaf of a DAG.
#[derive(Clone, Debug)]
pub(crate) enum Leaf {
    Matrix(MatrixBlock),
    Scalar(f64),
    Literal(Value),
}

/// A leaf, or an operator on earlier nodes.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    Leaf(Leaf),
    Operator { op: HopOp, inputs: Vec<usize> },
}

/// A DAG with its inputs. The input at node 3 is named `v3`, the outputs `o0`, `o1`, ...
#[derive(Clone, Debug, Default)]
pub(crate) struct Case {
    pub(crate) nodes: Vec<Node>,
    pub(crate) outputs: Vec<usize>,
}

/// The oracle's values of the outputs.
pub(crate) type Expected = BTreeMap<String, OracleValue>;

impl Node {
    pub(crate) fn inputs(&self) -> &[usize] {
        match self {
            Node::Leaf(_) => &[],
            Node::Operator { inputs, .. } => inputs,
        }
    }

    pub(crate) fn inputs_mut(&mut self) -> &mut [usize] {
        match self {
            Node::Leaf(_) => &mut [],
            Node::Operator { inputs, .. } => inputs,
        }
    }

    pub(crate) fn matrix(&self) -> Option<&MatrixBlock> {
        match self {
            Node::Leaf(Leaf::Matrix(block)) => Some(block),
            _ => None,
        }
    }

    pub(crate) fn is_operator(&self) -> bool {
        matches!(self, Node::Operator { .. })
    }

    /// Appends the node to a DAG that holds the earlier nodes; `None` where its inputs do not fit.
    pub(crate) fn add_to(&self, dag: &mut HopDag, ids: &[HopId]) -> Option<HopId> {
        Some(match self {
            Node::Leaf(Leaf::Matrix(block)) => {
                let size = SizeInfo { nnz: Some(block.nnz() as u64), ..block.size() };
                dag.read_matrix(&name(ids.len()), size)
            }
            Node::Leaf(Leaf::Scalar(_)) => dag.read_scalar(&name(ids.len())),
            Node::Leaf(Leaf::Literal(value)) => dag.literal(value.clone()),
            Node::Operator { op, inputs } => {
                let inputs: Vec<HopId> = inputs.iter().map(|&input| ids[input]).collect();
                dag.add(op.clone(), &inputs, None).ok()?
            }
        })
    }
}

/// The name of the variable at a node.
pub(crate) fn name(position: usize) -> String {
    format!("v{position}")
}

impl Case {
    /// The DAG; `None` where shapes do not fit, as some reductions of a case leave them.
    pub(crate) fn dag(&self) -> Option<HopDag> {
        let (mut dag, mut ids) = (HopDag::new(), Vec::new());
        for node in &self.nodes {
            ids.push(node.add_to(&mut dag, &ids)?);
        }
        for (index, &output) in self.outputs.iter().enumerate() {
            dag.write(&format!("o{index}"), ids[output]);
        }
        Some(dag)
    }

    /// The matrices and scalars that the DAG reads, by name.
    pub(crate) fn variables(&self) -> Variables {
        let value = |node: &Node| match node {
            Node::Leaf(Leaf::Matrix(block)) => Some(RuntimeValue::Matrix(block.clone())),
            Node::Leaf(Leaf::Scalar(value)) => Some(RuntimeValue::from(*value)),
            _ => None,
        };
        self.nodes.iter().enumerate().filter_map(|(index, node)| Some((name(index), value(node)?))).collect()
    }

    /// The variables, their values held narrow where a narrow type holds them exactly.
    pub(crate) fn narrow_variables(&self) -> Variables {
        let mut variables = self.variables();
        for value in variables.values_mut() {
            if let RuntimeValue::Matrix(block) = value {
                *block = narrowed(block);
            }
        }
        variables
    }

    /// What the oracle says of the outputs.
    pub(crate) fn expected(&self, dag: &HopDag) -> Result<Expected, OracleError> {
        let given = |node: &Node| match node {
            Node::Leaf(leaf) => leaf.oracle_value(),
            Node::Operator { .. } => None,
        };
        let inputs = self.nodes.iter().enumerate().filter_map(|(index, node)| Some((name(index), given(node)?)));
        oracle::evaluate(dag, &inputs.collect())
    }

    pub(crate) fn operators(&self) -> usize {
        self.nodes.iter().filter(|node| node.is_operator()).count()
    }

    /// The case without the nodes that no output needs.
    pub(crate) fn without_dead_nodes(mut self) -> Case {
        let mut live = vec![false; self.nodes.len()];
        self.outputs.iter().for_each(|&output| live[output] = true);
        for index in (0..self.nodes.len()).rev() {
            if live[index] {
                self.nodes[index].inputs().iter().for_each(|&input| live[input] = true);
            }
        }
        let mut next = 0;
        let renumbered: Vec<usize> = live
            .iter()
            .map(|&is_live| {
                next += usize::from(is_live);
                next - usize::from(is_live)
            })
            .collect();
        let mut live = live.into_iter();
        self.nodes.retain(|_| live.next() == Some(true));
        self.nodes.iter_mut().flat_map(Node::inputs_mut).for_each(|input| *input = renumbered[*input]);
        self.outputs.iter_mut().for_each(|output| *output = renumbered[*output]);
        self
    }
}

impl Leaf {
    /// The value as the oracle reads it; a literal is part of the DAG.
    pub(crate) fn oracle_value(&self) -> Option<OracleValue> {
        match self {
            Leaf::Matrix(block) => Some(OracleValue::from(block)),
            Leaf::Scalar(value) => Some(OracleValue::from(&Value::F64(*value))),
            Leaf::Literal(_) => None,
        }
    }
}

/// The values of an oracle's result, as a run would give them; none for text.
pub(crate) fn runtime_value(value: &OracleValue) -> Option<RuntimeValue> {
    match value {
        OracleValue::Matrix(matrix) => {
            let dense = Dense::from_fn(matrix.rows, matrix.cols, |i, j| matrix.get(i, j).value());
            Some(RuntimeValue::Matrix(dense.into()))
        }
        OracleValue::Scalar(cell) => Some(RuntimeValue::from(cell.value())),
        OracleValue::Text(_) => None,
    }
}
