//! Cut sets and the layout of the search space (section 4.4, structural pruning).
//!
//! Where all points of a cut set are true, the partition falls apart into regions that can be optimised one by one.
//! Candidates are single points, composite points (all consumers of one producer) and pairs of these without a common
//! point. Cut sets that promise the fewest plans come first in the layout, so that their points are the most significant
//! digits; the other points follow, those of large intermediates first, because these reach the upper bound soonest.

use super::reachability::{MOST_POINTS, Points, Region};
use super::space::SearchSpace;
use crate::facts::bytes_of;
use std::cell::OnceCell;

/// Partitions with more points than this have no pairs as candidates: there would be thousands.
const MOST_POINTS_FOR_PAIRS: usize = 64;

/// A region to be searched, with its free points.
pub(crate) struct SubProblem {
    pub(crate) region: Region,
    /// The free points, most significant digit first.
    pub(crate) layout: Vec<usize>,
    /// In the order of the layout.
    pub(crate) cut_sets: Vec<CutSet>,
    /// The points of the cuts that led here.
    cut: Points,
}

/// Points that separate a problem into sub-problems when all are true.
pub(crate) struct CutSet {
    pub(crate) points: Vec<usize>,
    /// The number of leading digits of the layout after which all its points are decided.
    pub(crate) end: usize,
    sub_problems: OnceCell<Vec<SubProblem>>,
}

/// A candidate cut set with the sizes of what it separates.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CutSetCandidate {
    pub(crate) points: Vec<usize>,
    pub(crate) score: f64,
}

impl SubProblem {
    /// A whole partition, with cut sets or without.
    pub(crate) fn whole(space: &SearchSpace<'_>, is_structural: bool) -> Self {
        let cut = space.fuse_all();
        let region = space.graph.whole();
        let is_structural = is_structural && space.points() <= MOST_POINTS;
        let candidates = if is_structural { candidates(space, &region) } else { Vec::new() };
        let mut layout: Vec<usize> = Vec::new();
        let mut rest = region.points.clone();
        for point in candidates.iter().flat_map(|candidate| candidate.points.iter().copied()) {
            if rest.contains(point) {
                rest.remove(point);
                layout.push(point);
            }
        }
        let bytes = |point: &usize| bytes_of(space.context, space.partition.points[*point].producer);
        let mut rest: Vec<usize> = rest.ones().collect();
        rest.sort_by(|one, other| bytes(other).total_cmp(&bytes(one)).then(one.cmp(other)));
        layout.append(&mut rest);
        let cut_sets = candidates.into_iter().map(|candidate| CutSet::new(candidate.points, &layout)).collect();
        SubProblem { region, layout, cut_sets, cut }
    }

    /// The cut set whose points are all true, the last of them the last digit of these.
    pub(crate) fn cut_set_at(&self, digits: usize, assignment: &Points) -> Option<usize> {
        let is_true = |cut_set: &CutSet| cut_set.points.iter().all(|&point| assignment.contains(point));
        self.cut_sets.iter().position(|cut_set| cut_set.end == digits && is_true(cut_set))
    }

    /// The sub-problems of a cut set: the regions that it leaves, each with those of the points after it, and the cut
    /// sets after it, that lie within.
    pub(crate) fn sub_problems(&self, space: &SearchSpace<'_>, number: usize) -> &[SubProblem] {
        self.cut_sets[number].sub_problems.get_or_init(|| {
            let cut_set = &self.cut_sets[number];
            let cut = with(&self.cut, &cut_set.points);
            let regions = space.graph.regions(&self.region.groups, &cut);
            let free = &self.layout[cut_set.end..];
            regions.into_iter().map(|region| self.sub_problem(space, region, cut.clone(), free, number)).collect()
        })
    }

