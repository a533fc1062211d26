//! Plans with the shapes of their inputs.

use fuseline_ir::cplan::CPlan;

/// The shape of an input, from the rows and columns of the main input.
pub type ShapeOf = fn(usize, usize) -> (usize, usize);

/// A plan with the shapes of its matrices; scalars are 2, 3, ...
#[derive(Clone)]
pub struct Example {
    pub plan: CPlan,
    pub shapes: Vec<ShapeOf>,
}

/// A plan from the text of its nodes and outputs, behind its main input and side matrices of these shapes.
pub fn example(variant: &str, sparse_safe: bool, sides: &[ShapeOf], body: &str) -> Example {
    let full: ShapeOf = |m, n| (m, n);
    let shapes = [&[full], sides].concat();
    let inputs: String = (0..shapes.len()).map(|input| format!("in{input} = matrix\n")).collect();
    let text = format!("cplan {variant} sparse_safe={sparse_safe} {{\n{inputs}{body}\n}}");
    let plan = fuseline_ir::cplan::parse(&text).unwrap_or_else(|error| panic!("{error:?}\n{text}"));
    Example { plan, shapes }
}

/// `t(X) %*% (X %*% v)`
pub fn gradient() -> Example {
    let body = "%0 = main
        %1 = side_vector in1
        %2 = dot_product %0, %1
        out %2 left=%0";
    example("row col_agg_t", true, &[|_, n| (n, 1)], body)
}

/// `sum(X * Y)` over cells.
pub fn sum_of_products() -> Example {
    let body = "%0 = main
        %1 = side_cell in1
        %2 = mult %0, %1
        out %2 agg=sum";
    example("cell full_agg", true, &[|m, n| (m, n)], body)
}
