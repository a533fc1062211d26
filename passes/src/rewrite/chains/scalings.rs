//! Scalings: multiplications and divisions of a matrix by a vector, which are products with a diagonal matrix.

use cranelift_entity::SecondaryMap;
use fuseline_ir::SizeInfo;
use fuseline_ir::hop::{HopDag, HopId, HopOp, ReorgOp};
use fuseline_ir::ops::BinaryOp;

/// Where the diagonal matrix stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// Before the matrix: its rows are scaled, by a column.
    Left,
    /// After the matrix: its columns are scaled, by a row.
    Right,
}

/// A matrix that a vector scales.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scaling {
    pub(super) matrix: HopId,
    pub(super) diagonal: Diagonal,
    pub(super) side: Side,
}

/// A diagonal matrix, by the column or row of its diagonal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Diagonal {
    pub(super) vector: HopId,
    /// Whether the vector multiplies or divides.
    pub(super) op: BinaryOp,
}

/// What is a scaling in a DAG.
pub(super) struct Scalings<'a> {
    dag: &'a HopDag,
    /// Whether products are found through transposes and scalings.
    holds_product: SecondaryMap<HopId, bool>,
}

impl<'a> Scalings<'a> {
    pub(super) fn of(dag: &'a HopDag) -> Self {
        let mut scalings = Scalings { dag, holds_product: SecondaryMap::with_capacity(dag.hops.len()) };
        for (id, hop) in &dag.hops {
            scalings.holds_product[id] = match hop.op {
                HopOp::MatMul => true,
                HopOp::Reorg(ReorgOp::Transpose) => scalings.holds_product[hop.inputs[0]],
                _ => scalings.get(id).is_some_and(|scaling| scalings.holds_product[scaling.matrix]),
            };
        }
        scalings
    }

    /// Whether a chain may end in this operator: products, and scalings of products.
    pub(super) fn ends_chain(&self, id: HopId) -> bool {
        self.holds_product[id] && self.dag[id].op != HopOp::Reorg(ReorgOp::Transpose)
    }

    /// What an operator scales. Of two vectors only a product is scaled: their own product stays a factor, since no
    /// place for it is cheaper.
    pub(super) fn get(&self, id: HopId) -> Option<Scaling> {
        let hop = &self.dag[id];
        let (op, pairs) = match (&hop.op, &hop.inputs[..]) {
            (HopOp::Binary(op @ BinaryOp::Mult), &[one, other]) => (*op, vec![(one, other), (other, one)]),
            (HopOp::Binary(op @ BinaryOp::Div), &[matrix, vector]) => (*op, vec![(matrix, vector)]),
            _ => return None,
        };
        pairs.into_iter().find_map(|(matrix, vector)| {
            let side = side(self.size(matrix)?, self.size(vector)?)?;
            let is_scaled = self.holds_product[matrix] || self.dag[matrix].size.is_matrix();
            let diagonal = Diagonal { vector: without_transposes(self.dag, vector), op };
            is_scaled.then_some(Scaling { matrix, diagonal, side })
        })
    }

    /// The diagonal matrix that an operator makes of a column.
    pub(super) fn diagonal_matrix(&self, id: HopId) -> Option<Diagonal> {
        let hop = &self.dag[id];
        let column = *hop.inputs.first().filter(|_| hop.op == HopOp::Reorg(ReorgOp::Diag))?;
        self.size(column).filter(SizeInfo::is_col_vector)?.known_dims()?;
        Some(Diagonal { vector: without_transposes(self.dag, column), op: BinaryOp::Mult })
    }

    fn size(&self, id: HopId) -> Option<SizeInfo> {
        let hop = &self.dag[id];
        hop.is_matrix().then_some(hop.size)
    }
}

/// Where the diagonal matrix stands with which a vector scales a matrix, if it does.
fn side(matrix: SizeInfo, vector: SizeInfo) -> Option<Side> {
    let (rows, cols) = matrix.known_dims()?;
    match vector.known_dims()? {
        (length, 1) if length == rows && length > 1 => Some(Side::Left),
        (1, length) if length == cols && length > 1 => Some(Side::Right),
        _ => None,
    }
}

/// What an operator is a transpose of, itself if of nothing.
fn without_transposes(dag: &HopDag, mut id: HopId) -> HopId {
    while dag[id].op == HopOp::Reorg(ReorgOp::Transpose) {
        id = dag[id].inputs[0];
    }
    id
}
