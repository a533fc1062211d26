//! Calls of functions that a text names at run time: `eval(name, ...)` and `evalList(name, ...)`.
//!
//! In a program they are calls of [`Call::EVAL`] and [`Call::EVAL_LIST`]. When the run meets one, name and types of
//! arguments are an [`Evaluation`], for which the front end makes a program of its own.

use super::Call;
use crate::hop::Span;
use crate::types::{DataType, Value};

impl Call {
    /// The function of a call for the first result of what a text names; no DML identifier.
    pub const EVAL: &'static str = "_eval";
    /// The function of a call for a list of all results of what a text names.
    pub const EVAL_LIST: &'static str = "_evalList";
    /// The argument that is the name. Further arguments without names are `_1`, `_2`, and so on.
    pub const EVALUATED: &'static str = "_function";

    /// Whether a text names the function at run time.
    pub fn is_evaluation(&self) -> bool {
        [Call::EVAL, Call::EVAL_LIST].contains(&self.function.as_str())
    }
}

/// A call of what a text names, whose arguments are variables.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    /// The text: the name as the script would write it, perhaps with a namespace.
    pub function: String,
    /// Where the call is written; names are looked up in that source.
    pub place: Span,
    /// The arguments.
    pub arguments: Vec<EvaluatedArgument>,
    /// The elements of a list that is the only argument: they are the arguments, unless the function takes one list.
    pub elements: Option<Vec<EvaluatedArgument>>,
    /// Whether all results are wanted, as a list, and not the first one.
    pub all_results: bool,
}

impl Evaluation {
    /// The variable that takes the result; none where the function has no result.
    pub const VALUE: &'static str = "_value";

    /// The variables of arguments and elements.
    pub fn variables(&self) -> impl Iterator<Item = &EvaluatedArgument> {
        self.arguments.iter().chain(self.elements.iter().flatten())
    }
}

/// An argument of an [`Evaluation`].
#[derive(Clone, Debug, PartialEq)]
pub struct EvaluatedArgument {
    /// Its name, where it has one.
    pub name: Option<String>,
    /// The variable that holds it.
    pub variable: String,
    /// Its type.
    pub data_type: DataType,
    /// Its value, where the function needs to know it before it runs.
    pub constant: Option<Value>,
}
