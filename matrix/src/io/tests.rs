//! Files that read back as what was written, and files that are wrong.

use super::*;
use crate::{Csr, Dense};
use std::fs;

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

const VALUES: [f64; 8] = [1.0, -2.5, 1e300, 5e-324, 0.1, 0.0, f64::INFINITY, 123_456_789_012_345_680.0];

#[test]
fn matrices_read_back_exactly_in_both_formats() {
    let folder = folder();
    let dense: MatrixBlock = Dense::from_vec(4, 2, VALUES.to_vec()).into();
    let sparse: MatrixBlock = Csr::new(3, 5, vec![0, 2, 2, 3], vec![0, 4, 3], vec![0.1, -7.0, 1e-9]).unwrap().into();
    for (name, block) in [("dense", &dense), ("sparse", &sparse)] {
        for format in ["csv", "text"] {
            let path = folder.path().join(format!("{name}.{format}"));
            let arguments = Metadata { format: Some(format.to_owned()), ..Metadata::default() };
            write_matrix(block, &path, &arguments).unwrap();
            let back = read_matrix(&path, &Metadata::default()).unwrap();
            assert_eq!(&back, block, "{name} {format}");
        }
    }
}

#[test]
fn nan_survives_both_formats() {
    let folder = folder();
    let block: MatrixBlock = Dense::from_vec(1, 2, vec![f64::NAN, 1.0]).into();
    for format in ["csv", "text"] {
        let path = folder.path().join(format);
        write_matrix(&block, &path, &Metadata { format: Some(format.to_owned()), ..Metadata::default() }).unwrap();
        let back = read_matrix(&path, &Metadata::default()).unwrap();
        assert!(back.get(0, 0).is_nan() && back.get(0, 1) == 1.0);
    }
}

#[test]
fn scalars_read_back_exactly() {
    let folder = folder();
    let values = [Value::F64(0.1), Value::F64(1e300), Value::I64(-7), Value::Bool(true), Value::Str("a b".into())];
    for (index, value) in values.into_iter().enumerate() {
        let path = folder.path().join(index.to_string());
        write_scalar(&value, &path).unwrap();
        assert_eq!(read_scalar(&path, &Metadata::default()).unwrap(), value);
    }
}

#[test]
fn a_header_and_another_separator_are_read_as_declared() {
    let folder = folder();
    let path = folder.path().join("data.csv");
    fs::write(&path, "a;b\n1;2\n3;4\n").unwrap();
    let arguments = Metadata { header: Some(true), sep: Some(";".into()), ..Metadata::default() };
    let block = read_matrix(&path, &arguments).unwrap();
    assert_eq!(block, Dense::from_vec(2, 2, vec![1.0, 2.0, 3.0, 4.0]).into());
}

/// Reads a file of this content and returns the message without the folder.
fn failure(content: &str, arguments: &Metadata) -> String {
    let folder = folder();
    let path = folder.path().join("data.csv");
    fs::write(&path, content).unwrap();
    let error = read_matrix(&path, arguments).unwrap_err();
    error.to_string().replace(&format!("{}/", folder.path().display()), "")
}

#[test]
fn wrong_files_say_where_and_why() {
    let none = Metadata::default();
    let text = |rows, cols| Metadata {
        format: Some("text".into()),
        rows: Some(rows),
        cols: Some(cols),
        ..Metadata::default()
    };
    assert_eq!(failure("1,2\n3\n", &none), "data.csv:2: the row has 1 cells, those before have 2");
    assert_eq!(
        failure("a,b\n1,2\n", &none),
        "data.csv:1: column 1: `a` is not a number (if the first line names the columns, say header=TRUE)"
    );
    assert_eq!(failure("1,2\n3,x\n", &none), "data.csv:2: column 2: `x` is not a number");
    assert_eq!(failure("1,\n", &none), "data.csv:1: column 2: the cell is empty (say fill=TRUE to allow that)");
    assert_eq!(
        failure("1,2\n", &Metadata { rows: Some(2), ..Metadata::default() }),
        "data.csv: the file holds a 1 x 2 matrix, but 2 x ? was declared"
    );
    assert_eq!(failure("1 2\n", &text(2, 2)), "data.csv:1: `1 2` is not `row column value`");
    assert_eq!(failure("1 1 1\n3 1 5\n", &text(2, 2)), "data.csv:2: the cell (3, 1) lies outside of a 2 x 2 matrix");
    assert_eq!(failure("1 1 1\n1 1 5\n", &text(2, 2)), "data.csv: the cell (1, 1) occurs twice");
    assert!(failure("1 1 1\n", &text(u64::MAX / 16, 2)).contains("does not fit into memory"));
    assert_eq!(
        failure("", &Metadata { format: Some("arff".into()), ..Metadata::default() }),
        "data.csv: the format `arff` is not known; csv and text are"
    );
}

#[test]
fn missing_files_and_directories_are_told_apart() {
    let folder = folder();
    assert!(matches!(read_matrix(folder.path(), &Metadata::default()), Err(IoError::Directory { .. })));
    let missing = read_matrix(&folder.path().join("nothing"), &Metadata::default());
    assert!(matches!(missing, Err(IoError::System { action: "open", .. })));
}
