//! `fuseline.Array`: an array that is read, or computed, when its value is asked for.

use crate::broadcast::{as_matrix, as_scalar, binary, if_else, transposed};
use crate::capture::{self, Kind, Operand};
use crate::dtype::{DType, Weak};
use crate::{division, export, index, jit, loops, numpy, place, session};
use fuseline::ir::hop::{DataGenOp, Function, HopOp, ReorgOp, ShapeOp};
use fuseline::ir::ops::{AggOp, BinaryOp, Direction, UnaryOp};
use fuseline::ir::{Format, Value};
use fuseline::{Expr, Place, RuntimeValue};
use pyo3::basic::CompareOp;
use pyo3::exceptions::{PyMemoryError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

/// A matrix, vector or scalar that is read, or computed, when its value is asked for.
///
/// Operators and functions of NumPy build expressions; `compute`, `numpy`, `float` and NumPy's own `asarray` compute
/// them, fused and compiled. Shapes and types are those that NumPy would give.
#[pyclass(frozen, weakref, module = "fuseline", name = "Array")]
pub(crate) struct Array {
    pub(crate) expr: Expr,
    /// Number of dimensions. A vector is a column of the engine.
    pub(crate) rank: u8,
    pub(crate) dtype: DType,
    /// Of an argument that was a number of Python: what it is beside arrays.
    weak: Option<Weak>,
}

impl Array {
    pub(crate) fn new(expr: Expr, rank: u8, dtype: DType) -> Array {
        Array { expr, rank, dtype, weak: None }
    }

    pub(crate) fn with_kind(expr: Expr, rank: u8, kind: Kind) -> Array {
        let weak = match kind {
            Kind::Of(_) => None,
            Kind::Weak(weak) => Some(weak),
        };
        Array { expr, rank, dtype: kind.dtype(), weak }
    }

    pub(crate) fn operand(&self) -> Operand {
        let kind = self.weak.map_or(Kind::Of(self.dtype), Kind::Weak);
        Operand { expr: self.expr.clone(), rank: self.rank, kind }
    }

    /// Cells along an axis. What is not known before anything is computed is computed.
    pub(crate) fn extent(&self, py: Python<'_>, axis: usize) -> PyResult<u64> {
        let (rows, cols) = self.dims(py)?;
        Ok(if axis == 0 { rows } else { cols })
    }

    /// Rows and columns of the matrix that the engine has.
    fn dims(&self, py: Python<'_>) -> PyResult<(u64, u64)> {
        jit::observe_shape();
        if self.rank == 0 {
            return Ok((1, 1));
        }
        if let Some(dims) = self.expr.size().known_dims() {
            return Ok(dims);
        }
        let value = value_of(py, &self.expr)?;
        value.size().known_dims().ok_or_else(|| PyValueError::new_err("the shape is not known"))
    }

    fn shape_of(&self, py: Python<'_>) -> PyResult<Vec<u64>> {
        let (rows, cols) = self.dims(py)?;
        Ok([rows, cols][..self.rank.into()].to_vec())
    }

    /// An element-wise function.
    pub(crate) fn map(&self, py: Python<'_>, op: UnaryOp, dtype: DType) -> Array {
        Array::new(Expr::apply_at(op, &[&self.expr], place::here(py)), self.rank, dtype)
    }

    /// An aggregate over an axis, or over all cells.
    fn aggregate(&self, op: AggOp, axes: Axes, dtype: DType, place: &Place) -> Array {
        let Axes { direction, keep } = axes;
        if self.rank == 0 {
            return Array::new(self.scalar_aggregate(op, place), 0, dtype);
        }
        let expr = Expr::apply_at((op, direction), &[&self.expr], place.clone());
        let (expr, rank) = match (direction, keep) {
            (Direction::Full, false) => (expr, 0),
            (Direction::Full, true) => (as_matrix(&expr, place), self.rank),
            (_, true) => (expr, 2),
            (Direction::Col, false) => (transposed(&expr, place), 1),
            (Direction::Row, false) => (expr, 1),
        };
        Array::new(expr, rank, dtype)
    }

    fn scalar_aggregate(&self, op: AggOp, place: &Place) -> Expr {
        let cell = as_matrix(&self.expr, place);
        Expr::apply_at((op, Direction::Full), &[&cell], place.clone())
    }

    /// An operation whose left operand this is.
    fn before(&self, op: BinaryOp, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        operator(self, other, false, |left, right, place| elementwise(op, left, right, place))
    }

    /// An operation whose right operand this is.
    fn after(&self, op: BinaryOp, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        operator(self, other, true, |left, right, place| elementwise(op, left, right, place))
    }

    /// The axes that a reduction runs over.
    fn axes(&self, axis: Option<&Bound<'_, PyAny>>, keep: bool) -> PyResult<Axes> {
        let rank = i64::from(self.rank);
        let Some(axis) = axis.filter(|axis| !axis.is_none()) else {
            return Ok(Axes { direction: Direction::Full, keep });
        };
        let given: Vec<i64> = match axis.extract::<i64>() {
            Ok(axis) => vec![axis],
            Err(_) => axis.extract()?,
        };
        let mut axes = Vec::new();
        for axis in given {
            let position = if axis < 0 { axis + rank } else { axis };
            if !(0..rank).contains(&position) {
                return Err(axis_error(axis, rank));
            }
            axes.push(position);
        }
        axes.sort_unstable();
        axes.dedup();
        let direction = match axes[..] {
            [0] if rank == 2 => Direction::Col,
            [1] => Direction::Row,
            [] => return Err(PyValueError::new_err("a reduction over no axis")),
            _ => Direction::Full,
        };
        Ok(Axes { direction, keep })
    }

    /// For each row of the engine's matrix, the position of its first extreme.
    fn first_extreme(&self, function: Function, axes: Axes, place: &Place) -> Array {
        let reversed = |expr: &Expr| Expr::apply_at(HopOp::Reorg(ReorgOp::Rev), &[expr], place.clone());
        // The engine gives the last of equals, by row: of the reversed order it is the first.
        let turned = match (self.rank, axes.direction) {
            (2, Direction::Col) => transposed(&reversed(&self.expr), place),
            (2, Direction::Row) => transposed(&reversed(&transposed(&self.expr, place)), place),
            (2, _) => transposed(&reversed(&index::flattened(&self.expr, place)), place),
            _ => transposed(&reversed(&self.expr), place),
        };
        // NumPy finds a NaN before any number: it counts as more extreme than infinities.
        let turned = if self.dtype.is_float() { with_extreme_nan(&turned, function, place) } else { turned };
        let op = HopOp::Parameterized { function, names: Vec::new() };
        let last = Expr::apply_at(op, &[&turned], place.clone());
        let count = Expr::apply_at(HopOp::Shape(ShapeOp::Ncol), &[&turned], place.clone());
        let first = Expr::apply_at(BinaryOp::Minus, &[&count, &last], place.clone());
        let is_full = axes.direction == Direction::Full || self.rank < 2;
        let (expr, rank) = match (is_full, axes.keep, axes.direction) {
            (true, false, _) => (as_scalar(&first, place), 0),
            (true, true, _) => (first, self.rank),
            (false, true, Direction::Col) => (transposed(&first, place), 2),
            (false, true, _) => (first, 2),
            (false, false, _) => (first, 1),
        };
        Array::new(expr, rank, DType::I64)
    }

    fn number(&self, py: Python<'_>) -> PyResult<f64> {
        let value = value_of(py, &self.expr)?;
        value.as_f64().ok_or_else(|| PyTypeError::new_err("only arrays of one cell are numbers"))
    }
}

/// Rows in which the extreme cells are those that are NaN, where there are any: then the others do not count.
fn with_extreme_nan(expr: &Expr, function: Function, place: &Place) -> Expr {
    let is_nan = Expr::apply_at(UnaryOp::IsNan, &[expr], place.clone());
    let has_nan = Expr::apply_at((AggOp::Max, Direction::Row), &[&is_nan], place.clone());
    let marks = match function {
        Function::RowIndexMin => Expr::apply_at(UnaryOp::Neg, &[&is_nan], place.clone()),
        _ => is_nan,
    };
    let ternary = HopOp::Ternary(fuseline::ir::ops::TernaryOp::IfElse);
    Expr::apply_at(ternary, &[&has_nan, &marks, expr], place.clone())
}

/// What a reduction runs over.
#[derive(Clone, Copy)]
struct Axes {
    direction: Direction,
    /// Whether the axes stay, with one cell.
    keep: bool,
}

/// NumPy's error for an axis that an array lacks.
fn axis_error(axis: i64, rank: i64) -> PyErr {
    let message = format!("axis {axis} is out of bounds for array of dimension {rank}");
    Python::attach(|py| {
        let class = numpy::module(py).and_then(|numpy| numpy.getattr("exceptions")?.getattr("AxisError"));
        match class.and_then(|class| class.call1((&message,))) {
            Ok(error) => PyErr::from_value(error),
            Err(_) => PyValueError::new_err(message),
        }
    })
}

/// The value of an expression, which is computed where it was not before.
pub(crate) fn value_of(py: Python<'_>, expr: &Expr) -> PyResult<RuntimeValue> {
    let mut values = values_of(py, std::slice::from_ref(expr))?;
    values.pop().ok_or_else(|| PyValueError::new_err("no value"))
}

/// The values of expressions, which are computed together where they were not before.
pub(crate) fn values_of(py: Python<'_>, exprs: &[Expr]) -> PyResult<Vec<RuntimeValue>> {
    if exprs.iter().any(|expr| expr.known_value().is_none()) {
        if exprs.iter().any(jit::is_traced) {
            return Err(jit::traced_value());
        }
        let evaluator = session::current()?;
        let statistics = session::run(py, evaluator, |session| session.compute(exprs, &mut |_| {}))?;
        session::note(statistics);
    }
    exprs.iter().map(|expr| expr.known_value().ok_or_else(|| PyValueError::new_err("no value"))).collect()
}

/// Applies an operation of two operands as an operator of Python: `None` where the other is no array.
fn operator(
    array: &Array,
    other: &Bound<'_, PyAny>,
    is_reflected: bool,
    build: impl FnOnce(&Operand, &Operand, &Place) -> PyResult<Array>,
) -> PyResult<Py<PyAny>> {
    let py = other.py();
    let other = match other.cast::<Array>() {
        Ok(other) => Some(other.get().operand()),
        Err(_) => capture::operand(other)?,
    };
    let Some(other) = other else { return Ok(py.NotImplemented()) };
    let this = array.operand();
    let (left, right) = if is_reflected { (&other, &this) } else { (&this, &other) };
    let place = place::here(py);
    let result = build(left, right, &place)?;
    if result.expr.failure().is_some() && [left, right].iter().all(|operand| operand.expr.failure().is_none()) {
        return Err(misfit(left, right, &place));
    }
    checked(py, loops::bounded(py, result)?)
}

/// The error for operands that do not fit, with their shapes as NumPy has them.
fn misfit(left: &Operand, right: &Operand, place: &Place) -> PyErr {
    let (one, other) = (shape_text(&left.expr, left.rank), shape_text(&right.expr, right.rank));
    PyValueError::new_err(format!(
        "shapes {one} and {other} do not fit\n  at {place}\n  left operand, {one}, from {}\n  right operand, {other}, \
         from {}",
        left.expr.place(),
        right.expr.place()
    ))
}

/// A shape as NumPy writes it.
fn shape_text(expr: &Expr, rank: u8) -> String {
    match expr.size().known_dims() {
        _ if rank == 0 => "()".to_owned(),
        Some((rows, _)) if rank == 1 => format!("({rows},)"),
        Some((rows, cols)) => format!("({rows}, {cols})"),
        None if rank == 1 => "(?,)".to_owned(),
        None => "(?, ?)".to_owned(),
    }
}

/// An array whose operands fit.
pub(crate) fn checked(py: Python<'_>, array: Array) -> PyResult<Py<PyAny>> {
    if let Some(failure) = array.expr.failure() {
        return Err(crate::error::exception(&fuseline::Error::Expression(failure)));
    }
    Ok(Py::new(py, array)?.into_any())
}

/// An element-wise operation with NumPy's types.
pub(crate) fn elementwise(op: BinaryOp, left: &Operand, right: &Operand, place: &Place) -> PyResult<Array> {
    let common = left.kind.with(right.kind);
    let is_bool = common == DType::Bool;
    let (op, dtype) = match op {
        BinaryOp::Plus if is_bool => (BinaryOp::Or, DType::Bool),
        BinaryOp::Mult if is_bool => (BinaryOp::And, DType::Bool),
        BinaryOp::Minus if is_bool => {
            return Err(PyTypeError::new_err("truth values have no difference: use ^ or np.logical_xor"));
        }
        BinaryOp::Div => (op, if common.is_float() { common } else { DType::F64 }),
        BinaryOp::IntDiv | BinaryOp::Modulus | BinaryOp::Pow if is_bool => (op, DType::Signed(1)),
        BinaryOp::BitwAnd | BinaryOp::BitwOr | BinaryOp::BitwXor | BinaryOp::BitwShiftL | BinaryOp::BitwShiftR
            if common.is_float() =>
        {
            return Err(PyTypeError::new_err("floating point numbers have no bits: compare them first"));
        }
        BinaryOp::BitwAnd if is_bool => (BinaryOp::And, DType::Bool),
        BinaryOp::BitwOr if is_bool => (BinaryOp::Or, DType::Bool),
        BinaryOp::BitwXor if is_bool => (BinaryOp::Xor, DType::Bool),
        op if op.algebra().boolean => (op, DType::Bool),
        op => (op, common),
    };
    let (expr, rank) = match op {
        BinaryOp::IntDiv | BinaryOp::Modulus if dtype.is_float() => division::of_floats(op, left, right, place),
        BinaryOp::IntDiv | BinaryOp::Modulus => division::of_integers(op, left, right, place),
        _ => binary(op, left, right, place),
    };
    Ok(Array::new(expr, rank, dtype))
}

/// A product of matrices and vectors with NumPy's shapes.
pub(crate) fn product(left: &Operand, right: &Operand, place: &Place) -> PyResult<Array> {
    let dtype = left.kind.with(right.kind);
    let dtype = if dtype == DType::Bool { DType::I64 } else { dtype };
    if left.rank == 0 || right.rank == 0 {
        return Err(PyValueError::new_err("matmul: a scalar is no matrix: use *"));
    }
    let one = if left.rank == 1 { transposed(&left.expr, place) } else { left.expr.clone() };
    let expr = Expr::apply_at(HopOp::MatMul, &[&one, &right.expr], place.clone());
    let (expr, rank) = match (left.rank, right.rank) {
        (1, 1) => (as_scalar(&expr, place), 0),
        (1, _) => (transposed(&expr, place), 1),
        (_, 1) => (expr, 1),
        _ => (expr, 2),
    };
    Ok(Array::new(expr, rank, dtype))
}

/// `yes` where the condition holds, else `no`.
pub(crate) fn chosen(condition: &Operand, yes: &Operand, no: &Operand, place: &Place) -> Array {
    let dtype = yes.kind.with(no.kind);
    let (expr, rank) = if_else([condition, yes, no], place);
    Array::new(expr, rank, dtype)
}

#[pymethods]
impl Array {
    /// Cells along each axis, as NumPy's. What depends on data is computed.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.shape_of(py)?)
    }

    /// The number of dimensions: 0, 1 or 2.
    #[getter]
    fn ndim(&self) -> u8 {
        self.rank
    }

    /// The number of cells.
    #[getter]
    fn size(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.shape_of(py)?.into_iter().product())
    }

    /// The type of the cells, as NumPy's.
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.dtype.to_numpy(py)
    }

    /// Whether the value is there: given, or computed before.
    #[getter]
    fn is_computed(&self) -> bool {
        self.expr.known_value().is_some()
    }

    /// Before the arrays of NumPy, pandas and others in operators of two.
    #[classattr]
    fn __array_priority__() -> f64 {
        1000.0
    }

    #[classattr]
    fn __pandas_priority__() -> i64 {
        5000
    }

    #[pyo3(signature = (ufunc, method, *inputs, **kwargs))]
    fn __array_ufunc__<'py>(
        slf: &Bound<'py, Self>,
        ufunc: &Bound<'py, PyAny>,
        method: &str,
        inputs: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let kwargs = kwargs.cloned().unwrap_or_else(|| PyDict::new(py));
        numpy::protocols(py)?.call_method1("ufunc", (ufunc, method, inputs, kwargs))
    }

    fn __array_function__<'py>(
        slf: &Bound<'py, Self>,
        function: &Bound<'py, PyAny>,
        types: &Bound<'py, PyAny>,
        args: &Bound<'py, PyAny>,
        kwargs: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        numpy::protocols(slf.py())?.call_method1("function", (function, types, args, kwargs))
    }

    /// The cells as a dense array of NumPy that shows them where they lie, and cannot be written to.
    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<&Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        refuse_operators_of_others(py)?;
        let value = value_of(py, &self.expr)?;
        refuse_large(&value)?;
        let array = export::to_numpy(py, &value, self.rank, self.dtype, copy == Some(true))?;
        let array = numpy::module(py)?.call_method1("asarray", (array,))?;
        match dtype.filter(|dtype| !dtype.is_none()) {
            Some(dtype) => array.call_method1("astype", (dtype,)),
            None => Ok(array),
        }
    }

    /// The value: an array of NumPy or, where it is stored sparse, a matrix of SciPy; of no dimensions a scalar.
    fn compute<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        export::by_density(py, &value_of(py, &self.expr)?, self.rank, self.dtype)
    }

    /// The value as a dense array of NumPy, which the caller owns; `copy=False` gives one that shows the cells where
    /// they lie and cannot be written to.
    #[pyo3(signature = (*, copy=true))]
    fn numpy<'py>(&self, py: Python<'py>, copy: bool) -> PyResult<Bound<'py, PyAny>> {
        export::to_numpy(py, &value_of(py, &self.expr)?, self.rank, self.dtype, copy)
    }

    /// The value as a sparse matrix of SciPy, `csr_array`.
    fn scipy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match value_of(py, &self.expr)? {
            RuntimeValue::Matrix(block) if self.rank == 2 => export::to_scipy(py, &block, self.dtype),
            _ => Err(PyTypeError::new_err(format!("an array of {} dimensions is no sparse matrix", self.rank))),
        }
    }

    fn item<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let value = RuntimeValue::from(self.number(py)?);
        export::to_numpy(py, &value, 0, self.dtype, true)?.call_method0("item")
    }

    fn tolist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.numpy(py, false)?.call_method0("tolist")
    }

    fn __float__(&self, py: Python<'_>) -> PyResult<f64> {
        self.number(py)
    }

    fn __int__(&self, py: Python<'_>) -> PyResult<i128> {
        Ok(self.number(py)? as i128)
    }

    fn __index__(&self, py: Python<'_>) -> PyResult<i128> {
        if self.dtype.is_integer() && self.rank == 0 {
            return self.__int__(py);
        }
        Err(PyTypeError::new_err("only integer scalar arrays can be converted to a scalar index"))
    }

    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        if self.rank > 0 && self.shape_of(py)?.into_iter().product::<u64>() != 1 {
            return Err(PyValueError::new_err(
                "the truth value of an array with several cells is ambiguous: use .any() or .all()",
            ));
        }
        Ok(self.number(py)? != 0.0)
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        match self.shape_of(py)?.first() {
            Some(&rows) => Ok(rows as usize),
            None => Err(PyTypeError::new_err("a scalar has no length")),
        }
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let rows = self.__len__(py)?;
        let rows: PyResult<Vec<Array>> =
            (0..rows).map(|row| index::indexed(self, row.into_pyobject(py)?.as_any())).collect();
        PyList::new(py, rows?)?.call_method0("__iter__")
    }

    fn __getitem__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        checked(py, index::indexed(self, key)?)
    }

    fn __setitem__(&self, _key: &Bound<'_, PyAny>, _value: &Bound<'_, PyAny>) -> PyResult<()> {
        Err(PyTypeError::new_err("arrays are values, and do not change: use fl.where, or change the array of NumPy"))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let shape = shape_text(&self.expr, self.rank);
        let dtype = self.dtype.name();
        let state = match self.expr.known_value() {
            None => "lazy".to_owned(),
            Some(RuntimeValue::Matrix(block)) if block.format() == Format::Dense => "dense".to_owned(),
            Some(RuntimeValue::Matrix(block)) => {
                let cells = (block.rows() as f64 * block.cols() as f64).max(1.0);
                format!("sparse, density {:.2e}", block.nnz() as f64 / cells)
            }
            Some(value) => {
                let number = export::to_numpy(py, &value, 0, self.dtype, true)?.call_method0("item")?;
                format!("value {number}")
            }
        };
        Ok(format!("fuseline.Array(shape={shape}, dtype={dtype}, {state})"))
    }

    fn __neg__(&self, py: Python<'_>) -> PyResult<Array> {
        if self.dtype == DType::Bool {
            return Err(PyTypeError::new_err("truth values have no negative: use ~"));
        }
        Ok(self.map(py, UnaryOp::Neg, self.dtype))
    }

    fn __pos__(&self) -> Array {
        Array::new(self.expr.clone(), self.rank, self.dtype)
    }

    fn __abs__(&self, py: Python<'_>) -> Array {
        self.map(py, UnaryOp::Abs, self.dtype)
    }

    fn __invert__(&self, py: Python<'_>) -> PyResult<Array> {
        match self.dtype {
            DType::Bool => Ok(self.map(py, UnaryOp::Not, DType::Bool)),
            DType::Float(_) => Err(PyTypeError::new_err("floating point numbers have no bits: compare them first")),
            dtype => {
                let place = place::here(py);
                let minus_one = Expr::value_at(Value::I64(-1), place.clone());
                let expr = Expr::apply_at(BinaryOp::Minus, &[&minus_one, &self.expr], place);
                Ok(Array::new(expr, self.rank, dtype))
            }
        }
    }

    fn __add__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.before(BinaryOp::Plus, other)
    }

    fn __radd__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.after(BinaryOp::Plus, other)
    }

    fn __sub__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.before(BinaryOp::Minus, other)
    }

    fn __rsub__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.after(BinaryOp::Minus, other)
    }

    fn __mul__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.before(BinaryOp::Mult, other)
    }

    fn __rmul__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.after(BinaryOp::Mult, other)
    }

    fn __truediv__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.before(BinaryOp::Div, other)
    }

    fn __rtruediv__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.after(BinaryOp::Div, other)
    }

    fn __floordiv__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.before(BinaryOp::IntDiv, other)
    }

    fn __rfloordiv__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.after(BinaryOp::IntDiv, other)
    }

    fn __mod__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.before(BinaryOp::Modulus, other)
    }

    fn __rmod__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.after(BinaryOp::Modulus, other)
    }

    fn __and__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.before(BinaryOp::BitwAnd, other)
    }

    fn __rand__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.after(BinaryOp::BitwAnd, other)
    }

    fn __or__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.before(BinaryOp::BitwOr, other)
    }

    fn __ror__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.after(BinaryOp::BitwOr, other)
    }

    fn __xor__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.before(BinaryOp::BitwXor, other)
    }

    fn __rxor__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.after(BinaryOp::BitwXor, other)
    }

    fn __lshift__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.before(BinaryOp::BitwShiftL, other)
    }

    fn __rlshift__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.after(BinaryOp::BitwShiftL, other)
    }

    fn __rshift__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.before(BinaryOp::BitwShiftR, other)
    }

    fn __rrshift__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.after(BinaryOp::BitwShiftR, other)
    }

    fn __pow__(&self, other: &Bound<'_, PyAny>, modulo: Option<&Bound<'_, PyAny>>) -> PyResult<Py<PyAny>> {
        refuse_modulo(modulo)?;
        self.before(BinaryOp::Pow, other)
    }

    fn __rpow__(&self, other: &Bound<'_, PyAny>, modulo: Option<&Bound<'_, PyAny>>) -> PyResult<Py<PyAny>> {
        refuse_modulo(modulo)?;
        self.after(BinaryOp::Pow, other)
    }

    fn __matmul__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        operator(self, other, false, product)
    }

    fn __rmatmul__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        operator(self, other, true, product)
    }

    fn __richcmp__(&self, other: &Bound<'_, PyAny>, compare: CompareOp) -> PyResult<Py<PyAny>> {
        let op = match compare {
            CompareOp::Lt => BinaryOp::Less,
            CompareOp::Le => BinaryOp::LessEqual,
            CompareOp::Eq => BinaryOp::Equal,
            CompareOp::Ne => BinaryOp::NotEqual,
            CompareOp::Gt => BinaryOp::Greater,
            CompareOp::Ge => BinaryOp::GreaterEqual,
        };
        self.before(op, other)
    }

    /// The transpose; vectors stay as they are.
    #[getter(T)]
    fn transpose_getter(&self, py: Python<'_>) -> Array {
        self.transpose(py)
    }

    /// The transpose; vectors stay as they are.
    fn transpose(&self, py: Python<'_>) -> Array {
        let expr = if self.rank == 2 { transposed(&self.expr, &place::here(py)) } else { self.expr.clone() };
        Array::new(expr, self.rank, self.dtype)
    }

    /// The product of matrices and vectors, as `@`.
    fn dot(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        operator(self, other, false, |left, right, place| match (left.rank, right.rank) {
            (0, _) | (_, 0) => elementwise(BinaryOp::Mult, left, right, place),
            _ => product(left, right, place),
        })
    }

    /// The array with cells of another type. Numbers become integers towards zero.
    #[pyo3(signature = (dtype, *, copy=true))]
    fn astype(&self, py: Python<'_>, dtype: &Bound<'_, PyAny>, copy: bool) -> PyResult<Array> {
        let _ = copy;
        let place = place::here(py);
        let target = DType::of(&numpy::module(py)?.call_method1("dtype", (dtype,))?)?;
        let expr = match target {
            DType::Bool if self.dtype != DType::Bool => index::is_nonzero(&self.expr, &place),
            DType::Signed(_) | DType::Unsigned(_) if self.dtype.is_float() => {
                let part = |op: UnaryOp, of: &Expr| Expr::apply_at(op, &[of], place.clone());
                let (sign, size) = (part(UnaryOp::Sign, &self.expr), part(UnaryOp::Abs, &self.expr));
                Expr::apply_at(BinaryOp::Mult, &[&sign, &part(UnaryOp::Floor, &size)], place.clone())
            }
            _ => self.expr.clone(),
        };
        Ok(Array::new(expr, self.rank, target))
    }

    /// The cells in another shape, row by row; one extent may be -1.
    #[pyo3(signature = (*shape))]
    fn reshape(&self, py: Python<'_>, shape: &Bound<'_, PyTuple>) -> PyResult<Array> {
        let place = place::here(py);
        let shape: Vec<i64> = match shape.get_item(0) {
            Ok(first) if shape.len() == 1 && first.extract::<i64>().is_err() => first.extract()?,
            _ => shape.extract()?,
        };
        let cells = self.shape_of(py)?.into_iter().product::<u64>() as i64;
        let shape = completed(&shape, cells)?;
        let (rows, cols) = match shape[..] {
            [] => return Ok(Array::new(as_scalar(&self.expr, &place), 0, self.dtype)),
            [rows] => (rows, 1),
            [rows, cols] => (rows, cols),
            _ => return Err(PyValueError::new_err("arrays have at most two dimensions")),
        };
        let number = |number: i64| Expr::value_at(Value::I64(number), place.clone());
        let matrix = as_matrix(&self.expr, &place);
        let inputs = [&matrix, &number(rows), &number(cols)];
        let expr = Expr::apply_at(HopOp::DataGen(DataGenOp::Matrix), &inputs, place.clone());
        Ok(Array::new(expr, shape.len() as u8, self.dtype))
    }

    /// All cells, row by row, as a vector.
    fn ravel(&self, py: Python<'_>) -> PyResult<Array> {
        let place = place::here(py);
        let expr = match self.rank {
            0 => as_matrix(&self.expr, &place),
            1 => self.expr.clone(),
            _ => index::flattened(&self.expr, &place),
        };
        Ok(Array::new(expr, 1, self.dtype))
    }

    /// All cells, row by row, as a vector.
    fn flatten(&self, py: Python<'_>) -> PyResult<Array> {
        self.ravel(py)
    }

    /// The sum, of all cells or along an axis.
    #[pyo3(signature = (axis=None, *, keepdims=false))]
    fn sum(&self, py: Python<'_>, axis: Option<&Bound<'_, PyAny>>, keepdims: bool) -> PyResult<Array> {
        let axes = self.axes(axis, keepdims)?;
        Ok(self.aggregate(AggOp::Sum, axes, self.dtype.of_sum(), &place::here(py)))
    }

    /// The product, of all cells or along an axis.
    #[pyo3(signature = (axis=None, *, keepdims=false))]
    fn prod(&self, py: Python<'_>, axis: Option<&Bound<'_, PyAny>>, keepdims: bool) -> PyResult<Array> {
        let axes = self.axes(axis, keepdims)?;
        Ok(self.aggregate(AggOp::Prod, axes, self.dtype.of_sum(), &place::here(py)))
    }

    /// The mean, of all cells or along an axis.
    #[pyo3(signature = (axis=None, *, keepdims=false))]
    fn mean(&self, py: Python<'_>, axis: Option<&Bound<'_, PyAny>>, keepdims: bool) -> PyResult<Array> {
        let axes = self.axes(axis, keepdims)?;
        let dtype = if self.dtype.is_float() { self.dtype } else { DType::F64 };
        Ok(self.aggregate(AggOp::Mean, axes, dtype, &place::here(py)))
    }

    /// The variance, of all cells or along an axis, by `n - ddof`.
    #[pyo3(signature = (axis=None, *, ddof=0.0, keepdims=false))]
    fn var(&self, py: Python<'_>, axis: Option<&Bound<'_, PyAny>>, ddof: f64, keepdims: bool) -> PyResult<Array> {
        let place = place::here(py);
        let axes = self.axes(axis, keepdims)?;
        let dtype = if self.dtype.is_float() { self.dtype } else { DType::F64 };
        let operand = |expr: Expr, rank: u8| Operand { expr, rank, kind: Kind::Of(dtype) };
        // The engine's is that of a sample, of which one cell has none.
        let mean = self.aggregate(AggOp::Mean, Axes { keep: true, ..axes }, dtype, &place);
        let (centred, rank) = binary(BinaryOp::Minus, &self.operand(), &mean.operand(), &place);
        let squares = Array::new(Expr::apply_at(UnaryOp::Pow2, &[&centred], place.clone()), rank, dtype);
        let sum = squares.aggregate(AggOp::Sum, axes, dtype, &place);
        let count = match (self.rank, axes.direction) {
            (2, Direction::Col) => HopOp::Shape(ShapeOp::Nrow),
            (2, Direction::Row) => HopOp::Shape(ShapeOp::Ncol),
            _ => HopOp::Shape(ShapeOp::Length),
        };
        let count = Expr::apply_at(count, &[&as_matrix(&self.expr, &place)], place.clone());
        let ddof = Expr::value_at(Value::F64(ddof), place.clone());
        let freedom = Expr::apply_at(BinaryOp::Minus, &[&count, &ddof], place.clone());
        let (expr, rank) = binary(BinaryOp::Div, &operand(sum.expr, sum.rank), &operand(freedom, 0), &place);
        Ok(Array::new(expr, rank, dtype))
    }

    /// The standard deviation, of all cells or along an axis, by `n - ddof`.
    #[pyo3(signature = (axis=None, *, ddof=0.0, keepdims=false))]
    fn std(&self, py: Python<'_>, axis: Option<&Bound<'_, PyAny>>, ddof: f64, keepdims: bool) -> PyResult<Array> {
        let variance = self.var(py, axis, ddof, keepdims)?;
        let dtype = variance.dtype;
        Ok(variance.map(py, UnaryOp::Sqrt, dtype))
    }

    /// The smallest, of all cells or along an axis.
    #[pyo3(signature = (axis=None, *, keepdims=false))]
    fn min(&self, py: Python<'_>, axis: Option<&Bound<'_, PyAny>>, keepdims: bool) -> PyResult<Array> {
        let axes = self.axes(axis, keepdims)?;
        self.refuse_empty(axes, "minimum")?;
        Ok(self.aggregate(AggOp::Min, axes, self.dtype, &place::here(py)))
    }

    /// The largest, of all cells or along an axis.
    #[pyo3(signature = (axis=None, *, keepdims=false))]
    fn max(&self, py: Python<'_>, axis: Option<&Bound<'_, PyAny>>, keepdims: bool) -> PyResult<Array> {
        let axes = self.axes(axis, keepdims)?;
        self.refuse_empty(axes, "maximum")?;
        Ok(self.aggregate(AggOp::Max, axes, self.dtype, &place::here(py)))
    }

    /// Whether any cell is not zero, of all or along an axis.
    #[pyo3(signature = (axis=None, *, keepdims=false))]
    fn any(&self, py: Python<'_>, axis: Option<&Bound<'_, PyAny>>, keepdims: bool) -> PyResult<Array> {
        let place = place::here(py);
        let axes = self.axes(axis, keepdims)?;
        let count = self.aggregate(AggOp::Nnz, axes, DType::I64, &place);
        Ok(Array::new(index::is_nonzero(&count.expr, &place), count.rank, DType::Bool))
    }

    /// Whether no cell is zero, of all or along an axis.
    #[pyo3(signature = (axis=None, *, keepdims=false))]
    fn all(&self, py: Python<'_>, axis: Option<&Bound<'_, PyAny>>, keepdims: bool) -> PyResult<Array> {
        let place = place::here(py);
        let axes = self.axes(axis, keepdims)?;
        let zeros = self.map(py, UnaryOp::Not, DType::Bool).aggregate(AggOp::Nnz, axes, DType::I64, &place);
        Ok(Array::new(Expr::apply_at(UnaryOp::Not, &[&zeros.expr], place), zeros.rank, DType::Bool))
    }

    /// The number of cells that are not zero, of all or along an axis.
    #[pyo3(signature = (axis=None, *, keepdims=false))]
    fn count_nonzero(&self, py: Python<'_>, axis: Option<&Bound<'_, PyAny>>, keepdims: bool) -> PyResult<Array> {
        let axes = self.axes(axis, keepdims)?;
        Ok(self.aggregate(AggOp::Nnz, axes, DType::I64, &place::here(py)))
    }

    /// The position of the largest cell, of all or along an axis; the first of equals.
    #[pyo3(signature = (axis=None, *, keepdims=false))]
    fn argmax(&self, py: Python<'_>, axis: Option<&Bound<'_, PyAny>>, keepdims: bool) -> PyResult<Array> {
        let axes = self.axes(axis, keepdims)?;
        self.refuse_empty(axes, "argmax")?;
        Ok(self.first_extreme(Function::RowIndexMax, axes, &place::here(py)))
    }

    /// The position of the smallest cell, of all or along an axis; the first of equals.
    #[pyo3(signature = (axis=None, *, keepdims=false))]
    fn argmin(&self, py: Python<'_>, axis: Option<&Bound<'_, PyAny>>, keepdims: bool) -> PyResult<Array> {
        let axes = self.axes(axis, keepdims)?;
        self.refuse_empty(axes, "argmin")?;
        Ok(self.first_extreme(Function::RowIndexMin, axes, &place::here(py)))
    }

    /// Sums up to each cell, along an axis or of all cells row by row.
    #[pyo3(signature = (axis=None))]
    fn cumsum(&self, py: Python<'_>, axis: Option<i64>) -> PyResult<Array> {
        self.cumulative(py, AggOp::Sum, axis)
    }

    /// Products up to each cell, along an axis or of all cells row by row.
    #[pyo3(signature = (axis=None))]
    fn cumprod(&self, py: Python<'_>, axis: Option<i64>) -> PyResult<Array> {
        self.cumulative(py, AggOp::Prod, axis)
    }

    /// The smallest up to each cell, along an axis or of all cells row by row.
    #[pyo3(signature = (axis=None))]
    fn cummin(&self, py: Python<'_>, axis: Option<i64>) -> PyResult<Array> {
        self.cumulative(py, AggOp::Min, axis)
    }

    /// The largest up to each cell, along an axis or of all cells row by row.
    #[pyo3(signature = (axis=None))]
    fn cummax(&self, py: Python<'_>, axis: Option<i64>) -> PyResult<Array> {
        self.cumulative(py, AggOp::Max, axis)
    }

    /// The cells within these bounds; those beyond become the bounds.
    #[pyo3(signature = (min=None, max=None))]
    fn clip(
        &self,
        py: Python<'_>,
        min: Option<&Bound<'_, PyAny>>,
        max: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let mut result = Array::new(self.expr.clone(), self.rank, self.dtype);
        let place = place::here(py);
        for (bound, op) in [(min, BinaryOp::Max), (max, BinaryOp::Min)] {
            let Some(bound) = bound.filter(|bound| !bound.is_none()) else { continue };
            let bound = operand_of(bound)?;
            result = elementwise(op, &result.operand(), &bound, &place)?;
        }
        checked(py, result)
    }

    /// The nearest numbers with so many digits behind the point; halves go to the even one.
    #[pyo3(signature = (decimals=0))]
    fn round(&self, py: Python<'_>, decimals: i32) -> PyResult<Array> {
        if self.dtype.is_integer() && decimals >= 0 {
            return Ok(self.__pos__());
        }
        let place = place::here(py);
        let factor = Expr::value_at(Value::F64(10_f64.powi(decimals)), place.clone());
        let scaled = if decimals == 0 {
            self.expr.clone()
        } else {
            Expr::apply_at(BinaryOp::Mult, &[&self.expr, &factor], place.clone())
        };
        let rounded = half_to_even(&scaled, &place);
        let expr = if decimals == 0 { rounded } else { Expr::apply_at(BinaryOp::Div, &[&rounded, &factor], place) };
        Ok(Array::new(expr, self.rank, self.dtype))
    }

    /// Copies and pickles hold the value.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let value = self.compute(py)?;
        let restore = py.import("fuseline")?.getattr("_restore")?;
        Ok((restore, PyTuple::new(py, [value])?))
    }

    fn __copy__(&self) -> Array {
        self.__pos__()
    }

    fn __deepcopy__(&self, _memo: &Bound<'_, PyAny>) -> Array {
        self.__pos__()
    }

    /// The plan as a drawing, in notebooks.
    fn _repr_svg_(&self) -> PyResult<Option<String>> {
        if self.expr.known_value().is_some() || jit::is_traced(&self.expr) {
            return Ok(None);
        }
        crate::look::drawing(std::slice::from_ref(&self.expr)).map(Some)
    }

    /// The element-wise function of the engine that has this name.
    fn _apply(&self, py: Python<'_>, name: &str, kind: &str) -> PyResult<Array> {
        let op: UnaryOp = unary_of(name)?;
        let dtype = match kind {
            "same" => self.dtype,
            "bool" => DType::Bool,
            "float" => self.dtype.as_float(),
            other => return Err(PyValueError::new_err(format!("no kind {other}"))),
        };
        Ok(self.map(py, op, dtype))
    }
}

