//! The products of the factors of Outer plans: what stands for `U %*% t(V)` in a unit. Where X is dense enough, and in plans
//! over all of its cells, a tile of the product is computed as a small matrix product, else one dot product for each
//! non-zero.

use crate::built::BuiltRows;
use crate::operator::{Operator, UnitLayout, Workspace};
use crate::sampled::factor;
use crate::work::{TileProducts, UnitOf};
use fuseline_ir::cplan::{COutput, CPlan, FACTOR_U, FACTOR_V};
use fuseline_ir::ops::AggOp;
use fuseline_ir::schedule::{DensePartition, Tile};
use fuseline_ir::work::multiplies_whole_tile;
use fuseline_matrix::Dense;
use fuseline_vecprims::{Panels, TileMut};

/// Tiles of products begin panels.
const _: () = assert!(fuseline_ir::work::PANEL_COLS == fuseline_vecprims::PANEL);

/// The factors of a plan and its X, for tiles of both.
pub(crate) struct DenseFactors<'a> {
    operator: &'a Operator<'a>,
    /// A dense X of which the non-zeros are visited; all cells of X otherwise.
    driver: Option<&'a Dense>,
    /// V, if the plan reads products.
    panels: Option<Panels>,
    /// Whether no value belongs to a row or a column, so that whole rows of tiles are one run.
    takes_runs: bool,
}

impl<'a> DenseFactors<'a> {
    pub(crate) fn new(operator: &'a Operator<'a>) -> Self {
        let binding = &operator.binding;
        let panels = binding.fit.reads_products.then(|| {
            let (v, rank) = (factor(binding, FACTOR_V), binding.rank());
            Panels::transposing(fuseline_vecprims::Tile::new(v, rank), binding.fit.cols, rank)
        });
        DenseFactors { operator, driver: binding.dense_driver(), panels, takes_runs: takes_runs(binding.plan) }
    }

    /// Makes units of the tiles of a block, of their non-zeros or of all cells, with their products, and hands on each with
    /// the number of cells that it visits; says how many all of them do.
    pub(crate) fn for_each_unit(
        &self,
        workspace: &mut Workspace,
        partition: &DensePartition,
        block: usize,
        mut visit: impl FnMut(&mut UnitLayout, Tile, UnitOf<'_>, usize),
    ) -> usize {
        let Workspace { layout, built } = workspace;
        let (mut tiles, mut visited) = (partition.tiles_down(block).peekable(), 0);
        while let Some(tile) = tiles.next() {
            let next_unit = tiles.peek().map_or(0, |next| self.first_cell(*next).wrapping_sub(self.first_cell(tile)));
            let count = self.build(built, tile);
            let is_run = self.takes_runs && tile.cols == self.operator.binding.fit.cols;
            let unit = if count == tile.rows * tile.cols {
                UnitOf::WholeTile { tile, products: TileProducts { products: &built.products, next_unit, is_run } }
            } else {
                UnitOf::Built { rows: built, tile }
            };
            visit(layout, tile, unit, count);
            visited += count;
        }
        visited
    }

    fn first_cell(&self, tile: Tile) -> usize {
        tile.first_row * self.operator.binding.fit.cols + tile.first_col
    }

    /// Builds the rows of a tile, if a zero of it is left out, and the products of its factors; says how many cells are
    /// visited.
    fn build(&self, built: &mut BuiltRows, tile: Tile) -> usize {
        let cells = tile.rows * tile.cols;
        let visited = self.driver.map_or(cells, |driver| self.count_nonzeros(driver, tile));
        let partial = self.driver.filter(|_| visited < cells);
        if let Some(driver) = partial {
            built.build(driver, tile);
        }
        built.products.clear();
        match &self.panels {
            Some(panels) if multiplies_whole_tile(visited, cells) => {
                self.multiply(panels, tile, &mut built.products);
                if partial.is_some() {
                    built.keep_products(tile.cols);
                }
            }
            _ => {}
        }
        visited
    }

    fn count_nonzeros(&self, driver: &Dense, tile: Tile) -> usize {
        let cells = fuseline_vecprims::Tile::new(&driver.values()[self.first_cell(tile)..], driver.cols());
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

/// Whether an Outer plan computes cells by themselves, whatever their rows and columns.
fn takes_runs(plan: &CPlan) -> bool {
    let is_by_cell = |output: &COutput| matches!(output, COutput::Store(_) | COutput::FullAgg(..));
    plan.outputs.iter().all(is_by_cell) && !plan.keeps_rows() && !plan.keeps_columns()
}
