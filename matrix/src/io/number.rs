//! Numbers in text: doubles and indexes.

use super::error::{Problem, shown};
use fuseline_ir::Value;
use std::io::Write;

/// The finite number with which the bytes begin, and its length.
pub(super) fn leading_number(bytes: &[u8]) -> Option<(f64, usize)> {
    // Zeros, ones and other single digits are most of many files.
    if let [digit @ b'0'..=b'9', next, ..] = bytes
        && !matches!(next, b'0'..=b'9' | b'.' | b'e' | b'E')
    {
        return Some((f64::from(digit - b'0'), 1));
    }
    let (value, length) = fast_float2::parse_partial(bytes).ok()?;
    f64::is_finite(value).then_some((value, length))
}

/// A double: decimal, or an infinity or NaN by name.
///
/// What rounds to an infinity is refused: it was meant to be a number.
pub(super) fn parse_number(bytes: &[u8]) -> Result<f64, String> {
    match fast_float2::parse::<f64, _>(bytes) {
        Ok(value) if value.is_infinite() && bytes.iter().any(u8::is_ascii_digit) => {
            Err(format!("`{}` is beyond the range of doubles", shown(bytes)))
        }
        Ok(value) => Ok(value),
        Err(_) => Err(format!("`{}` is not a number", shown(bytes))),
    }
}

/// A number without sign, point or exponent.
pub(super) fn parse_count(bytes: &[u8]) -> Option<u64> {
    if bytes.is_empty() {
        return None;
    }
    bytes.iter().try_fold(0_u64, |number, byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    })
}

/// The fields of a line, separated by blanks and perhaps another character, each with its offset.
#[derive(Clone, Debug)]
pub(super) struct Fields<'a> {
    line: &'a [u8],
    at: usize,
    separator: u8,
}

impl<'a> Fields<'a> {
    pub(super) fn of(line: &'a [u8]) -> Self {
        Self::separated_by(b' ', line)
    }

    pub(super) fn separated_by(separator: u8, line: &'a [u8]) -> Self {
        Fields { line, at: 0, separator }
    }

    /// A 1-based index of at most `last`. `what` is its name in messages.
    pub(super) fn index(&mut self, what: &str, last: u64) -> Result<u64, Problem> {
        let (offset, field) = self.required(what)?;
        match parse_count(field) {
            Some(index) if (1..=last).contains(&index) => Ok(index),
            Some(index) => Err(Problem::at(offset, format!("the {what} {index} is not within 1 to {last}"))),
            None => Err(Problem::at(offset, format!("`{}` is not a {what}", shown(field)))),
        }
    }

    /// A double. `what` is its name in messages.
    pub(super) fn number(&mut self, what: &str) -> Result<f64, Problem> {
        let (offset, field) = self.required(what)?;
        parse_number(field).map_err(|message| Problem::at(offset, message))
    }

    pub(super) fn required(&mut self, what: &str) -> Result<(usize, &'a [u8]), Problem> {
        self.next().ok_or_else(|| Problem::at(self.line.len(), format!("the line ends before the {what}")))
    }

    /// Checks that the line has no more fields.
    pub(super) fn end(&mut self) -> Result<(), Problem> {
        match self.next() {
            None => Ok(()),
            Some((offset, field)) => {
                Err(Problem::at(offset, format!("`{}` stands where the line should end", shown(field))))
            }
        }
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = (usize, &'a [u8]);
    fn next(&mut self) -> Option<Self::Item> {
        let separates = |byte: &u8| matches!(byte, b' ' | b'\t') || *byte == self.separator;
        let rest = &self.line[self.at..];
        let start = self.at + rest.iter().position(|byte| !separates(byte))?;
        let length = self.line[start..].iter().position(separates);
        self.at = length.map_or(self.line.len(), |length| start + length);
        Some((start, &self.line[start..self.at]))
    }
}

/// A cell as text that reads back as the same bits, NaN aside, which is one value to us.
pub(super) fn write_number(out: &mut impl Write, value: f64) -> std::io::Result<()> {
    if value.fract() == 0.0 && value.abs() < 1e15 && !(value == 0.0 && value.is_sign_negative()) {
        write!(out, "{}", value as i64)
    } else {
        write!(out, "{}", Value::F64(value))
    }
}
