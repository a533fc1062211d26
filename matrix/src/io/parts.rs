//! Directories of part files, as distributed programs write them: read one behind the other, in the order of their names.

use super::error::IoError;
use super::opened::{GZIP, open};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The files of a directory as one.
pub(super) struct Parts {
    paths: Vec<PathBuf>,
    /// The number of files that are opened so far, the last of which is read.
    opened: usize,
    file: Option<File>,
    /// Whether a line may go on, which ends with its file.
    is_within_line: bool,
    /// What the first file that is not empty begins with.
    start: Vec<u8>,
}

impl Parts {
    /// Bytes that are known of the beginning.
    pub(super) const START: usize = 4;

    /// The part files of a directory: all but hidden ones, checksums, and markers such as `_SUCCESS`. None if there are
    /// none.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub(super) fn of_directory(path: &Path) -> Result<Option<Self>, IoError> {
        let unreadable = |source| IoError::system("read", path, source);
        let mut paths = Vec::new();
        for entry in std::fs::read_dir(path).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            let name = entry.file_name();
            let is_marked = name.to_string_lossy().starts_with(['.', '_']) || name.to_string_lossy().ends_with(".crc");
            if !is_marked && entry.path().is_file() {
                paths.push(entry.path());
            }
        }
        paths.sort();
        if paths.is_empty() {
            return Ok(None);
        }
        let start = start_of(&paths)?;
        Ok(Some(Parts { paths, opened: 0, file: None, is_within_line: false, start }))
    }

    /// The files.
    pub(super) fn paths(&self) -> &[PathBuf] {
        &self.paths
    }

    /// Bytes of all files.
    pub(super) fn length(&self) -> u64 {
        self.paths.iter().filter_map(|path| path.metadata().ok()).map(|metadata| metadata.len()).sum()
    }

    pub(super) fn starts_with(&self, magic: &[u8]) -> bool {
        self.start.starts_with(magic)
    }

    /// Begins again with the first file.
    pub(super) fn rewind(&mut self) {
        (self.opened, self.file, self.is_within_line) = (0, None, false);
    }
}

impl Read for Parts {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            if let Some(file) = &mut self.file {
                let length = file.read(buffer)?;
                if length > 0 {
                    // Files compressed by gzip may follow each other as they are.
                    self.is_within_line = !self.starts_with(&GZIP) && buffer[length - 1] != b'\n';
                    return Ok(length);
                }
                self.file = None;
            }
            let Some(path) = self.paths.get(self.opened) else { return Ok(0) };
            if std::mem::take(&mut self.is_within_line) {
                buffer[0] = b'\n';
                return Ok(1);
            }
            self.file = Some(File::open(path)?);
            self.opened += 1;
        }
    }
}

/// The first bytes of the first file that is not empty; none where all are.
fn start_of(paths: &[PathBuf]) -> Result<Vec<u8>, IoError> {
    let mut start = Vec::new();
    for path in paths {
        let read = open(path)?.take(Parts::START as u64).read_to_end(&mut start);
        read.map_err(|source| IoError::system("read", path, source))?;
        if !start.is_empty() {
            break;
        }
    }
    Ok(start)
}
