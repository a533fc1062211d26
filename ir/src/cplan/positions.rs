//! Plans over non-zeros: which values of a Row plan have one cell per position of a sparse main row, in the place of one per
//! column, and which matrices besides the main one must be visited at all their non-zeros.
//!
//! The main row has. So has what is computed cell by cell of such a value: its cells elsewhere are never asked for, or known
//! to be zero. Operands that have cells for all columns are gathered, and values of a row repeated. What is not computed cell
//! by cell (aggregates, products, most outputs) takes a list of positions for a vector whose other cells are zero.
//!
//! Plans over cells are evaluated at the non-zeros of the main input alone if they have one value elsewhere, zero or not.
//!
//! What needs a value that lies by position for all columns nevertheless is given one that is laid out: module `scatter`.
//!
//! `X + Y` is zero only where both are. Such plans visit the positions of either: the rows of the two are joined before code
//! sees them, so that for it there is one main row, with zeros where Y alone has a position.

mod scatter;
#[cfg(test)]
mod tests;

use super::{CInputId, CNode, CNodeId, COutput, CPlan, ColumnRange, Shapes};
use crate::ops::Known;
use crate::template::Space;
use cranelift_entity::{EntitySet, SecondaryMap};
pub use scatter::SCATTER_FLOPS;

/// The values of a Row plan that lie by position in units of its sparse entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Positions {
    values: EntitySet<CNodeId>,
    inputs: EntitySet<CInputId>,
    joins: bool,
}

