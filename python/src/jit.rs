//! `fuseline.jit`: functions of arrays that are traced once for each combination of types and numbers of dimensions, and
//! then run as one compiled program.

use crate::array::Array;
use crate::capture::{self, Kind};
use crate::dtype::{DType, Weak};
use crate::session::{self, Evaluator};
use crate::tree::{Arguments, Tree, container};
use crate::value::values_of;
use crate::{loops, place};
use fuseline::ir::{DataType, SizeInfo};
use fuseline::{CompiledExprs, Expr, RuntimeValue, Variables};
use pyo3::exceptions::{PyTypeError, PyUserWarning, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use pyo3::{PyTraverseError, PyVisit};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Traces of one function before it is told that arguments keep changing it.
const MANY_TRACES: usize = 20;

thread_local! {
    /// Whether the function that is traced has looked at a shape.
    static HAS_SEEN_SHAPE: Cell<bool> = const { Cell::new(false) };
    /// Whether the function that is traced has drawn random numbers without a seed.
    static HAS_DRAWN: Cell<bool> = const { Cell::new(false) };
}

/// Notes that random numbers were drawn without a seed: those of a trace are not those of each iteration of a loop.
pub(crate) fn observe_draw() {
    HAS_DRAWN.set(true);
}

/// Notes that a shape was looked at: what is traced holds for this shape alone.
pub(crate) fn observe_shape() {
    HAS_SEEN_SHAPE.set(true);
}

/// Whether an expression depends on the arguments of a function that is being traced.
pub(crate) fn is_traced(expr: &Expr) -> bool {
    expr.is_symbolic()
}

/// The error for a value that a traced function asks for.
pub(crate) fn traced_value() -> PyErr {
    PyTypeError::new_err(
        "within a function under fl.jit, or a loop's body, an array has no value yet: use fl.where in place of if, and \
         fl.while_loop or fl.fori_loop in place of loops that depend on data",
    )
}

/// The type of an argument, as far as a trace depends on it.
#[derive(Clone, Debug, PartialEq)]
struct Argument {
    rank: u8,
    kind: ArgumentKind,
    /// Along which axes there is one cell, which repeats beside others.
    single: [bool; 2],
    dims: Option<(u64, u64)>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum ArgumentKind {
    Of(DType),
    Weak(Weak),
}

impl Argument {
    fn of(operand: &capture::Operand) -> Argument {
        let dims = operand.expr.size().known_dims().filter(|_| operand.rank > 0);
        let single = dims.map_or([false; 2], |(rows, cols)| [rows == 1, cols == 1]);
        let kind = match operand.kind {
            Kind::Of(dtype) => ArgumentKind::Of(dtype),
            Kind::Weak(weak) => ArgumentKind::Weak(weak),
        };
        Argument { rank: operand.rank, kind, single, dims }
    }

    /// Whether a trace for one serves the other.
    fn serves(&self, other: &Argument, with_dims: bool) -> bool {
        self.rank == other.rank
            && self.kind == other.kind
            && self.single == other.single
            && (!with_dims || self.dims == other.dims)
    }
}

/// A name that no other symbol of this process has: arrays of one function must not be taken for those of another.
fn symbol_name() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    format!("argument{}", COUNT.fetch_add(1, Ordering::Relaxed))
}

/// A traced function.
struct Trace {
    structure: Tree,
    arguments: Vec<Argument>,
    /// The symbols of the arguments.
    names: Vec<String>,
    /// Whether the function looked at shapes.
    depends_on_dims: bool,
    /// Whether the function drew random numbers without a seed.
    draws: bool,
    exprs: CompiledExprs,
    /// The session that compiled the expressions.
    evaluator: &'static Evaluator,
    results: Tree,
    types: Vec<(u8, DType)>,
}

/// A function of arrays that is compiled when it is called: see `fuseline.jit`.
#[pyclass(frozen, dict, weakref, module = "fuseline._native")]
pub(crate) struct Jit {
    function: Py<PyAny>,
    traces: Mutex<Vec<Arc<Trace>>>,
}

#[pymethods]
impl Jit {
    #[new]
    fn new(function: Py<PyAny>) -> Jit {
        Jit { function, traces: Mutex::default() }
    }

    #[pyo3(signature = (*args, **kwargs))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut parts = Arguments::default();
        let positional = parts.tree(args)?;
        let named = match kwargs {
            Some(kwargs) => parts.tree(kwargs)?,
            None => Tree::Dict(Vec::new()),
        };
        let structure = Tree::Tuple(vec![positional, named]);
        if parts.operands.iter().any(|operand| is_traced(&operand.expr)) {
            // Within another function it is part of that one's trace.
            return self.function.bind(py).call(args, kwargs);
        }
        let arguments: Vec<Argument> = parts.operands.iter().map(Argument::of).collect();
        let trace = match self.found(py, &structure, &arguments)? {
            Some(trace) => Some(trace),
            None => self.trace(py, structure, arguments, &parts.operands)?,
        };
        match trace {
            Some(trace) if !(trace.draws && loops::is_within_iteration()) => {
                if trace.draws {
                    observe_draw();
                }
                run(py, &trace, &parts.operands)
            }
            _ => self.function.bind(py).call(args, kwargs),
        }
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.function)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let function: String = self.function.bind(py).repr()?.extract()?;
        Ok(format!("fuseline.jit({function})"))
    }

    /// How many combinations of arguments the function was traced for.
    #[getter]
    fn traces(&self) -> usize {
        self.traces.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    fn __get__<'py>(
        slf: &Bound<'py, Self>,
        object: &Bound<'py, PyAny>,
        _class: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if object.is_none() {
            return Ok(slf.clone().into_any());
        }
        slf.py().import("types")?.getattr("MethodType")?.call1((slf, object))
    }

    /// Pickles as the function that it wraps, which the other process compiles.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let py = slf.py();
        let restore = py.import("fuseline")?.getattr("_restore_jit")?;
        let function = slf.get().function.bind(py);
        let names = (function.getattr("__module__")?, function.getattr("__qualname__")?);
        Ok((restore, names.into_pyobject(py)?))
    }
}

