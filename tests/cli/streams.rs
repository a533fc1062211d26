//! Standard streams that are closed, full, or pipes that nobody reads: runs end with a status, and never with a panic.
#![cfg(unix)]

use crate::command::Folder;
use std::process::Command;

/// Commands with their exit status where standard error can be written.
const COMMANDS: &[(&str, i32)] = &[
    ("run good.dml", 0),
    ("run good.dml --stats", 0),
    ("run good.dml --stats=json", 0),
    ("run good.dml --explain plan", 0),
    ("run bad.dml", 1),
    ("run missing.dml", 1),
    ("run good.dml --threads 1000000", 1),
    ("run good.dml --plan-cache good.dml", 0),
    ("check warned.dml", 0),
    ("check bad.dml", 1),
    ("explain good.dml --stage plan", 0),
    ("systemds -f good.dml -stats", 0),
    ("convert missing.csv out.npy", 1),
    ("generate uniform --out out.csv --rows 3 --cols 3 --threads 1000000", 1),
    ("nonsense", 1),
];

fn folder() -> Folder {
    let folder = Folder::with("good.dml", "X = rand(rows=9, cols=9, seed=1)\nprint(sum(X * X + 1) > 0)\n");
    folder.write("bad.dml", "print(1)\nprint(sum(\n");
    folder.write("warned.dml", "a = 1\nb = a\n-a\nprint(b)\n");
    folder
}

/// The status of `fuseline COMMAND`, where `redirection` says what becomes of its streams, and what it wrote to others.
fn status(folder: &Folder, command: &str, redirection: &str) -> (Option<i32>, String) {
    let text = format!("\"$0\" {command} {redirection}");
    let output = Command::new("sh")
        .args(["-c", &text, env!("CARGO_BIN_EXE_fuseline")])
        .env("XDG_CACHE_HOME", "/dev/null")
        .current_dir(folder.path("."))
        .output()
        .expect("there is a shell");
    (output.status.code(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
}

#[test]
fn what_cannot_be_written_to_standard_error_ends_no_run_by_a_panic() {
    let folder = folder();
    for (command, expected) in COMMANDS {
        for redirection in ["2>/dev/full", "2>&-", ">/dev/null 2>&-", "2>/dev/full >&-"] {
            let (status, text) = status(&folder, command, redirection);
            assert!(matches!(status, Some(0 | 1)), "{command} {redirection}: {status:?} {text}");
            assert!(status >= Some(*expected), "{command} {redirection}: {status:?} {text}");
            assert!(!text.contains("panicked"), "{command} {redirection}: {text}");
        }
    }
}

/// What was asked for and cannot be written is a failure.
#[test]
fn statistics_that_cannot_be_written_are_a_failure() {
    let folder = folder();
    for options in ["--stats", "--stats=json", "--explain plan"] {
        assert_eq!(status(&folder, &format!("run good.dml {options}"), "2>/dev/full").0, Some(1), "{options}");
    }
    assert_eq!(status(&folder, "run good.dml", "2>/dev/full"), (Some(0), "TRUE\n".to_owned()));
}

#[test]
fn what_cannot_be_printed_is_an_error() {
    let folder = folder();
    for command in ["run good.dml", "explain good.dml --stage plan", "--help"] {
        let (status, text) = status(&folder, command, ">/dev/full");
        assert_eq!(status, Some(1), "{command}: {text}");
        assert!(!text.contains("panicked"), "{command}: {text}");
    }
}

#[test]
fn pipes_that_nobody_reads_are_no_panic() {
    let folder = folder();
    for streams in [">&1", "2>&1", "2>&1 >/dev/null"] {
        for (command, _) in COMMANDS {
            let (_, text) = status(&folder, &format!("{command} {streams} | true; true"), "");
            assert!(!text.contains("panicked"), "{command} {streams}: {text}");
        }
    }
}

#[test]
fn more_threads_than_any_machine_has_are_an_error() {
    let folder = folder();
    let message = folder.run(&["run", "good.dml", "--threads", "1000000"]).message();
    assert_eq!(message, "error: cannot start threads: 1000000 are more than 1024\n");
    let generated = ["generate", "uniform", "--out", "x.csv", "--rows", "3", "--cols", "3", "--threads", "1000000"];
    assert!(folder.run(&generated).message().contains("at most 1024 threads"));
}