impl Positions {
    /// Whether the main row must be joined with rows of side inputs: [`CPlan::joined_rows`] says with which.
    pub fn joins(&self) -> bool {
        self.joins
    }

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
        if self.space() != Space::Rows || !self.reads_main() {
            return None;
        }
        let candidates = self.candidates();
        Search::new(self, strict, &[]).finish().or_else(|| {
            let joined = Search::new(self, strict, &candidates).finish().filter(|_| !candidates.is_empty())?;
            Some(Positions { joins: true, ..joined })
        })
    }

    /// Whether a node reads cells of the main input.
    fn reads_main(&self) -> bool {
        self.nodes.values().any(|node| matches!(node, CNode::Main))
    }

    /// The fewest of these side inputs, which are sparse, at whose non-zeros a Row plan must be evaluated besides those of the
    /// main input; `None` if that is not enough. Where several do, the last of them are left out.
    pub fn joined_rows(&self, strict: bool, sparse: &[CInputId]) -> Option<Vec<CInputId>> {
        let found = self.positions(strict)?;
        fewest(&self.candidates_of(sparse), |joined| {
            Search { found: found.clone(), ..Search::new(self, strict, joined) }.takes_positions()
        })
    }

    /// The fewest of these side inputs, which are sparse, at whose non-zeros a plan over cells must be evaluated besides those of
    /// the main input, and what each output has, or takes in, elsewhere: one value, which is zero where something is joined and
    /// cells have places in the result. `None` if that is not enough. Where several do, the last of them are left out.
    pub fn joined_cells(
        &self,
        strict: bool,
        sparse: &[CInputId],
        scalars: &dyn Fn(CInputId) -> f64,
    ) -> Option<(Vec<CInputId>, Vec<f64>)> {
        let elsewhere = |joined: &[CInputId]| {
            let values = self.values_at_zero(strict, true, joined, &|input| Some(scalars(input)));
            self.outputs.iter().map(|output| values[output.node()].value()).collect::<Option<Vec<f64>>>()
        };
        let joined = fewest(&self.candidates_of(sparse), |joined| elsewhere(joined).is_some())?;
        let values = elsewhere(&joined)?;
        let mut outputs = self.outputs.iter().zip(&values);
        let is_taken = joined.is_empty() || outputs.all(|(output, &value)| takes_elsewhere(output, value));
        is_taken.then_some((joined, values))
    }

    /// The side inputs of a list, which are sparse, beside whose zeros each output has, or takes in, what it has
    /// `elsewhere`, whatever the main input is there: positions of the main input that one of these lacks need not be
    /// visited.
    pub fn met_cells(
        &self,
        strict: bool,
        sparse: &[CInputId],
        scalars: &dyn Fn(CInputId) -> f64,
        elsewhere: &[f64],
    ) -> Vec<CInputId> {
        let outputs = || self.outputs.iter().zip(elsewhere);
        if sparse.is_empty() || !outputs().all(|(output, &value)| takes_elsewhere(output, value)) {
            return Vec::new();
        }
        let decides = |input: &CInputId| {
            let values = self.values_at_zero(strict, false, &[*input], &|input| Some(scalars(input)));
            outputs().all(|(output, &value)| values[output.node()].value() == Some(value))
        };
        self.candidates_of(sparse).into_iter().filter(decides).collect()
    }

    /// The side inputs of a list, which are sparse and lie by position like this main row, beside whose zeros a Row
    /// plan takes in nothing but zeros, whatever the main input is there. None where values by position are stored:
    /// their pattern is the main input's.
    pub fn met_rows(&self, positions: &Positions, sparse: &[CInputId]) -> Vec<CInputId> {
        let annihilates = |input: &CInputId| {
            let values = self.values_at_zero(false, false, &[*input], &|_| None);
            BesideZeros { positions, values }.takes_zeros_alone(self)
        };
        sparse.iter().copied().filter(|&input| positions.has_input(input)).filter(annihilates).collect()
    }

    /// The side inputs of a list whose non-zeros may be joined with those of the main one.
    fn candidates_of(&self, sparse: &[CInputId]) -> Vec<CInputId> {
        let candidates = self.candidates();
        sparse.iter().copied().filter(|input| candidates.contains(input)).collect()
    }

    /// The side inputs of the main input's dimensions that are read cell by cell, or row by row, and otherwise not.
    fn candidates(&self) -> Vec<CInputId> {
        let long = self.as_long_as_main();
        let is_candidate = |input: &CInputId| {
            let mut readers = self.nodes.iter().filter(|(_, node)| node.input() == Some(*input)).peekable();
            let is_whole = |(id, node): (CNodeId, &CNode)| match node {
                CNode::SideCell(_) => true,
                CNode::SideRow(_, ColumnRange::All) => long.contains(id),
                _ => false,
            };
            readers.peek().is_some() && readers.all(is_whole)
        };
        self.inputs.keys().filter(is_candidate).collect()
    }

    /// The vectors that element-wise operations combine with the main row, directly or through others.
    fn as_long_as_main(&self) -> EntitySet<CNodeId> {
        let shapes = self.shapes();
        let mut long: EntitySet<CNodeId> = EntitySet::new();
        self.nodes.iter().filter(|(_, node)| matches!(node, CNode::Main)).for_each(|(id, _)| {
            long.insert(id);
        });
        let mut has_grown = true;
        while std::mem::take(&mut has_grown) {
            for (id, node) in self.nodes.iter().filter(|(_, node)| node.is_element_wise()) {
                let operands = node.operands().into_iter().filter(|&operand| shapes.is_vector(operand));
                let vectors: Vec<CNodeId> = operands.chain([id]).collect();
                if vectors.iter().any(|&vector| long.contains(vector)) {
                    vectors.into_iter().for_each(|vector| has_grown |= long.insert(vector));
                }
            }
        }
        long
    }

    /// What has one value in the columns in which the main row is zero, given what is known there: scalars, and what is computed
    /// cell by cell of such values alone.
    fn uniform(&self, shapes: &Shapes, at_zero: &SecondaryMap<CNodeId, Known>) -> EntitySet<CNodeId> {
        let mut uniform = EntitySet::new();
        for (id, node) in &self.nodes {
            let is_computed =
                || node.is_element_wise() && node.operands().iter().all(|&operand| uniform.contains(operand));
            if !shapes.is_vector(id) || at_zero[id].value().is_some() || is_computed() {
                uniform.insert(id);
            }
        }
        uniform
    }

    /// What is known of each node where these side inputs, and perhaps the main one, are zero.
    fn values_at_zero(
        &self,
        strict: bool,
        main_is_zero: bool,
        zeros: &[CInputId],
        scalars: &dyn Fn(CInputId) -> Option<f64>,
    ) -> SecondaryMap<CNodeId, Known> {
        let mut values: SecondaryMap<CNodeId, Known> = SecondaryMap::new();
        for (id, node) in &self.nodes {
            values[id] = match *node {
                CNode::Main if main_is_zero => Known::Cells(0.0),
                CNode::SideCell(input) | CNode::SideRow(input, ColumnRange::All) if zeros.contains(&input) => {
                    Known::Cells(0.0)
                }
                CNode::Scalar(input) => Known::scalar(scalars(input)),
                CNode::Literal(bits) => Known::Scalar(bits.get()),
                CNode::Unary(op, a) => op.eval_known(values[a]),
                CNode::Binary(op, a, b) => op.eval_known(values[a], values[b], strict),
                CNode::Ternary(op, a, b, c) => op.eval_known(values[a], values[b], values[c], strict),
                _ => Known::Nothing,
            };
        }
        values
    }
}

/// Whether an output over cells can have this value wherever joined matrices are all zero: what has a place for each cell would
/// have to know how many positions each row, or column, has.
fn takes_elsewhere(output: &COutput, value: f64) -> bool {
    match *output {
        COutput::Store(_) => value == 0.0,
        COutput::Cumulative(..) => false,
        COutput::ColAgg(agg, _) => value == 0.0 && agg.ignores_zeros(),
        _ => true,
    }
}

/// The fewest of these that suffice, of several that do without the last ones; `None` if all of them do not.
pub fn fewest<T: Copy + PartialEq>(all: &[T], suffice: impl Fn(&[T]) -> bool) -> Option<Vec<T>> {
    let mut left = all.to_vec();
    if !suffice(&left) {
        return None;
    }
    for one in all.iter().rev() {
        let others: Vec<T> = left.iter().copied().filter(|other| other != one).collect();
        if suffice(&others) {
            left = others;
        }
    }
    Some(left)
}

