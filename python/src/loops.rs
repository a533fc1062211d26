//! Loops: those that the engine runs, `while_loop` and `fori_loop`, and those of Python over lazy arrays, of which what has
//! become too long is computed.

use crate::array::Array;
use crate::broadcast::as_scalar;
use crate::capture::{Kind, Operand};
use crate::dtype::{EXACT, Weak};
use crate::operation::{operand_of, shape_text};
use crate::tree::{Arguments, Tree};
use crate::{jit, place, session};
use fuseline::ir::Value;
use fuseline::ir::hop::{Function, HopOp};
use fuseline::ir::ops::{BinaryOp, UnaryOp};
use fuseline::{Expr, Iteration, Place};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use std::cell::RefCell;

/// Operations on the longest way to a value before the oldest are computed.
const MOST_PENDING: u32 = 1000;

/// The array, whose oldest operations are computed where many are pending.
pub(crate) fn bounded(py: Python<'_>, array: Array) -> PyResult<Array> {
    if array.expr.depth() >= MOST_PENDING && !jit::is_traced(&array.expr) {
        let evaluator = session::current(py)?;
        session::run(
            py,
            evaluator,
            || Expr::values_read(std::slice::from_ref(&array.expr)),
            |session| session.shorten(&array.expr),
        )?;
    }
    Ok(array)
}

/// `fuseline.while_loop`.
#[pyfunction]
pub(crate) fn while_loop<'py>(
    py: Python<'py>,
    condition: &Bound<'py, PyAny>,
    body: &Bound<'py, PyAny>,
    initial: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let place = place::here(py);
    repeated(py, initial, None, &place, &mut |_, value| {
        let holds = decision(&condition.call1((&value,))?, &place)?;
        Ok((holds, body.call1((value,))?))
    })
}

/// `fuseline.fori_loop`.
#[pyfunction]
pub(crate) fn fori_loop<'py>(
    py: Python<'py>,
    start: &Bound<'py, PyAny>,
    stop: &Bound<'py, PyAny>,
    body: &Bound<'py, PyAny>,
    initial: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let place = place::here(py);
    let (start, stop) = (counter(start, "start", &place)?, counter(stop, "stop", &place)?);
    let start = checked_start(&start, &stop, &place);
    repeated(py, initial, Some(start), &place, &mut |numbers, value| {
        let more = Expr::apply_at(BinaryOp::Less, &[&numbers[0], &stop], place.clone());
        let number = Bound::new(py, Array::with_kind(numbers[0].clone(), 0, Kind::Weak(Weak::Int)))?;
        Ok((more, body.call1((number, value))?))
    })
}

/// What an iteration does with the number that it has, if iterations have numbers, and the value that changes: the
/// condition under which there is one, and the value that it leaves.
type Step<'a, 'py> = dyn FnMut(&[Expr], Bound<'py, PyAny>) -> PyResult<(Expr, Bound<'py, PyAny>)> + 'a;

/// The value that a loop ends with, whose iterations have numbers from `start` on.
fn repeated<'py>(
    py: Python<'py>,
    initial: &Bound<'py, PyAny>,
    start: Option<Expr>,
    place: &Place,
    step: &mut Step<'_, 'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let mut carried = Carried::of(initial)?;
    let numbers = usize::from(start.is_some());
    let mut draws = false;
    // Written again until the types of arrays are those that iterations leave, too, and what draws is known to.
    loop {
        let before = (carried.kinds.clone(), draws);
        let own: Vec<Expr> = start.iter().cloned().chain(draws.then(|| Drawing::count(place))).collect();
        let initial: Vec<Expr> = own.iter().cloned().chain(carried.exprs()).collect();
        let iteration = &mut |states: &[Expr]| -> PyResult<Iteration> {
            let (own, states) = states.split_at(own.len());
            let drawing = Drawing::within(own.get(numbers));
            let (more, left) = step(&own[..numbers], carried.filled(py, states)?)?;
            let left = carried.left(&left)?;
            draws |= drawing.draws();
            let next = own[..numbers].iter().map(|number| plus_one(number, place));
            let count = own.get(numbers).map(|_| Drawing::count(place));
            Ok((more, next.chain(count).chain(left).collect()))
        };
        let results = Expr::while_loop_at(&initial, iteration, place)?;
        if (&carried.kinds, draws) == (&before.0, before.1) {
            if draws {
                Drawing::go_on(&results[numbers]);
            }
            return carried.filled(py, &results[own.len()..]);
        }
    }
}

