//! Cut sets and the layout of the search space (section 4.4, structural pruning).
//!
//! Where all points of a cut set are true, the partition falls apart into regions that can be optimised one by one.
//! Candidates are single points, composite points (all consumers of one producer) and pairs of these without a common
//! point. Cut sets that promise the fewest plans come first in the layout, so that their points are the most significant
//! digits; the other points follow, those of large intermediates first, because these reach the upper bound soonest, and of
//! equal ones those of later readers, because operators are known from where they start.

use super::entry::Point;
use super::inseparable::Together;
use super::reachability::{MOST_POINTS, Points, Region};
use super::space::SearchSpace;
use crate::facts::bytes_of;
use cranelift_entity::EntityRef;
use smallvec::smallvec;
use std::cell::OnceCell;

/// Partitions with more points than this have no pairs as candidates: there would be thousands.
const MOST_POINTS_FOR_PAIRS: usize = 64;

/// A region to be searched, with its free points.
pub(crate) struct SubProblem {
    pub(crate) region: Region,
    /// The free points, most significant digit first.
    pub(crate) layout: Vec<Point>,
    /// Whether points that no plan tells apart are one digit, for which the first of them stands.
    pub(crate) is_structural: bool,
    /// In the order of the layout.
    pub(crate) cut_sets: Vec<CutSet>,
    /// The points of the cuts that led here.
    cut: Points,
}

/// Points that separate a problem into sub-problems when all are true.
pub(crate) struct CutSet {
    pub(crate) points: Vec<Point>,
    /// The number of leading digits of the layout after which all its points are decided.
    pub(crate) end: usize,
    sub_problems: OnceCell<Vec<SubProblem>>,
}

/// A candidate cut set with the sizes of what it separates.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CutSetCandidate {
    pub(crate) points: Vec<Point>,
    pub(crate) score: f64,
}

impl SubProblem {
    /// A whole partition, with cut sets or without.
    pub(crate) fn whole(space: &SearchSpace<'_>, is_structural: bool) -> Self {
        let cut = space.fuse_all();
        let region = space.graph.whole();
        let is_structural = is_structural && space.points() <= MOST_POINTS;
        let candidates = if is_structural { candidates(space, &region) } else { Vec::new() };
        let mut layout: Vec<Point> = Vec::new();
        let mut rest = free_points(space, &region, is_structural);
        for point in candidates.iter().flat_map(|candidate| candidate.points.iter().copied()) {
            if rest.contains(point.index()) {
                rest.remove(point.index());
                layout.push(point);
            }
        }
        let mut rest: Vec<Point> = rest.ones().map(Point::new).collect();
        rest.sort_by(|&one, &other| bytes(space, other).total_cmp(&bytes(space, one)).then(other.cmp(&one)));
        layout.append(&mut rest);
        let cut_sets = candidates.into_iter().map(|candidate| CutSet::new(candidate.points, &layout)).collect();
        SubProblem { region, layout, is_structural, cut_sets, cut }
    }

    /// The cut set whose points are all true, the last of them the last digit of these.
    pub(crate) fn cut_set_at(&self, digits: usize, assignment: &Points) -> Option<usize> {
        self.cut_sets.iter().position(|cut_set| cut_set.end == digits && cut_set.is_true(assignment))
    }

    /// The sub-problems of a cut set: the regions that it leaves, each with those of the points after it, and the cut
    /// sets after it, that lie within.
    pub(crate) fn sub_problems(&self, space: &SearchSpace<'_>, number: usize) -> &[SubProblem] {
        self.cut_sets[number].sub_problems.get_or_init(|| {
            let cut = with(space, &self.cut, &self.cut_sets[number].points);
            let regions = space.graph.regions(&self.region.groups, &cut).into_iter();
            regions.map(|region| self.sub_problem(space, number, region, cut.clone())).collect()
        })
    }

    /// The sub-problem of a cut set in one of its regions.
    fn sub_problem(&self, space: &SearchSpace<'_>, number: usize, region: Region, cut: Points) -> SubProblem {
        let free = self.layout[self.cut_sets[number].end..].iter().copied();
        let layout: Vec<Point> = free.filter(|point| region.points.contains(point.index())).collect();
        let mut cut_sets = Vec::new();
        for CutSet { points, .. } in &self.cut_sets[number + 1..] {
            if points.iter().all(|point| layout.contains(point))
                && separated(space, &region, &with(space, &cut, points), &layout).len() > 1
            {
                cut_sets.push(CutSet::new(points.clone(), &layout));
            }
        }
        SubProblem { region, layout, is_structural: true, cut_sets, cut }
    }

    /// The points of a digit.
    pub(crate) fn digit(&self, space: &SearchSpace<'_>, position: usize) -> Together {
        self.together(space, self.layout[position])
    }

    /// The points that are true with one of the layout.
    fn together(&self, space: &SearchSpace<'_>, first: Point) -> Together {
        if self.is_structural { Together::from_slice(space.inseparable().with(first)) } else { smallvec![first] }
    }

