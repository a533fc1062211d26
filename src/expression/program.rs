//! From the graph of expressions to a DAG of high-level operators, and what it reads.
//!
//! The DAG says nothing of sizes and, where plans gain nothing from them, of the values of scalars: expressions that
//! differ in these alone are one program, which is compiled once.

use super::expr::{Expr, State};
use crate::error::Error;
use fuseline_ir::hop::{Hop, HopDag, HopId, HopOp, Inputs, ReorgOp, ShapeOp};
use fuseline_ir::ops::{BinaryOp, TernaryOp};
use fuseline_ir::{DataType, SizeInfo, Value};
use fuseline_matrix::MatrixBlock;
use fuseline_runtime::{RuntimeValue, Variables};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// Expressions as a program.
#[derive(Debug)]
pub(super) struct ExprProgram {
    pub(super) dag: HopDag,
    /// The values that it reads and that are there.
    pub(super) captured: Variables,
    /// The values that it reads and that are bound before each run.
    pub(super) symbols: Vec<Symbol>,
    /// Expressions that are computed on the way and whose values stay.
    pub(super) kept: Vec<Expr>,
}

/// A value that is bound before each run.
#[derive(Clone, Debug)]
pub(super) struct Symbol {
    pub(super) name: Arc<str>,
    pub(super) data_type: DataType,
    /// The variable of the DAG, which does not depend on the name: programs that differ in names are one.
    pub(super) variable: String,
}

/// The variable of a result.
pub(super) fn output_name(position: usize) -> String {
    format!("out{position}")
}

impl ExprProgram {
    /// The program of these expressions, and of those on the way to them whose values are to stay.
    ///
    /// # Errors
    /// One of them could not be built.
    pub(super) fn keeping(roots: &mut Vec<Expr>) -> Result<ExprProgram, Error> {
        let mut program = ExprProgram::of(roots)?;
        let kept = std::mem::take(&mut program.kept);
        let missing: Vec<Expr> = kept.into_iter().filter(|expr| !roots.iter().any(|root| root.is_same(expr))).collect();
        if missing.is_empty() {
            return Ok(program);
        }
        roots.extend(missing);
        ExprProgram::of(roots)
    }

    /// The program of these expressions.
    ///
    /// # Errors
    /// One of them could not be built.
    pub(super) fn of(roots: &[Expr]) -> Result<ExprProgram, Error> {
        let mut builder = Builder::default();
        for (position, root) in roots.iter().enumerate() {
            let hop = builder.build(root)?;
            builder.program.dag.write(&output_name(position), hop);
        }
        Ok(builder.program)
    }

    /// A hash of the DAG.
    pub(super) fn hash(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        for hop in self.dag.hops.values() {
            hash_op(&hop.op, &mut hasher);
            hop.data_type.hash(&mut hasher);
            hop.inputs.hash(&mut hasher);
        }
        for output in &self.dag.outputs {
            output.hop.hash(&mut hasher);
        }
        hasher.finish()
    }
}

impl Default for ExprProgram {
    fn default() -> Self {
        ExprProgram { dag: HopDag::new(), captured: Variables::new(), symbols: Vec::new(), kept: Vec::new() }
    }
}

/// Whether two DAGs compute the same of what they read.
pub(super) fn is_same_dag(one: &HopDag, other: &HopDag) -> bool {
    let is_same_op = |one: &HopOp, other: &HopOp| match (one, other) {
        (HopOp::Literal(one), HopOp::Literal(other)) => one.same_bits(other),
        (one, other) => one == other,
    };
    let is_same_hop = |(one, other): (&Hop, &Hop)| {
        is_same_op(&one.op, &other.op) && one.inputs == other.inputs && one.data_type == other.data_type
    };
    one.hops.len() == other.hops.len()
        && one.outputs == other.outputs
        && one.hops.values().zip(other.hops.values()).all(is_same_hop)
}

