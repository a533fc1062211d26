//! The main job: a support vector machine trained on real data, in every configuration.

use crate::command::{BACKENDS, Folder, fuseline};
use std::collections::BTreeMap;

const SCRIPT: &str = "examples/l2svm.dml";
const DATA: &str = "data=examples/data/breast_cancer.csv";

/// What the job printed and the model that it wrote.
struct Trained {
    output: String,
    model: String,
}

impl Trained {
    fn objectives(&self) -> Vec<f64> {
        let numbers = self.output.lines().filter_map(|line| line.split_once("objective = "));
        numbers.map(|(_, number)| number.parse().expect("an objective is a number")).collect()
    }

    fn accuracy(&self) -> f64 {
        let line = self.output.lines().find_map(|line| line.strip_prefix("accuracy on the training data: "));
        line.expect("the accuracy is printed").parse().expect("an accuracy is a number")
    }
}

#[track_caller]
fn train(options: &[&str]) -> Trained {
    let folder = Folder::new();
    let model = format!("model={}", folder.path("model.csv").display());
    let output = fuseline(&[&["run", SCRIPT], options, &["--nvargs", DATA, &model]].concat()).quiet();
    Trained { output, model: folder.read("model.csv") }
}

#[test]
fn the_model_is_accurate_and_the_objective_falls() {
    let trained = train(&[]);
    let accuracy = trained.accuracy();
    assert!((0.97..0.995).contains(&accuracy), "{accuracy}");
    let objectives = trained.objectives();
    assert!(objectives.len() >= 5, "{objectives:?}");
    assert!(objectives.is_sorted_by(|earlier, later| later <= earlier), "{objectives:?}");
    assert_eq!(trained.model.lines().count(), 31, "a weight per feature and the intercept");
    assert!(trained.model.lines().all(|weight| weight.parse::<f64>().is_ok_and(f64::is_finite)));
}

/// The model has the same bits on all backends and numbers of threads, with calls and inline loops, with and without
/// the plan cache: in each mode.
#[test]
fn the_model_has_the_same_bits_in_every_configuration() {
    let mut models: BTreeMap<&str, Trained> = BTreeMap::new();
    for mode in ["base", "gen", "gen-fa", "gen-fnr"] {
        for backend in BACKENDS {
            for threads in ["1", "2", "3"] {
                let trained = train(&["--mode", mode, "--backend", backend, "--threads", threads]);
                let first = models.entry(mode).or_insert_with(|| train(&["--mode", mode]));
                assert_eq!(first.model, trained.model, "{mode} {backend} {threads}");
                assert_eq!(first.output, trained.output, "{mode} {backend} {threads}");
            }
        }
    }
    let reference = &models["gen"];
    for options in [
        &["--plan-cache", "off"][..],
        &["--prims", "shared"],
        &["--prims", "inlined"],
        &["--llvm-opt", "O1"],
        &["--llvm-opt", "O2"],
        &["--llvm-opt", "O3"],
        &["--enumeration", "partition"],
    ] {
        let trained = train(options);
        assert_eq!(trained.model, reference.model, "{options:?}");
    }
    for (mode, trained) in &models {
        let objectives = trained.objectives();
        assert_eq!(objectives.len(), reference.objectives().len(), "{mode}");
        for (one, other) in objectives.iter().zip(reference.objectives()) {
            assert!(((one - other) / other).abs() < 1e-9, "{mode}: {one} and {other}");
        }
        assert_eq!(trained.accuracy(), reference.accuracy(), "{mode}");
    }
}

#[test]
fn rewrites_change_no_more_than_rounding() {
    let (with, without) = (train(&[]), train(&["--no-rewrites"]));
    for (one, other) in with.objectives().iter().zip(without.objectives()) {
        assert!(((one - other) / other).abs() < 1e-9, "{one} and {other}");
    }
}

#[test]
fn generated_data_is_separated() {
    let arguments = ["--nvargs", "rows=20000", "cols=10"];
    let output = fuseline(&[&["run", SCRIPT][..], &arguments].concat()).quiet();
    let trained = Trained { output, model: String::new() };
    assert!(trained.accuracy() > 0.95, "{}", trained.output);
}
