//! Row plans over the non-zeros of a sparse main input: which values have one cell per position of the main row, in the place
//! of one per column.
//!
//! The main row has. So has what is computed cell by cell of such a value: its cells elsewhere are never asked for, or known
//! to be zero. Operands that have cells for all columns are gathered, and values of a row repeated. What is not computed cell
//! by cell (aggregates, products, most outputs) takes a list of positions for a vector whose other cells are zero.

use super::{CInputId, CNode, CNodeId, COutput, CPlan, ColumnRange, Shapes};
use crate::template::Space;
use cranelift_entity::{EntitySet, SecondaryMap};

/// The values of a Row plan that lie by position in units of its sparse entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Positions {
    values: EntitySet<CNodeId>,
    inputs: EntitySet<CInputId>,
}

impl Positions {
    /// Whether the value of a node lies by position.
    pub fn contains(&self, node: CNodeId) -> bool {
        self.values.contains(node)
    }

    /// Whether a side input is read at the positions of the main row alone, by [`CNode::SideRow`].
    pub fn has_input(&self, input: CInputId) -> bool {
        self.inputs.contains(input)
    }
}

impl CPlan {
    /// The values that lie by position in units of sparse main rows; `None` where the plan has no sparse entry: it is no
    /// Row plan, does not read the main row, or needs cells of it, or of what is computed of it, for all columns.
    ///
    /// With `strict`, zeros annihilate only where they do by IEEE.
    pub fn positions(&self, strict: bool) -> Option<Positions> {
        let reads_main = self.nodes.values().any(|node| matches!(node, CNode::Main));
        if self.space() != Space::Rows || !reads_main {
            return None;
        }
        let shapes = self.shapes();
        let mut search =
            Search { plan: self, shapes, at_zero: self.values_at_zero(strict), found: Positions::default() };
        search.follow_main();
        search.takes_positions().then(|| {
            search.follow_operands();
            search.found
        })
    }

    /// The value of each node in the columns in which the main row is zero, where it is known.
    fn values_at_zero(&self, strict: bool) -> SecondaryMap<CNodeId, Option<f64>> {
        let mut values: SecondaryMap<CNodeId, Option<f64>> = SecondaryMap::new();
        for (id, node) in &self.nodes {
            values[id] = match *node {
                CNode::Main => Some(0.0),
                CNode::Literal(bits) => Some(bits.get()),
                CNode::Unary(op, a) => op.eval_known(values[a]),
                CNode::Binary(op, a, b) => op.eval_known(values[a], values[b], strict),
                CNode::Ternary(op, a, b, c) => op.eval_known(values[a], values[b], values[c], strict),
                _ => None,
            };
        }
        values
    }
}

struct Search<'a> {
    plan: &'a CPlan,
    shapes: Shapes,
    /// What values are in the columns in which the main row is zero.
    at_zero: SecondaryMap<CNodeId, Option<f64>>,
    found: Positions,
}

impl Search<'_> {
    /// Finds what is computed cell by cell of the main row.
    fn follow_main(&mut self) {
        for (id, node) in &self.plan.nodes {
            let is_main = matches!(node, CNode::Main);
            let continues = node.is_element_wise() && node.operands().iter().any(|&operand| self.has(operand));
            if is_main || continues {
                self.found.values.insert(id);
            }
        }
    }

    /// Whether whatever is not computed cell by cell, and all outputs, can take positions where they take such a value.
    fn takes_positions(&self) -> bool {
        let mut nodes = self.plan.nodes.values().filter(|node| !node.is_element_wise());
        nodes.all(|node| self.suits_node(node)) && self.plan.outputs.iter().all(|output| self.suits(output))
    }

    fn suits_node(&self, node: &CNode) -> bool {
        match *node {
            CNode::RowAgg(_, operand) | CNode::VectMatMult(operand, _) => !self.has(operand) || self.is_sparse(operand),
            CNode::DotProduct(left, right) => match (self.has(left), self.has(right)) {
                (false, false) => true,
                (true, true) => false,
                (true, false) => self.is_sparse(left),
                (false, true) => self.is_sparse(right),
            },
            _ => !node.operands().into_iter().any(|operand| self.has(operand)),
        }
    }

    fn suits(&self, output: &COutput) -> bool {
        match *output {
            // The main row is stored by itself nowhere.
            COutput::Store(node) => {
                !self.has(node) || self.is_sparse(node) && !matches!(self.plan.nodes[node], CNode::Main)
            }
            // The zeros of a row count in extremes, but not in sums.
            COutput::ColAgg(agg, node) | COutput::FullAgg(agg, node) => {
                !self.has(node) || self.is_sparse(node) && agg.ignores_zeros()
            }
            // One of the two has all columns.
            COutput::RowProduct { long, short, .. } => !self.has(short) && (!self.has(long) || self.is_sparse(long)),
            COutput::RowAgg(_, node) | COutput::TimesFactor(node) | COutput::TransposedTimesFactor(node) => {
                !self.has(node)
            }
        }
    }

    /// Finds the operands of these values that nothing else reads: they need not be computed, or laid out, for all columns.
    fn follow_operands(&mut self) {
        let mut read_elsewhere = EntitySet::new();
        for node in self.plan.outputs.iter().flat_map(COutput::operands) {
            read_elsewhere.insert(node);
        }
        for (id, node) in self.plan.nodes.iter().rev() {
            if !self.has(id) && self.can_be_found(id) && !read_elsewhere.contains(id) {
                self.found.values.insert(id);
            }
            if !(self.has(id) && node.is_element_wise()) {
                for operand in node.operands() {
                    read_elsewhere.insert(operand);
                }
            }
        }
        self.find_inputs();
    }

    /// Whether a vector could be computed, or laid out, by position.
    fn can_be_found(&self, id: CNodeId) -> bool {
        let node = &self.plan.nodes[id];
        let is_whole_row = matches!(node, CNode::SideRow(_, ColumnRange::All));
        self.shapes.is_vector(id) && (node.is_element_wise() || is_whole_row)
    }

    /// Keeps those side inputs by position of which all rows are read so.
    fn find_inputs(&mut self) {
        let is_found = |id: CNodeId| self.found.values.contains(id);
        let rows = || self.plan.nodes.iter().filter_map(|(id, node)| Some((id, side_row(node)?)));
        let elsewhere: Vec<CInputId> = rows().filter(|&(id, _)| !is_found(id)).map(|(_, input)| input).collect();
        let found: Vec<(CNodeId, CInputId)> = rows().filter(|&(id, _)| is_found(id)).collect();
        for (id, input) in found {
            if elsewhere.contains(&input) {
                self.found.values.remove(id);
            } else {
                self.found.inputs.insert(input);
            }
        }
    }

    fn has(&self, id: CNodeId) -> bool {
        self.found.contains(id)
    }

    /// Whether a value is zero where the main row is.
    fn is_sparse(&self, id: CNodeId) -> bool {
        self.at_zero[id] == Some(0.0)
    }
}

/// The side input whose rows a node reads.
fn side_row(node: &CNode) -> Option<CInputId> {
    if let CNode::SideRow(input, _) = *node { Some(input) } else { None }
}
