//! Shapes and types that do not fit, located, with where each input came from.

use fuseline_ir::SizeInfo;
use fuseline_ir::hop::infer::ShapeError;
use fuseline_ir::hop::{HopDag, HopId, HopOp, Span};
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
}

/// An input of a rejected operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputOrigin {
    /// Its position, from 1.
    pub position: usize,
    /// What it is: a variable's name or an operation.
    pub description: String,
    /// Matrix or scalar.
    pub data_type: DataType,
    /// Its size.
    pub size: SizeInfo,
    /// Where it was written.
    pub span: Option<Span>,
}

impl ValidationError {
    pub(super) fn new(error: ShapeError, dag: &HopDag, inputs: &[HopId], span: Option<Span>) -> Self {
        let origins = inputs.iter().enumerate().filter(|(_, id)| dag.literal_value(**id).is_none());
        let inputs = origins.map(|(index, &id)| InputOrigin {
            position: index + 1,
            description: describe(&dag[id].op),
            data_type: dag[id].data_type,
            size: dag[id].size,
            span: dag[id].span,
        });
        ValidationError { error, span, inputs: inputs.collect() }
    }
}

fn describe(op: &HopOp) -> String {
    match op {
        HopOp::Read(name) => format!("variable `{name}`"),
        other => format!("result of {}", other.label()),
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
