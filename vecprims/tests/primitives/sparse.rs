//! Products with sparse rows.

use crate::data::{Csr, Generator, Kind, UNTOUCHED, all_primitives, assert_same, row};
use crate::naive;
use fuseline_vecprims::{Tile, TileMut};

/// Columns of the sparse rows.
const COLS: usize = 120;

/// Calls with sparse units of 0 to 17 rows, some of them with equal columns, a width from 0 to 70 and dense data, for every kind of data.
fn cases(mut case: impl FnMut(&Csr, usize, usize, &[f64], &[f64])) {
    for &kind in Kind::ALL {
        let mut generator = Generator::new(5);
        let (u, v) = (generator.values(kind, 12_400), generator.values(kind, 12_400));
        for width in (0..=70).chain([100]) {
            for longest in [1, 9, 40, 120] {
                let rows = (width + longest) % 6;
                case(&Csr::new(&mut generator, kind, rows, COLS, longest), rows, width, &u, &v);
            }
            for (rows, longest) in [(8, 2), (9, 4), (17, 8), (16, 9)] {
                case(&Csr::new(&mut generator, kind, rows, COLS, longest), rows, width, &u, &v);
            }
            for (rows, equal) in [(2, 2), (4, 4), (5, 3), (6, 6), (7, 5), (17, 16)] {
                case(&Csr::with_equal_rows(&mut generator, kind, rows, equal, 11), rows, width, &u, &v);
            }
        }
    }
}

#[test]
fn sparse_dot_products_gather_their_factors() {
    cases(|csr, rows, width, u, _| {
        let (b_row, out_row) = (if width % 2 == 0 { 0 } else { COLS }, 1 + width / 2 % 2);
        let mut expected = vec![UNTOUCHED; out_row * rows + 1];
        for index in 0..rows {
            let positions = csr.positions(index);
            let factors = csr.columns[positions.clone()].iter().map(|&column| u[index * b_row + column as usize]);
            expected[out_row * index] = naive::dot(csr.values[positions].iter().copied(), factors);
        }
        for table in all_primitives() {
            let mut out = vec![UNTOUCHED; expected.len()];
            table.sparse_dot_product(csr.tile(), Tile::new(u, b_row), TileMut::new(&mut out, out_row));
            assert_same(&out, &expected, || format!("sparse_dot_product on {}, {rows} rows", table.isa()));
        }
    });
}

#[test]
fn products_of_two_values_of_each_position_are_runs() {
    cases(|csr, rows, width, u, _| {
        let (b, out_row) = (&u[..csr.tile().positions()], 1 + width % 2);
        let mut expected = vec![UNTOUCHED; out_row * rows + 1];
        for index in 0..rows {
            let positions = csr.positions(index);
            let factors = b[positions.clone()].iter().copied();
            expected[out_row * index] = naive::dot(csr.values[positions].iter().copied(), factors);
        }
        for table in all_primitives() {
            let mut out = vec![UNTOUCHED; expected.len()];
            table.segment_dot_product(csr.tile().row_offsets, csr.tile().values, b, TileMut::new(&mut out, out_row));
            assert_same(&out, &expected, || format!("segment_dot_product on {}, {rows} rows", table.isa()));
        }
    });
}

#[test]
fn positions_get_the_value_of_their_row_or_column() {
    cases(|csr, rows, width, u, _| {
        let row_stride = if width % 2 == 0 { 0 } else { COLS };
        let count = csr.tile().positions();
        let (mut of_rows, mut of_columns) = (vec![UNTOUCHED; count + 1], vec![UNTOUCHED; count + 1]);
        for index in 0..rows {
            for position in csr.positions(index) {
                of_rows[position] = u[index * row_stride];
                of_columns[position] = u[index * row_stride + csr.columns[position] as usize];
            }
        }
        let (offsets, columns, u) = (csr.tile().row_offsets, csr.tile().columns, Tile::new(u, row_stride));
        for table in all_primitives() {
            let mut out = vec![UNTOUCHED; count + 1];
            table.segment_spread(offsets, u, &mut out);
            assert_same(&out, &of_rows, || format!("segment_spread on {}, {rows} rows", table.isa()));
            let mut out = vec![UNTOUCHED; count + 1];
            table.sparse_gather(offsets, columns, u, &mut out);
            assert_same(&out, &of_columns, || format!("sparse_gather on {}, {rows} rows", table.isa()));
        }
    });
}

