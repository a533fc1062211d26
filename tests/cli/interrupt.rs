//! Ctrl-C, with real processes.
#![cfg(unix)]

use crate::command::Folder;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};

/// Starts a script in a folder and waits for its first line.
fn start(folder: &Folder, text: &str) -> Child {
    folder.write("script.dml", text);
    let mut child = Command::new(env!("CARGO_BIN_EXE_fuseline"))
        .args(["run", "script.dml", "--backend", "interp"])
        .current_dir(folder.path("."))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut line = String::new();
    let output = child.stdout.as_mut().expect("it is piped");
    BufReader::new(output).read_line(&mut line).expect("it prints");
    assert_eq!(line, "started\n");
    child
}

/// Sends a signal, and returns the exit status and what stands on standard error.
fn interrupt(mut child: Child, signal: &str) -> (Option<i32>, String) {
    let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().expect("there is kill");
    assert!(sent.success());
    let status = child.wait().expect("it ends");
    let mut message = String::new();
    child.stderr.take().expect("it is piped").read_to_string(&mut message).expect("messages are UTF-8");
    (status.code(), message)
}

fn files(folder: &Folder) -> Vec<String> {
    let entries = std::fs::read_dir(folder.path(".")).expect("the folder is there");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("ours").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_loop_without_end_ends_with_status_130() {
    let text = "print(\"started\")\nx = 0.0\nwhile (x >= 0) { x = x + sum(rand(rows=10, cols=10)) }\nprint(x)\n";
    for signal in ["-INT", "-TERM"] {
        let folder = Folder::new();
        let child = start(&folder, text);
        assert_eq!(interrupt(child, signal), (Some(130), "interrupted\n".to_owned()));
    }
}

/// Files are there as a whole or not at all, and nothing else stays behind.
#[test]
fn no_unfinished_files_stay_behind() {
    let text = "X = rand(rows=20000, cols=50, seed=1)\nprint(\"started\")\n\
        while (sum(X) > 0) { write(X, \"x.csv\", format=\"csv\") }\n";
    let folder = Folder::new();
    let child = start(&folder, text);
    std::thread::sleep(std::time::Duration::from_millis(300));
    let (status, message) = interrupt(child, "-INT");
    assert_eq!((status, message.as_str()), (Some(130), "interrupted\n"));
    let known = ["script.dml", "x.csv", "x.csv.mtd"];
    assert!(files(&folder).iter().all(|name| known.contains(&name.as_str())), "{:?}", files(&folder));
    if folder.path("x.csv").exists() {
        assert_eq!(folder.read("x.csv").lines().count(), 20000);
    }
}
