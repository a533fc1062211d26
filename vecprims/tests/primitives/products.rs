//! Dense products.

use crate::data::{Generator, Kind, ROWS, UNTOUCHED, all_primitives, assert_same, lengths, row};
use crate::naive;
use fuseline_vecprims::{CHAIN, PANEL, Panels, Primitives, Tile, TileMut, adds_up_rows};

fn dot(a: &[f64], b: &[f64]) -> f64 {
    naive::dot(a.iter().copied(), b.iter().copied())
}

/// Every extent with two operands of every kind of data.
fn cases(mut case: impl FnMut(usize, usize, &[f64], &[f64])) {
    for &kind in Kind::ALL {
        let mut generator = Generator::new(4);
        let (a, b) = (generator.values(kind, 12_000), generator.values(kind, 12_000));
        for len in lengths() {
            for &rows in ROWS {
                case(rows, len, &a, &b);
            }
        }
    }
}

#[test]
fn dot_products_reduce_over_32_lanes() {
    cases(|rows, len, a, b| {
        // Strides of 0 give each row the same factors.
        for (a_row, b_row) in [(len, 0), (len + 3, len + 1)] {
            let mut expected = vec![UNTOUCHED; 2 * rows + 1];
            for index in 0..rows {
                expected[2 * index] = dot(row(a, index, a_row, len), row(b, index, b_row, len));
            }
            for table in all_primitives() {
                let mut out = vec![UNTOUCHED; expected.len()];
                table.dot_product(rows, len, Tile::new(a, a_row), Tile::new(b, b_row), TileMut::new(&mut out, 2));
                assert_same(&out, &expected, || format!("dot_product on {}, {rows} x {len}", table.isa()));
            }
        }
    });
}

/// Narrow values give the bits of the doubles that they are; of single precision, those of tiny numbers, infinities and NaN, too.
#[test]
fn products_of_narrow_rows_are_those_of_doubles() {
    fn check<T: Copy + Into<f64>>(values: &[T], dot_product: fn(&Primitives, &[T], &[f64], &mut [f64])) {
        let vector = Generator::new(5).values(Kind::ALL[0], 2000);
        let wide: Vec<f64> = values.iter().map(|&value| value.into()).collect();
        for len in lengths() {
            for &rows in ROWS {
                let (cells, vector) = (rows * len, &vector[..len]);
                for table in all_primitives() {
                    let mut expected = vec![0.0; rows];
                    let (a, b) = (Tile::new(&wide[..cells], len), Tile::new(vector, 0));
                    table.dot_product(rows, len, a, b, TileMut::new(&mut expected, 1));
                    let mut out = vec![UNTOUCHED; rows];
                    dot_product(table, &values[..cells], vector, &mut out);
                    assert_same(&out, &expected, || format!("narrow dot product on {}, {rows} x {len}", table.isa()));
                }
            }
        }
    }
    let most = ROWS.iter().max().unwrap() * lengths().max().unwrap();
    let numbers = |step: usize| (0..most).map(move |place| place * step % 1009);
    let special = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MIN_POSITIVE / 8.0, -0.0];
    let float =
        |number: usize| if number.is_multiple_of(251) { special[number / 251] } else { number as f32 * 0.37 - 90.0 };
    check(&numbers(7).map(float).collect::<Vec<f32>>(), Primitives::dot_f32);
    check(&numbers(11).map(|number| i32::MIN + number as i32 * 2_100_007).collect::<Vec<i32>>(), Primitives::dot_i32);
    check(&numbers(13).map(|number| number as u8).collect::<Vec<u8>>(), Primitives::dot_u8);
}

/// One cell of a vector times a matrix, given as primitives take it.
fn product(vector: &[f64], factor: &[f64], k: usize, column: usize) -> f64 {
    if !adds_up_rows(k) {
        return dot(vector, row(factor, column, vector.len(), vector.len()));
    }
    let chain = |(number, values): (usize, &[f64])| {
        let factors = (number * CHAIN..).map(|i| factor[i * k + column]);
        values.iter().zip(factors).fold(0.0, |sum, (value, factor)| value.mul_add(factor, sum))
    };
    vector.chunks(CHAIN).enumerate().map(chain).reduce(|sum, chain| sum + chain).unwrap_or(0.0)
}

