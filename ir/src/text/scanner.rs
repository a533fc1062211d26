//! Texts as lines of tokens.

use super::{ParseError, ParseErrors, parse_value};
use crate::types::Value;
use std::str::FromStr;

#[derive(Clone, Debug, PartialEq)]
enum Kind<'a> {
    Word(&'a str),
    Text(String),
    Punctuation(char),
}

impl Kind<'_> {
    fn describe(&self) -> String {
        match self {
            Kind::Word(word) => format!("`{word}`"),
            Kind::Text(text) => super::quoted(text),
            Kind::Punctuation(character) => format!("`{character}`"),
        }
    }
}

#[derive(Clone, Debug)]
struct Token<'a> {
    /// Of the first byte in the line.
    offset: usize,
    kind: Kind<'a>,
}

const PUNCTUATION: &[char] = &['=', ',', ':', '[', ']', '(', ')', '{', '}'];

/// The tokens of one line, consumed from the left.
#[derive(Clone, Debug)]
pub(crate) struct Cursor<'a> {
    line: u32,
    text: &'a str,
    tokens: Vec<Token<'a>>,
    next: usize,
}

type Result<T> = std::result::Result<T, ParseError>;

impl<'a> Cursor<'a> {
    fn scan(line: u32, text: &'a str) -> Result<Self> {
        let mut cursor = Cursor { line, text, tokens: Vec::new(), next: 0 };
        let mut rest = text.trim_start();
        while let Some(first) = rest.chars().next().filter(|&first| first != '#') {
            let offset = text.len() - rest.len();
            let (kind, after) = if PUNCTUATION.contains(&first) {
                (Kind::Punctuation(first), &rest[first.len_utf8()..])
            } else if first == '"' {
                let (text, after) = unquote(&rest[1..]).map_err(|message| cursor.error_at(offset, message))?;
                (Kind::Text(text), after)
            } else {
                let is_end = |c: char| c.is_whitespace() || c == '"' || c == '#' || PUNCTUATION.contains(&c);
                let (word, after) = rest.split_at(rest.find(is_end).unwrap_or(rest.len()));
                (Kind::Word(word), after)
            };
            cursor.tokens.push(Token { offset, kind });
            rest = after.trim_start();
        }
        Ok(cursor)
    }

    fn peek(&self) -> Option<&Kind<'a>> {
        self.tokens.get(self.next).map(|token| &token.kind)
    }

    /// An error at the next token: what was expected there.
    pub(crate) fn expected(&self, what: &str) -> ParseError {
        match self.tokens.get(self.next) {
            Some(token) => self.error_at(token.offset, format!("expected {what}, found {}", token.kind.describe())),
            None => self.error_at(self.text.trim_end().len(), format!("expected {what} at the end of the line")),
        }
    }

    fn error_at(&self, offset: usize, message: String) -> ParseError {
        let column = 1 + self.text[..offset].chars().count() as u32;
        ParseError { line: self.line, column, message }
    }

    /// An error at the token that was consumed last.
    pub(crate) fn error(&self, message: impl Into<String>) -> ParseError {
        let offset = self.tokens.get(self.next.saturating_sub(1)).map_or(0, |token| token.offset);
        self.error_at(offset, message.into())
    }

    /// The line's number.
    pub(crate) fn line(&self) -> u32 {
        self.line
    }

    /// The next token if it is a word.
    pub(crate) fn peek_word(&self) -> Option<&'a str> {
        match self.peek() {
            Some(Kind::Word(word)) => Some(word),
            _ => None,
        }
    }

    /// Consumes a word.
    pub(crate) fn word(&mut self, what: &str) -> Result<&'a str> {
        let word = self.peek_word().ok_or_else(|| self.expected(what))?;
        self.next += 1;
        Ok(word)
    }

    /// Consumes this word if it is next.
    pub(crate) fn eat_word(&mut self, word: &str) -> bool {
        let found = self.peek_word() == Some(word);
        self.next += usize::from(found);
        found
    }

    /// Consumes this word.
    pub(crate) fn expect_word(&mut self, word: &str) -> Result<()> {
        if self.eat_word(word) { Ok(()) } else { Err(self.expected(&format!("`{word}`"))) }
    }

    /// Whether the next token is this punctuation.
    pub(crate) fn is_next(&self, punctuation: char) -> bool {
        self.peek() == Some(&Kind::Punctuation(punctuation))
    }

    /// Consumes this punctuation if it is next.
    pub(crate) fn eat(&mut self, punctuation: char) -> bool {
        let found = self.is_next(punctuation);
        self.next += usize::from(found);
        found
    }

    /// Consumes this punctuation.
    pub(crate) fn expect(&mut self, punctuation: char) -> Result<()> {
        if self.eat(punctuation) { Ok(()) } else { Err(self.expected(&format!("`{punctuation}`"))) }
    }

    /// Consumes a text in quotes.
    pub(crate) fn text(&mut self, what: &str) -> Result<String> {
        let Some(Kind::Text(text)) = self.peek() else { return Err(self.expected(what)) };
        let text = text.clone();
        self.next += 1;
        Ok(text)
    }

    /// Consumes a name: a word, or a text in quotes.
    pub(crate) fn name(&mut self, what: &str) -> Result<String> {
        if let Some(Kind::Text(_)) = self.peek() { self.text(what) } else { self.word(what).map(str::to_owned) }
    }

    /// Consumes a literal value.
    pub(crate) fn value(&mut self) -> Result<Value> {
        if let Some(Kind::Text(_)) = self.peek() {
            return self.text("a value").map(Value::Str);
        }
        let value = self.peek_word().and_then(parse_value).ok_or_else(|| self.expected("a value"))?;
        self.next += 1;
        Ok(value)
    }

    /// Consumes a word that reads as a `T`.
    pub(crate) fn parsed<T: FromStr>(&mut self, what: &str) -> Result<T> {
        let parsed = self.peek_word().and_then(|word| word.parse().ok()).ok_or_else(|| self.expected(what))?;
        self.next += 1;
        Ok(parsed)
    }

    /// Consumes an entity: the prefix and a number.
    pub(crate) fn entity(&mut self, prefix: &str, what: &str) -> Result<u32> {
        let digits = self.peek_word().and_then(|word| word.strip_prefix(prefix));
        // The largest number is no entity: it is reserved.
        let number = digits.and_then(|digits| digits.parse().ok()).filter(|&number| number < u32::MAX);
        let number = number.ok_or_else(|| self.expected(what))?;
        self.next += 1;
        Ok(number)
    }

    /// Consumes what `item` reads, separated by commas.
    pub(crate) fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let mut items = vec![item(self)?];
        while self.eat(',') {
            items.push(item(self)?);
        }
        Ok(items)
    }

    /// Checks that nothing is left on the line.
    pub(crate) fn end(&self) -> Result<()> {
        if self.peek().is_none() { Ok(()) } else { Err(self.expected("the end of the line")) }
    }
}

