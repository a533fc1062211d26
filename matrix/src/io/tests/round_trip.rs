//! What is written reads back as the same bits.

use super::*;
use fuseline_ir::Value;
use std::fs;

const VALUES: [f64; 12] = [
    1.0,
    -2.5,
    1e300,
    5e-324,
    0.1,
    -0.0,
    f64::INFINITY,
    f64::NEG_INFINITY,
    123_456_789_012_345_680.0,
    f64::MAX,
    -f64::MIN_POSITIVE,
    0.30000000000000004,
];

/// Formats that keep every cell; those that list non-zeros drop the sign of zeros.
const FORMATS: [&str; 6] = ["csv", "text", "mm", "libsvm", "npy", "binary"];

fn in_format(format: &str) -> Metadata {
    Metadata { format: Some(format.to_owned()), ..none() }
}

fn blocks() -> Vec<MatrixBlock> {
    let sparse = Csr::new(3, 5, vec![0, 2, 2, 3], vec![0, 4, 3], vec![0.1, -7.0, 1e-9]).unwrap();
    vec![
        Dense::from_vec(4, 3, VALUES.to_vec()).into(),
        Dense::from_vec(12, 1, VALUES.to_vec()).into(),
        sparse.into(),
        Csr::empty(4, 6).into(),
        MatrixBlock::single(-7.25),
        Dense::zeros(0, 3).into(),
    ]
}

fn assert_same(actual: &MatrixBlock, expected: &MatrixBlock, what: &str) {
    assert_eq!(actual.dims(), expected.dims(), "{what}");
    let keeps_sign = ["csv", "npy", "binary"].iter().any(|format| what.starts_with(format));
    for i in 0..expected.rows() {
        for j in 0..expected.cols() {
            let (actual, expected) = (actual.get(i, j), expected.get(i, j));
            let same = actual.to_bits() == expected.to_bits() || (!keeps_sign && actual == expected);
            assert!(same, "{what} ({i}, {j}): {actual} is not {expected}");
        }
    }
}

#[test]
fn files_read_back_exactly_with_the_metadata_beside_them() {
    let folder = tempfile::tempdir().unwrap();
    for format in FORMATS {
        for (index, block) in blocks().iter().enumerate() {
            for suffix in ["", ".gz"] {
                let path = folder.path().join(format!("{index}.data{suffix}"));
                write_matrix(block, &path, &in_format(format)).unwrap();
                let is_gzip = fs::read(&path).unwrap().starts_with(&[0x1f, 0x8b]);
                assert_eq!(is_gzip, suffix == ".gz");
                let back = read_matrix(&path, &none()).unwrap();
                assert_same(&back, block, &format!("{format} {index}"));
            }
        }
    }
}

#[test]
fn formats_follow_from_names() {
    let block: MatrixBlock = Dense::from_vec(2, 2, vec![1.0, 2.0, 3.0, 4.0]).into();
    let folder = tempfile::tempdir().unwrap();
    let names = [
        ("a.csv", "1,2\n3,4\n"),
        ("a.tsv", "1\t2\n3\t4\n"),
        ("A.CSV", "1,2\n3,4\n"),
        ("a.mtx", "%%MatrixMarket matrix array real general\n2 2\n1\n3\n2\n4\n"),
        ("a.libsvm", "2 1:1\n4 1:3\n"),
        ("a.svm", "2 1:1\n4 1:3\n"),
        ("a.ijv", "1 1 1\n1 2 2\n2 1 3\n2 2 4\n"),
        ("a.txt", "1 1 1\n1 2 2\n2 1 3\n2 2 4\n"),
        ("a", "1 1 1\n1 2 2\n2 1 3\n2 2 4\n"),
    ];
    for (name, content) in names {
        let path = folder.path().join(name);
        write_matrix(&block, &path, &none()).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), content, "{name}");
        fs::remove_file(Metadata::path_beside(&path)).unwrap();
        assert_eq!(read_matrix(&path, &dimensions(2, 2)).unwrap(), block, "{name}");
    }
    let npy = write_matrix_to(&block, Path::new("a.npy"), &none()).unwrap();
    assert_eq!(npy.len(), 128 + 4 * 8);
    assert_eq!(read("b.npy", npy, &none()).unwrap(), block);
}

