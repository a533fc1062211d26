//! The parser of functions of cells.

pub(super) use super::scan::error;
use super::scan::{Token, tokens};
use super::table::Arguments;
use super::{CellExpression, CellFunction, CellFunctionError, CellOperation, Method, StaticFunction};

pub(super) type Result<T> = std::result::Result<T, CellFunctionError>;

/// How deep expressions may be nested.
const DEPTH: usize = 100;

/// How many tokens a function may have, so that what walks over it needs little of a stack.
const LENGTH: usize = 2000;

/// Infix operations by level, those that bind least first.
const LEVELS: &[&[(&str, CellOperation)]] = &[
    &[("||", CellOperation::Or)],
    &[("&&", CellOperation::And)],
    &[("|", CellOperation::Or)],
    &[("&", CellOperation::And)],
    &[("==", CellOperation::Equal), ("!=", CellOperation::NotEqual)],
    &[
        ("<", CellOperation::Less),
        ("<=", CellOperation::LessEqual),
        (">", CellOperation::Greater),
        (">=", CellOperation::GreaterEqual),
    ],
    &[("+", CellOperation::Plus), ("-", CellOperation::Minus)],
    &[("*", CellOperation::Times), ("/", CellOperation::Divide), ("%", CellOperation::Remainder)],
];

/// Parses `x -> body` or `(x, y) -> body`.
///
/// # Errors
/// The text is no such function, or calls what there is not.
pub fn parse(text: &str) -> Result<CellFunction> {
    let mut parser = Parser { text, tokens: tokens(text)?, next: 0, parameters: Vec::new(), depth: 0 };
    if parser.tokens.len() > LENGTH {
        return Err(error(text, parser.tokens[LENGTH].1, format!("the function has more than {LENGTH} tokens")));
    }
    parser.parameters = parser.parameters()?;
    let body = parser.expression()?;
    match parser.peek() {
        Token::End => Ok(CellFunction { parameters: parser.parameters, body }),
        _ => Err(parser.error("the function should end here")),
    }
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<(Token, usize)>,
    next: usize,
    parameters: Vec<String>,
    depth: usize,
}

