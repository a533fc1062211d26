//! Row plans that need for all columns what is computed of sparse main rows: the form of them that units of such rows run.
//!
//! `exp(X) %*% v` asks for `exp` of every cell, but all cells in which X is zero give the same. The form computes such a value
//! at the positions, and once for the columns between them, and lays it out then ([`CNode::Scatter`]): what fills is dense,
//! and what comes after it, but nothing before it.

use super::Search;
use crate::cplan::{Bits, CInputId, CNode, CNodeId, COutput, CPlan, RowType, Variant};
use crate::template::Space;
use cranelift_entity::{EntitySet, PrimaryMap, SecondaryMap};
use smallvec::{SmallVec, smallvec};
use std::borrow::Cow;

/// What it takes to lay out a cell, in flops of those that need not be done for it: where these are fewer, rows are better
/// laid out before anything is computed of them. Estimated.
pub const SCATTER_FLOPS: f64 = 4.0;

impl CPlan {
    /// The plan that units of sparse main rows run, which has [positions](CPlan::positions): this one if it has, else one
    /// that lays values out. `None` for Row plans that need cells of the main row for all columns, or of what takes few flops
    /// to compute of them. Plans over cells are their own form.
    pub fn sparse_form(&self) -> Option<Cow<'_, CPlan>> {
        if self.space() != Space::Rows || self.positions(false).is_some() {
            return Some(Cow::Borrowed(self));
        }
        if !self.reads_main() {
            return None;
        }
        let laying_out = |joined: &[CInputId]| Some(Cow::Owned(Scattering::of(self, joined)?.plan()));
        laying_out(&[]).or_else(|| laying_out(&self.candidates()))
    }

    /// This plan with the variant that its output says: what is laid out is as long as the main row by its own name, where the
    /// value may have had that of a side input.
    fn with_own_variant(self) -> CPlan {
        let own = match &self.outputs[..] {
            [output] if self.variant != Variant::Row(RowType::MultiAgg) => self.output_variant(output, &self.shapes()),
            _ => None,
        };
        CPlan { variant: own.unwrap_or(self.variant), ..self }
    }
}

/// Which values of a plan are computed by position, and laid out then.
struct Scattering<'a> {
    search: Search<'a>,
    laid_out: EntitySet<CNodeId>,
}

impl<'a> Scattering<'a> {
    /// What is laid out if these side inputs are zero with the main one; `None` if that saves little.
    fn of(plan: &'a CPlan, joined: &'a [CInputId]) -> Option<Self> {
        let mut search = Search::new(plan, false, joined);
        search.follow_main();
        let laid_out = search.leave_out();
        let scattering = Scattering { search, laid_out };
        let count = plan.nodes.keys().filter(|&id| scattering.laid_out.contains(id)).count();
        (scattering.saved_flops() >= SCATTER_FLOPS * count as f64).then_some(scattering)
    }

    /// The flops for a cell that are done at positions alone.
    fn saved_flops(&self) -> f64 {
        let nodes = self.search.plan.nodes.iter().filter(|&(id, _)| self.search.has(id));
        nodes.map(|(_, node)| node.flops()).sum()
    }

    /// The plan that lays these values out.
    fn plan(&self) -> CPlan {
        let plan = self.search.plan;
        let mut form = Form { scattering: self, nodes: PrimaryMap::new(), places: SecondaryMap::new() };
        for (id, node) in &plan.nodes {
            form.copy(id, node);
        }
        let outputs = plan.outputs.iter().map(|output| form.output(output)).collect();
        CPlan { inputs: plan.inputs.clone(), nodes: form.nodes, outputs, ..*plan }.with_own_variant()
    }
}

