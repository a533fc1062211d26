//! The header of binary files, whose form both versions share.
//!
//! | bytes | content |
//! |---|---|
//! | 0..8 | magic, `89 46 55 53 45 0d 0a 1a` |
//! | 8..12 | version |
//! | 12..14 | layout: 0 dense, 1 CSR |
//! | 14..16 | type of the values |
//! | 16..72 | seven numbers of 8 bytes; rows, columns and non-zeros are the first, the bytes of the file the last |
//! | 72..124 | zeros |
//! | 124..128 | a checksum of bytes 0..124 |

use super::description::Shape;
use super::{HEADER_BYTES, MAGIC, Problem};

/// Where the checksum stands.
pub(super) const CHECKSUM: usize = HEADER_BYTES - 4;

/// The checksum of a version.
type Checksum = fn(&[u8]) -> u32;

/// The header with these numbers.
pub(super) fn encode(version: u32, shape: &Shape, numbers: [u64; 7], checksum: Checksum) -> [u8; HEADER_BYTES] {
    let mut bytes = [0; HEADER_BYTES];
    bytes[..8].copy_from_slice(&MAGIC);
    bytes[8..12].copy_from_slice(&version.to_le_bytes());
    bytes[12..14].copy_from_slice(&(shape.layout as u16).to_le_bytes());
    bytes[14..16].copy_from_slice(&(shape.element as u16).to_le_bytes());
    for (field, number) in bytes[16..].chunks_exact_mut(8).zip(numbers) {
        field.copy_from_slice(&number.to_le_bytes());
    }
    let checksum = checksum(&bytes[..CHECKSUM]);
    bytes[CHECKSUM..].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

/// Checks that the header is as it was written.
pub(super) fn check(bytes: &[u8; HEADER_BYTES], checksum: Checksum) -> Result<(), Problem> {
    if checksum(&bytes[..CHECKSUM]).to_le_bytes() == bytes[CHECKSUM..] {
        return Ok(());
    }
    Err((CHECKSUM as u64, "the header is damaged: its checksum is wrong".to_owned()))
}

/// Checks that the file is as long as its header describes.
pub(super) fn check_length(described: u64, file_length: u64) -> Result<(), Problem> {
    if described == file_length {
        return Ok(());
    }
    Err((64, format!("the header describes {described} bytes, the file has {file_length}")))
}

/// The number of 8 bytes at an offset.
pub(super) fn number(bytes: &[u8], offset: usize) -> u64 {
    u64::from_le_bytes(field(bytes, offset))
}

/// Bytes of a field.
pub(super) fn field<const SIZE: usize>(bytes: &[u8], offset: usize) -> [u8; SIZE] {
    let mut field = [0; SIZE];
    field.copy_from_slice(&bytes[offset..offset + SIZE]);
    field
}
