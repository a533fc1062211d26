//! The paper's evaluation (its section 5): each experiment with a verdict, and the report of all that is measured beside.
//!
//! `./x bench paper [--scale quick|default|full] [PART]...` judges what the paper claims, item by item, and writes
//! `docs/experiments.md`; see [`experiments`]. `./x bench` and `./x bench report` write the report; see [`report`]. With
//! `--columns` either prints its page without measurements: the headings of its tables.

mod algorithms;
#[path = "../support/bars.rs"]
mod bars;
mod by_hand;
#[path = "../support/conditions.rs"]
mod conditions;
mod deciding;
mod document;
mod experiments;
#[cfg(feature = "llvm")]
mod footprint;
#[path = "../support/host.rs"]
mod host;
#[cfg(feature = "llvm")]
mod instruction_misses;
#[cfg(feature = "llvm")]
#[path = "../support/lines.rs"]
mod lines;
#[path = "../support/loops_by_hand.rs"]
mod loops_by_hand;
mod machine;
mod patterns;
#[path = "../support/points.rs"]
mod points;
#[path = "../support/provenance.rs"]
mod provenance;
mod report;
mod rounds;
#[path = "../support/workloads.rs"]
mod scripts;
#[path = "../support/searches.rs"]
mod searches;
#[path = "../support/svg.rs"]
mod svg;
mod workload;
mod workloads;

fn main() {
    loops_by_hand::pin();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).filter(|argument| *argument != "--bench").collect();
    match arguments[..] {
        #[cfg(feature = "llvm")]
        [instruction_misses::RUN, code, operations, rows] => footprint::run_once(code, operations, rows),
        ["report", ref rest @ ..] => report::run(rest),
        ref rest => experiments::run(rest),
    }
}
