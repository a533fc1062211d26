//! The edges between the crates are those of ARCHITECTURE.md's code map, neither more nor fewer, and modules use each other
//! in one order.

#[path = "edges/modules.rs"]
mod modules;

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

/// Names of crates, without the `fuseline-` prefix, by the crate that uses them. The façade is `fuseline`.
type Edges = BTreeMap<String, BTreeSet<String>>;

/// What the façade never uses: it is built from it, or builds it.
const ABOVE_THE_FACADE: &[&str] = &["python", "xtask"];

#[test]
fn crates_use_what_the_architecture_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let described = described_edges(&std::fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap());
    let actual = actual_edges(&cargo_metadata(root));
    let differences = differences(&described, &actual);
    assert!(
        differences.is_empty(),
        "the code map of ARCHITECTURE.md and the manifests differ (a new edge needs an ADR):\n{}",
        differences.join("\n")
    );
}

#[test]
fn differences_name_both_ends() {
    let described = described_edges(
        "| folder | crate | what it is | may use |\n|---|---|---|---|\n\
         | `ir/` | fuseline-ir | data | nothing of ours |\n\
         | `a/` | fuseline-a | something | ir |\n\
         | `src/` | fuseline | façade | everything but ops and fingerprint |\n\
         | `python/` | fuseline-python | a way in | fuseline |\n\
         | `xtask/` | | set-up | nothing of ours |\n",
    );
    assert_eq!(described["fuseline"], names(&["a", "ir"]));
    let actual = Edges::from([
        ("ir".into(), names(&["a"])),
        ("a".into(), names(&[])),
        ("b".into(), names(&[])),
        ("fuseline".into(), names(&["a", "ir"])),
        ("python".into(), names(&["fuseline"])),
        ("xtask".into(), names(&[])),
    ]);
    assert_eq!(
        differences(&described, &actual),
        [
            "a may use ir, but its manifest does not",
            "b is not in the code map",
            "ir uses a, which the code map does not allow"
        ]
    );
}

fn names(names: &[&str]) -> BTreeSet<String> {
    names.iter().copied().map(str::to_owned).collect()
}

/// Reads the code map: the table whose header is `folder`, `crate`, `what it is`, `may use`.
fn described_edges(architecture: &str) -> Edges {
    let rows: Vec<(String, &str)> = architecture
        .lines()
        .skip_while(|line| !line.starts_with("| folder | crate |"))
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .map(|line| {
            let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
            let [folder, package, _, uses] = cells[..] else { panic!("not a row of the code map: {line}") };
            let folder = folder.trim_matches('`').trim_end_matches('/');
            (short_name(if package.is_empty() { folder } else { package }), uses)
        })
        .collect();
    assert!(!rows.is_empty(), "ARCHITECTURE.md has no code map");
    let libraries: BTreeSet<String> = rows.iter().map(|(name, _)| name.clone()).collect();
    rows.iter()
        .map(|(name, uses)| {
            let used = match *uses {
                "nothing of ours" => BTreeSet::new(),
                "everything but ops and fingerprint" => {
                    let apart = [ABOVE_THE_FACADE, &["ops", "fingerprint"]].concat();
                    let others = |it: &&String| *it != name && !apart.contains(&it.as_str());
                    libraries.iter().filter(others).cloned().collect()
                }
                list => list.split(',').map(|it| it.trim().to_owned()).collect(),
            };
            (name.clone(), used)
        })
        .collect()
}

fn cargo_metadata(root: &Path) -> Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--manifest-path"])
        .arg(root.join("Cargo.toml"))
        .output()
        .expect("cargo starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("cargo metadata is JSON")
}

/// Normal dependencies, optional ones included; build and development dependencies are free.
fn actual_edges(metadata: &Value) -> Edges {
    let packages = metadata["packages"].as_array().expect("metadata lists packages");
    let members: BTreeSet<&str> = packages.iter().filter_map(|package| package["name"].as_str()).collect();
    packages
        .iter()
        .map(|package| {
            let dependencies = package["dependencies"].as_array().expect("packages list dependencies");
            let used = dependencies
                .iter()
                .filter(|dependency| dependency["kind"].is_null())
                .filter_map(|dependency| dependency["name"].as_str())
                .filter(|name| members.contains(name))
                .map(short_name)
                .collect();
            (short_name(package["name"].as_str().expect("packages have names")), used)
        })
        .collect()
}

fn short_name(package: &str) -> String {
    package.strip_prefix("fuseline-").unwrap_or(package).to_owned()
}

fn differences(described: &Edges, actual: &Edges) -> Vec<String> {
    let crates: BTreeSet<&String> = described.keys().chain(actual.keys()).collect();
    let mut differences = Vec::new();
    for name in crates {
        match (described.get(name), actual.get(name)) {
            (None, _) => differences.push(format!("{name} is not in the code map")),
            (_, None) => differences.push(format!("{name} is in the code map, but no crate of the workspace")),
            (Some(described), Some(actual)) => {
                let unused = described.difference(actual);
                differences.extend(unused.map(|it| format!("{name} may use {it}, but its manifest does not")));
                let forbidden = actual.difference(described);
                differences.extend(forbidden.map(|it| format!("{name} uses {it}, which the code map does not allow")));
            }
        }
    }
    differences
}
