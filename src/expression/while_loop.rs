//! Loops within expressions: a body is written down once, over symbols for the values that change, and runs as often as a
//! condition on them holds.

use super::compiled::is_worth_a_value;
use super::expr::{Expr, Operands, State, WeakExpr};
use super::failure::Place;
use foldhash::{HashMap, HashMapExt, HashSet, HashSetExt};
use fuseline_ir::hop::infer::ShapeError;
use fuseline_ir::hop::{CastOp, HopOp};
use fuseline_ir::ops::AggOp;
use fuseline_ir::{DataType, SizeInfo};
use std::convert::Infallible;
use std::panic::Location;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// A loop that is yet to be run.
#[derive(Debug)]
pub(super) struct WhileLoop {
    /// The symbols of the values that change, which condition and body are built on.
    pub(super) states: Vec<Arc<str>>,
    /// What the loop is computed from: the values that it starts with, and what its condition and body read that is the same
    /// in every iteration.
    operands: Vec<Expr>,
    /// A scalar.
    pub(super) condition: Expr,
    /// The values that an iteration leaves.
    pub(super) body: Vec<Expr>,
    /// Whether something in the loop may fail.
    may_fail: bool,
    results: OnceLock<Vec<WeakExpr>>,
}

/// What one iteration does: the condition under which there is one, and the values that it leaves. As in the example of
/// [`Expr::while_loop`].
pub type Iteration = (Expr, Vec<Expr>);

impl Expr {
    /// The values that a loop ends with, which starts with `initial`. `iteration` gets symbols for the values that change, and
    /// gives the condition that is checked before each iteration, and the values that it leaves. It may be asked several
    /// times, with less known of the sizes of symbols.
    ///
    /// Scalars stay scalars and matrices matrices; the sizes of matrices may change. What is the same in every iteration,
    /// such as a product, is computed once.
    ///
    /// ```
    /// use fuseline::ir::ops::BinaryOp;
    /// use fuseline::ir::Value;
    /// use fuseline::{Expr, Session};
    ///
    /// let number = |number| Expr::value(Value::F64(number));
    /// // The first power of two above a thousand.
    /// let power = Expr::while_loop(&[number(1.0)], |state| {
    ///     let below = Expr::apply(BinaryOp::LessEqual, &[&state[0], &number(1000.0)]);
    ///     (below, vec![Expr::apply(BinaryOp::Mult, &[&state[0], &number(2.0)])])
    /// });
    /// let values = Session::builder().build()?.eval(power)?;
    /// assert_eq!(values[0].as_f64(), Some(1024.0));
    /// # Ok::<(), fuseline::Error>(())
    /// ```
    #[track_caller]
    pub fn while_loop(initial: &[Expr], mut iteration: impl FnMut(&[Expr]) -> Iteration) -> Vec<Expr> {
        let place = Place::Rust(Location::caller());
        let written = Expr::while_loop_at::<Infallible>(initial, &mut |states| Ok(iteration(states)), &place);
        written.unwrap_or_else(|never| match never {})
    }

    /// A loop as written at a place, whose iteration may fail to be written.
    ///
    /// ```
    /// use fuseline::{Expr, Value};
    ///
    /// let start = Expr::value(Value::F64(1.0));
    /// let place = start.place().clone();
    /// let written = Expr::while_loop_at(&[start], &mut |_| Err("no iteration"), &place);
    /// assert_eq!(written.unwrap_err(), "no iteration");
    /// ```
    ///
    /// # Errors
    /// The errors of `iteration`.
    pub fn while_loop_at<E>(
        initial: &[Expr],
        iteration: &mut dyn FnMut(&[Expr]) -> Result<Iteration, E>,
        place: &Place,
    ) -> Result<Vec<Expr>, E> {
        let initial: Vec<Expr> = initial.iter().map(|expr| as_double(expr, place)).collect();
        let mut sizes: Vec<SizeInfo> = initial.iter().map(|expr| expr.size().without_nnz()).collect();
        loop {
            let symbols: Vec<Expr> =
                initial.iter().zip(&sizes).map(|(expr, &size)| state_symbol(expr, size, place)).collect();
            let (condition, body) = iteration(&symbols)?;
            let body: Vec<Expr> = body.iter().map(|expr| as_double(expr, place)).collect();
            let common: Vec<SizeInfo> =
                sizes.iter().zip(&body).map(|(&size, expr)| common_size(size, expr.size())).collect();
            let is_wrong = body.len() != symbols.len() || body.iter().any(|expr| expr.failure().is_some());
            let is_settled = is_wrong || common == sizes;
            sizes = common;
            if is_settled {
                return Ok(results(initial, &symbols, &condition, body, place));
            }
        }
    }
}

