//! Bucket elimination: the least sum of functions of boolean variables by dynamic programming over a tree
//! decomposition, which eliminating the variables one by one in min-fill order is.
//!
//! The functions that mention a variable form its bucket when its turn comes; their sum, minimised over the variable, is
//! the message to the later ones. Where a bucket would span too many variables it is split into mini-buckets, each
//! minimised by itself: their messages sum up to a lower bound, by which a best-first search is guided. The functions
//! themselves may be lower bounds, too: of complete assignments the search asks for the true cost.

use super::super::effort::Effort;
use super::factor::{Factor, union};
use std::collections::{BTreeSet, BinaryHeap};

/// What is known of one variable when its turn comes.
#[derive(Clone, Debug)]
struct Bucket {
    variable: usize,
    /// The functions and messages that mention it and no variable eliminated earlier.
    factors: Vec<usize>,
    /// The messages that it leaves.
    messages: Vec<usize>,
}

/// Functions of variables `0..count` with the messages of an elimination of all of them.
#[derive(Clone, Debug)]
pub(super) struct Elimination {
    /// The functions, then the messages in the order in which they arise.
    factors: Vec<Factor>,
    /// In the order of elimination.
    buckets: Vec<Bucket>,
    /// The sum of the messages that mention no variable: a lower bound of the sum.
    pub(super) bound: f64,
    /// Whether no bucket was split, so that the bound is the least sum.
    pub(super) is_exact: bool,
    /// The most variables of a mini-bucket.
    most: usize,
}

/// The best assignment that was found.
pub(super) struct Minimum {
    pub(super) assignment: Vec<bool>,
    pub(super) value: f64,
    /// What no assignment undercuts; the value itself where it is proven best.
    pub(super) bound: f64,
    /// Partial assignments that were extended.
    pub(super) expanded: u64,
}

impl Elimination {
    /// Eliminates `count` variables from the sum of these functions, which `is_exact` or a lower bound of the cost.
    /// Buckets of more than `most` variables are split.
    pub(super) fn new(count: usize, factors: Vec<Factor>, most: usize, is_exact: bool, effort: &Effort) -> Elimination {
        let order = min_fill_order(count, &factors, effort);
        let mut rank = vec![0; count];
        for (turn, &variable) in order.iter().enumerate() {
            rank[variable] = turn;
        }
        let mut elimination = Elimination {
            factors: Vec::new(),
            buckets: order.iter().map(|&variable| Bucket { variable, factors: vec![], messages: vec![] }).collect(),
            bound: 0.0,
            is_exact,
            most,
        };
        for factor in factors {
            elimination.place(factor, &rank);
        }
        for turn in 0..count {
            elimination.eliminate(turn, &rank);
        }
        elimination
    }

    /// The message that each variable leaves, in the order of elimination; none if a bucket was split.
    pub(super) fn messages(&self) -> Option<Vec<(usize, &Factor)>> {
        let message = |bucket: &Bucket| match bucket.messages[..] {
            [number] => Some((bucket.variable, &self.factors[number])),
            _ => None,
        };
        self.buckets.iter().map(message).collect()
    }

    /// Puts a function into the bucket of the variable whose turn comes first; gives its number.
    fn place(&mut self, factor: Factor, rank: &[usize]) -> usize {
        let number = self.factors.len();
        match factor.scope.iter().map(|&variable| rank[variable]).min() {
            Some(turn) => self.buckets[turn].factors.push(number),
            None => self.bound += factor.table[0],
        }
        self.factors.push(factor);
        number
    }

    fn eliminate(&mut self, turn: usize, rank: &[usize]) {
        let variable = self.buckets[turn].variable;
        let parts = split(&self.buckets[turn].factors, &self.factors, self.most);
        self.is_exact &= parts.len() <= 1;
        for (scope, part) in parts {
            let sum = Factor::sum(scope, part.iter().map(|&number| &self.factors[number]));
            let message = self.place(sum.minimize(variable), rank);
            self.buckets[turn].messages.push(message);
        }
    }

    /// The least cost: read off the messages if they are exact, else by a search that extends partial assignments within
    /// the effort. `cost` is that of a complete assignment.
    pub(super) fn minimum(&self, effort: &Effort, cost: &dyn Fn(&[bool]) -> f64) -> Minimum {
        let assignment = self.dive(Node::root(self.bound, self.buckets.len()));
        let mut best = Minimum { value: cost(&assignment), assignment, bound: self.bound, expanded: 0 };
        if self.is_exact {
            best.bound = best.value;
        } else {
            self.search(effort, cost, &mut best);
        }
        best
    }

    /// Best-first search, in the reverse order of elimination.
    fn search(&self, effort: &Effort, cost: &dyn Fn(&[bool]) -> f64, best: &mut Minimum) {
        let mut open = BinaryHeap::from([Node::root(self.bound, self.buckets.len())]);
        while let Some(node) = open.pop() {
            best.bound = node.bound.min(best.value);
            if node.bound >= best.value {
                return;
            }
            // Each partial assignment is a copy, and so are its two extensions.
            effort.spend(1 + self.buckets.len() as u64);
            let is_over = best.expanded >= effort.plans || effort.is_spent();
            if is_over || node.open == 0 {
                let assignment = self.dive(node);
                let value = cost(&assignment);
                if value < best.value {
                    (best.value, best.assignment) = (value, assignment);
                }
                if is_over {
                    return;
                }
                continue;
            }
            best.expanded += 1;
            open.extend([false, true].map(|value| self.extend(&node, value)));
        }
        best.bound = best.value;
    }

