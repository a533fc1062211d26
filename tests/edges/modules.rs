//! The modules of a folder have one order, and each uses those before it alone.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

/// Modules of a folder.
struct Order {
    /// From the root of the repository.
    folder: &'static str,
    /// The path of its module within the crate: empty for the crate itself.
    path: &'static str,
    /// What is used before who uses it.
    modules: &'static str,
}

/// Modules that only tests have: they use what they like.
const TESTS: &[&str] = &["tests", "testing", "brute_force"];

/// All orders. Crates that are not here have none yet.
const ORDERS: &[Order] = &[
    Order { folder: "ops/src", path: "", modules: "math aggregate lowering table known windows" },
    Order {
        folder: "ir/src",
        path: "",
        modules: "types template verifier work schedule size text hop builtins cell_function cplan memo program",
    },
    Order {
        folder: "ir/src/cplan",
        path: "cplan",
        modules: "shapes positions variant output buffers hash text verify",
    },
    Order {
        folder: "matrix/src",
        path: "",
        modules: "affinity error borrowed budget refusal run_context growing memory buffer shared nan dense nonzero_bits sparse_row pattern csr columns stored_rows layout narrow block \
                  suited collected strips transpose frame io",
    },
    Order {
        folder: "matrix/src/io",
        path: "io",
        modules: "error format stream temporary output opened parts source metadata binary lines number csv entries frame \
                  sequence_file hadoop libsvm text matrix_market npy_header npy npz scalar",
    },
    Order {
        folder: "matrix/src/io/binary",
        path: "io::binary",
        modules: "description header version_1 version_2 read write",
    },
    Order {
        folder: "vecprims/src",
        path: "",
        modules: "tile panels kernel vector family body isa table primitive safe",
    },
    Order {
        folder: "kernels/src",
        path: "",
        modules: "blocks sums sort gemm multiply_add product variance aggregate convolution random generate elementwise cumulative \
                  diagonal fourier fused linear_algebra select reorganise row_index statistics table triangle",
    },
    Order {
        folder: "skeletons/src",
        path: "",
        modules: "error roles abi visited layout short_row dense_row places source side fit known backend combined built work zeros transpose \
                  binding access profile by_row sparse_unit sampled operator output cumulative accumulate factors aggregate write suited \
                  nonzeros cell magg outer row_output row",
    },
    Order {
        folder: "passes/src",
        path: "",
        modules: "union_find hops fold blocks machine memory sketch zeros facts cover template walk explore partition cost \
                  select construct replace pipeline size rewrite liveness program fused explain joint",
    },
    Order {
        folder: "passes/src/cost",
        path: "cost",
        modules: "product work vectors schedule outer sparse_rows sweeps vector constraints prediction",
    },
    Order { folder: "passes/src/construct", path: "construct", modules: "builder canonical cells optimize rows" },
    Order {
        folder: "passes/src/rewrite",
        path: "rewrite",
        modules: "operator dag cost classes exchange extract alternatives egraph report chains rules guards compile means \
                  saturate forms summary",
    },
    Order {
        folder: "passes/src/select/exact",
        path: "select::exact",
        modules: "components group_set branch group growth operators factor read_index problem merged arranger elimination",
    },
    Order { folder: "interp/src", path: "", modules: "oracle tile" },
    Order {
        folder: "interp/src/oracle",
        path: "oracle",
        modules: "double_double taint cell rules aggregate value chain evaluate functions image numeric reorganise",
    },
    Order { folder: "interp/src/tile", path: "tile", modules: "value element frame output kernel" },
    Order {
        folder: "llvm-backend/src",
        path: "",
        modules: "random target schedule emit compiler jit threads machinery kernel",
    },
    Order { folder: "llvm-backend/src/schedule", path: "schedule", modules: "extent narrow packs slots phases" },
    Order {
        folder: "llvm-backend/src/emit",
        path: "emit",
        modules: "unit memory registers loops ahead conditions reduce blocks calls call_table column elementwise fused \
                  narrow outputs",
    },
    Order {
        folder: "runtime/src",
        path: "",
        modules: "threads plan_cache code_folder scalars value transform map tokenize format error environment progress engine compiled_dag \
                  statistics memory sketches kept_dag kept_plans scalar_block block_cache compiler files operators dag_executor evaluation \
                  place program_executor",
    },
    Order {
        folder: "lang/src",
        path: "",
        modules: "argument diagnostic ast files library second_names walk ignored_names token suggest parser load lower \
                  messages",
    },
    Order {
        folder: "src/bin/fuseline",
        path: "",
        modules: "standard_error cache machine size arguments calibrate interrupt run check convert explain generate opt systemds",
    },
];

#[test]
fn modules_use_those_before_them() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let problems: Vec<String> = ORDERS.iter().flat_map(|order| order.problems(root)).map(|it| it.to_string()).collect();
    assert!(
        problems.is_empty(),
        "the orders of modules in tests/edges/modules.rs do not hold:\n{}",
        problems.join("\n")
    );
}