#[test]
fn vectors_times_matrices_are_dot_products_or_sums_of_scaled_rows() {
    const COLUMNS: [usize; 9] = [0, 1, 2, 3, 4, 5, 8, 10, 21];
    cases(|rows, len, a, b| {
        // Short rows have code of their own for each length.
        let numbers = if len <= 24 { &COLUMNS[..] } else { &COLUMNS[(rows + len) % 9..][..1] };
        for &k in numbers.iter().filter(|&&k| k * len <= b.len()) {
            let a_row = len + 1;
            let mut expected = vec![UNTOUCHED; rows * (k + 1) + 1];
            for index in 0..rows {
                for column in 0..k {
                    expected[index * (k + 1) + column] = product(row(a, index, a_row, len), b, k, column);
                }
            }
            for table in all_primitives() {
                let mut out = vec![UNTOUCHED; expected.len()];
                let out_tile = TileMut::new(&mut out, k + 1);
                table.vect_mat_mult(rows, len, k, Tile::new(a, a_row), b, out_tile);
                assert_same(&out, &expected, || format!("vect_mat_mult on {}, {rows} x {len} x {k}", table.isa()));
            }
        }
    });
}

/// Every number of rows and columns that products are computed by at once, and what is left of them.
#[test]
fn blocks_of_products_are_those_of_single_rows() {
    for &kind in Kind::ALL {
        let mut generator = Generator::new(13);
        let (a, b) = (generator.values(kind, 70_000), generator.values(kind, 70_000));
        for len in [17, 24, 32, 33, 63, 64, 71, 100, 121, 200, CHAIN, CHAIN + 1, 2 * CHAIN + 77, 5 * CHAIN + 9] {
            for (rows, k) in (0..13).flat_map(|rows| (0..13).map(move |k| (rows, k))) {
                let products = (0..rows * k).map(|p| product(row(&a, p / k, len, len), &b, k, p % k));
                let expected: Vec<f64> = products.chain([UNTOUCHED]).collect();
                for table in all_primitives() {
                    let mut out = vec![UNTOUCHED; expected.len()];
                    let out_tile = TileMut::new(&mut out, k);
                    table.vect_mat_mult(rows, len, k, Tile::new(&a, len), &b, out_tile);
                    assert_same(&out, &expected, || format!("vect_mat_mult on {}, {rows} x {len} x {k}", table.isa()));
                }
            }
        }
    }
}

/// Every number of rows and columns of a block of registers, and what is left of them.
#[test]
fn tiles_of_products_are_chains_of_fused_additions() {
    for &kind in Kind::ALL {
        let mut generator = Generator::new(11);
        let (a, b) = (generator.values(kind, 2000), generator.values(kind, 8000));
        for (rows, inner) in [(0, 3), (1, 0), (3, 1), (4, 7), (8, 20), (15, 33), (21, 10)] {
            for (first, cols) in [(0, 1), (0, 7), (0, PANEL), (PANEL, 5), (0, 61), (2 * PANEL, 53), (PANEL, 0)] {
                let (a_row, b_row, out_row) = (inner + 1, inner + 2, cols + 2);
                let mut expected = vec![UNTOUCHED; rows * out_row + 1];
                for index in 0..rows {
                    for column in 0..cols {
                        let (left, right) = (row(&a, index, a_row, inner), row(&b, first + column, b_row, inner));
                        let chain = left.iter().zip(right).fold(0.0, |sum: f64, (x, y)| x.mul_add(*y, sum));
                        expected[index * out_row + column] = chain;
                    }
                }
                let panels = Panels::transposing(Tile::new(&b, b_row), first + cols, inner);
                for table in all_primitives() {
                    let mut out = vec![UNTOUCHED; expected.len()];
                    let out_tile = TileMut::new(&mut out, out_row);
                    table.tile_mat_mult(rows, (first, cols), Tile::new(&a, a_row), &panels, out_tile);
                    assert_same(&out, &expected, || format!("{rows} x {inner} x {cols} on {}", table.isa()));
                }
            }
        }
    }
}

