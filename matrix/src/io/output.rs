//! Files being written, plain or compressed by gzip.
//!
//! A file grows under a temporary name beside its target, whose name it takes when it is complete: what was there before
//! stays until then, and a write that fails or is interrupted leaves nothing behind.

use super::error::IoError;
use crate::run_context::check_stop;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use tempfile::{NamedTempFile, TempPath};

/// A new file.
#[derive(Debug)]
pub struct Output {
    content: Content,
    /// The temporary name and the one to take; none for a device, which is written as it is.
    names: Option<(TempPath, PathBuf)>,
}

#[derive(Debug)]
enum Content {
    Plain(BufWriter<Blocks>),
    Compressed(GzEncoder<BufWriter<Blocks>>),
}

/// A file that is written block by block; before each of them somebody may ask to stop.
#[derive(Debug)]
struct Blocks(File);

impl Write for Blocks {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        check_stop();
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
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
        let (file, names) = open(path).map_err(|source| IoError::system("create", path, source))?;
        let file = BufWriter::with_capacity(1 << 16, Blocks(file));
        let content = if is_compressed {
            Content::Compressed(GzEncoder::new(file, Compression::default()))
        } else {
            Content::Plain(file)
        };
        Ok(Output { content, names })
    }

    /// Writes what is still held back, and gives the file its name.
    ///
    /// # Errors
    /// Writing fails; what was at that name before is still there.
    pub fn finish(self) -> io::Result<()> {
        match self.content {
            Content::Plain(mut file) => file.flush()?,
            Content::Compressed(encoder) => encoder.finish()?.flush()?,
        }
        match self.names {
            Some((temporary, path)) => temporary.persist(path).map_err(|error| error.error),
            None => Ok(()),
        }
    }
}

/// Opens a temporary file for a new or regular file, behind symbolic links; anything else itself.
fn open(path: &Path) -> io::Result<(File, Option<(TempPath, PathBuf)>)> {
    let existing = std::fs::metadata(path).ok();
    if existing.as_ref().is_some_and(|metadata| !metadata.is_file()) {
        return Ok((OpenOptions::new().write(true).open(path)?, None));
    }
    if existing.is_some() {
        // Files that must not be written must not be replaced either.
        OpenOptions::new().write(true).open(path)?;
    }
    let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let (file, temporary) = temporary(folder)?.into_parts();
    if let Some(metadata) = existing {
        file.set_permissions(metadata.permissions())?;
    }
    Ok((file, Some((temporary, target))))
}

/// A temporary file with the permissions of any new file.
fn temporary(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".fuseline-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder)
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
