//! Expressions, with R's precedence: `^` binds tightest and to the right, then the signs, `%*%`, `%%` and `%/%`,
//! `*` and `/`, `+` and `-`, comparisons, `!`, `&`, and `|`.

use super::{MAX_NESTING, Parsed, Parser, join};
use crate::ast::{Argument, Call, Expression, ExpressionKind, Infix, Name, Prefix, Range, Ranges};
use crate::diagnostic::Diagnostic;
use crate::token::Token;
use fuseline_ir::ops::BinaryOp;
use fuseline_ir::types::Value;

/// How tightly operators bind, loosest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Precedence {
    Or,
    And,
    Not,
    Comparison,
    Sum,
    Product,
    Modulus,
    MatMul,
    Sign,
    Power,
}

fn infix(token: &Token) -> Option<(Infix, Precedence)> {
    let (op, precedence) = match token {
        Token::Or => (BinaryOp::Or, Precedence::Or),
        Token::And => (BinaryOp::And, Precedence::And),
        Token::Equal => (BinaryOp::Equal, Precedence::Comparison),
        Token::NotEqual => (BinaryOp::NotEqual, Precedence::Comparison),
        Token::Less => (BinaryOp::Less, Precedence::Comparison),
        Token::LessEqual => (BinaryOp::LessEqual, Precedence::Comparison),
        Token::Greater => (BinaryOp::Greater, Precedence::Comparison),
        Token::GreaterEqual => (BinaryOp::GreaterEqual, Precedence::Comparison),
        Token::Plus => (BinaryOp::Plus, Precedence::Sum),
        Token::Minus => (BinaryOp::Minus, Precedence::Sum),
        Token::Star => (BinaryOp::Mult, Precedence::Product),
        Token::Slash => (BinaryOp::Div, Precedence::Product),
        Token::Modulus => (BinaryOp::Modulus, Precedence::Modulus),
        Token::IntDiv => (BinaryOp::IntDiv, Precedence::Modulus),
        Token::Caret => (BinaryOp::Pow, Precedence::Power),
        Token::MatMul => return Some((Infix::MatMul, Precedence::MatMul)),
        _ => return None,
    };
    Some((Infix::Elementwise(op), precedence))
}

fn prefix(token: &Token) -> Option<(Prefix, Precedence)> {
    match token {
        Token::Plus => Some((Prefix::Plus, Precedence::Sign)),
        Token::Minus => Some((Prefix::Minus, Precedence::Sign)),
        Token::Not => Some((Prefix::Not, Precedence::Not)),
        _ => None,
    }
}

/// Whether this token can only stand between two operands, so that a line cannot start with it.
pub(super) fn is_infix(token: &Token) -> bool {
    infix(token).is_some()
}

