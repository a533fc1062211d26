//! `fuseline.Array`: an array that is read, or computed, when its value is asked for.

use crate::broadcast::{as_matrix, as_scalar, binary, transposed};
use crate::capture::{Kind, Operand};
use crate::dtype::{DType, Weak};
use crate::operation::{
    cell_by_cell, checked, completed, elementwise, half_to_even, operand_of, operator, product, refuse_modulo,
    shape_text, unary_of, wrapped,
};
use crate::reduce::Axes;
use crate::value::{refuse_large, refuse_operators_of_others, value_of};
use crate::{export, index, jit, look, numpy, place};
use fuseline::ir::hop::{DataGenOp, Function, HopOp, ShapeOp};
use fuseline::ir::ops::{AggOp, BinaryOp, Direction, UnaryOp};
use fuseline::ir::{Format, Value};
use fuseline::{ExplainStage, Expr, RuntimeValue};
use pyo3::basic::CompareOp;
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
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
        if jit::is_traced(&self.expr) {
            return Err(PyTypeError::new_err(
                "the shape of this array is not known before the function or loop runs: it depends on data, or changes",
            ));
        }
        let value = value_of(py, &self.expr)?;
        value.size().known_dims().ok_or_else(|| PyValueError::new_err("the shape is not known"))
    }

    fn cells(&self, py: Python<'_>) -> PyResult<u64> {
        let (rows, cols) = self.dims(py)?;
        let cells = rows.checked_mul(cols).filter(|&cells| i64::try_from(cells).is_ok());
        cells.ok_or_else(|| PyOverflowError::new_err("an array of more than 2**63 cells"))
    }

    fn shape_of(&self, py: Python<'_>) -> PyResult<Vec<u64>> {
        let (rows, cols) = self.dims(py)?;
        Ok([rows, cols][..self.rank.into()].to_vec())
    }

    /// An element-wise function.
    pub(crate) fn map(&self, py: Python<'_>, op: UnaryOp, dtype: DType) -> Array {
        Array::new(Expr::apply_at(op, &[&self.expr], place::here(py)), self.rank, dtype)
    }

    fn number(&self, py: Python<'_>) -> PyResult<f64> {
        let value = value_of(py, &self.expr)?;
        value.as_f64().ok_or_else(|| PyTypeError::new_err("only arrays of one cell are numbers"))
    }
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
        self.cells(py)
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

    /// Whether it depends on the arguments of a function that is being traced.
    #[getter]
    fn _is_traced(&self) -> bool {
        jit::is_traced(&self.expr)
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

    fn __int__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.number(py)?.into_pyobject(py)?.call_method0("__int__")
    }

    fn __index__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        if self.dtype.is_integer() && self.rank == 0 {
            return self.__int__(py);
        }
        Err(PyTypeError::new_err("only integer scalar arrays can be converted to a scalar index"))
    }

    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        if self.rank > 0 && self.cells(py)? != 1 {
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
        let negative = self.map(py, UnaryOp::Neg, self.dtype);
        Ok(Array::new(wrapped(negative.expr, self.dtype, &place::here(py)), self.rank, self.dtype))
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
                let expr = Expr::apply_at(BinaryOp::Minus, &[&minus_one, &self.expr], place.clone());
                Ok(Array::new(wrapped(expr, dtype, &place), self.rank, dtype))
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

    /// The transpose of a matrix; vectors and scalars have none.
    #[getter(mT)]
    fn matrix_transpose(&self, py: Python<'_>) -> PyResult<Array> {
        if self.rank < 2 {
            let message = format!("an array of {} dimensions has no transpose as a matrix: .mT needs two", self.rank);
            return Err(PyValueError::new_err(message));
        }
        Ok(self.transpose(py))
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
        Ok(Array::new(wrapped(expr, target, &place), self.rank, target))
    }

    /// The cells in another shape, row by row; one extent may be -1.
    #[pyo3(signature = (*shape))]
    fn reshape(&self, py: Python<'_>, shape: &Bound<'_, PyTuple>) -> PyResult<Array> {
        let place = place::here(py);
        let shape: Vec<i64> = match shape.get_item(0) {
            Ok(first) if shape.len() == 1 && first.extract::<i64>().is_err() => first.extract()?,
            _ => shape.extract()?,
        };
        let cells = self.cells(py)? as i64;
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
        self.warn_without_freedom(py, axes, ddof)?;
        let dtype = if self.dtype.is_float() { self.dtype } else { DType::F64 };
        let operand = |expr: Expr, rank: u8| Operand { expr, rank, kind: Kind::Of(dtype) };
        // The engine's is that of a sample, of which one cell has none.
        let mean = self.aggregate(AggOp::Mean, Axes { keep: true, ..axes }, dtype, &place);
        let (centred, rank) = binary(BinaryOp::Minus, &self.operand(), &mean.operand(), &place);
        let squares = Array::new(Expr::apply_at(UnaryOp::Pow2, &[&centred], place.clone()), rank, dtype);
        let sum = squares.aggregate(AggOp::Sum, axes, dtype, &place);
        let count = match (self.rank, axes.direction) {
            (2, Some(Direction::Col)) => Some(ShapeOp::Nrow),
            (2, Some(Direction::Row)) => Some(ShapeOp::Ncol),
            (_, Some(_)) => Some(ShapeOp::Length),
            (_, None) => None,
        };
        let number = |number: f64| Expr::value_at(Value::F64(number), place.clone());
        let count = match count {
            Some(count) => Expr::apply_at(HopOp::Shape(count), &[&as_matrix(&self.expr, &place)], place.clone()),
            None => number(1.0),
        };
        let freedom = Expr::apply_at(BinaryOp::Minus, &[&count, &number(ddof)], place.clone());
        let freedom = Expr::apply_at(BinaryOp::Max, &[&freedom, &number(0.0)], place.clone());
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
    fn argmax(&self, py: Python<'_>, axis: Option<i64>, keepdims: bool) -> PyResult<Array> {
        let axes = self.axes_of(axis.as_ref().map(std::slice::from_ref), keepdims)?;
        self.refuse_empty(axes, "argmax")?;
        Ok(self.first_extreme(Function::RowIndexMax, axes, &place::here(py)))
    }

    /// The position of the smallest cell, of all or along an axis; the first of equals.
    #[pyo3(signature = (axis=None, *, keepdims=false))]
    fn argmin(&self, py: Python<'_>, axis: Option<i64>, keepdims: bool) -> PyResult<Array> {
        let axes = self.axes_of(axis.as_ref().map(std::slice::from_ref), keepdims)?;
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
            result = cell_by_cell(op, &result.operand(), &bound, &place)?;
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
    fn _repr_svg_(&self, py: Python<'_>) -> PyResult<Option<String>> {
        if self.expr.known_value().is_some() || jit::is_traced(&self.expr) {
            return Ok(None);
        }
        look::drawing(py, std::slice::from_ref(&self.expr), ExplainStage::Plan)
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
