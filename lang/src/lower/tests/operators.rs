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
                %3 = literal TRUE : bool
                %4 = literal TRUE : bool
                %5 = matrix %0, %1, %2 : f64[2x2]
                %6 = literal 2 : i64
                %7 = log %5 : f64[2x2]
                %8 = log %6 : f64
                %9 = div %7, %8 : f64[2x2]
                %10 = literal 1 : i64
                %11 = t %5 : f64[2x2]
                %12 = nary_min %5, %10, %11 : f64[2x2]
                %13 = max.full %5 : f64
                %14 = plus %12, %13 : f64[2x2]
                %15 = sum.row %5 : f64[2x1]
                %16 = cbind %5, %5, %15 : f64[2x5]
                %17 = mean.col %5 : f64[1x2]
                %18 = literal 1 : i64
                %19 = literal 1 : i64
                %20 = literal 2 : i64
                %21 = index %17, %18, %18, %19, %20 : f64[1x2]
                %22 = t %21 : f64[2x1]
                %23 = cbind %5, %22 : f64[2x3]
                %24 = nrow %5 : i64
                %25 = literal 1 : i64
                %26 = gt %24, %25 : bool
                %27 = literal 1 : i64
                %28 = literal -1 : i64
                %29 = ifelse %26, %28, %27 : i64
                %30 = seq %24, %25, %29 : f64[?x1]
                %31 = literal 1 : i64
                %32 = literal 10 : i64
                %33 = literal 3 : i64
                %34 = seq %31, %32, %33 : f64[4x1]
                %35 = literal 3 : i64
                %36 = literal 1 : i64
                %37 = literal -1 : i64
                %38 = seq %35, %36, %37 : f64[3x1]
                %39 = literal 2 : i64
                %40 = gt %5, %39 : f64[2x2]
                %41 = literal -1 : i64
                %42 = ifelse %40, %5, %41 : f64[2x2]
                %43 = literal 1 : i64
                %44 = literal 2 : i64
                %45 = index %5, %43, %43, %44, %44 : f64[1x1]
                %46 = as.scalar %45 : f64
                %47 = as.integer %46 : i64
                %48 = literal 2 : i64
                %49 = literal 0.0 : f64
                %50 = literal 1.0 : f64
                %51 = literal 1.0 : f64
                %52 = literal -1 : i64
                %53 = literal "normal" : str
                %54 = literal 1.0 : f64
                %55 = rand %24, %48, %49, %50, %51, %52, %53 : f64[?x2]
                %56 = literal 2 : i64
                %57 = literal 2 : i64
                %58 = pow %56, %57 : f64
                %59 = neg %58 : f64
                %60 = literal 3.141592653589793 : f64
                %61 = plus %59, %60 : f64
                write "X" %5
                write "a" %9
                write "b" %14
                write "c" %16
                write "d" %23
                write "n" %24
                write "e" %30
                write "f" %34
                write "g" %38
                write "h" %42
                write "i" %47
                write "j" %55
                write "k" %61
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
                %3 = literal TRUE : bool
                %4 = literal TRUE : bool
                %5 = matrix %0, %1, %2 : f64[2x3]
                %6 = literal 1 : i64
                %7 = literal 2 : i64
                %8 = literal 1 : i64
                %9 = seq %6, %7, %8 : f64[2x1]
                %10 = literal 2 : i64
                %11 = literal TRUE : bool
                %12 = order %5, by=%10, index.return=%11 : f64[2x1]
                %13 = literal "rows" : str
                %14 = removeEmpty %5, margin=%13, select=%9 : f64[?x3]
                %15 = literal 1 : i64
                %16 = literal 1.0 : f64
                %17 = table %9, %15, %16 : f64[?x?]
                %18 = literal 1.0 : f64
                %19 = literal 2 : i64
                %20 = literal 3 : i64
                %21 = table %9, %9, %18, dim1=%19, dim2=%20 : f64[2x3]
                %22 = literal 2 : i64
                %23 = literal 3 : i64
                %24 = table %9, %9, %9, dim1=%22, dim2=%23 : f64[2x3]
                %25 = literal "<=" : str
                %26 = t %9 : f64[1x2]
                %27 = outer.le %9, %26 : f64[2x2]
                %28 = literal 1 : i64
                %29 = literal 1 : i64
                %30 = index %9, %28, %28, %29, %29 : f64[1x1]
                %31 = literal 3 : i64
                %32 = expand %30, %31 : f64[1x3]
                %33 = plus %5, %32 : f64[2x3]
                %34 = literal 1 : i64
                %35 = literal 2 : i64
                %36 = nary_max %5, %34, %35 : f64[2x3]
                %37 = plus %33, %36 : f64[2x3]
                %38 = var.full %5 : f64
                %39 = sqrt %38 : f64
                %40 = diag %9 : f64[2x2]
                %41 = diag %40 : f64[2x1]
                %42 = sum.full %41 : f64
                %43 = plus %39, %42 : f64
                %44 = literal 1 : i64
                %45 = literal 2 : i64
                %46 = literal 3 : i64
                %47 = max %44, %45 : i64
                %48 = max %47, %46 : i64
                %49 = plus %43, %48 : f64
                %50 = literal 1 : i64
                %51 = literal 0 : i64
                %52 = replace %5, %50, %51 : f64[2x3]
                %53 = cumulative.sum %52 : f64[2x3]
                %54 = rev %53 : f64[2x3]
                %55 = rowIndexMax %5 : f64[2x1]
                write "X" %5
                write "v" %9
                write "a" %12
                write "b" %14
                write "c" %17
                write "d" %21
                write "e" %24
                write "f" %27
                write "g" %37
                write "h" %49
                write "i" %54
                write "j" %55
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
