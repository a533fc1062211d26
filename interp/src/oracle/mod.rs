//! The oracle: evaluates HOP DAGs in plain loops over dense cells, without vector primitives, kernels or plans, and
//! says for every cell how far a legal result may lie from its value. What any plan, format or number of threads
//! computes must be accepted by it: cells within their error radius, exact cells equal, tainted cells (about which
//! legal plans may disagree) whatever they hold.

mod aggregate;
mod cell;
mod chain;
mod double_double;
mod evaluate;
mod functions;
mod image;
mod numeric;
mod reorganise;
mod rules;
mod taint;
mod value;

pub use cell::OracleCell;
pub use evaluate::{OracleError, OracleValues, evaluate};
pub use value::{Mismatch, OracleMatrix, OracleValue};
