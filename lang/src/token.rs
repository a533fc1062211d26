//! Tokens of DML and the lexer.

use crate::diagnostic::Diagnostic;
use fuseline_ir::hop::Span;
use logos::{Lexer, Logos};

/// What can go wrong within a token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum LexicalError {
    /// No token starts so.
    #[default]
    Character,
    /// A text without its closing quote.
    Text,
    /// A backslash in a text that begins no escape, so many bytes after the start of the text.
    Escape(usize),
    /// A `/*` without `*/`.
    Comment,
}

/// A token.
#[derive(Clone, Debug, PartialEq, Logos)]
#[logos(error = LexicalError)]
#[logos(skip r"[ \t\r\f]+")]
#[logos(skip(r"#[^\n]*", allow_greedy = true))]
pub(crate) enum Token {
    /// Kept as [`Lexeme::line_end`] by the lexer below.
    #[token("\n")]
    Newline,
    /// Skipped by the lexer below.
    #[token("/*", comment)]
    Comment,
    #[regex(r"[0-9]+[lL]?", integer)]
    Integer(NumberLiteral),
    #[regex(r"([0-9]+\.[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[lL]?", double)]
    #[regex(r"[0-9]+[eE][+-]?[0-9]+[lL]?", double)]
    Double(NumberLiteral),
    #[token("\"", |lexer| text(lexer, '"'))]
    #[token("'", |lexer| text(lexer, '\''))]
    Text(String),
    #[regex(r"\$([A-Za-z][A-Za-z0-9_]*|[0-9]+)", |lexer| lexer.slice()[1..].to_owned())]
    Argument(String),
    #[regex(r"[A-Za-z][A-Za-z0-9_]*(\.[A-Za-z][A-Za-z0-9_]*)*", |lexer| lexer.slice().to_owned())]
    Name(String),
    #[token("if")]
    If,
    #[token("else")]
    Else,
    #[token("while")]
    While,
    #[token("for")]
    For,
    #[token("parfor")]
    Parfor,
    #[token("in")]
    In,
    #[token("function")]
    Function,
    #[token("return")]
    Return,
    #[token("source")]
    Source,
    #[token("TRUE")]
    True,
    #[token("FALSE")]
    False,
    #[token("=")]
    Assign,
    #[token("<-")]
    Arrow,
    #[token("+=")]
    PlusAssign,
    #[token("^")]
    Caret,
    #[token("%*%")]
    MatMul,
    #[token("%%")]
    Modulus,
    #[token("%/%")]
    IntDiv,
    #[token("*")]
    Star,
    #[token("/")]
    Slash,
    #[token("+")]
    Plus,
    #[token("-")]
    Minus,
    #[token("<")]
    Less,
    #[token("<=")]
    LessEqual,
    #[token(">")]
    Greater,
    #[token(">=")]
    GreaterEqual,
    #[token("==")]
    Equal,
    #[token("!=")]
    NotEqual,
    #[token("!")]
    Not,
    #[token("&")]
    #[token("&&")]
    And,
    #[token("|")]
    #[token("||")]
    Or,
    #[token("(")]
    OpenParenthesis,
    #[token(")")]
    CloseParenthesis,
    #[token("[")]
    OpenBracket,
    #[token("]")]
    CloseBracket,
    #[token("{")]
    OpenBrace,
    #[token("}")]
    CloseBrace,
    #[token(",")]
    Comma,
    #[token(";")]
    Semicolon,
    #[token(":")]
    Colon,
    #[token("::")]
    DoubleColon,
    /// What is no token, and was reported; the parser gives up its statement in silence.
    Invalid,
    /// Appended by the lexer below.
    End,
}

/// The value of a number, as a double, and as an integer where it is written as one and fits 64 bits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct NumberLiteral {
    pub(crate) double: f64,
    pub(crate) integer: Option<i64>,
}

/// A token, its place, and where the line before it ended if it is the first of its line.
#[derive(Clone, Debug)]
pub(crate) struct Lexeme {
    pub(crate) token: Token,
    pub(crate) span: Span,
    pub(crate) line_end: Option<Span>,
}

