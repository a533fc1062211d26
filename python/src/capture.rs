//! Arrays of NumPy, matrices of SciPy and what can be had as one of these, as inputs of expressions.
//!
//! Doubles in C order are read where they lie, when an expression is evaluated. What lies otherwise is copied here, and
//! counted. Matrices in Fortran order are read as transposes of what lies there.

use crate::dtype::{DType, Weak, check_exact};
use crate::numpy;
use crate::place;
use fuseline::ir::hop::{HopOp, ReorgOp};
use fuseline::ir::{Format, Value};
use fuseline::{Borrowed, Csr, Dense, Expr, MatrixBlock, NarrowDense, NarrowValue, Place, RuntimeValue};
use pyo3::buffer::{Element, PyBuffer};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex, PyFloat, PyInt, PyList, PyTuple};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{self, Arc, Mutex, MutexGuard, PoisonError};

/// Bytes of arrays that were copied to be read.
pub(crate) static COPIED_BYTES: AtomicU64 = AtomicU64::new(0);

/// Doubles that caches hold: narrow values are as well widened at once.
const CACHED_CELLS: usize = 1 << 19;

/// An operand: an expression, its number of dimensions and the type of its elements.
#[derive(Clone)]
pub(crate) struct Operand {
    pub(crate) expr: Expr,
    pub(crate) rank: u8,
    pub(crate) kind: Kind,
}

/// The type of an operand's elements.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    Of(DType),
    Weak(Weak),
}

impl Kind {
    pub(crate) fn dtype(self) -> DType {
        match self {
            Kind::Of(dtype) => dtype,
            Kind::Weak(weak) => weak.dtype(),
        }
    }

    /// The type of an operation on both.
    pub(crate) fn with(self, other: Kind) -> DType {
        match (self, other) {
            (Kind::Of(one), Kind::Of(other)) => one.with(other),
            (Kind::Of(dtype), Kind::Weak(weak)) | (Kind::Weak(weak), Kind::Of(dtype)) => dtype.with_weak(weak),
            (Kind::Weak(one), Kind::Weak(other)) => one.max(other).dtype(),
        }
    }
}

impl Operand {
    fn array(expr: Expr, rank: u8, dtype: DType) -> Self {
        Operand { expr, rank, kind: Kind::Of(dtype) }
    }

    /// Refuses a whole number of Python itself that an array of this type does not hold.
    pub(crate) fn check_fits(&self, dtype: DType) -> PyResult<()> {
        if self.kind != Kind::Weak(Weak::Int) {
            return Ok(());
        }
        match self.expr.known_value() {
            Some(RuntimeValue::Scalar(Value::I64(integer))) => dtype.check_holds(integer.into()),
            Some(RuntimeValue::Scalar(Value::F64(integer))) => dtype.check_holds(integer as i128),
            _ => Ok(()),
        }
    }
}

/// An object as an operand; `None` for what is no array and no number.
pub(crate) fn operand(object: &Bound<'_, PyAny>) -> PyResult<Option<Operand>> {
    let py = object.py();
    if let Some(number) = python_number(object)? {
        return Ok(Some(number));
    }
    if numpy::is_ndarray(object)? {
        return ndarray(object, false).map(Some);
    }
    if object.is_instance_of::<PyComplex>() {
        return Err(PyTypeError::new_err("complex numbers are not supported"));
    }
    if numpy::is_sparse(object)? {
        return sparse(object, false).map(Some);
    }
    let is_array = object.is_instance_of::<PyList>()
        || object.is_instance_of::<PyTuple>()
        || object.hasattr(pyo3::intern!(py, "__array__"))?
        || object.hasattr(pyo3::intern!(py, "__array_interface__"))?;
    if is_array {
        let array = numpy::module(py)?.call_method1(pyo3::intern!(py, "asarray"), (object,))?;
        return ndarray(&array, false).map(Some);
    }
    if object.hasattr(pyo3::intern!(py, "__dlpack__"))? {
        let array = numpy::module(py)?.call_method1(pyo3::intern!(py, "from_dlpack"), (object,))?;
        return ndarray(&array, false).map(Some);
    }
    Ok(None)
}

