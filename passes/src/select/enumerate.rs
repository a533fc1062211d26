//! `MPSkipEnum` (Algorithm 2): a linear scan over the assignments of interesting points, from all fused to all
//! materialised, with skipping of subspaces whose lower bound reaches the best cost so far.

use super::space::SearchSpace;
use super::{Enumeration, PlanAssignment, SearchLimits, SelectPolicy, random};

/// Counters of a search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SearchStats {
    /// Interesting points.
    pub points: u64,
    /// Plans costed, partially or fully.
    pub evaluated: u64,
    /// Plans whose costing stopped early, at the best cost so far.
    pub partially_costed: u64,
    /// Plans skipped by the lower bound; saturates.
    pub skipped: u64,
    /// Partitions whose search ended at the limit of plans.
    pub exhausted: u64,
}

impl std::ops::Add for SearchStats {
    type Output = SearchStats;
    fn add(self, other: SearchStats) -> SearchStats {
        SearchStats {
            points: self.points + other.points,
            evaluated: self.evaluated + other.evaluated,
            partially_costed: self.partially_costed + other.partially_costed,
            skipped: self.skipped.saturating_add(other.skipped),
            exhausted: self.exhausted + other.exhausted,
        }
    }
}

/// The assignment that a policy chooses, its cost in seconds, and how it was found.
pub(crate) fn search(
    space: &SearchSpace<'_>,
    policy: SelectPolicy,
    limits: &SearchLimits,
) -> (PlanAssignment, f64, SearchStats) {
    let mut search = Search::new(space);
    match policy {
        SelectPolicy::FuseAll => search.evaluate(vec![false; space.points()]),
        SelectPolicy::FuseNoRedundancy => search.evaluate(space.without_redundancy()),
        SelectPolicy::CostBased => match limits.enumeration {
            Enumeration::None | Enumeration::Partition => search.exhaustive(),
            Enumeration::Cost | Enumeration::All | Enumeration::Exact => search.cost_based(limits),
        },
        SelectPolicy::Exhaustive if space.points() <= limits.exhaustive_points => search.exhaustive(),
        SelectPolicy::Exhaustive => search.cost_based(limits),
        SelectPolicy::Random { seed } => {
            search.evaluate(random::assignment(seed, &space.partition.members, space.points()));
        }
    }
    (search.best, search.upper, search.stats)
}

struct Search<'a> {
    space: &'a SearchSpace<'a>,
    best: PlanAssignment,
    /// Cost of the best plan so far.
    upper: f64,
    stats: SearchStats,
}

impl<'a> Search<'a> {
    fn new(space: &'a SearchSpace<'a>) -> Self {
        let stats = SearchStats { points: space.points() as u64, ..SearchStats::default() };
        Search { space, best: vec![false; space.points()], upper: f64::INFINITY, stats }
    }

    fn evaluate(&mut self, assignment: PlanAssignment) {
        self.stats.evaluated += 1;
        match self.space.cost(&assignment, self.upper) {
            Some(seconds) if seconds < self.upper => {
                self.upper = seconds;
                self.best = assignment;
            }
            Some(_) => {}
            None => self.stats.partially_costed += 1,
        }
    }

    fn exhaustive(&mut self) {
        let mut assignment = vec![false; self.space.points()];
        loop {
            self.evaluate(assignment.clone());
            if !advance(&mut assignment, self.space.points()) {
                break;
            }
        }
    }

    fn cost_based(&mut self, limits: &SearchLimits) {
        let points = self.space.points();
        self.evaluate(vec![false; points]);
        if points == 0 {
            return;
        }
        self.evaluate(self.space.without_redundancy());
        let too_many = points >= 63 || 1_u64 << points > limits.plans;
        if too_many {
            self.descend(limits);
        }
        self.scan(limits);
    }

    /// Flips one point at a time while that helps: what stands in for the whole search where there are too many
    /// plans to scan.
    fn descend(&mut self, limits: &SearchLimits) {
        let mut improved = true;
        while improved && self.stats.evaluated < limits.plans / 2 {
            let before = self.upper;
            for point in 0..self.space.points() {
                let mut neighbour = self.best.clone();
                neighbour[point] = !neighbour[point];
                if self.space.lower_bound(&neighbour) < self.upper {
                    self.evaluate(neighbour);
                }
            }
            improved = self.upper < before;
        }
    }

    /// The scan, after the all-false assignment was costed. The first point is the most significant digit, so the
    /// assignments that share everything up to their last true digit form one run, which the lower bound can skip.
    fn scan(&mut self, limits: &SearchLimits) {
        let points = self.space.points();
        let mut assignment = vec![false; points];
        if self.space.lower_bound(&assignment) >= self.upper {
            self.stats.skipped = skipped_plans(points).saturating_sub(1);
            return;
        }
        let mut digit = points;
        while advance(&mut assignment, digit) {
            let last_true = assignment.iter().rposition(|&value| value).unwrap_or(0);
            if self.space.lower_bound(&assignment) >= self.upper {
                self.stats.skipped = self.stats.skipped.saturating_add(skipped_plans(points - last_true - 1));
                digit = last_true + 1;
                continue;
            }
            if self.stats.evaluated >= limits.plans {
                self.stats.exhausted = 1;
                return;
            }
            self.evaluate(assignment.clone());
            digit = points;
        }
    }
}

/// `2^free`, the number of assignments of so many free points.
fn skipped_plans(free: usize) -> u64 {
    if free < 64 { 1 << free } else { u64::MAX }
}

/// Adds one at the last of the first `digits` digits of a binary number, with all further digits zero; whether it did
/// not overflow.
fn advance(assignment: &mut [bool], digits: usize) -> bool {
    assignment[digits..].fill(false);
    for value in assignment[..digits].iter_mut().rev() {
        *value = !*value;
        if *value {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_through_all_assignments() {
        let mut assignment = vec![false; 4];
        let mut count = 1;
        while advance(&mut assignment, 4) {
            count += 1;
        }
        assert_eq!(count, 16);
    }

    /// P131, P133: with the second of four points true and the rest false, skipping passes four plans at once.
    #[test]
    fn skips_the_subtree_below_the_last_true_point() {
        let mut assignment = vec![false, true, false, false];
        assert_eq!(skipped_plans(4 - 1 - 1), 4);
        assert!(advance(&mut assignment, 2));
        assert_eq!(assignment, [true, false, false, false]);
    }
}
