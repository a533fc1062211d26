//! A script and all files that it sources, parsed.

use crate::ast::Script;
use crate::diagnostic::Diagnostic;
use crate::parser;
use fuseline_ir::program::Source;
use std::collections::BTreeMap;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// A parsed file.
#[derive(Debug)]
pub(crate) struct File {
    pub(crate) script: Script,
    /// What stands before the names of its functions: nothing for the script, `a::` for a file sourced as `a`.
    pub(crate) prefix: String,
    /// The prefixes of the files that it sources, by namespace.
    pub(crate) imports: BTreeMap<String, String>,
    path: PathBuf,
}

/// All files, the script first.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) sources: Vec<Source>,
    pub(crate) files: Vec<File>,
    pub(crate) errors: Vec<Diagnostic>,
}

/// Parses a script and what it sources, each file once; files may source each other.
pub(crate) fn load(name: &str, text: &str, loader: &dyn Fn(&Path) -> io::Result<String>) -> Loaded {
    let mut loaded = Loaded { sources: Vec::new(), files: Vec::new(), errors: Vec::new() };
    loaded.add(PathBuf::from(name), text, String::new());
    let mut next = 0;
    while next < loaded.files.len() {
        loaded.import_all(next, loader);
        next += 1;
    }
    loaded
}

impl Loaded {
    fn add(&mut self, path: PathBuf, text: &str, prefix: String) {
        let number = self.sources.len() as u32;
        let is_too_long = u32::try_from(text.len()).is_err();
        let text = if is_too_long { "" } else { text };
        self.sources.push(Source { name: path.display().to_string(), text: Arc::from(text) });
        if is_too_long {
            let span = fuseline_ir::hop::Span { source: number, start: 0, end: 0 };
            self.errors.push(Diagnostic::new(span, "a script of more than 4 GiB"));
        }
        let script = parser::parse(number, text, &mut self.errors);
        self.files.push(File { script, prefix, imports: BTreeMap::new(), path });
    }

    fn import_all(&mut self, file: usize, loader: &dyn Fn(&Path) -> io::Result<String>) {
        let imports = std::mem::take(&mut self.files[file].script.imports);
        for import in imports {
            let namespace = import.namespace.text;
            if self.files[file].imports.contains_key(&namespace) {
                let message = format!("the namespace `{namespace}` is used twice");
                self.errors.push(Diagnostic::new(import.namespace.span, message).here("again here"));
                continue;
            }
            let path = resolve(&self.files[file].path, &import.path);
            let prefix = match self.files.iter().find(|other| other.path == path) {
                Some(known) => known.prefix.clone(),
                None => match loader(&path) {
                    Ok(text) => {
                        let prefix = format!("{}{namespace}::", self.files[file].prefix);
                        self.add(path, &text, prefix.clone());
                        prefix
                    }
                    Err(error) => {
                        let message = format!("cannot read `{}`: {error}", path.display());
                        self.errors.push(Diagnostic::new(import.span, message).here("sourced here"));
                        continue;
                    }
                },
            };
            self.files[file].imports.insert(namespace, prefix);
        }
    }
}

/// A path relative to the folder of the file that names it, without `.` and `..` where possible.
fn resolve(from: &Path, path: &str) -> PathBuf {
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