#[test]
fn rows_times_matrices_are_chains_of_fused_additions() {
    for &kind in Kind::ALL {
        let mut generator = Generator::new(12);
        let (a, b) = (generator.values(kind, 2000), generator.values(kind, 8000));
        for (rows, len) in [(0, 3), (1, 0), (3, 1), (4, 7), (8, 20), (13, 33), (21, 10)] {
            for k in [0, 1, 8, 10, 16, 17, 31, 32, 45, 100] {
                let (a_row, b_row, out_row) = (len + 1, k + 2, k + 3);
                let start: Vec<f64> = b.iter().rev().take(rows * out_row + 1).copied().collect();
                let mut expected = start.clone();
                for index in 0..rows {
                    for column in 0..k {
                        let cell = &mut expected[index * out_row + column];
                        *cell = (0..len).fold(*cell, |sum, i| a[index * a_row + i].mul_add(b[i * b_row + column], sum));
                    }
                }
                for table in all_primitives() {
                    let mut out = start.clone();
                    let out_tile = TileMut::new(&mut out, out_row);
                    table.mat_mult_add(rows, len, k, Tile::new(&a, a_row), Tile::new(&b, b_row), out_tile);
                    assert_same(&out, &expected, || format!("{rows} x {len} x {k} on {}", table.isa()));
                }
            }
        }
    }
}

#[test]
fn outer_products_accumulate_rows_in_order() {
    cases(|rows, n, a, b| {
        let (k, a_row) = ([1, 2, 3, 4, 5, 10, 6, 7, 8][(rows + n) % 9], n + 1);
        let (b_row, acc_row) = (k + 2, n + 3);
        let start: Vec<f64> = b.iter().rev().take(k * acc_row + 1).copied().collect();
        let mut expected = start.clone();
        for index in 0..rows {
            for j in 0..k {
                for i in 0..n {
                    let cell = &mut expected[j * acc_row + i];
                    *cell = a[index * a_row + i].mul_add(b[index * b_row + j], *cell);
                }
            }
        }
        for table in all_primitives() {
            let mut acc = start.clone();
            let acc_tile = TileMut::new(&mut acc, acc_row);
            table.outer_mult_add(rows, n, k, Tile::new(a, a_row), Tile::new(b, b_row), acc_tile);
            assert_same(&acc, &expected, || format!("outer_mult_add on {}, {rows} x {n} x {k}", table.isa()));
        }
    });
}

#[test]
fn products_that_underflow_to_negative_zero_meet_the_untouched_lanes() {
    // fma(1e-300, -1e-300, +0.0) is -0.0. Runs of fewer than 32 values have lanes that hold +0.0, and their sum is +0.0.
    let (a, b) = (vec![1e-300; 900], vec![-1e-300; 900]);
    for len in 1..=100 {
        let expected = dot(&a[..len], &b[..len]);
        assert_eq!(expected.is_sign_negative(), len >= 32);
        for table in all_primitives() {
            let mut out = [UNTOUCHED; 9];
            let (columns, results) = ([0; 9], [expected; 9]);
            table.dot_product(9, len, Tile::new(&a, len), Tile::new(&b, len), TileMut::new(&mut out, 1));
            assert_same(&out, &results, || format!("dot_product of {len}"));
            table.vect_mat_mult(9, len, 1, Tile::new(&a, len), &b, TileMut::new(&mut out, 1));
            assert_same(&out, &results, || format!("vect_mat_mult of {len}"));
            let mut several = [UNTOUCHED; 18];
            table.vect_mat_mult(9, len, 2, Tile::new(&a, len), &b, TileMut::new(&mut several, 2));
            assert_same(&several, &[expected; 18], || format!("vect_mat_mult of {len}, 2 columns"));
            table.sampled_product(&[0, 9], &columns, len, Tile::new(&a, len), Tile::new(&b, len), &mut out);
            assert_same(&out, &results, || format!("sampled_product of {len}"));
        }
    }
}
