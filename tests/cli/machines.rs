//! No result depends on the machine: what scripts write natively and under Valgrind, which hides AVX-512 and shows other
//! caches, is the same byte by byte. `./x test --long` takes a minute for those of `machines`, which write the results of
//! operators of all kinds, and three for those of `language/features`; `conformance.rs` compares all fused operators.

use crate::long::is_long;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// Files by name, with what was printed as one of them.
type Written = BTreeMap<String, Vec<u8>>;

/// Runs a script of `tests/cli/machines` in a folder of its own, natively or under Valgrind.
fn written(script: &str, options: &[&str], under_valgrind: bool) -> Written {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/machines").join(script);
    let path = path.to_str().expect("the repository has a plain path");
    written_by(&[&["run", path], options, &["--plan-cache", "off"]].concat(), under_valgrind)
}

/// Runs the program with these arguments in a folder of its own, natively or under Valgrind.
fn written_by(arguments: &[&str], under_valgrind: bool) -> Written {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut command =
        if under_valgrind { Command::new("valgrind") } else { Command::new(env!("CARGO_BIN_EXE_fuseline")) };
    if under_valgrind {
        command.args(["--tool=none", "--quiet"]).arg(env!("CARGO_BIN_EXE_fuseline"));
    }
    command.current_dir(&folder).args(arguments).env("XDG_CACHE_HOME", "/dev/null");
    let output = command.output().expect("the program starts");
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}, Valgrind: {under_valgrind}:\n{messages}");
    let mut files = Written::from([("what was printed".to_owned(), output.stdout)]);
    for entry in fs::read_dir(&folder).expect("the folder is there") {
        let entry = entry.expect("the folder can be listed");
        let name = entry.file_name().into_string().expect("a plain name");
        files.insert(name, fs::read(entry.path()).expect("a file"));
    }
    files
}

fn has_valgrind() -> bool {
    let status = Command::new("valgrind").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

/// Whether there is Valgrind to compare with, which the long tests do not do without.
fn can_compare(what: &str) -> bool {
    let has_valgrind = has_valgrind();
    assert!(has_valgrind || !is_long(), "Valgrind is missing: ./x test --long installs it");
    if !has_valgrind {
        println!("{what}: left out, there is no Valgrind here");
    }
    has_valgrind
}

/// Calls [`compare`] in the long tests: each run under Valgrind takes some ten seconds.
fn compare_at_length(script: &str, files: usize, options: &[&str]) {
    if is_long() {
        compare(script, files, options);
    }
}

/// Asserts that a script writes at least so many files, and the same ones under Valgrind.
fn compare(script: &str, files: usize, options: &[&str]) {
    if !can_compare(script) {
        return;
    }
    let (native, hidden) = (written(script, options, false), written(script, options, true));
    assert!(native.len() > files, "{script} writes at least {files} files, not {}", native.len() - 1);
    assert_eq!(native.keys().collect::<Vec<_>>(), hidden.keys().collect::<Vec<_>>());
    let differing: Vec<&String> = native.keys().filter(|name| native[*name] != hidden[*name]).collect();
    assert!(differing.is_empty(), "{script} {options:?}: other bytes under Valgrind: {differing:?}");
}

/// Interprets fused operators: starting LLVM under Valgrind takes its time.
const INTERPRETED: &[&str] = &["--backend", "interp", "--threads", "2"];

#[test]
fn products() {
    compare("products.dml", 50, INTERPRETED);
}

#[test]
fn decompositions() {
    compare_at_length("decompositions.dml", 80, INTERPRETED);
}

#[test]
fn elementary_functions() {
    compare_at_length("functions.dml", 20, INTERPRETED);
}

#[test]
fn random_numbers() {
    compare_at_length("random.dml", 6, INTERPRETED);
}

/// Each kind of generated data, small.
const GENERATED: &[&str] = &[
    "normal --rows 300 --cols 20",
    "normal --rows 300 --cols 200 --sparsity 0.1",
    "classes --rows 300 --cols 20 --classes 4",
    "poisson --rows 300 --cols 20",
    "gamma --rows 300 --cols 20",
    "binomial --rows 300 --cols 20",
    "clusters --rows 300 --cols 20",
    "ratings --rows 300 --cols 200 --sparsity 0.2",
    "graph --rows 500",
    "airline78 --scale 0.0001",
    "mnist --scale 0.005",
];

#[test]
fn generated_data() {
    if !can_compare("generated data") {
        return;
    }
    let count = if is_long() { GENERATED.len() } else { 1 };
    for kind in &GENERATED[..count] {
        let arguments: Vec<&str> = ["generate"].into_iter().chain(kind.split(' ')).chain(["--out", "x.npy"]).collect();
        let native = written_by(&arguments, false);
        assert!(native.contains_key("x.npy"), "{kind}");
        assert!(native == written_by(&arguments, true), "{kind}: other bytes under Valgrind");
    }
}

/// The arguments of a feature's script, which stand in its first line.
fn arguments_of(script: &str) -> Vec<&str> {
    let stated = script.lines().next().and_then(|line| line.strip_prefix("# test: prints")).expect("a test");
    let (numbered, named): (Vec<&str>, Vec<&str>) =
        stated.split_whitespace().partition(|argument| argument.starts_with(|first: char| first.is_ascii_digit()));
    let values = numbered.iter().filter_map(|argument| Some(argument.split_once('=')?.1));
    let mut arguments: Vec<&str> = values.collect();
    if !arguments.is_empty() {
        arguments.insert(0, "--args");
    }
    if !named.is_empty() {
        arguments.push("--nvargs");
    }
    [arguments, named].concat()
}

/// What the scripts of all features of the language print.
#[test]
fn features() {
    if !is_long() || !can_compare("features") {
        return;
    }
    let language = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/language");
    let library = language.join("library");
    let mut count = 0;
    for entry in fs::read_dir(language.join("features")).expect("the folder is there") {
        let path = entry.expect("the folder can be listed").path();
        let script = fs::read_to_string(&path).expect("a script");
        let start = ["run", path.to_str().expect("a plain path"), "--lib", library.to_str().expect("a plain path")];
        let arguments = [&start, INTERPRETED, &["--plan-cache", "off"], &arguments_of(&script)].concat();
        assert!(written_by(&arguments, false) == written_by(&arguments, true), "{}", path.display());
        count += 1;
    }
    assert!(count > 50, "{count} features");
}

#[test]
fn layers() {
    compare_at_length("layers.dml", 5, INTERPRETED);
}

#[test]
fn statistics() {
    compare_at_length("statistics.dml", 7, INTERPRETED);
}

#[test]
fn interpreted_operators() {
    compare_at_length("fused.dml", 15, INTERPRETED);
}

#[test]
fn the_bits_of_nan() {
    compare("nan.dml", 8, INTERPRETED);
}

#[test]
fn unfused_operators() {
    compare_at_length("fused.dml", 15, &["--mode", "base", "--threads", "1"]);
    compare_at_length("nan.dml", 8, &["--mode", "base"]);
}

#[test]
fn hand_coded_operators() {
    compare_at_length("fused.dml", 15, &["--mode", "fused"]);
}

#[cfg(feature = "llvm")]
#[test]
fn compiled_operators() {
    for script in ["fused.dml", "nan.dml"] {
        let files = if script == "nan.dml" { 8 } else { 15 };
        compare_at_length(script, files, &["--backend", "llvm", "--threads", "2"]);
        assert!(
            written(script, &["--backend", "llvm"], false) == written(script, &["--backend", "interp"], false),
            "{script}: other bytes with the interpreter"
        );
    }
}
