//! Header, section table and checksums of the binary format.
//!
//! | bytes | content of the header |
//! |---|---|
//! | 0..8 | magic, `89 46 55 53 45 0d 0a 1a` |
//! | 8..12 | version, 2 |
//! | 12..14 | layout: 0 dense, 1 CSR |
//! | 14..16 | type of the values: 1 f64, 2 f32, 3 i32, 4 u8 |
//! | 16..24 | rows |
//! | 24..32 | columns |
//! | 32..40 | non-zeros (dense) or stored positions (CSR) |
//! | 40..48 | rows of a strip, a power of two; the last strip may have fewer |
//! | 48..56 | number of sections: one per strip (dense), or three (CSR) |
//! | 56..64 | offset of the section table: the first multiple of 64 behind the sections |
//! | 64..72 | bytes of the file |
//! | 72..124 | zeros |
//! | 124..128 | CRC-32C of bytes 0..124 |
//!
//! | bytes | content of an entry of the table |
//! |---|---|
//! | 0..2 | kind: 1 values, 2 row offsets, 3 column indexes |
//! | 2..4 | type of its numbers: that of the values, 5 u32 (column indexes), 6 u64 (row offsets) |
//! | 4..8 | zeros |
//! | 8..16 | strip |
//! | 16..24 | offset |
//! | 24..32 | bytes |
//!
//! Everything is little-endian. Behind the table stand the checksums, 4 bytes for each MiB of each section in the order of
//! the table, and at the end the CRC-32C of table and checksums. The header and the numbers of stored positions of the
//! strips determine all else, and a table is right if it is the one that would be written for them.

use super::description::{Description, Element, Kind, Layout, Section, Shape};
use super::header::{self, CHECKSUM, check, check_length, field, number};
use super::{HEADER_BYTES, Problem};

/// The number of this version.
pub(super) const VERSION: u32 = 2;

/// Bytes of a section that have a checksum together: a MiB, or what is left of the section.
pub(super) const PIECE_BYTES: usize = 1 << 20;

const ENTRY_BYTES: u64 = 32;

/// What stands at the start of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) shape: Shape,
    /// How many sections there are.
    sections: u64,
    /// Where their table begins.
    pub(super) table: u64,
    /// Bytes of the file.
    pub(super) length: u64,
}

impl Header {
    /// The header of a file of these sections; none if no file can be so large.
    pub(super) fn new(shape: Shape, sections: &[Section]) -> Option<Self> {
        let end = sections.last().map_or(HEADER_BYTES as u64, |last| last.offset + last.bytes);
        let table = end.checked_next_multiple_of(64)?;
        let checksums = sections.iter().map(|section| pieces(section) * 4).sum::<u64>();
        let count = sections.len() as u64;
        let length = table.checked_add(count * ENTRY_BYTES + checksums + 4)?;
        Some(Header { shape, sections: count, table, length })
    }

    /// The header as bytes.
    pub(super) fn encode(&self) -> [u8; HEADER_BYTES] {
        let Shape { rows, cols, nnz, strip_rows, .. } = self.shape;
        let numbers = [rows, cols, nnz, strip_rows, self.sections, self.table, self.length];
        header::encode(VERSION, &self.shape, numbers, crc32c::crc32c)
    }

    /// The header at the start of a file of this length.
    ///
    /// # Errors
    /// The byte and what is wrong there.
    pub(super) fn decode(bytes: &[u8; HEADER_BYTES], file_length: u64) -> Result<Self, Problem> {
        check(bytes, crc32c::crc32c)?;
        let layout = Layout::of_number(u16::from_le_bytes(field(bytes, 12)))?;
        let element = u16::from_le_bytes(field(bytes, 14));
        let element =
            Element::of_values(element).ok_or_else(|| (14, format!("values of type {element} are not known")))?;
        let [rows, cols, nnz, strip_rows, sections, table, length] =
            [16, 24, 32, 40, 48, 56, 64].map(|offset| number(bytes, offset));
        let shape = Shape { layout, element, rows, cols, nnz, strip_rows };
        shape.check_counts()?;
        if !strip_rows.is_power_of_two() {
            return Err((40, format!("strips of {strip_rows} rows: that is no power of two")));
        }
        let header = Header { shape, sections, table, length };
        check_length(length, file_length)?;
        if shape.strips().checked_mul(shape.sections_per_strip()) != Some(header.sections) {
            let problem = format!("{} strips do not have {} sections", shape.strips(), header.sections);
            return Err((48, problem));
        }
        // Before the file is asked for it, so that no header takes memory that its file does not account for.
        let table = header.sections.checked_mul(ENTRY_BYTES).and_then(|bytes| bytes.checked_add(4));
        let end = table.and_then(|bytes| bytes.checked_add(header.table));
        if end.is_none_or(|end| end > file_length) {
            return Err((56, "the section table does not lie within the file".to_owned()));
        }
        if header.encode()[..CHECKSUM] != bytes[..CHECKSUM] {
            return Err((72, "the header contradicts itself".to_owned()));
        }
        Ok(header)
    }

    /// Bytes of section table and checksums.
    pub(super) fn trailer_bytes(&self) -> u64 {
        self.length - self.table
    }

