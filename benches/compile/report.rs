//! The measurements as `docs/compile.md`.

use crate::cases::FAMILIES;
use crate::stages::Stage;
use crate::workloads::WORKLOADS;
use crate::{Compiled, Measured, provenance};
use fuseline_passes::explain::seconds_text;
use std::fmt::Write;

/// What an operator may cost on average while its block is compiled, code generation aside.
const SECONDS_PER_OPERATOR: f64 = 1e-3;
const BYTES_PER_OPERATOR: f64 = (64 << 10) as f64;

pub(crate) fn markdown(algorithms: &[Compiled], families: &[Vec<Compiled>]) -> String {
    let mut text = introduction();
    text += &verdicts(algorithms, families);
    if !algorithms.is_empty() {
        text += "\n## Algorithms\n\nThe paper's, with all blocks that a run meets:\n\n";
        for workload in WORKLOADS {
            let _ = writeln!(text, "- *{}*: {}", workload.name, workload.configuration);
        }
        table(&mut text, algorithms, |_| None);
    }
    for (family, cases) in FAMILIES.iter().zip(families).filter(|(_, cases)| !cases.is_empty()) {
        let sizes = family.sizes.map(|size| size.to_string()).join(", ");
        let _ = write!(text, "\n## {}\n\n{sizes} {}.\n", capitalized(family.name), family.meaning);
        table(&mut text, cases, |number| cases.get(number.checked_sub(1)?));
    }
    text
}

fn introduction() -> String {
    format!(
        "# What compilation costs

{}
Plans are those of the default machine of the cost model, code is generated for x86-64-v3, one thread works.

*parse* makes a program of a text, the library's functions included; *simplify* checks its sizes and runs the passes over
programs. Of each block *rewrite* saturates the e-graph, *explore*, *select* and *construct* go from the form that
rewriting prefers to CPlans; *optimize* is what a session does in their place, the search over several forms with their
plans. *generate* makes machine code of the CPlans, and *pipeline* is everything, from the text on, in a new session.

Times are medians that criterion estimates. *Operators* are those of the program for *parse* and *simplify*, of the blocks
for the others. *Exponent* is that of the time as a power of the number of operators, from the size before: 1 is linear.
*Allocations* and *peak*, the memory that is held at a time at most, result included, are counted by the program's
allocator; LLVM's own are not in them, but the 64 MiB that must be there before it starts are, of which nobody uses any.
",
        provenance::made_by("./x bench compile", "benches/compile")
    )
}

/// Whether the promise is kept, and where it is not.
fn verdicts(algorithms: &[Compiled], families: &[Vec<Compiled>]) -> String {
    let cases: Vec<&Compiled> = algorithms.iter().chain(families.iter().flatten()).collect();
    let broken: Vec<String> = cases.iter().flat_map(|case| broken_promises(case)).collect();
    let verdict = if broken.is_empty() {
        format!("It is kept by all stages of all {} cases.", cases.len())
    } else {
        format!("It is **broken** by {}.", broken.join("; "))
    };
    format!(
        "
## The promise

Compiling takes at most 1 ms and 64 KiB (*peak*) per operator on average, at every size measured, code generation aside.
{verdict}
"
    )
}

fn broken_promises(case: &Compiled) -> Vec<String> {
    let broken = |measured: &&Measured| !matches!(promise(case, measured), Promise::Kept | Promise::None);
    let name = |measured: &Measured| {
        format!("{} of {} ({})", measured.stage.name(), case.name, promise(case, measured).name())
    };
    case.stages.iter().filter(broken).map(name).collect()
}

/// What became of the promise in a stage.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Promise {
    /// LLVM is in it.
    None,
    Kept,
    TooSlow,
    TooLarge,
    TooSlowAndLarge,
}

impl Promise {
    fn name(self) -> &'static str {
        match self {
            Promise::None => "",
            Promise::Kept => "kept",
            Promise::TooSlow => "too slow",
            Promise::TooLarge => "too much memory",
            Promise::TooSlowAndLarge => "too slow, too much memory",
        }
    }
}

fn promise(case: &Compiled, measured: &Measured) -> Promise {
    let operators = case.operators.in_stage(measured.stage);
    let is_slow = measured.seconds > SECONDS_PER_OPERATOR * operators;
    let is_large = measured.allocated.peak as f64 > BYTES_PER_OPERATOR * operators;
    match (is_slow, is_large) {
        _ if matches!(measured.stage, Stage::Generate | Stage::Pipeline) => Promise::None,
        (false, false) => Promise::Kept,
        (true, false) => Promise::TooSlow,
        (false, true) => Promise::TooLarge,
        (true, true) => Promise::TooSlowAndLarge,
    }
}

/// The headings of all tables, below an empty line.
pub(crate) const COLUMNS: &str = "
| case | stage | operators | median | per operator | exponent | allocations per operator | peak per operator | promise |
|---|---|---|---|---|---|---|---|---|
";

/// A row for each stage of each case; `before` gives the case of the next smaller size.
fn table<'a>(text: &mut String, cases: &'a [Compiled], before: impl Fn(usize) -> Option<&'a Compiled>) {
    *text += COLUMNS;
    for (number, case) in cases.iter().enumerate() {
        for measured in &case.stages {
            let operators = case.operators.in_stage(measured.stage);
            let exponent = before(number).and_then(|smaller| exponent(smaller, case, measured));
            let _ = writeln!(
                text,
                "| {} | {} | {operators} | {} | {} | {} | {:.1} | {:.1} KiB | {} |",
                case.name,
                measured.stage.name(),
                seconds_text(measured.seconds),
                seconds_text(measured.seconds / operators),
                exponent.map_or(String::new(), |exponent| format!("{exponent:.2}")),
                measured.allocated.count as f64 / operators,
                measured.allocated.peak as f64 / operators / 1024.0,
                promise(case, measured).name(),
            );
        }
    }
}

/// The exponent of the time of a stage over the operators, from a smaller case on.
fn exponent(smaller: &Compiled, case: &Compiled, measured: &Measured) -> Option<f64> {
    let before = smaller.stages.iter().find(|before| before.stage == measured.stage)?;
    let growth = case.operators.in_stage(measured.stage) / smaller.operators.in_stage(before.stage);
    Some((measured.seconds / before.seconds).ln() / growth.ln())
}

fn capitalized(name: &str) -> String {
    let (first, rest) = name.split_at(1);
    first.to_uppercase() + rest
}
