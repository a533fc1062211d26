//! The patterns that hand-coded operators replace, as data: the definition of each operator, and other ways to write it.
//!
//! Patterns are [`Expression`]s in which inputs of operators stand under their names. Commuted forms of commutative
//! operations match without being written, and so do squares as `pow2`, as a product and as a power, and sums of squares
//! as one aggregate. `(t ?V)` also stands for a factor that is no transpose, which is transposed once more.

use fuseline_ir::hop::{ChainWeight, Expression, FusedOp, HopOp, LossWeight, Side};
use fuseline_ir::ops::{BinaryOp, TernaryOp, UnaryOp};
use std::sync::LazyLock;

/// What an operator saves, the most first: where patterns overlap, the earlier family takes the operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Family {
    /// The cells of a product of factors that weights leave out.
    Weighted,
    /// A scan of a large matrix, or half of a product.
    Products,
    /// A matrix that is only aggregated.
    Aggregates,
    /// A matrix that is read cell by cell.
    Cells,
}

impl Family {
    pub(super) const ALL: [Family; 4] = [Family::Weighted, Family::Products, Family::Aggregates, Family::Cells];

    fn of(op: FusedOp) -> Family {
        match op {
            FusedOp::TransposeSelf(_) | FusedOp::MatrixChain(_) => Family::Products,
            FusedOp::BinaryAggregate(_) | FusedOp::TernaryAggregate(_) | FusedOp::OuterAggregate(..) => {
                Family::Aggregates
            }
            FusedOp::WeightedSquaredLoss(_)
            | FusedOp::WeightedSigmoid { .. }
            | FusedOp::WeightedProduct(..)
            | FusedOp::WeightedMultiply
            | FusedOp::WeightedCrossEntropy { .. }
            | FusedOp::WeightedUnary(..) => Family::Weighted,
        }
    }
}

/// A way to write what an operator computes.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    /// The operator that takes its place.
    pub(super) operator: HopOp,
    /// Which variables of the pattern the operator takes as inputs.
    pub(super) inputs: Vec<&'static str>,
    /// What is replaced.
    pub(super) expression: Expression,
    /// Whether what is replaced is the transpose of what the operator gives.
    pub(super) is_transposed: bool,
    pub(super) family: Family,
}

/// Every pattern, by family; those that cover more operators first.
pub(super) static PATTERNS: LazyLock<Vec<Pattern>> = LazyLock::new(|| {
    let mut patterns: Vec<Pattern> = FusedOp::all().into_iter().flat_map(patterns_of).collect();
    patterns
        .extend(AXPY.map(|(operator, text)| pattern(HopOp::Ternary(operator), &["X", "s", "Y"], text, Family::Cells)));
    // Stable: of equally large ones the earlier operator comes first.
    patterns.sort_by_key(|pattern| (pattern.family, std::cmp::Reverse(pattern.expression.operations())));
    patterns
});

/// Scaled additions, which are element-wise operations of their own.
const AXPY: [(TernaryOp, &str); 2] =
    [(TernaryOp::PlusMult, "(plus ?X (mult ?s ?Y))"), (TernaryOp::MinusMult, "(minus ?X (mult ?s ?Y))")];

fn pattern(operator: HopOp, inputs: &[&'static str], text: &str, family: Family) -> Pattern {
    let expression = text.parse().expect("patterns are well-formed");
    Pattern { operator, inputs: inputs.to_vec(), expression, is_transposed: false, family }
}

/// The definition of an operator and the other ways to write it.
fn patterns_of(op: FusedOp) -> Vec<Pattern> {
    let definition = op.definition_text();
    let plain = |text: &str| pattern(HopOp::Fused(op), op.inputs(), text, Family::of(op));
    let mut patterns = vec![plain(&definition)];
    match op {
        FusedOp::WeightedSquaredLoss(LossWeight::Pre) => {
            patterns.push(plain("(sum.full (pow2 (minus (mult ?W (matmul ?U (t ?V))) ?X)))"));
        }
        FusedOp::WeightedSquaredLoss(_) => {
            patterns.push(plain(&definition.replace("(minus ?X (matmul ?U (t ?V)))", "(minus (matmul ?U (t ?V)) ?X)")));
        }
        // t(U) %*% Z is the transpose of t(Z) %*% U.
        FusedOp::WeightedProduct(_, Side::Left) => {
            patterns.push(transposed(plain(&definition)));
            patterns.push(plain(&with_transposed_weights(&definition)));
        }
        FusedOp::MatrixChain(ChainWeight::None | ChainWeight::Times | ChainWeight::Minus) => {
            patterns.push(transposed(plain(&definition)));
        }
        FusedOp::TernaryAggregate(direction) => {
            let squared = format!("(sum.{direction} (mult (pow2 ?X) ?Y))");
            patterns.push(Pattern { inputs: vec!["X", "X", "Y"], ..plain(&squared) });
            let cubed = format!("(sum.{direction} (pow ?X 3))");
            patterns.push(Pattern { inputs: vec!["X", "X", "X"], ..plain(&cubed) });
        }
        FusedOp::WeightedUnary(BinaryOp::Mult, UnaryOp::Mult2) => {
            patterns.push(plain("(mult ?W (mult 2 (matmul ?U (t ?V))))"));
        }
        _ => {}
    }
    patterns
}

/// The pattern `t(Z) %*% U` with the transposes moved to the weights and factors of `Z`, as rewrites leave it: that spares
/// transposing the weights.
fn with_transposed_weights(definition: &str) -> String {
    let inner = definition.strip_prefix("(matmul (t ").and_then(|rest| rest.strip_suffix(") ?U)"));
    let weighted = inner.expect("the operator multiplies transposed weights with U");
    let weighted = weighted.replace("(matmul ?U (t ?V))", "(matmul ?V (t ?U))");
    let weighted = weighted.replace("?W", "(t ?W)").replace("?X", "(t ?X)");
    format!("(matmul {weighted} ?U)")
}

/// The pattern `t(A) %*% B` as `t(B) %*% A`, which is its transpose.
fn transposed(pattern: Pattern) -> Pattern {
    let transpose = |inner: Expression| match inner {
        Expression::Operation(HopOp::Reorg(_), mut inputs) => inputs.remove(0),
        other => Expression::Operation(HopOp::Reorg(fuseline_ir::hop::ReorgOp::Transpose), vec![other]),
    };
    let Expression::Operation(HopOp::MatMul, factors) = pattern.expression else {
        unreachable!("only products are turned round")
    };
    let factors = factors.into_iter().rev().map(transpose).collect();
    Pattern { expression: Expression::Operation(HopOp::MatMul, factors), is_transposed: true, ..pattern }
}
