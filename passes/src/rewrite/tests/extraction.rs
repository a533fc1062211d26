//! Extraction against exhaustive search on small random choices.

use super::super::classes::{Candidate, Classes, Plan};
use super::super::cost::{Cost, Weights};
use super::super::exchange::Exchange;
use super::rules::Random;
use fuseline_ir::hop::{HopId, HopOp};
use fuseline_ir::types::Value;
use smallvec::SmallVec;

fn extract(classes: &Classes, roots: &[usize]) -> Plan {
    super::super::extract::extract(classes, roots, Weights::Balanced)
}

fn cost(classes: &Classes, roots: &[usize], plan: &Plan) -> Option<u128> {
    super::super::extract::cost(classes, roots, plan, Weights::Balanced)
}

fn candidate(inputs: &[usize], cost: u128, original: Option<u32>) -> Candidate {
    let op = HopOp::Literal(Value::I64(0));
    let cost = Cost { flops: cost - 1, traffic: 0, operators: 1 };
    Candidate { op, inputs: SmallVec::from_slice(inputs), cost, original: original.map(HopId::from_u32) }
}

/// The input is a random DAG, one operator per class; further candidates use any class, so cycles abound.
fn random_classes(random: &mut Random) -> Classes {
    let count = 3 + random.below(5);
    let mut classes: Classes = Vec::new();
    for class in 0..count {
        let inputs: Vec<usize> =
            (0..random.below(3)).filter(|_| class > 0).map(|_| random.below(class.max(1))).collect();
        classes.push(vec![candidate(&inputs, 1 + random.below(20) as u128, Some(class as u32))]);
    }
    for _ in 0..random.below(5) {
        let class = random.below(count);
        let inputs: Vec<usize> = (0..random.below(3)).map(|_| random.below(count)).collect();
        classes[class].push(candidate(&inputs, 1 + random.below(20) as u128, None));
    }
    classes
}

fn cheapest(classes: &Classes, roots: &[usize]) -> u128 {
    let mut plan: Plan = vec![Some(0); classes.len()];
    let mut best = u128::MAX;
    loop {
        best = cost(classes, roots, &plan).map_or(best, |cost| cost.min(best));
        let Some(class) = (0..classes.len()).find(|&class| plan[class] != Some(classes[class].len() - 1)) else {
            return best;
        };
        plan[class] = plan[class].map(|choice| choice + 1);
        plan[..class].fill(Some(0));
    }
}

#[test]
fn extraction_is_never_worse_than_the_input_and_mostly_optimal() {
    let mut random = Random(3);
    let mut optimal = 0;
    for _ in 0..2000 {
        let classes = random_classes(&mut random);
        let roots = [classes.len() - 1, random.below(classes.len())];
        let found = cost(&classes, &roots, &extract(&classes, &roots)).expect("plans have no cycles");
        let input = cost(&classes, &roots, &vec![Some(0); classes.len()]).expect("the input has no cycles");
        let best = cheapest(&classes, &roots);
        assert!(best <= found && found <= input, "{best} <= {found} <= {input}");
        optimal += usize::from(found == best);
    }
    assert!(optimal >= 1980, "only {optimal} of 2000 plans were optimal");
}

#[test]
fn shared_values_are_paid_once() {
    // 0: shared, 50; 1 and 2: from 0 at 1, or alone at 30. Alone looks cheaper for each, shared is cheaper for both.
    let classes = vec![
        vec![candidate(&[], 50, Some(0))],
        vec![candidate(&[0], 1, Some(1)), candidate(&[], 30, None)],
        vec![candidate(&[0], 1, Some(2)), candidate(&[], 30, None)],
    ];
    let roots = [1, 2];
    assert_eq!(cost(&classes, &roots, &extract(&classes, &roots)), Some(52));
}

#[test]
fn cycles_are_refused() {
    // t(t(X)): class 0 is X and the transpose of class 1, which is the transpose of class 0.
    let classes =
        vec![vec![candidate(&[1], 1, Some(2)), candidate(&[], 9, Some(0))], vec![candidate(&[0], 1, Some(1))]];
    assert_eq!(cost(&classes, &[0], &extract(&classes, &[0])), Some(9));
}

/// Choices for classes that no plan has needed are made one by one, and may need each other.
#[test]
fn cycles_among_classes_that_a_choice_comes_to_need_are_refused() {
    // The second candidate of class 1 needs class 2, which needs class 3, which needs class 2.
    let classes = vec![
        vec![candidate(&[], 1, Some(0))],
        vec![candidate(&[0], 50, Some(1)), candidate(&[2], 1, None), candidate(&[4], 2, None)],
        vec![candidate(&[3, 0], 1, None)],
        vec![candidate(&[0, 2], 1, None)],
        vec![candidate(&[0, 5, 5], 1, None)],
        vec![candidate(&[0], 1, None)],
    ];
    let mut exchange = Exchange::new(&classes, &[1], Weights::Balanced, vec![Some(0); 6]);
    assert_eq!((exchange.choose(1, 1), exchange.cost()), (None, 51));
    assert_eq!((exchange.choose(1, 2), exchange.cost()), (Some(0), 5));
    assert_eq!(exchange.choose(1, 1), None);
}
