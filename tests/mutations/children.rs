//! Running programs in processes of their own, through the shell that sets their limits.

use crate::limits::{LITTLE_MEMORY, Limit, MANY_THREADS};
use crate::tally::Verdict;
use crate::valid::Program;
use crate::{HANGS_AT_WORK, HANGS_WAITING, file_name, names_line};
use std::path::Path;
use std::process::Command;

/// Exit status of a process that a signal ended, as shells report it.
const SIGNALLED: i32 = 128;

/// What only the whole process can be told.
const WITHOUT_PLACE: &[&str] = &[
    "cannot start threads: ",
    "cannot print",
    "cannot write to standard error: ",
    "the script needs ",
    "the system refuses ",
];

/// Runs a program in a folder.
pub(crate) fn run(program: &Program, folder: &Path, limit: &Limit, shell: &str) -> Verdict {
    let _ = std::fs::remove_dir_all(folder.join("run"));
    let folder = folder.join("run");
    std::fs::create_dir(&folder).expect("the folder is ours");
    program.write_inputs(&folder);
    let name = file_name(&program.path);
    std::fs::write(folder.join(&name), &program.text).expect("the folder is ours");
    let mut command = Command::new("timeout");
    let guarded = format!("ulimit -c 0; ulimit -t {}; {shell}", HANGS_AT_WORK.as_secs());
    command.args([
        &HANGS_WAITING.as_secs().to_string(),
        "sh",
        "-c",
        &guarded,
        "sh",
        env!("CARGO_BIN_EXE_fuseline"),
        "run",
        &name,
    ]);
    let threads = if limit.name == MANY_THREADS { "1000000" } else { "2" };
    let memory = if limit.name == LITTLE_MEMORY { "100g" } else { "128m" };
    let library = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/language/library");
    command.arg("--lib").arg(library).args(["--mem", memory, "--threads", threads]);
    if !program.arguments.is_empty() {
        command.arg("--nvargs");
        command.args(program.arguments.iter().map(|(name, value)| format!("{name}={value}")));
    }
    let output = command.current_dir(&folder).env("XDG_CACHE_HOME", "/dev/null").output().expect("there is a shell");
    let (stderr, status) = (String::from_utf8_lossy(&output.stderr).into_owned(), output.status.code());
    match status {
        _ if stderr.contains("panicked") => Verdict::Wrong(format!("panicked: {stderr}")),
        Some(0) => Verdict::Fine,
        Some(1) if !limit.is_heard => Verdict::Refused(limit.name.to_owned()),
        Some(1) if names_line(&stderr) || WITHOUT_PLACE.iter().any(|text| stderr.contains(text)) => {
            Verdict::Refused(stderr)
        }
        Some(1) => Verdict::Wrong(format!("names no place: {stderr}")),
        // The program's libraries take memory and files, too: where these are refused, the loader says so.
        Some(127) if stderr.contains("error while loading shared libraries") => Verdict::Refused(stderr),
        Some(124) => Verdict::Wrong("hangs".to_owned()),
        Some(code) if code > SIGNALLED => Verdict::Wrong(format!("ended by signal {}: {stderr}", code - SIGNALLED)),
        status => Verdict::Wrong(format!("ended with {status:?}: {stderr}")),
    }
}
