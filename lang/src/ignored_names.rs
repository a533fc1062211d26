//! Names of arguments that mean nothing: those of builtin functions whose parameters have no names.

use crate::ast::{Call, Name, Script};
use crate::diagnostic::Diagnostic;
use crate::walk::calls_of;
use fuseline_ir::builtins::{self, Builtin};

/// A warning for each such name in a file, unless it is what we call the parameter of its position.
pub(crate) fn ignored_names(script: &Script) -> Vec<Diagnostic> {
    let is_own = |call: &Call| script.functions.iter().any(|own| own.name.text == call.function.text);
    let mut warnings = Vec::new();
    for call in calls_of(script) {
        let has_names = call.arguments.iter().any(|argument| argument.name.is_some());
        if !has_names || !call.goes_by_position() || call.namespace.is_some() || is_own(call) {
            continue;
        }
        if let Some(builtin) = builtins::find(&call.function.text).filter(|builtin| !builtin.has_names) {
            let names = call.arguments.iter().map(|argument| argument.name.as_ref()).enumerate();
            warnings.extend(names.filter_map(|(position, name)| warning(builtin, position, name?)));
        }
    }
    warnings.sort_by_key(|warning| warning.span.start);
    warnings
}

fn warning(builtin: &Builtin, position: usize, name: &Name) -> Option<Diagnostic> {
    let parameter = builtin.parameters.get(position).map(|parameter| parameter.name);
    let message =
        format!("the name `{}` has no meaning: the arguments of `{}` go by position", name.text, builtin.name);
    let warning = Diagnostic::warning(name.span, message).here("without effect");
    let help = parameter.map(|parameter| format!("this argument is `{parameter}`"));
    (parameter != Some(&*name.text)).then(|| warning.maybe_help(help))
}
