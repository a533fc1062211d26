//! Memory that the system refuses to LLVM, which would end the process where it is refused any: operators go without code.
#![cfg(all(target_os = "linux", feature = "llvm"))]

use crate::command::Folder;
use std::process::Command;

const SCRIPT: &str = "X = rand(rows=300, cols=20, min=-1, max=1, seed=1)
w = matrix(0.1, rows=20, cols=1)
for (i in 1:3) {
    p = 1 / (1 + exp(-(X %*% w)))
    w = w - 0.001 * (t(X) %*% (p - 0.5))
}
print(sum(w * w + 1))
";

/// The status of a run with at most so many KiB of addresses, and what it printed.
fn run(folder: &Folder, kibibytes: u32) -> (Option<i32>, String, String) {
    let shell = format!(
        "ulimit -c 0; ulimit -v {kibibytes}; exec \"$0\" run script.dml --backend llvm --plan-cache off --threads 1 \
         --stats=json"
    );
    let output = Command::new("sh")
        .args(["-c", &shell, env!("CARGO_BIN_EXE_fuseline")])
        .env("XDG_CACHE_HOME", "/dev/null")
        .current_dir(folder.path("."))
        .output()
        .expect("there is a shell");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn where_there_is_no_memory_for_llvm_operators_run_without_code() {
    let folder = Folder::with("script.dml", SCRIPT);
    let (status, expected, statistics) = run(&folder, 8 << 20);
    assert!(status == Some(0) && !statistics.contains("backend needs"), "{statistics}");
    let mut without_code = 0;
    // The program takes some 250 MB by itself, and its threads reserve addresses as they please.
    for kibibytes in (400_000..800_000).step_by(20_000) {
        let (status, printed, message) = run(&folder, kibibytes);
        assert!(matches!(status, Some(0 | 1)), "{kibibytes} KiB: {status:?} {message}");
        if status == Some(0) {
            assert_eq!(printed, expected, "{kibibytes} KiB");
            without_code += u32::from(message.contains("the llvm backend needs 67108864 bytes to compile a plan"));
        }
    }
    assert!(without_code > 0, "somewhere there is memory for everything but LLVM");
}
