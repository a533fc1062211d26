//! Binary blocks that SystemDS wrote, beside the text that it wrote of the same matrices.

use crate::compare::Value;
use crate::environment::run_python;
use crate::long::is_long;
use crate::peer::{our_answer, session};
use fuseline::Dense;
use std::fs;
use std::path::{Path, PathBuf};

/// Matrices by what their blocks are. SystemDS has blocks of 1000 x 1000, so that each has several.
const MATRICES: &[(&str, &str)] = &[
    ("dense", "rand(rows=1500, cols=1200, seed=7)"),
    ("sparse", "rand(rows=1500, cols=1200, sparsity=0.05, seed=7)"),
    ("ultra_sparse", "rand(rows=3000, cols=2100, sparsity=0.00005, seed=7)"),
    ("empty", "matrix(0, rows=2500, cols=1300)"),
    ("empty_blocks", "rbind(rand(rows=1000, cols=10, seed=7), matrix(0, rows=1500, cols=10))"),
    ("row", "rand(rows=1, cols=2500, seed=7)"),
    ("cell", "matrix(0.1, rows=1, cols=1)"),
];

/// More than Hadoop puts into one part: each cell tells its place, and the text would be long.
const OF_PARTS: &str = "matrix(seq(1, 6600000), rows=3000, cols=2200)";

/// How SystemDS compresses the blocks of a file, and the codec that the file then names.
const ENCODINGS: &[(&str, Option<&str>)] =
    &[("none", None), ("deflate", Some("DeflateCodec")), ("gzip", Some("DefaultCodec"))];

#[test]
fn blocks_are_read_as_systemds_wrote_them() {
    if is_long() {
        ENCODINGS.iter().for_each(|(encoding, codec)| check_encoding(encoding, *codec));
    }
}

fn check_encoding(encoding: &str, codec: Option<&str>) {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let configuration =
        format!("<root><sysds.io.compression.encoding>{encoding}</sysds.io.compression.encoding></root>");
    fs::write(folder.path().join("config.xml"), configuration).expect("the folder is ours");
    for (name, matrix) in MATRICES.iter().chain(&[("parts", OF_PARTS)]) {
        let mut script = format!("X = {matrix}\nwrite(X, $folder + \"/{name}.bin\", format=\"binary\")\n");
        if *matrix != OF_PARTS {
            script += &format!("write(X, $folder + \"/{name}.text\", format=\"csv\")\n");
        }
        fs::write(folder.path().join(format!("{name}.dml")), script).expect("the folder is ours");
    }
    run_python("run_systemds.py", folder.path());
    for (name, _) in MATRICES {
        check(folder.path(), name, &format!("read(\"{}\", format=\"csv\")", path(folder.path(), name, "text")));
    }
    check(folder.path(), "parts", OF_PARTS);
    let names_codec = |name: &str| {
        let text = beginning(&folder.path().join("dense.bin"));
        text.windows(name.len()).any(|part| part == name.as_bytes())
    };
    let found: Vec<&str> = ENCODINGS.iter().filter_map(|(_, codec)| *codec).filter(|name| names_codec(name)).collect();
    assert_eq!(found, Vec::from_iter(codec), "{encoding}");
}

/// The header of a file, or of the first part that a folder lists.
fn beginning(path: &Path) -> Vec<u8> {
    let part = |entry: std::io::Result<fs::DirEntry>| entry.expect("entries are readable").path();
    let is_data = |path: &PathBuf| path.file_name().is_some_and(|name| !name.to_string_lossy().starts_with('.'));
    let file = match fs::read_dir(path) {
        Ok(entries) => entries.map(part).find(is_data).expect("a folder of parts"),
        Err(_) => path.to_owned(),
    };
    let bytes = fs::read(file).expect("the file is readable");
    bytes[..bytes.len().min(300)].to_vec()
}

/// Compares the blocks of a matrix with what they are to be: equal sizes, and no cell that differs.
fn check(folder: &Path, name: &str, expected: &str) {
    let blocks = path(folder, name, "bin");
    let script = format!(
        "A = read(\"{blocks}\", format=\"binary\")\nB = {expected}\n\
         R = cbind(as.matrix(nrow(A) - nrow(B)), as.matrix(ncol(A) - ncol(B)), as.matrix(sum(A != B)))"
    );
    let same = Value::Matrix(Dense::from_vec(1, 3, vec![0.0; 3]));
    assert_eq!(our_answer(&session(), &script), Ok(same), "{name}");
}

fn path(folder: &Path, name: &str, extension: &str) -> String {
    folder.join(format!("{name}.{extension}")).display().to_string()
}
