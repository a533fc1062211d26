//! `MPSkipEnum` against exhaustive search.

use super::dags::{chain_of_diamonds, random_dag, random_polynomials, shared_exponential};
use super::*;
use crate::machine::{Bandwidth, Machine, StartCosts};
use crate::select::bound::Bound;
use crate::select::costing::{Costing, Determined};
use crate::select::enumerate::{self, SearchResult};
use crate::select::space::SearchSpace;
use crate::testing;

/// The most points for which all plans are costed.
const MOST_POINTS: usize = 14;

/// Relative difference that the order of sums explains.
pub(super) const ROUNDING: f64 = 1e-9;

pub(super) fn ways(enumeration: Enumeration) -> SearchLimits {
    SearchLimits {
        enumeration,
        budget: Budget::of(u64::MAX),
        visits: u64::MAX,
        exhaustive_points: MOST_POINTS,
        ..SearchLimits::default()
    }
}

/// Calls the function for the partitions of a DAG that have points, but few enough to cost all plans.
pub(super) fn for_each_space(dag: &HopDag, function: impl FnMut(&SearchSpace<'_>)) {
    spaces_of(dag, &CostModel::default(), function);
}

/// Calls the function for these partitions with the prices of a model.
pub(in crate::select) fn spaces_of(dag: &HopDag, model: &CostModel, mut function: impl FnMut(&SearchSpace<'_>)) {
    let limits = TemplateLimits::default();
    let context = Context::new(dag, &limits);
    let memo = prepare(&context, &explore(&context, TEMPLATES), SelectPolicy::CostBased);
    let scratch = Bump::new();
    for partition in partition(&context, &memo) {
        if (1..=MOST_POINTS).contains(&partition.points.len()) {
            function(&SearchSpace::new(PartitionSearch::new(&context, &memo, &partition, model, &scratch)));
        }
    }
}

/// The seeds of random DAGs to try: from `FUSELINE_SEED`, so many or 50 times as many under `FUSELINE_LONG`, or as many
/// as `FUSELINE_CASES` says.
pub(in crate::select) fn campaign(cases: u64) -> std::ops::Range<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seed = number("FUSELINE_SEED").unwrap_or(42);
    let cases = if number("FUSELINE_LONG") == Some(1) { 50 * cases } else { cases };
    seed..seed + number("FUSELINE_CASES").unwrap_or(cases)
}

fn search(space: &SearchSpace<'_>, policy: SelectPolicy, limits: &SearchLimits) -> SearchResult {
    enumerate::search(space, policy, limits, &Effort::of_steps(u64::MAX))
}

/// P132, P141, P142, P144: neither pruning loses the optimum, and every plan is accounted for; the heuristics are never better.
/// P129, P133, P140: both prunings are really at work.
#[test]
fn pruned_search_equals_exhaustive_search() {
    let cases = campaign(2_000);
    let (mut partitions, mut with_structure, mut costed) = (0_u64, 0_u64, [0_u64; 4]);
    for seed in cases.clone() {
        let mut random = Random(seed);
        let operations = 4 + random.below(13);
        let dag = if seed % 4 == 0 { random_polynomials(&mut random) } else { random_dag(&mut random, operations) };
        for_each_space(&dag, |space| {
            let plans = 1_u64 << space.points();
            let all = search(space, SelectPolicy::CostBased, &ways(Enumeration::Partition));
            assert_eq!(all.stats.evaluated, plans);
            costed[0] += plans;
            for (number, enumeration) in [(1, Enumeration::Cost), (2, Enumeration::Structure), (3, Enumeration::All)] {
                let pruned = search(space, SelectPolicy::CostBased, &ways(enumeration));
                let SearchStats { evaluated, partially_costed, .. } = pruned.stats;
                assert_eq!(evaluated + partially_costed + pruned.stats.skipped(), plans, "{seed}: {:?}", pruned.stats);
                let difference = (pruned.seconds - all.seconds).abs();
                assert!(difference <= ROUNDING * all.seconds, "{seed} {enumeration:?}: {pruned:?} {all:?}\n{dag}");
                assert_eq!(pruned.stats.exhausted, 0);
                assert!(pruned.bound <= all.seconds);
                costed[number] += pruned.stats.costed();
                with_structure += u64::from(pruned.stats.skipped_by_structure > 0);
            }
            for heuristic in [SelectPolicy::FuseAll, SelectPolicy::FuseNoRedundancy] {
                let opened = search(space, heuristic, &ways(Enumeration::All));
                assert!(all.seconds <= opened.seconds * (1.0 + ROUNDING));
                assert!(opened.bound <= all.seconds, "{seed}: {} > {}\n{dag}", opened.bound, all.seconds);
            }
            partitions += u64::from(space.points() > 2);
        });
    }
    println!(
        "{partitions} partitions of {cases:?}; plans costed without pruning, and with that by cost, by structure and by both: \
         {costed:?}; {with_structure} times structure was used"
    );
    let tried = cases.end - cases.start;
    assert!(partitions >= tried / 3, "only {partitions} partitions had something to decide");
    assert!(with_structure >= tried / 20, "structure was used {with_structure} times");
    assert!(costed[3] <= costed[1] && costed[1] < costed[2] && costed[2] < costed[0], "{costed:?}");
}

/// Beside a scalar that is not known all zeros of a sparse matrix become one value, so that plans compute little else than
/// its non-zeros: the bound does not ask for more.
#[test]
fn bounds_know_that_a_scalar_is_the_same_everywhere() {
    let mut d = testing::Dag::default();
    let x = d.sparse("X", 10_000, 10_000, 1_000_000);
    let exponent = d.dag.read_scalar("e");
    let power = d.op(BinaryOp::Pow, &[x, exponent]);
    let doubled = d.plus(power, power);
    let sum = d.sum(doubled);
    d.write("power", power);
    d.write("s", sum);
    let mut spaces = 0;
    for_each_space(&d.dag, |space| {
        let (region, none) = (space.graph.whole(), space.fuse_all());
        let bound = Bound::new(space).seconds(&region, &none);
        let cost = Costing::new(space).cost(&none, &region, f64::INFINITY).expect("there is no limit");
        assert!(bound <= cost, "{bound} {cost}");
        spaces += 1;
    });
    assert!(spaces > 0);
}

/// P129, P130, X8: the lower bound of an assignment undercuts every plan that materialises at least as much, and where
/// points are decided every plan with these decisions.
#[test]
fn bounds_are_admissible() {
    let mut priced = 0;
    for seed in campaign(300) {
        let dag = random_dag(&mut Random(seed), 9);
        for_each_space(&dag, |space| {
            let region = space.graph.whole();
            let none = space.fuse_all();
            let bound = Bound::new(space);
            let mut costing = Costing::new(space);
            let points = space.points().min(10);
            let assignment = |number: usize| {
                let mut assignment = none.clone();
                assignment.extend((0..points).filter(|point| number >> point & 1 == 1));
                assignment
            };
            let cost = |number| costing.cost(&assignment(number), &region, f64::INFINITY).expect("there is no limit");
            let costs: Vec<f64> = (0..1 << points).map(cost).collect();
            // By assignment: the least cost of those that contain it.
            let mut least = costs.clone();
            for point in 0..points {
                for number in (0..1_usize << points).filter(|number| number >> point & 1 == 0) {
                    least[number] = least[number].min(least[number | 1 << point]);
                }
            }
            for (number, least) in least.iter().enumerate() {
                let assignment = assignment(number);
                let bounds = [
                    bound.seconds(&region, &assignment),
                    bound.seconds_of_scan(&region, &assignment, &Determined::default()),
                ];
                assert!(
                    bounds[0] <= bounds[1] && bounds[1] <= *least,
                    "{seed}: {bounds:?} {least} of {number:b}\n{dag}"
                );
            }
            // With the first points decided, the rest are true or false.
            for decided in 0..=points {
                for number in 0..1_usize << decided {
                    let assignment = assignment(number);
                    let least = (number..1 << points).step_by(1 << decided).map(|number| costs[number]);
                    let least = least.fold(f64::INFINITY, f64::min);
                    let mut points = none.clone();
                    points.insert_range(..decided);
                    let determined = costing.determined(&assignment, &points, &region);
                    let bound = bound.seconds_of_scan(&region, &assignment, &determined);
                    assert!(bound <= least, "{seed}: {bound} > {least} of {number:b} in {decided}\n{dag}");
                    priced += u64::from(determined.seconds > 0.0);
                }
            }
        });
    }
    assert!(priced > 1_000, "operators were determined {priced} times");
}

/// P129, P132: whichever points are decided, true or false, the bound undercuts all plans with these decisions: over dense
/// and sparse matrices, polynomials, aggregates that share inputs, and on machines of all kinds.
#[test]
fn bounds_of_decisions_undercut_all_plans_that_are_left() {
    let (mut outlined, mut spaces) = (0, 0);
    for seed in campaign(600) {
        let mut random = Random(seed);
        let dag = match seed % 3 {
            0 => random_polynomials(&mut random),
            1 => random_sparse_dag(&mut random, 12),
            _ => random_dag(&mut random, 12),
        };
        let machine = if seed % 2 == 0 { Machine::default() } else { random_machine(&mut random) };
        spaces_of(&dag, &CostModel::new(machine), |space| {
            let region = space.graph.whole();
            let (bound, mut costing) = (Bound::new(space), Costing::new(space));
            let plans = 1_usize << space.points();
            let assignment = |number: usize| {
                let mut assignment = space.fuse_all();
                assignment.extend((0..space.points()).filter(|point| number >> point & 1 == 1));
                assignment
            };
            let cost = |number| costing.cost(&assignment(number), &region, f64::INFINITY).expect("there is no limit");
            let costs: Vec<f64> = (0..plans).map(cost).collect();
            for _ in 0..40 {
                let decided = random.below(plans) | random.below(plans);
                let decisions = decided & random.below(plans);
                let left = (0..plans).filter(|number| number & decided == decisions).map(|number| costs[number]);
                let least = left.fold(f64::INFINITY, f64::min);
                let decisions = assignment(decisions);
                let determined = costing.determined(&decisions, &assignment(decided), &region);
                let seconds = bound.seconds_of_scan(&region, &decisions, &determined);
                assert!(seconds <= least, "{seed}: {seconds} > {least} of {decisions} in {decided:b}\n{dag}");
                outlined += determined.outlines.iter().filter(|outline| outline.members.count_ones(..) > 1).count();
            }
            spaces += 1;
        });
    }
    assert!(spaces > 100 && outlined > 1_000, "{spaces} partitions, {outlined} outlines");
}

/// P129: the bound of no true point counts a value that two operators read as computed twice or written, whichever is less,
/// and with both points true as written, by an operator of its own.
#[test]
fn bounds_count_what_is_written_or_computed_again() {
    for (write, is_written) in [(16e9, true), (1e9, false)] {
        let model = CostModel::new(Machine::plain(Bandwidth { read: 32e9, write }, 10e9));
        let cells = 2e6;
        let (exp, written) = (cells * UnaryOp::Exp.flops() / 10e9, cells * 8.0 / write);
        assert_eq!(written < exp, is_written);
        let (once, results) = (exp + 2.0 * cells * 2.0 / 10e9, 2.0 * 8.0 / write);
        // Apart from each other the sums wait for what they read.
        let apart = exp + written + 2.0 * (2.0 * cells * 8.0 / 32e9);
        let mut spaces = 0;
        spaces_of(&shared_exponential(), &model, |space| {
            let bound = |points: &[usize]| {
                let mut assignment = space.fuse_all();
                assignment.extend(points.iter().copied());
                Bound::new(space).seconds_of_scan(&space.graph.whole(), &assignment, &Determined::default())
            };
            for (points, expected) in [(&[][..], once + written.min(exp)), (&[0, 1], apart)] {
                let expected = results + expected;
                assert!((bound(points) - expected).abs() <= ROUNDING * expected, "{points:?}: {}", bound(points));
            }
            spaces += 1;
        });
        assert_eq!(spaces, 1);
    }
}

/// P118, P120, P122: plans cost what their operators cost, whether these were remembered from other plans or not.
#[test]
fn remembered_operators_are_those_of_the_plan() {
    for seed in campaign(300) {
        let mut random = Random(seed);
        let dag = random_dag(&mut random, 10);
        for_each_space(&dag, |space| {
            let region = space.graph.whole();
            let mut costing = Costing::new(space);
            for _ in 0..20 {
                let mut assignment = space.fuse_all();
                assignment.extend((0..space.points()).filter(|_| random.below(3) == 0));
                let cost = costing.cost(&assignment, &region, f64::INFINITY).expect("there is no limit");
                let operators = space.operators(&assignment);
                let price = |operator: &Operator| space.search.model.operator_seconds(space.search.context, operator);
                let fresh: f64 = operators.iter().map(price).sum();
                assert!((cost - fresh).abs() <= ROUNDING * fresh, "{seed}: {cost} {fresh}");
            }
        });
    }
}

/// P122: a shared exponential of `X`, 2000 x 1000, by hand: two sums that fuse it compute it twice and read `X` twice; where
/// it is materialised, it is computed and written once, and read by both. Within one operator it counts once, however
/// often it is used.
#[test]
fn a_diamond_counts_twice_where_operators_overlap() {
    let (rates, cells) = (Bandwidth { read: 32e9, write: 16e9 }, 2e6);
    let model = CostModel::new(Machine::plain(rates, 10e9));
    let matrix = cells * 8.0;
    let (read, write) = (matrix / rates.read, matrix / rates.write);
    let compute = |flops_per_cell: f64| cells * flops_per_cell / 10e9;
    let exp = UnaryOp::Exp.flops();
    let written = 8.0 / rates.write;
    // A multiplication and an addition to the sum for each cell; reads of X, or of what was written, and Y or Z.
    let fused = written + (2.0 * read).max(compute(exp + 2.0));
    let of_written = written + (2.0 * read).max(compute(2.0));
    let alone = write + read.max(compute(exp));
    let mut spaces = 0;
    spaces_of(&shared_exponential(), &model, |space| {
        let region = space.graph.whole();
        let mut costing = Costing::new(space);
        let mut cost = |points: &[usize]| {
            let mut assignment = space.fuse_all();
            assignment.extend(points.iter().copied());
            costing.cost(&assignment, &region, f64::INFINITY).expect("there is no limit")
        };
        assert_eq!(space.points(), 2);
        for (points, expected) in
            [(&[][..], 2.0 * fused), (&[0, 1], alone + 2.0 * of_written), (&[0], alone + of_written + fused)]
        {
            let cost = cost(points);
            assert!((cost - expected).abs() <= ROUNDING * expected, "{points:?}: {cost}, not {expected}");
        }
        spaces += 1;
    });
    assert_eq!(spaces, 1);
    // `sum(exp(X) * sqrt(exp(X)))`: both ways to the shared value are in one operator.
    let mut d = Dag::default();
    let x = d.read("X", 2000, 1000);
    let shared = d.op(UnaryOp::Exp, &[x]);
    let root = d.op(UnaryOp::Sqrt, &[shared]);
    let product = d.mult(shared, root);
    let sum = d.sum(product);
    d.write("s", sum);
    let expected = written + read.max(compute(exp + UnaryOp::Sqrt.flops() + 2.0));
    spaces_of(&d.dag, &model, |space| {
        let cost = Costing::new(space).cost(&space.fuse_all(), &space.graph.whole(), f64::INFINITY);
        assert!((cost.expect("there is no limit") - expected).abs() <= ROUNDING * expected);
        spaces += 1;
    });
    assert_eq!(spaces, 2);
}

/// P124: costing a plan stops where it exceeds the limit.
#[test]
fn costing_stops_at_the_limit() {
    let dag = testing::mlogreg().0;
    for_each_space(&dag, |space| {
        let region = space.graph.whole();
        let mut costing = Costing::new(space);
        let cost = costing.cost(&space.fuse_all(), &region, f64::INFINITY).expect("there is no limit");
        assert_eq!(costing.cost(&space.fuse_all(), &region, 1.01 * cost), Some(cost));
        assert_eq!(costing.cost(&space.fuse_all(), &region, 0.99 * cost), None);
    });
}

/// P110: 2^n plans of n points. P127: maximal fusion is costed first. P131: a run is skipped as a whole.
#[test]
fn evaluated_and_skipped_plans_add_up() {
    let (dag, _) = testing::mlogreg();
    let with = |enumeration| plan_with(&dag, SelectPolicy::CostBased, &ways(enumeration));
    for &enumeration in Enumeration::ALL.iter().filter(|enumeration| **enumeration != Enumeration::Exact) {
        let plan = with(enumeration);
        let SearchStats { points, opening, evaluated, partially_costed, .. } = plan.stats();
        assert_eq!((points, opening), (6, 2));
        assert_eq!(evaluated + partially_costed + plan.stats().skipped(), 64);
        assert_eq!(plan.partitions[0].assignment, [false; 6]);
    }
    assert_eq!(with(Enumeration::Partition).stats().evaluated, 64);
    assert!(with(Enumeration::Cost).stats().evaluated < 16);
}

/// P145: without partitioning, the plans of the partitions multiply; the cost is the same (P102). Of plans that cost the
/// same, as where a read hides a computation, either may be found.
#[test]
fn without_partitioning_the_whole_dag_is_one_search_space() {
    let mut several = 0;
    for seed in 0..60 {
        let dag = random_dag(&mut Random(seed), 7);
        let apart = plan_with(&dag, SelectPolicy::CostBased, &ways(Enumeration::Partition));
        if apart.stats().points as usize > 12 {
            continue;
        }
        let together = plan_with(&dag, SelectPolicy::CostBased, &ways(Enumeration::None));
        assert!(together.partitions.len() <= 1);
        assert_eq!(together.stats().points, apart.stats().points);
        if !apart.partitions.is_empty() {
            assert_eq!(together.stats().evaluated, 1 << apart.stats().points);
        }
        assert!((seconds(&together) - seconds(&apart)).abs() <= ROUNDING * seconds(&apart), "{seed}");
        several += usize::from(apart.partitions.len() > 1);
    }
    assert!(several >= 10, "{several}");
}

/// A DAG with far more points than can be enumerated: the search ends, no worse than both heuristics, and says so.
#[test]
fn large_partitions_are_searched_within_the_budget() {
    let dag = random_dag(&mut Random(1), 120);
    for enumeration in [Enumeration::None, Enumeration::Partition, Enumeration::Cost, Enumeration::All] {
        let limits =
            SearchLimits { enumeration, budget: Budget::of(500), exhaustive_points: 0, ..SearchLimits::default() };
        let chosen = plan_with(&dag, SelectPolicy::CostBased, &limits);
        assert!(chosen.stats().points > 40);
        for partition in &chosen.partitions {
            assert!(partition.stats.costed() <= 500 + 2, "{:?}", partition.stats);
            assert!(partition.bound <= partition.seconds);
        }
        assert!(chosen.stats().exhausted > 0);
        for heuristic in [SelectPolicy::FuseAll, SelectPolicy::FuseNoRedundancy] {
            assert!(seconds(&chosen) <= seconds(&plan(&dag, heuristic)) * (1.0 + ROUNDING));
        }
    }
}

/// Far beyond what is analysed pair by pair, the bound alone may still prove a plan optimal: where all operators start alike,
/// since it takes them to start like the quickest.
#[test]
fn partitions_of_hundreds_of_points_are_searched() {
    let (chain, _) = chain_of_diamonds(300);
    let mut model = CostModel::default();
    let start = model.machine.start.fused;
    model.machine.start = StartCosts { basic: start, scalar: start, fused_rows: start, ..model.machine.start };
    let limits = TemplateLimits::default();
    let context = Context::new(&chain, &limits);
    let explored = explore(&context, TEMPLATES);
    let fused = select(&context, &explored, SelectPolicy::CostBased, &model, &ways(Enumeration::All));
    assert_eq!((fused.stats().points, fused.stats().exhausted, fused.covers.len()), (600, 0, 1));
}

/// X6: chains of diamonds fall apart at every waist, so the plans to cost grow with the number of waists, not with its
/// power.
#[test]
fn sub_problems_of_sub_problems_fall_apart_too() {
    let costed = |length, enumeration| {
        let (dag, _) = chain_of_diamonds(length);
        let plan = plan_with(&dag, SelectPolicy::CostBased, &ways(enumeration));
        assert_eq!(plan.stats().exhausted, 0);
        (plan.stats().costed(), seconds(&plan))
    };
    let (all, seconds) = costed(6, Enumeration::All);
    let (every, same) = costed(6, Enumeration::Partition);
    assert!((seconds - same).abs() <= ROUNDING * same);
    println!("plans costed with both prunings {all}, without {every}");
    assert!(all * 100 < every);
}

/// The chosen plan does not depend on the order in which entries were found.
#[test]
fn the_order_of_exploration_decides_nothing() {
    for seed in 0..100 {
        let mut random = Random(seed);
        let dag = random_dag(&mut random, 10);
        let limits = TemplateLimits::default();
        let context = Context::new(&dag, &limits);
        let memo = explore(&context, TEMPLATES);
        let chosen = |memo: &MemoTable| {
            let model = CostModel::default();
            select(&context, memo, SelectPolicy::CostBased, &model, &ways(Enumeration::All)).covers
        };
        let groups: Vec<HopId> = memo.groups().map(|(group, _)| group).collect();
        let mut shuffled = memo.clone();
        for group in groups {
            let entries = shuffled.entries_mut(group);
            for last in (1..entries.len()).rev() {
                entries.swap(last, random.below(last + 1));
            }
        }
        assert_eq!(chosen(&memo), chosen(&shuffled), "{seed}\n{dag}");
    }
}
