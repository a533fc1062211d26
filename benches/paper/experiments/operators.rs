//! Operators of each template over sizes and densities (the paper's section 5.2).

use super::findings::{Best, Findings};
use super::setting::Setting;
use crate::by_hand;
use crate::document::{Part, time};
use crate::machine::{self, MATRIX_PRODUCT, Rate};
use crate::rounds::Times;
use crate::workload::{
    BASE, BY_HAND, FUSE_ALL_OF_THE_PAPER, FUSED, GEN, Loop, Measured, NO_REDUNDANCY_OF_THE_PAPER, READ, Workload,
    measure,
};
use crate::workloads::{DENSITIES, cells, chains, logs, sparse_cells, sparse_chains};

const SEARCHES: &str = "binary searches";
/// Rows of 8 KB.
const COLS: usize = 1000;
/// Rows of the inputs of 8 MB.
const FEW_ROWS: usize = 1000;
/// Rounds where inputs are small.
const MANY_ROUNDS: usize = 21;
const SMALL: f64 = 80e6;

/// The rank of the factors of the Outer expression.
const RANK: f64 = 100.0;
/// The share of their product in its operations, of which a logarithm is one.
const PRODUCT: f64 = 2.0 * RANK / (2.0 * RANK + 3.0);

const OVER_BASE: &str = "speed of Gen over Base";

pub(super) fn run(setting: Option<Setting>, findings: &mut Findings) -> Vec<Part> {
    let mut measured = Vec::new();
    if let Some(setting) = setting {
        let dense = sizes(setting, 5.0 * 8.0 * COLS as f64);
        for &rows in &dense {
            let [products, _, sums] = cells(rows, &[]);
            measured.extend([&products, &sums].map(|workload| measure_in(setting, workload, findings)));
            let [products, sums] = &measured[measured.len() - 2..] else { unreachable!("both were measured") };
            cell_dense(products, rows, dense.last() == Some(&rows), findings);
            if dense.last() == Some(&rows) {
                multi_aggregate_dense(sums, findings);
            }
        }
        for rows in sizes(setting, 8.0 * 0.1 * 5.0 * 8.0 * COLS as f64) {
            let [products, _, sums] = sparse_cells(rows);
            measured.push(measure_in(setting, &with_searches(products), findings));
            cell_sparse(&measured[measured.len() - 1], findings);
            measured.push(measure_in(setting, &sums, findings));
            multi_aggregate_sparse(&measured[measured.len() - 1], findings);
        }
        let rows = setting.scale.of(100_000);
        let [vector, columns] = chains(rows, COLS);
        let [sparse, _] = sparse_chains(rows, "0.1");
        for workload in [&vector, &sparse] {
            measured.push(measure_in(setting, workload, findings));
            row(&measured[measured.len() - 1], findings);
        }
        measured.push(measure_in(setting, &columns, findings));
        row_of_columns(&measured[measured.len() - 1], findings);
        let side = outer_side(setting);
        let densities = DENSITIES.map(|density| measure_in(setting, &logs(side, density, true), findings));
        outer(&densities, &machine::measure(setting.rounds), findings);
        measured.extend(densities);
    }
    section(&measured)
}

/// The paper's numbers of rows, as far as the scale and the memory go.
fn sizes(setting: Setting, bytes_per_row: f64) -> Vec<usize> {
    let all = [FEW_ROWS, 10_000, 100_000, 1_000_000];
    let most = setting.scale.pick([10_000, 100_000, 1_000_000]);
    all.into_iter().filter(|&rows| rows <= most && Setting::fits(rows as f64 * bytes_per_row)).collect()
}

/// Rows and columns of X where Base has three more matrices of its size.
fn outer_side(setting: Setting) -> usize {
    let side = setting.scale.pick([2_000, 5_000, 20_000]) as f64;
    let most = Setting::fitting(side * side, 5.0 * 8.0).sqrt();
    if most < side { most as usize / 1000 * 1000 } else { side as usize }
}

/// Measures a workload, and records what is asked of every one.
fn measure_in(setting: Setting, workload: &Workload, findings: &mut Findings) -> Measured {
    let on = format!("{}, {}", workload.name, workload.on);
    eprintln!("{on}");
    let measured = measure(workload, setting.rounds);
    let measured = if measured.bytes < SMALL { measure(workload, MANY_ROUNDS) } else { measured };
    for (name, statistics) in &measured.statistics {
        let run: u64 = statistics.fused_operators.values().sum();
        if *name == BASE {
            findings.value("P160", "fused operators that Base runs", &on, run as f64);
        } else if workload.has_heuristics && *name != FUSED {
            findings.value("P162", "generated operators that the mode runs", &format!("{name}, {on}"), run as f64);
        }
    }
    findings.value("P165", "numbers of threads that modes have", &on, measured.threads as f64);
    if workload.on.starts_with("dense") {
        findings.value("P165", "bytes of a stored value", &on, measured.bytes / measured.values as f64);
    }
    measured
}