impl Search<'_> {
    /// Takes out of what was found by position all that is needed for all columns, unless it has one value between
    /// positions. What is left and needed for all columns.
    fn leave_out(&mut self) -> EntitySet<CNodeId> {
        let mut needed = EntitySet::new();
        let plan = self.plan;
        for operand in plan.outputs.iter().flat_map(|output| self.needs_of(output)) {
            needed.insert(operand);
        }
        for (id, node) in plan.nodes.iter().rev() {
            if needed.contains(id) && !self.uniform.contains(id) {
                self.found.values.remove(id);
                needed.remove(id);
            }
            if !self.takes(id) {
                node.operands().into_iter().filter(|&operand| self.has(operand)).for_each(|operand| {
                    needed.insert(operand);
                });
            }
        }
        needed
    }

    /// Whether a node takes the cells of what was found at positions.
    fn takes(&self, id: CNodeId) -> bool {
        let node = &self.plan.nodes[id];
        if node.is_element_wise() { self.has(id) } else { self.suits_node(node) }
    }

    /// What was found by position and an output needs for all columns.
    fn needs_of(&self, output: &COutput) -> SmallVec<[CNodeId; 2]> {
        let mut operands = match *output {
            _ if self.suits(output) => smallvec![],
            COutput::RowProduct { long, short, .. } if self.is_sparse(long) => smallvec![short],
            ref output => output.operands(),
        };
        operands.retain(|operand| self.has(*operand));
        operands
    }
}

/// Where a node of a plan is in the form of it.
#[derive(Clone, Copy, Default)]
struct Place {
    /// Its value, where it is copied.
    value: Option<CNodeId>,
    /// Its value for all columns, where it is laid out.
    laid_out: Option<CNodeId>,
    /// Its value between positions, where that is asked for.
    elsewhere: Option<CNodeId>,
}

/// The form of a plan, as far as its nodes are copied.
struct Form<'a> {
    scattering: &'a Scattering<'a>,
    nodes: PrimaryMap<CNodeId, CNode>,
    places: SecondaryMap<CNodeId, Place>,
}

impl Form<'_> {
    /// Copies a node, and lays its value out if that is needed.
    fn copy(&mut self, id: CNodeId, node: &CNode) {
        let takes = self.scattering.search.takes(id);
        let copy = node.map_operands(|operand| self.operand(operand, takes));
        let value = self.nodes.push(copy);
        self.places[id].value = Some(value);
        if self.scattering.laid_out.contains(id) {
            let elsewhere = self.elsewhere(id);
            self.places[id].laid_out = Some(self.nodes.push(CNode::Scatter(value, elsewhere)));
        }
    }

    /// The copy of an operand, for whoever takes it by position or needs it for all columns.
    fn operand(&self, id: CNodeId, takes: bool) -> CNodeId {
        let Place { value, laid_out, .. } = self.places[id];
        laid_out.filter(|_| !takes).or(value).expect("operands precede their users")
    }

    fn output(&self, output: &COutput) -> COutput {
        let needed = self.scattering.search.needs_of(output);
        output.map_operands(|operand| self.operand(operand, !needed.contains(&operand)))
    }

    /// The value of a node, which has one, in all columns between positions.
    fn elsewhere(&mut self, id: CNodeId) -> CNodeId {
        for node in self.asked_for(id) {
            let value = self.elsewhere_of_operands(node);
            self.places[node].elsewhere = Some(value);
        }
        self.places[id].elsewhere.expect("it is what was asked for")
    }

    /// The nodes whose values between positions that of a node is computed of, as far as they are not known, and the node itself:
    /// operands first.
    fn asked_for(&self, id: CNodeId) -> Vec<CNodeId> {
        let (mut seen, mut asked_for, mut open) = (EntitySet::new(), Vec::new(), vec![id]);
        while let Some(node) = open.pop() {
            if self.places[node].elsewhere.is_none() && seen.insert(node) {
                asked_for.push(node);
                if !self.is_known(node) {
                    open.extend(self.scattering.search.plan.nodes[node].operands());
                }
            }
        }
        asked_for.sort_unstable();
        asked_for
    }

    /// Whether a node is a scalar, or a vector of which a literal says what it is between positions.
    fn is_known(&self, id: CNodeId) -> bool {
        let Search { shapes, at_zero, .. } = &self.scattering.search;
        !shapes.is_vector(id) || at_zero[id].value().is_some()
    }

    /// The value of a node between positions, those of its operands being known.
    fn elsewhere_of_operands(&mut self, id: CNodeId) -> CNodeId {
        let Search { plan, shapes, at_zero, .. } = &self.scattering.search;
        let node = match at_zero[id].value() {
            _ if !shapes.is_vector(id) => return self.operand(id, true),
            Some(value) => CNode::Literal(Bits::new(value)),
            None => {
                let of = |operand: CNodeId| self.places[operand].elsewhere.expect("operands precede their users");
                plan.nodes[id].map_operands(of)
            }
        };
        self.nodes.push(node)
    }
}