/// The text up to the closing quote, without escapes, and what follows it.
fn unquote(text: &str) -> std::result::Result<(String, &str), String> {
    let mut result = String::new();
    let mut rest = text.chars();
    while let Some(character) = rest.next() {
        match character {
            '"' => return Ok((result, rest.as_str())),
            '\\' => match rest.next() {
                Some('n') => result.push('\n'),
                Some('t') => result.push('\t'),
                Some(escaped @ ('"' | '\\')) => result.push(escaped),
                Some('u') => {
                    let code = rest.as_str().strip_prefix('{').and_then(|code| code.split_once('}'));
                    let (digits, after) = code.ok_or("expected `\\u{..}`")?;
                    let character = u32::from_str_radix(digits, 16).ok().and_then(char::from_u32);
                    result.push(character.ok_or_else(|| format!("`\\u{{{digits}}}` is no character"))?);
                    rest = after.chars();
                }
                _ => return Err("an unknown escape".to_owned()),
            },
            other => result.push(other),
        }
    }
    Err("the text has no closing quote".to_owned())
}

/// The lines of a text that hold tokens.
#[derive(Debug)]
pub(crate) struct Lines<'a> {
    lines: std::iter::Peekable<std::vec::IntoIter<Cursor<'a>>>,
    /// Where the text ends.
    end: (u32, u32),
}

impl<'a> Lines<'a> {
    /// Scans a text; lines that cannot be scanned are reported and left out.
    pub(crate) fn new(text: &'a str, errors: &mut ParseErrors) -> Self {
        let mut lines = Vec::new();
        let mut end = (1, 1);
        for (number, line) in (1..).zip(text.lines()) {
            end = (number, 1 + line.chars().count() as u32);
            match Cursor::scan(number, line) {
                Ok(cursor) if cursor.tokens.is_empty() => {}
                Ok(cursor) => lines.push(cursor),
                Err(error) => errors.push(error),
            }
        }
        Lines { lines: lines.into_iter().peekable(), end }
    }

    /// The next line if the condition holds for it.
    pub(crate) fn next_if(&mut self, condition: impl FnOnce(&Cursor<'a>) -> bool) -> Option<Cursor<'a>> {
        self.lines.next_if(condition)
    }

    /// An error at the end of the text.
    pub(crate) fn end_error(&self, message: &str) -> ParseError {
        ParseError { line: self.end.0, column: self.end.1, message: message.to_owned() }
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = Cursor<'a>;
    fn next(&mut self) -> Option<Cursor<'a>> {
        self.lines.next()
    }
}
