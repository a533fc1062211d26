//! Replays the corpus of every fuzz target, without libFuzzer. Findings of fuzzing stay there as regression tests.

#[path = "../fuzz/src/entries.rs"]
#[allow(unreachable_pub, reason = "public where the fuzz targets call it")]
mod entries;

use std::collections::BTreeSet;
use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz")
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("entries are readable").path()).collect();
    paths.sort();
    paths
}

#[test]
fn every_input_passes_its_target() {
    for (name, target) in entries::TARGETS {
        let inputs = files(&fuzz().join("corpus").join(name));
        assert!(inputs.len() > 10, "{name} has {} inputs", inputs.len());
        for input in inputs {
            let bytes = fs::read(&input).expect("inputs are readable");
            assert!(catch_unwind(|| target(&bytes)).is_ok(), "{} fails", input.display());
        }
    }
}

/// Inputs that are all prefixes of the corpus' shortest ones: where data ends is where parsers go wrong.
#[test]
fn every_truncated_input_passes_its_target() {
    for (name, target) in entries::TARGETS {
        let mut inputs: Vec<Vec<u8>> =
            files(&fuzz().join("corpus").join(name)).iter().map(|path| fs::read(path).expect("readable")).collect();
        inputs.sort_by_key(Vec::len);
        for input in inputs.iter().filter(|input| input.len() < 200).take(50) {
            for length in 0..input.len() {
                let prefix = &input[..length];
                assert!(catch_unwind(|| target(prefix)).is_ok(), "{name} fails on {prefix:?}");
            }
        }
    }
}

#[test]
fn targets_have_a_binary_and_a_corpus_each() {
    let names: BTreeSet<String> = entries::TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect();
    let stems = |folder: &str| -> BTreeSet<String> {
        let stem = |path: &PathBuf| path.file_stem().expect("named").to_string_lossy().into_owned();
        files(&fuzz().join(folder)).iter().map(stem).collect()
    };
    assert_eq!(stems("fuzz_targets"), names);
    assert_eq!(stems("corpus"), names);
    let manifest = fs::read_to_string(fuzz().join("Cargo.toml")).expect("fuzz has a manifest");
    for name in names {
        assert!(manifest.contains(&format!("path = \"fuzz_targets/{name}.rs\"")), "{name} is no binary");
    }
}
