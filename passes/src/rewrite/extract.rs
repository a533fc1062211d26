//! Extraction: which operator to take for every class of equal values, so that the DAG as a whole is cheap.
//!
//! Costs are those of DAGs, never of trees: a value that several consumers use is paid once. Two starts, the input
//! plan and greedy-DAG (per class the cheapest operator together with everything below it), are improved by exchanging
//! single choices under the exact cost of the whole DAG; the cheaper one wins, the input plan on ties. So the result is
//! never worse than the input, and free of cycles because an exchange that closes one is taken back.

use super::classes::{Candidate, Classes, Plan};
use super::cost::Weights;
use super::exchange::Exchange;
use std::collections::VecDeque;

/// Exchanges of choices are tried for at most this many rounds over the DAG.
const ROUNDS: usize = 4;

/// The cheapest plan found that computes the classes `roots`.
pub(super) fn extract(classes: &Classes, roots: &[usize], weights: Weights) -> Plan {
    let greedy = greedy_plan(classes, weights);
    let input = completed(input_plan(classes), &greedy);
    let (input, input_cost) = improve(classes, roots, weights, input);
    let (greedy, greedy_cost) = improve(classes, roots, weights, greedy);
    let input_cost = input_cost.expect("operators of the input only use earlier ones");
    if greedy_cost.is_some_and(|cost| cost < input_cost) { greedy } else { input }
}

/// The operators of the input, and the greedy ones where the input needs none.
pub(super) fn completed_input_plan(classes: &Classes, weights: Weights) -> Plan {
    completed(input_plan(classes), &greedy_plan(classes, weights))
}

/// A plan with choices for the classes that it does not need, for exchanges that come to need them.
fn completed(plan: Plan, other: &Plan) -> Plan {
    plan.into_iter().zip(other).map(|(own, other)| own.or(*other)).collect()
}

/// For every class the operator of the input that came first. Its inputs came earlier still, so there are no cycles,
/// and no operator is needed that the input did not have.
fn input_plan(classes: &Classes) -> Plan {
    let first = |candidates: &Vec<Candidate>| {
        let originals = candidates.iter().enumerate().filter_map(|(i, candidate)| Some((candidate.original?, i)));
        originals.min().map(|(_, i)| i)
    };
    classes.iter().map(first).collect()
}

/// The best known way to compute a class: a candidate, and the set of classes that it needs, itself included.
#[derive(Clone)]
struct Cone {
    choice: usize,
    cost: u128,
    members: Vec<u64>,
}

fn contains(members: &[u64], class: usize) -> bool {
    members[class / 64] & (1 << (class % 64)) != 0
}

fn greedy_plan(classes: &Classes, weights: Weights) -> Plan {
    let users = users_of(classes);
    let mut best: Vec<Option<Cone>> = vec![None; classes.len()];
    let mut own_costs: Vec<u128> = vec![0; classes.len()];
    let mut queue: VecDeque<usize> = (0..classes.len()).collect();
    let mut queued = vec![true; classes.len()];
    // Costs only fall; the bound guards against long sequences of small improvements.
    let mut visits = 0;
    while let Some(class) = queue.pop_front() {
        queued[class] = false;
        visits += 1;
        if visits > 32 * classes.len() {
            break;
        }
        let mut improved = false;
        for (choice, candidate) in classes[class].iter().enumerate() {
            let own = candidate.cost.weighted(weights);
            let Some((cost, members)) = needed(class, candidate, &best, &own_costs) else { continue };
            let cone = Cone { choice, cost: own + cost, members };
            if best[class].as_ref().is_none_or(|known| cone.cost < known.cost) {
                own_costs[class] = own;
                best[class] = Some(cone);
                improved = true;
            }
        }
        if improved {
            for &user in users[class].iter().filter(|&&user| !std::mem::replace(&mut queued[user], true)) {
                queue.push_back(user);
            }
        }
    }
    best.into_iter().map(|cone| cone.map(|cone| cone.choice)).collect()
}

/// The classes that a candidate of a class needs, with its own, and what all but that one cost, if all of its inputs can be
/// computed without its own class.
fn needed(class: usize, candidate: &Candidate, best: &[Option<Cone>], own_costs: &[u128]) -> Option<(u128, Vec<u64>)> {
    let mut members = vec![0_u64; best.len().div_ceil(64)];
    for &input in &candidate.inputs {
        for (word, other) in members.iter_mut().zip(&best[input].as_ref()?.members) {
            *word |= other;
        }
    }
    if contains(&members, class) {
        return None;
    }
    let mut cost = 0;
    for (position, &word) in members.iter().enumerate() {
        let mut rest = word;
        while rest != 0 {
            cost += own_costs[position * 64 + rest.trailing_zeros() as usize];
            rest &= rest - 1;
        }
    }
    members[class / 64] |= 1 << (class % 64);
    Some((cost, members))
}

/// The classes that have a candidate with an input of each class.
fn users_of(classes: &Classes) -> Vec<Vec<usize>> {
    let mut users = vec![Vec::new(); classes.len()];
    for (class, candidates) in classes.iter().enumerate() {
        for &input in candidates.iter().flat_map(|candidate| &candidate.inputs) {
            if users[input].last() != Some(&class) {
                users[input].push(class);
            }
        }
    }
    users
}

/// Exchanges single choices as long as that lowers the cost of the whole DAG. No cost where the plan is none.
fn improve(classes: &Classes, roots: &[usize], weights: Weights, plan: Plan) -> (Plan, Option<u128>) {
    if order(classes, roots, &plan).is_none() {
        return (plan, None);
    }
    let mut exchange = Exchange::new(classes, roots, weights, plan);
    for _ in 0..ROUNDS {
        let before = exchange.cost();
        for class in (0..classes.len()).filter(|&class| classes[class].len() > 1) {
            for choice in 0..classes[class].len() {
                let cost = exchange.cost();
                let Some(previous) = exchange.choose(class, choice) else { continue };
                if exchange.cost() >= cost || exchange.has_cycle_through(class) {
                    exchange.choose(class, previous);
                }
            }
        }
        if exchange.cost() == before {
            break;
        }
    }
    let cost = exchange.cost();
    (exchange.into_plan(), Some(cost))
}

/// The exact cost of a plan as a DAG; `None` where it has a cycle or lacks an operator.
#[cfg(test)]
pub(super) fn cost(classes: &Classes, roots: &[usize], plan: &Plan, weights: Weights) -> Option<u128> {
    let own = |&class: &usize| plan[class].map_or(0, |i| classes[class][i].cost.weighted(weights));
    Some(order(classes, roots, plan)?.iter().map(own).sum())
}

/// The classes that a plan needs for `roots`, inputs before users; `None` where it has a cycle or lacks an operator.
pub(super) fn order(classes: &Classes, roots: &[usize], plan: &Plan) -> Option<Vec<usize>> {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        New,
        Open,
        Done,
    }
    let mut states = vec![State::New; classes.len()];
    let mut order = Vec::new();
    let mut stack: Vec<(usize, usize)> = Vec::new();
    for &root in roots {
        if states[root] == State::New {
            states[root] = State::Open;
            stack.push((root, 0));
        }
        while let Some((class, position)) = stack.last_mut() {
            let candidate = &classes[*class][plan[*class]?];
            if let Some(&input) = candidate.inputs.get(*position) {
                *position += 1;
                match states[input] {
                    State::New => {
                        states[input] = State::Open;
                        stack.push((input, 0));
                    }
                    State::Open => return None,
                    State::Done => {}
                }
            } else {
                states[*class] = State::Done;
                order.push(*class);
                stack.pop();
            }
        }
    }
    Some(order)
}
