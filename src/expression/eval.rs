//! Evaluation: what is wanted together is one program.

use super::expr::Expr;
use super::matrix::Matrix;
use super::program::{ExprProgram, output_name};
use super::programs::KeptProgram;
use super::scalar::Scalar;
use crate::error::Error;
use crate::session::{Outcome, Session};
use fuseline_ir::DataType;
use fuseline_matrix::MatrixBlock;
use fuseline_runtime::{Observer, RuntimeValue, Statistics, Variables};

/// Expressions that are computed together, and the types of their values: a [`Matrix`] gives a [`MatrixBlock`], a
/// [`Scalar`] a number, an [`Expr`] a [`RuntimeValue`]; tuples, arrays, slices and vectors of these give the same of
/// values.
pub trait Outputs {
    /// The values.
    type Values;

    /// Appends the expressions. Called by [`Session::eval`], as in its example.
    fn append_to(&self, exprs: &mut Vec<Expr>);

    /// Takes as many values as it has appended expressions. `None` where they are of other types. Called by
    /// [`Session::eval`], as in its example.
    fn take(&self, values: &mut dyn Iterator<Item = RuntimeValue>) -> Option<Self::Values>;
}

impl Outputs for Expr {
    type Values = RuntimeValue;
    fn append_to(&self, exprs: &mut Vec<Expr>) {
        exprs.push(self.clone());
    }
    fn take(&self, values: &mut dyn Iterator<Item = RuntimeValue>) -> Option<RuntimeValue> {
        values.next()
    }
}

impl Outputs for Matrix {
    type Values = MatrixBlock;
    fn append_to(&self, exprs: &mut Vec<Expr>) {
        exprs.push(self.as_expr().clone());
    }
    fn take(&self, values: &mut dyn Iterator<Item = RuntimeValue>) -> Option<MatrixBlock> {
        match values.next()? {
            RuntimeValue::Matrix(block) => Some(block),
            _ => None,
        }
    }
}

impl Outputs for Scalar {
    type Values = f64;
    fn append_to(&self, exprs: &mut Vec<Expr>) {
        exprs.push(self.as_expr().clone());
    }
    fn take(&self, values: &mut dyn Iterator<Item = RuntimeValue>) -> Option<f64> {
        values.next()?.as_f64()
    }
}

impl<O: Outputs> Outputs for &O {
    type Values = O::Values;
    fn append_to(&self, exprs: &mut Vec<Expr>) {
        (**self).append_to(exprs);
    }
    fn take(&self, values: &mut dyn Iterator<Item = RuntimeValue>) -> Option<O::Values> {
        (**self).take(values)
    }
}

impl<O: Outputs> Outputs for [O] {
    type Values = Vec<O::Values>;
    fn append_to(&self, exprs: &mut Vec<Expr>) {
        self.iter().for_each(|output| output.append_to(exprs));
    }
    fn take(&self, values: &mut dyn Iterator<Item = RuntimeValue>) -> Option<Vec<O::Values>> {
        self.iter().map(|output| output.take(values)).collect()
    }
}

impl<O: Outputs> Outputs for &[O] {
    type Values = Vec<O::Values>;
    fn append_to(&self, exprs: &mut Vec<Expr>) {
        (**self).append_to(exprs);
    }
    fn take(&self, values: &mut dyn Iterator<Item = RuntimeValue>) -> Option<Vec<O::Values>> {
        (**self).take(values)
    }
}

impl<O: Outputs> Outputs for Vec<O> {
    type Values = Vec<O::Values>;
    fn append_to(&self, exprs: &mut Vec<Expr>) {
        self.as_slice().append_to(exprs);
    }
    fn take(&self, values: &mut dyn Iterator<Item = RuntimeValue>) -> Option<Vec<O::Values>> {
        self.as_slice().take(values)
    }
}

impl<O: Outputs, const N: usize> Outputs for [O; N] {
    type Values = [O::Values; N];
    fn append_to(&self, exprs: &mut Vec<Expr>) {
        self.as_slice().append_to(exprs);
    }
    fn take(&self, values: &mut dyn Iterator<Item = RuntimeValue>) -> Option<[O::Values; N]> {
        self.as_slice().take(values)?.try_into().ok()
    }
}

macro_rules! tuples {
    ($(($($name:ident . $position:tt),+);)*) => {$(
        impl<$($name: Outputs),+> Outputs for ($($name,)+) {
            type Values = ($($name::Values,)+);
            fn append_to(&self, exprs: &mut Vec<Expr>) {
                $(self.$position.append_to(exprs);)+
            }
            fn take(&self, values: &mut dyn Iterator<Item = RuntimeValue>) -> Option<Self::Values> {
                Some(($(self.$position.take(values)?,)+))
            }
        }
    )*};
}

tuples! {
    (A.0);
    (A.0, B.1);
    (A.0, B.1, C.2);
    (A.0, B.1, C.2, D.3);
    (A.0, B.1, C.2, D.3, E.4);
    (A.0, B.1, C.2, D.3, E.4, F.5);
    (A.0, B.1, C.2, D.3, E.4, F.5, G.6);
    (A.0, B.1, C.2, D.3, E.4, F.5, G.6, H.7);
}

/// Operations one on top of the other from which on a graph is likely that of a loop of the host language. What a person
/// writes as one expression is shorter.
const LONG: u32 = 256;

