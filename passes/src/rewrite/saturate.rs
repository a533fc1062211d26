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
    let (mut egraph, classes) = load(dag, scope);
    let mut applied = match scope {
        Scope::All => chains::add(dag, &mut egraph, &classes, options),
        Scope::AlwaysPaying => Applied::new(),
    };
    let runner = Runner::new(FactsAnalysis::default())
        .with_egraph(egraph)
        .with_node_limit(options.max_nodes)
        .with_iter_limit(options.max_iterations)
        .with_time_limit(Duration::MAX)
        .run(rewrites(dag, options, scope));
    applied.extend(applied_rules(&runner));
    let alternatives = (!applied.is_empty()).then(|| unload(dag, &runner.egraph, &classes));
    (alternatives, applied)
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
