//! From a DAG into the e-graph, through the rules, and back.

use super::RewriteOptions;
use super::compile::{rewrites, rule_of};
use super::cost::{Shape, operator_cost};
use super::dag::finish;
use super::egraph::{EGraph, Facts, FactsAnalysis, Node, add_given};
use super::extract::{Candidate, Classes, extract, order};
use super::operator::Operator;
use super::rules;
use cranelift_entity::SecondaryMap;
use egg::{Id, Language, Runner};
use foldhash::HashMap;
use fuseline_ir::hop::{Hop, HopDag, HopId, Inputs};
use std::time::Duration;

/// The DAG after the rules, and how often each rule found something new.
pub(super) fn saturate(dag: &HopDag, options: &RewriteOptions) -> (HopDag, Vec<(&'static str, usize)>) {
    let (egraph, classes) = load(dag);
    let runner = Runner::new(FactsAnalysis::default())
        .with_egraph(egraph)
        .with_node_limit(options.max_nodes)
        .with_iter_limit(options.max_iterations)
        .with_time_limit(Duration::MAX)
        .run(rewrites(dag, options));
    let applied = applied(&runner);
    if applied.is_empty() {
        return (dag.clone(), applied);
    }
    (unload(dag, &runner.egraph, &classes), applied)
}

fn applied(runner: &Runner<Node, FactsAnalysis>) -> Vec<(&'static str, usize)> {
    let counts = || runner.iterations.iter().flat_map(|iteration| &iteration.applied);
    let count = |name: &str| counts().filter(|(rewrite, _)| rule_of(**rewrite) == name).map(|(_, count)| count).sum();
    rules::all().map(|rule| (rule.name, count(rule.name))).filter(|(_, count)| *count > 0).collect()
}

/// The e-graph of a DAG, and the class of every operator.
fn load(dag: &HopDag) -> (EGraph, SecondaryMap<HopId, Id>) {
    let mut egraph = EGraph::new(FactsAnalysis::default());
    let mut classes = SecondaryMap::with_default(Id::from(0));
    for (id, hop) in &dag.hops {
        let node = node(id, hop, |input| classes[input]);
        classes[id] = add_given(&mut egraph, node, Facts::of(hop));
    }
    egraph.rebuild();
    (egraph, classes)
}

fn node(id: HopId, hop: &Hop, class: impl Fn(HopId) -> Id) -> Node {
    let operator = if hop.op.is_pure() { Operator::pure(&hop.op) } else { Operator::distinct(&hop.op, id) };
    Node { operator, inputs: hop.inputs.iter().map(|&input| class(input)).collect() }
}

/// The classes of an e-graph, numbered densely, without egg.
struct Numbered {
    ids: Vec<Id>,
    classes: Classes,
}

impl Numbered {
    fn number(&self, egraph: &EGraph, id: Id) -> usize {
        self.ids.binary_search(&egraph.find(id)).expect("every class is numbered")
    }
}

fn number(dag: &HopDag, egraph: &EGraph, classes: &SecondaryMap<HopId, Id>) -> Numbered {
    let mut originals: HashMap<Node, HopId> = HashMap::default();
    for (id, hop) in &dag.hops {
        originals.entry(node(id, hop, |input| egraph.find(classes[input]))).or_insert(id);
    }
    let mut ids: Vec<Id> = egraph.classes().map(|class| class.id).collect();
    ids.sort_unstable();
    let mut numbered = Numbered { ids, classes: Classes::new() };
    for &id in &numbered.ids {
        let class = &egraph[id];
        let candidates = class.nodes.iter().map(|node| {
            let node = node.clone().map_children(|child| egraph.find(child));
            let shapes: Vec<Shape> = node.inputs.iter().map(|&input| egraph[input].data.shape()).collect();
            Candidate {
                cost: operator_cost(node.operator.op(), &shapes, class.data.shape()),
                inputs: node.inputs.iter().map(|&input| numbered.number(egraph, input)).collect(),
                original: originals.get(&node).copied(),
                op: node.operator.op().clone(),
            }
        });
        let candidates = candidates.collect();
        numbered.classes.push(candidates);
    }
    numbered
}

/// The cheapest DAG. Operators come in the order of the input, so that effects and draws of random numbers keep theirs;
/// what a rule made comes just before its first user.
fn unload(dag: &HopDag, egraph: &EGraph, classes: &SecondaryMap<HopId, Id>) -> HopDag {
    let numbered = number(dag, egraph, classes);
    let class_of = |id: HopId| numbered.number(egraph, classes[id]);
    let roots: Vec<usize> = dag.roots().into_iter().map(class_of).collect();
    let plan = extract(&numbered.classes, &roots);
    let cheapest = order(&numbered.classes, &roots, &plan).expect("extraction gives plans without cycles");
    let mut needed = vec![false; numbered.classes.len()];
    for class in cheapest {
        needed[class] = true;
    }
    let in_input_order: Vec<usize> = dag.hops.keys().map(class_of).filter(|&class| needed[class]).collect();
    let emitted = order(&numbered.classes, &in_input_order, &plan).expect("the same plan");

    let mut result = HopDag::new();
    let mut new_ids: Vec<Option<HopId>> = vec![None; numbered.classes.len()];
    for class in emitted {
        let chosen = &numbered.classes[class][plan[class].expect("ordered classes are in the plan")];
        let inputs: Inputs =
            chosen.inputs.iter().map(|&input| new_ids[input].expect("inputs come before their users")).collect();
        let facts = &egraph[numbered.ids[class]].data;
        let (op, data_type, size, span) = (chosen.op.clone(), facts.data_type, facts.size, facts.span);
        new_ids[class] = Some(result.push(Hop { op, inputs, data_type, size, span }));
    }
    finish(dag, result, |id| new_ids[class_of(id)].expect("outputs and effects are computed"))
}
