//! Directories of part files.

use super::*;
use std::fs;

/// A directory `x.csv` of these files.
fn directory(files: &[(&str, &[u8])]) -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.csv");
    fs::create_dir(&path).unwrap();
    files.iter().for_each(|(name, content)| fs::write(path.join(name), content).unwrap());
    (folder, path)
}

#[test]
fn parts_are_read_in_the_order_of_their_names() {
    let files: [(&str, &[u8]); 6] = [
        ("part-00001", b"5,6"),
        ("part-00000", b"1,2\n3,4\n"),
        ("part-00003", b"7,8\n"),
        ("part-00002", b""),
        ("_SUCCESS", b""),
        (".part-00000.crc", b"crc\0"),
    ];
    let (_folder, path) = directory(&files);
    let expected: MatrixBlock = Dense::from_fn(4, 2, |i, j| (2 * i + j + 1) as f64).into();
    assert_eq!(read_matrix(&path, &none()).unwrap(), expected);
    fs::write(Metadata::path_beside(&path), "{\"format\": \"text\", \"rows\": 5, \"cols\": 9}").unwrap();
    for (name, content) in [("part-00000", "1 1 1\n"), ("part-00001", "5 9 3\n"), ("part-00003", "2 2 2")] {
        fs::write(path.join(name), content).unwrap();
    }
    let block = read_matrix(&path, &none()).unwrap();
    assert_eq!((block.dims(), block.nnz(), block.get(4, 8)), ((5, 9), 3, 3.0));
}

#[test]
fn the_first_part_may_name_the_columns() {
    let (_folder, path) = directory(&[("a", b"x,y\n1,2"), ("b", b"3,4")]);
    let block = read_matrix(&path, &Metadata { header: Some(true), ..none() }).unwrap();
    assert_eq!(block, Dense::from_vec(2, 2, vec![1.0, 2.0, 3.0, 4.0]).into());
}

#[test]
fn compressed_parts_are_read_too() {
    let (_folder, path) = directory(&[("a.gz", &gzip(b"1,2\n")), ("b.gz", &gzip(b"3,4\n"))]);
    assert_eq!(read_matrix(&path, &none()).unwrap().get(1, 0), 3.0);
}

/// Lines are counted through all parts.
#[test]
fn errors_name_the_directory() {
    let (folder, path) = directory(&[("a", b"1,2\n3,4"), ("b", b"5,6\n7,x\n")]);
    let message = read_matrix(&path, &none()).unwrap_err().to_string();
    let message = message.replace(&format!("{}/", folder.path().display()), "");
    assert_eq!(message, "x.csv:4:3: column 2: `x` is not a number");
}

#[test]
fn other_formats_and_empty_directories_are_refused() {
    let (_folder, path) = directory(&[("a", b"1\n")]);
    for format in ["binary", "npy", "npz", "mm"] {
        let error = read_matrix(&path, &Metadata { format: Some(format.into()), ..none() }).unwrap_err();
        assert!(matches!(error, IoError::Directory { .. }), "{error}");
    }
    let (_folder, path) = directory(&[("_SUCCESS", b"")]);
    assert!(matches!(read_matrix(&path, &none()), Err(IoError::Directory { .. })));
}
