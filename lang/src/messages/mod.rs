//! The exact text of every message.

mod calls;
mod names;
mod syntax;
mod types;

use crate::{ParseOptions, parse};
use expect_test::{Expect, expect};
use std::path::Path;

fn no_files(_: &Path) -> std::io::Result<String> {
    Err(std::io::Error::other("there are no files here"))
}

/// Compares the messages for each script.
fn check(scripts: &[&str], expected: &Expect) {
    let options = ParseOptions { loader: &no_files, ..ParseOptions::from_files() };
    let messages = scripts.iter().map(|script| match parse("test.dml", script, &options) {
        Ok(program) => format!("accepted:\n{program}\n"),
        Err(errors) => errors.render(false),
    });
    expected.assert_eq(&messages.collect::<Vec<_>>().join("\n"));
}

#[test]
fn imports_that_fail_are_reported_where_they_stand() {
    check(
        &["source(\"f.dml\") as f\nsource(\"g.dml\") as f\nx = f::g(1)"],
        &expect![[r#"
            Error: cannot read `f.dml`: there are no files here
               ╭─[ test.dml:1:1 ]
               │
             1 │ source("f.dml") as f
               │ ──────────┬─────────
               │           ╰─────────── sourced here
            ───╯
            Error: the namespace `f` is used twice
               ╭─[ test.dml:2:20 ]
               │
             2 │ source("g.dml") as f
               │                    ┬
               │                    ╰── again here
            ───╯
        "#]],
    );
}

#[test]
fn the_short_form_has_one_line_per_error() {
    let options = ParseOptions { loader: &no_files, ..ParseOptions::from_files() };
    let errors = parse("dir/a.dml", "x = y\n# é\nz = 'é' + w\n", &options).expect_err("two variables are undefined");
    let expected = "dir/a.dml:1:5: the variable `y` is not defined\ndir/a.dml:3:11: the variable `w` is not defined";
    assert_eq!(errors.to_string(), expected);
    assert!(errors.render(true).contains("\u{1b}["), "colours are escape sequences");
}
