//! Rules for the repository's own text: documented modules, no placeholders, no traces of machines, indexed decisions.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Folders that are not ours to check.
const SKIPPED: &[&str] = &["target", ".git", ".cargo"];

/// Crates whose root forbids unsafe code.
const SAFE_CRATES: &[&str] = &["fingerprint", "ops", "allocator", "ir", "passes", "lang", "interp", "runtime", "."];

#[test]
fn every_rust_file_opens_with_what_it_is() {
    let bare = rust_files().into_iter().filter(|(_, text)| !text.starts_with("//! "));
    report("files that do not open with `//!`", bare.map(|(path, _)| path.display().to_string()));
}

#[test]
fn nothing_is_a_placeholder() {
    // In pieces, so that this file passes its own test.
    let placeholders =
        [concat!("todo", "!("), concat!("unimplemented", "!("), concat!("#[", "ignore")].map(str::to_owned);
    report("placeholders and ignored tests", occurrences(&rust_files(), &placeholders));
}

/// Elementary functions whose last bits hang on the C library; `ir::ops::math` has ours. Tests may compare with them.
const OF_THE_C_LIBRARY: &[&str] = &[
    ".ln()",
    ".ln_1p()",
    ".log2()",
    ".log10()",
    ".exp()",
    ".exp2()",
    ".exp_m1()",
    ".powf(",
    ".hypot(",
    ".cbrt()",
    ".sin()",
    ".cos()",
    ".tan()",
    ".asin()",
    ".acos()",
    ".atan()",
    ".atan2(",
    ".sinh()",
    ".cosh()",
    ".tanh()",
];

/// Whether a source is part of the product: in a folder `src`, and no test.
fn is_product(path: &Path) -> bool {
    let parts: Vec<_> = path.strip_prefix(root()).unwrap_or(path).iter().collect();
    parts.iter().any(|part| *part == "src") && !parts.iter().any(|part| *part == "tests" || *part == "tests.rs")
}

#[test]
fn no_result_hangs_on_the_c_library() {
    let product: Vec<_> = rust_files().into_iter().filter(|(path, _)| is_product(path)).collect();
    let functions: Vec<String> = OF_THE_C_LIBRARY.iter().map(|&function| function.to_owned()).collect();
    report("functions of the C library", occurrences(&product, &functions));
}

#[test]
fn no_file_names_a_machine() {
    let paths = ["work", "farm", "home", "Users"].map(|folder| format!("/{folder}/"));
    report("paths of one machine", occurrences(&text_files(), &paths));
}

#[test]
fn no_file_holds_both_sides_of_a_merge() {
    let markers = ["<", ">"].map(|sign| format!("{} ", sign.repeat(7)));
    report("marks of a merge", occurrences(&text_files(), &markers));
}

#[test]
fn safe_crates_forbid_unsafe_code() {
    let root = root();
    let free = SAFE_CRATES.iter().map(|name| root.join(name).join("src/lib.rs")).filter(|path| {
        let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        !text.lines().any(|line| line == "#![forbid(unsafe_code)]")
    });
    report("crates without #![forbid(unsafe_code)]", free.map(|path| path.display().to_string()));
}

#[test]
fn architecture_decisions_are_indexed() {
    let folder = root().join("docs/adr");
    let index = fs::read_to_string(folder.join("README.md")).expect("docs/adr has an index");
    let files: BTreeSet<String> = fs::read_dir(&folder)
        .expect("docs/adr is a folder")
        .map(|entry| entry.expect("entries are readable").file_name().to_string_lossy().into_owned())
        .filter(|name| name != "README.md")
        .collect();
    let linked: BTreeSet<String> = index
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split_once(')'))
        .map(|(target, _)| target.to_owned())
        .filter(|target| !target.contains('/'))
        .collect();
    report("decisions missing from docs/adr/README.md", files.difference(&linked));
    report("links of docs/adr/README.md that lead nowhere", linked.difference(&files));
}

#[test]
fn items_of_the_paper_are_explained_where_they_are_cited() {
    let page = Path::new("docs/paper.md");
    let (explained, citing): (Vec<_>, Vec<_>) = text_files().into_iter().partition(|(path, _)| path.ends_with(page));
    let (explained, cited) = (items_of_the_paper(&explained), items_of_the_paper(&citing));
    report("items of the paper that docs/paper.md does not explain", cited.difference(&explained));
    report("items of docs/paper.md that nothing cites", explained.difference(&cited));
}

fn report(what: &str, findings: impl Iterator<Item = impl AsRef<str>>) {
    let findings: Vec<String> = findings.map(|finding| format!("  {}\n", finding.as_ref())).collect();
    assert!(findings.is_empty(), "{what}:\n{}", findings.concat());
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The words of texts that are `P`, three digits and perhaps a letter: items of the paper.
fn items_of_the_paper(files: &[(PathBuf, String)]) -> BTreeSet<String> {
    let words = files.iter().flat_map(|(_, text)| text.split(|character: char| !character.is_ascii_alphanumeric()));
    let is_item = |word: &&str| {
        let digits =
            word.strip_prefix('P').map(|rest| rest.trim_end_matches(|letter: char| letter.is_ascii_lowercase()));
        word.len() <= 5
            && digits.is_some_and(|digits| digits.len() == 3 && digits.bytes().all(|byte| byte.is_ascii_digit()))
    };
    words.filter(is_item).map(str::to_owned).collect()
}

/// `file:line: text` for each line that holds one of the needles.
fn occurrences<'a>(files: &'a [(PathBuf, String)], needles: &'a [String]) -> impl Iterator<Item = String> + 'a {
    files.iter().flat_map(move |(path, text)| {
        text.lines()
            .enumerate()
            .filter(move |(_, line)| needles.iter().any(|needle| line.contains(needle)))
            .map(move |(number, line)| format!("{}:{}: {}", path.display(), number + 1, line.trim()))
    })
}

fn rust_files() -> Vec<(PathBuf, String)> {
    let mut files = text_files();
    files.retain(|(path, _)| path.extension().is_some_and(|extension| extension == "rs"));
    files
}

/// All text files of the repository by path from its root, sorted.
fn text_files() -> Vec<(PathBuf, String)> {
    let mut files = Vec::new();
    collect(root(), &mut files);
    files.sort();
    assert!(files.len() > 50, "the repository has more files than {}", files.len());
    files
}

fn collect(folder: &Path, files: &mut Vec<(PathBuf, String)>) {
    for entry in fs::read_dir(folder).expect("folders are readable") {
        let path = entry.expect("entries are readable").path();
        if path.is_dir() {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if !SKIPPED.contains(&name.as_ref()) {
                collect(&path, files);
            }
        } else if let Ok(text) = fs::read_to_string(&path) {
            let path = path.strip_prefix(root()).expect("walks start at the root").to_owned();
            files.push((path, text));
        }
    }
}
