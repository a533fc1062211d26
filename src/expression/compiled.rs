//! Expressions that are compiled once and run many times.

use super::eval::{Outputs, taken};
use super::expr::{Expr, State};
use super::program::{ExprProgram, Symbol};
use super::programs::KeptProgram;
use crate::error::Error;
use crate::prepared::as_declared;
use crate::session::Session;
use foldhash::{HashSet, HashSetExt};
use fuseline_ir::DataType;
use fuseline_ir::hop::HopOp;
use fuseline_runtime::{RuntimeValue, Statistics, Variables};
use std::sync::Arc;

/// Expressions of any types over symbols, as one program of a session.
///
/// ```
/// use fuseline::{DataType, Dense, Matrix, Session, Variables};
///
/// let session = Session::builder().build()?;
/// let exprs = session.compile_exprs(&[Matrix::symbol("X").sum().into(), Matrix::symbol("X").t().into()])?;
/// assert_eq!(exprs.symbols().collect::<Vec<_>>(), [("X", DataType::MATRIX)]);
/// let inputs = Variables::from([("X".to_owned(), Dense::from_vec(1, 2, vec![1.0, 2.0]).into())]);
/// let (values, _) = session.run_exprs(&exprs, inputs)?;
/// assert_eq!(values[0].as_f64(), Some(3.0));
/// assert_eq!(values[1].size().known_dims(), Some((2, 1)));
/// # Ok::<(), fuseline::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct CompiledExprs {
    kept: Arc<KeptProgram>,
    symbols: Vec<Symbol>,
    captured: Variables,
    outputs: usize,
}

impl CompiledExprs {
    /// The symbols whose values a run needs, and their types. As in the example of [`CompiledExprs`].
    pub fn symbols(&self) -> impl Iterator<Item = (&str, DataType)> {
        self.symbols.iter().map(|symbol| (&*symbol.name, symbol.data_type))
    }

    /// The values that every run reads beside those of symbols.
    ///
    /// ```
    /// use fuseline::{Expr, Matrix, Session, ndarray::array};
    ///
    /// let sum = Expr::from(Matrix::symbol("X") + Matrix::from(array![[1.0, 2.0]]));
    /// let compiled = Session::builder().build()?.compile_exprs(&[sum])?;
    /// assert_eq!(compiled.values_read().count(), 1);
    /// # Ok::<(), fuseline::Error>(())
    /// ```
    pub fn values_read(&self) -> impl Iterator<Item = &RuntimeValue> {
        self.captured.values()
    }
}

/// Expressions over symbols, with the values that their next run takes.
///
/// ```
/// use fuseline::{Matrix, Session, ndarray::array};
///
/// let session = Session::builder().build()?;
/// let (x, w) = (Matrix::symbol("X"), Matrix::symbol("w"));
/// let mut scores = session.compile((x.dot(&w), x.dot(&w).sum()))?;
/// scores.bind("w", array![[1.0], [2.0]])?;
/// for batch in [array![[1.0, 1.0]], array![[3.0, 0.0]]] {
///     let (scores, total) = scores.bind("X", batch)?.run()?;
///     assert_eq!(scores.get(0, 0), 3.0);
///     assert_eq!(total, 3.0);
/// }
/// # Ok::<(), fuseline::Error>(())
/// ```
#[derive(Debug)]
pub struct Compiled<'s, O> {
    session: &'s Session,
    outputs: O,
    exprs: CompiledExprs,
    bound: Variables,
    statistics: Statistics,
}

