//! The text form of CPlans.
//!
//! ```text
//! cplan row col_agg_t sparse_safe=true ring=0 {
//!   in0 = matrix
//!   in1 = matrix
//!   %0 = main
//!   %1 = side_vector in1
//!   %2 = dot_product %0, %1
//!   out %2 left=%0
//! }
//! ```
//!
//! `ring` is the number of row vectors in memory at a time ([`RowBuffers`](super::RowBuffers)); it follows from the
//! plan, may be left out, and is checked.

use super::{Bits, CInput, CInputId, CNode, CNodeId, COutput, CPlan, ColumnRange, Filters, StatedOutput, Variant};
use crate::ops::{AggOp, BinaryOp, TernaryOp, UnaryOp, WindowOp, Windows};
use crate::text::{Cursor, Ids, Lines, ParseError, ParseErrors, parse_f64};
use crate::types::{DataType, Value};
use std::fmt;

/// `matrix` or `scalar`, and `matrix.f32` for matrices of other elements than doubles.
impl fmt::Display for CInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CInput::Matrix(element) => DataType::Matrix(*element).fmt(f),
            CInput::Scalar => f.write_str("scalar"),
        }
    }
}

impl CNode {
    /// The operation's text mnemonic, free of parentheses.
    pub fn mnemonic(&self) -> String {
        match self {
            CNode::Main => "main".to_owned(),
            CNode::Scalar(_) => "scalar".to_owned(),
            CNode::Literal(_) => "literal".to_owned(),
            CNode::SideCell(_) => "side_cell".to_owned(),
            CNode::SideRowScalar(..) => "side_row_scalar".to_owned(),
            CNode::RowIndex => "row_index".to_owned(),
            CNode::SideColScalar(_) => "side_col_scalar".to_owned(),
            CNode::SideRow(..) => "side_row".to_owned(),
            CNode::SideVector(_) => "side_vector".to_owned(),
            CNode::OuterProduct => "outer_product".to_owned(),
            CNode::Unary(op, _) => op.mnemonic().to_owned(),
            CNode::Binary(op, ..) => op.mnemonic().to_owned(),
            CNode::Ternary(op, ..) => op.mnemonic().to_owned(),
            CNode::RowAgg(op, _) => format!("row_agg.{op}"),
            CNode::RowCumulative(op, _) => format!("row_cumulative.{op}"),
            CNode::Cbind(..) => "cbind".to_owned(),
            CNode::Scatter(..) => "scatter".to_owned(),
            CNode::DotProduct(..) => "dot_product".to_owned(),
            CNode::VectMatMult(..) => "vect_mat_mult".to_owned(),
            CNode::Windows(op, ..) => op.mnemonic().to_owned(),
            CNode::Convolve(..) => "convolve".to_owned(),
        }
    }
}

/// The operation with its operands, as on the right of a definition.
impl fmt::Display for CNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.mnemonic())?;
        match self {
            CNode::Literal(bits) => return write!(f, " {}", Value::F64(bits.get())),
            CNode::SideRow(input, ColumnRange::Part { first, end }) => return write!(f, " {input}[{first}:{end}]"),
            CNode::SideRowScalar(input, column) if *column > 0 => return write!(f, " {input}[{column}]"),
            _ => {}
        }
        let input = self.input().filter(|_| *self != CNode::Main).map(|input| input.to_string());
        let operands = self.operands().into_iter().map(|operand| operand.to_string()).chain(input);
        for (position, operand) in operands.enumerate() {
            write!(f, "{} {operand}", if position > 0 { "," } else { "" })?;
        }
        match self {
            CNode::Windows(_, _, windows) => write!(f, ", {windows}"),
            CNode::Convolve(_, _, Filters { count, windows }) => write!(f, " filters={count} windows={windows}"),
            _ => Ok(()),
        }
    }
}

/// The output without what the plan's variant says of it.
impl fmt::Display for COutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "out {}", self.node())?;
        if let Some(agg) = self.function() {
            write!(f, " agg={agg}")?;
        }
        if let Some(left) = self.left() {
            write!(f, " left={left}")?;
        }
        Ok(())
    }
}