impl Array {
    fn cumulative(&self, py: Python<'_>, op: AggOp, axis: Option<i64>) -> PyResult<Array> {
        let place = place::here(py);
        let dtype = if matches!(op, AggOp::Sum | AggOp::Prod) { self.dtype.of_sum() } else { self.dtype };
        let along = |expr: &Expr| Expr::apply_at(HopOp::Cumulative(op), &[expr], place.clone());
        let rank = i64::from(self.rank);
        let (expr, rank) = match axis.map(|axis| if axis < 0 { axis + rank } else { axis }) {
            None if self.rank == 2 => (along(&index::flattened(&self.expr, &place)), 1),
            None => (along(&as_matrix(&self.expr, &place)), 1),
            Some(0) if self.rank > 0 => (along(&self.expr), self.rank),
            Some(1) if self.rank == 2 => (transposed(&along(&transposed(&self.expr, &place)), &place), 2),
            Some(_) => {
                return Err(axis_error(axis.unwrap_or_default(), rank));
            }
        };
        Ok(Array::new(expr, rank, dtype))
    }

    /// NumPy knows no extreme of no cells.
    fn refuse_empty(&self, axes: Axes, operation: &str) -> PyResult<()> {
        let Some((rows, cols)) = self.expr.size().known_dims() else { return Ok(()) };
        let is_empty = match axes.direction {
            Direction::Full => rows == 0 || cols == 0,
            Direction::Col => rows == 0,
            Direction::Row => cols == 0,
        };
        if is_empty && self.rank > 0 {
            return Err(PyValueError::new_err(format!("{operation} of an array without cells")));
        }
        Ok(())
    }
}

