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
use super::super::entry::Member;
use super::factor::{Factor, Scope};
use super::group_set::GroupSet;
use super::operators::{Candidate, Groups};
use super::read_index::ReadIndex;
use crate::facts::can_share_pass;
use bumpalo::Bump;
use cranelift_entity::EntityRef;
use smallvec::SmallVec;
use std::cmp::Reverse;

/// A group that may be materialised.
#[derive(Clone, Debug)]
pub(super) struct Variable {
    pub(super) group: Member,
    /// Whether every plan materialises it.
    pub(super) is_required: bool,
    /// Its operators that no other one dominates, cheapest first. They list the groups they read that are not required.
    pub(super) candidates: Vec<Candidate>,
    /// What its operators that were not found cost at least.
    pub(super) floor: Option<f64>,
}

/// Which candidates of a group a problem has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kept {
    /// What no other candidate dominates.
    Undominated,
    /// All candidates of aggregates, of other members what no other candidate dominates.
    AllOfAggregates,
}

/// The groups of a partition that may be materialised, ascending, with their operators.
#[derive(Clone, Debug, Default)]
pub(super) struct Problem {
    pub(super) variables: Vec<Variable>,
}

impl Problem {
    /// The problem of a partition, or none if it is too large. Where the effort of the search for operators ends, some
    /// groups have floors.
    pub(super) fn new(groups: &mut Groups<'_>) -> Option<Problem> {
        Problem::keeping(Kept::Undominated, groups)
    }

    /// [`Problem::new`] where aggregates may share passes: they keep the candidates that others dominate, and what they
    /// read in a pass enters the problem, too.
    pub(super) fn with_passes(groups: &mut Groups<'_>) -> Option<Problem> {
        Problem::keeping(Kept::AllOfAggregates, groups)
    }

    fn keeping(kept: Kept, groups: &mut Groups<'_>) -> Option<Problem> {
        let search = groups.search;
        let mut pending: SmallVec<[Member; 16]> = SmallVec::from_slice(search.required);
        let always: GroupSet = pending.iter().copied().collect();
        let mut known = GroupSet::default();
        let mut variables: Vec<Variable> = Vec::with_capacity(pending.len());
        while let Some(group) = pending.pop() {
            if known.contains(group) {
                continue;
            }
            if variables.len() >= MAX_GROUPS || groups.effort.is_spent() {
                return None;
            }
            // No group may use up what the others need.
            let share = (groups.effort.budget.branches.saturating_sub(groups.branches) / 2).max(LEAST_BRANCHES);
            let found = groups.candidates(group, share);
            let mut candidates = found.list;
            for candidate in &mut candidates {
                candidate.reads = candidate.reads.without(&always);
            }
            let keeps_all = kept == Kept::AllOfAggregates && can_share_pass(search.context, search.id(group));
            if !keeps_all {
                candidates = undominated(candidates);
            }
            pending.extend(candidates.iter().flat_map(|candidate| candidate.reads.iter()));
            let floor = (!found.is_complete).then(|| groups.floor(group));
            variables.push(Variable { group, is_required: always.contains(group), candidates, floor });
            known.insert(group);
        }
        variables.sort_unstable_by_key(|variable| variable.group);
        Some(Problem { variables })
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
    pub(super) fn give_up_groups(&mut self, effort: &Effort) -> Vec<Member> {
        let mut given_up = Vec::new();
        let mut gains: Vec<Gains> = self.variables.iter().map(Variable::gains).collect();
        let mut gain_of = Vec::new();
        // Groups that are kept although they could be given up cost time alone.
        while !effort.is_spent()
            && let Some(number) = self.first_that_does_not_pay_off(&gains, &mut gain_of)
        {
            effort.spend(gains.iter().map(|gains| 1 + gains.len() as u64).sum());
            let group = self.variables.remove(number).group;
            gains.remove(number);
            for (variable, gains) in self.variables.iter_mut().zip(&mut gains) {
                if gains.iter().any(|&(read, _)| read == group) {
                    variable.candidates.retain(|candidate| !candidate.reads.contains(group));
                    *gains = variable.gains();
                }
            }
            given_up.push(group);
        }
        given_up
    }

    /// The first group that costs more to materialise than its readers, whose gains are given by variable, may gain by
    /// reading it. `gain_of` is memory for the sums by group.
    fn first_that_does_not_pay_off(&self, gains: &[Gains], gain_of: &mut Vec<f64>) -> Option<usize> {
        gain_of.clear();
        gain_of.resize(self.variables.iter().map(|variable| variable.group).max()?.index() + 1, 0.0);
        for &(group, gain) in gains.iter().flatten() {
            gain_of[group.index()] += gain;
        }
        // Operators that were not found may read any group below theirs.
        let unknown = self.variables.iter().filter(|reader| reader.floor.is_some()).map(|reader| reader.group).max();
        self.variables.iter().position(|own| {
            let least = own.candidates.first().map(|candidate| candidate.seconds).into_iter().chain(own.floor);
            !own.is_required
                && unknown.is_none_or(|reader| own.group >= reader)
                && gain_of[own.group.index()] <= least.fold(f64::INFINITY, f64::min)
        })
    }

    /// The numbers of the groups that may or may not be materialised: the variables of an elimination.
    pub(super) fn free(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.variables.len()).filter(|&number| !self.variables[number].is_required)
    }

