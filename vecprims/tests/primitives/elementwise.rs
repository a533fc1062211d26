//! Element-wise primitives against the scalar references of the op table.

use crate::data::{Generator, Kind, ROWS, UNTOUCHED, all_primitives, assert_same, lengths};
use fuseline_ops::{BinaryOp, TernaryOp, UnaryOp};
use fuseline_vecprims::{Form, Operand, Primitives, Tile, TileMut};

/// Strides to try for rows of `len` values: without a gap, with one, and the same row for all.
fn strides(len: usize) -> [(usize, usize); 3] {
    [(len, len), (len + 3, len + 5), (0, len)]
}

/// Runs `primitive` on every instruction set and compares with `reference(row, column)`.
fn check(
    rows: usize,
    len: usize,
    out_row: usize,
    reference: impl Fn(usize, usize) -> f64,
    primitive: impl Fn(&Primitives, TileMut<'_>),
    what: impl Fn() -> String,
) {
    let mut expected = vec![UNTOUCHED; rows * out_row + len + 9];
    for row in 0..rows {
        for column in 0..len {
            expected[row * out_row + column] = reference(row, column);
        }
    }
    for table in all_primitives() {
        let mut out = vec![UNTOUCHED; expected.len()];
        primitive(table, TileMut::new(&mut out, out_row));
        assert_same(&out, &expected, || format!("{} on {}, {rows} x {len}", what(), table.isa()));
    }
}

/// Extents with values for operands of these kinds of data.
fn cases(mut case: impl FnMut(usize, usize, usize, usize, &[f64], &[f64], &[f64])) {
    let mut generator = Generator::new(1);
    let data = [Kind::Special, Kind::Special, Kind::Ordinary].map(|kind| generator.values(kind, 12_000));
    for len in lengths() {
        for &rows in ROWS.iter().filter(|&&rows| len <= 70 || rows <= 3) {
            // Each extent meets one of the stride patterns; neighbouring lengths meet the others.
            let (a_row, out_row) = strides(len)[(len + rows) % 3];
            case(rows, len, a_row, out_row, &data[0], &data[1], &data[2]);
        }
    }
}

#[test]
fn unary_primitives_are_their_references() {
    cases(|rows, len, a_row, out_row, a, _, _| {
        for &op in UnaryOp::ALL {
            let reference = |row: usize, column: usize| op.eval(a[row * a_row + column]);
            let primitive = |table: &Primitives, out: TileMut<'_>| {
                table.unary(op, rows, len, Tile::new(a, a_row), out);
            };
            check(rows, len, out_row, reference, primitive, || op.to_string());
        }
    });
}

#[test]
fn binary_primitives_are_their_references() {
    cases(|rows, len, a_row, out_row, a, b, _| {
        for &op in BinaryOp::ALL {
            for &form in Form::ALL {
                // Scalars lie two apart, vectors of the second operand at the same distance as the first.
                let (a_row, b_row) = match form {
                    Form::VectVect => (a_row, a_row),
                    Form::VectScalar => (a_row, 2),
                    Form::ScalarVect => (2, a_row),
                };
                let reference = |row: usize, column: usize| {
                    let x = a[row * a_row + if form == Form::ScalarVect { 0 } else { column }];
                    let y = b[row * b_row + if form == Form::VectScalar { 0 } else { column }];
                    op.eval(x, y)
                };
                let primitive = |table: &Primitives, out: TileMut<'_>| {
                    table.binary(op, form, rows, len, Tile::new(a, a_row), Tile::new(b, b_row), out);
                };
                check(rows, len, out_row, reference, primitive, || format!("{op} {}", form.suffix()));
            }
        }
    });
}