/// A symbol for a value that changes.
fn state_symbol(initial: &Expr, size: SizeInfo, place: &Place) -> Expr {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let name = format!("state{}", COUNT.fetch_add(1, Ordering::Relaxed));
    let data_type = if initial.data_type().is_matrix() { DataType::MATRIX } else { initial.data_type() };
    Expr::symbol_at(&name, data_type, size, place.clone())
}

/// Numbers are doubles in loops, whatever they start as.
fn as_double(expr: &Expr, place: &Place) -> Expr {
    match expr.data_type() {
        DataType::Scalar(_) if expr.data_type() != DataType::F64 => {
            Expr::apply_at(HopOp::Cast(CastOp::AsDouble), &[expr], place.clone())
        }
        _ => expr.clone(),
    }
}

/// What holds of both sizes.
fn common_size(one: SizeInfo, other: SizeInfo) -> SizeInfo {
    let rows = one.rows.filter(|_| one.rows == other.rows);
    let cols = one.cols.filter(|_| one.cols == other.cols);
    SizeInfo { rows, cols, nnz: None }
}

/// The results of a loop, all of which failed where a part of it did.
fn results(initial: Vec<Expr>, symbols: &[Expr], condition: &Expr, body: Vec<Expr>, place: &Place) -> Vec<Expr> {
    let condition = match condition.data_type() {
        DataType::Matrix(_) => Expr::apply_at(HopOp::Cast(CastOp::AsScalar), &[condition], place.clone()),
        _ => condition.clone(),
    };
    let failed = initial.iter().chain([&condition]).chain(&body).find_map(Expr::failure);
    if let Some(failure) = failed.or_else(|| mismatch(symbols, &body, place)) {
        return symbols.iter().map(|_| Expr::failed_before(Arc::clone(&failure), place.clone())).collect();
    }
    let states: Vec<Arc<str>> = symbols.iter().filter_map(Expr::symbol_name).collect();
    let roots: Vec<Expr> = [&condition].into_iter().chain(&body).cloned().collect();
    let facts = facts(&states, &roots);
    let may_fail = roots.iter().any(|root| facts[&root.address()].may_fail);
    let mut operands = initial;
    operands.extend(invariants(roots, &facts));
    let of = Arc::new(WhileLoop { states, operands, condition, body, may_fail, results: OnceLock::new() });
    let results: Vec<Expr> = symbols
        .iter()
        .enumerate()
        .map(|(position, symbol)| Expr::loop_result(&of, position, symbol, place.clone()))
        .collect();
    of.results.get_or_init(|| results.iter().map(Expr::downgrade).collect());
    results
}

/// What an iteration leaves in the place of a value of another type, or too many or too few of.
fn mismatch(symbols: &[Expr], body: &[Expr], place: &Place) -> Option<Arc<super::ExprError>> {
    const OPERATION: &str = "an iteration of a loop";
    let error = if symbols.len() == body.len() {
        let is_matrix = |expr: &Expr| expr.data_type().is_matrix();
        let unlike = |(symbol, expr): (&Expr, &Expr)| {
            is_matrix(symbol) != is_matrix(expr) || !is_matrix(symbol) && symbol.data_type() != expr.data_type()
        };
        let position = symbols.iter().zip(body).position(unlike)?;
        let expected = if symbols[position].data_type().is_scalar() { "a number" } else { "a matrix" };
        let actual = body[position].data_type();
        ShapeError::Type { operation: OPERATION.to_owned(), expected, position: position + 1, actual }
    } else {
        ShapeError::Arity { operation: OPERATION.to_owned(), expected: symbols.len(), actual: body.len() }
    };
    let operands: Vec<&Expr> = body.iter().collect();
    Expr::failed(error, &operands, place.clone()).failure()
}

