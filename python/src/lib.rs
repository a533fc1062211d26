//! Fuseline as a module of Python.

use pyo3::prelude::pymodule;

/// The native part of the package `fuseline`.
#[pymodule]
mod _native {
    use fuseline::{BackendKind, CompileOptions, Session, Variables};
    use pyo3::exceptions::PyRuntimeError;
    use pyo3::prelude::{PyResult, Python, pyfunction};

    /// Whether fused operators become machine code; without LLVM they are interpreted.
    #[pymodule_export]
    const HAS_LLVM: bool = cfg!(any(feature = "llvm22", feature = "llvm19", feature = "llvm22-static"));

    /// The version of Fuseline.
    #[pyfunction]
    fn version() -> &'static str {
        env!("CARGO_PKG_VERSION")
    }

    /// Runs a DML script and gives what it printed.
    #[pyfunction]
    fn run_script(python: Python<'_>, text: &str) -> PyResult<String> {
        python.detach(|| printed(text)).map_err(|error| PyRuntimeError::new_err(error.to_string()))
    }

    fn printed(text: &str) -> Result<String, fuseline::Error> {
        let options = CompileOptions { backend: BackendKind::for_measurement(), ..CompileOptions::default() };
        let session = Session::new(options)?;
        let script = session.compile_script("<text>", text, &[])?;
        let mut printed = Vec::new();
        session.run(&script, Variables::new(), &mut printed)?;
        Ok(String::from_utf8_lossy(&printed).into_owned())
    }
}
