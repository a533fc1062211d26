//! The selection problem of one partition: which groups to materialise, and by which operator each.
//!
//! A plan is a set M of materialised groups, the roots and externally consumed groups of the partition among them, with
//! one operator for each, such that M contains every group that one of its operators reads. Its cost is the sum of the
//! operators' costs.
//!
//! Groups enter the problem from the required ones downwards, as candidates read them. Two reductions keep it small,
//! and neither loses the optimum: a candidate is dropped that another one of the same group undercuts with no more
//! reads, and a group is given up that costs more to materialise than all its readers together gain by reading it.

use super::super::effort::Effort;
use super::factor::Factor;
use super::group_set::GroupSet;
use super::operators::{Candidate, Groups, Position};
use super::read_index::ReadIndex;
use fuseline_ir::hop::HopId;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// A group that may be materialised.
#[derive(Clone, Debug)]
pub(super) struct Variable {
    pub(super) group: Position,
    /// Whether every plan materialises it.
    pub(super) is_required: bool,
    /// Its operators that no other one dominates, cheapest first. They list the groups they read that are not required.
    pub(super) candidates: Vec<Candidate>,
    /// What its operators that were not found cost at least.
    pub(super) floor: Option<f64>,
}

/// The groups of a partition that may be materialised, ascending, with their operators.
#[derive(Clone, Debug, Default)]
pub(super) struct Problem {
    pub(super) variables: Vec<Variable>,
}

impl Problem {
    /// The problem of a partition, or none if it is too large. Where the effort of the search for operators
    /// ends, some groups have floors. Groups for which `keeps_all` keep the candidates that others dominate, and what they
    /// read in a pass enters the problem, too.
    pub(super) fn new(groups: &mut Groups<'_>, keeps_all: impl Fn(HopId) -> bool) -> Option<Problem> {
        let effort = groups.effort();
        let mut pending = groups.required();
        let always: GroupSet = pending.iter().copied().collect();
        let mut variables = BTreeMap::new();
        while let Some(group) = pending.pop() {
            if variables.contains_key(&group) {
                continue;
            }
            if variables.len() >= MAX_GROUPS || effort.is_spent() {
                return None;
            }
            // No group may use up what the others need.
            let share = (effort.plans.saturating_sub(groups.branches) / 2).max(LEAST_BRANCHES);
            let found = groups.candidates(group, share);
            let mut candidates = found.list;
            for candidate in &mut candidates {
                candidate.reads = candidate.reads.without(&always);
            }
            if keeps_all(groups.partition.members[group]) {
                pending.extend(groups.behind_transpose(group));
            } else {
                candidates = undominated(candidates);
            }
            pending.extend(candidates.iter().flat_map(|candidate| candidate.reads.iter()));
            let floor = (!found.is_complete).then(|| groups.floor(group));
            let variable = Variable { group, is_required: always.contains(group), candidates, floor };
            variables.insert(group, variable);
        }
        Some(Problem { variables: variables.into_values().collect() })
    }

    /// Whether all operators of all groups are known.
    pub(super) fn is_complete(&self) -> bool {
        self.variables.iter().all(|variable| variable.floor.is_none())
    }

    /// Gives up groups that no optimal plan needs to materialise, until there is none, and drops what reads them. Gives
    /// these groups, in that order.
    ///
    /// Why that is sound: take a plan that materialises such a group. Let each reader use its best operator that reads
    /// no more than the one it has, without the group. That loses no more than the group's own operator costs, which
    /// the plan no longer needs.
    pub(super) fn give_up_groups(&mut self, effort: &Effort) -> Vec<Position> {
        let mut given_up = Vec::new();
        let mut gains: Vec<Gains> = self.variables.iter().map(Variable::gains).collect();
        // Groups that are kept although they could be given up cost time alone.
        while !effort.is_spent()
            && let Some(number) = self.first_that_does_not_pay_off(&gains)
        {
            effort.spend(gains.iter().map(|gains| 1 + gains.len() as u64).sum());
            let group = self.variables.remove(number).group;
            gains.remove(number);
            for (variable, gains) in self.variables.iter_mut().zip(&mut gains) {
                if gains.contains_key(&group) {
                    variable.candidates.retain(|candidate| !candidate.reads.contains(group));
                    *gains = variable.gains();
                }
            }
            given_up.push(group);
        }
        given_up
    }

