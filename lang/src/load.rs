//! A script, all files that it sources, and the library files of functions that it calls, parsed.

use crate::ast::{Name, Script};
use crate::diagnostic::Diagnostic;
use crate::parser;
use crate::second_names::{SecondName, second_names};
use crate::walk::calls_of;
use crate::{Library, ParseOptions};
use fuseline_ir::builtins;
use fuseline_ir::program::Source;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// What some editors put before a text in UTF-8.
pub(crate) const BYTE_ORDER_MARK: char = '\u{feff}';
/// What ends the prefix of a library file.
pub(crate) const LIBRARY_MARK: &str = ".dml::";

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
    /// Of the parameters of a library file's entry.
    pub(crate) second_names: Vec<SecondName>,
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
    loaded.complete(0, options);
    loaded
}

/// The files of a program again, in the same order, and that of a function which is now called as well.
pub(crate) fn reload(sources: &[Source], function: &Name, options: &ParseOptions<'_>) -> Loaded {
    let known = |name: &str| sources.iter().find(|source| source.name == name);
    let loader = |path: &Path| match known(&path.display().to_string()) {
        Some(source) => Ok(source.text.to_string()),
        None => (options.loader)(path),
    };
    let library = KnownLibrary { sources, library: options.library };
    let options = ParseOptions {
        arguments: options.arguments.clone(),
        inputs: options.inputs.clone(),
        loader: &loader,
        library: &library,
    };
    let Some(script) = sources.first() else { return Loaded::default() };
    let mut loaded = load(&script.name, &script.text, &options);
    // Those of functions that other texts named.
    while let Some(source) = sources.get(loaded.sources.len()) {
        let function_of = Path::new(&source.name).file_stem().map(|stem| stem.to_string_lossy().into_owned());
        let count = loaded.sources.len();
        let name = Name { text: function_of.unwrap_or_default(), span: function.span };
        loaded.add_function(&name, &options);
        if loaded.sources.len() == count {
            break;
        }
    }
    let is_own = |file: &File| file.script.functions.iter().any(|own| own.name.text == function.text);
    let is_known = loaded.files.get(function.span.source as usize).is_some_and(is_own);
    if !is_known && !function.text.contains("::") && builtins::find(&function.text).is_none() {
        loaded.add_function(function, &options);
    }
    loaded
}

/// The library that a program was loaded from, with the texts that it had then.
struct KnownLibrary<'a> {
    sources: &'a [Source],
    library: &'a dyn Library,
}

impl Library for KnownLibrary<'_> {
    fn find(&self, function: &str) -> io::Result<Option<Source>> {
        let found = self.library.find(function)?;
        let known = |found: &Source| self.sources.iter().find(|source| source.name == found.name).cloned();
        Ok(found.map(|found| known(&found).unwrap_or(found)))
    }

    fn folders(&self) -> &[PathBuf] {
        self.library.folders()
    }

    fn names(&self) -> Vec<String> {
        self.library.names()
    }
}

impl Loaded {
    /// The file whose functions have names of this prefix.
    pub(crate) fn file(&self, prefix: &str) -> Option<&File> {
        self.files.iter().find(|file| file.prefix == prefix)
    }

