//! Plans: what is fused, with which inputs, and what an operator keeps while it runs.

use crate::harness::case::{Case, runtime_value};
use crate::harness::check::accepted;
use crate::harness::starts;
use crate::{case, check, check_lines, csr, dense, mixed, sparse};
use fuseline::ir::DataType;
use fuseline::{BackendKind, CompileOptions, Mode, RuntimeValue, ScriptInterface, Session, Statistics};

/// The statistics of a run in one mode.
fn statistics(case: &Case, mode: Mode) -> Statistics {
    let options = CompileOptions::default();
    let machine = starts::alike(options.machine);
    let options = CompileOptions { mode, backend: BackendKind::Interp, machine, ..options };
    let session = Session::new(options).expect("a session of this machine");
    session.run_dag(&case.dag().expect("it is a DAG"), case.variables()).expect("it runs").statistics
}

#[test]
fn a_plan_is_reused_for_other_inputs_in_the_right_order() {
    let (x, y) = (dense(20, 6, mixed), dense(20, 6, |i, j| (i + j) as f64));
    let lines = |left: &str, right: &str| {
        [
            "%2 = literal 2.0 : f64".to_owned(),
            format!("%3 = mult {right}, %2 : f64[20x6]"),
            format!("%4 = minus {left}, %3 : f64[20x6]"),
            "%5 = sum.row %4 : f64[20x1]".to_owned(),
            "write \"o\" %5".to_owned(),
        ]
    };
    let options = CompileOptions { backend: BackendKind::Interp, ..CompileOptions::default() };
    let session = Session::new(options).expect("a session of this machine");
    let mut hits = Vec::new();
    // The same expression, the same with permuted inputs, and the first with other names of its leaves.
    for (left, right, names) in [("%0", "%1", ["X", "Y"]), ("%1", "%0", ["X", "Y"]), ("%0", "%1", ["Q", "R"])] {
        let lines = lines(left, right);
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let case = case(&lines, &[(names[0], &x), (names[1], &y)]);
        let dag = case.dag().expect("it is a DAG");
        let outcome = session.run_dag(&dag, case.variables()).expect("it runs");
        let expected = case.expected(&dag).expect("it has a value");
        accepted(&expected, &outcome.variables, false).expect("the right value");
        hits.push(outcome.statistics.plan_cache_hits);
    }
    assert_eq!(hits[2], 1, "names of leaves are no part of a plan: {hits:?}");
}

#[test]
fn column_ranges_have_the_size_of_the_range() {
    let (x, y) = (dense(30, 12, mixed), csr(30, 12, sparse));
    for input in ["%0", "%1"] {
        check_lines(
            &[
                "%2 = literal 1 : i64",
                "%3 = literal 30 : i64",
                "%4 = literal 4 : i64",
                "%5 = literal 9 : i64",
                &format!("%6 = index {input}, %2, %3, %4, %5 : f64[30x6]"),
                "%7 = pow2 %6 : f64[30x6]",
                "%8 = sum.col %7 : f64[1x6]",
                "%9 = sum.row %7 : f64[30x1]",
                "%10 = mult %6, %9 : f64[30x6]",
                "%11 = abs %10 : f64[30x6]",
                "%12 = t %0 : f64[12x30]",
                "%13 = matmul %12, %11 : f64[12x6]",
                "write \"a\" %8",
                "write \"b\" %11",
                "write \"c\" %13",
            ],
            &[("X", &x), ("Y", &y)],
        );
    }
}

#[test]
fn row_operators_are_not_converted_to_cell_operators() {
    let x = dense(40, 8, mixed);
    let case = case(
        &[
            "%1 = max.row %0 : f64[40x1]",
            "%2 = minus %0, %1 : f64[40x8]",
            "%3 = pow2 %2 : f64[40x8]",
            "%4 = sum.row %3 : f64[40x1]",
            "write \"o\" %4",
        ],
        &[("X", &x)],
    );
    check(&case);
    let fused = statistics(&case, Mode::GenFuseAll).fused_operators;
    assert_eq!(fused.keys().map(String::as_str).collect::<Vec<_>>(), ["row row_agg"]);
}

