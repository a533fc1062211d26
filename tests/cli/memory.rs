//! The budget of memory: what data decide ends in an error with a place, never in an abort.
#![cfg(unix)]

use crate::command::{Folder, fuseline, script};
use crate::long::is_long;
use std::process::Command;

#[track_caller]
fn assert_refused(message: &str, parts: &[&str]) {
    for part in ["the memory budget is", "script.dml:"].iter().chain(parts) {
        assert!(message.contains(part), "`{part}` is not in {message}");
    }
}

#[test]
fn texts_that_double_are_refused() {
    for text in [
        "s = \"0123456789abcdef\"\nfor (i in 1:60) { s = s + s }\nprint(length(s))\n",
        "f = function(string s) return (string t) { t = s + s }\ns = \"0123456789abcdef\"\n\
         for (i in 1:60) { s = f(s) }\nprint(length(s))\n",
    ] {
        for mode in ["base", "gen"] {
            assert_refused(&script(text, &["--mem", "64m", "--mode", mode]).message(), &["in use"]);
        }
    }
    let text = "s = \"0123456789abcdef\"\nfor (i in 1:20) { s = s + s }\nprint(length(s))\n";
    assert_eq!(script(text, &["--mem", "128m"]).quiet(), "16777216\n");
}

/// What texts no longer hold can be taken again.
#[test]
fn texts_give_their_memory_back() {
    let text = "for (i in 1:30) {\n  s = \"0123456789abcdef\"\n  for (j in 1:20) { s = s + s }\n}\nprint(length(s))\n";
    assert_eq!(script(text, &["--mem", "128m"]).quiet(), "16777216\n");
}

#[test]
fn declared_rows_are_refused_before_they_are_allocated() {
    let folder = Folder::with("x.txt", "1 1 1\n");
    let text = "X = read(\"x.txt\", format=\"text\", rows=500000000, cols=3)\nprint(sum(X))\n";
    assert_refused(&folder.script(text, &["--mem", "64m"]).message(), &["cannot read x.txt: that needs 3.7 GiB"]);
    let text = text.replace("500000000", "500000");
    assert_eq!(folder.script(&text, &["--mem", "64m"]).quiet(), "1.0\n");
}

#[test]
fn lines_without_an_end_are_refused() {
    for format in ["csv", "text", "mm", "libsvm"] {
        let text = format!("X = read(\"/dev/zero\", format=\"{format}\", rows=10, cols=10)\nprint(sum(X))\n");
        assert_refused(&script(&text, &["--mem", "64m"]).message(), &["cannot read /dev/zero: that needs"]);
    }
    let text = "F = read(\"/dev/zero\", data_type=\"frame\", format=\"csv\")\nprint(nrow(F))\n";
    assert_refused(&script(text, &["--mem", "64m"]).message(), &["cannot read /dev/zero: that needs"]);
}

/// Frames that are made of texts take their memory like all others, whatever sizes are asked for.
#[test]
fn large_frames_are_refused() {
    let frames = [
        "frame(\"a\", rows=9000000000000000000, cols=1)",
        "frame(\"a\", rows=1000000000000, cols=1)",
        "frame(\"a\", rows=1, cols=9000000000000000000)",
        "frame(\"a\", rows=0, cols=9000000000000000000)",
        "frame(\"a\", rows=3000000, cols=4)",
        "map(as.frame(matrix(1, 2500, 1)), \"(x, y) -> x + y\")",
    ];
    for frame in frames {
        assert_refused(&script(&format!("F = {frame}\nprint(nrow(F))\n"), &["--mem", "64m"]).message(), &["needs"]);
    }
}

/// A regular file of one line, and files of many lines whose cells do not fit.
#[test]
fn files_larger_than_the_budget_are_refused() {
    let folder = Folder::with("line.csv", "1,".repeat(8 << 20));
    folder.write("rows.csv", "1,2,3,4\n".repeat(1 << 20));
    for name in ["line.csv", "rows.csv"] {
        let text = format!("X = read(\"{name}\", format=\"csv\")\nprint(sum(X))\n");
        assert_refused(&folder.script(&text, &["--mem", "16m"]).message(), &["cannot read"]);
    }
    let frame = "F = read(\"rows.csv\", data_type=\"frame\", format=\"csv\")\nprint(nrow(F))\n";
    assert_refused(&folder.script(frame, &["--mem", "16m"]).message(), &["cannot read"]);
}

#[test]
fn long_texts_of_matrices_are_refused() {
    let text = "X = rand(rows=2000, cols=2000, seed=1)\nprint(length(toString(X, rows=2000, cols=2000)))\n";
    assert_refused(&script(text, &["--mem", "48m"]).message(), &["toString", "in use"]);
}

