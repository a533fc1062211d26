//! The plans of the conformance tests, in their text form: every variant with every aggregate that it takes, every kind
//! of node in every place where code differs. Lists of operations and aggregates are those of the op table.

use super::generator::without_unused;
use fuseline_ir::ops::{AggOp, BinaryOp, TernaryOp, UnaryOp};

/// The aggregates that outputs can take.
fn merging() -> impl Iterator<Item = AggOp> + Clone {
    AggOp::ALL.iter().copied().filter(|op| op.merges())
}

/// A Cell plan whose output node is the last line's.
fn cell(variant: &str, agg: &str, body: &str) -> String {
    let last = body.lines().filter_map(|line| line.trim().strip_prefix('%')?.split_once(' ')).next_back();
    let (last, _) = last.expect("a body defines nodes");
    format!("cplan cell {variant} sparse_safe=false {{\n{body}\n out %{last} {agg}\n}}")
}

const CELL_BODY: &str = "
  in0 = matrix
  in1 = matrix
  in2 = matrix
  in3 = matrix
  in4 = scalar
  %0 = main
  %1 = side_cell in1
  %2 = side_row_scalar in2[3]
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
  %14 = row_index
  %15 = ifelse %0, %13, %14
  %16 = side_row_scalar in2
  %17 = minus %15, %16";

/// Cell plans of a body that has every kind of node, of plain inputs, of one product, of values per row.
pub(crate) fn cell_plans() -> Vec<String> {
    let main = "in0 = matrix\n%0 = main";
    let bodies = [
        CELL_BODY.to_owned(),
        main.to_owned(),
        "in0 = matrix\nin1 = matrix\n%0 = main\n%1 = side_cell in1\n%2 = mult %0, %1".to_owned(),
        format!("{main}\n%1 = row_index\n%2 = mult %0, %1"),
        "in0 = matrix\nin1 = matrix\n%0 = main\n%1 = side_row_scalar in1[2]\n%2 = ifelse %1, %1, %0".to_owned(),
        // A number that is computed once per unit meets every row.
        "in0 = matrix\nin1 = scalar\n%0 = main\n%1 = scalar in1\n%2 = exp %1\n%3 = plus %0, %2".to_owned(),
    ];
    let aggregated = ["row_agg", "col_agg", "full_agg"];
    let forms: Vec<(&str, String)> = aggregated
        .into_iter()
        .flat_map(|variant| merging().map(move |agg| (variant, format!("agg={agg}"))))
        .chain(cumulative().map(|agg| ("cum_agg", format!("agg={agg}"))))
        .chain([("no_agg", String::new())])
        .collect();
    bodies.iter().flat_map(|body| forms.iter().map(move |(variant, agg)| cell(variant, agg, body))).collect()
}

fn cumulative() -> impl Iterator<Item = AggOp> {
    AggOp::ALL.iter().copied().filter(|agg| agg.is_cumulative())
}

/// Outputs of every extent, aggregated by every function; and outputs that share loops and values.
pub(crate) fn magg_plans() -> Vec<String> {
    let body = "in0 = matrix\nin1 = matrix\nin2 = matrix\n%0 = main\n%1 = side_cell in1\n%2 = side_row_scalar in2
        %3 = mult %0, %1\n%4 = log %2\n%5 = plus %3, %4\n%6 = literal 2.0\n%7 = row_index";
    let outputs = ["%0", "%2", "%3", "%4", "%5", "%6", "%7"];
    let plan = |outputs: String| format!("cplan magg full_agg sparse_safe=false {{\n{body}\n{outputs}}}");
    let per_agg = merging().map(|agg| outputs.map(|node| format!("out {node} agg={agg}\n")).concat());
    let mixed = outputs.iter().zip(merging().cycle().skip(1)).map(|(node, agg)| format!("out {node} agg={agg}\n"));
    per_agg.chain([mixed.collect()]).map(plan).collect()
}

