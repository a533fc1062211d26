//! Functions of cells, as `map` takes them: texts such as `"x -> x.toLowerCase()"`.
//!
//! The notation is that of a small part of Java, which is what SystemDS compiles: methods of texts, conditions,
//! arithmetic, and some functions by the names of their classes. A text is parsed into [`CellFunction`]; what it may
//! call is listed in [`Method`] and [`StaticFunction`], and everything else is refused by name. [`WholeFrameFunction`]
//! lists the few functions of a whole frame that there are.

mod parse;
mod scan;
mod table;
#[cfg(test)]
mod tests;
mod whole;

pub use parse::parse;
pub use table::{Method, StaticFunction};
pub use whole::{MapFunction, Smoothing, WholeFrameFunction, parse_map};

use thiserror::Error;

/// A function of one cell (or of the texts of a row or a column), or of two cells.
#[derive(Clone, Debug, PartialEq)]
pub struct CellFunction {
    /// The names of its one or two parameters.
    pub parameters: Vec<String>,
    /// Its value.
    pub body: CellExpression,
}

/// An expression of cells.
#[derive(Clone, Debug, PartialEq)]
pub enum CellExpression {
    /// The parameter at this position.
    Parameter(usize),
    /// A constant text.
    Text(String),
    /// A constant integer.
    Integer(i64),
    /// A constant double.
    Double(f64),
    /// `true` or `false`.
    Truth(bool),
    /// `!x`.
    Not(Box<CellExpression>),
    /// `-x`.
    Negative(Box<CellExpression>),
    /// An operation of two operands.
    Infix(CellOperation, Box<CellExpression>, Box<CellExpression>),
    /// `condition ? yes : no`.
    Choice(Box<[CellExpression; 3]>),
    /// `x.method(...)`.
    Method(Method, Box<CellExpression>, Vec<CellExpression>),
    /// `Class.function(...)`.
    Static(StaticFunction, Vec<CellExpression>),
    /// `x[i]`, counted from 0.
    Element(Box<CellExpression>, Box<CellExpression>),
    /// `x.length` of several texts.
    Count(Box<CellExpression>),
    /// `new String[]{...}`.
    Texts(Vec<CellExpression>),
}

/// An operation of two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellOperation {
    /// `||` or `|`.
    Or,
    /// `&&` or `&`.
    And,
    /// `==`.
    Equal,
    /// `!=`.
    NotEqual,
    /// `<`.
    Less,
    /// `<=`.
    LessEqual,
    /// `>`.
    Greater,
    /// `>=`.
    GreaterEqual,
    /// `+`, of numbers or with a text.
    Plus,
    /// `-`.
    Minus,
    /// `*`.
    Times,
    /// `/`, towards zero between integers.
    Divide,
    /// `%`, of the sign of the left operand.
    Remainder,
}

/// A text that is no function of cells.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}, at character {at} of the function {function:?}")]
pub struct CellFunctionError {
    /// What is wrong.
    pub message: String,
    /// Where, in characters from 1.
    pub at: usize,
    /// The whole text.
    pub function: String,
}