/// All that is live counts, not one operator alone; idle memory gives way.
#[test]
fn what_is_live_counts_together() {
    let text = "A = rand(rows=1000, cols=1000, seed=1)\nB = A + 1\nC = A + 2\nD = A + 3\nE = A + 4\n\
        if (sum(A) > 0) { print(\"go\") }\nprint(sum(B) + sum(C) + sum(D) + sum(E) > 0)\n";
    let message = script(text, &["--mem", "20m", "--mode", "base", "--no-rewrites"]).message();
    assert_refused(&message, &["needs 7.6 MiB beside 15.3 MiB in use"]);
    let text = "for (i in 1:20) { s = sum(rand(rows=1000, cols=1000 + i * 100, seed=i)) }\nprint(s > 0)\n";
    assert_eq!(script(text, &["--mem", "40m", "--mode", "base"]).quiet(), "TRUE\n");
}

#[test]
fn statistics_show_the_peak_by_kind() {
    let text = "X = rand(rows=1000, cols=1000, seed=1)\nprint(length(toString(X, rows=1000, cols=1000)))\n";
    let report = script(text, &["--stats"]).success().stderr;
    let line = report.lines().find(|line| line.contains("memory reserved at most")).expect("a line");
    assert!(line.contains("matrices 7.6 MiB") && line.contains("texts "), "{line}");
}

/// Each of them is small beside the budget.
#[test]
fn many_values_in_lists_are_refused() {
    let text = "t = \"0123456789abcdef\"\nfor (i in 1:12) { t = t + t }\n";
    for value in ["t", "rand(rows=64, cols=128, seed=i)"] {
        let grows = |count: u32| {
            format!("{text}L = list()\nfor (i in 1:{count}) {{ L = append(L, {value}) }}\nprint(length(L))\n")
        };
        for mode in ["base", "gen"] {
            let options = ["--mem", "24m", "--mode", mode];
            assert_refused(&script(&grows(100_000), &options).message(), &["in use"]);
            assert_eq!(script(&grows(100), &options).quiet(), "100\n");
        }
    }
    let replaced = format!("{text}L = list(1)\nfor (i in 1:2000) {{ L[1] = t }}\nprint(length(L))\n");
    assert_eq!(script(&replaced, &["--mem", "16m"]).quiet(), "1\n");
}