impl Session {
    /// The values of expressions, computed together so that they share work. An expression keeps its value: what is
    /// built on it later starts there.
    ///
    /// ```
    /// use fuseline::{Matrix, Session, ndarray::array};
    ///
    /// let session = Session::builder().build()?;
    /// let x = Matrix::from(array![[1.0, -2.0], [3.0, 4.0]]);
    /// let (total, positive) = session.eval((x.sum(), x.gt(0.0)))?;
    /// assert_eq!(total, 6.0);
    /// assert_eq!(positive.get(0, 1), 0.0);
    /// # Ok::<(), fuseline::Error>(())
    /// ```
    ///
    /// # Errors
    /// Operands that do not fit, with the places where they were written; a symbol without a value; an operator that
    /// fails.
    pub fn eval<O: Outputs>(&self, outputs: O) -> Result<O::Values, Error> {
        self.eval_with_statistics(outputs).map(|(values, _)| values)
    }

    /// The values of expressions, and what the run did.
    ///
    /// ```
    /// use fuseline::{Matrix, Session};
    ///
    /// let x = Matrix::full(1000, 100, 0.5);
    /// let (total, statistics) = Session::builder().build()?.eval_with_statistics((&x * &x + 1.0).sum())?;
    /// assert_eq!((total, statistics.dags_optimized), (125_000.0, 1));
    /// # Ok::<(), fuseline::Error>(())
    /// ```
    ///
    /// # Errors
    /// What makes [`Session::eval`] fail.
    pub fn eval_with_statistics<O: Outputs>(&self, outputs: O) -> Result<(O::Values, Statistics), Error> {
        let mut exprs = Vec::new();
        outputs.append_to(&mut exprs);
        let statistics = self.compute(&exprs)?;
        let values = exprs.iter().filter_map(Expr::known_value).collect();
        Ok((taken(&outputs, values)?, statistics))
    }

    /// Computes expressions, each of which keeps its value.
    ///
    /// ```
    /// use fuseline::{Matrix, Session};
    ///
    /// let sum = Matrix::full(2, 2, 0.5).sum();
    /// Session::builder().build()?.compute(&[sum.as_expr().clone()])?;
    /// assert_eq!(sum.as_expr().known_value().and_then(|value| value.as_f64()), Some(2.0));
    /// # Ok::<(), fuseline::Error>(())
    /// ```
    ///
    /// # Errors
    /// What makes [`Session::eval`] fail.
    pub fn compute(&self, exprs: &[Expr]) -> Result<Statistics, Error> {
        self.compute_with(exprs, None)
    }

    /// Computes expressions as [`Session::compute`] does; `observer` gets every stage of what is compiled for them.
    ///
    /// ```
    /// use fuseline::{Matrix, Session};
    ///
    /// let sum = Matrix::full(2, 2, 0.5).sum();
    /// let mut stages = 0;
    /// Session::builder().build()?.compute_observed(&[sum.as_expr().clone()], &mut |_| stages += 1)?;
    /// assert!(stages > 0);
    /// # Ok::<(), fuseline::Error>(())
    /// ```
    ///
    /// # Errors
    /// What makes [`Session::eval`] fail.
    pub fn compute_observed(&self, exprs: &[Expr], observer: &mut Observer<'_>) -> Result<Statistics, Error> {
        self.compute_with(exprs, Some(observer))
    }

    fn compute_with(&self, exprs: &[Expr], observer: Option<&mut Observer<'_>>) -> Result<Statistics, Error> {
        for expr in exprs.iter().filter(|expr| expr.depth() > LONG) {
            self.shorten(expr)?;
        }
        self.compute_together(exprs, observer)
    }

    /// Computes expressions as one program.
    pub(super) fn compute_together(
        &self,
        exprs: &[Expr],
        observer: Option<&mut Observer<'_>>,
    ) -> Result<Statistics, Error> {
        let mut pending: Vec<Expr> = Vec::new();
        for expr in exprs {
            if expr.known_value().is_none() && !pending.iter().any(|known| known.is_same(expr)) {
                pending.push(expr.clone());
            }
        }
        if pending.is_empty() {
            return Ok(Statistics::default());
        }
        let program = ExprProgram::keeping(&mut pending)?;
        if let Some(symbol) = program.symbols.first() {
            return Err(Error::UnboundInput(symbol.name.to_string()));
        }
        let kept = self.kept_program(&program)?;
        let (values, statistics) = self.run_kept(&kept, program.captured, pending.len(), observer)?;
        for (expr, value) in pending.iter().zip(values) {
            expr.resolve(value);
        }
        Ok(statistics)
    }

    /// The results of a program of expressions, and what the run did.
    pub(super) fn run_kept(
        &self,
        kept: &KeptProgram,
        inputs: Variables,
        outputs: usize,
        observer: Option<&mut Observer<'_>>,
    ) -> Result<(Vec<RuntimeValue>, Statistics), Error> {
        let mut outcome = kept.with_compiled(|script, compiled| {
            self.run_compiled(script, compiled, inputs, &mut std::io::sink(), observer)
        })?;
        let results: Variables =
            (0..outputs).filter_map(|position| outcome.variables.remove_entry(&output_name(position))).collect();
        outcome.variables = results;
        let Outcome { mut variables, statistics } = self.finished(outcome)?;
        let values = (0..outputs).filter_map(|position| variables.remove(&output_name(position)));
        Ok((values.collect(), statistics))
    }
}

/// The values as those of what was wanted.
///
/// # Errors
/// One is of another type than its expression said.
pub(super) fn taken<O: Outputs>(outputs: &O, values: Vec<RuntimeValue>) -> Result<O::Values, Error> {
    let actual = values.first().map_or(DataType::Unknown, RuntimeValue::data_type);
    let unlike =
        || Error::OutputType { name: "the result".to_owned(), expected: "of the type of its expression", actual };
    outputs.take(&mut values.into_iter()).ok_or_else(unlike)
}