/// What condition and body read that is the same in every iteration: symbols from outside, and the outermost products,
/// aggregates and loops that depend on no value that changes. What works cell by cell is fused with what reads it. What is
/// computed before a loop may be for nothing, so that it must not fail.
fn invariants(roots: Vec<Expr>, facts: &HashMap<usize, Facts>) -> Vec<Expr> {
    let (mut seen, mut found, mut pending) = (HashSet::new(), Vec::new(), roots);
    while let Some(expr) = pending.pop() {
        if !seen.insert(expr.address()) {
            continue;
        }
        let Facts { changes, may_fail } = facts[&expr.address()];
        if !changes && (expr.symbol_name().is_some() || is_worth_a_value(&expr) && !may_fail) {
            found.push(expr);
        } else {
            pending.extend(expr.operands());
        }
    }
    found
}

/// What is known of an expression within a loop.
#[derive(Clone, Copy, Debug)]
struct Facts {
    /// Whether it depends on a symbol of the loop.
    changes: bool,
    /// Whether computing it may fail, whatever the shapes.
    may_fail: bool,
}

/// The facts of each expression on the way to these, by address.
fn facts(states: &[Arc<str>], roots: &[Expr]) -> HashMap<usize, Facts> {
    let mut facts: HashMap<usize, Facts> = HashMap::new();
    let mut pending = roots.to_vec();
    while let Some(expr) = pending.last().cloned() {
        if facts.contains_key(&expr.address()) {
            pending.pop();
            continue;
        }
        let operands = expr.operands();
        let missing: Operands =
            operands.iter().filter(|operand| !facts.contains_key(&operand.address())).cloned().collect();
        if missing.is_empty() {
            let is_state = expr.symbol_name().is_some_and(|name| states.iter().any(|state| Arc::ptr_eq(state, &name)));
            let of_operands = operands.iter().map(|operand| facts[&operand.address()]);
            let own = Facts { changes: is_state, may_fail: may_fail(&expr) };
            let all = of_operands.fold(own, |one, other| Facts {
                changes: one.changes || other.changes,
                may_fail: one.may_fail || other.may_fail,
            });
            facts.insert(expr.address(), all);
            pending.pop();
        } else {
            pending.extend(missing);
        }
    }
    facts
}

/// Whether an operation may fail by itself, whatever the shapes: solvers, decompositions and other functions, and the least or
/// largest of no cells.
fn may_fail(expr: &Expr) -> bool {
    match &*expr.state() {
        State::Operation(op, _) => {
            matches!(op, HopOp::Item(_) | HopOp::Parameterized { .. } | HopOp::AggUnary(AggOp::Min | AggOp::Max, _))
        }
        State::LoopResult(of, _) => of.may_fail,
        State::Value(_) | State::Symbol(_) | State::Failed(_) => false,
    }
}

impl WhileLoop {
    /// What the loop is computed from.
    pub(super) fn operands(&self) -> &[Expr] {
        &self.operands
    }

    /// The values that the loop starts with.
    pub(super) fn initial(&self) -> &[Expr] {
        &self.operands[..self.states.len()]
    }

    /// What is computed once, before the loop.
    pub(super) fn invariants(&self) -> &[Expr] {
        &self.operands[self.states.len()..]
    }

    /// The results that somebody holds.
    pub(super) fn held_results(&self) -> impl Iterator<Item = Expr> {
        self.results.get().into_iter().flatten().filter_map(WeakExpr::upgrade)
    }

    /// All expressions that the loop holds.
    pub(super) fn exprs(&self) -> impl Iterator<Item = &Expr> {
        self.operands.iter().chain([&self.condition]).chain(&self.body)
    }

    /// [`WhileLoop::exprs`], where nobody else holds the loop.
    pub(super) fn into_exprs(self) -> Operands {
        let WhileLoop { operands, condition, body, .. } = self;
        operands.into_iter().chain([condition]).chain(body).collect()
    }
}
