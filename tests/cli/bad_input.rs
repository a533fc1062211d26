//! Whatever is wrong with the input: exit status 1 and one clear message with a place; never a panic.

use crate::command::{Folder, script};

/// Runs `fuseline` in a folder with these files.
#[track_caller]
fn message_of(files: &[(&str, &[u8])], arguments: &[&str]) -> String {
    let folder = Folder::new();
    for (name, content) in files {
        folder.write(name, content);
    }
    folder.run(arguments).message()
}

#[track_caller]
fn assert_message(message: &str, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "`{part}` is not in {message}");
    }
}

#[test]
fn scripts_that_cannot_be_read() {
    let run = |name: &str, content: &[u8]| message_of(&[(name, content)], &["run", "a.dml"]);
    assert_eq!(run("b.dml", b""), "error: cannot read a.dml: No such file or directory (os error 2)\n");
    assert_eq!(run("a.dml", b""), "error: a.dml: the script has no statements\n");
    assert_eq!(run("a.dml", b"# only a comment\n\n"), "error: a.dml: the script has no statements\n");
    assert_eq!(run("a.dml", b"x = 1\nprint(\"\xff\")\n"), "error: a.dml:2:8: the file is not UTF-8 text\n");
    let folder = Folder::new();
    assert_eq!(folder.run(&["run", "."]).message(), "error: . is a directory, not a file\n");
    #[cfg(unix)]
    for command in [&["run", "/dev/zero"][..], &["check", "/dev/zero"], &["opt", "/dev/zero", "--emit", "plan"]] {
        let expected = "error: cannot read /dev/zero: it is longer than 64 MB, which no script is\n";
        assert_eq!(folder.run(command).message(), expected);
    }
    #[cfg(unix)]
    {
        let message = script("source(\"/dev/zero\") as endless\n", &[]).message();
        assert_message(&message, &["script.dml:1:", "/dev/zero", "longer than 64 MB"]);
    }
}

#[test]
fn syntax_errors_have_a_line_and_a_column() {
    let message = script("x = 1\ny = (x + \nprint(y)\n", &[]).message();
    assert_message(&message, &["script.dml:3:10", "expected `)`"]);
    let message = script("x = 1 +* 2\n", &[]).message();
    assert_message(&message, &["script.dml:1:8"]);
}

/// The whole text of the messages that users see most.
#[test]
fn messages_show_the_place_and_how_to_mend_it() {
    let expected = "Error: expected `)` after the condition, found `{`\n\
        \x20  ╭─[ script.dml:2:14 ]\n\
        \x20  │\n\
        \x202 │ while (x < 3 {\n\
        \x20  │              ┬\n\
        \x20  │              ╰── here\n\
        ───╯\n";
    assert_eq!(script("x = 1\nwhile (x < 3 {\n}\n", &[]).message(), expected);

    let expected = "Error: the variable `alpah` is not defined\n\
        \x20  ╭─[ script.dml:2:7 ]\n\
        \x20  │\n\
        \x202 │ print(alpah)\n\
        \x20  │       ──┬──\n\
        \x20  │         ╰──── not defined\n\
        \x20  │\n\
        \x20  │ Help: did you mean `alpha`?\n\
        ───╯\n";
    assert_eq!(script("alpha = 1\nprint(alpah)\n", &[]).message(), expected);

    let expected = "Error: %*%: the shapes [10x3] and [4x10] do not fit: the columns of the left must be as many as \
        the rows of the right\n\
        \x20  ╭─[ script.dml:3:11 ]\n\
        \x20  │\n\
        \x201 │ X = rand(rows=10, cols=3)\n\
        \x20  │     ──────────┬──────────\n\
        \x20  │               ╰──────────── a matrix [10x3]\n\
        \x202 │ Y = rand(rows=4, cols=10)\n\
        \x20  │     ──────────┬──────────\n\
        \x20  │               ╰──────────── a matrix [4x10]\n\
        ───╯\n";
    let text = "X = rand(rows=10, cols=3)\nY = rand(rows=4, cols=10)\nprint(sum(X %*% Y))\n";
    assert_eq!(script(text, &[]).message(), expected);
}

