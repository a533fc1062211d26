//! Names that nothing bears.

use super::check;
use expect_test::expect;

#[test]
fn unknown_names_suggest_known_ones() {
    check(
        &[
            "x = 1\ny = X + 1",
            "learning_rate = 0.1\ny = learning_rte * 2",
            "y = sum + 1",
            "x = rowSum(matrix(1, rows=2, cols=2))",
            "x = rowsums(matrix(1, rows=2, cols=2))",
            "x = eigen(matrix(1, rows=3, cols=3))",
            "x = quuxquuxqu(3)",
            "x = $tol + $1",
            "x = lib::f(3)",
            "if (TRUE) { x = 1 }\ny = x + z",
        ],
        &expect![[r#"
            Error: the variable `X` is not defined
               ╭─[ test.dml:2:5 ]
               │
             2 │ y = X + 1
               │     ┬
               │     ╰── not defined
               │
               │ Help: did you mean `x`?
            ───╯

            Error: the variable `learning_rte` is not defined
               ╭─[ test.dml:2:5 ]
               │
             2 │ y = learning_rte * 2
               │     ──────┬─────
               │           ╰─────── not defined
               │
               │ Help: did you mean `learning_rate`?
            ───╯

            Error: the variable `sum` is not defined
               ╭─[ test.dml:1:5 ]
               │
             1 │ y = sum + 1
               │     ─┬─
               │      ╰─── not defined
               │
               │ Help: `sum` is a function; call it with `sum(...)`
            ───╯

            Error: there is no function `rowSum`
               ╭─[ test.dml:1:5 ]
               │
             1 │ x = rowSum(matrix(1, rows=2, cols=2))
               │     ───┬──
               │        ╰──── not found
               │
               │ Help: did you mean `rowSums`?
            ───╯

            Error: there is no function `rowsums`
               ╭─[ test.dml:1:5 ]
               │
             1 │ x = rowsums(matrix(1, rows=2, cols=2))
               │     ───┬───
               │        ╰───── not found
               │
               │ Help: did you mean `rowSums`?
            ───╯

            Error: `eigen` gives 2 results, an expression needs one
               ╭─[ test.dml:1:5 ]
               │
             1 │ x = eigen(matrix(1, rows=3, cols=3))
               │     ────────────────┬───────────────
               │                     ╰───────────────── used here
            ───╯

            Error: there is no function `quuxquuxqu`
               ╭─[ test.dml:1:5 ]
               │
             1 │ x = quuxquuxqu(3)
               │     ─────┬────
               │          ╰────── not found
            ───╯

            Error: the argument `$tol` is missing
               ╭─[ test.dml:1:5 ]
               │
             1 │ x = $tol + $1
               │     ──┬─
               │       ╰─── needed here
               │
               │ Help: pass it with `--nvargs tol=...`, or give a default with `ifdef($tol, ...)`
            ───╯

            Error: there is no namespace `lib`
               ╭─[ test.dml:1:5 ]
               │
             1 │ x = lib::f(3)
               │     ─┬─
               │      ╰─── here
               │
               │ Help: write `source("file.dml") as lib` first
            ───╯

            Error: the variable `z` is not defined
               ╭─[ test.dml:2:9 ]
               │
             2 │ y = x + z
               │         ┬
               │         ╰── not defined
            ───╯
        "#]],
    );
}
