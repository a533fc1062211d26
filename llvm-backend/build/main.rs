//! Gives the crate a fingerprint of the sources that decide what its code does: the generator, the primitives that code
//! calls, the operations and the layout of units. Code that is kept for other processes is found only under the same.
//! With the feature `llvm22-static` it also tells the linker which archives of LLVM are needed.

mod static_llvm;

/// The sources, relative to this crate.
const SOURCES: &[&str] = &["src", "../vecprims/src", "../ops/src", "../ir/src", "../skeletons/src"];

fn main() -> std::io::Result<()> {
    if std::env::var_os("CARGO_FEATURE_LLVM22_STATIC").is_some() {
        static_llvm::link();
    }
    fuseline_fingerprint::of_sources(SOURCES)
}
