//! No text makes the front end panic, and whatever it accepts is a well-formed program.

use fuseline_lang::{ParseOptions, parse};
use proptest::prelude::*;
use std::path::Path;

fn no_files(path: &Path) -> std::io::Result<String> {
    Err(std::io::Error::other(format!("no file {}", path.display())))
}

/// Parses, checks what comes out, and says whether the text was accepted.
fn check(text: &str) -> bool {
    let options = ParseOptions {
        arguments: [("a".to_owned(), "1".into())].into(),
        loader: &no_files,
        ..ParseOptions::from_files()
    };
    match parse("soup.dml", text, &options) {
        Ok(program) => {
            program.verify().unwrap_or_else(|errors| panic!("{text:?} gives a broken program: {errors}"));
            true
        }
        Err(errors) => {
            assert!(!errors.errors.is_empty(), "{text:?} failed without an error");
            assert!(errors.render(false).contains("soup.dml:"), "{text:?} has an error without a place");
            false
        }
    }
}

const SAMPLE: &str = "f = function(Matrix[Double] X, Double a = 2) return (Matrix[Double] Y, Double z) {\n\
    Y = X * a; z = 0\n if (a > 1) z = sum(Y) else { z = -a^2 }\n}\n\
    X = matrix(\"1 2 3 4\", rows=2, cols=2) # data\n\
    [B, n] = f(X, a=3)\n\
    for (i in 1:2) { X[i,] = X[i,] %*% B; X[i,1] += n }\n\
    while (as.scalar(X[1,1]) < 10 & n != 0) { X = X + 1 /* é */ }\n\
    parfor (i in seq(1, 3, 2), check=0) print('i=' + i + $a)\n\
    write(ifelse(X > 0, X, 0), \"out\", format=\"csv\")\n";

#[test]
fn every_truncation_and_mutation_of_a_script_is_survived() {
    assert!(check(SAMPLE));
    let mutations = ["", "(", ")", "{", "}", "\"", "\n", "=", "é", "9", "$", ",", "%*%", "\\"];
    for at in (0..=SAMPLE.len()).filter(|at| SAMPLE.is_char_boundary(*at)) {
        check(&SAMPLE[..at]);
        let rest = SAMPLE[at..].chars().next().map_or("", |first| &SAMPLE[at + first.len_utf8()..]);
        let mutation = mutations[at % mutations.len()];
        check(&format!("{}{mutation}{rest}", &SAMPLE[..at]));
        check(&format!("{}{mutation}{}", &SAMPLE[..at], &SAMPLE[at..]));
    }
}

const TOKENS: &[&str] = &[
    "x",
    "y",
    "X",
    "f",
    "1",
    "0",
    "2.5",
    "\"s\"",
    "TRUE",
    "$a",
    "pi",
    "if",
    "else",
    "while",
    "for",
    "parfor",
    "in",
    "function",
    "return",
    "source",
    "as",
    "=",
    "<-",
    "+=",
    "^",
    "%*%",
    "%%",
    "%/%",
    "*",
    "/",
    "+",
    "-",
    "<",
    "==",
    "!",
    "&",
    "|",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    ";",
    ":",
    "::",
    "\n",
    "sum",
    "matrix",
    "rows",
    "cols",
    "as.scalar",
    "Double",
    "Matrix",
    "print",
    "ifdef",
    "seq",
    "read",
    "\"scalar\"",
    "data_type",
    "list",
    "eval",
    "exists",
    "setwd",
    "#",
    "/*",
    "*/",
    "'",
];

const STATEMENTS: &[&str] = &[
    "x = 1",
    "x = x + y",
    "y = matrix(x, rows=2, cols=3)",
    "y = y %*% t(y)",
    "x = sum(y)",
    "x = \"s\" + x",
    "y[1,] = x",
    "if (x > 1) {",
    "} else {",
    "}",
    "while (x < 3) {",
    "for (i in 1:3) {",
    "x = f(y)",
    "x = f(x)",
    "[x, y] = g(x)",
    "print(x)",
    "x += 1",
    "y = cbind(y, y)",
    "x = ifelse(x > 0, y, x)",
    "x = as.scalar(y)",
    "x = min(x, y, 3)",
    "f = function(Matrix[Double] a) return (Double b) { b = sum(a) }",
    "f = function(Double a) return (Double b) { b = a }",
    "g = function(Double a) return (Integer b, Matrix[Double] c) { b = a; c = as.matrix(a) }",
    "x = log(x, 2)",
    "x = nrow(y)",
    "y = rand(rows=x, cols=2)",
    "y = seq(1, x)",
    "x = x == \"s\"",
    "x = read(\"f\", data_type=\"scalar\")",
    "parfor (i in 1:3) {",
    "parfor (x in seq(1, 9, 2)) {",
    "y[2 * i - x:i * x + 1, i] = y[i, 1]",
    "x = list(x, a=y)",
    "x = x[1][2, ]",
    "x[\"a\"] = [1, x]",
    "[x, y] = remove(x, 1)",
    "[x, y] = eigen(y)",
    "x = exists(y)",
    "x = eval(\"f\", x)",
    "x = append(x, \"s\")",
    "h = function(List[Unknown] a = list(1), Integer n = 2 * 3) return (Frame[String] b) { b = as.frame(a[n]) }",
    "setwd(\"d\"); source(\"f.dml\") as f",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn token_soup_is_survived(tokens in prop::collection::vec(prop::sample::select(TOKENS), 0..40)) {
        check(&tokens.join(" "));
    }

    #[test]
    fn statement_soup_is_survived(statements in prop::collection::vec(prop::sample::select(STATEMENTS), 0..25)) {
        check(&statements.join("\n"));
    }

    #[test]
    fn any_text_is_survived(text in "\\PC{0,60}") {
        check(&text);
    }
}
