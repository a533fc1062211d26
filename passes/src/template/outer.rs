//! The Outer template: element-wise operations over an outer-product-like `U %*% t(V)`, evaluated only at the
//! non-zeros of a sparse driver.
//!
//! Where no zeros decide, as in `sum((X - U %*% t(V))^2)`, and what is left is smaller than the product, an operator runs
//! over all cells of a matrix that the product meets, tile by tile: the product is computed as a whole, but never written.

use super::Template;
use crate::cover::{Operator, driver_sparsity};
use crate::facts::{Context, is_outer_product_like};
use crate::hops::{is_elementwise, is_transpose, untransposed};
use crate::zeros;
use fuseline_ir::hop::{HopDag, HopId, HopOp};
use fuseline_ir::memo::{CloseStatus, TemplateType};
use fuseline_ir::ops::Direction;

/// Conditions of the Outer template.
#[derive(Clone, Copy, Debug)]
pub struct OuterTemplate;

/// A factor of an outer product, by rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Factor {
    /// The value of an operator of the DAG.
    Stored(HopId),
    /// The transpose of such a value.
    TransposeOf(HopId),
}

/// The right factor V (n x r) of an outer product `U %*% t(V)`.
pub(crate) fn factor_v(dag: &HopDag, product: HopId) -> Factor {
    let right = dag[product].inputs[1];
    untransposed(dag, right).map_or(Factor::TransposeOf(right), Factor::Stored)
}

/// Whether one operator is the transpose of the other.
fn are_transposes(dag: &HopDag, one: HopId, other: HopId) -> bool {
    untransposed(dag, one) == Some(other) || untransposed(dag, other) == Some(one)
}

/// `W %*% V` over the W above `product`.
fn is_right_product(context: &Context<'_>, hop: HopId, product: HopId) -> bool {
    let inputs = &context.hop(hop).inputs;
    are_transposes(context.dag, inputs[1], context.hop(product).inputs[1])
}

/// How a matrix product multiplies U from the left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LeftProduct {
    /// `t(W) %*% U`.
    Plain,
    /// `t(U) %*% W`, the transpose of that.
    Transposed,
}

/// Whether the product `hop` multiplies U with the W above `product`, and how; `input` is W or its transpose.
pub(crate) fn left_product(dag: &HopDag, hop: HopId, input: HopId, product: HopId) -> Option<LeftProduct> {
    let (inputs, u) = (&dag[hop].inputs, dag[product].inputs[0]);
    if inputs[0] == input && is_transpose(dag, input) && inputs[1] == u {
        Some(LeftProduct::Plain)
    } else if inputs[1] == input && are_transposes(dag, inputs[0], u) {
        Some(LeftProduct::Transposed)
    } else {
        None
    }
}

fn is_product_with_factor(context: &Context<'_>, hop: HopId, input: HopId, product: HopId) -> bool {
    let is_plain = !is_transpose(context.dag, input);
    is_plain && context.hop(hop).inputs[0] == input && is_right_product(context, hop, product)
        || left_product(context.dag, hop, input, product)
            .is_some_and(|kind| is_plain == (kind == LeftProduct::Transposed))
}

/// Whether an operator leaves less than a value for each cell: an aggregate, or a product.
fn reduces_cells(context: &Context<'_>, id: HopId) -> bool {
    matches!(context.hop(id).op, HopOp::AggUnary(..) | HopOp::MatMul)
}

impl Template for OuterTemplate {
    fn ttype(&self) -> TemplateType {
        TemplateType::Outer
    }

    fn open(&self, context: &Context<'_>, id: HopId) -> bool {
        !context.limits.strict_ieee && is_outer_product_like(context, id)
    }

    fn fuse(&self, context: &Context<'_>, id: HopId, input: HopId) -> bool {
        let Some(product) = context.outer(input).product else { return false };
        match context.hop(id).op {
            _ if is_elementwise(context.dag, id) => context.hop(input).size.same_dims(&context.hop(id).size),
            HopOp::AggUnary(op, Direction::Full) => op.merges(),
            HopOp::MatMul => is_product_with_factor(context, id, input, product),
            HopOp::Reorg(_) => context.single_consumer(id).is_some_and(|consumer| {
                context.hop(consumer).op == HopOp::MatMul
                    && left_product(context.dag, consumer, id, product) == Some(LeftProduct::Plain)
            }),
            _ => false,
        }
    }

    /// A factor such as `X != 0`, from which the driver can be reached.
    fn merge(&self, context: &Context<'_>, id: HopId, input: HopId) -> bool {
        let strict = context.limits.strict_ieee;
        context.outer(input).product.is_none()
            && is_elementwise(context.dag, id)
            && context.hop(input).size.same_dims(&context.hop(id).size)
            && zeros::is_zero_with(context.dag, id, input, strict)
            && zeros::keeps_zeros(context.dag, input, strict)
    }

    fn close(&self, context: &Context<'_>, id: HopId) -> CloseStatus {
        let hop = context.hop(id);
        let has_main = |&input: &HopId| {
            let facts = context.outer(input);
            facts.driver.is_some() || facts.meets_matrix
        };
        match hop.op {
            HopOp::MatMul if context.outer(id).product == Some(id) => CloseStatus::OpenInvalid,
            _ if reduces_cells(context, id) && hop.inputs.iter().any(has_main) => CloseStatus::ClosedValid,
            _ if reduces_cells(context, id) => CloseStatus::ClosedInvalid,
            HopOp::Reorg(_) => CloseStatus::OpenInvalid,
            _ if context.outer(id).driver.is_some() => CloseStatus::OpenValid,
            _ => CloseStatus::OpenInvalid,
        }
    }

    fn is_driven(&self) -> bool {
        true
    }

    fn main_input(&self, context: &Context<'_>, operator: &Operator) -> Option<HopId> {
        let space = operator.space(context);
        let over_all_cells = || operator.densest(context, &space).filter(|_| reduces_cells(context, operator.root()));
        operator.driver(context, &space).or_else(over_all_cells)
    }

    fn visited_share(&self, context: &Context<'_>, driver: HopId) -> f64 {
        driver_sparsity(context, driver)
    }

    /// Of the product of both factors the right one.
    fn transposed_operand(&self, context: &Context<'_>, product: HopId) -> HopId {
        let is_of_factors = context.outer(product).product == Some(product);
        context.hop(product).inputs[usize::from(is_of_factors)]
    }
}
