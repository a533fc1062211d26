//! SystemDS' command line.

use crate::command::Folder;

fn folder() -> Folder {
    Folder::with("a.dml", "print(\"n \" + ($n + 1) + \" \" + ifdef($1, \"none\"))\n")
}

#[test]
fn scripts_run_with_named_and_positional_arguments() {
    let folder = folder();
    assert_eq!(folder.run(&["systemds", "-f", "a.dml", "-nvargs", "n=2"]).quiet(), "n 3 none\n");
    assert_eq!(folder.run(&["systemds", "a.dml", "-nvargs", "n=-2", "-args", "-7"]).quiet(), "n -1 -7\n");
}

#[test]
fn statistics_and_explanations_go_to_standard_error() {
    let folder = folder();
    let run = folder.run(&["systemds", "-f", "a.dml", "-stats", "10", "-explain", "hops", "-nvargs", "n=2"]).success();
    assert_eq!(run.stdout, "n 3 none\n");
    assert!(run.stderr.contains("hops {") && run.stderr.contains("execute"), "{}", run.stderr);
}

#[test]
fn other_options_are_named() {
    let folder = folder();
    for (arguments, expected) in [
        (&["-f", "a.dml", "-exec", "spark"][..], "SystemDS' option `-exec` is unknown here; -f SCRIPT, -args"),
        (&["-explain", "plan", "-f", "a.dml"], "`-explain` takes hops, recompile_hops"),
        (&["-nvargs", "n=2"], "no script is named"),
        (&["-f", "a.dml", "b.dml"], "`-f` takes one value, not 2"),
        (&["-f", "missing.dml"], "cannot read missing.dml"),
    ] {
        let message = folder.run(&[&["systemds"], arguments].concat()).message();
        assert!(message.contains(expected), "{message}");
    }
}