/// Independent mistakes are all reported at once.
#[test]
fn several_mistakes_are_reported_together() {
    let finished = script("print(one)\nprint(two)\n", &[]);
    assert_eq!(finished.status, Some(1));
    for part in ["`one`", "script.dml:1:7", "`two`", "script.dml:2:7"] {
        assert!(finished.stderr.contains(part), "{part} in {}", finished.stderr);
    }
}

#[test]
fn undefined_variables_are_found_before_the_script_runs() {
    let finished = script("alpha = 1\nprint(\"started\")\nprint(alpah)\n", &[]);
    assert_eq!(finished.stdout, "");
    assert_message(&finished.message(), &["alpah", "script.dml:3:7", "`alpha`"]);
}

#[test]
fn shapes_that_do_not_fit_are_found_before_the_script_runs() {
    let text = "print(\"started\")\n\
        X = rand(rows=10, cols=3)\n\
        Y = rand(rows=4, cols=10)\n\
        print(sum(X %*% Y))\n";
    let finished = script(text, &[]);
    assert_eq!(finished.stdout, "");
    assert_message(&finished.message(), &["script.dml:4:11", "10x3", "4x10"]);
}

#[test]
fn shapes_that_become_known_late_are_found_where_they_meet() {
    let text = "X = read(\"x.csv\")\n\
        Y = read(\"y.csv\")\n\
        print(nrow(X))\n\
        print(sum(X + Y))\n";
    for mode in ["base", "gen"] {
        let folder = Folder::with("x.csv", "1,2\n3,4\n");
        folder.write("y.csv", "1,2,3\n4,5,6\n");
        let finished = folder.script(text, &["--mode", mode]);
        assert_message(&finished.message(), &["script.dml:4:11", "2 x 2", "2 x 3"]);
    }
}

#[test]
fn indexes_out_of_range() {
    let message = script("X = rand(rows=10, cols=3)\nprint(sum(X[1:11, ]))\n", &[]).message();
    assert_message(&message, &["script.dml:2:11", "11"]);
    let late = "n = as.integer(sum(matrix(1, rows=11, cols=1)))\nX = rand(rows=10, cols=3)\nprint(sum(X[1:n, ]))\n";
    assert_message(&script(late, &[]).message(), &["script.dml:3:11", "11"]);
}

#[test]
fn data_that_cannot_be_read() {
    let read = "X = read(\"x.csv\", format=\"csv\")\nprint(sum(X))\n";
    assert_message(&script(read, &[]).message(), &["script.dml:1:5", "cannot open x.csv", "No such file"]);

    let with = |content: &[u8]| Folder::with("x.csv", content).script(read, &[]).message();
    assert_message(&with(b"1,2\n3,4\n5\n"), &["script.dml:1:5", "x.csv:3:2: "]);
    assert_message(&with(b"1,2\n3,four\n"), &["script.dml:1:5", "x.csv:2:3: ", "four"]);
    assert_message(&with(b"1,2\n3,\xff\n"), &["script.dml:1:5", "x.csv:2:3: "]);

    let folder = Folder::new();
    std::fs::create_dir(folder.path("parts")).expect("the folder is ours");
    let message = folder.script("X = read(\"parts\", format=\"csv\")\nprint(sum(X))\n", &[]).message();
    assert_message(&message, &["script.dml:1:5", "parts is a directory, not a file"]);
}

#[test]
fn metadata_that_contradicts_the_data() {
    let read = "X = read(\"x.csv\")\nprint(sum(X))\n";
    let with = |metadata: &str| {
        let folder = Folder::with("x.csv", "1,2\n3,4\n");
        folder.write("x.csv.mtd", metadata);
        folder.script(read, &[]).message()
    };
    assert_message(&with("{\"rows\": 3, \"cols\": 2}"), &["script.dml:1:5", "x.csv"]);
    assert_message(&with("{\"rows\": 2, \"cols\": 3}"), &["script.dml:1:5", "x.csv"]);
    assert_message(&with("{\"rows\": -"), &["script.dml:1:5", "x.csv.mtd"]);
    assert_message(&with("{\"format\": \"orc\"}"), &["script.dml:1:5", "orc"]);
    // A matrix that would not fit into any memory is refused, not allocated.
    assert_message(&with("{\"rows\": 9000000000000000000, \"cols\": 9000000000}"), &["script.dml:1:5", "x.csv"]);
}