/// More operations than a loop takes, on values of every extent.
pub(crate) fn long_plans() -> Vec<String> {
    let mut body = "%3 = side_row_scalar in3[1]\n%4 = row_index\n%5 = literal 0.75\n".to_owned();
    for index in 0..120 {
        let operand = if index == 0 { 0 } else { index + 5 };
        body += &format!("%{} = {} %{operand}, %{}\n", index + 6, ["mult", "minus", "max"][index % 3], 3 + index % 3);
    }
    body += "%126 = plus %125, %1\n%127 = minus %126, %2\n";
    let inputs = "in0 = matrix\nin1 = matrix\nin2 = matrix\nin3 = matrix\nin4 = matrix\nin5 = matrix";
    let cellwise = "%0 = main\n%1 = side_cell in4\n%2 = side_col_scalar in5";
    let rowwise = "%0 = main\n%1 = side_row in4\n%2 = side_vector in5";
    [
        ("cell no_agg", cellwise, ""),
        ("cell row_agg", cellwise, "agg=max"),
        ("cell col_agg", cellwise, "agg=nnz"),
        ("magg full_agg", cellwise, "agg=sum"),
        ("outer left_mm", cellwise, ""),
        ("outer no_agg", "%0 = outer_product\n%1 = main\n%2 = side_cell in5", ""),
        ("row no_agg", rowwise, ""),
        ("row col_agg", rowwise, "agg=prod"),
    ]
    .map(|(variant, first, agg)| {
        let sparse_safe = variant.starts_with("outer");
        format!("cplan {variant} sparse_safe={sparse_safe} {{\n{inputs}\n{first}\n{body}\nout %127 {agg}\n}}")
    })
    .into()
}

/// More operations of many kinds than are called one by one, over rows that may be sparse and over dense ones.
pub(crate) fn plans_of_many_calls() -> Vec<String> {
    const ROUND: usize = 12;
    const ROUNDS: usize = 10;
    let plan = |takes_elements: bool| {
        let mut body = "%0 = main\n%1 = side_vector in1\n%2 = side_row_scalar in2[4]\n%3 = side_row in3[2:7]
          %4 = literal 2.0\n%5 = scalar in5\n%6 = vect_mat_mult %0, in4"
            .to_owned();
        let (mut scalar, mut vector) = (2, 6);
        for round in 0..ROUNDS {
            let n = 7 + ROUND * round;
            let agg = ["sum", "var", "nnz"][round % 3];
            let (of_main, of_row) = if takes_elements { ("mult", n) } else { ("dot_product", 0) };
            // Rows of another length are calls of another kind.
            let longer = match round {
                0 => format!("cbind %{}, %{n}", n + 3),
                _ => format!("mult %{}, %{}", n + 3, if takes_elements { 3 } else { n }),
            };
            let operations: [String; ROUND] = [
                format!("{of_main} %0, %1"),
                format!("row_agg.{agg} %{of_row}"),
                format!("plusmult %{vector}, %3, %{scalar}"),
                format!("min %{}, %{}", n + 2, 4 + round % 2),
                longer,
                format!("row_cumulative.sum %{}", n + 4),
                format!("row_agg.max %{}", n + 5),
                format!("dot_product %{}, %3", n + 3),
                format!("plus %{}, %{}", n + 6, n + 1),
                format!("minus %{}, %{}", n + 8, n + 7),
                format!("abs %{}", n + 9),
                format!("minus %{}, %3", n + 3),
            ];
            let numbered = operations.iter().enumerate().map(|(place, text)| format!("\n%{} = {text}", n + place));
            body.extend(numbered);
            (scalar, vector) = (n + 10, n + 11);
        }
        let least = 7 + ROUND * ROUNDS;
        let last = least + 1;
        row(
            "row_agg",
            &format!("{body}\n%{least} = row_agg.min %{vector}\n%{last} = plus %{scalar}, %{least}\nout %{last}"),
        )
    };
    [false, true].map(plan).into()
}

