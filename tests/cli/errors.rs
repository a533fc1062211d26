//! Run-time errors: where they happened, what was worked on, where that came from, and the calls that led there.

use crate::command::{Folder, script};

#[track_caller]
fn assert_contains(message: &str, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "{part:?} is not in\n{message}");
    }
}

/// The place of the error, both shapes, and the statements that made the operands.
#[test]
fn shapes_that_do_not_fit_say_what_they_are_and_where_they_come_from() {
    let folder = Folder::with("x.csv", "1,2,3\n4,5,6\n");
    folder.write("y.csv", "1,2\n3,4\n");
    let text = "X = read(\"x.csv\", format=\"csv\")\n\
        Y = read(\"y.csv\", format=\"csv\")\n\
        n = sum(Y)\n\
        while (n > 5) { n = n - 1 }\n\
        Z = X %*% Y\n\
        print(sum(Z))\n";
    let message = folder.script(text, &[]).message();
    let parts = ["script.dml:5:5", "`X` is 2 x 3, `Y` is 2 x 2", "`X` comes from here", "`Y` comes from here"];
    assert_contains(&message, &parts);
    assert_contains(&message, &["1 │ X = read", "2 │ Y = read", "5 │ Z = X %*% Y"]);
}

/// A size that only a computation tells.
#[test]
fn operators_that_fail_while_they_run_say_so_as_well() {
    let text = "X = matrix(\"1 2 3 4\", rows=4, cols=1)\n\
        print(sum(X + removeEmpty(target=X, margin=\"rows\", select=X > 2)))\n";
    let message = script(text, &[]).message();
    assert_contains(
        &message,
        &["script.dml:2:11", "the result of `matrix` is 4 x 1, the result of `removeEmpty` is 2 x 1"],
    );
}

const CALLS: &str = "inner = function(Matrix[Double] A, Matrix[Double] B) return (Matrix[Double] C) {\n\
    \x20 if (sum(A) > -1) { C = A %*% B } else { C = A }\n\
    }\n\
    outer = function(Matrix[Double] A) return (Matrix[Double] C) {\n\
    \x20 for (i in 1:2) { C = inner(A, A) }\n\
    }\n";

#[test]
fn the_calls_that_led_to_an_error_are_shown() {
    let folder = Folder::with("library.dml", CALLS);
    folder.write("x.csv", "1,2,3\n4,5,6\n");
    let text = "source(\"library.dml\") as lib\nX = read(\"x.csv\", format=\"csv\")\nprint(sum(lib::outer(X)))\n";
    let message = folder.script(text, &[]).message();
    assert_contains(&message, &["library.dml:2:26", "`A` is 2 x 3, `B` is 2 x 3"]);
    assert_contains(&message, &["C = A %*% B", "C = inner(A, A)", "called here", "print(sum(lib::outer(X)))"]);
}

/// Whoever calls a function of the library can mend the call alone, before the script runs and while it does.
#[test]
fn errors_within_the_library_show_the_call_first() {
    let folder = Folder::with("y.csv", "1\n2\n");
    let data = "X = rand(rows=10, cols=3, seed=1)\n";
    for response in ["rand(rows=9, cols=1, seed=2)", "read(\"y.csv\", format=\"csv\")"] {
        let text = format!("{data}Y = {response}\nw = l2svm(X=X, Y=Y)\nprint(sum(w))\n");
        let message = folder.script(&text, &[]).message();
        let place = message.lines().find(|line| line.contains("─[ ")).unwrap_or_default();
        assert!(place.contains("script.dml:3:5"), "{message}");
        assert_contains(&message, &["in `l2svm`, called here", "l2svm.dml:", "shapes or types do not fit here"]);
    }
}

/// A function whose body stands in place of its call still names the call.
#[test]
fn inlined_calls_are_shown_like_others() {
    let text = "product = function(Matrix[Double] A, Matrix[Double] B) return (Matrix[Double] C) {\n\
        \x20 C = A %*% B\n\
        }\n\
        X = read(\"x.csv\", format=\"csv\")\n\
        Y = product(X, X) + 1\n\
        print(sum(Y))\n";
    let folder = Folder::with("x.csv", "1,2,3\n4,5,6\n");
    for options in [&[][..], &["--no-rewrites"]] {
        let message = folder.script(text, options).message();
        assert_contains(&message, &["script.dml:2:7", "2 x 3", "in `product`, called here", "Y = product(X, X) + 1"]);
    }
}

