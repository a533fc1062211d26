//! What is read from an entry keeps all rules of plans, whatever the entry says.

use super::*;
use fuseline_ir::hop::{Span, parse};

const DAG: &str = "hops {
  %0 = read \"X\" : f64[1000x100]
  %1 = spoof.cell op0 %0 : f64[1x1]
  %2 = as.scalar %1 : f64
  write \"s\" %2
}";

const CPLAN: &str = "cplan cell full_agg sparse_safe=true {
  in0 = matrix
  %0 = main
  %1 = literal 0.5
  %2 = mult %0, %1
  out %2 agg=sum
}";

/// `sum(X * 0.5)`, fused.
fn plan() -> (BlockPlan, Places) {
    let mut dag = parse(DAG).expect("it is a DAG").remove(0).1;
    for (hop, start) in dag.hops.values_mut().zip(7..) {
        hop.span = Some(Span { source: 0, start, end: start + 1 });
    }
    let mut predictions = Predictions::new();
    let prediction = Prediction { seconds: 1.25e-5, alone: 4e-5 };
    for (hop, predicted) in dag.hops.keys().zip([None, Some(prediction), None]) {
        predictions[hop] = predicted;
    }
    let decided = Decided { is_searched: true, partitions: 1, optimal: 1, gap: Some(0.1), rejected: 0 };
    let places = Places::of([&dag]);
    let cplan = cplan::parse(CPLAN).expect("it is a plan").verify().expect("it is well-formed");
    (BlockPlan { dag, cplans: vec![cplan], predictions, decided }, places)
}

#[test]
fn plans_read_back_as_they_are() {
    let (plan, places) = plan();
    let text = plan.write(&places).expect("all of it has a text form");
    let read = BlockPlan::read(&text, &places).expect("it is right");
    assert_eq!(format!("{read:?}"), format!("{plan:?}"));
    assert!(text.starts_with("decided true 1 1 0.1\nseconds - 1.25e-5/4e-5 -\nplaces 0 1 2\nhops {\n"), "{text}");
}

#[test]
fn a_part_of_a_plan_is_none() {
    let (plan, places) = plan();
    let text = plan.write(&places).expect("all of it has a text form");
    // The last line break may be missing, since nothing depends on it.
    for length in 0..text.len() - 1 {
        assert!(BlockPlan::read(&text[..length], &places).is_none(), "{length} bytes");
    }
}

#[test]
fn operators_have_the_plans_that_they_name() {
    let (plan, places) = plan();
    let text = plan.write(&places).expect("all of it has a text form");
    for (right, wrong) in [
        ("spoof.cell op0", "spoof.cell op1"),
        ("spoof.cell op0", "spoof.row op0"),
        ("spoof.cell op0 %0", "spoof.cell op0 %0, %0"),
        ("%1 = literal 0.5", "%1 = literal 0.5\n  %9 = literal 0.5"),
        ("decided true", "decided maybe"),
        ("seconds -", "seconds"),
        ("seconds -", "seconds - -"),
        ("seconds -", "seconds soon"),
        ("1.25e-5/4e-5", "1.25e-5"),
        ("1.25e-5/4e-5", "1.25e-5/"),
    ] {
        assert!(text.contains(right));
        assert!(BlockPlan::read(&text.replacen(right, wrong, 1), &places).is_none(), "{wrong}");
    }
}

/// Whatever is read is a plan that could have been written.
#[test]
fn changed_texts_are_other_plans_or_none() {
    let (plan, places) = plan();
    let text = plan.write(&places).expect("all of it has a text form");
    let lines: Vec<&str> = text.lines().collect();
    let mut read = 0;
    let mut check = |changed: String| {
        if let Some(plan) = BlockPlan::read(&changed, &places) {
            plan.dag.verify().expect("its DAG keeps the rules");
            assert!(plan.write(&places).is_some(), "{changed}");
            read += 1;
        }
    };
    for (number, _) in lines.iter().enumerate() {
        let without: Vec<&str> =
            lines.iter().enumerate().filter(|(other, _)| *other != number).map(|(_, line)| *line).collect();
        check(without.join("\n") + "\n");
        for other in &lines {
            let mut replaced = lines.clone();
            replaced[number] = other;
            check(replaced.join("\n") + "\n");
        }
    }
    for (place, _) in text.char_indices() {
        for byte in ["0", "9", "\n", " ", "%", "-", "x", "\u{2028}"] {
            check(format!("{}{byte}{}", &text[..place], &text[place + 1..]));
        }
    }
    assert!(read > 20, "{read}");
}

#[test]
fn blocks_run_on_the_operators_that_their_plans_became() {
    let (plan, again) = (plan().0, plan().0);
    let operator = OperatorId::from_u32(17);
    let compiled = plan.compiled(vec![operator]).expect("there is an operator for each plan");
    assert!(compiled.dag.to_string().contains("spoof.cell op17 %0"), "{}", compiled.dag);
    assert_eq!(compiled.operators, [operator]);
    assert!(again.compiled(Vec::new()).is_none());
}

#[test]
fn sketches_are_told_apart() {
    let each = |first: f64| Sketch::exact(vec![first, 2.0], vec![1.0, 1.0 + first]);
    let sketches = [
        each(1.0),
        each(2.0),
        Sketch::expected(vec![1.0, 2.0], vec![1.0, 2.0]),
        Sketch::exact(Counts::uniform(2, 1.0), Counts::uniform(2, 1.0)),
        Sketch::exact(Counts::uniform(2, 1.0), Counts::uniform(1, 2.0)),
        Sketch::exact(vec![1.0, 1.0], vec![1.0, 1.0]),
    ];
    for (number, one) in sketches.iter().enumerate() {
        assert_eq!(hash(one), hash(&one.clone()));
        for other in &sketches[number + 1..] {
            assert_ne!(hash(one), hash(other), "{one:?} {other:?}");
        }
    }
}
