//! Matrices with their values held narrow.

use fuseline::{Layout, MatrixBlock, NarrowCsr, NarrowDense, NarrowValue};

/// The matrix with narrow values, in the first type that holds all of them exactly; itself where there is none.
pub(crate) fn narrowed(block: &MatrixBlock) -> MatrixBlock {
    let narrow = as_type(block, |value| value as u8)
        .or_else(|| as_type(block, |value| value as i32))
        .or_else(|| as_type(block, |value| value as f32));
    narrow.unwrap_or_else(|| block.clone())
}

fn as_type<T: NarrowValue>(block: &MatrixBlock, narrow: impl Fn(f64) -> T) -> Option<MatrixBlock> {
    let exact = |&value: &f64| Some(narrow(value)).filter(|&narrow| narrow.into().to_bits() == value.to_bits());
    let all = |values: &[f64]| values.iter().map(exact).collect::<Option<Vec<T>>>();
    Some(match block.layout() {
        Layout::Dense(dense) => NarrowDense::from_vec(dense.rows(), dense.cols(), all(dense.values())?).into(),
        Layout::Sparse(csr) => {
            let (row_offsets, columns) = (csr.row_offsets().to_vec(), csr.columns().to_vec());
            let narrow = NarrowCsr::new(csr.rows(), csr.cols(), row_offsets, columns, all(csr.values())?);
            narrow.expect("the positions are those of a matrix").into()
        }
    })
}
