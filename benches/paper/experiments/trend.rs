//! How times grow with the number of classes or centroids: flat while memory decides, then in proportion.

/// The number from which on times grow: where a constant and a proportional part meet that together fit the times best,
/// by relative error. Points are numbers with times, the numbers ascending.
pub(crate) fn knee(points: &[(f64, f64)]) -> f64 {
    let fit = |split: usize| {
        let (flat, growing) = points.split_at(split);
        let constant = geometric_mean(flat.iter().map(|(_, time)| *time));
        let slope = geometric_mean(growing.iter().map(|(number, time)| time / number));
        let errors = points.iter().map(|(number, time)| (time / constant.max(slope * number)).ln().powi(2));
        (errors.sum::<f64>(), constant / slope)
    };
    let fits = (1..points.len()).map(fit);
    fits.min_by(|(one, _), (other, _)| one.total_cmp(other)).map_or(f64::NAN, |(_, knee)| knee)
}

/// Times over those of the line through them that fits best, by relative error: a constant part and one in proportion.
pub(crate) fn over_trend(points: &[(f64, f64)]) -> Vec<f64> {
    // Least squares of (constant + slope * number) / time - 1.
    let sum = |of: fn(f64, f64) -> f64| points.iter().map(|&(number, time)| of(number, time)).sum::<f64>();
    let (a, b, c) = (
        sum(|_, time| 1.0 / (time * time)),
        sum(|number, time| number / (time * time)),
        sum(|number, time| number * number / (time * time)),
    );
    let (right, lower) = (sum(|_, time| 1.0 / time), sum(|number, time| number / time));
    let determinant = a * c - b * b;
    let (constant, slope) = ((right * c - b * lower) / determinant, (a * lower - b * right) / determinant);
    points.iter().map(|(number, time)| time / (constant + slope * number)).collect()
}

/// The mean of ratios.
pub(crate) fn geometric_mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value.ln(), count + 1.0));
    (sum / count).exp()
}
