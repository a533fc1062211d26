//! Errors of the façade.

use fuseline_ir::hop::infer::ShapeError;
use fuseline_ir::hop::{HopDag, HopOp, Span};
use fuseline_ir::program::Source;
use fuseline_lang::{Diagnostic, Diagnostics};
use fuseline_passes::size::ValidationError;
use fuseline_runtime::{RuntimeError, RuntimeErrorKind};
use fuseline_skeletons::BackendError;
use thiserror::Error as ThisError;

/// Why something could not be compiled or run.
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum Error {
    /// A script with mistakes, each with its place.
    #[error("{}", .0.render(false))]
    Script(Diagnostics),
    /// A script that failed while it ran, with the place.
    #[error("{}", .0.render(false))]
    Run(Diagnostics),
    /// An expression whose shapes or types do not fit.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// Sizes that do not fit.
    #[error(transparent)]
    Sizes(#[from] ValidationError),
    /// An expression that failed while it ran.
    #[error(transparent)]
    Execution(RuntimeError),
    /// The backend cannot serve on this machine, or is not part of this build.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// The operating system refuses threads.
    #[error("cannot start threads: {0}")]
    Threads(String),
    /// An option that does not exist yet.
    #[error("{0} is not there yet")]
    NotYet(String),
    /// Expressions of different builders in one operation.
    #[error("the operands belong to different builders")]
    DifferentBuilders,
}

impl Error {
    /// The error as a user sees it in a terminal, with or without colours.
    pub fn render(&self, color: bool) -> String {
        match self {
            Error::Script(diagnostics) | Error::Run(diagnostics) => diagnostics.render(color),
            other => format!("error: {other}\n"),
        }
    }
}

/// A run-time error with its place in the script; without a place it stays as it is.
pub(crate) fn located(error: RuntimeError, sources: &[Source]) -> Error {
    let Some(span) = error.span else { return Error::Execution(error) };
    let diagnostic = match error.kind {
        RuntimeErrorKind::Sizes(error) => validation(&error, span),
        kind => Diagnostic::new(span, kind.to_string()).here("while running this"),
    };
    Error::Run(Diagnostics { sources: sources.to_vec(), errors: vec![diagnostic] })
}

/// Shapes that do not fit, with the shape of each input and where it came from.
pub(crate) fn validation(error: &ValidationError, span: Span) -> Diagnostic {
    let mut diagnostic = Diagnostic::new(span, error.error.to_string()).here("shapes or types do not fit here");
    let inputs: Vec<String> = error
        .inputs
        .iter()
        .map(|input| {
            let size = if input.data_type.is_matrix() { input.size.to_string() } else { input.data_type.to_string() };
            format!("input {} is the {}: {size}", input.position, input.description)
        })
        .collect();
    for input in &error.inputs {
        if let Some(origin) = input.span.filter(|origin| *origin != span) {
            diagnostic = diagnostic.label(origin, format!("input {}: {}", input.position, input.size));
        }
    }
    diagnostic.help(inputs.join("; "))
}

/// The names of the variables that a DAG reads.
pub(crate) fn reads(dag: &HopDag) -> impl Iterator<Item = (&str, fuseline_ir::hop::HopId)> {
    dag.hops.iter().filter_map(|(id, hop)| match &hop.op {
        HopOp::Read(name) => Some((name.as_str(), id)),
        _ => None,
    })
}
