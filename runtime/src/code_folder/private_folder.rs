//! An open folder that belongs to the user alone, and its files.
//!
//! Everything goes through the descriptor of the open folder. Another folder that takes its name while it is open is not
//! looked at.

use super::CodeFolderError;
use std::fs::File;
use std::io;
use std::path::Path;
use std::time::SystemTime;

/// A file of the folder.
#[derive(Debug)]
pub(super) struct Listed {
    pub(super) name: String,
    pub(super) modified: SystemTime,
    pub(super) bytes: u64,
}

/// An open folder.
#[derive(Debug)]
pub(super) struct PrivateFolder {
    #[cfg(unix)]
    descriptor: std::os::fd::OwnedFd,
}

#[cfg(unix)]
mod unix {
    use super::{CodeFolderError, File, Listed, Path, PrivateFolder, SystemTime, io};
    use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};
    use std::fs::DirBuilder;
    use std::os::fd::AsFd;
    use std::os::unix::fs::DirBuilderExt;
    use std::time::Duration;

    impl PrivateFolder {
        /// Opens a folder, which is made where it is missing.
        ///
        /// # Errors
        /// There can be no such folder, or others than the user may write to it.
        pub(in super::super) fn open(path: &Path) -> Result<Self, CodeFolderError> {
            DirBuilder::new().recursive(true).mode(0o700).create(path)?;
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let descriptor = rustix::fs::open(path, flags, Mode::empty()).map_err(io::Error::from)?;
            let status = rustix::fs::fstat(&descriptor).map_err(io::Error::from)?;
            if !is_own(&status) {
                return Err(CodeFolderError::Foreign);
            }
            if !is_for_owner(&status) {
                return Err(CodeFolderError::Writable);
            }
            Ok(PrivateFolder { descriptor })
        }

        /// A file to read; none if it is no file, or others than the user may have written it.
        pub(in super::super) fn read(&self, name: &str) -> io::Result<Option<File>> {
            // A pipe without a writer would block, and a link leads elsewhere.
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let file = rustix::fs::openat(&self.descriptor, name, flags, Mode::empty())?;
            let status = rustix::fs::fstat(&file)?;
            let is_trusted = is_file(&status) && is_own(&status) && is_for_owner(&status);
            Ok(is_trusted.then(|| File::from(file)))
        }

        /// A new file, for the user alone.
        pub(in super::super) fn create(&self, name: &str) -> io::Result<File> {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            Ok(File::from(rustix::fs::openat(&self.descriptor, name, flags, Mode::RUSR | Mode::WUSR)?))
        }

        /// A file to be locked.
        pub(in super::super) fn open_lock(&self, name: &str) -> io::Result<File> {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            Ok(File::from(rustix::fs::openat(&self.descriptor, name, flags, Mode::RUSR | Mode::WUSR)?))
        }

        /// Gives a file another name, in place of what has it.
        pub(in super::super) fn rename(&self, from: &str, to: &str) -> io::Result<()> {
            Ok(rustix::fs::renameat(&self.descriptor, from, &self.descriptor, to)?)
        }

        /// Removes a file.
        pub(in super::super) fn remove(&self, name: &str) -> io::Result<()> {
            Ok(rustix::fs::unlinkat(&self.descriptor, name, AtFlags::empty())?)
        }

        /// All files. They may vanish at any time.
        pub(in super::super) fn files(&self) -> io::Result<Vec<Listed>> {
            let mut files = Vec::new();
            for entry in Dir::read_from(self.descriptor.as_fd())? {
                let entry = entry?;
                let Ok(name) = entry.file_name().to_str() else { continue };
                let Ok(status) = rustix::fs::statat(&self.descriptor, name, AtFlags::SYMLINK_NOFOLLOW) else {
                    continue;
                };
                if is_file(&status) {
                    let modified = SystemTime::UNIX_EPOCH
                        + Duration::new(
                            u64::try_from(status.st_mtime).unwrap_or(0),
                            u32::try_from(status.st_mtime_nsec).unwrap_or(0),
                        );
                    let bytes = u64::try_from(status.st_size).unwrap_or(0);
                    files.push(Listed { name: name.to_owned(), modified, bytes });
                }
            }
            Ok(files)
        }
    }

    fn is_file(status: &Stat) -> bool {
        FileType::from_raw_mode(status.st_mode) == FileType::RegularFile
    }

    fn is_own(status: &Stat) -> bool {
        status.st_uid == rustix::process::geteuid().as_raw()
    }

    fn is_for_owner(status: &Stat) -> bool {
        !Mode::from_raw_mode(status.st_mode).intersects(Mode::WGRP | Mode::WOTH)
    }
}

/// Who may write a file is known on Unix alone.
#[cfg(not(unix))]
impl PrivateFolder {
    pub(super) fn open(_: &Path) -> Result<Self, CodeFolderError> {
        Err(io::Error::from(io::ErrorKind::Unsupported).into())
    }

    pub(super) fn read(&self, _: &str) -> io::Result<Option<File>> {
        Ok(None)
    }

    pub(super) fn create(&self, _: &str) -> io::Result<File> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn open_lock(&self, _: &str) -> io::Result<File> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn rename(&self, _: &str, _: &str) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn remove(&self, _: &str) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn files(&self) -> io::Result<Vec<Listed>> {
        Ok(Vec::new())
    }
}
