//! Straight lines and builtin functions become operators of one DAG.

use super::{check, program};
use expect_test::expect;

#[test]
fn a_straight_line_is_one_dag_that_reads_each_variable_once() {
    check(
        "X = rand(rows=4, cols=3, seed=7)\nif ($icpt) X = X + 1\ny = X * X\ny = y + X\nz = sum(y^2) + sum(X)",
        &expect![[r#"
            program {
              block {
                %0 = literal 4 : i64
                %1 = literal 3 : i64
                %2 = literal 0.0 : f64
                %3 = literal 1.0 : f64
                %4 = literal 1.0 : f64
                %5 = literal 7 : i64
                %6 = literal "uniform" : str
                %7 = literal 1.0 : f64
                %8 = rand %0, %1, %2, %3, %4, %5, %6 : f64[4x3]
                write "X" %8
              }
              if {
                %0 = literal TRUE : bool
                write "_predicate" %0
              } then {
                block {
                  %0 = read "X" : f64[?x?]
                  %1 = literal 1 : i64
                  %2 = plus %0, %1 : f64[?x?]
                  write "X" %2
                }
              }
              block {
                %0 = read "X" : f64[?x?]
                %1 = mult %0, %0 : f64[?x?]
                %2 = plus %1, %0 : f64[?x?]
                %3 = literal 2 : i64
                %4 = pow %2, %3 : f64[?x?]
                %5 = sum.full %4 : f64
                %6 = sum.full %0 : f64
                %7 = plus %5, %6 : f64
                write "y" %2
                write "z" %7
              }
            }
        "#]],
    );
}

#[test]
fn script_arguments_are_literals_by_their_form() {
    check(
        "a = $n\nb = $eps\nc = $name\nd = $icpt\ne = -$1\nf = ifdef($n, 3) + ifdef($other, 2.5)",
        &expect![[r#"
            program {
              block {
                %0 = literal 10 : i64
                %1 = literal 0.001 : f64
                %2 = literal "w.csv" : str
                %3 = literal TRUE : bool
                %4 = literal -2 : i64
                %5 = neg %4 : i64
                %6 = literal 10 : i64
                %7 = literal 2.5 : f64
                %8 = plus %6, %7 : f64
                write "a" %0
                write "b" %1
                write "c" %2
                write "d" %3
                write "e" %5
                write "f" %8
              }
            }
        "#]],
    );
}

#[test]
fn texts_concatenate_and_compare() {
    check(
        "s = \"n = \" + 3 + 4\nt = 3 + 4 + \"!\"\nb = s == \"n\" | 1 < 2",
        &expect![[r#"
        program {
          block {
            %0 = literal "n = " : str
            %1 = literal 3 : i64
            %2 = concat %0, %1 : str
            %3 = literal 4 : i64
            %4 = concat %2, %3 : str
            %5 = literal 3 : i64
            %6 = literal 4 : i64
            %7 = plus %5, %6 : i64
            %8 = literal "!" : str
            %9 = concat %7, %8 : str
            %10 = literal "n" : str
            %11 = eq %4, %10 : bool
            %12 = literal 1 : i64
            %13 = literal 2 : i64
            %14 = lt %12, %13 : bool
            %15 = or %11, %14 : bool
            write "s" %4
            write "t" %9
            write "b" %15
          }
        }
    "#]],
    );
}

#[test]
fn builtins_become_operators() {
    check(
        "X = matrix(\"1 2 3 4\", rows=2, cols=2)\na = log(X, 2)\nb = min(X, 1, t(X)) + max(X)\nc = cbind(X, X, rowSums(X))\nd = append(X, t(colMeans(X)[1, 1:2]))\nn = nrow(X)\ne = seq(n, 1)\nf = seq(1, 10, 3)\ng = seq(3, 1)\nh = ifelse(X > 2, X, -1)\ni = as.integer(as.scalar(X[1, 2]))\nj = Rand(rows=n, cols=2, pdf=\"normal\")\nk = -2^2 + pi",
        &expect![[r#"
            program {
              block {
                %0 = literal "1 2 3 4" : str
                %1 = literal 2 : i64
                %2 = literal 2 : i64
                %3 = matrix %0, %1, %2 : f64[2x2]
                %4 = literal 2 : i64
                %5 = log %3 : f64[2x2]
                %6 = log %4 : f64
                %7 = div %5, %6 : f64[2x2]
                %8 = literal 1 : i64
                %9 = t %3 : f64[2x2]
                %10 = nary_min %3, %8, %9 : f64[2x2]
                %11 = max.full %3 : f64
                %12 = plus %10, %11 : f64[2x2]
                %13 = sum.row %3 : f64[2x1]
                %14 = cbind %3, %3, %13 : f64[2x5]
                %15 = mean.col %3 : f64[1x2]
                %16 = literal 1 : i64
                %17 = literal 1 : i64
                %18 = literal 2 : i64
                %19 = index %15, %16, %16, %17, %18 : f64[1x2]
                %20 = t %19 : f64[2x1]
                %21 = cbind %3, %20 : f64[2x3]
                %22 = nrow %3 : i64
                %23 = literal 1 : i64
                %24 = gt %22, %23 : bool
                %25 = literal 1 : i64
                %26 = literal -1 : i64
                %27 = ifelse %24, %26, %25 : i64
                %28 = seq %22, %23, %27 : f64[?x1]
                %29 = literal 1 : i64
                %30 = literal 10 : i64
                %31 = literal 3 : i64
                %32 = seq %29, %30, %31 : f64[4x1]
                %33 = literal 3 : i64
                %34 = literal 1 : i64
                %35 = literal -1 : i64
                %36 = seq %33, %34, %35 : f64[3x1]
                %37 = literal 2 : i64
                %38 = gt %3, %37 : f64[2x2]
                %39 = literal -1 : i64
                %40 = ifelse %38, %3, %39 : f64[2x2]
                %41 = literal 1 : i64
                %42 = literal 2 : i64
                %43 = index %3, %41, %41, %42, %42 : f64[1x1]
                %44 = as.scalar %43 : f64
                %45 = as.integer %44 : i64
                %46 = literal 2 : i64
                %47 = literal 0.0 : f64
                %48 = literal 1.0 : f64
                %49 = literal 1.0 : f64
                %50 = literal -1 : i64
                %51 = literal "normal" : str
                %52 = literal 1.0 : f64
                %53 = rand %22, %46, %47, %48, %49, %50, %51 : f64[?x2]
                %54 = literal 2 : i64
                %55 = literal 2 : i64
                %56 = pow %54, %55 : f64
                %57 = neg %56 : f64
                %58 = literal 3.141592653589793 : f64
                %59 = plus %57, %58 : f64
                write "X" %3
                write "a" %7
                write "b" %12
                write "c" %14
                write "d" %21
                write "n" %22
                write "e" %28
                write "f" %32
                write "g" %36
                write "h" %40
                write "i" %45
                write "j" %53
                write "k" %59
              }
            }
        "#]],
    );
}

#[test]
fn reorganisations_tables_and_biases_become_operators() {
    check(
        "X = matrix(\"1 2 3 4 5 6\", rows=2, cols=3)\nv = seq(1, 2)\na = order(X, 2, index.return=TRUE)\nb = removeEmpty(target=X, margin=\"rows\", select=v)\nc = table(v, 1)\nd = table(v, v, 2, 3)\ne = table(v, v, v, dim1=2, dim2=3)\nf = outer(v, t(v), \"<=\")\ng = bias_add(X, v[1, 1]) + max(X, 1, 2)\nh = sd(X) + trace(diag(v)) + max(1, 2, 3)\ni = rev(cumsum(replace(target=X, pattern=1, replacement=0)))\nj = rowIndexMax(X)",
        &expect![[r#"
            program {
              block {
                %0 = literal "1 2 3 4 5 6" : str
                %1 = literal 2 : i64
                %2 = literal 3 : i64
                %3 = matrix %0, %1, %2 : f64[2x3]
                %4 = literal 1 : i64
                %5 = literal 2 : i64
                %6 = literal 1 : i64
                %7 = seq %4, %5, %6 : f64[2x1]
                %8 = literal 2 : i64
                %9 = literal TRUE : bool
                %10 = order %3, by=%8, index.return=%9 : f64[2x1]
                %11 = literal "rows" : str
                %12 = removeEmpty %3, margin=%11, select=%7 : f64[?x3]
                %13 = literal 1 : i64
                %14 = literal 1.0 : f64
                %15 = table %7, %13, %14 : f64[?x?, nnz=2]
                %16 = literal 1.0 : f64
                %17 = literal 2 : i64
                %18 = literal 3 : i64
                %19 = table %7, %7, %16, dim1=%17, dim2=%18 : f64[2x3, nnz=2]
                %20 = literal 2 : i64
                %21 = literal 3 : i64
                %22 = table %7, %7, %7, dim1=%20, dim2=%21 : f64[2x3, nnz=2]
                %23 = literal "<=" : str
                %24 = t %7 : f64[1x2]
                %25 = outer.le %7, %24 : f64[2x2]
                %26 = literal 1 : i64
                %27 = literal 1 : i64
                %28 = index %7, %26, %26, %27, %27 : f64[1x1]
                %29 = literal 3 : i64
                %30 = expand %28, %29 : f64[1x3]
                %31 = plus %3, %30 : f64[2x3]
                %32 = literal 1 : i64
                %33 = literal 2 : i64
                %34 = nary_max %3, %32, %33 : f64[2x3]
                %35 = plus %31, %34 : f64[2x3]
                %36 = var.full %3 : f64
                %37 = sqrt %36 : f64
                %38 = diag %7 : f64[2x2]
                %39 = diag %38 : f64[2x1]
                %40 = sum.full %39 : f64
                %41 = plus %37, %40 : f64
                %42 = literal 1 : i64
                %43 = literal 2 : i64
                %44 = literal 3 : i64
                %45 = max %42, %43 : i64
                %46 = max %45, %44 : i64
                %47 = plus %41, %46 : f64
                %48 = literal 1 : i64
                %49 = literal 0 : i64
                %50 = replace %3, %48, %49 : f64[2x3]
                %51 = cumulative.sum %50 : f64[2x3]
                %52 = rev %51 : f64[2x3]
                %53 = rowIndexMax %3 : f64[2x1]
                write "X" %3
                write "v" %7
                write "a" %10
                write "b" %12
                write "c" %15
                write "d" %19
                write "e" %22
                write "f" %25
                write "g" %35
                write "h" %47
                write "i" %52
                write "j" %53
              }
            }
        "#]],
    );
}

#[test]
fn long_chains_need_no_stack() {
    let text = format!("a = 1\nx = a{}\ny = \"s\"{}", " + a".repeat(1900), " + a".repeat(1900));
    assert_eq!(program(&text).body.len(), 1);
}
