//! `fuseline calibrate`, and `--machine`.

use crate::command::{Folder, script};
use fuseline::Machine;
use fuseline::calibrate::MachineFile;
use fuseline::io::Output;
use serde_json::{Value, json};

/// A calibration of one round; slow enough for a single test.
#[test]
fn a_calibration_is_printed_kept_and_used() {
    let folder = Folder::new();
    let finished = folder.run(&["calibrate", "--rounds", "1", "--out", "machine.json"]).success();
    for line in
        ["read memory, GB/s", "write L1 cache, GB/s", "matrix products, GFLOP/s", "compilation of a fused operator, ms"]
    {
        assert!(finished.stdout.contains(line), "{line} in {}", finished.stdout);
    }
    assert!(finished.stdout.ends_with("written to machine.json\n"), "{}", finished.stdout);
    let file: Value = serde_json::from_str(&folder.read("machine.json")).expect("calibrations are JSON");
    assert_eq!(file["version"], 12);
    let bandwidth = file["machine"]["memory"]["read"].as_f64().expect("a rate");
    assert!((1e8..1e13).contains(&bandwidth), "{bandwidth}");
    let output = folder.script("print(sum(matrix(2, 3, 3) * 2))", &["--machine", "machine.json"]).quiet();
    assert_eq!(output, "36.0\n");
}

#[test]
fn a_machine_that_is_asked_for_must_be_there() {
    let message = script("print(1)", &["--machine", "missing.json"]).message();
    assert!(message.starts_with("error: --machine missing.json: No such file"), "{message}");
    let folder = Folder::with("machine.json", "{\"version\": 99}");
    let message = folder.script("print(1)", &["--machine", "machine.json"]).message();
    assert!(message.contains("it has version 99 of the format, not 12"), "{message}");
    let message = folder.run(&["calibrate", "--out", "machine.json/inside"]).message();
    assert!(message.starts_with("error: cannot create machine.json: "), "{message}");
    let message = folder.run(&["calibrate", "--rounds", "0"]).message();
    assert!(message.contains("--rounds"), "{message}");
}

/// A cached file that is broken, or another machine's, is told and ignored.
#[test]
fn a_broken_cache_is_ignored_with_a_warning() {
    let folder = Folder::new();
    let cache = folder.path("cache/fuseline");
    std::fs::create_dir_all(&cache).expect("the folder is ours");
    for content in ["not JSON", "{}", "{\"version\": 0}"] {
        std::fs::write(cache.join("machine.json"), content).expect("the folder is ours");
        let finished = folder.script("print(1 + 1)", &[]).success();
        assert_eq!(finished.stdout, "2\n");
        assert!(finished.stderr.starts_with("warning: "), "{}", finished.stderr);
        assert!(finished.stderr.contains("machine.json is ignored: "), "{}", finished.stderr);
        folder.script("print(1 + 1)", &["--machine", "default"]).quiet();
    }
}

/// `t(X) %*% (X %*% v)` over rows of so many columns.
fn clustered_script(cols: usize) -> String {
    format!(
        "X = rand(rows=2000, cols={cols}, seed=1)\nv = rand(rows={cols}, cols=1, seed=2)\n\
         if (sum(v) > 0) {{ g = t(X) %*% (X %*% v) }}\nprint(sum(g) / 2)\n"
    )
}

/// P097, P125, P143: a machine with a cluster decides plans, whose first line says so: rows in several blocks are not read
/// by a fused operator of workers. The run says that everything runs here, and computes what it does without a cluster.
#[test]
fn a_cluster_is_planned_for_and_the_run_says_that_there_is_none() {
    let cluster = json!({
        "workers": 6, "broadcast_memory": 1e5, "block_size": 500, "read_bandwidth": 6e9, "broadcast_bandwidth": 1e8,
        "join_bandwidth": 6e8, "start": 0.0,
    });
    let alone = Machine { memory_budget: Some(4e6), ..Machine::default() };
    let cluster = Some(serde_json::from_value(cluster).expect("a cluster"));
    let folder = Folder::new();
    for (name, machine) in
        [("alone.json", Machine { memory_budget: None, ..alone.clone() }), ("six.json", Machine { cluster, ..alone })]
    {
        let file = Output::create(&folder.path(name), false).expect("the folder is ours");
        MachineFile::new(machine).save(file).expect("the folder is ours");
    }
    let expected_warning = "warning: plans are made for 6 workers of a cluster, but this machine runs all operators: nothing is \
                            distributed, and what is planned for workers may take longer here";
    let mut fuses_rows = Vec::new();
    for (cols, machine) in [(500, "six.json"), (501, "six.json"), (501, "alone.json")] {
        let is_clustered = machine == "six.json";
        let finished = folder.script(&clustered_script(cols), &["--machine", machine, "--explain", "plan"]).success();
        let warnings: Vec<&str> = finished.stderr.lines().filter(|line| line.starts_with("warning: ")).collect();
        assert_eq!(warnings, if is_clustered { vec![expected_warning] } else { vec![] }, "{cols}, {machine}");
        fuses_rows.push(finished.stderr.contains("row roots: "));
        let reference = folder.script(&clustered_script(cols), &["--machine", "default"]).quiet();
        let [value, reference] = [&finished.stdout, &reference].map(|text| text.trim().parse().expect("a number"));
        let (value, reference): (f64, f64) = (value, reference);
        assert!((value - reference).abs() <= 1e-9 * reference.abs(), "{cols}, {machine}: {value}, not {reference}");
        let plan = folder.run(&["explain", "script.dml", "--stage", "plan", "--machine", machine]).quiet();
        let environment = plan.lines().next().unwrap_or_default();
        let has_workers = environment.ends_with(" 6 workers that take 97.7 KiB each by broadcast");
        assert_eq!(has_workers, is_clustered, "{environment}");
    }
    assert_eq!(fuses_rows, [true, false, true]);
}
