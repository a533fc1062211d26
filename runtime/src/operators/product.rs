//! Matrix products: operands that are transposes are read as they are, and the transposes never formed.

use fuseline_ir::hop::{Hop, HopDag, ProductForm};
use fuseline_kernels::{self as kernels, KernelContext, KernelError, TransposedSide};
use fuseline_matrix::MatrixBlock;

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
    match (dag.product_form(product), operands) {
        (ProductForm::SymmetricLeft, [matrix]) => Ok(kernels::tsmm(context, matrix, TransposedSide::Left)),
        (ProductForm::SymmetricRight, [matrix]) => Ok(kernels::tsmm(context, matrix, TransposedSide::Right)),
        (ProductForm::TransposedLeft, [left, right]) => kernels::matmul_transposed_left(context, left, right),
        (ProductForm::TransposedRight, [left, right]) => kernels::matmul_transposed_right(context, left, right),
        (_, [left, right]) => kernels::matmul(context, left, right),
        (_, other) => {
            let problem = format!("{} operands", other.len());
            Err(KernelError::Argument { operation: "%*%", problem })
        }
    }
}
