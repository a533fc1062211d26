//! From a DAG into the e-graph, through the rules, and out of it as plain [`Alternatives`].

use super::alternatives::{Alternatives, Value};
use super::chains;
use super::classes::{Candidate, Classes};
use super::compile::{rewrites, rule_of};
use super::cost::{Shape, operator_cost};
use super::egraph::{EGraph, Facts, FactsAnalysis, Node, add_given};
use super::operator::Operator;
use super::report::Applied;
use super::rules;
use super::{RewriteOptions, Scope};
use cranelift_entity::SecondaryMap;
use egg::{Id, Language, Runner};
use foldhash::HashMap;
use fuseline_ir::hop::{Hop, HopDag, HopId, HopOp};
use std::time::Duration;

/// All that the rules know of a DAG, and how often each found something new; no alternatives where none did.
pub(super) fn saturate(dag: &HopDag, options: &RewriteOptions, scope: Scope) -> (Option<Alternatives>, Applied) {
    let Saturated { runner, classes, mut applied } = without_clock(|| Saturated::new(dag, options, scope));
    applied.extend(applied_rules(&runner));
    let alternatives = (!applied.is_empty()).then(|| unload(dag, &runner.egraph, &classes));
    (alternatives, applied)
}

/// A DAG as an e-graph to which the rules add no more.
struct Saturated {
    runner: Runner<Node, FactsAnalysis>,
    /// The class of every operator.
    classes: SecondaryMap<HopId, Id>,
    /// How often chains found something new.
    applied: Applied,
}

impl Saturated {
    fn new(dag: &HopDag, options: &RewriteOptions, scope: Scope) -> Saturated {
        let (mut egraph, classes) = load(dag, scope);
        let applied = match scope {
            Scope::All => chains::add(dag, &mut egraph, &classes, options),
            Scope::AlwaysPaying => Applied::new(),
        };
        let runner = Runner::new(FactsAnalysis::default())
            .with_egraph(egraph)
            .with_node_limit(options.max_nodes)
            .with_iter_limit(options.max_iterations)
            .with_time_limit(Duration::MAX)
            .run(rewrites(dag, options, scope));
        Saturated { runner, classes, applied }
    }
}

/// Does something while egg's clock stands still. It measures what nobody reads, limits are counts, and the first look at
/// the real one spins until its rate is known: up to 0.2 s of every process.
fn without_clock<T>(work: impl FnOnce() -> T) -> T {
    let (still, _) = quanta::Clock::mock();
    quanta::with_clock(&still, work)
}

fn applied_rules(runner: &Runner<Node, FactsAnalysis>) -> Applied {
    let mut counts: HashMap<&str, usize> = HashMap::default();
    for (rewrite, count) in runner.iterations.iter().flat_map(|iteration| &iteration.applied) {
        *counts.entry(rule_of(*rewrite)).or_default() += count;
    }
    rules::all().filter_map(|rule| Some((rule.name, *counts.get(rule.name)?))).filter(|(_, count)| *count > 0).collect()
}

/// The e-graph of a DAG, and the class of every operator.
fn load(dag: &HopDag, scope: Scope) -> (EGraph, SecondaryMap<HopId, Id>) {
    let mut egraph = EGraph::new(FactsAnalysis::default());
    let mut classes = SecondaryMap::with_default(Id::from(0));
    for (id, hop) in &dag.hops {
        let node = node(id, hop, |input| classes[input]);
        let mut facts = Facts::of(dag, hop);
        // Whether what an earlier block computes is there is known when this block runs, not before.
        facts.may_be_missing |= scope == Scope::AlwaysPaying && matches!(hop.op, HopOp::Read(_));
        classes[id] = add_given(&mut egraph, node, facts);
    }
    egraph.rebuild();
    (egraph, classes)
}

fn node(id: HopId, hop: &Hop, class: impl Fn(HopId) -> Id) -> Node {
    let operator = if hop.op.is_pure() { Operator::pure(&hop.op) } else { Operator::distinct(&hop.op, id) };
    Node { operator, inputs: hop.inputs.iter().map(|&input| class(input)).collect() }
}

/// The e-graph as data, with the classes numbered densely.
fn unload(dag: &HopDag, egraph: &EGraph, class_of: &SecondaryMap<HopId, Id>) -> Alternatives {
    let mut originals: HashMap<Node, HopId> = HashMap::default();
    for (id, hop) in &dag.hops {
        originals.entry(node(id, hop, |input| egraph.find(class_of[input]))).or_insert(id);
    }
    let mut ids: Vec<Id> = egraph.classes().map(|class| class.id).collect();
    ids.sort_unstable();
    let number = |id: Id| ids.binary_search(&egraph.find(id)).expect("every class is numbered");
    let shape = |id: &Id| -> Shape { egraph[*id].data.shape() };
    let candidate = |class: Id, node: &Node| {
        let node = node.clone().map_children(|child| egraph.find(child));
        let shapes: Vec<Shape> = node.inputs.iter().map(shape).collect();
        Candidate {
            cost: operator_cost(node.operator.op(), &shapes, shape(&class)),
            inputs: node.inputs.iter().map(|&input| number(input)).collect(),
            original: originals.get(&node).copied(),
            op: node.operator.op().clone(),
        }
    };
    let classes: Classes =
        ids.iter().map(|&id| egraph[id].nodes.iter().map(|node| candidate(id, node)).collect()).collect();
    let value = |&id: &Id| {
        let Facts { data_type, size, span, .. } = egraph[id].data;
        Value { data_type, size, span }
    };
    let values = ids.iter().map(value).collect();
    let mut numbers = SecondaryMap::with_capacity(dag.hops.len());
    for id in dag.hops.keys() {
        numbers[id] = number(class_of[id]);
    }
    Alternatives::new(dag.clone(), classes, values, numbers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fuseline_ir::SizeInfo;
    use fuseline_ir::ops::UnaryOp;

    #[test]
    fn saturation_looks_at_no_clock() {
        let mut dag = HopDag::new();
        let x = dag.read_matrix("X", SizeInfo::dims(100, 10));
        let negated = dag.add(UnaryOp::Neg.into(), &[x], None).expect("a matrix has its negative");
        dag.write("x", negated);
        let Saturated { runner, .. } = without_clock(|| Saturated::new(&dag, &RewriteOptions::default(), Scope::All));
        let seconds: Vec<f64> = runner.iterations.iter().map(|iteration| iteration.total_time).collect();
        assert!(!seconds.is_empty() && seconds.iter().all(|&seconds| seconds == 0.0), "{seconds:?}");
    }
}
