//! How units write the cells of a dense output: where these belong or, if the output is larger than the caches and little is
//! computed, past them.

use crate::abi::Output;
use crate::operator::{Operator, UnitLayout};
use crate::roles::Role;
use crate::side::SideInput;
use crate::work::UnitOf;
use fuseline_ir::cplan::{CNode, COutput};
use fuseline_ir::schedule::Tile;
use fuseline_ir::work::outlasts_reading;
use fuseline_matrix::{Buffer, Dense};
use fuseline_vecprims::{Tile as Cells, TileMut};

/// The cells that a unit gives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TileShape {
    pub(crate) rows: usize,
    pub(crate) cols: usize,
}

impl From<Tile> for TileShape {
    fn from(Tile { rows, cols, .. }: Tile) -> Self {
        TileShape { rows, cols }
    }
}

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
        if matches!(operator.binding.plan.outputs[0], COutput::Cumulative(..)) {
            // Read again at once.
            return Write::Through;
        }
        let binding = &operator.binding;
        let flops = binding.plan.nodes.values().map(CNode::flops).sum();
        let is_large = |side: &&SideInput<'_>| matches!(side.role, Role::Cell | Role::Row);
        let matrices = 1 + binding.sides.iter().flatten().filter(is_large).count();
        let streams = operator.env.primitives.isa().streams(size_of_val(out.values()));
        if streams && !outlasts_reading(flops, matrices) { Write::Past } else { Write::Through }
    }

    /// Computes a unit that gives cells of this shape of `out`.
    pub(crate) fn unit(
        self,
        operator: &Operator<'_>,
        layout: &mut UnitLayout,
        unit: UnitOf<'_>,
        shape: TileShape,
        out: Output<'_>,
    ) {
        if self == Write::Through {
            operator.genexec(layout, unit, &mut [out]);
            return;
        }
        let TileShape { rows, cols } = shape;
        let mut buffer = std::mem::replace(&mut layout.output, Buffer::zeroed(0));
        let values = operator.reserve(&mut buffer, rows * cols);
        operator.genexec(layout, unit, &mut [Output { values: &mut *values, row_stride: cols }]);
        let out_cells = TileMut::new(out.values, out.row_stride);
        operator.env.primitives.stream(rows, cols, Cells::new(values, cols), out_cells);
        layout.output = buffer;
    }

    /// Copies cells that were computed in the cache to where they belong, rows of `cols` of them.
    pub(crate) fn copy(self, operator: &Operator<'_>, cols: usize, cells: &[f64], out: &mut [f64]) {
        match self {
            Write::Through => out.copy_from_slice(cells),
            Write::Past => {
                let rows = cells.len() / cols;
                operator.env.primitives.stream(rows, cols, Cells::new(cells, cols), TileMut::new(out, cols));
            }
        }
    }
}
