//! Expressions built in Rust: the same operators as in scripts, fused and compiled the same way.
//!
//! ```
//! use fuseline::{Builder, CompileOptions, Dense, Session};
//!
//! let session = Session::new(CompileOptions::default())?;
//! let builder = Builder::new();
//! let x = builder.matrix(Dense::from_vec(2, 2, vec![1.0, 2.0, 3.0, 4.0]));
//! let y = x.multiply(&x)?.add(&builder.scalar(1.0))?.sum()?;
//! assert_eq!(session.evaluate(&[&y])?[0].as_f64(), Some(34.0));
//! # Ok::<(), fuseline::Error>(())
//! ```

use crate::error::Error;
use crate::session::Session;
use fuseline_ir::hop::{HopDag, HopId, HopOp, ReorgOp};
use fuseline_ir::ops::{AggOp, BinaryOp, Direction, UnaryOp};
use fuseline_ir::{SizeInfo, Value};
use fuseline_matrix::MatrixBlock;
use fuseline_runtime::{RuntimeValue, Variables};
use std::cell::RefCell;
use std::rc::Rc;

#[derive(Debug, Default)]
struct State {
    dag: HopDag,
    inputs: Variables,
}

/// Makes expressions and holds their inputs.
#[derive(Clone, Debug, Default)]
pub struct Builder {
    state: Rc<RefCell<State>>,
}

/// An expression: cheap to clone, checked as it is built.
#[derive(Clone, Debug)]
pub struct Expr {
    state: Rc<RefCell<State>>,
    hop: HopId,
}

impl Builder {
    /// A builder without any expression.
    pub fn new() -> Self {
        Self::default()
    }

    /// A matrix as an input.
    pub fn matrix(&self, matrix: impl Into<MatrixBlock>) -> Expr {
        let block = matrix.into();
        let mut state = self.state.borrow_mut();
        let name = format!("input{}", state.inputs.len());
        let hop = state.dag.read_matrix(&name, block.size());
        state.inputs.insert(name, RuntimeValue::Matrix(block));
        drop(state);
        Expr { state: Rc::clone(&self.state), hop }
    }

    /// A constant.
    pub fn scalar(&self, value: f64) -> Expr {
        let hop = self.state.borrow_mut().dag.literal(Value::F64(value));
        Expr { state: Rc::clone(&self.state), hop }
    }
}

impl Expr {
    /// Any operator on this expression and others.
    ///
    /// # Errors
    /// Shapes or types that do not fit, or an operand of another builder.
    pub fn apply(&self, op: impl Into<HopOp>, others: &[&Expr]) -> Result<Expr, Error> {
        if others.iter().any(|other| !Rc::ptr_eq(&self.state, &other.state)) {
            return Err(Error::DifferentBuilders);
        }
        let inputs: Vec<HopId> = std::iter::once(self.hop).chain(others.iter().map(|other| other.hop)).collect();
        let hop = self.state.borrow_mut().dag.add(op.into(), &inputs, None)?;
        Ok(Expr { state: Rc::clone(&self.state), hop })
    }

    /// The size; unknown for scalars.
    pub fn size(&self) -> SizeInfo {
        self.state.borrow().dag[self.hop].size
    }

    /// Element-wise sum. Errors as [`Expr::apply`].
    pub fn add(&self, other: &Expr) -> Result<Expr, Error> {
        self.apply(BinaryOp::Plus, &[other])
    }

    /// Element-wise difference. Errors as [`Expr::apply`].
    pub fn subtract(&self, other: &Expr) -> Result<Expr, Error> {
        self.apply(BinaryOp::Minus, &[other])
    }

    /// Element-wise product. Errors as [`Expr::apply`].
    pub fn multiply(&self, other: &Expr) -> Result<Expr, Error> {
        self.apply(BinaryOp::Mult, &[other])
    }

    /// Element-wise quotient. Errors as [`Expr::apply`].
    pub fn divide(&self, other: &Expr) -> Result<Expr, Error> {
        self.apply(BinaryOp::Div, &[other])
    }

    /// Element-wise operation of one operand. Errors as [`Expr::apply`].
    pub fn map(&self, op: UnaryOp) -> Result<Expr, Error> {
        self.apply(op, &[])
    }

    /// Matrix product. Errors as [`Expr::apply`].
    pub fn matmul(&self, other: &Expr) -> Result<Expr, Error> {
        self.apply(HopOp::MatMul, &[other])
    }

    /// Transpose. Errors as [`Expr::apply`].
    pub fn transpose(&self) -> Result<Expr, Error> {
        self.apply(HopOp::Reorg(ReorgOp::Transpose), &[])
    }

    /// Sum of all cells. Errors as [`Expr::apply`].
    pub fn sum(&self) -> Result<Expr, Error> {
        self.aggregate(AggOp::Sum, Direction::Full)
    }

    /// An aggregate. Errors as [`Expr::apply`].
    pub fn aggregate(&self, op: AggOp, direction: Direction) -> Result<Expr, Error> {
        self.apply((op, direction), &[])
    }
}

impl Session {
    /// The values of expressions of one builder, computed together so that they share work.
    ///
    /// # Errors
    /// Expressions of different builders, or an operator that fails.
    pub fn evaluate(&self, expressions: &[&Expr]) -> Result<Vec<RuntimeValue>, Error> {
        let Some(first) = expressions.first() else { return Ok(Vec::new()) };
        if expressions.iter().any(|other| !Rc::ptr_eq(&first.state, &other.state)) {
            return Err(Error::DifferentBuilders);
        }
        let state = first.state.borrow();
        let mut dag = state.dag.clone();
        for (index, expression) in expressions.iter().enumerate() {
            dag.write(&format!("output{index}"), expression.hop);
        }
        let mut outcome = self.run_dag(&dag, state.inputs.clone())?;
        let names = (0..expressions.len()).map(|index| format!("output{index}"));
        Ok(names.filter_map(|name| outcome.variables.remove(&name)).collect())
    }
}
