//! The products of the factors of Outer plans: what stands for `U %*% t(V)` in a unit. Where X is dense enough, a tile of
//! the product is computed as a small matrix product, else one dot product for each non-zero.

use crate::binding::Binding;
use crate::blocks::{DensePartition, Tile};
use crate::operator::{Operator, Workspace};
use crate::roles::index;
use crate::sparse_unit::SparseUnit;
use crate::work::UnitOf;
use fuseline_ir::cplan::{FACTOR_U, FACTOR_V};
use fuseline_ir::ops::AggOp;
use fuseline_matrix::Dense;
use fuseline_vecprims::{Panels, TileMut};

/// A dot product for one cell takes as long as this many cells of a matrix product.
const SAMPLE_CELLS: usize = 3;

/// A dense X and the factors of a plan, for tiles of both.
pub(crate) struct DenseFactors<'a> {
    operator: &'a Operator<'a>,
    dense: &'a Dense,
    /// V, if the plan reads products.
    panels: Option<Panels>,
}

impl<'a> DenseFactors<'a> {
    pub(crate) fn new(operator: &'a Operator<'a>, dense: &'a Dense) -> Self {
        let binding = &operator.binding;
        let panels = binding.reads_products.then(|| {
            let (v, rank) = (factor(binding, FACTOR_V), binding.rank());
            Panels::transposing(fuseline_vecprims::Tile::new(v, rank), binding.cols, rank)
        });
        DenseFactors { operator, dense, panels }
    }

    /// Makes units of the non-zeros of the tiles of a block, with their products, and hands on each with the number of its
    /// non-zeros; says how many all of them have.
    pub(crate) fn for_each_unit(
        &self,
        workspace: &mut Workspace,
        partition: &DensePartition,
        block: usize,
        mut visit: impl FnMut(&mut Workspace, Tile, UnitOf<'_>, usize),
    ) -> usize {
        let (mut tiles, mut nonzeros) = (partition.tiles_down(block).peekable(), 0);
        while let Some(tile) = tiles.next() {
            let distance = tiles.peek().map_or(0, |next| self.first_cell(*next).wrapping_sub(self.first_cell(tile)));
            let (unit, count) = self.build(workspace, tile, distance);
            visit(workspace, tile, unit, count);
            nonzeros += count;
        }
        nonzeros
    }

    fn first_cell(&self, tile: Tile) -> usize {
        tile.first_row * self.dense.cols() + tile.first_col
    }

    fn build(&self, workspace: &mut Workspace, tile: Tile, next_unit: usize) -> (UnitOf<'static>, usize) {
        let (built, cells) = (&mut workspace.built, tile.rows * tile.cols);
        let nonzeros = self.count_nonzeros(tile);
        let is_full = nonzeros == cells;
        if !is_full {
            built.build(self.dense, tile);
        }
        built.products.clear();
        match &self.panels {
            Some(panels) if nonzeros * SAMPLE_CELLS >= cells => {
                self.multiply(panels, tile, &mut built.products);
                if !is_full {
                    built.keep_products(tile.cols);
                }
            }
            _ => {}
        }
        (if is_full { UnitOf::Full(tile, next_unit) } else { UnitOf::Built(tile) }, nonzeros)
    }

    fn count_nonzeros(&self, tile: Tile) -> usize {
        let cells = fuseline_vecprims::Tile::new(&self.dense.values()[self.first_cell(tile)..], self.dense.cols());
        self.operator.env.primitives.full_agg(AggOp::Nnz, tile.rows, tile.cols, cells) as usize
    }

    /// All products of the tile.
    fn multiply(&self, panels: &Panels, tile: Tile, products: &mut Vec<f64>) {
        let (binding, rank) = (&self.operator.binding, panels.inner());
        products.resize(tile.rows * tile.cols, 0.0);
        let u = &factor(binding, FACTOR_U)[tile.first_row * rank..];
        let (u, out) = (fuseline_vecprims::Tile::new(u, rank), TileMut::new(products, tile.cols));
        self.operator.env.primitives.tile_mat_mult(tile.rows, (tile.first_col, tile.cols), u, panels, out);
    }
}

/// The cells of a factor.
fn factor<'b>(binding: &'b Binding<'_>, id: fuseline_ir::cplan::CInputId) -> &'b [f64] {
    binding.sides[index(id)].as_ref().map_or(&[], |side| side.values())
}

/// One dot product for each position of a unit; consecutive rows at once.
pub(crate) fn sample(operator: &Operator<'_>, unit: &SparseUnit<'_>, products: &mut [f64]) {
    let (binding, rank) = (&operator.binding, operator.binding.rank());
    let (u, v) = (factor(binding, FACTOR_U), factor(binding, FACTOR_V));
    let v = fuseline_vecprims::Tile::new(&v[unit.first_col * rank..], rank);
    let (numbers, first) = (unit.row_numbers(), unit.row_offsets[0]);
    let mut row = 0;
    while row < unit.rows {
        let number = numbers.get(row);
        let end = (row + 1..unit.rows).find(|&next| numbers.get(next) != number + next - row).unwrap_or(unit.rows);
        let offsets = &unit.row_offsets[row..=end];
        let positions = offsets[0] - first..offsets[end - row] - first;
        let u = fuseline_vecprims::Tile::new(&u[number * rank..], rank);
        let (columns, out) = (&unit.columns[positions.clone()], &mut products[positions]);
        operator.env.primitives.sampled_product(offsets, columns, rank, u, v, out);
        row = end;
    }
}
