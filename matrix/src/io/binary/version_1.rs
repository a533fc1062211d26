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
use super::header::{self, check, check_length, field, number};
use super::{HEADER_BYTES, Problem};

/// The number of this version.
pub(super) const VERSION: u32 = 1;

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
        let Shape { rows, cols, nnz, .. } = self.shape;
        let numbers = [rows, cols, nnz, self.row_offsets, self.columns, self.values, self.length];
        header::encode(VERSION, &self.shape, numbers, crc32fast::hash)
    }
}

/// What a file of this length holds that begins with these bytes.
///
/// # Errors
/// The byte and what is wrong there.
pub(super) fn decode(bytes: &[u8; HEADER_BYTES], file_length: u64) -> Result<Description, Problem> {
    check(bytes, crc32fast::hash)?;
    let layout = Layout::of_number(u16::from_le_bytes(field(bytes, 12)))?;
    let [rows, cols, nnz] = [16, 24, 32].map(|offset| number(bytes, offset));
    let header = Header::new(layout, rows, cols, nnz)
        .ok_or_else(|| (16, format!("no file holds a {rows} x {cols} matrix with {nnz} non-zeros")))?;
    header.shape.check_counts()?;
    if let Some(offset) = (0..HEADER_BYTES).find(|&offset| header.encode()[offset] != bytes[offset]) {
        return Err((offset as u64, "the header contradicts itself".to_owned()));
    }
    check_length(header.length, file_length)?;
    // A header that fits its file has sections that do.
    let sections = header.shape.sections(|_| nnz).unwrap_or_default();
    Ok(Description { shape: header.shape, sections, checksums: None })
}
