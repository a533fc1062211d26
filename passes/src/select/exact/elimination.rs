//! Bucket elimination: the least sum of functions of boolean variables by dynamic programming over a tree
//! decomposition, which eliminating the variables one by one in min-fill order is.
//!
//! The functions that mention a variable form its bucket when its turn comes; their sum, minimised over the variable, is
//! the message to the later ones. Where a bucket would span too many variables it is split into mini-buckets, each
//! minimised by itself: their messages sum up to a lower bound, by which a best-first search is guided. The functions
//! themselves may be lower bounds, too: of complete assignments the search asks for the true cost.

use super::super::effort::Effort;
use super::factor::{Factor, Scope, union};
use super::group_set::IndexSet;
use cranelift_entity::{EntityRef, PrimaryMap, entity_impl};
use smallvec::{SmallVec, smallvec};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What is known of one variable when its turn comes.
#[derive(Clone, Debug)]
struct Bucket {
    variable: usize,
    /// The functions and messages that mention it and no variable eliminated earlier.
    factors: SmallVec<[usize; 6]>,
    /// The messages that it leaves.
    messages: SmallVec<[usize; 2]>,
}

impl Bucket {
    fn of(variable: usize) -> Bucket {
        Bucket { variable, factors: SmallVec::new(), messages: SmallVec::new() }
    }
}

/// Functions of variables `0..count` with the messages of an elimination of all of them.
#[derive(Clone, Debug)]
pub(super) struct Elimination<'s> {
    /// The functions, then the messages in the order in which they arise.
    factors: Vec<Factor<'s>>,
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

impl<'s> Elimination<'s> {
    /// Eliminates `count` variables from the sum of these functions, which `is_exact` or a lower bound of the cost.
    /// Buckets of more than `most` variables are split.
    pub(super) fn new(
        count: usize,
        factors: Vec<Factor<'s>>,
        most: usize,
        is_exact: bool,
        effort: &Effort,
    ) -> Elimination<'s> {
        let order = min_fill_order(count, &factors, effort);
        let mut rank = vec![0; count];
        for (turn, &variable) in order.iter().enumerate() {
            rank[variable] = turn;
        }
        let mut elimination = Elimination {
            // Most buckets leave one message.
            factors: Vec::with_capacity(factors.len() + count),
            buckets: order.iter().map(|&variable| Bucket::of(variable)).collect(),
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
    pub(super) fn messages(&self) -> Option<Vec<(usize, &Factor<'s>)>> {
        let mut messages = Vec::with_capacity(self.buckets.len());
        for bucket in &self.buckets {
            let [number] = bucket.messages[..] else { return None };
            messages.push((bucket.variable, &self.factors[number]));
        }
        Some(messages)
    }

    /// Puts a function into the bucket of the variable whose turn comes first; gives its number.
    fn place(&mut self, factor: Factor<'s>, rank: &[usize]) -> usize {
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
        for MiniBucket { scope, factors } in parts {
            let sum = Factor::sum(scope, factors.iter().map(|&number| &self.factors[number]));
            let message = self.place(sum.minimize(variable), rank);
            self.buckets[turn].messages.push(message);
        }
    }

    /// The least cost: read off the messages if they are exact, else by a search that extends partial assignments within
    /// the effort. `cost` is that of a complete assignment.
    pub(super) fn minimum(&self, effort: &Effort, cost: &dyn Fn(&[bool]) -> f64) -> Minimum {
        let mut root = Node::root(self.bound, self.buckets.len());
        self.dive(&mut root);
        let assignment = root.assignment;
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
            let is_over = best.expanded >= effort.budget.assignments || effort.is_spent();
            if is_over || node.open == 0 {
                let mut node = node;
                self.dive(&mut node);
                let value = cost(&node.assignment);
                if value < best.value {
                    (best.value, best.assignment) = (value, node.assignment);
                }
                if is_over {
                    return;
                }
                continue;
            }
            best.expanded += 1;
            let mut other = node.clone();
            let mut one = node;
            self.extend(&mut one, false);
            self.extend(&mut other, true);
            open.extend([one, other]);
        }
        best.bound = best.value;
    }

    /// Extends a partial assignment greedily to all variables.
    fn dive(&self, node: &mut Node) {
        while node.open > 0 {
            let [without, with] = [false, true].map(|value| self.bound_with(node, value));
            self.extend(node, with < without);
        }
    }

    /// Gives one more variable a value.
    fn extend(&self, node: &mut Node, value: bool) {
        node.bound = self.bound_with(node, value);
        node.open -= 1;
        node.assignment[self.buckets[node.open].variable] = value;
    }

