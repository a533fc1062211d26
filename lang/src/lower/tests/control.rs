//! Effects, loops and branches cut and join blocks.

use super::{check, program};
use expect_test::expect;

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
                write "X" %5
                write "n" %9
              }
              block {
                %0 = time : i64
                write "_t1" %0
              }
              block {
                %0 = read "_t1" : i64
                %1 = literal "rows " : str
                %2 = read "X" : f64[?x?]
                %3 = nrow %2 : i64
                %4 = concat %1, %3 : str
                %5 = literal " " : str
                %6 = concat %4, %5 : str
                %7 = read "n" : i64
                %8 = concat %6, %7 : str
                %9 = print %8 : bool
                %10 = literal 0 : i64
                %11 = gt %7, %10 : bool
                %12 = assert %11 : bool
                %13 = literal "out.csv" : str
                %14 = literal "csv" : str
                %15 = literal "," : str
                %16 = fwrite %2, %13, format=%14, sep=%15 : bool
                write "t0" %0
                effect %9
                effect %12
                effect %16
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