#[test]
fn sparse_rows_are_laid_out_beside_one_value_each() {
    cases(|csr, rows, width, u, start| {
        let (fill_row, out_row) = (if width % 2 == 0 { 0 } else { COLS }, COLS + width);
        let start = &start[..rows * out_row + 1];
        let mut expected = start.to_vec();
        for index in 0..rows {
            expected[index * out_row..][..COLS].fill(u[index * fill_row]);
            for position in csr.positions(index) {
                expected[index * out_row + csr.columns[position] as usize] = csr.values[position];
            }
        }
        for table in all_primitives() {
            let mut out = start.to_vec();
            table.sparse_scatter(csr.tile(), COLS, Tile::new(u, fill_row), TileMut::new(&mut out, out_row));
            assert_same(&out, &expected, || format!("sparse_scatter on {}, {rows} rows", table.isa()));
        }
    });
}

#[test]
fn cells_that_are_not_zero_are_compressed_as_far_as_there_is_room() {
    for &kind in Kind::ALL {
        let mut generator = Generator::new(7);
        let (values, chances) = (generator.values(kind, 150), generator.values(Kind::ALL[0], 150));
        for len in (0..=70).chain([127, 150]) {
            // From cells that are all kept, but for zeros among the data, to some in a hundred.
            for least in [-1.0, 0.5, 0.9, 0.99] {
                let keeps = |(&value, &chance): (&f64, &f64)| if chance.abs() % 1.0 > least { value } else { -0.0 };
                let cells: Vec<f64> = values[..len].iter().zip(&chances).map(keeps).collect();
                let nonzeros: Vec<usize> = (0..len).filter(|&j| cells[j] != 0.0).collect();
                for room in [0, nonzeros.len() / 2, nonzeros.len(), nonzeros.len() + 5, len + 40] {
                    check_compressed(&cells, &nonzeros[..room.min(nonzeros.len())], room);
                }
            }
        }
    }
}

/// Compresses cells, of which so many find room, on every instruction set; what lies behind the room stays.
fn check_compressed(cells: &[f64], expected: &[usize], room: usize) {
    for table in all_primitives() {
        let (mut columns, mut values) = (vec![u32::MAX; room + 1], vec![UNTOUCHED; room + 1]);
        let kept = table.compress(cells, &mut columns[..room], &mut values[..room]);
        let found: Vec<usize> = columns[..kept].iter().map(|&column| column as usize).collect();
        assert_eq!(found, expected, "columns on {} of {cells:?}", table.isa());
        let of_columns: Vec<f64> = expected.iter().map(|&column| cells[column]).collect();
        assert_same(&values[..kept], &of_columns, || format!("values on {}", table.isa()));
        assert_eq!((columns[room], values[room].to_bits()), (u32::MAX, UNTOUCHED.to_bits()), "{}", table.isa());
    }
}

#[test]
fn positions_of_values_that_are_not_zero_are_kept_as_far_as_there_is_room() {
    for &kind in Kind::ALL {
        let mut generator = Generator::new(8);
        let (values, chances) = (generator.values(kind, 150), generator.values(Kind::ALL[0], 150));
        for len in (0..=70).chain([127, 128, 150]) {
            for least in [-1.0, 0.5, 0.9, 0.99] {
                let keeps = |(&value, &chance): (&f64, &f64)| if chance.abs() % 1.0 > least { value } else { -0.0 };
                let values: Vec<f64> = values[..len].iter().zip(&chances).map(keeps).collect();
                let nonzeros: Vec<usize> = (0..len).filter(|&position| values[position] != 0.0).collect();
                check_bits(&values, &nonzeros);
                for room in [0, nonzeros.len() / 2, nonzeros.len(), nonzeros.len() + 5, len + 40] {
                    check_kept(&values, &nonzeros[..room.min(nonzeros.len())], room);
                }
            }
        }
    }
}

/// A bit for each of these positions alone, on every instruction set; what lies behind the words stays.
fn check_bits(values: &[f64], nonzeros: &[usize]) {
    let mut expected = vec![0_u64; values.len().div_ceil(64)];
    nonzeros.iter().for_each(|position| expected[position / 64] |= 1 << (position % 64));
    expected.push(u64::MAX);
    for table in all_primitives() {
        let mut words = vec![u64::MAX; expected.len()];
        table.nonzero_bits(values, &mut words);
        assert_eq!(words, expected, "bits on {} of {values:?}", table.isa());
    }
}

