//! What files declare costs no memory, and what is compressed beyond belief is refused.

use super::*;

/// Only what is read counts: each of these declares more than any machine has.
#[test]
fn declared_sizes_cost_no_memory() {
    let banner = "%%MatrixMarket matrix coordinate real general\n";
    for (rows, entries) in [("1000000000000", "0"), ("10000000", "0"), ("1000000000000000000", "0")] {
        let message = failure("a.mtx", format!("{banner}{rows} 1 {entries}\n"), &none());
        let expected = format!(
            "a.mtx: {rows} rows are declared, but the file holds 0 entries; if so, say rows and cols as arguments"
        );
        assert_eq!(message, expected);
    }
    let message = failure("a.ijv", "1 1 1\n", &dimensions(1 << 40, 2));
    assert!(message.contains("1099511627776 rows are declared, but the file holds 1 entries"), "{message}");
}

/// Rows that the content, or the floor, accounts for are fine.
#[test]
fn tall_sparse_matrices_are_read() {
    let block = read("a.mtx", "%%MatrixMarket matrix coordinate real general\n8000000 3 1\n8000000 1 5\n", &none());
    let block = block.unwrap();
    assert_eq!((block.dims(), block.nnz()), ((8_000_000, 3), 1));
    let limits = Limits { floor: 0 };
    let content = "1 1 1\n2 2 2\n3 3 3\n";
    let read = |rows| read_matrix_from(content.as_bytes(), Path::new("a.ijv"), &dimensions(rows, 3), limits);
    assert!(read(30).is_ok());
    assert!(read(40).is_err());
}

#[test]
fn callers_who_vouch_for_dimensions_lift_the_limits() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.ijv");
    std::fs::write(&path, "1 1 5\n").unwrap();
    std::fs::write(Metadata::path_beside(&path), "{\"rows\": 10000000, \"cols\": 2}").unwrap();
    assert!(read_matrix(&path, &none()).unwrap_err().to_string().contains("10000000 rows are declared"));
    assert_eq!(read_matrix(&path, &dimensions(10_000_000, 2)).unwrap().dims(), (10_000_000, 2));
    // What cannot be had is refused all the same.
    let message = read_matrix(&path, &dimensions(u64::MAX / 16, 2)).unwrap_err().to_string();
    assert!(message.contains("8.0 EiB, which the system refuses"), "{message}");
}

#[test]
fn text_that_inflates_beyond_belief_is_refused() {
    let zeros = "0\n".repeat(1 << 20);
    let bytes = gzip(zeros.as_bytes());
    assert!(bytes.len() * 200 < zeros.len());
    let strict = Limits { floor: 1 << 18 };
    let error = read_matrix_from(&bytes, Path::new("a.csv.gz"), &none(), strict).unwrap_err();
    assert!(error.to_string().contains("it inflates beyond belief"), "{error}");
    assert_eq!(read("a.csv.gz", &bytes, &none()).unwrap().rows(), 1 << 20);
}
