//! Zeros that are not stored: operations that keep them and that do not, in every position of their operands.

use crate::{case, check_few, check_lines, csr, dense, mixed, sparse};
use fuseline::{CompileOptions, Csr, Dense, Format, Mode, Session, Variables};

#[test]
fn sparse_inputs_of_chains_that_do_not_keep_zeros() {
    let (x, y) = (csr(40, 23, sparse), dense(40, 23, mixed));
    check_lines(
        &[
            "%2 = literal 1.0 : f64",
            "%3 = plus %0, %2 : f64[40x23]",
            "%4 = mult %3, %1 : f64[40x23]",
            "%5 = sum.full %4 : f64",
            "%6 = eq %0, %2 : f64[40x23]",
            "%7 = sum.row %6 : f64[40x1]",
            "%8 = max %0, %2 : f64[40x23]",
            "%9 = sum.col %8 : f64[1x23]",
            "write \"a\" %5",
            "write \"b\" %7",
            "write \"c\" %9",
        ],
        &[("X", &x), ("Y", &y)],
    );
}

#[test]
fn sparse_inputs_of_several_aggregates_that_do_not_keep_zeros() {
    let (x, y) = (csr(64, 33, sparse), csr(64, 33, |i, j| sparse(i + 1, j)));
    check_lines(
        &[
            "%2 = literal 2.0 : f64",
            "%3 = minus %2, %0 : f64[64x33]",
            "%4 = sum.full %3 : f64",
            "%5 = min.full %3 : f64",
            "%6 = mult %0, %1 : f64[64x33]",
            "%7 = sum.full %6 : f64",
            "%8 = sumsq.full %0 : f64",
            "write \"a\" %4",
            "write \"b\" %5",
            "write \"c\" %7",
            "write \"d\" %8",
        ],
        &[("X", &x), ("Y", &y)],
    );
}

#[test]
fn powers_and_sums_of_sparse_rows() {
    let (x, v) = (csr(50, 17, sparse), dense(17, 1, |i, _| i as f64 - 8.0));
    check_lines(
        &[
            "%2 = matmul %0, %1 : f64[50x1]",
            "%3 = literal 3.0 : f64",
            "%4 = pow %0, %3 : f64[50x17]",
            "%5 = literal 1.0 : f64",
            "%6 = plus %4, %5 : f64[50x17]",
            "%7 = mult %6, %2 : f64[50x17]",
            "%8 = sum.row %7 : f64[50x1]",
            "write \"o\" %8",
        ],
        &[("X", &x), ("v", &v)],
    );
}

#[test]
fn absolute_values_and_differences_of_scalars_and_vectors() {
    let (x, w, r) = (csr(31, 20, sparse), dense(31, 1, mixed), dense(1, 20, mixed));
    check_lines(
        &[
            "%3 = literal 2.0 : f64",
            "%4 = minus %3, %0 : f64[31x20]",
            "%5 = abs %4 : f64[31x20]",
            "%6 = minus %0, %1 : f64[31x20]",
            "%7 = abs %6 : f64[31x20]",
            "%8 = minus %2, %0 : f64[31x20]",
            "%9 = plus %7, %8 : f64[31x20]",
            "%10 = sum.row %9 : f64[31x1]",
            "%11 = sum.col %5 : f64[1x20]",
            "write \"a\" %10",
            "write \"b\" %11",
        ],
        &[("X", &x), ("w", &w), ("r", &r)],
    );
}

#[test]
fn quotients_with_a_sparse_numerator_or_denominator() {
    let (x, y, w) = (csr(31, 20, sparse), dense(31, 20, mixed), dense(31, 1, |i, _| i as f64 + 1.0));
    check_lines(
        &[
            "%3 = div %0, %2 : f64[31x20]",
            "%4 = sum.full %3 : f64",
            // 0/0 and y/0 where X has no entry.
            "%5 = div %1, %0 : f64[31x20]",
            "%6 = abs %5 : f64[31x20]",
            "%7 = literal 2.0 : f64",
            "%8 = div %7, %0 : f64[31x20]",
            "%9 = div %0, %1 : f64[31x20]",
            "%10 = neg %9 : f64[31x20]",
            "write \"a\" %4",
            "write \"b\" %6",
            "write \"c\" %8",
            "write \"d\" %10",
        ],
        &[("X", &x), ("Y", &y), ("w", &w)],
    );
}

