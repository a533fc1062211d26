//! The products of the factors of Outer plans: what stands for `U %*% t(V)` in a unit. Where X is dense enough, a tile of
//! the product is computed as a small matrix product, else one dot product for each non-zero.

use crate::binding::Binding;
use crate::blocks::Tile;
use crate::operator::{Operator, Workspace};
use crate::roles::index;
use crate::sparse_unit::SparseUnit;
use fuseline_ir::cplan::{FACTOR_U, FACTOR_V};
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

    /// Builds the rows of a tile with their products, and says how many non-zeros they have.
    pub(crate) fn build(&self, workspace: &mut Workspace, tile: Tile) -> usize {
        let built = &mut workspace.built;
        built.build(self.operator.env.primitives, self.dense, tile);
        let (positions, cells) = (built.values.len(), tile.rows * tile.cols);
        match &self.panels {
            Some(panels) if positions * SAMPLE_CELLS >= cells => {
                self.multiply(panels, tile, &mut built.products);
                if positions < cells {
                    built.keep_products(tile.cols);
                }
            }
            _ => {}
        }
        positions
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
