//! Files that are opened to be read.

use super::IoError;
use super::stream::Stream;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The file format gzip begins with these bytes; no text format does.
pub(super) const GZIP: [u8; 2] = [0x1f, 0x8b];

/// A file that is read.
pub(super) enum Opened {
    File(File),
    Stream(Stream),
}

impl Read for Opened {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Opened::File(file) => file.read(buffer),
            Opened::Stream(stream) => stream.read(buffer),
        }
    }
}

/// Opens a file, with a clear error for directories.
pub(super) fn open(path: &Path) -> Result<Opened, IoError> {
    let failed = |source| IoError::system("open", path, source);
    let metadata = std::fs::metadata(path).map_err(failed)?;
    if metadata.is_dir() {
        return Err(IoError::Directory { path: path.to_owned() });
    }
    if metadata.is_file() {
        return File::open(path).map(Opened::File).map_err(failed);
    }
    Stream::open(path).map(Opened::Stream).map_err(failed)
}
