//! Errors of the façade.

use crate::expression::ExprError;
use fuseline_ir::DataType;
use fuseline_lang::Diagnostics;
use fuseline_matrix::{AllocationFailure, CsrError};
use fuseline_passes::size::ValidationError;
use fuseline_runtime::RuntimeError;
use fuseline_skeletons::BackendError;
use std::sync::Arc;
use thiserror::Error as ThisError;

/// Why something could not be compiled or run.
///
/// ```
/// use fuseline::{Error, Session};
///
/// let session = Session::builder().build()?;
/// let error = session.compile_script("loss.dml", "y = sum(X)", &[]).unwrap_err();
/// assert!(matches!(error, Error::Script(_)));
/// assert!(error.render(false).contains("loss.dml"), "with the place, as a terminal shows it");
/// # Ok::<(), Error>(())
/// ```
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
    Expression(Arc<ExprError>),
    /// Sizes that do not fit.
    #[error(transparent)]
    Sizes(#[from] ValidationError),
    /// An expression that failed while it ran.
    #[error(transparent)]
    Execution(RuntimeError),
    /// The backend cannot serve on this machine, or is not part of this build.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// The run was interrupted from outside.
    #[error("interrupted")]
    Interrupted,
    /// The operating system refuses memory, outside of operators.
    #[error("the script needs {0}")]
    Memory(AllocationFailure),
    /// The operating system refuses threads.
    #[error("cannot start threads: {0}")]
    Threads(String),
    /// A name that is no input of a prepared script.
    #[error("the script has no input `{name}`; its inputs are {}", .known.join(", "))]
    NoSuchInput {
        /// The name.
        name: String,
        /// The inputs.
        known: Vec<String>,
    },
    /// A value for an input of another type.
    #[error("the input `{name}` is declared as {expected}, not {actual}")]
    InputType {
        /// The input.
        name: String,
        /// Its declared type.
        expected: DataType,
        /// The type of the value.
        actual: DataType,
    },
    /// An input without a value.
    #[error("the input `{0}` was not bound before the script ran")]
    UnboundInput(String),
    /// A borrowed matrix whose owner changed its positions to what forms none.
    #[error("the input `{name}` was changed by its owner: {error}")]
    Borrowed {
        /// The input.
        name: String,
        /// What its positions are.
        error: CsrError,
    },
    /// A variable that a script does not compute.
    #[error("the script does not compute `{0}`")]
    NoSuchOutput(String),
    /// A variable of another type than is asked for.
    #[error("`{name}` is not {expected} but of type {actual}")]
    OutputType {
        /// The variable.
        name: String,
        /// What was asked for.
        expected: &'static str,
        /// Its type.
        actual: DataType,
    },
    /// A calibration whose script did not run what it measures.
    #[error("calibration: no operator `{0}` ran")]
    NotMeasured(&'static str),
}

impl Error {
    /// The error as a user sees it in a terminal, with or without colours; as in the example of [`Error`].
    pub fn render(&self, color: bool) -> String {
        match self {
            Error::Script(diagnostics) | Error::Run(diagnostics) => diagnostics.render(color),
            Error::Interrupted => "interrupted\n".to_owned(),
            other => format!("error: {other}\n"),
        }
    }
}