/// Keeps positions, of which so many find room, on every instruction set; what lies behind the room stays.
fn check_kept(values: &[f64], expected: &[usize], room: usize) {
    let columns: Vec<u32> = (0..values.len()).map(|position| 7 + 3 * position as u32).collect();
    for table in all_primitives() {
        let (mut columns_out, mut values_out) = (vec![u32::MAX; room + 1], vec![UNTOUCHED; room + 1]);
        let kept = table.keep_nonzeros(&columns, values, &mut columns_out[..room], &mut values_out[..room]);
        let of_positions: Vec<u32> = expected.iter().map(|&position| columns[position]).collect();
        assert_eq!(columns_out[..kept], of_positions, "columns on {} of {values:?}", table.isa());
        let of_positions: Vec<f64> = expected.iter().map(|&position| values[position]).collect();
        assert_same(&values_out[..kept], &of_positions, || format!("values on {}", table.isa()));
        assert_eq!((columns_out[room], values_out[room].to_bits()), (u32::MAX, UNTOUCHED.to_bits()), "{}", table.isa());
    }
}

#[test]
fn descents_are_counted_across_registers_and_parts() {
    for len in (0..=70).chain([1 << 20, (1 << 20) + 3]) {
        for ascending in [1, 5, 1024] {
            let columns: Vec<u32> = (0..len).map(|number| u32::MAX - 1023 + number % ascending).collect();
            let expected = columns.windows(2).filter(|pair| pair[0] >= pair[1]).count();
            for table in all_primitives() {
                assert_eq!(table.descents(&columns), expected, "{len} columns on {}", table.isa());
            }
        }
    }
}

#[test]
fn sparse_rows_times_matrices_go_position_by_position() {
    cases(check_products);
}

fn check_products(csr: &Csr, rows: usize, k: usize, b: &[f64], start: &[f64]) {
    let (b_row, out_row) = (k + 1, k + 2);
    let start = &start[..rows * out_row + 1];
    let (mut product, mut sum) = (vec![UNTOUCHED; start.len()], start.to_vec());
    for index in 0..rows {
        for j in 0..k {
            product[index * out_row + j] = 0.0;
            for position in csr.positions(index) {
                let factor = b[csr.columns[position] as usize * b_row + j];
                for out in [&mut product, &mut sum] {
                    let cell = &mut out[index * out_row + j];
                    *cell = csr.values[position].mul_add(factor, *cell);
                }
            }
        }
    }
    for table in all_primitives() {
        let mut out = vec![UNTOUCHED; start.len()];
        table.sparse_vect_mat_mult(csr.tile(), k, Tile::new(b, b_row), TileMut::new(&mut out, out_row));
        assert_same(&out, &product, || format!("sparse_vect_mat_mult on {}, {rows} rows x {k}", table.isa()));
        let mut out = start.to_vec();
        table.sparse_mat_mult_add(csr.tile(), k, Tile::new(b, b_row), TileMut::new(&mut out, out_row));
        assert_same(&out, &sum, || format!("sparse_mat_mult_add on {}, {rows} rows x {k}", table.isa()));
    }
}

#[test]
fn sparse_outer_products_accumulate_rows_in_order() {
    // The same row of factors for all, or one for each.
    cases(|csr, rows, k, b, start| {
        check_outer_products(csr, (rows, COLS, k), b, if k % 3 == 0 { 0 } else { k + 1 }, start);
    });
}

/// Short rows by the hundred, and among them rows without positions and rows that are longer than what is looked at at
/// once.
#[test]
fn short_sparse_rows_accumulate_as_others_do() {
    const WIDE: usize = 700;
    for (few, longest) in [(4, 4), (17, 17), (33, 40), (9, 511), (9, 512), (9, 513), (3, 700)] {
        let mut generator = Generator::new(few as u64);
        for &kind in Kind::ALL {
            let mut lengths: Vec<usize> = (0..150).map(|_| generator.below(few)).collect();
            lengths[70] = longest;
            let csr = Csr::with_lengths(&mut generator, kind, WIDE, &lengths);
            let (b, start) = (generator.values(kind, 600), generator.values(kind, 3 * WIDE));
            for k in 1..=3 {
                check_outer_products(&csr, (lengths.len(), WIDE, k), &b, k, &start);
            }
        }
    }
}

