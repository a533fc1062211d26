//! `--plan-cache`: code that one run generated, and plans that it chose, which others find, whatever happens to the folder meanwhile.
#![cfg(feature = "llvm")]

use crate::command::{Finished, Folder};
use serde_json::Value;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// Operators of several templates, over dense and sparse data.
const SCRIPT: &str = "X = rand(rows=3000, cols=20, min=-1, max=1, seed=1)
S = rand(rows=3000, cols=200, sparsity=0.05, seed=2)
w = matrix(0.1, rows=20, cols=1)
for (i in 1:3) {
    p = 1 / (1 + exp(-(X %*% w)))
    w = w - 0.001 * (t(X) %*% (p - 0.5))
}
print(sum(w * w + 1))
print(sum(S * log(S + 2)) + sum(S ^ 2))
";

/// Runs the script where it waits for its code, so that there is code after it.
fn run(folder: &Folder, options: &[&str]) -> Finished {
    run_on("llvm", folder, options)
}

fn run_on(backend: &str, folder: &Folder, options: &[&str]) -> Finished {
    folder.script(SCRIPT, &[&["--stats=json", "--backend", backend], options].concat()).success()
}

fn statistics(finished: &Finished) -> Value {
    let json = &finished.stderr[finished.stderr.find('{').expect("statistics")..];
    serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {json}"))
}

/// Generated and restored entry points.
fn origins(finished: &Finished) -> (u64, u64) {
    let statistics = statistics(finished);
    let count = |field: &str| statistics[field].as_u64().expect("a count");
    (count("code_generated"), count("code_restored"))
}

/// Blocks that were optimized and restored, and entries that were damaged.
fn blocks(finished: &Finished) -> [u64; 3] {
    let statistics = statistics(finished);
    ["dags_optimized", "dags_restored", "kept_damaged"].map(|field| statistics[field].as_u64().expect("a count"))
}

/// The files of a folder by the end of their names.
fn files(folder: &Folder, extension: &str) -> Vec<PathBuf> {
    let Ok(files) = std::fs::read_dir(folder.path("code")) else { return Vec::new() };
    let files = files.map(|file| file.expect("readable").path());
    files.filter(|path| path.to_string_lossy().ends_with(extension)).collect()
}

#[test]
fn a_second_run_generates_nothing_and_computes_the_same_bits() {
    let folder = Folder::new();
    let uncached = run(&folder, &["--plan-cache", "off"]);
    let (generated, restored) = origins(&uncached);
    assert!(generated > 3 && restored == 0, "{}", uncached.stderr);
    assert!(files(&folder, "").is_empty());
    let cold = run(&folder, &["--plan-cache", "code"]);
    assert_eq!(origins(&cold).1, 0, "{}", cold.stderr);
    assert_eq!(files(&folder, ".code").len() as u64, origins(&cold).0);
    // One entry for each block, and one for what is simplified before sizes are known.
    let [optimized, ..] = blocks(&cold);
    assert_eq!((blocks(&cold), blocks(&uncached)), ([optimized, 0, 0], [optimized, 0, 0]));
    assert_eq!(files(&folder, ".plan").len() as u64, optimized + 1);
    for backend in ["llvm", "tiered"] {
        let warm = run_on(backend, &folder, &["--plan-cache", "code"]);
        assert_eq!(origins(&warm), (0, origins(&cold).0), "{}", warm.stderr);
        assert_eq!((&warm.stdout, blocks(&warm)), (&uncached.stdout, [0, optimized, 0]));
    }
    assert_eq!(cold.stdout, uncached.stdout);
    // Other options are other code.
    let optimised = run(&folder, &["--plan-cache", "code", "--llvm-opt", "O3"]);
    assert_eq!((origins(&optimised).1, optimised.stdout), (0, uncached.stdout));
}

#[test]
fn damaged_entries_are_generated_again() {
    let folder = Folder::new();
    let cold = run(&folder, &["--plan-cache", "code"]);
    let (entries, [optimized, ..]) = ([files(&folder, ".code"), files(&folder, ".plan")].concat(), blocks(&cold));
    for (turn, path) in entries.iter().enumerate() {
        let mut content = std::fs::read(path).expect("ours");
        let (place, length) = (turn * 131 % content.len(), content.len());
        if turn % 2 == 0 {
            content[place] ^= 1 << (turn % 8);
        } else {
            content.truncate(length - 1 - place);
        }
        std::fs::write(path, content).expect("ours");
    }
    let again = run(&folder, &["--plan-cache", "code"]);
    assert_eq!((origins(&again), &again.stdout), (origins(&cold), &cold.stdout), "{}", again.stderr);
    assert_eq!(blocks(&again), [optimized, 0, entries.len() as u64]);
    let again = run(&folder, &["--plan-cache", "code"]);
    assert_eq!((origins(&again), &again.stdout), ((0, origins(&cold).0), &cold.stdout), "{}", again.stderr);
    assert_eq!(blocks(&again), [0, optimized, 0]);
}

