//! Checks of one case: every tier of a mode gives the same bits, and the oracle accepts every mode.

use crate::case::{Case, Leaf, Stratum};
use crate::sessions::{Combination, GEN_MODES, Rules, Sessions, tiers};
use fuseline::{CompileStage, Mode, Outcome, RuntimeValue, Variables};
use fuseline_interp::oracle::{self, OracleValue};
use fuseline_ir::Value;
use fuseline_ir::hop::HopDag;
use fuseline_passes::explain::plan_text;
use fuseline_passes::pipeline::Stage;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The one reason for which a chosen cover may be left unfused.
const WITHOUT_MAIN_INPUT: &str = "no input can be the main input";

/// What was run and how often.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Cases and exact cases among them, by stratum.
    pub(crate) cases: BTreeMap<&'static str, (usize, usize)>,
    /// Executions of sessions.
    pub(crate) runs: usize,
    /// Executed fused operators by template and variant.
    pub(crate) fused: BTreeMap<String, u64>,
    /// Covers that were left unfused because they have nothing to iterate over: all their matrices are read by ranges of
    /// columns, or no cells drive an outer product.
    pub(crate) without_main_input: u64,
    /// Outputs of the finite strata, and the sum of their shares of tainted cells: a large output counts like a small
    /// one, or a single one would decide the mean.
    pub(crate) outputs: usize,
    pub(crate) tainted_shares: f64,
}

/// How a case fails. Shrinking keeps the kind.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    pub(crate) combination: Option<Combination>,
    pub(crate) message: String,
}

#[derive(Debug)]
pub(crate) struct Checker {
    pub(crate) sessions: Sessions,
    pub(crate) tally: Tally,
    pub(crate) llvm: bool,
}

type Expected = BTreeMap<String, OracleValue>;

impl Checker {
    pub(crate) fn new(llvm: bool) -> Self {
        Checker { sessions: Sessions::default(), tally: Tally::default(), llvm }
    }

    /// Runs a case in every mode; `seed` chooses the rules and tiers.
    pub(crate) fn check(&mut self, case: &Case, seed: u64) -> Result<(), Failure> {
        let dag = case.dag().expect("cases form DAGs");
        let rules = Rules::of_seed(seed);
        let mut expected = expected(case, &dag)?;
        if rules.strict_ieee {
            expected = expected.into_iter().map(|(name, value)| (name, value.strict_ieee())).collect();
        }
        self.count(case, &expected);
        for mode in [Mode::Base].into_iter().chain(GEN_MODES) {
            let mut first: Option<(Combination, Outcome)> = None;
            for tier in tiers(seed, mode, self.llvm) {
                let combination = Combination { mode, tier, rules };
                let outcome = self.run(case, &dag, combination)?;
                match &first {
                    Some((other, reference)) => {
                        same_bits(case, &reference.variables, &outcome.variables).map_err(|message| {
                            failure(FailureKind::Tiers, combination, format!("unlike {other}: {message}"))
                        })?;
                    }
                    None => {
                        accepted(&expected, &outcome.variables)
                            .map_err(|message| failure(FailureKind::Plans, combination, message))?;
                        first = Some((combination, outcome));
                    }
                }
            }
        }
        Ok(())
    }

    fn run(&mut self, case: &Case, dag: &HopDag, combination: Combination) -> Result<Outcome, Failure> {
        let variables: Variables = case.inputs().map(|(name, leaf)| (name, runtime_value(leaf))).collect();
        let session = self.sessions.get(combination);
        match catch_unwind(AssertUnwindSafe(|| session.run_dag(dag, variables))) {
            Ok(Ok(outcome)) => {
                self.tally.runs += 1;
                for (name, count) in &outcome.statistics.fused_operators {
                    *self.tally.fused.entry(name.clone()).or_default() += count;
                }
                for (reason, count) in &outcome.statistics.unsupported {
                    if !reason.starts_with(WITHOUT_MAIN_INPUT) {
                        return Err(failure(FailureKind::Unsupported, combination, reason.clone()));
                    }
                    self.tally.without_main_input += count;
                }
                Ok(outcome)
            }
            Ok(Err(error)) => Err(failure(FailureKind::Error, combination, error.to_string())),
            Err(panic) => {
                self.sessions.discard(combination);
                let text = panic.downcast_ref::<String>().map(String::as_str);
                let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic");
                Err(failure(FailureKind::Panic, combination, text.to_owned()))
            }
        }
    }

