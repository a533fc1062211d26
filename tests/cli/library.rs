//! Functions of `--lib` folders and of Fuseline's own library.

use crate::command::Folder;

/// A folder with a script and a folder of functions.
fn folder(script: &str) -> Folder {
    let folder = Folder::with("script.dml", script);
    std::fs::create_dir(folder.path("first")).expect("the folder is ours");
    std::fs::create_dir(folder.path("second")).expect("the folder is ours");
    folder.write("first/twice.dml", "s_twice = function(Double x) return (Double y) { y = 2 * x }\n");
    folder.write("second/twice.dml", "s_twice = function(Double x) return (Double y) { y = 200 * x }\n");
    folder.write("second/thrice.dml", "s_thrice = function(Double x) return (Double y) { y = x + twice(x) }\n");
    folder
}

#[test]
fn folders_are_searched_in_the_order_of_the_command_line() {
    let folder = folder("print(thrice(1))\n");
    let run = |libraries: &[&str]| folder.run(&[&["run", "script.dml"], libraries].concat());
    assert_eq!(run(&["--lib", "first", "--lib", "second"]).quiet(), "3\n");
    assert_eq!(run(&["--lib", "second", "--lib", "first"]).quiet(), "201\n");
    assert!(run(&["--lib", "first"]).message().contains("there is no function `thrice`"));
    assert_eq!(folder.run(&["check", "script.dml", "--lib", "second"]).quiet(), "");
    let explained = folder.run(&["explain", "script.dml", "--lib", "second", "--stage", "hops"]);
    assert!(explained.success().stdout.contains("print"));
}

/// SystemDS keeps the scripts of functions in a folder `builtin`.
#[test]
fn functions_are_found_in_a_folder_builtin_after_the_folder_itself() {
    let folder = folder("print(thrice(1))\n");
    std::fs::create_dir(folder.path("first/builtin")).expect("the folder is ours");
    let function = |value: &str| format!("s_thrice = function(Double x) return (Double y) {{ y = {value} }}\n");
    folder.write("first/builtin/thrice.dml", function("30"));
    let run = |libraries: &[&str]| folder.run(&[&["run", "script.dml"], libraries].concat());
    assert_eq!(run(&["--lib", "first"]).quiet(), "30\n");
    assert_eq!(run(&["--lib", "first", "--lib", "second"]).quiet(), "30\n");
    assert_eq!(run(&["--lib", "second", "--lib", "first"]).quiet(), "201\n");
    folder.write("first/thrice.dml", function("3.5"));
    assert_eq!(run(&["--lib", "first"]).quiet(), "3.5\n");
}

#[test]
fn a_mistake_in_a_library_file_is_shown_there() {
    let folder = folder("print(thrice(1))\n");
    folder.write("first/thrice.dml", "s_thrice = function(Double x) return (Double y) {\n    y = x + nothing\n}\n");
    let message = folder.run(&["run", "script.dml", "--lib", "first"]).message();
    assert!(message.contains("first/thrice.dml:2:13"), "{message}");
    folder.write("first/thrice.dml", b"s_thrice = \xff");
    let message = folder.run(&["run", "script.dml", "--lib", "first"]).message();
    assert!(message.contains("cannot read the library's file of `thrice`: first/thrice.dml"), "{message}");
    let message = folder.run(&["run", "script.dml", "--lib", "nowhere"]).message();
    assert_eq!(message, "error: --lib takes a folder, and nowhere is none\n");
}

#[test]
fn scripts_call_fuselines_own_functions() {
    let script = "X = matrix(\"1 2 3 4 5 6 7 8\", rows=4, cols=2)\n\
        y = X %*% matrix(\"2 -1\", rows=2, cols=1)\n\
        print(toString(lm(X=X, y=y, verbose=FALSE), decimal=6))\n";
    assert_eq!(folder(script).run(&["run", "script.dml"]).quiet(), "2.000000\n-1.000000\n\n");
}
