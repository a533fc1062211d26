//! Inlining: the body of a straight-line function takes the place of its call, where that lets operators fuse across
//! the call.
//!
//! Only bodies without control flow, effects and reads of files become part of the DAG around the call; others would
//! gain nothing. Locals get names that occur nowhere else. Spans tell the call that they are part of, so that errors
//! still name the chain of calls.

use crate::blocks::{Sequence, bodies_mut, predicates, predicates_mut};
use fuseline_ir::hop::{Function as Builtin, HopDag, HopOp, Span};
use fuseline_ir::program::{Call, Function, InlinedCall, Parameter, Program, StatementBlock};
use fuseline_ir::types::DataType;
use std::collections::{BTreeMap, BTreeSet};

/// A function of more operators is inlined only where it is called once.
const SMALL: usize = 100;

/// Puts the bodies of straight-line functions in place of their calls. Types of all DAGs must be known as far as they
/// can be.
pub fn inline_functions(program: &mut Program) {
    let mut inliner = Inliner {
        calls: count_calls(program),
        bodies: BTreeMap::new(),
        sources: program.sources.len(),
        inlined: std::mem::take(&mut program.inlined),
        locals: 0,
    };
    for name in callees_first(program) {
        let Some(function) = program.functions.get_mut(&name) else { continue };
        inliner.within(&mut function.body);
        if inliner.is_straight_line(function) {
            inliner.bodies.insert(name, function.clone());
        }
    }
    inliner.within(&mut program.body);
    program.inlined = inliner.inlined;
}

/// The functions, each after those that it calls, but for recursion.
fn callees_first(program: &Program) -> Vec<String> {
    fn visit(program: &Program, name: &str, seen: &mut BTreeSet<String>, order: &mut Vec<String>) {
        let Some(function) = program.functions.get(name) else { return };
        if !seen.insert(name.to_owned()) {
            return;
        }
        let mut callees = BTreeMap::new();
        collect_calls(&function.body, &mut callees);
        callees.keys().for_each(|callee| visit(program, callee, seen, order));
        order.push(name.to_owned());
    }
    let (mut seen, mut order) = (BTreeSet::new(), Vec::new());
    program.functions.keys().for_each(|name| visit(program, name, &mut seen, &mut order));
    order
}

/// How often each function is called in the text of the program.
fn count_calls(program: &Program) -> BTreeMap<String, usize> {
    let mut calls = BTreeMap::new();
    collect_calls(&program.body, &mut calls);
    program.functions.values().for_each(|function| collect_calls(&function.body, &mut calls));
    calls
}

fn collect_calls(blocks: &[StatementBlock], calls: &mut BTreeMap<String, usize>) {
    for block in blocks {
        predicates(block).into_iter().for_each(|predicate| collect_calls(&predicate.prelude, calls));
        match block {
            StatementBlock::Basic(_) => {}
            StatementBlock::Call(call) => *calls.entry(call.function.clone()).or_default() += 1,
            StatementBlock::If { then_body, else_body, .. } => {
                collect_calls(then_body, calls);
                collect_calls(else_body, calls);
            }
            StatementBlock::While { body, .. } | StatementBlock::For { body, .. } => collect_calls(body, calls),
        }
    }
}

struct Inliner {
    calls: BTreeMap<String, usize>,
    /// The functions that may be inlined, with their own calls inlined.
    bodies: BTreeMap<String, Function>,
    /// The number of source texts; spans of inlined calls count on from there.
    sources: usize,
    inlined: Vec<InlinedCall>,
    /// The number of calls that got locals of their own.
    locals: usize,
}

impl Inliner {
    fn within(&mut self, blocks: &mut Vec<StatementBlock>) {
        let mut sequence = Sequence::default();
        for mut block in std::mem::take(blocks) {
            predicates_mut(&mut block).into_iter().for_each(|predicate| self.within(&mut predicate.prelude));
            bodies_mut(&mut block).into_iter().for_each(|body| self.within(body));
            match &block {
                StatementBlock::Call(call) => match self.inlined_body(call) {
                    Some(body) => sequence.splice(body),
                    None => sequence.push(block),
                },
                _ => sequence.push(block),
            }
        }
        *blocks = sequence.finish();
    }

