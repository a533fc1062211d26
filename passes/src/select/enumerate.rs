//! `MPSkipEnum` (Algorithm 2): a linear scan over the assignments of interesting points, from all fused to all
//! materialised, which skips what the lower bound or the structure of the partition excludes.
//!
//! The first point of the layout is the most significant digit, so the assignments that share everything up to their
//! last true digit form one run. A run is skipped as a whole if its lower bound reaches the best cost so far, or if its
//! true digits end in a cut set: then its independent sub-problems are solved one by one, and their optima combined.
//!
//! Better than the paper, whose recursion knows neither: sub-problems inherit the upper bound, less what the others cost
//! at least, and the cut sets that are left; and they cost only their own part of the plan.

use super::bound::Bound;
use super::costing::Costing;
use super::cut_sets::{SubProblem, most_candidates};
use super::effort::Effort;
use super::entry::Point;
use super::inseparable::Together;
use super::limits::{Enumeration, FoundBy, SearchLimits};
use super::reachability::Points;
use super::space::SearchSpace;
use super::statistics::SearchStats;
use super::{PartitionPlan, SelectPolicy, is_proven, random};
use cranelift_entity::EntityRef;
use smallvec::smallvec;

/// Groups of all plans of a partition that are visited before the best plan so far is taken.
const MOST_GROUPS: u64 = 1 << 23;

/// Plans that are costed however large they are.
const FEWEST_PLANS: u64 = 64;

/// Partitions with at most this many points skip the greedy descent: solving them exactly is faster.
const MOST_POINTS_UNFLIPPED: usize = 16;

/// Plans per point that the greedy descent may cost in larger ones.
const PLANS_PER_POINT: u64 = 8;

/// The outcome of a search: the best plan that it found.
#[derive(Debug)]
pub(super) struct SearchResult {
    /// The materialised points.
    pub(crate) points: Points,
    /// The cost of the plan.
    pub(crate) seconds: f64,
    /// What no plan of the partition undercuts, whatever edges it fuses: that no assignment is cheaper proves nothing of those
    /// that fuse fewer.
    pub(crate) bound: f64,
    pub(crate) found_by: FoundBy,
    pub(crate) stats: SearchStats,
}

impl SearchResult {
    /// The plan of the partition with its operators.
    pub(super) fn into_plan(self, space: &SearchSpace<'_>) -> PartitionPlan {
        let SearchResult { points, seconds, bound, found_by, stats } = self;
        let assignment = (0..space.points()).map(|point| points.contains(point)).collect();
        let operators = space.operators(&points);
        let partition = space.search.partition.clone();
        PartitionPlan { partition, assignment, operators, seconds, bound, found_by, stats }
    }
}

/// The assignment that a policy chooses, within the limits and what is left of the effort.
pub(super) fn search(
    space: &SearchSpace<'_>,
    policy: SelectPolicy,
    limits: &SearchLimits,
    effort: &Effort,
) -> SearchResult {
    let enumeration = match policy {
        SelectPolicy::Exhaustive if space.points() <= limits.exhaustive_points => Enumeration::Partition,
        SelectPolicy::Exhaustive => Enumeration::All,
        _ => limits.enumeration,
    };
    let is_structural = matches!(enumeration, Enumeration::Structure | Enumeration::All | Enumeration::Exact);
    let is_pruned = matches!(enumeration, Enumeration::Cost | Enumeration::All | Enumeration::Exact);
    // Cut sets are for a scan that can follow them.
    let visits = (most_candidates(space.points()) * space.search.partition.members.len()) as u64;
    let is_structural = is_structural && visits < effort.left();
    let whole = SubProblem::whole(space, is_structural);
    if is_structural {
        effort.spend(visits);
    }
    let is_small = !is_pruned && !is_structural && space.points() <= limits.exhaustive_points;
    let plans = if is_small { u64::MAX } else { affordable(space, effort.budget.plans) };
    let mut search = Search { is_pruned, step_budget: plans, ..Search::new(space, &whole, effort) };
    match policy {
        SelectPolicy::FuseAll => search.try_plan(space.fuse_all()),
        SelectPolicy::FuseNoRedundancy => search.try_plan(space.without_redundancy()),
        SelectPolicy::CostBased | SelectPolicy::Exhaustive => search.cost_based(),
        SelectPolicy::Random { seed } => {
            let assignment = random::assignment(seed, &space.search.partition.members, space.points());
            search.try_plan(points(&assignment));
        }
    }
    search.into_result()
}