#[test]
fn deep_chains_of_calls_are_counted() {
    let text = "f = function(Double n) return (Double r) {\n\
        \x20 if (n <= 0) { stop(\"the bottom\") }\n\
        \x20 r = f(n - 1)\n\
        }\n\
        print(f(10))\n";
    let message = script(text, &[]).message();
    assert_contains(&message, &["the bottom", "script.dml:2:", "in `f`, called here", "11 calls led there"]);
}

#[test]
fn stopping_prints_the_message_after_what_came_before() {
    for (text, output, parts) in [
        (
            "print(1)\nif (sum(rand(rows=3, cols=3)) > 0) { stop(\"bad \" + 7) }\nprint(2)\n",
            "1\n",
            ["bad 7", "script.dml:2:"],
        ),
        ("print(1)\nassert(sum(rand(rows=3, cols=3)) < 0)\nprint(2)\n", "1\n", ["assertion failed", "script.dml:2:1"]),
    ] {
        let finished = script(text, &[]);
        assert_eq!(finished.stdout, output);
        assert_contains(&finished.message(), &parts);
    }
}

/// What would not fit into memory is refused before anything is allocated, whatever tells its size.
#[test]
fn operators_beyond_the_budget_are_refused() {
    for text in [
        "write(matrix(1, rows=1e15, cols=1), \"x.csv\")\n",
        "n = sum(rand(rows=9, cols=9, min=1, max=2)) * 1e14\nwrite(matrix(1, rows=n, cols=1), \"x.csv\")\n",
        "write(matrix(0, rows=1e15, cols=10), \"x.csv\")\n",
        "print(sum(rand(rows=1e9, cols=1e6)))\n",
        "v = rand(rows=1000, cols=1, min=1e12, max=1e13)\nprint(sum(table(v, v)))\n",
        "X = rand(rows=3000000, cols=1)\nprint(sum(sqrt(X %*% t(X)) %*% X))\n",
    ] {
        for mode in ["base", "gen"] {
            let message = script(text, &["--mode", mode, "--backend", "interp"]).message();
            assert_contains(&message, &["the memory budget is", "script.dml:"]);
        }
    }
}

#[test]
fn the_budget_can_be_set() {
    let text = "X = rand(rows=1000, cols=1000, seed=1)\nY = X * 2\nwrite(Y, \"y.csv\", format=\"csv\")\n";
    let message = script(text, &["--mem", "1m"]).message();
    assert_contains(&message, &["needs 7.6 MiB, the memory budget is 1.0 MiB", "script.dml:1:5"]);
    script("X = rand(rows=100, cols=100, seed=1)\nprint(sum(X) > 0)\n", &["--mem", "1m"]).success();
    // Few non-zeros need little memory, however large the matrix.
    let sparse = "X = rand(rows=100000, cols=100000, sparsity=0.0000001, seed=1)\nprint(sum(X * 2) > 0)\n";
    assert_eq!(script(sparse, &["--mem", "16m"]).success().stdout, "TRUE\n");
    let message = script(text, &["--mem", "much"]).message();
    assert_contains(&message, &["--mem", "512m or 16g"]);
}

/// What may turn out small is tried; if it is not, the budget refuses the memory, or where that has so much, the system.
#[test]
fn memory_that_the_system_refuses_is_an_error() {
    for text in [
        "X = rand(rows=100000, cols=4e9, sparsity=1e-12, seed=1)\nprint(sum(cumsum(X + 1)))\n",
        "groups = matrix(1e14, rows=3, cols=1)\nprint(nrow(aggregate(target=groups, groups=groups, fn=\"sum\")))\n",
    ] {
        for mode in ["base", "gen"] {
            let options = ["--mode", mode, "--backend", "interp"];
            assert_contains(&script(text, &options).message(), &["the memory budget is", "script.dml:"]);
            let message = script(text, &[&options[..], &["--mem", "100000000g"]].concat()).message();
            assert_contains(&message, &["which the system refuses", "script.dml:"]);
        }
    }
}

#[test]
fn time_is_in_nanoseconds() {
    let text = "start = time()\nx = sum(rand(rows=1000, cols=1000, seed=1))\nwhile (FALSE) {}\n\
        elapsed = time() - start\nprint(elapsed > 1000)\nprint(elapsed < 1e12)\nprint(x > 0)\n";
    assert_eq!(script(text, &[]).success().stdout, "TRUE\nTRUE\nTRUE\n");
}
