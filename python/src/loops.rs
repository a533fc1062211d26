//! Loops: those that the engine runs, `while_loop` and `fori_loop`, and those of Python over lazy arrays, of which what has
//! become too long is computed.

use crate::array::Array;
use crate::broadcast::as_scalar;
use crate::capture::{Kind, Operand};
use crate::dtype::Weak;
use crate::operation::{operand_of, shape_text};
use crate::tree::{Arguments, Tree};
use crate::{jit, place, session};
use fuseline::ir::Value;
use fuseline::ir::ops::BinaryOp;
use fuseline::{Expr, Iteration, Place};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

/// Operations on the longest way to a value before the oldest are computed.
const MOST_PENDING: u32 = 1000;

/// The array, whose oldest operations are computed where many are pending.
pub(crate) fn bounded(py: Python<'_>, array: Array) -> PyResult<Array> {
    if array.expr.depth() >= MOST_PENDING && !jit::is_traced(&array.expr) {
        let evaluator = session::current()?;
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
    let mut carried = Carried::of(initial)?;
    let initial = carried.exprs();
    let place = place::here(py);
    let results = carried.settled(|carried| {
        let iteration = &mut |states: &[Expr]| {
            let value = carried.filled(py, states)?;
            let holds = decision(&condition.call1((&value,))?, &place)?;
            Ok((holds, carried.left(&body.call1((value,))?)?))
        };
        Expr::while_loop_at(&initial, iteration, &place)
    })?;
    carried.filled(py, &results)
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
    let mut carried = Carried::of(initial)?;
    let place = place::here(py);
    let (start, stop) = (counter(start, "start", &place)?, counter(stop, "stop", &place)?);
    let one = Expr::value_at(Value::I64(1), place.clone());
    let initial: Vec<Expr> = [start].into_iter().chain(carried.exprs()).collect();
    let results = carried.settled(|carried| {
        let iteration = &mut |states: &[Expr]| -> PyResult<Iteration> {
            let (number, states) = (&states[0], &states[1..]);
            let more = Expr::apply_at(BinaryOp::Less, &[number, &stop], place.clone());
            let next = Expr::apply_at(BinaryOp::Plus, &[number, &one], place.clone());
            let number = Bound::new(py, Array::with_kind(number.clone(), 0, Kind::Weak(Weak::Int)))?;
            let left = carried.left(&body.call1((number, carried.filled(py, states)?))?)?;
            Ok((more, [next].into_iter().chain(left).collect()))
        };
        Expr::while_loop_at(&initial, iteration, &place)
    })?;
    carried.filled(py, &results[1..])
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

    /// What `write` gives once the types of arrays are those that iterations leave, too.
    fn settled(&mut self, mut write: impl FnMut(&mut Carried) -> PyResult<Vec<Expr>>) -> PyResult<Vec<Expr>> {
        loop {
            let before = self.kinds.clone();
            let results = write(self)?;
            if self.kinds == before {
                return Ok(results);
            }
        }
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
        if !self.structure.is_like(value.py(), &structure)? {
            return Err(PyTypeError::new_err(format!(
                "the body of a loop must leave a value like the one that it gets, with arrays at the same positions, not {}",
                value.get_type().name()?
            )));
        }
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
    // Beyond it the next number in double precision is not the next integer.
    const MOST: f64 = (1_u64 << 53) as f64;
    if operand.expr.known_value().and_then(|value| value.as_f64()).is_some_and(|number| number.abs() >= MOST) {
        return Err(PyValueError::new_err(format!("fori_loop: {name} must lie between -2**53 and 2**53")));
    }
    Ok(as_scalar(&operand.expr, place))
}