    fn count(&mut self, case: &Case, expected: &Expected) {
        let is_exact = expected.values().all(|value| match value {
            OracleValue::Matrix(matrix) => matrix.is_exact(),
            OracleValue::Scalar(cell) => cell.is_exact(),
            OracleValue::Text(_) => true,
        });
        let (cases, exact) = self.tally.cases.entry(case.stratum.name()).or_default();
        *cases += 1;
        *exact += usize::from(is_exact);
        if case.stratum == Stratum::NonFinite {
            return;
        }
        for value in expected.values() {
            let cells = match value {
                OracleValue::Matrix(matrix) => &matrix.cells[..],
                OracleValue::Scalar(cell) => std::slice::from_ref(cell),
                OracleValue::Text(_) => &[],
            };
            let tainted = cells.iter().filter(|cell| cell.is_tainted()).count();
            self.tally.outputs += 1;
            self.tally.tainted_shares += tainted as f64 / cells.len().max(1) as f64;
        }
    }

    /// The rewritten DAG, the plan and its CPlans in one combination.
    pub(crate) fn explain(&mut self, case: &Case, combination: Combination) -> String {
        let dag = case.dag().expect("cases form DAGs");
        let session = self.sessions.get(combination);
        let mut text = String::new();
        let mut observer = |stage: CompileStage<'_>| {
            let _ = match stage {
                CompileStage::Rewritten(dag) => writeln!(text, "{}", dag.display_named("rewritten")),
                CompileStage::Fusion(Stage::Selected(_, plan)) => writeln!(text, "{}", plan_text(plan)),
                CompileStage::Fusion(Stage::Constructed(_, plans, _)) => {
                    plans.iter().try_for_each(|plan| writeln!(text, "{}", plan.cplan))
                }
                _ => Ok(()),
            };
        };
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| session.compile_dag(&dag, &mut observer))) {
            drop(panic);
            self.sessions.discard(combination);
        }
        text
    }
}

fn failure(kind: FailureKind, combination: Combination, message: String) -> Failure {
    Failure { kind, combination: Some(combination), message }
}

fn expected(case: &Case, dag: &HopDag) -> Result<Expected, Failure> {
    let given = |leaf: &Leaf| match leaf {
        Leaf::Matrix(block) => OracleValue::from(block),
        Leaf::Scalar(value) | Leaf::Literal(value) => OracleValue::from(&Value::F64(*value)),
    };
    let inputs: Expected = case.inputs().map(|(name, leaf)| (name, given(leaf))).collect();
    let failure = |message| Failure { kind: FailureKind::Oracle, combination: None, message };
    match catch_unwind(AssertUnwindSafe(|| oracle::evaluate(dag, &inputs))) {
        Ok(result) => result.map_err(|error| failure(error.to_string())),
        Err(_) => Err(failure("the oracle panicked".to_owned())),
    }
}

fn runtime_value(leaf: &Leaf) -> RuntimeValue {
    match leaf {
        Leaf::Matrix(block) => RuntimeValue::Matrix(block.clone()),
        Leaf::Scalar(value) | Leaf::Literal(value) => RuntimeValue::from(*value),
    }
}

fn accepted(expected: &Expected, actual: &Variables) -> Result<(), String> {
    for (name, expected) in expected {
        let actual = actual.get(name).ok_or_else(|| format!("{name} is missing"))?;
        let result = match actual {
            RuntimeValue::Matrix(block) => expected.accepts(block),
            RuntimeValue::Scalar(value) => expected.accepts_scalar(value),
        };
        result.map_err(|mismatch| format!("{name}: {mismatch}"))?;
    }
    Ok(())
}

/// All NaN are one value here: payloads are not specified.
fn bits(value: f64) -> u64 {
    if value.is_nan() { f64::NAN.to_bits() } else { value.to_bits() }
}

fn same_bits(case: &Case, left: &Variables, right: &Variables) -> Result<(), String> {
    for position in 0..case.outputs.len() {
        let name = format!("o{position}");
        match (&left[&name], &right[&name]) {
            (RuntimeValue::Matrix(left), RuntimeValue::Matrix(right)) => {
                if (left.dims(), left.is_sparse()) != (right.dims(), right.is_sparse()) {
                    return Err(format!(
                        "{name} has dimensions {:?} and {:?} or different formats",
                        left.dims(),
                        right.dims()
                    ));
                }
                let (left_cells, right_cells) = (left.to_dense(), right.to_dense());
                let pairs = left_cells.values().iter().zip(right_cells.values());
                for (position, (&x, &y)) in pairs.enumerate() {
                    if bits(x) != bits(y) {
                        let (row, col) = (position / left.cols(), position % left.cols());
                        return Err(format!("{name}, cell ({row}, {col}): {x:e} and {y:e}"));
                    }
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
