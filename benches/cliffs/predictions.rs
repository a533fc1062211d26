//! How the times of operators compare with what the cost model expects of them (section 4.3).
//!
//! A plan is chosen by comparing costs, so it does no harm where all operators take one and a half times as long as expected;
//! it does where those of one kind do, and those of another less.

use crate::operators::Prediction;
use std::collections::BTreeMap;
use std::fmt::Write;

impl Prediction {
    pub(crate) fn text(&self, mode: &str) -> String {
        let Prediction { operator, measured, predicted } = self;
        format!("{mode} {operator}: {:.1} us, predicted {:.1} us", 1e6 * measured, 1e6 * predicted)
    }

    fn ratio(&self) -> f64 {
        self.measured / self.predicted
    }
}

/// A line for each kind of operator, those that took most of the time first: how often it was measured, its share of the time
/// of all operators, and the quartiles of its times over what was expected.
pub(crate) fn predictions_text(predictions: &[Prediction]) -> String {
    let mut kinds: BTreeMap<&str, Vec<&Prediction>> = BTreeMap::new();
    for prediction in predictions.iter().filter(|prediction| prediction.predicted > 0.0) {
        kinds.entry(&prediction.operator).or_default().push(prediction);
    }
    let seconds = |kind: &[&Prediction]| kind.iter().map(|prediction| prediction.measured).sum::<f64>();
    let all: f64 = kinds.values().map(|kind| seconds(kind)).sum();
    let mut kinds: Vec<_> = kinds.into_iter().collect();
    kinds.sort_by(|(_, one), (_, other)| seconds(other).total_cmp(&seconds(one)));
    let mut text = format!("{:<32}{:>8}{:>8}   measured over predicted, quartiles\n", "operator", "times", "share");
    for (operator, kind) in kinds {
        let share = 100.0 * seconds(&kind) / all;
        let mut ratios: Vec<f64> = kind.iter().map(|prediction| prediction.ratio()).collect();
        ratios.sort_by(f64::total_cmp);
        let [low, middle, high] = [1, 2, 3].map(|quarter| ratios[(ratios.len() - 1) * quarter / 4]);
        let _ = writeln!(text, "{operator:<32}{:>8}{share:>6.1} %   {low:.2} {middle:.2} {high:.2}", ratios.len());
    }
    text
}
