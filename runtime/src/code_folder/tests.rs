//! Entries that are damaged, collide or vanish are not found, and nothing else happens.
//!
//! `FUSELINE_LONG=1` tries more.

use super::*;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

fn is_long() -> bool {
    std::env::var_os("FUSELINE_LONG").is_some()
}

struct Opened {
    folder: TempDir,
    path: PathBuf,
    store: CodeFolder,
}

fn opened() -> Opened {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let path = folder.path().join("made/as/needed");
    let store = CodeFolder::open(&path).expect("the folder is ours");
    Opened { folder, path, store }
}

impl Opened {
    /// The file of a key's entry.
    fn path_of(&self, number: usize) -> PathBuf {
        self.path.join(self.store.name_of(Kind::Code, &key(number)))
    }
}

fn key(number: usize) -> String {
    format!("toolchain\ngenexec_dense\ncplan {number}")
}

fn code(number: usize) -> Vec<u8> {
    (0..100 + number % 50).map(|byte| (byte * (number + 1)) as u8).collect()
}

/// The only entry of a folder.
fn entry(folder: &Path) -> PathBuf {
    let files = fs::read_dir(folder).expect("the folder is there");
    let mut entries: Vec<PathBuf> = files.map(|file| file.expect("readable").path()).collect();
    entries.retain(|path| path.extension().is_some());
    assert_eq!(entries.len(), 1, "{entries:?}");
    entries.remove(0)
}

#[test]
fn what_is_stored_is_found_under_its_key_alone() {
    let Opened { folder, path, store } = opened();
    store.store(&key(1), &code(1));
    store.store(&key(2), b"");
    let again = CodeFolder::open(&path).expect("the folder is ours");
    assert_eq!((again.load(&key(1)), again.load(&key(2)), again.load(&key(3))), (Some(code(1)), Some(vec![]), None));
    store.store(&key(1), &code(7));
    assert_eq!(again.load(&key(1)), Some(code(7)));
    let temporaries = walk(folder.path()).into_iter().filter(|path| path.to_string_lossy().contains(TEMPORARY));
    assert_eq!(temporaries.collect::<Vec<_>>(), [""; 0].map(PathBuf::from));
}

fn walk(folder: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(folder).expect("a folder").map(|file| file.expect("readable").path());
    files.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}

/// Every byte changed to every other value, and every truncation.
#[test]
fn no_damage_goes_unnoticed() {
    let entries = if is_long() { 200 } else { 2 };
    for number in 0..entries {
        let (key, code) = (key(number), code(number));
        let intact = encode(&key, &code);
        assert_eq!(decode(&intact, &key).expect("it is intact"), Some(&code[..]));
        let is_noticed = |entry: &[u8]| matches!(decode(entry, &key), Err(EntryError::Damaged));
        for length in 0..intact.len() {
            assert!(is_noticed(&intact[..length]), "{length} bytes");
        }
        let mut damaged = intact.clone();
        for place in 0..intact.len() {
            for change in 1..=255 {
                damaged[place] = intact[place] ^ change;
                assert!(is_noticed(&damaged), "byte {place} changed by {change}");
            }
            damaged[place] = intact[place];
        }
        damaged.push(0);
        assert!(is_noticed(&damaged), "a byte too many");
    }
}

#[test]
fn damaged_files_are_replaced() {
    let Opened { store, path, folder: _folder } = opened();
    store.store(&key(1), &code(1));
    let path = entry(&path);
    let intact = fs::read(&path).expect("readable");
    for length in (0..intact.len()).step_by(7) {
        fs::write(&path, &intact[..length]).expect("ours");
        assert_eq!(store.load(&key(1)), None, "{length} bytes");
        assert_eq!(store.take_damaged(), 1);
        store.store(&key(1), &code(1));
        assert_eq!(store.load(&key(1)), Some(code(1)));
    }
}

#[test]
fn kinds_of_entries_are_apart() {
    let Opened { store, folder: _folder, .. } = opened();
    store.keep(Kind::Plan, &key(1), b"a plan");
    assert_eq!((store.find(Kind::Code, &key(1)), store.find(Kind::Plan, &key(1))), (None, Some(b"a plan".to_vec())));
    store.store(&key(1), &code(1));
    assert_eq!(store.find(Kind::Plan, &key(1)), Some(b"a plan".to_vec()));
    assert_eq!((store.load(&key(1)), store.take_damaged()), (Some(code(1)), 0));
}

