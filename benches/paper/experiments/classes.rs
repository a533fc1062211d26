//! Classes of operations beyond the paper's templates, which it leaves to future work.

use super::findings::Findings;
use super::setting::Setting;
use crate::document::{Part, time};
use crate::patterns::{Measured, Pattern, measure_one, pattern};
use crate::workload::{BASE, GEN};
use crate::workloads::random;

const COLS: usize = 100;

/// An expression for each class.
const CLASSES: [(&str, &str); 5] = [
    ("cumulative", "R = sum(cumsum(X * Y) * Z)"),
    ("cbind", "R = rowSums(cbind(X * 2, Y) ^ 2)"),
    ("ternary", "R = sum(ifelse(X > 1, Y, Z) * X)"),
    ("n-ary", "R = sum(min(X, Y, Z) * 2)"),
    ("convolution-like rows", "R = rowSums((X[, 1:98] * 0.25 + X[, 2:99] * 0.5 + X[, 3:100] * 0.25) ^ 2)"),
];

/// A layer of a network over a batch of small images: eight filters, and the largest of four cells.
const LAYER: &str =
    "C = conv2d(X, W, input_shape=[nrow(X),1,28,28], filter_shape=[8,1,5,5], stride=[1,1], padding=[0,0])
P = max_pool(max(C - 12, 0), input_shape=[nrow(X),8,24,24], pool_size=[2,2], stride=[2,2], padding=[0,0])
R = rowSums(P)";

pub(super) fn run(setting: Option<Setting>, findings: &mut Findings) -> Vec<Part> {
    let measure = |setting: Setting| {
        let rows = setting.scale.of(500_000);
        let of = |(class, script)| measure_one(&expression(class, script, rows), setting.rounds);
        let mut measured = Vec::from(CLASSES.map(of));
        measured.push(measure_one(&layer(setting.scale.of(10_000)), setting.rounds));
        measured
    };
    let measured: Vec<Measured> = setting.map_or_else(Vec::new, measure);
    for class in &measured {
        findings.value("P234", "fused operators that Gen runs", class.name, class.generated as f64);
        findings.value("P234", "speed of Gen over Base", class.name, class.over_base());
    }
    section(&measured)
}

fn expression(class: &'static str, script: &'static str, rows: usize) -> Pattern {
    let on = format!("`{}`, dense, {rows} x {COLS}", script.trim_start_matches("R = "));
    pattern(class, on, random(&["X", "Y", "Z"], rows, COLS, "1"), script)
}

fn layer(images: usize) -> Pattern {
    let on = format!("`rowSums(max_pool(max(conv2d(X, W) - 12, 0)))`, dense, {images} images of 28 x 28");
    let data = random(&["X"], images, 28 * 28, "1") + &random(&["W"], 8, 25, "1");
    pattern("convolution and pooling", on, data, LAYER)
}

fn section(measured: &[Measured]) -> Vec<Part> {
    let rows = measured.iter().map(|class| {
        let [base, _, generated] = &class.times;
        vec![
            class.name.to_owned(),
            class.on.clone(),
            time(base.median()),
            time(generated.median()),
            format!("{:.0} %", 100.0 * generated.spread()),
            class.operators.clone(),
        ]
    });
    vec![
        Part::heading("More operations"),
        Part::text("An expression for each class of operations that the paper leaves to future work."),
        Part::table(&["class", "expression and data", BASE, GEN, "spread", "operators of Gen"], rows.collect()),
    ]
}