/// A good plan to begin a search with: the better one of the heuristics, in large partitions with single points flipped.
/// It may be proven to be optimal.
pub(super) fn first_plan(space: &SearchSpace<'_>, effort: &Effort) -> SearchResult {
    let whole = SubProblem::whole(space, false);
    let plans = space.points() as u64 * PLANS_PER_POINT;
    let mut search = Search { step_budget: plans, ..Search::new(space, &whole, effort) };
    search.try_heuristics();
    if space.points() > MOST_POINTS_UNFLIPPED {
        let flips: Vec<Together> = (0..space.points()).map(|point| smallvec![Point::new(point)]).collect();
        search.descend(&flips);
    }
    search.into_result()
}

/// So many plans, or fewer where a plan has very many groups.
fn affordable(space: &SearchSpace<'_>, plans: u64) -> u64 {
    let groups = space.search.partition.members.len().max(1) as u64;
    plans.min((MOST_GROUPS / groups).max(FEWEST_PLANS))
}

/// The points that are true.
fn points(assignment: &[bool]) -> Points {
    let mut points = Points::with_capacity(assignment.len());
    points.extend(assignment.iter().enumerate().filter(|(_, is_true)| **is_true).map(|(point, _)| point));
    points
}

struct Search<'a> {
    space: &'a SearchSpace<'a>,
    whole: &'a SubProblem,
    effort: &'a Effort,
    bound: Bound<'a>,
    costing: Costing<'a>,
    /// Whether plans are skipped at all.
    is_pruned: bool,
    /// How many plans may be costed, and runs skipped, altogether.
    step_budget: u64,
    /// Runs that were skipped by their lower bound.
    skipped_runs: u64,
    /// The cheapest plan so far with its cost.
    best: Option<(Points, f64)>,
    found_by: FoundBy,
    stats: SearchStats,
}

impl<'a> Search<'a> {
    fn new(space: &'a SearchSpace<'a>, whole: &'a SubProblem, effort: &'a Effort) -> Self {
        Search {
            space,
            whole,
            effort,
            bound: Bound::new(space),
            costing: Costing::new(space),
            is_pruned: false,
            step_budget: u64::MAX,
            skipped_runs: 0,
            best: None,
            found_by: FoundBy::Heuristics,
            stats: SearchStats { points: space.points() as u64, ..SearchStats::default() },
        }
    }

    /// Cost of the best plan so far: the upper bound.
    fn upper(&self) -> f64 {
        self.best.as_ref().map_or(f64::INFINITY, |(_, seconds)| *seconds)
    }

    fn is_at_limit(&self) -> bool {
        // Where there is but one plan, it is the one to find.
        let has_choice = self.space.points() > 0;
        has_choice && (self.stats.costed() + self.skipped_runs >= self.step_budget || self.effort.is_spent())
    }

    fn into_result(self) -> SearchResult {
        let (points, seconds) = self.best.unwrap_or((self.space.fuse_all(), f64::INFINITY));
        let bound = self.bound.seconds(&self.whole.region, &self.space.fuse_all());
        let bound = if is_proven(seconds, bound) { seconds } else { bound };
        let Costing { operators, operators_of_plans, .. } = self.costing;
        let stats = SearchStats { operators, operators_of_plans, ..self.stats };
        SearchResult { points, seconds, bound, found_by: self.found_by, stats }
    }

    /// Costs a plan besides the enumeration, or in its place.
    fn try_plan(&mut self, assignment: Points) {
        self.stats.opening += 1;
        self.effort.spend_on_plan(self.space.search.partition.members.len());
        let upper = self.upper();
        let seconds = self.costing.cost(&assignment, &self.whole.region, upper);
        if let Some(seconds) = seconds.filter(|&seconds| seconds < upper || self.best.is_none()) {
            self.best = Some((assignment, seconds));
        }
    }

    /// Costs the plans of both heuristics, unless there is but one plan.
    fn try_heuristics(&mut self) {
        if self.space.points() > 0 {
            self.try_plan(self.space.fuse_all());
            self.try_plan(self.space.without_redundancy());
        }
    }

    /// Opens with both heuristics, then enumerates.
    fn cost_based(&mut self) {
        self.try_heuristics();
        if self.is_pruned && self.whole.layout.len() > MOST_POINTS_UNFLIPPED {
            self.descend(&self.whole.flips(self.space));
        }
        let all = number_of_plans(self.space.points());
        self.stats.skipped_by_structure = all - number_of_plans(self.whole.layout.len());
        if let Some(best) = self.solve(self.whole, &self.space.fuse_all(), self.upper()) {
            self.best = Some(best);
            self.found_by = FoundBy::Enumeration;
        }
    }

