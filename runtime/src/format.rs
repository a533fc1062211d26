//! `print(format, values...)`: values in the places of a format, whose language is that of Java's `Formatter`.

use fuseline_ir::Value;
use std::iter::Peekable;
use std::str::Chars;
use thiserror::Error;

/// Characters of a place, and digits after a point, at most.
const MOST_CHARACTERS: usize = 1000;

/// A format that cannot be filled with values.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FormatError {
    /// The end within a place.
    #[error("the format ends within a place for a value; write `%%` for a percent sign")]
    Unfinished,
    /// A conversion that there is not.
    #[error("the format has no conversion `%{0}`; there are %d %x %f %e %g %s %b %n and %%")]
    Conversion(char),
    /// A place wider than any.
    #[error("the format has a place or digits of more than {MOST_CHARACTERS} characters")]
    Width,
    /// More places than values.
    #[error("the format has a place for value {position}, but there are {count}")]
    Missing {
        /// The value, from 1.
        position: usize,
        /// How many values there are.
        count: usize,
    },
    /// A value of another type than its place.
    #[error("`%{conversion}` takes {expected}, not {actual}")]
    Type {
        /// The conversion.
        conversion: char,
        /// What it takes.
        expected: &'static str,
        /// The value.
        actual: String,
    },
}

/// A place for a value: `%[position$][flags][width][.precision]conversion`.
#[derive(Debug, Default)]
struct Place {
    /// From 1.
    position: Option<usize>,
    /// `-`: blanks follow the value.
    left: bool,
    /// `+`: positive numbers have a sign.
    plus: bool,
    /// A blank: positive numbers have one.
    blank: bool,
    /// `0`: zeros stand before a number.
    zeros: bool,
    /// `,`: digits stand in groups of three.
    groups: bool,
    width: usize,
    precision: Option<usize>,
    conversion: char,
}

/// The format with values in its places; values without a place are left out.
pub(crate) fn formatted(format: &str, values: &[&Value]) -> Result<String, FormatError> {
    let mut text = String::new();
    let mut next = 0;
    let mut rest = format.chars().peekable();
    while let Some(character) = rest.next() {
        if character != '%' {
            text.push(character);
            continue;
        }
        let place = Place::parse(&mut rest)?;
        match place.conversion {
            'n' => text.push('\n'),
            '%' => text.push_str(&place.padded("", "%")),
            _ => {
                let position = place.position.unwrap_or_else(|| {
                    next += 1;
                    next
                });
                let missing = FormatError::Missing { position, count: values.len() };
                let value = position.checked_sub(1).and_then(|index| values.get(index)).ok_or(missing)?;
                text.push_str(&place.value(value)?);
            }
        }
    }
    Ok(text)
}

/// The number that stands next, if one does.
fn count(rest: &mut Peekable<Chars<'_>>) -> Result<Option<usize>, FormatError> {
    let mut count = None;
    while let Some(digit) = rest.peek().and_then(|digit| digit.to_digit(10)) {
        rest.next();
        let so_far = 10 * count.unwrap_or(0) + digit as usize;
        if so_far > MOST_CHARACTERS {
            return Err(FormatError::Width);
        }
        count = Some(so_far);
    }
    Ok(count)
}

impl Place {
    fn parse(rest: &mut Peekable<Chars<'_>>) -> Result<Place, FormatError> {
        let mut place = Place::default();
        place.flags(rest);
        let mut width = count(rest)?;
        if rest.next_if_eq(&'$').is_some() {
            // A zero before it was taken for a flag.
            place.position = Some(width.take().unwrap_or(0));
            place.flags(rest);
            width = count(rest)?;
        }
        place.width = width.unwrap_or(0);
        if rest.next_if_eq(&'.').is_some() {
            place.precision = Some(count(rest)?.unwrap_or(0));
        }
        place.conversion = rest.next().ok_or(FormatError::Unfinished)?;
        Ok(place)
    }

    fn flags(&mut self, rest: &mut Peekable<Chars<'_>>) {
        while let Some(flag) = rest.next_if(|character| "-+ 0,".contains(*character)) {
            match flag {
                '-' => self.left = true,
                '+' => self.plus = true,
                '0' => self.zeros = true,
                ',' => self.groups = true,
                _ => self.blank = true,
            }
        }
    }

    fn value(&self, value: &Value) -> Result<String, FormatError> {
        match self.conversion {
            'd' => self.integer(value).map(|number| self.number(number < 0, number.unsigned_abs().to_string())),
            'x' => self.integer(value).map(|number| self.padded("", &format!("{number:x}"))),
            'X' => self.integer(value).map(|number| self.padded("", &format!("{number:X}"))),
            'f' | 'e' | 'E' | 'g' | 'G' => self.real(value),
            's' => Ok(self.text(&value.to_string())),
            'S' => Ok(self.text(&value.to_string().to_uppercase())),
            'b' => Ok(self.text(&(*value != Value::Bool(false)).to_string())),
            'B' => Ok(self.text(&(*value != Value::Bool(false)).to_string().to_uppercase())),
            other => Err(FormatError::Conversion(other)),
        }
    }

    fn type_error(&self, expected: &'static str, value: &Value) -> FormatError {
        let actual = format!("the {} value {value}", value.scalar_type().mnemonic());
        FormatError::Type { conversion: self.conversion, expected, actual }
    }

