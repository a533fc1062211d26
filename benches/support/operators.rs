//! What the operators of a script take, and what was expected of them: why a mode is slow, which its time alone does not
//! say.

use fuseline::{CompileStage, Error, ExplainStage, PreparedScript, StagePrinter, Statistics};

/// Runs whose statistics are added up for an explanation.
const ROUNDS: u32 = 15;

/// What an operator took in a run, and what was expected, in seconds.
#[derive(Clone, Debug)]
pub(crate) struct Prediction {
    /// The operator as statistics name it: the kind of a basic operator, the template of a fused one.
    pub(crate) operator: String,
    pub(crate) measured: f64,
    pub(crate) predicted: f64,
}

/// The plan of a script that was not run yet, if it is wanted, and what its operators take.
pub(crate) fn explanation(mode: &str, script: &mut PreparedScript<'_>, with_plan: bool) -> Result<String, Error> {
    let mut printer = StagePrinter::new(ExplainStage::Plan);
    let mut observe = |stage: CompileStage<'_>| {
        if with_plan {
            printer.observe(&stage);
        }
    };
    script.execute_observed(&mut std::io::sink(), &mut observe)?;
    Ok(printer.take() + &operators_text(mode, operators_of(script, ROUNDS)?))
}

/// The operators of a script that ran before, with what they take in a run: the mean of so many.
pub(crate) fn operators_of(script: &mut PreparedScript<'_>, rounds: u32) -> Result<Vec<Prediction>, Error> {
    let mut statistics = Statistics::default();
    for _ in 0..rounds {
        statistics.merge(script.execute(&mut std::io::sink())?.statistics);
    }
    let in_a_run = |seconds: f64| seconds / f64::from(rounds);
    let operators = statistics.heavy_hitters.into_iter().map(|(operator, hitter)| Prediction {
        operator,
        measured: in_a_run(hitter.seconds),
        predicted: in_a_run(hitter.predicted_seconds),
    });
    Ok(operators.collect())
}

/// What the operators of a mode took in a run, the longest first.
fn operators_text(mode: &str, mut operators: Vec<Prediction>) -> String {
    operators.sort_by(|one, other| other.measured.total_cmp(&one.measured));
    let mut text = format!("  operators of {mode} in a run:\n");
    for Prediction { operator, measured, predicted } in operators {
        text.push_str(&format!("    {operator}: {:.0} us, predicted {:.0} us\n", 1e6 * measured, 1e6 * predicted));
    }
    text
}
