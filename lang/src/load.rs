//! A script, all files that it sources, and the library files of functions that it calls, parsed.

use crate::ParseOptions;
use crate::ast::{Name, Script};
use crate::diagnostic::Diagnostic;
use crate::parser;
use crate::walk::calls_of;
use fuseline_ir::builtins;
use fuseline_ir::program::Source;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// A parsed file.
#[derive(Debug)]
pub(crate) struct File {
    pub(crate) script: Script,
    /// What stands before the names of its functions: nothing for the script, `a::` for a file sourced as `a`,
    /// `l2svm.dml::` for the library's file of `l2svm`.
    pub(crate) prefix: String,
    /// The prefixes of the files that it sources, by namespace; none for a file that could not be read.
    pub(crate) imports: BTreeMap<String, Option<String>>,
    /// Whether it parsed without errors; else functions may be missing.
    pub(crate) is_whole: bool,
    pub(crate) path: PathBuf,
}

/// What a library has for a function.
#[derive(Debug)]
pub(crate) enum LibraryFile {
    /// A file, with the prefix of its functions.
    Loaded(String),
    /// No file.
    Missing,
    /// A file that cannot be read, which was reported.
    Unreadable,
}

/// All files, the script first.
#[derive(Debug, Default)]
pub(crate) struct Loaded {
    pub(crate) sources: Vec<Source>,
    pub(crate) files: Vec<File>,
    /// The library files by the function that they are called for.
    pub(crate) library: BTreeMap<String, LibraryFile>,
    pub(crate) errors: Vec<Diagnostic>,
}

/// Parses a script, what it sources, and what it calls from a library, each file once; files may source and call each
/// other.
pub(crate) fn load(name: &str, text: &str, options: &ParseOptions<'_>) -> Loaded {
    let mut loaded = Loaded::default();
    loaded.add(PathBuf::from(name), text, String::new());
    let mut next = 0;
    while next < loaded.files.len() {
        loaded.import_all(next, options);
        loaded.add_called(next, options);
        next += 1;
    }
    loaded
}

impl Loaded {
    /// The file whose functions have names of this prefix.
    pub(crate) fn file(&self, prefix: &str) -> Option<&File> {
        self.files.iter().find(|file| file.prefix == prefix)
    }

    fn add(&mut self, path: PathBuf, text: &str, prefix: String) {
        let number = self.sources.len() as u32;
        let is_too_long = u32::try_from(text.len()).is_err();
        let text = if is_too_long { "" } else { text };
        self.sources.push(Source { name: path.display().to_string(), text: Arc::from(text) });
        let errors_before = self.errors.len();
        if is_too_long {
            let span = fuseline_ir::hop::Span { source: number, start: 0, end: 0 };
            self.errors.push(Diagnostic::new(span, "a script of more than 4 GiB"));
        }
        let script = parser::parse(number, text, &mut self.errors);
        let is_whole = self.errors.len() == errors_before;
        self.files.push(File { script, prefix, imports: BTreeMap::new(), is_whole, path });
    }

    fn import_all(&mut self, file: usize, options: &ParseOptions<'_>) {
        let imports = std::mem::take(&mut self.files[file].script.imports);
        for import in imports {
            let namespace = import.namespace.text;
            if self.files[file].imports.contains_key(&namespace) {
                let message = format!("the namespace `{namespace}` is used twice");
                self.errors.push(Diagnostic::new(import.namespace.span, message).here("again here"));
                continue;
            }
            let path = resolve(&self.files[file].path, &import.path);
            let known = self.files.iter().find(|other| other.path == path).map(|other| other.prefix.clone());
            let prefix = known.or_else(|| match (options.loader)(&path) {
                Ok(text) => {
                    let prefix = format!("{}{namespace}::", self.files[file].prefix);
                    self.add(path, &text, prefix.clone());
                    Some(prefix)
                }
                Err(error) => {
                    let message = format!("cannot read `{}`: {error}", path.display());
                    self.errors.push(Diagnostic::new(import.span, message).here("sourced here"));
                    None
                }
            });
            self.files[file].imports.insert(namespace, prefix);
        }
    }

    /// Adds the library files of the functions that a file calls, but neither it nor DML itself has.
    fn add_called(&mut self, file: usize, options: &ParseOptions<'_>) {
        let script = &self.files[file].script;
        let own: BTreeSet<&str> = script.functions.iter().map(|function| function.name.text.as_str()).collect();
        let mut wanted: BTreeMap<String, Name> = BTreeMap::new();
        for call in calls_of(script).into_iter().filter(|call| call.namespace.is_none()) {
            let name = &call.function;
            let is_known = own.contains(name.text.as_str()) || builtins::find(&name.text).is_some();
            if !is_known && !self.library.contains_key(&name.text) {
                wanted.entry(name.text.clone()).or_insert_with(|| name.clone());
            }
        }
        for (function, place) in wanted {
            let file = self.add_library_file(&place, options);
            self.library.insert(function, file);
        }
    }

    fn add_library_file(&mut self, function: &Name, options: &ParseOptions<'_>) -> LibraryFile {
        match options.library.find(&function.text) {
            Ok(None) => LibraryFile::Missing,
            Ok(Some(source)) => {
                // No namespace has a dot.
                let prefix = format!("{}.dml::", function.text);
                self.add(PathBuf::from(source.name), &source.text, prefix.clone());
                LibraryFile::Loaded(prefix)
            }
            Err(error) => {
                let message = format!("cannot read the library's file of `{}`: {error}", function.text);
                self.errors.push(Diagnostic::new(function.span, message).here("called here"));
                LibraryFile::Unreadable
            }
        }
    }
}

/// A path relative to the folder of the file that names it, without `.` and `..` where possible.
fn resolve(from: &Path, path: &Path) -> PathBuf {
    let joined = from.parent().unwrap_or(Path::new("")).join(path);
    let mut resolved = PathBuf::new();
    for component in joined.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir if matches!(resolved.components().next_back(), Some(Component::Normal(_))) => {
                resolved.pop();
            }
            other => resolved.push(other),
        }
    }
    resolved
}
