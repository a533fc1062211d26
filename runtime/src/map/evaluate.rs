//! The values of expressions of cells.

use super::pattern::Patterns;
use super::{methods, stem};
use fuseline_ir::Value;
use fuseline_ir::cell_function::{CellExpression, CellOperation, StaticFunction};
use fuseline_ir::ops::math;
use std::cmp::Ordering;
use std::collections::HashSet;
use std::fmt;

/// What is wrong, where a function cannot be applied.
pub(super) type Problem = String;

/// A value within a function of cells.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cell {
    /// A text.
    Text(String),
    /// An integer.
    Integer(i64),
    /// A double.
    Double(f64),
    /// A truth value.
    Truth(bool),
    /// Several texts.
    Texts(Vec<String>),
}

impl fmt::Display for Cell {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cell::Text(text) => formatter.write_str(text),
            Cell::Integer(value) => write!(formatter, "{value}"),
            Cell::Double(value) => write!(formatter, "{}", Value::F64(*value)),
            Cell::Truth(value) => write!(formatter, "{value}"),
            Cell::Texts(texts) => write!(formatter, "{texts:?}"),
        }
    }
}

impl Cell {
    fn kind(&self) -> &'static str {
        match self {
            Cell::Text(_) => "a text",
            Cell::Integer(_) | Cell::Double(_) => "a number",
            Cell::Truth(_) => "a truth value",
            Cell::Texts(_) => "several texts",
        }
    }

    fn wanted(&self, what: &str) -> Problem {
        format!("{what} is needed, not {}", self.kind())
    }

    pub(super) fn as_text(&self) -> Result<&str, Problem> {
        match self {
            Cell::Text(text) => Ok(text),
            other => Err(other.wanted("a text")),
        }
    }

    fn as_truth(&self) -> Result<bool, Problem> {
        match self {
            Cell::Truth(value) => Ok(*value),
            other => Err(other.wanted("a truth value")),
        }
    }

    fn as_number(&self) -> Result<f64, Problem> {
        match self {
            Cell::Integer(value) => Ok(*value as f64),
            Cell::Double(value) => Ok(*value),
            other => Err(other.wanted("a number")),
        }
    }

    pub(super) fn as_integer(&self) -> Result<i64, Problem> {
        match self {
            Cell::Integer(value) => Ok(*value),
            other => Err(other.wanted("an integer")),
        }
    }
}

/// Evaluates expressions; keeps the patterns that they use.
#[derive(Debug, Default)]
pub(super) struct Evaluation {
    pub(super) patterns: Patterns,
}

impl Evaluation {
    pub(super) fn value(&mut self, expression: &CellExpression, arguments: &[Cell]) -> Result<Cell, Problem> {
        Ok(match expression {
            CellExpression::Parameter(position) => arguments[*position].clone(),
            CellExpression::Text(text) => Cell::Text(text.clone()),
            CellExpression::Integer(value) => Cell::Integer(*value),
            CellExpression::Double(value) => Cell::Double(*value),
            CellExpression::Truth(value) => Cell::Truth(*value),
            CellExpression::Not(operand) => Cell::Truth(!self.value(operand, arguments)?.as_truth()?),
            CellExpression::Negative(operand) => match self.value(operand, arguments)? {
                Cell::Integer(value) => Cell::Integer(value.checked_neg().ok_or_else(overflow)?),
                other => Cell::Double(-other.as_number()?),
            },
            CellExpression::Infix(operation, left, right) => self.infix(*operation, left, right, arguments)?,
            CellExpression::Choice(parts) => {
                let [condition, yes, no] = &**parts;
                let chosen = if self.value(condition, arguments)?.as_truth()? { yes } else { no };
                self.value(chosen, arguments)?
            }
            CellExpression::Method(method, receiver, operands) => {
                let receiver = self.value(receiver, arguments)?;
                let operands = self.values(operands, arguments)?;
                methods::apply(*method, &receiver, &operands, &mut self.patterns)?
            }
            CellExpression::Static(function, operands) => call(*function, &self.values(operands, arguments)?)?,
            CellExpression::Element(texts, index) => {
                let (texts, index) = (self.value(texts, arguments)?, self.value(index, arguments)?.as_integer()?);
                let Cell::Texts(texts) = texts else { return Err(texts.wanted("several texts")) };
                let outside = || format!("there is no text {index} of {}, counted from 0", texts.len());
                let text = usize::try_from(index).ok().and_then(|index| texts.get(index));
                Cell::Text(text.ok_or_else(outside)?.clone())
            }
            CellExpression::Count(texts) => match self.value(texts, arguments)? {
                Cell::Texts(texts) => Cell::Integer(texts.len() as i64),
                other => return Err(other.wanted("several texts (of a text, write `length()`)")),
            },
            CellExpression::Texts(texts) => {
                Cell::Texts(self.values(texts, arguments)?.iter().map(Cell::to_string).collect())
            }
        })
    }

