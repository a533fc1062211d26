//! Mistakes that fused operators are known to make, one test per class, and every reduced case of the differential tests
//! that once failed (`tests/regressions/*.hop`).
//!
//! The classes are those that broke the code generator of SystemML over the years. Each case runs unfused and under
//! every policy, on every backend, instruction set and number of threads, in default and in strict arithmetic.

// The harness serves the differential tests, which use more of it.
#[allow(dead_code)]
#[path = "differential/mod.rs"]
mod harness;

#[path = "regressions/aggregates.rs"]
mod aggregates;
#[path = "regressions/images.rs"]
mod images;
#[path = "regressions/plans.rs"]
mod plans;
#[path = "regressions/sparsity.rs"]
mod sparsity;

use fuseline::{Csr, Dense, MatrixBlock};
use harness::case::{Case, Leaf};
use harness::check::Checker;
use harness::configuration::{Plan, Rules, all};
use std::collections::BTreeMap;

fn dense(rows: usize, cols: usize, cell: impl FnMut(usize, usize) -> f64) -> MatrixBlock {
    Dense::from_fn(rows, cols, cell).into()
}

fn csr(rows: usize, cols: usize, cell: impl FnMut(usize, usize) -> f64) -> MatrixBlock {
    Csr::from_dense(&Dense::from_fn(rows, cols, cell)).into()
}

/// Small integers of either sign, about a third of them zero.
fn mixed(i: usize, j: usize) -> f64 {
    let number = (i * 7 + j * 5) % 9;
    if number.is_multiple_of(3) { 0.0 } else { number as f64 - 4.0 }
}

/// Small integers, most of them zero, and every third row empty.
fn sparse(i: usize, j: usize) -> f64 {
    if i % 3 == 1 || (i * 5 + j * 3) % 7 > 1 { 0.0 } else { ((i + 2 * j) % 5) as f64 - 1.0 }
}

/// The case of these inputs, `%0`, `%1`, ..., and the lines of a DAG behind them.
fn case(lines: &[&str], inputs: &[(&str, &MatrixBlock)]) -> Case {
    let mut text = String::from("hops {\n");
    for (id, (name, block)) in inputs.iter().enumerate() {
        let (rows, cols) = block.dims();
        text.push_str(&format!("  %{id} = read \"{name}\" : f64[{rows}x{cols}]\n"));
    }
    for line in lines {
        text.push_str(&format!("  {line}\n"));
    }
    text.push_str("}\n");
    let leaves: BTreeMap<String, Leaf> =
        inputs.iter().map(|(name, block)| ((*name).to_owned(), Leaf::Matrix((*block).clone()))).collect();
    Case::parse_with(&text, leaves).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Checks a case in every configuration, in default and strict arithmetic.
fn check(case: &Case) {
    let mut checker = Checker::default();
    for strict_ieee in [false, true] {
        let configurations = all(Rules { strict_ieee, ..Rules::USUAL });
        if let Err(failure) = checker.check_case(case, &configurations) {
            let place = failure.configuration.map_or("the oracle".to_owned(), |place| place.to_string());
            panic!("{place}: {:?}: {}\n{case}", failure.kind, failure.message);
        }
    }
}

/// Checks a large case in default arithmetic under few policies.
fn check_few(case: &Case) {
    let mut configurations = all(Rules::USUAL);
    configurations.retain(|configuration| matches!(configuration.plan, Plan::Base | Plan::FuseAll | Plan::CostBased));
    if let Err(failure) = Checker::default().check_case(case, &configurations) {
        let place = failure.configuration.map_or("the oracle".to_owned(), |place| place.to_string());
        panic!("{place}: {:?}: {}", failure.kind, failure.message);
    }
}

fn check_lines(lines: &[&str], inputs: &[(&str, &MatrixBlock)]) {
    check(&case(lines, inputs));
}

#[test]
fn reduced_cases_agree() {
    let mut files: Vec<_> = std::fs::read_dir("tests/regressions")
        .expect("the folder is there")
        .map(|entry| entry.expect("folders can be read").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "hop"))
        .collect();
    files.sort();
    for path in files {
        let text = std::fs::read_to_string(&path).expect("files can be read");
        println!("{}", path.display());
        check(&Case::parse(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display())));
    }
}