/// A number of Python itself.
fn python_number(object: &Bound<'_, PyAny>) -> PyResult<Option<Operand>> {
    let (value, weak) = if let Ok(number) = object.cast_exact::<PyFloat>() {
        (Value::F64(number.value()), Weak::Float)
    } else if object.is_instance_of::<PyBool>() {
        (Value::I64(object.extract::<bool>()?.into()), Weak::Bool)
    } else if object.is_instance_of::<PyInt>() {
        let value = match object.extract::<i64>() {
            Ok(value) => Value::I64(value),
            Err(_) => Value::F64(object.extract()?),
        };
        (value, Weak::Int)
    } else {
        return Ok(None);
    };
    let expr = Expr::value_at(value, place::here(object.py()));
    Ok(Some(Operand { expr, rank: 0, kind: Kind::Weak(weak) }))
}

/// An object as a matrix, with a copy of what it holds or without.
///
/// # Errors
/// It is no array, or one that is not supported.
pub(crate) fn captured(object: &Bound<'_, PyAny>, copy: bool) -> PyResult<Operand> {
    if copy && numpy::is_ndarray(object)? {
        return ndarray(object, true);
    }
    if copy && numpy::is_sparse(object)? {
        return sparse(object, true);
    }
    operand(object)?.ok_or_else(|| {
        let class = object.get_type().name().map_or_else(|_| "object".to_owned(), |name| name.to_string());
        PyTypeError::new_err(format!(
            "a {class} is no array: matrices are made of NumPy arrays, SciPy matrices, and what has __array__, \
             __dlpack__ or the buffer protocol"
        ))
    })
}

/// An array of NumPy, also one without dimensions.
fn ndarray(array: &Bound<'_, PyAny>, copy: bool) -> PyResult<Operand> {
    let py = array.py();
    if array.hasattr(pyo3::intern!(py, "mask"))? {
        return Err(PyTypeError::new_err("masked arrays are not supported: write .filled(value) first"));
    }
    let shape: Vec<usize> = array.getattr(pyo3::intern!(py, "shape"))?.extract()?;
    let dtype = DType::of(&array.getattr(pyo3::intern!(py, "dtype"))?)?;
    let place = place::here(py);
    let (rows, cols) = match shape[..] {
        [] => {
            let value = scalar(array, dtype)?;
            return Ok(Operand::array(Expr::value_at(value, place), 0, dtype));
        }
        [rows] => (rows, 1),
        [rows, cols] => (rows, cols),
        _ => {
            return Err(PyValueError::new_err(format!(
                "an array of {} dimensions, {shape:?}: matrices have two, vectors one",
                shape.len()
            )));
        }
    };
    let rank = shape.len() as u8;
    let is_native: bool =
        array.getattr(pyo3::intern!(py, "dtype"))?.getattr(pyo3::intern!(py, "isnative"))?.extract()?;
    let native = if is_native { array.clone() } else { converted(array, dtype.name())? };
    let (array, copy) = (&native, copy && is_native);
    if rank == 2 && rows > 1 && cols > 1 && !copy && is_fortran(array)? {
        let turned = block(&array.getattr(pyo3::intern!(py, "T"))?, dtype, cols, rows, copy)?;
        let turned = Expr::value_at(turned, place.clone());
        return Ok(Operand::array(turned_once(&turned, place), rank, dtype));
    }
    let block = block(array, dtype, rows, cols, copy)?;
    Ok(Operand::array(Expr::value_at(block, place), rank, dtype))
}

/// The transpose of what lies by columns. It stays once something needs its rows.
fn turned_once(turned: &Expr, place: Place) -> Expr {
    let expr = Expr::apply_at(HopOp::Reorg(ReorgOp::Transpose), &[turned], place);
    expr.keep();
    expr
}

/// The number that an array without dimensions holds.
fn scalar(array: &Bound<'_, PyAny>, dtype: DType) -> PyResult<Value> {
    let item = array.call_method0(pyo3::intern!(array.py(), "item"))?;
    Ok(match dtype {
        DType::Float(_) => Value::F64(item.extract()?),
        DType::Bool => Value::I64(item.extract::<bool>()?.into()),
        _ => {
            let integer = item.extract::<i128>()?;
            check_exact(integer)?;
            Value::I64(integer as i64)
        }
    })
}

fn is_fortran(array: &Bound<'_, PyAny>) -> PyResult<bool> {
    array.getattr(pyo3::intern!(array.py(), "flags"))?.getattr(pyo3::intern!(array.py(), "f_contiguous"))?.extract()
}

