//! Lowering, seen in the text form of programs.

use crate::{Argument, ParseOptions, parse};
use expect_test::{Expect, expect};
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
    let options = ParseOptions { arguments, loader: &loader };
    let program = parse("dir/test.dml", text, &options).unwrap_or_else(|errors| panic!("{}", errors.render(false)));
    program.verify().unwrap_or_else(|errors| panic!("{text}: {errors}"));
    program
}

fn check(text: &str, expected: &Expect) {
    expected.assert_eq(&format!("{}\n", program(text)));
}

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
                %7 = rand %0, %1, %2, %3, %4, %5, %6 : f64[4x3]
                write "X" %7
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
                %52 = rand %22, %46, %47, %48, %49, %50, %51 : f64[?x2]
                %53 = literal 2 : i64
                %54 = literal 2 : i64
                %55 = pow %53, %54 : f64
                %56 = neg %55 : f64
                %57 = literal 3.141592653589793 : f64
                %58 = plus %56, %57 : f64
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
                write "j" %52
                write "k" %58
              }
            }
        "#]],
    );
}

#[test]
fn effects_keep_their_order() {
    check(
        "X = read(\"X.csv\", format=\"csv\", rows=10, cols=3, header=FALSE)\nn = read(\"n.txt\", data_type=\"scalar\", value_type=\"int\")\nt0 = time()\nprint(\"rows \" + nrow(X) + \" \" + n)\nassert(n > 0)\nwrite(X, \"out.csv\", format=\"csv\", sep=\",\")\nprint(toString(X, decimal=2))\nstop(\"done\")",
        &expect![[r#"
            program {
              block {
                %0 = literal "X.csv" : str
                %1 = literal "csv" : str
                %2 = literal 10 : i64
                %3 = literal 3 : i64
                %4 = literal FALSE : bool
                %5 = fread %0, format=%1, rows=%2, cols=%3, header=%4 : f64[10x3]
                %6 = literal "n.txt" : str
                %7 = literal "scalar" : str
                %8 = literal "int" : str
                %9 = fread %6, data_type=%7, value_type=%8 : i64
                %10 = time : i64
                %11 = literal "rows " : str
                %12 = nrow %5 : i64
                %13 = concat %11, %12 : str
                %14 = literal " " : str
                %15 = concat %13, %14 : str
                %16 = concat %15, %9 : str
                %17 = print %16 : bool
                %18 = literal 0 : i64
                %19 = gt %9, %18 : bool
                %20 = assert %19 : bool
                %21 = literal "out.csv" : str
                %22 = literal "csv" : str
                %23 = literal "," : str
                %24 = fwrite %5, %21, format=%22, sep=%23 : bool
                write "X" %5
                write "n" %9
                write "t0" %10
                effect %17
                effect %20
                effect %24
              }
              block {
                %0 = read "X" : f64[?x?]
                %1 = literal 2 : i64
                %2 = toString %0, decimal=%1 : str
                %3 = print %2 : bool
                %4 = literal "done" : str
                %5 = stop %4 : bool
                effect %3
                effect %5
              }
            }
        "#]],
    );
}

#[test]
fn loops_find_types_that_hold_in_every_iteration() {
    check(
        "i = 0\ns = 0\nm = 1\nwhile (i < 10) {\n  while (s < 5) { s = s + 0.5 }\n  m = matrix(m, rows=1, cols=1)\n  i = i + 1\n  late = i\n}\nprint(i + s + late)\nk = m",
        &expect![[r#"
            program {
              block {
                %0 = literal 0 : i64
                %1 = literal 0 : i64
                %2 = literal 1 : i64
                write "i" %0
                write "s" %1
                write "m" %2
              }
              while {
                %0 = read "i" : i64
                %1 = literal 10 : i64
                %2 = lt %0, %1 : bool
                write "_predicate" %2
              } do {
                while {
                  %0 = read "s" : f64
                  %1 = literal 5 : i64
                  %2 = lt %0, %1 : bool
                  write "_predicate" %2
                } do {
                  block {
                    %0 = read "s" : f64
                    %1 = literal 0.5 : f64
                    %2 = plus %0, %1 : f64
                    write "s" %2
                  }
                }
                block {
                  %0 = read "m" : unknown
                  %1 = literal 1 : i64
                  %2 = literal 1 : i64
                  %3 = matrix %0, %1, %2 : f64[1x1]
                  %4 = read "i" : i64
                  %5 = literal 1 : i64
                  %6 = plus %4, %5 : i64
                  write "m" %3
                  write "i" %6
                  write "late" %6
                }
              }
              block {
                %0 = read "i" : i64
                %1 = read "s" : f64
                %2 = plus %0, %1 : f64
                %3 = read "late" : i64
                %4 = plus %2, %3 : f64
                %5 = print %4 : bool
                %6 = read "m" : unknown
                write "k" %6
                effect %5
              }
            }
        "#]],
    );
}

#[test]
fn namespaces_are_files() {
    check(
        "source(\"lib/a.dml\") as a\nx = a::f(3)",
        &expect![[r#"
        program {
          function "a::b::g"(x: f64) -> (y: f64) {
            block {
              %0 = literal 2 : i64
              %1 = read "x" : f64
              %2 = mult %0, %1 : f64
              write "y" %2
            }
            if {
              %0 = read "x" : f64
              %1 = literal 9 : i64
              %2 = gt %0, %1 : bool
              write "_predicate" %2
            } then {
              call "a::g" -> y {
                %0 = read "x" : f64
                write "x" %0
              }
            }
          }
          function "a::f"(x: f64) -> (y: f64) {
            call "a::g" -> _t1 {
              %0 = read "x" : f64
              write "x" %0
            }
            call "a::b::g" -> _t2 {
              %0 = read "x" : f64
              write "x" %0
            }
            block {
              %0 = read "_t1" : f64
              %1 = read "_t2" : f64
              %2 = plus %0, %1 : f64
              write "y" %2
            }
          }
          function "a::g"(x: f64) -> (y: f64) {
            block {
              %0 = read "x" : f64
              write "y" %0
            }
          }
          call "a::f" -> x {
            %0 = literal 3 : i64
            %1 = literal 3.0 : f64
            write "x" %1
          }
        }
    "#]],
    );
}

#[test]
fn results_and_arguments_take_their_declared_types() {
    check(
        "f = function(Double x, Integer n = 2.0) return (Integer y, Double z) {\n  y = x * n\n  z = n\n}\nk = 3\n[a, b] = f(k, 2.5)\nX = matrix(0, rows=2, cols=2)\n[X[1, 1], c] = f(nrow(X))",
        &expect![[r#"
            program {
              function f(x: f64, n: i64 = 2) -> (y: i64, z: f64) {
                block {
                  %0 = read "x" : f64
                  %1 = read "n" : i64
                  %2 = mult %0, %1 : f64
                  %3 = as.integer %2 : i64
                  %4 = as.double %1 : f64
                  write "y" %3
                  write "z" %4
                }
              }
              block {
                %0 = literal 3 : i64
                write "k" %0
              }
              call f -> a, b {
                %0 = read "k" : i64
                %1 = as.double %0 : f64
                %2 = literal 2.5 : f64
                %3 = literal 2 : i64
                write "x" %1
                write "n" %3
              }
              block {
                %0 = literal 0 : i64
                %1 = literal 2 : i64
                %2 = literal 2 : i64
                %3 = matrix %0, %1, %2 : f64[2x2, nnz=0]
                write "X" %3
              }
              call f -> _t1, c {
                %0 = read "X" : f64[?x?]
                %1 = nrow %0 : i64
                %2 = as.double %1 : f64
                write "x" %2
              }
              block {
                %0 = read "X" : f64[?x?]
                %1 = literal 1 : i64
                %2 = literal 1 : i64
                %3 = read "_t1" : i64
                %4 = leftindex %0, %3, %1, %1, %2, %2 : f64[?x?]
                write "X" %4
              }
            }
        "#]],
    );
}

#[test]
fn a_sourced_file_holds_functions_only() {
    let options = ParseOptions { arguments: [].into(), loader: &loader };
    let errors = parse("dir/test.dml", "source('statements.dml') as s", &options).expect_err("it has a statement");
    assert_eq!(errors.to_string(), "dir/statements.dml:1:1: a sourced file may only define functions");
}

#[test]
fn a_namespace_is_used_once() {
    let options = ParseOptions { arguments: [].into(), loader: &loader };
    let text = "source('lib/a.dml') as a\nsource('lib/b.dml') as a";
    let errors = parse("dir/test.dml", text, &options).expect_err("the namespace is taken");
    assert_eq!(errors.to_string(), "dir/test.dml:2:24: the namespace `a` is used twice");
}

#[test]
fn the_default_of_a_passed_argument_is_not_evaluated() {
    let define = "f = function(Double x) return (Double y) { y = x }\n";
    assert_eq!(program(&format!("{define}a = ifdef($n, f(1))")).body.len(), 1);
    assert_eq!(program(&format!("{define}a = ifdef($other, f(1))")).body.len(), 2);
}

#[test]
fn loops_within_loops_with_changing_types_are_lowered_in_reasonable_time() {
    let depth = 60;
    let mut text: String = (0..depth).map(|i| format!("x{i} = 1\n")).collect();
    text += &(0..depth).map(|i| format!("while (a{i} > 0) {{ x{i} = as.matrix(x{i})\n")).collect::<String>();
    text += &"}".repeat(depth);
    let start: String = (0..depth).map(|i| format!("a{i} = 1\n")).collect();
    let mut blocks = &program(&format!("{start}{text}")).body;
    let mut levels = 0;
    while let Some(fuseline_ir::program::StatementBlock::While { body, .. }) = blocks.last() {
        blocks = body;
        levels += 1;
    }
    assert_eq!(levels, depth);
}

#[test]
fn long_chains_need_no_stack() {
    let text = format!("a = 1\nx = a{}\ny = \"s\"{}", " + a".repeat(1900), " + a".repeat(1900));
    assert_eq!(program(&text).body.len(), 1);
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
                %15 = table %7, %13, %14 : f64[?x?]
                %16 = literal 1.0 : f64
                %17 = literal 2 : i64
                %18 = literal 3 : i64
                %19 = table %7, %7, %16, dim1=%17, dim2=%18 : f64[2x3]
                %20 = literal 2 : i64
                %21 = literal 3 : i64
                %22 = table %7, %7, %7, dim1=%20, dim2=%21 : f64[2x3]
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
