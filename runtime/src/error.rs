//! What can go wrong while a program runs.

use fuseline_ir::hop::Span;
use fuseline_kernels::KernelError;
use fuseline_matrix::io::IoError;
use fuseline_passes::size::ValidationError;
use fuseline_skeletons::{BackendError, SkeletonError};
use std::fmt;
use thiserror::Error;

/// An error at run time, with the place in the script that caused it.
#[derive(Debug)]
pub struct RuntimeError {
    /// What happened.
    pub kind: RuntimeErrorKind,
    /// Where in the script.
    pub span: Option<Span>,
}

/// Kinds of run-time errors.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RuntimeErrorKind {
    /// `stop(...)` was called.
    #[error("{0}")]
    Stop(String),
    /// `assert(...)` failed.
    #[error("assertion failed")]
    Assert,
    /// A variable without a value.
    #[error("the variable `{0}` has no value here")]
    Undefined(String),
    /// Operands of a basic operator that do not fit.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// Inputs whose sizes or types do not fit, found when they became known.
    #[error(transparent)]
    Sizes(Box<ValidationError>),
    /// A value of the wrong type.
    #[error("{operation} needs {expected}, not {actual}")]
    Type {
        /// The operation.
        operation: String,
        /// What it needs.
        expected: &'static str,
        /// What it got.
        actual: String,
    },
    /// A file that cannot be read or written.
    #[error(transparent)]
    File(#[from] IoError),
    /// A file that came to hold something else after the script was compiled.
    #[error("{path} holds a {actual}, where a {expected} was expected; say data_type=\"{actual}\"")]
    FileType {
        /// The file.
        path: String,
        /// `matrix` or `scalar`.
        actual: &'static str,
        /// `matrix` or `scalar`.
        expected: &'static str,
    },
    /// Output that cannot be written.
    #[error("cannot print: {0}")]
    Print(#[from] std::io::Error),
    /// Inputs of a fused operator that do not fit its plan: a bug.
    #[error("internal error in a fused operator: {0}")]
    Fused(#[from] SkeletonError),
    /// A backend failed: a bug.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// Functions that call each other too deeply.
    #[error("functions call each other more than {limit} levels deep")]
    CallDepth {
        /// The limit.
        limit: usize,
    },
    /// A `for` loop that does not end.
    #[error("the range of the for loop does not end: from {from} to {to} by {by}")]
    Range {
        /// First value.
        from: f64,
        /// Last value.
        to: f64,
        /// Increment.
        by: f64,
    },
    /// A broken invariant of ours.
    #[error("internal error: {0}")]
    Internal(String),
}

impl RuntimeErrorKind {
    /// The error, at this place.
    pub fn at(self, span: Option<Span>) -> RuntimeError {
        RuntimeError { kind: self, span }
    }
}

impl<K: Into<RuntimeErrorKind>> From<K> for RuntimeError {
    fn from(kind: K) -> Self {
        RuntimeError { kind: kind.into(), span: None }
    }
}

impl RuntimeError {
    /// The same error, at this place unless it has one.
    pub fn or_at(mut self, span: Option<Span>) -> Self {
        self.span = self.span.or(span);
        self
    }
}

impl fmt::Display for RuntimeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)
    }
}

impl std::error::Error for RuntimeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.kind)
    }
}