impl Session {
    /// Prepares expressions over symbols to run many times. A run compiles only when it meets other sizes, and generates
    /// code only where an operator is new. As in the example of [`Compiled`].
    ///
    /// # Errors
    /// Operands that do not fit, with the places where they were written.
    pub fn compile<O: Outputs>(&self, outputs: O) -> Result<Compiled<'_, O>, Error> {
        let mut exprs = Vec::new();
        outputs.append_to(&mut exprs);
        let exprs = self.compile_exprs(&exprs)?;
        Ok(Compiled { session: self, outputs, exprs, bound: Variables::new(), statistics: Statistics::default() })
    }

    /// Prepares expressions of any types for [`Session::run_exprs`]. Products, aggregates and functions that depend on no
    /// symbol are computed here, once. As in the example of [`CompiledExprs`].
    ///
    /// # Errors
    /// Operands that do not fit, or an operator that fails.
    pub fn compile_exprs(&self, exprs: &[Expr]) -> Result<CompiledExprs, Error> {
        self.compute(&constants(exprs))?;
        let program = ExprProgram::of(exprs)?;
        let kept = self.kept_program(&program)?;
        let ExprProgram { captured, symbols, .. } = program;
        Ok(CompiledExprs { kept, symbols, captured, outputs: exprs.len() })
    }

    /// Runs expressions on the values of their symbols. The example of [`CompiledExprs`] shows it.
    ///
    /// # Errors
    /// A symbol without a value or with one of another type, or an operator that fails.
    pub fn run_exprs(
        &self,
        exprs: &CompiledExprs,
        mut inputs: Variables,
    ) -> Result<(Vec<RuntimeValue>, Statistics), Error> {
        self.run_on(exprs, |name| inputs.remove(name))
    }

    fn run_on(
        &self,
        exprs: &CompiledExprs,
        mut value_of: impl FnMut(&str) -> Option<RuntimeValue>,
    ) -> Result<(Vec<RuntimeValue>, Statistics), Error> {
        let mut variables = exprs.captured.clone();
        for Symbol { name, data_type: expected, variable } in &exprs.symbols {
            let value = value_of(name).ok_or_else(|| Error::UnboundInput(name.to_string()))?;
            variables.insert(variable.clone(), as_declared(name, value, *expected)?);
        }
        self.run_kept(&exprs.kept, variables, exprs.outputs, None)
    }
}

/// The outermost operations on the way to expressions that depend on no symbol and are worth a value of their own. What works
/// cell by cell is not: it is fused with what reads it.
fn constants(exprs: &[Expr]) -> Vec<Expr> {
    let (mut seen, mut found, mut pending) = (HashSet::new(), Vec::new(), exprs.to_vec());
    while let Some(expr) = pending.pop() {
        if !seen.insert(expr.address()) {
            continue;
        }
        if is_worth_a_value(&expr) && !expr.is_symbolic() && expr.data_type() != DataType::List {
            found.push(expr);
        } else {
            pending.extend(expr.operands());
        }
    }
    found
}

/// Whether a value is computed apart from what reads it.
pub(super) fn is_worth_a_value(expr: &Expr) -> bool {
    match &*expr.state() {
        State::Operation(op, _) => matches!(
            op,
            HopOp::MatMul | HopOp::AggUnary(..) | HopOp::Cumulative(_) | HopOp::Item(_) | HopOp::Parameterized { .. }
        ),
        State::LoopResult(..) => true,
        State::Value(_) | State::Symbol(_) | State::Failed(_) => false,
    }
}

impl<O: Outputs> Compiled<'_, O> {
    /// Gives a symbol its value for the runs to come, until it is bound again. Matrices are shared, not copied.
    /// The example of [`Compiled`] shows it.
    ///
    /// # Errors
    /// The expressions have no such symbol, or the value is not of its type.
    pub fn bind(&mut self, name: &str, value: impl Into<RuntimeValue>) -> Result<&mut Self, Error> {
        let Some((_, expected)) = self.exprs.symbols().find(|(known, _)| *known == name) else {
            let known = self.exprs.symbols().map(|(known, _)| known.to_owned()).collect();
            return Err(Error::NoSuchInput { name: name.to_owned(), known });
        };
        let value = as_declared(name, value.into(), expected)?;
        self.bound.insert(name.to_owned(), value);
        Ok(self)
    }

    /// Runs the expressions on what is bound. As in the example of [`Compiled`].
    ///
    /// # Errors
    /// A symbol that was never bound, or an operator that fails.
    pub fn run(&mut self) -> Result<O::Values, Error> {
        let (values, statistics) = self.session.run_on(&self.exprs, |name| self.bound.get(name).cloned())?;
        self.statistics = statistics;
        taken(&self.outputs, values)
    }

    /// What the last run did.
    ///
    /// ```
    /// use fuseline::{Matrix, Session, ndarray::array};
    ///
    /// let session = Session::builder().build()?;
    /// let mut total = session.compile(Matrix::symbol("X").square().sum())?;
    /// total.bind("X", array![[1.0, 2.0]])?.run()?;
    /// total.run()?;
    /// assert_eq!(total.statistics().dags_optimized, 0, "the first run compiled it");
    /// # Ok::<(), fuseline::Error>(())
    /// ```
    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }
}
