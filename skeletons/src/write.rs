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
use fuseline_matrix::{Buffer, Dense, NanWatch};
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

/// The way to the cells of one output, and what is seen of them on it.
#[derive(Debug)]
pub(crate) struct Write {
    way: Way,
    nan: NanWatch,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// Through the caches.
    Through,
    /// Computed in the cache a unit at a time, and copied past it.
    Past,
}

impl Write {
    /// The way to all cells of `out`.
    pub(crate) fn to(operator: &Operator<'_>, out: &Dense) -> Write {
        if matches!(operator.binding.plan.outputs[0], COutput::Cumulative(..)) {
            // Read again at once, and changed.
            return Write::aside();
        }
        let binding = &operator.binding;
        let flops = binding.plan.nodes.values().map(CNode::flops).sum();
        let is_large = |side: &&SideInput<'_>| matches!(side.role, Role::Cell | Role::Row);
        let matrices = 1 + binding.sides.iter().flatten().filter(is_large).count();
        let streams = operator.env.primitives.isa().streams(size_of_val(out.values()));
        let way = if streams && !outlasts_reading(flops, matrices) { Way::Past } else { Way::Through };
        Write { way, nan: NanWatch::default() }
    }

    /// The way to cells that are not those of the output yet.
    pub(crate) fn aside() -> Write {
        Write { way: Way::Through, nan: NanWatch::blind() }
    }

    /// Computes a unit that gives cells of this shape of `out`.
    pub(crate) fn unit(
        &self,
        operator: &Operator<'_>,
        layout: &mut UnitLayout,
        unit: UnitOf<'_>,
        shape: TileShape,
        out: Output<'_>,
    ) {
        let TileShape { rows, cols } = shape;
        if self.way == Way::Through {
            let mut outputs = [out];
            operator.genexec(layout, unit, &mut outputs);
            let [out] = outputs;
            self.nan.look_at_rows(rows, cols, Cells::new(out.values, out.row_stride));
            return;
        }
        let mut buffer = std::mem::replace(&mut layout.output, Buffer::zeroed(0));
        let values = operator.reserve(&mut buffer, rows * cols);
        operator.genexec(layout, unit, &mut [Output { values: &mut *values, row_stride: cols }]);
        self.nan.look(values);
        let out_cells = TileMut::new(out.values, out.row_stride);
        operator.env.primitives.stream(rows, cols, Cells::new(values, cols), out_cells);
        layout.output = buffer;
    }

    /// Copies cells that were computed in the cache, and [seen](Self::saw), to where they belong, rows of `cols` of them.
    pub(crate) fn copy(&self, operator: &Operator<'_>, cols: usize, cells: &[f64], out: &mut [f64]) {
        match self.way {
            Way::Through => out.copy_from_slice(cells),
            Way::Past => {
                let rows = cells.len() / cols;
                operator.env.primitives.stream(rows, cols, Cells::new(cells, cols), TileMut::new(out, cols));
            }
        }
    }

    /// Looks at cells of the output that were computed otherwise.
    pub(crate) fn saw(&self, cells: &[f64]) {
        self.nan.look(cells);
    }

    /// Notes in the output what was seen of its cells, all of which were.
    pub(crate) fn note(&self, out: &mut Dense) {
        out.set_nan_free(self.nan.saw_none());
    }
}
