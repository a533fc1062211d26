//! The parser of the text form of programs.

use super::{Call, Function, Parameter, Predicate, Program, StatementBlock};
use crate::hop::{BodyParser, HopDag};
use crate::text::{Cursor, Lines, ParseError, ParseErrors};
use crate::types::DataType;

/// Deeper nesting is refused: the parser, like other walks over programs, calls itself for each level.
const MAX_DEPTH: usize = 250;

/// Parses one program.
///
/// # Errors
/// Everything that is wrong with the text; rules beyond the grammar are the verifier's.
pub fn parse(text: &str) -> Result<Program, ParseErrors> {
    let mut errors = ParseErrors::default();
    let lines = Lines::new(text, &mut errors);
    let mut parser = Parser { lines, errors, depth: 0 };
    let program = parser.program().unwrap_or_else(|Stop| Program::default());
    parser.errors.finish(program)
}

/// The structure of the text is broken, so that nothing can be said about what follows; the reason is recorded.
struct Stop;

struct Parser<'a> {
    lines: Lines<'a>,
    errors: ParseErrors,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn program(&mut self) -> Result<Program, Stop> {
        let mut program = Program::default();
        let mut line = self.line("`program {`")?;
        self.head(&mut line, |line| line.expect_word("program"))?;
        loop {
            let mut line = self.line("`}`")?;
            if line.eat('}') {
                self.close(&line)?;
                break;
            }
            if line.eat_word("function") {
                let function = self.function(&mut line)?;
                if program.functions.contains_key(&function.name) {
                    let message = format!("the function `{}` is defined twice", function.name);
                    self.errors.push(line.error(message));
                }
                program.functions.insert(function.name.clone(), function);
            } else {
                program.body.push(self.statement(&mut line)?);
            }
        }
        match self.lines.next() {
            Some(line) => self.record(Err(line.expected("the end of the text"))),
            None => Ok(program),
        }
    }

    fn record<T>(&mut self, result: Result<T, ParseError>) -> Result<T, Stop> {
        result.map_err(|error| {
            self.errors.push(error);
            Stop
        })
    }

    fn line(&mut self, what: &str) -> Result<Cursor<'a>, Stop> {
        let error = self.lines.end_error(&format!("expected {what} before the end of the text"));
        let line = self.lines.next().ok_or(error);
        self.record(line)
    }

    /// Reads the head of a block up to the end of its line, the opening brace.
    fn head<T>(
        &mut self,
        line: &mut Cursor<'a>,
        read: impl FnOnce(&mut Cursor<'a>) -> Result<T, ParseError>,
    ) -> Result<T, Stop> {
        let head = read(line).and_then(|head| {
            line.expect('{')?;
            line.end()?;
            Ok(head)
        });
        self.record(head)
    }

    /// Checks that a closing brace ends its line.
    fn close(&mut self, line: &Cursor<'a>) -> Result<(), Stop> {
        self.record(line.end())
    }

    fn function(&mut self, line: &mut Cursor<'a>) -> Result<Function, Stop> {
        let (name, parameters, results) = self.head(line, |line| {
            let name = line.name("a name")?;
            let parameters = parameters(line)?;
            line.expect_word("->")?;
            let results = self::parameters(line)?;
            Ok((name, parameters, results))
        })?;
        let (body, end) = self.statements()?;
        self.close(&end)?;
        Ok(Function { name, parameters, results, body, span: None })
    }

    /// Statements up to a closing brace, and what follows the brace.
    fn statements(&mut self) -> Result<(Vec<StatementBlock>, Cursor<'a>), Stop> {
        let mut blocks = Vec::new();
        loop {
            let mut line = self.line("`}`")?;
            if line.eat('}') {
                return Ok((blocks, line));
            }
            blocks.push(self.statement(&mut line)?);
        }
    }

    fn statement(&mut self, line: &mut Cursor<'a>) -> Result<StatementBlock, Stop> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return self.record(Err(line.error(format!("blocks are nested more than {MAX_DEPTH} deep"))));
        }
        let keyword = line.word("`block`, `call`, `if`, `while`, `for` or `parfor`");
        let block = match self.record(keyword)? {
            "block" => {
                self.head(line, |_| Ok(()))?;
                let (dag, end) = self.dag()?;
                self.close(&end)?;
                StatementBlock::Basic(dag)
            }
            "call" => self.call(line)?,
            "if" => self.branch(line)?,
            "while" => self.while_loop(line)?,
            "for" => self.for_loop(line, false)?,
            "parfor" => self.for_loop(line, true)?,
            other => return self.record(Err(line.error(format!("`{other}` is no statement")))),
        };
        self.depth -= 1;
        Ok(block)
    }

    /// The lines of a DAG up to a closing brace, and what follows the brace.
    fn dag(&mut self) -> Result<(HopDag, Cursor<'a>), Stop> {
        let mut parser = BodyParser::new();
        loop {
            let mut line = self.line("`}`")?;
            if line.eat('}') {
                return Ok((parser.finish(), line));
            }
            if let Err(error) = parser.line(&mut line) {
                self.errors.push(error);
            }
        }
    }

    fn predicate(&mut self) -> Result<(Predicate, Cursor<'a>), Stop> {
        let mut prelude = Vec::new();
        if let Some(mut line) = self.lines.next_if(|line| line.peek_word() == Some("prelude")) {
            self.head(&mut line, |line| line.expect_word("prelude"))?;
            let (blocks, end) = self.statements()?;
            self.close(&end)?;
            prelude = blocks;
        }
        let (dag, end) = self.dag()?;
        Ok((Predicate { prelude, dag }, end))
    }

    fn call(&mut self, line: &mut Cursor<'a>) -> Result<StatementBlock, Stop> {
        let (function, targets) = self.head(line, |line| {
            let function = line.name("a function")?;
            let targets = if line.eat_word("->") { line.list(target)? } else { Vec::new() };
            Ok((function, targets))
        })?;
        let (arguments, end) = self.dag()?;
        self.close(&end)?;
        Ok(StatementBlock::Call(Call { function, arguments, targets, span: None }))
    }

    fn branch(&mut self, line: &mut Cursor<'a>) -> Result<StatementBlock, Stop> {
        self.head(line, |_| Ok(()))?;
        let (predicate, mut end) = self.predicate()?;
        self.head(&mut end, |line| line.expect_word("then"))?;
        let (then_body, mut end) = self.statements()?;
        let mut else_body = Vec::new();
        if end.eat_word("else") {
            self.head(&mut end, |_| Ok(()))?;
            (else_body, end) = self.statements()?;
        }
        self.close(&end)?;
        Ok(StatementBlock::If { predicate, then_body, else_body, span: None })
    }

    fn while_loop(&mut self, line: &mut Cursor<'a>) -> Result<StatementBlock, Stop> {
        self.head(line, |_| Ok(()))?;
        let (predicate, end) = self.predicate()?;
        let body = self.loop_body(end)?;
        Ok(StatementBlock::While { predicate, body, span: None })
    }

    fn for_loop(&mut self, line: &mut Cursor<'a>, parallel: bool) -> Result<StatementBlock, Stop> {
        let variable = self.head(line, |line| {
            let variable = line.name("a variable")?;
            line.expect_word("from")?;
            Ok(variable)
        })?;
        let (from, mut end) = self.predicate()?;
        self.head(&mut end, |line| line.expect_word("to"))?;
        let (to, mut end) = self.predicate()?;
        let mut by = None;
        if end.eat_word("by") {
            self.head(&mut end, |_| Ok(()))?;
            let (predicate, after) = self.predicate()?;
            by = Some(predicate);
            end = after;
        }
        let body = self.loop_body(end)?;
        Ok(StatementBlock::For { variable, from, to, by, body, parallel, span: None })
    }

    fn loop_body(&mut self, mut end: Cursor<'a>) -> Result<Vec<StatementBlock>, Stop> {
        self.head(&mut end, |line| line.expect_word("do"))?;
        let (body, end) = self.statements()?;
        self.close(&end)?;
        Ok(body)
    }
}

fn target(line: &mut Cursor<'_>) -> Result<Option<String>, ParseError> {
    if line.eat_word("-") { Ok(None) } else { line.name("a variable or `-`").map(Some) }
}

/// `(name: type, ...)`.
fn parameters(line: &mut Cursor<'_>) -> Result<Vec<Parameter>, ParseError> {
    line.expect('(')?;
    let parameters = if line.is_next(')') { Vec::new() } else { line.list(parameter)? };
    line.expect(')')?;
    Ok(parameters)
}

fn parameter(line: &mut Cursor<'_>) -> Result<Parameter, ParseError> {
    let name = line.name("a name")?;
    line.expect(':')?;
    let word = line.word("a type")?;
    let data_type = DataType::parse(word).ok_or_else(|| line.error(format!("`{word}` is no type")))?;
    Ok(Parameter { name, data_type })
}
