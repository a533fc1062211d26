//! From the graph of expressions to statement blocks: a DAG of high-level operators, and for each loop the DAG of what it
//! starts with before it, and those of its condition and body.

use super::compiled::is_worth_a_value;
use super::expr::{Expr, State};
use super::program::{ExprProgram, Symbol};
use super::while_loop::WhileLoop;
use crate::error::Error;
use foldhash::{HashMap, HashMapExt, HashSet, HashSetExt};
use fuseline_ir::hop::{Hop, HopDag, HopId, HopOp, Inputs, ReorgOp, ShapeOp};
use fuseline_ir::ops::{BinaryOp, TernaryOp};
use fuseline_ir::program::{Predicate, StatementBlock};
use fuseline_ir::{DataType, SizeInfo, Value};
use fuseline_matrix::MatrixBlock;
use fuseline_runtime::RuntimeValue;
use std::sync::Arc;

/// Makes a program of expressions.
#[derive(Default)]
pub(super) struct Lowering {
    program: ExprProgram,
    /// The matrices that the program reads, with their variables.
    matrices: Vec<(MatrixBlock, String)>,
    known: Known,
    /// The variables of what changes in loops, by the addresses of the symbols' names.
    states: HashMap<usize, String>,
    /// Loops and values that have variables, which number them.
    loops: usize,
    values: usize,
    /// The loops that what is made now is within.
    depth: usize,
}

/// What blocks before have computed.
#[derive(Clone, Default)]
struct Known {
    /// The variables of values, by the address of the expression.
    values: HashMap<usize, String>,
    /// The variables of the results of loops, by the address of the loop.
    results: HashMap<usize, Vec<String>>,
}

impl Lowering {
    /// A program that assigns these variables.
    ///
    /// # Errors
    /// An expression could not be built.
    pub(super) fn program(mut self, outputs: &[(String, Expr)]) -> Result<ExprProgram, Error> {
        let roots: Vec<Expr> = outputs.iter().map(|(_, expr)| expr.clone()).collect();
        let mut body = self.loops_before(&roots)?;
        body.push(self.block(outputs)?);
        self.program.body = body;
        self.program.outputs = outputs.len();
        Ok(self.program)
    }

    /// The loops that expressions need and that do not stand before already, each after what it starts with.
    fn loops_before(&mut self, roots: &[Expr]) -> Result<Vec<StatementBlock>, Error> {
        let loops = self.needed_loops(roots);
        let mut blocks = Vec::new();
        for (position, of) in loops.iter().enumerate() {
            let number = self.loops;
            self.loops += 1;
            let variables: Vec<String> = (0..of.states.len()).map(|state| format!("loop{number}_{state}")).collect();
            let later: Vec<Expr> =
                loops[position + 1..].iter().flat_map(|of| of.operands()).chain(roots).cloned().collect();
            blocks.push(self.start(of, &variables, &later)?);
            self.states.extend(of.states.iter().map(address).zip(variables.iter().cloned()));
            self.known.results.insert(Arc::as_ptr(of).addr(), variables.clone());
            self.depth += 1;
            let predicate = self.predicate(of)?;
            // The body may never run, and what it computes is that of one iteration.
            let before = self.known.clone();
            let mut body = self.loops_before(&of.body)?;
            let assigned: Vec<(String, Expr)> = variables.into_iter().zip(of.body.iter().cloned()).collect();
            body.push(self.block(&assigned)?);
            self.known = before;
            self.depth -= 1;
            blocks.push(StatementBlock::While { predicate, body, span: None });
            self.note_held(of);
        }
        Ok(blocks)
    }

    /// The block before a loop: the values that it starts with, what is the same in every iteration, and what is read later,
    /// too.
    fn start(&mut self, of: &WhileLoop, variables: &[String], later: &[Expr]) -> Result<StatementBlock, Error> {
        let mut outputs: Vec<(String, Expr)> = variables.iter().cloned().zip(of.initial().iter().cloned()).collect();
        let mut read_later = self.shared(of.operands(), later);
        read_later.extend(of.invariants().iter().filter(|expr| is_worth_a_value(expr)).cloned());
        let mut new = HashMap::new();
        for expr in read_later {
            if !self.known.values.contains_key(&expr.address()) && !new.contains_key(&expr.address()) {
                let name = format!("value{}", self.values);
                self.values += 1;
                new.insert(expr.address(), name.clone());
                outputs.push((name, expr));
            }
        }
        let block = self.block(&outputs)?;
        self.known.values.extend(new);
        Ok(block)
    }