    fn values(&mut self, expressions: &[CellExpression], arguments: &[Cell]) -> Result<Vec<Cell>, Problem> {
        expressions.iter().map(|expression| self.value(expression, arguments)).collect()
    }

    fn infix(
        &mut self,
        operation: CellOperation,
        left: &CellExpression,
        right: &CellExpression,
        arguments: &[Cell],
    ) -> Result<Cell, Problem> {
        let left = self.value(left, arguments)?;
        match (operation, &left) {
            (CellOperation::And, Cell::Truth(false)) | (CellOperation::Or, Cell::Truth(true)) => return Ok(left),
            _ => {}
        }
        let right = self.value(right, arguments)?;
        Ok(match operation {
            CellOperation::And | CellOperation::Or => {
                left.as_truth()?;
                Cell::Truth(right.as_truth()?)
            }
            CellOperation::Plus if [&left, &right].iter().any(|side| matches!(side, Cell::Text(_))) => {
                Cell::Text(format!("{left}{right}"))
            }
            CellOperation::Equal => Cell::Truth(equal(&left, &right)?),
            CellOperation::NotEqual => Cell::Truth(!equal(&left, &right)?),
            CellOperation::Less => Cell::Truth(ordering(&left, &right)?.is_some_and(Ordering::is_lt)),
            CellOperation::LessEqual => Cell::Truth(ordering(&left, &right)?.is_some_and(Ordering::is_le)),
            CellOperation::Greater => Cell::Truth(ordering(&left, &right)?.is_some_and(Ordering::is_gt)),
            CellOperation::GreaterEqual => Cell::Truth(ordering(&left, &right)?.is_some_and(Ordering::is_ge)),
            CellOperation::Plus
            | CellOperation::Minus
            | CellOperation::Times
            | CellOperation::Divide
            | CellOperation::Remainder => arithmetic(operation, &left, &right)?,
        })
    }
}

fn overflow() -> Problem {
    "an integer overflows".to_owned()
}

/// Texts compare by `equals` alone: in Java, `==` asks whether they are the same object.
fn equal(left: &Cell, right: &Cell) -> Result<bool, Problem> {
    match (left, right) {
        (Cell::Truth(left), Cell::Truth(right)) => Ok(left == right),
        (Cell::Text(_), _) | (_, Cell::Text(_)) => Err("texts are compared with `equals(...)`".to_owned()),
        _ => Ok(left.as_number()? == right.as_number()?),
    }
}

fn ordering(left: &Cell, right: &Cell) -> Result<Option<Ordering>, Problem> {
    Ok(left.as_number()?.partial_cmp(&right.as_number()?))
}

fn arithmetic(operation: CellOperation, left: &Cell, right: &Cell) -> Result<Cell, Problem> {
    if let (Cell::Integer(left), Cell::Integer(right)) = (left, right) {
        let result = match operation {
            CellOperation::Plus => left.checked_add(*right),
            CellOperation::Minus => left.checked_sub(*right),
            CellOperation::Times => left.checked_mul(*right),
            _ if *right == 0 => return Err("an integer is divided by zero".to_owned()),
            CellOperation::Divide => left.checked_div(*right),
            _ => left.checked_rem(*right),
        };
        return Ok(Cell::Integer(result.ok_or_else(overflow)?));
    }
    let (left, right) = (left.as_number()?, right.as_number()?);
    Ok(Cell::Double(match operation {
        CellOperation::Plus => left + right,
        CellOperation::Minus => left - right,
        CellOperation::Times => left * right,
        CellOperation::Divide => left / right,
        _ => left % right,
    }))
}

