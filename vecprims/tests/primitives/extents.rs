//! Operands that are too short for the extents, and extents that wrap, are refused before any primitive runs.

use fuseline_ops::{AggOp, BinaryOp, TernaryOp, UnaryOp};
use fuseline_vecprims::{CsrTile, Form, Isa, Operand, Panels, Primitives, Tile, TileMut, primitives};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Values that an operand of 3 rows of 4 needs at a stride of 5.
const NEEDED: usize = 14;
const STRIDE: usize = 5;

/// A call on an operand of so many values.
type Call = fn(&Primitives, usize);

fn values(len: usize) -> Vec<f64> {
    vec![1.0; len]
}

/// A call for each operand of each method: it must pass with the values that are needed, and panic with one less.
const CALLS: &[(&str, usize, Call)] = &[
    ("unary a", NEEDED, |p, len| {
        p.unary(UnaryOp::Abs, 3, 4, Tile::new(&values(len), STRIDE), TileMut::new(&mut values(14), STRIDE));
    }),
    ("unary out", NEEDED, |p, len| {
        p.unary(UnaryOp::Abs, 3, 4, Tile::new(&values(14), STRIDE), TileMut::new(&mut values(len), STRIDE));
    }),
    ("binary a", NEEDED, |p, len| {
        p.binary(
            BinaryOp::Plus,
            Form::VectVect,
            3,
            4,
            Tile::new(&values(len), 5),
            Tile::new(&values(14), 5),
            TileMut::new(&mut values(14), 5),
        );
    }),
    ("binary b", NEEDED, |p, len| {
        p.binary(
            BinaryOp::Plus,
            Form::VectVect,
            3,
            4,
            Tile::new(&values(14), 5),
            Tile::new(&values(len), 5),
            TileMut::new(&mut values(14), 5),
        );
    }),
    ("binary scalars", 11, |p, len| {
        p.binary(
            BinaryOp::Plus,
            Form::VectScalar,
            3,
            4,
            Tile::new(&values(14), 5),
            Tile::new(&values(len), 5),
            TileMut::new(&mut values(14), 5),
        );
    }),
    ("ternary c", NEEDED, |p, len| {
        let (a, c) = (values(14), values(len));
        let operands = [Operand::cells(&a, 5), Operand::scalars(&a, 5), Operand::cells(&c, 5)];
        p.ternary(TernaryOp::IfElse, 3, 4, operands, TileMut::new(&mut values(14), 5));
    }),
    ("row_agg out", 11, |p, len| {
        p.row_agg(AggOp::Sum, 3, 4, Tile::new(&values(14), 5), TileMut::new(&mut values(len), 5));
    }),
    ("row_cumulative out", NEEDED, |p, len| {
        p.row_cumulative(AggOp::Sum, 3, 4, Tile::new(&values(14), 5), TileMut::new(&mut values(len), 5));
    }),
    ("copy a", NEEDED, |p, len| p.copy(3, 4, Tile::new(&values(len), 5), TileMut::new(&mut values(14), 5))),
    ("stream out", NEEDED, |p, len| p.stream(3, 4, Tile::new(&values(14), 5), TileMut::new(&mut values(len), 5))),
    ("spread a", 11, |p, len| p.spread(3, 4, Tile::new(&values(len), 5), TileMut::new(&mut values(14), 5))),
    ("full_agg a", NEEDED, |p, len| _ = p.full_agg(AggOp::Sum, 3, 4, Tile::new(&values(len), 5))),
    ("col_agg a", NEEDED, |p, len| p.col_agg(AggOp::Sum, 3, 4, Tile::new(&values(len), 5), &mut values(4))),
    ("col_agg acc", 4, |p, len| p.col_agg(AggOp::Sum, 3, 4, Tile::new(&values(14), 5), &mut values(len))),
    ("dot_product b", NEEDED, |p, len| {
        p.dot_product(3, 4, Tile::new(&values(14), 5), Tile::new(&values(len), 5), TileMut::new(&mut values(11), 5));
    }),
    ("vect_mat_mult factor", 28, |p, len| {
        p.vect_mat_mult(3, 4, 7, Tile::new(&values(14), 5), &values(len), TileMut::new(&mut values(21), 7));
    }),
    ("vect_mat_mult narrow factor", 8, |p, len| {
        p.vect_mat_mult(3, 4, 2, Tile::new(&values(14), 5), &values(len), TileMut::new(&mut values(6), 2));
    }),
    ("mat_mult_add b", 28, |p, len| {
        p.mat_mult_add(
            3,
            4,
            7,
            Tile::new(&values(14), 5),
            Tile::new(&values(len), 7),
            TileMut::new(&mut values(21), 7),
        );
    }),
    ("outer_mult_add acc", 28, |p, len| {
        p.outer_mult_add(
            3,
            4,
            7,
            Tile::new(&values(14), 5),
            Tile::new(&values(21), 7),
            TileMut::new(&mut values(len), 4),
        );
    }),
    ("segment_row_agg values", 5, |p, len| {
        p.segment_row_agg(AggOp::Sum, &[2, 3, 7], &values(len), 4, TileMut::new(&mut values(2), 1));
    }),
    ("sparse_col_agg acc", 9, |p, len| p.sparse_col_agg(AggOp::Sum, sparse(&values(5)), &mut values(len))),
    ("sparse_col_agg values", 5, |p, len| p.sparse_col_agg(AggOp::Sum, sparse(&values(len)), &mut values(9))),
    ("segment_spread a", 4, |p, len| p.segment_spread(&[2, 3, 7], Tile::new(&values(len), 3), &mut values(5))),
    ("segment_spread out", 5, |p, len| p.segment_spread(&[2, 3, 7], Tile::new(&values(2), 1), &mut values(len))),
    ("segment_dot_product b", 5, |p, len| {
        p.segment_dot_product(&[2, 3, 7], &values(5), &values(len), TileMut::new(&mut values(2), 1));
    }),
    ("sparse_gather b", 2 * 9, |p, len| {
        p.sparse_gather(&[2, 3, 7], &COLUMNS, Tile::new(&values(len), 9), &mut values(5));
    }),
    ("sparse_gather out", 5, |p, len| {
        p.sparse_gather(&[2, 3, 7], &COLUMNS, Tile::new(&values(18), 9), &mut values(len));
    }),
    ("sparse_scatter a", 5, |p, len| {
        p.sparse_scatter(sparse(&values(len)), 9, Tile::new(&values(2), 1), TileMut::new(&mut values(18), 9));
    }),
    ("sparse_scatter b", 2, |p, len| {
        p.sparse_scatter(sparse(&values(5)), 9, Tile::new(&values(len), 1), TileMut::new(&mut values(18), 9));
    }),
    ("sparse_scatter out", 18, |p, len| {
        p.sparse_scatter(sparse(&values(5)), 9, Tile::new(&values(2), 1), TileMut::new(&mut values(len), 9));
    }),
    ("sparse_scatter cols", 9, |p, cols| {
        p.sparse_scatter(sparse(&values(5)), cols, Tile::new(&values(2), 1), TileMut::new(&mut values(18), 9));
    }),
    ("sparse_dot_product b", 2 * 9 - 1 + 1, |p, len| {
        p.sparse_dot_product(sparse(&values(5)), Tile::new(&values(len), 9), TileMut::new(&mut values(2), 1));
    }),
    ("sparse_vect_mat_mult b", 27, |p, len| {
        p.sparse_vect_mat_mult(sparse(&values(5)), 3, Tile::new(&values(len), 3), TileMut::new(&mut values(6), 3));
    }),
    ("sparse_mat_mult_add out", 6, |p, len| {
        p.sparse_mat_mult_add(sparse(&values(5)), 3, Tile::new(&values(27), 3), TileMut::new(&mut values(len), 3));
    }),
    ("sparse_outer_mult_add acc", 27, |p, len| {
        p.sparse_outer_mult_add(sparse(&values(5)), 3, Tile::new(&values(6), 3), TileMut::new(&mut values(len), 3));
    }),
    ("sampled_product v", 27, |p, len| {
        p.sampled_product(
            &[2, 3, 7],
            &COLUMNS,
            3,
            Tile::new(&values(6), 3),
            Tile::new(&values(len), 3),
            &mut values(5),
        );
    }),
    ("sampled_product out", 5, |p, len| {
        p.sampled_product(
            &[2, 3, 7],
            &COLUMNS,
            3,
            Tile::new(&values(6), 3),
            Tile::new(&values(27), 3),
            &mut values(len),
        );
    }),
    ("tile_mat_mult out", 21, |p, len| {
        let panels = Panels::transposing(Tile::new(&values(28), 4), 7, 4);
        p.tile_mat_mult(3, (0, 7), Tile::new(&values(14), 5), &panels, TileMut::new(&mut values(len), 7));
    }),
];