    /// Makes all points of a flip true, or false where they are, one flip at a time while that helps: an upper bound that is
    /// low from the start, and what stands in for the whole search where there are too many plans to scan.
    fn descend(&mut self, flips: &[Together]) {
        let mut upper = f64::INFINITY;
        while self.upper() < upper && !self.is_excluded(self.whole, &self.space.fuse_all(), 0, self.upper()) {
            upper = self.upper();
            for flip in flips {
                if self.stats.opening >= self.step_budget / 2 || self.effort.is_spent() {
                    return;
                }
                let mut neighbour = self.best.as_ref().map_or_else(|| self.space.fuse_all(), |(best, _)| best.clone());
                let are_true = flip.iter().all(|point| neighbour.contains(point.index()));
                flip.iter().for_each(|point| neighbour.set(point.index(), !are_true));
                self.try_plan(neighbour);
            }
        }
    }

    /// The cheapest assignment of a problem's free points that costs less than `limit`, given the others.
    fn solve(&mut self, problem: &SubProblem, given: &Points, limit: f64) -> Option<(Points, f64)> {
        let mut best = None;
        let mut upper = limit;
        let mut scan = Scan::new(self.space, problem, given);
        loop {
            if self.is_at_limit() {
                self.stats.exhausted = 1;
                return best;
            }
            let run = number_of_plans(problem.layout.len() - scan.decided);
            self.effort.spend_on_plan(self.space.search.partition.members.len());
            let is_excluded = self.is_pruned && self.is_excluded(problem, &scan.assignment, scan.decided, upper);
            let cut_set = problem.cut_set_at(scan.decided, &scan.assignment).filter(|_| !is_excluded);
            let sub_problems = cut_set.and_then(|number| self.sub_problems(problem, number));
            let skips = is_excluded || sub_problems.is_some();
            let found = if is_excluded {
                self.skipped_runs += 1;
                self.stats.skipped_by_cost = self.stats.skipped_by_cost.saturating_add(run);
                None
            } else if let Some(sub_problems) = sub_problems {
                let combined = self.combine(sub_problems, &scan.assignment, run, upper);
                combined.and_then(|assignment| self.cost(problem, assignment, upper))
            } else {
                self.cost(problem, scan.assignment.clone(), upper)
            };
            if let Some((_, seconds)) = found {
                upper = seconds;
                best = found;
            }
            if !scan.advance(if skips { scan.decided } else { problem.layout.len() }) {
                return best;
            }
        }
    }

    /// Whether no plan of a problem that has so many leading digits of an assignment is better than `upper` by more than
    /// sums in another order differ.
    fn is_excluded(&mut self, problem: &SubProblem, assignment: &Points, decided: usize, upper: f64) -> bool {
        is_proven(upper, self.least(problem, assignment, decided))
    }

    /// Seconds that no plan of a problem undercuts that has so many leading digits of an assignment.
    fn least(&mut self, problem: &SubProblem, assignment: &Points, decided: usize) -> f64 {
        let mut points = Points::with_capacity(self.space.points());
        for digit in 0..decided {
            points.extend(problem.digit(self.space, digit).into_iter().map(EntityRef::index));
        }
        let determined = self.costing.determined(assignment, &points, &problem.region);
        self.bound.seconds_of_scan(&problem.region, assignment, &determined)
    }

    /// The plan of a problem with its cost, if that is less than `upper`.
    fn cost(&mut self, problem: &SubProblem, assignment: Points, upper: f64) -> Option<(Points, f64)> {
        let limit = if self.is_pruned { upper } else { f64::INFINITY };
        let seconds = self.costing.cost(&assignment, &problem.region, limit);
        match seconds {
            Some(_) => self.stats.evaluated += 1,
            None => self.stats.partially_costed += 1,
        }
        seconds.filter(|&seconds| seconds < upper).map(|seconds| (assignment, seconds))
    }

