//! Checks of one case: every tier of a plan gives the same bits, and the oracle accepts every plan.

use super::case::{Case, Expected};
use super::configuration::{Configuration, Plan, Sessions};
use super::tally::Tally;
use fuseline::{CompileStage, Outcome, RuntimeValue, Variables};
use fuseline_interp::oracle::OracleValue;
use fuseline_ir::hop::HopDag;
use fuseline_passes::explain::plan_text;
use fuseline_passes::pipeline::Stage;
use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// How a case fails. Shrinking keeps the kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FailureKind {
    Oracle,
    Panic,
    Error,
    Tiers,
    Plans,
    /// A chosen cover that cannot be constructed or compiled.
    Unsupported,
}

#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) kind: FailureKind,
    pub(crate) configuration: Option<Configuration>,
    pub(crate) message: String,
}

/// Sessions, and what they ran.
#[derive(Debug, Default)]
pub(crate) struct Checker {
    pub(crate) sessions: Sessions,
    pub(crate) tally: Tally,
}

impl Checker {
    /// Runs a case in these configurations, of which those of one plan are neighbours.
    pub(crate) fn check(
        &mut self,
        case: &Case,
        expected: &Expected,
        configurations: &[Configuration],
    ) -> Result<(), Failure> {
        let dag = case.dag().expect("cases form DAGs");
        let variables = case.variables();
        for tiers in configurations.chunk_by(|one, other| (one.plan, one.rules) == (other.plan, other.rules)) {
            let mut first: Option<(Configuration, Outcome)> = None;
            for (tier, &configuration) in tiers.iter().enumerate() {
                // Every other tier reads narrow values, which must make no difference.
                let variables = if tier % 2 == 1 { case.narrow_variables() } else { variables.clone() };
                let outcome = self.run(&dag, variables, configuration)?;
                let Some((other, reference)) = &first else {
                    accepted(expected, &outcome.variables, configuration.rules.strict_ieee)
                        .map_err(|message| failure(FailureKind::Plans, configuration, message))?;
                    first = Some((configuration, outcome));
                    continue;
                };
                same_bits(expected, &reference.variables, &outcome.variables).map_err(|message| {
                    failure(FailureKind::Tiers, configuration, format!("unlike {other}: {message}"))
                })?;
            }
        }
        Ok(())
    }

    /// As [`Checker::check`], with the oracle's values computed first.
    pub(crate) fn check_case(&mut self, case: &Case, configurations: &[Configuration]) -> Result<(), Failure> {
        let oracle = |message: String| Failure { kind: FailureKind::Oracle, configuration: None, message };
        let dag = case.dag().ok_or_else(|| oracle("the shapes do not fit".to_owned()))?;
        let expected = case.expected(&dag).map_err(|error| oracle(error.to_string()))?;
        self.check(case, &expected, configurations)
    }

    fn run(&mut self, dag: &HopDag, variables: Variables, configuration: Configuration) -> Result<Outcome, Failure> {
        let session = self.sessions.get(configuration);
        let reads_sparse = variables.values().any(is_sparse);
        match catch_unwind(AssertUnwindSafe(|| session.run_dag(dag, variables))) {
            Ok(Ok(outcome)) => {
                self.count(configuration, &outcome, reads_sparse);
                match outcome.statistics.unsupported.keys().next() {
                    // A random plan may hold what no policy chooses.
                    Some(reason) if !matches!(configuration.plan, Plan::Random(_)) => {
                        Err(failure(FailureKind::Unsupported, configuration, reason.clone()))
                    }
                    _ => Ok(outcome),
                }
            }
            Ok(Err(error)) => Err(failure(FailureKind::Error, configuration, error.to_string())),
            Err(panic) => {
                self.sessions.discard(configuration);
                let text = panic.downcast_ref::<String>().map(String::as_str);
                let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic");
                Err(failure(FailureKind::Panic, configuration, text.to_owned()))
            }
        }
    }

    fn count(&mut self, configuration: Configuration, outcome: &Outcome, reads_sparse: bool) {
        self.tally.execution(configuration);
        for (name, &count) in &outcome.statistics.fused_operators {
            if configuration.plan == Plan::HandCoded {
                self.tally.add("hand-coded", name.clone(), count);
                continue;
            }
            let template = name.split(' ').next().unwrap_or_default();
            self.tally.add("template", template, count);
            if template == "row" && reads_sparse {
                self.tally.add("rows beside sparse inputs", format!("{:?}", configuration.tier.backend), count);
            }
            self.tally.add("variant", name.clone(), count);
        }
        for (reason, &count) in &outcome.statistics.unsupported {
            self.tally.add("rejected", reason.clone(), count);
        }
    }