/// A hash of what an operation is, without its operands.
pub(super) fn hash_op(op: &HopOp, hasher: &mut impl Hasher) {
    std::mem::discriminant(op).hash(hasher);
    match op {
        HopOp::Literal(Value::F64(value)) => value.to_bits().hash(hasher),
        HopOp::Literal(Value::I64(value)) => value.hash(hasher),
        HopOp::Literal(Value::Bool(value)) => value.hash(hasher),
        HopOp::Literal(Value::Str(value)) => value.hash(hasher),
        HopOp::Cast(op) => op.hash(hasher),
        HopOp::Shape(op) => op.hash(hasher),
        HopOp::DataGen(op) => op.hash(hasher),
        HopOp::Read(name) => name.hash(hasher),
        HopOp::Unary(op) => op.hash(hasher),
        HopOp::Binary(op) | HopOp::Outer(op) => op.hash(hasher),
        HopOp::Ternary(op) => op.hash(hasher),
        HopOp::Nary(op) => op.hash(hasher),
        HopOp::AggUnary(op, direction) => (op, direction).hash(hasher),
        HopOp::Cumulative(op) => op.hash(hasher),
        HopOp::Reorg(op) => op.hash(hasher),
        HopOp::Parameterized { function, names } => (function, names).hash(hasher),
        HopOp::Item(position) => position.hash(hasher),
        // What is left is told apart by comparison.
        _ => {}
    }
}

#[derive(Default)]
struct Builder {
    program: ExprProgram,
    /// The operators of nodes, by address.
    hops: HashMap<usize, HopId>,
    literals: Vec<(Value, HopId)>,
    matrices: Vec<(MatrixBlock, HopId)>,
}

impl Builder {
    /// The operator of an expression, after those of its operands.
    fn build(&mut self, root: &Expr) -> Result<HopId, Error> {
        let mut pending = vec![root.clone()];
        while let Some(expr) = pending.last() {
            if self.hops.contains_key(&expr.address()) {
                pending.pop();
                continue;
            }
            let state = expr.state().clone();
            let hop = match state {
                State::Failed(error) => return Err(Error::Expression(error)),
                State::Value(value) => self.read_value(value),
                State::Symbol(name) => self.read_symbol(name, expr.data_type()),
                State::Operation(op, operands) => {
                    let waiting = pending.len();
                    let missing = operands.iter().enumerate().filter(|(position, operand)| {
                        literal(&op, *position, &operands).is_none() && !self.hops.contains_key(&operand.address())
                    });
                    let missing: Vec<Expr> = missing.map(|(_, operand)| operand.clone()).collect();
                    pending.extend(missing);
                    if pending.len() > waiting {
                        continue;
                    }
                    self.operation(op, &operands, pending[waiting - 1].data_type())
                }
            };
            let done = pending.pop().map(|expr| expr.address());
            self.hops.extend(done.map(|address| (address, hop)));
        }
        Ok(self.hops[&root.address()])
    }

    fn operation(&mut self, op: HopOp, operands: &[Expr], data_type: DataType) -> HopId {
        let mut inputs = Inputs::new();
        if !matches!(op, HopOp::MatMul | HopOp::Reorg(ReorgOp::Transpose)) {
            self.note_kept(operands);
        }
        for (position, operand) in operands.iter().enumerate() {
            let input = match literal(&op, position, operands) {
                Some(value) => self.literal(value),
                None => self.hops[&operand.address()],
            };
            inputs.push(input);
        }
        self.push(op, inputs, data_type)
    }

    fn note_kept(&mut self, operands: &[Expr]) {
        let is_pending = |expr: &&Expr| expr.is_kept() && expr.depth() > 0 && !expr.is_symbolic();
        for operand in operands.iter().filter(is_pending) {
            if !self.program.kept.iter().any(|known| known.is_same(operand)) {
                self.program.kept.push(operand.clone());
            }
        }
    }

