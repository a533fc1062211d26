//! Gives the crate a fingerprint of the sources that decide what its code does: the generator, the primitives that code
//! calls, the operations and the layout of units. Code that is kept for other processes is found only under the same.
//! With the feature `llvm22-static` it also tells the linker which archives of LLVM are needed.

mod static_llvm;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The sources, relative to this crate.
const SOURCES: &[&str] = &["src", "../vecprims/src", "../ops/src", "../ir/src", "../skeletons/src"];

/// What is in published packages alone: there the other sources follow from the version of this crate, which names theirs.
const PUBLISHED: &str = "Cargo.toml.orig";

fn main() -> io::Result<()> {
    if std::env::var_os("CARGO_FEATURE_LLVM22_STATIC").is_some() {
        static_llvm::link();
    }
    fingerprint()
}

fn fingerprint() -> io::Result<()> {
    let sources = if Path::new(PUBLISHED).exists() { &SOURCES[..1] } else { SOURCES };
    let mut files = Vec::new();
    for source in sources {
        println!("cargo::rerun-if-changed={source}");
        collect(Path::new(source), &mut files)?;
    }
    files.sort();
    let mut hasher = blake3::Hasher::new();
    for file in files {
        hasher.update(file.as_os_str().as_encoded_bytes()).update(&fs::read(&file)?);
    }
    println!("cargo::rustc-env=FUSELINE_SOURCES={}", hasher.finalize().to_hex());
    Ok(())
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}