const COLUMNS: [u32; 5] = [8, 0, 3, 5, 6];

/// Two rows of five positions, whose first is the matrix' third.
fn sparse(values: &[f64]) -> CsrTile<'_> {
    CsrTile { row_offsets: &[2, 3, 7], columns: &COLUMNS, values }
}

fn passes(call: impl FnOnce()) -> bool {
    catch_unwind(AssertUnwindSafe(call)).is_ok()
}

#[test]
fn operands_that_are_one_value_too_short_are_refused() {
    for isa in Isa::available() {
        let table = primitives(isa);
        for (what, needed, call) in CALLS {
            assert!(passes(|| call(table, *needed)), "{what} on {isa} with {needed} values");
            assert!(!passes(|| call(table, needed - 1)), "{what} on {isa} with {} values", needed - 1);
        }
    }
}

#[test]
fn extents_that_wrap_are_refused() {
    let table = primitives(Isa::detect());
    for (rows, stride, len) in
        [(usize::MAX, 2, 4), (1 << 33, 1 << 31, 4), (2, usize::MAX, 4), (3, 5, usize::MAX), (3, usize::MAX / 2, 4)]
    {
        let (a, mut out) = (values(14), values(14));
        let what = format!("{rows} rows of {len}, {stride} apart");
        assert!(!passes(|| table.copy(rows, len, Tile::new(&a, stride), TileMut::new(&mut out, 5))), "{what}");
        assert!(!passes(|| table.copy(rows, len, Tile::new(&a, 5), TileMut::new(&mut out, stride))), "{what}");
    }
}

