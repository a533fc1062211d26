//! The first version of the binary format, which is read and no longer written: one strip, no checksums but the header's.
//!
//! | bytes | content |
//! |---|---|
//! | 0..8 | magic, `89 46 55 53 45 0d 0a 1a` |
//! | 8..12 | version, 1 |
//! | 12..14 | layout: 0 dense, 1 CSR |
//! | 14..16 | type of the values: 1, doubles |
//! | 16..24 | rows |
//! | 24..32 | columns |
//! | 32..40 | non-zeros (dense) or stored positions (CSR) |
//! | 40..48 | offset of the row offsets (CSR) or 0: rows + 1 integers of 8 bytes |
//! | 48..56 | offset of the column indexes (CSR) or 0: integers of 4 bytes |
//! | 56..64 | offset of the values: doubles; all cells row after row (dense), or one per position (CSR) |
//! | 64..72 | bytes of the file |
//! | 72..124 | zeros |
//! | 124..128 | CRC-32 (as in gzip) of bytes 0..124 |
//!
//! Everything is little-endian. Each buffer begins at the first multiple of 64 behind what precedes it, with zeros
//! between, in the order of the table; the file ends with the values. So the layout and three numbers determine all
//! else, and a header is right if it is the one that would be written for them.

use super::description::{Description, Element, Layout, Shape};
use super::{HEADER_BYTES, MAGIC, Problem};

/// The number of this version.
pub(super) const VERSION: u32 = 1;
const DOUBLES: u16 = 1;
const CHECKSUM: usize = HEADER_BYTES - 4;

/// What a file holds and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    shape: Shape,
    /// Where the row offsets begin; 0 without them.
    row_offsets: u64,
    /// Where the column indexes begin; 0 without them.
    columns: u64,
    /// Where the values begin.
    values: u64,
    /// Bytes of the file.
    pub(crate) length: u64,
}

impl Header {
    /// The header of such a matrix; none if no file can be so large.
    pub(crate) fn new(layout: Layout, rows: u64, cols: u64, nnz: u64) -> Option<Self> {
        let shape = Shape { layout, element: Element::F64, rows, cols, nnz, strip_rows: rows.max(1) };
        // What there would be of a matrix without rows, too.
        let behind = |start: u64, count: u64, size: u64| {
            start.checked_add(count.checked_mul(size)?)?.checked_next_multiple_of(64)
        };
        let start = HEADER_BYTES as u64;
        let (row_offsets, columns, values, count) = match layout {
            Layout::Dense => (0, 0, start, rows.checked_mul(cols)?),
            Layout::Csr => {
                let columns = behind(start, rows.checked_add(1)?, 8)?;
                (start, columns, behind(columns, nnz, 4)?, nnz)
            }
        };
        let length = values.checked_add(count.checked_mul(8)?)?;
        Some(Header { shape, row_offsets, columns, values, length })
    }

    /// The header as bytes.
    pub(crate) fn encode(&self) -> [u8; HEADER_BYTES] {
        let Shape { layout, rows, cols, nnz, .. } = self.shape;
        let mut bytes = [0; HEADER_BYTES];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        bytes[12..14].copy_from_slice(&(layout as u16).to_le_bytes());
        bytes[14..16].copy_from_slice(&DOUBLES.to_le_bytes());
        let numbers = [rows, cols, nnz, self.row_offsets, self.columns, self.values, self.length];
        for (field, number) in bytes[16..].chunks_exact_mut(8).zip(numbers) {
            field.copy_from_slice(&number.to_le_bytes());
        }
        let checksum = crc32fast::hash(&bytes[..CHECKSUM]);
        bytes[CHECKSUM..].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }
}

/// What a file of this length holds that begins with these bytes.
///
/// # Errors
/// The byte and what is wrong there.
pub(super) fn decode(bytes: &[u8; HEADER_BYTES], file_length: u64) -> Result<Description, Problem> {
    if crc32fast::hash(&bytes[..CHECKSUM]).to_le_bytes() != bytes[CHECKSUM..] {
        return Err((CHECKSUM as u64, "the header is damaged: its checksum is wrong".to_owned()));
    }
    let layout = Layout::of_number(u16::from_le_bytes(field(bytes, 12)))?;
    let number = |offset| u64::from_le_bytes(field(bytes, offset));
    let (rows, cols, nnz) = (number(16), number(24), number(32));
    let header = Header::new(layout, rows, cols, nnz)
        .ok_or_else(|| (16, format!("no file holds a {rows} x {cols} matrix with {nnz} non-zeros")))?;
    header.shape.check_counts()?;
    if let Some(offset) = (0..HEADER_BYTES).find(|&offset| header.encode()[offset] != bytes[offset]) {
        return Err((offset as u64, "the header contradicts itself".to_owned()));
    }
    if header.length != file_length {
        return Err((64, format!("the header describes {} bytes, the file has {file_length}", header.length)));
    }
    // A header that fits its file has sections that do.
    let sections = header.shape.sections(|_| nnz).unwrap_or_default();
    Ok(Description { shape: header.shape, sections, checksums: None })
}

/// Bytes of a field.
pub(super) fn field<const SIZE: usize>(bytes: &[u8], offset: usize) -> [u8; SIZE] {
    let mut field = [0; SIZE];
    field.copy_from_slice(&bytes[offset..offset + SIZE]);
    field
}
