//! Files of every format, and reading them in this process.

use crate::HANGS_AT_WORK;
use crate::tally::Verdict;
use crate::valid::{panic_message, until_hanging};
use fuseline::io::{Format, Metadata, read_frame, read_matrix, write_matrix_to};
use fuseline::{Csr, Dense, MatrixBlock};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::panic::catch_unwind;
use std::path::Path;
use std::sync::mpsc::channel;

/// Files of each format.
const FILES: u64 = 20;

/// A file with its metadata.
#[derive(Clone, Debug)]
pub(crate) struct DataFile {
    pub(crate) name: String,
    pub(crate) format: &'static str,
    pub(crate) bytes: Vec<u8>,
    /// What stands in the `.mtd` file; nothing means that there is none.
    pub(crate) metadata: Vec<u8>,
}

impl DataFile {
    pub(crate) fn write(&self, folder: &Path) {
        let path = folder.join(&self.name);
        std::fs::write(&path, &self.bytes).expect("the folder is ours");
        let beside = Metadata::path_beside(&path);
        if self.metadata.is_empty() {
            let _ = std::fs::remove_file(beside);
        } else {
            std::fs::write(beside, &self.metadata).expect("the folder is ours");
        }
    }

    /// Reads what was written.
    pub(crate) fn read(&self, folder: &Path) -> Result<(), String> {
        let (path, arguments) = (folder.join(&self.name), Metadata::default());
        if self.format == "frame" {
            read_frame(&path, &arguments).map(drop).map_err(|error| error.to_string())
        } else {
            read_matrix(&path, &arguments).map(drop).map_err(|error| error.to_string())
        }
    }
}

/// Reads a mutated file in a thread of its own, which has a limited time.
pub(crate) fn verdict(file: &DataFile, folder: &Path) -> Verdict {
    let (sender, receiver) = channel();
    let (read, folder) = (file.clone(), folder.to_owned());
    std::thread::spawn(move || {
        let result = catch_unwind(|| read.read(&folder)).map_err(|payload| panic_message(&*payload));
        // Nobody listens any more where this took too long.
        let _ = sender.send(result);
    });
    match until_hanging(&receiver, HANGS_AT_WORK) {
        Ok(Ok(Ok(()))) => Verdict::Fine,
        Ok(Ok(Err(message))) if message.contains(&file.name) => Verdict::Refused(message),
        Ok(Ok(Err(message))) => Verdict::Wrong(format!("names no place: {message}")),
        Ok(Err(message)) => Verdict::Wrong(format!("panicked: {message}")),
        Err(_) => Verdict::Wrong("hangs".to_owned()),
    }
}

/// What the programs of `mutations/programs` read.
pub(crate) fn inputs() -> Vec<DataFile> {
    let matrix = MatrixBlock::from(Dense::from_fn(6, 4, |i, j| (i * 4 + j) as f64 / 2.0 - 3.0));
    let formats =
        [("csv", Format::Csv), ("text", Format::Text), ("mm", Format::MatrixMarket), ("binary", Format::Binary)];
    let mut files: Vec<DataFile> =
        formats.iter().map(|&(name, format)| written(format!("in.{name}"), name, format, &matrix)).collect();
    files.push(frame("people.csv".to_owned(), &mut Pcg64Mcg::seed_from_u64(1)));
    files
}

/// All files, in order.
pub(crate) fn all() -> Vec<DataFile> {
    (0..FILES).flat_map(of_every_format).collect()
}

