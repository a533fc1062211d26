//! Calls, and the functions they mean.

use super::check;
use expect_test::expect;

#[test]
fn arguments_are_bound_by_position_and_name() {
    check(
        &[
            "x = matrix(0, rows=3)",
            "x = matrix(0, rows=3, columns=4)",
            "x = matrix(0, row=3, cols=4)",
            "x = matrix(0, 3, 4, rows=5)",
            "x = rand(rows=3, rows=4)",
            "x = abs(1, 2)",
            "x = rand(rows=3, 4)",
            "x = ifdef(3, 4)",
            "x = matrix(1, rows=2, cols=3, byrow=FALSE)",
            "x = seq(1, matrix(1, rows=1, cols=1))",
            "x = read(\"f\", data_type=\"tensor\")",
        ],
        &expect![[r#"
            Error: `matrix` needs the argument `cols`
               ╭─[ test.dml:1:5 ]
               │
             1 │ x = matrix(0, rows=3)
               │     ────────┬────────
               │             ╰────────── missing here
               │
               │ Help: the function is `matrix(data, rows, cols, byrow=TRUE)`
            ───╯

            Error: `matrix` has no parameter `columns`
               ╭─[ test.dml:1:23 ]
               │
             1 │ x = matrix(0, rows=3, columns=4)
               │                       ───┬───
               │                          ╰───── unknown
               │
               │ Help: the function is `matrix(data, rows, cols, byrow=TRUE)`
            ───╯

            Error: `matrix` has no parameter `row`
               ╭─[ test.dml:1:15 ]
               │
             1 │ x = matrix(0, row=3, cols=4)
               │               ─┬─
               │                ╰─── unknown
               │
               │ Help: did you mean `rows`?
            ───╯

            Error: the parameter `rows` of `matrix` is given twice
               ╭─[ test.dml:1:21 ]
               │
             1 │ x = matrix(0, 3, 4, rows=5)
               │               ┬     ──┬─
               │               ╰─────────── first here
               │                       │
               │                       ╰─── again here
               │
               │ Help: the function is `matrix(data, rows, cols, byrow=TRUE)`
            ───╯

            Error: the parameter `rows` of `rand` is given twice
               ╭─[ test.dml:1:18 ]
               │
             1 │ x = rand(rows=3, rows=4)
               │               ┬  ──┬─
               │               ╰──────── first here
               │                    │
               │                    ╰─── again here
               │
               │ Help: the function is `rand(rows=1, cols=1, min=0.0, max=1.0, sparsity=1.0, seed=-1, pdf="uniform", lambda=1.0)`
            ───╯

            Error: `abs` takes at most 1 argument, not 2
               ╭─[ test.dml:1:12 ]
               │
             1 │ x = abs(1, 2)
               │            ┬
               │            ╰── too many
               │
               │ Help: the function is `abs(target)`
            ───╯

            Error: an argument of `rand` without a name follows one with a name
               ╭─[ test.dml:1:18 ]
               │
             1 │ x = rand(rows=3, 4)
               │                  ┬
               │                  ╰── without a name
               │
               │ Help: the function is `rand(rows=1, cols=1, min=0.0, max=1.0, sparsity=1.0, seed=-1, pdf="uniform", lambda=1.0)`
            ───╯

            Error: the first argument of `ifdef` must be a script argument
               ╭─[ test.dml:1:5 ]
               │
             1 │ x = ifdef(3, 4)
               │     ─────┬─────
               │          ╰─────── here
               │
               │ Help: write `ifdef($name, default)`
            ───╯

            accepted:
            program {
              block {
                %0 = literal 1 : i64
                %1 = literal 2 : i64
                %2 = literal 3 : i64
                %3 = literal FALSE : bool
                %4 = matrix %0, %2, %1 : f64[3x2, nnz=6]
                %5 = t %4 : f64[2x3, nnz=6]
                write "x" %5
              }
            }

            Error: `seq` needs a scalar as `to`, not Matrix[Double]
               ╭─[ test.dml:1:12 ]
               │
             1 │ x = seq(1, matrix(1, rows=1, cols=1))
               │            ────────────┬────────────
               │                        ╰────────────── a matrix
               │
               │ Help: convert a 1 x 1 matrix with `as.scalar(...)`
            ───╯

            Error: `read` gives a matrix, a frame or a scalar; `tensor` is not supported
               ╭─[ test.dml:1:5 ]
               │
             1 │ x = read("f", data_type="tensor")
               │     ──────────────┬──────────────
               │                   ╰──────────────── here
            ───╯
        "#]],
    );
}

#[test]
fn functions_and_their_calls_are_checked() {
    check(
        &[
            "f = function(Double x) return (Double y) { y = x }\nf = function(Double x) return (Double y) { y = x }",
            "sum = function(Double x) return (Double y) { y = x }",
            "f = function(Double x) return (Double y, Double z) { y = x; z = x }\n[a, b, c] = f(1)\nd = f(1)\ne = f(1) + 1",
            "f = function(Double x) return (Double y) { z = x }",
            "f = function(Matrix[Double] X, Double eps = 1e-3) return (Double y) { y = sum(X) * eps }\na = f(3)\nb = f(eps=2)\nc = f(matrix(1, rows=1, cols=1), \"a\")\nd = f(matrix(1, rows=1, cols=1), matrix(1, rows=1, cols=1))",
            "f = function(Double x = 1 + 2, Integer n = \"a\") return (Double y) { y = x }",
            "f = function(Double x) return (Matrix[Double] y) { y = x }",
            "[a, b] = sum(matrix(1, rows=1, cols=1))",
            "sum(matrix(1, rows=1, cols=1))",
            "x = print(1)",
        ],
        &expect![[r#"
            Error: the function `f` is defined twice
               ╭─[ test.dml:2:1 ]
               │
             1 │ f = function(Double x) return (Double y) { y = x }
               │ ────────────────────┬───────────────────
               │                     ╰───────────────────── first here
             2 │ f = function(Double x) return (Double y) { y = x }
               │ ┬
               │ ╰── again here
            ───╯

            accepted:
            program {
              function sum(x: f64) -> (y: f64) {
                block {
                  %0 = read "x" : f64
                  write "y" %0
                }
              }
            }

            Error: `f` gives 2 results, assigned to 3 variables
               ╭─[ test.dml:2:13 ]
               │
             1 │ f = function(Double x) return (Double y, Double z) { y = x; z = x }
               │ ─────────────────────────┬────────────────────────
               │                          ╰────────────────────────── defined here
             2 │ [a, b, c] = f(1)
               │             ──┬─
               │               ╰─── called here
            ───╯

            Error: the result `y` is never assigned
               ╭─[ test.dml:1:39 ]
               │
             1 │ f = function(Double x) return (Double y) { z = x }
               │                                       ┬
               │                                       ╰── declared here
               │
               │ Help: assign it on every path through the function
            ───╯

            Error: the argument `X` of `f` is declared as Matrix[Double], not Integer
               ╭─[ test.dml:2:7 ]
               │
             2 │ a = f(3)
               │       ┬
               │       ╰── Integer
               │
               │ Help: convert it with `as.matrix(...)`
            ───╯
            Error: `f` needs the argument `X`
               ╭─[ test.dml:3:5 ]
               │
             3 │ b = f(eps=2)
               │     ────┬───
               │         ╰───── missing here
               │
               │ Help: the function is `f(Matrix[Double] X, Double eps = 1e-3)`
            ───╯
            Error: the argument `eps` of `f` is declared as Double, not String
               ╭─[ test.dml:4:34 ]
               │
             4 │ c = f(matrix(1, rows=1, cols=1), "a")
               │                                  ─┬─
               │                                   ╰─── String
            ───╯
            Error: the argument `eps` of `f` is declared as Double, not Matrix[Double]
               ╭─[ test.dml:5:34 ]
               │
             5 │ d = f(matrix(1, rows=1, cols=1), matrix(1, rows=1, cols=1))
               │                                  ────────────┬────────────
               │                                              ╰────────────── Matrix[Double]
               │
               │ Help: convert it with `as.scalar(...)`
            ───╯

            Error: the default of `n` is declared as Integer, not String
               ╭─[ test.dml:1:44 ]
               │
             1 │ f = function(Double x = 1 + 2, Integer n = "a") return (Double y) { y = x }
               │                                            ─┬─
               │                                             ╰─── String
            ───╯

            Error: the result `y` is declared as Matrix[Double], not Double
               ╭─[ test.dml:1:47 ]
               │
             1 │ f = function(Double x) return (Matrix[Double] y) { y = x }
               │                                               ┬
               │                                               ╰── Double
               │
               │ Help: convert it with `as.matrix(...)`
            ───╯

            Error: `sum` gives 1 result, assigned to 2 variables
               ╭─[ test.dml:1:10 ]
               │
             1 │ [a, b] = sum(matrix(1, rows=1, cols=1))
               │          ───────────────┬──────────────
               │                         ╰──────────────── called here
            ───╯

            Error: the value of `sum` is not used
               ╭─[ test.dml:1:1 ]
               │
             1 │ sum(matrix(1, rows=1, cols=1))
               │ ───────────────┬──────────────
               │                ╰──────────────── its value goes nowhere
               │
               │ Help: assign it to a variable, or print it
            ───╯

            Error: `print` has no value
               ╭─[ test.dml:1:5 ]
               │
             1 │ x = print(1)
               │     ────┬───
               │         ╰───── used as a value
               │
               │ Help: write it as a statement of its own
            ───╯
        "#]],
    );
}

#[test]
fn functions_with_forms_of_their_own_say_what_they_take() {
    check(
        &[
            "X = seq(1, 3)\nY = outer(X, t(X), \"plus\")",
            "X = seq(1, 3)\nop = as.scalar(X[1, 1])\nY = outer(X, t(X), op)",
            "X = seq(1, 3)\nY = outer(t(X), X, \"+\")",
            "X = seq(1, 3)\nY = table(A=X, B=X, dim1=3)",
            "X = seq(1, 3)\nY = table(X, X, X, 3, X)",
            "X = seq(1, 3)\nY = removeEmpty(X)",
            "X = seq(1, 3)\nY = order(target=X, by=1, decreasing=X)",
            "X = matrix(1, rows=2, cols=3)\nY = diag(X)",
            "X = matrix(1, rows=2, cols=5)\nY = bias_add(X, seq(1, 3))",
        ],
        &expect![[r#"
            Error: there is no operation `plus`
               ╭─[ test.dml:2:20 ]
               │
             2 │ Y = outer(X, t(X), "plus")
               │                    ───┬──
               │                       ╰──── unknown
               │
               │ Help: the operations are + - * / ^ %/% %% min max == != < <= > >= & | xor bitwAnd bitwOr bitwXor bitwShiftL bitwShiftR
            ───╯

            Error: `outer` needs its operation as a constant text
               ╭─[ test.dml:3:20 ]
               │
             3 │ Y = outer(X, t(X), op)
               │                    ─┬
               │                     ╰── not a constant
               │
               │ Help: write `outer(u, v, "*")`
            ───╯

            Error: outer with +: the shapes [1x3] and [3x1] do not fit: outer takes a column vector and a row vector
               ╭─[ test.dml:2:5 ]
               │
             1 │ X = seq(1, 3)
               │     ────┬────
               │         ╰────── a matrix [3x1]
             2 │ Y = outer(t(X), X, "+")
               │           ──┬─
               │             ╰─── a matrix [1x3]
            ───╯

            Error: `table` needs both dimensions or none
               ╭─[ test.dml:2:26 ]
               │
             2 │ Y = table(A=X, B=X, dim1=3)
               │                          ┬
               │                          ╰── alone
               │
               │ Help: write `table(A, B, rows, columns)`
            ───╯

            Error: `table` needs a scalar as `dim2`, not Matrix[Double]
               ╭─[ test.dml:2:23 ]
               │
             2 │ Y = table(X, X, X, 3, X)
               │                       ┬
               │                       ╰── a matrix
               │
               │ Help: convert a 1 x 1 matrix with `as.scalar(...)`
            ───╯

            Error: `removeEmpty` needs the argument `margin`
               ╭─[ test.dml:2:5 ]
               │
             2 │ Y = removeEmpty(X)
               │     ───────┬──────
               │            ╰──────── missing here
               │
               │ Help: the function is `removeEmpty(target, margin, select=..., empty.return=...)`
            ───╯

            Error: `order` needs a scalar as `decreasing`, not Matrix[Double]
               ╭─[ test.dml:1:5 ]
               │
             1 │ X = seq(1, 3)
               │     ────┬────
               │         ╰────── a matrix
               │
               │ Help: convert a 1 x 1 matrix with `as.scalar(...)`
            ───╯

            Error: diag needs a square matrix or a column vector as input 1, not matrix
               ╭─[ test.dml:2:5 ]
               │
             1 │ X = matrix(1, rows=2, cols=3)
               │     ────────────┬────────────
               │                 ╰────────────── a matrix [2x3]
            ───╯

            Error: expand needs a vector whose length divides the number of columns as input 1, not matrix
               ╭─[ test.dml:2:5 ]
               │
             2 │ Y = bias_add(X, seq(1, 3))
               │     ───────────┬────┬─────
               │                ╰──────────── Integer
               │                     │
               │                     ╰─────── a matrix [3x1]
            ───╯
        "#]],
    );
}