/// Runs the program in a folder with at most so many KiB of addresses: its status and what stands on standard error.
fn run_within(folder: &Folder, kibibytes: u32, arguments: &str) -> (Option<i32>, String) {
    let shell = format!("ulimit -c 0; ulimit -v {kibibytes}; exec {} {arguments}", env!("CARGO_BIN_EXE_fuseline"));
    let output = Command::new("sh").args(["-c", &shell]).current_dir(folder.path(".")).output().expect("a shell");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// `generate` has no budget but the system's, and an error like all others.
#[test]
fn generated_data_that_the_system_refuses_are_an_error() {
    let arguments = "generate uniform --rows 10000000 --cols 10 --threads 2 --out x.bin";
    let (status, message) = run_within(&Folder::new(), 900_000, arguments);
    assert_eq!(status, Some(1), "{message}");
    assert!(message.starts_with("error: ") && message.contains("which the system refuses"), "{message}");
}

/// Runs a script within so many KiB of addresses, which ends well or with one error that has a place; what that says.
#[track_caller]
fn refusal_within(folder: &Folder, kibibytes: u32, text: &str) -> Option<String> {
    folder.write("script.dml", text);
    let (status, message) = run_within(folder, kibibytes, "run script.dml --backend interp --threads 2");
    if status == Some(0) {
        return None;
    }
    assert_eq!(status, Some(1), "{kibibytes} KiB: {message}\n{text}");
    assert!(message.contains("script.dml:"), "{kibibytes} KiB: {message}\n{text}");
    Some(message)
}

/// What works on frames. Whatever the system refuses them, the error has its place.
const ON_FRAMES: &[&str] = &[
    "",
    "[M, E] = transformencode(target=F, spec=\"{ids: true, recode: [1]}\")\nprint(nrow(M))\n",
    "[M, E] = transformencode(target=F, spec=\"{ids: true, dummycode: [1]}\")\nprint(nrow(M))\n",
    "print(nrow(rbind(F, F)))\n",
    "print(nrow(cbind(F, F)))\n",
    "print(nrow(map(F, \"x -> x + 'a'\")))\n",
    "print(sum(as.matrix(F[, 2])))\n",
    "T = tokenize(target=F, spec=\"{algo: 'split', out: 'count', id_cols: [2], tokenize_col: 1}\")\nprint(nrow(T))\n",
    "print(length(toString(F, rows=1000000)))\n",
];

#[test]
fn frames_that_the_system_refuses_are_an_error_with_a_place() {
    let folder = Folder::new();
    let rows = if is_long() { 1_500_000 } else { 400_000 };
    folder.write("rows.csv", (0..rows).map(|row| format!("\"abcdefgh{row}\",1\n")).collect::<String>());
    folder.write("line.csv", format!("1{}\n", ",1".repeat(rows)));
    let read = |path: &str| format!("F = read(\"{path}\", format=\"csv\", data_type=\"frame\")\nprint(nrow(F))\n");
    let endless = refusal_within(&folder, 2_000_000, &read("/dev/zero")).expect("it has no end");
    assert!(endless.contains("cannot read /dev/zero: that needs"), "{endless}");
    let (limits, step) = if is_long() { (500_000..1_200_000, 70_000) } else { (500_000..800_000, 100_000) };
    let mut refused = 0;
    for kibibytes in limits.step_by(step) {
        for work in ON_FRAMES {
            refused += u32::from(refusal_within(&folder, kibibytes, &(read("rows.csv") + work)).is_some());
        }
        let map = "print(nrow(map(F, \"x -> x + 'a'\")))\n";
        refused += u32::from(refusal_within(&folder, kibibytes, &(read("line.csv") + map)).is_some());
    }
    assert!(refused > 0, "somewhere there is not enough");
}

/// Files that have no end where a short one belongs.
#[test]
fn endless_scripts_and_metadata_are_an_error() {
    let folder = Folder::with("x.csv", "1,2\n");
    for name in ["endless.dml", "x.csv.mtd"] {
        std::os::unix::fs::symlink("/dev/zero", folder.path(name)).expect("the folder is ours");
    }
    for kibibytes in [500_000, 600_000, 4_000_000] {
        let source = refusal_within(&folder, kibibytes, "source(\"endless.dml\") as endless\nprint(1)\n");
        assert!(source.is_some_and(|message| message.contains("cannot read")), "{kibibytes}");
        let read = refusal_within(&folder, kibibytes, "X = read(\"x.csv\")\nprint(sum(X))\n");
        assert!(read.is_some_and(|message| message.contains("x.csv.mtd: more than")), "{kibibytes}");
    }
}

#[test]
fn nested_lists_are_printed_and_dropped() {
    let text = "L = list(1)\nfor (i in 1:20000) { L = list(L) }\nprint(length(toString(L)))\nL = 1\nprint(L)\n";
    let printed = script(text, &["--backend", "interp"]).quiet();
    assert!(printed.ends_with("\n1\n"), "{printed}");
}

/// Neither the program's own stack nor that of whoever calls a session counts.
#[test]
fn scripts_compile_on_small_stacks() {
    let deep = format!("x = {}1{}\nprint(x)\n", "(1 + ".repeat(90), ")".repeat(90));
    let folder = Folder::new();
    assert_eq!(folder.script(&deep, &[]).quiet(), "91\n");
    let shell = format!("ulimit -s 256; exec {} run script.dml", env!("CARGO_BIN_EXE_fuseline"));
    let output = Command::new("sh").args(["-c", &shell]).current_dir(folder.path(".")).output().expect("a shell");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "91\n", "{}", String::from_utf8_lossy(&output.stderr));
    let compile = move || {
        let session = fuseline::Session::new(fuseline::CompileOptions::default()).expect("a session");
        let script = session.compile_script("deep.dml", &deep, &[]).expect("a script");
        let outcome = session.run(&script, fuseline::Variables::new(), &mut std::io::sink()).expect("it runs");
        outcome.scalar("x").expect("a number")
    };
    let thread = std::thread::Builder::new().stack_size(256 << 10).spawn(compile).expect("a thread");
    assert_eq!(thread.join().expect("it ends"), 91.0);
}

/// `convert` has no budget but the system's, and the same messages.
#[test]
fn conversions_are_refused_with_a_message() {
    let folder = Folder::with("x.txt", "1 1 1\n");
    folder.write("x.txt.mtd", "{\"rows\": 4, \"cols\": 4, \"format\": \"text\"}");
    let (from, to) = (folder.path("x.txt"), folder.path("x.csv"));
    let paths = [from.to_string_lossy(), to.to_string_lossy()];
    fuseline(&["convert", &paths[0], &paths[1], "--from", "text"]).success();
    assert_eq!(folder.read("x.csv").lines().count(), 4);
}