    /// Whether a function, of which the calls that may be were inlined, is straight-line code that has no effects and
    /// gives all its results their values.
    fn is_straight_line(&self, function: &Function) -> bool {
        let mut defined: BTreeSet<&str> = function.parameters.iter().map(|parameter| parameter.name.as_str()).collect();
        let mut operators = 0;
        for block in &function.body {
            let StatementBlock::Basic(dag) = block else { return false };
            if !is_quiet(dag) || !dag.reads().all(|(_, name)| defined.contains(name)) {
                return false;
            }
            defined.extend(dag.outputs.iter().map(|output| output.name.as_str()));
            operators += dag.hops.len();
        }
        let is_called_once = self.calls.get(&function.name).is_none_or(|count| *count <= 1);
        function.results.iter().all(|result| defined.contains(result.name.as_str()))
            && (operators <= SMALL || is_called_once)
    }

    /// The blocks that take the place of a call; `None` where the function is no straight-line code, or where values
    /// must be converted or checked on the way in or out.
    fn inlined_body(&mut self, call: &Call) -> Option<Vec<StatementBlock>> {
        let function = self.bodies.get(&call.function).filter(|function| passes_types(call, function))?.clone();
        self.locals += 1;
        let number = self.locals;
        let local = |name: &str| format!("_{number}_{name}");
        let mut arguments = call.arguments.clone();
        arguments.outputs.iter_mut().for_each(|output| output.name = local(&output.name));
        let mut blocks = Sequence::default();
        blocks.push(StatementBlock::Basic(arguments));
        let mut body = Vec::new();
        let mut sources = BTreeMap::new();
        for block in &function.body {
            let StatementBlock::Basic(dag) = block else { return None };
            let mut dag = dag.clone();
            dag.outputs.iter_mut().for_each(|output| output.name = local(&output.name));
            for hop in dag.hops.values_mut() {
                if let HopOp::Read(name) = &mut hop.op {
                    *name = local(name);
                }
                hop.span = hop.span.map(|span| self.within_call(span, call, &mut sources));
            }
            body.push(StatementBlock::Basic(dag));
        }
        blocks.splice(body);
        blocks.splice(vec![StatementBlock::Basic(results(call, &function, local))]);
        Some(blocks.finish())
    }

    /// The span as part of a call.
    fn within_call(&mut self, span: Span, call: &Call, sources: &mut BTreeMap<u32, u32>) -> Span {
        if let Some(&source) = sources.get(&span.source) {
            return Span { source, ..span };
        }
        let outer = (span.source as usize).checked_sub(self.sources).and_then(|index| self.inlined.get(index)).cloned();
        let inlined = match outer {
            Some(nested) => {
                let call = nested.call.map(|span| self.within_call(span, call, sources));
                InlinedCall { call, ..nested }
            }
            None => InlinedCall { function: call.function.clone(), call: call.span, source: span.source },
        };
        let source = (self.sources + self.inlined.len()) as u32;
        self.inlined.push(inlined);
        sources.insert(span.source, source);
        Span { source, ..span }
    }
}

/// Whether a DAG has no effects, reads no file and asks for no time.
fn is_quiet(dag: &HopDag) -> bool {
    let is_loud = |op: &HopOp| {
        matches!(op, HopOp::Parameterized { function: Builtin::Read | Builtin::Time, .. }) || op.is_effect()
    };
    dag.effects.is_empty() && !dag.hops.values().any(|hop| is_loud(&hop.op))
}

/// Whether arguments and results surely have the declared types, so that nothing is checked at run time.
fn passes_types(call: &Call, function: &Function) -> bool {
    let fits = |parameter: &Parameter, actual: Option<DataType>| {
        let declared = parameter.data_type;
        let is_number = declared.is_number() && actual.is_some_and(DataType::is_number);
        declared == DataType::Unknown || is_number || actual == Some(declared)
    };
    let argument = |name: &str| {
        let output = call.arguments.outputs.iter().find(|output| output.name == name)?;
        Some(call.arguments[output.hop].data_type)
    };
    let assigned = |name: &str| {
        function.body.iter().rev().find_map(|block| {
            let StatementBlock::Basic(dag) = block else { return None };
            let output = dag.outputs.iter().find(|output| output.name == name)?;
            Some(dag[output.hop].data_type)
        })
    };
    let results = &function.results;
    function.parameters.iter().all(|parameter| fits(parameter, argument(&parameter.name)))
        && results.iter().all(|result| fits(result, assigned(&result.name).or_else(|| argument(&result.name))))
}

/// The DAG that gives the targets of a call the values of the renamed results.
fn results(call: &Call, function: &Function, local: impl Fn(&str) -> String) -> HopDag {
    let mut dag = HopDag::new();
    for (result, target) in function.results.iter().zip(&call.targets) {
        if let Some(target) = target {
            let hop = dag.read_matrix(&local(&result.name), Default::default());
            dag.hops[hop].data_type = result.data_type.declared();
            dag.hops[hop].span = call.span;
            dag.write(target, hop);
        }
    }
    dag
}
