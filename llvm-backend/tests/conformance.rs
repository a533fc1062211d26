//! Every template, variant, entry, form and instruction set against the execution contract, bit for bit.

mod support;

use support::check_all;

/// A Cell plan whose output node is the last line's.
fn cell(variant: &str, agg: &str, body: &str) {
    let out = body.matches('%').count();
    assert!(out > 0);
    let last = body.lines().filter_map(|line| line.trim().strip_prefix('%')?.split_once(' ')).next_back();
    let (last, _) = last.expect("a body defines nodes");
    check_all(&format!("cplan {variant} sparse_safe=false {{\n{body}\n out %{last} {agg}\n}}"));
}

const CELL_BODY: &str = "
  in0 = matrix
  in1 = matrix
  in2 = matrix
  in3 = matrix
  in4 = scalar
  %0 = main
  %1 = side_cell in1
  %2 = side_row_scalar in2
  %3 = side_col_scalar in3
  %4 = scalar in4
  %5 = literal 1.5
  %6 = mult %0, %1
  %7 = exp %2
  %8 = mult %7, %4
  %9 = plusmult %6, %3, %8
  %10 = max %9, %5
  %11 = sigmoid %10
  %12 = minus %11, %2
  %13 = mod %12, %5
  %14 = ifelse %0, %13, %12";

#[test]
fn cell_plans() {
    cell("cell no_agg", "", CELL_BODY);
    for agg in ["sum", "sumsq", "min", "max"] {
        for variant in ["row_agg", "col_agg", "full_agg"] {
            cell(&format!("cell {variant}"), &format!("agg={agg}"), CELL_BODY);
        }
    }
}

#[test]
fn cell_plans_of_single_inputs_and_broadcast_values() {
    let main = "in0 = matrix\n%0 = main";
    let product = "in0 = matrix\nin1 = matrix\n%0 = main\n%1 = side_cell in1\n%2 = mult %0, %1";
    for (variant, agg) in [("no_agg", ""), ("row_agg", "agg=max"), ("col_agg", "agg=sum"), ("full_agg", "agg=min")] {
        for body in [main, product] {
            cell(&format!("cell {variant}"), agg, body);
        }
    }
}

#[test]
fn multi_aggregate_plans() {
    check_all(
        "cplan magg full_agg sparse_safe=false {
        in0 = matrix
        in1 = matrix
        in2 = matrix
        %0 = main
        %1 = side_cell in1
        %2 = side_row_scalar in2
        %3 = mult %0, %1
        %4 = log %2
        %5 = plus %3, %4
        %6 = literal 2.0
        out %3 agg=sum
        out %5 agg=max
        out %0 agg=sumsq
        out %2 agg=sum
        out %6 agg=sum
        out %4 agg=min
        }",
    );
}

const ROW_INPUTS: &str = "
  in0 = matrix
  in1 = matrix
  in2 = matrix
  in3 = matrix
  in4 = matrix
  in5 = scalar";

fn row(variant: &str, body: &str) {
    let inputs: Vec<&str> = ROW_INPUTS.trim().lines().collect();
    check_all(&format!("cplan row {variant} sparse_safe=false {{\n{}\n{body}\n}}", inputs.join("\n")));
}

/// Element-wise chains over vectors and over values per row, aggregates, products with side matrices and vectors.
#[test]
fn row_plans_of_dense_rows() {
    let body = "
      %0 = main
      %1 = side_vector in1
      %2 = side_row_scalar in2
      %3 = side_row in3
      %4 = scalar in5
      %5 = mult %0, %1
      %6 = plus %5, %3
      %7 = row_agg.sum %6
      %8 = mult %2, %4
      %9 = div %7, %8
      %10 = exp %9
      %11 = mult %6, %10
      %12 = minus %11, %0
      %13 = row_agg.max %0
      %14 = plus %13, %10
      %15 = minus %12, %14";
    row("no_agg", &format!("{body}\nout %15"));
    row("full_agg", &format!("{body}\nout %15 agg=sumsq"));
    row("col_agg", &format!("{body}\nout %15 agg=sum"));
    row("col_agg", &format!("{body}\nout %15 agg=min"));
    row("row_agg", &format!("{body}\n%16 = row_agg.mean %15\n%17 = row_agg.min %12\n%18 = mult %16, %17\nout %18"));
    row("full_agg", &format!("{body}\n%16 = dot_product %15, %6\nout %16 agg=max"));
    row("no_agg_b1", &format!("{body}\n%16 = vect_mat_mult %15, in4\nout %16"));
    row("no_agg_b1", &format!("{body}\n%16 = vect_mat_mult %15, in4\n%17 = abs %16\n%18 = mult %17, %14\nout %18"));
    row("col_agg_t", &format!("{body}\n%16 = dot_product %15, %1\nout %16 left=%0"));
    row("col_agg_t", &format!("{body}\n%16 = row_agg.sumsq %15\nout %16 left=%12"));
    row("col_agg_b1", &format!("{body}\n%16 = vect_mat_mult %15, in4\nout %15 left=%16"));
    row("col_agg_b1_t", &format!("{body}\n%16 = vect_mat_mult %12, in4\n%17 = sqrt %16\nout %17 left=%15"));
}