impl Parser<'_> {
    pub(super) fn expression(&mut self) -> Parsed<Expression> {
        self.operators(Precedence::Or)
    }

    /// An expression of operators that bind at least as tightly as `weakest`.
    fn operators(&mut self, weakest: Precedence) -> Parsed<Expression> {
        let mut left = self.operand()?;
        while let Some((op, precedence)) = infix(self.peek()).filter(|(_, at)| *at >= weakest) {
            if self.follows_line_end() && prefix(self.peek()).is_some() {
                self.warn_of_continuation();
            }
            self.advance();
            let right = self.nested(|parser| match precedence {
                // To the right: the exponent may hold another power, or a sign.
                Precedence::Power => parser.operators(Precedence::Power),
                _ => parser.operators(tighter(precedence)),
            })?;
            let (span, depth) = (join(left.span, right.span), left.depth.max(right.depth));
            left = self.node(ExpressionKind::Infix(op, Box::new(left), Box::new(right)), span, depth)?;
        }
        if *self.peek() == Token::Arrow && self.brackets > 0 {
            let error = Diagnostic::new(self.here(), "`<-` assigns, and no assignment can stand here");
            return self.fail(error.here("here").help("for a comparison with a negative value write `< -`"));
        }
        Ok(left)
    }

    /// A signed, negated or plain operand.
    fn operand(&mut self) -> Parsed<Expression> {
        let Some((op, precedence)) = prefix(self.peek()) else { return self.indexed() };
        let start = self.advance().1;
        let value = self.nested(|parser| parser.operators(precedence))?;
        let (span, depth) = (join(start, value.span), value.depth);
        self.node(ExpressionKind::Prefix(op, Box::new(value)), span, depth)
    }

    fn indexed(&mut self) -> Parsed<Expression> {
        let mut base = self.primary()?;
        let mut indexes = 0;
        while self.opens_index() {
            indexes += 1;
            if indexes > MAX_NESTING {
                return self.fail(Diagnostic::new(base.span, format!("more than {MAX_NESTING} indexes in a row")));
            }
            let (ranges, end) = self.nested(Self::ranges)?;
            let deepest = ranges.expressions().map(|index| index.depth).max();
            let (span, depth) = (join(base.span, end), base.depth.max(deepest.unwrap_or(0)));
            base = self.node(ExpressionKind::Index(Box::new(base), ranges), span, depth)?;
        }
        Ok(base)
    }

    /// `[rows, cols]`, with the place of the closing bracket.
    pub(super) fn ranges(&mut self) -> Parsed<(Ranges, fuseline_ir::hop::Span)> {
        self.expect(&Token::OpenBracket, "before an index")?;
        let rows = self.range()?;
        let cols = if self.accept(&Token::Comma) { self.range()? } else { Range::All };
        let end = self.expect(&Token::CloseBracket, "after an index")?;
        Ok((Ranges { rows, cols }, end))
    }

    fn range(&mut self) -> Parsed<Range> {
        if matches!(self.peek(), Token::Comma | Token::CloseBracket) {
            return Ok(Range::All);
        }
        let first = Box::new(self.expression()?);
        if !self.accept(&Token::Colon) {
            return Ok(Range::Single(first));
        }
        Ok(Range::Between(first, Box::new(self.expression()?)))
    }

    fn primary(&mut self) -> Parsed<Expression> {
        let value = match self.peek() {
            Token::Integer(number) => number.integer.map_or(Value::F64(number.double), Value::I64),
            Token::Double(number) => Value::F64(number.double),
            Token::Text(text) => Value::Str(text.clone()),
            Token::True => Value::Bool(true),
            Token::False => Value::Bool(false),
            Token::Argument(name) => {
                let kind = ExpressionKind::ScriptArgument(name.clone());
                let span = self.advance().1;
                return self.node(kind, span, 0);
            }
            Token::Name(_) => return self.variable_or_call(),
            Token::OpenParenthesis => return self.nested(Self::parenthesised),
            Token::OpenBracket => return self.nested(Self::list),
            _ => return self.unexpected("an expression"),
        };
        let span = self.advance().1;
        self.node(ExpressionKind::Literal(value), span, 0)
    }

    fn parenthesised(&mut self) -> Parsed<Expression> {
        let start = self.expect(&Token::OpenParenthesis, "")?;
        let inner = self.expression()?;
        let end = self.expect(&Token::CloseParenthesis, "to close the parenthesis")?;
        Ok(Expression { span: join(start, end), ..inner })
    }

    /// `[value, value, ...]`.
    fn list(&mut self) -> Parsed<Expression> {
        let start = self.expect(&Token::OpenBracket, "")?;
        let mut elements = Vec::new();
        while *self.peek() != Token::CloseBracket {
            elements.push(self.expression()?);
            if !self.accept(&Token::Comma) {
                break;
            }
        }
        let end = self.expect(&Token::CloseBracket, "after the elements")?;
        let depth = elements.iter().map(|element| element.depth).max().unwrap_or(0);
        self.node(ExpressionKind::List(elements), join(start, end), depth)
    }

    fn variable_or_call(&mut self) -> Parsed<Expression> {
        let may_end = self.position != self.call_at;
        let mut function = self.expect_name("a name")?;
        let mut namespace = None;
        if self.accept(&Token::DoubleColon) {
            let name = self.expect_name("the name of a function after `::`")?;
            namespace = Some(std::mem::replace(&mut function, name));
        }
        if namespace.is_none() && *self.peek() != Token::OpenParenthesis {
            return self.node(ExpressionKind::Variable(function.text), function.span, 0);
        }
        if may_end && namespace.is_none() && self.follows_line_end() {
            self.warn_of_continuation();
        }
        let start = namespace.as_ref().map_or(function.span, |name: &Name| name.span);
        let (arguments, end) = self.nested(Self::arguments)?;
        let depth = arguments.iter().map(|argument| argument.value.depth).max().unwrap_or(0);
        let call = Call { namespace, function, arguments };
        self.node(ExpressionKind::Call(call), join(start, end), depth)
    }

    /// `(value, name=value, ...)`, with the place of the closing parenthesis.
    fn arguments(&mut self) -> Parsed<(Vec<Argument>, fuseline_ir::hop::Span)> {
        self.expect(&Token::OpenParenthesis, "before the arguments")?;
        let mut arguments = Vec::new();
        while *self.peek() != Token::CloseParenthesis {
            let is_named = matches!(self.peek(), Token::Name(_)) && *self.peek_ahead(1) == Token::Assign;
            let name = if is_named { Some(self.expect_name("a name")?) } else { None };
            if is_named {
                self.advance();
            }
            arguments.push(Argument { name, value: self.expression()? });
            if !self.accept(&Token::Comma) {
                break;
            }
        }
        // A `;` may end the last argument, like a statement.
        self.skip_separators();
        let end = self.expect(&Token::CloseParenthesis, "after the arguments")?;
        Ok((arguments, end))
    }
}

/// The next level: what may stand to the right of an operator of this one.
fn tighter(precedence: Precedence) -> Precedence {
    match precedence {
        Precedence::Or => Precedence::And,
        Precedence::And => Precedence::Not,
        Precedence::Not => Precedence::Comparison,
        Precedence::Comparison => Precedence::Sum,
        Precedence::Sum => Precedence::Product,
        Precedence::Product => Precedence::Modulus,
        Precedence::Modulus => Precedence::MatMul,
        Precedence::MatMul => Precedence::Sign,
        Precedence::Sign | Precedence::Power => Precedence::Power,
    }
}
