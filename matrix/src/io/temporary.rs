//! Temporary files beside the files that they shall become.
//!
//! The name tells the target, so that the next run that writes the target finds what a killed one left behind. Who writes
//! a temporary file holds its lock, which the system takes from the dead: a file without a holder is removed, one with a
//! holder is left alone, and its number is passed over.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use tempfile::TempPath;

/// How names begin, before the checksum of the target's name and a number.
const PREFIX: &str = ".fuseline-";

/// Runs that may write one target at the same time, and the numbers that are looked at however few do.
const MOST_WRITERS: u32 = 1000;
const FEWEST_SEARCHED: u32 = 8;

/// A temporary file; removed on drop, unless it took its name.
#[derive(Debug)]
pub(super) struct Temporary(TempPath);

impl Temporary {
    /// A new file beside the target, open and locked, in place of those that killed runs left behind.
    pub(super) fn beside(target: &Path) -> io::Result<(File, Temporary)> {
        let folder = target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let name = target.file_name().ok_or(ErrorKind::InvalidFilename)?;
        let checksum = crc32fast::hash(name.as_encoded_bytes());
        let mut found = None;
        for number in 0..MOST_WRITERS {
            let path = folder.join(format!("{PREFIX}{checksum:08x}-{number}"));
            remove_abandoned(&path);
            if found.is_none() {
                found = create(path)?;
            } else if number >= FEWEST_SEARCHED {
                break;
            }
        }
        found.ok_or_else(|| io::Error::other("too many runs write this file"))
    }

    /// Gives the file the name of its target.
    pub(super) fn take_name(self, target: &Path) -> io::Result<()> {
        self.0.persist(target).map_err(|error| error.error)
    }
}

/// A new file with the permissions of any new file; none where there is one, or where somebody took it at once for
/// abandoned.
fn create(path: PathBuf) -> io::Result<Option<(File, Temporary)>> {
    let file = match OpenOptions::new().write(true).create_new(true).open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(None),
        Err(error) => return Err(error),
    };
    // Where files cannot be locked, none is taken for abandoned.
    if matches!(file.try_lock(), Err(std::fs::TryLockError::WouldBlock)) {
        return Ok(None);
    }
    if !is_at(&file, &path) {
        return Ok(None);
    }
    Ok(Some((file, Temporary(TempPath::try_from_path(path)?))))
}

/// Removes a temporary file that nobody writes.
fn remove_abandoned(path: &Path) {
    if !std::fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file()) {
        return;
    }
    let Ok(file) = File::open(path) else { return };
    // The lock says that nobody writes it any more; it may have got its name meanwhile, and the next one this name.
    if file.try_lock().is_ok() && is_at(&file, path) {
        let _ = std::fs::remove_file(path);
    }
}

/// Whether this open file is still the one of this name.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identity = |metadata: std::fs::Metadata| (metadata.dev(), metadata.ino());
    let (open, named) = (file.metadata().map(identity), std::fs::symlink_metadata(path).map(identity));
    matches!((open, named), (Ok(open), Ok(named)) if open == named)
}

#[cfg(not(unix))]
fn is_at(_: &File, path: &Path) -> bool {
    path.exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let files = std::fs::read_dir(folder).expect("a folder");
        let mut names: Vec<String> =
            files.map(|file| file.expect("readable").file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn what_nobody_writes_any_more_is_removed_and_what_somebody_writes_is_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let target = folder.path().join("x.csv");
        let (first, first_path) = Temporary::beside(&target).expect("room");
        let (second, second_path) = Temporary::beside(&target).expect("room");
        let (_other, other_path) = Temporary::beside(&folder.path().join("y.csv")).expect("room");
        assert_eq!(names(folder.path()).len(), 3);
        // Both runs were killed, so to say: the files are no longer open, and still there.
        let left = [first_path, second_path].map(|Temporary(path)| path.keep().expect("ours"));
        drop((first, second));
        assert!(left.iter().all(|path| path.exists()));
        let (file, third) = Temporary::beside(&target).expect("room");
        assert_eq!(names(folder.path()).len(), 2, "{:?}", names(folder.path()));
        third.take_name(&target).expect("ours");
        drop((file, other_path));
        assert_eq!(names(folder.path()), ["x.csv"]);
    }

    #[test]
    fn links_and_folders_in_the_place_of_temporary_files_are_passed_over() {
        let folder = tempfile::tempdir().expect("a folder");
        let (precious, target) = (folder.path().join("precious"), folder.path().join("x"));
        std::fs::write(&precious, "kept").expect("ours");
        let (_, probe) = Temporary::beside(&target).expect("room");
        let (path, link) = (probe.0.to_path_buf(), probe.0.to_string_lossy().replace("-0", "-1"));
        drop(probe);
        std::fs::create_dir(&path).expect("ours");
        #[cfg(unix)]
        std::os::unix::fs::symlink(&precious, link).expect("ours");
        let (_file, temporary) = Temporary::beside(&target).expect("room");
        temporary.take_name(&target).expect("ours");
        assert_eq!(std::fs::read_to_string(&precious).expect("there"), "kept");
        assert!(path.is_dir());
    }

    /// Threads with open files of their own, as processes have.
    #[test]
    fn writers_of_one_target_do_not_disturb_each_other() {
        let folder = tempfile::tempdir().expect("a folder");
        let target = folder.path().join("x");
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let target = &target;
                scope.spawn(move || {
                    for turn in 0..200 {
                        let (mut file, temporary) = Temporary::beside(target).expect("room");
                        io::Write::write_all(&mut file, format!("{thread} {turn}").as_bytes()).expect("room");
                        temporary.take_name(target).expect("nobody removes what is written");
                    }
                });
            }
        });
        assert_eq!(names(folder.path()), ["x"]);
        let text = std::fs::read_to_string(&target).expect("there");
        assert!(text.ends_with(" 199"), "{text}");
    }
}
