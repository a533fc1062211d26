//! Shapes and types that do not fit, located, with where each input came from.

use fuseline_ir::SizeInfo;
use fuseline_ir::hop::infer::{self, ShapeError};
use fuseline_ir::hop::{Hop, HopDag, HopId, HopOp, Span};
use fuseline_ir::types::DataType;
use std::fmt;
use thiserror::Error;

/// An operator whose inputs do not fit: a mistake in the program.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub struct ValidationError {
    /// What does not fit.
    #[source]
    pub error: ShapeError,
    /// Where the operator was written.
    pub span: Option<Span>,
    /// The operator's inputs that are no literals, in order.
    pub inputs: Vec<InputOrigin>,
    /// The calls of functions that led there, the innermost first.
    pub calls: Vec<CallSite>,
}

/// A call of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallSite {
    /// The function.
    pub function: String,
    /// Where it was called.
    pub span: Option<Span>,
}

/// An input of a rejected operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputOrigin {
    /// Its position, from 1.
    pub position: usize,
    /// What it is: a variable or an operation.
    pub description: String,
    /// The variable, if it is one.
    pub variable: Option<String>,
    /// Matrix or scalar.
    pub data_type: DataType,
    /// Its size.
    pub size: SizeInfo,
    /// Where it comes from: where a variable got its value, or where the operation was written.
    pub span: Option<Span>,
}

impl ValidationError {
    /// The error of an operator on these inputs; `origin` tells where variables got their values.
    pub(super) fn new(
        error: ShapeError,
        dag: &HopDag,
        inputs: &[HopId],
        span: Option<Span>,
        origin: impl Fn(&str) -> Option<Span>,
    ) -> Self {
        let origins = inputs.iter().enumerate().filter(|(_, id)| dag.literal_value(**id).is_none());
        let inputs = origins.map(|(index, &id)| {
            let input = InputOrigin::new(index + 1, &dag[id]);
            let origin = input.variable.as_deref().and_then(&origin);
            InputOrigin { span: origin.or(input.span), ..input }
        });
        ValidationError { error, span, inputs: inputs.collect(), calls: Vec::new() }
    }

    /// The error within a function that was called there.
    pub(super) fn called(mut self, function: &str, span: Option<Span>) -> Self {
        self.calls.push(CallSite { function: function.to_owned(), span });
        self
    }
}

impl InputOrigin {
    /// The input at a position, from 1.
    pub fn new(position: usize, hop: &Hop) -> Self {
        let variable = match &hop.op {
            HopOp::Read(name) => Some(name.clone()),
            _ => None,
        };
        let description = describe(&hop.op);
        InputOrigin { position, description, variable, data_type: hop.data_type, size: hop.size, span: hop.span }
    }
}

fn describe(op: &HopOp) -> String {
    match op {
        HopOp::Read(name) => format!("variable `{name}`"),
        other => format!("result of `{}`", infer::operation_name(other)),
    }
}

/// The error, then one line per input.
impl fmt::Display for ValidationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.error)?;
        for input in &self.inputs {
            write!(f, "\n  input {}: {}", input.position, input.description)?;
            if input.data_type.is_matrix() {
                write!(f, " {}", input.size)?;
            } else {
                write!(f, " ({})", input.data_type)?;
            }
        }
        Ok(())
    }
}