fn call(function: StaticFunction, operands: &[Cell]) -> Result<Cell, Problem> {
    let first = &operands[0];
    let number = |position: usize| operands[position].as_number();
    Ok(match function {
        StaticFunction::IntegerValueOf | StaticFunction::ParseInteger => {
            let Cell::Integer(value) = integer(first)? else { return Err(first.wanted("an integer")) };
            i32::try_from(value).map_err(|_| format!("{value} is no integer from {} to {}", i32::MIN, i32::MAX))?;
            Cell::Integer(value)
        }
        StaticFunction::LongValueOf | StaticFunction::ParseLong => integer(first)?,
        StaticFunction::DoubleValueOf | StaticFunction::ParseDouble | StaticFunction::ToDouble => double(first)?,
        StaticFunction::TextValueOf => Cell::Text(first.to_string()),
        StaticFunction::Absolute => match first {
            Cell::Integer(value) => Cell::Integer(value.checked_abs().ok_or_else(overflow)?),
            other => Cell::Double(other.as_number()?.abs()),
        },
        StaticFunction::Minimum | StaticFunction::Maximum => {
            let is_first = match ordering(first, &operands[1])? {
                Some(ordering) if function == StaticFunction::Minimum => ordering.is_le(),
                Some(ordering) => ordering.is_ge(),
                // NaN decides.
                None => number(0)?.is_nan(),
            };
            let both_integers = operands.iter().all(|operand| matches!(operand, Cell::Integer(_)));
            let chosen = &operands[usize::from(!is_first)];
            if both_integers { chosen.clone() } else { Cell::Double(chosen.as_number()?) }
        }
        StaticFunction::SquareRoot => Cell::Double(number(0)?.sqrt()),
        StaticFunction::Floor => Cell::Double(number(0)?.floor()),
        StaticFunction::Ceiling => Cell::Double(number(0)?.ceil()),
        StaticFunction::Round => Cell::Integer(math::round(number(0)?) as i64),
        StaticFunction::Power => Cell::Double(fuseline_ir::ops::BinaryOp::Pow.eval(number(0)?, number(1)?)),
        StaticFunction::SplitRecodeEntry => {
            let entry = first.as_text()?;
            let (category, code) =
                crate::transform::split_entry(entry).ok_or_else(|| format!("{entry:?} is no entry of a code"))?;
            Cell::Texts(vec![category.to_owned(), code.to_owned()])
        }
        StaticFunction::CharacterCode => {
            let position = operands[1].as_integer()?.checked_sub(1).and_then(|position| usize::try_from(position).ok());
            let character = position.and_then(|position| first.as_text().ok()?.chars().nth(position));
            first.as_text()?;
            Cell::Integer(character.map_or(0, |character| i64::from(u32::from(character))))
        }
        StaticFunction::JaccardSimilarity => Cell::Double(jaccard_similarity(first.as_text()?, operands[1].as_text()?)),
        StaticFunction::WordErrorRate => Cell::Double(word_error_rate(first.as_text()?, operands[1].as_text()?)),
        StaticFunction::Stem => Cell::Text(stem::stem(first.as_text()?)),
    })
}

fn integer(value: &Cell) -> Result<Cell, Problem> {
    match value {
        Cell::Integer(_) => Ok(value.clone()),
        other => {
            let text = other.as_text()?;
            text.parse().map(Cell::Integer).map_err(|_| format!("{text:?} is no integer"))
        }
    }
}

fn double(value: &Cell) -> Result<Cell, Problem> {
    match value {
        Cell::Integer(_) | Cell::Double(_) => Ok(Cell::Double(value.as_number()?)),
        other => {
            let text = other.as_text()?;
            text.trim().parse().map(Cell::Double).map_err(|_| format!("{text:?} is no number"))
        }
    }
}

/// The characters of a text; of an empty one the empty text.
fn distinct_characters(text: &str) -> HashSet<Option<char>> {
    if text.is_empty() { HashSet::from([None]) } else { text.chars().map(Some).collect() }
}

/// How many characters both texts have, of those that either has. Texts without any have the empty text in common.
fn jaccard_similarity(left: &str, right: &str) -> f64 {
    let (left, right) = (distinct_characters(left), distinct_characters(right));
    let both = left.intersection(&right).count();
    both as f64 / (left.len() + right.len() - both) as f64
}

/// The insertions, deletions and replacements between the words of two texts, per word of the longer one.
fn word_error_rate(left: &str, right: &str) -> f64 {
    let (left, right) = (methods::split_at(left, " "), methods::split_at(right, " "));
    // Distances between the words so far and each beginning of the right text.
    let mut distances: Vec<usize> = (0..=right.len()).collect();
    for (i, word) in left.iter().enumerate() {
        let mut diagonal = std::mem::replace(&mut distances[0], i + 1);
        for (j, other) in right.iter().enumerate() {
            let replaced = diagonal + usize::from(word != other);
            diagonal = distances[j + 1];
            distances[j + 1] = replaced.min(diagonal + 1).min(distances[j] + 1);
        }
    }
    match left.len().max(right.len()) {
        0 => 0.0,
        longer => distances[right.len()] as f64 / longer as f64,
    }
}