/// Names of one byte: most keys share their file with others.
#[test]
fn keys_whose_hashes_collide_are_told_apart() {
    let Opened { store, folder: _folder, .. } = opened();
    let store = CodeFolder { name_bytes: 1, ..store };
    let random = &mut Pcg64Mcg::seed_from_u64(1);
    let (mut found, mut lost) = (0, 0);
    for _ in 0..if is_long() { 1_000_000 } else { 3_000 } {
        let number = random.random_range(0..1000);
        match store.load(&key(number)) {
            Some(kept) => {
                assert_eq!(kept, code(number), "key {number}");
                found += 1;
            }
            None => {
                // Stores take longer than look-ups, of which there shall be many.
                if random.random_bool(0.1) {
                    store.store(&key(number), &code(number));
                }
                lost += 1;
            }
        }
    }
    assert!(found > 100 && lost > 1000, "{found} found, {lost} lost: the keys must meet");
}

/// Threads with handles of their own, as processes have, that look up, store and evict.
#[test]
fn readers_writers_and_evicters_do_not_disturb_each_other() {
    let Opened { path, folder: _folder, .. } = opened();
    let turns = if is_long() { 10_000 } else { 300 };
    let hits: usize = std::thread::scope(|scope| {
        let work = |seed| {
            let store =
                CodeFolder { capacity: 16 * LEAST_BYTES, ..CodeFolder::open(&path).expect("the folder is ours") };
            let random = &mut Pcg64Mcg::seed_from_u64(seed);
            let mut hits = 0;
            for _ in 0..turns {
                let number = random.random_range(0..40);
                match random.random_range(0..10) {
                    0..6 => {
                        if let Some(kept) = store.load(&key(number)) {
                            assert_eq!(kept, code(number), "key {number}");
                            hits += 1;
                        }
                    }
                    6..9 => store.store(&key(number), &code(number)),
                    _ => store.evict().expect("files that vanish are no error"),
                }
            }
            hits
        };
        let threads: Vec<_> = (0..16).map(|seed| scope.spawn(move || work(seed))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no thread fails")).sum()
    });
    assert!(hits > 100, "{hits}");
}

fn age(path: &Path, seconds: u64) {
    let file = File::options().write(true).open(path).expect("ours");
    file.set_modified(SystemTime::now() - Duration::from_secs(seconds)).expect("ours");
}

#[test]
fn the_entries_that_were_not_used_for_longest_make_room() {
    let opened = opened();
    for number in 0..10 {
        opened.store.store(&key(number), &code(0));
        age(&opened.path_of(number), 10_000 * (10 - number as u64));
    }
    // Key 0 is the oldest until it is used.
    assert!(opened.store.load(&key(0)).is_some());
    let Opened { store, path, folder: _folder } = opened;
    let store = CodeFolder { capacity: 8 * LEAST_BYTES, ..store };
    let (left, fresh) = (path.join(format!("{TEMPORARY}killed")), path.join(format!("{TEMPORARY}writing")));
    for path in [&left, &fresh] {
        fs::write(path, "a part of an entry").expect("ours");
    }
    age(&left, 10_000);
    store.evict().expect("the folder is ours");
    let kept: Vec<usize> = (0..10).filter(|&number| store.load(&key(number)).is_some()).collect();
    assert_eq!(kept, [0, 5, 6, 7, 8, 9]);
    assert!(!left.exists() && fresh.exists());
}

/// Entries that cannot be written or read, and a folder that vanishes.
#[test]
fn nothing_is_found_where_nothing_can_be_kept() {
    let opened = opened();
    fs::create_dir(opened.path_of(1)).expect("ours");
    let Opened { store, folder, .. } = opened;
    store.store(&key(1), &code(1));
    assert_eq!(store.load(&key(1)), None);
    store.store(&key(2), &vec![0; LARGEST_ENTRY as usize]);
    assert_eq!(store.load(&key(2)), None);
    folder.close().expect("ours");
    store.store(&key(3), &code(3));
    assert_eq!(store.load(&key(3)), None);
    assert!(store.evict().is_err());
}

#[cfg(unix)]
#[test]
fn links_are_no_entries_and_pipes_block_nobody() {
    let opened = opened();
    opened.store.store(&key(1), &code(1));
    std::os::unix::fs::symlink(opened.path_of(1), opened.path_of(2)).expect("ours");
    assert_eq!(opened.store.load(&key(2)), None);
    let made = std::process::Command::new("mkfifo").arg(opened.path_of(3)).status().expect("mkfifo runs");
    assert!(made.success());
    assert_eq!(opened.store.load(&key(3)), None);
}

#[cfg(unix)]
#[test]
fn folders_that_others_could_write_to_are_refused() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let shared = folder.path().join("shared");
    for (mode, is_private) in [(0o700, true), (0o755, true), (0o770, false), (0o702, false), (0o777, false)] {
        fs::create_dir_all(&shared).expect("ours");
        fs::set_permissions(&shared, fs::Permissions::from_mode(mode)).expect("ours");
        let link = folder.path().join("link");
        let _ = fs::remove_file(&link);
        symlink(&shared, &link).expect("ours");
        for path in [&shared, &link] {
            let opened = CodeFolder::open(path);
            let is_refused = matches!(opened, Err(CodeFolderError::Writable));
            assert_eq!((opened.is_ok(), is_refused), (is_private, !is_private), "{mode:o}: {opened:?}");
        }
    }
    let new = folder.path().join("new");
    CodeFolder::open(&new).expect("ours");
    assert_eq!(fs::metadata(new).expect("there").mode() & 0o777, 0o700);
    let file = folder.path().join("file");
    fs::write(&file, "").expect("ours");
    assert!(matches!(CodeFolder::open(&file), Err(CodeFolderError::Io(_))));
    assert!(matches!(CodeFolder::open(&file.join("below")), Err(CodeFolderError::Io(_))));
    // Only the superuser can give a folder away, and only the superuser could still write to it.
    fs::set_permissions(&shared, fs::Permissions::from_mode(0o700)).expect("ours");
    if chown(&shared, Some(65_534), None).is_ok() {
        assert!(matches!(CodeFolder::open(&shared), Err(CodeFolderError::Foreign)));
    }
}