    /// Extends a partial assignment greedily to all variables.
    fn dive(&self, mut node: Node) -> Vec<bool> {
        while node.open > 0 {
            let (one, other) = (self.extend(&node, false), self.extend(&node, true));
            node = if other.bound < one.bound { other } else { one };
        }
        node.assignment
    }

    /// The partial assignment with a value for one more variable: in the bound of its bucket's messages the terms that
    /// they were made of take their place.
    fn extend(&self, node: &Node, value: bool) -> Node {
        let bucket = &self.buckets[node.open - 1];
        let mut assignment = node.assignment.clone();
        let sum = |numbers: &[usize], assignment: &[bool]| {
            numbers.iter().map(|&number| self.factors[number].at(assignment)).sum::<f64>()
        };
        let before = sum(&bucket.messages, &assignment);
        assignment[bucket.variable] = value;
        let after = sum(&bucket.factors, &assignment);
        // Infinite on both sides: the branch is impossible as it was.
        let difference = if before.is_infinite() { 0.0 } else { after - before };
        // Bounds never fall along a branch; rounding must not make them.
        Node { bound: node.bound + difference.max(0.0), assignment, open: node.open - 1 }
    }
}

/// A partial assignment: of all variables whose turn comes after the first `open` ones; the others are false.
#[derive(Clone, Debug)]
struct Node {
    bound: f64,
    assignment: Vec<bool>,
    open: usize,
}

impl Node {
    fn root(bound: f64, count: usize) -> Node {
        Node { bound, assignment: vec![false; count], open: count }
    }
}

/// The least bound first; of equal ones the most complete one, then the lexically first one.
impl Ord for Node {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        other
            .bound
            .total_cmp(&self.bound)
            .then(other.open.cmp(&self.open))
            .then_with(|| other.assignment.cmp(&self.assignment))
    }
}

impl PartialOrd for Node {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Node {}

/// Mini-buckets with their scopes: each takes functions, the largest first, as long as they fit one table.
fn split(numbers: &[usize], factors: &[Factor], most: usize) -> Vec<(Vec<usize>, Vec<usize>)> {
    let mut largest_first = numbers.to_vec();
    largest_first.sort_by_key(|&number| (usize::MAX - factors[number].scope.len(), number));
    let mut parts: Vec<(Vec<usize>, Vec<usize>)> = Vec::new();
    for number in largest_first {
        let scope = &factors[number].scope;
        let fitting = parts.iter_mut().find_map(|part| {
            let joined = union(&part.0, scope);
            (joined.len() <= most.max(part.0.len())).then_some((part, joined))
        });
        match fitting {
            Some((part, joined)) => {
                part.0 = joined;
                part.1.push(number);
            }
            None => parts.push((scope.clone(), vec![number])),
        }
    }
    parts
}

/// An order of elimination: next the variable whose neighbours lack the fewest edges among each other, of several the
/// first; as they come once the effort is spent.
fn min_fill_order(count: usize, factors: &[Factor], effort: &Effort) -> Vec<usize> {
    let mut neighbours: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); count];
    for factor in factors {
        for &variable in &factor.scope {
            neighbours[variable].extend(factor.scope.iter().copied().filter(|&other| other != variable));
        }
    }
    let mut missing: Vec<usize> = (0..count).map(|variable| missing_edges(&neighbours, variable, effort)).collect();
    let mut remaining: BTreeSet<(usize, usize)> = (0..count).map(|variable| (missing[variable], variable)).collect();
    let mut order = Vec::with_capacity(count);
    while !effort.is_spent()
        && let Some((_, variable)) = remaining.pop_first()
    {
        order.push(variable);
        let around = std::mem::take(&mut neighbours[variable]);
        let mut changed = around.clone();
        for &one in &around {
            neighbours[one].remove(&variable);
            neighbours[one].extend(around.iter().copied().filter(|&other| other != one));
            changed.extend(&neighbours[one]);
        }
        for other in changed {
            let now = missing_edges(&neighbours, other, effort);
            if remaining.remove(&(std::mem::replace(&mut missing[other], now), other)) {
                remaining.insert((now, other));
            }
        }
    }
    let mut rest: Vec<usize> = remaining.into_iter().map(|(_, variable)| variable).collect();
    rest.sort_unstable();
    order.append(&mut rest);
    order
}

fn missing_edges(neighbours: &[BTreeSet<usize>], variable: usize, effort: &Effort) -> usize {
    let around = &neighbours[variable];
    effort.spend((around.len() * around.len() / 2) as u64);
    around.iter().map(|&one| around.range(one + 1..).filter(|&other| !neighbours[one].contains(other)).count()).sum()
}
