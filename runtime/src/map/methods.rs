//! The methods of texts.

use super::evaluate::{Cell, Problem};
use super::pattern::Patterns;
use fuseline_ir::cell_function::Method;

/// The longest text that a method makes, in bytes.
pub(super) const LONGEST: usize = 1 << 24;

pub(super) fn apply(
    method: Method,
    receiver: &Cell,
    operands: &[Cell],
    patterns: &mut Patterns,
) -> Result<Cell, Problem> {
    if method == Method::ToString {
        return Ok(Cell::Text(receiver.to_string()));
    }
    let text = receiver.as_text()?;
    let operand = |position: usize| operands[position].as_text();
    Ok(match method {
        Method::ToString => unreachable!("every value has a text"),
        Method::ToLowerCase => Cell::Text(text.to_lowercase()),
        Method::ToUpperCase => Cell::Text(text.to_uppercase()),
        Method::Trim | Method::Strip => Cell::Text(text.trim().to_owned()),
        Method::Length => Cell::Integer(text.chars().count() as i64),
        Method::IsEmpty => Cell::Truth(text.is_empty()),
        Method::IsBlank => Cell::Truth(text.trim().is_empty()),
        Method::Equals => Cell::Truth(matches!(&operands[0], Cell::Text(other) if other == text)),
        Method::EqualsIgnoreCase => Cell::Truth(text.to_lowercase() == operand(0)?.to_lowercase()),
        Method::Contains => Cell::Truth(text.contains(operand(0)?)),
        Method::StartsWith => Cell::Truth(text.starts_with(operand(0)?)),
        Method::EndsWith => Cell::Truth(text.ends_with(operand(0)?)),
        Method::IndexOf => position(text, text.find(operand(0)?)),
        Method::LastIndexOf => position(text, text.rfind(operand(0)?)),
        Method::CharAt => {
            let at = operands[0].as_integer()?;
            let character = usize::try_from(at).ok().and_then(|at| text.chars().nth(at));
            Cell::Text(character.ok_or_else(|| outside(text, at))?.to_string())
        }
        Method::Substring => {
            let first = operands[0].as_integer()?;
            let end = operands.get(1).map_or(Ok(text.chars().count() as i64), Cell::as_integer)?;
            Cell::Text(part(text, first, end)?.to_owned())
        }
        Method::Concat => Cell::Text(format!("{text}{}", operand(0)?)),
        Method::Repeat => {
            let times = operands[0].as_integer()?;
            let times = usize::try_from(times).map_err(|_| format!("a text cannot be repeated {times} times"))?;
            if text.len().checked_mul(times).is_none_or(|length| length > LONGEST) {
                return Err(too_long());
            }
            Cell::Text(text.repeat(times))
        }
        Method::Replace => {
            let (old, new) = (operand(0)?, operand(1)?);
            let added = text.matches(old).count().checked_mul(new.len());
            if added.and_then(|added| added.checked_add(text.len())).is_none_or(|length| length > LONGEST) {
                return Err(too_long());
            }
            Cell::Text(text.replace(old, new))
        }
        Method::ReplaceAll => Cell::Text(patterns.replace(text, operand(0)?, operand(1)?, usize::MAX)?),
        Method::ReplaceFirst => Cell::Text(patterns.replace(text, operand(0)?, operand(1)?, 1)?),
        Method::Matches => Cell::Truth(patterns.matches(text, operand(0)?)?),
        Method::Split => Cell::Texts(patterns.split(text, operand(0)?)?),
    })
}

/// What is wrong with a text of more than [`LONGEST`] bytes.
pub(super) fn too_long() -> Problem {
    format!("the text that it makes is longer than {LONGEST} bytes")
}

/// A position in characters, from one in bytes.
fn position(text: &str, byte: Option<usize>) -> Cell {
    Cell::Integer(byte.map_or(-1, |byte| text[..byte].chars().count() as i64))
}

fn outside(text: &str, at: i64) -> Problem {
    format!("there is no character {at} of {}, counted from 0", text.chars().count())
}

/// Where a character begins, or the text ends.
fn byte_of(text: &str, at: i64) -> Option<usize> {
    let at = usize::try_from(at).ok()?;
    text.char_indices().map(|(byte, _)| byte).chain([text.len()]).nth(at)
}

/// The characters from one position to before another.
fn part(text: &str, first: i64, end: i64) -> Result<&str, Problem> {
    match (byte_of(text, first), byte_of(text, end)) {
        (Some(first), Some(end)) if first <= end => Ok(&text[first..end]),
        (None, _) => Err(outside(text, first)),
        _ => Err(outside(text, end)),
    }
}

/// The parts of a text between a separator, without empty ones at the end.
pub(super) fn split_at<'a>(text: &'a str, separator: &str) -> Vec<&'a str> {
    let mut parts: Vec<&str> = text.split(separator).collect();
    while parts.len() > 1 && parts.last().is_some_and(|part| part.is_empty()) {
        parts.pop();
    }
    parts
}
