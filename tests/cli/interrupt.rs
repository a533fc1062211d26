//! Ctrl-C, with real processes.
#![cfg(unix)]

use crate::command::Folder;
use crate::long::is_long;
use fuseline::{CompileOptions, Error, Session, Variables};
use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Threads of a run: what they do after a request to stop adds up.
const THREADS: &str = "2";

/// Starts a script in a folder and waits for its first line.
fn start(folder: &Folder, text: &str) -> Child {
    folder.write("script.dml", text);
    let mut child = Command::new(env!("CARGO_BIN_EXE_fuseline"))
        .args(["run", "script.dml", "--backend", "interp", "--threads", THREADS])
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
fn interrupt(child: Child, signal: &str) -> (Option<i32>, String) {
    send(&child, signal);
    interrupted(child)
}

fn send(child: &Child, signal: &str) {
    let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().expect("there is kill");
    assert!(sent.success());
}

/// The exit status and what stands on standard error.
fn interrupted(mut child: Child) -> (Option<i32>, String) {
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

/// Work that takes far longer than a test waits.
const LONG_WORK: &[&str] = &[
    "X = rand(rows=8000, cols=8000, seed=1)\nprint(sum(X %*% X))\n",
    "X = rand(rows=1000000, cols=50, seed=1)\nfor (i in 1:1000000) { print(sum(exp(X * i) * sin(X))) }\n",
    "X = rand(rows=20000000, cols=1, seed=1)\nfor (i in 1:1000000) { print(sum(order(target=X * i, by=1))) }\n",
    "X = rand(rows=8000, cols=8000, seed=1)\nprint(length(toString(X, rows=8000, cols=8000)))\n",
    "X = rand(rows=3000, cols=3000, seed=1)\n[U, S, V] = svd(X)\nprint(sum(S))\n",
    "X = rand(rows=3000, cols=3000, seed=1)\n[w, V] = eigen(X + t(X))\nprint(sum(w))\n",
    "F = as.frame(matrix(1, 7000, 1))\nprint(nrow(map(F, \"(x, y) -> UtilFunctions.jaccardSim(x, y)\")))\n",
];

/// What a script prepares, and what it does without an end: operators that are one call of a kernel, or one pass over many
/// texts, where a request to stop must be heard inside of it.
const OPERATORS: &[(&str, &str, &str)] = &[
    ("fft", "X = rand(rows=1, cols=5000011, seed=1)\n", "[a, b] = fft(X)\nprint(sum(a))\n"),
    ("nested lists", "L = list(1)\nfor (j in 1:60) { L = list(L, L) }\n", "print(length(toString(L)))\n"),
    ("sample", "", "print(sum(sample(80000000, 70000000)))\n"),
    ("sample of few", "", "print(sum(sample(2000000000, 20000000)))\n"),
    ("sparse row", "", "print(sum(rand(rows=1, cols=1000000000, sparsity=0.1)))\n"),
    ("lu", "X = rand(rows=3000, cols=3000, seed=1)\n", "[P, L, U] = lu(X)\nprint(sum(U))\n"),
    (
        "convolution",
        "X = rand(rows=1, cols=3*2000*2000, seed=1)\nW = rand(rows=16, cols=3*49, seed=1)\n",
        "Y = conv2d(X, W, input_shape=[1,3,2000,2000], filter_shape=[16,3,7,7], padding=[3,3])\nprint(sum(Y))\n",
    ),
    (
        "pooling",
        "X = rand(rows=1, cols=4000*4000, seed=1)\n",
        "Y = max_pool_backward(X, X, input_shape=[1,1,4000,4000], pool_size=[19,19], padding=[9,9])\nprint(sum(Y))\n",
    ),
    ("frame", "", "F = frame(\"abc\", rows=5000000, cols=2)\nprint(nrow(F))\n"),
    (
        "recode",
        "F = map(as.frame(rand(rows=1000000, cols=1, seed=1)), \"x -> x + 'a'\")\n",
        "[M, E] = transformencode(target=F, spec=\"{ids: true, recode: [1]}\")\nprint(nrow(M))\n",
    ),
    (
        "tokens",
        "s = \"ab cd \"\nfor (j in 1:20) { s = s + s }\nF = as.frame(s)\n",
        "T = tokenize(target=F, spec=\"{algo: 'split', out: 'count', id_cols: [], tokenize_col: 1}\")\nprint(nrow(T))\n",
    ),
    (
        "split",
        "s = \"ab cd \"\nfor (j in 1:22) { s = s + s }\nF = as.frame(s)\n",
        "print(nrow(map(F, \"x -> x.split(' ')[3]\")))\n",
    ),
];

/// Seconds after which a run counts as hanging, on a machine that may do other work.
const HANGING: u64 = 20;

/// Seconds that all threads together may work after a request to stop. However busy the machine is, work takes processors
/// about as long; a run that hears the request works for some hundredths of a second, most of which give memory back.
const LONGEST_WORK: f64 = 3.0;

/// Interrupts a run that does this, after so many milliseconds.
fn interrupt_after(folder: &Folder, text: &str, milliseconds: u64) {
    interrupt_script(folder, &format!("print(\"started\")\nwhile (TRUE) {{\n{text}}}\n"), milliseconds);
}

/// Interrupts a script that does not end, so many milliseconds after its first line; how long it then takes to end.
fn interrupt_script(folder: &Folder, text: &str, milliseconds: u64) -> Duration {
    let mut child = start(folder, text);
    std::thread::sleep(Duration::from_millis(milliseconds));
    let taken = time_to_end(&mut child, text);
    assert_eq!(interrupted(child), (Some(130), "interrupted\n".to_owned()), "{text}");
    taken
}

/// Interrupts a process that does this, and waits until it ends, soon by the work that it does: how long that takes.
fn time_to_end(child: &mut Child, what: &str) -> Duration {
    let before = work(child).map_or(0.0, |work| work.seconds);
    send(child, "-INT");
    let start = Instant::now();
    while !has_ended(child) {
        if start.elapsed() > Duration::from_secs(HANGING) {
            child.kill().expect("ours");
            panic!("it hangs: {what}");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    let taken = start.elapsed();
    if let Some(Work { seconds, .. }) = work(child) {
        assert!(seconds - before <= LONGEST_WORK, "it works on for {:.2} s: {what}", seconds - before);
    }
    taken
}

/// Whether a process has ended. Where the system tells its work, that stays to be asked.
fn has_ended(child: &mut Child) -> bool {
    work(child).map_or_else(|| child.try_wait().expect("ours").is_some(), |work| work.has_ended)
}

/// What a process has done.
struct Work {
    /// Processor time of all its threads, also of those that have ended.
    seconds: f64,
    has_ended: bool,
}

/// The work of a process that nobody has waited for, where the system is Linux.
fn work(child: &Child) -> Option<Work> {
    /// In which Linux tells programs all times.
    const TICKS_PER_SECOND: f64 = 100.0;
    let status = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).ok()?;
    // Behind the name, which may hold anything: the state, ten more numbers, and the time in user and in system mode.
    let fields: Vec<&str> = status.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |field: usize| fields.get(field)?.parse::<f64>().ok();
    Some(Work { seconds: (ticks(11)? + ticks(12)?) / TICKS_PER_SECOND, has_ended: fields.first() == Some(&"Z") })
}

/// What a script prepares, and what it does without an end.
const MEASURED: &[(&str, &str, &str)] = &[
    (
        "read of csv",
        "X = rand(rows=200000, cols=50, seed=1)\nwrite(X, \"x.csv\", format=\"csv\")\n",
        "Y = read(\"x.csv\", format=\"csv\")\nprint(sum(Y))\n",
    ),
    ("write of csv", "X = rand(rows=1000000, cols=50, seed=1)\n", "write(X, \"y.csv\", format=\"csv\")\n"),
    ("fused operator", "X = rand(rows=1000000, cols=50, seed=1)\n", "print(sum(exp(X * i) * sin(X)))\n"),
    ("toString", "X = rand(rows=5000, cols=5000, seed=1)\n", "print(length(toString(X, rows=5000, cols=5000)))\n"),
    ("sort", "X = rand(rows=20000000, cols=1, seed=1)\n", "print(sum(order(target=X * i, by=1)))\n"),
    ("sparse product", "X = rand(rows=100000, cols=100000, sparsity=0.0005, seed=1)\n", "print(sum(X %*% (X * i)))\n"),
    ("dense product", "X = rand(rows=10000, cols=10000, seed=1)\n", "print(sum(X %*% (X * i)))\n"),
    ("eigen", "X = rand(rows=1500, cols=1500, seed=1)\n", "[w, V] = eigen(X + t(X) * i)\nprint(sum(w))\n"),
    ("pipe", "", "X = read(\"pipe\", format=\"csv\")\nprint(sum(X))\n"),
];

/// A script whose only block takes long to compile.
fn large_block() -> String {
    let lines = (0..2000).map(|i| format!("y{i} = sum(X * {i} + rowSums(X %*% t(X + {i})))\n")).collect::<String>();
    format!(
        "X = rand(rows=100, cols=10, seed=1)\nprint(\"started\")\n{lines}print(y0 + y1999)\nwhile (TRUE) {{ y0 = y0 + 1 }}\n"
    )
}

/// Within how long 99 of 100 interrupted runs end, where they are optimised.
const SOON: Duration = Duration::from_millis(300);

/// A script that prepares something, tells that it has, and then does something without an end.
fn endless(prepare: &str, work: &str) -> String {
    format!("{prepare}print(\"started\")\ni = 0\nwhile (TRUE) {{\ni = i + 1\n{work}}}\n")
}

/// The long form interrupts 100 runs, and prints how long they took to end: `FUSELINE_LONG=1 cargo nextest run --release
/// --test cli hundred --no-capture`. It judges that in a release build alone.
#[test]
fn a_hundred_runs_end_when_they_are_interrupted() {
    if !is_long() {
        return;
    }
    let mut taken = Vec::new();
    let scripts = MEASURED.iter().chain(OPERATORS).map(|(name, prepare, work)| (*name, endless(prepare, work)));
    let scripts: Vec<(&str, String)> = scripts.chain([("large block", large_block())]).collect();
    for (run, (name, text)) in scripts.iter().cycle().take(100).enumerate() {
        let folder = Folder::new();
        assert!(Command::new("mkfifo").arg(folder.path("pipe")).status().expect("there is mkfifo").success());
        let moment = run as u64 * 271 % 1200;
        taken.push((interrupt_script(&folder, text, moment), *name));
    }
    taken.sort();
    for share in [50, 90, 95, 99, 100] {
        let (time, name) = taken[(taken.len() * share).div_ceil(100) - 1];
        println!("{share:>3} % end within {:>4} ms ({name})", time.as_millis());
    }
    let names: BTreeSet<&str> = taken.iter().map(|(_, name)| *name).collect();
    for name in names {
        let slowest = taken.iter().rev().find(|(_, other)| *other == name).expect("it ran");
        println!("{name:>14}: at most {:>4} ms", slowest.0.as_millis());
    }
    let (time, name) = taken[98];
    assert!(time <= SOON || cfg!(debug_assertions), "99 of 100 runs take {} ms to end ({name})", time.as_millis());
}

/// Within one operator, whatever it is at.
#[test]
fn operators_end_in_their_middle() {
    for round in 0..if is_long() { 5 } else { 2 } {
        for text in LONG_WORK {
            interrupt_after(&Folder::new(), text, 50 + 170 * round);
        }
    }
}

/// Within one operator that has no blocks, or many values that are small by themselves.
#[test]
fn operators_without_blocks_end_in_their_middle() {
    for round in 0..if is_long() { 2 } else { 1 } {
        for (number, (_, prepare, work)) in OPERATORS.iter().enumerate() {
            interrupt_script(&Folder::new(), &endless(prepare, work), 90 * number as u64 % 400 + 500 * round);
        }
    }
}

/// A pipe that nobody opens for writing, and one in which nothing comes any more.
#[test]
fn reads_of_pipes_end() {
    let read = "X = read(\"pipe\", format=\"csv\")\nprint(sum(X))\n";
    for has_writer in [false, true] {
        let folder = Folder::new();
        let pipe = folder.path("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().expect("there is mkfifo").success());
        let writer = has_writer.then(|| OpenOptions::new().read(true).write(true).open(&pipe).expect("both ends"));
        if let Some(mut writer) = writer.as_ref() {
            writer.write_all(b"1,2\n").expect("there is room");
        }
        interrupt_after(&folder, read, 200);
    }
}

/// A pipe that nobody opens for reading, one that is full, and standard output that nobody reads any more.
#[test]
fn writes_to_pipes_end() {
    let write = "X = rand(rows=1000, cols=100, seed=1)\nwrite(X, \"pipe\", format=\"csv\")\n";
    for has_reader in [false, true] {
        let folder = Folder::new();
        let pipe = folder.path("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().expect("there is mkfifo").success());
        let _reader = has_reader.then(|| OpenOptions::new().read(true).write(true).open(&pipe).expect("both ends"));
        interrupt_after(&folder, write, 200);
    }
    interrupt_after(&Folder::new(), "print(toString(rand(rows=100, cols=9, seed=1)))\n", 200);
}

/// Output and messages in one pipe that nobody reads: the last words must not hold up the end.
#[test]
fn messages_that_nobody_reads_hold_nothing_up() {
    let folder = Folder::new();
    let pipe = folder.path("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("there is mkfifo").success());
    let _reader = OpenOptions::new().read(true).write(true).open(&pipe).expect("both ends");
    let both = OpenOptions::new().write(true).open(&pipe).expect("there is a reader");
    folder.write("script.dml", "while (TRUE) {\nprint(toString(rand(rows=100, cols=9, seed=1)))\n}\n");
    let mut child = Command::new(env!("CARGO_BIN_EXE_fuseline"))
        .args(["run", "script.dml", "--backend", "interp"])
        .current_dir(folder.path("."))
        .stdout(both.try_clone().expect("another handle"))
        .stderr(both)
        .spawn()
        .expect("the program starts");
    std::thread::sleep(Duration::from_millis(500));
    assert!(child.try_wait().expect("ours").is_none(), "the pipe is full");
    time_to_end(&mut child, "output and messages in one pipe");
    assert_eq!(child.wait().expect("ours").code(), Some(130));
}

/// Whoever reads it may come late, and be slow.
#[test]
fn pipes_take_all_that_is_written() {
    let folder = Folder::new();
    let pipe = folder.path("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("there is mkfifo").success());
    let reader = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(120));
        let (mut pipe, mut text, mut part) =
            (std::fs::File::open(pipe).expect("it is written"), Vec::new(), [0; 50_000]);
        loop {
            match pipe.read(&mut part).expect("it is written") {
                0 => return text,
                length => text.extend_from_slice(&part[..length]),
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    });
    let text = "X = matrix(seq(1, 100000), rows=20000, cols=5)\nwrite(X, \"pipe\", format=\"csv\")\n";
    assert_eq!(folder.script(text, &["--backend", "interp"]).quiet(), "");
    let lines = String::from_utf8(reader.join().expect("it read")).expect("text");
    assert_eq!((lines.lines().count(), lines.lines().last()), (20000, Some("99996,99997,99998,99999,100000")));
}

#[test]
fn pipes_are_read_to_their_end() {
    let folder = Folder::new();
    let pipe = folder.path("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("there is mkfifo").success());
    let text = "X = read(\"pipe\", format=\"csv\")\nprint(sum(X))\n";
    let writer = std::thread::spawn(move || {
        let mut pipe = OpenOptions::new().write(true).open(pipe).expect("it is read");
        for _ in 0..3 {
            pipe.write_all(b"1,2\n3,4\n").expect("it is read");
            std::thread::sleep(Duration::from_millis(80));
        }
    });
    assert_eq!(folder.script(text, &["--backend", "interp"]).quiet(), "30.0\n");
    writer.join().expect("it wrote");
}

/// A session that was interrupted runs on.
#[test]
fn the_next_run_is_not_interrupted() {
    let session = Session::new(CompileOptions::default()).expect("a session");
    let text = "s = 0.0\nfor (i in 1:n) { s = s + sum(exp(rand(rows=2000, cols=500, seed=i))) }\n";
    let run = |count: &str| {
        let script =
            session.compile_script("a.dml", &text.replace("1:n", &format!("1:{count}")), &[]).expect("a script");
        session.run(&script, Variables::new(), &mut std::io::sink())
    };
    let before = session.engine().buffers().budget().held();
    for _ in 0..3 {
        std::thread::scope(|scope| {
            let long = scope.spawn(|| run("1000000"));
            std::thread::sleep(Duration::from_millis(100));
            session.interrupter().interrupt();
            assert!(matches!(long.join().expect("no panic"), Err(Error::Interrupted)));
        });
        assert!(run("2").is_ok());
    }
    session.engine().buffers().give_up();
    assert_eq!(session.engine().buffers().budget().held(), before, "all memory is back");
}