#[test]
fn sparse_matrices_are_written_as_entries_and_read_as_sparse() {
    let sparse: MatrixBlock = Csr::new(2, 6, vec![0, 1, 2], vec![3, 0], vec![0.5, 2.0]).unwrap().into();
    let written = write_matrix_to(&sparse, Path::new("a.mtx"), &none()).unwrap();
    assert_eq!(
        String::from_utf8(written).unwrap(),
        "%%MatrixMarket matrix coordinate real general\n2 6 2\n1 4 0.5\n2 1 2\n"
    );
    for format in FORMATS {
        let bytes = write_matrix_to(&sparse, Path::new("a"), &in_format(format)).unwrap();
        let described = Metadata { format: Some(format.to_owned()), ..dimensions(2, 6) };
        let back = read("a", bytes, &described).unwrap();
        assert!(back.format().is_sparse() && back == sparse, "{format}");
    }
}

#[test]
fn nan_survives_every_format() {
    let block: MatrixBlock = Dense::from_vec(1, 2, vec![f64::NAN, 1.0]).into();
    for format in FORMATS {
        let bytes = write_matrix_to(&block, Path::new("a"), &in_format(format)).unwrap();
        let back = read("a", bytes, &Metadata { format: Some(format.to_owned()), ..dimensions(1, 2) }).unwrap();
        assert!(back.get(0, 0).is_nan() && back.get(0, 1) == 1.0, "{format}");
    }
}

#[test]
fn scalars_read_back_exactly() {
    let folder = tempfile::tempdir().unwrap();
    let values = [
        Value::F64(0.1),
        Value::F64(1e300),
        Value::F64(f64::INFINITY),
        Value::F64(-0.0),
        Value::I64(i64::MIN),
        Value::Bool(true),
        Value::Str("a b".into()),
        Value::Str(String::new()),
    ];
    for (index, value) in values.into_iter().enumerate() {
        let path = folder.path().join(index.to_string());
        write_scalar(&value, &path, &none()).unwrap();
        assert!(read_scalar(&path, &none()).unwrap().same_bits(&value), "{value}");
    }
}

#[test]
fn what_cannot_be_written_is_refused_before_a_file_appears() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |name: &str, block: MatrixBlock, arguments: &Metadata| {
        let path = folder.path().join(name);
        let message = write_matrix(&block, &path, arguments).unwrap_err().to_string();
        assert!(!path.exists(), "{name}");
        message
    };
    let one = || MatrixBlock::single(1.0);
    assert!(refused("a.npz", one(), &none()).contains("can only be read"));
    assert!(refused("a.svm", Dense::zeros(2, 0).into(), &none()).contains("needs a column"));
    assert!(refused("a.csv", one(), &Metadata { sep: Some("ab".into()), ..none() }).contains("one character"));
    assert!(refused("a.csv", one(), &Metadata { sep: Some("5".into()), ..none() }).contains("cannot separate"));
    assert!(refused("a", one(), &in_format("orc")).contains("the format `orc` is not known"));
    assert!(matches!(write_matrix(&one(), folder.path(), &none()), Err(IoError::Directory { .. })));
}

#[test]
fn missing_files_and_directories_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    assert!(matches!(read_matrix(folder.path(), &none()), Err(IoError::Directory { .. })));
    let missing = read_matrix(&folder.path().join("nothing"), &none());
    assert!(matches!(missing, Err(IoError::System { action: "open", .. })));
}

#[test]
fn every_nan_is_written_with_the_same_bits() {
    let other = f64::from_bits(0xfff8_0000_0000_0123);
    let blocks: [MatrixBlock; 2] = [
        Dense::from_vec(1, 3, vec![other, 2.0, f64::NAN]).into(),
        Csr::new(1, 9, vec![0, 2], vec![3, 8], vec![-f64::NAN, other]).unwrap().into(),
    ];
    for (block, format) in blocks.iter().flat_map(|block| FORMATS.map(|format| (block, format))) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data");
        write_matrix(block, &path, &in_format(format)).unwrap();
        let back = read_matrix(&path, &none()).unwrap();
        let cells: Vec<f64> = (0..block.cols()).map(|j| back.get(0, j)).filter(|cell| cell.is_nan()).collect();
        assert_eq!(cells.len(), 2, "{format}");
        assert!(cells.iter().all(|cell| cell.to_bits() == f64::NAN.to_bits()), "{format}: {cells:?}");
    }
}
