//! The subtests of file tests, one per stage of the compiler.

use crate::filetest::{Input, Subtests};
use fuseline_ir::cplan::{self, CPlan};
use fuseline_ir::hop::{self, HopDag};
use fuseline_ir::program::{self, Program};
use fuseline_lang::ParseOptions;

/// Every subtest. A new stage is one line here.
pub const SUBTESTS: &Subtests = &[("parse", parse), ("verify", verify)];

/// What a file holds: a script, or one of the text forms, told apart by its first word.
#[derive(Debug)]
pub enum Module {
    /// DAGs with their names.
    Dags(Vec<(String, HopDag)>),
    /// CPlans.
    Plans(Vec<CPlan>),
    /// A program.
    Program(Program),
}

impl Module {
    /// Parses the input of a file test; the error is the diagnostics as users see them.
    pub fn parse(input: &Input<'_>) -> Result<Module, String> {
        if input.path.extension().is_some_and(|extension| extension == "dml") {
            let name = input.path.display().to_string();
            let program = fuseline_lang::parse(&name, input.text, &ParseOptions::from_files());
            return program.map(Module::Program).map_err(|diagnostics| diagnostics.to_string());
        }
        Module::parse_text(input.text)
    }

    fn parse_text(text: &str) -> Result<Module, String> {
        let first = text.lines().find(|line| !is_comment(line)).unwrap_or_default();
        let module = match first.split_whitespace().next() {
            Some("program") => program::parse(text).map(Module::Program),
            Some("cplan") => cplan::parse_all(text).map(Module::Plans),
            _ => hop::parse(text).map(Module::Dags),
        };
        module.map_err(|errors| errors.to_string())
    }

    fn print(&self) -> String {
        match self {
            Module::Dags(dags) => {
                lines(dags.iter().map(|(name, dag)| dag.display_named(name).to_string()))
            }
            Module::Plans(plans) => lines(plans.iter().map(CPlan::to_string)),
            Module::Program(program) => format!("{program}\n"),
        }
    }
}

fn lines(parts: impl Iterator<Item = String>) -> String {
    parts.map(|part| part + "\n").collect()
}

fn is_comment(line: &str) -> bool {
    line.trim().is_empty() || line.starts_with('#')
}

/// The text form, or `unchanged` where the file holds just that; checks that it reads and prints back.
fn parse(input: &Input<'_>) -> Result<String, String> {
    let module = match Module::parse(input) {
        Ok(module) => module,
        Err(errors) => return Ok(errors),
    };
    let printed = module.print();
    let reparsed =
        Module::parse_text(&printed).map_err(|errors| format!("{errors}\nin\n{printed}"))?;
    if reparsed.print() != printed {
        return Err(format!("the text form does not print back:\n{printed}"));
    }
    let original = lines(input.text.lines().filter(|line| !is_comment(line)).map(str::to_owned));
    Ok(if printed == original { "unchanged".to_owned() } else { printed })
}

/// The errors of the verifier, or `ok`.
fn verify(input: &Input<'_>) -> Result<String, String> {
    let all = match Module::parse(input)? {
        Module::Dags(dags) => {
            let verify = |(name, dag): &(String, HopDag)| (name.clone(), dag.verify());
            dags.iter().map(verify).collect()
        }
        Module::Plans(plans) => {
            let verify = |plan: CPlan| ("cplan".to_owned(), plan.verify().map(|_| ()));
            plans.into_iter().map(verify).collect()
        }
        Module::Program(program) => vec![("program".to_owned(), program.verify())],
    };
    let print = |(name, result)| match result {
        Ok(()) => format!("{name}: ok"),
        Err(errors) => format!("{name}:\n{errors}"),
    };
    Ok(lines(all.into_iter().map(print)))
}