    /// The sub-problems of a cut set, if solving them one by one saves plans.
    fn sub_problems<'p>(&self, problem: &'p SubProblem, number: usize) -> Option<&'p [SubProblem]> {
        let sub_problems = problem.sub_problems(self.space, number);
        let together = number_of_plans(problem.layout.len() - problem.cut_sets[number].end);
        (plans_one_by_one(sub_problems) <= together).then_some(sub_problems)
    }

    /// The optima of sub-problems together, unless their plans cost `upper` or more. What a sub-problem may cost is what
    /// the others leave of the upper bound.
    fn combine(&mut self, sub_problems: &[SubProblem], given: &Points, run: u64, upper: f64) -> Option<Points> {
        let skipped = run - plans_one_by_one(sub_problems).min(run);
        self.stats.skipped_by_structure = self.stats.skipped_by_structure.saturating_add(skipped);
        let mut least: Vec<f64> = sub_problems.iter().map(|problem| self.least(problem, given, 0)).collect();
        let mut combined = given.clone();
        let free = sub_problems.iter().enumerate().filter(|(_, problem)| !problem.layout.is_empty());
        for (number, problem) in free.clone() {
            let others: f64 = (0..least.len()).filter(|&other| other != number).map(|other| least[other]).sum();
            let limit = if self.is_pruned { upper - others } else { f64::INFINITY };
            let Some((assignment, seconds)) = self.solve(problem, given, limit) else {
                let unsolved = free.filter(|(other, _)| *other > number);
                let skipped = unsolved.map(|(_, problem)| number_of_plans(problem.layout.len())).sum::<u64>() + 1;
                self.stats.skipped_by_cost = self.stats.skipped_by_cost.saturating_add(skipped);
                return None;
            };
            least[number] = seconds;
            combined.union_with(&assignment);
        }
        Some(combined)
    }
}

/// The scan over the assignments of a problem's free points.
struct Scan<'a> {
    space: &'a SearchSpace<'a>,
    problem: &'a SubProblem,
    /// The digits by position in the layout.
    digits: Vec<bool>,
    /// The number of digits up to the last true one: all plans of the run have these.
    decided: usize,
    assignment: Points,
}

impl<'a> Scan<'a> {
    /// At the first assignment, with all free points false.
    fn new(space: &'a SearchSpace<'a>, problem: &'a SubProblem, given: &Points) -> Self {
        Scan { space, problem, digits: vec![false; problem.layout.len()], decided: 0, assignment: given.clone() }
    }

    /// Adds one at the last of the first `kept` digits, with all further digits zero; whether it did not overflow.
    fn advance(&mut self, kept: usize) -> bool {
        for position in (0..self.digits.len()).rev() {
            let is_true = position < kept && !self.digits[position];
            self.digits[position] = is_true;
            for point in self.problem.digit(self.space, position) {
                self.assignment.set(point.index(), is_true);
            }
            if is_true {
                self.decided = position + 1;
                return true;
            }
        }
        false
    }
}

/// `2^free`, the number of assignments of so many free points; saturates.
fn number_of_plans(free: usize) -> u64 {
    if free < 64 { 1 << free } else { u64::MAX }
}

