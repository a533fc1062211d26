//! Binary blocks of SystemDS. The files in `blocks/` were written by SystemDS 3.4.0 with blocks of 4 x 4 cells; they
//! have blocks of every kind, and one of them is compressed.

use super::*;
use std::fs;

const PLAIN: &[u8] = include_bytes!("blocks/plain.bin");
const DEFLATE: &[u8] = include_bytes!("blocks/deflate.bin");
const COLUMN: &[u8] = include_bytes!("blocks/column.bin");

/// Bytes before the first record of `PLAIN`.
const HEADER: usize = 126;

/// Where the records of `PLAIN` begin.
fn records() -> Vec<usize> {
    let mut starts = vec![HEADER];
    while let Some(length) = PLAIN.get(starts[starts.len() - 1]..).and_then(|rest| rest.first_chunk()) {
        starts.push(starts[starts.len() - 1] + 8 + u32::from_be_bytes(*length) as usize);
    }
    starts
}

fn described(rows: u64, cols: u64) -> Metadata {
    Metadata { rows_in_block: Some(4), cols_in_block: Some(4), ..dimensions(rows, cols) }
}

/// The matrix of `PLAIN` and `DEFLATE`.
fn expected() -> MatrixBlock {
    let mut cells = Dense::from_fn(6, 9, |i, j| if i < 4 && j < 4 { (10 * i + j + 11) as f64 } else { 0.0 });
    let others = [(0, 4, 0.5), (0, 6, -1.5), (1, 5, 1e300), (2, 7, 2.0), (3, 7, 3.0), (1, 8, -7.0), (5, 1, f64::NAN)];
    for (i, j, value) in others {
        cells.values_mut()[i * 9 + j] = value;
    }
    cells.into()
}

#[track_caller]
fn assert_same(actual: &MatrixBlock, expected: &MatrixBlock) {
    let bits = |block: &MatrixBlock| block.to_dense().values().iter().map(|cell| cell.to_bits()).collect::<Vec<_>>();
    assert_eq!((actual.dims(), bits(actual)), (expected.dims(), bits(expected)));
}

#[test]
fn blocks_of_every_kind_are_read() {
    for bytes in [PLAIN, DEFLATE] {
        let block = read("x.bin", bytes, &described(6, 9)).unwrap();
        assert_same(&block, &expected());
        assert!(!block.format().is_sparse());
    }
    let column = read("x.bin", COLUMN, &described(9, 1)).unwrap();
    assert_eq!((column.nnz(), column.get(2, 0)), (1, 2.5));
}

/// A dense matrix may consist of sparse blocks, and a sparse matrix of dense blocks.
#[test]
fn the_density_of_the_whole_matrix_decides_how_it_is_kept() {
    let first = &PLAIN[..records()[1]];
    let sparse = read("x.bin", first, &described(40, 40)).unwrap();
    assert_eq!((sparse.format().is_sparse(), sparse.nnz(), sparse.get(3, 3)), (true, 16, 44.0));
    let dense = read("x.bin", first, &described(4, 4)).unwrap();
    assert_eq!((dense.format().is_sparse(), dense.get(3, 3)), (false, 44.0));
}

#[test]
fn blocks_come_in_any_order_in_the_files_of_a_directory() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.bin");
    fs::create_dir(&path).unwrap();
    let records = records();
    let part =
        |range: std::ops::Range<usize>| [&PLAIN[..HEADER], &PLAIN[records[range.start]..records[range.end]]].concat();
    fs::write(path.join("0-m-00000"), b"").unwrap();
    fs::write(path.join("0-m-00001"), part(3..6)).unwrap();
    fs::write(path.join("0-m-00002"), part(0..3)).unwrap();
    fs::write(path.join(".0-m-00002.crc"), b"crc\0").unwrap();
    fs::write(path.join("_SUCCESS"), b"").unwrap();
    let metadata = r#"{"data_type": "matrix", "value_type": "double", "rows": 6, "cols": 9, "rows_in_block": 4,
        "cols_in_block": 4, "nnz": 23, "format": "binary", "author": "a", "created": "2026-11-24 02:13:02 UTC"}"#;
    fs::write(Metadata::path_beside(&path), metadata).unwrap();
    assert_same(&read_matrix(&path, &none()).unwrap(), &expected());
}

#[test]
fn markers_may_stand_between_records() {
    let second = records()[1];
    let marked = [&PLAIN[..second], &[0xff; 4], &PLAIN[HEADER - 16..HEADER], &PLAIN[second..]].concat();
    assert_same(&read("x.bin", &marked, &described(6, 9)).unwrap(), &expected());
    let mut wrong = marked;
    wrong[second + 4] ^= 1;
    let message = failure("x.bin", &wrong, &described(6, 9));
    assert_eq!(message, format!("x.bin: byte {second}: the marker between records is not that of the header"));
}

