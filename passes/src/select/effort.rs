//! How much work a search may do, and has done: for the plan of a partition, for the pass that an aggregate joins.
//!
//! Work is counted in groups visited, never in time, so that plans are reproducible. What a search may visit is in
//! proportion to the partition: where it ends, the exact solver gives way to pruned enumeration, and this to the better
//! heuristic, improved as far as the rest allows. Nor does it take longer than a better plan may gain in a hundred executions,
//! beyond a share that every search has: blocks over little data are optimised in a moment.

use super::limits::{Budget, SearchLimits};
use std::cell::Cell;

/// Visits of groups that a plan of a partition takes by group: it is bounded, and its operators are looked up or priced.
const VISITS_PER_PLAN: u64 = 8;

/// Seconds of a visit, about.
const VISIT_SECONDS: f64 = 50e-9;

/// How often a plan is taken to run when its search must not take longer than it may gain.
const EXECUTIONS: f64 = 100.0;

/// Of so many visits that limits allow a search has one, whatever it may gain.
const LEAST_SHARE: u64 = 8;

/// Visits per plan, on average, that no search for plans exceeds, however many it may take.
const MOST_VISITS_PER_PLAN: u64 = 1000;

/// The work of one search: what is left of it.
#[derive(Debug)]
pub(super) struct Effort {
    /// Steps at most, of whatever the search does.
    pub(super) budget: Budget,
    visits: u64,
    spent: Cell<u64>,
}

impl Effort {
    /// So many steps of each search, whatever the size of the partition.
    #[cfg(test)]
    pub(super) fn of_steps(steps: u64) -> Effort {
        Effort::of_budget(Budget::of(steps))
    }

    /// What a budget takes, whatever the size of the partition.
    pub(super) fn of_budget(budget: Budget) -> Effort {
        Effort { budget, visits: budget.plans.saturating_mul(MOST_VISITS_PER_PLAN), spent: Cell::new(0) }
    }

    /// Steps as the limits say, and any number of visits: what the paper's ways to enumerate plans have.
    pub(super) fn of_any_size(limits: &SearchLimits) -> Effort {
        Effort { budget: limits.budget, visits: u64::MAX, spent: Cell::new(0) }
    }

    /// What the limits allow for a partition of so many groups.
    pub(super) fn of_groups(limits: &SearchLimits, groups: usize) -> Effort {
        let all = Effort::of_budget(limits.budget);
        Effort { visits: all.visits.min(limits.visits.saturating_mul(groups as u64)), ..all }
    }

    /// A part of the search that may gain so many seconds, with what is left, but no more than is worth that; what it takes
    /// is spent.
    pub(super) fn in_proportion<T>(&self, gain: f64, part: impl FnOnce(&Effort) -> T) -> T {
        let worth = if gain.is_nan() { u64::MAX } else { (gain * EXECUTIONS / VISIT_SECONDS) as u64 };
        let visits = self.left().min(worth.max(self.visits / LEAST_SHARE));
        self.spending(&self.with_visits(visits), part)
    }

    /// Half of what is left, for a part of the search that must leave something to the next one.
    pub(super) fn half(&self) -> Effort {
        self.with_visits(self.left() / 2)
    }

    /// So many visits, with the same steps of each search.
    fn with_visits(&self, visits: u64) -> Effort {
        Effort { budget: self.budget, visits, spent: Cell::new(0) }
    }

    /// A part of the search with half of what is left; what it takes of that is spent.
    pub(super) fn in_half<T>(&self, part: impl FnOnce(&Effort) -> T) -> T {
        self.spending(&self.half(), part)
    }

    /// A part of the search with an effort of its own; what it takes of that is spent.
    fn spending<T>(&self, own: &Effort, part: impl FnOnce(&Effort) -> T) -> T {
        let result = part(own);
        self.spend(own.spent());
        result
    }

    /// Counts visits.
    pub(super) fn spend(&self, visits: u64) {
        self.spent.set(self.spent.get().saturating_add(visits));
    }

    /// Whether enough is left to count a plan of so many groups.
    pub(super) fn allows_plan(&self, groups: usize) -> bool {
        VISITS_PER_PLAN * groups as u64 <= self.left()
    }

    /// Counts a plan of so many groups.
    pub(super) fn spend_on_plan(&self, groups: usize) {
        self.spend(VISITS_PER_PLAN * groups as u64);
    }

    /// Visits so far.
    pub(super) fn spent(&self) -> u64 {
        self.spent.get()
    }

    /// Visits that are left.
    pub(super) fn left(&self) -> u64 {
        self.visits.saturating_sub(self.spent())
    }

    /// Whether nothing is left.
    pub(super) fn is_spent(&self) -> bool {
        self.left() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_work_is_in_proportion_to_the_partition_and_never_more_than_the_plans_take() {
        let limits = SearchLimits { budget: Budget::of(10), visits: 100, ..SearchLimits::default() };
        assert_eq!(Effort::of_groups(&limits, 7).left(), 700);
        assert_eq!(Effort::of_groups(&limits, 1_000_000).left(), 10 * MOST_VISITS_PER_PLAN);
    }

    #[test]
    fn a_part_takes_no_longer_than_it_may_gain_unless_that_is_little() {
        let whole = Effort { budget: Budget::of(10), visits: 8_000, spent: Cell::new(3_000) };
        let left = |gain| whole.in_proportion(gain, Effort::left);
        assert_eq!(left(0.0), 1_000);
        assert_eq!(left(2_000.0 * VISIT_SECONDS / EXECUTIONS), 2_000);
        assert_eq!(left(1.0), 5_000);
        assert_eq!(left(f64::NAN), 5_000);
        whole.in_proportion(1.0, |part| part.spend(70));
        assert_eq!(whole.spent(), 3_070);
    }

    #[test]
    fn a_part_leaves_half_to_the_next_one() {
        let whole = Effort::of_steps(1);
        let part = whole.half();
        part.spend(u64::MAX);
        assert!(part.is_spent() && !whole.is_spent());
        whole.spend(part.left() + 400);
        assert_eq!((whole.left(), whole.spent()), (600, 400));
        whole.spend_on_plan(10);
        assert_eq!(whole.left(), 600 - 10 * VISITS_PER_PLAN);
    }
}
