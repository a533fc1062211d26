//! The measurements as `docs/optimizer.md`.

use super::{Effort, Measured, Times, provenance, rewrites};
use crate::searches::Searched;
use fuseline_passes::explain::seconds_text;
use fuseline_passes::select::Enumeration;
use std::fmt::Write;

pub(crate) fn markdown(measured: &[Measured], effort: &Effort) -> String {
    let sections = [
        introduction(effort),
        workloads(measured),
        plans(measured),
        operators(measured),
        costs(measured),
        times(measured),
        predictions(measured),
        rewrites::table(),
    ];
    sections.join("\n")
}

fn introduction(effort: &Effort) -> String {
    format!(
        "# The optimizer in numbers

{}
Plans, their costs and their counts are those of the default machine of the cost model and do not depend on where the
command runs; times do.

Each algorithm runs once, and every distinct DAG that its compilation meets, with its sizes, is optimised in each of
the ways compared here. At most {} plans are costed per search space, fewer where plans are of many operators; a
count that ends there is marked with `>`. Times are medians of {} rounds.
",
        provenance::made_by("./x bench optimizer", "benches/optimizer"),
        effort.plans,
        effort.rounds,
    )
}

fn workloads(measured: &[Measured]) -> String {
    let mut text = "## Algorithms

| algorithm | data and configuration | DAGs | largest, operators | partitions | points of partitions that have any | by the paper's definition |
|---|---|---|---|---|---|---|
"
    .to_owned();
    for row in measured {
        let with_points = |points: &[usize]| {
            let some: Vec<String> = points.iter().filter(|points| **points > 0).map(usize::to_string).collect();
            some.join(" ")
        };
        let Measured { dags, operators, points, points_of_paper, workload, .. } = row;
        let _ = writeln!(
            text,
            "| {} | {} | {dags} | {operators} | {} | {} | {} |",
            workload.name,
            workload.configuration,
            points.len(),
            with_points(points),
            with_points(points_of_paper)
        );
    }
    text
}

fn plans(measured: &[Measured]) -> String {
    let mut text = "## Plans costed

How many plans each kind of enumeration costs: *none* takes the whole DAG for one search space, *partition* costs every
plan of each partition, *cost* skips plans by their lower bound, *structure* optimises by themselves what cut sets
separate and decides together what no plan tells apart, *all* does both. These are the paper's switches, and each of its
prunings by itself. Where *none* and *partition* are marked with `*`, there were too many plans to cost, and the number is
that of the plans that there are.

![Plans costed by algorithm and enumeration](optimizer.svg)

"
    .to_owned();
    text += &table_of_plans(measured, |row| &row.searches);
    text += "
Our space is not the paper's. A point is a decision about an edge, and there are three kinds of them: consumers of
materialisation points, each by itself, which are the paper's; template switches, which the paper finds by the types that
both groups have, and we by the entries across the edge, so that what is valid by itself may be left alone; and edges
over which an operator over cells computes a smaller value again for each cell, which the paper does not know. In the space
of the paper's definition the same code costs as many plans as this:

";
    text += &table_of_plans(measured, |row| &row.searches_of_paper);
    text += RANDOM_DAGS;
    text
}

/// What a long run of a test says, which takes some minutes by itself.
const RANDOM_DAGS: &str = "
That no pruning loses the optimum is tested on random DAGs, `pruned_search_equals_exhaustive_search` in
`passes/src/select/tests/enumeration.rs`. With `FUSELINE_CASES=100000` it compares all ways on 54 thousand partitions of three
points and more: without pruning they cost 13.2 million plans, by cost alone 2.5, by structure alone 6.0, by both 1.7.
";

fn table_of_plans(measured: &[Measured], searches: impl Fn(&Measured) -> &[Searched]) -> String {
    let of_paper = |row: &Measured| searches(row).iter().filter(|searched| !is_exact(searched)).map(count).collect();
    let mut text = "| algorithm | none | partition | cost | structure | all |\n|---|---|---|---|---|---|\n".to_owned();
    for row in measured {
        let counts: Vec<String> = of_paper(row);
        let _ = writeln!(text, "| {} | {} |", row.workload.name, counts.join(" | "));
    }
    text
}