#[test]
fn a_single_operation_is_not_fused() {
    let x = dense(40, 8, mixed);
    for lines in [
        ["%1 = abs %0 : f64[40x8]", "write \"o\" %1"],
        ["%1 = sum.row %0 : f64[40x1]", "write \"o\" %1"],
        ["%1 = t %0 : f64[8x40]", "write \"o\" %1"],
    ] {
        for mode in [Mode::Gen, Mode::GenFuseAll, Mode::GenFuseNoRedundancy] {
            let fused = statistics(&case(&lines, &[("X", &x)]), mode).fused_operators;
            assert!(fused.is_empty(), "{lines:?}: {fused:?}");
        }
    }
}

/// Many row vectors that live until the end of the operator, so that none may take the place of another.
#[test]
fn many_intermediate_rows_are_kept_apart() {
    let (x, y) = (dense(37, 19, mixed), csr(37, 19, sparse));
    let mut lines = vec!["%2 = sum.row %0 : f64[37x1]".to_owned()];
    for id in 3..23 {
        let operand = if id == 3 { "%0".to_owned() } else { format!("%{}", id - 1) };
        lines.push(match id % 3 {
            0 => format!("%{id} = minus {operand}, %2 : f64[37x19]"),
            1 => format!("%{id} = sign {operand} : f64[37x19]"),
            _ => format!("%{id} = plus {operand}, %1 : f64[37x19]"),
        });
    }
    for id in 23..41 {
        let operand = if id == 23 { "%22".to_owned() } else { format!("%{}", id - 1) };
        lines.push(format!("%{id} = plus {operand}, %{} : f64[37x19]", id - 20));
    }
    lines.push("%41 = sum.row %40 : f64[37x1]".to_owned());
    lines.push("write \"o\" %41".to_owned());
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    check_lines(&lines, &[("X", &x), ("Y", &y)]);
}

/// Row numbers within operators that are cut into blocks and skip empty rows.
#[test]
fn operations_that_depend_on_the_row_number() {
    for x in [dense(130, 7, mixed), csr(130, 7, sparse)] {
        check_lines(
            &[
                "%1 = literal 1.0 : f64",
                "%2 = literal 130.0 : f64",
                "%3 = seq %1, %2, %1 : f64[130x1]",
                "%4 = mult %0, %3 : f64[130x7]",
                "%5 = abs %4 : f64[130x7]",
                "%6 = sum.col %5 : f64[1x7]",
                "%7 = plus %0, %3 : f64[130x7]",
                "%8 = sum.row %7 : f64[130x1]",
                "write \"a\" %6",
                "write \"b\" %8",
            ],
            &[("X", &x)],
        );
    }
}

#[test]
fn a_scalar_result_is_a_scalar_under_every_plan() {
    let x = dense(9, 9, mixed);
    let case = case(&["%1 = abs %0 : f64[9x9]", "%2 = sum.full %1 : f64", "write \"o\" %2"], &[("X", &x)]);
    check(&case);
    let expected = case.expected(&case.dag().expect("it is a DAG")).expect("it has a value");
    let value = runtime_value(&expected["o0"]);
    assert!(matches!(value, Some(RuntimeValue::Scalar(_))));
}

/// Runs over rows that nobody tells apart meet a sparse factor; what is looked up beside them goes by rows all the
/// same.
#[test]
fn sides_beside_factors_that_meet_are_read_in_their_rows() {
    let (x, y) = (csr(50, 60, sparse), csr(50, 60, |i, j| if (i + j) % 3 == 0 { mixed(i, j) } else { 0.0 }));
    let (d, z) = (dense(50, 60, mixed), csr(50, 60, |i, j| if (i * 3 + j) % 11 == 0 { 2.0 } else { 0.0 }));
    let v = dense(1, 60, |_, j| j as f64 - 20.0);
    check_lines(
        &[
            "%5 = mult %0, %1 : f64[50x60]",
            "%6 = mult %5, %2 : f64[50x60]",
            "%7 = sum.full %6 : f64",
            "%8 = mult %5, %2 : f64[50x60]",
            "%9 = sum.col %8 : f64[1x60]",
            "%10 = literal 1.0 : f64",
            "%11 = plus %3, %10 : f64[50x60]",
            "%12 = mult %5, %11 : f64[50x60]",
            "%13 = sum.full %12 : f64",
            "%14 = mult %0, %4 : f64[50x60]",
            "%15 = plus %14, %10 : f64[50x60]",
            "%16 = mult %5, %15 : f64[50x60]",
            "%17 = sum.full %16 : f64",
            "write \"a\" %7",
            "write \"b\" %9",
            "write \"c\" %13",
            "write \"d\" %17",
        ],
        &[("X", &x), ("Y", &y), ("D", &d), ("Z", &z), ("v", &v)],
    );
}