/// The nearest integers; the even one of two.
pub(crate) fn half_to_even(expr: &Expr, place: &Place) -> Expr {
    let number = |value: f64| Expr::value_at(Value::F64(value), place.clone());
    let apply = |op: BinaryOp, one: &Expr, other: &Expr| Expr::apply_at(op, &[one, other], place.clone());
    let floor = Expr::apply_at(UnaryOp::Floor, &[expr], place.clone());
    let rest = apply(BinaryOp::Minus, expr, &floor);
    let odd = apply(BinaryOp::Modulus, &floor, &number(2.0));
    // Above one half, or at one half above an odd number.
    let above = apply(BinaryOp::Greater, &rest, &number(0.5));
    let at = apply(BinaryOp::Equal, &rest, &number(0.5));
    let up = apply(BinaryOp::Plus, &above, &apply(BinaryOp::Mult, &at, &odd));
    let rounded = apply(BinaryOp::Plus, &floor, &up);
    // Infinities have no rest.
    let is_finite =
        Expr::apply_at(UnaryOp::Not, &[&Expr::apply_at(UnaryOp::IsInf, &[expr], place.clone())], place.clone());
    let ternary = HopOp::Ternary(fuseline::ir::ops::TernaryOp::IfElse);
    Expr::apply_at(ternary, &[&is_finite, &rounded, expr], place.clone())
}

