//! The header of the binary format: what the file holds and where.
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

/// Bytes of the header.
pub(super) const LENGTH: usize = 128;

const MAGIC: [u8; 8] = *b"\x89FUSE\r\n\x1a";
const VERSION: u32 = 1;
const DOUBLES: u16 = 1;
const CHECKSUM: usize = LENGTH - 4;

/// How cells are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// All cells, row after row.
    Dense = 0,
    /// Row offsets, column indexes, values.
    Csr = 1,
}

/// What a file holds and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) layout: Layout,
    pub(super) rows: u64,
    pub(super) cols: u64,
    /// Non-zeros (dense) or stored positions (CSR).
    pub(super) nnz: u64,
    /// Where the row offsets begin; 0 without them.
    pub(super) row_offsets: u64,
    /// Where the column indexes begin; 0 without them.
    pub(super) columns: u64,
    /// Where the values begin.
    pub(super) values: u64,
    /// Bytes of the file.
    pub(super) length: u64,
}

impl Header {
    /// The header of such a matrix; none if no file can be so large.
    pub(super) fn new(layout: Layout, rows: u64, cols: u64, nnz: u64) -> Option<Self> {
        let bytes = |count: u64, size: u64| count.checked_mul(size);
        let behind = |start: u64, bytes: u64| start.checked_add(bytes)?.checked_next_multiple_of(64);
        let start = LENGTH as u64;
        let (row_offsets, columns, values, count) = match layout {
            Layout::Dense => (0, 0, start, rows.checked_mul(cols)?),
            Layout::Csr => {
                let columns = behind(start, bytes(rows.checked_add(1)?, 8)?)?;
                (start, columns, behind(columns, bytes(nnz, 4)?)?, nnz)
            }
        };
        let length = values.checked_add(bytes(count, 8)?)?;
        Some(Header { layout, rows, cols, nnz, row_offsets, columns, values, length })
    }

    /// The header as bytes.
    pub(super) fn encode(&self) -> [u8; LENGTH] {
        let mut bytes = [0; LENGTH];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        bytes[12..14].copy_from_slice(&(self.layout as u16).to_le_bytes());
        bytes[14..16].copy_from_slice(&DOUBLES.to_le_bytes());
        let numbers = [self.rows, self.cols, self.nnz, self.row_offsets, self.columns, self.values, self.length];
        for (field, number) in bytes[16..].chunks_exact_mut(8).zip(numbers) {
            field.copy_from_slice(&number.to_le_bytes());
        }
        let checksum = crc32fast::hash(&bytes[..CHECKSUM]);
        bytes[CHECKSUM..].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// The header at the start of a file of this length.
    ///
    /// # Errors
    /// The byte and what is wrong there.
    pub(super) fn decode(start: &[u8], file_length: u64) -> Result<Self, (usize, String)> {
        if !start.starts_with(&MAGIC[..start.len().min(MAGIC.len())]) {
            return Err((0, "the file does not begin as binary matrices of Fuseline do".to_owned()));
        }
        let Some(bytes) = start.first_chunk::<LENGTH>() else {
            return Err((start.len(), "the file ends within its header".to_owned()));
        };
        let version = u32::from_le_bytes(chunk(bytes, 8));
        if version != VERSION {
            return Err((8, format!("version {version} of the format is not known")));
        }
        if crc32fast::hash(&bytes[..CHECKSUM]).to_le_bytes() != bytes[CHECKSUM..] {
            return Err((CHECKSUM, "the header is damaged: its checksum is wrong".to_owned()));
        }
        let layout = match u16::from_le_bytes(chunk(bytes, 12)) {
            0 => Layout::Dense,
            1 => Layout::Csr,
            other => return Err((12, format!("the layout {other} is not known"))),
        };
        let number = |offset| u64::from_le_bytes(chunk(bytes, offset));
        let (rows, cols, nnz) = (number(16), number(24), number(32));
        let header = Header::new(layout, rows, cols, nnz)
            .ok_or_else(|| (16, format!("no file holds a {rows} x {cols} matrix with {nnz} non-zeros")))?;
        header.check_count()?;
        if let Some(offset) = (0..LENGTH).find(|&offset| header.encode()[offset] != bytes[offset]) {
            return Err((offset, "the header contradicts itself".to_owned()));
        }
        if header.length != file_length {
            let problem = format!("the header describes {} bytes, the file has {file_length}", header.length);
            return Err((64, problem));
        }
        Ok(header)
    }

    /// Checks that there are not more non-zeros than cells.
    fn check_count(&self) -> Result<(), (usize, String)> {
        if u128::from(self.nnz) > u128::from(self.rows) * u128::from(self.cols) {
            let problem = format!("a {} x {} matrix cannot have {} non-zeros", self.rows, self.cols, self.nnz);
            return Err((32, problem));
        }
        if self.layout == Layout::Csr && u32::try_from(self.cols).is_err() {
            return Err((24, format!("a sparse matrix cannot have {} columns", self.cols)));
        }
        Ok(())
    }
}

/// Bytes of a field.
fn chunk<const SIZE: usize>(bytes: &[u8; LENGTH], offset: usize) -> [u8; SIZE] {
    let mut chunk = [0; SIZE];
    chunk.copy_from_slice(&bytes[offset..offset + SIZE]);
    chunk
}
