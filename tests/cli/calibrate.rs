//! `fuseline calibrate`, and `--machine`.

use crate::command::{Folder, script};
use serde_json::Value;

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
    assert_eq!(file["version"], 9);
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
    assert!(message.contains("it has version 99 of the format, not 9"), "{message}");
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
