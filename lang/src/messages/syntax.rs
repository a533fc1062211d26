//! Texts that are no scripts.

use super::check;
use expect_test::expect;

#[test]
fn the_parser_says_what_it_expected() {
    check(
        &[
            "x = (1 + 2\ny = 3",
            "x = 1 +",
            "x = 1 2",
            "x = a\n  + b",
            "x + 1",
            "if x > 1 { y = 2 }",
            "for (i in 10) x = i",
            "for (i in 1:3, chek=0) x = i",
            "x = \"abc\ny = 1",
            "x = 1 /* never closed",
            "x = 3 ~ 4\ny = 2 \\ 3",
            "if (x <- 3) y = 1",
            "else x = 1",
            "}",
            "while (TRUE) {\n  x = 1\n",
            "if (TRUE) { f = function(Double x) return (Double y) { y = x } }",
            "f = function(Dubble x, Frame[String] F) return (Double y) { y = x }",
            "f = function(Matrix[String] X) return (Double y) { y = 1 }",
            "f = function(Double x, Double x) return (Double y) { y = 1 }",
            "my.variable = 3",
            "[a, b] = 3",
            "source(\"f.dml\")",
        ],
        &expect![[r#"
            Error: expected `)` to close the parenthesis, found `y`
               ╭─[ test.dml:2:1 ]
               │
             2 │ y = 3
               │ ┬
               │ ╰── here
            ───╯

            Error: expected an expression, found the end of the script
               ╭─[ test.dml:1:8 ]
               │
             1 │ x = 1 +
               │        │
               │        ╰─ here
            ───╯

            Error: expected the end of the statement, found a number
               ╭─[ test.dml:1:7 ]
               │
             1 │ x = 1 2
               │       ┬
               │       ╰── here
            ───╯

            Error: the variable `a` is not defined
               ╭─[ test.dml:1:5 ]
               │
             1 │ x = a
               │     ┬
               │     ╰── not defined
            ───╯

            Error: an expression alone is no statement
               ╭─[ test.dml:1:1 ]
               │
             1 │ x + 1
               │ ┬
               │ ╰── its value goes nowhere
               │
               │ Help: assign it to a variable, or print it
            ───╯

            Error: expected `(` after `if`, found `x`
               ╭─[ test.dml:1:4 ]
               │
             1 │ if x > 1 { y = 2 }
               │    ┬
               │    ╰── here
            ───╯

            Error: a loop runs over a range
               ╭─[ test.dml:1:11 ]
               │
             1 │ for (i in 10) x = i
               │           ─┬
               │            ╰── not a range
               │
               │ Help: write `from:to`, or `seq(from, to, increment)`
            ───╯

            Error: a loop has no option `chek`
               ╭─[ test.dml:1:16 ]
               │
             1 │ for (i in 1:3, chek=0) x = i
               │                ──┬─
               │                  ╰─── here
               │
               │ Help: did you mean `check`?
            ───╯

            Error: a text is not closed
               ╭─[ test.dml:1:5 ]
               │
             1 │ x = "abc
               │     ┬
               │     ╰── its closing quote is missing
            ───╯

            Error: a comment is not closed
               ╭─[ test.dml:1:7 ]
               │
             1 │ x = 1 /* never closed
               │       ─┬
               │        ╰── `*/` is missing
            ───╯

            Error: `~` is not part of DML
               ╭─[ test.dml:1:7 ]
               │
             1 │ x = 3 ~ 4
               │       ┬
               │       ╰── unexpected character
            ───╯
            Error: `\` is not part of DML
               ╭─[ test.dml:2:7 ]
               │
             2 │ y = 2 \ 3
               │       ┬
               │       ╰── unexpected character
            ───╯

            Error: `<-` assigns, and no assignment can stand here
               ╭─[ test.dml:1:7 ]
               │
             1 │ if (x <- 3) y = 1
               │       ─┬
               │        ╰── here
               │
               │ Help: for a comparison with a negative value write `< -`
            ───╯

            Error: `else` without `if`
               ╭─[ test.dml:1:1 ]
               │
             1 │ else x = 1
               │ ──┬─
               │   ╰─── no `if` belongs to it
            ───╯

            Error: `}` closes no block
               ╭─[ test.dml:1:1 ]
               │
             1 │ }
               │ ┬
               │ ╰── no `{` belongs to it
            ───╯

            Error: expected `}`, found the end of the script
               ╭─[ test.dml:2:9 ]
               │
             1 │ while (TRUE) {
               │              ┬
               │              ╰── this block is not closed
            ───╯

            Error: a function definition must stand at the top level of a script
               ╭─[ test.dml:1:17 ]
               │
             1 │ if (TRUE) { f = function(Double x) return (Double y) { y = x } }
               │                 ────┬───
               │                     ╰───── within a block
            ───╯

            Error: there is no type `Dubble`
               ╭─[ test.dml:1:14 ]
               │
             1 │ f = function(Dubble x, Frame[String] F) return (Double y) { y = x }
               │              ───┬──
               │                 ╰──── here
               │
               │ Help: did you mean `Double`?
            ───╯

            Error: matrices of `String` are not supported
               ╭─[ test.dml:1:21 ]
               │
             1 │ f = function(Matrix[String] X) return (Double y) { y = 1 }
               │                     ───┬──
               │                        ╰──── here
               │
               │ Help: write `Matrix[Double]`
            ───╯

            Error: the parameter `x` is declared twice
               ╭─[ test.dml:1:31 ]
               │
             1 │ f = function(Double x, Double x) return (Double y) { y = 1 }
               │                     ┬         ┬
               │                     ╰──────────── first here
               │                               │
               │                               ╰── again here
            ───╯

            Error: `my.variable` cannot be a name of a script: it has a dot
               ╭─[ test.dml:1:1 ]
               │
             1 │ my.variable = 3
               │ ─────┬─────
               │      ╰─────── here
               │
               │ Help: write `my_variable`
            ───╯

            Error: only a function call gives several results
               ╭─[ test.dml:1:10 ]
               │
             1 │ [a, b] = 3
               │          ┬
               │          ╰── not a call
            ───╯

            Error: expected `as` and a namespace, found the end of the script
               ╭─[ test.dml:1:16 ]
               │
             1 │ source("f.dml")
               │                │
               │                ╰─ here
            ───╯
        "#]],
    );
}
