//! The tokens of functions of cells.

use super::CellFunctionError;

/// A token.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// A name.
    Name(String),
    /// A text or a character, without its quotes.
    Text(String),
    /// An integer.
    Integer(i64),
    /// A double.
    Double(f64),
    /// A sign of one or two characters.
    Sign(&'static str),
    /// The end of the text.
    End,
}

/// Signs, those of two characters before their beginnings.
const SIGNS: &[&str] = &[
    "->", "&&", "||", "==", "!=", "<=", ">=", "&", "|", "!", "<", ">", "+", "-", "*", "/", "%", "?", ":", ".", ",",
    "(", ")", "[", "]", "{", "}",
];

/// The tokens of a text, each with its position in characters from 1.
pub(super) fn tokens(text: &str) -> Result<Vec<(Token, usize)>, CellFunctionError> {
    let characters: Vec<char> = text.chars().collect();
    let mut scanner = Scanner { text, characters: &characters, next: 0 };
    let mut tokens = Vec::new();
    loop {
        while scanner.peek().is_some_and(char::is_whitespace) {
            scanner.next += 1;
        }
        let at = scanner.next + 1;
        let token = scanner.token()?;
        let is_end = token == Token::End;
        tokens.push((token, at));
        if is_end {
            return Ok(tokens);
        }
    }
}

pub(super) fn error(text: &str, at: usize, message: impl Into<String>) -> CellFunctionError {
    CellFunctionError { message: message.into(), at, function: text.to_owned() }
}

struct Scanner<'a> {
    text: &'a str,
    characters: &'a [char],
    next: usize,
}

impl Scanner<'_> {
    fn peek(&self) -> Option<char> {
        self.characters.get(self.next).copied()
    }

    fn token(&mut self) -> Result<Token, CellFunctionError> {
        match self.peek() {
            None => Ok(Token::End),
            Some(quote @ ('"' | '\'')) => self.quoted(quote),
            Some(first) if first.is_ascii_digit() => self.number(),
            Some(first) if first.is_alphabetic() || first == '_' => {
                Ok(Token::Name(self.while_is(|next| next.is_alphanumeric() || next == '_')))
            }
            Some(first) => {
                let rest = &self.characters[self.next..];
                let begins = |sign: &str| sign.chars().enumerate().all(|(at, part)| rest.get(at) == Some(&part));
                let sign = SIGNS.iter().find(|sign| begins(sign));
                let unknown = || error(self.text, self.next + 1, format!("unexpected `{first}`"));
                let sign = *sign.ok_or_else(unknown)?;
                self.next += sign.len();
                Ok(Token::Sign(sign))
            }
        }
    }

    fn while_is(&mut self, belongs: impl Fn(char) -> bool) -> String {
        let first = self.next;
        while self.peek().is_some_and(&belongs) {
            self.next += 1;
        }
        self.characters[first..self.next].iter().collect()
    }

    /// Digits, which may have a fraction, an exponent and the suffix of a type.
    fn number(&mut self) -> Result<Token, CellFunctionError> {
        let at = self.next + 1;
        let mut digits = self.while_is(|next| next.is_ascii_digit());
        let is_fraction =
            self.peek() == Some('.') && self.characters.get(self.next + 1).is_some_and(char::is_ascii_digit);
        if is_fraction {
            self.next += 1;
            digits = format!("{digits}.{}", self.while_is(|next| next.is_ascii_digit()));
        }
        let has_exponent = matches!(self.peek(), Some('e' | 'E'));
        if has_exponent {
            self.next += 1;
            let sign = self.while_is(|next| next == '+' || next == '-');
            digits = format!("{digits}e{sign}{}", self.while_is(|next| next.is_ascii_digit()));
        }
        let suffix = self.while_is(char::is_alphanumeric);
        let number = match suffix.as_str() {
            "" | "l" | "L" if !is_fraction && !has_exponent => digits.parse().ok().map(Token::Integer),
            "" | "d" | "D" | "f" | "F" => digits.parse().ok().map(Token::Double),
            _ => None,
        };
        number.ok_or_else(|| error(self.text, at, format!("`{digits}{suffix}` is no number")))
    }

    fn quoted(&mut self, quote: char) -> Result<Token, CellFunctionError> {
        let at = self.next + 1;
        self.next += 1;
        let mut text = String::new();
        loop {
            let Some(next) = self.peek() else { return Err(error(self.text, at, "a text without an end")) };
            self.next += 1;
            match next {
                '\\' => text.push(self.escaped()?),
                next if next == quote => return Ok(Token::Text(text)),
                next => text.push(next),
            }
        }
    }

    /// The character that an escape after a backslash stands for. What Java has no escape for stands for itself with
    /// its backslash before it being left to patterns (`"\\s"` in a script is `\s` here).
    fn escaped(&mut self) -> Result<char, CellFunctionError> {
        let escape = self.peek();
        match escape {
            Some('n') => self.take('\n'),
            Some('t') => self.take('\t'),
            Some('r') => self.take('\r'),
            Some(itself @ ('\\' | '"' | '\'')) => self.take(itself),
            // Scripts unescape texts once, so that one backslash of a pattern is left.
            _ => Ok('\\'),
        }
    }

    fn take(&mut self, character: char) -> Result<char, CellFunctionError> {
        self.next += 1;
        Ok(character)
    }
}
