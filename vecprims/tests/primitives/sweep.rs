//! The sweep: every primitive on runs of 0 to 130 and 1000 +- 1 values that begin 0 to 7 values into their memory, for
//! every class of values, on every instruction set.

use crate::data::{Class, Generator, UNTOUCHED, all_primitives, assert_same};
use crate::naive;
use fuseline_ops::{AggOp, BinaryOp, TernaryOp, UnaryOp};
use fuseline_vecprims::{CsrTile, Form, Operand, Primitives, Tile, TileMut};

/// The longest run and the largest offset.
const CAPACITY: usize = 1001 + 7;

/// Every length with every offset.
fn runs() -> impl Iterator<Item = (usize, usize)> {
    (0..=130).chain([999, 1000, 1001]).flat_map(|len| (0..8).map(move |offset| (len, offset)))
}

/// Three operands of a class.
fn operands(class: Class) -> [Vec<f64>; 3] {
    let mut generator = Generator::new(class as u64 + 11);
    [0, 1, 2].map(|_| (0..CAPACITY).map(|_| generator.of_class(class)).collect())
}

/// Runs a primitive for every length and offset into memory that begins as far into its own, and compares the run with
/// that of the whole reference, and what lies beside with what was there.
fn check(expected: &[f64], primitive: impl Fn(&Primitives, usize, usize, TileMut<'_>), what: impl Fn() -> String) {
    for table in all_primitives() {
        let mut out = vec![UNTOUCHED; CAPACITY];
        for (len, offset) in runs() {
            // The output is offset against the input.
            let start = 7 - offset;
            primitive(table, len, offset, TileMut::new(&mut out[start..], len));
            let what = || format!("{} on {}, {len} from {offset}", what(), table.isa());
            assert_same(&out[start..start + len], &expected[offset..offset + len], what);
            let beside = [&out[..start], &out[start + len..]];
            assert!(beside.iter().all(|values| values.iter().all(|&value| value == UNTOUCHED)), "{}", what());
            out[start..start + len].fill(UNTOUCHED);
        }
    }
}

#[test]
fn unary() {
    for &class in Class::ALL {
        let [a, ..] = operands(class);
        for &op in UnaryOp::ALL {
            let expected: Vec<f64> = a.iter().map(|&x| op.eval(x)).collect();
            let primitive = |table: &Primitives, len: usize, offset: usize, out: TileMut<'_>| {
                table.unary(op, 1, len, Tile::new(&a[offset..], len), out);
            };
            check(&expected, primitive, || format!("{op} {class:?}"));
        }
    }
}

#[test]
fn binary() {
    for &class in Class::ALL {
        let [a, b, _] = operands(class);
        for (&op, &form) in BinaryOp::ALL.iter().flat_map(|op| Form::ALL.iter().map(move |form| (op, form))) {
            let expected: Vec<f64> = match form {
                Form::VectVect => a.iter().zip(&b).map(|(&x, &y)| op.eval(x, y)).collect(),
                Form::VectScalar => a.iter().map(|&x| op.eval(x, b[3])).collect(),
                Form::ScalarVect => b.iter().map(|&y| op.eval(a[3], y)).collect(),
            };
            let primitive = |table: &Primitives, len: usize, offset: usize, out: TileMut<'_>| {
                let start = |is_scalar: bool| if is_scalar { 3 } else { offset };
                let x = Tile::new(&a[start(form == Form::ScalarVect)..], len);
                let y = Tile::new(&b[start(form == Form::VectScalar)..], len);
                table.binary(op, form, 1, len, x, y, out);
            };
            check(&expected, primitive, || format!("{op} {form:?} {class:?}"));
        }
    }
}