impl fmt::Display for CPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (template, variant) = (self.template(), self.variant.mnemonic());
        let ring = self.row_buffers().count();
        writeln!(f, "cplan {template} {variant} sparse_safe={} ring={ring} {{", self.sparse_safe)?;
        for (id, input) in &self.inputs {
            writeln!(f, "  {id} = {input}")?;
        }
        for (id, node) in &self.nodes {
            writeln!(f, "  {id} = {node}")?;
        }
        for output in &self.outputs {
            writeln!(f, "  {output}")?;
        }
        f.write_str("}")
    }
}

/// Parses one CPlan.
///
/// # Errors
/// Everything that is wrong with the text; rules beyond the grammar are the verifier's.
pub fn parse(text: &str) -> Result<CPlan, ParseErrors> {
    let mut plans = parse_all(text)?;
    let count = plans.len();
    match plans.pop() {
        Some(plan) if count == 1 => Ok(plan),
        _ => Err(ParseError { line: 1, column: 1, message: format!("expected one plan, found {count}") }.into()),
    }
}

/// Parses any number of CPlans.
///
/// # Errors
/// Everything that is wrong with the text.
pub fn parse_all(text: &str) -> Result<Vec<CPlan>, ParseErrors> {
    let mut errors = ParseErrors::default();
    let mut lines = Lines::new(text, &mut errors);
    let mut plans = Vec::new();
    while let Some(mut line) = lines.next() {
        match header(&mut line) {
            Ok(header) => plans.push(Parser::new(header).body(&mut lines, &mut errors)),
            Err(error) => {
                errors.push(error);
                // Without its variant the plan says nothing.
                while lines.next_if(|line| line.peek_word() != Some("cplan")).is_some() {}
            }
        }
    }
    errors.finish(plans)
}

struct Header {
    variant: Variant,
    sparse_safe: bool,
    /// What the text says; checked against the plan.
    ring: Option<usize>,
    line: u32,
}

fn header(line: &mut Cursor<'_>) -> Result<Header, ParseError> {
    line.expect_word("cplan")?;
    let template = line.word("a template")?;
    let variant = line.word("a variant of the template")?;
    let is_named = |candidate: &Variant| candidate.template().mnemonic() == template && candidate.mnemonic() == variant;
    let variant =
        Variant::all().find(is_named).ok_or_else(|| line.error(format!("no variant `{template} {variant}`")))?;
    line.expect_word("sparse_safe")?;
    line.expect('=')?;
    let sparse_safe = line.parsed("`true` or `false`")?;
    let mut ring = None;
    if line.eat_word("ring") {
        line.expect('=')?;
        ring = Some(line.parsed("a number of row vectors")?);
    }
    line.expect('{')?;
    line.end()?;
    Ok(Header { variant, sparse_safe, ring, line: line.line() })
}

struct Parser {
    plan: CPlan,
    header: Header,
    inputs: Ids<CInputId>,
    nodes: Ids<CNodeId>,
}

impl Parser {
    fn new(header: Header) -> Self {
        let plan = CPlan { sparse_safe: header.sparse_safe, ..CPlan::new(header.variant) };
        Parser {
            plan,
            header,
            inputs: Ids::new("in", "an input such as `in0`"),
            nodes: Ids::new("%", "a node such as `%0`"),
        }
    }

    fn body(mut self, lines: &mut Lines<'_>, errors: &mut ParseErrors) -> CPlan {
        let mut complete = true;
        loop {
            let Some(mut line) = lines.next() else {
                errors.push(lines.end_error("expected `}` at the end of the plan"));
                return self.plan;
            };
            if line.eat('}') {
                if let Err(error) = line.end() {
                    errors.push(error);
                }
                break;
            }
            match self.line(&mut line) {
                Ok(known) => complete &= known,
                Err(error) => {
                    errors.push(error);
                    complete = false;
                }
            }
        }
        if let Some(stated) = self.header.ring.filter(|_| complete) {
            let ring = self.plan.row_buffers().count();
            if ring != stated {
                let message = format!("the plan has ring={ring}, not ring={stated}");
                errors.push(ParseError { line: self.header.line, column: 1, message });
            }
        }
        self.plan
    }