    /// The rewritten DAG, the plan and its CPlans in one configuration.
    pub(crate) fn explain(&mut self, case: &Case, configuration: Configuration) -> String {
        let Some(dag) = case.dag() else { return String::new() };
        let session = self.sessions.get(configuration);
        let mut text = String::new();
        let mut observer = |stage: CompileStage<'_>| {
            let _ = match stage {
                CompileStage::Rewritten(dag, _) => writeln!(text, "{}", dag.display_named("rewritten")),
                CompileStage::Fusion(Stage::Replaced(dag)) if configuration.plan == Plan::HandCoded => {
                    writeln!(text, "{}", dag.display_named("hand_coded"))
                }
                CompileStage::Fusion(Stage::Selected(selection)) => writeln!(text, "{}", plan_text(selection.plan)),
                CompileStage::Fusion(Stage::Constructed(_, plans, _)) => {
                    plans.iter().try_for_each(|plan| writeln!(text, "{}", plan.cplan))
                }
                _ => Ok(()),
            };
        };
        if catch_unwind(AssertUnwindSafe(|| session.compile_dag(&dag, &mut observer))).is_err() {
            self.sessions.discard(configuration);
        }
        text
    }
}

fn is_sparse(value: &RuntimeValue) -> bool {
    matches!(value, RuntimeValue::Matrix(block) if block.format().is_sparse())
}

fn failure(kind: FailureKind, configuration: Configuration, message: String) -> Failure {
    Failure { kind, configuration: Some(configuration), message }
}

/// Whether the oracle accepts all outputs.
pub(crate) fn accepted(expected: &Expected, actual: &Variables, strict_ieee: bool) -> Result<(), String> {
    for (name, expected) in expected {
        let actual = actual.get(name).ok_or_else(|| format!("{name} is missing"))?;
        let strict = strict_ieee.then(|| expected.clone().strict_ieee());
        let expected: &OracleValue = strict.as_ref().unwrap_or(expected);
        let result = match actual {
            RuntimeValue::Matrix(block)
                if block.is_nan_free() && block.to_dense().values().iter().any(|x| x.is_nan()) =>
            {
                return Err(format!("{name} has NaN, and notes that it has none"));
            }
            RuntimeValue::Matrix(block) => expected.accepts(block),
            RuntimeValue::Scalar(value) => expected.accepts_scalar(value),
            RuntimeValue::List(_) | RuntimeValue::Frame(_) => {
                unreachable!("generated operators give matrices and scalars")
            }
        };
        result.map_err(|mismatch| format!("{name}: {mismatch}"))?;
    }
    Ok(())
}

/// All NaN are one value here: payloads are not specified.
fn bits(value: f64) -> u64 {
    if value.is_nan() { f64::NAN.to_bits() } else { value.to_bits() }
}

fn same_bits(expected: &Expected, left: &Variables, right: &Variables) -> Result<(), String> {
    for name in expected.keys() {
        match (&left[name], &right[name]) {
            (RuntimeValue::Matrix(left), RuntimeValue::Matrix(right)) => {
                let facts = |block: &fuseline::MatrixBlock| (block.dims(), block.format());
                if facts(left) != facts(right) {
                    return Err(format!("{name}: {:?} and {:?}", facts(left), facts(right)));
                }
                let (left_cells, right_cells) = (left.to_dense(), right.to_dense());
                let mut pairs = left_cells.values().iter().zip(right_cells.values());
                if let Some(position) = pairs.position(|(&x, &y)| bits(x) != bits(y)) {
                    let (row, col) = (position / left.cols(), position % left.cols());
                    let (x, y) = (left.get(row, col), right.get(row, col));
                    return Err(format!("{name}, cell ({row}, {col}): {x:e} and {y:e}"));
                }
            }
            (RuntimeValue::Scalar(left), RuntimeValue::Scalar(right)) => {
                let (x, y) = (left.as_f64().unwrap_or(f64::NAN), right.as_f64().unwrap_or(f64::NAN));
                if bits(x) != bits(y) {
                    return Err(format!("{name}: {x:e} and {y:e}"));
                }
            }
            _ => return Err(format!("{name} is a matrix and a scalar")),
        }
    }
    Ok(())
}