fn of_every_format(number: u64) -> Vec<DataFile> {
    let random = &mut Pcg64Mcg::seed_from_u64(number);
    let name = |format: &str| format!("{number}.{format}");
    let matrix = matrix(random);
    let mut files = vec![
        written(name("csv"), "csv", Format::Csv, &matrix),
        written(name("ijv"), "text", Format::Text, &matrix),
        written(name("mtx"), "mm", Format::MatrixMarket, &matrix),
        written(name("libsvm"), "libsvm", Format::Libsvm, &matrix),
        written(name("npy"), "npy", Format::Npy, &matrix),
        written(name("bin"), "binary", Format::Binary, &matrix),
        blocks(name("blocks"), &matrix, random),
        frame(name("frame"), random),
    ];
    let npy = write_matrix_to(&matrix, Path::new("x.npy"), &Metadata::default()).expect("npy can be written");
    files.push(DataFile { name: name("npz"), format: "npz", bytes: archive("x.npy", &npy), metadata: Vec::new() });
    files
}

/// A matrix of some rows and columns, dense or sparse.
fn matrix(random: &mut Pcg64Mcg) -> MatrixBlock {
    let (rows, cols) = (random.random_range(1..20), random.random_range(1..12));
    let share = if random.random() { 0.2 } else { 1.0 };
    let mut cell =
        || if random.random::<f64>() < share { f64::from(random.random_range(-900..900)) / 8.0 } else { 0.0 };
    let dense = Dense::from_fn(rows, cols, |_, _| cell());
    if share < 1.0 { Csr::from_dense(&dense).into() } else { dense.into() }
}

/// The metadata of a matrix.
fn described(matrix: &MatrixBlock, format: &str) -> Vec<u8> {
    let ((rows, cols), nnz) = (matrix.dims(), matrix.nnz());
    format!(
        "{{\"data_type\": \"matrix\", \"value_type\": \"double\", \"rows\": {rows}, \"cols\": {cols}, \"nnz\": {nnz}, \
         \"rows_in_block\": 4, \"cols_in_block\": 4, \"format\": \"{format}\"}}\n"
    )
    .into_bytes()
}

fn written(name: String, format_name: &'static str, format: Format, matrix: &MatrixBlock) -> DataFile {
    let arguments = Metadata { format: Some(format.to_string()), ..Metadata::default() };
    let bytes = write_matrix_to(matrix, Path::new(&name), &arguments).expect("the format can be written");
    DataFile { name, format: format_name, bytes, metadata: described(matrix, &format.to_string()) }
}

/// A frame of a text, a number, a whole number and a truth value per row.
fn frame(name: String, random: &mut Pcg64Mcg) -> DataFile {
    let rows = random.random_range(2..15);
    let mut text = "name,size,count,is_old\n".to_owned();
    for row in 0..rows {
        let (size, count) = (f64::from(random.random_range(0..400)) / 4.0, random.random_range(-5..99));
        let is_old = if random.random() { "TRUE" } else { "FALSE" };
        text += &format!("\"person {}\",{size},{count},{is_old}\n", row % 7);
    }
    let metadata = format!(
        "{{\"data_type\": \"frame\", \"rows\": {rows}, \"cols\": 4, \"format\": \"csv\", \"header\": true, \
         \"sep\": \",\", \"schema\": \"STRING,DOUBLE,INT64,BOOLEAN\"}}\n"
    );
    DataFile { name, format: "frame", bytes: text.into_bytes(), metadata: metadata.into_bytes() }
}

