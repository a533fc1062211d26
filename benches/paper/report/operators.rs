//! The section of the operators: times and rates of every workload, and whether it reaches what it must.

use crate::bars::{self, Bar, Group};
use crate::document::{Part, digits, time};
use crate::rounds::Times;
use crate::workload::{BASE, BY_HAND, GEN, HEURISTICS, Measured, READ, Reached, WAYS};

pub(crate) fn section(measured: &[Measured]) -> Vec<Part> {
    vec![
        Part::heading("Fused operators"),
        Part::text(
            "Every result is first compared with that of the loop written by hand, then all are timed in turn. Times are \
             medians, *spread* is the median distance from the median of Gen. GB/s count the inputs once, *read* reads them \
             and does nothing else, GFLOP/s count every operation, functions too, as one. Where Gen has no fused operator, \
             rewriting has made one basic operator of the expression, in every mode.",
        ),
        times(measured),
        rates(measured),
        plot(measured),
        Part::heading("Bounds"),
        Part::text(
            "What Gen must reach, as ratios of speeds: medians of the ratios within rounds. Where inputs fit into a cache \
             of the machine, *read* is the speed of that cache.",
        ),
        bounds(measured),
        Part::text(ROWS),
    ]
}

/// What keeps Row operators from the bounds that they miss.
const ROWS: &str = "Row operators pass over each tile of X twice: from memory for the products, from the cache for what these \
    are accumulated into. In both passes they ask for the tile that follows, since the hardware prefetchers stop at every \
    page of 4 KiB; but a core has only some buffers for lines that it asks for itself, so that memory is as busy as while X is \
    only read where the instructions take much less time than the reading: in rows of 1000 columns with one column of V. In \
    narrow rows each row's multiply-adds wait for those of the row before it (rule 5 of the execution contract), with two \
    columns the lanes of twice as many products merge, and in wide rows X, V and the sums are together larger than the \
    first-level cache. Expression (2) has four columns: its products and sums alone are 16 operations for each cell, and rows \
    of 100 cells straddle cache lines with every load in every other row. Sparse X of density 0.01 stays in the last-level \
    cache: to read it twice costs little more than to read it once, and Base calls the same primitives.";

/// The ways and loops that have columns, and bars.
fn contenders() -> impl Iterator<Item = &'static str> {
    let (ways, heuristics) = (WAYS.iter().map(|way| way.name), HEURISTICS.iter().map(|way| way.name));
    ways.chain([BY_HAND]).chain(heuristics)
}

fn times(measured: &[Measured]) -> Part {
    let header: Vec<&str> =
        ["workload", "data"].into_iter().chain(contenders()).chain(["spread", "operators of Gen"]).collect();
    let rows = measured.iter().map(|row| {
        let mut cells = vec![row.name.to_owned(), row.on.clone()];
        cells.extend(contenders().map(|name| row.times_of(name).map_or("-".to_owned(), |times| time(times.median()))));
        let spread = row.times_of(GEN).map_or(0.0, Times::spread);
        cells.extend([format!("{:.0} %", 100.0 * spread), row.operators()]);
        cells
    });
    Part::table(&header, rows.collect())
}

fn rates(measured: &[Measured]) -> Part {
    let rows = measured.iter().map(|row| {
        let rate = |name: &str, amount: f64| {
            row.times_of(name).map_or("-".to_owned(), |times| digits(amount / times.median() / 1e9))
        };
        vec![
            row.name.to_owned(),
            row.on.clone(),
            rate(READ, row.bytes),
            rate(BY_HAND, row.bytes),
            rate(GEN, row.bytes),
            rate(BY_HAND, row.flops),
            rate(GEN, row.flops),
        ]
    });
    let header = ["workload", "data", "read, GB/s", "by hand, GB/s", "Gen, GB/s", "by hand, GFLOP/s", "Gen, GFLOP/s"];
    Part::table(&header, rows.collect())
}

fn plot(measured: &[Measured]) -> Part {
    let names: Vec<String> = contenders().filter(|name| *name != BY_HAND).map(str::to_owned).collect();
    let group = |row: &Measured| Group {
        name: format!("{}, {}", row.name, row.on),
        bars: names.iter().map(|name| bar(row, name)).collect(),
    };
    let title = "Speed as a share of the loop written by hand".to_owned();
    let svg = bars::plot(&title, &names, &measured.iter().map(group).collect::<Vec<_>>());
    Part::Plot { name: "operators".into(), title, svg }
}

fn bar(row: &Measured, name: &str) -> Option<Bar> {
    let speed = row.times_of(name)?.speedup_over(row.times_of(BY_HAND)?);
    Some(Bar { length: speed, label: format!("{speed:.2}") })
}

fn bounds(measured: &[Measured]) -> Part {
    let rows = measured.iter().flat_map(|row| {
        row.bounds.iter().map(|bound| {
            vec![
                row.name.to_owned(),
                row.on.clone(),
                format!("{:.2} of {}", bound.least, bound.reference),
                format!("{:.2}", bound.reached),
                verdict(row, bound),
            ]
        })
    });
    Part::table(&["workload", "data", "at least", "reached", ""], rows.collect())
}

/// Whether a bound holds, and if not, whether it can.
fn verdict(row: &Measured, bound: &Reached) -> String {
    if bound.reference == BASE && row.operators().is_empty() {
        // Rewriting leaves nothing to fuse.
        return "the same basic operator in every mode".to_owned();
    }
    match (bound.holds(), bound.by_hand < bound.least) {
        (true, _) => "holds".to_owned(),
        (false, true) if bound.reference != BY_HAND => format!("missed; by hand {}", digits(bound.by_hand)),
        (false, _) => "missed".to_owned(),
    }
}