    fn predicate(&mut self, of: &WhileLoop) -> Result<Predicate, Error> {
        let condition = std::slice::from_ref(&of.condition);
        let prelude = self.loops_before(condition)?;
        let dag = self.dag(&[(Predicate::VALUE.to_owned(), of.condition.clone())])?;
        Ok(Predicate { prelude, dag })
    }

    fn block(&mut self, outputs: &[(String, Expr)]) -> Result<StatementBlock, Error> {
        self.dag(outputs).map(StatementBlock::Basic)
    }

    fn dag(&mut self, outputs: &[(String, Expr)]) -> Result<HopDag, Error> {
        let mut builder = DagBuilder::new(self);
        for (name, expr) in outputs {
            let hop = builder.build(expr)?;
            builder.dag.write(name, hop);
        }
        Ok(builder.dag)
    }

    /// The loops on the way to expressions that do not stand before already, each after those that it needs.
    fn needed_loops(&self, roots: &[Expr]) -> Vec<Arc<WhileLoop>> {
        let (mut done, mut loops, mut pending) = (HashSet::new(), Vec::<Arc<WhileLoop>>::new(), roots.to_vec());
        while let Some(expr) = pending.last().cloned() {
            let missing: Vec<Expr> =
                self.pending_operands(&expr).into_iter().filter(|operand| !done.contains(&operand.address())).collect();
            if !missing.is_empty() && !done.contains(&expr.address()) {
                pending.extend(missing);
                continue;
            }
            pending.pop();
            if done.insert(expr.address())
                && let State::LoopResult(of, _) = &*expr.state()
                && !self.known.values.contains_key(&expr.address())
                && !self.known.results.contains_key(&Arc::as_ptr(of).addr())
                && !loops.iter().any(|known| Arc::ptr_eq(known, of))
            {
                loops.push(Arc::clone(of));
            }
        }
        loops
    }

    /// The operands of an expression that no block before has computed.
    fn pending_operands(&self, expr: &Expr) -> Vec<Expr> {
        if self.known.values.contains_key(&expr.address()) {
            return Vec::new();
        }
        match &*expr.state() {
            State::LoopResult(of, _) if self.known.results.contains_key(&Arc::as_ptr(of).addr()) => Vec::new(),
            State::LoopResult(of, _) => of.operands().to_vec(),
            State::Operation(_, operands) => operands.to_vec(),
            State::Value(_) | State::Symbol(_) | State::Failed(_) => Vec::new(),
        }
    }

    /// The outermost values on the way to expressions that others need, too, and that are computed once.
    fn shared(&self, now: &[Expr], later: &[Expr]) -> Vec<Expr> {
        let read_later = self.reachable(later);
        let (mut seen, mut shared, mut pending) = (HashSet::new(), Vec::new(), now.to_vec());
        while let Some(expr) = pending.pop() {
            if !seen.insert(expr.address()) {
                continue;
            }
            let is_shared = read_later.contains(&expr.address()) && expr.data_type() != DataType::List;
            if is_shared && is_worth_a_value(&expr) && !matches!(&*expr.state(), State::LoopResult(..)) {
                shared.push(expr);
            } else {
                pending.extend(self.pending_operands(&expr));
            }
        }
        shared
    }

    /// The addresses of all expressions on the way to these.
    fn reachable(&self, roots: &[Expr]) -> HashSet<usize> {
        let (mut seen, mut pending) = (HashSet::new(), roots.to_vec());
        while let Some(expr) = pending.pop() {
            if seen.insert(expr.address()) {
                pending.extend(self.pending_operands(&expr));
            }
        }
        seen
    }

    /// Keeps all results of a loop that somebody holds, so that it does not run again for another of them.
    fn note_held(&mut self, of: &WhileLoop) {
        for result in of.held_results().filter(|result| !result.is_symbolic()) {
            self.note_kept(&result);
        }
    }