    /// The first group that costs more to materialise than its readers, whose gains are given by variable, may gain by
    /// reading it.
    fn first_that_does_not_pay_off(&self, gains: &[Gains]) -> Option<usize> {
        let mut gain_of = vec![0.0; self.variables.iter().map(|variable| variable.group).max()? + 1];
        for (&group, gain) in gains.iter().flatten() {
            gain_of[group] += gain;
        }
        // Operators that were not found may read any group below theirs.
        let unknown = self.variables.iter().filter(|reader| reader.floor.is_some()).map(|reader| reader.group).max();
        self.variables.iter().position(|own| {
            let least = own.candidates.first().map(|candidate| candidate.seconds).into_iter().chain(own.floor);
            !own.is_required
                && unknown.is_none_or(|reader| own.group >= reader)
                && gain_of[own.group] <= least.fold(f64::INFINITY, f64::min)
        })
    }

    /// The numbers of the groups that may or may not be materialised: the variables of an elimination.
    pub(super) fn free(&self) -> Vec<usize> {
        (0..self.variables.len()).filter(|&number| !self.variables[number].is_required).collect()
    }

    /// The functions whose sum is the cost of the best plan that materialises the free groups of an assignment, and
    /// whether it is; otherwise it is a lower bound. `with_floors` they allow for operators that were not found. Tables
    /// have at most `most` variables.
    pub(super) fn factors(&self, with_floors: bool, most: usize) -> (Vec<Factor>, bool) {
        let free = self.free();
        let variables = free.iter().enumerate().map(|(variable, &number)| (self.variables[number].group, variable));
        let variable_of: BTreeMap<Position, usize> = variables.collect();
        let mut is_exact = true;
        let factor = |variable: &Variable| {
            let scope = variable.scope(&variable_of, most);
            is_exact &= scope.len() == variable.reads(&variable_of).len();
            variable.factor(&variable_of, scope, with_floors)
        };
        (self.variables.iter().map(factor).collect(), is_exact)
    }

    /// The cheapest operators of a plan that may materialise no other free groups than those of an assignment, by
    /// ascending group; none if it is impossible. Groups that no operator reads are left out.
    pub(super) fn plan(&self, assignment: &[bool]) -> Option<Vec<&Candidate>> {
        let mut is_materialized: BTreeMap<Position, bool> = BTreeMap::new();
        for (number, &value) in self.free().into_iter().zip(assignment) {
            is_materialized.insert(self.variables[number].group, value);
        }
        let mut is_read = BTreeSet::new();
        let mut operators = Vec::new();
        // Readers follow what they read.
        for variable in self.variables.iter().rev() {
            if variable.is_required || is_read.contains(&variable.group) {
                let cheapest = variable.cheapest(|group| is_materialized.get(&group) == Some(&true))?;
                is_read.extend(cheapest.reads.iter());
                operators.push(cheapest);
            }
        }
        operators.reverse();
        Some(operators)
    }

    /// Seconds of [`Problem::plan`]; infinite if it is impossible.
    pub(super) fn seconds(&self, assignment: &[bool]) -> f64 {
        let seconds = |plan: Vec<&Candidate>| plan.iter().map(|candidate| candidate.seconds).sum();
        self.plan(assignment).map_or(f64::INFINITY, seconds)
    }
}

/// The most variables of one table.
pub(super) const MAX_SCOPE: usize = 16;

/// The most groups that a problem has.
const MAX_GROUPS: usize = 1000;

/// The fewest branches that the search for the operators of one group has.
const LEAST_BRANCHES: u64 = 4;

/// Seconds that an operator may gain, by the group whose materialisation allows it.
type Gains = BTreeMap<Position, f64>;

