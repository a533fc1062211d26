//! Fuseline's front end: DML, the R-like language of Apache SystemML and SystemDS, to programs.
//!
//! [`parse`] takes a script to a [`Program`]: statement blocks cut by control flow, one HOP DAG per straight-line
//! block (section 2.1, P011). Text becomes tokens, tokens a syntax tree, the tree a program; the last step also checks
//! names, arguments, types and the shapes that are known already. Errors are [`Diagnostics`]: several per script, each
//! with its place and a way to mend it. No text makes this crate panic or exhaust the stack.
#![forbid(unsafe_code)]

mod argument;
mod ast;
mod diagnostic;
mod files;
mod ignored_names;
mod library;
mod load;
mod lower;
#[cfg(test)]
mod messages;
mod parser;
mod second_names;
mod suggest;
mod token;
mod walk;

pub use argument::Argument;
pub use diagnostic::{Diagnostic, Diagnostics, Severity};
pub use files::{read_script, read_script_text};
pub use library::{Library, NoLibrary};

use fuseline_ir::DataType;
use fuseline_ir::program::{Evaluation, Program, Source};
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::Path;

/// What a script may ask of its surroundings.
pub struct ParseOptions<'a> {
    /// The values of `$name` and `$1`, by name without `$`.
    pub arguments: BTreeMap<String, Argument>,
    /// The types of variables that have values before the script runs. A statement that reads one of them from a file,
    /// `X = read(...)`, is left out.
    pub inputs: BTreeMap<String, DataType>,
    /// Reads a file for `source("...")`, whose path is looked for beside the file that sources it, in the folders of the
    /// library, and as it is; and the `.mtd` file beside the data file of a `read`, which tells scalars from matrices.
    pub loader: &'a dyn Fn(&Path) -> io::Result<String>,
    /// Where functions come from that the script calls, but neither defines nor finds among the builtin ones.
    pub library: &'a dyn Library,
}

impl ParseOptions<'_> {
    /// No arguments, files from the file system, and no library.
    pub fn from_files() -> Self {
        let loader = &|path: &Path| read_script_text(path);
        ParseOptions { arguments: BTreeMap::new(), inputs: BTreeMap::new(), loader, library: &NoLibrary }
    }
}

impl fmt::Debug for ParseOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ParseOptions").field("arguments", &self.arguments).finish_non_exhaustive()
    }
}

/// Translates a script into a program.
///
/// `source_name` is the script's path as the user gave it, or a name such as `<text>`; `source("...")` looks in
/// its folder first. An argument is substituted for every `$name` as a literal.
///
/// # Errors
/// All errors that were found, in the order of the texts. Names and types are not checked in a file that does not parse.
pub fn parse(source_name: &str, text: &str, options: &ParseOptions<'_>) -> Result<Program, Diagnostics> {
    parse_with_warnings(source_name, text, options).map(|(program, _)| program)
}

/// Translates a script like [`parse()`], and warns of what is likely not meant as it is written.
///
/// # Errors
/// The errors of [`parse()`].
pub fn parse_with_warnings(
    source_name: &str,
    text: &str,
    options: &ParseOptions<'_>,
) -> Result<(Program, Diagnostics), Diagnostics> {
    let mut loaded = load::load(source_name, text, options);
    let mut errors = std::mem::take(&mut loaded.errors);
    let program = lower::lower(&loaded, options, &mut errors);
    let load::Loaded { sources, files, .. } = loaded;
    if errors.is_empty() {
        let warnings = files.into_iter().flat_map(|file| {
            let names = ignored_names::ignored_names(&file.script);
            file.script.warnings.into_iter().chain(names)
        });
        let program = Program { sources: sources.clone(), ..program };
        return Ok((program, Diagnostics { sources, errors: warnings.collect() }));
    }
    errors.sort_by_key(|error| (error.span.source, error.span.start));
    Err(Diagnostics { sources, errors })
}

/// A program that calls what a text names, within a script that runs: its arguments are the variables of the evaluation,
/// and it leaves its result as [`Evaluation::VALUE`]. `sources` are those of the program that makes the call; those of
/// the result begin with them.
///
/// # Errors
/// There is no such function, or it does not take these arguments.
pub fn parse_evaluation(
    sources: &[Source],
    evaluation: &Evaluation,
    options: &ParseOptions<'_>,
) -> Result<Program, Diagnostics> {
    let function = ast::Name { text: evaluation.function.clone(), span: evaluation.place };
    let mut loaded = load::reload(sources, &function, options);
    let mut errors = std::mem::take(&mut loaded.errors);
    let program = lower::lower_evaluation(&loaded, evaluation, options, &mut errors);
    if errors.is_empty() {
        return Ok(Program { sources: loaded.sources, ..program });
    }
    Err(Diagnostics { sources: loaded.sources, errors })
}