impl Jit {
    fn found(&self, py: Python<'_>, structure: &Tree, arguments: &[Argument]) -> PyResult<Option<Arc<Trace>>> {
        let evaluator = session::current(py)?;
        let traces = self.traces.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for trace in traces {
            let serves = |(known, given): (&Argument, &Argument)| known.serves(given, trace.depends_on_dims);
            let fits = std::ptr::eq(trace.evaluator, evaluator)
                && trace.arguments.len() == arguments.len()
                && trace.arguments.iter().zip(arguments).all(serves);
            if fits && trace.structure.is_like(py, structure)? {
                return Ok(Some(trace));
            }
        }
        Ok(None)
    }

    /// Calls the function with symbols, and compiles what it makes of them. `None` where that depends on the arguments of
    /// another function that is being traced, of which it is a part then.
    fn trace(
        &self,
        py: Python<'_>,
        structure: Tree,
        arguments: Vec<Argument>,
        operands: &[capture::Operand],
    ) -> PyResult<Option<Arc<Trace>>> {
        let place = place::here(py);
        let names: Vec<String> = operands.iter().map(|_| symbol_name()).collect();
        let symbols = operands.iter().zip(&names).map(|(operand, name)| {
            let (data_type, size) = match operand.rank {
                0 => (DataType::F64, SizeInfo::UNKNOWN),
                _ => (DataType::MATRIX, operand.expr.size().without_nnz()),
            };
            let expr = Expr::symbol_at(name, data_type, size, place.clone());
            let array = Array::with_kind(expr, operand.rank, operand.kind);
            Ok(Bound::new(py, array)?.into_any())
        });
        let symbols: Vec<Bound<'_, PyAny>> = symbols.collect::<PyResult<_>>()?;
        let Tree::Tuple(parts) = &structure else { return Err(PyValueError::new_err("arguments are a tuple")) };
        let positional = parts[0].filled(py, &symbols)?.cast_into::<PyTuple>()?;
        let named = parts[1].filled(py, &symbols)?.cast_into::<PyDict>()?;
        let has_drawn = HAS_DRAWN.replace(false);
        // Wherever a trace is made, it is the same.
        let called = loops::outside(|| self.called(py, &positional, &named));
        let draws = HAS_DRAWN.get();
        HAS_DRAWN.set(has_drawn || draws);
        let (result, depends_on_dims) = called?;
        let mut results = Results::default();
        let tree = results.tree(&result)?;
        let evaluator = session::current(py)?;
        let exprs = session::run(
            py,
            evaluator,
            || Expr::values_read(&results.exprs),
            |session| session.compile_exprs(&results.exprs),
        )?;
        if exprs.symbols().any(|(name, _)| !names.iter().any(|known| known == name)) {
            return Ok(None);
        }
        let trace = Arc::new(Trace {
            structure,
            arguments,
            names,
            depends_on_dims,
            draws,
            exprs,
            evaluator,
            results: tree,
            types: results.types,
        });
        let mut traces = self.traces.lock().unwrap_or_else(PoisonError::into_inner);
        traces.push(Arc::clone(&trace));
        let count = traces.len();
        let before = (count >= 2).then(|| Arc::clone(&traces[count - 2]));
        drop(traces);
        if count == MANY_TRACES + 1 {
            self.warn(py, count, before.as_deref(), &trace)?;
        }
        Ok(Some(trace))
    }