/// Products of factors at the non-zeros that two sparse matrices have in common, whatever becomes of them: cells, of which rows
/// may have none or all, a sum, and products with either factor.
#[test]
fn products_of_factors_are_computed_where_sparse_matrices_meet() {
    let x = csr(50, 60, |i, j| if i % 7 == 3 { 0.0 } else { sparse(i, j) });
    let often = csr(50, 60, |i, j| if (i + j) % 3 == 0 { mixed(i, j) } else { 0.0 });
    let seldom = csr(50, 60, |i, j| if i == 20 || (i * 60 + j) % 97 == 0 { 1.5 } else { 0.0 });
    let (u, v) = (dense(50, 4, mixed), dense(60, 4, mixed));
    for y in [often, seldom, csr(50, 60, |_, _| 0.0)] {
        check_lines(
            &[
                "%4 = mult %0, %1 : f64[50x60]",
                "%5 = t %3 : f64[4x60]",
                "%6 = matmul %2, %5 : f64[50x60]",
                "%7 = mult %4, %6 : f64[50x60]",
                "%8 = abs %6 : f64[50x60]",
                "%9 = mult %4, %8 : f64[50x60]",
                "%10 = sum.full %9 : f64",
                "%11 = div %4, %6 : f64[50x60]",
                "%12 = matmul %11, %3 : f64[50x4]",
                "%13 = literal 2.0 : f64",
                "%14 = plus %6, %13 : f64[50x60]",
                "%15 = mult %4, %14 : f64[50x60]",
                "%16 = t %2 : f64[4x50]",
                "%17 = matmul %16, %15 : f64[4x60]",
                "write \"a\" %7",
                "write \"b\" %10",
                "write \"c\" %12",
                "write \"d\" %17",
            ],
            &[("X", &x), ("Y", &y), ("U", &u), ("V", &v)],
        );
    }
}

/// An entropy: the zeros of a sparse matrix annihilate the logarithms of zeros beside them, whatever is fused.
#[test]
fn zeros_annihilate_what_is_computed_of_them() {
    let text = "P = rand(rows=60, cols=50, min=0.5, max=2, seed=3)\n\
        a = sum(T * log(T))\nb = sum(T * log(T / P))\nc = rowSums(T * log(T / P))\n\
        d = sum(T * log(T / (rowSums(P) %*% colSums(P))))\nR = rbind(rbind(as.matrix(a), as.matrix(b)), as.matrix(d))\n\
        c = sum(c)\n";
    let inputs = [("T", DataType::MATRIX)];
    let interface = ScriptInterface { inputs: &inputs, outputs: &["R", "c"], ..ScriptInterface::default() };
    let matrix = csr(60, 50, |i, j| if sparse(i, j) > 0.0 { sparse(i, j) } else { 0.0 });
    let results = |mode: Mode, strict_ieee: bool| {
        let options = CompileOptions { mode, strict_ieee, backend: BackendKind::Interp, ..CompileOptions::default() };
        let session = Session::new(options).expect("a session of this machine");
        let mut script = session.prepare_script("<text>", text, &interface).expect("a script");
        let outcome = script.bind("T", matrix.clone()).expect("T").execute(&mut std::io::sink()).expect("it runs");
        let mut values = outcome.matrix("R").expect("a matrix").to_dense().values().to_vec();
        values.push(outcome.scalar("c").expect("a number"));
        values
    };
    let expected = results(Mode::Base, false);
    assert!(expected.iter().all(|value| value.is_finite()), "{expected:?}");
    for mode in [Mode::Fused, Mode::Gen, Mode::GenFuseAll, Mode::GenFuseNoRedundancy] {
        let actual = results(mode, false);
        let is_close = |(one, other): (&f64, &f64)| (one - other).abs() <= 1e-12 * other.abs();
        assert!(actual.iter().zip(&expected).all(is_close), "{mode:?}: {actual:?}, not {expected:?}");
        assert!(results(mode, true).iter().all(|value| value.is_nan()), "{mode:?}: by IEEE zero times infinity is NaN");
    }
}

