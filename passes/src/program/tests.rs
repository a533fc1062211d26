//! Tests of what the text form of programs does not show.

use super::*;
use fuseline_ir::SizeInfo;
use fuseline_ir::hop::{HopDag, Span};
use fuseline_ir::ops::UnaryOp;
use fuseline_ir::program::{Call, Function, Parameter, Source, StatementBlock};
use fuseline_ir::types::DataType;

fn span(source: u32, start: u32) -> Option<Span> {
    Some(Span { source, start, end: start + 1 })
}

fn parameter(name: &str) -> Parameter {
    Parameter { name: name.into(), data_type: DataType::MATRIX }
}

/// `target = callee(X = argument)`, written at `start` of a source.
fn call(callee: &str, argument: &str, target: &str, source: u32, start: u32) -> StatementBlock {
    let mut arguments = HopDag::new();
    let x = arguments.read_matrix(argument, SizeInfo::UNKNOWN);
    arguments.write("X", x);
    let targets = vec![Some(target.to_owned())];
    StatementBlock::Call(Call { function: callee.into(), arguments, targets, span: span(source, start) })
}

fn function(name: &str, body: Vec<StatementBlock>) -> (String, Function) {
    let (parameters, results) = (vec![parameter("X")], vec![parameter("R")]);
    (name.to_owned(), Function { name: name.into(), parameters, results, body, span: None })
}

/// `inner` is in source 1, `outer` in source 0 calls it twice, the body calls `outer`.
fn nested() -> Program {
    let mut dag = HopDag::new();
    let x = dag.read_matrix("X", SizeInfo::UNKNOWN);
    let result = dag.add(UnaryOp::Exp.into(), &[x], span(1, 3)).expect("fits");
    dag.write("R", result);
    let outer = vec![call("inner", "X", "Y", 0, 10), call("inner", "Y", "R", 0, 20)];
    let source = |name: &str| Source { name: name.into(), text: "".into() };
    Program {
        functions: [function("inner", vec![StatementBlock::Basic(dag)]), function("outer", outer)].into(),
        body: vec![call("outer", "A", "B", 0, 30)],
        sources: vec![source("main"), source("library")],
        ..Program::default()
    }
}

#[test]
fn operators_of_inlined_functions_know_all_the_calls_that_they_are_part_of() {
    let mut program = nested();
    inline_functions(&mut program);
    let [StatementBlock::Basic(dag)] = program.body.as_slice() else { panic!("one block: {program}") };
    let mut chains = Vec::new();
    for hop in dag.hops.values().filter(|hop| hop.op == UnaryOp::Exp.into()) {
        let mut place = hop.span;
        assert_eq!(program.written_at(place.expect("it was written")), span(1, 3).expect("it is some"));
        let mut chain = Vec::new();
        while let Some(inlined) = place.and_then(|span| program.inlined_call(span)) {
            chain.push((inlined.function.as_str(), inlined.call.map(|span| program.written_at(span))));
            place = inlined.call;
        }
        chains.push(chain);
    }
    let outer = ("outer", span(0, 30));
    assert_eq!(chains, [[("inner", span(0, 10)), outer], [("inner", span(0, 20)), outer]]);
}

#[test]
fn functions_that_call_each_other_stay_calls() {
    let mut program = nested();
    program.functions.insert("inner".into(), function("inner", vec![call("outer", "X", "R", 1, 0)]).1);
    let before = program.to_string();
    inline_functions(&mut program);
    assert_eq!(program.to_string(), before);
}

#[test]
fn values_that_must_be_converted_or_checked_stay_arguments_of_calls() {
    let mut program = nested();
    let StatementBlock::Call(call) = &mut program.body[0] else { panic!("a call") };
    call.arguments.hops.values_mut().for_each(|hop| hop.data_type = DataType::Unknown);
    inline_functions(&mut program);
    assert!(matches!(program.body.as_slice(), [StatementBlock::Call(_)]), "{program}");
}