fn row(variant: &str, body: &str) -> String {
    let inputs = "in0 = matrix\nin1 = matrix\nin2 = matrix\nin3 = matrix\nin4 = matrix\nin5 = scalar";
    format!("cplan row {variant} sparse_safe=false {{\n{inputs}\n{body}\n}}")
}

/// Element-wise chains over vectors and over values per row, aggregates, products with side matrices and vectors.
pub(crate) fn row_plans() -> Vec<String> {
    let body = "%0 = main\n%1 = side_vector in1\n%2 = side_row_scalar in2[4]\n%3 = side_row in3\n%4 = scalar in5
      %5 = mult %0, %1\n%6 = plus %5, %3\n%7 = row_agg.sum %6\n%8 = mult %2, %4\n%9 = div %7, %8\n%10 = exp %9
      %11 = mult %6, %10\n%12 = minus %11, %0\n%13 = row_agg.max %0\n%14 = plus %13, %10\n%15 = minus %12, %14";
    let with = |variant: &str, rest: &str| row(variant, &format!("{body}\n{rest}"));
    let mut plans = vec![
        with("no_agg", "out %15"),
        with("row_agg", "%16 = row_agg.mean %15\n%17 = row_agg.min %12\n%18 = mult %16, %17\nout %18"),
        with("full_agg", "%16 = dot_product %15, %6\nout %16 agg=max"),
        with("no_agg_b1", "%16 = vect_mat_mult %15, in4\nout %16"),
        with("no_agg_b1", "%16 = vect_mat_mult %15, in4\n%17 = abs %16\n%18 = mult %17, %14\nout %18"),
        with("col_agg_t", "%16 = dot_product %15, %1\nout %16 left=%0"),
        with("col_agg_t", "%16 = row_agg.sumsq %15\nout %16 left=%12"),
        with("col_agg_b1", "%16 = vect_mat_mult %15, in4\nout %15 left=%16"),
        with("col_agg_b1_t", "%16 = vect_mat_mult %12, in4\n%17 = sqrt %16\nout %17 left=%15"),
        with("no_agg", "%16 = row_index\n%17 = minus %15, %16\nout %17"),
        with("no_agg_const", "%16 = cbind %15, %14\n%17 = cbind %16, %5\nout %17"),
    ];
    for &agg in AggOp::ALL {
        plans.push(with("row_agg", &format!("%16 = row_agg.{agg} %15\n%17 = plus %16, %14\nout %17")));
        if agg.merges() {
            plans.extend(["full_agg", "col_agg"].map(|variant| with(variant, &format!("out %15 agg={agg}"))));
            let b1 = format!("%16 = vect_mat_mult %15, in4\n%17 = minus %16, %14\nout %17 agg={agg}");
            let joined = format!("%16 = cbind %14, %15\n%17 = mult %16, %10\nout %17 agg={agg}");
            plans.extend([with("col_agg_b1r", &b1), with("full_agg", &b1)]);
            plans.extend([with("col_agg_const", &joined), with("full_agg", &joined)]);
        }
        if agg.is_cumulative() {
            plans.push(with("cum_agg", &format!("out %15 agg={agg}")));
            plans.push(with("cum_agg", &format!("%16 = vect_mat_mult %15, in4\nout %16 agg={agg}")));
            plans.push(with("cum_agg", &format!("%16 = row_agg.sum %15\nout %16 agg={agg}")));
            plans.push(with("no_agg", &format!("%16 = row_cumulative.{agg} %15\n%17 = minus %16, %12\nout %17")));
        }
    }
    plans
}