/// An array, or a number, as an operand.
///
/// # Errors
/// It is none.
pub(crate) fn operand_of(object: &Bound<'_, PyAny>) -> PyResult<Operand> {
    match object.cast::<Array>() {
        Ok(array) => Ok(array.get().operand()),
        Err(_) => capture::captured(object, false),
    }
}

pub(crate) fn unary_of(name: &str) -> PyResult<UnaryOp> {
    let op = UnaryOp::ALL.iter().copied().find(|op| op.mnemonic() == name);
    op.ok_or_else(|| PyValueError::new_err(format!("no function {name}")))
}

pub(crate) fn binary_of(name: &str) -> PyResult<BinaryOp> {
    let op = BinaryOp::ALL.iter().copied().find(|op| op.mnemonic() == name);
    op.ok_or_else(|| PyValueError::new_err(format!("no operation {name}")))
}

/// Extents with the one that is -1 worked out.
fn completed(shape: &[i64], cells: i64) -> PyResult<Vec<i64>> {
    let known: i64 = shape.iter().filter(|&&extent| extent != -1).product();
    let open = shape.iter().filter(|&&extent| extent == -1).count();
    let does_fit = match open {
        0 => known == cells,
        1 => known != 0 && cells % known == 0,
        _ => false,
    };
    if !does_fit || shape.iter().any(|&extent| extent < -1) {
        return Err(PyValueError::new_err(format!("cannot reshape array of size {cells} into shape {shape:?}")));
    }
    Ok(shape.iter().map(|&extent| if extent == -1 { cells / known } else { extent }).collect())
}