/// Binary blocks of SystemDS: a `SequenceFile` of dense, sparse, ultra-sparse and empty blocks of 4 x 4 cells.
fn blocks(name: String, matrix: &MatrixBlock, random: &mut Pcg64Mcg) -> DataFile {
    const SIDE: usize = 4;
    let mut bytes = b"SEQ\x06".to_vec();
    for class in ["MatrixIndexes", "MatrixBlock"] {
        let class = format!("org.apache.sysds.runtime.matrix.data.{class}");
        bytes.push(class.len() as u8);
        bytes.extend_from_slice(class.as_bytes());
    }
    // No compression and no metadata, then the marker.
    bytes.extend_from_slice(&[0; 6]);
    bytes.extend((0..16).map(|_| random.random::<u8>()));
    let (rows, cols) = matrix.dims();
    for first_row in (0..rows).step_by(SIDE) {
        for first_col in (0..cols).step_by(SIDE) {
            let (height, width) = (SIDE.min(rows - first_row), SIDE.min(cols - first_col));
            let cell = |i: usize, j: usize| matrix.get(first_row + i, first_col + j);
            let mut record = Vec::new();
            for first in [first_row, first_col] {
                record.extend_from_slice(&((first / SIDE + 1) as u64).to_be_bytes());
            }
            for side in [height, width] {
                record.extend_from_slice(&(side as u32).to_be_bytes());
            }
            push_block(&mut record, (height, width), cell, random.random_range(1..4));
            bytes.extend_from_slice(&(record.len() as u32).to_be_bytes());
            bytes.extend_from_slice(&16_u32.to_be_bytes());
            bytes.extend_from_slice(&record);
        }
    }
    DataFile { name, format: "blocks", bytes, metadata: described(matrix, "binary") }
}

/// The cells of a block: ultra-sparse (1), sparse (2) or dense (3), or nothing where all are zero.
fn push_block(out: &mut Vec<u8>, (rows, cols): (usize, usize), cell: impl Fn(usize, usize) -> f64, kind: u8) {
    let of_row = |i: usize| (0..cols).map(move |j| (i, j)).filter(|&(i, j)| cell(i, j) != 0.0).collect::<Vec<_>>();
    let nonzeros: Vec<Vec<(usize, usize)>> = (0..rows).map(of_row).collect();
    let count = nonzeros.iter().map(Vec::len).sum::<usize>() as u32;
    if count == 0 {
        return out.push(0);
    }
    out.push(kind);
    if kind == 3 {
        (0..rows).for_each(|i| (0..cols).for_each(|j| out.extend_from_slice(&cell(i, j).to_be_bytes())));
        return;
    }
    out.extend_from_slice(&count.to_be_bytes());
    for (i, row) in nonzeros.iter().enumerate() {
        if kind == 2 {
            out.extend_from_slice(&(row.len() as u32).to_be_bytes());
        }
        for &(_, j) in row {
            if kind == 1 {
                out.extend_from_slice(&(i as u32).to_be_bytes());
            }
            if kind == 2 || cols > 1 {
                out.extend_from_slice(&(j as u32).to_be_bytes());
            }
            out.extend_from_slice(&cell(i, j).to_be_bytes());
        }
    }
}

/// A ZIP archive of one file, stored as it is.
fn archive(name: &str, content: &[u8]) -> Vec<u8> {
    let (checksum, length) = (checksum(content).to_le_bytes(), (content.len() as u32).to_le_bytes());
    let name_length = (name.len() as u16).to_le_bytes();
    // Version, flags, method, time and date; then what both headers have in common.
    let common = [&[20, 0, 0, 0, 0, 0, 0, 0, 0x21, 0][..], &checksum, &length, &length, &name_length, &[0; 2]].concat();
    let mut bytes = [b"PK\x03\x04", &common[..], name.as_bytes(), content].concat();
    let directory = bytes.len() as u32;
    bytes.extend_from_slice(&[b"PK\x01\x02\x14\x00", &common[..], &[0; 14], name.as_bytes()].concat());
    let directory_length = bytes.len() as u32 - directory;
    bytes.extend_from_slice(b"PK\x05\x06\0\0\0\0\x01\0\x01\0");
    bytes.extend_from_slice(&directory_length.to_le_bytes());
    bytes.extend_from_slice(&directory.to_le_bytes());
    bytes.extend_from_slice(&[0; 2]);
    bytes
}

/// CRC-32, bit by bit.
fn checksum(bytes: &[u8]) -> u32 {
    let step = |crc: u32| if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 };
    !bytes.iter().fold(!0, |crc, &byte| (0..8).fold(crc ^ u32::from(byte), |crc, _| step(crc)))
}
