//! What of a bound plan decides how it runs: the [`Profile`] that its schedule is made from.

use crate::SkeletonError;
use crate::binding::Binding;
use crate::fit::cells;
use crate::roles::{Role, reads_row_index};
use fuseline_ir::cplan::{CNode, COutput, CellType, RowType, Variant};
use fuseline_ir::ops::AggOp;
use fuseline_ir::schedule::{Flow, Profile, RowProfile};
use fuseline_ir::template::Space;
use fuseline_ir::work::{CELL_BYTES, csr_row_bytes};

/// The profile of a plan on its inputs.
///
/// # Errors
/// Sums have more cells than can be addressed.
pub(crate) fn profile(binding: &Binding<'_>) -> Result<Profile, SkeletonError> {
    Ok(Profile {
        space: binding.plan.space(),
        rows: binding.fit.rows,
        cols: binding.fit.cols,
        runs_over_non_zeros: binding.main.csr().is_some() && binding.fit.runs_sparse_entry,
        skips_empty_rows: leaves_rows_out(binding) && knows_rows(binding) && !reads_row_index(binding.plan),
        keeps_rows: binding.plan.keeps_rows(),
        combines_rows: !binding.fit.joined.is_empty() || meets_in_stored_cells(binding),
        keeps_columns: binding.plan.keeps_columns(),
        row: RowProfile {
            longest_computed: binding.longest_computed_vector(),
            long_operations: binding.long_operations(),
            widest: binding.widest_row(),
            inputs: binding.inputs_per_row(),
            keeps_vectors: keeps_vectors(binding),
            swept: swept(binding),
        },
        rank: if binding.plan.space() == Space::Factors { binding.rank() } else { 0 },
        flow: flow(binding)?,
    })
}

/// Bytes of a row of the main input, on average.
pub(crate) fn row_bytes(binding: &Binding<'_>) -> u64 {
    // Where no zeros decide, an Outer plan lays tiles of all cells out, whatever the format.
    let by_non_zeros = binding.plan.space() != Space::Factors || binding.plan.sparse_safe;
    match binding.main.csr().filter(|_| by_non_zeros) {
        None => binding.fit.cols as u64 * CELL_BYTES,
        Some(csr) => csr_row_bytes(csr.rows() as u64, binding.non_zeros() as u64),
    }
}

/// Whether rows of a sparse main input that have no non-zeros may be left out. Those of dense cells may if a value is zero
/// where its row is; of no cells the minimum, the mean and others are not zero.
pub(crate) fn leaves_rows_out(binding: &Binding<'_>) -> bool {
    let is_zero_by_row = binding.plan.space() == Space::Rows && binding.plan.sparse_safe && binding.fit.cols > 0;
    let is_driven = binding.plan.space() != Space::Rows && binding.fit.runs_sparse_entry;
    binding.main.csr().is_some() && (is_zero_by_row || is_driven)
}

/// Whether units of positions that have none contribute nothing.
pub(crate) fn skips_empty_units(binding: &Binding<'_>) -> bool {
    let outputs = &binding.plan.outputs;
    match binding.plan.space() {
        Space::Rows => {
            let ignores_zeros =
                |output: &COutput| output.accumulates_rows() && output.merge().unwrap_or(AggOp::Sum).ignores_zeros();
            binding.plan.sparse_safe && outputs.iter().all(ignores_zeros)
        }
        // A row of the output needs its unit.
        Space::Cells => binding.plan.variant != Variant::Cell(CellType::RowAgg),
        Space::Factors => true,
    }
}

/// Whether nodes or the variant know rows; where none do, positions alone count.
fn knows_rows(binding: &Binding<'_>) -> bool {
    binding.plan.space() != Space::Cells
        || binding.plan.keeps_rows()
        || binding.sides.iter().flatten().any(|side| side.role == Role::Cell)
}

/// Whether sparse side inputs leave out some of the cells that are stored by position.
fn meets_in_stored_cells(binding: &Binding<'_>) -> bool {
    let stores = binding.plan.outputs.iter().any(COutput::stores);
    binding.plan.space() != Space::Rows && !binding.fit.met.is_empty() && stores
}

/// Whether a vector or a matrix serves row after row.
fn keeps_vectors(binding: &Binding<'_>) -> bool {
    let accumulates_vectors = |output: &COutput| output.accumulates_rows() && !matches!(output, COutput::FullAgg(..));
    binding.plan.outputs.iter().any(accumulates_vectors)
        || binding.plan.nodes.values().any(|node| matches!(node, CNode::VectMatMult(..) | CNode::Convolve(..)))
}

/// The cells of the largest matrix that dense rows are multiplied with.
fn swept(binding: &Binding<'_>) -> usize {
    let cells = binding.plan.nodes.iter().filter_map(|(id, node)| match *node {
        CNode::VectMatMult(operand, _) if !binding.fit.positions.contains(operand) => {
            Some(binding.vector_length(operand)?.saturating_mul(binding.vector_length(id)?))
        }
        _ => None,
    });
    cells.max().unwrap_or(0)
}

/// What becomes of the values of units.
fn flow(binding: &Binding<'_>) -> Result<Flow, SkeletonError> {
    let outputs = &binding.plan.outputs;
    Ok(match (binding.plan.space(), outputs[0]) {
        _ if binding.plan.variant == Variant::Row(RowType::MultiAgg) => {
            let mut total = 0_usize;
            for output in outputs {
                total = total.saturating_add(RowDims::of(binding, output)?.cells());
            }
            Flow::Sums { cells: cells(total, 1)? }
        }
        (_, COutput::FullAgg(..)) => Flow::Values,
        (Space::Rows, output) if output.accumulates_rows() => {
            Flow::Sums { cells: RowDims::of(binding, &output)?.cells() }
        }
        (Space::Rows, _) | (_, COutput::RowAgg(..) | COutput::TimesFactor(_)) => Flow::Rows,
        (_, COutput::ColAgg(..)) => Flow::Sums { cells: binding.fit.cols },
        (_, COutput::TransposedTimesFactor(_)) => Flow::Sums { cells: cells(binding.fit.cols, binding.rank())? },
        (_, COutput::Store(_) | COutput::Cumulative(..) | COutput::RowProduct { .. }) => Flow::Cells,
    })
}

/// Rows and columns of what an output of a Row plan accumulates; of one that stores rows, those of a single row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowDims {
    pub(crate) rows: usize,
    pub(crate) cols: usize,
}

impl RowDims {
    /// The dimensions of an output of the plan.
    ///
    /// # Errors
    /// There are more cells than can be addressed.
    pub(crate) fn of(binding: &Binding<'_>, output: &COutput) -> Result<Self, SkeletonError> {
        let node_len = binding.vector_length(output.node()).unwrap_or(1);
        let dims = match *output {
            COutput::FullAgg(..) => RowDims { rows: 1, cols: 1 },
            COutput::RowProduct { .. } => {
                let left_len = output.left().and_then(|left| binding.vector_length(left)).unwrap_or(0);
                RowDims { rows: left_len, cols: node_len }
            }
            COutput::Store(_)
            | COutput::Cumulative(..)
            | COutput::RowAgg(..)
            | COutput::ColAgg(..)
            | COutput::TimesFactor(_)
            | COutput::TransposedTimesFactor(_) => RowDims { rows: 1, cols: node_len },
        };
        cells(dims.rows, dims.cols)?;
        Ok(dims)
    }

    /// The number of cells.
    pub(crate) fn cells(self) -> usize {
        self.rows * self.cols
    }
}