#[test]
fn output_that_cannot_be_written() {
    let folder = Folder::with("file", "");
    let message = folder.script("write(1, \"file/within\")\n", &[]).message();
    assert_message(&message, &["script.dml:1:1", "file"]);
    let message = folder.script("write(matrix(1, rows=2, cols=2), \".\")\n", &[]).message();
    assert_message(&message, &["script.dml:1:1", ". is a directory, not a file"]);
}

#[test]
fn scripts_that_stop_themselves() {
    let finished = script("print(\"before\")\nstop(\"the input is empty\")\nprint(\"after\")\n", &[]);
    assert_eq!(finished.stdout, "before\n");
    assert_message(&finished.message(), &["the input is empty", "script.dml:2:1"]);
    assert_message(&script("assert(1 > 2)\n", &[]).message(), &["assertion failed", "script.dml:1:1"]);
}

#[test]
fn recursion_without_end() {
    let text = "f = function(Double x) return (Double y) { y = f(x + 1) }\nprint(f(1.0))\n";
    assert_message(&script(text, &[]).message(), &["levels deep", "script.dml:1:48"]);
}

#[test]
fn huge_matrices_are_refused() {
    let message = script("print(sum(rand(rows=100000000000, cols=100000000000)))\n", &[]).message();
    assert_message(&message, &["script.dml:1:11"]);
    let message =
        script("n = sum(rand(rows=9, cols=9)) * 1e18\nprint(sum(matrix(1, rows=n, cols=n)))\n", &[]).message();
    assert_message(&message, &["script.dml:2:11"]);
}

#[test]
fn arguments_that_are_missing_or_wrong() {
    let text = "print($rows)\n";
    assert_message(&script(text, &[]).message(), &["$rows", "script.dml:1:7"]);
    assert_message(&script("print($1)\n", &[]).message(), &["$1", "script.dml:1:7"]);
    let message = script(text, &["--nvargs", "rows"]).message();
    assert_eq!(message, "error: --nvargs takes NAME=VALUE, not `rows`\n");
    let message = script(text, &["--nvargs", "=3"]).message();
    assert_eq!(message, "error: --nvargs takes NAME=VALUE, not `=3`\n");
    assert_message(&script(text, &["--threds", "3"]).message(), &["unexpected argument '--threds'", "'--threads'"]);
    assert_message(&script(text, &["--threads", "many"]).message(), &["invalid value 'many' for '--threads <N>'"]);
    assert_message(&script(text, &["--mode", "fast"]).message(), &["invalid value 'fast'", "gen-fa"]);
    let message = Folder::new().run(&["explain", "a.dml", "--stage", "hop"]).message();
    assert_message(&message, &["`hop` is no stage; the stages are hops, rewritten"]);
    let message = Folder::new().run(&["explain", "a.dml", "--stage", "llvm", "--format", "svg"]).message();
    assert_message(&message, &["the stage llvm can be shown as text alone", "for hops, rewritten, memo, plan"]);
    let message = Folder::new().run(&["explain", "a.dml", "--stage", "hops", "--format", "png"]).message();
    assert_message(&message, &["invalid value 'png'", "text, dot, svg, json"]);
    assert_message(&Folder::new().run(&["rum", "a.dml"]).message(), &["unrecognized subcommand 'rum'", "'run'"]);
    assert_message(&Folder::new().run(&["run"]).message(), &["<SCRIPT.dml>"]);
}

/// What is planned says so, instead of doing something else.
#[test]
fn what_is_not_there_yet_says_so() {
    let message = script("A = arima(matrix(1, rows=2, cols=2))\nprint(sum(A))\n", &[]);
    assert_message(&message.message(), &["the builtin function `arima` is not supported yet", "script.dml:1:5"]);
}

#[test]
#[cfg(not(feature = "llvm"))]
fn a_build_without_llvm_says_so() {
    for backend in ["llvm", "tiered"] {
        let message = script("print(1)\n", &["--backend", backend]).message();
        assert_message(&message, &["this build has no LLVM"]);
    }
}
