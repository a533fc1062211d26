//! The signatures of DML's builtin functions: one row each, from which the front end binds arguments and lowers calls.
//!
//! A row names the parameters in order, says which may be left out, and what the call becomes. Functions of DML that
//! are not supported yet have their names in [`not_yet()`], so that a script that uses one gets an honest message.

mod frames;
mod not_yet;
mod numeric;
mod table;

use crate::hop::{CastOp, DataGenOp, FrameFunction, Function, NaryOp, NumericFunction, ReorgOp, ShapeOp};
use crate::ops::{AggOp, BinaryOp, Direction, TernaryOp, UnaryOp};
use crate::types::Value;
pub use not_yet::{is_not_yet, is_script_not_yet, not_yet};
pub use numeric::{Composed, DistributionName};

/// What becomes of a parameter that a call leaves out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Presence {
    /// It must be given.
    Required,
    /// It may be left out, and then stays absent.
    Optional,
    /// It may be left out, and then is this double.
    F64(f64),
    /// It may be left out, and then is this integer.
    I64(i64),
    /// It may be left out, and then is this truth value.
    Bool(bool),
    /// It may be left out, and then is this text.
    Str(&'static str),
}

impl Presence {
    /// The default value, where there is one.
    pub fn default_value(self) -> Option<Value> {
        match self {
            Presence::Required | Presence::Optional => None,
            Presence::F64(value) => Some(Value::F64(value)),
            Presence::I64(value) => Some(Value::I64(value)),
            Presence::Bool(value) => Some(Value::Bool(value)),
            Presence::Str(value) => Some(Value::Str(value.to_owned())),
        }
    }
}

/// A parameter of a builtin function.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameter {
    /// The name, as named arguments spell it.
    pub name: &'static str,
    /// Other names that named arguments may spell.
    pub aliases: &'static [&'static str],
    /// What happens when it is left out.
    pub presence: Presence,
}

impl Parameter {
    /// All names that named arguments may spell.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        std::iter::once(self.name).chain(self.aliases.iter().copied())
    }
}

/// What a call of a builtin function becomes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Lowering {
    /// An element-wise operation of one operand.
    Unary(UnaryOp),
    /// An element-wise operation of two operands.
    Binary(BinaryOp),
    /// An element-wise operation of three operands.
    Ternary(TernaryOp),
    /// The natural logarithm, divided by that of the base where a base is given.
    Log,
    /// An element-wise operation with a vector that is expanded to the columns of the first operand.
    Bias(BinaryOp),
    /// An element-wise operation of a column with a row, named by the text of the last argument.
    Outer,
    /// An aggregation.
    Aggregate(AggOp, Direction),
    /// The square root of the variance.
    Deviation(Direction),
    /// An aggregation of one argument, or an element-wise operation over several.
    AggregateOrNary(AggOp, NaryOp),
    /// Partial aggregates down each column.
    Cumulative(AggOp),
    /// The sum of the diagonal.
    Trace,
    /// A fact of a shape.
    Shape(ShapeOp),
    /// A reorganisation.
    Reorg(ReorgOp),
    /// An operation of any number of matrices.
    Nary(NaryOp),
    /// A generated matrix; parameters in the order of the operator's inputs.
    DataGen(DataGenOp),
    /// A change of type.
    Cast(CastOp),
    /// A function whose leading parameters are inputs by position and whose other ones are named inputs.
    Function(Function),
    /// A function of matrices and numbers: leading parameters are inputs by position, with defaults where they have ones,
    /// and the others named inputs.
    Numeric(NumericFunction),
    /// A function of frames: leading parameters are inputs by position, the others named inputs.
    Frame(FrameFunction),
    /// A function that the front end composes of operators.
    Composed(Composed),
    /// `replace`, whose numbers may be written as texts.
    Replace,
    /// A contingency table, with weights, dimensions or both after the first two arguments.
    Table,
    /// `print`: a value, or values in the places of a format.
    Print,
    /// `list`: any number of arguments, of which the last may have any names.
    List,
    /// `eval` and `evalList`: the first result, or a list of all results, of a function that a text names.
    Evaluation {
        /// Whether all results are wanted.
        all_results: bool,
    },
    /// `ifdef`: a script argument, or a default where it was not passed.
    IfDef,
    /// `exists`: whether a variable has a value.
    Exists,
}