fn with_searches(workload: Workload) -> Workload {
    let searches: Loop = |data| by_hand::sparse::sum_products_by_search(data.csr("X"), data.csr("Y"), data.csr("Z"));
    Workload { loops: vec![(SEARCHES, searches)], ..workload }
}

fn cell_dense(measured: &Measured, rows: usize, is_largest: bool, findings: &mut Findings) {
    let (on, over_base) = (&measured.on, measured.speedup(GEN, BASE));
    findings.value_of("P166", OVER_BASE, on, over_base);
    if rows == FEW_ROWS {
        let by_hand = by_hand_over(measured, BASE);
        findings.value_within("P167", OVER_BASE, on, over_base, by_hand);
        findings.value_within("P167", "speed of Fused over Base", on, measured.speedup(FUSED, BASE), by_hand);
    }
    if is_largest {
        findings.value_of("P168", "speed of Gen as a share of reading", on, measured.speedup(GEN, READ));
        findings.value_of("P168", OVER_BASE, on, over_base);
    }
}

fn cell_sparse(measured: &Measured, findings: &mut Findings) {
    let on = &measured.on;
    findings.value_of("P170", OVER_BASE, on, measured.speedup(GEN, BASE));
    let over_fused = measured.speedup(GEN, FUSED);
    findings.value_within("P170", "speed of Gen over Fused", on, over_fused, by_hand_over(measured, FUSED));
    findings.value_of("P170", "time of a loop with binary searches over Gen", on, measured.speedup(GEN, SEARCHES));
}

fn multi_aggregate_dense(measured: &Measured, findings: &mut Findings) {
    let on = &measured.on;
    let over_fused = measured.speedup(GEN, FUSED);
    findings.value_within("P171", "speed of Gen over Fused, dense", on, over_fused, by_hand_over(measured, FUSED));
    let run = |name: &str| {
        let operators = &measured.statistics_of(name)?.fused_operators;
        let aggregates = operators.iter().filter(|(operator, _)| operator.starts_with("magg"));
        Some(aggregates.map(|(_, count)| count).sum::<u64>() as f64)
    };
    findings.value_of("P171", "multi-aggregates that Gen runs", on, run(GEN));
    for heuristic in [FUSE_ALL_OF_THE_PAPER, NO_REDUNDANCY_OF_THE_PAPER] {
        let on = format!("{heuristic}, {on}");
        findings.value_of("P171", "multi-aggregates that the paper's heuristics run", &on, run(heuristic));
        let speed = measured.speedup(GEN, heuristic);
        findings.value_of("P171", "speed of Gen over the paper's heuristics", &on, speed);
    }
}

fn multi_aggregate_sparse(measured: &Measured, findings: &mut Findings) {
    let cells = measured.statistics_of(GEN).map(|statistics| statistics.genexec_cells as f64 / measured.stored as f64);
    findings.value_of("P172", "cells visited for each non-zero of X", &measured.on, cells);
}

fn row(measured: &Measured, findings: &mut Findings) {
    let on = &measured.on;
    let best = by_hand_over(measured, BASE);
    findings.value_within("P173", OVER_BASE, on, measured.speedup(GEN, BASE), best);
    findings.value_within("P173", "speed of Fused over Base", on, measured.speedup(FUSED, BASE), best);
    let visited =
        measured.statistics_of(GEN).map(|statistics| statistics.genexec_cells as f64 / measured.stored as f64);
    findings.value_of("P173", "values of X that Gen visits for each that is stored", on, visited);
    let read = measured.statistics_of(GEN).map(|statistics| statistics.genexec_bytes_read as f64 / measured.bytes);
    findings.value_of("P173", "bytes that Gen reads over those of the inputs", on, read);
}

fn row_of_columns(measured: &Measured, findings: &mut Findings) {
    let on = &measured.on;
    findings.value_within("P174", OVER_BASE, on, measured.speedup(GEN, BASE), by_hand_over(measured, BASE));
    findings.value_of("P174", "speed of Fused over Base", on, measured.speedup(FUSED, BASE));
}

/// How many times as fast as a way a loop written by hand is: what no operator is to surpass.
fn by_hand_over(measured: &Measured, way: &str) -> Best<'static> {
    (measured.speedup(BY_HAND, way), "a loop written by hand")
}

