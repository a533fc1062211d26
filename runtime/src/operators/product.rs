//! Matrix products: operands that are transposes are read as they are, and the transposes never formed.

use fuseline_ir::hop::{Hop, HopDag, HopId, HopOp, Inputs, ReorgOp};
use fuseline_kernels::{self as kernels, KernelContext, KernelError, TransposedSide};
use fuseline_matrix::MatrixBlock;

/// How a product reads its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// Both as they are.
    Plain,
    /// The left one is the input of a transpose.
    TransposedLeft,
    /// The right one is the input of a transpose.
    TransposedRight,
    /// Both are the same matrix.
    Symmetric(TransposedSide),
}

/// The input of a transpose.
fn untransposed(dag: &HopDag, id: HopId) -> Option<HopId> {
    let hop = &dag[id];
    (hop.op == HopOp::Reorg(ReorgOp::Transpose)).then(|| hop.inputs[0])
}

fn form(dag: &HopDag, product: &Hop) -> Form {
    let [left, right] = product.inputs[..] else { return Form::Plain };
    match (untransposed(dag, left), untransposed(dag, right)) {
        (Some(matrix), _) if matrix == right => Form::Symmetric(TransposedSide::Left),
        (_, Some(matrix)) if matrix == left => Form::Symmetric(TransposedSide::Right),
        (Some(_), _) => Form::TransposedLeft,
        (None, Some(_)) => Form::TransposedRight,
        (None, None) => Form::Plain,
    }
}

/// The operators whose values a product needs, in the order in which [`run`] takes them.
pub(crate) fn evaluated_inputs(dag: &HopDag, product: &Hop) -> Inputs {
    let mut inputs = product.inputs.clone();
    match form(dag, product) {
        Form::Plain => {}
        Form::TransposedLeft => inputs[0] = dag[inputs[0]].inputs[0],
        Form::TransposedRight => inputs[1] = dag[inputs[1]].inputs[0],
        Form::Symmetric(TransposedSide::Left) => inputs = Inputs::from_slice(&[inputs[1]]),
        Form::Symmetric(TransposedSide::Right) => inputs = Inputs::from_slice(&[inputs[0]]),
    }
    inputs
}

/// The product of the evaluated inputs.
///
/// # Errors
/// Dimensions that do not fit.
pub(super) fn run(
    context: &KernelContext<'_>,
    dag: &HopDag,
    product: &Hop,
    operands: &[&MatrixBlock],
) -> Result<MatrixBlock, KernelError> {
    match (form(dag, product), operands) {
        (Form::Symmetric(side), [matrix]) => Ok(kernels::tsmm(context, matrix, side)),
        (Form::TransposedLeft, [left, right]) => kernels::matmul_transposed_left(context, left, right),
        (Form::TransposedRight, [left, right]) => kernels::matmul_transposed_right(context, left, right),
        (_, [left, right]) => kernels::matmul(context, left, right),
        (_, other) => {
            let problem = format!("{} operands", other.len());
            Err(KernelError::Argument { operation: "%*%", problem })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fuseline_ir::hop;

    #[test]
    fn transposed_operands_are_read_untransposed_and_equal_ones_once() {
        let text = "hops @products {\n  %0 = read \"X\" : f64[4x3]\n  %1 = read \"Y\" : f64[4x3]\n  \
            %2 = t %0 : f64[3x4]\n  %3 = t %1 : f64[3x4]\n  %4 = matmul %2, %0 : f64[3x3]\n  \
            %5 = matmul %0, %2 : f64[4x4]\n  %6 = matmul %2, %1 : f64[3x3]\n  %7 = matmul %0, %3 : f64[4x4]\n  \
            %8 = matmul %4, %6 : f64[3x3]\n  write \"A\" %5\n  write \"B\" %7\n  write \"C\" %8\n}\n";
        let (_, dag) = hop::parse(text).expect("the text is well-formed").remove(0);
        let products = dag.hops.values().filter(|hop| hop.op == HopOp::MatMul);
        let read: Vec<_> = products.map(|product| evaluated_inputs(&dag, product)).collect();
        let ids: Vec<_> = dag.hops.keys().collect();
        let expected: [&[usize]; 5] = [&[0], &[0], &[0, 1], &[0, 1], &[4, 6]];
        let expected = expected.map(|inputs| inputs.iter().map(|&input| ids[input]).collect::<Inputs>());
        assert_eq!(read, expected);
    }
}
