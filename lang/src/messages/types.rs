//! Types and shapes that do not fit.

use super::check;
use expect_test::expect;

#[test]
fn known_shapes_and_types_are_checked() {
    check(
        &[
            "A = matrix(1, rows=3, cols=4)\nB = matrix(1, rows=3, cols=4)\nC = A %*% B",
            "A = matrix(1, rows=3, cols=4)\nx = A[5, 1]",
            "A = matrix(1, rows=3, cols=4)\nA[1, ] = matrix(1, rows=1, cols=5)",
            "A = matrix(1, rows=3, cols=4)\nif (A > 1) x = 1",
            "while (\"yes\") x = 1",
            "A = matrix(1, rows=3, cols=4)\nprint(\"A: \" + A)",
            "A = matrix(1, rows=3, cols=4)\nprint(\"%s\", A)",
            "x = sum(3)",
            "x = \"a\" * 2",
            "for (i in matrix(1, rows=2, cols=1):3) x = i",
        ],
        &expect![[r#"
            Error: %*%: the shapes [3x4] and [3x4] do not fit: the columns of the left must be as many as the rows of the right
               ╭─[ test.dml:3:5 ]
               │
             1 │ A = matrix(1, rows=3, cols=4)
               │     ────────────┬────────────
               │                 ╰────────────── a matrix [3x4]
             2 │ B = matrix(1, rows=3, cols=4)
               │     ────────────┬────────────
               │                 ╰────────────── a matrix [3x4]
            ───╯

            Error: indexing: the range [5:5, 1:1] lies outside of a matrix [3x4]
               ╭─[ test.dml:2:5 ]
               │
             1 │ A = matrix(1, rows=3, cols=4)
               │     ────────────┬────────────
               │                 ╰────────────── a matrix [3x4]
             2 │ x = A[5, 1]
               │     ───┬───
               │        ╰───── outside
               │
               │ Help: rows and columns are counted from 1
            ───╯

            Error: left indexing: the shapes [1x4] and [1x5] do not fit: the replacement must have the size of the range
               ╭─[ test.dml:2:1 ]
               │
             1 │ A = matrix(1, rows=3, cols=4)
               │     ────────────┬────────────
               │                 ╰────────────── a matrix [3x4]
             2 │ A[1, ] = matrix(1, rows=1, cols=5)
               │          ────────────┬────────────
               │                      ╰────────────── a matrix [1x5]
            ───╯

            Error: a condition must be a scalar, not Matrix[Double]
               ╭─[ test.dml:2:5 ]
               │
             2 │ if (A > 1) x = 1
               │     ──┬──
               │       ╰──── Matrix[Double]
               │
               │ Help: convert a 1 x 1 matrix with `as.scalar(...)`
            ───╯

            Error: a condition must be a scalar, not String
               ╭─[ test.dml:1:8 ]
               │
             1 │ while ("yes") x = 1
               │        ──┬──
               │          ╰──── String
            ───╯

            Error: a text and a matrix cannot be concatenated
               ╭─[ test.dml:2:7 ]
               │
             1 │ A = matrix(1, rows=3, cols=4)
               │     ────────────┬────────────
               │                 ╰────────────── a matrix
               │
               │ Help: convert the matrix with `toString(...)`, or a single cell with `as.scalar(...)`
            ───╯

            Error: `print` puts numbers and texts into a format, not Matrix[Double]
               ╭─[ test.dml:2:13 ]
               │
             2 │ print("%s", A)
               │             ┬
               │             ╰── here
               │
               │ Help: convert it with `toString(...)`
            ───╯

            Error: sum needs a matrix as input 1, not i64
               ╭─[ test.dml:1:5 ]
               │
             1 │ x = sum(3)
               │         ┬
               │         ╰── Integer
            ───╯

            Error: * needs a matrix or a number as input 1, not str
               ╭─[ test.dml:1:5 ]
               │
             1 │ x = "a" * 2
               │     ─┬─   ┬
               │      ╰─────── String
               │           │
               │           ╰── Integer
            ───╯

            Error: the start of a loop must be a scalar, not Matrix[Double]
               ╭─[ test.dml:1:11 ]
               │
             1 │ for (i in matrix(1, rows=2, cols=1):3) x = i
               │           ────────────┬────────────
               │                       ╰────────────── Matrix[Double]
               │
               │ Help: convert a 1 x 1 matrix with `as.scalar(...)`
            ───╯
        "#]],
    );
}