    /// By group that may or may not be materialised, ascending: its place among these.
    fn free_groups(&self) -> FreeGroups {
        let mut groups: FreeGroups = self.free().map(|number| self.variables[number].group).zip(0..).collect();
        groups.sort_unstable();
        groups
    }

    /// The functions whose sum is the cost of the best plan that materialises the free groups of an assignment, and
    /// whether it is; otherwise it is a lower bound. `with_floors` they allow for operators that were not found. Tables
    /// have at most `most` variables.
    pub(super) fn factors<'s>(&self, with_floors: bool, most: usize, scratch: &'s Bump) -> (Vec<Factor<'s>>, bool) {
        let free = self.free_groups();
        let mut is_exact = true;
        let mut factors = Vec::with_capacity(self.variables.len());
        for variable in &self.variables {
            let mut scope = variable.reads(&free);
            if scope.len() > most {
                is_exact = false;
                variable.narrow(&mut scope, &free, most);
            }
            factors.push(variable.factor(&free, Factor::scope(scope, scratch), with_floors));
        }
        (factors, is_exact)
    }

    /// The cheapest operators of a plan that may materialise no other free groups than those of an assignment, by
    /// ascending group; none if it is impossible. Groups that no operator reads are left out.
    pub(super) fn plan(&self, assignment: &[bool]) -> Option<SmallVec<[&Candidate; 16]>> {
        let chosen = self.free().zip(assignment).filter(|(_, is_chosen)| **is_chosen);
        let materialized: GroupSet = chosen.map(|(number, _)| self.variables[number].group).collect();
        let mut read = GroupSet::default();
        let mut operators = SmallVec::new();
        // Readers follow what they read.
        for variable in self.variables.iter().rev() {
            if variable.is_required || read.contains(variable.group) {
                let cheapest = variable.cheapest(&materialized)?;
                read.insert_all(&cheapest.reads);
                operators.push(cheapest);
            }
        }
        operators.reverse();
        Some(operators)
    }

    /// Seconds of [`Problem::plan`]; infinite if it is impossible.
    pub(super) fn seconds(&self, assignment: &[bool]) -> f64 {
        let plan = self.plan(assignment);
        plan.map_or(f64::INFINITY, |plan| plan.iter().map(|candidate| candidate.seconds).sum())
    }
}

/// The most variables of one table.
pub(super) const MAX_SCOPE: usize = 16;

/// The most groups that a problem has.
const MAX_GROUPS: usize = 1000;

/// The fewest branches that the search for the operators of one group has.
const LEAST_BRANCHES: u64 = 4;

/// Seconds that an operator may gain, by the group whose materialisation allows it, ascending.
type Gains = SmallVec<[(Member, f64); 4]>;

/// Groups that may or may not be materialised, ascending, with their places among the variables of an elimination.
type FreeGroups = SmallVec<[(Member, usize); 16]>;

/// The place of a group that may or may not be materialised.
fn place_of(free: &FreeGroups, group: Member) -> Option<usize> {
    free.binary_search_by_key(&group, |&(group, _)| group).ok().map(|found| free[found].1)
}

impl Variable {
    /// A group that every plan materialises, all of whose operators are known.
    pub(super) fn required(group: Member, candidates: Vec<Candidate>) -> Variable {
        Variable { group, is_required: true, candidates, floor: None }
    }

