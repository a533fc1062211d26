//! Files that read back as what was written, files of other programs, and files that are wrong.

mod csv;
mod frames;
mod hadoop;
mod libsvm;
mod limits;
mod matrix_market;
mod metadata;
mod native;
mod numpy;
mod parallel;
mod parts;
mod round_trip;
mod text;

use super::*;
use crate::{Csr, Dense};

/// Reads bytes as a file of this name.
fn read(name: &str, bytes: impl AsRef<[u8]>, metadata: &Metadata) -> Result<MatrixBlock, IoError> {
    read_matrix_from(bytes.as_ref(), Path::new(name), metadata, Limits::default())
}

/// The message for a file that is wrong.
#[track_caller]
fn failure(name: &str, bytes: impl AsRef<[u8]>, metadata: &Metadata) -> String {
    match read(name, bytes, metadata) {
        Ok(block) => panic!("read as {block:?}"),
        Err(error) => error.to_string(),
    }
}

/// Reads files of this name that are right: content and cells, row after row.
#[track_caller]
fn assert_reads(name: &str, metadata: &Metadata, table: &[(&str, &[&[f64]])]) {
    for (content, rows) in table {
        let block = read(name, content, metadata).unwrap_or_else(|error| panic!("{content:?}: {error}"));
        let cols = rows.first().map_or(block.cols(), |row| row.len());
        assert_eq!(block.dims(), (rows.len(), cols), "{content:?}");
        for (i, row) in rows.iter().enumerate() {
            for (j, &cell) in row.iter().enumerate() {
                let actual = block.get(i, j);
                assert!(actual == cell || actual.is_nan() && cell.is_nan(), "{content:?} ({i}, {j}): {actual}");
            }
        }
    }
}

/// Reads files of this name that are wrong: content, place, and a part of the message.
#[track_caller]
fn assert_refuses(name: &str, metadata: &Metadata, table: &[(&str, &str, &str)]) {
    for (content, place, part) in table {
        let message = failure(name, content, metadata);
        assert!(message.starts_with(&format!("{name}:{place}: ")), "{content:?}: {message}");
        assert!(message.contains(part), "{content:?}: {message}");
    }
}

/// Metadata with dimensions.
fn dimensions(rows: u64, cols: u64) -> Metadata {
    Metadata { rows: Some(rows), cols: Some(cols), ..Metadata::default() }
}

fn none() -> Metadata {
    Metadata::default()
}

/// Compressed by gzip.
fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}