#[test]
fn uses_are_found_however_they_are_written() {
    let text = "use crate::a;\nuse crate::{b::B, c::{self, D}, Item};\nfn f() { crate::d::g(super::super::h::X) }\n\
                // crate::e\n#[cfg(test)]\nmod tests { use crate::f; }";
    assert_eq!(used(text, "", 2), names(&["a", "b", "c", "d", "h", "Item"]));
    assert_eq!(used("use super::{x::Y, z};\nuse super::super::w;", "folder", 1), names(&["x", "z"]));
    assert_eq!(used("crate::folder::x::f(); mycrate::folder::y; crate::other::z", "folder", 1), names(&["x"]));
}

fn names(names: &[&str]) -> BTreeSet<String> {
    names.iter().copied().map(str::to_owned).collect()
}

/// What is wrong with an order.
enum Problem {
    /// Modules of the folder, and those of the order, are not the same.
    Modules { folder: &'static str, differing: Vec<String> },
    /// A module uses one that does not come before it.
    Use { folder: &'static str, user: String, used: String },
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Modules { folder, differing } => {
                write!(f, "{folder}: {} in the folder or in the order alone", differing.join(", "))
            }
            Problem::Use { folder, user, used } => write!(f, "{folder}: {user} uses {used}, which comes after it"),
        }
    }
}

impl Order {
    fn problems(&self, root: &Path) -> Vec<Problem> {
        let folder = self.folder;
        let ordered: Vec<&str> = self.modules.split_whitespace().collect();
        let actual = modules(&root.join(folder));
        let differing: Vec<String> = actual.symmetric_difference(&names(&ordered)).cloned().collect();
        if !differing.is_empty() {
            return vec![Problem::Modules { folder, differing }];
        }
        let mut problems = Vec::new();
        for (position, &user) in ordered.iter().enumerate() {
            let used = self.used_by(root, user);
            let late = ordered[position + 1..].iter().filter(|&&module| used.contains(module));
            problems.extend(late.map(|&used| Problem::Use { folder, user: user.to_owned(), used: used.to_owned() }));
        }
        problems
    }

    /// The names behind the folder's own path that a module mentions.
    fn used_by(&self, root: &Path, module: &str) -> BTreeSet<String> {
        let folder = root.join(self.folder);
        let mut files = vec![folder.join(format!("{module}.rs"))];
        collect(&folder.join(module), &mut files);
        let mut all = BTreeSet::new();
        for file in files.iter().filter(|file| file.exists()) {
            let depth = depth(file.strip_prefix(&folder).expect("files are in their folder"));
            all.extend(used(&fs::read_to_string(file).expect("sources are readable"), self.path, depth));
        }
        all
    }
}

/// How many modules a file is below a folder: 1 for `a.rs` and `a/mod.rs`, 2 for `a/b.rs`.
fn depth(file: &Path) -> usize {
    let parts = file.components().count();
    if file.ends_with("mod.rs") { parts - 1 } else { parts }
}

/// The modules of a folder but its tests.
fn modules(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let paths = entries.map(|entry| entry.expect("entries are readable").path());
    let stems = paths.filter_map(|path| path.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
    stems.filter(|stem| !["lib", "main", "mod"].contains(&stem.as_str()) && !TESTS.contains(&stem.as_str())).collect()
}

/// The sources below a folder but its tests.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for path in entries.map(|entry| entry.expect("entries are readable").path()) {
        let is_tests = path.file_stem().is_some_and(|stem| TESTS.iter().any(|name| stem == *name));
        if path.is_dir() && !is_tests {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") && !is_tests {
            files.push(path);
        }
    }
}

/// The names that follow `crate::path::`, or as many `super::` as the file is deep. Comments and tests do not count.
fn used(text: &str, path: &str, depth: usize) -> BTreeSet<String> {
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let code: String =
        code.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n");
    let absolute = if path.is_empty() { "crate::".to_owned() } else { format!("crate::{path}::") };
    let mut found = BTreeSet::new();
    for prefix in [absolute, "super::".repeat(depth)] {
        for (start, _) in code.match_indices(&prefix) {
            let continues =
                code[..start].ends_with(|before: char| before == ':' || before == '_' || before.is_alphanumeric());
            if !continues {
                found.extend(first_names(&code[start + prefix.len()..]));
            }
        }
    }
    found.remove("super");
    found
}

/// The name that a path begins with, or those of the paths in braces.
fn first_names(rest: &str) -> Vec<String> {
    let name = |text: &str| text.chars().take_while(|it| it.is_alphanumeric() || *it == '_').collect::<String>();
    let Some(group) = rest.strip_prefix('{') else { return vec![name(rest)] };
    let (mut level, mut names, mut begins) = (0_usize, Vec::new(), true);
    for (index, character) in group.char_indices() {
        match character {
            '{' => level += 1,
            '}' if level == 0 => break,
            '}' => level -= 1,
            ',' if level == 0 => begins = true,
            _ if begins && !character.is_whitespace() => {
                names.push(name(&group[index..]));
                begins = false;
            }
            _ => {}
        }
    }
    names
}
