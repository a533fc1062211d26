//! Statements and blocks.

use super::expression::is_infix;
use super::{Parsed, Parser, join};
use crate::ast::{Expression, ExpressionKind, Import, LoopOrder, LoopRange, Statement, StatementKind, Target};
use crate::diagnostic::Diagnostic;
use crate::suggest;
use crate::token::Token;
use fuseline_ir::hop::Span;

/// Options that `for` and `parfor` accept after the range. They steer the parallel execution of the peer; iterations
/// give the same results without them.
const LOOP_OPTIONS: &[&str] =
    &["check", "par", "mode", "opt", "taskpartitioner", "tasksize", "datapartitioner", "resultmerge", "profile", "log"];

impl Parser<'_> {
    /// The whole file.
    pub(super) fn script(&mut self) {
        loop {
            self.skip_separators();
            match self.peek() {
                Token::End => return,
                Token::CloseBrace => {
                    let error = Diagnostic::new(self.here(), "`}` closes no block").here("no `{` belongs to it");
                    self.errors.push(error);
                    self.advance();
                }
                _ => self.top_level_statement(),
            }
        }
    }

    fn top_level_statement(&mut self) {
        let start = self.position;
        let is_definition = matches!(self.peek(), Token::Name(_))
            && matches!(self.peek_ahead(1), Token::Assign | Token::Arrow)
            && *self.peek_ahead(2) == Token::Function;
        let parsed = if is_definition {
            self.function_definition().map(|function| self.script.functions.push(function))
        } else if *self.peek() == Token::Source {
            self.import().map(|import| self.script.imports.push(import))
        } else if self.is_set_working_folder() {
            self.set_working_folder()
        } else {
            self.statement().map(|statement| self.script.statements.push(statement))
        };
        if parsed.and_then(|()| self.end_of_statement()).is_err() {
            self.recover(start);
        }
    }

    /// What cannot continue a statement ends it; on its line that must be the next one.
    fn end_of_statement(&mut self) -> Parsed<()> {
        match self.peek() {
            Token::Semicolon | Token::CloseBrace | Token::End => Ok(()),
            Token::Else => self.lonely_else(),
            _ if self.next().starts_line() || self.starts_statement() => Ok(()),
            _ => self.unexpected("the end of the statement"),
        }
    }

    /// Whether a statement, or a definition, begins with the next token.
    pub(super) fn starts_statement(&self) -> bool {
        match self.peek() {
            Token::If | Token::While | Token::For | Token::Parfor | Token::Source => true,
            Token::OpenBracket => self.is_multi_assignment(),
            Token::Name(_) => matches!(
                self.peek_ahead(1),
                Token::Assign
                    | Token::Arrow
                    | Token::PlusAssign
                    | Token::OpenBracket
                    | Token::OpenParenthesis
                    | Token::DoubleColon
            ),
            _ => false,
        }
    }

    /// Whether the next bracket closes before an assignment.
    fn is_multi_assignment(&self) -> bool {
        let mut open = 0_usize;
        for (position, lexeme) in self.tokens.iter().enumerate().skip(self.position) {
            match lexeme.token {
                Token::OpenBracket => open += 1,
                Token::CloseBracket => open -= 1,
                Token::End => return false,
                _ => {}
            }
            if open == 0 {
                return matches!(self.tokens[position + 1].token, Token::Assign | Token::Arrow);
            }
        }
        false
    }

    /// Whether the next token opens an index of what stands before it, and not a statement of its own: what an
    /// expression gives cannot be assigned to.
    pub(super) fn opens_index(&self) -> bool {
        *self.peek() == Token::OpenBracket && !self.is_multi_assignment()
    }

    fn lonely_else<T>(&mut self) -> Parsed<T> {
        let error = Diagnostic::new(self.here(), "`else` without `if`");
        self.fail(error.here("no `if` belongs to it"))
    }

    fn is_set_working_folder(&self) -> bool {
        matches!(self.peek(), Token::Name(name) if name == "setwd") && *self.peek_ahead(1) == Token::OpenParenthesis
    }

    /// `setwd("folder")`: files of later `source` statements are relative to it.
    fn set_working_folder(&mut self) -> Parsed<()> {
        self.advance();
        self.expect(&Token::OpenParenthesis, "after `setwd`")?;
        let Token::Text(folder) = self.peek().clone() else {
            return self.unexpected("the folder as a text");
        };
        self.advance();
        self.expect(&Token::CloseParenthesis, "after the folder")?;
        self.folder.push(folder);
        Ok(())
    }

    /// `source("file") as name`.
    fn import(&mut self) -> Parsed<Import> {
        let start = self.advance().1;
        self.expect(&Token::OpenParenthesis, "after `source`")?;
        let Token::Text(path) = self.peek().clone() else {
            return self.unexpected("the file as a text");
        };
        self.advance();
        self.expect(&Token::CloseParenthesis, "after the file")?;
        if *self.peek() != Token::Name("as".to_owned()) {
            return self.unexpected("`as` and a namespace");
        }
        self.advance();
        let namespace = self.expect_identifier("the name of the namespace")?;
        Ok(Import { path: self.folder.join(path), span: join(start, namespace.span), namespace })
    }

    /// `{ statements }`, or one statement.
    pub(super) fn block(&mut self) -> Parsed<Vec<Statement>> {
        if *self.peek() != Token::OpenBrace {
            return Ok(vec![self.nested(Self::statement)?]);
        }
        self.nested(Self::braces)
    }

    pub(super) fn braces(&mut self) -> Parsed<Vec<Statement>> {
        let open = self.expect(&Token::OpenBrace, "before the statements")?;
        let mut statements = Vec::new();
        loop {
            self.skip_separators();
            match self.peek() {
                Token::CloseBrace => {
                    self.advance();
                    return Ok(statements);
                }
                Token::End => {
                    let error = Diagnostic::new(self.here(), "expected `}`, found the end of the script");
                    return self.fail(error.label(open, "this block is not closed"));
                }
                _ => {}
            }
            let start = self.position;
            match self.statement().and_then(|statement| self.end_of_statement().map(|()| statement)) {
                Ok(statement) => statements.push(statement),
                Err(_) => self.recover(start),
            }
        }
    }

    fn statement(&mut self) -> Parsed<Statement> {
        let start = self.here();
        let kind = match self.peek() {
            Token::If => self.if_statement()?,
            Token::While => self.while_statement()?,
            Token::For | Token::Parfor => self.for_statement()?,
            Token::OpenBracket => self.multi_assignment()?,
            Token::Name(_) if self.is_set_working_folder() => return self.misplaced("`setwd`"),
            Token::Name(_) => match self.peek_ahead(1) {
                Token::Assign | Token::Arrow | Token::PlusAssign | Token::OpenBracket => self.assignment()?,
                token if is_infix(token) => return self.operator_after_name(),
                _ => self.call_statement()?,
            },
            Token::Source => return self.misplaced("`source`"),
            Token::Else => return self.lonely_else(),
            Token::Integer(_) | Token::Double(_) | Token::Text(_) | Token::Argument(_) | Token::OpenParenthesis => {
                self.call_statement()?
            }
            token if is_infix(token) => return self.leading_operator(),
            _ => return self.unexpected("a statement"),
        };
        Ok(Statement { kind, span: join(start, self.before()) })
    }

    fn misplaced<T>(&mut self, what: &str) -> Parsed<T> {
        let message = format!("{what} must stand at the top level of a script");
        self.fail(Diagnostic::new(self.here(), message).here("within a block"))
    }

    fn leading_operator<T>(&mut self) -> Parsed<T> {
        let operator = self.peek().describe();
        let error = Diagnostic::new(self.here(), format!("a statement cannot start with {operator}"));
        self.fail(error.here("what stands before it is a statement of its own"))
    }

    /// `x -= 1` of other languages, or an expression that goes nowhere.
    fn operator_after_name<T>(&mut self) -> Parsed<T> {
        let name = self.expect_name("a name")?;
        let (token, span) = self.advance();
        let operator = token.describe();
        let operator = operator.trim_matches('`');
        if *self.peek() == Token::Assign {
            let error = Diagnostic::new(join(span, self.here()), format!("DML has no `{operator}=`, only `+=`"));
            return self.fail(error.here("here").help(format!("write `{0} = {0} {operator} ...`", name.text)));
        }
        let error = Diagnostic::new(name.span, "an expression alone is no statement").here("its value goes nowhere");
        self.fail(error.help("assign it to a variable, or print it"))
    }

    fn target(&mut self) -> Parsed<Target> {
        let name = self.expect_identifier("a variable")?;
        if *self.peek() != Token::OpenBracket {
            return Ok(Target { span: name.span, name, ranges: None });
        }
        let (ranges, end) = self.ranges()?;
        Ok(Target { span: join(name.span, end), name, ranges: Some(ranges) })
    }

    fn assignment(&mut self) -> Parsed<StatementKind> {
        let target = self.target()?;
        let accumulate = *self.peek() == Token::PlusAssign;
        if !matches!(self.peek(), Token::Assign | Token::Arrow | Token::PlusAssign) {
            return self.unexpected("`=`");
        }
        self.advance();
        if *self.peek() == Token::Function {
            return self.misplaced("a function definition");
        }
        Ok(StatementKind::Assign { target, accumulate, value: self.expression()? })
    }

    fn multi_assignment(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let mut targets = vec![self.target()?];
        while self.accept(&Token::Comma) {
            targets.push(self.target()?);
        }
        self.expect(&Token::CloseBracket, "after the variables")?;
        if !matches!(self.peek(), Token::Assign | Token::Arrow) {
            return self.unexpected("`=`");
        }
        self.advance();
        self.call_at = self.position;
        let call = self.expression()?;
        match call.kind {
            ExpressionKind::Call(_) => Ok(StatementKind::MultiAssign { targets, call }),
            _ => self.fail(Diagnostic::new(call.span, "only a function call gives several results").here("not a call")),
        }
    }

    fn call_statement(&mut self) -> Parsed<StatementKind> {
        self.call_at = self.position;
        let call = self.expression()?;
        if let ExpressionKind::Call(_) = call.kind {
            return Ok(StatementKind::Call(call));
        }
        let error = Diagnostic::new(call.span, "an expression alone is no statement").here("its value goes nowhere");
        self.fail(error.help("assign it to a variable, or print it"))
    }

    fn condition(&mut self, keyword: &str) -> Parsed<Expression> {
        self.expect(&Token::OpenParenthesis, &format!("after `{keyword}`"))?;
        let condition = self.expression()?;
        self.expect(&Token::CloseParenthesis, "after the condition")?;
        Ok(condition)
    }

    fn if_statement(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let condition = self.condition("if")?;
        let then_body = self.block()?;
        let before = self.position;
        self.skip_separators();
        if !self.accept(&Token::Else) {
            self.position = before;
            return Ok(StatementKind::If { condition, then_body, else_body: Vec::new() });
        }
        Ok(StatementKind::If { condition, then_body, else_body: self.block()? })
    }

    fn while_statement(&mut self) -> Parsed<StatementKind> {
        self.advance();
        Ok(StatementKind::While { condition: self.condition("while")?, body: self.block()? })
    }

    fn for_statement(&mut self) -> Parsed<StatementKind> {
        let mut order = match self.advance().0 {
            Token::Parfor => LoopOrder::Checked,
            _ => LoopOrder::Sequential,
        };
        self.expect(&Token::OpenParenthesis, "after `for`")?;
        let variable = self.expect_identifier("the loop variable")?;
        self.expect(&Token::In, "after the loop variable")?;
        let range = self.loop_range()?;
        while self.accept(&Token::Comma) {
            let is_unchecked = self.loop_option()?;
            if is_unchecked && order == LoopOrder::Checked {
                order = LoopOrder::Promised;
            }
        }
        self.expect(&Token::CloseParenthesis, "after the range")?;
        Ok(StatementKind::For { variable, range, body: self.block()?, order })
    }

    fn loop_range(&mut self) -> Parsed<LoopRange> {
        let from = self.expression()?;
        if self.accept(&Token::Colon) {
            return Ok(LoopRange { from, to: self.expression()?, by: None });
        }
        let span = from.span;
        match seq_arguments(from) {
            Some(range) => Ok(range),
            None => self.no_range(span),
        }
    }

    fn no_range<T>(&mut self, span: Span) -> Parsed<T> {
        let error = Diagnostic::new(span, "a loop runs over a range").here("not a range");
        self.fail(error.help("write `from:to`, or `seq(from, to, increment)`"))
    }

    /// Whether the option is `check=0`.
    fn loop_option(&mut self) -> Parsed<bool> {
        let name = self.expect_name("an option of the loop")?;
        if !LOOP_OPTIONS.contains(&name.text.as_str()) {
            let error = Diagnostic::new(name.span, format!("a loop has no option `{}`", name.text));
            return self.fail(error.maybe_help(suggest::nearest(&name.text, LOOP_OPTIONS.iter().copied())));
        }
        self.expect(&Token::Assign, "after the option")?;
        let value = self.expression()?;
        let is_zero = matches!(&value.kind, ExpressionKind::Literal(value) if value.as_f64() == Some(0.0));
        Ok(name.text == "check" && is_zero)
    }
}

/// The range of `seq(from, to)` or `seq(from, to, by)`.
fn seq_arguments(expression: Expression) -> Option<LoopRange> {
    let ExpressionKind::Call(call) = expression.kind else { return None };
    let is_seq = call.namespace.is_none() && call.function.text == "seq";
    if !is_seq || !(2..=3).contains(&call.arguments.len()) {
        return None;
    }
    let goes_by_position = call.goes_by_position();
    let mut slots = [None, None, None];
    for (position, argument) in call.arguments.into_iter().enumerate() {
        let name = argument.name.as_ref().filter(|_| !goes_by_position);
        let slot = match name.map(|name| name.text.as_str()) {
            None => position,
            Some("from") => 0,
            Some("to") => 1,
            Some("incr") => 2,
            Some(_) => return None,
        };
        if slots[slot].replace(argument.value).is_some() {
            return None;
        }
    }
    let [from, to, by] = slots;
    Some(LoopRange { from: from?, to: to?, by })
}