impl Lexeme {
    /// Whether it is the first token of its line.
    pub(crate) fn starts_line(&self) -> bool {
        self.line_end.is_some()
    }
}

/// The tokens of a text, ending with [`Token::End`]; what is no token is reported, as an error or as a warning.
pub(crate) fn tokenize(source: u32, text: &str, reports: &mut Vec<Diagnostic>) -> Vec<Lexeme> {
    let span = |start: usize, end: usize| Span { source, start: start as u32, end: end as u32 };
    let mut tokens = Vec::new();
    let mut line_end = None;
    let mut lexer = Token::lexer(text);
    while let Some(token) = lexer.next() {
        let range = lexer.span();
        let here = span(range.start, range.end);
        let token = match token {
            Ok(Token::Comment) => continue,
            Ok(Token::Newline) => {
                line_end.get_or_insert(here);
                continue;
            }
            Ok(token) => token,
            Err(LexicalError::Character) if is_stray_stop(text, range.start, tokens.last()) => {
                let warning = Diagnostic::warning(here, "a full stop behind a statement means nothing");
                reports.push(warning.here("left out"));
                continue;
            }
            Err(error) => {
                reports.push(lexical_diagnostic(error, here, lexer.slice()));
                Token::Invalid
            }
        };
        tokens.push(Lexeme { token, span: here, line_end: line_end.take() });
    }
    tokens.push(Lexeme { token: Token::End, span: span(text.len(), text.len()), line_end });
    tokens
}

/// Whether a character is a full stop between a closing parenthesis and the end of its line, which SystemDS passes over.
fn is_stray_stop(text: &str, at: usize, before: Option<&Lexeme>) -> bool {
    let is_behind_call = before.is_some_and(|lexeme| lexeme.token == Token::CloseParenthesis);
    let rest = text[at..].strip_prefix('.');
    is_behind_call && rest.is_some_and(|rest| rest.lines().next().is_none_or(|line| line.trim().is_empty()))
}

fn lexical_diagnostic(error: LexicalError, span: Span, slice: &str) -> Diagnostic {
    match error {
        LexicalError::Character => {
            let is_visible = !slice.contains(|character: char| character.is_control());
            let shown = if is_visible { slice.to_owned() } else { slice.escape_debug().to_string() };
            let message = format!("`{shown}` is not part of DML");
            Diagnostic::new(span, message).here("unexpected character")
        }
        LexicalError::Text => Diagnostic::new(Span { end: span.start + 1, ..span }, "a text is not closed")
            .here("its closing quote is missing"),
        LexicalError::Escape(at) => {
            let next = slice[at + 1..].chars().next().unwrap_or_default();
            let start = span.start + at as u32;
            let place = Span { start, end: start + 1 + next.len_utf8() as u32, ..span };
            let shown = Some(next).filter(|next| !next.is_control()).map_or(String::new(), String::from);
            let error = Diagnostic::new(place, format!("`\\{shown}` is no escape")).here("in a text");
            error.help(r#"escapes are `\n`, `\t`, `\r`, `\b`, `\f`, `\"`, `\'`, and `\\`, which stays two backslashes"#)
        }
        LexicalError::Comment => {
            let start = Span { end: span.start + 2, ..span };
            Diagnostic::new(start, "a comment is not closed").here("`*/` is missing")
        }
    }
}

fn digits<'a>(lexer: &Lexer<'a, Token>) -> &'a str {
    lexer.slice().trim_end_matches(['l', 'L'])
}

fn integer(lexer: &mut Lexer<'_, Token>) -> Result<NumberLiteral, LexicalError> {
    let double = digits(lexer).parse().map_err(|_| LexicalError::Character)?;
    Ok(NumberLiteral { double, integer: digits(lexer).parse().ok() })
}

fn double(lexer: &mut Lexer<'_, Token>) -> Result<NumberLiteral, LexicalError> {
    let double = digits(lexer).parse().map_err(|_| LexicalError::Character)?;
    Ok(NumberLiteral { double, integer: None })
}

