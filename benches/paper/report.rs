//! The benchmarks as one report: the machine, fused operators against loops written by hand and basic operators,
//! instruction footprint, algorithms and compilation (section 5 of the paper).
//!
//! `./x bench` or `./x bench report [--full] [SECTION]...`. The quick form takes less than three minutes, on smaller
//! inputs, and writes into the target folder; `--full` writes `docs/benchmarks.md`, `docs/benchmarks.html` and the
//! plots. With names of sections (machine, operators, patterns, footprint, model, algorithms) or of a workload nothing but
//! these is measured. The model takes as long as all the others, so that it is for the full form, and for those who ask
//! for it by name.

mod model;
mod operators;

use crate::document::{self, Part};
#[cfg(feature = "llvm")]
use crate::footprint;
use crate::workload::measure;
use crate::workloads::{self, Scale};
use crate::{algorithms, machine, patterns, provenance};
use std::path::Path;

pub(crate) fn run(arguments: &[&str]) {
    if arguments.contains(&"--columns") {
        return println!("{}", document::markdown("Benchmarks", &empty()));
    }
    let is_full = arguments.contains(&"--full");
    let filters: Vec<&str> = arguments.iter().copied().filter(|name| !name.starts_with('-')).collect();
    let is_wanted = |name: &str| filters.is_empty() || filters.iter().any(|filter| name.contains(filter));
    let (scale, rounds) = if is_full { (Scale::Full, 9) } else { (Scale::Quick, 5) };
    let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/docs");
    let folder = Path::new(if is_full && filters.is_empty() { docs } else { env!("CARGO_TARGET_TMPDIR") });
    let mut parts = introduction(is_full, rounds);
    // Written section by section: the full form takes long.
    let mut add = |section: Vec<Part>| {
        parts.extend(section);
        document::write(folder, "Benchmarks", &parts).expect("the report can be written");
    };
    if is_wanted("machine") {
        add(machine::section(&machine::measure(rounds)));
    }
    add(operators(scale, rounds, is_wanted));
    add(patterns::section(&patterns::measure(scale, rounds, |name| is_wanted("patterns") || is_wanted(name))));
    #[cfg(feature = "llvm")]
    if is_wanted("footprint") {
        add(footprint::section(&footprint::measure(scale, rounds.min(5))));
    }
    if filters.contains(&"model") || is_full && filters.is_empty() {
        add(model::section(&model::measure(scale, rounds)));
    }
    let before = parts.len();
    let is_wanted = |name: &str| is_wanted("algorithms") || is_wanted(name);
    algorithms::measure_each(scale, rounds.min(5), is_wanted, |measured| {
        parts.truncate(before);
        parts.extend(algorithms::section(measured));
        document::write(folder, "Benchmarks", &parts).expect("the report can be written");
    });
    println!("{}", folder.join("benchmarks.md").display());
}

/// The report of no measurements: what all reports have in common.
fn empty() -> Vec<Part> {
    let mut parts = machine::section(&[]);
    parts.extend(operators::section(&[]));
    parts.extend(patterns::section(&[]));
    #[cfg(feature = "llvm")]
    parts.extend(footprint::section(&[]));
    parts.extend(model::section(&model::Measured::default()));
    parts.extend(algorithms::section(&[]));
    parts
}

fn operators(scale: Scale, rounds: usize, is_wanted: impl Fn(&str) -> bool) -> Vec<Part> {
    let mut measured = Vec::new();
    for workload in workloads::all(scale) {
        let name = format!("{}, {}", workload.name, workload.on);
        if is_wanted("operators") || is_wanted(&name) {
            eprintln!("{name}");
            measured.push(measure(&workload, rounds));
        }
    }
    if measured.is_empty() { Vec::new() } else { operators::section(&measured) }
}

fn introduction(is_full: bool, rounds: usize) -> Vec<Part> {
    let form = if is_full { "./x bench report --full" } else { "./x bench" };
    vec![Part::text(format!(
        "{} Whatever is compared runs in turn, in one process, {rounds} rounds. `./x bench cliffs` looks for expressions \
         beyond these on which Gen loses.",
        provenance::made_by(form, "benches/paper")
    ))]
}
