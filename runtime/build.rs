//! Gives the crate a fingerprint of the sources that decide plans. Plans that are kept for other processes are found only
//! under the same.

/// The sources, relative to this crate. The lock file names the versions of what they use, such as of the e-graph.
const SOURCES: &[&str] = &["src", "../passes/src", "../ir/src", "../ops/src", "../Cargo.lock"];

fn main() -> std::io::Result<()> {
    fuseline_fingerprint::of_sources(SOURCES)
}