/// Rows of which most have no positions, whose operands are asked for before any is at hand: one position for each row on
/// average and fewer, as many as there are rows, and the last rows with and without.
#[test]
fn rows_of_which_most_are_empty_multiply_as_others_do() {
    for (rows, share, longest) in [(2, 1, 1), (17, 2, 2), (40, 1, 1), (150, 7, 3), (150, 40, 30), (33, 60, 1)] {
        let mut generator = Generator::new(share as u64);
        for &kind in Kind::ALL {
            let length = |generator: &mut Generator| match generator.below(share) {
                0 => 1 + generator.below(longest),
                _ => 0,
            };
            let lengths: Vec<usize> = (0..rows).map(|_| length(&mut generator)).collect();
            let csr = Csr::with_lengths(&mut generator, kind, COLS, &lengths);
            let (b, start) = (generator.values(kind, 12_400), generator.values(kind, 12_400));
            for k in [1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16, 18, 20, 24, 27, 33, 38, 40, 48, 56, 70] {
                check_products(&csr, rows, k, &b, &start);
                check_outer_products(&csr, (rows, COLS, k), &b, k, &start);
            }
        }
    }
}

fn check_outer_products(csr: &Csr, (rows, cols, k): (usize, usize, usize), b: &[f64], b_row: usize, start: &[f64]) {
    let start = &start[..cols * k];
    let mut expected = start.to_vec();
    for index in 0..rows {
        for position in csr.positions(index) {
            for j in 0..k {
                let cell = &mut expected[csr.columns[position] as usize * k + j];
                *cell = csr.values[position].mul_add(b[index * b_row + j], *cell);
            }
        }
    }
    for table in all_primitives() {
        let mut acc = start.to_vec();
        table.sparse_outer_mult_add(csr.tile(), k, Tile::new(b, b_row), TileMut::new(&mut acc, k));
        assert_same(&acc, &expected, || format!("sparse_outer_mult_add on {}, {rows} rows x {k}", table.isa()));
    }
}

#[test]
fn sampled_products_are_dot_products_per_position() {
    cases(|csr, rows, rank, u, v| {
        let (u_row, v_row) = (rank + 1, rank);
        let mut expected = vec![UNTOUCHED; csr.values.len() + 1];
        for index in 0..rows {
            for position in csr.positions(index) {
                let factors = row(v, csr.columns[position] as usize, v_row, rank);
                expected[position] = naive::dot(row(u, index, u_row, rank).iter().copied(), factors.iter().copied());
            }
        }
        for table in all_primitives() {
            let mut out = vec![UNTOUCHED; expected.len()];
            let (u, v) = (Tile::new(u, u_row), Tile::new(v, v_row));
            table.sampled_product(&csr.row_offsets, &csr.columns, rank, u, v, &mut out);
            assert_same(&out, &expected, || format!("sampled_product on {}, {rows} rows, rank {rank}", table.isa()));
        }
    });
}

/// Rows with the same columns, as in a dense tile, share the rows of the other factor.
#[test]
fn sampled_products_of_whole_rows_are_dot_products() {
    for (rows, columns, rank) in [(2, 1, 40), (5, 7, 100), (4, 9, 33), (3, 0, 64), (6, 6, 160)] {
        let mut generator = Generator::new(rows as u64);
        let (u, v) = [rows, columns + 1].map(|count| generator.values(Kind::Ordinary, count * rank)).into();
        // The last row but one lacks a column.
        let of_row = |row: usize| (u32::from(row + 2 == rows)..columns as u32).collect::<Vec<u32>>();
        let mut offsets = vec![0];
        let mut all = Vec::new();
        for row in 0..rows {
            all.extend(of_row(row));
            offsets.push(all.len());
        }
        let mut expected = Vec::new();
        for index in 0..rows {
            for column in of_row(index) {
                let (u, v) = (row(&u, index, rank, rank), row(&v, column as usize, rank, rank));
                expected.push(naive::dot(u.iter().copied(), v.iter().copied()));
            }
        }
        for table in all_primitives() {
            let mut out = vec![UNTOUCHED; expected.len()];
            table.sampled_product(&offsets, &all, rank, Tile::new(&u, rank), Tile::new(&v, rank), &mut out);
            assert_same(&out, &expected, || format!("{rows} x {columns}, rank {rank} on {}", table.isa()));
        }
    }
}

#[test]
#[should_panic(expected = "every column lies within the operand")]
fn columns_outside_of_the_operand_are_refused() {
    let csr = fuseline_vecprims::CsrTile { row_offsets: &[0, 1], columns: &[2], values: &[1.0] };
    let mut acc = [0.0; 2];
    all_primitives()[0].sparse_col_agg(fuseline_ops::AggOp::Sum, csr, &mut acc);
}
