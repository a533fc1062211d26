//! Files being written, plain or compressed by gzip.

use super::error::IoError;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// A new file.
pub(super) enum Output {
    Plain(BufWriter<File>),
    Compressed(GzEncoder<BufWriter<File>>),
}

impl Output {
    /// Creates a file, and its folder where that is missing.
    pub(super) fn create(path: &Path, is_compressed: bool) -> Result<Self, IoError> {
        if path.is_dir() {
            return Err(IoError::Directory { path: path.to_owned() });
        }
        if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            std::fs::create_dir_all(parent).map_err(|source| IoError::system("create", parent, source))?;
        }
        let file = File::create(path).map_err(|source| IoError::system("create", path, source))?;
        let file = BufWriter::with_capacity(1 << 16, file);
        Ok(if is_compressed {
            Output::Compressed(GzEncoder::new(file, Compression::default()))
        } else {
            Output::Plain(file)
        })
    }

    /// Writes what is still held back.
    pub(super) fn finish(self) -> io::Result<()> {
        match self {
            Output::Plain(mut file) => file.flush(),
            Output::Compressed(encoder) => encoder.finish()?.flush(),
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Output::Plain(file) => file.write(bytes),
            Output::Compressed(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Output::Plain(file) => file.flush(),
            Output::Compressed(encoder) => encoder.flush(),
        }
    }
}