/// An entry of the right form for which somebody else could have cared.
#[cfg(unix)]
#[test]
fn entries_that_others_could_have_written_are_not_found() {
    use std::os::unix::fs::{PermissionsExt, chown};
    let opened = opened();
    let (store, path) = (&opened.store, opened.path_of(1));
    for (mode, is_private) in [(0o600, true), (0o644, true), (0o620, false), (0o602, false), (0o666, false)] {
        store.store(&key(1), &code(1));
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("ours");
        assert_eq!(store.load(&key(1)).is_some(), is_private, "{mode:o}");
    }
    store.store(&key(1), &code(1));
    assert!(store.load(&key(1)).is_some());
    // Only the superuser can give a file away, and only the superuser could still read it.
    if chown(&path, Some(65_534), None).is_ok() {
        assert_eq!(store.load(&key(1)), None);
    }
}

/// What takes the place of the folder while it is open has no part in anything.
#[cfg(unix)]
#[test]
fn a_folder_that_takes_the_place_of_the_open_one_is_not_looked_at() {
    let opened = opened();
    opened.store.store(&key(1), &code(1));
    let (path, moved) = (&opened.path, opened.folder.path().join("moved"));
    fs::rename(path, &moved).expect("ours");
    let planted = CodeFolder::open(path).expect("ours");
    for number in 1..4 {
        planted.store(&key(number), &code(77));
    }
    assert_eq!(opened.store.load(&key(1)), Some(code(1)));
    assert_eq!(opened.store.load(&key(2)), None);
    opened.store.store(&key(3), &code(3));
    assert_eq!((opened.store.load(&key(3)), planted.load(&key(3))), (Some(code(3)), Some(code(77))));
    assert!(moved.join(opened.store.name_of(Kind::Code, &key(3))).exists());
    // Nor is what a link leads to.
    fs::rename(path, opened.folder.path().join("planted")).expect("ours");
    std::os::unix::fs::symlink(opened.folder.path().join("planted"), path).expect("ours");
    assert_eq!(opened.store.load(&key(2)), None);
}