/// The rest of a text after its opening quote, with escapes resolved.
fn text(lexer: &mut Lexer<'_, Token>, quote: char) -> Result<String, LexicalError> {
    let rest = lexer.remainder();
    let mut wrong = None;
    let mut characters = rest.char_indices();
    while let Some((at, character)) = characters.next() {
        if character == quote {
            lexer.bump(at + quote.len_utf8());
            return wrong.map_or_else(|| Ok(resolved(&rest[..at])), |at| Err(LexicalError::Escape(at)));
        }
        if character == '\\' {
            let is_escape = characters.next().is_none_or(|(_, next)| next == '\\' || escaped(next).is_some());
            wrong = wrong.or((!is_escape).then_some(at + quote.len_utf8()));
        }
    }
    lexer.bump(rest.len());
    Err(LexicalError::Text)
}

/// The character that a backslash and this one stand for.
fn escaped(character: char) -> Option<char> {
    match character {
        'n' => Some('\n'),
        't' => Some('\t'),
        'r' => Some('\r'),
        'b' => Some('\u{8}'),
        'f' => Some('\u{c}'),
        '"' | '\'' => Some(character),
        _ => None,
    }
}

/// A text with its escapes resolved as SystemDS does it: two backslashes stay two, and the second may begin an escape.
fn resolved(written: &str) -> String {
    let mut value = String::with_capacity(written.len());
    let mut characters = written.chars().peekable();
    while let Some(character) = characters.next() {
        let next = characters.peek().filter(|_| character == '\\');
        let escape = next.and_then(|&next| escaped(next));
        value.push(escape.unwrap_or(character));
        if escape.is_some() {
            characters.next();
        }
    }
    value
}

fn comment(lexer: &mut Lexer<'_, Token>) -> Result<(), LexicalError> {
    let rest = lexer.remainder();
    match rest.find("*/") {
        Some(at) => {
            lexer.bump(at + 2);
            Ok(())
        }
        None => {
            lexer.bump(rest.len());
            Err(LexicalError::Comment)
        }
    }
}

impl Token {
    /// The token as messages name it.
    pub(crate) fn describe(&self) -> String {
        let symbol = match self {
            Token::Newline | Token::Comment => return "the end of the line".to_owned(),
            Token::End => return "the end of the script".to_owned(),
            Token::Invalid => return "what is no token".to_owned(),
            Token::Integer(_) | Token::Double(_) => return "a number".to_owned(),
            Token::Text(_) => return "a text".to_owned(),
            Token::Argument(name) => return format!("`${name}`"),
            Token::Name(name) => return format!("`{name}`"),
            Token::If => "if",
            Token::Else => "else",
            Token::While => "while",
            Token::For => "for",
            Token::Parfor => "parfor",
            Token::In => "in",
            Token::Function => "function",
            Token::Return => "return",
            Token::Source => "source",
            Token::True => "TRUE",
            Token::False => "FALSE",
            Token::Assign => "=",
            Token::Arrow => "<-",
            Token::PlusAssign => "+=",
            Token::Caret => "^",
            Token::MatMul => "%*%",
            Token::Modulus => "%%",
            Token::IntDiv => "%/%",
            Token::Star => "*",
            Token::Slash => "/",
            Token::Plus => "+",
            Token::Minus => "-",
            Token::Less => "<",
            Token::LessEqual => "<=",
            Token::Greater => ">",
            Token::GreaterEqual => ">=",
            Token::Equal => "==",
            Token::NotEqual => "!=",
            Token::Not => "!",
            Token::And => "&",
            Token::Or => "|",
            Token::OpenParenthesis => "(",
            Token::CloseParenthesis => ")",
            Token::OpenBracket => "[",
            Token::CloseBracket => "]",
            Token::OpenBrace => "{",
            Token::CloseBrace => "}",
            Token::Comma => ",",
            Token::Semicolon => ";",
            Token::Colon => ":",
            Token::DoubleColon => "::",
        };
        format!("`{symbol}`")
    }
}
