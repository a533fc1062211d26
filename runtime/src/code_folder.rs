//! The persistent part of the plan cache: a folder of generated code, and of what was decided before it was generated,
//! for later processes.
//!
//! An entry is a file named by the BLAKE3 hash of its key, which tells everything that decided what is kept. The file
//! holds the whole key, which is compared, and a checksum. It is written under a temporary name and takes
//! its own when it is complete, so that readers need no lock and see an entry as a whole or not at all; only those who
//! evict take turns. Whatever is wrong with an entry or with the folder, nothing is found then and nothing is kept, and
//! everything goes on as if there were no folder; entries that are damaged are counted.
//!
//! The checksum finds damage, not intent: who can write an entry can have any code run. Therefore the folder, and every
//! entry, must belong to the user, and nobody else may write to it. The folder stays open, so that what is checked is
//! what is used, whatever takes its name meanwhile (see `private_folder`).

mod private_folder;
#[cfg(test)]
mod tests;

use fuseline_skeletons::CodeStore;
use private_folder::PrivateFolder;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};
use thiserror::Error;

/// What an entry starts with: the format and its version.
const MAGIC: &[u8; 8] = b"FSLNCOD1";

/// Magic, lengths of key and code, and the hash of all but magic and hash.
const HEADER: usize = 8 + 8 + 8 + blake3::OUT_LEN;

/// Bytes that all entries take together, and the most that one may take.
const CAPACITY: u64 = 64 << 20;
const LARGEST_ENTRY: u64 = 4 << 20;

/// The least that a file takes of a disk.
const LEAST_BYTES: u64 = 4 << 10;

/// What an entry holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Machine code.
    Code,
    /// What the optimizer decided.
    Plan,
}

impl Kind {
    const ALL: [Kind; 2] = [Kind::Code, Kind::Plan];

    /// How names of entries end.
    fn extension(self) -> &'static str {
        match self {
            Kind::Code => ".code",
            Kind::Plan => ".plan",
        }
    }
}

/// Plans that one process keeps at most: a program whose sizes never come back must not drive out the code of others.
const MOST_PLANS: u64 = 1000;

/// How names of files that shall become entries begin.
const TEMPORARY: &str = ".new-";

/// The file whose lock those hold who evict.
const LOCK: &str = "lock";

/// An entry is marked as used when that was not done for so long. A temporary file of that age was left behind.
const AGE: Duration = Duration::from_secs(3600);

/// A folder of generated code and of plans.
#[derive(Debug)]
pub struct CodeFolder {
    folder: PrivateFolder,
    capacity: u64,
    /// The bytes of a hash that names show; fewer in tests, so that keys collide.
    name_bytes: usize,
    /// Temporary files so far.
    written: AtomicU64,
    /// Plans kept so far.
    plans: AtomicU64,
    /// Damaged entries that nobody was told of.
    damaged: AtomicU64,
}

/// Why a folder cannot keep code.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CodeFolderError {
    /// It cannot be made, read or written.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// It belongs to another user.
    #[error("it belongs to another user")]
    Foreign,
    /// Others than its owner may write to it.
    #[error("others than its owner may write to it")]
    Writable,
}

/// Why an entry cannot be used.
#[derive(Debug, Error)]
enum EntryError {
    #[error("{0}")]
    Io(#[from] io::Error),
    /// It is not what was written.
    #[error("it is damaged")]
    Damaged,
}

impl CodeFolder {
    /// What is kept in this folder, which is made where it is missing.
    ///
    /// # Errors
    /// There can be no such folder, or others than the user could put code into it.
    pub fn open(path: &Path) -> Result<Self, CodeFolderError> {
        let folder = PrivateFolder::open(path)?;
        let opened = CodeFolder {
            folder,
            capacity: CAPACITY,
            name_bytes: blake3::OUT_LEN,
            written: AtomicU64::new(0),
            plans: AtomicU64::new(0),
            damaged: AtomicU64::new(0),
        };
        // A folder that nothing can be written to is told at once.
        let (name, _) = opened.temporary()?;
        opened.folder.remove(&name)?;
        Ok(opened)
    }

    /// Whether one more plan may be kept, which then counts as such.
    pub(crate) fn may_keep_plan(&self) -> bool {
        self.plans.fetch_add(1, Ordering::Relaxed) < MOST_PLANS
    }

    /// What was kept under exactly this key.
    pub(crate) fn find(&self, kind: Kind, key: &str) -> Option<Vec<u8>> {
        match self.read(kind, key) {
            Ok(found) => found,
            Err(EntryError::Damaged) => {
                self.note_damage();
                None
            }
            Err(EntryError::Io(_)) => None,
        }
    }

    /// Keeps something under a key, or does not.
    pub(crate) fn keep(&self, kind: Kind, key: &str, content: &[u8]) {
        // Looking through the folder takes longer than writing an entry, so that only one entry in 64 brings it about.
        let is_turn = blake3::hash(key.as_bytes()).as_bytes()[blake3::OUT_LEN - 1].is_multiple_of(64);
        let kept = self.write(kind, key, content).and_then(|()| if is_turn { self.evict() } else { Ok(()) });
        // A folder that takes nothing is as good as none.
        let _ = kept;
    }

    /// Counts an entry that is not what was written, or that its reader does not understand.
    pub(crate) fn note_damage(&self) {
        self.damaged.fetch_add(1, Ordering::Relaxed);
    }