impl Variable {
    /// A group that every plan materialises, all of whose operators are known.
    pub(super) fn required(group: Position, candidates: Vec<Candidate>) -> Variable {
        Variable { group, is_required: true, candidates, floor: None }
    }

    /// The variable where positions are counted from another first one.
    pub(super) fn moved_by(mut self, count: usize) -> Variable {
        self.group += count;
        for candidate in &mut self.candidates {
            candidate.reads = candidate.reads.iter().map(|read| read + count).collect();
        }
        self
    }

    /// The most that the group gains by each of the groups that its candidates read.
    fn gains(&self) -> Gains {
        let mut index = ReadIndex::default();
        self.candidates.iter().for_each(|candidate| index.push(&candidate.reads));
        let mut gains = Gains::new();
        for candidate in &self.candidates {
            let possible = index.reading_only(&candidate.reads);
            for read in candidate.reads.iter() {
                let reads_it = index.readers(read);
                // None before it, being cheaper, can do with no more reads: they would dominate it.
                let replacement = possible.ones().find(|&other| !reads_it(other));
                let seconds = replacement.map_or(f64::INFINITY, |other| self.candidates[other].seconds);
                let most = gains.entry(read).or_insert(0.0);
                *most = f64::max(*most, seconds - candidate.seconds);
            }
        }
        gains
    }

    /// The variables that candidates read, ascending.
    fn reads(&self, variable_of: &BTreeMap<Position, usize>) -> Vec<usize> {
        let mut reads: Vec<usize> = self
            .candidates
            .iter()
            .flat_map(|candidate| candidate.reads.iter())
            .map(|read| variable_of[&read])
            .collect();
        reads.sort_unstable();
        reads.dedup();
        reads
    }

    /// Those that a table can tell apart: where there are too many, the ones that most candidates read.
    fn scope(&self, variable_of: &BTreeMap<Position, usize>, most: usize) -> Vec<usize> {
        let mut scope = self.reads(variable_of);
        let reading = |variable: usize| {
            let reads = |candidate: &&Candidate| candidate.reads.iter().any(|read| variable_of[&read] == variable);
            self.candidates.iter().filter(reads).count()
        };
        if scope.len() > most {
            scope.sort_by_cached_key(|&variable| (Reverse(reading(variable)), variable));
            scope.truncate(most);
            scope.sort_unstable();
        }
        scope
    }

    /// The cost of the group's cheapest operator as a function of which variables of the scope may be read (others
    /// may), and of whether the group is materialised at all if that is open.
    fn factor(&self, variable_of: &BTreeMap<Position, usize>, scope: Vec<usize>, with_floors: bool) -> Factor {
        let otherwise = self.floor.filter(|_| with_floors).unwrap_or(f64::INFINITY);
        let mut cost = Factor::uniform(scope, otherwise);
        for candidate in &self.candidates {
            let bit = |read: Position| cost.scope.binary_search(&variable_of[&read]).map_or(0, |bit| 1 << bit);
            let index: usize = candidate.reads.iter().map(bit).sum();
            cost.table[index] = cost.table[index].min(candidate.seconds);
        }
        cost.relax_to_subsets();
        match variable_of.get(&self.group) {
            Some(&own) => cost.only_where(own),
            None => cost,
        }
    }

    /// The cheapest operator that reads only what is materialised.
    pub(super) fn cheapest(&self, is_materialized: impl Fn(Position) -> bool) -> Option<&Candidate> {
        self.candidates.iter().find(|candidate| candidate.reads.iter().all(&is_materialized))
    }
}

/// The candidates that no cheaper one undercuts with no more reads of groups that may not be there, cheapest first.
pub(super) fn undominated(mut candidates: Vec<Candidate>) -> Vec<Candidate> {
    candidates
        .sort_by(|one, other| one.seconds.total_cmp(&other.seconds).then(one.reads.len().cmp(&other.reads.len())));
    let mut kept = ReadIndex::default();
    candidates.retain(|candidate| {
        let is_undominated = kept.reading_only(&candidate.reads).is_clear();
        if is_undominated {
            kept.push(&candidate.reads);
        }
        is_undominated
    });
    candidates
}
