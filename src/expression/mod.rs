//! Expressions: matrices and scalars that are written down first and computed together, fused and compiled like scripts.
//!
//! [`Matrix`] and [`Scalar`] build a graph; nothing is computed before [`Session::eval`](crate::Session::eval), which
//! takes all that is wanted at once, so that its operators share passes over the data. Shapes are checked while an
//! expression is built. Building never fails: what does not fit is kept in the expression, with the places where it and
//! its operands were written, and `eval` returns it.
//!
//! ```
//! use fuseline::{Axis, Matrix, Session, ndarray::array};
//!
//! let session = Session::builder().threads(2).build()?;
//! let x = Matrix::from(array![[1.0, 2.0], [3.0, 4.0]]);
//! let centred = &x - x.mean_over(Axis::Rows);
//! let (norm, gram) = session.eval((centred.square().sum().sqrt(), centred.t().dot(&centred)))?;
//! assert_eq!(norm, 2.0);
//! assert_eq!(gram.get(0, 1), 2.0);
//! # Ok::<(), fuseline::Error>(())
//! ```

mod compiled;
mod eval;
mod explain;
mod expr;
mod failure;
mod lower;
mod matrix;
mod operand;
mod operators;
mod program;
mod programs;
mod scalar;
mod shorten;
mod while_loop;

pub use compiled::{Compiled, CompiledExprs};
pub use eval::Outputs;
pub use expr::Expr;
pub use failure::{ExprError, Place};
pub use matrix::{Axis, Matrix, cbind, rbind};
pub use operand::{Operand, OperandOf};
pub(crate) use programs::ExprPrograms;
pub use scalar::{Scalar, where_};
pub use while_loop::Iteration;
