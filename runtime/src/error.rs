//! What can go wrong while a program runs.

use crate::format::FormatError;
use crate::map::MapError;
use crate::tokenize::TokenizeError;
use crate::transform::TransformError;
use foldhash::HashMap;
use fuseline_ir::hop::Span;
use fuseline_ir::program::{Program, Source};
use fuseline_kernels::KernelError;
use fuseline_matrix::io::IoError;
use fuseline_matrix::{AllocationFailure, FrameError};
use fuseline_passes::memory::bytes_text;
pub use fuseline_passes::size::CallSite;
use fuseline_passes::size::{InputOrigin, ValidationError};
use fuseline_skeletons::{BackendError, SkeletonError};
use std::fmt;
use thiserror::Error;

/// Where variables got their values.
pub(crate) type Origins = HashMap<String, Span>;

/// An error at run time, with the place in the script that caused it.
#[derive(Debug)]
pub struct RuntimeError {
    /// What happened.
    pub kind: RuntimeErrorKind,
    /// Where in the script.
    pub span: Option<Span>,
    /// What led there.
    pub context: Box<ErrorContext>,
}

/// What a run-time error came from.
#[derive(Debug, Default)]
pub struct ErrorContext {
    /// What the operator that failed worked on.
    pub inputs: Vec<InputOrigin>,
    /// The calls of functions that led there, the innermost first.
    pub calls: Vec<CallSite>,
    /// The texts that places refer to, where they are not those of the script: those of a call of what a text names. No
    /// place is then part of an inlined call.
    pub sources: Option<Vec<Source>>,
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
    /// A list without such an element.
    #[error(transparent)]
    List(#[from] ListError),
    /// A format that cannot be filled with the values printed.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// Operands of an operator on frames that do not fit.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// A frame that cannot be transformed as specified.
    #[error(transparent)]
    Transform(#[from] TransformError),
    /// A function of cells that cannot be applied.
    #[error(transparent)]
    Map(#[from] MapError),
    /// Texts that cannot be cut into tokens.
    #[error(transparent)]
    Tokenize(#[from] TokenizeError),
    /// A file that cannot be read or written.
    #[error(transparent)]
    File(#[from] IoError),
    /// A file that came to hold something else after the script was compiled.
    #[error("{path} holds a {actual}, where a {expected} was expected; say data_type=\"{actual}\"")]
    FileType {
        /// The file.
        path: String,
        /// `matrix`, `frame` or `scalar`.
        actual: &'static str,
        /// `matrix`, `frame` or `scalar`.
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
    /// What a text names cannot be called.
    #[error("{0}")]
    Evaluation(String),
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
    /// A `for` loop whose steps numbers are too far apart for.
    #[error(
        "the range of the for loop cannot be counted, from {from} to {to} by {by}: numbers near {largest} are further \
         apart than its steps (integers are exact up to 2^53, 9007199254740992)"
    )]
    RangeTooFine {
        /// First value.
        from: f64,
        /// Last value.
        to: f64,
        /// Increment.
        by: f64,
        /// The larger of the ends.
        largest: f64,
    },
    /// An operator that needs more memory than the budget.
    #[error("{operation} needs {}, the memory budget is {}", bytes_text(*.needed), bytes_text(*.budget))]
    Memory {
        /// The operation.
        operation: String,
        /// Bytes of its inputs and its output.
        needed: u64,
        /// Bytes that there may be.
        budget: u64,
    },
    /// An operator that needs more memory than the system, or what is left of the budget, gives.
    #[error("{operation} needs {failure}")]
    Refused {
        /// The operation.
        operation: String,
        /// What it asked for.
        failure: AllocationFailure,
    },
    /// The run was interrupted from outside.
    #[error("interrupted")]
    Interrupted,
    /// A broken invariant of ours.
    #[error("internal error: {0}")]
    Internal(String),
}

impl RuntimeErrorKind {
    /// Whether memory was refused, by the budget or by the operating system.
    pub fn is_memory(&self) -> bool {
        matches!(self, RuntimeErrorKind::Memory { .. } | RuntimeErrorKind::Refused { .. })
    }
}

/// Positions and names that a list does not have.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ListError {
    /// No element is called so.
    #[error("the list has no element `{name}`; its names are {known}")]
    NoName {
        /// The name.
        name: String,
        /// The names of its elements.
        known: String,
    },
    /// Positions outside of the list.
    #[error("the positions {first}:{last} lie outside of a list of {length} elements")]
    Range {
        /// First position, from 1.
        first: i64,
        /// Last position.
        last: i64,
        /// Number of elements.
        length: usize,
    },
    /// A replacement of another length than the range.
    #[error("a list of {actual} elements cannot replace {expected}")]
    Replacement {
        /// Positions to replace.
        expected: usize,
        /// Elements of the replacement.
        actual: usize,
    },
    /// A list of none or several elements, where a single value is needed.
    #[error("{operation} takes a list of one element, not of {length}")]
    NotSingle {
        /// The conversion.
        operation: &'static str,
        /// Number of elements.
        length: usize,
    },
}

impl RuntimeErrorKind {
    /// The error, at this place.
    pub fn at(self, span: Option<Span>) -> RuntimeError {
        RuntimeError { kind: self, span, context: Box::default() }
    }
}

impl<K: Into<RuntimeErrorKind>> From<K> for RuntimeError {
    fn from(kind: K) -> Self {
        kind.into().at(None)
    }
}

impl RuntimeError {
    /// The error, at this place unless it has one.
    pub fn or_at(mut self, span: Option<Span>) -> Self {
        self.span = self.span.or(span);
        self
    }

    /// The error, within this call in a program.
    pub(crate) fn called(mut self, function: &str, span: Option<Span>, program: &Program) -> Self {
        let call = CallSite { function: function.to_owned(), span };
        match self.context.sources {
            Some(_) => self.context.calls.extend(written(call, program)),
            None => self.context.calls.push(call),
        }
        self
    }

    /// The error of a program that was made for a call of what a text names, with places in the program's sources.
    pub(crate) fn evaluated(mut self, program: &Program) -> Self {
        if self.context.sources.is_some() {
            return self;
        }
        let inner = self.span.map(|span| inlined(span, program)).unwrap_or_default();
        let calls = std::mem::take(&mut self.context.calls).into_iter().flat_map(|call| written(call, program));
        self.context.calls = inner.into_iter().chain(calls).collect();
        let mut places: Vec<&mut Option<Span>> = vec![&mut self.span];
        places.extend(self.context.inputs.iter_mut().map(|input| &mut input.span));
        if let RuntimeErrorKind::Sizes(error) = &mut self.kind {
            places.push(&mut error.span);
            places.extend(error.inputs.iter_mut().map(|input| &mut input.span));
        }
        places.into_iter().flatten().for_each(|span| *span = program.written_at(*span));
        self.context.sources = Some(program.sources.clone());
        self
    }

    /// The error of an operator, with what it worked on where the message is about that.
    pub(crate) fn with_inputs(mut self, inputs: impl FnOnce() -> Vec<InputOrigin>) -> Self {
        if matches!(
            self.kind,
            RuntimeErrorKind::Kernel(_) | RuntimeErrorKind::Memory { .. } | RuntimeErrorKind::Refused { .. }
        ) {
            self.context.inputs = inputs();
        }
        self
    }

    /// The error, with the places where variables that it names got their values.
    pub(crate) fn with_origins(mut self, origins: &Origins) -> Self {
        for input in &mut self.context.inputs {
            let origin = input.variable.as_ref().and_then(|name| origins.get(name));
            input.span = origin.copied().or(input.span);
        }
        self
    }
}

/// A call where it is written, and those in whose place its function stands.
fn written(call: CallSite, program: &Program) -> Vec<CallSite> {
    let inlined = call.span.map(|span| inlined(span, program)).unwrap_or_default();
    let span = call.span.map(|span| program.written_at(span));
    std::iter::once(CallSite { span, ..call }).chain(inlined).collect()
}

/// The calls in whose place stands what a span is part of, where they are written.
fn inlined(span: Span, program: &Program) -> Vec<CallSite> {
    let calls = program
        .inlined_calls(span)
        .into_iter()
        .map(|call| CallSite { function: call.function.clone(), span: call.call.map(|span| program.written_at(span)) });
    calls.collect()
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
