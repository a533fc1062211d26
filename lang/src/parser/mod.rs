//! The parser: statements by recursive descent, expressions by precedence climbing, both over the lexer's tokens.
//!
//! Line ends mean nothing: a statement ends where the next token cannot continue it, and `[a, b]` followed by `=` begins
//! one. Two things look at line ends all the same: where a line that could be a statement of its own continues the one
//! before there is a warning, and after an error the parser goes on with the next line, so that one run reports several.
//! Nesting and operator chains are limited, so that no text exhausts the stack, neither here nor in what walks the tree
//! later.

mod expression;
mod function;
mod statement;
#[cfg(test)]
mod tests;

use crate::ast::{Expression, ExpressionKind, Name, Script};
use crate::diagnostic::{Diagnostic, Severity};
use crate::token::{Lexeme, Token, tokenize};
use fuseline_ir::hop::Span;
use std::path::PathBuf;

/// Brackets, blocks and prefix operators within each other: 200 blocks with expressions in the innermost one.
const MAX_NESTING: u32 = 250;
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
    let mut reports = Vec::new();
    let tokens = tokenize(source, text, &mut reports);
    let (warnings, mistakes): (Vec<_>, Vec<_>) =
        reports.into_iter().partition(|report| report.severity == Severity::Warning);
    errors.extend(mistakes);
    let mut parser = Parser {
        tokens: &tokens,
        position: 0,
        brackets: 0,
        nesting: 0,
        call_at: usize::MAX,
        errors,
        folder: PathBuf::new(),
        script: Script { warnings, ..Script::default() },
    };
    parser.script();
    parser.script
}

struct Parser<'a> {
    tokens: &'a [Lexeme],
    position: usize,
    /// Open parentheses and brackets, within which no statement can end.
    brackets: u32,
    nesting: u32,
    /// The position of a name that cannot end its statement: it must be that of a function, and be called.
    call_at: usize,
    errors: &'a mut Vec<Diagnostic>,
    /// The folder of `setwd`.
    folder: PathBuf,
    script: Script,
}

impl Parser<'_> {
    fn next(&self) -> &Lexeme {
        &self.tokens[self.position]
    }

    fn peek(&self) -> &Token {
        &self.next().token
    }

    /// The token so many places ahead.
    fn peek_ahead(&self, places: usize) -> &Token {
        let position = (self.position + places).min(self.tokens.len() - 1);
        &self.tokens[position].token
    }

    /// The place of the next token.
    fn here(&self) -> Span {
        self.next().span
    }

    /// The place of the token before.
    fn before(&self) -> Span {
        self.tokens[self.position.saturating_sub(1)].span
    }

    /// Whether the next token is the first of its line, where the statement could end before it.
    fn follows_line_end(&self) -> bool {
        self.brackets == 0 && self.next().starts_line()
    }

    /// Takes the next token; the end of the script stays.
    fn advance(&mut self) -> (Token, Span) {
        let Lexeme { token, span, .. } = self.next().clone();
        match token {
            Token::OpenParenthesis | Token::OpenBracket => self.brackets += 1,
            Token::CloseParenthesis | Token::CloseBracket => {
                self.brackets = self.brackets.saturating_sub(1);
            }
            _ => {}
        }
        if token != Token::End {
            self.position += 1;
        }
        (token, span)
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
        let (place, found) = match self.next().line_end {
            // What comes next is fine where it stands: something is missing before.
            Some(line_end) if self.brackets == 0 && self.starts_statement() => (line_end, Token::Newline.describe()),
            _ => (self.here(), self.peek().describe()),
        };
        let error = Diagnostic::new(place, format!("expected {expected}, found {found}"));
        self.fail(error.here("here"))
    }

    /// Warns of a line that continues the statement before it, but looks like one of its own.
    fn warn_of_continuation(&mut self) {
        let token = self.peek().describe();
        let message = format!("this line continues the statement before it: {token} does not begin a statement");
        let help = format!("end the line before with {token}, or with `;` if the statement ends there");
        let warning = Diagnostic::warning(self.here(), message).here("continues the line before").help(help);
        self.script.warnings.push(warning);
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

    fn skip_separators(&mut self) {
        while *self.peek() == Token::Semicolon {
            self.advance();
        }
    }

    /// Goes to the end of a statement with an error, which began at a position: to the next line, or to the one after the
    /// block that opens on this one.
    fn recover(&mut self, start: usize) {
        let begin = if self.starts_statement() { start } else { self.position };
        self.brackets = 0;
        let mut open_braces = 0_u32;
        if self.errors.len() >= MAX_ERRORS {
            self.position = self.tokens.len() - 1;
        }
        loop {
            let is_next_line = self.next().starts_line() && self.position > begin;
            match self.peek() {
                Token::End => return,
                Token::Semicolon | Token::CloseBrace if open_braces == 0 => return,
                Token::CloseBrace => open_braces -= 1,
                Token::OpenBrace => open_braces += 1,
                Token::Else => {}
                _ if is_next_line && open_braces == 0 => return,
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
