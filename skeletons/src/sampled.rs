//! Products of factors at the positions of a unit: one dot product for each of them.

use crate::binding::Binding;
use crate::roles::index;
use crate::sparse_unit::SparseUnit;
use fuseline_ir::cplan::{CInputId, FACTOR_U, FACTOR_V};
use fuseline_vecprims::{Primitives, Tile};

/// The cells of a factor.
pub(crate) fn factor<'b>(binding: &'b Binding<'_>, id: CInputId) -> &'b [f64] {
    binding.sides[index(id)].as_ref().map_or(&[], |side| side.values())
}

/// One dot product for each position of a unit; consecutive rows at once.
pub(crate) fn sample(binding: &Binding<'_>, primitives: &Primitives, unit: &SparseUnit<'_>, products: &mut [f64]) {
    let rank = binding.rank();
    let (u, v) = (factor(binding, FACTOR_U), factor(binding, FACTOR_V));
    let v = Tile::new(&v[unit.first_col * rank..], rank);
    let (numbers, first) = (unit.row_numbers(), unit.row_offsets[0]);
    let mut row = 0;
    while row < unit.rows {
        let number = numbers.get(row);
        let end = (row + 1..unit.rows).find(|&next| numbers.get(next) != number + next - row).unwrap_or(unit.rows);
        let offsets = &unit.row_offsets[row..=end];
        let positions = offsets[0] - first..offsets[end - row] - first;
        let u = Tile::new(&u[number * rank..], rank);
        let (columns, out) = (&unit.columns[positions.clone()], &mut products[positions]);
        primitives.sampled_product(offsets, columns, rank, u, v, out);
        row = end;
    }
}