    /// The sum of these functions and messages under an assignment.
    fn sum_at(&self, numbers: &[usize], assignment: &[bool]) -> f64 {
        numbers.iter().map(|&number| self.factors[number].at(assignment)).sum()
    }

    /// The bound of a partial assignment with a value for one more variable: of its bucket's messages the terms that they
    /// were made of take their place.
    fn bound_with(&self, node: &mut Node, value: bool) -> f64 {
        let bucket = &self.buckets[node.open - 1];
        let before = self.sum_at(&bucket.messages, &node.assignment);
        node.assignment[bucket.variable] = value;
        let after = self.sum_at(&bucket.factors, &node.assignment);
        node.assignment[bucket.variable] = false;
        // Infinite on both sides: the branch is impossible as it was.
        let difference = if before.is_infinite() { 0.0 } else { after - before };
        // Bounds never fall along a branch; rounding must not make them.
        node.bound + difference.max(0.0)
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
fn split<'s>(numbers: &[usize], factors: &[Factor<'s>], most: usize) -> SmallVec<[MiniBucket<'s>; 1]> {
    let mut largest_first: SmallVec<[usize; 16]> = SmallVec::from_slice(numbers);
    largest_first.sort_unstable_by_key(|&number| (Reverse(factors[number].scope.len()), number));
    let mut parts: SmallVec<[MiniBucket<'s>; 1]> = SmallVec::new();
    for number in largest_first {
        let scope = &factors[number].scope;
        let fitting = parts.iter_mut().find_map(|part| {
            let joined = union(&part.scope, scope);
            (joined.len() <= most.max(part.scope.len())).then_some((part, joined))
        });
        match fitting {
            Some((part, joined)) => {
                part.scope = joined;
                part.factors.push(number);
            }
            None => parts.push(MiniBucket { scope: scope.clone(), factors: smallvec![number] }),
        }
    }
    parts
}

/// Functions of a bucket that are added up.
struct MiniBucket<'s> {
    scope: Scope<'s>,
    factors: SmallVec<[usize; 6]>,
}

/// A variable as a vertex of the graph whose edges connect the variables of one function.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Vertex(u32);
entity_impl!(Vertex, "vertex");

/// The neighbours of each vertex.
type Graph = PrimaryMap<Vertex, IndexSet<Vertex>>;

/// An order of elimination: next the variable whose neighbours lack the fewest edges among each other, of several the
/// first; as they come once the effort is spent.
fn min_fill_order(count: usize, factors: &[Factor<'_>], effort: &Effort) -> Vec<usize> {
    let mut neighbours = graph(count, factors);
    // None of those whose turn has come.
    let mut missing: PrimaryMap<Vertex, Option<usize>> =
        neighbours.keys().map(|vertex| Some(missing_edges(&neighbours, vertex, effort))).collect();
    let mut order = Vec::with_capacity(count);
    while !effort.is_spent()
        && let Some((_, vertex)) = missing.iter().filter_map(|(vertex, edges)| Some(((*edges)?, vertex))).min()
    {
        order.push(vertex.index());
        missing[vertex] = None;
        let around = std::mem::take(&mut neighbours[vertex]);
        let mut changed = around.clone();
        for one in around.iter() {
            neighbours[one].insert_all(&around);
            neighbours[one].remove(one);
            neighbours[one].remove(vertex);
            changed.insert_all(&neighbours[one]);
        }
        for other in changed.iter() {
            missing[other] = Some(missing_edges(&neighbours, other, effort));
        }
    }
    order.extend(missing.iter().filter(|(_, edges)| edges.is_some()).map(|(vertex, _)| vertex.index()));
    order
}

fn graph(count: usize, factors: &[Factor<'_>]) -> Graph {
    let mut neighbours: Graph = (0..count).map(|_| IndexSet::default()).collect();
    for factor in factors {
        let scope: IndexSet<Vertex> = factor.scope.iter().map(|&variable| Vertex::new(variable)).collect();
        for vertex in scope.iter() {
            neighbours[vertex].insert_all(&scope);
        }
    }
    for (vertex, neighbours) in &mut neighbours {
        neighbours.remove(vertex);
    }
    neighbours
}

fn missing_edges(neighbours: &Graph, vertex: Vertex, effort: &Effort) -> usize {
    let around = &neighbours[vertex];
    let count = around.len();
    effort.spend((count * count / 2) as u64);
    around.iter().map(|one| around.after(one).without(&neighbours[one]).len()).sum()
}