/// A Row plan beside zeros of a side input.
struct BesideZeros<'a> {
    /// What lies by position.
    positions: &'a Positions,
    /// What is known of values in the columns of these zeros.
    values: SecondaryMap<CNodeId, Known>,
}

impl BesideZeros<'_> {
    /// Whether all that takes in values by position, but for what is computed cell by cell, takes in zeros.
    fn takes_zeros_alone(&self, plan: &CPlan) -> bool {
        plan.nodes.values().all(|node| self.suits_node(node)) && plan.outputs.iter().all(|output| self.suits(output))
    }

    fn suits_node(&self, node: &CNode) -> bool {
        match *node {
            CNode::DotProduct(left, right) => {
                let operands = [left, right].map(|id| self.positions.contains(id).then(|| self.is_zero(id)));
                operands == [None; 2] || operands.contains(&Some(true))
            }
            ref node => node.is_element_wise() || self.are_zeros(&node.operands()),
        }
    }

    fn suits(&self, output: &COutput) -> bool {
        match *output {
            COutput::Store(node) | COutput::Cumulative(_, node) => !self.positions.contains(node),
            ref output => self.are_zeros(&output.operands()),
        }
    }

    fn are_zeros(&self, operands: &[CNodeId]) -> bool {
        operands.iter().all(|&id| !self.positions.contains(id) || self.is_zero(id))
    }

    fn is_zero(&self, id: CNodeId) -> bool {
        self.values[id].value() == Some(0.0)
    }
}

struct Search<'a> {
    plan: &'a CPlan,
    /// Side inputs that are zero with the main input.
    joined: &'a [CInputId],
    shapes: Shapes,
    /// What values are in the columns in which the main row is zero.
    at_zero: SecondaryMap<CNodeId, Known>,
    /// What has one value in all these columns.
    uniform: EntitySet<CNodeId>,
    found: Positions,
}

impl<'a> Search<'a> {
    fn new(plan: &'a CPlan, strict: bool, joined: &'a [CInputId]) -> Self {
        let (shapes, at_zero) = (plan.shapes(), plan.values_at_zero(strict, true, joined, &|_| None));
        let uniform = plan.uniform(&shapes, &at_zero);
        Search { plan, joined, shapes, at_zero, uniform, found: Positions::default() }
    }

    /// What lies by position, if all that takes it can.
    fn finish(mut self) -> Option<Positions> {
        self.follow_main();
        self.takes_positions().then(|| {
            self.follow_operands();
            self.found
        })
    }

    /// Finds what is computed cell by cell of the main row, or of rows that are joined with it.
    fn follow_main(&mut self) {
        for (id, node) in &self.plan.nodes {
            let is_joined = side_row(node).is_some_and(|input| self.joined.contains(&input));
            let is_main = matches!(node, CNode::Main) || is_joined;
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
            CNode::Scatter(operand, _) => self.uniform.contains(operand),
            CNode::DotProduct(left, right) => {
                let is_sparse = [left, right].into_iter().any(|operand| self.has(operand) && self.is_sparse(operand));
                is_sparse || !self.has(left) && !self.has(right)
            }
            _ => !node.operands().into_iter().any(|operand| self.has(operand)),
        }
    }

    fn suits(&self, output: &COutput) -> bool {
        match *output {
            // Rows that are read are stored by themselves nowhere.
            COutput::Store(node) => !self.has(node) || self.is_sparse(node) && self.plan.nodes[node].is_element_wise(),
            // The zeros of a row count in extremes, but not in sums.
            COutput::ColAgg(agg, node) | COutput::FullAgg(agg, node) => {
                !self.has(node) || self.is_sparse(node) && agg.ignores_zeros()
            }
            // One of the two has all columns.
            COutput::RowProduct { long, short, .. } => !self.has(short) && (!self.has(long) || self.is_sparse(long)),
            COutput::Cumulative(_, node)
            | COutput::RowAgg(_, node)
            | COutput::TimesFactor(node)
            | COutput::TransposedTimesFactor(node) => !self.has(node),
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
            if !self.takes_cells_by_position(id) {
                for operand in node.operands() {
                    read_elsewhere.insert(operand);
                }
            }
        }
        self.find_inputs();
    }

    /// Whether a node asks for no cells of its operands but those at the positions: it lies there itself, or multiplies a value
    /// that is zero elsewhere.
    fn takes_cells_by_position(&self, id: CNodeId) -> bool {
        match self.plan.nodes[id] {
            CNode::DotProduct(left, right) => {
                [left, right].into_iter().any(|operand| self.has(operand) && self.is_sparse(operand))
            }
            CNode::Scatter(..) => true,
            ref node => self.has(id) && node.is_element_wise(),
        }
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
        self.at_zero[id].value() == Some(0.0)
    }
}

/// The side input whose rows a node reads.
fn side_row(node: &CNode) -> Option<CInputId> {
    if let CNode::SideRow(input, _) = *node { Some(input) } else { None }
}
