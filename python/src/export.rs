//! Values of the engine as arrays of NumPy and matrices of SciPy.

use crate::dtype::DType;
use crate::numpy;
use fuseline::ir::Format;
use fuseline::{Csr, Layout, MatrixBlock, RuntimeValue};
use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::borrow::Cow;
use std::ffi::{c_int, c_void};

/// The cells of a dense matrix for NumPy, which reads them where they lie.
#[pyclass(frozen, module = "fuseline._native")]
struct Cells(MatrixBlock);

impl Cells {
    fn values(&self) -> &[f64] {
        match self.0.layout() {
            Layout::Dense(Cow::Borrowed(dense)) => dense.values(),
            _ => &[],
        }
    }
}

#[pymethods]
impl Cells {
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        if flags & ffi::PyBUF_WRITABLE == ffi::PyBUF_WRITABLE {
            return Err(PyBufferError::new_err("results are shared, and cannot be written to"));
        }
        let values = slf.get().values();
        let (start, bytes) = (values.as_ptr().cast_mut().cast::<c_void>(), size_of_val(values) as isize);
        // SAFETY: the view is the interpreter's to fill; it holds the object, and with it the cells, until it is
        // released.
        let result = unsafe { ffi::PyBuffer_FillInfo(view, slf.as_ptr(), start, bytes, 1, flags) };
        if result == 0 { Ok(()) } else { Err(PyErr::fetch(slf.py())) }
    }
}

/// Checks what the owner of a matrix may have changed. Evaluations do so with what they read.
fn check(block: &MatrixBlock) -> PyResult<()> {
    block.check_borrowed().map_err(|error| PyValueError::new_err(format!("the array was changed: {error}")))
}

/// A dense array that shows the cells of a matrix, and cannot be written to.
fn shown<'py>(py: Python<'py>, block: &MatrixBlock, rank: u8) -> PyResult<Bound<'py, PyAny>> {
    let dense = match block.layout() {
        Layout::Dense(Cow::Borrowed(_)) => block.clone(),
        _ => block.to_dense().into_owned().into(),
    };
    let (rows, cols) = dense.dims();
    let cells = Bound::new(py, Cells(dense))?;
    let numpy = numpy::module(py)?;
    let array = if rows * cols == 0 {
        numpy.call_method1("empty", (0,))?
    } else {
        numpy.call_method1("frombuffer", (cells, "float64"))?
    };
    if rank == 1 { array.call_method1("reshape", (rows * cols,)) } else { array.call_method1("reshape", (rows, cols)) }
}

/// A value as NumPy has it: an array of this rank and type, or a scalar. `copy` gives one that may be written to.
pub(crate) fn to_numpy<'py>(
    py: Python<'py>,
    value: &RuntimeValue,
    rank: u8,
    dtype: DType,
    copy: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let numpy = numpy::module(py)?;
    let block = match value {
        RuntimeValue::Matrix(block) => block,
        RuntimeValue::Scalar(scalar) => {
            let number = scalar.as_f64().ok_or_else(|| PyTypeError::new_err("the value is no number"))?;
            return numpy.getattr(class_of(dtype))?.call1((of_type(number, dtype),));
        }
        _ => return Err(PyTypeError::new_err("the value is neither a matrix nor a number")),
    };
    check(block)?;
    let array = shown(py, block, rank)?;
    match dtype {
        DType::F64 if copy => array.call_method0("copy"),
        DType::F64 => Ok(array),
        _ => {
            let quiet = PyDict::new(py);
            quiet.set_item("invalid", "ignore")?;
            quiet.set_item("over", "ignore")?;
            let errors = numpy.call_method("errstate", (), Some(&quiet))?;
            errors.call_method0("__enter__")?;
            let result = array.call_method1("astype", (dtype.name(),));
            errors.call_method1("__exit__", (py.None(), py.None(), py.None()))?;
            result
        }
    }
}

/// A value by its density: a matrix of SciPy where it is stored sparse, else as NumPy has it.
pub(crate) fn by_density<'py>(
    py: Python<'py>,
    value: &RuntimeValue,
    rank: u8,
    dtype: DType,
) -> PyResult<Bound<'py, PyAny>> {
    match value {
        RuntimeValue::Matrix(block) if rank == 2 && block.format() == Format::Sparse => to_scipy(py, block, dtype),
        _ => to_numpy(py, value, rank, dtype, true),
    }
}

/// A matrix as `scipy.sparse.csr_array`.
pub(crate) fn to_scipy<'py>(py: Python<'py>, block: &MatrixBlock, dtype: DType) -> PyResult<Bound<'py, PyAny>> {
    check(block)?;
    let csr = block.to_csr();
    let csr: &Csr = &csr;
    let array = |bytes: &[u8], dtype: &str| -> PyResult<Bound<'py, PyAny>> {
        let bytes = pyo3::types::PyByteArray::new(py, bytes);
        numpy::module(py)?.call_method1("frombuffer", (bytes, dtype))
    };
    let data = array(bytemuck::cast_slice(csr.values()), "float64")?;
    let data = if dtype == DType::F64 { data } else { data.call_method1("astype", (dtype.name(),))? };
    let (indices, offsets) = if i32::try_from(csr.nnz()).is_ok() && i32::try_from(csr.cols()).is_ok() {
        let offsets: Vec<i32> = csr.row_offsets().iter().map(|&offset| offset as i32).collect();
        (array(bytemuck::cast_slice(csr.columns()), "int32")?, array(bytemuck::cast_slice(&offsets), "int32")?)
    } else {
        let columns: Vec<i64> = csr.columns().iter().map(|&column| column.into()).collect();
        let offsets = bytemuck::cast_slice::<usize, u8>(csr.row_offsets());
        (array(bytemuck::cast_slice(&columns), "int64")?, array(offsets, "int64")?)
    };
    let parts = PyList::new(py, [data, indices, offsets])?.to_tuple();
    let shape = PyDict::new(py);
    shape.set_item("shape", (csr.rows(), csr.cols()))?;
    numpy::sparse(py)?.call_method("csr_array", (parts,), Some(&shape))
}

fn class_of(dtype: DType) -> &'static str {
    if dtype == DType::Bool { "bool_" } else { dtype.name() }
}

/// A number as an object that the class of this type takes exactly.
fn of_type(number: f64, dtype: DType) -> Number {
    match dtype {
        DType::Float(_) => Number::Float(number),
        DType::Bool => Number::Bool(number != 0.0),
        DType::Signed(_) => Number::Integer(number as i128),
        DType::Unsigned(_) => Number::Integer(number as i128),
    }
}

#[derive(IntoPyObject)]
enum Number {
    Float(f64),
    Bool(bool),
    Integer(i128),
}