/// How many times as fast as a way it is to read the rows of the factors that the non-zeros of a square X need, where these
/// are independent of each other: a part of what reading the inputs takes.
fn reading_rows_over(measured: &Measured, way: &str) -> Option<f64> {
    let side = (measured.values - measured.stored) as f64 / (2.0 * RANK);
    let needed = 1.0 - (1.0 - 1.0 / side).powf(measured.stored as f64);
    Some(measured.speedup(READ, way)? / needed)
}

/// All densities, the dense one first.
fn outer(densities: &[Measured], rates: &[Rate], findings: &mut Findings) {
    let base = |measured: &Measured| measured.times_of(BASE).map_or(f64::NAN, Times::median);
    let fastest = densities.iter().map(base).fold(f64::INFINITY, f64::min);
    for measured in densities {
        findings.value_of("P175", OVER_BASE, &measured.on, measured.speedup(GEN, BASE));
        let slowdown = Some(base(measured) / fastest);
        // Of a sparse X, these take no time to speak of. The logarithms, which are read too, may still be in a cache.
        let passes = 3.0 * measured.times_of(READ).map_or(f64::NAN, Times::median);
        let best = (Some((fastest + passes) / fastest), "reading X, writing the products and reading these");
        findings.value_within("P176", "time of Base over that of its fastest density", &measured.on, slowdown, best);
    }
    let [dense, .., sparsest] = densities else { return };
    let what = "speed of Gen over Base, dense";
    findings.value_within("P176", what, &dense.on, dense.speedup(GEN, BASE), by_hand_over(dense, BASE));
    let what = "speed of Gen over Base, density 0.0001";
    let best = (reading_rows_over(sparsest, BASE), "reading the rows of U and V that non-zeros need");
    findings.value_within("P176", what, &sparsest.on, sparsest.speedup(GEN, BASE), best);
    let what = "share of the product in Base's time, dense";
    let Some(statistics) = dense.statistics_of(BASE) else { return };
    let all: f64 = statistics.heavy_hitters.values().map(|hitter| hitter.seconds).sum();
    let product = statistics.heavy_hitters.get("ba(+*)").map_or(0.0, |hitter| hitter.seconds);
    let rate = rates.iter().find(|rate| rate.name == MATRIX_PRODUCT).map(|rate| rate.per_second);
    let at_the_rate = rate.map(|rate| {
        let least = PRODUCT * dense.flops / rate;
        least / (least + all - product)
    });
    let best = (at_the_rate, "the machine's rate of products");
    findings.value_within("P177", what, &dense.on, Some(product / all), best);
}

/// The ways that every workload runs in, and those that some do.
const WAYS: [&str; 8] = [BASE, FUSED, GEN, FUSE_ALL_OF_THE_PAPER, NO_REDUNDANCY_OF_THE_PAPER, BY_HAND, SEARCHES, READ];

fn section(measured: &[Measured]) -> Vec<Part> {
    let header: Vec<&str> =
        ["expression", "data"].into_iter().chain(WAYS).chain(["spread", "operators of Gen"]).collect();
    let rows = measured.iter().map(|row| {
        let times = WAYS.map(|name| row.times_of(name).map_or("-".to_owned(), |times| time(times.median())));
        let spread = format!("{:.0} %", 100.0 * row.times_of(GEN).map_or(0.0, Times::spread));
        let cells = [row.name.to_owned(), row.on.clone()].into_iter().chain(times);
        cells.chain([spread, row.operators()]).collect()
    });
    let profile =
        measured.iter().filter(|row| row.name.contains("log(") && row.on.starts_with("dense")).flat_map(profile);
    vec![
        Part::heading("Operators"),
        Part::text(
            "Prepared scripts on data in memory, values compared with those of loops written by hand. Times are medians, \
             *spread* is the median distance from the median of Gen, *read* reads the inputs once and does nothing else. \
             The heuristics run as the paper has them, where aggregates share an input.",
        ),
        Part::table(&header, rows.collect()),
        Part::text("Where Base's time goes on the dense Outer expression, by kind of operator:"),
        Part::table(&["data", "operator of Base", "time", "share"], profile.collect()),
    ]
}

/// The kinds of operators of Base, the slowest first.
fn profile(measured: &Measured) -> Vec<Vec<String>> {
    let hitters = measured.statistics_of(BASE).into_iter().flat_map(|statistics| &statistics.heavy_hitters);
    let mut seconds: Vec<(&String, f64)> = hitters.map(|(operator, hitter)| (operator, hitter.seconds)).collect();
    seconds.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    let all: f64 = seconds.iter().map(|(_, seconds)| seconds).sum();
    let row = |(operator, seconds): (&String, f64)| {
        vec![measured.on.clone(), operator.clone(), time(seconds), format!("{:.1} %", 100.0 * seconds / all)]
    };
    seconds.into_iter().map(row).collect()
}