    /// The variable where members are counted from another first one.
    pub(super) fn moved_by(mut self, count: usize) -> Variable {
        self.group = Member::new(self.group.index() + count);
        for candidate in &mut self.candidates {
            candidate.reads = candidate.reads.iter().map(|read| Member::new(read.index() + count)).collect();
        }
        self
    }

    /// The most that the group gains by each of the groups that its candidates read.
    fn gains(&self) -> Gains {
        let mut index = ReadIndex::default();
        self.candidates.iter().for_each(|candidate| index.push(&candidate.reads));
        let mut gains = Gains::new();
        for candidate in &self.candidates {
            for read in candidate.reads.iter() {
                // None before it, being cheaper, can do with no more reads: they would dominate it.
                let replacement = index.reading_only(&candidate.reads).find(|&other| !index.reads(other, read));
                let seconds = replacement.map_or(f64::INFINITY, |other| self.candidates[other].seconds);
                let place = gains.partition_point(|&(known, _)| known < read);
                if gains.get(place).is_none_or(|&(known, _)| known != read) {
                    gains.insert(place, (read, 0.0));
                }
                gains[place].1 = f64::max(gains[place].1, seconds - candidate.seconds);
            }
        }
        gains
    }

    /// The variables that candidates read, ascending.
    fn reads(&self, free: &FreeGroups) -> SmallVec<[usize; 16]> {
        let mut all = GroupSet::default();
        self.candidates.iter().for_each(|candidate| all.insert_all(&candidate.reads));
        let mut reads: SmallVec<[usize; 16]> = all.iter().filter_map(|read| place_of(free, read)).collect();
        reads.sort_unstable();
        reads
    }

    /// Keeps as many of the variables that candidates read as a table can tell apart: those that most candidates read.
    fn narrow(&self, scope: &mut SmallVec<[usize; 16]>, free: &FreeGroups, most: usize) {
        scope.sort_by_cached_key(|&variable| {
            let reading = self.candidates.iter().filter(|candidate| candidate.reads_variable(free, variable));
            (Reverse(reading.count()), variable)
        });
        scope.truncate(most);
        scope.sort_unstable();
    }

    /// The cost of the group's cheapest operator as a function of which variables of the scope may be read (others
    /// may), and of whether the group is materialised at all if that is open.
    fn factor<'s>(&self, free: &FreeGroups, scope: Scope<'s>, with_floors: bool) -> Factor<'s> {
        let otherwise = self.floor.filter(|_| with_floors).unwrap_or(f64::INFINITY);
        let mut cost = Factor::uniform(scope, otherwise);
        for candidate in &self.candidates {
            let variables = candidate.reads.iter().filter_map(|read| place_of(free, read));
            let bits = variables.filter_map(|variable| cost.scope.binary_search(&variable).ok());
            let index: usize = bits.map(|bit| 1 << bit).sum();
            cost.table[index] = cost.table[index].min(candidate.seconds);
        }
        cost.relax_to_subsets();
        match place_of(free, self.group) {
            Some(own) => cost.only_where(own),
            None => cost,
        }
    }

    /// The cheapest operator that reads only what is materialised.
    fn cheapest(&self, materialized: &GroupSet) -> Option<&Candidate> {
        self.candidates.iter().find(|candidate| candidate.reads.is_subset(materialized))
    }
}

impl Candidate {
    /// Whether it reads the group that is this variable of an elimination.
    fn reads_variable(&self, free: &FreeGroups, variable: usize) -> bool {
        self.reads.iter().any(|read| place_of(free, read) == Some(variable))
    }
}

/// What takes seconds and reads groups that may not be there.
pub(super) trait Priced {
    fn seconds(&self) -> f64;
    fn reads(&self) -> &GroupSet;
}

impl Priced for Candidate {
    fn seconds(&self) -> f64 {
        self.seconds
    }

    fn reads(&self) -> &GroupSet {
        &self.reads
    }
}

/// The candidates that no cheaper one undercuts with no more reads of groups that may not be there, cheapest first.
pub(super) fn undominated<T: Priced>(mut candidates: Vec<T>) -> Vec<T> {
    candidates.sort_by(|one, other| {
        one.seconds().total_cmp(&other.seconds()).then(one.reads().len().cmp(&other.reads().len()))
    });
    let mut kept = ReadIndex::default();
    candidates.retain(|candidate| {
        let is_undominated = kept.reading_only(candidate.reads()).next().is_none();
        if is_undominated {
            kept.push(candidate.reads());
        }
        is_undominated
    });
    candidates
}