/// Without a format, whatever the name of the file is.
#[test]
fn blocks_are_recognised_by_their_content() {
    for name in ["x", "x.bin", "x.csv"] {
        assert_same(&read(name, PLAIN, &described(6, 9)).unwrap(), &expected());
    }
    let text = Metadata { format: Some("text".to_owned()), ..described(6, 9) };
    assert!(failure("x", PLAIN, &text).starts_with("x:1:1: "));
    // A text that begins like the name of the format is one.
    let named = Metadata { header: Some(true), ..none() };
    assert_eq!(read("x.csv", "SEQ,X\n1,2\n", &named).unwrap().dims(), (1, 2));
}

/// The last blocks tell rows and columns that are not declared.
#[test]
fn blocks_tell_the_dimensions() {
    let sides = Metadata { rows_in_block: Some(4), cols_in_block: Some(4), ..none() };
    for declared in [sides.clone(), Metadata { rows: Some(6), ..sides.clone() }] {
        assert_same(&read("x", PLAIN, &declared).unwrap(), &expected());
    }
    let records = records();
    let first = read("x", &PLAIN[..records[1]], &none()).unwrap();
    assert_eq!((first.dims(), first.get(3, 3)), ((4, 4), 44.0));
    let empty = failure("x", &PLAIN[..HEADER], &none());
    assert_eq!(empty, "x: no block tells rows and cols: say them as arguments, or in a .mtd file beside the data");
    let other_sides = failure("x", PLAIN, &none());
    assert!(other_sides.contains("4 cells, blocks before the last have 1000 x 1000; if not so, say"), "{other_sides}");
    let tall = Metadata { rows_in_block: Some(3), ..sides.clone() };
    assert!(failure("x", PLAIN, &tall).contains("a block of 4 x 4 cells stands where one of 3 x 4 must"));
    // Positions are not trusted for memory.
    let mut far = PLAIN[..records[1]].to_vec();
    far[HEADER + 8..HEADER + 16].copy_from_slice(&(1_u64 << 40).to_be_bytes());
    assert!(failure("x", &far, &sides).contains("rows are declared, but the file holds 16 entries"));
    far[HEADER + 8..HEADER + 16].copy_from_slice(&u64::MAX.to_be_bytes());
    assert!(failure("x", &far, &sides).contains("a ? x ? matrix in blocks of 4 x 4 has no such block"));
}

#[test]
fn what_is_wrong_is_told() {
    let tall = failure("x.bin", PLAIN, &described(7, 9));
    assert!(tall.contains("a block of 2 x 4 cells stands where one of 3 x 4 must"), "{tall}");
    let small = failure("x.bin", PLAIN, &described(4, 9));
    assert!(small.contains("a 4 x 9 matrix in blocks of 4 x 4 has no such block"), "{small}");
    let sides = failure("x.bin", PLAIN, &dimensions(6, 9));
    assert!(sides.contains("a block of 4 x 4 cells stands where one of 6 x 9 must"), "{sides}");
    let records = records();
    let twice = [PLAIN, &PLAIN[records[4]..records[5]]].concat();
    assert_eq!(failure("x.bin", twice, &described(6, 9)), "x.bin: the block (2, 2) occurs twice");
    let few = Metadata { nnz: Some(22), ..described(6, 9) };
    assert!(failure("x.bin", PLAIN, &few).contains("23 non-zeros, but 22 were declared"));
    let mut codec = DEFLATE.to_vec();
    codec[HEADER + 10] ^= 1;
    let message = failure("x.bin", codec, &described(6, 9));
    assert!(message.contains("is not supported, DefaultCodec is"), "{message}");
    let mut by_block = PLAIN.to_vec();
    by_block[0x69] = 1;
    let message = failure("x.bin", by_block, &described(6, 9));
    assert!(message.contains("records are compressed by blocks"), "{message}");
    let mut frame = PLAIN.to_vec();
    frame[0x5e..0x64].copy_from_slice(b"Framex");
    let message = failure("x.bin", frame, &described(6, 9));
    assert!(message.contains("not blocks of a matrix"), "{message}");
}

/// A cut file is a shorter list of blocks, or an error; nothing panics.
#[test]
fn every_cut_and_every_changed_byte_is_read_or_refused() {
    for bytes in [PLAIN, DEFLATE, COLUMN] {
        let metadata = if bytes == COLUMN { described(9, 1) } else { described(6, 9) };
        let sides = Metadata { rows: None, cols: None, ..metadata.clone() };
        let records = if bytes == PLAIN { records() } else { vec![] };
        for end in 3..bytes.len() {
            let result = read("x.bin", &bytes[..end], &metadata);
            if bytes == PLAIN {
                assert_eq!(result.is_ok(), records.contains(&end), "{end}");
            }
        }
        for at in 3..bytes.len() {
            for change in [1, 0x80, 0xff] {
                let mut bytes = bytes.to_vec();
                bytes[at] ^= change;
                for metadata in [&metadata, &sides] {
                    if let Err(error) = read("x.bin", &bytes, metadata) {
                        assert!(error.to_string().contains("x.bin"), "{error}");
                    }
                }
            }
        }
    }
}
