//! Files being written, plain or compressed by gzip.
//!
//! A file grows under a temporary name beside its target, whose name it takes when it is complete: what was there before
//! stays until then, and a write that fails or is interrupted leaves nothing behind. What a killed run leaves behind is
//! removed by the next one that writes the same file: see `temporary`.

use super::error::IoError;
use super::stream::StreamWriter;
use super::temporary::Temporary;
use crate::run_context::check_stop;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// A new file.
#[derive(Debug)]
pub struct Output {
    /// The temporary file and the name to take; none for a device, which is written as it is. Dropped before the content,
    /// whose open file tells others that the temporary one is in use.
    names: Option<(Temporary, PathBuf)>,
    content: Content,
}

#[derive(Debug)]
enum Content {
    Plain(BufWriter<Blocks>),
    Compressed(GzEncoder<BufWriter<Blocks>>),
}

/// What is written block by block; before each of them somebody may ask to stop.
#[derive(Debug)]
enum Blocks {
    File(File),
    Stream(StreamWriter<File>),
}

impl Write for Blocks {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        check_stop();
        match self {
            Blocks::File(file) => file.write(bytes),
            Blocks::Stream(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Blocks::File(file) => file.flush(),
            Blocks::Stream(stream) => stream.flush(),
        }
    }
}

impl Output {
    /// Starts a file, and creates its folder where that is missing.
    ///
    /// # Errors
    /// The file cannot be written, whatever will be written to it.
    pub fn create(path: &Path, is_compressed: bool) -> Result<Self, IoError> {
        if path.is_dir() {
            return Err(IoError::Directory { path: path.to_owned() });
        }
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        if let Some(parent) = parent {
            std::fs::create_dir_all(parent).map_err(|source| IoError::system("create", parent, source))?;
        }
        let (blocks, names) = open(path).map_err(|source| IoError::system("create", path, source))?;
        let file = BufWriter::with_capacity(1 << 16, blocks);
        let content = if is_compressed {
            Content::Compressed(GzEncoder::new(file, Compression::default()))
        } else {
            Content::Plain(file)
        };
        Ok(Output { names, content })
    }

    /// Whether what is written goes to a device.
    pub(super) fn is_device(&self) -> bool {
        self.names.is_none()
    }

    /// Writes what is still held back, and gives the file its name.
    ///
    /// # Errors
    /// Writing fails; what was at that name before is still there.
    pub fn finish(self) -> io::Result<()> {
        self.complete()?.take_name()
    }

    /// Writes what is still held back. All that may fail for want of space has then been done.
    pub(super) fn complete(mut self) -> io::Result<Complete> {
        match &mut self.content {
            Content::Plain(file) => file.flush()?,
            Content::Compressed(encoder) => {
                encoder.try_finish()?;
                encoder.get_mut().flush()?;
            }
        }
        Ok(Complete(self))
    }
}

/// A file of which all is written, under its temporary name.
pub(super) struct Complete(Output);

impl Complete {
    /// Gives the file its name.
    pub(super) fn take_name(self) -> io::Result<()> {
        let Output { content, names } = self.0;
        let named = names.map_or(Ok(()), |(temporary, target)| temporary.take_name(&target));
        // Open until then, which tells others that the temporary file is in use.
        drop(content);
        named
    }
}

/// Opens a temporary file for a new or regular file, behind symbolic links; anything else itself.
fn open(path: &Path) -> io::Result<(Blocks, Option<(Temporary, PathBuf)>)> {
    let existing = std::fs::metadata(path).ok();
    if existing.as_ref().is_some_and(|metadata| !metadata.is_file()) {
        return Ok((Blocks::Stream(StreamWriter::open(path)?), None));
    }
    if existing.is_some() {
        // Files that must not be written must not be replaced either.
        OpenOptions::new().write(true).open(path)?;
    }
    let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let (file, temporary) = Temporary::beside(&target)?;
    if let Some(metadata) = existing {
        file.set_permissions(metadata.permissions())?;
    }
    Ok((Blocks::File(file), Some((temporary, target))))
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.content {
            Content::Plain(file) => file.write(bytes),
            Content::Compressed(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.content {
            Content::Plain(file) => file.flush(),
            Content::Compressed(encoder) => encoder.flush(),
        }
    }
}