fn plus_one(number: &Expr, place: &Place) -> Expr {
    let one = Expr::value_at(Value::I64(1), place.clone());
    Expr::apply_at(BinaryOp::Plus, &[number, &one], place.clone())
}

/// The seed of random numbers that were given none: 0, and in a loop how often it has drawn before, so that each
/// iteration draws other numbers.
pub(crate) fn next_seed(place: &Place) -> Expr {
    jit::observe_draw();
    let seed = Drawing::count(place);
    Drawing::go_on(&plus_one(&seed, place));
    seed
}

/// Does work that is part of no loop, also where an iteration is being written.
pub(crate) fn outside<T>(work: impl FnOnce() -> T) -> T {
    let loops = DRAWINGS.take();
    let result = work();
    DRAWINGS.set(loops);
    result
}

/// Whether an iteration of a loop is being written.
pub(crate) fn is_within_iteration() -> bool {
    DRAWINGS.with_borrow(|loops| !loops.is_empty())
}

thread_local! {
    /// The loops whose iterations are being written, the innermost last.
    static DRAWINGS: RefCell<Vec<Drawn>> = const { RefCell::new(Vec::new()) };
}

/// How often an iteration that is being written, and those before, have drawn random numbers so far. What is not known
/// yet is not counted: then the iteration is written again.
struct Drawn {
    count: Option<Expr>,
    draws: bool,
}

/// The innermost of the loops that are being written, for as long as it is.
struct Drawing;

impl Drawing {
    /// Begins an iteration, before which the loop has drawn so often.
    fn within(count: Option<&Expr>) -> Drawing {
        DRAWINGS.with_borrow_mut(|loops| loops.push(Drawn { count: count.cloned(), draws: false }));
        Drawing
    }

    /// Whether the iteration has drawn.
    fn draws(&self) -> bool {
        DRAWINGS.with_borrow(|loops| loops.last().is_some_and(|innermost| innermost.draws))
    }

    /// How often the innermost loop has drawn so far.
    fn count(place: &Place) -> Expr {
        let count = DRAWINGS.with_borrow(|loops| loops.last().and_then(|innermost| innermost.count.clone()));
        count.unwrap_or_else(|| Expr::value_at(Value::I64(0), place.clone()))
    }

    /// Notes that the innermost loop, and so those around it, have drawn so often.
    fn go_on(count: &Expr) {
        DRAWINGS.with_borrow_mut(|loops| {
            loops.iter_mut().for_each(|around| around.draws = true);
            if let Some(innermost) = loops.last_mut() {
                innermost.count = Some(count.clone());
            }
        });
    }
}

impl Drop for Drawing {
    fn drop(&mut self) {
        DRAWINGS.with_borrow_mut(Vec::pop);
    }
}

/// The arrays that change from iteration to iteration, and what they stand in.
struct Carried {
    structure: Tree,
    operands: Vec<Operand>,
    /// The types of the arrays, which those that iterations leave may widen.
    kinds: Vec<Kind>,
}

impl Carried {
    fn of(initial: &Bound<'_, PyAny>) -> PyResult<Carried> {
        let (structure, operands) = taken_apart(initial)?;
        if operands.is_empty() {
            return Err(PyTypeError::new_err("a loop changes arrays or numbers, and its initial value has none"));
        }
        let kinds = operands.iter().map(|operand| operand.kind).collect();
        Ok(Carried { structure, operands, kinds })
    }

    fn exprs(&self) -> Vec<Expr> {
        self.operands.iter().map(|operand| operand.expr.clone()).collect()
    }

