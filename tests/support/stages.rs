//! The subtests of file tests, one per stage of the compiler.

use crate::filetest::{Input, Subtests};
use crate::{costs, execution, starts};
use fuseline_ir::cplan::{self, CPlan};
use fuseline_ir::hop::{self, HopDag};
use fuseline_ir::program::{self, Program};
use fuseline_lang::ParseOptions;
use fuseline_passes::cost::CostModel;
use fuseline_passes::explain::{explain_cplans, explain_memo, explain_partitions, explain_plan, explain_reasons};
use fuseline_passes::fused::fuse_by_hand;
use fuseline_passes::joint::explain_choice;
use fuseline_passes::liveness::assigned_variables;
use fuseline_passes::pipeline::OptimizerOptions;
use fuseline_passes::program::{ProgramOptions, simplify_program};
use fuseline_passes::rewrite::{
    RewriteOptions, explain_rewrites, rewrite as rewrite_dag, simplify, summarize_rewrites,
};
use fuseline_passes::size::{SizeEnvironment, explain_sizes};

/// Every subtest. A new stage is one line here.
pub(crate) const SUBTESTS: &Subtests = &[
    ("parse", parse),
    ("verify", verify),
    ("size", size),
    ("rewrite", rewrite),
    ("joint", joint),
    ("fused", fused),
    ("program", simplified),
    ("explore", explore),
    ("partition", partition),
    ("select", select),
    ("reasons", reasons),
    ("plan", execution::plan),
    ("cplan", cplan),
    ("cost", cost),
    ("llvm", execution::llvm),
    ("run", execution::run),
];

/// What a file holds: a script, or one of the text forms, told apart by its first word.
#[derive(Debug)]
pub(crate) enum Module {
    /// DAGs with their names.
    Dags(Vec<(String, HopDag)>),
    /// CPlans.
    Plans(Vec<CPlan>),
    /// A program.
    Program(Program),
}