    /// Whether everything that the line refers to is known.
    fn line(&mut self, line: &mut Cursor<'_>) -> Result<bool, ParseError> {
        match line.peek_word() {
            Some("out") => self.output(line),
            Some(word) if word.starts_with("in") => self.input(line),
            _ => self.node(line),
        }
    }

    fn input(&mut self, line: &mut Cursor<'_>) -> Result<bool, ParseError> {
        let number = self.inputs.declare(line)?;
        line.expect('=')?;
        let word = line.word("`matrix` or `scalar`")?;
        let input = match (word, DataType::parse(word)) {
            ("scalar", _) => CInput::Scalar,
            (_, Some(DataType::Matrix(element))) => CInput::Matrix(element),
            _ => return Err(line.error(format!("an input is a `matrix` or a `scalar`, not `{word}`"))),
        };
        line.end()?;
        self.inputs.define(number, self.plan.inputs.push(input));
        Ok(true)
    }

    fn node(&mut self, line: &mut Cursor<'_>) -> Result<bool, ParseError> {
        let number = self.nodes.declare(line)?;
        line.expect('=')?;
        let node = self.operation(line)?;
        line.end()?;
        if let Some(node) = node {
            self.nodes.define(number, self.plan.nodes.push(node));
        }
        Ok(node.is_some())
    }

    /// The operation, `None` where it refers to a definition that had errors.
    fn operation(&self, line: &mut Cursor<'_>) -> Result<Option<CNode>, ParseError> {
        let mnemonic = line.word("an operation")?;
        if let Some(op) = UnaryOp::from_mnemonic(mnemonic) {
            return Ok(self.operands(line)?.map(|[a]| CNode::Unary(op, a)));
        }
        if let Some(op) = BinaryOp::from_mnemonic(mnemonic) {
            return Ok(self.operands(line)?.map(|[a, b]| CNode::Binary(op, a, b)));
        }
        if let Some(op) = TernaryOp::from_mnemonic(mnemonic) {
            return Ok(self.operands(line)?.map(|[a, b, c]| CNode::Ternary(op, a, b, c)));
        }
        if let Some(op) = mnemonic.strip_prefix("row_agg.") {
            let op: AggOp = op.parse().map_err(|message: String| line.error(message))?;
            return Ok(self.operands(line)?.map(|[a]| CNode::RowAgg(op, a)));
        }
        if let Some(op) = mnemonic.strip_prefix("row_cumulative.") {
            let op: AggOp = op.parse().map_err(|message: String| line.error(message))?;
            return Ok(self.operands(line)?.map(|[a]| CNode::RowCumulative(op, a)));
        }
        if let Some(op) = WindowOp::from_mnemonic(mnemonic) {
            let operand = self.nodes.reference(line)?;
            line.expect(',')?;
            let windows = windows(line)?;
            return Ok(operand.map(|operand| CNode::Windows(op, operand, windows)));
        }
        Ok(match mnemonic {
            "main" => Some(CNode::Main),
            "outer_product" => Some(CNode::OuterProduct),
            "literal" => Some(CNode::Literal(literal(line)?)),
            "scalar" => self.inputs.reference(line)?.map(CNode::Scalar),
            "side_cell" => self.inputs.reference(line)?.map(CNode::SideCell),
            "row_index" => Some(CNode::RowIndex),
            "cbind" => self.operands(line)?.map(|[a, b]| CNode::Cbind(a, b)),
            "scatter" => self.operands(line)?.map(|[a, b]| CNode::Scatter(a, b)),
            "side_row_scalar" => {
                let input = self.inputs.reference(line)?;
                let column = fixed_column(line)?;
                input.map(|input| CNode::SideRowScalar(input, column))
            }
            "side_col_scalar" => self.inputs.reference(line)?.map(CNode::SideColScalar),
            "side_vector" => self.inputs.reference(line)?.map(CNode::SideVector),
            "side_row" => {
                let input = self.inputs.reference(line)?;
                let range = column_range(line)?;
                input.map(|input| CNode::SideRow(input, range))
            }
            "dot_product" => self.operands(line)?.map(|[a, b]| CNode::DotProduct(a, b)),
            "vect_mat_mult" => {
                let operand = self.nodes.reference(line)?;
                line.expect(',')?;
                let input = self.inputs.reference(line)?;
                operand.zip(input).map(|(operand, input)| CNode::VectMatMult(operand, input))
            }
            "convolve" => {
                let operand = self.nodes.reference(line)?;
                line.expect(',')?;
                let input = self.inputs.reference(line)?;
                let filters = filters(line)?;
                operand.zip(input).map(|(operand, input)| CNode::Convolve(operand, input, filters))
            }
            other => return Err(line.error(format!("`{other}` is no operation"))),
        })
    }

