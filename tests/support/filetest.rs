//! The harness of file tests: text in, text out, one file per behaviour.
//!
//! A file opens with the subtests that it is run through, `# test: explore, select policy=cost`: names and options.
//! Then comes the input. At the end stands what each subtest returned, as comments:
//!
//! ```text
//! #> explore
//! #>   2 ba(+*)  R(-1,-1)
//! #> select policy=cost
//! #>   ...
//! ```
//!
//! Outputs are compared exactly. With `FUSELINE_BLESS=1` they are written into the files instead.

use similar::TextDiff;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// Command that accepts the outputs of all files.
pub(crate) const BLESS_COMMAND: &str = "FUSELINE_BLESS=1 cargo test --test filetests --test language";

/// What a subtest works on.
#[derive(Debug)]
pub(crate) struct Input<'a> {
    /// The file, relative to the repository.
    pub(crate) path: &'a Path,
    /// The text before the expected outputs; header and comments included, so that line numbers are the file's.
    pub(crate) text: &'a str,
    /// The options behind the subtest's name: `key=value`, or `key` with an empty value.
    pub(crate) options: BTreeMap<&'a str, &'a str>,
}

/// Turns an input into the text that the file holds as the expected output. Errors that a file may expect (of the
/// parser, of the verifier) are outputs; `Err` is a failure whatever the file expects.
pub(crate) type Subtest = fn(&Input<'_>) -> Result<String, String>;

/// Subtests by name.
pub(crate) type Subtests = [(&'static str, Subtest)];

/// Runs every file below `folder` whose name ends in `.hop` or `.dml`, and returns how many there are.
///
/// # Errors
/// The reports of all files that failed.
pub(crate) fn run_folder(folder: &Path, subtests: &Subtests, bless: bool) -> Result<usize, String> {
    let files = test_files(folder);
    let failures: Vec<String> = files.iter().filter_map(|file| run_file(file, subtests, bless).err()).collect();
    if failures.is_empty() {
        return Ok(files.len());
    }
    Err(format!("{} of {} file tests failed\n\n{}", failures.len(), files.len(), failures.join("\n")))
}

fn test_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("folders can be read").path()).collect();
    paths.sort();
    let is_test = |path: &Path| path.extension().is_some_and(|extension| extension == "hop" || extension == "dml");
    let files = |path: PathBuf| if path.is_dir() { test_files(&path) } else { vec![path] };
    paths.into_iter().flat_map(files).filter(|path| is_test(path)).collect()
}

/// Runs one file.
///
/// # Errors
/// A report that names the file.
fn run_file(path: &Path, subtests: &Subtests, bless: bool) -> Result<(), String> {
    let report = |message: String| format!("{}: {message}", path.display());
    let text = fs::read_to_string(path).map_err(|error| report(error.to_string()))?;
    let (input, expected) = split(&text).map_err(report)?;
    let actual = outputs(path, input, subtests).map_err(report)?;
    if actual == expected {
        return Ok(());
    }
    if bless {
        return fs::write(path, format!("{input}{actual}")).map_err(|error| report(error.to_string()));
    }
    let diff = TextDiff::from_lines(expected, &actual);
    let diff = diff.unified_diff().header("expected", "actual").to_string();
    Err(report(format!("the output differs\n{diff}to accept the outputs of all files: {BLESS_COMMAND}\n")))
}

/// The input, and the expected outputs as they stand in the file.
fn split(text: &str) -> Result<(&str, &str), String> {
    let mut starts = text.match_indices("#>").map(|(start, _)| start);
    let is_line_start = |start: &usize| *start == 0 || text[..*start].ends_with('\n');
    let (input, expected) = text.split_at(starts.find(is_line_start).unwrap_or(text.len()));
    match expected.lines().find(|line| !line.starts_with("#>")) {
        Some(line) => Err(format!("`{line}` stands after the expected outputs")),
        None => Ok((input, expected)),
    }
}

/// What the subtests of a file return, in the form in which the file holds it.
fn outputs(path: &Path, text: &str, subtests: &Subtests) -> Result<String, String> {
    let header = text.lines().next().and_then(|line| line.strip_prefix("# test:"));
    let header = header.ok_or("the first line must name the subtests: `# test: parse`")?;
    let mut result = String::new();
    for invocation in header.split(',') {
        let mut words = invocation.split_whitespace();
        let name = words.next().unwrap_or_default();
        let known = subtests.iter().find(|(candidate, _)| *candidate == name);
        let (_, subtest) = known.ok_or_else(|| format!("`{name}` is no subtest"))?;
        let options = words.map(|option| option.split_once('=').unwrap_or((option, ""))).collect();
        let input = Input { path, text, options };
        let output = catch_unwind(AssertUnwindSafe(|| subtest(&input)))
            .unwrap_or_else(|_| Err("panicked".to_owned()))
            .map_err(|message| format!("{name}: {message}"))?;
        writeln!(result, "#> {}", invocation.trim()).expect("strings can be written");
        for line in output.lines() {
            let line = format!("#>   {line}");
            writeln!(result, "{}", line.trim_end()).expect("strings can be written");
        }
    }
    Ok(result)
}
