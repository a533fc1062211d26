//! The parser: statements by recursive descent, expressions by precedence climbing, both over the lexer's tokens.
//!
//! A statement ends with its line, except within brackets, and before and after an operator. After an error the parser goes on
//! with the next statement, so that one run reports several. Nesting and operator chains are limited, so that no text
//! exhausts the stack, neither here nor in what walks the tree later.

mod expression;
mod function;
mod statement;
#[cfg(test)]
mod tests;

use crate::ast::{Expression, ExpressionKind, Name, Script};
use crate::diagnostic::Diagnostic;
use crate::token::{Spanned, Token, tokenize};
use fuseline_ir::hop::Span;
use std::path::PathBuf;

/// Brackets, blocks and prefix operators within each other.
const MAX_NESTING: u32 = 200;
/// Operators on the longest path of one expression.
const MAX_DEPTH: u32 = 2000;
/// Errors after which the parser gives up.
const MAX_ERRORS: usize = 50;

/// The error was reported; the statement is given up.
#[derive(Debug)]
struct Abandoned;

type Parsed<T> = Result<T, Abandoned>;

/// Parses one file. The tree is that of all statements without errors.
pub(crate) fn parse(source: u32, text: &str, errors: &mut Vec<Diagnostic>) -> Script {
    let tokens = tokenize(source, text, errors);
    let mut parser = Parser {
        tokens: &tokens,
        position: 0,
        brackets: 0,
        nesting: 0,
        errors,
        folder: PathBuf::new(),
        script: Script::default(),
    };
    parser.script();
    parser.script
}

struct Parser<'a> {
    tokens: &'a [Spanned],
    position: usize,
    /// Open parentheses and brackets, within which line ends mean nothing.
    brackets: u32,
    nesting: u32,
    errors: &'a mut Vec<Diagnostic>,
    /// The folder of `setwd`.
    folder: PathBuf,
    script: Script,
}

impl Parser<'_> {
    /// The position of the next token that means something here.
    fn significant(&self) -> usize {
        let mut position = self.position;
        while self.brackets > 0 && self.tokens[position].0 == Token::Newline {
            position += 1;
        }
        position
    }

    fn peek(&self) -> &Token {
        &self.tokens[self.significant()].0
    }

    /// The next token; over line ends when it is an operator that continues the expression before them.
    fn peek_continuation(&self) -> &Token {
        let mut ahead = self.tokens[self.significant()..].iter().map(|(token, _)| token);
        let next = ahead.find(|token| **token != Token::Newline).unwrap_or(&Token::End);
        if expression::is_infix(next) { next } else { self.peek() }
    }

    /// The token after the next one.
    fn peek_second(&self) -> &Token {
        let second = (self.significant() + 1).min(self.tokens.len() - 1);
        &self.tokens[second].0
    }

    /// The place of the next token.
    fn here(&self) -> Span {
        self.tokens[self.significant()].1
    }

    /// Takes the next token; the end of the script stays.
    fn advance(&mut self) -> Spanned {
        self.position = self.significant();
        let token = self.tokens[self.position].clone();
        match token.0 {
            Token::OpenParenthesis | Token::OpenBracket => self.brackets += 1,
            Token::CloseParenthesis | Token::CloseBracket => {
                self.brackets = self.brackets.saturating_sub(1);
            }
            _ => {}
        }
        if token.0 != Token::End {
            self.position += 1;
        }
        token
    }

    fn accept(&mut self, token: &Token) -> bool {
        let found = self.peek() == token;
        if found {
            self.advance();
        }
        found
    }

    fn expect(&mut self, token: &Token, purpose: &str) -> Parsed<Span> {
        if self.peek() == token {
            Ok(self.advance().1)
        } else {
            self.unexpected(&format!("{} {purpose}", token.describe()))
        }
    }

    fn expect_name(&mut self, purpose: &str) -> Parsed<Name> {
        match self.peek() {
            Token::Name(_) => {
                let (token, span) = self.advance();
                let Token::Name(text) = token else { unreachable!("the token was looked at before") };
                Ok(Name { text, span })
            }
            _ => self.unexpected(purpose),
        }
    }

    /// A name that a variable, parameter or function may bear.
    fn expect_identifier(&mut self, purpose: &str) -> Parsed<Name> {
        let name = self.expect_name(purpose)?;
        if name.text.contains('.') {
            let message = format!("`{}` cannot be a name of a script: it has a dot", name.text);
            let mended = name.text.replace('.', "_");
            return self.fail(Diagnostic::new(name.span, message).help(format!("write `{mended}`")));
        }
        Ok(name)
    }

    fn fail<T>(&mut self, error: Diagnostic) -> Parsed<T> {
        self.errors.push(error);
        Err(Abandoned)
    }

    fn unexpected<T>(&mut self, expected: &str) -> Parsed<T> {
        if *self.peek() == Token::Invalid {
            return Err(Abandoned);
        }
        let found = self.peek().describe();
        let error = Diagnostic::new(self.here(), format!("expected {expected}, found {found}"));
        self.fail(error.here("here"))
    }

    /// Runs a parser one level deeper, unless that is too deep.
    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.nesting >= MAX_NESTING {
            let message = format!("more than {MAX_NESTING} levels of nesting");
            return self
                .fail(Diagnostic::new(self.here(), message).help("split this into several statements or functions"));
        }
        self.nesting += 1;
        let result = parse(self);
        self.nesting -= 1;
        result
    }

    fn node(&mut self, kind: ExpressionKind, span: Span, children_depth: u32) -> Parsed<Expression> {
        let depth = children_depth + 1;
        if depth > MAX_DEPTH {
            let message = format!("an expression of more than {MAX_DEPTH} chained operators");
            return self.fail(Diagnostic::new(span, message).help("split it into several statements"));
        }
        Ok(Expression { kind, span, depth })
    }

    fn skip_newlines(&mut self) {
        while *self.peek() == Token::Newline {
            self.advance();
        }
    }

    fn skip_separators(&mut self) {
        while matches!(self.peek(), Token::Newline | Token::Semicolon) {
            self.advance();
        }
    }

    /// Goes to the end of a statement with an error: of its line, or of the block that opens on it.
    fn recover(&mut self) {
        self.brackets = 0;
        let mut open_braces = 0_u32;
        if self.errors.len() >= MAX_ERRORS {
            self.position = self.tokens.len() - 1;
        }
        loop {
            match self.peek() {
                Token::End => return,
                Token::Newline | Token::Semicolon if open_braces == 0 => return,
                Token::CloseBrace if open_braces == 0 => return,
                Token::CloseBrace => open_braces -= 1,
                Token::OpenBrace => open_braces += 1,
                _ => {}
            }
            self.position += 1;
        }
    }
}

/// From the start of one place to the end of another.
fn join(first: Span, last: Span) -> Span {
    Span { end: last.end.max(first.end), ..first }
}
