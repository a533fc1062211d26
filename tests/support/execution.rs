//! The subtests that compile and run DAGs through sessions.

use crate::filetest::Input;
use crate::stages::Module;
use crate::starts;
use fuseline::{
    BackendKind, CompileOptions, CompileStage, CpuFeatures, Dense, MatrixBlock, Mode, Outcome, PrimitiveMode,
    RuntimeValue, Session, Variables,
};
use fuseline_interp::oracle::{self, OracleValue};
use fuseline_ir::hop::{HopDag, HopOp};
use fuseline_ir::{SizeInfo, Value};
use fuseline_passes::explain::{operator_legend, plan_text};
use fuseline_passes::machine::Machine;
use fuseline_passes::pipeline::{Selection, Stage};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::collections::BTreeMap;
use std::fmt::Write;

fn dags(input: &Input<'_>) -> Result<Vec<(String, HopDag)>, String> {
    match Module::parse(input)? {
        Module::Dags(dags) => Ok(dags),
        Module::Plans(_) | Module::Program(_) => Err("the stage takes DAGs".to_owned()),
    }
}

/// Options with a backend, which plan for the same registers wherever the test runs.
fn with_backend(backend: BackendKind) -> CompileOptions {
    let options = CompileOptions::default();
    let machine = Machine { threads: options.machine.threads, ..Machine::default() };
    CompileOptions { backend, machine: starts::alike(machine), ..options }
}

/// The fusion plans of a script's blocks, for one machine wherever the test runs. Options: `mode=`, and those of the script.
pub(crate) fn plan(input: &Input<'_>) -> Result<String, String> {
    let mode = match input.options.get("mode").copied() {
        None | Some("gen") => Mode::Gen,
        Some("gen-fa") => Mode::GenFuseAll,
        Some("gen-fnr") => Mode::GenFuseNoRedundancy,
        Some(other) => return Err(format!("unknown option mode={other}")),
    };
    let machine = Machine::default();
    let options = CompileOptions { mode, machine, backend: BackendKind::Interp, ..CompileOptions::default() };
    let session = Session::new(options).map_err(|error| error.to_string())?;
    let arguments: Vec<(&str, &str)> = input.options.iter().map(|(&name, &value)| (name, value)).collect();
    let name = input.path.display().to_string();
    let script = session.compile_script(&name, input.text, &arguments).map_err(|error| error.to_string())?;
    let mut texts: BTreeMap<usize, String> = BTreeMap::new();
    let observe = &mut |block, stage: CompileStage<'_>| {
        if let CompileStage::Fusion(Stage::Selected(Selection { context, plan, .. })) = stage {
            let text = plan_text(plan) + &operator_legend(context.dag, plan);
            texts.entry(block).or_default().push_str(&text);
        }
    };
    session.compile_blocks(&script.for_effects(), observe).map_err(|error| error.to_string())?;
    let texts = texts.iter().filter(|(_, text)| !text.is_empty());
    Ok(texts.map(|(block, text)| format!("# block {block}\n{text}")).collect())
}

/// Per operator the vector primitives that its code calls. The lines `# check: TEXT` must occur in the modules, in this
/// order, and `# not: TEXT` nowhere. Options: `prims=shared|inlined`. The code is that for AVX2, so that
/// machines agree.
pub(crate) fn llvm(input: &Input<'_>) -> Result<String, String> {
    let primitives = match input.options.get("prims").copied() {
        None => PrimitiveMode::Auto,
        Some("shared") => PrimitiveMode::Shared,
        Some("inlined") => PrimitiveMode::Inlined,
        Some(other) => return Err(format!("unknown option prims={other}")),
    };
    let options =
        CompileOptions { primitives, cpu: CpuFeatures::Avx2, keep_code: true, ..with_backend(BackendKind::Llvm) };
    let session = Session::new(options).map_err(|error| error.to_string())?;
    let (mut text, mut modules, mut seen) = (String::new(), String::new(), Vec::new());
    for (name, dag) in dags(input)? {
        writeln!(text, "{name}:").expect("strings take writes");
        let mut observe = |stage: CompileStage<'_>| {
            let CompileStage::Operator(operator, compiled) = stage else { return };
            let variant = compiled.plan().variant;
            let symbols = compiled.info.called_symbols.join(" ");
            writeln!(text, "  {} {}: {symbols}", variant.template(), variant.mnemonic()).expect("strings take writes");
            if !seen.contains(&operator) {
                seen.push(operator);
                modules.push_str(compiled.info.llvm_ir.as_deref().unwrap_or_default());
            }
        };
        session.compile_dag(&dag, &mut observe).map_err(|error| error.to_string())?;
    }
    check_module(input.text, &modules)?;
    Ok(text)
}

