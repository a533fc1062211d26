//! Programs: functions and a hierarchy of statement blocks delimited by control flow, with one HOP DAG per last-level
//! block (section 2.1, P011).
//!
//! Calls of user functions stand between blocks, never inside a DAG: the front end hoists a call out of an expression
//! into a [`StatementBlock::Call`] before the block that uses its result.

use crate::hop::{HopDag, Span};
use crate::types::DataType;
use std::collections::BTreeMap;
use std::sync::Arc;

mod evaluation;
mod parse;
mod print;
#[cfg(test)]
mod tests;
mod verify;

pub use evaluation::{EvaluatedArgument, Evaluation};
pub use parse::parse;

/// A source text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The path as the user gave it, or a name such as `<text>`.
    pub name: String,
    /// The text.
    pub text: Arc<str>,
}

/// A whole program.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// User functions by name.
    pub functions: BTreeMap<String, Function>,
    /// The script's statements.
    pub body: Vec<StatementBlock>,
    /// The texts that spans refer to.
    pub sources: Vec<Source>,
    /// The calls in whose place the bodies of functions stand. Operators of such a body have spans whose source is not
    /// in `sources`: source `sources.len() + n` stands for the text of `inlined[n]`, as part of that call.
    pub inlined: Vec<InlinedCall>,
}

/// A call in whose place the body of the function stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InlinedCall {
    /// The function.
    pub function: String,
    /// Where it is called, in another source of the program or as part of another such call.
    pub call: Option<Span>,
    /// The source that holds the body.
    pub source: u32,
}

impl Program {
    /// The call that a span is part of, if it is part of one in whose place the function's body stands.
    pub fn inlined_call(&self, span: Span) -> Option<&InlinedCall> {
        self.inlined.get((span.source as usize).checked_sub(self.sources.len())?)
    }

    /// The calls that a span is part of, in whose place the function's body stands; the innermost first.
    pub fn inlined_calls(&self, span: Span) -> Vec<&InlinedCall> {
        std::iter::successors(self.inlined_call(span), |inner| self.inlined_call(inner.call?)).collect()
    }

    /// Removes the functions that no call reaches.
    pub fn remove_unreached_functions(&mut self) {
        let mut reached = BTreeMap::new();
        let mut pending = Vec::new();
        called_functions(&self.body, &mut pending);
        while let Some(name) = pending.pop() {
            if let Some(function) = self.functions.remove(&name) {
                called_functions(&function.body, &mut pending);
                reached.insert(name, function);
            }
        }
        self.functions = reached;
    }

    /// The span in the text where it was written.
    pub fn written_at(&self, span: Span) -> Span {
        match self.inlined_call(span) {
            Some(inlined) => Span { source: inlined.source, ..span },
            None => span,
        }
    }
}

/// A parameter or a result of a function.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// The variable.
    pub name: String,
    /// The declared type.
    pub data_type: DataType,
}

/// A user function.
#[derive(Clone, Debug)]
pub struct Function {
    /// The name.
    pub name: String,
    /// The parameters.
    pub parameters: Vec<Parameter>,
    /// The results.
    pub results: Vec<Parameter>,
    /// The statements.
    pub body: Vec<StatementBlock>,
    /// Where it was defined.
    pub span: Option<Span>,
}

/// A scalar computed before a control-flow decision.
#[derive(Clone, Debug, Default)]
pub struct Predicate {
    /// Statements that run before, every time (hoisted function calls).
    pub prelude: Vec<StatementBlock>,
    /// A DAG with the one output [`Predicate::VALUE`].
    pub dag: HopDag,
}

impl Predicate {
    /// The name of a predicate's output; no DML identifier.
    pub const VALUE: &'static str = "_predicate";
}

/// A step of a program.
#[derive(Clone, Debug)]
pub enum StatementBlock {
    /// Straight-line statements.
    Basic(HopDag),
    /// A call of a user function.
    Call(Call),
    /// `if`.
    If {
        /// The condition.
        predicate: Predicate,
        /// Statements when it holds.
        then_body: Vec<StatementBlock>,
        /// Statements when not.
        else_body: Vec<StatementBlock>,
        /// Where it was written.
        span: Option<Span>,
    },
    /// `while`.
    While {
        /// The condition.
        predicate: Predicate,
        /// Statements while it holds.
        body: Vec<StatementBlock>,
        /// Where it was written.
        span: Option<Span>,
    },
    /// `for` and `parfor`.
    For {
        /// The loop variable, an integer when the range is.
        variable: String,
        /// First value.
        from: Predicate,
        /// Last value.
        to: Predicate,
        /// Increment; `None` is 1, or -1 where `from` exceeds `to`.
        by: Option<Predicate>,
        /// Statements for each value.
        body: Vec<StatementBlock>,
        /// Whether iterations were declared independent (`parfor`).
        parallel: bool,
        /// Where it was written.
        span: Option<Span>,
    },
}

/// A call of a user function.
#[derive(Clone, Debug)]
pub struct Call {
    /// The function.
    pub function: String,
    /// The arguments: a DAG with one output per parameter, named as the parameter. Where a script leaves an argument
    /// out, the front end put the default here.
    pub arguments: HopDag,
    /// For each result of the function, the variable that takes it; `None` where it is dropped.
    pub targets: Vec<Option<String>>,
    /// Where it was written.
    pub span: Option<Span>,
}

/// Adds the names of the functions that blocks call.
fn called_functions(blocks: &[StatementBlock], names: &mut Vec<String>) {
    for block in blocks {
        for predicate in block.predicates() {
            called_functions(&predicate.prelude, names);
        }
        match block {
            StatementBlock::Basic(_) => {}
            StatementBlock::Call(call) => names.push(call.function.clone()),
            StatementBlock::If { then_body, else_body, .. } => {
                called_functions(then_body, names);
                called_functions(else_body, names);
            }
            StatementBlock::While { body, .. } | StatementBlock::For { body, .. } => called_functions(body, names),
        }
    }
}

impl StatementBlock {
    /// The predicates of a block, in the order in which they are evaluated.
    pub fn predicates(&self) -> Vec<&Predicate> {
        match self {
            StatementBlock::Basic(_) | StatementBlock::Call(_) => Vec::new(),
            StatementBlock::If { predicate, .. } | StatementBlock::While { predicate, .. } => vec![predicate],
            StatementBlock::For { from, to, by, .. } => {
                [Some(from), Some(to), by.as_ref()].into_iter().flatten().collect()
            }
        }
    }
}