    /// The value with these arrays in it.
    fn filled<'py>(&self, py: Python<'py>, exprs: &[Expr]) -> PyResult<Bound<'py, PyAny>> {
        let arrays = self.operands.iter().zip(&self.kinds).zip(exprs).map(|((operand, &kind), expr)| {
            let array = bounded(py, Array::with_kind(expr.clone(), operand.rank, kind))?;
            Ok(Bound::new(py, array)?.into_any())
        });
        self.structure.filled(py, &arrays.collect::<PyResult<Vec<_>>>()?)
    }

    /// The arrays of the value that an iteration leaves.
    fn left(&mut self, value: &Bound<'_, PyAny>) -> PyResult<Vec<Expr>> {
        let (structure, operands) = taken_apart(value)?;
        let Some(order) = self.structure.matched(value.py(), &structure)? else {
            return Err(PyTypeError::new_err(format!(
                "the body of a loop must leave a value like the one that it gets, with arrays at the same positions: it gets \
                 {} and leaves {}",
                self.structure.text(value.py())?,
                structure.text(value.py())?
            )));
        };
        let operands: Vec<Operand> = order.into_iter().map(|number| operands[number].clone()).collect();
        for (position, left) in operands.iter().enumerate() {
            let rank = self.operands[position].rank;
            if left.rank != rank {
                return Err(PyValueError::new_err(format!(
                    "the body of a loop leaves an array of {} dimensions in the place of one of {rank} (array {position})",
                    left.rank
                )));
            }
            if self.kinds[position] != left.kind {
                self.kinds[position] = Kind::Of(self.kinds[position].with(left.kind));
            }
        }
        Ok(operands.into_iter().map(|operand| operand.expr).collect())
    }
}

/// What a value is made of, and the arrays and numbers in it, truth values among them.
fn taken_apart(value: &Bound<'_, PyAny>) -> PyResult<(Tree, Vec<Operand>)> {
    let mut parts = Arguments { with_truth_values: true, ..Arguments::default() };
    let structure = parts.tree(value)?;
    Ok((structure, parts.operands))
}

/// What a condition gives, as a scalar.
fn decision(value: &Bound<'_, PyAny>, place: &Place) -> PyResult<Expr> {
    let operand = match operand_of(value) {
        Err(error) if error.is_instance_of::<PyTypeError>(value.py()) => {
            let class = value.get_type().name()?;
            return Err(PyTypeError::new_err(format!("the condition of a loop is a truth value, not {class}")));
        }
        operand => operand?,
    };
    if operand.expr.size().known_dims().is_some_and(|dims| operand.rank > 0 && dims != (1, 1)) {
        return Err(PyValueError::new_err(format!(
            "the condition of a loop is one truth value, not an array of shape {}: use .any() or .all()",
            shape_text(&operand.expr, operand.rank)
        )));
    }
    Ok(as_scalar(&operand.expr, place))
}

/// A number that a loop counts from or to.
fn counter(value: &Bound<'_, PyAny>, name: &str, place: &Place) -> PyResult<Expr> {
    let operand = operand_of(value)?;
    if operand.rank > 0 || operand.kind.dtype().is_float() {
        return Err(PyTypeError::new_err(format!("fori_loop: {name} must be an integer")));
    }
    let number = operand.expr.known_value().and_then(|value| value.as_f64());
    if number.is_some_and(|number| number.abs() >= EXACT as f64) {
        return Err(PyValueError::new_err(beyond_exact(name)));
    }
    Ok(as_scalar(&operand.expr, place))
}

/// The first number of a loop, and a failure where a bound that is computed lies beyond the numbers that can be counted.
fn checked_start(start: &Expr, stop: &Expr, place: &Place) -> Expr {
    let value = |value: Value| Expr::value_at(value, place.clone());
    let apply = |op: BinaryOp, one: &Expr, other: &Expr| Expr::apply_at(op, &[one, other], place.clone());
    let bounds = [(start, "start"), (stop, "stop")].into_iter().filter(|(bound, _)| bound.known_value().is_none());
    bounds.fold(start.clone(), |start, (bound, name)| {
        let size = Expr::apply_at(UnaryOp::Abs, &[bound], place.clone());
        let is_exact = apply(BinaryOp::Less, &size, &value(Value::F64(EXACT as f64)));
        let assert = HopOp::Parameterized { function: Function::Assert, names: vec!["message".to_owned()] };
        let holds = Expr::apply_at(assert, &[&is_exact, &value(Value::Str(beyond_exact(name)))], place.clone());
        // Nothing is added: the value of what holds is 1.
        apply(BinaryOp::Plus, &start, &apply(BinaryOp::Minus, &holds, &value(Value::F64(1.0))))
    })
}

/// The number behind 2**53 in double precision is not the next integer.
fn beyond_exact(name: &str) -> String {
    format!("fori_loop: {name} must lie between -2**53 and 2**53")
}
