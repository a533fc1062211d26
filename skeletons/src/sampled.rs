//! Products of factors at the positions of a unit: one dot product for each of them.

use crate::binding::Binding;
use crate::roles::index;
use crate::sparse_unit::SparseUnit;
use fuseline_ir::cplan::{CInputId, FACTOR_U, FACTOR_V};
use fuseline_vecprims::{Primitives, Tile};
use std::ops::Range;

/// The cells of a factor.
pub(crate) fn factor<'b>(binding: &'b Binding<'_>, id: CInputId) -> &'b [f64] {
    binding.sides[index(id)].as_ref().map_or(&[], |side| side.values())
}

/// Values of rows of U that are put beside each other at a time.
const PACKED_VALUES: usize = 1 << 10;

/// Rows that follow each other from which on they are taken where they lie.
const LONG_RUN: usize = 8;

/// One dot product for each position of a unit; consecutive rows at once, and others in copies of their rows of U, since a
/// call for each row takes as long as several products.
pub(crate) fn sample(binding: &Binding<'_>, primitives: &Primitives, unit: &SparseUnit<'_>, products: &mut [f64]) {
    let rank = binding.rank();
    let (u, v) = (factor(binding, FACTOR_U), factor(binding, FACTOR_V));
    let v = Tile::new(&v[unit.first_col * rank..], rank);
    let (numbers, first) = (unit.row_numbers(), unit.row_offsets[0]);
    let mut of_rows = |rows: Range<usize>, u: &[f64]| {
        let offsets = &unit.row_offsets[rows.start..=rows.end];
        let positions = offsets[0] - first..offsets[rows.len()] - first;
        let (columns, out) = (&unit.columns[positions.clone()], &mut products[positions]);
        primitives.sampled_product(offsets, columns, rank, Tile::new(u, rank), v, out);
    };
    let run_end = |row: usize| {
        let follows = |next: &usize| numbers.get(*next) == numbers.get(row) + next - row;
        (row + 1..unit.rows).find(|next| !follows(next)).unwrap_or(unit.rows)
    };
    let most_packed = PACKED_VALUES / rank.max(1);
    let mut row = 0;
    while row < unit.rows {
        let end = run_end(row);
        if end == unit.rows || end - row >= LONG_RUN.min(most_packed) {
            of_rows(row..end, &u[numbers.get(row) * rank..]);
            row = end;
            continue;
        }
        let end = unit.rows.min(row + most_packed);
        let mut packed = [0.0; PACKED_VALUES];
        for (row, packed) in (row..end).zip(packed.chunks_exact_mut(rank.max(1))) {
            packed[..rank].copy_from_slice(&u[numbers.get(row) * rank..][..rank]);
        }
        of_rows(row..end, &packed[..(end - row) * rank]);
        row = end;
    }
}
