//! Plans of every template and variant, with the shapes of their inputs.

use fuseline_ir::cplan::{
    Bits, CInput, CInputId, CNode, CNodeId, COutput, CPlan, CellType, OuterType, RowType, Variant,
};
use fuseline_ir::ops::{AggOp, BinaryOp, TernaryOp, UnaryOp};

/// The shape of an input, from the rows and columns of the main input.
pub type ShapeOf = fn(usize, usize) -> (usize, usize);

/// A plan with the shapes of its matrices; scalars are 2, 3, ...
#[derive(Clone)]
pub struct Example {
    pub name: String,
    pub plan: CPlan,
    pub shapes: Vec<ShapeOf>,
}

const K: usize = 5;

pub struct Builder {
    plan: CPlan,
    shapes: Vec<ShapeOf>,
}

impl Builder {
    pub fn new(variant: Variant) -> Self {
        let mut builder = Builder { plan: CPlan::new(variant), shapes: Vec::new() };
        builder.matrix(|m, n| (m, n));
        builder
    }

    pub fn matrix(&mut self, shape: ShapeOf) -> CInputId {
        self.shapes.push(shape);
        self.plan.inputs.push(CInput::Matrix)
    }

    pub fn scalar(&mut self) -> CNodeId {
        let input = self.plan.inputs.push(CInput::Scalar);
        self.push(CNode::Scalar(input))
    }

    pub fn push(&mut self, node: CNode) -> CNodeId {
        self.plan.nodes.push(node)
    }

    pub fn literal(&mut self, value: f64) -> CNodeId {
        self.push(CNode::Literal(Bits::new(value)))
    }

    pub fn binary(&mut self, op: BinaryOp, a: CNodeId, b: CNodeId) -> CNodeId {
        self.push(CNode::Binary(op, a, b))
    }

    pub fn finish(mut self, name: &str, outputs: &[(CNodeId, Option<AggOp>, Option<CNodeId>)], safe: bool) -> Example {
        self.plan.outputs = outputs.iter().map(|&(node, agg, left)| COutput { node, agg, left }).collect();
        self.plan.sparse_safe = safe;
        let (variant, template) = (self.plan.variant.mnemonic(), self.plan.template());
        Example { name: format!("{template} {variant} {name}"), plan: self.plan, shapes: self.shapes }
    }
}

pub const AGGS: [AggOp; 4] = [AggOp::Sum, AggOp::SumSq, AggOp::Min, AggOp::Max];

