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
}
