//! The benchmarks as one report: the machine, fused operators against loops written by hand and basic operators,
//! instruction footprint, algorithms and compilation (section 5 of the paper).
//!
//! `./x bench` or `cargo bench --bench report -- [--full] [SECTION]...`. The quick form takes less than three minutes, on
//! smaller inputs, and writes into the target folder; `--full` writes `docs/benchmarks.md`, `docs/benchmarks.html` and the
//! plots. With names of sections (machine, operators, patterns, footprint, model, algorithms) or of a workload nothing but
//! these is measured. The model takes as long as all the others, so that it is for the full form, and for those who ask
//! for it by name.

mod algorithms;
#[path = "../support/bars.rs"]
mod bars;
mod by_hand;
mod document;
#[cfg(feature = "llvm")]
mod footprint;
#[path = "../support/host.rs"]
mod host;
#[cfg(feature = "llvm")]
mod instruction_misses;
#[cfg(feature = "llvm")]
#[path = "../support/lines.rs"]
mod lines;
mod machine;
mod model;
mod operators;
mod patterns;
#[path = "../support/points.rs"]
mod points;
mod rounds;
#[path = "../support/svg.rs"]
mod svg;
mod workload;
mod workloads;

use document::Part;
use std::path::Path;
use workload::measure;
use workloads::Scale;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    #[cfg(feature = "llvm")]
    if let [run, code, operations, rows] = &arguments[..]
        && run == instruction_misses::RUN
    {
        return footprint::run_once(code, operations, rows);
    }
    let is_full = arguments.iter().any(|argument| argument == "--full");
    let filters: Vec<&str> = arguments.iter().filter(|name| !name.starts_with('-')).map(String::as_str).collect();
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
        add(machine::section(rounds));
    }
    add(operators(scale, rounds, is_wanted));
    add(patterns::section(scale, rounds, |name| is_wanted("patterns") || is_wanted(name)));
    #[cfg(feature = "llvm")]
    if is_wanted("footprint") {
        add(footprint::section(scale, rounds.min(5)));
    }
    if filters.contains(&"model") || is_full && filters.is_empty() {
        add(model::section(scale, rounds));
    }
    let before = parts.len();
    let is_wanted = |name: &str| is_wanted("algorithms") || is_wanted(name);
    algorithms::section(scale, rounds.min(5), is_wanted, |section| {
        parts.truncate(before);
        parts.extend(section);
        document::write(folder, "Benchmarks", &parts).expect("the report can be written");
    });
    println!("{}", folder.join("benchmarks.md").display());
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
        "Made by `{form}` (`benches/report`) on {}. Whatever is compared runs in turn, in one process, {rounds} rounds. \
         `./x bench cliffs` looks for expressions beyond these on which Gen loses.",
        host::description()
    ))]
}