    fn sub_problem(
        &self,
        space: &SearchSpace<'_>,
        region: Region,
        cut: Points,
        free: &[usize],
        number: usize,
    ) -> SubProblem {
        let layout: Vec<usize> = free.iter().copied().filter(|&point| region.points.contains(point)).collect();
        let separates = |cut_set: &&CutSet| {
            cut_set.points.iter().all(|point| layout.contains(point))
                && separated(space, &region, &cut, &cut_set.points, &layout).len() > 1
        };
        let inherited = self.cut_sets[number + 1..].iter().filter(separates);
        let cut_sets = inherited.map(|cut_set| CutSet::new(cut_set.points.clone(), &layout)).collect();
        SubProblem { region, layout, cut_sets, cut }
    }
}

impl CutSet {
    fn new(points: Vec<usize>, layout: &[usize]) -> Self {
        let last = layout.iter().rposition(|point| points.contains(point));
        CutSet { points, end: last.map_or(0, |last| last + 1), sub_problems: OnceCell::new() }
    }
}

fn with(cut: &Points, points: &[usize]) -> Points {
    let mut cut = cut.clone();
    cut.extend(points.iter().copied());
    cut
}

/// The free points of each region that has any, when the points of a cut set are true, too.
fn separated(space: &SearchSpace<'_>, region: &Region, cut: &Points, points: &[usize], free: &[usize]) -> Vec<usize> {
    let regions = space.graph.regions(&region.groups, &with(cut, points));
    let sizes = regions.iter().map(|region| free.iter().filter(|&&point| region.points.contains(point)).count());
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
    let points: Vec<usize> = region.points.ones().collect();
    let none = space.fuse_all();
    let simple = simple_candidates(space, &points);
    let mut sets = simple.clone();
    if points.len() <= MOST_POINTS_FOR_PAIRS {
        let pairs = simple.iter().enumerate().flat_map(|(number, one)| {
            let disjoint = move |other: &&Vec<usize>| one.iter().all(|point| !other.contains(point));
            simple[number + 1..].iter().filter(disjoint).map(move |other| [one.as_slice(), other].concat())
        });
        sets.extend(pairs);
    }
    sets.iter_mut().for_each(|set| set.sort_unstable());
    sets.sort();
    sets.dedup();
    let plans = 2_f64.powi(points.len() as i32);
    let scored = sets.into_iter().filter_map(|set| {
        let sizes = separated(space, region, &none, &set, &points);
        let score = score(set.len(), points.len(), &sizes);
        (sizes.len() > 1 && score < plans).then_some(CutSetCandidate { points: set, score })
    });
    let mut scored: Vec<CutSetCandidate> = scored.collect();
    scored.sort_by(|one, other| one.score.total_cmp(&other.score).then_with(|| one.points.cmp(&other.points)));
    let mut chosen: Vec<CutSetCandidate> = Vec::new();
    for candidate in scored {
        let contains = |earlier: &CutSetCandidate| earlier.points.iter().all(|point| candidate.points.contains(point));
        if !chosen.iter().any(contains) {
            chosen.push(candidate);
        }
    }
    chosen
}

/// Single points, and all points of one producer.
fn simple_candidates(space: &SearchSpace<'_>, points: &[usize]) -> Vec<Vec<usize>> {
    let mut sets: Vec<Vec<usize>> = points.iter().map(|&point| vec![point]).collect();
    let mut by_producer = points.to_vec();
    by_producer.sort_by_key(|&point| (space.partition.points[point].producer, point));
    let same =
        |one: &usize, other: &usize| space.partition.points[*one].producer == space.partition.points[*other].producer;
    sets.extend(by_producer.chunk_by(same).filter(|chunk| chunk.len() > 1).map(<[usize]>::to_vec));
    sets
}

/// The paper's score: of a cut set of `size` points among `points`, the plans to cost if it separates sub-problems of
/// these sizes.
pub(crate) fn score(size: usize, points: usize, sub_problems: &[usize]) -> f64 {
    let plans = |points: usize| 2_f64.powi(points as i32);
    let share = 1.0 / plans(size);
    (1.0 - share) * plans(points) + share * sub_problems.iter().map(|&points| plans(points)).sum::<f64>()
}