/// Ranges of columns, vectors that are no longer than a register, and outputs that are inputs.
#[test]
fn row_plans_of_short_vectors_and_plain_inputs() {
    row("no_agg_b1", "%0 = main\n%1 = side_row in1[2:7]\n%2 = row_agg.sum %0\n%3 = mult %1, %2\nout %3");
    row("col_agg_b1", "%0 = main\n%1 = side_row in1[0:9]\nout %0 left=%1");
    row("no_agg", "%0 = main\nout %0");
    row("row_agg", "%0 = main\n%1 = side_row_scalar in1\n%2 = row_agg.sum %0\n%3 = mult %1, %2\nout %3");
    row("full_agg", "%0 = main\nout %0 agg=max");
    row("full_agg", "%0 = main\nout %0 agg=sum");
    row("col_agg", "%0 = main\nout %0 agg=sumsq");
    row("col_agg_t", "%0 = main\n%1 = side_row_scalar in1\nout %1 left=%0");
    row("col_agg_t", "%0 = main\n%1 = literal 0.5\nout %1 left=%0");
}

/// Every use of the main row for which sparse rows have primitives.
#[test]
fn row_plans_of_sparse_rows() {
    let chain = "%0 = main\n%1 = side_vector in1\n%2 = dot_product %0, %1";
    row("col_agg_t", &format!("{chain}\nout %2 left=%0"));
    row("col_agg_t", &format!("{chain}\n%3 = side_row_scalar in2\n%4 = mult %2, %3\nout %4 left=%0"));
    row("row_agg", &format!("{chain}\n%3 = literal 1.0\n%4 = minus %3, %2\n%5 = max %4, %2\nout %5"));
    row("full_agg", &format!("{chain}\n%3 = pow2 %2\nout %3 agg=sum"));
    for agg in ["sum", "sumsq", "min", "max", "mean"] {
        row("row_agg", &format!("%0 = main\n%1 = row_agg.{agg} %0\nout %1"));
    }
    let product = "%0 = main\n%1 = vect_mat_mult %0, in4";
    row("no_agg_b1", &format!("{product}\nout %1"));
    row("col_agg_b1_t", &format!("{product}\n%2 = row_agg.sum %0\n%3 = div %1, %2\nout %3 left=%0"));
    row("col_agg_b1", &format!("{product}\nout %0 left=%1"));
    row("col_agg", &format!("{product}\n%2 = exp %1\nout %2 agg=max"));
    row("no_agg_b1", &format!("{product}\n%2 = vect_mat_mult %1, in3\n%3 = plus %1, %2\nout %3"));
}

const OUTER_BODY: &str = "
  in0 = matrix
  in1 = matrix
  in2 = matrix
  in3 = matrix
  in4 = matrix
  %0 = main
  %1 = outer_product
  %2 = literal 0.25
  %3 = plus %1, %2
  %4 = abs %3
  %5 = log %4
  %6 = mult %0, %5
  %7 = side_cell in3
  %8 = side_row_scalar in4
  %9 = mult %6, %7
  %10 = plus %9, %8";

#[test]
fn outer_plans() {
    for (variant, agg) in
        [("full_agg", "agg=sum"), ("full_agg", "agg=max"), ("no_agg", ""), ("left_mm", ""), ("right_mm", "")]
    {
        check_all(&format!("cplan outer {variant} sparse_safe=true {{{OUTER_BODY}\n out %10 {agg}\n}}"));
        let plain = "in0 = matrix\nin1 = matrix\nin2 = matrix";
        check_all(&format!("cplan outer {variant} sparse_safe=true {{\n{plain}\n%0 = outer_product\nout %0 {agg}\n}}"));
        check_all(&format!("cplan outer {variant} sparse_safe=true {{\n{plain}\n%0 = main\nout %0 {agg}\n}}"));
    }
}

/// Every operation in every form and place: per cell, with one operand per row, for rows alone.
#[test]
fn every_operation_of_the_table() {
    use fuseline_ir::ops::{BinaryOp, TernaryOp, UnaryOp};
    let unary = UnaryOp::ALL.iter().flat_map(|op| [format!("{op} %0"), format!("{op} %2")]);
    let binary = BinaryOp::ALL
        .iter()
        .flat_map(|op| ["%0, %1", "%0, %2", "%2, %1", "%2, %2"].map(|operands| format!("{op} {operands}")));
    let ternary = TernaryOp::ALL
        .iter()
        .flat_map(|op| ["%0, %1, %2", "%2, %0, %1", "%1, %2, %0"].map(|operands| format!("{op} {operands}")));
    let operations: Vec<String> = unary.chain(binary).chain(ternary).collect();
    // Few operations per plan, so that a wrong bit is not lost in sums.
    for few in operations.chunks(12) {
        let mut body = "in0 = matrix\nin1 = matrix\nin2 = matrix\n%0 = main\n%1 = side_cell in1\n".to_owned();
        body += "%2 = side_row_scalar in2\n%3 = plus %0, %1\n%4 = minus %3, %2\n";
        for (index, operation) in few.iter().enumerate() {
            let result = 5 + 2 * index;
            body += &format!("%{result} = {operation}\n%{} = plus %{}, %{result}\n", result + 1, result - 1);
        }
        check_all(&format!("cplan cell no_agg sparse_safe=false {{\n{body}out %{}\n}}", 4 + 2 * few.len()));
    }
}