impl Module {
    /// Parses the input of a file test; the error is the diagnostics as users see them. The options of a script's
    /// subtest are the values of its `$name`s.
    pub(crate) fn parse(input: &Input<'_>) -> Result<Module, String> {
        if input.path.extension().is_some_and(|extension| extension == "dml") {
            let name = input.path.display().to_string();
            let arguments = input.options.iter().map(|(&name, &value)| (name.to_owned(), value.into()));
            let options = ParseOptions { arguments: arguments.collect(), ..ParseOptions::from_files() };
            let program = fuseline_lang::parse(&name, input.text, &options);
            return program.map(Module::Program).map_err(|diagnostics| diagnostics.render(false));
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
            Module::Dags(dags) => lines(dags.iter().map(|(name, dag)| dag.display_named(name).to_string())),
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
    let reparsed = Module::parse_text(&printed).map_err(|errors| format!("{errors}\nin\n{printed}"))?;
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

/// Sizes propagated from those of the DAG's own reads.
fn size(input: &Input<'_>) -> Result<String, String> {
    each_dag(input, explain_sizes)
}

/// What rewriting does, and what comes of it; `summary` in one line each, `algebraic` as with real numbers.
fn rewrite(input: &Input<'_>) -> Result<String, String> {
    let options = rewrite_options(input);
    let is_summary = input.options.contains_key("summary");
    each_dag(input, |dag| {
        if is_summary { format!("  {}\n", summarize_rewrites(dag, &options)) } else { explain_rewrites(dag, &options) }
    })
}

/// The operators after rewriting, with hand-coded ones in the place of their patterns. Options: `strict=true`.
fn fused(input: &Input<'_>) -> Result<String, String> {
    let strict_ieee = input.options.get("strict").is_some_and(|&value| value == "true");
    let options = RewriteOptions { strict_ieee, ..RewriteOptions::default() };
    each_dag(input, |dag| {
        let dag = fuse_by_hand(&rewrite_dag(dag, &options), strict_ieee);
        let operators = dag.hops.iter().filter(|(_, hop)| !hop.inputs.is_empty());
        lines(operators.map(|(id, hop)| format!("  {id} = {hop}")))
    })
}

fn rewrite_options(input: &Input<'_>) -> RewriteOptions {
    RewriteOptions { algebraic: input.options.contains_key("algebraic"), ..RewriteOptions::default() }
}

/// The forms that the search over rewrites and fusion prices, the one it takes, and its fused operators; `algebraic` as
/// with real numbers.
fn joint(input: &Input<'_>) -> Result<String, String> {
    each_optimized_dag(input, &["algebraic"], |dag, options| explain_choice(dag, &rewrite_options(input), options))
}

/// A program after the passes over programs; `pass=` names a single one.
fn simplified(input: &Input<'_>) -> Result<String, String> {
    let Module::Program(mut program) = Module::parse(input)? else {
        return Err("the stage takes programs".to_owned());
    };
    let pass = input.options.get("pass").copied();
    let rewrites = RewriteOptions { enabled: matches!(pass, None | Some("rewrites")), ..RewriteOptions::default() };
    let options = match pass {
        None => ProgramOptions::default(),
        Some("rewrites") => ProgramOptions::NONE,
        Some("constants") => ProgramOptions { constants: true, ..ProgramOptions::NONE },
        Some("inlining") => ProgramOptions { inlining: true, ..ProgramOptions::NONE },
        Some("motion") => ProgramOptions { motion: true, ..ProgramOptions::NONE },
        Some(other) => return Err(format!("`{other}` is no pass")),
    };
    let results = assigned_variables(&program);
    let mut simplify_dags = |dags: &mut [HopDag]| dags.iter_mut().for_each(|dag| *dag = simplify(dag, &rewrites));
    let result = simplify_program(&mut program, &SizeEnvironment::new(), &results, options, &mut simplify_dags);
    let wrong = program.verify();
    match (result, wrong) {
        (Ok(()), Ok(())) => Ok(format!("{program}\n")),
        (Err(error), _) => Ok(format!("error: {error}\n")),
        (_, Err(errors)) => Err(format!("{errors}\nin\n{program}")),
    }
}

/// The memo table after exploration.
fn explore(input: &Input<'_>) -> Result<String, String> {
    each_fused_dag(input, explain_memo)
}

/// Plan partitions and interesting points.
fn partition(input: &Input<'_>) -> Result<String, String> {
    each_fused_dag(input, explain_partitions)
}

/// The chosen covers.
fn select(input: &Input<'_>) -> Result<String, String> {
    each_fused_dag(input, explain_plan)
}

/// The chosen plan with the reasons for it.
fn reasons(input: &Input<'_>) -> Result<String, String> {
    each_fused_dag(input, explain_reasons)
}

/// The CPlans of the chosen covers, of operators that start alike.
fn cplan(input: &Input<'_>) -> Result<String, String> {
    each_fused_dag(input, |dag, options| {
        let model = CostModel::new(starts::alike(options.model.machine.clone()));
        explain_cplans(dag, &OptimizerOptions { model, ..options.clone() })
    })
}

/// What operators cost unfused, and what the chosen plan costs.
fn cost(input: &Input<'_>) -> Result<String, String> {
    each_fused_dag(input, costs::explain)
}

/// A stage of fusion with the default cost model, whatever the machine. Options: `policy=`, and `strict=true` for strict
/// IEEE semantics.
fn each_fused_dag(input: &Input<'_>, explain: impl Fn(&HopDag, &OptimizerOptions) -> String) -> Result<String, String> {
    each_optimized_dag(input, &[], explain)
}

/// The same of a stage that has these options of its own.
fn each_optimized_dag(
    input: &Input<'_>,
    own: &[&str],
    explain: impl Fn(&HopDag, &OptimizerOptions) -> String,
) -> Result<String, String> {
    let mut options = OptimizerOptions::default();
    for (&name, &value) in input.options.iter().filter(|(name, _)| !own.contains(name)) {
        match name {
            "policy" => options.policy = value.parse()?,
            "strict" => options.template_limits.strict_ieee = value == "true",
            _ => return Err(format!("`{name}` is no option of the stage")),
        }
    }
    each_dag(input, |dag| explain(dag, &options))
}

/// What a stage says of every DAG of a file.
fn each_dag(input: &Input<'_>, explain: impl Fn(&HopDag) -> String) -> Result<String, String> {
    match Module::parse(input)? {
        Module::Dags(dags) => Ok(dags.iter().map(|(name, dag)| format!("{name}:\n{}", explain(dag))).collect()),
        Module::Plans(_) | Module::Program(_) => Err("the stage takes DAGs".to_owned()),
    }
}
