//! `eval`: what a text names at run time is compiled like a script.

use crate::library::ScriptLibrary;
use crate::session::Session;
use fuseline_ir::program::{Evaluation, Program, Source};
use fuseline_lang::{Argument, Diagnostics, ParseOptions};
use fuseline_passes::size::VariableFacts;
use fuseline_runtime::Evaluator;
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;

/// Compiles the calls of a script in a session.
pub(crate) struct ScriptEvaluator<'a> {
    pub(crate) session: &'a Session,
    /// The values of `$name` and `$1`.
    pub(crate) arguments: &'a BTreeMap<String, Argument>,
}

impl Evaluator for ScriptEvaluator<'_> {
    fn program(&self, evaluation: &Evaluation, sources: &[Source]) -> Result<Program, Box<dyn Error + Send + Sync>> {
        let library = &ScriptLibrary { folders: &self.session.options().library_folders };
        let options = ParseOptions { arguments: self.arguments.clone(), library, ..ParseOptions::from_files() };
        let program = fuseline_lang::parse_evaluation(sources, evaluation, &options)
            .map_err(|errors| message(&errors, evaluation))?;
        let variable = |name: &str, data_type| (name.to_owned(), VariableFacts::of_type(data_type));
        let types = evaluation.variables().map(|argument| variable(&argument.variable, argument.data_type)).collect();
        let results = BTreeSet::from([Evaluation::VALUE.to_owned()]);
        Ok(self.session.simplified(program, &types, &results)?)
    }
}

/// The first error, which stands at the call itself or at a place of its own.
fn message(errors: &Diagnostics, evaluation: &Evaluation) -> String {
    match errors.errors.first().filter(|error| error.span == evaluation.place) {
        Some(error) => {
            let help = error.help.as_ref().map_or(String::new(), |help| format!("; {help}"));
            format!("{}{help}", error.message)
        }
        None => errors.to_string(),
    }
}