impl Lowering {
    /// How many results a call has.
    pub fn results(self) -> usize {
        match self {
            Lowering::Function(function) => function.results(),
            Lowering::Numeric(function) => function.results(),
            Lowering::Composed(Composed::Fourier { .. }) => 2,
            _ => 1,
        }
    }

    /// Whether a call has a value; the others are statements.
    pub fn has_value(self) -> bool {
        let is_effect = |function| matches!(function, Function::Stop | Function::Assert | Function::Write);
        !matches!(self, Lowering::Print) && !matches!(self, Lowering::Function(function) if is_effect(function))
    }
}

/// A builtin function.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Builtin {
    /// The name.
    pub name: &'static str,
    /// The parameters, in the order of positional arguments.
    pub parameters: &'static [Parameter],
    /// Whether further positional arguments may follow the last parameter.
    pub variadic: bool,
    /// Whether parameters have names in DML. Where they have none, those of arguments mean nothing, unless the first
    /// argument has one.
    pub has_names: bool,
    /// What a call becomes.
    pub lowering: Lowering,
}

/// The builtin function of this name, when it is supported.
pub fn find(name: &str) -> Option<&'static Builtin> {
    all().find(|builtin| builtin.name == name)
}

/// All supported functions.
pub fn all() -> impl Iterator<Item = &'static Builtin> {
    table::BUILTINS.iter().chain(numeric::NUMERIC).chain(frames::FRAMES)
}

const fn required(name: &'static str) -> Parameter {
    with_default(name, Presence::Required)
}

const fn optional(name: &'static str) -> Parameter {
    with_default(name, Presence::Optional)
}

const fn with_default(name: &'static str, presence: Presence) -> Parameter {
    Parameter { name, aliases: &[], presence }
}

/// The target of a function that is a script of SystemDS, where a parameter has this name.
const fn target_of_script(name: &'static str) -> Parameter {
    Parameter { name, aliases: &["target"], presence: Presence::Required }
}

/// A function whose parameters have no names in DML: ours are for messages.
const fn row(name: &'static str, parameters: &'static [Parameter], lowering: Lowering) -> Builtin {
    Builtin { name, parameters, variadic: false, has_names: false, lowering }
}

/// A function whose parameters have names.
const fn named(name: &'static str, parameters: &'static [Parameter], lowering: Lowering) -> Builtin {
    Builtin { has_names: true, ..row(name, parameters, lowering) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique_and_either_supported_or_not_yet() {
        let mut seen = BTreeSet::new();
        for name in all().map(|builtin| builtin.name).chain(not_yet()) {
            assert!(seen.insert(name), "{name} appears twice");
        }
    }

    #[test]
    fn parameters_are_unique_and_required_ones_come_first() {
        for builtin in all() {
            let names: Vec<_> = builtin.parameters.iter().flat_map(Parameter::names).collect();
            assert_eq!(names.len(), names.iter().collect::<BTreeSet<_>>().len(), "{}", builtin.name);
            // The bias of `conv2d` stands before what calls name.
            let positional = builtin.parameters.iter().filter(|parameter| parameter.name != "bias");
            let required = positional.map(|parameter| parameter.presence == Presence::Required);
            assert!(required.is_sorted_by(|earlier, later| earlier >= later), "{}", builtin.name);
        }
    }

    #[test]
    fn every_operation_with_a_function_name_has_a_row_of_that_name() {
        let is_name = |name: &str| name.starts_with(|first: char| first.is_ascii_alphabetic());
        for (name, lowering) in UnaryOp::ALL.iter().filter_map(|op| Some((op.dml()?, Lowering::Unary(*op)))) {
            let found = find(name).map(|builtin| builtin.lowering);
            assert!(!is_name(name) || found == Some(lowering) || found == Some(Lowering::Log), "{name}");
        }
        for name in BinaryOp::ALL.iter().filter_map(|op| op.dml()).filter(|name| is_name(name)) {
            assert!(find(name).is_some(), "{name}");
        }
    }
}
