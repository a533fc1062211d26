//! Aggregates of rows, of units and of columns, dense and by position.

use crate::data::{Csr, Generator, Kind, ROWS, UNTOUCHED, all_primitives, assert_same, lengths, row};
use crate::naive;
use fuseline_ops::AggOp;
use fuseline_vecprims::{Tile, TileMut};

/// Aggregation functions that merge.
fn merging() -> impl Iterator<Item = AggOp> {
    AggOp::ALL.iter().copied().filter(|op| op.merges())
}

/// Every extent with data of every kind and a stride.
fn cases(mut case: impl FnMut(usize, usize, usize, &[f64])) {
    for &kind in Kind::ALL {
        let values = Generator::new(2).values(kind, 12_000);
        for len in lengths() {
            for &rows in ROWS {
                case(rows, len, if rows % 2 == 0 { len } else { len + 3 }, &values);
            }
        }
    }
}

#[test]
fn rows_and_units_reduce_over_32_lanes() {
    cases(|rows, len, stride, values| {
        let tile = Tile::new(values, stride);
        let slices: Vec<&[f64]> = (0..rows).map(|index| row(values, index, stride, len)).collect();
        for &op in AggOp::ALL {
            let mut expected = vec![UNTOUCHED; 3 * rows + 2];
            for (index, slice) in slices.iter().enumerate() {
                expected[3 * index] = naive::aggregate_run(op, slice);
            }
            for table in all_primitives() {
                let mut out = vec![UNTOUCHED; expected.len()];
                table.row_agg(op, rows, len, tile, TileMut::new(&mut out, 3));
                assert_same(&out, &expected, || format!("row_{op} on {}, {rows} x {len}", table.isa()));
                let neighbours: Vec<f64> = expected.iter().copied().step_by(3).take(rows).chain([UNTOUCHED]).collect();
                let mut out = vec![UNTOUCHED; neighbours.len()];
                table.row_agg(op, rows, len, tile, TileMut::new(&mut out, 1));
                assert_same(&out, &neighbours, || format!("row_{op} side by side on {}, {rows} x {len}", table.isa()));
            }
        }
        for op in merging() {
            let expected = naive::aggregate(op, &slices);
            for table in all_primitives() {
                let actual = table.full_agg(op, rows, len, tile);
                assert_same(&[actual], &[expected], || format!("full_{op} on {}, {rows} x {len}", table.isa()));
            }
        }
    });
}

#[test]
fn cumulative_aggregates_go_along_the_row() {
    cases(|rows, len, stride, values| {
        let (tile, out_row) = (Tile::new(values, stride), len + 2);
        let start = vec![UNTOUCHED; rows * out_row + 1];
        let in_place = |results: &dyn Fn(&[f64]) -> Vec<f64>| {
            let mut expected = start.clone();
            for index in 0..rows {
                expected[index * out_row..][..len].copy_from_slice(&results(row(values, index, stride, len)));
            }
            expected
        };
        for &op in AggOp::ALL.iter().filter(|op| op.is_cumulative()) {
            let expected = in_place(&|run| naive::cumulative(op, run));
            for table in all_primitives() {
                let mut out = start.clone();
                table.row_cumulative(op, rows, len, tile, TileMut::new(&mut out, out_row));
                assert_same(&out, &expected, || format!("row_cum{op} on {}, {rows} x {len}", table.isa()));
            }
        }
    });
}

#[test]
fn rows_are_copied_and_values_of_rows_repeated() {
    cases(|rows, len, stride, values| {
        // Rows that follow each other without a gap, and others; one row may serve for all.
        for (a_row, out_row) in [(stride, len), (len, len), (stride, len + 2), (0, len)] {
            let tile = Tile::new(values, a_row);
            let start = vec![UNTOUCHED; rows * out_row + 5];
            let (mut copied, mut repeated) = (start.clone(), start.clone());
            for index in 0..rows {
                copied[index * out_row..][..len].copy_from_slice(row(values, index, a_row, len));
                repeated[index * out_row..][..len].fill(values[index * a_row]);
            }
            for table in all_primitives() {
                let mut out = start.clone();
                table.copy(rows, len, tile, TileMut::new(&mut out, out_row));
                assert_same(&out, &copied, || format!("vect_copy on {}, {rows} x {len}", table.isa()));
                out.clone_from(&start);
                table.stream(rows, len, tile, TileMut::new(&mut out, out_row));
                assert_same(&out, &copied, || format!("streamed on {}, {rows} x {len}", table.isa()));
                out.clone_from(&start);
                table.spread(rows, len, tile, TileMut::new(&mut out, out_row));
                assert_same(&out, &repeated, || format!("vect_spread on {}, {rows} x {len}", table.isa()));
            }
        }
    });
}

#[test]
fn columns_accumulate_rows_in_order() {
    cases(|rows, len, stride, values| {
        for op in merging() {
            let start: Vec<f64> = values.iter().rev().take(len).copied().chain([UNTOUCHED; 3]).collect();
            let mut expected = start.clone();
            for index in 0..rows {
                for (cell, &value) in expected.iter_mut().zip(row(values, index, stride, len)) {
                    naive::accumulate(op, cell, value);
                }
            }
            for table in all_primitives() {
                let mut acc = start.clone();
                table.col_agg(op, rows, len, Tile::new(values, stride), &mut acc[..len]);
                assert_same(&acc, &expected, || format!("col_{op} on {}, {rows} x {len}", table.isa()));
            }
        }
    });
}

#[test]
fn sparse_rows_reduce_over_their_positions() {
    for &kind in Kind::ALL {
        let mut generator = Generator::new(3);
        for longest in lengths() {
            let (rows, cols) = (ROWS[longest % ROWS.len()], longest.max(1) + 1);
            let csr = Csr::new(&mut generator, kind, rows, cols, longest);
            let slices: Vec<&[f64]> = (0..rows).map(|index| &csr.values[csr.positions(index)]).collect();
            for &op in AggOp::ALL {
                // With as many columns as the longest row has positions there may be rows without a zero.
                for cols in [longest, cols] {
                    let expected: Vec<f64> =
                        slices.iter().map(|values| naive::aggregate_sparse_row(op, values, cols)).collect();
                    for table in all_primitives() {
                        let mut out = vec![UNTOUCHED; rows];
                        table.segment_row_agg(op, &csr.row_offsets, &csr.values, cols, TileMut::new(&mut out, 1));
                        assert_same(&out, &expected, || format!("segment_row_{op} on {}", table.isa()));
                    }
                }
            }
            for op in merging() {
                let start = generator.values(kind, cols);
                let mut expected_columns = start.clone();
                for (&column, &value) in csr.columns.iter().zip(&csr.values) {
                    naive::accumulate(op, &mut expected_columns[column as usize], value);
                }
                for table in all_primitives() {
                    let mut acc = start.clone();
                    table.sparse_col_agg(op, csr.tile(), &mut acc);
                    assert_same(&acc, &expected_columns, || format!("sparse_col_{op} on {}", table.isa()));
                }
            }
        }
    }
}