/// Ranges of columns, vectors that are no longer than a register, inputs of each kind for the nodes that primitives
/// serve, and outputs that are inputs.
pub(crate) fn row_plans_of_plain_inputs() -> Vec<String> {
    let mut plans: Vec<String> = [
        ("no_agg_const", "%0 = main\n%1 = side_row in1[2:7]\n%2 = row_agg.sum %0\n%3 = mult %1, %2\nout %3"),
        ("no_agg_const", "%0 = side_row in1[2:7]\n%1 = side_row_scalar in2[8]\n%2 = div %0, %1\nout %2"),
        ("no_agg_const", "%0 = side_row in1[0:3]\n%1 = row_index\n%2 = cbind %1, %0\nout %2"),
        ("no_agg_const", "%0 = literal 2.5\n%1 = side_row_scalar in1[5]\n%2 = cbind %0, %1\nout %2"),
        ("no_agg_const", "%0 = side_row in1[1:9]\nout %0"),
        ("no_agg_const", "%0 = side_vector in1\n%1 = main\n%2 = cbind %0, %1\n%3 = row_cumulative.sum %2\nout %3"),
        ("no_agg_b1", "%0 = side_vector in1\n%1 = row_index\n%2 = plus %0, %1\nout %2"),
        ("no_agg_b1", "%0 = side_row in1\n%1 = row_cumulative.max %0\nout %1"),
        ("no_agg_b1", "%0 = side_vector in1\n%1 = row_cumulative.prod %0\nout %1"),
        (
            "no_agg_b1",
            "%0 = side_row in1[3:9]\n%1 = side_row_scalar in2\n%2 = cbind %0, %1\n%3 = vect_mat_mult %2, in4\nout %3",
        ),
        ("col_agg_b1", "%0 = main\n%1 = side_row in1[0:9]\nout %0 left=%1"),
        ("col_agg_b1", "%0 = main\n%1 = side_row in1[0:7]\n%2 = row_index\n%3 = cbind %2, %1\nout %0 left=%3"),
        ("col_agg_b1_t", "%0 = main\n%1 = side_row_scalar in1[1]\n%2 = row_index\n%3 = cbind %2, %1\nout %3 left=%0"),
        ("no_agg", "%0 = main\nout %0"),
        ("no_agg", "%0 = main\n%1 = row_cumulative.min %0\nout %1"),
        ("row_agg", "%0 = main\n%1 = side_row_scalar in1\n%2 = row_agg.sum %0\n%3 = mult %1, %2\nout %3"),
        ("row_agg", "%0 = row_index\nout %0"),
        ("row_agg", "%0 = side_row_scalar in1[7]\nout %0"),
        ("row_agg", "%0 = side_row_scalar in1[7]\n%1 = side_row_scalar in1[2]\n%2 = minus %0, %1\nout %2"),
        ("row_agg", "%0 = side_row in1[2:4]\n%1 = side_row in2[5:7]\n%2 = dot_product %0, %1\nout %2"),
        ("row_agg", "%0 = literal -1.25\nout %0"),
        ("col_agg_t", "%0 = main\n%1 = side_row_scalar in1\nout %1 left=%0"),
        ("col_agg_t", "%0 = main\n%1 = literal 0.5\nout %1 left=%0"),
        ("col_agg_t", "%0 = main\n%1 = row_index\nout %1 left=%0"),
        ("col_agg_t", "%0 = main\n%1 = row_index\n%2 = mult %0, %1\nout %1 left=%2"),
    ]
    .map(|(variant, body)| row(variant, body))
    .into();
    for agg in merging() {
        for (variant, body) in [
            ("full_agg", "%0 = main"),
            ("full_agg", "%0 = row_index"),
            ("full_agg", "%0 = side_row_scalar in1[6]"),
            ("full_agg", "%0 = literal 3.5"),
            ("col_agg", "%0 = main"),
            ("col_agg_b1r", "%0 = side_row in1"),
            ("col_agg_b1r", "%0 = side_vector in1"),
            ("col_agg_const", "%0 = side_row in1[4:9]"),
        ] {
            plans.push(row(variant, &format!("{body}\nout %0 agg={agg}")));
        }
    }
    let aggregated = ["main", "side_row in1", "side_row in1[1:8]", "side_vector in1"];
    plans.extend(AggOp::ALL.iter().flat_map(|agg| {
        aggregated.map(|vector| row("row_agg", &format!("%0 = {vector}\n%1 = row_agg.{agg} %0\nout %1")))
    }));
    plans
}

