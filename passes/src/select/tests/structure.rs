//! Reachability, cut sets and the regions that they separate.

use super::dags::{chain_of_diamonds, chain_of_diamonds_by_row, polynomial, random_polynomials};
use super::enumeration::{ROUNDING, for_each_space, ways};
use super::*;
use crate::select::costing::Costing;
use crate::select::cut_sets::{SubProblem, candidates, score};
use crate::select::entry::Point;
use crate::select::enumerate;
use crate::select::reachability::Points;
use crate::select::space::SearchSpace;
use cranelift_entity::EntityRef;
use fuseline_ir::memo::MemoEntry;
use fuseline_ir::ops::{AggOp, Direction};

fn points(space: &SearchSpace<'_>, numbers: &[usize]) -> Points {
    let mut points = space.fuse_all();
    points.extend(numbers.iter().copied());
    points
}

fn numbers(points: &[Point]) -> Vec<usize> {
    points.iter().map(|point| point.index()).collect()
}

/// The points of each region that a cut separates, of those that have any.
fn separated(space: &SearchSpace<'_>, cut: &[usize]) -> Vec<Vec<usize>> {
    let regions = space.graph.regions(&space.graph.whole().groups, &points(space, cut));
    regions
        .iter()
        .map(|region| region.points.ones().collect())
        .filter(|points: &Vec<usize>| !points.is_empty())
        .collect()
}

fn cut_sets(space: &SearchSpace<'_>) -> Vec<(Vec<usize>, f64)> {
    candidates(space, &space.graph.whole())
        .into_iter()
        .map(|candidate| (numbers(&candidate.points), candidate.score))
        .collect()
}

/// `(Y + abs(S) * (U %*% W)) %*% v` and `colSums(abs(S))`: four points, of which the second last, the switch from Outer
/// to Cell, stands between the others as in the paper's figure.
fn figure() -> HopDag {
    let mut d = Dag::default();
    let (s, y, v) = (d.sparse("S", 20_000, 10_000, 2_000_000), d.read("Y", 20_000, 10_000), d.read("v", 10_000, 1));
    let (u, w) = (d.read("U", 20_000, 20), d.read("W", 20, 10_000));
    let abs = d.op(UnaryOp::Abs, &[s]);
    let product = d.matmul(u, w);
    let weighted = d.mult(abs, product);
    let sum = d.plus(y, weighted);
    let result = d.matmul(sum, v);
    let columns = d.op((AggOp::Sum, Direction::Col), &[abs]);
    d.write("result", result);
    d.write("columns", columns);
    d.dag
}

/// P134, P136, P140: where the point in the middle is true, one point above and two below become independent. A point at
/// the top or at the bottom separates nothing from anything.
#[test]
fn a_cut_set_separates_the_points_above_from_those_below() {
    for_each_space(&figure(), |space| {
        // The consumers of abs(S), by the product and by the sum over rows; the switch; and the sum's consumer.
        let labels: Vec<_> =
            space.search.partition.points.iter().map(|point| (point.consumer, point.producer)).collect();
        let [weighted, columns, switch, top] = [0, 3, 1, 2];
        assert_eq!(labels[weighted].1, labels[columns].1);
        assert_eq!(labels[switch], (labels[top].1, labels[weighted].0));
        assert_eq!(separated(space, &[]), [[weighted, switch, top, columns]]);
        assert_eq!(separated(space, &[switch]), [vec![weighted, columns], vec![top]]);
        assert_eq!(separated(space, &[top]), [[weighted, switch, columns]]);
        assert_eq!(separated(space, &[columns]), [[weighted, switch, top]]);
        assert_eq!(separated(space, &[weighted]), [vec![columns], vec![switch, top]]);
        // P135, P137: both promise 8 plans with the point false, and half of 2 + 4 with it true.
        assert_eq!(cut_sets(space)[..2], [(vec![weighted], 11.0), (vec![switch], 11.0)]);
    });
}

/// `(Y + sign(S) * (U %*% W) + sign(S) * (V %*% W)) %*% v`: two switches from Outer to Cell side by side.
fn two_switches() -> (HopDag, [HopId; 2]) {
    let mut d = Dag::default();
    let (s, y, v) = (d.sparse("S", 20_000, 10_000, 2_000_000), d.read("Y", 20_000, 10_000), d.read("v", 10_000, 1));
    let root = d.op(UnaryOp::Sign, &[s]);
    let right = d.read("W", 20, 10_000);
    let [one, other] = ["U", "V"].map(|name| {
        let left = d.read(name, 20_000, 20);
        let product = d.matmul(left, right);
        d.mult(root, product)
    });
    let first = d.plus(y, one);
    let sum = d.plus(first, other);
    let result = d.matmul(sum, v);
    d.write("result", result);
    (d.dag, [one, other])
}

