//! What the system may refuse a process: memory, files, stacks, streams and permissions.

use rand::RngExt;
use rand_pcg::Pcg64Mcg;
#[cfg(target_env = "gnu")]
use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::LazyLock,
};

/// A limit by name, and the shell commands that run the program `"$@"` within it.
pub(crate) struct Limit {
    pub(crate) name: &'static str,
    pub(crate) shell: Shell,
    /// Whether messages reach the test.
    pub(crate) is_heard: bool,
    /// Whether it is for programs that read and write files.
    pub(crate) is_of_files: bool,
}

/// Shell commands by chance.
type Shell = fn(&mut Pcg64Mcg) -> String;

/// The one that the memory budget of the program shall not forestall.
pub(crate) const LITTLE_MEMORY: &str = "limit of memory";

/// The one that is an option of the program.
pub(crate) const MANY_THREADS: &str = "a million threads";

const fn limit(name: &'static str, shell: Shell) -> Limit {
    Limit { name, shell, is_heard: true, is_of_files: false }
}

const fn of_files(name: &'static str, shell: Shell) -> Limit {
    Limit { name, shell, is_heard: true, is_of_files: true }
}

const fn unheard(name: &'static str, shell: Shell) -> Limit {
    Limit { name, shell, is_heard: false, is_of_files: false }
}

/// The one of which every number is tried: that of an allocation, most of them early, which is refused by itself or with all
/// that follow it.
#[cfg(target_env = "gnu")]
pub(crate) const REFUSED_ALLOCATION: Limit = limit("n-th allocation refused", |random| {
    // A short run makes some 70,000 allocations: not all are refused one.
    let number = 10_f64.powf(random.random_range(0.0..6.0)) as u64;
    let which = if random.random_bool(0.5) { "later" } else { "one" };
    let library = refusing_library().display();
    format!("REFUSED_ALLOCATION={number} REFUSED_ALLOCATIONS={which} LD_PRELOAD={library} \"$@\"")
});

/// The library that refuses an allocation, compiled once.
#[cfg(target_env = "gnu")]
fn refusing_library() -> &'static Path {
    static LIBRARY: LazyLock<PathBuf> = LazyLock::new(|| {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mutations/refusal.c");
        // Tests in several processes compile it at the same time.
        let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("librefusal-{}.so", std::process::id()));
        let mut compiler = Command::new("cc");
        compiler.args(["-O1", "-Wall", "-Werror", "-shared", "-fPIC", "-o"]).arg(&library).arg(&source).arg("-ldl");
        assert!(compiler.status().expect("there is a C compiler").success());
        library
    });
    &LIBRARY
}

pub(crate) const LIMITS: &[Limit] = &[
    // The program itself, the library of the code generator and the stacks of threads take some 500 MB of addresses. Where
    // even less is left, the smallest allocation may be refused, which ends a process. Three matrices take more than the rest.
    limit(LITTLE_MEMORY, |random| {
        let (limit, rows) = (random.random_range(900_000..1_600_000), random.random_range(1..6_000_000));
        let large =
            format!("X = matrix(1, rows={rows}, cols=10); print(sum(X * 2 + t(matrix(X, rows=10, cols={rows}))) > 0)");
        format!("ulimit -v {limit}; echo '{large}' >>\"$3\"; \"$@\"")
    }),
    of_files("limit of open files", |random| format!("ulimit -n {}; \"$@\"", random.random_range(4..24))),
    of_files("limit of file sizes", |random| format!("trap '' XFSZ; ulimit -f {}; \"$@\"", random.random_range(0..3))),
    limit("limit of the stack", |random| format!("ulimit -s {}; \"$@\"", random.random_range(512..4096))),
    limit(MANY_THREADS, |_| "\"$@\"".to_owned()),
    of_files("no permissions", |_| {
        "chmod 0 in.* people.csv; chmod 0500 .; \"$@\"; code=$?; chmod 0700 .; exit $code".to_owned()
    }),
    of_files("folders in place of files", |_| {
        "rm -rf in.* out.*; mkdir -p in.csv in.text out.csv out.mm; \"$@\"".to_owned()
    }),
    of_files("input missing", |_| "rm -rf in.* people.csv; \"$@\"".to_owned()),
    limit("output closed", |_| "\"$@\" >&-".to_owned()),
    limit("output full", |_| "\"$@\" >/dev/full".to_owned()),
    limit("output a broken pipe", |_| "{ \"$@\"; echo $? >status; } | true; exit \"$(cat status)\"".to_owned()),
    unheard("errors closed", |_| "\"$@\" --stats 2>&-".to_owned()),
    unheard("errors full", |_| "\"$@\" --stats --explain plan 2>/dev/full".to_owned()),
    unheard("errors a broken pipe", |_| {
        "{ { \"$@\" --stats; echo $? >status; } 2>&1 >/dev/null | true; }; exit \"$(cat status)\"".to_owned()
    }),
    unheard("all streams closed", |_| "\"$@\" --stats <&- >&- 2>&-".to_owned()),
];

pub(crate) fn names() -> Vec<&'static str> {
    LIMITS.iter().map(|limit| limit.name).collect()
}