/// Several outputs over one scan of the rows: of every variant with every aggregate, of inputs as they are, of values that
/// outputs share, and in the form that k-means takes.
pub(crate) fn multi_row_plans() -> Vec<String> {
    let body = "%0 = main\n%1 = side_vector in1\n%2 = side_row_scalar in2[4]\n%3 = side_row in3\n%4 = mult %0, %1
      %5 = plus %4, %3\n%6 = row_agg.sum %5\n%7 = div %5, %2\n%8 = vect_mat_mult %7, in4\n%9 = minus %8, %6
      %10 = cbind %6, %7";
    let sparse = "%0 = main\n%1 = vect_mat_mult %0, in4\n%2 = row_agg.max %1\n%3 = minus %1, %2\n%4 = row_agg.nnz %0";
    let clusters = "%0 = main\n%1 = vect_mat_mult %0, in4\n%2 = literal -2.0\n%3 = mult %1, %2\n%4 = side_row in1[2:7]
      %5 = plus %3, %4\n%6 = row_agg.min %5\n%7 = le %5, %6\n%8 = row_agg.sum %7\n%9 = div %7, %8";
    let plan = |body: &str, outputs: &str| row("multi_agg", &format!("{body}\n{outputs}"));
    let products = "out %6 left=%0\nout %7 left=%8\nout %9 left=%7";
    let mut plans = vec![
        plan(body, &format!("{products}\nout %10 agg=sum")),
        plan(clusters, "out %6 agg=sum\nout %9 agg=sum\nout %0 left=%9"),
        plan(clusters, "out %9 left=%0\nout %9 agg=min\nout %9 agg=max\nout %8 agg=prod\nout %5 agg=sum"),
        plan(sparse, "out %3 left=%0\nout %0 left=%3\nout %4 left=%0\nout %3 agg=min"),
        plan(
            "%0 = main\n%1 = literal 0.5\n%2 = row_index",
            "out %0 agg=sum\nout %1 left=%0\nout %2 agg=max\nout %1 agg=sum",
        ),
        plan("%0 = side_row in1\n%1 = side_row in2[1:4]", "out %0 agg=max\nout %1 agg=sum\nout %0 agg=nnz"),
    ];
    for agg in merging() {
        let all = [5, 6, 7, 8, 9, 10, 2].map(|node| format!("out %{node} agg={agg}\n")).concat();
        plans.push(plan(body, &format!("{all}out %5 agg=sum\n{products}")));
        let main = if agg.ignores_zeros() { format!("out %0 agg={agg}\n") } else { String::new() };
        plans.push(plan(sparse, &format!("out %3 agg={agg}\n{main}out %4 agg={agg}\nout %3 left=%0")));
    }
    plans
}