/// The cells of an array.
fn block(array: &Bound<'_, PyAny>, dtype: DType, rows: usize, cols: usize, copy: bool) -> PyResult<MatrixBlock> {
    let py = array.py();
    let is_large = rows * cols > CACHED_CELLS;
    match dtype {
        DType::F64 if !copy => {
            if let Some(values) = lent(array, Writer::Others)? {
                return Ok(Dense::borrowed(rows, cols, values).map_err(invalid)?.into());
            }
        }
        DType::F32 if is_large => return narrow::<f32>(py, array, "float32", rows, cols),
        DType::Signed(4) if is_large => return narrow::<i32>(py, array, "int32", rows, cols),
        DType::Unsigned(1) | DType::Bool if is_large => return narrow::<u8>(py, array, "uint8", rows, cols),
        _ => {}
    }
    if matches!(dtype, DType::Signed(8) | DType::Unsigned(8)) && rows * cols > 0 {
        for extreme in ["min", "max"] {
            check_exact(array.call_method0(extreme)?.call_method0("item")?.extract()?)?;
        }
    }
    let array = converted(array, "float64")?;
    let values = lent(&array, Writer::Nobody)?.ok_or_else(|| PyValueError::new_err("the array has no buffer"))?;
    Ok(Dense::borrowed(rows, cols, values).map_err(invalid)?.into())
}

/// A copy of an array in C order.
fn converted<'py>(array: &Bound<'py, PyAny>, dtype: &str) -> PyResult<Bound<'py, PyAny>> {
    let array = numpy::module(array.py())?.call_method1("array", (array, dtype))?;
    let array = numpy::module(array.py())?.call_method1("ascontiguousarray", (array,))?;
    let bytes: u64 = array.getattr("nbytes")?.extract()?;
    COPIED_BYTES.fetch_add(bytes, Ordering::Relaxed);
    Ok(array)
}

/// A copy of values that the engine keeps narrow.
fn narrow<T: Element + NarrowValue>(
    py: Python<'_>,
    array: &Bound<'_, PyAny>,
    dtype: &str,
    rows: usize,
    cols: usize,
) -> PyResult<MatrixBlock> {
    let array = numpy::module(py)?.call_method1("asarray", (array, dtype))?;
    let values = PyBuffer::<T>::get(&array)?.to_vec(py)?;
    COPIED_BYTES.fetch_add(size_of_val(&values[..]) as u64, Ordering::Relaxed);
    Ok(NarrowDense::from_vec(rows, cols, values).into())
}

/// The buffer of an array that lies in C order, which the array must keep as long as this lives.
struct Lent<T: Element>(PyBuffer<T>);

/// The buffer of column indexes, with the array that is made read-only while they are read.
struct LentIndexes {
    buffer: Lent<i32>,
    _array: Arc<Py<PyAny>>,
}

impl<T: Element> Lent<T> {
    fn bytes(&self) -> &[u8] {
        if self.0.item_count() == 0 {
            return &[];
        }
        // SAFETY: the exporter keeps the bytes in place until the buffer is released. Others may write to them. Of values an
        // evaluation may then read those before or after, of which every one is a number. Indexes are checked before each
        // evaluation, and the array that has them is read-only during it; who writes to them all the same, through another
        // array over the same memory, breaks that promise.
        unsafe { std::slice::from_raw_parts(self.0.buf_ptr().cast(), self.0.len_bytes()) }
    }
}

/// Who may write to an array that is read where it lies.
#[derive(Clone, Copy, PartialEq)]
enum Writer {
    /// Whoever else has it.
    Others,
    /// Nobody: it was made here.
    Nobody,
}

/// The values of an array where they lie; `None` where they are of another type, turned, with gaps or not aligned.
fn lent<T: Element + bytemuck::Pod + Send + Sync>(
    array: &Bound<'_, PyAny>,
    writer: Writer,
) -> PyResult<Option<Borrowed<T>>> {
    let Ok(buffer) = PyBuffer::<T>::get(array) else { return Ok(None) };
    if !buffer.is_c_contiguous() {
        return Ok(None);
    }
    let values = Borrowed::new(Arc::new(Lent(buffer)), |lent| lent.bytes()).map_err(invalid)?;
    Ok(Some(if writer == Writer::Nobody { values } else { values.changing() }))
}

