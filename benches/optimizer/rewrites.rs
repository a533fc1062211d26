//! What rewriting makes of the well-known expressions of `tests/filetests/rewrite/known.hop`.

use fuseline::ir::hop::{self, HopDag};
use fuseline_passes::rewrite::{RewriteOptions, RewriteSummary, summarize_rewrites};
use std::fmt::Write;

const KNOWN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/filetests/rewrite/known.hop");

/// One row for each expression; a second one where rules for real numbers make something else of it.
pub(crate) fn table() -> String {
    let mut text = "## Rewrites

Expressions of `tests/filetests/rewrite/known.hop`: what rewriting makes of each, and its cost by the measure of
rewriting, in floating-point operations plus values read and written. Rows marked *algebraic* show what becomes of it
where rules are allowed that are right for real numbers only, if that is something else.

| expression | before | after | cost before | after |
|---|---|---|---|---|
"
    .to_owned();
    for (name, dag) in known() {
        let by_default = summarize_rewrites(&dag, &RewriteOptions::default());
        let algebraic = summarize_rewrites(&dag, &RewriteOptions { algebraic: true, ..RewriteOptions::default() });
        let name = name.replace('_', " ");
        append(&mut text, &name, &by_default);
        if algebraic.after != by_default.after {
            append(&mut text, &format!("{name}, *algebraic*"), &algebraic);
        }
    }
    text
}

fn append(text: &mut String, name: &str, summary: &RewriteSummary) {
    let RewriteSummary { before, after, cost } = summary;
    let after = if before == after { "stays".to_owned() } else { format!("`{after}`") };
    let _ = writeln!(text, "| {name} | `{before}` | {after} | {} | {} |", cost.0, cost.1);
}

/// The expressions with their names: the file up to what is expected of it.
fn known() -> Vec<(String, HopDag)> {
    let text = std::fs::read_to_string(KNOWN).expect("the file test is readable");
    hop::parse(&text).expect("the file test parses")
}
