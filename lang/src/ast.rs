//! The syntax tree: what the parser hands to the lowering. It knows names and places, but no meaning.

use crate::diagnostic::Diagnostic;
use fuseline_ir::hop::Span;
use fuseline_ir::ops::BinaryOp;
use fuseline_ir::types::{DataType, Value};
use std::path::PathBuf;

/// A name and its place.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Name {
    pub(crate) text: String,
    pub(crate) span: Span,
}

/// One file.
#[derive(Debug, Default)]
pub(crate) struct Script {
    pub(crate) imports: Vec<Import>,
    pub(crate) functions: Vec<FunctionDefinition>,
    pub(crate) statements: Vec<Statement>,
    /// What is likely not meant as it is written.
    pub(crate) warnings: Vec<Diagnostic>,
}

/// `source("path") as namespace`.
#[derive(Debug)]
pub(crate) struct Import {
    /// Relative to the folder of the file that sources it, unless absolute.
    pub(crate) path: PathBuf,
    pub(crate) namespace: Name,
    pub(crate) span: Span,
}

/// `name = function(parameters) return (results) { body }`.
#[derive(Debug)]
pub(crate) struct FunctionDefinition {
    pub(crate) name: Name,
    pub(crate) parameters: Vec<ParameterDefinition>,
    pub(crate) results: Vec<ParameterDefinition>,
    pub(crate) body: Vec<Statement>,
    /// From the name to the end of the header.
    pub(crate) span: Span,
}

/// A declared parameter or result.
#[derive(Debug)]
pub(crate) struct ParameterDefinition {
    pub(crate) name: Name,
    pub(crate) data_type: DataType,
    pub(crate) default: Option<Expression>,
}

/// A statement and its place.
#[derive(Debug)]
pub(crate) struct Statement {
    pub(crate) kind: StatementKind,
    pub(crate) span: Span,
}

/// The kinds of statements.
#[derive(Debug)]
pub(crate) enum StatementKind {
    /// `target = value`, or `target += value`.
    Assign { target: Target, accumulate: bool, value: Expression },
    /// `[targets] = call`.
    MultiAssign { targets: Vec<Target>, call: Expression },
    /// A call for its effects.
    Call(Expression),
    /// `if`.
    If { condition: Expression, then_body: Vec<Statement>, else_body: Vec<Statement> },
    /// `while`.
    While { condition: Expression, body: Vec<Statement> },
    /// `for` and `parfor`.
    For { variable: Name, range: LoopRange, body: Vec<Statement>, order: LoopOrder },
}

/// What is known of the order of iterations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LoopOrder {
    /// `for`: one after the other.
    Sequential,
    /// `parfor`: any, which is checked.
    Checked,
    /// `parfor` with `check=0`: any, as the script promises.
    Promised,
}

/// `from:to`, or `seq(from, to, by)`.
#[derive(Debug)]
pub(crate) struct LoopRange {
    pub(crate) from: Expression,
    pub(crate) to: Expression,
    pub(crate) by: Option<Expression>,
}

/// What an assignment writes to: a variable or a range of one.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) name: Name,
    pub(crate) ranges: Option<Ranges>,
    pub(crate) span: Span,
}

/// The rows and columns of an index.
#[derive(Clone, Debug)]
pub(crate) struct Ranges {
    pub(crate) rows: Range,
    pub(crate) cols: Range,
}

/// One dimension of an index.
#[derive(Clone, Debug)]
pub(crate) enum Range {
    /// Nothing is written: all of it.
    All,
    /// One position.
    Single(Box<Expression>),
    /// From the first to the last position.
    Between(Box<Expression>, Box<Expression>),
}

impl Ranges {
    /// The expressions in them.
    pub(crate) fn expressions(&self) -> impl Iterator<Item = &Expression> {
        self.rows.expressions().chain(self.cols.expressions())
    }
}

impl Range {
    /// The expressions in it.
    pub(crate) fn expressions(&self) -> impl Iterator<Item = &Expression> {
        let (first, last) = match self {
            Range::All => (None, None),
            Range::Single(at) => (Some(&**at), None),
            Range::Between(first, last) => (Some(&**first), Some(&**last)),
        };
        first.into_iter().chain(last)
    }
}

/// An expression, its place, and the number of operators on its longest path, which the parser limits.
#[derive(Clone, Debug)]
pub(crate) struct Expression {
    pub(crate) kind: ExpressionKind,
    pub(crate) span: Span,
    pub(crate) depth: u32,
}

/// A prefix operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Prefix {
    Plus,
    Minus,
    Not,
}

/// An infix operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Infix {
    Elementwise(BinaryOp),
    MatMul,
}

/// An argument of a call.
#[derive(Clone, Debug)]
pub(crate) struct Argument {
    pub(crate) name: Option<Name>,
    pub(crate) value: Expression,
}

/// A call of a builtin or user function.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) namespace: Option<Name>,
    pub(crate) function: Name,
    pub(crate) arguments: Vec<Argument>,
}

impl Call {
    /// Whether the first argument has no name, so that those of a function whose parameters have none go by position,
    /// whatever names the others have.
    pub(crate) fn goes_by_position(&self) -> bool {
        self.arguments.first().is_some_and(|first| first.name.is_none())
    }
}

/// The kinds of expressions.
#[derive(Clone, Debug)]
pub(crate) enum ExpressionKind {
    Literal(Value),
    Variable(String),
    /// `$name`.
    ScriptArgument(String),
    Prefix(Prefix, Box<Expression>),
    Infix(Infix, Box<Expression>, Box<Expression>),
    Call(Call),
    Index(Box<Expression>, Ranges),
    /// `[value, value]`: a list.
    List(Vec<Expression>),
}
