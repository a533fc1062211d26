//! The binary format: a dense or sparse matrix as it lies in memory, in strips of rows that can be read alone.
//!
//! | part | content |
//! |---|---|
//! | header, 128 bytes | what the file holds, and where its table is (`version_2`) |
//! | sections | per strip the values (dense), or row offsets, column indexes and values (CSR) |
//! | section table | kind, element type, strip, offset and bytes of each section |
//! | checksums | a CRC-32C for each MiB of each section |
//! | 4 bytes | the CRC-32C of table and checksums |
//!
//! Values of a dense matrix stand from byte 128 on without gaps, so that other programs may map them. Each section of a
//! sparse one begins at a multiple of 64 bytes; its row offsets count from the strip's own first non-zero. What a reader of
//! this version does not know (a kind of section, an element type) it refuses by name, so that more of them can come.
//! Files of the first version, which have neither strips nor checksums of their content, are read for ever.
//!
//! Reading copies a file into memory that is ours: machine code relies on indexes that were checked, and a mapped file may
//! change under it. On huge pages the copy runs at the speed of memory (`cargo run --release -p fuseline-matrix --example
//! binary_throughput`).

mod description;
mod header;
mod read;
mod version_1;
mod version_2;
mod write;

pub(super) use read::read;
pub(super) use write::write;

#[cfg(test)]
pub(super) use {
    description::Layout, version_1::Header as FirstHeader, version_2::narrow_file, version_2::with_checksums,
};

/// What each file begins with.
const MAGIC: [u8; 8] = *b"\x89FUSE\r\n\x1a";

/// Bytes of the header.
pub(in crate::io) const HEADER_BYTES: usize = 128;

/// What is wrong with a file, and at which of its bytes.
type Problem = (u64, String);
