//! The memory that an operator will need, checked against the budget before anything is allocated, and what is refused all
//! the same.

use crate::engine::Engine;
use crate::error::{RuntimeError, RuntimeErrorKind};
use crate::value::RuntimeValue;
use fuseline_ir::hop::{DataGenOp, Function, Hop, HopDag, HopId, HopOp, Inputs, infer};
use fuseline_ir::{Format, SizeInfo};
use fuseline_matrix::MatrixBlock;
use fuseline_matrix::run_context::{Abort, caught, check_refusal};

/// Refuses an operator whose inputs and output surely take more than the budget.
///
/// An output of which the number of non-zeros is open counts as dense where no input is sparse, else with its row
/// offsets alone: what may fit is tried.
pub(crate) fn check(budget: u64, hop: &Hop, inputs: &[&RuntimeValue]) -> Result<(), RuntimeError> {
    if !hop.is_matrix() || inputs.is_empty() {
        return Ok(());
    }
    let Some(output) = least_bytes(&output_size(hop, inputs), hop, inputs) else { return Ok(()) };
    let needed = matrices(inputs).map(bytes_of).fold(output, u64::saturating_add);
    if needed > budget {
        return Err(RuntimeErrorKind::Memory { operation: infer::operation_name(&hop.op), needed, budget }.into());
    }
    Ok(())
}

/// Runs an operator; what is refused or asked for meanwhile ends it with an error.
pub(crate) fn guarded<T>(
    engine: &Engine,
    hop: &Hop,
    run: impl FnOnce() -> Result<T, RuntimeError>,
) -> Result<T, RuntimeError> {
    let outcome = caught(|| {
        let value = run()?;
        // Small allocations may have been refused, and served all the same. A value is no operation to blame: the next one is.
        if !matches!(hop.op, HopOp::Literal(_) | HopOp::Read(_)) {
            check_refusal();
        }
        Ok(value)
    });
    outcome.unwrap_or_else(|abort| Err(error_of(engine, infer::operation_name(&hop.op), abort)))
}

/// The error of what ended an operation.
pub(crate) fn error_of(engine: &Engine, operation: String, abort: Abort) -> RuntimeError {
    match abort {
        Abort::Memory(failure) => RuntimeErrorKind::Refused { operation, failure }.into(),
        Abort::Stopped => {
            engine.interruption().take();
            RuntimeErrorKind::Interrupted.into()
        }
    }
}

/// The distinct matrices among the inputs.
fn matrices<'a>(inputs: &'a [&RuntimeValue]) -> impl Iterator<Item = &'a MatrixBlock> {
    inputs.iter().enumerate().filter_map(|(position, input)| match input {
        RuntimeValue::Matrix(block) if !inputs[..position].iter().any(|other| std::ptr::eq(*other, *input)) => {
            Some(block)
        }
        _ => None,
    })
}

/// Bytes of a matrix that count towards the budget.
fn bytes_of(block: &MatrixBlock) -> u64 {
    if block.is_borrowed() { 0 } else { block.bytes() as u64 }
}

/// The size of the output: known from compilation, or inferred again from the actual inputs.
fn output_size(hop: &Hop, inputs: &[&RuntimeValue]) -> SizeInfo {
    if hop.size.known_dims().is_some() {
        return hop.size;
    }
    let mut dag = HopDag::new();
    let ids: Inputs = inputs.iter().map(|value| operand(&mut dag, value)).collect();
    // What does not fit is the operator's to report.
    infer::output(&dag, &hop.op, &ids).map_or(SizeInfo::UNKNOWN, |(_, size)| size)
}

fn operand(dag: &mut HopDag, value: &RuntimeValue) -> HopId {
    match value {
        RuntimeValue::Scalar(scalar) => dag.literal(scalar.clone()),
        value => {
            let id = dag.read_matrix("", value.size());
            dag.hops[id].data_type = value.data_type();
            id
        }
    }
}

/// Bytes that an output of this size takes at least; `None` where that is open.
fn least_bytes(size: &SizeInfo, hop: &Hop, inputs: &[&RuntimeValue]) -> Option<u64> {
    let may_be_sparse = matrices(inputs).any(|block| block.format().is_sparse());
    match &hop.op {
        HopOp::DataGen(DataGenOp::Rand) => {
            let sparsity = inputs.get(4).and_then(|sparsity| sparsity.as_f64())?;
            SizeInfo { nnz: size.cells().map(|cells| (cells as f64 * sparsity) as u64), ..*size }.bytes()
        }
        HopOp::Parameterized { function: Function::Table, .. } => {
            Some(without_non_zeros(size.rows.or_else(|| largest(inputs[0]))?))
        }
        // Files say what they hold, and readers check it against their length.
        HopOp::Parameterized { function: Function::Read, .. } => None,
        _ if may_be_sparse => Some(without_non_zeros(size.rows?)),
        _ => size.bytes(),
    }
}

/// Bytes of a sparse matrix of so many rows, whatever is in them.
fn without_non_zeros(rows: u64) -> u64 {
    Format::Sparse.bytes(rows, 0, 0)
}

/// The largest cell, as a number of rows.
fn largest(value: &RuntimeValue) -> Option<u64> {
    match value {
        RuntimeValue::Matrix(block) if block.format() == Format::Dense => {
            Some(block.to_dense().values().iter().copied().fold(0.0, f64::max) as u64)
        }
        RuntimeValue::Scalar(_) => value.as_f64().map(|number| number as u64),
        _ => None,
    }
}
