//! Predicted over measured times as a plot.

use super::Point;
use crate::document::Part;
use crate::points;
use std::collections::BTreeMap;

pub(super) fn plot(measured: &[Point]) -> Part {
    let mut classes: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
    for point in measured {
        let template = point.class.split(',').next().unwrap_or_default();
        classes.entry(template.to_owned()).or_default().push((point.times.measured, point.times.predicted));
    }
    let (series, points): (Vec<String>, Vec<Vec<(f64, f64)>>) = classes.into_iter().unzip();
    let title = "Predicted over measured seconds of operators".to_owned();
    let svg = points::plot(&title, ["measured", "predicted"], &series, &points);
    Part::Plot { name: "model".into(), title, svg }
}