/// Checks the `# check:` and `# not:` lines of a file.
fn check_module(text: &str, module: &str) -> Result<(), String> {
    let mut rest = module;
    for line in text.lines() {
        if let Some(wanted) = line.strip_prefix("# check:").map(str::trim) {
            let position = rest.find(wanted).ok_or_else(|| format!("`{wanted}` does not follow in\n{module}"))?;
            rest = &rest[position + wanted.len()..];
        }
        if let Some(unwanted) = line.strip_prefix("# not:").map(str::trim)
            && module.contains(unwanted)
        {
            return Err(format!("`{unwanted}` occurs in\n{module}"));
        }
    }
    Ok(())
}

/// Runs a script (`.dml`) in every mode, on every backend and on one and three threads: all must print the same, which is
/// the output.
fn run_script(input: &Input<'_>) -> Result<String, String> {
    let name = input.path.display().to_string();
    let mut first: Option<String> = None;
    for (mode, label) in MODES {
        for backend in backends() {
            for threads in [1, 3] {
                let label = format!("{label}: {backend:?} on {threads} threads");
                let session = Session::new(CompileOptions { mode: *mode, threads, ..with_backend(backend) });
                let session = session.map_err(|error| error.to_string())?;
                let mut printed = Vec::new();
                session
                    .compile_script(&name, input.text, &[])
                    .and_then(|script| session.run(&script, Variables::new(), &mut printed))
                    .map_err(|error| format!("{label}: {error}"))?;
                let printed = String::from_utf8_lossy(&printed).into_owned();
                match &first {
                    Some(first) if *first != printed => {
                        return Err(format!("{label} prints\n{printed}\nand the first configuration\n{first}"));
                    }
                    Some(_) => {}
                    None => first = Some(printed),
                }
            }
        }
    }
    first.ok_or_else(|| "there is no backend".to_owned())
}

/// Runs the DAGs on random inputs of the sizes of their reads in every mode, on every backend and on one and three
/// threads. All results must be those of the oracle, and within a mode the same bits. Gives the fused operators that ran
/// in mode `gen`. Options: `min` and `max` of the random numbers (-1 and 1), and `seed`.
pub(crate) fn run(input: &Input<'_>) -> Result<String, String> {
    if input.path.extension().is_some_and(|extension| extension == "dml") {
        return run_script(input);
    }
    let generator = Generator::of(input)?;
    let mut text = String::new();
    for (name, dag) in dags(input)? {
        let variables = generator.inputs(&dag);
        let expected = expected(&dag, &variables)?;
        for (mode, label) in MODES {
            let outcome =
                run_mode(&dag, &variables, &expected, *mode).map_err(|error| format!("{name}: {label}: {error}"))?;
            if *mode == Mode::Gen {
                let operators = &outcome.statistics.fused_operators;
                let operators: Vec<String> =
                    operators.iter().map(|(name, count)| format!("{name} x {count}")).collect();
                writeln!(text, "{name}: {}", operators.join(", ")).expect("strings take writes");
            }
        }
    }
    Ok(text)
}

const MODES: &[(Mode, &str)] = &[
    (Mode::Base, "base"),
    (Mode::Fused, "fused"),
    (Mode::Gen, "gen"),
    (Mode::GenFuseAll, "gen-fa"),
    (Mode::GenFuseNoRedundancy, "gen-fnr"),
];

/// Runs a mode in all configurations; gives the first outcome.
fn run_mode(
    dag: &HopDag,
    variables: &Variables,
    expected: &BTreeMap<String, OracleValue>,
    mode: Mode,
) -> Result<Outcome, String> {
    let mut first: Option<Outcome> = None;
    for backend in backends() {
        for threads in [1, 3] {
            let label = format!("{backend:?} on {threads} threads");
            let session = Session::new(CompileOptions { mode, threads, ..with_backend(backend) });
            let session = session.map_err(|error| error.to_string())?;
            let outcome = session.run_dag(dag, variables.clone()).map_err(|error| format!("{label}: {error}"))?;
            check_values(expected, &outcome.variables).map_err(|error| format!("{label}: {error}"))?;
            match &first {
                Some(first) if bits(&first.variables) != bits(&outcome.variables) => {
                    return Err(format!("{label} gives other bits than the first configuration"));
                }
                Some(_) => {}
                None => first = Some(outcome),
            }
        }
    }
    first.ok_or_else(|| "there is no backend".to_owned())
}