impl Parser<'_> {
    fn peek(&self) -> &Token {
        &self.tokens[self.next].0
    }

    fn advance(&mut self) -> Token {
        let token = self.tokens[self.next].0.clone();
        self.next = (self.next + 1).min(self.tokens.len() - 1);
        token
    }

    fn error(&self, message: impl Into<String>) -> CellFunctionError {
        error(self.text, self.tokens[self.next].1, message)
    }

    fn has(&mut self, sign: &str) -> bool {
        let is_next = matches!(self.peek(), Token::Sign(next) if *next == sign);
        if is_next {
            self.advance();
        }
        is_next
    }

    fn expect(&mut self, sign: &str) -> Result<()> {
        if self.has(sign) { Ok(()) } else { Err(self.error(format!("`{sign}` is missing"))) }
    }

    fn name(&mut self, what: &str) -> Result<String> {
        match self.peek().clone() {
            Token::Name(name) => {
                self.advance();
                Ok(name)
            }
            _ => Err(self.error(format!("{what} is missing"))),
        }
    }

    fn parameters(&mut self) -> Result<Vec<String>> {
        let is_function = self.tokens.iter().any(|(token, _)| *token == Token::Sign("->"));
        if !is_function {
            let called: String = self.text.chars().take_while(|next| *next != '(').collect();
            return Err(self.error(format!("there is no function `{}` of a whole frame", called.trim())));
        }
        let mut parameters = Vec::new();
        if self.has("(") {
            parameters.push(self.name("a parameter")?);
            while self.has(",") {
                parameters.push(self.name("a parameter")?);
            }
            self.expect(")")?;
        } else {
            parameters.push(self.name("a parameter")?);
        }
        if parameters.len() > 2 {
            return Err(self.error("a function of cells has one or two parameters"));
        }
        self.expect("->")?;
        Ok(parameters)
    }

    /// An expression, which may be a choice.
    fn expression(&mut self) -> Result<CellExpression> {
        if self.depth == DEPTH {
            return Err(self.error(format!("expressions nest more than {DEPTH} levels deep")));
        }
        self.depth += 1;
        let condition = self.infix(0)?;
        let result = if self.has("?") {
            let yes = self.expression()?;
            self.expect(":")?;
            CellExpression::Choice(Box::new([condition, yes, self.expression()?]))
        } else {
            condition
        };
        self.depth -= 1;
        Ok(result)
    }

    fn infix(&mut self, level: usize) -> Result<CellExpression> {
        let Some(operations) = LEVELS.get(level) else { return self.prefix() };
        let mut left = self.infix(level + 1)?;
        loop {
            let Some(operation) = operations.iter().find(|(sign, _)| *self.peek() == Token::Sign(sign)) else {
                return Ok(left);
            };
            self.advance();
            let right = self.infix(level + 1)?;
            left = CellExpression::Infix(operation.1, Box::new(left), Box::new(right));
        }
    }

    fn prefix(&mut self) -> Result<CellExpression> {
        let mut signs = Vec::new();
        loop {
            if self.has("!") {
                signs.push(CellExpression::Not as fn(_) -> _);
            } else if self.has("-") {
                signs.push(CellExpression::Negative as fn(_) -> _);
            } else {
                break;
            }
        }
        let operand = self.postfix()?;
        Ok(signs.into_iter().rev().fold(operand, |operand, sign| sign(Box::new(operand))))
    }

    fn postfix(&mut self) -> Result<CellExpression> {
        let mut value = self.primary()?;
        loop {
            if self.has("[") {
                let index = self.expression()?;
                self.expect("]")?;
                value = CellExpression::Element(Box::new(value), Box::new(index));
            } else if self.has(".") {
                value = self.method(value)?;
            } else {
                return Ok(value);
            }
        }
    }

    fn method(&mut self, receiver: CellExpression) -> Result<CellExpression> {
        let at = self.next;
        let name = self.name("a method")?;
        if *self.peek() != Token::Sign("(") {
            let is_count = name == "length";
            return if is_count {
                Ok(CellExpression::Count(Box::new(receiver)))
            } else {
                Err(self.error_at(at, format!("there is no field `{name}`")))
            };
        }
        let unknown = || self.error_at(at, format!("texts have no method `{name}`"));
        let method = Method::find(&name).ok_or_else(unknown)?;
        let arguments = self.arguments(&name, method.arguments())?;
        Ok(CellExpression::Method(method, Box::new(receiver), arguments))
    }

    fn error_at(&self, token: usize, message: String) -> CellFunctionError {
        error(self.text, self.tokens[token].1, message)
    }

    fn arguments(&mut self, name: &str, counts: Arguments) -> Result<Vec<CellExpression>> {
        let at = self.next;
        self.expect("(")?;
        let mut arguments = Vec::new();
        if !self.has(")") {
            arguments.push(self.expression()?);
            while self.has(",") {
                arguments.push(self.expression()?);
            }
            self.expect(")")?;
        }
        let (given, (least, most)) = (arguments.len(), counts);
        if given < least || given > most {
            let takes = if least == most { least.to_string() } else { format!("{least} or {most}") };
            let noun = if most == 1 { "argument" } else { "arguments" };
            return Err(self.error_at(at, format!("`{name}` takes {takes} {noun}, not {given}")));
        }
        Ok(arguments)
    }

    fn primary(&mut self) -> Result<CellExpression> {
        let at = self.next;
        match self.advance() {
            Token::Text(text) => Ok(CellExpression::Text(text)),
            Token::Integer(value) => Ok(CellExpression::Integer(value)),
            Token::Double(value) => Ok(CellExpression::Double(value)),
            Token::Sign("(") => {
                let inner = self.expression()?;
                self.expect(")")?;
                Ok(inner)
            }
            Token::Name(name) => self.named(at, &name),
            Token::End => Err(self.error_at(at, "a value is missing".to_owned())),
            Token::Sign(sign) => Err(self.error_at(at, format!("a value is missing before `{sign}`"))),
        }
    }

    /// What begins with a name: a parameter, a constant, several texts, or a call of a function of a class.
    fn named(&mut self, at: usize, name: &str) -> Result<CellExpression> {
        if let Some(position) = self.parameters.iter().position(|parameter| parameter == name) {
            return Ok(CellExpression::Parameter(position));
        }
        match name {
            "true" => return Ok(CellExpression::Truth(true)),
            "false" => return Ok(CellExpression::Truth(false)),
            "new" => return self.texts(at),
            _ => {}
        }
        if !self.has(".") {
            return Err(self.error_at(at, format!("`{name}` is no parameter of the function")));
        }
        let full = format!("{name}.{}", self.name("a function")?);
        let Some(function) = StaticFunction::find(&full) else {
            return Err(self.error_at(at, format!("there is no function `{full}`")));
        };
        let arguments = self.arguments(&full, function.arguments())?;
        Ok(CellExpression::Static(function, arguments))
    }

    /// `new String[]{...}`.
    fn texts(&mut self, at: usize) -> Result<CellExpression> {
        if self.name("a type")? != "String" {
            return Err(self.error_at(at, "only `new String[]{...}` can be made".to_owned()));
        }
        for sign in ["[", "]", "{"] {
            self.expect(sign)?;
        }
        let mut texts = vec![self.expression()?];
        while self.has(",") {
            texts.push(self.expression()?);
        }
        self.expect("}")?;
        Ok(CellExpression::Texts(texts))
    }
}
