//! Tests of what lies by position, of what rows meet and are joined with, and of the form that lays values out.

use crate::cplan::{CInputId, RowType, Variant, parse};
use std::borrow::Cow;

/// What lies by position in the sparse units of a Row plan over inputs in0 to in2 (matrices) and in3 (a scalar): nodes, then
/// inputs. `none` for plans without such units.
fn positions_of(variant: &str, body: &str, strict: bool) -> String {
    let inputs = " in0 = matrix\n in1 = matrix\n in2 = matrix\n in3 = scalar";
    let text = format!("cplan row {variant} sparse_safe=false {{\n{inputs}\n{body}\n}}");
    let plan = parse(&text).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
    let plan = plan.verify().unwrap_or_else(|errors| panic!("{errors}\n{text}"));
    let Some(found) = plan.positions(strict) else { return "none".to_owned() };
    let nodes = plan.nodes.keys().filter(|&id| found.contains(id)).map(|id| id.to_string());
    let inputs = plan.inputs.keys().filter(|&id| found.has_input(id)).map(|id| id.to_string());
    nodes.chain(inputs).collect::<Vec<_>>().join(" ")
}

#[test]
fn values_computed_of_the_main_row_lie_by_position() {
    for (body, expected) in [
        // Aggregated and multiplied as it is.
        ("%0 = main\n%1 = side_vector in1\n%2 = dot_product %0, %1\nout %2", "%0"),
        // Scaled by row, by column, by a row of another matrix, by a scalar, and several of them.
        ("%0 = main\n%1 = side_row_scalar in1\n%2 = div %0, %1\n%3 = row_agg.max %2\nout %3", "%0 %2"),
        ("%0 = main\n%1 = side_vector in1\n%2 = mult %0, %1\n%3 = row_agg.sum %2\nout %3", "%0 %2"),
        ("%0 = main\n%1 = side_row in1\n%2 = mult %0, %1\n%3 = row_agg.sum %2\nout %3", "%0 %1 %2 in1"),
        (
            "%0 = main\n%1 = scalar in3\n%2 = mult %0, %1\n%3 = pow2 %0\n%4 = plus %2, %3\n%5 = row_agg.sum %4\nout %5",
            "%0 %2 %3 %4",
        ),
        // What is computed of a vector, and of nothing else, goes with it.
        ("%0 = main\n%1 = side_vector in1\n%2 = exp %1\n%3 = mult %0, %2\n%4 = row_agg.sum %3\nout %4", "%0 %2 %3"),
        // A value that fills is not asked for elsewhere.
        ("%0 = main\n%1 = exp %0\n%2 = mult %0, %1\n%3 = row_agg.sum %2\nout %3", "%0 %1 %2"),
        ("%0 = main\n%1 = exp %0\n%2 = literal 1.0\n%3 = minus %1, %2\n%4 = row_agg.sum %3\nout %4", "%0 %1 %3"),
        // A row that is read besides is laid out for all columns.
        (
            "%0 = main\n%1 = side_row in1\n%2 = mult %0, %1\n%3 = row_agg.sum %2\n%4 = row_agg.max %1\n%5 = plus %3, %4\nout %5",
            "%0 %2",
        ),
        // All columns are needed of what fills, of what is cumulated or put beside something, and of a row that is stored.
        ("%0 = main\n%1 = exp %0\n%2 = row_agg.sum %1\nout %2", "none"),
        ("%0 = main\n%1 = side_row_scalar in1\n%2 = plus %0, %1\n%3 = row_agg.sum %2\nout %3", "none"),
        ("%0 = main\n%1 = row_cumulative.sum %0\n%2 = row_agg.sum %1\nout %2", "none"),
        ("%0 = main\n%1 = row_agg.sum %0\n%2 = cbind %0, %1\n%3 = row_agg.sum %2\nout %3", "none"),
        // Products of two rows go over the positions of the sparse one.
        ("%0 = main\n%1 = dot_product %0, %0\nout %1", "%0"),
        ("%0 = main\n%1 = side_row in1\n%2 = dot_product %0, %1\nout %2", "%0 %1 in1"),
        ("%0 = main\n%1 = side_row in1\n%2 = dot_product %0, %1\n%3 = row_agg.max %1\n%4 = plus %2, %3\nout %4", "%0"),
        // Nothing is read of the main input.
        ("%0 = side_row in1\n%1 = row_agg.sum %0\nout %1", "none"),
    ] {
        assert_eq!(positions_of("row_agg", body, false), expected, "{body}");
    }
    assert_eq!(positions_of("no_agg", "%0 = main\n%1 = abs %0\nout %1", false), "%0 %1");
    assert_eq!(positions_of("no_agg", "%0 = main\n%1 = exp %0\nout %1", false), "none");
    assert_eq!(positions_of("no_agg", "%0 = main\nout %0", false), "none");
    assert_eq!(positions_of("col_agg", "%0 = main\n%1 = abs %0\nout %1 agg=sum", false), "%0 %1");
    assert_eq!(positions_of("col_agg", "%0 = main\n%1 = abs %0\nout %1 agg=max", false), "none");
    let product = "%0 = main\n%1 = abs %0\n%2 = vect_mat_mult %1, in1";
    assert_eq!(positions_of("col_agg_b1", &format!("{product}\nout %1 left=%2"), false), "%0 %1");
    assert_eq!(positions_of("col_agg_b1_t", &format!("{product}\nout %2 left=%1"), false), "%0 %1");
}