/// The plans to cost where sub-problems are solved one by one: theirs, and the combination of their optima.
fn plans_one_by_one(sub_problems: &[SubProblem]) -> u64 {
    let free = sub_problems.iter().map(|problem| problem.layout.len()).filter(|&free| free > 0);
    free.map(number_of_plans).fold(1, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{campaign, four_points, overlapping_sums, random_dag, spaces_of};
    use super::*;
    use crate::cost::CostModel;
    use crate::machine::{Bandwidth, Machine};
    use crate::select::costing::{Determined, Request};
    use crate::testing::Random;

    /// Searches a space with these switches, and gives what was asked of the cost model, plan by plan.
    fn requests(space: &SearchSpace<'_>, is_pruned: bool) -> (SearchResult, Vec<Request>) {
        let (whole, effort) = (SubProblem::whole(space, false), Effort::of_steps(u64::MAX));
        let mut search = Search { is_pruned, ..Search::new(space, &whole, &effort) };
        search.cost_based();
        let requests = std::mem::take(&mut search.costing.requests);
        (search.into_result(), requests)
    }

    /// The digits of an assignment as one number, the first of the layout being the most significant.
    fn number_of(layout: &[Point], assignment: &Points) -> usize {
        layout.iter().fold(0, |number, point| 2 * number + usize::from(assignment.contains(point.index())))
    }

    /// P126: all assignments in the order of binary numbers, from all false to all true, each once.
    #[test]
    fn a_scan_counts_through_all_assignments() {
        four_points(|space, problem| {
            let mut scan = Scan::new(space, problem, &Points::with_capacity(4));
            let mut visited = vec![number_of(&problem.layout, &scan.assignment)];
            while scan.advance(4) {
                visited.push(number_of(&problem.layout, &scan.assignment));
            }
            assert_eq!(visited, (0..16).collect::<Vec<_>>());
        });
    }

    /// P126, P127: the plans that are costed before the scan are those of the heuristics, maximal fusion first and
    /// without any bound; then come all plans in the order of the scan.
    #[test]
    fn plans_are_costed_in_the_order_of_the_scan() {
        let mut scanned = 0;
        for seed in campaign(100) {
            spaces_of(&random_dag(&mut Random(seed), 9), &CostModel::default(), |space| {
                let (_, requests) = requests(space, false);
                let (opening, scan) = requests.split_at(2);
                assert!(opening[0].assignment.is_clear() && opening[0].limit == f64::INFINITY, "{seed}");
                assert_eq!(opening[1].assignment, space.without_redundancy(), "{seed}");
                let layout = SubProblem::whole(space, false).layout;
                let order: Vec<usize> = scan.iter().map(|plan| number_of(&layout, &plan.assignment)).collect();
                assert_eq!(order, (0..1 << space.points()).collect::<Vec<_>>(), "{seed}");
                scanned += 1;
            });
        }
        assert!(scanned > 50, "{scanned}");
    }

    /// P128: the bound that a plan is held against is the cost of the cheapest plan before it, so that it never rises.
    #[test]
    fn the_upper_bound_is_the_cost_of_the_cheapest_plan_so_far() {
        let mut lowered = 0;
        for seed in campaign(300) {
            spaces_of(&random_dag(&mut Random(seed), 12), &CostModel::default(), |space| {
                let (result, requests) = requests(space, true);
                let mut cheapest = f64::INFINITY;
                for (number, request) in requests.iter().enumerate() {
                    assert_eq!(request.limit, cheapest, "{seed}: plan {number}");
                    if let Some(seconds) = request.seconds.filter(|&seconds| seconds < cheapest) {
                        lowered += u64::from(number > 1);
                        cheapest = seconds;
                    }
                }
                assert_eq!(result.seconds, cheapest, "{seed}");
            });
        }
        assert!(lowered > 20, "the scan found a cheaper plan {lowered} times");
    }

    /// P131, P133: of four points, each of which costs more to materialise than fusing all, the scan costs the first plan
    /// alone: where the second one is true and those after it are false, four plans are skipped, as in the paper's figure,
    /// and eight where the first one is.
    #[test]
    fn a_bound_that_is_exceeded_skips_the_subtree() {
        // One sum computes, the other one reads, which the bound of both together cannot tell; writes take longer than all.
        let slow_writes = Machine::plain(Bandwidth { read: 32e9, write: 0.5e9 }, 10e9);
        let mut spaces = 0;
        spaces_of(&overlapping_sums(), &CostModel::new(slow_writes), |space| {
            assert_eq!(space.points(), 4);
            let whole = SubProblem::whole(space, false);
            let bound = Bound::new(space);
            let (result, requests) = requests(space, true);
            let none = &requests[0];
            let upper = none.seconds.expect("there is no limit");
            // The whole space may hold something cheaper; no plan with a true point is.
            let least = |assignment: &Points| bound.seconds_of_scan(&whole.region, assignment, &Determined::default());
            assert!(least(&none.assignment) < 0.95 * upper);
            for (position, point) in whole.layout.iter().enumerate() {
                let mut assignment = none.assignment.clone();
                assignment.insert(point.index());
                assert!(least(&assignment) > upper, "{position}");
            }
            assert_eq!(requests.len(), 3, "both heuristics, and the first plan of the scan");
            assert_eq!((result.stats.evaluated, result.stats.skipped_by_cost), (1, 1 + 2 + 4 + 8));
            assert_eq!((&result.points, result.seconds), (&none.assignment, upper));
            spaces += 1;
        });
        assert_eq!(spaces, 1);
    }

    /// P131, P133: with the second of four points true and the rest false, skipping passes four plans at once.
    #[test]
    fn a_skip_passes_the_subtree_below_the_last_true_point() {
        four_points(|space, problem| {
            let mut scan = Scan::new(space, problem, &Points::with_capacity(4));
            while scan.digits != [false, true, false, false] {
                assert!(scan.advance(4));
            }
            assert_eq!(number_of_plans(4 - scan.decided), 4);
            assert!(scan.advance(scan.decided));
            assert_eq!(scan.digits, [true, false, false, false]);
            assert_eq!(scan.assignment.ones().collect::<Vec<_>>(), [problem.layout[0].index()]);
        });
    }
}