/// P135: two switches that have no producer in common are a cut set together; neither separates anything alone, since the
/// other way around stays.
#[test]
fn pairs_of_points_without_a_common_one_are_cut_sets() {
    let (dag, weighted) = two_switches();
    let mut spaces = 0;
    for_each_space(&dag, |space| {
        let points = &space.search.partition.points;
        let pair: Vec<usize> = points
            .iter()
            .enumerate()
            .filter(|(_, point)| weighted.contains(&point.producer))
            .map(|(number, _)| number)
            .collect();
        let [one, other] = pair[..] else { panic!("{points:?}") };
        assert_ne!(points[one].producer, points[other].producer);
        assert_eq!(separated(space, &[one]).len(), 1);
        assert_eq!(separated(space, &[other]).len(), 1);
        assert_eq!(separated(space, &pair).len(), 2);
        assert!(cut_sets(space).iter().any(|(points, _)| *points == pair));
        spaces += 1;
    });
    assert_eq!(spaces, 1);
}

/// P137: `(2^c - 1) / 2^c * 2^n + 1 / 2^c * (2^s1 + 2^s2)`.
#[test]
fn scores_are_the_plans_to_cost() {
    assert_eq!(score(1, 4, &[1, 2]), 8.0 + 3.0);
    assert_eq!(score(2, 6, &[2, 2]), 48.0 + 2.0);
    assert_eq!(score(2, 10, &[3, 5]), 768.0 + 10.0);
}

/// P135, P138, P139: all consumers of a waist together are a cut set, each alone is none; its points lead the layout,
/// and its sub-problems have the others.
#[test]
fn composite_points_cut_chains_of_diamonds() {
    let (dag, waists) = chain_of_diamonds_by_row(3);
    let mut spaces = 0;
    for_each_space(&dag, |space| {
        let of_waist = |waist: HopId| -> Vec<usize> {
            let points = space.search.partition.points.iter().enumerate();
            points.filter(|(_, point)| point.producer == waist).map(|(number, _)| number).collect()
        };
        // What the product reads is a switch.
        let [first, middle, last, top] = [waists[0], waists[1], waists[2], waists[3]].map(of_waist);
        assert_eq!([&first, &middle, &last, &top].map(Vec::len), [2, 2, 2, 1]);
        assert_eq!(cut_sets(space), [(middle.clone(), score(2, 7, &[2, 3])), (last.clone(), score(2, 7, &[4, 1]))]);
        let whole = SubProblem::whole(space, true);
        // Of points that separate nothing those of later readers come first.
        let (latest, first) = (top, [first[1], first[0]]);
        let layout = [&middle[..], &last, &latest, &first].concat();
        assert_eq!(numbers(&whole.layout), layout);
        assert_eq!(whole.cut_set_at(1, &points(space, &middle[..1])), None);
        assert_eq!(whole.cut_set_at(2, &points(space, &middle)), Some(0));
        let layouts: Vec<Vec<usize>> =
            whole.sub_problems(space, 0).iter().map(|problem| numbers(&problem.layout)).collect();
        assert_eq!(layouts, [first.to_vec(), [last, latest].concat()]);
        assert_eq!(SubProblem::whole(space, false).cut_sets.len(), 0);
        spaces += 1;
    });
    assert_eq!(spaces, 1);
}

/// What a polynomial reads once per coefficient is written for all of its operations or for none: one digit of the search
/// space. A reader outside of the polynomial has one of its own.
#[test]
fn readers_that_are_always_together_are_one_decision() {
    let mut d = Dag::default();
    let x = d.read("X", 2000, 1000);
    let argument = d.op(UnaryOp::Exp, &[x]);
    let value = polynomial(&mut d, argument, 6);
    let sum = d.sum(value);
    let other = d.op(UnaryOp::Abs, &[argument]);
    d.write("sum", sum);
    d.write("other", other);
    let mut spaces = 0;
    for_each_space(&d.dag, |space| {
        assert_eq!(space.points(), 8);
        let whole = SubProblem::whole(space, true);
        assert_eq!(whole.layout.len(), 2);
        let mut digits: Vec<Vec<usize>> = (0..2).map(|digit| numbers(&whole.digit(space, digit))).collect();
        digits.sort();
        assert_eq!(digits.iter().map(Vec::len).collect::<Vec<_>>(), [7, 1]);
        assert_eq!(SubProblem::whole(space, false).layout.len(), 8);
        let search = |enumeration| {
            enumerate::search(space, SelectPolicy::CostBased, &ways(enumeration), &Effort::of_steps(u64::MAX))
        };
        let (all, every) = (search(Enumeration::All), search(Enumeration::Partition));
        assert!((all.seconds - every.seconds).abs() <= ROUNDING * every.seconds);
        assert_eq!(all.stats.evaluated + all.stats.partially_costed + all.stats.skipped(), 256);
        spaces += 1;
    });
    assert_eq!(spaces, 1);
}

