//! Exchanges of single choices of an extraction plan, at the price of what they change.
//!
//! Uses of every class are counted, so that a class is paid while it has any. An exchange adds what the new operator
//! needs and drops what only the old one did; taking it back is the same in the other direction.

use super::classes::{Classes, Plan};
use super::cost::Weights;

/// Exchanges in the order in which they were made: classes, and the candidates that were replaced.
pub(super) type Exchanged = Vec<(usize, usize)>;

/// A plan with its cost, kept up to date.
pub(super) struct Exchange<'a> {
    classes: &'a Classes,
    weights: Weights,
    plan: Plan,
    uses: Vec<u32>,
    cost: u128,
    /// Classes that are still to be added or dropped.
    pending: Vec<usize>,
    /// Classes that the last exchange came to need.
    fresh: Vec<usize>,
    /// The search for a cycle in which a class was last visited.
    visited: Vec<u32>,
    searches: u32,
}

impl<'a> Exchange<'a> {
    /// Starts from a plan without cycles that has an operator for every class that it needs.
    pub(super) fn new(classes: &'a Classes, roots: &[usize], weights: Weights, plan: Plan) -> Self {
        let (uses, visited) = (vec![0; classes.len()], vec![0; classes.len()]);
        let mut exchange = Exchange {
            classes,
            weights,
            plan,
            uses,
            cost: 0,
            pending: Vec::new(),
            fresh: Vec::new(),
            visited,
            searches: 0,
        };
        exchange.add(roots);
        exchange
    }

    /// The cost of the plan, as a DAG.
    pub(super) fn cost(&self) -> u128 {
        self.cost
    }

    pub(super) fn into_plan(self) -> Plan {
        self.plan
    }

    /// Whether the plan needs a class.
    pub(super) fn needs(&self, class: usize) -> bool {
        self.uses[class] > 0
    }

    /// Takes another candidate for a class and tells the one that it replaces; nothing where the plan does not need the
    /// class, has this candidate already, or knows no way to compute an input. The plan may now have a cycle through the class.
    pub(super) fn choose(&mut self, class: usize, choice: usize) -> Option<usize> {
        let previous = self.plan[class].filter(|&previous| self.needs(class) && previous != choice)?;
        let (new, old) = (&self.classes[class][choice], &self.classes[class][previous]);
        if new.inputs.iter().any(|&input| self.plan[input].is_none()) || self.needs_new_cycle(&new.inputs) {
            return None;
        }
        self.fresh.clear();
        self.add(&new.inputs);
        self.plan[class] = Some(choice);
        self.cost = self.cost + new.cost.weighted(self.weights) - old.cost.weighted(self.weights);
        self.drop(&old.inputs);
        Some(previous)
    }

    /// Takes another candidate for a class, as [`choose`](Self::choose) does, and then for each class that the plan comes to need by it the
    /// candidate with which the plan costs least: so far nobody needed that class, and chose for it with what is computed
    /// anyway. Tells the exchanges that were made, to be [taken back](Self::take_back); nothing where it would close a cycle.
    pub(super) fn choose_with_new(&mut self, class: usize, choice: usize) -> Option<Exchanged> {
        let mut exchanged = vec![(class, self.choose(class, choice)?)];
        let new = std::mem::take(&mut self.fresh);
        if self.has_cycle_through(class) {
            self.take_back(exchanged);
            return None;
        }
        for class in new {
            for choice in 0..self.classes[class].len() {
                let cost = self.cost;
                let Some(previous) = self.choose(class, choice) else { continue };
                if self.cost >= cost || self.has_cycle_through(class) {
                    self.choose(class, previous);
                } else {
                    exchanged.push((class, previous));
                }
            }
        }
        Some(exchanged)
    }

    /// Takes exchanges back.
    pub(super) fn take_back(&mut self, exchanged: Exchanged) {
        for (class, previous) in exchanged.into_iter().rev() {
            self.choose(class, previous);
        }
    }

    /// Whether what a class needs includes the class.
    pub(super) fn has_cycle_through(&mut self, class: usize) -> bool {
        self.searches += 1;
        self.pending.clear();
        self.pending.extend(self.inputs(class));
        while let Some(input) = self.pending.pop() {
            if input == class {
                return true;
            }
            if std::mem::replace(&mut self.visited[input], self.searches) != self.searches {
                let inputs = self.plan[input].map_or(&[][..], |choice| &self.classes[input][choice].inputs);
                self.pending.extend(inputs);
            }
        }
        false
    }

    /// Whether classes that the plan does not need so far, and these inputs do, need each other: their choices were made one by
    /// one, and no plan has had all of them.
    fn needs_new_cycle(&mut self, inputs: &[usize]) -> bool {
        self.searches += 2;
        let (open, done) = (self.searches - 1, self.searches);
        let mut path: Vec<(usize, usize)> = Vec::new();
        for &start in inputs {
            if self.needs(start) || self.visited[start] == done {
                continue;
            }
            self.visited[start] = open;
            path.push((start, 0));
            while let Some((class, position)) = path.last_mut() {
                let Some(&input) = self.inputs(*class).get(*position) else {
                    self.visited[*class] = done;
                    path.pop();
                    continue;
                };
                *position += 1;
                if self.visited[input] == open {
                    return true;
                }
                if !self.needs(input) && self.visited[input] != done {
                    self.visited[input] = open;
                    path.push((input, 0));
                }
            }
        }
        false
    }

    fn inputs(&self, class: usize) -> &'a [usize] {
        self.plan[class].map_or(&[], |choice| &self.classes[class][choice].inputs)
    }

    fn own_cost(&self, class: usize) -> u128 {
        self.plan[class].map_or(0, |choice| self.classes[class][choice].cost.weighted(self.weights))
    }

    fn add(&mut self, inputs: &[usize]) {
        self.pending.clear();
        self.pending.extend(inputs);
        while let Some(class) = self.pending.pop() {
            self.uses[class] += 1;
            if self.uses[class] == 1 {
                self.fresh.push(class);
                self.cost += self.own_cost(class);
                self.pending.extend(self.inputs(class));
            }
        }
    }

    fn drop(&mut self, inputs: &[usize]) {
        self.pending.clear();
        self.pending.extend(inputs);
        while let Some(class) = self.pending.pop() {
            self.uses[class] -= 1;
            if self.uses[class] == 0 {
                self.cost -= self.own_cost(class);
                self.pending.extend(self.inputs(class));
            }
        }
    }
}
