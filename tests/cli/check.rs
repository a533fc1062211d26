//! `fuseline check`: what it accepts, and what it warns of.

use crate::command::Folder;

#[test]
fn lines_that_continue_a_statement_but_do_not_look_so_are_warned_of() {
    let folder = Folder::with("script.dml", "a = 3\n- 1\nprint(a)\n");
    let checked = folder.run(&["check", "script.dml"]).success();
    assert!(checked.stderr.starts_with("Warning: this line continues the statement before it"), "{}", checked.stderr);
    assert!(checked.stderr.contains("script.dml:2:1"), "{}", checked.stderr);
    assert_eq!(folder.run(&["run", "script.dml"]).quiet(), "2\n");
}

/// SystemDS passes over it, and a script of its library has one.
#[test]
fn a_full_stop_behind_a_statement_is_warned_of() {
    let folder = Folder::with("script.dml", "if (FALSE) {\n  stop(\"no\").\n}\nprint(3).  \nprint(0.5 + .5)");
    let checked = folder.run(&["check", "script.dml"]).success();
    assert!(checked.stderr.starts_with("Warning: a full stop behind a statement means nothing"), "{}", checked.stderr);
    assert!(
        checked.stderr.contains("script.dml:2:13") && checked.stderr.contains("script.dml:4:9"),
        "{}",
        checked.stderr
    );
    assert_eq!(folder.run(&["run", "script.dml"]).quiet(), "3\n1.0\n");
    let elsewhere = Folder::with("script.dml", "x = (3).(4)\n");
    assert!(elsewhere.run(&["check", "script.dml"]).message().contains("`.` is not part of DML"));
}

/// SystemDS gives no names to the parameters of most builtin functions, and ignores those of arguments.
#[test]
fn names_of_arguments_that_mean_nothing_are_warned_of() {
    let folder = Folder::with("script.dml", "print(ifelse(3 >= 2, 5, n = ceil(2.5);))\nprint(max(3, x=4))\n");
    let checked = folder.run(&["check", "script.dml"]).success();
    let expected = "the name `n` has no meaning: the arguments of `ifelse` go by position";
    assert!(checked.stderr.contains(expected), "{}", checked.stderr);
    assert!(checked.stderr.contains("this argument is `no`"), "{}", checked.stderr);
    assert!(checked.stderr.contains("the name `x` has no meaning"), "{}", checked.stderr);
    assert_eq!(folder.run(&["run", "script.dml"]).quiet(), "5.0\n4\n");
    // Names that are those of the positions, of functions with names, and of a script's own functions.
    let fine = "print(log(8, base=2))\nX = rand(rows=2, cols=2)\n\
        print(nrow(map(as.frame(X), \"x -> x.trim()\", margin=0)))\n\
        min = function(Double a, Double b) return (Double y) { y = a - b }\nprint(min(3, b=1))\n";
    folder.write("script.dml", fine);
    assert_eq!(folder.run(&["check", "script.dml"]).quiet(), "");
}

#[test]
fn a_byte_order_mark_is_no_part_of_a_script() {
    let folder = Folder::with("script.dml", "\u{feff}source(\"f.dml\") as f\nprint(f::one())\n");
    folder.write("f.dml", "\u{feff}one = function() return (Double y) { y = 1 }\n");
    assert_eq!(folder.run(&["check", "script.dml"]).quiet(), "");
    assert_eq!(folder.run(&["run", "script.dml"]).quiet(), "1\n");
    folder.write("script.dml", "\u{feff}x = y\n");
    assert!(folder.run(&["check", "script.dml"]).message().contains("script.dml:1:5"));
}

#[test]
fn sourced_files_are_looked_for_beside_the_file_then_in_libraries_then_in_the_working_folder() {
    let folder = Folder::new();
    for name in ["scripts", "root", "root/nn", "root/nn/layers", "nn"] {
        std::fs::create_dir(folder.path(name)).expect("the folder is ours");
    }
    let function = |value: &str| format!("f = function() return (String y) {{ y = \"{value}\" }}\n");
    folder.write("scripts/script.dml", "source(\"nn/a.dml\") as a\nprint(a::f())\n");
    folder
        .write("root/nn/a.dml", "source(\"nn/layers/b.dml\") as b\nf = function() return (String y) { y = b::f() }\n");
    folder.write("root/nn/layers/b.dml", function("library"));
    let run = |options: &[&str]| folder.run(&[&["run", "scripts/script.dml"], options].concat());
    assert_eq!(run(&["--lib", "root"]).quiet(), "library\n");
    let message = run(&[]).message();
    assert!(message.contains("there is no file `nn/a.dml`"), "{message}");
    assert!(message.contains("looked for `scripts/nn/a.dml`, `nn/a.dml`"), "{message}");
    folder.write("nn/a.dml", function("working folder"));
    assert_eq!(run(&[]).quiet(), "working folder\n");
    assert_eq!(run(&["--lib", "root"]).quiet(), "library\n");
    std::fs::create_dir(folder.path("scripts/nn")).expect("the folder is ours");
    folder.write("scripts/nn/a.dml", function("beside"));
    assert_eq!(run(&["--lib", "root"]).quiet(), "beside\n");
}

/// Two hundred blocks within each other, and a long program: neither is refused, and no level costs what all those above
/// it do together, or this would never end.
#[test]
fn deep_and_long_programs_are_checked_and_run() {
    let levels = 200;
    for (open, expected) in [
        ("while (i < #) { i = i + 1\n", "200\n"),
        ("for (j# in 1:1) { i = i + 1\n", "200\n"),
        ("if (i < 1000) { i = i + 1\n", "200\n"),
    ] {
        let opened: String = (1..=levels).map(|level: usize| open.replace('#', &level.to_string())).collect();
        let text = format!("i = 0\n{opened}i = i + 0\n{}print(i)\n", "}\n".repeat(levels));
        let folder = Folder::with("script.dml", &text);
        assert_eq!(folder.run(&["check", "script.dml"]).quiet(), "");
        assert_eq!(folder.run(&["run", "script.dml", "--backend", "interp"]).quiet(), expected, "{open}");
    }
    let text: String = (0..20_000).map(|i| format!("x{} = {i} + 1\n", i % 50)).collect();
    let folder = Folder::with("script.dml", &(text + "print(x49)\n"));
    assert_eq!(folder.run(&["check", "script.dml"]).quiet(), "");
    assert_eq!(folder.run(&["run", "script.dml", "--backend", "interp"]).quiet(), "20000\n");
}