#[test]
fn exclusive_or_of_sparse_and_dense() {
    let (x, y) = (csr(40, 9, sparse), dense(40, 9, mixed));
    check_lines(
        &[
            "%2 = xor %0, %1 : f64[40x9]",
            "%3 = sum.row %2 : f64[40x1]",
            "%4 = xor %1, %0 : f64[40x9]",
            "%5 = abs %4 : f64[40x9]",
            "write \"a\" %3",
            "write \"b\" %5",
        ],
        &[("X", &x), ("Y", &y)],
    );
}

#[test]
fn outer_products_with_sparse_sides() {
    let x = csr(30, 26, sparse);
    let y = csr(30, 26, |i, j| sparse(i, j + 1));
    for (u, v) in [
        (csr(30, 3, mixed), dense(26, 3, mixed)),
        (dense(30, 3, mixed), csr(26, 3, mixed)),
        (csr(30, 3, sparse), csr(26, 3, sparse)),
    ] {
        check_lines(
            &[
                "%4 = t %3 : f64[3x26]",
                "%5 = matmul %2, %4 : f64[30x26]",
                "%6 = minus %5, %1 : f64[30x26]",
                "%7 = literal 0.0 : f64",
                "%8 = ne %0, %7 : f64[30x26]",
                "%9 = mult %8, %6 : f64[30x26]",
                "%10 = sum.full %9 : f64",
                "%11 = matmul %9, %3 : f64[30x3]",
                "write \"a\" %10",
                "write \"b\" %11",
            ],
            &[("X", &x), ("Y", &y), ("U", &u), ("V", &v)],
        );
    }
}

/// The cells of a fused operator's zeros count in aggregates over sparse inputs, once.
#[test]
fn zeros_count_in_extremes_and_products_of_sparse_inputs() {
    let x = csr(60, 30, |i, j| sparse(i, j).abs());
    let full = csr(60, 30, |i, j| mixed(i, j).abs() + 1.0);
    for x in [x, full] {
        check_lines(
            &[
                "%1 = neg %0 : f64[60x30]",
                "%2 = max.full %1 : f64",
                "%3 = max.row %1 : f64[60x1]",
                "%4 = max.col %1 : f64[1x30]",
                "%5 = sign %0 : f64[60x30]",
                "%6 = prod.row %5 : f64[60x1]",
                "%7 = prod.full %5 : f64",
                "write \"a\" %2",
                "write \"b\" %3",
                "write \"c\" %4",
                "write \"d\" %6",
                "write \"e\" %7",
            ],
            &[("X", &x)],
        );
    }
}

#[test]
fn inputs_without_rows_columns_or_non_zeros() {
    for (rows, cols) in [(0, 5), (5, 0), (0, 0), (6, 4)] {
        for x in [dense(rows, cols, |_, _| 0.0), csr(rows, cols, |_, _| 0.0)] {
            let y = dense(rows, cols, mixed);
            let lines = [
                format!("%2 = mult %0, %1 : f64[{rows}x{cols}]"),
                format!("%3 = plus %2, %1 : f64[{rows}x{cols}]"),
                "%4 = sum.full %3 : f64".to_owned(),
                format!("%5 = sum.row %3 : f64[{rows}x1]"),
                format!("%6 = sum.col %3 : f64[1x{cols}]"),
                format!("%7 = min.row %2 : f64[{rows}x1]"),
                "%8 = max.full %2 : f64".to_owned(),
                format!("%9 = t %0 : f64[{cols}x{rows}]"),
                format!("%10 = matmul %9, %3 : f64[{cols}x{cols}]"),
                format!("%11 = minus %3, %5 : f64[{rows}x{cols}]"),
                format!("%12 = abs %11 : f64[{rows}x{cols}]"),
                "write \"a\" %4".to_owned(),
                "write \"b\" %6".to_owned(),
                "write \"c\" %7".to_owned(),
                "write \"d\" %8".to_owned(),
                "write \"e\" %10".to_owned(),
                "write \"f\" %12".to_owned(),
            ];
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            check_lines(&lines, &[("X", &x), ("Y", &y)]);
        }
    }
}