fn backends() -> impl Iterator<Item = BackendKind> {
    let has_llvm = cfg!(feature = "llvm");
    [BackendKind::Interp].into_iter().chain(has_llvm.then_some(BackendKind::Llvm))
}

fn expected(dag: &HopDag, variables: &Variables) -> Result<BTreeMap<String, OracleValue>, String> {
    let given = |value: &RuntimeValue| match value {
        RuntimeValue::Matrix(block) => OracleValue::from(block),
        RuntimeValue::Scalar(scalar) => OracleValue::from(scalar),
        RuntimeValue::List(_) | RuntimeValue::Frame(_) => unreachable!("the generator makes matrices and numbers"),
    };
    let inputs = variables.iter().map(|(name, value)| (name.clone(), given(value))).collect();
    oracle::evaluate(dag, &inputs).map_err(|error| error.to_string())
}

fn check_values(expected: &BTreeMap<String, OracleValue>, actual: &Variables) -> Result<(), String> {
    for (name, expected) in expected {
        let result = match actual.get(name) {
            Some(RuntimeValue::Matrix(block)) => expected.accepts(block),
            Some(RuntimeValue::Scalar(scalar)) => expected.accepts_scalar(scalar),
            Some(RuntimeValue::List(_) | RuntimeValue::Frame(_)) => continue,
            None => return Err(format!("{name} has no value")),
        };
        result.map_err(|mismatch| format!("{name}: {mismatch}"))?;
    }
    Ok(())
}

/// The bits of all numbers, by variable.
fn bits(variables: &Variables) -> Vec<(&str, Vec<u64>)> {
    let of = |value: &RuntimeValue| match value {
        RuntimeValue::Matrix(block) => block.to_dense().values().iter().map(|value| value.to_bits()).collect(),
        other => other.as_f64().map(f64::to_bits).into_iter().collect(),
    };
    variables.iter().map(|(name, value)| (name.as_str(), of(value))).collect()
}

/// Makes inputs for DAGs.
struct Generator {
    seed: u64,
    min: f64,
    max: f64,
}

impl Generator {
    fn of(input: &Input<'_>) -> Result<Self, String> {
        let mut generator = Generator { seed: 1, min: -1.0, max: 1.0 };
        for (&key, value) in &input.options {
            let wrong = |_| format!("{key} is a number, not {value}");
            match key {
                "seed" => generator.seed = value.parse().map_err(|_| format!("{key} is an integer, not {value}"))?,
                "min" => generator.min = value.parse().map_err(wrong)?,
                "max" => generator.max = value.parse().map_err(wrong)?,
                _ => return Err(format!("unknown option {key}")),
            }
        }
        Ok(generator)
    }

    fn inputs(&self, dag: &HopDag) -> Variables {
        let mut random = Pcg64Mcg::seed_from_u64(self.seed);
        let mut variables = Variables::new();
        for hop in dag.hops.values() {
            if let HopOp::Read(name) = &hop.op {
                let value = match hop.size {
                    size if hop.is_matrix() => RuntimeValue::Matrix(self.matrix(&mut random, size)),
                    _ => RuntimeValue::Scalar(Value::F64(self.number(&mut random))),
                };
                variables.insert(name.clone(), value);
            }
        }
        variables
    }

    fn number(&self, random: &mut Pcg64Mcg) -> f64 {
        random.random_range(self.min..self.max)
    }

    /// A matrix of this size, stored in the format that is best for its number of non-zeros.
    fn matrix(&self, random: &mut Pcg64Mcg, size: SizeInfo) -> MatrixBlock {
        let (rows, cols) = size.known_dims().expect("reads of file tests have sizes");
        let density = size.sparsity();
        let dense = Dense::from_fn(rows as usize, cols as usize, |_, _| {
            let value = self.number(random);
            if random.random_bool(density) { value } else { 0.0 }
        });
        MatrixBlock::from(dense).in_best_format()
    }
}
