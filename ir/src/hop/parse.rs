//! The parser of the text form of HOP DAGs.
//!
//! Types and sizes are taken as the text gives them; whether they fit the operations is the verifier's question.

use super::verify::arity_error;
use super::{
    CastOp, DataGenOp, Function, FusedOp, FusionCover, Hop, HopDag, HopId, HopOp, HopOutput, Inputs, NaryOp,
    OperatorId, ReorgOp, ShapeOp,
};
use crate::ops::{AggOp, BinaryOp, Direction, TernaryOp, UnaryOp};
use crate::size::SizeInfo;
use crate::text::{Cursor, Ids, Lines, ParseError, ParseErrors};
use crate::types::{DataType, Element};

/// Parses a file of DAGs, each with its name (empty where it has none).
///
/// # Errors
/// Everything that is wrong with the text.
pub fn parse(text: &str) -> Result<Vec<(String, HopDag)>, ParseErrors> {
    let mut errors = ParseErrors::default();
    let mut lines = Lines::new(text, &mut errors);
    let mut dags = Vec::new();
    while let Some(mut line) = lines.next() {
        let name = header(&mut line).unwrap_or_else(|error| {
            errors.push(error);
            String::new()
        });
        dags.push((name, block(&mut lines, &mut errors)));
    }
    errors.finish(dags)
}

fn header(line: &mut Cursor<'_>) -> Result<String, ParseError> {
    line.expect_word("hops")?;
    let name = match line.peek_word().and_then(|word| word.strip_prefix('@')) {
        Some("") => {
            line.expect_word("@")?;
            line.text("a name")?
        }
        Some(name) => {
            line.word("a name")?;
            name.to_owned()
        }
        None => String::new(),
    };
    line.expect('{')?;
    line.end()?;
    Ok(name)
}

/// Parses a DAG up to its closing brace.
fn block(lines: &mut Lines<'_>, errors: &mut ParseErrors) -> HopDag {
    let mut parser = BodyParser::new();
    loop {
        let Some(mut line) = lines.next() else {
            errors.push(lines.end_error("expected `}` at the end of the DAG"));
            break;
        };
        let is_last = line.eat('}');
        let result = if is_last { line.end() } else { parser.line(&mut line) };
        if let Err(error) = result {
            errors.push(error);
        }
        if is_last {
            break;
        }
    }
    parser.finish()
}

/// Parses the lines of a DAG.
#[derive(Debug)]
pub(crate) struct BodyParser {
    dag: HopDag,
    ids: Ids<HopId>,
}

impl BodyParser {
    /// Nothing is parsed yet.
    pub(crate) fn new() -> Self {
        BodyParser { dag: HopDag::new(), ids: Ids::new("%", "an operator such as `%0`") }
    }

    /// The DAG.
    pub(crate) fn finish(self) -> HopDag {
        self.dag
    }

    /// Parses one line.
    pub(crate) fn line(&mut self, line: &mut Cursor<'_>) -> Result<(), ParseError> {
        match line.peek_word() {
            Some("write") => self.write(line),
            Some("effect") => self.effect(line),
            Some("cover") => self.cover(line),
            _ => self.hop(line),
        }
    }

    fn hop(&mut self, line: &mut Cursor<'_>) -> Result<(), ParseError> {
        let number = self.ids.declare(line)?;
        line.expect('=')?;
        let mut op = operation(line)?;
        let inputs = if line.is_next(':') { Some(Inputs::new()) } else { self.inputs(line, &mut op)? };
        let arity_error = inputs.as_ref().and_then(|inputs| arity_error(&op, inputs.len()));
        if let Some(message) = arity_error {
            return Err(line.error(message));
        }
        line.expect(':')?;
        let (data_type, size) = data_type(line)?;
        line.end()?;
        let Some(inputs) = inputs else { return Ok(()) };
        self.ids.define(number, self.dag.push(Hop { op, inputs, data_type, size, span: None }));
        Ok(())
    }

    /// The inputs, with names where the operation takes named arguments; `None` where a definition had errors.
    fn inputs(&self, line: &mut Cursor<'_>, op: &mut HopOp) -> Result<Option<Inputs>, ParseError> {
        let mut names = Vec::new();
        let inputs = line.list(|line| {
            if !line.peek_word().is_some_and(|word| word.starts_with('%')) {
                names.push(line.name("an operator such as `%0`, or the name of an argument")?);
                line.expect('=')?;
            } else if !names.is_empty() {
                return Err(line.expected("the name of an argument"));
            }
            self.ids.reference(line)
        })?;
        match op {
            HopOp::Parameterized { names: arguments, .. } => *arguments = names,
            _ if !names.is_empty() => {
                return Err(line.error("the operation takes no named arguments"));
            }
            _ => {}
        }
        Ok(inputs.into_iter().collect())
    }

    fn write(&mut self, line: &mut Cursor<'_>) -> Result<(), ParseError> {
        line.expect_word("write")?;
        let name = line.text("the name of a variable")?;
        if self.dag.outputs.iter().any(|output| output.name == name) {
            return Err(line.error(format!("the variable `{name}` is written twice")));
        }
        let hop = self.ids.reference(line)?;
        line.end()?;
        self.dag.outputs.extend(hop.map(|hop| HopOutput { name, hop }));
        Ok(())
    }