#[test]
fn ternary_primitives_are_their_references() {
    cases(|rows, len, a_row, out_row, a, b, c| {
        for &op in TernaryOp::ALL {
            for scalars in 0..8 {
                let data = [a, b, c];
                let scalar = |position: usize| scalars >> position & 1 == 1;
                let stride = |position: usize| if scalar(position) { 1 } else { a_row };
                let value = |position: usize, row: usize, column: usize| {
                    data[position][row * stride(position) + if scalar(position) { 0 } else { column }]
                };
                let reference =
                    |row, column| op.eval(value(0, row, column), value(1, row, column), value(2, row, column));
                let operands = [0, 1, 2].map(|position| match scalar(position) {
                    true => Operand::scalars(data[position], stride(position)),
                    false => Operand::cells(data[position], stride(position)),
                });
                let primitive = |table: &Primitives, out: TileMut<'_>| {
                    table.ternary(op, rows, len, operands, out);
                };
                check(rows, len, out_row, reference, primitive, || format!("{op} {scalars:03b}"));
            }
        }
    });
}

/// One value for all rows of single cells, on either side, is one for the run that they make, where the output leaves gaps, too.
#[test]
fn one_value_beside_a_value_for_each_row() {
    let mut generator = Generator::new(5);
    let [a, b, c] = [0; 3].map(|_| generator.values(Kind::Special, 2_000));
    for rows in [1, 7, 8, 9, 33, 600] {
        for [a_row, b_row] in [[1, 0], [0, 1], [3, 0], [0, 2], [0, 0]] {
            for out_row in [1, 3] {
                let what = || format!("rows {a_row} and {b_row} apart, stored {out_row} apart");
                for &op in &[BinaryOp::Minus, BinaryOp::Div, BinaryOp::Max] {
                    let reference = |row: usize, _| op.eval(a[row * a_row], b[row * b_row]);
                    let primitive = |table: &Primitives, out: TileMut<'_>| {
                        table.binary(op, Form::VectVect, rows, 1, Tile::new(&a, a_row), Tile::new(&b, b_row), out);
                    };
                    check(rows, 1, out_row, reference, primitive, || format!("{op}, {}", what()));
                }
                for &op in TernaryOp::ALL {
                    let reference = |row: usize, _| op.eval(a[row * a_row], b[row * b_row], c[row]);
                    let operands = [(&a, a_row), (&b, b_row), (&c, 1)].map(|(data, row)| Operand::cells(data, row));
                    let primitive = |table: &Primitives, out: TileMut<'_>| table.ternary(op, rows, 1, operands, out);
                    check(rows, 1, out_row, reference, primitive, || format!("{op}, {}", what()));
                }
            }
        }
    }
}

/// Values that belong to rows are repeated along many short ones at a time.
#[test]
fn many_narrow_rows_with_a_value_each() {
    let mut generator = Generator::new(3);
    let [cells, scalars] = [10_300, 1_300].map(|count| generator.values(Kind::Special, count));
    for len in 0..=17 {
        for (rows, row) in [(600, 1), (601, 2), (33, 0)] {
            for &op in &[BinaryOp::Minus, BinaryOp::Div, BinaryOp::Max] {
                let at = |row: usize, column: usize| cells[row * len + column];
                let check = |reference: &dyn Fn(usize, usize) -> f64, primitive: &dyn Fn(&Primitives, TileMut<'_>)| {
                    check(rows, len, len, reference, primitive, || format!("{op}, values {row} apart"));
                };
                check(&|r, j| op.eval(at(r, j), scalars[r * row]), &|table, out| {
                    let (a, b) = (Tile::new(&cells, len), Tile::new(&scalars, row));
                    table.binary(op, Form::VectScalar, rows, len, a, b, out);
                });
                check(&|r, j| op.eval(scalars[r * row], at(r, j)), &|table, out| {
                    let (a, b) = (Tile::new(&scalars, row), Tile::new(&cells, len));
                    table.binary(op, Form::ScalarVect, rows, len, a, b, out);
                });
            }
            let op = TernaryOp::PlusMult;
            let reference = |r: usize, j: usize| op.eval(scalars[r * row], cells[r * len + j], scalars[r]);
            let operands =
                [Operand::scalars(&scalars, row), Operand::cells(&cells, len), Operand::scalars(&scalars, 1)];
            let primitive = |table: &Primitives, out: TileMut<'_>| table.ternary(op, rows, len, operands, out);
            check(rows, len, len, reference, primitive, || format!("{op}, values {row} apart"));
        }
    }
}