/// Values that lie by position in sparse units: of every kind of operand, several of them, and with every use of the result.
pub(crate) fn plans_by_position() -> Vec<String> {
    let body = "%0 = main\n%1 = side_vector in1\n%2 = side_row_scalar in2[4]\n%3 = side_row in3\n%4 = scalar in5
      %5 = row_agg.sum %0\n%6 = div %0, %5\n%7 = mult %6, %1\n%8 = exp %1\n%9 = mult %7, %8\n%10 = mult %9, %3
      %11 = row_index\n%12 = plus %11, %2\n%13 = mult %10, %12\n%14 = plus %13, %0\n%15 = mult %14, %4\n%16 = pow2 %0
      %17 = plus %15, %16\n%18 = minus %3, %1\n%19 = plus %0, %18\n%20 = mult %19, %17\n%21 = ne %20, %11";
    let with = |variant: &str, rest: &str| {
        let text = row(variant, &format!("{body}\n{rest}"));
        without_unused(&fuseline_ir::cplan::parse(&text).expect("the text is a plan")).to_string()
    };
    let mut plans = vec![
        with("no_agg", "%22 = mult %21, %0\nout %22"),
        with("no_agg", "out %20"),
        with("row_agg", "%22 = dot_product %20, %1\nout %22"),
        with("row_agg", "%22 = dot_product %3, %17\nout %22"),
        with("no_agg_b1", "%22 = vect_mat_mult %20, in4\n%23 = vect_mat_mult %0, in4\n%24 = plus %22, %23\nout %24"),
        with("col_agg_b1_t", "%22 = vect_mat_mult %20, in4\nout %22 left=%17"),
        with("col_agg_b1", "%22 = vect_mat_mult %20, in4\nout %20 left=%22"),
        with("col_agg_t", "%22 = row_agg.max %20\nout %22 left=%20"),
        with("col_agg_t", "out %12 left=%9"),
        with("multi_agg", "%22 = row_agg.min %20\nout %17 agg=sum\nout %22 left=%20\nout %22 agg=max\nout %20 agg=nnz"),
        // A vector, and a row of the same matrix, that are read as such besides.
        row("row_agg", "%0 = main\n%1 = side_vector in1\n%2 = mult %0, %1\n%3 = dot_product %2, %1\nout %3"),
        row(
            "row_agg",
            "%0 = main\n%1 = side_row in1\n%2 = mult %0, %1\n%3 = row_agg.sum %2\n%4 = row_agg.max %1\n%5 = plus %3, %4
              out %5",
        ),
        row(
            "row_agg",
            "%0 = main\n%1 = side_vector in1\n%2 = side_row_scalar in2\n%3 = minus %1, %2\n%4 = mult %0, %3
              %5 = row_agg.sum %3\n%6 = row_agg.sum %4\n%7 = max %5, %6\nout %7",
        ),
    ];
    for agg in AggOp::ALL {
        plans.push(with("row_agg", &format!("%22 = row_agg.{agg} %20\n%23 = plus %22, %5\nout %23")));
        if agg.merges() {
            plans.extend(["full_agg", "col_agg"].map(|variant| with(variant, &format!("out %20 agg={agg}"))));
        }
    }
    plans
}

/// Every use of the main row for which sparse rows have primitives.
pub(crate) fn sparse_row_plans() -> Vec<String> {
    let chain = "%0 = main\n%1 = side_vector in1\n%2 = dot_product %0, %1";
    let product = "%0 = main\n%1 = vect_mat_mult %0, in4";
    [
        ("col_agg_t", format!("{chain}\nout %2 left=%0")),
        ("col_agg_t", format!("{chain}\n%3 = side_row_scalar in2\n%4 = mult %2, %3\nout %4 left=%0")),
        ("col_agg_t", format!("{chain}\n%3 = row_index\n%4 = mult %2, %3\nout %4 left=%0")),
        ("row_agg", format!("{chain}\n%3 = literal 1.0\n%4 = minus %3, %2\n%5 = max %4, %2\nout %5")),
        (
            "row_agg",
            "%0 = main\n%1 = row_agg.var %0\n%2 = sqrt %1\n%3 = row_agg.nnz %0\n%4 = mult %2, %3\nout %4".into(),
        ),
        ("full_agg", format!("{chain}\n%3 = pow2 %2\nout %3 agg=sum")),
        ("no_agg_b1", format!("{product}\nout %1")),
        ("no_agg_b1", format!("{product}\n%2 = row_cumulative.sum %1\nout %2")),
        ("no_agg_const", format!("{product}\n%2 = row_agg.sum %0\n%3 = cbind %2, %1\nout %3")),
        ("col_agg_b1_t", format!("{product}\n%2 = row_agg.sum %0\n%3 = div %1, %2\nout %3 left=%0")),
        ("col_agg_b1", format!("{product}\nout %0 left=%1")),
        ("col_agg_b1r", format!("{product}\n%2 = exp %1\nout %2 agg=max")),
        ("no_agg_b1", format!("{product}\n%2 = vect_mat_mult %1, in3\n%3 = plus %1, %2\nout %3")),
    ]
    .map(|(variant, body)| row(variant, &body))
    .into()
}

