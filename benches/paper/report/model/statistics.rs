//! How well predictions fit: relative errors and rank correlation.

/// What the cost model predicts of an operator, and what it takes, in seconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    pub(super) predicted: f64,
    pub(super) measured: f64,
}

impl Pair {
    /// Predicted over measured time: below 1 the model was too hopeful.
    pub(super) fn ratio(self) -> f64 {
        self.predicted / self.measured
    }

    pub(super) fn error(self) -> f64 {
        (self.ratio() - 1.0).abs()
    }
}

/// The value below which this share of the values lies.
pub(super) fn quantile(values: impl Iterator<Item = f64>, share: f64) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[((values.len() - 1) as f64 * share).round() as usize]
}

/// Spearman's rank correlation of predicted and measured times.
pub(super) fn rank_correlation(pairs: &[Pair]) -> f64 {
    let predicted = ranks(pairs.iter().map(|pair| pair.predicted));
    let measured = ranks(pairs.iter().map(|pair| pair.measured));
    let mean = (pairs.len() as f64 - 1.0) / 2.0;
    let product = |one: &[f64], other: &[f64]| -> f64 {
        one.iter().zip(other).map(|(one, other)| (one - mean) * (other - mean)).sum()
    };
    product(&predicted, &measured) / (product(&predicted, &predicted) * product(&measured, &measured)).sqrt()
}

/// The place of each value in ascending order; equal values share the mean of theirs.
fn ranks(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let values: Vec<f64> = values.collect();
    let below = |value: f64| values.iter().filter(|&&other| other < value).count() as f64;
    let equal = |value: f64| values.iter().filter(|&&other| other == value).count() as f64;
    values.iter().map(|&value| below(value) + (equal(value) - 1.0) / 2.0).collect()
}