#[test]
fn what_is_merged_downwards_is_computed_within_the_operator() {
    let (x, y) = (dense(37, 6, mixed), csr(37, 6, sparse));
    let (column, factor) = (dense(37, 1, mixed), dense(6, 4, mixed));
    let inputs: [(&str, &fuseline::MatrixBlock); 4] = [("X", &x), ("Y", &y), ("c", &column), ("V", &factor)];
    for (op, expression, is_dense) in [
        ("sum", "%4 = mult %0, %1 : f64[37x6]", false),
        ("sum", "%4 = plus %1, %1 : f64[37x6]", false),
        ("min", "%4 = mult %0, %2 : f64[37x6]", true),
        ("max", "%4 = minus %1, %0 : f64[37x6]", true),
        ("prod", "%4 = sign %0 : f64[37x6]", true),
        ("sum", "%4 = abs %2 : f64[37x1]", true),
        ("sum", "%4 = matmul %0, %3 : f64[37x4]", true),
    ] {
        let size = expression.rsplit(' ').next().expect("a size");
        let lines = [
            expression.to_owned(),
            format!("%5 = abs %4 : {size}"),
            format!("%6 = cumulative.{op} %5 : {size}"),
            "write \"o\" %6".to_owned(),
        ];
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        check_lines(&lines, &inputs);
        let run = statistics(&case(&lines, &inputs), Mode::Gen);
        // Partial sums of a sparse matrix are stored sparse, by the basic operator.
        let is_basic = run.heavy_hitters.keys().any(|name| name.contains("cum"));
        assert!(!is_dense || !is_basic && run.operators_compiled == 1, "{lines:?}: {:?}", run.heavy_hitters);
    }
}

#[test]
fn sums_over_both_axes_are_cumulated_one_after_the_other() {
    for cell in [mixed, sparse] {
        for block in [dense(19, 19, cell), csr(19, 19, cell), dense(19, 8, cell)] {
            let (rows, cols) = block.dims();
            let (size, turned) = (format!("f64[{rows}x{cols}]"), format!("f64[{cols}x{rows}]"));
            let lines = [
                format!("%1 = t %0 : {turned}"),
                format!("%2 = cumulative.sum %1 : {turned}"),
                format!("%3 = t %2 : {size}"),
                format!("%4 = cumulative.sum %3 : {size}"),
                format!("%5 = t %4 : {turned}"),
            ];
            for output in ["write \"o\" %4", "write \"o\" %5"] {
                let lines: Vec<&str> = lines.iter().map(String::as_str).chain([output]).collect();
                check_lines(&lines, &[("X", &block)]);
            }
        }
    }
}

#[test]
fn rows_along_and_columns_down_are_cumulated_in_one_chain() {
    let x = dense(23, 7, mixed);
    check_lines(
        &[
            "%1 = exp %0 : f64[23x7]",
            "%2 = t %1 : f64[7x23]",
            "%3 = cumulative.sum %2 : f64[7x23]",
            "%4 = t %3 : f64[23x7]",
            "%5 = sign %4 : f64[23x7]",
            "%6 = cumulative.sum %5 : f64[23x7]",
            "%7 = cumulative.max %6 : f64[23x7]",
            "write \"o\" %7",
        ],
        &[("X", &x)],
    );
}