    /// What the file holds, by the bytes from its table on.
    ///
    /// # Errors
    /// The byte of the file and what is wrong there.
    pub(super) fn describe(&self, trailer: &[u8]) -> Result<Description, Problem> {
        let (trailer, checksum) = trailer.split_at(trailer.len() - 4);
        if crc32c::crc32c(trailer).to_le_bytes() != checksum {
            return Err((self.length - 4, "the section table is damaged: its checksum is wrong".to_owned()));
        }
        let positions: Vec<u64> = self.positions(trailer)?;
        let contradicts = |offset: u64| (offset, "the section table contradicts the header".to_owned());
        let stored = positions.iter().try_fold(0_u64, |sum, &positions| sum.checked_add(positions));
        if self.shape.layout == Layout::Csr && stored != Some(self.shape.nnz) {
            return Err(contradicts(self.table));
        }
        let sections = self.shape.sections(|strip| positions.get(strip as usize).copied().unwrap_or(0));
        let sections = sections.ok_or_else(|| contradicts(self.table))?;
        if Header::new(self.shape, &sections) != Some(*self) {
            return Err(contradicts(self.table));
        }
        let (table, checksums) = trailer.split_at(sections.len() * ENTRY_BYTES as usize);
        let mut entries = sections.iter().zip(table.chunks_exact(ENTRY_BYTES as usize));
        if let Some(entry) = entries.position(|(section, bytes)| encode_entry(section) != bytes) {
            return Err(contradicts(self.table + entry as u64 * ENTRY_BYTES));
        }
        let checksums = checksums.chunks_exact(4).map(|bytes| u32::from_le_bytes(field(bytes, 0))).collect();
        Ok(Description { shape: self.shape, sections, checksums: Some(checksums) })
    }

    /// The stored positions of each strip of a sparse matrix, which the table says as bytes of column indexes.
    fn positions(&self, table: &[u8]) -> Result<Vec<u64>, Problem> {
        if self.shape.layout == Layout::Dense {
            return Ok(Vec::new());
        }
        let entries = table.chunks_exact(ENTRY_BYTES as usize).take(self.sections as usize).enumerate();
        let of_columns = entries.filter(|(entry, _)| entry % 3 == 1);
        of_columns
            .map(|(entry, bytes)| {
                let kind = u16::from_le_bytes(field(bytes, 0));
                if kind != Kind::Columns as u16 {
                    let problem = format!("a section of kind {kind} stands where column indexes should");
                    return Err((self.table + entry as u64 * ENTRY_BYTES, problem));
                }
                Ok(number(bytes, 24) / Element::U32.bytes())
            })
            .collect()
    }
}

/// Pieces of a section that have a checksum each.
pub(super) fn pieces(section: &Section) -> u64 {
    section.bytes.div_ceil(PIECE_BYTES as u64)
}

fn encode_entry(section: &Section) -> [u8; ENTRY_BYTES as usize] {
    let mut bytes = [0; ENTRY_BYTES as usize];
    bytes[..2].copy_from_slice(&(section.kind as u16).to_le_bytes());
    bytes[2..4].copy_from_slice(&(section.element as u16).to_le_bytes());
    for (field, number) in bytes[8..].chunks_exact_mut(8).zip([section.strip, section.offset, section.bytes]) {
        field.copy_from_slice(&number.to_le_bytes());
    }
    bytes
}

/// What stands behind the sections: their table, these checksums, and that of both.
pub(super) fn encode_trailer(sections: &[Section], checksums: &[u32]) -> Vec<u8> {
    let mut bytes: Vec<u8> = sections.iter().flat_map(encode_entry).collect();
    bytes.extend(checksums.iter().flat_map(|checksum| checksum.to_le_bytes()));
    let checksum = crc32c::crc32c(&bytes);
    bytes.extend(checksum.to_le_bytes());
    bytes
}

/// A file of a dense matrix whose values are of this type and have these bytes, without a number of non-zeros.
#[cfg(test)]
pub(crate) fn narrow_file(rows: u64, cols: u64, element: u16, values: &[u8]) -> Vec<u8> {
    let element = Element::of_values(element).unwrap();
    let shape = Shape { layout: Layout::Dense, element, rows, cols, nnz: 0, strip_rows: rows.next_power_of_two() };
    let sections = shape.sections(|_| 0).unwrap();
    let header = Header::new(shape, &sections).unwrap();
    let mut file = [&header.encode()[..], values].concat();
    file.resize(header.table as usize, 0);
    let checksums: Vec<u32> = values.chunks(PIECE_BYTES).map(crc32c::crc32c).collect();
    file.extend(encode_trailer(&sections, &checksums));
    file
}

/// A file with checksums that are right for what is in it, as far as its header and table can be followed.
#[cfg(test)]
pub(crate) fn with_checksums(file: &[u8]) -> Vec<u8> {
    let mut file = file.to_vec();
    let checksum = crc32c::crc32c(&file[..CHECKSUM]);
    file[CHECKSUM..HEADER_BYTES].copy_from_slice(&checksum.to_le_bytes());
    let (count, table) = (number(&file, 48) as usize, number(&file, 56) as usize);
    let end = file.len() - 4;
    let Some(mut place) = count.checked_mul(32).and_then(|bytes| bytes.checked_add(table)) else { return file };
    for entry in 0..count {
        let Some(entry) = file.get(table + entry * 32..table + entry * 32 + 32) else { return file };
        let (offset, bytes) = (number(entry, 16) as usize, number(entry, 24) as usize);
        let section = offset.checked_add(bytes).and_then(|end| file.get(offset..end));
        let Some(section) = section.map(<[u8]>::to_vec) else { return file };
        for piece in section.chunks(PIECE_BYTES) {
            let Some(checksum) = file.get_mut(place..place + 4) else { return file };
            checksum.copy_from_slice(&crc32c::crc32c(piece).to_le_bytes());
            place += 4;
        }
    }
    if let Some(checksum) = file.get(table..end).map(crc32c::crc32c) {
        file[end..].copy_from_slice(&checksum.to_le_bytes());
    }
    file
}
