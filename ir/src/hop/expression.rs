//! Expressions over high-level operators as s-expressions over their mnemonics: `(sum.full (mult ?X (log ?Y)))`, in
//! which `?X` stands for a matrix, `?x` for a scalar and a number for a literal. Definitions and patterns are written so.

use super::infer::ShapeError;
use super::parse::by_mnemonic;
use super::{HopDag, HopId, HopOp};
use crate::types::Value;
use std::str::FromStr;

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Expression {
    /// Stands for a matrix where the name begins in upper case, else for a scalar.
    Variable(String),
    /// An integer literal.
    Literal(i64),
    /// An operation on expressions.
    Operation(HopOp, Vec<Expression>),
}

impl Expression {
    /// Appends the expression to a DAG, with these operators in the place of its variables.
    ///
    /// # Errors
    /// The shapes or types of the operators do not fit.
    pub fn build(&self, dag: &mut HopDag, variable: &dyn Fn(&str) -> HopId) -> Result<HopId, ShapeError> {
        match self {
            Expression::Variable(name) => Ok(variable(name)),
            Expression::Literal(value) => Ok(dag.literal(Value::I64(*value))),
            Expression::Operation(op, inputs) => {
                let inputs = inputs.iter().map(|input| input.build(dag, variable)).collect::<Result<Vec<_>, _>>()?;
                dag.add(op.clone(), &inputs, None)
            }
        }
    }

    /// The number of operations.
    pub fn operations(&self) -> usize {
        match self {
            Expression::Operation(_, inputs) => 1 + inputs.iter().map(Expression::operations).sum::<usize>(),
            Expression::Variable(_) | Expression::Literal(_) => 0,
        }
    }
}

impl FromStr for Expression {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let spaced = text.replace('(', " ( ").replace(')', " ) ");
        let mut words = spaced.split_whitespace();
        let expression = term(&mut words)?.ok_or_else(|| format!("`{text}` closes more than it opens"))?;
        match words.next() {
            None => Ok(expression),
            Some(word) => Err(format!("`{word}` stands after the expression `{text}`")),
        }
    }
}

/// The next expression; none where a parenthesis closes.
fn term<'a>(words: &mut impl Iterator<Item = &'a str>) -> Result<Option<Expression>, String> {
    let word = words.next().ok_or("the expression ends too early")?;
    if word == ")" {
        return Ok(None);
    }
    if let Some(name) = word.strip_prefix('?') {
        return Ok(Some(Expression::Variable(name.to_owned())));
    }
    if let Ok(value) = word.parse() {
        return Ok(Some(Expression::Literal(value)));
    }
    if word != "(" {
        return Err(format!("`{word}` is neither a variable nor a literal"));
    }
    let mnemonic = words.next().ok_or("the expression ends too early")?;
    let op = by_mnemonic(mnemonic).ok_or_else(|| format!("`{mnemonic}` is no operation"))?;
    let mut inputs = Vec::new();
    while let Some(input) = term(words)? {
        inputs.push(input);
    }
    Ok(Some(Expression::Operation(op, inputs)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SizeInfo;

    #[test]
    fn expressions_become_operators() {
        let expression: Expression = "(sum.row (mult ?X (minus ?X 1)))".parse().expect("well-formed");
        assert_eq!(expression.operations(), 3);
        let mut dag = HopDag::new();
        let x = dag.read_matrix("X", SizeInfo::dims(3, 4));
        let root = expression.build(&mut dag, &|_| x).expect("fits");
        dag.write("r", root);
        assert!(dag.verify().is_ok());
        assert_eq!(dag[root].size.known_dims(), Some((3, 1)));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, message) in [
            ("(mult ?X", "ends too early"),
            ("", "ends too early"),
            (")", "closes more"),
            ("(mult ?X ?Y) ?Z", "`?Z` stands after"),
            ("(multiply ?X ?Y)", "`multiply` is no operation"),
            ("(mult X ?Y)", "`X` is neither"),
        ] {
            let error = text.parse::<Expression>().expect_err(text);
            assert!(error.contains(message), "{text}: {error}");
        }
    }
}