/// Rows of a product of low rank are computed where they are used, whatever the matrix beside it is: the product is larger than
/// what differential cases have. The paper's heuristics write it.
#[test]
fn rows_of_low_rank_products_are_computed_where_they_are_used() {
    const ROWS: usize = 1024;
    const COLS: usize = 512;
    let (u, v) = (dense(ROWS, 3, |i, j| ((i + j) % 7) as f64), dense(COLS, 3, |i, j| (i * j % 5) as f64 - 2.0));
    let (w, b) = (dense(COLS, 1, |i, _| (i % 3) as f64), dense(ROWS, 2, |i, j| ((i + 2 * j) % 4) as f64));
    let whole = dense(ROWS, COLS, |i, j| ((i * 31 + j * 17) % 11) as f64 - 5.0);
    let sparse = csr(ROWS, COLS, |i, j| if (i * 31 + j * 17) % 40 == 0 { (j % 9) as f64 } else { 0.0 });
    let uses: [&[&str]; 4] = [
        &["%7 = plus %0, %6 : f64[1024x512]", "%8 = sum.row %7 : f64[1024x1]"],
        &["%7 = mult %0, %6 : f64[1024x512]", "%8 = matmul %7, %3 : f64[1024x1]"],
        &["%7 = max %0, %6 : f64[1024x512]", "%9 = t %7 : f64[512x1024]", "%8 = matmul %9, %4 : f64[512x2]"],
        &["%7 = abs %6 : f64[1024x512]", "%8 = max.row %7 : f64[1024x1]"],
    ];
    for (x, lines) in [&whole, &sparse].into_iter().flat_map(|x| uses.iter().map(move |lines| (x, lines))) {
        let product = ["%5 = t %2 : f64[3x512]", "%6 = matmul %1, %5 : f64[1024x512]"];
        let lines: Vec<&str> = product.iter().chain(*lines).copied().chain(["write \"o\" %8"]).collect();
        let case = case(&lines, &[("X", x), ("U", &u), ("V", &v), ("w", &w), ("B", &b)]);
        let dag = case.dag().expect("it is a DAG");
        let expected = case.expected(&dag).expect("it has a value");
        for (mode, strict_ieee, paper_heuristics) in [
            (Mode::Gen, false, false),
            (Mode::Gen, true, false),
            (Mode::Gen, false, true),
            (Mode::GenFuseAll, false, false),
            (Mode::GenFuseAll, false, true),
            (Mode::GenFuseNoRedundancy, false, false),
            (Mode::GenFuseNoRedundancy, false, true),
        ] {
            let backend = BackendKind::Interp;
            let options = CompileOptions { mode, strict_ieee, paper_heuristics, backend, ..Default::default() };
            let session = Session::new(options).expect("a session of this machine");
            let outcome = session.run_dag(&dag, case.variables()).expect("it runs");
            accepted(&expected, &outcome.variables, strict_ieee)
                .unwrap_or_else(|why| panic!("{mode:?}, {lines:?}: {why}"));
            // An Outer operator computes the cells at the non-zeros alone.
            let is_sampled = x.format().is_sparse() && lines[2].contains("mult");
            let hitters = &outcome.statistics.heavy_hitters;
            let (is_computed_apart, is_of_the_paper) =
                (hitters.contains_key("ba(+*)"), mode != Mode::Gen && paper_heuristics);
            assert!(
                strict_ieee || is_sampled || is_computed_apart == is_of_the_paper,
                "{mode:?}, {lines:?}: {hitters:?}"
            );
        }
    }
}

/// What is computed for all columns of the rows that have non-zeros lies where these rows are: dense rows between empty ones, and
/// few of them in a result that is sparse.
#[test]
fn rows_between_empty_ones_are_laid_out_where_they_belong() {
    let v = dense(10, 1, |i, _| i as f64 - 4.5);
    for filled in [2, 3, 29] {
        let cell =
            |i: usize, j: usize| if i % filled == 1 && (i + 3 * j).is_multiple_of(4) { mixed(i, j) } else { 0.0 };
        check_lines(
            &[
                "%2 = matmul %0, %1 : f64[1300x1]",
                "%3 = sigmoid %0 : f64[1300x10]",
                "%4 = mult %3, %2 : f64[1300x10]",
                "write \"o\" %4",
            ],
            &[("X", &csr(1300, 10, cell)), ("v", &v)],
        );
    }
}