/// A folder that cannot be used is told where it was asked for; the run goes on without.
#[test]
fn an_unusable_folder_is_a_warning() {
    let folder = Folder::with("code", "not a folder");
    let finished = run(&folder, &["--plan-cache", "code"]);
    assert!(finished.stderr.starts_with("warning: --plan-cache code: "), "{}", finished.stderr);
    assert_eq!(origins(&finished).1, 0);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let folder = Folder::new();
        std::fs::create_dir(folder.path("code")).expect("ours");
        std::fs::set_permissions(folder.path("code"), std::fs::Permissions::from_mode(0o777)).expect("ours");
        let finished = run(&folder, &["--plan-cache", "code"]);
        assert!(finished.stderr.contains("others than its owner may write to it; no code is kept"), "{finished:?}");
        assert!(files(&folder, "").is_empty());
    }
}

/// A disk that is full, at once or in the middle of an entry: files of the process end after so many blocks.
#[cfg(unix)]
#[test]
fn where_the_disk_is_full_runs_go_on_and_nothing_is_kept() {
    let folder = Folder::new();
    let expected = run(&folder, &["--plan-cache", "off"]).stdout;
    for blocks in ["0", "1"] {
        let limited = "trap '' XFSZ; ulimit -f \"$0\"; exec \"$@\"";
        let program = command(&folder, &["--plan-cache", "code"]);
        let mut shell = Command::new("sh");
        shell.args(["-c", limited, blocks]).arg(program.get_program()).args(program.get_args());
        let output = shell.current_dir(folder.path(".")).output().expect("there is a shell");
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
        // Some plans are smaller than a block.
        let is_plan = |name: &String| name.ends_with(".plan") || name == "lock";
        assert!(folder.list("code").iter().all(is_plan), "{blocks} blocks");
    }
    let cold = run(&folder, &["--plan-cache", "code"]);
    assert_eq!((cold.stdout.as_str(), origins(&cold).1, blocks(&cold)[2]), (expected.as_str(), 0, 0));
    assert_eq!(origins(&run(&folder, &["--plan-cache", "code"])).1, origins(&cold).0);
}

/// In the user's cache folder by default, which the tests' runs do not have.
#[test]
fn code_is_kept_in_the_users_cache_folder() {
    let folder = Folder::new();
    assert_eq!(origins(&run(&folder, &[])).1, 0);
    let output = command(&folder, &[]).env("XDG_CACHE_HOME", folder.path("cache")).output().expect("it starts");
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    assert!(folder.list("cache/fuseline/code").iter().any(|name| name.ends_with(".code")));
}

fn command(folder: &Folder, options: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fuseline"));
    command.args([&["run", "script.dml", "--backend", "llvm"], options].concat()).current_dir(folder.path("."));
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn start(folder: &Folder) -> Child {
    command(folder, &["--plan-cache", "code", "--threads", "1"]).spawn().expect("the program starts")
}

#[test]
fn processes_share_a_folder_without_disturbing_each_other() {
    let folder = Folder::new();
    let expected = run(&folder, &["--plan-cache", "off"]).stdout;
    for _ in 0..2 {
        let children: Vec<Child> = (0..8).map(|_| start(&folder)).collect();
        for child in children {
            let output = child.wait_with_output().expect("it ends");
            assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
            assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
        }
    }
    assert_eq!(origins(&run(&folder, &["--plan-cache", "code"])).0, 0);
}

/// Killed as soon as there is code of so many entry points.
#[test]
fn a_killed_run_leaves_a_folder_that_serves() {
    let folder = Folder::new();
    let expected = run(&folder, &["--plan-cache", "off"]).stdout;
    for entries in 1..=4 {
        let mut child = start(&folder);
        while files(&folder, ".code").len() < entries && child.try_wait().expect("it is ours").is_none() {
            std::thread::yield_now();
        }
        let _ = child.kill();
        child.wait().expect("it ends");
    }
    for _ in 0..2 {
        let finished = run(&folder, &["--plan-cache", "code"]);
        assert_eq!(finished.stdout, expected, "{}", finished.stderr);
        assert!(origins(&finished).1 > 0, "{}", finished.stderr);
    }
}