    fn effect(&mut self, line: &mut Cursor<'_>) -> Result<(), ParseError> {
        line.expect_word("effect")?;
        let hop = self.ids.reference(line)?;
        line.end()?;
        self.dag.effects.extend(hop);
        Ok(())
    }

    fn cover(&mut self, line: &mut Cursor<'_>) -> Result<(), ParseError> {
        line.expect_word("cover")?;
        let template = line.parsed("a template")?;
        let roots = self.group(line, "roots")?;
        let members = self.group(line, "members")?;
        line.end()?;
        let cover = roots.zip(members).map(|(roots, members)| FusionCover { template, roots, members });
        self.dag.covers.extend(cover);
        Ok(())
    }

    fn group(&self, line: &mut Cursor<'_>, word: &str) -> Result<Option<Vec<HopId>>, ParseError> {
        line.expect_word(word)?;
        line.expect('(')?;
        let hops = if line.is_next(')') { Vec::new() } else { line.list(|line| self.ids.reference(line))? };
        line.expect(')')?;
        Ok(hops.into_iter().collect())
    }
}

fn operation(line: &mut Cursor<'_>) -> Result<HopOp, ParseError> {
    let mnemonic = line.word("an operation")?;
    match mnemonic {
        "read" => return line.text("the name of a variable").map(HopOp::Read),
        "literal" => return line.value().map(HopOp::Literal),
        _ => {}
    }
    if let Some(template) = mnemonic.strip_prefix("spoof.") {
        let template = template.parse().map_err(|message: String| line.error(message))?;
        let operator = line.entity("op", "an operator such as `op0`")?;
        return Ok(HopOp::SpoofOp { operator: OperatorId::from_u32(operator), template });
    }
    by_mnemonic(mnemonic).ok_or_else(|| line.error(format!("`{mnemonic}` is no operation")))
}

/// The operations that the word alone determines.
pub(super) fn by_mnemonic(mnemonic: &str) -> Option<HopOp> {
    let single = || match mnemonic {
        "matmul" => Some(HopOp::MatMul),
        "index" => Some(HopOp::Index),
        "leftindex" => Some(HopOp::LeftIndex),
        "concat" => Some(HopOp::Concat),
        _ => None,
    };
    let aggregate = || {
        let (op, direction) = mnemonic.split_once('.')?;
        Some(HopOp::AggUnary(op.parse::<AggOp>().ok()?, direction.parse::<Direction>().ok()?))
    };
    let cumulative = || {
        let op: AggOp = mnemonic.strip_prefix("cumulative.")?.parse().ok()?;
        op.is_cumulative().then_some(HopOp::Cumulative(op))
    };
    let item = || Some(HopOp::Item(mnemonic.strip_prefix("item.")?.parse().ok()?));
    let outer = || mnemonic.strip_prefix("outer.").and_then(BinaryOp::from_mnemonic).map(HopOp::Outer);
    let function = |function| HopOp::Parameterized { function, names: Vec::new() };
    UnaryOp::from_mnemonic(mnemonic)
        .map(HopOp::Unary)
        .or_else(|| BinaryOp::from_mnemonic(mnemonic).map(HopOp::Binary))
        .or_else(|| TernaryOp::from_mnemonic(mnemonic).map(HopOp::Ternary))
        .or_else(|| NaryOp::from_mnemonic(mnemonic).map(HopOp::Nary))
        .or_else(|| ReorgOp::from_mnemonic(mnemonic).map(HopOp::Reorg))
        .or_else(|| DataGenOp::from_mnemonic(mnemonic).map(HopOp::DataGen))
        .or_else(|| ShapeOp::from_mnemonic(mnemonic).map(HopOp::Shape))
        .or_else(|| CastOp::from_mnemonic(mnemonic).map(HopOp::Cast))
        .or_else(|| Function::from_mnemonic(mnemonic).map(function))
        .or_else(aggregate)
        .or_else(cumulative)
        .or_else(outer)
        .or_else(item)
        .or_else(single)
        .or_else(|| FusedOp::from_mnemonic(mnemonic).map(HopOp::Fused))
}

fn data_type(line: &mut Cursor<'_>) -> Result<(DataType, SizeInfo), ParseError> {
    let word = line.word("a type")?;
    if line.is_next('[') {
        let element = Element::from_name(word).ok_or_else(|| line.error(format!("`{word}` is no type of cells")))?;
        return Ok((DataType::Matrix(element), size(line)?));
    }
    match DataType::parse(word).filter(|data_type| !data_type.is_matrix()) {
        Some(data_type) => Ok((data_type, SizeInfo::UNKNOWN)),
        None => Err(line.error(format!("`{word}` is no type"))),
    }
}

fn size(line: &mut Cursor<'_>) -> Result<SizeInfo, ParseError> {
    line.expect('[')?;
    let dimensions = line.word("dimensions such as `100x?`")?;
    let extent = |text: &str| if text == "?" { Some(None) } else { text.parse().ok().map(Some) };
    let parsed = dimensions.split_once('x').and_then(|(rows, cols)| extent(rows).zip(extent(cols)));
    let (rows, cols) = parsed.ok_or_else(|| line.error("expected dimensions such as `100x?`"))?;
    let mut nnz = None;
    if line.eat(',') {
        line.expect_word("nnz")?;
        line.expect('=')?;
        nnz = Some(line.parsed("a number of non-zeros")?);
    }
    line.expect(']')?;
    Ok(SizeInfo { rows, cols, nnz })
}