/// P142: plans in which some points of a digit are true and some are not cost what those cost in which all are false.
#[test]
fn points_that_are_decided_together_cost_what_they_cost_apart() {
    let mut compared = 0;
    for seed in campaign(400) {
        let dag = random_polynomials(&mut Random(seed));
        for_each_space(&dag, |space| {
            let whole = SubProblem::whole(space, true);
            let region = space.graph.whole();
            let mut costing = Costing::new(space);
            let mut cost =
                |assignment: &Points| costing.cost(assignment, &region, f64::INFINITY).expect("there is no limit");
            let mut random = Random(seed);
            for _ in 0..8 {
                let mut together = space.fuse_all();
                let mut apart = space.fuse_all();
                for digit in 0..whole.layout.len() {
                    let points = numbers(&whole.digit(space, digit));
                    if points.len() == 1 && random.below(2) == 0 {
                        together.insert(points[0]);
                        apart.insert(points[0]);
                    } else if points.len() > 1 {
                        let fused = random.below(points.len());
                        let some =
                            points.iter().enumerate().filter(|&(place, _)| place != fused && random.below(2) == 0);
                        apart.extend(some.map(|(_, &point)| point).collect::<Vec<_>>());
                    }
                }
                let (one, other) = (cost(&together), cost(&apart));
                assert!((one - other).abs() <= ROUNDING * one, "{seed}: {one} {other} of {apart}\n{dag}");
                compared += u64::from(apart != together);
            }
        });
    }
    assert!(compared > 100, "{compared}");
}

/// X6: the sub-problems of a long chain have the cut sets that are left.
#[test]
fn sub_problems_inherit_cut_sets() {
    let (dag, _) = chain_of_diamonds(7);
    for_each_space(&dag, |space| {
        let whole = SubProblem::whole(space, true);
        assert_eq!(whole.cut_sets.len(), 5);
        let inherited: usize = whole.sub_problems(space, 0).iter().map(|problem| problem.cut_sets.len()).sum();
        assert_eq!(inherited, 2);
    });
}

/// X7: `S1` and `S2` have no point in common, and yet they are not independent, since both read one expensive producer,
/// which is best materialised for both or for none.
#[test]
fn a_shared_producer_connects_both_sides_of_a_cut() {
    let mut d = Dag::default();
    let (x, y) = (d.read("X", 2000, 1000), d.read("Y", 2000, 1000));
    let shared = [UnaryOp::Exp; 18].into_iter().fold(x, |value, op| d.op(op, &[value]));
    let waist = d.mult(shared, y);
    let (left, right) = (d.op(UnaryOp::Abs, &[waist]), d.op(UnaryOp::Pow2, &[waist]));
    let joined = d.plus(left, right);
    let top = d.mult(joined, shared);
    let sum = d.sum(top);
    d.write("s", sum);
    d.write("waist", waist);
    for_each_space(&d.dag, |space| {
        let point = |consumer, producer| {
            let sought = crate::partition::InterestingPoint { consumer, producer };
            space.search.partition.points.binary_search(&sought).expect("this is a point")
        };
        let cut = [point(left, waist), point(right, waist)];
        let (below, above) = (point(waist, shared), point(top, shared));
        // The cut separates the point below it from the one above it, as far as reachability goes.
        assert_eq!(space.points(), 4);
        assert_eq!(separated(space, &cut), [[below, above]]);
        let region = space.graph.whole();
        let mut costing = Costing::new(space);
        let mut cost = |more: &[usize]| {
            let assignment = points(space, &[&cut, more].concat());
            costing.cost(&assignment, &region, f64::INFINITY).expect("there is no limit")
        };
        let (none, one, other, both) = (cost(&[]), cost(&[below]), cost(&[above]), cost(&[below, above]));
        // One by one, both sides would leave the producer fused.
        assert!(none < one && none < other && both < none, "{none} {one} {other} {both}");
        let search = |enumeration| {
            enumerate::search(space, SelectPolicy::CostBased, &ways(enumeration), &Effort::of_steps(u64::MAX))
        };
        let (found, all) = (search(Enumeration::All), search(Enumeration::Partition));
        assert!((found.seconds - all.seconds).abs() <= ROUNDING * all.seconds);
    });
}

/// Outer plans of a product that no sparse matrix drives are gone before partitions are formed; the others stay.
#[test]
fn outer_plans_without_a_driver_are_pruned() {
    let limits = TemplateLimits::default();
    let outer_groups = |dag: &HopDag| {
        let context = Context::new(dag, &limits);
        let memo = prepare(&context, &explore(&context, TEMPLATES), SelectPolicy::CostBased);
        let has_outer = |entries: &[MemoEntry]| entries.iter().any(|entry| entry.ttype == TemplateType::Outer);
        memo.groups().filter(|(_, entries)| has_outer(entries)).map(|(group, _)| group).collect::<Vec<_>>()
    };
    let mut d = Dag::default();
    let (u, w) = (d.read("U", 2000, 10), d.read("W", 10, 1000));
    let product = d.matmul(u, w);
    let exp = d.op(UnaryOp::Exp, &[product]);
    let root = d.op(UnaryOp::Sqrt, &[exp]);
    d.write("o", root);
    assert_eq!(outer_groups(&d.dag), []);
    let s = d.sparse("S", 2000, 1000, 500);
    let weighted = d.mult(s, exp);
    let sum = d.sum(weighted);
    d.write("s", sum);
    assert_eq!(outer_groups(&d.dag), [product, exp, weighted, sum]);
}
