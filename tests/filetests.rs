//! Runs the file tests of all stages, and tests their harness.

#[path = "support/costs.rs"]
mod costs;
#[path = "support/execution.rs"]
mod execution;
#[path = "support/filetest.rs"]
mod filetest;
#[path = "support/stages.rs"]
mod stages;
#[path = "support/starts.rs"]
mod starts;

use filetest::{BLESS_COMMAND, Input, Subtests, run_folder};
use std::fs;
use std::path::Path;

/// Relative, so that outputs name files the same way on every machine: tests run in the package's folder.
const FOLDER: &str = "tests/filetests";

/// The folder of the stage that only builds with LLVM have.
const LLVM: &str = "llvm";

/// Runs the files of these folders of stages.
fn check_stages(is_wanted: impl Fn(&str) -> bool) {
    let bless = std::env::var_os("FUSELINE_BLESS").is_some_and(|value| value == "1");
    let entries = fs::read_dir(FOLDER).expect("there are file tests");
    let mut stages: Vec<String> =
        entries.map(|entry| entry.expect("folders can be read").file_name().to_string_lossy().into_owned()).collect();
    stages.sort();
    let results = stages.iter().filter(|stage| is_wanted(stage)).map(|stage| {
        let count = run_folder(&Path::new(FOLDER).join(stage), stages::SUBTESTS, bless)?;
        if count > 0 { Ok(()) } else { Err(format!("the stage {stage} has no file tests")) }
    });
    let failures: Vec<String> = results.filter_map(Result::err).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn file_tests() {
    check_stages(|stage| stage != LLVM);
}

#[test]
#[cfg_attr(not(feature = "llvm"), ignore = "this build has no LLVM")]
fn file_tests_of_llvm() {
    check_stages(|stage| stage == LLVM);
}

fn count_lines(input: &Input<'_>) -> Result<String, String> {
    let unit = input.options.get("unit").ok_or("which unit?")?;
    Ok(format!("{} {unit}\n\n  trailing blanks  ", input.text.lines().count()))
}

fn panics(_: &Input<'_>) -> Result<String, String> {
    panic!("a bug of the compiler")
}

const SUBTESTS: &Subtests = &[("count", count_lines), ("panics", panics)];

/// Runs one file of this text; returns the result and the text afterwards.
fn run_text(text: &str, bless: bool) -> (Result<usize, String>, String) {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let path = folder.path().join("nested/sample.hop");
    fs::create_dir(folder.path().join("nested")).expect("the folder is ours");
    fs::write(&path, text).expect("the folder is ours");
    let result = run_folder(folder.path(), SUBTESTS, bless);
    (result, fs::read_to_string(&path).expect("the file is there"))
}

const BLESSED: &str = "# test: count unit=lines, count unit=rows\nx\n\n\
    #> count unit=lines\n#>   3 lines\n#>\n#>     trailing blanks\n\
    #> count unit=rows\n#>   3 rows\n#>\n#>     trailing blanks\n";

#[test]
fn equal_outputs_pass() {
    assert_eq!(run_text(BLESSED, false), (Ok(1), BLESSED.to_owned()));
}

#[test]
fn blessing_writes_the_outputs_and_keeps_the_input() {
    let old = "# test: count unit=lines, count unit=rows\nx\n\n#> count\n#>   17\n";
    assert_eq!(run_text(old, true), (Ok(1), BLESSED.to_owned()));
    let without = "# test: count unit=lines, count unit=rows\nx\n\n";
    assert_eq!(run_text(without, true), (Ok(1), BLESSED.to_owned()));
}

#[test]
fn a_difference_is_reported_with_the_file_and_the_command_to_bless() {
    let changed = BLESSED.replace("3 rows", "4 rows");
    let (result, text) = run_text(&changed, false);
    let report = result.expect_err("the output differs");
    for part in ["nested/sample.hop: ", "\n-#>   4 rows\n+#>   3 rows\n", BLESS_COMMAND] {
        assert!(report.contains(part), "{report}");
    }
    assert_eq!(text, changed, "files change only when blessed");
}

#[test]
fn broken_files_name_themselves() {
    for (text, message) in [
        ("x\n", "the first line must name the subtests"),
        ("# test: count unit=x, unknown\n", "`unknown` is no subtest"),
        ("# test: count\n", "count: which unit?"),
        ("# test: panics\n", "panics: panicked"),
        ("# test: count unit=x\n#> count\nx\n", "`x` stands after the expected outputs"),
    ] {
        let (result, after) = run_text(text, true);
        let report = result.expect_err("the file is broken");
        assert!(report.contains("nested/sample.hop: ") && report.contains(message), "{report}");
        assert_eq!(after, text);
    }
}
