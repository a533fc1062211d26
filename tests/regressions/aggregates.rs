//! Aggregates: merged partial results, neutral elements, NaN.

use crate::{case, check_few, check_lines, csr, dense, mixed, sparse};

/// Enough cells for many blocks, so that partial results of threads are merged.
const LARGE: (usize, usize) = (1100, 1000);

fn check_large_extremes(cell: fn(usize, usize) -> f64) {
    let (rows, cols) = LARGE;
    for x in [dense(rows, cols, cell), csr(rows, cols, cell)] {
        let dag = case(
            &[
                "%1 = literal 3.0 : f64",
                "%2 = mult %0, %1 : f64[1100x1000]",
                "%3 = min.full %2 : f64",
                "%4 = max.full %2 : f64",
                "%5 = min.col %2 : f64[1x1000]",
                "%6 = max.col %2 : f64[1x1000]",
                "%7 = min.row %2 : f64[1100x1]",
                "write \"a\" %3",
                "write \"b\" %4",
                "write \"c\" %5",
                "write \"d\" %6",
                "write \"e\" %7",
            ],
            &[("X", &x)],
        );
        check_few(&dag);
    }
}

/// Partial results of threads must not be merged into an accumulator that starts at zero, nor be added.
#[test]
fn minima_of_a_million_positive_and_maxima_of_a_million_negative_cells() {
    check_large_extremes(|i, j| ((i * 31 + j * 17) % 1000) as f64 + 5.0);
    check_large_extremes(|i, j| -(((i * 31 + j * 17) % 1000) as f64) - 5.0);
}

#[test]
fn products_of_all_and_of_columns_on_several_threads() {
    let (rows, cols) = LARGE;
    // Mostly ones: the products stay integers.
    let cell = |i: usize, j: usize| match (i * 1000 + j) % 97_001 {
        0 => 2.0,
        1 => -1.0,
        _ => 1.0,
    };
    for x in [dense(rows, cols, cell), csr(rows, cols, cell)] {
        let dag = case(
            &[
                "%1 = abs %0 : f64[1100x1000]",
                "%2 = mult %1, %0 : f64[1100x1000]",
                "%3 = prod.full %2 : f64",
                "%4 = prod.col %2 : f64[1x1000]",
                "%5 = prod.row %2 : f64[1100x1]",
                "write \"a\" %3",
                "write \"b\" %4",
                "write \"c\" %5",
            ],
            &[("X", &x)],
        );
        check_few(&dag);
    }
}

#[test]
fn aggregates_start_from_their_neutral_elements() {
    let negative = dense(70, 5, |i, j| -1.0 - mixed(i, j).abs());
    let positive = dense(70, 5, |i, j| 1.0 + mixed(i, j).abs());
    for agg in ["sum", "sumsq", "min", "max", "prod", "nnz"] {
        for x in [&negative, &positive] {
            check_lines(
                &[
                    "%1 = neg %0 : f64[70x5]",
                    &format!("%2 = {agg}.full %1 : f64"),
                    &format!("%3 = {agg}.row %1 : f64[70x1]"),
                    &format!("%4 = {agg}.col %1 : f64[1x5]"),
                    "write \"full\" %2",
                    "write \"row\" %3",
                    "write \"col\" %4",
                ],
                &[("X", x)],
            );
        }
    }
}

#[test]
fn extremes_propagate_nan_wherever_it_stands() {
    let with_nan_at = |position| move |i: usize, j: usize| if i * 40 + j == position { f64::NAN } else { sparse(i, j) };
    for x in [
        dense(70, 40, with_nan_at(0)),
        dense(70, 40, with_nan_at(64 * 20 + 3)),
        csr(70, 40, with_nan_at(37)),
        csr(70, 40, with_nan_at(70 * 40 - 1)),
    ] {
        check_lines(
            &[
                "%1 = abs %0 : f64[70x40]",
                "%2 = min.full %1 : f64",
                "%3 = max.full %1 : f64",
                "%4 = min.row %1 : f64[70x1]",
                "%5 = max.col %1 : f64[1x40]",
                "%6 = literal 1.0 : f64",
                "%7 = min %1, %6 : f64[70x40]",
                "%8 = sum.col %7 : f64[1x40]",
                "write \"a\" %2",
                "write \"b\" %3",
                "write \"c\" %4",
                "write \"d\" %5",
                "write \"e\" %8",
            ],
            &[("X", &x)],
        );
    }
}

#[test]
fn aggregates_of_one_operator_are_merged_each_by_its_own_function() {
    let (x, y) = (dense(500, 64, |i, j| (i * j % 11) as f64 + 1.0), dense(500, 64, |i, j| -((i + j) as f64) - 1.0));
    check_lines(
        &[
            "%2 = mult %0, %1 : f64[500x64]",
            "%3 = sum.full %2 : f64",
            "%4 = max.full %2 : f64",
            "%5 = min.full %2 : f64",
            "%6 = nnz.full %2 : f64",
            "write \"a\" %3",
            "write \"b\" %4",
            "write \"c\" %5",
            "write \"d\" %6",
        ],
        &[("X", &x), ("Y", &y)],
    );
}