    fn literal(&mut self, value: Value) -> HopId {
        if let Some((_, hop)) = self.literals.iter().find(|(known, _)| known.same_bits(&value)) {
            return *hop;
        }
        let hop = self.program.dag.literal(value.clone());
        self.literals.push((value, hop));
        hop
    }

    /// The read of a value. Matrices of the same memory are one, however often the host has handed them over.
    fn read_value(&mut self, value: RuntimeValue) -> HopId {
        if let RuntimeValue::Matrix(block) = &value
            && let Some((_, hop)) = self.matrices.iter().find(|(known, _)| known.reads_same(block))
        {
            return *hop;
        }
        let name = format!("in{}", self.program.captured.len());
        let data_type = value.data_type();
        let hop = self.push(HopOp::Read(name.clone()), Inputs::new(), data_type);
        if let RuntimeValue::Matrix(block) = &value {
            self.matrices.push((block.clone(), hop));
        }
        self.program.captured.insert(name, value);
        hop
    }

    fn read_symbol(&mut self, name: Arc<str>, data_type: DataType) -> HopId {
        let known = self.program.symbols.iter().find(|symbol| symbol.name == name);
        let variable = match known {
            Some(symbol) => symbol.variable.clone(),
            None => {
                let variable = format!("symbol{}", self.program.symbols.len());
                self.program.symbols.push(Symbol { name, data_type, variable: variable.clone() });
                variable
            }
        };
        self.push(HopOp::Read(variable), Inputs::new(), data_type)
    }

    fn push(&mut self, op: HopOp, inputs: Inputs, data_type: DataType) -> HopId {
        self.program.dag.push(Hop { op, inputs, data_type, size: SizeInfo::UNKNOWN, span: None })
    }
}

/// The value of a scalar operand that is part of the program; other scalars are values that it reads.
fn literal(op: &HopOp, position: usize, operands: &[Expr]) -> Option<Value> {
    let value = scalar(&operands[position])?;
    is_literal(op, position, operands, &value).then_some(value)
}

fn scalar(operand: &Expr) -> Option<Value> {
    match &*operand.state() {
        State::Value(RuntimeValue::Scalar(value)) => Some(value.clone()),
        _ => None,
    }
}

/// Whether plans gain by knowing the value of a scalar operand: where it decides what becomes of zeros, where rewrites
/// look for it, and in functions, whose parameters say what they do. A sum with, or a multiple of, any number is one
/// program, and so are ranges, which move.
fn is_literal(op: &HopOp, position: usize, operands: &[Expr], value: &Value) -> bool {
    let number = match value {
        Value::F64(number) => *number,
        Value::I64(number) => *number as f64,
        Value::Bool(_) | Value::Str(_) => return true,
    };
    match op {
        HopOp::Binary(BinaryOp::Plus | BinaryOp::Minus | BinaryOp::Mult | BinaryOp::Div | BinaryOp::LogBase)
        | HopOp::Ternary(TernaryOp::PlusMult | TernaryOp::MinusMult | TernaryOp::IfElse) => is_special(number),
        HopOp::Index => position > 0 && is_open(operands, 1 + (position - 1) / 2 * 2),
        HopOp::LeftIndex if position > 1 => is_open(operands, 2 + (position - 2) / 2 * 2),
        HopOp::LeftIndex => is_special(number),
        HopOp::DataGen(_) => position == 0 && is_special(number),
        _ => true,
    }
}

/// Numbers that rewrites know.
fn is_special(number: f64) -> bool {
    [0.0, 1.0, -1.0, 2.0, 0.5].contains(&number)
}

/// Whether the range from this operand on ends where the matrix does.
fn is_open(operands: &[Expr], first: usize) -> bool {
    matches!(&*operands[first + 1].state(), State::Operation(HopOp::Shape(ShapeOp::Nrow | ShapeOp::Ncol), _))
}