    /// Keeps the value of an expression; not of one within a loop, which may not run.
    fn note_kept(&mut self, expr: &Expr) {
        if self.depth == 0 && !self.program.kept.iter().any(|known| known.is_same(expr)) {
            self.program.kept.push(expr.clone());
        }
    }
}

/// The address of a symbol's name: symbols of loops have names of their own, whatever these say.
fn address(name: &Arc<str>) -> usize {
    Arc::as_ptr(name).addr()
}

/// Makes one DAG.
struct DagBuilder<'l> {
    lowering: &'l mut Lowering,
    dag: HopDag,
    /// The operators of nodes, by address.
    hops: HashMap<usize, HopId>,
    reads: HashMap<String, HopId>,
    literals: Vec<(Value, HopId)>,
}

impl<'l> DagBuilder<'l> {
    fn new(lowering: &'l mut Lowering) -> Self {
        let (hops, reads, literals) = (HashMap::new(), HashMap::new(), Vec::new());
        DagBuilder { lowering, dag: HopDag::new(), hops, reads, literals }
    }

    /// The operator of an expression, after those of its operands.
    fn build(&mut self, root: &Expr) -> Result<HopId, Error> {
        let mut pending = vec![root.clone()];
        while let Some(expr) = pending.last() {
            if self.hops.contains_key(&expr.address()) {
                pending.pop();
                continue;
            }
            if let Some(variable) = self.lowering.known.values.get(&expr.address()) {
                let (variable, data_type) = (variable.clone(), expr.data_type());
                let (address, hop) = (expr.address(), self.read(variable, data_type));
                self.hops.insert(address, hop);
                continue;
            }
            let state = expr.state().clone();
            let hop = match state {
                State::Failed(error) => return Err(Error::Expression(error)),
                State::Value(value) => self.read_value(value),
                State::Symbol(name) => self.read_symbol(name, expr.data_type()),
                State::LoopResult(of, position) => {
                    let variable = self.lowering.known.results[&Arc::as_ptr(&of).addr()][position].clone();
                    self.read(variable, expr.data_type())
                }
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
        operands.iter().filter(is_pending).for_each(|operand| self.lowering.note_kept(operand));
    }

    fn literal(&mut self, value: Value) -> HopId {
        if let Some((_, hop)) = self.literals.iter().find(|(known, _)| known.same_bits(&value)) {
            return *hop;
        }
        let hop = self.dag.literal(value.clone());
        self.literals.push((value, hop));
        hop
    }

    /// The read of a value. Matrices of the same memory are one, however often the host has handed them over.
    fn read_value(&mut self, value: RuntimeValue) -> HopId {
        let data_type = value.data_type();
        let Lowering { program, matrices, .. } = &mut *self.lowering;
        if let RuntimeValue::Matrix(block) = &value
            && let Some((_, name)) = matrices.iter().find(|(known, _)| known.reads_same(block))
        {
            let name = name.clone();
            return self.read(name, data_type);
        }
        let name = format!("in{}", program.captured.len());
        if let RuntimeValue::Matrix(block) = &value {
            matrices.push((block.clone(), name.clone()));
        }
        program.captured.insert(name.clone(), value);
        self.read(name, data_type)
    }

    fn read_symbol(&mut self, name: Arc<str>, data_type: DataType) -> HopId {
        let Lowering { program, states, .. } = &mut *self.lowering;
        let known = program.symbols.iter().find(|symbol| symbol.name == name).map(|symbol| &symbol.variable);
        let variable = match states.get(&address(&name)).or(known) {
            Some(variable) => variable.clone(),
            None => {
                let variable = format!("symbol{}", program.symbols.len());
                program.symbols.push(Symbol { name, data_type, variable: variable.clone() });
                variable
            }
        };
        self.read(variable, data_type)
    }

    /// The read of a variable, one for each.
    fn read(&mut self, variable: String, data_type: DataType) -> HopId {
        if let Some(&hop) = self.reads.get(&variable) {
            return hop;
        }
        let hop = self.push(HopOp::Read(variable.clone()), Inputs::new(), data_type);
        self.reads.insert(variable, hop);
        hop
    }

    fn push(&mut self, op: HopOp, inputs: Inputs, data_type: DataType) -> HopId {
        self.dag.push(Hop { op, inputs, data_type, size: SizeInfo::UNKNOWN, span: None })
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
