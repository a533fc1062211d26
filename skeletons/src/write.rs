//! How units write the cells of a dense output: where these belong or, if the output is larger than the caches, past them.

use crate::abi::Output;
use crate::operator::{Operator, Workspace};
use crate::work::UnitOf;
use fuseline_matrix::{Buffer, Dense};
use fuseline_vecprims::{Isa, Tile, TileMut};

/// Bytes from which on an output is written past the caches, where it would not stay anyway: its lines are not read before
/// they are written.
const STREAMED: usize = 64 << 20;
/// Bytes of a cache line. Only registers as wide write past the caches faster than through them: lines that come in two
/// halves are as fast to write through, without the copy.
const LINE: usize = 64;

/// The way to the cells of one output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Write {
    /// Through the caches.
    Through,
    /// Computed in the cache a unit at a time, and copied past it.
    Past,
}

impl Write {
    /// The way to all cells of `out`.
    pub(crate) fn to(operator: &Operator<'_>, out: &Dense) -> Write {
        Write::of(operator.env.primitives.isa(), size_of_val(out.values()))
    }

    /// The way to so many bytes with the registers of this instruction set.
    fn of(isa: Isa, bytes: usize) -> Write {
        let writes_lines = isa.lanes() * size_of::<f64>() >= LINE;
        if writes_lines && bytes >= STREAMED { Write::Past } else { Write::Through }
    }

    /// Computes a unit that gives `rows` x `cols` cells of `out`.
    pub(crate) fn unit(
        self,
        operator: &Operator<'_>,
        workspace: &mut Workspace,
        unit: UnitOf<'_>,
        [rows, cols]: [usize; 2],
        out: Output<'_>,
    ) {
        if self == Write::Through {
            operator.genexec(workspace, unit, &mut [out]);
            return;
        }
        let mut buffer = std::mem::replace(&mut workspace.output, Buffer::zeroed(0));
        let values = operator.reserve(&mut buffer, rows * cols);
        operator.genexec(workspace, unit, &mut [Output { values: &mut *values, row_stride: cols }]);
        let out_cells = TileMut::new(out.values, out.row_stride);
        operator.env.primitives.stream(rows, cols, Tile::new(values, cols), out_cells);
        workspace.output = buffer;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_outputs_are_written_past_the_caches_by_whole_lines() {
        let ways = |bytes| [Isa::Avx512, Isa::Avx2, Isa::Portable].map(|isa| Write::of(isa, bytes));
        assert_eq!(ways(STREAMED), [Write::Past, Write::Through, Write::Through]);
        assert_eq!(ways(STREAMED - 1), [Write::Through; 3]);
    }
}