fn invalid(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// A matrix of SciPy.
fn sparse(matrix: &Bound<'_, PyAny>, copy: bool) -> PyResult<Operand> {
    let py = matrix.py();
    let shape: Vec<usize> = matrix.getattr("shape")?.extract()?;
    let dtype = DType::of(&matrix.getattr("dtype")?)?;
    let place = place::here(py);
    let format: String = matrix.getattr("format")?.extract()?;
    let &[rows, cols] = &shape[..] else {
        let column = matrix.call_method1("reshape", ((-1, 1),))?;
        let Operand { expr, .. } = sparse(&column, copy)?;
        return Ok(Operand::array(expr, 1, dtype));
    };
    if format == "csc" {
        let turned = Expr::value_at(csr(&matrix.getattr("T")?, Writer::Others, cols, rows, copy)?, place.clone());
        return Ok(Operand::array(turned_once(&turned, place), 2, dtype));
    }
    let (matrix, writer) = match &*format {
        "csr" => (matrix.clone(), Writer::Others),
        _ => (counted(matrix.call_method0("tocsr")?)?, Writer::Nobody),
    };
    let copy = copy && writer == Writer::Others;
    Ok(Operand::array(Expr::value_at(csr(&matrix, writer, rows, cols, copy)?, place), 2, dtype))
}

/// A matrix in CSR format. Its offsets are copied, its columns and values are read where they lie where they can be.
fn csr(matrix: &Bound<'_, PyAny>, mut writer: Writer, rows: usize, cols: usize, copy: bool) -> PyResult<MatrixBlock> {
    let mut matrix = matrix.clone();
    if copy || !matrix.getattr("has_canonical_format")?.extract::<bool>()? {
        matrix = counted(matrix.call_method0("copy")?)?;
        matrix.call_method0("sum_duplicates")?;
        writer = Writer::Nobody;
    }
    let data = matrix.getattr("data")?;
    let values = match lent::<f64>(&data, writer)? {
        Some(values) => values,
        None => {
            lent(&converted(&data, "float64")?, Writer::Nobody)?.ok_or_else(|| PyValueError::new_err("no buffer"))?
        }
    };
    let indices = matrix.getattr("indices")?;
    let columns = match lent_columns(&indices, writer)? {
        Some(columns) => columns,
        None => {
            if i32::try_from(cols).is_err() {
                return Err(PyValueError::new_err(format!("{cols} are more columns than a sparse matrix may have")));
            }
            lent_columns(&converted(&indices, "int32")?, Writer::Nobody)?
                .ok_or_else(|| PyValueError::new_err("no buffer"))?
        }
    };
    let offsets = converted(&matrix.getattr("indptr")?, "int64")?;
    let offsets: Vec<i64> = PyBuffer::<i64>::get(&offsets)?.to_vec(matrix.py())?;
    let offsets: Result<Vec<usize>, _> = offsets.into_iter().map(usize::try_from).collect();
    let offsets = offsets.map_err(|_| PyValueError::new_err("row offsets are negative"))?;
    let offsets = Borrowed::new(Arc::new(offsets), |offsets| bytemuck::cast_slice(offsets)).map_err(invalid)?;
    Ok(Csr::borrowed(rows, cols, offsets, columns, values).map_err(invalid)?.into())
}

/// Arrays of column indexes that are read where they lie, by their addresses, and those that evaluations are reading.
struct Indexes {
    arrays: BTreeMap<usize, Vec<sync::Weak<Py<PyAny>>>>,
    frozen: Vec<Frozen>,
}

/// An array that was made read-only for so many evaluations.
struct Frozen {
    array: Arc<Py<PyAny>>,
    evaluations: usize,
}

/// The arrays that an evaluation reads.
pub(crate) struct Reading(Vec<Arc<Py<PyAny>>>);

static INDEXES: Mutex<Indexes> = Mutex::new(Indexes { arrays: BTreeMap::new(), frozen: Vec::new() });

fn indexes() -> MutexGuard<'static, Indexes> {
    INDEXES.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Indexes {
    /// The arrays of column indexes that lie at these addresses; forgets those that are gone.
    fn at(&mut self, addresses: &[usize]) -> Vec<Arc<Py<PyAny>>> {
        self.arrays.retain(|_, arrays| {
            arrays.retain(|array| array.strong_count() > 0);
            !arrays.is_empty()
        });
        let arrays = addresses.iter().filter_map(|address| self.arrays.get(address)).flatten();
        arrays.filter_map(sync::Weak::upgrade).collect()
    }

    /// Counts one more evaluation of an array that is read-only for others already.
    fn joins(&mut self, array: &Arc<Py<PyAny>>) -> bool {
        let frozen = self.frozen.iter_mut().find(|frozen| Arc::ptr_eq(&frozen.array, array));
        frozen.map(|frozen| frozen.evaluations += 1).is_some()
    }

    /// Counts one evaluation less, and says whether it was the last one.
    fn leaves(&mut self, array: &Arc<Py<PyAny>>) -> bool {
        let Some(position) = self.frozen.iter().position(|frozen| Arc::ptr_eq(&frozen.array, array)) else {
            return false;
        };
        self.frozen[position].evaluations -= 1;
        let is_last = self.frozen[position].evaluations == 0;
        if is_last {
            self.frozen.swap_remove(position);
        }
        is_last
    }
}

/// The addresses of the column indexes of sparse matrices.
fn addresses(values: &[RuntimeValue]) -> Vec<usize> {
    let (mut addresses, mut left): (Vec<usize>, Vec<&RuntimeValue>) = (Vec::new(), values.iter().collect());
    while let Some(value) = left.pop() {
        match value {
            RuntimeValue::Matrix(block) if block.format() == Format::Sparse => {
                addresses.push(block.to_csr().columns().as_ptr().addr());
            }
            RuntimeValue::List(list) => left.extend(list.elements.iter().map(|element| &element.value)),
            RuntimeValue::Matrix(_) | RuntimeValue::Scalar(_) | RuntimeValue::Frame(_) => {}
        }
    }
    addresses.sort_unstable();
    addresses.dedup();
    addresses
}

/// Makes the column indexes that these values read where they lie read-only, until [`thaw`]: they are checked before the
/// evaluation, and code trusts them. Python is attached in both, so that no other thread of it comes in between. Nothing of
/// Python is called while the list is locked: who waits for the list keeps Python from whoever has it.
pub(crate) fn freeze(py: Python<'_>, values: impl FnOnce() -> Vec<RuntimeValue>) -> PyResult<Reading> {
    let mut reading = Reading(Vec::new());
    if indexes().arrays.is_empty() {
        return Ok(reading);
    }
    let addresses = addresses(&values());
    let arrays = indexes().at(&addresses);
    for array in arrays {
        if indexes().joins(&array) {
            reading.0.push(array);
            continue;
        }
        match make_read_only(array.bind(py)) {
            Ok(false) => {}
            Ok(true) => {
                indexes().frozen.push(Frozen { array: Arc::clone(&array), evaluations: 1 });
                reading.0.push(array);
            }
            Err(error) => {
                thaw(py, reading);
                return Err(error);
            }
        }
    }
    Ok(reading)
}

/// Makes an array read-only, and says whether it was not. Names are not interned: to intern one is to detach from Python.
fn make_read_only(array: &Bound<'_, PyAny>) -> PyResult<bool> {
    let flags = array.getattr("flags")?;
    let is_writeable = flags.getattr("writeable")?.extract()?;
    if is_writeable {
        flags.setattr("writeable", false)?;
    }
    Ok(is_writeable)
}

/// Gives column indexes back to whoever wants to write to them, once no evaluation reads them.
pub(crate) fn thaw(py: Python<'_>, reading: Reading) {
    let mut left: Vec<Arc<Py<PyAny>>> = reading.0.into_iter().filter(|array| indexes().leaves(array)).collect();
    loop {
        let count = left.len();
        // A view stays read-only as long as the array that it shows is. One that lost its memory meanwhile stays so for good.
        left.retain(|array| {
            let flags = array.bind(py).getattr("flags");
            flags.and_then(|flags| flags.setattr("writeable", true)).is_err()
        });
        if left.len() == count {
            return;
        }
    }
}

/// Column indexes of 32 bits where they lie; negative ones are beyond any number of columns.
fn lent_columns(indices: &Bound<'_, PyAny>, writer: Writer) -> PyResult<Option<Borrowed<u32>>> {
    let Ok(buffer) = PyBuffer::<i32>::get(indices) else { return Ok(None) };
    if !buffer.is_c_contiguous() {
        return Ok(None);
    }
    if writer == Writer::Nobody {
        let columns = Borrowed::<u32>::new(Arc::new(Lent(buffer)), |lent| lent.bytes()).map_err(invalid)?;
        return Ok(Some(columns));
    }
    let array = Arc::new(indices.clone().unbind());
    let address = buffer.buf_ptr().addr();
    self::indexes().arrays.entry(address).or_default().push(Arc::downgrade(&array));
    let owner = LentIndexes { buffer: Lent(buffer), _array: array };
    let columns = Borrowed::<u32>::new(Arc::new(owner), |owner| owner.buffer.bytes()).map_err(invalid)?;
    Ok(Some(columns.changing()))
}

/// A matrix of SciPy that was made here, whose bytes count as copied.
fn counted(matrix: Bound<'_, PyAny>) -> PyResult<Bound<'_, PyAny>> {
    for part in ["data", "indices"] {
        let bytes: u64 = matrix.getattr(part)?.getattr("nbytes")?.extract()?;
        COPIED_BYTES.fetch_add(bytes, Ordering::Relaxed);
    }
    Ok(matrix)
}
