//! Links those of LLVM's archives that the code generator needs, and nothing else that LLVM may have been built with: what
//! Z3, libxml2 and the like are for lies in members that nothing here refers to, which the linker leaves out.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The major version that the feature means.
const MAJOR: &str = "22";

/// Names the folder of LLVM, here as for `llvm-sys`.
const PREFIX_VARIABLE: &str = "LLVM_SYS_221_PREFIX";

/// What LLVM refers to for compressed sections of object files, if it was built so.
const COMPRESSION: &[&str] = &["z", "zstd"];

/// Prints what cargo tells the linker. Ends the build with the reason where something is missing.
pub(crate) fn link() {
    println!("cargo::rerun-if-env-changed={PREFIX_VARIABLE}");
    if let Err(reason) = try_link() {
        println!("cargo::error=cannot link LLVM {MAJOR} statically: {reason}");
        std::process::exit(1);
    }
}

fn try_link() -> Result<(), String> {
    let llvm_config = find_llvm_config()?;
    let ask = |arguments: &[&str]| output(Command::new(&llvm_config).args(arguments));
    let ask_for_components = |what| ask(&[&["--link-static", what], components()].concat());
    println!("cargo::rustc-link-search=native={}", ask(&["--libdir"])?.trim());
    for archive in ask_for_components("--libnames")?.split_whitespace() {
        link_archive(archive.trim_start_matches("lib").trim_end_matches(".a"));
    }
    let system = ask_for_components("--system-libs")?;
    for library in COMPRESSION.iter().filter(|library| refers_to(&system, library)) {
        println!("cargo::rustc-link-search=native={}", folder_of_archive(library)?.display());
        link_archive(library);
    }
    link_standard_library();
    Ok(())
}

/// The C++ standard library, as an archive where there is one, so that older systems, which have older versions of the
/// library, can load what is built.
fn link_standard_library() {
    if target("OS") == "macos" {
        println!("cargo::rustc-link-lib=dylib=c++");
    } else if let Ok(folder) = folder_of_archive("stdc++") {
        println!("cargo::rustc-link-search=native={}", folder.display());
        link_archive("stdc++");
    } else {
        println!("cargo::rustc-link-lib=dylib=stdc++");
    }
}

/// Not bundled: archives of 200 MB would be copied into this crate's.
fn link_archive(name: &str) {
    println!("cargo::rustc-link-lib=static:-bundle={name}");
}

/// The just-in-time linker, the pass pipeline, and all of the target's own processor family that its initialization names.
fn components() -> &'static [&'static str] {
    match target("ARCH").as_str() {
        "aarch64" => &[
            "orcjit",
            "passes",
            "aarch64asmparser",
            "aarch64codegen",
            "aarch64desc",
            "aarch64disassembler",
            "aarch64info",
        ],
        _ => &["orcjit", "passes", "x86asmparser", "x86codegen", "x86desc", "x86disassembler", "x86info"],
    }
}

fn target(property: &str) -> String {
    env::var(format!("CARGO_CFG_TARGET_{property}")).unwrap_or_default()
}

/// Looks where `llvm-sys` does, whose headers must be of the same LLVM; but for this major version alone.
fn find_llvm_config() -> Result<PathBuf, String> {
    let folder = env::var_os(PREFIX_VARIABLE).map(|prefix| PathBuf::from(prefix).join("bin")).unwrap_or_default();
    let names = ["llvm-config-22", "llvm-config22", "llvm22-config", "llvm-config"];
    let found = names.iter().map(|name| folder.join(name)).find(|program| has_major(program));
    found.ok_or_else(|| format!("there is no llvm-config of this version ({PREFIX_VARIABLE} names the folder of LLVM)"))
}

fn has_major(llvm_config: &Path) -> bool {
    output(Command::new(llvm_config).arg("--version")).is_ok_and(|version| version.split('.').next() == Some(MAJOR))
}

/// Whether the libraries that LLVM was linked with, as flags or paths, have this one among them.
fn refers_to(system_libraries: &str, library: &str) -> bool {
    let mut names = system_libraries.split_whitespace().map(|word| match word.strip_prefix("-l") {
        Some(name) => name,
        None => file_stem(word),
    });
    names.any(|name| name == library)
}

/// `z` of `/usr/lib/libz.so.1`.
fn file_stem(path: &str) -> &str {
    let file = path.rsplit('/').next().unwrap_or(path);
    file.strip_prefix("lib").unwrap_or(file).split('.').next().unwrap_or(file)
}

/// Asks the C compiler, which knows the system's folders.
fn folder_of_archive(library: &str) -> Result<PathBuf, String> {
    let compiler = env::var_os("CC").unwrap_or_else(|| "cc".into());
    let file = format!("lib{library}.a");
    let path = output(Command::new(compiler).arg(format!("-print-file-name={file}")))?;
    let folder = Path::new(path.trim()).parent().filter(|folder| folder.is_absolute()).map(Path::to_owned);
    folder.ok_or_else(|| format!("{file}, which LLVM refers to, is not installed"))
}

fn output(command: &mut Command) -> Result<String, String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("{program}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{program}: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