/// Outer plans of a body that has every kind of node, and of single inputs.
pub(crate) fn outer_plans() -> Vec<String> {
    let inputs = "in0 = matrix\nin1 = matrix\nin2 = matrix";
    let bodies = [
        (
            "in3 = matrix\nin4 = matrix\nin5 = matrix\n%0 = main\n%1 = outer_product\n%2 = literal 0.25
            %3 = plus %1, %2\n%4 = abs %3\n%5 = log %4\n%6 = mult %0, %5\n%7 = side_cell in3
            %8 = side_row_scalar in4[6]\n%9 = mult %6, %7\n%10 = plus %9, %8\n%11 = row_index
            %12 = minus %10, %11\n%13 = side_col_scalar in5\n%14 = mult %12, %13",
            "%14",
        ),
        ("%0 = outer_product", "%0"),
        ("%0 = main", "%0"),
        ("%0 = row_index", "%0"),
        ("in3 = matrix\n%0 = side_row_scalar in3[1]", "%0"),
        ("%0 = literal 2.0", "%0"),
        ("in3 = scalar\n%0 = scalar in3\n%1 = sqrt %0\n%2 = exp %1", "%2"),
    ];
    let forms: Vec<(&str, String)> = merging()
        .map(|agg| ("full_agg", format!("agg={agg}")))
        .chain(["no_agg", "left_mm", "right_mm"].map(|variant| (variant, String::new())))
        .collect();
    let plan = |variant: &str, agg: &str, body: &str, out: &str| {
        format!("cplan outer {variant} sparse_safe=true {{\n{inputs}\n{body}\nout {out} {agg}\n}}")
    };
    bodies
        .iter()
        .flat_map(|(body, out)| forms.iter().map(move |(variant, agg)| plan(variant, agg, body, out)))
        .collect()
}

/// Every operation in every form and place: per cell, with one operand per row, for rows alone.
pub(crate) fn operation_plans() -> Vec<String> {
    let unary = UnaryOp::ALL.iter().flat_map(|op| [format!("{op} %0"), format!("{op} %2")]);
    let binary = BinaryOp::ALL
        .iter()
        .flat_map(|op| ["%0, %1", "%0, %2", "%2, %1", "%2, %2"].map(|operands| format!("{op} {operands}")));
    let ternary = TernaryOp::ALL
        .iter()
        .flat_map(|op| ["%0, %1, %2", "%2, %0, %1", "%1, %2, %0"].map(|operands| format!("{op} {operands}")));
    let operations: Vec<String> = unary.chain(binary).chain(ternary).collect();
    // Few operations per plan, so that a wrong bit is not lost in sums.
    let plan = |few: &[String]| {
        let mut body = "in0 = matrix\nin1 = matrix\nin2 = matrix\n%0 = main\n%1 = side_cell in1\n".to_owned();
        body += "%2 = side_row_scalar in2\n%3 = plus %0, %1\n%4 = minus %3, %2\n";
        for (index, operation) in few.iter().enumerate() {
            let result = 5 + 2 * index;
            body += &format!("%{result} = {operation}\n%{} = plus %{}, %{result}\n", result + 1, result - 1);
        }
        cell("no_agg", "", &body)
    };
    operations.chunks(12).map(plan).collect()
}
