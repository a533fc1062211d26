//! Cells of an operand at the non-zeros of a sparse matrix.

use crate::{KernelContext, Operand};
use fuseline_matrix::{Csr, Dense, Layout};
use fuseline_vecprims::{Operand as VectorOperand, Tile};
use std::borrow::Cow;
use std::ops::Range;

/// An operand that is read at the non-zeros of a sparse matrix.
pub(super) enum Gather<'a> {
    /// One value for all cells.
    Scalar(f64),
    /// A cell for each row.
    Column(Cow<'a, Dense>),
    /// A cell for each column.
    Row(Cow<'a, Dense>),
    /// A cell for each cell.
    Dense(Cow<'a, Dense>),
    /// A cell for each cell, mostly zeros.
    Sparse(Cow<'a, Csr>),
}

impl<'a> Gather<'a> {
    /// The operand of an operation whose result has these dimensions.
    pub(super) fn new(operand: Operand<'a>, dims: (usize, usize)) -> Self {
        match operand {
            Operand::Scalar(value) => Gather::Scalar(value),
            Operand::Matrix(block) if block.dims() == dims => match block.layout() {
                Layout::Dense(dense) => Gather::Dense(dense),
                Layout::Sparse(csr) => Gather::Sparse(csr),
            },
            Operand::Matrix(block) if block.dims() == (1, 1) => Gather::Scalar(block.get(0, 0)),
            Operand::Matrix(block) if block.cols() == 1 => Gather::Column(block.to_dense()),
            Operand::Matrix(block) => Gather::Row(block.to_dense()),
        }
    }

    /// The cells at the non-zeros of these rows. Scratch that is scattered into holds zeros between uses.
    pub(super) fn cells<'b>(
        &'b self,
        context: &KernelContext<'_>,
        pattern: &Csr,
        rows: Range<usize>,
        cells: &'b mut Vec<f64>,
        scattered: &mut Vec<f64>,
    ) -> VectorOperand<'b> {
        let offsets = &pattern.row_offsets()[rows.start..=rows.end];
        let first = offsets[0];
        let columns = &pattern.columns()[first..offsets[rows.len()]];
        let len = columns.len();
        if let Gather::Scalar(value) = self {
            return VectorOperand::scalars(std::slice::from_ref(value), 0);
        }
        if cells.len() < len {
            cells.resize(len, 0.0);
        }
        let out = &mut cells[..len];
        let primitives = context.primitives;
        match self {
            Gather::Scalar(_) => {}
            Gather::Column(dense) => primitives.segment_spread(offsets, Tile::new(&dense.values()[rows], 1), out),
            // All rows read one vector, and are one then.
            Gather::Row(dense) => {
                primitives.sparse_gather(&[first, first + len], columns, Tile::new(dense.values(), 0), out);
            }
            Gather::Dense(dense) => {
                let cells = &dense.values()[rows.start * dense.cols()..rows.end * dense.cols()];
                primitives.sparse_gather(offsets, columns, Tile::new(cells, dense.cols()), out);
            }
            Gather::Sparse(csr) => {
                scattered.resize(csr.cols(), 0.0);
                for (row, own) in rows.zip(offsets.windows(2)) {
                    let own = own[0] - first..own[1] - first;
                    let (own_columns, values) = csr.row(row);
                    own_columns.iter().zip(values).for_each(|(&j, &value)| scattered[j as usize] = value);
                    take(scattered, &columns[own.clone()], &mut out[own]);
                    own_columns.iter().for_each(|&j| scattered[j as usize] = 0.0);
                }
            }
        }
        VectorOperand::cells(out, len)
    }
}

/// The cells in these columns.
fn take(cells: &[f64], columns: &[u32], out: &mut [f64]) {
    out.iter_mut().zip(columns).for_each(|(cell, &j)| *cell = cells[j as usize]);
}
