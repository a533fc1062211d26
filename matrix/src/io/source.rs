//! What is read: files or bytes, plain or compressed by gzip, and what they may cost.

use super::IoError;
use super::opened::{GZIP, Opened, open};
use super::parts::Parts;
use super::stream::Stream;
use crate::budget::MemoryKind;
use crate::growing::Growing;
use crate::run_context::{StopListener, Stopped, check_stop};
use flate2::read::MultiGzDecoder;
use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

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

/// A file, what comes through a pipe or a device, the parts of a directory, or bytes in their place.
enum Stored<'a> {
    File(File),
    Stream(Stream),
    Parts(Parts),
    Bytes(Cursor<&'a [u8]>),
}

impl Read for Stored<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        check_stop();
        match self {
            Stored::File(file) => file.read(buffer),
            Stored::Stream(stream) => stream.read(buffer),
            Stored::Parts(parts) => parts.read(buffer),
            Stored::Bytes(bytes) => bytes.read(buffer),
        }
    }
}

impl Seek for Stored<'_> {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        match self {
            Stored::File(file) => file.seek(position),
            Stored::Stream(_) | Stored::Parts(_) => Err(io::ErrorKind::NotSeekable.into()),
            Stored::Bytes(bytes) => bytes.seek(position),
        }
    }
}

/// What is read, and what it may cost.
pub(super) struct Source<'a> {
    pub(super) path: &'a Path,
    stored: Stored<'a>,
    /// Bytes as stored.
    length: u64,
    limits: Limits,
}

impl<'a> Source<'a> {
    /// A file, or a directory of part files.
    pub(super) fn of_file(path: &'a Path, limits: Limits) -> Result<Self, IoError> {
        if path.is_dir() {
            let Some(parts) = Parts::of_directory(path)? else {
                return Err(IoError::Directory { path: path.to_owned() });
            };
            return Ok(Source { path, length: parts.length(), stored: Stored::Parts(parts), limits });
        }
        let stored = match open(path)? {
            Opened::File(file) => Stored::File(file),
            Opened::Stream(stream) => Stored::Stream(stream),
        };
        let length = match &stored {
            Stored::File(file) => file.metadata().map_or(0, |metadata| metadata.len()),
            _ => 0,
        };
        Ok(Source { path, stored, length, limits })
    }

    pub(super) fn of_bytes(path: &'a Path, bytes: &'a [u8], limits: Limits) -> Self {
        Source { path, stored: Stored::Bytes(Cursor::new(bytes)), length: bytes.len() as u64, limits }
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

    /// The content for readers that go to several places at once.
    pub(super) fn at_rest(&mut self) -> Result<AtRest<'_>, IoError> {
        let is_gzip = self.starts_with(&GZIP).map_err(|error| self.unreadable(error))?;
        if is_gzip || matches!(self.stored, Stored::Stream(_)) {
            let mut bytes = Growing::new(MemoryKind::File);
            let read = read_all(&mut *self.content()?, &mut bytes);
            read.map_err(|error| self.unreadable(error))?;
            return Ok(AtRest::Read(bytes));
        }
        Ok(match &self.stored {
            Stored::File(file) => AtRest::File(file, self.length),
            Stored::Parts(_) => return Err(IoError::Directory { path: self.path.to_owned() }),
            Stored::Bytes(bytes) => AtRest::Bytes(bytes.get_ref()),
            Stored::Stream(_) => AtRest::Bytes(&[]),
        })
    }

    /// Bytes that compressed data may inflate to.
    pub(super) fn inflation_limit(&self) -> u64 {
        self.length.saturating_mul(INFLATION).max(self.limits.floor)
    }

    /// Refuses directories, for formats that have one file.
    pub(super) fn check_single(&self) -> Result<(), IoError> {
        match self.stored {
            Stored::Parts(_) => Err(IoError::Directory { path: self.path.to_owned() }),
            Stored::File(_) | Stored::Stream(_) | Stored::Bytes(_) => Ok(()),
        }
    }

    /// The part files of a directory, if it is one.
    pub(super) fn parts(&self) -> Option<&[PathBuf]> {
        match &self.stored {
            Stored::Parts(parts) => Some(parts.paths()),
            Stored::File(_) | Stored::Stream(_) | Stored::Bytes(_) => None,
        }
    }

    /// Whether the file, or the first part that is not empty, begins with these bytes, at most [`Parts::START`] ones.
    pub(super) fn starts_with(&mut self, magic: &[u8]) -> io::Result<bool> {
        if let Stored::Parts(parts) = &mut self.stored {
            parts.rewind();
            return Ok(parts.starts_with(magic));
        }
        if let Stored::Stream(stream) = &mut self.stored {
            return stream.starts_with(magic);
        }
        let mut start = Vec::new();
        (&mut self.stored).take(magic.len() as u64).read_to_end(&mut start)?;
        self.stored.seek(SeekFrom::Start(0))?;
        Ok(start == magic)
    }
}

/// Content that is read from any place, by several threads.
pub(super) enum AtRest<'a> {
    File(&'a File, u64),
    Bytes(&'a [u8]),
    Read(Growing<u8>),
}

impl AtRest<'_> {
    /// Its bytes.
    pub(super) fn length(&self) -> u64 {
        match self {
            AtRest::File(_, length) => *length,
            AtRest::Bytes(bytes) => bytes.len() as u64,
            AtRest::Read(bytes) => bytes.len() as u64,
        }
    }

    /// Fills the buffer with the bytes from this one on.
    pub(super) fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        if StopListener::current().hears() {
            // Who asked for the file unwinds, once for all that is read at the same time.
            return Err(io::Error::other(Stopped));
        }
        let bytes = match self {
            AtRest::File(file, _) => return file.read_exact_at(buffer, offset),
            AtRest::Bytes(bytes) => bytes,
            AtRest::Read(bytes) => &bytes[..],
        };
        let rest = usize::try_from(offset).ok().and_then(|offset| bytes.get(offset..)).unwrap_or_default();
        Read::read_exact(&mut &*rest, buffer)
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

    /// Bytes that may still come.
    pub(super) fn left(&self) -> u64 {
        self.left
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

/// Room that reading to an end asks for beyond it.
pub(super) const PROBED: usize = 64;

/// What may begin a text in UTF-8.
pub(super) const UTF_8_MARK: &[u8] = &[0xef, 0xbb, 0xbf];

/// Bytes that are read at a time where all are.
const READ_AT_ONCE: u64 = 1 << 20;

/// Reads all that comes, within the budget.
fn read_all(reader: &mut dyn Read, bytes: &mut Growing<u8>) -> io::Result<()> {
    loop {
        bytes.reserve(READ_AT_ONCE as usize + PROBED);
        if reader.take(READ_AT_ONCE).read_to_end(bytes.vec_mut())? == 0 {
            return Ok(());
        }
    }
}

/// The whole content of a short text file, but for the mark of UTF-8.
pub(super) fn read_short(path: &Path, limit: u64) -> Result<Vec<u8>, IoError> {
    let mut bytes = Growing::new(MemoryKind::File);
    let read = read_all(&mut open(path)?.take(limit + 1), &mut bytes);
    read.map_err(|source| IoError::system("read", path, source))?;
    if bytes.len() as u64 > limit {
        return Err(IoError::description(path, format!("more than {limit} bytes are too many here")));
    }
    let mut bytes = bytes.into_vec();
    if bytes.starts_with(UTF_8_MARK) {
        bytes.drain(..UTF_8_MARK.len());
    }
    Ok(bytes)
}