/// Element-wise chains: their name, whether zeros of the main input give zeros, and how to build them.
type Body = (&'static str, bool, fn(&mut Builder) -> CNodeId);

fn full(m: usize, n: usize) -> (usize, usize) {
    (m, n)
}

const BODIES: &[Body] = &[
    ("abs(x)*s", true, |b| {
        let x = b.push(CNode::Main);
        let s = b.scalar();
        let abs = b.push(CNode::Unary(UnaryOp::Abs, x));
        b.binary(BinaryOp::Mult, abs, s)
    }),
    ("x*y", true, |b| {
        let y = b.matrix(full);
        let (x, y) = (b.push(CNode::Main), b.push(CNode::SideCell(y)));
        b.binary(BinaryOp::Mult, x, y)
    }),
    ("x*(y+r)*c", true, |b| {
        let (y, r, c) = (b.matrix(full), b.matrix(|m, _| (m, 1)), b.matrix(|_, n| (1, n)));
        let (x, y) = (b.push(CNode::Main), b.push(CNode::SideCell(y)));
        let (r, c) = (b.push(CNode::SideRowScalar(r)), b.push(CNode::SideColScalar(c)));
        let sum = b.binary(BinaryOp::Plus, y, r);
        let product = b.binary(BinaryOp::Mult, x, sum);
        b.binary(BinaryOp::Mult, product, c)
    }),
    ("x*c", true, |b| {
        let c = b.matrix(|_, n| (1, n));
        let (x, c) = (b.push(CNode::Main), b.push(CNode::SideColScalar(c)));
        b.binary(BinaryOp::Mult, x, c)
    }),
    ("x+y-3", false, |b| {
        let y = b.matrix(full);
        let (x, y, three) = (b.push(CNode::Main), b.push(CNode::SideCell(y)), b.literal(3.0));
        let sum = b.binary(BinaryOp::Plus, x, y);
        b.binary(BinaryOp::Minus, sum, three)
    }),
    ("ifelse(x,r*2,c-y)", false, |b| {
        let (y, r, c) = (b.matrix(full), b.matrix(|m, _| (m, 1)), b.matrix(|_, n| (1, n)));
        let (x, y, two) = (b.push(CNode::Main), b.push(CNode::SideCell(y)), b.literal(2.0));
        let (r, c) = (b.push(CNode::SideRowScalar(r)), b.push(CNode::SideColScalar(c)));
        let twice = b.binary(BinaryOp::Mult, r, two);
        let difference = b.binary(BinaryOp::Minus, c, y);
        b.push(CNode::Ternary(TernaryOp::IfElse, x, twice, difference))
    }),
];

pub fn cell_plans() -> Vec<Example> {
    let mut examples = Vec::new();
    for &(name, safe, body) in BODIES {
        for cell_type in [CellType::NoAgg, CellType::RowAgg, CellType::ColAgg, CellType::FullAgg] {
            for agg in AGGS {
                let aggregated = (cell_type != CellType::NoAgg).then_some(agg);
                if aggregated.is_none() && agg != AggOp::Sum {
                    continue;
                }
                let mut builder = Builder::new(Variant::Cell(cell_type));
                let node = body(&mut builder);
                let name = format!("{name} {}", agg.mnemonic());
                examples.push(builder.finish(&name, &[(node, aggregated, None)], safe));
            }
        }
    }
    examples
}

pub fn magg_plans() -> Vec<Example> {
    BODIES
        .iter()
        .map(|&(name, safe, body)| {
            let mut builder = Builder::new(Variant::MAgg);
            let node = body(&mut builder);
            let twice = builder.binary(BinaryOp::Plus, node, node);
            let outputs = [
                (node, Some(AggOp::Sum), None),
                (twice, Some(AggOp::Min), None),
                (twice, Some(AggOp::SumSq), None),
                (node, Some(AggOp::Max), None),
            ];
            builder.finish(name, &outputs, safe)
        })
        .collect()
}

pub fn row_plans() -> Vec<Example> {
    let mut examples = vec![no_agg(), scale_rows(), multiply(), range(), gradient(), weighted_gradient()];
    examples.extend(AGGS.into_iter().chain([AggOp::Mean]).flat_map(|agg| [row_agg(agg), main_row_agg(agg)]));
    examples
        .extend(AGGS.into_iter().flat_map(|agg| [col_agg(agg), full_scalar(agg), full_vector(agg), main_full(agg)]));
    examples.extend([project(false), project(true), accumulate_left(), dense_chain()]);
    examples
}

fn row(row_type: RowType) -> (Builder, CNodeId) {
    let mut builder = Builder::new(Variant::Row(row_type));
    let main = builder.push(CNode::Main);
    (builder, main)
}

/// `X + Y * v`
fn no_agg() -> Example {
    let (mut b, x) = row(RowType::NoAgg);
    let (y, v) = (b.matrix(full), b.matrix(|_, n| (1, n)));
    let (y, v) = (b.push(CNode::SideRow(y, None)), b.push(CNode::SideVector(v)));
    let product = b.binary(BinaryOp::Mult, y, v);
    let sum = b.binary(BinaryOp::Plus, x, product);
    b.finish("X+Y*v", &[(sum, None, None)], false)
}

/// `X * rowSums(X) * r`
fn scale_rows() -> Example {
    let (mut b, x) = row(RowType::NoAgg);
    let r = b.matrix(|m, _| (m, 1));
    let sum = b.push(CNode::RowAgg(AggOp::Sum, x));
    let r = b.push(CNode::SideRowScalar(r));
    let factor = b.binary(BinaryOp::Mult, sum, r);
    let product = b.binary(BinaryOp::Mult, factor, x);
    b.finish("X*rowSums(X)*r", &[(product, None, None)], true)
}

/// `(X %*% B) * s`
fn multiply() -> Example {
    let (mut b, x) = row(RowType::NoAggB1);
    let matrix = b.matrix(|_, n| (n, K));
    let s = b.scalar();
    let product = b.push(CNode::VectMatMult(x, matrix));
    let scaled = b.binary(BinaryOp::Mult, product, s);
    b.finish("(X%*%B)*s", &[(scaled, None, None)], true)
}

/// `Y[,2:4] * rowMaxs(X)`
fn range() -> Example {
    let (mut b, x) = row(RowType::NoAggB1);
    let y = b.matrix(|m, _| (m, K + 2));
    let max = b.push(CNode::RowAgg(AggOp::Max, x));
    let y = b.push(CNode::SideRow(y, Some((1, 4))));
    let product = b.binary(BinaryOp::Mult, y, max);
    b.finish("Y[,2:4]*rowMaxs(X)", &[(product, None, None)], false)
}

/// `rowAgg(X * v) + r`
fn row_agg(agg: AggOp) -> Example {
    let (mut b, x) = row(RowType::RowAgg);
    let (v, r) = (b.matrix(|_, n| (n, 1)), b.matrix(|m, _| (m, 1)));
    let v = b.push(CNode::SideVector(v));
    let product = b.binary(BinaryOp::Mult, x, v);
    let aggregated = b.push(CNode::RowAgg(agg, product));
    let r = b.push(CNode::SideRowScalar(r));
    let sum = b.binary(BinaryOp::Plus, aggregated, r);
    b.finish(&format!("{agg}(X*v)+r"), &[(sum, None, None)], false)
}

/// `rowAgg(X) * 2`
fn main_row_agg(agg: AggOp) -> Example {
    let (mut b, x) = row(RowType::RowAgg);
    let aggregated = b.push(CNode::RowAgg(agg, x));
    let two = b.literal(2.0);
    let product = b.binary(BinaryOp::Mult, aggregated, two);
    b.finish(&format!("{agg}(X)*2"), &[(product, None, None)], false)
}

/// `colAgg((X %*% B) * r)`
fn col_agg(agg: AggOp) -> Example {
    let (mut b, x) = row(RowType::ColAgg);
    let (matrix, r) = (b.matrix(|_, n| (n, K)), b.matrix(|m, _| (m, 1)));
    let product = b.push(CNode::VectMatMult(x, matrix));
    let r = b.push(CNode::SideRowScalar(r));
    let scaled = b.binary(BinaryOp::Mult, product, r);
    b.finish(&format!("{agg}((X%*%B)*r)"), &[(scaled, Some(agg), None)], true)
}

/// `agg((X %*% v) - r)`
fn full_scalar(agg: AggOp) -> Example {
    let (mut b, x) = row(RowType::FullAgg);
    let (v, r) = (b.matrix(|_, n| (n, 1)), b.matrix(|m, _| (m, 1)));
    let v = b.push(CNode::SideVector(v));
    let dot = b.push(CNode::DotProduct(x, v));
    let r = b.push(CNode::SideRowScalar(r));
    let difference = b.binary(BinaryOp::Minus, dot, r);
    b.finish(&format!("{agg}(X%*%v-r)"), &[(difference, Some(agg), None)], false)
}

/// `agg(X * rowSums(X))`
fn full_vector(agg: AggOp) -> Example {
    let (mut b, x) = row(RowType::FullAgg);
    let sum = b.push(CNode::RowAgg(AggOp::Sum, x));
    let product = b.binary(BinaryOp::Mult, x, sum);
    b.finish(&format!("{agg}(X*rowSums(X))"), &[(product, Some(agg), None)], true)
}

/// `agg(X)` as a Row plan
fn main_full(agg: AggOp) -> Example {
    let (b, x) = row(RowType::FullAgg);
    b.finish(&format!("{agg}(X)"), &[(x, Some(agg), None)], true)
}

/// `t(X) %*% (X %*% v)`
pub fn gradient() -> Example {
    let (mut b, x) = row(RowType::ColAggT);
    let v = b.matrix(|_, n| (n, 1));
    let v = b.push(CNode::SideVector(v));
    let dot = b.push(CNode::DotProduct(x, v));
    b.finish("t(X)%*%(X%*%v)", &[(dot, None, Some(x))], true)
}

/// `t(X) %*% (w * (X %*% v) - y)` where `v` is multiplied as a matrix of one column
fn weighted_gradient() -> Example {
    let (mut b, x) = row(RowType::ColAggT);
    let (w, v, y) = (b.matrix(|m, _| (m, 1)), b.matrix(|_, n| (n, 1)), b.matrix(|m, _| (m, 1)));
    let product = b.push(CNode::VectMatMult(x, v));
    let scalar = b.push(CNode::RowAgg(AggOp::Sum, product));
    let (w, y) = (b.push(CNode::SideRowScalar(w)), b.push(CNode::SideRowScalar(y)));
    let weighted = b.binary(BinaryOp::Mult, w, scalar);
    let difference = b.binary(BinaryOp::Minus, weighted, y);
    b.finish("t(X)%*%(w*(X%*%v)-y)", &[(difference, None, Some(x))], true)
}

/// `t(X) %*% (X %*% B)`, or its transpose
fn project(transposed: bool) -> Example {
    let (mut b, x) = row(if transposed { RowType::ColAggB1T } else { RowType::ColAggB1 });
    let matrix = b.matrix(|_, n| (n, K));
    let product = b.push(CNode::VectMatMult(x, matrix));
    let (node, left) = if transposed { (product, x) } else { (x, product) };
    b.finish("t(X)%*%(X%*%B)", &[(node, None, Some(left))], true)
}

/// `t(S) %*% X`
fn accumulate_left() -> Example {
    let (mut b, x) = row(RowType::ColAggB1);
    let s = b.matrix(|m, _| (m, K));
    let s = b.push(CNode::SideRow(s, None));
    b.finish("t(S)%*%X", &[(x, None, Some(s))], true)
}

/// `t(X * X) %*% ((X %*% B - S) %*% C)`: needs dense rows, and multiplies a dense vector.
fn dense_chain() -> Example {
    let (mut b, x) = row(RowType::ColAggB1T);
    let (first, s, second) = (b.matrix(|_, n| (n, K)), b.matrix(|m, _| (m, K)), b.matrix(|_, _| (K, 3)));
    let square = b.binary(BinaryOp::Mult, x, x);
    let product = b.push(CNode::VectMatMult(x, first));
    let s = b.push(CNode::SideRow(s, None));
    let difference = b.binary(BinaryOp::Minus, product, s);
    let again = b.push(CNode::VectMatMult(difference, second));
    b.finish("t(X*X)%*%((X%*%B-S)%*%C)", &[(again, None, Some(square))], true)
}

pub fn outer_plans() -> Vec<Example> {
    let mut examples = Vec::new();
    for outer_type in [OuterType::NoAgg, OuterType::RightMM, OuterType::LeftMM] {
        examples.extend([outer(outer_type, None, false), outer(outer_type, None, true)]);
    }
    examples.extend(AGGS.into_iter().map(|agg| outer(OuterType::FullAgg, Some(agg), true)));
    examples
}

/// `X * (U %*% t(V))`, or `(X - U %*% t(V)) * (Y + r) * c`
fn outer(outer_type: OuterType, agg: Option<AggOp>, with_sides: bool) -> Example {
    let mut b = Builder::new(Variant::Outer(outer_type));
    b.matrix(|m, _| (m, K));
    b.matrix(|_, n| (n, K));
    let sides = with_sides.then(|| (b.matrix(full), b.matrix(|m, _| (m, 1)), b.matrix(|_, n| (1, n))));
    let (x, product) = (b.push(CNode::Main), b.push(CNode::OuterProduct));
    let node = match sides {
        None => b.binary(BinaryOp::Mult, x, product),
        Some((y, r, c)) => {
            let difference = b.binary(BinaryOp::Minus, x, product);
            let (y, r, c) =
                (b.push(CNode::SideCell(y)), b.push(CNode::SideRowScalar(r)), b.push(CNode::SideColScalar(c)));
            let sum = b.binary(BinaryOp::Plus, y, r);
            let scaled = b.binary(BinaryOp::Mult, difference, sum);
            b.binary(BinaryOp::Mult, scaled, c)
        }
    };
    let agg_name = agg.map_or("", AggOp::mnemonic);
    b.finish(&format!("{with_sides} {agg_name}"), &[(node, agg, None)], true)
}

pub fn all() -> Vec<Example> {
    [cell_plans(), magg_plans(), row_plans(), outer_plans()].concat()
}

/// `sum(X * y)` over cells, for tests of calls.
pub fn sum_of_products() -> Example {
    let mut b = Builder::new(Variant::Cell(CellType::FullAgg));
    let y = b.matrix(full);
    let (x, y) = (b.push(CNode::Main), b.push(CNode::SideCell(y)));
    let product = b.binary(BinaryOp::Mult, x, y);
    b.finish("sum(X*Y)", &[(product, Some(AggOp::Sum), None)], true)
}
