//! The products of the factors of Outer plans: what stands for `U %*% t(V)` in a unit. Where X is dense enough, a tile of
//! the product is computed as a small matrix product, else one dot product for each non-zero.

use crate::built::BuiltRows;
use crate::operator::{Operator, UnitLayout, Workspace};
use crate::sampled::factor;
use crate::work::{TileProducts, UnitOf};
use fuseline_ir::cplan::{FACTOR_U, FACTOR_V};
use fuseline_ir::ops::AggOp;
use fuseline_ir::schedule::{DensePartition, Tile};
use fuseline_ir::work::multiplies_whole_tile;
use fuseline_matrix::Dense;
use fuseline_vecprims::{Panels, TileMut};

/// Tiles of products begin panels.
const _: () = assert!(fuseline_ir::work::PANEL_COLS == fuseline_vecprims::PANEL);

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
        mut visit: impl FnMut(&mut UnitLayout, Tile, UnitOf<'_>, usize),
    ) -> usize {
        let Workspace { layout, built } = workspace;
        let (mut tiles, mut nonzeros) = (partition.tiles_down(block).peekable(), 0);
        while let Some(tile) = tiles.next() {
            let next_unit = tiles.peek().map_or(0, |next| self.first_cell(*next).wrapping_sub(self.first_cell(tile)));
            let count = self.build(built, tile);
            let unit = if count == tile.rows * tile.cols {
                UnitOf::WithoutZeros { tile, products: TileProducts { products: &built.products, next_unit } }
            } else {
                UnitOf::Built { rows: built, tile }
            };
            visit(layout, tile, unit, count);
            nonzeros += count;
        }
        nonzeros
    }

    fn first_cell(&self, tile: Tile) -> usize {
        tile.first_row * self.dense.cols() + tile.first_col
    }

    /// Builds the rows of a tile, if any of its cells is zero, and the products of its factors; says how many cells are
    /// not zero.
    fn build(&self, built: &mut BuiltRows, tile: Tile) -> usize {
        let cells = tile.rows * tile.cols;
        let nonzeros = self.count_nonzeros(tile);
        let is_full = nonzeros == cells;
        if !is_full {
            built.build(self.dense, tile);
        }
        built.products.clear();
        match &self.panels {
            Some(panels) if multiplies_whole_tile(nonzeros, cells) => {
                self.multiply(panels, tile, &mut built.products);
                if !is_full {
                    built.keep_products(tile.cols);
                }
            }
            _ => {}
        }
        nonzeros
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