    /// Points to change at a time where plans are improved step by step: those of each digit, and of each producer.
    pub(super) fn flips(&self, space: &SearchSpace<'_>) -> Vec<Together> {
        let points = |firsts: &Vec<Point>| firsts.iter().flat_map(|&first| self.together(space, first)).collect();
        simple_candidates(space, &self.layout).iter().map(points).collect()
    }
}

impl CutSet {
    fn new(points: Vec<Point>, layout: &[Point]) -> Self {
        let last = layout.iter().rposition(|point| points.contains(point));
        CutSet { points, end: last.map_or(0, |last| last + 1), sub_problems: OnceCell::new() }
    }

    fn is_true(&self, assignment: &Points) -> bool {
        self.points.iter().all(|point| assignment.contains(point.index()))
    }
}

/// Bytes of what a point may materialise.
fn bytes(space: &SearchSpace<'_>, point: Point) -> f64 {
    bytes_of(space.search.context, space.search.producer(point))
}

/// A cut with more points, and those that are true with them.
fn with(space: &SearchSpace<'_>, cut: &Points, points: &[Point]) -> Points {
    let mut cut = cut.clone();
    cut.extend(points.iter().flat_map(|&point| space.inseparable().with(point)).map(|point| point.index()));
    cut
}

/// The points of a region; where inseparable ones are one digit, the first of these.
fn free_points(space: &SearchSpace<'_>, region: &Region, is_structural: bool) -> Points {
    let mut points = region.points.clone();
    if is_structural {
        let others: Vec<usize> =
            points.ones().filter(|&point| !space.inseparable().is_first(Point::new(point))).collect();
        others.into_iter().for_each(|point| points.remove(point));
    }
    points
}

/// The number of free points of each region that has any, when the points of a cut are true.
fn separated(space: &SearchSpace<'_>, region: &Region, cut: &Points, free: &[Point]) -> Vec<usize> {
    let regions = space.graph.regions(&region.groups, cut);
    let sizes = regions.iter().map(|region| free.iter().filter(|point| region.points.contains(point.index())).count());
    sizes.filter(|&size| size > 0).collect()
}

/// The most candidates that so many points have.
pub(super) fn most_candidates(points: usize) -> usize {
    let simple = 2 * points;
    if points <= MOST_POINTS_FOR_PAIRS { simple + simple * simple / 2 } else { simple }
}

/// The cut sets of a region worth their points, in ascending order of their scores. A set that contains an earlier one
/// adds nothing.
pub(crate) fn candidates(space: &SearchSpace<'_>, region: &Region) -> Vec<CutSetCandidate> {
    let points: Vec<Point> = free_points(space, region, true).ones().map(Point::new).collect();
    let mut scored: Vec<CutSetCandidate> = Vec::new();
    for set in candidate_sets(space, &points) {
        let sizes = separated(space, region, &with(space, &space.fuse_all(), &set), &points);
        let score = score(set.len(), points.len(), &sizes);
        if sizes.len() > 1 && score < plans(points.len()) {
            scored.push(CutSetCandidate { points: set, score });
        }
    }
    scored.sort_by(|one, other| one.score.total_cmp(&other.score).then_with(|| one.points.cmp(&other.points)));
    let mut chosen: Vec<CutSetCandidate> = Vec::new();
    for candidate in scored {
        if !chosen.iter().any(|earlier| earlier.points.iter().all(|point| candidate.points.contains(point))) {
            chosen.push(candidate);
        }
    }
    chosen
}

/// The sets of points to look at, in a fixed order: simple ones, and where there are not too many points disjoint pairs of
/// these.
fn candidate_sets(space: &SearchSpace<'_>, points: &[Point]) -> Vec<Vec<Point>> {
    let simple = simple_candidates(space, points);
    let mut sets = simple.clone();
    if points.len() <= MOST_POINTS_FOR_PAIRS {
        for (number, one) in simple.iter().enumerate() {
            let disjoint = simple[number + 1..].iter().filter(|other| one.iter().all(|point| !other.contains(point)));
            sets.extend(disjoint.map(|other| [one.as_slice(), other].concat()));
        }
    }
    sets.iter_mut().for_each(|set| set.sort_unstable());
    sets.sort();
    sets.dedup();
    sets
}

/// Single points, and all points of one producer.
fn simple_candidates(space: &SearchSpace<'_>, points: &[Point]) -> Vec<Vec<Point>> {
    let mut sets: Vec<Vec<Point>> = points.iter().map(|&point| vec![point]).collect();
    let mut by_producer = points.to_vec();
    by_producer.sort_by_key(|&point| (space.search.producer(point), point));
    let of_producers = by_producer.chunk_by(|&one, &other| space.search.producer(one) == space.search.producer(other));
    sets.extend(of_producers.filter(|points| points.len() > 1).map(<[Point]>::to_vec));
    sets
}

/// The paper's score: of a cut set of `size` points among `points`, the plans to cost if it separates sub-problems of
/// these sizes.
pub(crate) fn score(size: usize, points: usize, sub_problems: &[usize]) -> f64 {
    let share = 1.0 / plans(size);
    (1.0 - share) * plans(points) + share * sub_problems.iter().map(|&points| plans(points)).sum::<f64>()
}

/// The number of assignments of so many points.
fn plans(points: usize) -> f64 {
    2_f64.powi(points as i32)
}
