//! Tests of the text form and the verifier of programs.

use super::*;
use crate::text::testing::Random;
use crate::types::{Element, ScalarType};
use expect_test::{Expect, expect};

fn random_dag(random: &mut Random) -> HopDag {
    let mut dag = HopDag::new();
    let value = dag.literal(random.value());
    dag.write(&random.name(), value);
    dag
}

fn random_predicate(random: &mut Random, depth: usize) -> Predicate {
    let prelude = if random.chance() { Vec::new() } else { random_blocks(random, depth) };
    Predicate { prelude, dag: random_dag(random) }
}

fn random_blocks(random: &mut Random, depth: usize) -> Vec<StatementBlock> {
    let count = if depth == 0 { 0 } else { random.below(4) };
    (0..count).map(|_| random_block(random, depth - 1)).collect()
}

fn random_block(random: &mut Random, depth: usize) -> StatementBlock {
    match random.below(5) {
        0 => StatementBlock::Basic(random_dag(random)),
        1 => StatementBlock::Call(Call {
            function: random.name(),
            arguments: random_dag(random),
            targets: (0..random.below(3)).map(|_| random.chance().then(|| random.name())).collect(),
            span: None,
        }),
        2 => StatementBlock::If {
            predicate: random_predicate(random, depth),
            then_body: random_blocks(random, depth),
            else_body: random_blocks(random, depth),
            span: None,
        },
        3 => StatementBlock::While {
            predicate: random_predicate(random, depth),
            body: random_blocks(random, depth),
            span: None,
        },
        _ => StatementBlock::For {
            variable: random.name(),
            from: random_predicate(random, depth),
            to: random_predicate(random, depth),
            by: random.chance().then(|| random_predicate(random, depth)),
            body: random_blocks(random, depth),
            parallel: random.chance(),
            span: None,
        },
    }
}

fn random_parameters(random: &mut Random) -> Vec<Parameter> {
    let types = [
        DataType::MATRIX,
        DataType::Matrix(Element::U8),
        DataType::F64,
        DataType::Scalar(ScalarType::Str),
        DataType::Unknown,
    ];
    let parameter = |random: &mut Random| Parameter { name: random.name(), data_type: random.pick(&types) };
    (0..random.below(3)).map(|_| parameter(random)).collect()
}

fn random_program(random: &mut Random) -> Program {
    let mut program = Program { body: random_blocks(random, 4), ..Program::default() };
    for _ in 0..random.below(3) {
        let function = Function {
            name: random.name(),
            parameters: random_parameters(random),
            results: random_parameters(random),
            body: random_blocks(random, 3),
            span: None,
        };
        program.functions.insert(function.name.clone(), function);
    }
    program
}

#[test]
fn printed_programs_read_back() {
    for seed in 0..200 {
        let program = random_program(&mut Random(seed));
        let text = program.to_string();
        let parsed = parse(&text).unwrap_or_else(|errors| panic!("seed {seed}: {errors}\n{text}"));
        assert_eq!(parsed.to_string(), text, "seed {seed}");
        let signatures = |program: &Program| -> Vec<_> {
            program
                .functions
                .values()
                .map(|function| (function.name.clone(), function.parameters.len(), function.body.len()))
                .collect()
        };
        assert_eq!(signatures(&parsed), signatures(&program), "seed {seed}");
        assert_eq!(parsed.body.len(), program.body.len(), "seed {seed}");
    }
}

#[test]
fn damaged_texts_give_errors_or_programs_that_print_stably() {
    let mut parsed = 0;
    for seed in 0..1000 {
        let mut random = Random(seed);
        let text = random_program(&mut random).to_string();
        let Ok(program) = parse(&random.damaged(&text)) else { continue };
        parsed += 1;
        // The verifier must survive whatever parses.
        let _ = program.verify();
        let printed = program.to_string();
        assert_eq!(parse(&printed).map(|again| again.to_string()).as_ref(), Ok(&printed), "seed {seed}");
    }
    assert!(parsed > 0, "some damage is harmless");
}

#[test]
fn nesting_is_limited_instead_of_overflowing_the_stack() {
    let text = format!("program {{\n{}", "if {\n} then {\n".repeat(50_000));
    let errors = parse(&text).expect_err("too deep");
    assert!(errors.to_string().contains("nested more than 250 deep"), "{errors}");
}

