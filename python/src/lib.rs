//! The Python package `fuseline`: lazy arrays over NumPy and SciPy, functions that are compiled, scripts.
//!
//! Nothing is decided here: expressions are those of the library, which the engine compiles. What is here are NumPy's
//! rules (numbers of dimensions, types, broadcasting), the memory of arrays, and manners (signals, forks, exceptions).
#![expect(clippy::needless_pass_by_value, reason = "arguments from Python are handed over by value")]

mod array;
mod broadcast;
mod capture;
mod division;
mod dtype;
mod error;
mod export;
mod functions;
mod index;
mod jit;
mod look;
mod loops;
mod numpy;
mod operation;
mod place;
mod progress;
mod reduce;
mod script;
mod session;
mod tree;
mod value;

use pyo3::prelude::*;

/// The threads that computations take where no option says how many.
#[pyfunction]
fn default_threads() -> usize {
    session::default_threads()
}

/// Waits for what is being compiled, before the process ends.
#[pyfunction]
fn finish(py: Python<'_>) {
    py.detach(fuseline::finish_compilation);
}

#[pymodule(gil_used = true)]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("HAS_LLVM", cfg!(any(feature = "llvm22", feature = "llvm19", feature = "llvm22-static")))?;
    module.add("CompileError", module.py().get_type::<error::CompileError>())?;
    module.add("ExecutionError", module.py().get_type::<error::ExecutionError>())?;
    module.add_class::<array::Array>()?;
    module.add_class::<jit::Jit>()?;
    module.add_class::<session::Options>()?;
    module.add("OPTIONS", session::variable(module.py())?)?;
    for function in [
        wrap_pyfunction!(functions::matrix, module)?,
        wrap_pyfunction!(functions::compute, module)?,
        wrap_pyfunction!(functions::where_, module)?,
        wrap_pyfunction!(functions::binary, module)?,
        wrap_pyfunction!(functions::matmul, module)?,
        wrap_pyfunction!(functions::concatenate, module)?,
        wrap_pyfunction!(functions::full, module)?,
        wrap_pyfunction!(functions::sequence, module)?,
        wrap_pyfunction!(functions::rand, module)?,
        wrap_pyfunction!(functions::numeric, module)?,
        wrap_pyfunction!(functions::diag, module)?,
        wrap_pyfunction!(functions::rint, module)?,
        wrap_pyfunction!(functions::read_file, module)?,
        wrap_pyfunction!(loops::while_loop, module)?,
        wrap_pyfunction!(loops::fori_loop, module)?,
        wrap_pyfunction!(look::explain_text, module)?,
        wrap_pyfunction!(look::explain_svg, module)?,
        wrap_pyfunction!(look::stats, module)?,
        wrap_pyfunction!(script::run_script, module)?,
        wrap_pyfunction!(script::library, module)?,
        wrap_pyfunction!(default_threads, module)?,
    ] {
        module.add_function(function)?;
    }
    let finish = wrap_pyfunction!(finish, module)?;
    module.py().import("atexit")?.call_method1("register", (finish,))?;
    Ok(())
}
