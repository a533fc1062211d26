//! One function per fuzz target: what a target does with its bytes.
//!
//! Each panics if the bytes show a bug, and returns otherwise. The main workspace's tests replay the corpus through the
//! same functions.

use fuseline_ir::{cplan, hop};
use fuseline_lang::ParseOptions;
use fuseline_matrix::MatrixBlock;
use fuseline_matrix::io::{IoError, Limits, Metadata, read_matrix_from, write_matrix_to};
use std::path::Path;

/// What a target does with an input.
pub type Entry = fn(&[u8]);

/// Every target by its name.
pub const TARGETS: &[(&str, Entry)] = &[
    ("matrix_market", matrix_market),
    ("csv", csv),
    ("text", text),
    ("npy", npy),
    ("npz", npz),
    ("libsvm", libsvm),
    ("binary", binary),
    ("blocks", blocks),
    ("mtd", mtd),
    ("dml", dml),
    ("hop", hop),
    ("cplan", cplan),
];

/// A small floor keeps runs fast; what it guards is the same.
const LIMITS: Limits = Limits { floor: 1 << 20 };

/// Cells up to which a matrix is compared as a whole.
const COMPARED: usize = 1 << 16;

/// Reads a file. What is read also writes and reads back as the same bits; what is not has an error that names the
/// file.
fn read(name: &str, bytes: &[u8], arguments: &Metadata) {
    match read_matrix_from(bytes, Path::new(name), arguments, LIMITS) {
        Ok(block) => check_round_trip(name, &block),
        Err(error) => check_message(name, &error),
    }
}

fn check_message(name: &str, error: &IoError) {
    let message = error.to_string();
    assert!(message.contains(name), "no file in: {message}");
    assert!(message.len() < 1000, "too long: {message}");
    assert!(!message.contains(char::is_control), "not one line: {message:?}");
}

fn check_round_trip(name: &str, block: &MatrixBlock) {
    let (rows, cols) = block.dims();
    if rows.saturating_mul(cols) > COMPARED || rows > COMPARED {
        return;
    }
    // Archives can only be read.
    let name = Path::new(if name.ends_with(".npz") { "fuzz.npy" } else { name });
    let arguments = Metadata { rows: Some(rows as u64), cols: Some(cols as u64), ..Metadata::default() };
    let bytes = match write_matrix_to(block, name, &arguments) {
        Ok(bytes) => bytes,
        Err(error) => panic!("cannot write {rows} x {cols}: {error}"),
    };
    let again = read_matrix_from(&bytes, name, &arguments, LIMITS)
        .unwrap_or_else(|error| panic!("{error}\n{}", String::from_utf8_lossy(&bytes)));
    assert_eq!(bits(block), bits(&again), "{}", String::from_utf8_lossy(&bytes));
}

/// Dimensions and cells. All NaNs are one value, and formats that list non-zeros do not tell zeros apart.
fn bits(block: &MatrixBlock) -> (usize, usize, bool, Vec<u64>) {
    let dense = block.to_dense();
    let normal = |&cell: &f64| if cell.is_nan() { f64::NAN.to_bits() } else { (cell + 0.0).to_bits() };
    (block.rows(), block.cols(), block.format().is_sparse(), dense.values().iter().map(normal).collect())
}

/// A MatrixMarket file.
pub fn matrix_market(bytes: &[u8]) {
    read("fuzz.mtx", bytes, &Metadata::default());
}

/// A CSV file; the first byte chooses its options.
pub fn csv(bytes: &[u8]) {
    let Some((&options, bytes)) = bytes.split_first() else { return };
    let chosen = |bit: u8| options >> bit & 1 == 1;
    let arguments = Metadata {
        header: chosen(0).then_some(true),
        fill: chosen(1).then_some(true),
        default: chosen(2).then_some(-1.5),
        sep: chosen(3).then(|| if chosen(4) { ";" } else { " " }.to_owned()),
        na_strings: chosen(5).then(|| "NA·?".to_owned()),
        cols: chosen(6).then_some(3),
        rows: chosen(7).then_some(2),
        ..Metadata::default()
    };
    read("fuzz.csv", bytes, &arguments);
}

/// A file of `row column value`; the first two bytes are the dimensions.
pub fn text(bytes: &[u8]) {
    let [rows, cols, bytes @ ..] = bytes else { return };
    let arguments = Metadata { rows: Some(u64::from(*rows)), cols: Some(u64::from(*cols)), ..Metadata::default() };
    read("fuzz.ijv", bytes, &arguments);
}

