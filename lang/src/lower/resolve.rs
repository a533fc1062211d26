//! The functions that calls mean: those of the same file, of a namespace, builtin ones, then those of libraries.

use super::function::{ENTRIES, Signature};
use super::{Lowered, Lowerer, Reported};
use crate::ast::{Call, Expression};
use crate::diagnostic::Diagnostic;
use crate::load::LibraryFile;
use crate::suggest;
use fuseline_ir::builtins::{self, Builtin};
use fuseline_ir::types::DataType;

impl<'a> Lowerer<'a> {
    /// The function written in DML that a call means, if it means one.
    pub(super) fn user_function(&mut self, call: &Call) -> Option<&'a Signature<'a>> {
        let name = &call.function.text;
        if let Some(namespace) = &call.namespace {
            let prefix = self.file.imports.get(&namespace.text)?.as_ref()?;
            return self.signatures.get(&format!("{prefix}{name}"));
        }
        let own = self.signatures.get(&format!("{}{name}", self.file.prefix));
        if own.is_some() || builtins::find(name).is_some() {
            return own;
        }
        self.library_function(call)
    }

    /// The builtin function that a call means, if it means one.
    pub(super) fn builtin_function(&mut self, call: &Call) -> Option<&'static Builtin> {
        if call.namespace.is_some() || self.user_function(call).is_some() {
            return None;
        }
        builtins::find(&call.function.text)
    }

    /// The entry of a library file: of several, the one for the kind of the first argument.
    fn library_function(&mut self, call: &Call) -> Option<&'a Signature<'a>> {
        let name = &call.function.text;
        let Some(LibraryFile::Loaded(prefix)) = self.loaded.library.get(name) else { return None };
        let entry = |kind: &str| self.signatures.get(&format!("{prefix}{kind}{name}"));
        let mut entries = ENTRIES.into_iter().filter_map(entry);
        let first = entries.next()?;
        if entries.next().is_none() {
            return Some(first);
        }
        let data_type = call.arguments.first().map_or(DataType::Unknown, |argument| self.type_of(&argument.value));
        let kind = match data_type {
            DataType::Matrix(_) | DataType::Unknown => "m_",
            DataType::Scalar(_) => "s_",
            DataType::Frame => "f_",
            DataType::List => "l_",
        };
        Some(self.signatures.get(&format!("{prefix}{kind}{name}")).unwrap_or(first))
    }

    /// The type of an expression whose calls were hoisted, lowered for this alone.
    pub(super) fn type_of(&mut self, expression: &Expression) -> DataType {
        let (outer, errors) = (std::mem::take(&mut self.blocks), self.errors.len());
        let value = self.expression(expression);
        let data_type = value.map_or(DataType::Unknown, |value| self.blocks.dag[value].data_type);
        self.blocks = outer;
        self.errors.truncate(errors);
        data_type
    }

    /// Says that a call means no function.
    pub(super) fn unknown_function<T>(&mut self, call: &Call) -> Lowered<T> {
        let name = &call.function;
        if call.namespace.is_some() {
            return self.not_in_namespace(call);
        }
        match self.loaded.library.get(&name.text) {
            Some(LibraryFile::Loaded(prefix)) => return self.library_file_without_entry(call, prefix),
            Some(LibraryFile::Unreadable) => return Err(Reported),
            Some(LibraryFile::Missing) | None => {}
        }
        if builtins::is_not_yet(&name.text) {
            let message = format!("the builtin function `{}` is not supported yet", name.text);
            let help = "in SystemDS it is a script: pass the folder that has its file with `--lib`".to_owned();
            let help = Some(help).filter(|_| builtins::is_script_not_yet(&name.text));
            return self.report(Diagnostic::new(name.span, message).here("not supported yet").maybe_help(help));
        }
        let library = self.library.names();
        let own = self.file.script.functions.iter().map(|function| &*function.name.text);
        let builtin = builtins::all().map(|builtin| builtin.name).chain(builtins::not_yet());
        let known = own.chain(library.iter().map(|name| &**name)).chain(builtin.map(|name| -> &str { name }));
        let help = suggest::nearest(&name.text, known);
        let error = Diagnostic::new(name.span, format!("there is no function `{}`", name.text)).here("not found");
        self.report(error.maybe_help(help))
    }

    fn not_in_namespace<T>(&mut self, call: &Call) -> Lowered<T> {
        let (Some(namespace), name) = (&call.namespace, &call.function) else { return Err(Reported) };
        let Some(prefix) = self.file.imports.get(&namespace.text) else {
            let error = Diagnostic::new(namespace.span, format!("there is no namespace `{}`", namespace.text));
            let known = suggest::nearest(&namespace.text, self.file.imports.keys().map(String::as_str));
            let help = format!("write `source(\"file.dml\") as {}` first", namespace.text);
            return self.report(error.help(help).maybe_help(known));
        };
        // What could not be read or parsed was reported.
        let file = prefix.as_ref().and_then(|prefix| self.loaded.file(prefix)).filter(|file| file.is_whole);
        let Some(file) = file else { return Err(Reported) };
        let known = file.script.functions.iter().map(|function| function.name.text.as_str());
        let help = suggest::nearest(&name.text, known);
        let message = format!("the namespace `{}` has no function `{}`", namespace.text, name.text);
        self.report(Diagnostic::new(name.span, message).here("not found").maybe_help(help))
    }

    fn library_file_without_entry<T>(&mut self, call: &Call, prefix: &str) -> Lowered<T> {
        let (name, path) = match self.loaded.file(prefix) {
            Some(file) if file.is_whole => (&call.function, file.path.display()),
            _ => return Err(Reported),
        };
        let message = format!("the library file `{path}` defines no function `m_{}`", name.text);
        self.report(Diagnostic::new(name.span, message).here("not found"))
    }
}
