//! The README says what is: its script is the example's, its plan is what the program prints, and it knows every option.

use crate::command::fuseline;
use fuseline_ir::builtins::{is_script_not_yet, not_yet};

const README: &str = include_str!("../../README.md");

#[test]
fn the_script_is_the_example() {
    let script = include_str!("../../examples/logistic.dml");
    assert!(README.contains(&format!("```r\n{script}```\n")), "the README shows another script");
}

#[test]
fn the_fused_operator_is_that_of_the_script() {
    let cplans = fuseline(&["explain", "examples/logistic.dml", "--stage", "cplan"]).quiet();
    let (_, rest) = README.split_once("```text\ncplan ").expect("the README shows a CPlan");
    let (cplan, _) = rest.split_once("```").expect("the CPlan ends");
    assert!(cplans.contains(&format!("cplan {cplan}")), "{cplans}");
}

#[test]
fn every_command_and_option_is_described() {
    for command in ["run", "explain", "opt", "check", "generate"] {
        assert!(README.contains(&format!("fuseline {command} ")), "{command}");
        let help = fuseline(&[command, "--help"]).quiet();
        let options = help.split_whitespace().filter(|word| word.starts_with("--") && *word != "--help");
        for option in options {
            let name: String = option.chars().take_while(|&c| c == '-' || c.is_alphanumeric()).collect();
            assert!(README.contains(&name), "{name} of {command}");
        }
    }
}

#[test]
fn every_missing_function_is_named() {
    let table = README.split_once("**What of DML is missing**").expect("the README says what is missing").1;
    for function in not_yet().filter(|name| !is_script_not_yet(name)) {
        assert!(table.contains(&format!("`{function}`")), "{function}");
    }
}

#[test]
fn every_command_that_the_example_names_works() {
    let output = fuseline(&["run", "examples/logistic.dml", "--nvargs", "rows=5000", "cols=20"]).quiet();
    let accuracy: f64 =
        output.trim().strip_prefix("accuracy: ").expect("it prints one line").parse().expect("a number");
    assert!((0.8..1.0).contains(&accuracy), "{accuracy}");
}