/// Operators over non-zeros take `X != 0` for one, which explicitly stored zeros would make wrong.
#[test]
fn stored_zeros_drive_no_outer_products() {
    let full = Csr::from_dense(&Dense::from_fn(30, 40, |i, j| if (i + j) % 4 == 0 { 1.0 } else { 0.0 }));
    let values = (0..full.nnz()).map(|position| (position % 3) as f64).collect();
    let stored = Csr::new(30, 40, full.row_offsets().to_vec(), full.columns().to_vec(), values);
    let x = stored.expect("the positions are those of a matrix").into();
    let (u, v) = (dense(30, 2, |i, j| (i + j) as f64), dense(40, 2, |i, j| (i * 2 + j) as f64));
    check_lines(
        &[
            "%3 = t %2 : f64[2x40]",
            "%4 = matmul %1, %3 : f64[30x40]",
            "%5 = literal 0.0 : f64",
            "%6 = ne %0, %5 : f64[30x40]",
            "%7 = mult %6, %4 : f64[30x40]",
            "%8 = sum.full %7 : f64",
            "%9 = matmul %7, %2 : f64[30x2]",
            "write \"a\" %8",
            "write \"b\" %9",
        ],
        &[("X", &x), ("U", &u), ("V", &v)],
    );
}

/// Operators that compute all cells beside a sparse matrix, or choose values, leave results in the format that suits them, as
/// operations by themselves do: what reads them goes by non-zeros, and their memory is what was estimated.
#[test]
fn results_of_all_cells_have_the_format_that_suits_them() {
    const SCRIPT: &str = "
        S = rand(rows=300, cols=200, min=-1, max=1, sparsity=0.05, seed=1)
        X = rand(rows=300, cols=200, min=-1, max=1, seed=2)
        P = max(min(S, abs(X)), 0)
        C = ifelse(X > 0.9, X, 0)
        D = max(S, abs(X))
        G = rand(rows=1000, cols=600, min=0.1, max=1, sparsity=0.05, seed=3)
        U = rand(rows=1000, cols=2, min=0.1, max=1, seed=4)
        V = rand(rows=600, cols=2, min=0.1, max=1, seed=5)
        L = min(G, abs(U %*% t(V)))";
    let formats = |mode: Mode| {
        let session = Session::new(CompileOptions { mode, ..CompileOptions::default() }).expect("a session");
        let script = session.compile_script("formats", SCRIPT, &[]).expect("it compiles");
        let outcome = session.run(&script, Variables::new(), &mut std::io::sink()).expect("it runs");
        ["P", "C", "D", "L"].map(|name| outcome.matrix(name).expect("it is a matrix").format())
    };
    let expected = [Format::Sparse, Format::Sparse, Format::Dense, Format::Sparse];
    for mode in [Mode::Base, Mode::Gen, Mode::GenFuseAll, Mode::GenFuseNoRedundancy] {
        assert_eq!(formats(mode), expected, "{mode:?}");
    }
}

/// Blocks of such results end where rows end, however narrow these are, and each is stored as it is: few non-zeros in the first rows
/// and many in the last ones, of which there are more or fewer.
#[test]
fn results_are_stored_block_by_block() {
    const ROWS: usize = 40_001;
    for dense_from in [ROWS / 8, ROWS - ROWS / 8] {
        let few = |i: usize, j: usize| {
            if i < dense_from && !(i * 7 + j * 5).is_multiple_of(9) { 0.0 } else { mixed(i, j) + 0.5 }
        };
        let beside = dense(ROWS, 7, |i, j| mixed(j, i) * 0.5);
        let positive = dense(ROWS, 7, |i, j| mixed(j, i).abs() + 6.0);
        for s in [csr(ROWS, 7, few), csr(ROWS, 7, sparse)] {
            let dag = case(
                &[
                    "%3 = min %0, %2 : f64[40001x7]",
                    "%4 = abs %1 : f64[40001x7]",
                    "%5 = literal 0.0 : f64",
                    "%6 = gt %0, %4 : f64[40001x7]",
                    "%7 = ifelse %6, %1, %5 : f64[40001x7]",
                    "%8 = sum.row %3 : f64[40001x1]",
                    "%9 = div %3, %8 : f64[40001x7]",
                    "write \"a\" %3",
                    "write \"b\" %7",
                    "write \"c\" %9",
                ],
                &[("S", &s), ("X", &beside), ("P", &positive)],
            );
            check_few(&dag);
        }
    }
}