    /// Damaged entries since this was last asked for.
    pub(crate) fn take_damaged(&self) -> u64 {
        self.damaged.swap(0, Ordering::Relaxed)
    }

    fn name_of(&self, kind: Kind, key: &str) -> String {
        let hash = blake3::hash(key.as_bytes()).to_hex();
        format!("{}{}", &hash[..2 * self.name_bytes], kind.extension())
    }

    fn read(&self, kind: Kind, key: &str) -> Result<Option<Vec<u8>>, EntryError> {
        let Some(file) = self.folder.read(&self.name_of(kind, key))? else { return Ok(None) };
        let mut entry = Vec::new();
        (&file).take(LARGEST_ENTRY + 1).read_to_end(&mut entry)?;
        let content = decode(&entry, key)?.map(<[u8]>::to_vec);
        if content.is_some() {
            mark_as_used(&file)?;
        }
        Ok(content)
    }

    fn write(&self, kind: Kind, key: &str, content: &[u8]) -> io::Result<()> {
        let entry = encode(key, content);
        if entry.len() as u64 > LARGEST_ENTRY {
            return Ok(());
        }
        let (name, mut file) = self.temporary()?;
        let written = file.write_all(&entry).and_then(|()| self.folder.rename(&name, &self.name_of(kind, key)));
        if written.is_err() {
            let _ = self.folder.remove(&name);
        }
        written
    }

    /// A new file that shall become an entry.
    fn temporary(&self) -> io::Result<(String, File)> {
        loop {
            let number = self.written.fetch_add(1, Ordering::Relaxed);
            let name = format!("{TEMPORARY}{}-{number}", std::process::id());
            match self.folder.create(&name) {
                Ok(file) => return Ok((name, file)),
                // Another handle of this process, or one that was killed and had its number.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Removes the entries that were not used for longest until a quarter of the capacity is free, where all of them
    /// exceed it, and what writers left behind that were killed.
    fn evict(&self) -> io::Result<()> {
        let lock = self.folder.open_lock(LOCK)?;
        if lock.try_lock().is_err() {
            // Somebody else is at it.
            return Ok(());
        }
        let evicted = self.evict_alone();
        // A child that was forked meanwhile holds the lock, too, for as long as it lives: closing it is not enough.
        let _ = lock.unlock();
        evicted
    }

    fn evict_alone(&self) -> io::Result<()> {
        let mut entries = Vec::new();
        for file in self.folder.files()? {
            if Kind::ALL.iter().any(|kind| file.name.ends_with(kind.extension())) {
                entries.push((file.modified, file.name, file.bytes.next_multiple_of(LEAST_BYTES)));
            } else if file.name.starts_with(TEMPORARY) && is_old(file.modified) {
                let _ = self.folder.remove(&file.name);
            }
        }
        let mut bytes: u64 = entries.iter().map(|(_, _, bytes)| bytes).sum();
        if bytes <= self.capacity {
            return Ok(());
        }
        entries.sort();
        for (_, name, freed) in entries {
            if bytes <= self.capacity / 4 * 3 {
                break;
            }
            let _ = self.folder.remove(&name);
            bytes -= freed;
        }
        Ok(())
    }
}

impl CodeStore for CodeFolder {
    fn load(&self, key: &str) -> Option<Vec<u8>> {
        self.find(Kind::Code, key)
    }

    fn store(&self, key: &str, code: &[u8]) {
        self.keep(Kind::Code, key, code);
    }
}

fn encode(key: &str, content: &[u8]) -> Vec<u8> {
    let lengths = [key.len() as u64, content.len() as u64].map(u64::to_le_bytes).concat();
    let mut entry = Vec::with_capacity(HEADER + key.len() + content.len());
    entry.extend_from_slice(MAGIC);
    entry.extend_from_slice(&lengths);
    entry.extend_from_slice(checksum(&[&lengths, key.as_bytes(), content]).as_bytes());
    entry.extend_from_slice(key.as_bytes());
    entry.extend_from_slice(content);
    entry
}

/// What an entry keeps, if it is an entry of this key.
fn decode<'a>(entry: &'a [u8], key: &str) -> Result<Option<&'a [u8]>, EntryError> {
    let (header, rest) = entry.split_at_checked(HEADER).ok_or(EntryError::Damaged)?;
    let (magic, header) = header.split_at(MAGIC.len());
    let (lengths, expected) = header.split_at(16);
    let (key_length, content_length) = (length(&lengths[..8]), length(&lengths[8..]));
    let is_whole = key_length.checked_add(content_length) == Some(rest.len() as u64);
    if magic != MAGIC || !is_whole || expected != checksum(&[lengths, rest]).as_bytes() {
        return Err(EntryError::Damaged);
    }
    // Another key may have the same name.
    let content = rest.strip_prefix(key.as_bytes()).filter(|_| key_length == key.len() as u64);
    Ok(content)
}

fn length(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

fn checksum(parts: &[&[u8]]) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(part);
    }
    hasher.finalize()
}

fn is_old(time: SystemTime) -> bool {
    time.elapsed().is_ok_and(|age| age > AGE)
}

fn mark_as_used(file: &File) -> io::Result<()> {
    if is_old(file.metadata()?.modified()?) {
        // A folder that cannot be written is still good to read.
        let _ = file.set_modified(SystemTime::now());
    }
    Ok(())
}