#[test]
fn offsets_and_columns_that_lead_elsewhere_are_refused() {
    let table = primitives(Isa::detect());
    let five = values(5);
    for row_offsets in [&[][..], &[3, 2], &[0, 6], &[0, usize::MAX], &[usize::MAX, 0], &[0, 5, 4]] {
        let tile = CsrTile { row_offsets, columns: &COLUMNS, values: &five };
        let _ = (tile.rows(), passes(|| _ = tile.positions()));
        assert!(!passes(|| table.sparse_col_agg(AggOp::Sum, tile, &mut values(9))), "{row_offsets:?}");
        let dot = |out: &mut Vec<f64>| table.sparse_dot_product(tile, Tile::new(&values(64), 9), TileMut::new(out, 1));
        assert!(!passes(|| dot(&mut values(8))), "{row_offsets:?}");
    }
    let beyond = CsrTile { row_offsets: &[0, 1], columns: &[u32::MAX], values: &five };
    assert!(!passes(|| table.sparse_vect_mat_mult(beyond, 1, Tile::new(&five, 1), TileMut::new(&mut values(1), 1))));
    let few_columns = CsrTile { row_offsets: &[0, 5], columns: &COLUMNS[..4], values: &five };
    assert!(!passes(|| table.sparse_col_agg(AggOp::Sum, few_columns, &mut values(9))));
}
