//! What is read: files or bytes, plain or compressed by gzip, and what they may cost.

use super::IoError;
use flate2::read::MultiGzDecoder;
use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::path::Path;

/// Memory for what a file merely declares, and for data that is compressed beyond belief.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes that any file may cost, be it ever so short. Beyond, its content must account for its memory.
    pub floor: u64,
}

impl Limits {
    /// No limits, for callers who vouch for the dimensions.
    pub const NONE: Limits = Limits { floor: u64::MAX };
}

impl Default for Limits {
    fn default() -> Self {
        Limits { floor: 64 << 20 }
    }
}

/// How much more memory than bytes a file may cost.
const EXPANSION: u64 = 16;

/// How many times its size compressed data may have. Real data stays far below, however sparse; repeated zeros reach
/// a thousand.
const INFLATION: u64 = 200;

/// The file format gzip begins with these bytes; no text format does.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Bytes at rest.
trait Stored: Read + Seek + Send {}
impl<T: Read + Seek + Send> Stored for T {}

/// A file, or bytes in its place.
pub(super) struct Source<'a> {
    pub(super) path: &'a Path,
    stored: Box<dyn Stored + 'a>,
    /// Bytes as stored.
    length: u64,
    limits: Limits,
}

impl<'a> Source<'a> {
    pub(super) fn of_file(path: &'a Path, limits: Limits) -> Result<Self, IoError> {
        let file = open(path)?;
        let length = file.metadata().map_or(0, |metadata| metadata.len());
        Ok(Source { path, stored: Box::new(file), length, limits })
    }

    pub(super) fn of_bytes(path: &'a Path, bytes: &'a [u8], limits: Limits) -> Self {
        Source { path, stored: Box::new(Cursor::new(bytes)), length: bytes.len() as u64, limits }
    }

    /// The error of a failed read.
    pub(super) fn unreadable(&self, error: io::Error) -> IoError {
        IoError::system("read", self.path, error)
    }

    /// Whether `rows` rows are worth their memory, given what the file brought for them.
    pub(super) fn check_rows(&self, rows: u64, entries: usize) -> Result<(), IoError> {
        let evidence = self.length.saturating_mul(EXPANSION).max((entries as u64).saturating_mul(64));
        let needed = rows.saturating_add(1).saturating_mul(size_of::<usize>() as u64);
        if needed <= evidence.max(self.limits.floor) {
            return Ok(());
        }
        let problem = format!(
            "{rows} rows are declared, but the file holds {entries} entries; if so, say rows and cols as arguments"
        );
        Err(IoError::description(self.path, problem))
    }

    /// The content, inflated where it is compressed by gzip.
    pub(super) fn content(&mut self) -> Result<Box<dyn Read + Send + '_>, IoError> {
        let is_gzip = self.starts_with(&GZIP).map_err(|error| self.unreadable(error))?;
        if !is_gzip {
            return Ok(Box::new(&mut self.stored));
        }
        let limit = self.inflation_limit();
        Ok(Box::new(Inflated::new(MultiGzDecoder::new(io::BufReader::new(&mut self.stored)), limit)))
    }

    /// The stored bytes, for formats with a compression of their own.
    pub(super) fn stored(&mut self) -> impl Read + Seek + Send + '_ {
        &mut self.stored
    }

    /// Bytes that compressed data may inflate to.
    pub(super) fn inflation_limit(&self) -> u64 {
        self.length.saturating_mul(INFLATION).max(self.limits.floor)
    }

    fn starts_with(&mut self, magic: &[u8]) -> io::Result<bool> {
        let mut start = Vec::new();
        (&mut self.stored).take(magic.len() as u64).read_to_end(&mut start)?;
        self.stored.seek(SeekFrom::Start(0))?;
        Ok(start == magic)
    }
}

/// Inflated data that fails beyond a limit.
pub(super) struct Inflated<R> {
    reader: R,
    left: u64,
}

impl<R: Read> Inflated<R> {
    pub(super) fn new(reader: R, limit: u64) -> Self {
        Inflated { reader, left: limit }
    }
}

impl<R: Read> Read for Inflated<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.reader.read(buffer)?;
        self.left = self.left.checked_sub(length as u64).ok_or_else(|| {
            let problem = "it inflates beyond belief; if so, say rows and cols as arguments";
            io::Error::new(io::ErrorKind::InvalidData, problem)
        })?;
        Ok(length)
    }
}

/// Opens a file, with a clear error for directories.
pub(super) fn open(path: &Path) -> Result<File, IoError> {
    let file = File::open(path).map_err(|source| IoError::system("open", path, source))?;
    match file.metadata() {
        Ok(metadata) if metadata.is_dir() => Err(IoError::Directory { path: path.to_owned() }),
        _ => Ok(file),
    }
}

/// The whole content of a short file.
pub(super) fn read_short(path: &Path, limit: u64) -> Result<Vec<u8>, IoError> {
    let mut bytes = Vec::new();
    let read = open(path)?.take(limit + 1).read_to_end(&mut bytes);
    read.map_err(|source| IoError::system("read", path, source))?;
    if bytes.len() as u64 > limit {
        return Err(IoError::description(path, format!("more than {limit} bytes are too many here")));
    }
    Ok(bytes)
}
