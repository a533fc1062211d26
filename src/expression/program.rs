//! Expressions as a program: statement blocks with DAGs of high-level operators, and what they read.
//!
//! The DAGs say nothing of sizes and, where plans gain nothing from them, of the values of scalars: expressions that
//! differ in these alone are one program, which is compiled once.

use super::expr::Expr;
use super::lower::Lowering;
use crate::error::Error;
use foldhash::fast::FixedState;
use fuseline_ir::hop::{Hop, HopDag, HopOp};
use fuseline_ir::program::{Predicate, StatementBlock};
use fuseline_ir::{DataType, Value};
use fuseline_passes::size::{SizeEnvironment, VariableFacts};
use fuseline_runtime::Variables;
use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::Arc;

/// Expressions as a program.
#[derive(Debug, Default)]
pub(super) struct ExprProgram {
    /// One block, where there are no loops.
    pub(super) body: Vec<StatementBlock>,
    /// How many results it has.
    pub(super) outputs: usize,
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
    /// The variable of the program, which does not depend on the name: programs that differ in names are one.
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
        let outputs: Vec<(String, Expr)> =
            roots.iter().enumerate().map(|(position, root)| (output_name(position), root.clone())).collect();
        Lowering::default().program(&outputs)
    }

    /// What is known of the variables that it starts with: types and, where they are asked for, sizes.
    pub(super) fn environment(&self, with_sizes: bool) -> SizeEnvironment {
        let mut environment = SizeEnvironment::new();
        for (name, value) in &self.captured {
            let facts = match value.data_type() {
                data_type if with_sizes && data_type.is_matrix() => {
                    VariableFacts { size: value.size(), ..VariableFacts::of_type(data_type) }
                }
                data_type => VariableFacts::of_type(data_type),
            };
            environment.set(name, facts);
        }
        for symbol in &self.symbols {
            environment.set(&symbol.variable, VariableFacts::of_type(symbol.data_type));
        }
        environment
    }

    /// A hash of the blocks.
    pub(super) fn hash(&self) -> u64 {
        let mut hasher = FixedState::default().build_hasher();
        hash_blocks(&self.body, &mut hasher);
        hasher.finish()
    }
}

fn hash_blocks(blocks: &[StatementBlock], hasher: &mut impl Hasher) {
    for block in blocks {
        std::mem::discriminant(block).hash(hasher);
        match block {
            StatementBlock::Basic(dag) => hash_dag(dag, hasher),
            StatementBlock::While { predicate, body, .. } => {
                hash_blocks(&predicate.prelude, hasher);
                hash_dag(&predicate.dag, hasher);
                hash_blocks(body, hasher);
            }
            // Expressions make no others.
            StatementBlock::Call(_) | StatementBlock::If { .. } | StatementBlock::For { .. } => {}
        }
    }
}

fn hash_dag(dag: &HopDag, hasher: &mut impl Hasher) {
    for hop in dag.hops.values() {
        hash_op(&hop.op, hasher);
        hop.data_type.hash(hasher);
        hop.inputs.hash(hasher);
    }
    for output in &dag.outputs {
        output.hop.hash(hasher);
    }
}

/// Whether blocks of expressions compute the same of what they read.
pub(super) fn are_same_blocks(one: &[StatementBlock], other: &[StatementBlock]) -> bool {
    let is_same_predicate = |one: &Predicate, other: &Predicate| {
        are_same_blocks(&one.prelude, &other.prelude) && is_same_dag(&one.dag, &other.dag)
    };
    let is_same = |(one, other): (&StatementBlock, &StatementBlock)| match (one, other) {
        (StatementBlock::Basic(one), StatementBlock::Basic(other)) => is_same_dag(one, other),
        (
            StatementBlock::While { predicate, body, .. },
            StatementBlock::While { predicate: other_predicate, body: other_body, .. },
        ) => is_same_predicate(predicate, other_predicate) && are_same_blocks(body, other_body),
        _ => false,
    };
    one.len() == other.len() && one.iter().zip(other).all(is_same)
}

/// Whether two DAGs compute the same of what they read.
fn is_same_dag(one: &HopDag, other: &HopDag) -> bool {
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
