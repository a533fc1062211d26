//! Lowering, seen in the text form of programs.

mod control;
mod functions;
mod operators;
mod parfor;

use crate::diagnostic::Diagnostic;
use crate::{Argument, ParseOptions, parse};
use expect_test::Expect;
use fuseline_ir::hop::Span;
use fuseline_ir::program::Program;
use std::path::Path;

/// The files that `source` finds.
fn loader(path: &Path) -> std::io::Result<String> {
    let text = match path.to_str() {
        Some("dir/lib/a.dml") => {
            "source(\"b.dml\") as b\n\
             f = function(Double x) return (Double y) { y = g(x) + b::g(x) }\n\
             g = function(Double x) return (Double y) { y = x }"
        }
        Some("dir/lib/b.dml") => {
            "source(\"./../lib/a.dml\") as a\n\
             g = function(Double x) return (Double y) { y = 2 * x\n if (x > 9) y = a::g(x) }"
        }
        Some("dir/statements.dml") => "x = 1",
        _ => return Err(std::io::Error::other("not found")),
    };
    Ok(text.to_owned())
}

fn program(text: &str) -> Program {
    let arguments = [("n", "10"), ("eps", "1e-3"), ("name", "w.csv"), ("icpt", "TRUE"), ("1", "-2")];
    let arguments = arguments.map(|(name, value)| (name.to_owned(), Argument::from_text(value))).into();
    let options = ParseOptions { arguments, loader: &loader, ..ParseOptions::from_files() };
    let program = parse("dir/test.dml", text, &options).unwrap_or_else(|errors| panic!("{}", errors.render(false)));
    program.verify().unwrap_or_else(|errors| panic!("{text}: {errors}"));
    program
}

fn check(text: &str, expected: &Expect) {
    expected.assert_eq(&format!("{}\n", program(text)));
}

/// A statement that is given up without a word is a bug of the compiler, and no statement that is left out.
#[test]
fn what_is_given_up_is_explained() {
    let span = Span { source: 0, start: 3, end: 7 };
    let found = super::unexplained(Some(span), &[]).expect("nothing explains it");
    assert_eq!(found.span, span);
    assert_eq!(super::unexplained(Some(span), &[Diagnostic::new(span, "wrong")]), None);
    assert_eq!(super::unexplained(None, &[]), None);
}