    /// The result of the function for symbols, and whether it looked at shapes.
    fn called<'py>(
        &self,
        py: Python<'py>,
        positional: &Bound<'py, PyTuple>,
        named: &Bound<'py, PyDict>,
    ) -> PyResult<(Bound<'py, PyAny>, bool)> {
        let outer = HAS_SEEN_SHAPE.replace(false);
        let result = self.function.bind(py).call(positional, Some(named));
        let seen = HAS_SEEN_SHAPE.replace(outer);
        Ok((result?, seen))
    }

    fn warn(&self, py: Python<'_>, count: usize, before: Option<&Trace>, trace: &Trace) -> PyResult<()> {
        let name: String =
            self.function.bind(py).getattr("__name__").and_then(|name| name.extract()).unwrap_or_default();
        let changed = before.and_then(|before| {
            let pairs = before.arguments.iter().zip(&trace.arguments);
            pairs
                .enumerate()
                .find(|(_, (one, other))| !one.serves(other, trace.depends_on_dims))
                .map(|(number, _)| number)
        });
        let what = match changed {
            Some(number) if trace.depends_on_dims => format!("the shape or type of array argument {number} changes"),
            Some(number) => format!("the type of array argument {number} changes"),
            None => "an argument that is no array changes".to_owned(),
        };
        let message = format!("{name} was traced {count} times: {what} from call to call, and each trace is compiled");
        let warnings = py.import("warnings")?;
        warnings.call_method1("warn", (message, py.get_type::<PyUserWarning>(), 2))?;
        Ok(())
    }
}

/// Takes results apart.
#[derive(Default)]
struct Results {
    exprs: Vec<Expr>,
    types: Vec<(u8, DType)>,
}

impl Results {
    fn tree(&mut self, object: &Bound<'_, PyAny>) -> PyResult<Tree> {
        if let Ok(array) = object.cast::<Array>() {
            let Array { expr, rank, dtype, .. } = array.get();
            self.exprs.push(expr.clone());
            self.types.push((*rank, *dtype));
            return Ok(Tree::Array(self.exprs.len() - 1));
        }
        if let Some(tree) = container(object, &mut |item| self.tree(item))? {
            return Ok(tree);
        }
        Ok(Tree::Static(object.clone().unbind()))
    }
}

/// Runs a traced function on arguments.
fn run<'py>(py: Python<'py>, trace: &Trace, operands: &[capture::Operand]) -> PyResult<Bound<'py, PyAny>> {
    let exprs: Vec<Expr> = operands.iter().map(|operand| operand.expr.clone()).collect();
    let values = values_of(py, &exprs)?;
    let inputs: Variables = trace.names.iter().cloned().zip(values).collect();
    let evaluator = session::current(py)?;
    let run = |session: &fuseline::Session| session.run_exprs(&trace.exprs, inputs.clone());
    let (values, statistics): (Vec<RuntimeValue>, _) =
        session::run(py, evaluator, || trace.exprs.values_read().chain(inputs.values()).cloned().collect(), run)?;
    session::note(statistics);
    let place = place::here(py);
    let arrays = values.into_iter().zip(&trace.types).map(|(value, &(rank, dtype))| {
        Ok(Bound::new(py, Array::new(Expr::value_at(value, place.clone()), rank, dtype))?.into_any())
    });
    let arrays: Vec<Bound<'py, PyAny>> = arrays.collect::<PyResult<_>>()?;
    trace.results.filled(py, &arrays)
}