fn refuse_modulo(modulo: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    match modulo {
        Some(modulo) if !modulo.is_none() => Err(PyTypeError::new_err("powers modulo a number are not supported")),
        _ => Ok(()),
    }
}

/// Keeps operators of SciPy and pandas, which do not ask what stands on their right, from computing what is on their left
/// with a dense array.
fn refuse_operators_of_others(py: Python<'_>) -> PyResult<()> {
    let Some((module, function)) = place::caller(py) else { return Ok(()) };
    if module.starts_with("scipy.sparse") {
        return Err(PyTypeError::new_err(
            "SciPy would make the array dense: write fl.matrix(S) for the matrix S of SciPy",
        ));
    }
    if module.starts_with("pandas.") && function == "dot" {
        return Err(PyTypeError::new_err(
            "pandas would compute the array: write fl.matrix(D) for the data D of pandas",
        ));
    }
    Ok(())
}

/// Bytes of a dense array that a sparse matrix becomes only where it is asked for by name.
const LARGE_BYTES: usize = 100 << 20;

/// Keeps functions of NumPy that know no sparse matrices from making large ones dense.
fn refuse_large(value: &RuntimeValue) -> PyResult<()> {
    let RuntimeValue::Matrix(block) = value else { return Ok(()) };
    let bytes = block.rows().saturating_mul(block.cols()).saturating_mul(8);
    if block.format() == Format::Dense || bytes <= LARGE_BYTES {
        return Ok(());
    }
    Err(PyMemoryError::new_err(format!(
        "a sparse {} x {} matrix would become a dense array of {} MB: write .numpy() for that, or .scipy()",
        block.rows(),
        block.cols(),
        bytes >> 20
    )))
}