/// A NumPy array.
pub fn npy(bytes: &[u8]) {
    read("fuzz.npy", bytes, &Metadata::default());
}

/// A NumPy archive.
pub fn npz(bytes: &[u8]) {
    read("fuzz.npz", bytes, &Metadata::default());
}

/// A libsvm file.
pub fn libsvm(bytes: &[u8]) {
    read("fuzz.libsvm", bytes, &Metadata::default());
}

/// A file of Fuseline's binary format. Most inputs would fail at the checksum of the header: an input that begins with
/// a zero byte is a description of the header instead, with the content behind it: of the first version, and of the second,
/// whose values have the type that the layout's upper bits say.
pub fn binary(bytes: &[u8]) {
    match bytes {
        [0, layout, rows, cols, nnz, content @ ..] => {
            let description = [*layout, *rows, *cols, *nnz];
            read("fuzz.bin", &first_binary(description, content), &Metadata::default());
            read("fuzz.bin", &described_binary(description, content), &Metadata::default());
        }
        _ => read("fuzz.bin", bytes, &Metadata::default()),
    }
}

/// Binary blocks of SystemDS; the first three bytes are the dimensions and the side of blocks.
pub fn blocks(bytes: &[u8]) {
    let [rows, cols, side, bytes @ ..] = bytes else { return };
    let number = |byte: &u8| Some(u64::from(*byte));
    let [rows, cols, side] = [rows, cols, side].map(number);
    let arguments = Metadata { rows, cols, rows_in_block: side, cols_in_block: side, ..Metadata::default() };
    read("fuzz.bin", bytes, &arguments);
}

/// A file of one strip with the header and the table of a small matrix, right checksums, and this content.
fn described_binary([layout, rows, cols, nnz]: [u8; 4], content: &[u8]) -> Vec<u8> {
    let values = layout >> 1 & 3;
    let value_bytes = [8, 4, 4, 1][usize::from(values)];
    let [rows, cols, nnz] = [rows, cols, nnz].map(u64::from);
    // Kind, type, and bytes of each section.
    let csr = [(2, 6, 8 * (rows + 1)), (3, 5, 4 * nnz), (1, values + 1, value_bytes * nnz)];
    let dense = [(1, values + 1, value_bytes * rows * cols)];
    let sections: &[(u8, u8, u64)] = if layout & 1 == 1 { &csr } else { &dense };
    let (mut table, mut end) = (Vec::new(), 128_u64);
    for (kind, element, bytes) in if rows == 0 { &[] } else { sections } {
        let offset = if layout & 1 == 1 { end.next_multiple_of(64) } else { end };
        end = offset + bytes;
        table.extend([*kind, 0, *element, 0, 0, 0, 0, 0]);
        [0, offset, *bytes].iter().for_each(|number| table.extend(number.to_le_bytes()));
    }
    let mut file = [&[0; 128], content].concat();
    file.resize(end as usize, 0);
    let sections: Vec<Vec<u8>> = table.chunks(32).map(|entry| section(&file, entry).to_vec()).collect();
    file.resize(end.next_multiple_of(64) as usize, 0);
    let start = file.len() as u64;
    let count = sections.len() as u64;
    // Sections of a small matrix have one checksum each, empty ones none.
    sections.iter().filter(|section| !section.is_empty()).for_each(|section| table.extend(crc32c(section)));
    let of_table = crc32c(&table);
    table.extend(of_table);
    file.extend(&table);
    let numbers = [rows, cols, nnz, 256, count, start, file.len() as u64];
    let mut header = b"\x89FUSE\r\n\x1a\x02\0\0\0".to_vec();
    header.extend([layout & 1, 0, values + 1, 0]);
    numbers.iter().for_each(|number| header.extend(number.to_le_bytes()));
    header.resize(124, 0);
    let of_header = crc32c(&header);
    header.extend(of_header);
    file[..128].copy_from_slice(&header);
    file
}

/// The bytes that an entry of a table says.
fn section<'a>(file: &'a [u8], entry: &[u8]) -> &'a [u8] {
    let number = |at: usize| entry[at..at + 8].iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte));
    &file[number(16)..number(16) + number(24)]
}