    fn operands<const N: usize>(&self, line: &mut Cursor<'_>) -> Result<Option<[CNodeId; N]>, ParseError> {
        let operands = line.list(|line| self.nodes.reference(line))?;
        let operands: [Option<CNodeId>; N] = operands
            .try_into()
            .map_err(|all: Vec<_>| line.error(format!("expected {N} operands, found {}", all.len())))?;
        let mut known = [CNodeId::from_u32(0); N];
        for (known, operand) in known.iter_mut().zip(operands) {
            let Some(operand) = operand else { return Ok(None) };
            *known = operand;
        }
        Ok(Some(known))
    }

    fn output(&mut self, line: &mut Cursor<'_>) -> Result<bool, ParseError> {
        line.expect_word("out")?;
        let node = self.nodes.reference(line)?;
        let (mut agg, mut left) = (None, None);
        loop {
            if agg.is_none() && line.eat_word("agg") {
                line.expect('=')?;
                agg = Some(line.parsed("an aggregation function")?);
            } else if left.is_none() && line.eat_word("left") {
                line.expect('=')?;
                left = Some(self.nodes.reference(line)?);
            } else {
                break;
            }
        }
        // A left vector whose definition had errors is `Some(None)`.
        let (Some(node), false) = (node, left == Some(None)) else { return line.end().map(|()| false) };
        line.end()?;
        let stated = StatedOutput { node, agg, left: left.flatten() };
        let output = stated.in_plan(&self.plan).map_err(|message| line.error(message))?;
        self.plan.outputs.push(output);
        Ok(true)
    }
}

fn literal(line: &mut Cursor<'_>) -> Result<Bits, ParseError> {
    let value = parse_f64(line.word("a double")?);
    value.map(Bits::new).ok_or_else(|| line.error("expected a double such as `1.0`"))
}

/// `filters=8 windows=36`
fn filters(line: &mut Cursor<'_>) -> Result<Filters, ParseError> {
    let mut number = |name: &str| {
        line.expect_word(name)?;
        line.expect('=')?;
        line.parsed("a number")
    };
    Ok(Filters { count: number("filters")?, windows: number("windows")? })
}

/// `3x8x8 window=2x2 stride=2x2 padding=0x0`
fn windows(line: &mut Cursor<'_>) -> Result<Windows, ParseError> {
    let [channels, height, width] = extents(line, "the channels, height and width of an image")?;
    let mut pair = |name: &str| {
        line.expect_word(name)?;
        line.expect('=')?;
        extents(line, "a number of rows and one of columns, such as `2x2`")
    };
    let (window, stride, padding) = (pair("window")?, pair("stride")?, pair("padding")?);
    Ok(Windows { channels, image: [height, width], window, stride, padding })
}

/// Numbers with an `x` between them.
fn extents<const N: usize>(line: &mut Cursor<'_>, what: &str) -> Result<[usize; N], ParseError> {
    let numbers: Result<Vec<usize>, _> = line.word(what)?.split('x').map(str::parse).collect();
    let extents = numbers.ok().and_then(|numbers| numbers.try_into().ok());
    extents.ok_or_else(|| line.error(format!("expected {what}")))
}

fn fixed_column(line: &mut Cursor<'_>) -> Result<u32, ParseError> {
    if !line.eat('[') {
        return Ok(0);
    }
    let column = line.parsed("a column")?;
    line.expect(']')?;
    Ok(column)
}

fn column_range(line: &mut Cursor<'_>) -> Result<ColumnRange, ParseError> {
    if !line.eat('[') {
        return Ok(ColumnRange::All);
    }
    let first = line.parsed("a column")?;
    line.expect(':')?;
    let end = line.parsed("a column")?;
    line.expect(']')?;
    Ok(ColumnRange::Part { first, end })
}