/// Rows of other lengths than the main one are joined with nothing, and do not keep others from being.
#[test]
fn rows_beside_joined_ones_lie_as_they_are() {
    let text = "cplan row no_agg_b1 sparse_safe=false {\n in0 = matrix\n in1 = matrix\n in2 = matrix\n in3 = matrix
        %0 = main\n %1 = side_row in1\n %2 = minus %0, %1\n %3 = vect_mat_mult %2, in2
        %4 = side_row in3\n %5 = plus %3, %4\n out %5\n}";
    let plan = parse(text).expect("well-formed text").verify().expect("a well-formed plan");
    let joined = plan.joined_rows(false, &[CInputId::from_u32(1), CInputId::from_u32(3)]);
    assert_eq!(joined, Some(vec![CInputId::from_u32(1)]));
}

/// The side inputs, of in1 and in2, that meet a sparse main input, where outputs are zero elsewhere.
fn met_by(template: &str, body: &str, strict: bool) -> String {
    met_beside(template, body, strict, 0.0)
}

/// The side inputs, of in1 and in2, that meet a sparse main input, where outputs have this value elsewhere and in3 is 0.5.
fn met_beside(template: &str, body: &str, strict: bool, elsewhere: f64) -> String {
    let inputs = " in0 = matrix\n in1 = matrix\n in2 = matrix\n in3 = scalar";
    let text = format!("cplan {template} sparse_safe=true {{\n{inputs}\n{body}\n}}");
    let plan = parse(&text).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
    let plan = plan.verify().unwrap_or_else(|errors| panic!("{errors}\n{text}"));
    let sparse = [1, 2].map(CInputId::from_u32);
    let met = match plan.positions(false).filter(|_| template.starts_with("row")) {
        Some(positions) => plan.met_rows(&positions, &sparse),
        None => plan.met_cells(strict, &sparse, &|_| 0.5, &vec![elsewhere; plan.outputs.len()]),
    };
    met.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

#[test]
fn sparse_factors_meet_where_sums_alone_take_in_their_products_or_these_are_stored() {
    let product = "%0 = main\n%1 = side_cell in1\n%2 = side_cell in2\n%3 = mult %0, %1\n%4 = mult %3, %2";
    for template in ["cell full_agg", "cell row_agg", "cell col_agg"] {
        assert_eq!(met_by(template, &format!("{product}\nout %4 agg=sum"), false), "in1 in2", "{template}");
    }
    assert_eq!(met_by("cell no_agg", &format!("{product}\nout %4"), false), "in1 in2");
    // Zeros are counted, but not for each column.
    assert_eq!(met_by("cell full_agg", &format!("{product}\nout %4 agg=max"), false), "in1 in2");
    assert_eq!(met_by("cell row_agg", &format!("{product}\nout %4 agg=min"), false), "in1 in2");
    assert_eq!(met_by("cell col_agg", &format!("{product}\nout %4 agg=max"), false), "");
    // By IEEE what a zero meets may be no number.
    assert_eq!(met_by("cell no_agg", &format!("{product}\nout %4"), true), "");
    assert_eq!(met_by("cell full_agg", &format!("{product}\nout %4 agg=sum"), true), "");
    // A sum of products needs either of the two, and a comparison with zero the product alone.
    let sum = "%0 = main\n%1 = side_cell in1\n%2 = side_cell in2\n%3 = plus %1, %2\n%4 = mult %0, %3";
    assert_eq!(met_by("cell full_agg", &format!("{sum}\nout %4 agg=sum"), false), "");
    let pattern = "%0 = main\n%1 = side_cell in1\n%2 = literal 0.0\n%3 = ne %1, %2\n%4 = side_cell in2\n%5 = plus %0, %4\n\
        %6 = mult %5, %3\n%7 = mult %6, %0";
    assert_eq!(met_by("cell full_agg", &format!("{pattern}\nout %7 agg=sum"), false), "in1");
    // Of several outputs each needs the position.
    let outputs = "%0 = main\n%1 = side_cell in1\n%2 = side_cell in2\n%3 = mult %0, %1\n%4 = mult %3, %2";
    assert_eq!(met_by("magg full_agg", &format!("{outputs}\nout %3 agg=sum\nout %4 agg=sum"), false), "in1");
}

/// P117: what a scalar makes of a zero is the same wherever a factor is zero.
#[test]
fn sparse_factors_meet_where_outputs_have_one_value_beside_zeros() {
    let bounded =
        |op: &str| format!("%0 = main\n%1 = side_cell in1\n%2 = mult %0, %1\n%3 = scalar in3\n%4 = {op} %2, %3");
    for (op, elsewhere) in [("min", 0.0), ("max", 0.5), ("plus", 0.5)] {
        let sum = format!("{}\nout %4 agg=sum", bounded(op));
        assert_eq!(met_beside("cell full_agg", &sum, false, elsewhere), "in1", "{op}");
        assert_eq!(met_beside("cell full_agg", &sum, false, elsewhere + 1.0), "", "{op}, of another value");
        // What is stored, or aggregated by column, would have to be filled.
        let is_filled = elsewhere != 0.0;
        let stored = format!("{}\nout %4", bounded(op));
        assert_eq!(met_beside("cell no_agg", &stored, false, elsewhere), if is_filled { "" } else { "in1" }, "{op}");
        let columns = format!("{}\nout %4 agg=sum", bounded(op));
        assert_eq!(met_beside("cell col_agg", &columns, false, elsewhere), if is_filled { "" } else { "in1" }, "{op}");
    }
}

#[test]
fn rows_meet_where_products_and_aggregates_take_in_zeros_alone() {
    let product = "%0 = main\n%1 = side_row in1\n%2 = mult %0, %1";
    assert_eq!(met_by("row row_agg", &format!("{product}\n%3 = row_agg.max %2\nout %3"), false), "in1");
    assert_eq!(
        met_by("row row_agg", &format!("{product}\n%3 = side_vector in2\n%4 = dot_product %2, %3\nout %4"), false),
        "in1"
    );
    // The main row is multiplied by itself, too, or stored.
    let others = "%3 = row_agg.sum %0\n%4 = row_agg.sum %2\n%5 = plus %3, %4\nout %5";
    assert_eq!(met_by("row row_agg", &format!("{product}\n{others}"), false), "");
    assert_eq!(met_by("row no_agg", &format!("{product}\nout %2"), false), "");
}

/// By IEEE a zero times an unknown value is not known: an infinity makes it NaN.
#[test]
fn zeros_annihilate_by_ieee_where_they_do_always() {
    let scaled = "%0 = main\n%1 = side_row_scalar in1\n%2 = mult %0, %1\n%3 = row_agg.sum %2\nout %3";
    assert_eq!(positions_of("row_agg", scaled, true), "none");
    let joined = "%0 = main\n%1 = abs %0\n%2 = plus %0, %1\n%3 = row_agg.sum %2\nout %3";
    assert_eq!(positions_of("row_agg", joined, true), "%0 %1 %2");
}

/// The nodes of the form that units of sparse main rows run, as text; `none` where there is none, and `same` where it is the
/// plan itself.
fn sparse_form_of(variant: &str, body: &str) -> String {
    let inputs = " in0 = matrix\n in1 = matrix\n in2 = matrix\n in3 = scalar";
    let text = format!("cplan row {variant} sparse_safe=false {{\n{inputs}\n{body}\n}}");
    let plan = parse(&text).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
    let plan = plan.verify().unwrap_or_else(|errors| panic!("{errors}\n{text}"));
    match plan.sparse_form() {
        None => "none".to_owned(),
        Some(Cow::Borrowed(_)) => "same".to_owned(),
        Some(Cow::Owned(form)) => {
            assert!(form.positions(false).is_some(), "{}", *form);
            let is_body = |line: &&str| line.starts_with("  %") || line.starts_with("  out");
            form.to_string().lines().filter(is_body).map(str::trim).collect::<Vec<_>>().join("\n")
        }
    }
}

/// P037: an operation that fills goes dense with what comes after it alone.
#[test]
fn what_fills_is_laid_out_after_it_is_computed() {
    for (variant, body, expected) in [
        // What zeros give is known, or follows from scalars, of the whole operator or of the row.
        (
            "row_agg",
            "%0 = main\n%1 = exp %0\n%2 = side_vector in1\n%3 = dot_product %1, %2\nout %3",
            "%0 = main\n%1 = exp %0\n%2 = literal 1.0\n%3 = scatter %1, %2\n%4 = side_vector in1\n%5 = dot_product %3, %4\nout %5",
        ),
        (
            "row_agg",
            "%0 = main\n%1 = scalar in3\n%2 = plus %0, %1\n%3 = exp %2\n%4 = side_row_scalar in1\n%5 = mult %3, %4\n%6 = row_agg.sum %5\nout %6",
            "%0 = main\n%1 = scalar in3\n%2 = plus %0, %1\n%3 = exp %2\n%4 = side_row_scalar in1\n%5 = mult %3, %4\n\
             %6 = literal 0.0\n%7 = plus %6, %1\n%8 = exp %7\n%9 = mult %8, %4\n%10 = scatter %5, %9\n%11 = row_agg.sum %10\nout %11",
        ),
        // A vector is another value in each column: what it is combined with is laid out before.
        (
            "no_agg",
            "%0 = main\n%1 = exp %0\n%2 = side_vector in1\n%3 = plus %1, %2\nout %3",
            "%0 = main\n%1 = exp %0\n%2 = literal 1.0\n%3 = scatter %1, %2\n%4 = side_vector in1\n%5 = plus %3, %4\nout %5",
        ),
        // It takes the cells at positions where nothing else is asked for, and those of rows as they lie.
        (
            "row_agg",
            "%0 = main\n%1 = side_row in1\n%2 = mult %0, %1\n%3 = exp %2\n%4 = row_agg.max %3\n%5 = vect_mat_mult %0, in2\n\
             %6 = row_agg.sum %5\n%7 = plus %4, %6\nout %7",
            "%0 = main\n%1 = side_row in1\n%2 = mult %0, %1\n%3 = exp %2\n%4 = literal 1.0\n%5 = scatter %3, %4\n\
             %6 = row_agg.max %5\n%7 = vect_mat_mult %0, in2\n%8 = row_agg.sum %7\n%9 = plus %6, %8\nout %9",
        ),
        // Rows that are joined are zero together.
        (
            "no_agg_b1",
            "%0 = main\n%1 = side_row in1\n%2 = plus %0, %1\n%3 = exp %2\n%4 = vect_mat_mult %3, in2\nout %4",
            "%0 = main\n%1 = side_row in1\n%2 = plus %0, %1\n%3 = exp %2\n%4 = literal 1.0\n%5 = scatter %3, %4\n\
             %6 = vect_mat_mult %5, in2\nout %6",
        ),
        // So is a row that is joined, for whatever reads it besides, and what is computed of it alone.
        (
            "row_agg",
            "%0 = main\n%1 = side_row in1\n%2 = plus %0, %1\n%3 = exp %2\n%4 = row_agg.max %3\n%5 = abs %1\n%6 = row_cumulative.sum %5\n\
             %7 = row_agg.sum %6\n%8 = plus %4, %7\nout %8",
            "%0 = main\n%1 = side_row in1\n%2 = plus %0, %1\n%3 = exp %2\n%4 = literal 1.0\n%5 = scatter %3, %4\n%6 = row_agg.max %5\n\
             %7 = abs %1\n%8 = literal 0.0\n%9 = scatter %7, %8\n%10 = row_cumulative.sum %9\n%11 = row_agg.sum %10\n\
             %12 = plus %6, %11\nout %12",
        ),
        (
            "row_agg",
            "%0 = main\n%1 = side_row in1\n%2 = plus %0, %1\n%3 = exp %2\n%4 = row_agg.max %3\n%5 = row_cumulative.sum %1\n\
             %6 = row_agg.sum %5\n%7 = plus %4, %6\nout %7",
            "%0 = main\n%1 = side_row in1\n%2 = literal 0.0\n%3 = scatter %1, %2\n%4 = plus %0, %1\n%5 = exp %4\n%6 = literal 1.0\n\
             %7 = scatter %5, %6\n%8 = row_agg.max %7\n%9 = row_cumulative.sum %3\n%10 = row_agg.sum %9\n%11 = plus %8, %10\nout %11",
        ),
        // What is stored may be a function of the side alone.
        (
            "no_agg_b1",
            "%0 = main\n%1 = side_row in1\n%2 = plus %0, %1\n%3 = exp %2\n%4 = row_agg.max %3\n%5 = sin %1\n%6 = plus %5, %4\nout %6",
            "%0 = main\n%1 = side_row in1\n%2 = plus %0, %1\n%3 = exp %2\n%4 = literal 1.0\n%5 = scatter %3, %4\n%6 = row_agg.max %5\n\
             %7 = sin %1\n%8 = plus %7, %6\n%9 = literal 0.0\n%10 = plus %9, %6\n%11 = scatter %8, %10\nout %11",
        ),
        // Both factors of a product over rows, of which the short one has no positions.
        (
            "col_agg_b1_t",
            "%0 = main\n%1 = exp %0\nout %1 left=%0",
            "%0 = main\n%1 = exp %0\n%2 = literal 1.0\n%3 = scatter %1, %2\nout %3 left=%0",
        ),
        // Little is saved, nothing is computed by position, or a vector comes in before what is dear.
        ("row_agg", "%0 = main\n%1 = literal 2.0\n%2 = plus %0, %1\n%3 = row_agg.sum %2\nout %3", "none"),
        ("row_agg", "%0 = main\n%1 = row_cumulative.sum %0\n%2 = exp %1\n%3 = row_agg.sum %2\nout %3", "none"),
        (
            "row_agg",
            "%0 = main\n%1 = side_vector in1\n%2 = plus %0, %1\n%3 = exp %2\n%4 = row_agg.sum %3\nout %4",
            "none",
        ),
        // Nothing is needed for all columns.
        ("row_agg", "%0 = main\n%1 = abs %0\n%2 = row_agg.sum %1\nout %2", "same"),
    ] {
        assert_eq!(sparse_form_of(variant, body), expected, "{body}");
    }
}

/// What is laid out is as long as the main row by its own name: of a plan that stores it, the form is of another variant.
#[test]
fn forms_are_of_the_variant_that_their_output_says() {
    let text = "cplan row no_agg_b1 sparse_safe=false {\n in0 = matrix\n in1 = matrix\n %0 = main\n %1 = side_row in1\n\
        %2 = plus %0, %1\n %3 = exp %2\n %4 = row_agg.max %3\n %5 = sin %1\n %6 = plus %5, %4\n out %6\n}";
    let plan = parse(text).expect("well-formed text").verify().expect("a well-formed plan");
    let form = plan.sparse_form().expect("rows are joined");
    assert_eq!(form.variant, Variant::Row(RowType::NoAgg));
}

/// What joins rows is the same in the form; without what is joined it has no positions.
#[test]
fn forms_lay_out_what_is_uniform_where_rows_are_joined() {
    let text = "cplan row row_agg sparse_safe=false {\n in0 = matrix\n in1 = matrix\n %0 = main\n %1 = side_row in1\n\
        %2 = plus %0, %1\n %3 = exp %2\n %4 = row_agg.max %3\n out %4\n}";
    let plan = parse(text).expect("well-formed text").verify().expect("a well-formed plan");
    let form = plan.sparse_form().expect("rows are joined");
    let positions = form.positions(false).expect("values lie by position");
    assert!(positions.joins());
    let side = CInputId::from_u32(1);
    assert_eq!(form.joined_rows(false, &[side]), Some(vec![side]));
    assert_eq!(form.joined_rows(false, &[]), None);
}
