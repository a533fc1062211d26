//! Shared pieces of the text forms: a line scanner, names and values, and parse errors.
//!
//! All text forms are made of lines: a parser that finds an error in one line reports it and goes on with the next.
//! `#` starts a comment. Words are runs of characters other than blanks and `= , : [ ] ( ) { } "`; texts stand in
//! double quotes with the escapes of `quoted`.

mod ids;
mod scanner;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

pub(crate) use ids::Ids;
pub(crate) use scanner::{Cursor, Lines};

use crate::types::Value;
use std::fmt;

/// A place in a text and what is wrong there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// 1-based.
    pub line: u32,
    /// 1-based, in characters.
    pub column: u32,
    /// What was expected and what was found.
    pub message: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.message)
    }
}

/// Everything that is wrong with a text, in the order of its lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParseErrors(Vec<ParseError>);

impl ParseErrors {
    pub(crate) fn push(&mut self, error: ParseError) {
        self.0.push(error);
    }

    /// `value` if there is no error, the errors otherwise.
    pub(crate) fn finish<T>(mut self, value: T) -> Result<T, ParseErrors> {
        if self.0.is_empty() {
            return Ok(value);
        }
        self.0.sort_by_key(|error| (error.line, error.column));
        Err(self)
    }

    /// The errors.
    pub fn errors(&self) -> &[ParseError] {
        &self.0
    }
}

impl From<ParseError> for ParseErrors {
    fn from(error: ParseError) -> Self {
        ParseErrors(vec![error])
    }
}

/// One `line:column: message` per line.
impl fmt::Display for ParseErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, error) in self.0.iter().enumerate() {
            if position > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{error}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ParseErrors {}

/// A text in double quotes: `\"`, `\\`, `\n`, `\t`, and `\u{..}` for other control characters.
pub(crate) fn quoted(text: &str) -> String {
    let mut result = String::with_capacity(text.len() + 2);
    result.push('"');
    for character in text.chars() {
        match character {
            '"' => result.push_str("\\\""),
            '\\' => result.push_str("\\\\"),
            '\n' => result.push_str("\\n"),
            '\t' => result.push_str("\\t"),
            // Line separators would end the line for other programs that read these files.
            control if control.is_control() || matches!(control, '\u{2028}' | '\u{2029}') => {
                result.push_str(&format!("\\u{{{:x}}}", u32::from(control)));
            }
            other => result.push(other),
        }
    }
    result.push('"');
    result
}

/// A name of a variable or function: as it is when it is an identifier, in quotes otherwise.
pub(crate) fn name(text: &str) -> String {
    let is_start = |character: char| character.is_ascii_alphabetic() || character == '_';
    let is_identifier = text.starts_with(is_start)
        && text.chars().all(|character| is_start(character) || character.is_ascii_digit() || character == '.');
    if is_identifier { text.to_owned() } else { quoted(text) }
}

/// A literal value, so that it reads back as the same bits of the same type.
pub(crate) fn value(value: &Value) -> String {
    match value {
        Value::Str(text) => quoted(text),
        other => other.to_string(),
    }
}

/// Reads back what [`value`] prints for numbers and truth values.
pub(crate) fn parse_value(word: &str) -> Option<Value> {
    match word {
        "TRUE" => return Some(Value::Bool(true)),
        "FALSE" => return Some(Value::Bool(false)),
        _ => {}
    }
    if let Ok(integer) = word.parse() {
        return Some(Value::I64(integer));
    }
    parse_f64(word).map(Value::F64)
}

/// A double as the text forms write it: with a point or an exponent, or `NaN`, `Infinity`, `-Infinity`.
pub(crate) fn parse_f64(word: &str) -> Option<f64> {
    match word {
        "NaN" => Some(f64::NAN),
        "Infinity" => Some(f64::INFINITY),
        "-Infinity" => Some(f64::NEG_INFINITY),
        _ if word.contains(['.', 'e', 'E']) && !word.contains(['n', 'N', 'i', 'I']) => word.parse().ok(),
        _ => None,
    }
}