    fn integer(&self, value: &Value) -> Result<i64, FormatError> {
        match value {
            Value::I64(number) => Ok(*number),
            Value::F64(number) if number.fract() == 0.0 && number.abs() < 9.0e18 => Ok(*number as i64),
            _ => Err(self.type_error("an integer", value)),
        }
    }

    fn real(&self, value: &Value) -> Result<String, FormatError> {
        let number = match value {
            Value::F64(number) => *number,
            Value::I64(number) => *number as f64,
            Value::Bool(_) | Value::Str(_) => return Err(self.type_error("a number", value)),
        };
        if !number.is_finite() {
            return Ok(self.padded("", &Value::F64(number).to_string()));
        }
        let (is_negative, size) = (number.is_sign_negative(), number.abs());
        let precision = self.precision.unwrap_or(6);
        let digits = match self.conversion {
            'f' => format!("{size:.precision$}"),
            'e' | 'E' => scientific(size, precision),
            _ => general(size, precision.max(1)),
        };
        let is_upper = self.conversion.is_uppercase();
        Ok(self.number(is_negative, if is_upper { digits.to_uppercase() } else { digits }))
    }

    /// A number of these digits with its sign.
    fn number(&self, is_negative: bool, digits: String) -> String {
        let sign = if is_negative {
            "-"
        } else if self.plus {
            "+"
        } else if self.blank {
            " "
        } else {
            ""
        };
        self.padded(sign, &if self.groups { grouped(&digits) } else { digits })
    }

    fn text(&self, text: &str) -> String {
        let text: String = text.chars().take(self.precision.unwrap_or(usize::MAX)).collect();
        Place { zeros: false, width: self.width, left: self.left, ..Place::default() }.padded("", &text)
    }

    fn padded(&self, sign: &str, text: &str) -> String {
        let missing = self.width.saturating_sub(sign.chars().count() + text.chars().count());
        match (self.left, self.zeros) {
            (true, _) => format!("{sign}{text}{:missing$}", ""),
            (false, true) => format!("{sign}{:0>missing$}{text}", ""),
            (false, false) => format!("{:missing$}{sign}{text}", ""),
        }
    }
}

/// `1.500000e+01`.
fn scientific(number: f64, precision: usize) -> String {
    let text = format!("{number:.precision$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, digits) = exponent.strip_prefix('-').map_or(('+', exponent), |digits| ('-', digits));
    format!("{mantissa}e{sign}{digits:0>2}")
}

/// So many digits, with an exponent where the number is small or large.
fn general(number: f64, precision: usize) -> String {
    let rounded = format!("{number:.0$e}", precision - 1);
    let exponent: i32 = rounded.split_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or(0);
    if number != 0.0 && (exponent < -4 || exponent >= precision as i32) {
        return scientific(number, precision - 1);
    }
    let digits = usize::try_from(precision as i32 - 1 - exponent).unwrap_or(0);
    format!("{number:.digits$}")
}

/// Digits before the point in groups of three.
fn grouped(digits: &str) -> String {
    let point = digits.find(|character: char| !character.is_ascii_digit()).unwrap_or(digits.len());
    let (whole, rest) = digits.split_at(point);
    let mut text = String::new();
    for (position, digit) in whole.chars().enumerate() {
        if position > 0 && (whole.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_in_their_places() {
        let (n, x, s) = (Value::I64(-42), Value::F64(1234.5678), Value::Str("text".to_owned()));
        let cases = [
            ("%d|%6d|%-6d|%06d|%x", [&n, &n, &n, &n, &Value::I64(255)], "-42|   -42|-42   |-00042|ff"),
            ("%f|%.2f|%10.1f|%+.0f|%,.2f", [&x; 5], "1234.567800|1234.57|    1234.6|+1235|1,234.57"),
            ("%e|%.1E|%g|%.2g|%s", [&x; 5], "1.234568e+03|1.2E+03|1234.57|1.2e+03|1234.5678"),
            ("%s|%6s|%-6s|%.2s|%S", [&s; 5], "text|  text|text  |te|TEXT"),
            ("%5$s%1$d %b%n%%|%d|%d", [&n, &n, &n, &n, &s], "text-42 true\n%|-42|-42"),
            ("%d%d%d%d%d", [&Value::I64(i64::MIN); 5], &"-9223372036854775808".repeat(5)),
        ];
        for (format, values, expected) in cases {
            assert_eq!(formatted(format, &values).as_deref(), Ok(expected), "{format}");
        }
        assert_eq!(formatted("%g %g", &[&Value::F64(0.0), &Value::F64(1e-5)]).as_deref(), Ok("0.00000 1.00000e-05"));
        assert_eq!(formatted("%d %f", &[&Value::F64(3.0), &Value::F64(f64::NAN)]).as_deref(), Ok("3 NaN"));
    }

    #[test]
    fn formats_that_do_not_fit_their_values_are_errors() {
        let message = |format: &str| formatted(format, &[&Value::F64(1.5)]).expect_err("no value fits").to_string();
        assert_eq!(message("%d"), "`%d` takes an integer, not the f64 value 1.5");
        assert_eq!(message("%s %s"), "the format has a place for value 2, but there are 1");
        assert_eq!(message("%0$s"), "the format has a place for value 0, but there are 1");
        assert_eq!(message("%q"), "the format has no conversion `%q`; there are %d %x %f %e %g %s %b %n and %%");
        assert_eq!(message("5 %"), "the format ends within a place for a value; write `%%` for a percent sign");
        assert!(message("%999999999999s").contains("more than 1000 characters"));
    }
}