/// A file of the first version with the header of a small matrix, which is right up to the length of the file, and this
/// content.
fn first_binary([layout, rows, cols, nnz]: [u8; 4], content: &[u8]) -> Vec<u8> {
    let (rows, cols, nnz) = (u64::from(rows), u64::from(cols), u64::from(nnz));
    let mut header = b"\x89FUSE\r\n\x1a\x01\0\0\0".to_vec();
    header.extend([layout & 1, 0, 1, 0]);
    let offsets = if layout & 1 == 0 {
        [0, 0, 128, 128 + rows * cols * 8]
    } else {
        let columns = (128 + (rows + 1) * 8).next_multiple_of(64);
        let values = (columns + nnz * 4).next_multiple_of(64);
        [128, columns, values, values + nnz * 8]
    };
    [rows, cols, nnz].iter().chain(&offsets).for_each(|number| header.extend(number.to_le_bytes()));
    header.resize(124, 0);
    let of_header = checksum(&header, 0xedb8_8320);
    header.extend(of_header);
    let mut file = [&header[..], content].concat();
    file.resize(offsets[3] as usize, 0);
    file
}

/// CRC-32C, which each part of a file has.
fn crc32c(bytes: &[u8]) -> [u8; 4] {
    checksum(bytes, 0x82f6_3b78)
}

/// The checksum of a polynomial, bit by bit.
fn checksum(bytes: &[u8], polynomial: u32) -> [u8; 4] {
    let sum = bytes.iter().fold(u32::MAX, |sum, &byte| {
        (0..8).fold(sum ^ u32::from(byte), |sum, _| (sum >> 1) ^ (polynomial & 0_u32.wrapping_sub(sum & 1)))
    });
    (!sum).to_le_bytes()
}

/// Metadata: `.mtd` up to the first zero byte, the data that it describes behind it.
pub fn mtd(bytes: &[u8]) {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    let data = bytes.get(end + 1..).unwrap_or_default();
    match Metadata::parse(Path::new("fuzz.mtd"), &bytes[..end]) {
        Err(error) => check_message("fuzz.mtd", &error),
        Ok(metadata) => {
            let printed = serde_json::to_vec(&metadata).unwrap_or_else(|error| panic!("{error}"));
            let again = Metadata::parse(Path::new("fuzz.mtd"), &printed).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(again, metadata);
            if let Err(error) = read_matrix_from(data, Path::new("fuzz.data"), &metadata, LIMITS) {
                check_message("fuzz.data", &error);
            }
        }
    }
}

/// Bytes of a script up to which all messages are drawn.
const RENDERED: usize = 32;

/// A DML script: the parser and the checks of the front end. What is accepted is a well-formed program; what is not
/// has errors that can be shown.
pub fn dml(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let no_files = |path: &Path| Err(std::io::Error::other(format!("no file {}", path.display())));
    let options = ParseOptions {
        arguments: [("a".to_owned(), "1".into())].into(),
        loader: &no_files,
        ..ParseOptions::from_files()
    };
    match fuseline_lang::parse("fuzz.dml", text, &options) {
        Ok(program) => program.verify().unwrap_or_else(|errors| panic!("a broken program: {errors}")),
        Err(errors) => {
            assert!(!errors.errors.is_empty(), "a failure without an error");
            // Long texts with many errors take long to show.
            let shown = if text.len() <= RENDERED { errors.render(false) } else { errors.to_string() };
            assert!(shown.contains("fuzz.dml"), "no file in: {shown}");
        }
    }
}

/// HOP DAGs in text form: the parser and the verifier. What is accepted prints and parses to the same text.
pub fn hop(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(dags) = hop::parse(text) else { return };
    for (name, dag) in dags {
        if dag.verify().is_err() {
            continue;
        }
        let printed = dag.display_named(&name).to_string();
        let again = hop::parse(&printed).unwrap_or_else(|errors| panic!("{printed}\n{errors}"));
        assert_eq!(again.len(), 1);
        assert_eq!(again[0].1.display_named(&again[0].0).to_string(), printed);
    }
}

/// CPlans in text form: the parser and the verifier. What is accepted prints and parses to an equal plan.
pub fn cplan(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(plans) = cplan::parse_all(text) else { return };
    for plan in plans {
        let Ok(verified) = plan.verify() else { continue };
        let plan = verified.into_inner();
        let printed = plan.to_string();
        let again = cplan::parse(&printed).unwrap_or_else(|errors| panic!("{printed}\n{errors}"));
        assert_eq!(again, plan);
    }
}
