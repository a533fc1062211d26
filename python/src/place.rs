//! Where in a Python program an expression was written: the innermost frame outside of this package.

use fuseline::Place;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyString;
use std::cell::Cell;
use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;

/// A line of a Python program.
struct Line {
    code: Py<PyAny>,
    line: i32,
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Python::attach(|py| {
            let text = |object: PyResult<Bound<'_, PyAny>>| object.and_then(|object| object.extract::<String>());
            let code = self.code.bind(py);
            let file = text(code.getattr("co_filename")).unwrap_or_default();
            write!(f, "{file}:{}", self.line)?;
            let source = py.import("linecache").and_then(|cache| cache.call_method1("getline", (&file, self.line)));
            match text(source) {
                Ok(source) if !source.trim().is_empty() => write!(f, ": {}", source.trim()),
                _ => Ok(()),
            }
        })
    }
}

/// The line that Python executes.
pub(crate) fn here(py: Python<'_>) -> Place {
    Place::Foreign(Arc::new(line(py).unwrap_or_else(|| Line { code: py.None(), line: 0 })))
}

/// The frame of the function that Python executes.
fn innermost(py: Python<'_>) -> Option<Bound<'_, PyAny>> {
    // SAFETY: Python is attached; the frame is borrowed from the interpreter and kept by the reference that is made.
    unsafe { Bound::from_borrowed_ptr_or_opt(py, ffi::PyEval_GetFrame().cast()) }
}

/// The module and the name of the function that Python executes.
pub(crate) fn caller(py: Python<'_>) -> Option<(String, String)> {
    let frame = innermost(py)?;
    let globals = frame.getattr(pyo3::intern!(py, "f_globals")).ok()?;
    let module = globals.get_item(pyo3::intern!(py, "__name__")).ok()?.extract().ok()?;
    let code = frame.getattr(pyo3::intern!(py, "f_code")).ok()?;
    Some((module, code.getattr(pyo3::intern!(py, "co_name")).ok()?.extract().ok()?))
}

fn line(py: Python<'_>) -> Option<Line> {
    let mut frame = innermost(py)?;
    loop {
        let raw = frame.as_ptr().cast::<ffi::PyFrameObject>();
        // SAFETY: the object is a frame, of which these give a new reference to its code and its line.
        let (code, line) = unsafe {
            let code = Bound::from_owned_ptr_or_opt(py, ffi::PyFrame_GetCode(raw).cast())?;
            (code, ffi::PyFrame_GetLineNumber(raw))
        };
        if !is_ours(&code) {
            return Some(Line { code: code.unbind(), line });
        }
        match frame.getattr(pyo3::intern!(py, "f_back")) {
            Ok(back) if !back.is_none() => frame = back,
            _ => return Some(Line { code: code.unbind(), line }),
        }
    }
}

thread_local! {
    /// The code that was last found not to be ours: a loop builds many expressions.
    static LAST_FOREIGN: Cell<Option<NonNull<ffi::PyObject>>> = const { Cell::new(None) };
}

/// Whether a function is part of this package.
fn is_ours(code: &Bound<'_, PyAny>) -> bool {
    let address = NonNull::new(code.as_ptr());
    if LAST_FOREIGN.get() == address {
        return false;
    }
    let file = code.getattr(pyo3::intern!(code.py(), "co_filename"));
    let ours = file.ok().and_then(|file| {
        let file = file.cast_into::<PyString>().ok()?;
        Some(file.to_str().ok()?.starts_with(package_folder(code.py())))
    });
    let is_ours = ours.unwrap_or(false);
    if !is_ours {
        LAST_FOREIGN.set(address);
    }
    is_ours
}

/// The folder of the package, with a separator at its end.
fn package_folder(py: Python<'_>) -> &'static str {
    static FOLDER: pyo3::sync::PyOnceLock<String> = pyo3::sync::PyOnceLock::new();
    FOLDER.get_or_init(py, || {
        let folder = || -> PyResult<String> {
            let file: String = py.import("fuseline")?.getattr("__file__")?.extract()?;
            Ok(file.trim_end_matches("__init__.py").to_owned())
        };
        folder().unwrap_or_else(|_| "\0".to_owned())
    })
}
