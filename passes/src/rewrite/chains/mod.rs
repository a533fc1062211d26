//! Chains of matrix products and of element-wise multiplications: what associativity gives without searching for it.
//!
//! If they were rules, associativity and commutativity would fill the e-graph with every order of every chain. Instead the best
//! order of each chain of the input is computed, by dynamic programming and by sorting, and added to the e-graph as an
//! equal alternative before the rules run. What is taken is decided like everything else, by the cost of the whole DAG:
//! so a product that is needed anyway is not computed again for the sake of a better order around it.
//!
//! Scalings by vectors are products with diagonal matrices, and so factors of chains of products: each is applied where
//! that costs least, to a vector or a narrow matrix rather than to every cell of a large one.
//!
//! Both round differently, so that strict IEEE semantics have neither.

mod factors;
mod order;
mod products;
mod scalings;

use super::RewriteOptions;
use super::egraph::{EGraph, Node};
use super::operator::Operator;
use super::report::Applied;
use cranelift_entity::SecondaryMap;
use egg::Id;
use fuseline_ir::hop::{HopDag, HopId, HopOp};

/// The names under which explanations count chains.
const NAMES: [&str; 2] = ["matrix-product-chain", "multiply-chain"];

/// Adds the best order of every chain, and tells how many were new.
pub(super) fn add(
    dag: &HopDag,
    egraph: &mut EGraph,
    classes: &SecondaryMap<HopId, Id>,
    options: &RewriteOptions,
) -> Applied {
    if options.strict_ieee {
        return Applied::new();
    }
    let consumers = dag.consumers();
    let leaving = dag.roots();
    let is_inner = |id: HopId| consumers[id].len() == 1 && !leaving.contains(&id);
    let mut builder = Builder { egraph, classes };
    let counts = [products::add(dag, &is_inner, &mut builder), factors::add(dag, &is_inner, &mut builder)];
    builder.egraph.rebuild();
    NAMES.into_iter().zip(counts).filter(|(_, count)| *count > 0).collect()
}

/// Makes operators in an e-graph that holds a DAG.
struct Builder<'a> {
    egraph: &'a mut EGraph,
    classes: &'a SecondaryMap<HopId, Id>,
}

impl Builder<'_> {
    fn class(&self, id: HopId) -> Id {
        self.classes[id]
    }

    /// An operator; of a commutative one the order of the inputs that the e-graph has already.
    fn make(&mut self, op: impl Into<HopOp>, inputs: &[Id]) -> Id {
        let node = Node { operator: Operator::pure(&op.into()), inputs: inputs.into() };
        let mut exchanged = node.clone();
        exchanged.inputs.reverse();
        let known = node.operator.is_commutative().then(|| self.egraph.lookup(exchanged)).flatten();
        known.unwrap_or_else(|| self.egraph.add(node))
    }

    /// Declares the value equal to that of an operator, if its type and shape are the same; whether that was new.
    fn equate(&mut self, id: HopId, made: Id) -> bool {
        let class = self.classes[id];
        let fits = self.egraph[made].data.agrees(&self.egraph[class].data);
        fits && self.egraph.union(class, made)
    }
}
