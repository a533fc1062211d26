//! Errors with their places in the script: where they happened, what was worked on there, where that came from, and the
//! calls that led there.

use crate::error::Error;
use fuseline_ir::SizeInfo;
use fuseline_ir::hop::Span;
use fuseline_ir::program::Program;
use fuseline_lang::{Diagnostic, Diagnostics};
use fuseline_passes::size::{InputOrigin, ValidationError};
use fuseline_runtime::{CallSite, ErrorContext, RuntimeError, RuntimeErrorKind};

/// Places of calls that a message shows at most.
const SHOWN_CALLS: usize = 4;

/// A run-time error at its place in the script; without a place it stays as it is.
pub(crate) fn located(error: RuntimeError, program: &Program) -> Error {
    if matches!(error.kind, RuntimeErrorKind::Interrupted) {
        return Error::Interrupted;
    }
    let Some(span) = error.span else { return Error::Execution(error) };
    let ErrorContext { inputs, calls, sources } = *error.context;
    let evaluated = sources.map(|sources| Program { sources, ..Program::default() });
    let program = evaluated.as_ref().unwrap_or(program);
    let diagnostic = match error.kind {
        RuntimeErrorKind::Sizes(error) => misfit(&error, span, program),
        kind => {
            let remark = match kind {
                RuntimeErrorKind::Stop(_) => "stopped here",
                RuntimeErrorKind::Assert => "this does not hold",
                _ => "while running this",
            };
            let diagnostic = Diagnostic::new(program.written_at(span), kind.to_string()).here(remark);
            with_inputs(diagnostic, &inputs, program)
        }
    };
    let diagnostic = with_calls(diagnostic, &chain(span, &calls, program), program);
    Error::Run(Diagnostics { sources: program.sources.clone(), errors: vec![diagnostic] })
}

/// Sizes that do not fit, found before the script runs.
pub(crate) fn invalid(error: ValidationError, program: &Program) -> Error {
    let Some(span) = error.span else { return Error::Sizes(error) };
    let diagnostic = with_calls(misfit(&error, span, program), &chain(span, &error.calls, program), program);
    Error::Script(Diagnostics { sources: program.sources.clone(), errors: vec![diagnostic] })
}

fn misfit(error: &ValidationError, span: Span, program: &Program) -> Diagnostic {
    let diagnostic = Diagnostic::new(program.written_at(span), error.error.to_string());
    with_inputs(diagnostic.here("shapes or types do not fit here"), &error.inputs, program)
}

/// Adds what each input is, and where it came from.
fn with_inputs(mut diagnostic: Diagnostic, inputs: &[InputOrigin], program: &Program) -> Diagnostic {
    if inputs.is_empty() {
        return diagnostic;
    }
    for input in inputs {
        let Some(origin) = input.span.map(|span| program.written_at(span)) else { continue };
        let label = (origin, format!("{} comes from here", name(input)));
        if origin != diagnostic.span && !diagnostic.labels.contains(&label) {
            diagnostic.labels.push(label);
        }
    }
    let mut texts: Vec<String> = inputs.iter().map(|input| format!("{} is {}", name(input), shape(input))).collect();
    texts.dedup();
    diagnostic.help(texts.join(", "))
}

/// An input as messages name it.
fn name(input: &InputOrigin) -> String {
    match &input.variable {
        Some(variable) => match name_in_script(variable) {
            Some(name) => format!("`{name}`"),
            None => format!("input {}", input.position),
        },
        None => format!("the {}", input.description),
    }
}

/// The name that a variable has in the script: the locals of inlined functions are `_1_name`, and what the compiler made
/// has none.
fn name_in_script(variable: &str) -> Option<&str> {
    let Some(internal) = variable.strip_prefix('_') else { return Some(variable) };
    let (number, name) = internal.split_once('_')?;
    number.parse::<usize>().ok().and_then(|_| name_in_script(name))
}

fn shape(input: &InputOrigin) -> String {
    if !input.data_type.is_matrix() {
        return input.data_type.to_string();
    }
    let SizeInfo { rows, cols, .. } = input.size;
    let extent = |extent: Option<u64>| extent.map_or_else(|| "?".to_owned(), |count| count.to_string());
    format!("{} x {}", extent(rows), extent(cols))
}

/// The calls that a place is part of, the innermost first: those in whose place the body of the function stands, and
/// those that were made.
fn chain(span: Span, calls: &[CallSite], program: &Program) -> Vec<CallSite> {
    let mut chain = Vec::new();
    let inlined = |chain: &mut Vec<CallSite>, place: Option<Span>| {
        for inlined in place.map(|span| program.inlined_calls(span)).unwrap_or_default() {
            chain.push(CallSite { function: inlined.function.clone(), span: inlined.call });
        }
    };
    inlined(&mut chain, Some(span));
    for call in calls {
        chain.push(call.clone());
        inlined(&mut chain, call.span);
    }
    chain
}

/// The name by which a script calls a function: the entry of a library file (`m_l2svm` in `l2svm.dml`) has that of the
/// file, and its other functions theirs without a namespace.
fn called_name(function: &str) -> &str {
    let Some((file, name)) = function.split_once(".dml::") else { return function };
    let is_entry = name.get(1..).and_then(|rest| rest.strip_prefix('_')) == Some(file);
    if is_entry { file } else { name }
}

/// The file that was asked to run is the first.
const SCRIPT: u32 = 0;

/// Adds where the functions were called, the innermost first. Of an error within another file the call in the script comes
/// first: that is what its writer can mend.
fn with_calls(mut diagnostic: Diagnostic, calls: &[CallSite], program: &Program) -> Diagnostic {
    let mut labels: Vec<(Span, String)> = Vec::new();
    for call in calls {
        let Some(span) = call.span else { continue };
        let label = (program.written_at(span), format!("in `{}`, called here", called_name(&call.function)));
        if labels.len() < SHOWN_CALLS && !labels.contains(&label) {
            labels.push(label);
        }
    }
    if calls.len() > labels.len() {
        let help = diagnostic.help.take().map(|help| format!("{help}; ")).unwrap_or_default();
        diagnostic.help = Some(format!("{help}{} calls led there", calls.len()));
    }
    let in_script = calls.iter().rev().find_map(|call| {
        let span = program.written_at(call.span?);
        (span.source == SCRIPT).then(|| (span, format!("in `{}`, called here", called_name(&call.function))))
    });
    if let Some(label) = in_script.filter(|_| diagnostic.span.source != SCRIPT) {
        diagnostic.span = label.0;
        if !labels.contains(&label) {
            labels.push(label);
        }
    }
    diagnostic.labels.extend(labels);
    diagnostic
}
