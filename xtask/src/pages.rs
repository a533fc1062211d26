//! Whether the tables of the pages in `docs` have the columns that the commands write which make them: `./x test --long`.
//! Figures grow old; a page with other columns says what nobody measures any more.

use crate::cargo::{Cargo, root};
use anyhow::{Context, Result, bail};
use std::collections::BTreeSet;
use std::fs;

/// A page, the benchmark that writes it, and what that is asked for.
struct Page {
    path: &'static str,
    bench: &'static str,
    arguments: &'static [&'static str],
}

const PAGES: &[Page] = &[
    Page { path: "docs/benchmarks.md", bench: "paper", arguments: &["report"] },
    Page { path: "docs/experiments.md", bench: "paper", arguments: &[] },
    Page { path: "docs/optimizer.md", bench: "optimizer", arguments: &[] },
    Page { path: "docs/compile.md", bench: "compile", arguments: &[] },
    Page { path: "docs/algorithms.md", bench: "algorithms", arguments: &[] },
];

/// Fails where a page has other tables than its command writes, and names them all.
pub(crate) fn columns(cargo: &Cargo) -> Result<()> {
    let mut differences = Vec::new();
    for page in PAGES {
        differences.extend(page.differences(cargo)?);
    }
    if differences.is_empty() { Ok(()) } else { bail!("{}", differences.join("\n")) }
}

impl Page {
    fn differences(&self, cargo: &Cargo) -> Result<Vec<String>> {
        let Page { path, bench, arguments } = self;
        // What is printed does not depend on the profile, and tests are built already.
        let build = cargo.with_features(&["bench", "--quiet", "--profile", "dev", "--bench", bench]);
        let mut command = cargo.command(&[&build[..], &["--"], arguments, &["--columns"]].concat());
        let output = command.output().with_context(|| format!("cannot ask {bench} for its columns"))?;
        if !output.status.success() {
            bail!("{bench} does not say its columns: {}", String::from_utf8_lossy(&output.stderr));
        }
        let text = fs::read_to_string(root().join(path)).with_context(|| format!("{path} cannot be read"))?;
        Ok(differences(path, &headings(&text), &headings(&String::from_utf8_lossy(&output.stdout))))
    }
}

/// The headings of all tables of a page.
fn headings(text: &str) -> BTreeSet<&str> {
    let lines: Vec<&str> = text.lines().collect();
    lines.windows(2).filter(|pair| pair[1].starts_with("|---")).map(|pair| pair[0]).collect()
}

fn differences(path: &str, of_page: &BTreeSet<&str>, written: &BTreeSet<&str>) -> Vec<String> {
    let old = of_page.difference(written).map(|heading| format!("{path} has a table that nothing writes: {heading}"));
    let new = written.difference(of_page).map(|heading| format!("{path} lacks a table: {heading}"));
    old.chain(new).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# A page\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n| c |\n|---|\n";

    #[test]
    fn tables_are_known_by_their_headings() {
        assert_eq!(headings(PAGE), BTreeSet::from(["| a | b |", "| c |"]));
    }

    #[test]
    fn other_columns_are_named() {
        assert!(differences("page", &headings(PAGE), &headings(PAGE)).is_empty());
        let written = PAGE.replace("| c |", "| d |");
        let found = differences("page", &headings(PAGE), &headings(&written));
        assert_eq!(found, ["page has a table that nothing writes: | c |", "page lacks a table: | d |"]);
    }
}
