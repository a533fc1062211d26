//! Functions of scripts, of sourced files and of libraries.

use super::{check, loader};
use crate::{Diagnostics, Library, ParseOptions, parse};
use expect_test::expect;
use fuseline_ir::program::{Program, Source};

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
            write "x" %0
          }
        }
    "#]],
    );
}

#[test]
fn results_and_arguments_are_not_converted_to_their_declared_types() {
    check(
        "f = function(Double x, Integer n = 2.0) return (Integer y, Double z) {\n  y = x * n\n  z = n\n}\nk = 3\n[a, b] = f(k, 2.5)\nX = matrix(0, rows=2, cols=2)\n[X[1, 1], c] = f(nrow(X))",
        &expect![[r#"
            program {
              function f(x: f64, n: i64) -> (y: i64, z: f64) {
                block {
                  %0 = read "x" : f64
                  %1 = read "n" : f64
                  %2 = mult %0, %1 : f64
                  write "y" %2
                  write "z" %1
                }
              }
              block {
                %0 = literal 3 : i64
                write "k" %0
              }
              call f -> a, b {
                %0 = read "k" : i64
                %1 = literal 2.5 : f64
                write "x" %0
                write "n" %1
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
                %2 = literal 2.0 : f64
                write "x" %1
                write "n" %2
              }
              block {
                %0 = read "X" : f64[?x?]
                %1 = literal 1 : i64
                %2 = literal 1 : i64
                %3 = read "_t1" : f64
                %4 = leftindex %0, %3, %1, %1, %2, %2 : f64[?x?]
                write "X" %4
              }
            }
        "#]],
    );
}

#[test]
fn a_sourced_file_holds_functions_only() {
    let options = ParseOptions { loader: &loader, ..ParseOptions::from_files() };
    let errors = parse("dir/test.dml", "source('statements.dml') as s", &options).expect_err("it has a statement");
    assert_eq!(errors.to_string(), "dir/statements.dml:1:1: a sourced file may only define functions");
}

#[test]
fn a_namespace_is_used_once() {
    let options = ParseOptions { loader: &loader, ..ParseOptions::from_files() };
    let text = "source('lib/a.dml') as a\nsource('lib/b.dml') as a";
    let errors = parse("dir/test.dml", text, &options).expect_err("the namespace is taken");
    assert_eq!(errors.to_string(), "dir/test.dml:2:24: the namespace `a` is used twice");
}

/// A library of two functions that call each other, and one whose file holds no entry.
#[derive(Debug)]
struct Pair;

impl Library for Pair {
    fn find(&self, function: &str) -> std::io::Result<Option<Source>> {
        let text = match function {
            "ping" => {
                "m_ping = function(Matrix[Double] X, Integer n = 1 + 1) return (Double y) { y = helper(X); y = pong(y, n) }\n\
                 s_ping = function(Double x) return (Double y) { y = x }\n\
                 helper = function(Matrix[Double] X) return (Double y) { y = sum(X) }"
            }
            "pong" => {
                "s_pong = function(Double x, Integer n) return (Double y) { y = x\n if (n > 0) y = ping(as.matrix(x), n - 1) }"
            }
            "renamed" => {
                "# Twice.\n#\n# SECOND NAMES\n#   old = x\n\ns_renamed = function(Double x, Double old_too = 1)\n\
                 return (Double y) { y = inner(x=x) }\ninner = function(Double x) return (Double y) { y = 2 * x }"
            }
            "misnamed" => "# SECOND NAMES\n#   old = new\ns_misnamed = function(Double x) return (Double y) { y = x }",
            "named" => "# SECOND NAMES\n#   x = y\ns_named = function(Double x, Double y) return (Double z) { z = x }",
            "unnamed" => "# SECOND NAMES\n#   x\ns_unnamed = function(Double x) return (Double z) { z = x }",
            "empty" => "other = function() return (Double y) { y = 1 }",
            "locked" => return Err(std::io::Error::other("no permission")),
            _ => return Ok(None),
        };
        Ok(Some(Source { name: format!("lib/{function}.dml"), text: text.into() }))
    }

    fn names(&self) -> Vec<String> {
        ["ping", "pong", "empty"].map(str::to_owned).into()
    }
}

fn with_library(text: &str) -> Result<Program, Diagnostics> {
    parse("script.dml", text, &ParseOptions { loader: &loader, library: &Pair, ..ParseOptions::from_files() })
}

#[test]
fn library_files_are_loaded_when_they_are_called() {
    let program = with_library("x = ping(matrix(1, rows=2, cols=2))").expect("all functions are there");
    let names: Vec<&str> = program.functions.keys().map(String::as_str).collect();
    assert_eq!(names, ["ping.dml::helper", "ping.dml::m_ping", "ping.dml::s_ping", "pong.dml::s_pong"]);
    let sources: Vec<&str> = program.sources.iter().map(|source| source.name.as_str()).collect();
    assert_eq!(sources, ["script.dml", "lib/ping.dml", "lib/pong.dml"]);
    program.verify().expect("every call gives every argument");
    assert!(with_library("x = 1").expect("calls nothing").functions.is_empty());
}

#[test]
fn second_names_bind_like_first_names() {
    assert!(with_library("x = renamed(old=1)").is_ok());
    let message = |text: &str| with_library(text).expect_err(text).to_string();
    let twice = message("x = renamed(old=1, x=2)");
    assert!(twice.contains("the parameter `x` of `renamed` is given twice"), "{twice}");
    let twice = message("x = renamed(1, old=2)");
    assert!(twice.contains("the parameter `x` of `renamed` is given twice"), "{twice}");
    let misnamed = message("x = misnamed(1)");
    assert!(misnamed.contains("`old` is a second name of `new`, which is no parameter"), "{misnamed}");
    let named = message("x = named(1, 2)");
    assert!(named.contains("`x` is a parameter, and no second name"), "{named}");
    let unnamed = message("x = unnamed(1)");
    assert!(unnamed.contains("this declares no second name of a parameter"), "{unnamed}");
}

#[test]
fn the_kind_of_the_first_argument_chooses_the_entry() {
    let called = |text: &str| {
        let program = with_library(text).expect("fits").to_string();
        program.lines().rfind(|line| line.starts_with("  call")).map(|line| line.trim().to_owned())
    };
    assert_eq!(called("x = ping(3)").as_deref(), Some("call \"ping.dml::s_ping\" -> x {"));
    assert_eq!(called("x = ping(matrix(3, 1, 1))").as_deref(), Some("call \"ping.dml::m_ping\" -> x {"));
}

#[test]
fn a_definition_of_the_script_wins() {
    let program = with_library("ping = function(Double x) return (Double y) { y = x }\nx = ping(1)").expect("fits");
    assert_eq!(program.functions.keys().collect::<Vec<_>>(), ["ping"]);
    let program = with_library("sum = function(Double x) return (Double y) { y = x }\nx = sum(1)").expect("fits");
    assert_eq!(program.functions.keys().collect::<Vec<_>>(), ["sum"]);
}

#[test]
fn library_files_that_fail_are_reported_where_they_are_called() {
    let message = |text: &str| with_library(text).expect_err("fails").to_string();
    expect!["script.dml:1:5: the library file `lib/empty.dml` defines no function `m_empty`"]
        .assert_eq(&message("x = empty(1)"));
    expect!["script.dml:1:5: cannot read the library's file of `locked`: no permission"]
        .assert_eq(&message("x = locked(1)\n"));
    expect!["script.dml:1:5: there is no function `helper`"].assert_eq(&message("x = helper(matrix(1, 1, 1))"));
    expect!["script.dml:1:13: `ping` has no parameter `m`"].assert_eq(&message("x = ping(3, m=1)"));
}
