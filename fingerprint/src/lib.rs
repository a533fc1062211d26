//! A hash of sources, for build scripts of crates that keep something for other processes: what one build of the
//! program keeps is found by builds of the same sources alone.
#![forbid(unsafe_code)]

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What is in published packages alone: there all other sources follow from the version of the crate, which names
/// theirs.
const PUBLISHED: &str = "Cargo.toml.orig";

/// Sets `FUSELINE_SOURCES` for the crate that is built: a hash of these files and folders, relative to it, of which the
/// first are its own.
///
/// # Errors
/// A source cannot be read.
pub fn of_sources(sources: &[&str]) -> io::Result<()> {
    let sources = if Path::new(PUBLISHED).exists() { &sources[..1] } else { sources };
    let mut files = Vec::new();
    for source in sources {
        println!("cargo::rerun-if-changed={source}");
        collect(PathBuf::from(source), &mut files)?;
    }
    files.sort();
    let mut hasher = blake3::Hasher::new();
    for file in files {
        hasher.update(file.as_os_str().as_encoded_bytes()).update(&fs::read(&file)?);
    }
    println!("cargo::rustc-env=FUSELINE_SOURCES={}", hasher.finalize().to_hex());
    Ok(())
}

fn collect(path: PathBuf, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if !path.is_dir() {
        files.push(path);
        return Ok(());
    }
    for entry in fs::read_dir(path)? {
        collect(entry?.path(), files)?;
    }
    Ok(())
}