const PROGRAM: &str = r#"program {
  function scale(X: matrix, factor: f64) -> (Y: matrix) {
    block {
      %0 = read "X" : f64[?x?]
      %1 = read "factor" : f64
      %2 = mult %0, %1 : f64[?x?]
      write "Y" %2
    }
  }
  for i from {
    %0 = literal 1 : i64
    write "_predicate" %0
  } to {
    %0 = literal 5 : i64
    write "_predicate" %0
  } do {
    call scale -> A {
      %0 = read "A" : f64[10x10]
      %1 = literal 2.0 : f64
      write "X" %0
      write "factor" %1
    }
    if {
      prelude {
        call scale -> - {
          %0 = read "A" : f64[10x10]
          write "X" %0
          write "factor" %0
        }
      }
      %0 = literal TRUE : bool
      write "_predicate" %0
    } then {
      block {
        %0 = literal "yes" : str
        %1 = print %0 : bool
        effect %1
      }
    } else {
      block {
        %0 = literal 0.001 : f64
        write "eps" %0
      }
    }
  }
}"#;

#[test]
fn programs_read_print_and_verify() {
    let program = parse(PROGRAM).expect("well-formed");
    assert_eq!(program.to_string(), PROGRAM);
    assert_eq!(program.verify(), Ok(()));
}

fn check_verifier_errors(text: &str, expected: &Expect) {
    let errors = parse(text).expect("well-formed text").verify().expect_err("ill-formed");
    expected.assert_eq(&errors.to_string());
}

#[test]
fn the_verifier_reports_every_broken_rule() {
    let broken = PROGRAM
        .replace("call scale -> A {", "call scale -> A, B {")
        .replace("call scale -> - {", "call unknown -> - {")
        .replace("write \"X\" %0", "write \"Z\" %0")
        .replace("write \"_predicate\" %0\n  } do {", "write \"to\" %0\n  } do {")
        .replace("literal TRUE : bool", "literal TRUE : i64")
        .replace("factor: f64", "X: matrix.f32");
    check_verifier_errors(
        &broken,
        &expect![[r#"
            function scale: the parameter X is declared twice
            function scale, X: matrices of f32 are stored, not computed with
            program, for 0 to: the output is to, not _predicate
            program, for 0, call 0: scale has no parameter Z
            program, for 0, call 0: scale has no parameter factor
            program, for 0, call 0: the argument X of scale is missing
            program, for 0, call 0: the argument X of scale is missing
            program, for 0, call 0: scale has 1 results, but the call has 2 targets
            program, for 0, if 1 predicate prelude, call 0: the function unknown does not exist
            program, for 0, if 1 predicate, %0: the type is i64, but the operation gives bool"#]],
    );
    let matrix =
        "program {\nwhile {\n%0 = read \"X\" : f64[1x1]\nwrite \"_predicate\" %0\n} do {\n}\nwhile {\n} do {\n}\n}";
    check_verifier_errors(
        matrix,
        &expect![[r#"
        program, while 0 predicate: the value of a predicate is a scalar
        program, while 1 predicate: a predicate has one output, not 0"#]],
    );
}

#[test]
fn errors_name_their_places() {
    for (text, expected) in [
        ("", expect!["1:1: expected `program {` before the end of the text"]),
        ("program {", expect!["1:10: expected `}` before the end of the text"]),
        ("program {\n}\nblock {", expect!["3:1: expected the end of the text, found `block`"]),
        ("program {\n  if {\n  } else {\n  }\n}", expect!["3:5: expected `then`, found `else`"]),
        ("program {\n  loop {\n  }\n}", expect!["2:3: `loop` is no statement"]),
        ("program {\n  function f(X: vector) -> () {\n  }\n}", expect!["2:17: `vector` is no type"]),
        (
            "program {\n  function f() -> () {\n  }\n  function f() -> () {\n  }\n}",
            expect!["4:22: the function `f` is defined twice"],
        ),
        (
            "program {\n  block {\n    %0 = foo : f64\n    %1 = bar : f64\n  }\n}",
            expect![[r#"
            3:10: `foo` is no operation
            4:10: `bar` is no operation"#]],
        ),
    ] {
        expected.assert_eq(&parse(text).expect_err("ill-formed").to_string());
    }
}
