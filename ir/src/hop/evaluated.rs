//! What a basic operator evaluates of its inputs: products read operands that are transposes as they are, so that the
//! transposes are never formed.

use super::{Hop, HopDag, HopId, HopOp, Inputs, ReorgOp};

/// How a product reads its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProductForm {
    /// Both as they are.
    Plain,
    /// The left one is the input of a transpose.
    TransposedLeft,
    /// The right one is the input of a transpose.
    TransposedRight,
    /// Both are one matrix, of which the left one is the transpose.
    SymmetricLeft,
    /// Both are one matrix, of which the right one is the transpose.
    SymmetricRight,
}

impl HopDag {
    /// How a product reads its operands.
    pub fn product_form(&self, product: &Hop) -> ProductForm {
        let [left, right] = product.inputs[..] else { return ProductForm::Plain };
        match (self.untransposed(left), self.untransposed(right)) {
            (Some(matrix), _) if matrix == right => ProductForm::SymmetricLeft,
            (_, Some(matrix)) if matrix == left => ProductForm::SymmetricRight,
            (Some(_), _) => ProductForm::TransposedLeft,
            (None, Some(_)) => ProductForm::TransposedRight,
            (None, None) => ProductForm::Plain,
        }
    }

    /// The operators whose values an operator by itself needs, in the order of its inputs.
    pub fn evaluated_inputs(&self, hop: &Hop) -> Inputs {
        let mut inputs = hop.inputs.clone();
        if hop.op != HopOp::MatMul {
            return inputs;
        }
        match self.product_form(hop) {
            ProductForm::Plain => {}
            ProductForm::TransposedLeft => inputs[0] = self[inputs[0]].inputs[0],
            ProductForm::TransposedRight => inputs[1] = self[inputs[1]].inputs[0],
            ProductForm::SymmetricLeft => inputs = Inputs::from_slice(&[inputs[1]]),
            ProductForm::SymmetricRight => inputs = Inputs::from_slice(&[inputs[0]]),
        }
        inputs
    }

    /// The input of a transpose.
    fn untransposed(&self, id: HopId) -> Option<HopId> {
        let hop = &self[id];
        (hop.op == HopOp::Reorg(ReorgOp::Transpose)).then(|| hop.inputs[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hop;

    #[test]
    fn transposed_operands_are_read_untransposed_and_equal_ones_once() {
        let text = "hops @products {\n  %0 = read \"X\" : f64[4x3]\n  %1 = read \"Y\" : f64[4x3]\n  \
            %2 = t %0 : f64[3x4]\n  %3 = t %1 : f64[3x4]\n  %4 = matmul %2, %0 : f64[3x3]\n  \
            %5 = matmul %0, %2 : f64[4x4]\n  %6 = matmul %2, %1 : f64[3x3]\n  %7 = matmul %0, %3 : f64[4x4]\n  \
            %8 = matmul %4, %6 : f64[3x3]\n  write \"A\" %5\n  write \"B\" %7\n  write \"C\" %8\n}\n";
        let (_, dag) = hop::parse(text).expect("the text is well-formed").remove(0);
        let products = dag.hops.values().filter(|hop| hop.op == HopOp::MatMul);
        let read: Vec<_> = products.map(|product| dag.evaluated_inputs(product)).collect();
        let ids: Vec<_> = dag.hops.keys().collect();
        let expected: [&[usize]; 5] = [&[0], &[0], &[0, 1], &[0, 1], &[4, 6]];
        let expected = expected.map(|inputs| inputs.iter().map(|&input| ids[input]).collect::<Inputs>());
        assert_eq!(read, expected);
    }
}