#[test]
fn ternary() {
    for &class in Class::ALL {
        let values = operands(class);
        for (&op, scalars) in TernaryOp::ALL.iter().flat_map(|op| (0..8).map(move |scalars| (op, scalars))) {
            let is_scalar = |position: usize| scalars >> position & 1 == 1;
            let value = |position: usize, index: usize| values[position][if is_scalar(position) { 3 } else { index }];
            let expected: Vec<f64> =
                (0..CAPACITY).map(|index| op.eval(value(0, index), value(1, index), value(2, index))).collect();
            let primitive = |table: &Primitives, len: usize, offset: usize, out: TileMut<'_>| {
                let operands = [0, 1, 2].map(|position| match is_scalar(position) {
                    true => Operand::scalars(&values[position][3..], 1),
                    false => Operand::cells(&values[position][offset..], len),
                });
                table.ternary(op, 1, len, operands, out);
            };
            check(&expected, primitive, || format!("{op} {scalars:03b} {class:?}"));
        }
    }
}

#[test]
fn reductions_and_products() {
    for &class in Class::ALL {
        let [a, b, start] = operands(class);
        for (len, offset) in runs() {
            let (x, y) = (&a[offset..offset + len], &b[7 - offset..7 - offset + len]);
            let product = naive::dot(x.iter().copied(), y.iter().copied());
            for &op in AggOp::ALL {
                let (row, full) = (naive::aggregate_run(op, x), naive::aggregate(op, &[x]));
                let sparse = naive::aggregate_sparse_row(op, x, len + 3);
                let mut columns = start[..len].to_vec();
                columns.iter_mut().zip(x).for_each(|(cell, &value)| naive::accumulate(op, cell, value));
                for table in all_primitives() {
                    let what = || format!("{op} on {}, {len} from {offset}, {class:?}", table.isa());
                    let mut out = [0.0; 2];
                    table.row_agg(op, 1, len, Tile::new(x, len), TileMut::new(&mut out[..1], 1));
                    table.segment_row_agg(op, &[4, 4 + len], x, len + 3, TileMut::new(&mut out[1..], 1));
                    assert_same(&out, &[row, sparse], what);
                    if op.merges() {
                        assert_same(&[table.full_agg(op, 1, len, Tile::new(x, len))], &[full], what);
                        let mut acc = start[..len].to_vec();
                        table.col_agg(op, 1, len, Tile::new(x, len), &mut acc);
                        assert_same(&acc, &columns, what);
                    }
                    if op.is_cumulative() {
                        let mut out = vec![UNTOUCHED; len];
                        table.row_cumulative(op, 1, len, Tile::new(x, len), TileMut::new(&mut out, len));
                        assert_same(&out, &naive::cumulative(op, x), what);
                    }
                }
            }
            for table in all_primitives() {
                let what = || format!("products on {}, {len} from {offset}, {class:?}", table.isa());
                let mut out = [0.0; 3];
                table.dot_product(1, len, Tile::new(x, len), Tile::new(y, len), TileMut::new(&mut out[..1], 1));
                table.vect_mat_mult(1, len, 1, Tile::new(x, len), y, TileMut::new(&mut out[1..2], 1));
                let columns: Vec<u32> = (0..len as u32).collect();
                let csr = CsrTile { row_offsets: &[2, 2 + len], columns: &columns, values: x };
                table.sparse_dot_product(csr, Tile::new(y, len), TileMut::new(&mut out[2..], 1));
                assert_same(&out, &[product; 3], what);
                let (mut dense, mut sparse) = (start[..len].to_vec(), start[..len].to_vec());
                let expected: Vec<f64> =
                    start[..len].iter().zip(x).map(|(&cell, &value)| value.mul_add(b[0], cell)).collect();
                let b_tile = Tile::new(&b[..1], 1);
                table.outer_mult_add(1, len, 1, Tile::new(x, len), b_tile, TileMut::new(&mut dense, len));
                assert_same(&dense, &expected, what);
                table.sparse_outer_mult_add(csr, 1, b_tile, TileMut::new(&mut sparse, 1));
                assert_same(&sparse, &expected, what);
                let expected: Vec<f64> =
                    start[..len].iter().zip(x).map(|(&cell, &value)| b[0].mul_add(value, cell)).collect();
                let one = CsrTile { row_offsets: &[0, 1], columns: &[0], values: &b[..1] };
                let mut sum = start[..len].to_vec();
                table.sparse_mat_mult_add(one, len, Tile::new(x, len), TileMut::new(&mut sum, len));
                assert_same(&sum, &expected, what);
            }
        }
    }
}