    fn add(&mut self, path: PathBuf, text: &str, prefix: String) {
        let number = self.sources.len() as u32;
        let is_too_long = u32::try_from(text.len()).is_err();
        let text = if is_too_long { "" } else { text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text) };
        self.sources.push(Source { name: path.display().to_string(), text: Arc::from(text) });
        let errors_before = self.errors.len();
        if is_too_long {
            let span = fuseline_ir::hop::Span { source: number, start: 0, end: 0 };
            self.errors.push(Diagnostic::new(span, "a script of more than 4 GiB"));
        }
        let script = parser::parse(number, text, &mut self.errors);
        let is_whole = self.errors.len() == errors_before;
        let second_names = self.second_names(number, text, &prefix);
        self.files.push(File { script, prefix, imports: BTreeMap::new(), is_whole, path, second_names });
    }

    /// The second names that a library file declares.
    fn second_names(&mut self, number: u32, text: &str, prefix: &str) -> Vec<SecondName> {
        if !prefix.ends_with(LIBRARY_MARK) {
            return Vec::new();
        }
        second_names(number, text).unwrap_or_else(|span| {
            let error = Diagnostic::new(span, "this declares no second name of a parameter");
            self.errors.push(error.help("write `second = first`, separated by commas"));
            Vec::new()
        })
    }

    /// Adds what the files from this one on source and call.
    fn complete(&mut self, mut next: usize, options: &ParseOptions<'_>) {
        while next < self.files.len() {
            self.import_all(next, options);
            self.add_called(next, options);
            next += 1;
        }
    }

    /// Adds the library's file of a function, unless it was looked for before.
    fn add_function(&mut self, function: &Name, options: &ParseOptions<'_>) {
        if !self.library.contains_key(&function.text) {
            let next = self.files.len();
            let file = self.add_library_file(function, options);
            self.library.insert(function.text.clone(), file);
            self.complete(next, options);
        }
    }

    fn import_all(&mut self, file: usize, options: &ParseOptions<'_>) {
        let imports = std::mem::take(&mut self.files[file].script.imports);
        for import in imports {
            let namespace = import.namespace.text;
            let found = self.find(&self.files[file].path, &import.path, options);
            if let Some(first) = self.files[file].imports.get(&namespace) {
                let is_same = matches!((first, &found), (Some(first), Found::Known(again)) if first == again);
                if !is_same {
                    let message = format!("the namespace `{namespace}` is used twice");
                    self.errors.push(Diagnostic::new(import.namespace.span, message).here("again here"));
                }
                continue;
            }
            let prefix = match found {
                Found::Known(prefix) => Some(prefix),
                Found::Text(path, text) => {
                    let prefix = format!("{}{namespace}::", self.files[file].prefix);
                    self.add(path, &text, prefix.clone());
                    Some(prefix)
                }
                Found::Failed(message, help) => {
                    let error = Diagnostic::new(import.span, message).here("sourced here");
                    self.errors.push(error.maybe_help(help));
                    None
                }
            };
            self.files[file].imports.insert(namespace, prefix);
        }
    }

    /// The file of this path: beside the file that sources it, in a folder of the library, or in the working directory.
    fn find(&self, from: &Path, path: &Path, options: &ParseOptions<'_>) -> Found {
        let beside = from.parent().unwrap_or(Path::new(""));
        let folders = options.library.folders().iter().map(PathBuf::as_path);
        let mut places: Vec<PathBuf> = Vec::new();
        for folder in std::iter::once(beside).chain(folders).chain([Path::new("")]) {
            let place = normalised(&folder.join(path));
            if !places.contains(&place) {
                places.push(place);
            }
        }
        for place in &places {
            if let Some(known) = self.files.iter().find(|known| known.path == *place) {
                return Found::Known(known.prefix.clone());
            }
            match (options.loader)(place) {
                Ok(text) => return Found::Text(place.clone(), text),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Found::Failed(format!("cannot read `{}`: {error}", place.display()), None),
            }
        }
        let looked: Vec<String> = places.iter().map(|place| format!("`{}`", place.display())).collect();
        let message = format!("there is no file `{}`", path.display());
        Found::Failed(message, Some(format!("looked for {}", looked.join(", "))))
    }

    /// Adds the library files of the functions that a file calls, but neither it nor DML itself has.
    fn add_called(&mut self, file: usize, options: &ParseOptions<'_>) {
        let script = &self.files[file].script;
        let own: BTreeSet<&str> = script.functions.iter().map(|function| function.name.text.as_str()).collect();
        let mut wanted: BTreeMap<String, Name> = BTreeMap::new();
        let calls = calls_of(script).into_iter().filter(|call| call.namespace.is_none());
        for name in calls.map(|call| call.evaluated_name().unwrap_or_else(|| call.function.clone())) {
            let is_known = own.contains(name.text.as_str()) || builtins::find(&name.text).is_some();
            if !is_known && !self.library.contains_key(&name.text) {
                wanted.entry(name.text.clone()).or_insert(name);
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
                let prefix = format!("{}{LIBRARY_MARK}", function.text);
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

/// What came of looking for a file.
enum Found {
    /// A file that is loaded, with the prefix of its functions.
    Known(String),
    /// A file that is not loaded yet, and its text.
    Text(PathBuf, String),
    /// An error message, and how to mend it.
    Failed(String, Option<String>),
}

/// A path without `.` and `..` where possible.
fn normalised(path: &Path) -> PathBuf {
    let mut normalised = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir if matches!(normalised.components().next_back(), Some(Component::Normal(_))) => {
                normalised.pop();
            }
            other => normalised.push(other),
        }
    }
    normalised
}
