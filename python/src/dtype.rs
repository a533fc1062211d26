//! Element types of arrays, as NumPy names and combines them. The engine computes with doubles; the type says what a
//! result is given back as.

use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyString;

/// The integers up to which doubles hold all.
pub(crate) const EXACT: i128 = 1 << 53;

/// Refuses integers that doubles do not hold.
pub(crate) fn check_exact(integer: i128) -> PyResult<()> {
    if (-EXACT..=EXACT).contains(&integer) {
        return Ok(());
    }
    Err(PyValueError::new_err(
        "integers beyond 2**53 are not exact in double precision, in which everything is computed: write \
         .astype(\"float64\"), or float(n) of a number, where that does not matter",
    ))
}

/// The type of an array's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum DType {
    Bool,
    Unsigned(u8),
    Signed(u8),
    Float(u8),
}

/// What a number of Python itself is: it takes the type of the array beside it, within its kind (NEP 50).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Weak {
    Bool,
    Int,
    Float,
}

impl DType {
    pub(crate) const F32: DType = DType::Float(4);
    pub(crate) const F64: DType = DType::Float(8);
    pub(crate) const I64: DType = DType::Signed(8);

    /// The type of a NumPy dtype.
    ///
    /// # Errors
    /// Complex numbers, objects, texts, dates, and floating point numbers other than single and double precision.
    pub(crate) fn of(dtype: &Bound<'_, PyAny>) -> PyResult<DType> {
        let kind: String = dtype.getattr("kind")?.extract()?;
        let size: u8 = dtype.getattr("itemsize")?.extract().unwrap_or(0);
        match (kind.as_str(), size) {
            ("b", _) => Ok(DType::Bool),
            ("u", 1 | 2 | 4 | 8) => Ok(DType::Unsigned(size)),
            ("i", 1 | 2 | 4 | 8) => Ok(DType::Signed(size)),
            ("f", 4 | 8) => Ok(DType::Float(size)),
            _ => {
                let help = if kind == "f" { "; write .astype(\"float64\") first" } else { "" };
                Err(PyTypeError::new_err(format!(
                    "arrays of {dtype} are not supported: truth values, integers, float32 and float64 are{help}"
                )))
            }
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            DType::Bool => "bool",
            DType::Unsigned(1) => "uint8",
            DType::Unsigned(2) => "uint16",
            DType::Unsigned(4) => "uint32",
            DType::Unsigned(_) => "uint64",
            DType::Signed(1) => "int8",
            DType::Signed(2) => "int16",
            DType::Signed(4) => "int32",
            DType::Signed(_) => "int64",
            DType::Float(4) => "float32",
            DType::Float(_) => "float64",
        }
    }

    /// The NumPy dtype.
    pub(crate) fn to_numpy<'py>(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        crate::numpy::module(py)?.call_method1("dtype", (PyString::intern(py, self.name()),))
    }

    pub(crate) fn is_float(self) -> bool {
        matches!(self, DType::Float(_))
    }

    pub(crate) fn is_integer(self) -> bool {
        matches!(self, DType::Signed(_) | DType::Unsigned(_))
    }

    /// The type of an operation on both: NumPy's `result_type`.
    pub(crate) fn with(self, other: DType) -> DType {
        use DType::{Bool, Float, Signed, Unsigned};
        match (self, other) {
            (Bool, other) => other,
            (one, Bool) => one,
            (Signed(one), Signed(other)) => Signed(one.max(other)),
            (Unsigned(one), Unsigned(other)) => Unsigned(one.max(other)),
            (Float(one), Float(other)) => Float(one.max(other)),
            (Signed(signed), Unsigned(unsigned)) | (Unsigned(unsigned), Signed(signed)) => {
                match (2 * unsigned).max(signed) {
                    bytes @ ..=8 => Signed(bytes),
                    _ => DType::F64,
                }
            }
            // Single precision holds integers of 16 bits.
            (Float(float), Signed(bytes) | Unsigned(bytes)) | (Signed(bytes) | Unsigned(bytes), Float(float)) => {
                if bytes <= 2 {
                    Float(float)
                } else {
                    DType::F64
                }
            }
        }
    }

    /// Refuses a whole number of Python itself that takes this type and is beyond its range.
    pub(crate) fn check_holds(self, integer: i128) -> PyResult<()> {
        let (least, most) = match self {
            DType::Signed(bytes @ ..8) => (-(1_i128 << (8 * bytes - 1)), (1 << (8 * bytes - 1)) - 1),
            DType::Unsigned(bytes @ ..8) => (0, (1 << (8 * bytes)) - 1),
            DType::Unsigned(_) => (0, i128::MAX),
            DType::Bool | DType::Signed(_) | DType::Float(_) => (i128::MIN, i128::MAX),
        };
        if !(least..=most).contains(&integer) {
            let message = format!("Python integer {integer} out of bounds for {}", self.name());
            return Err(PyOverflowError::new_err(message));
        }
        if self.is_float() { Ok(()) } else { check_exact(integer) }
    }

    /// The type of an operation with a number of Python itself.
    pub(crate) fn with_weak(self, weak: Weak) -> DType {
        match (self, weak) {
            (DType::Bool, Weak::Int) => DType::I64,
            (DType::Bool | DType::Signed(_) | DType::Unsigned(_), Weak::Float) => DType::F64,
            (dtype, _) => dtype,
        }
    }

    /// The type of a function whose values are not integers: what NumPy's `exp` gives.
    pub(crate) fn as_float(self) -> DType {
        match self {
            DType::Float(_) => self,
            DType::Signed(2) | DType::Unsigned(2) => DType::F32,
            // NumPy computes functions of small integers in half precision, which is not supported.
            DType::Bool | DType::Signed(1) | DType::Unsigned(1) => DType::F32,
            DType::Signed(_) | DType::Unsigned(_) => DType::F64,
        }
    }

    /// The type of sums and products: small integers are added up in 64 bits.
    pub(crate) fn of_sum(self) -> DType {
        match self {
            DType::Bool | DType::Signed(_) => DType::I64,
            DType::Unsigned(_) => DType::Unsigned(8),
            DType::Float(_) => self,
        }
    }
}

impl Weak {
    pub(crate) fn dtype(self) -> DType {
        match self {
            Weak::Bool => DType::Bool,
            Weak::Int => DType::I64,
            Weak::Float => DType::F64,
        }
    }
}