/// Pricing operators is what both worlds do.
fn operators(measured: &[Measured]) -> String {
    let mut text = "## Operators priced

*exact* costs no plans but prices candidates for operators, once each. The plans that *all* costs consist of operators,
too; the paper prices them plan by plan, we remember most of them from plan to plan (*priced by all*). *all* finds the
cheapest assignment of points, *exact* also the cheapest choice of templates under it. Where *exact* has no proof within
the default limits, it costs the plans of *all*, and these count here.

| algorithm | operators of the plans of all | priced by all | priced by exact | ratio, plans | priced | proven optimal, all | exact |
|---|---|---|---|---|---|---|---|
"
    .to_owned();
    for row in measured {
        let [.., all, exact] = &row.searches[..] else { continue };
        let ratio = |operators: u64| operators as f64 / exact.stats.operators.max(1) as f64;
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {:.1} | {:.1} | {} of {} | {} of {} |",
            row.workload.name,
            all.stats.operators_of_plans,
            all.stats.operators,
            exact.stats.operators,
            ratio(all.stats.operators_of_plans),
            ratio(all.stats.operators),
            all.proven,
            all.spaces,
            exact.proven,
            exact.spaces,
        );
    }
    text
}

fn is_exact(searched: &Searched) -> bool {
    searched.enumeration == Enumeration::Exact
}

/// The number of plans costed, marked where the search did not come to its end.
pub(crate) fn count(searched: &Searched) -> String {
    let costed = searched.costed();
    let number = if costed < 1e7 { format!("{costed:.0}") } else { format!("{costed:.1e}") };
    match searched.enumeration {
        _ if !searched.is_capped() => number,
        Enumeration::None | Enumeration::Partition => format!("{number} *"),
        _ => format!("> {number}"),
    }
}

fn costs(measured: &[Measured]) -> String {
    let mut text = "## Costs of the plans

Estimated time of all DAGs, each executed once, as the policies fuse what rewriting makes of them, and where rewrites
and fusion are one search. The command fails where a DAG's cost-based plan costs more than that of a heuristic.

| algorithm | cost-based | fuse-all | fuse-no-redundancy | rewrites and fusion in one search |
|---|---|---|---|---|
"
    .to_owned();
    for row in measured {
        let seconds = [row.gen_seconds, row.fuse_all_seconds, row.fuse_no_redundancy_seconds, row.joint_seconds];
        let _ = writeln!(text, "| {} | {} |", row.workload.name, seconds.map(seconds_text).join(" | "));
    }
    text
}

fn times(measured: &[Measured]) -> String {
    let mut text = "## Time of the optimizer

Exploration, selection and, with rewrites, equality saturation with the search over both; construction and compilation
of operators are not in it.

| algorithm | slowest DAG | with rewrites | all DAGs | with rewrites |
|---|---|---|---|---|
"
    .to_owned();
    for Measured { workload, without_rewrites, with_rewrites, .. } in measured {
        let (Times { slowest, total }, with) = (*without_rewrites, with_rewrites);
        let cells = [slowest, with.slowest, total, with.total].map(seconds_text).join(" | ");
        let _ = writeln!(text, "| {} | {cells} |", workload.name);
    }
    text
}

/// The fused operators that took the most time.
fn predictions(measured: &[Measured]) -> String {
    const LISTED: usize = 5;
    let mut text = "## Predicted and measured times

The operators of each run in which the most time is spent, fused ones as `spoof`: what the cost model predicts for all
executions together, planning for this machine as `fuseline calibrate` measures it, and what they take.

| algorithm | operator | executions | predicted | measured | measured / predicted |
|---|---|---|---|---|---|
"
    .to_owned();
    for row in measured {
        let mut hitters: Vec<_> = row.run.heavy_hitters.iter().filter(|(_, hitter)| hitter.ratio().is_some()).collect();
        hitters.sort_by(|(_, one), (_, other)| other.seconds_of_predicted.total_cmp(&one.seconds_of_predicted));
        for (name, hitter) in hitters.into_iter().take(LISTED) {
            let (predicted, seconds) = (hitter.predicted_seconds, hitter.seconds_of_predicted);
            let _ = writeln!(
                text,
                "| {} | {name} | {} | {} | {} | {:.2} |",
                row.workload.name,
                hitter.predicted,
                seconds_text(predicted),
                seconds_text(seconds),
                seconds / predicted
            );
        }
    }
    text
}
