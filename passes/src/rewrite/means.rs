//! Means of known numbers of cells as what they are, a sum divided by the count, so that the sum can be fused with what
//! it adds up. (Partial means do not merge; means of rows are left alone, since Row operators have them.)

use super::dag::Rebuilt;
use cranelift_entity::SecondaryMap;
use fuseline_ir::Value;
use fuseline_ir::hop::{Hop, HopDag, HopId, HopOp, Inputs};
use fuseline_ir::ops::{AggOp, BinaryOp, Direction};

/// The DAG with full and column means as quotients: the same bits as the kernel's.
pub(super) fn expand(dag: &HopDag) -> Rebuilt {
    let mut result = HopDag::new();
    let mut new_ids = SecondaryMap::with_capacity(dag.hops.len());
    for (id, hop) in &dag.hops {
        let mut hop = Hop { inputs: Rebuilt::inputs(&new_ids, hop), ..hop.clone() };
        if let Some((count, direction)) = divisor(dag, id) {
            let sum = result.push(Hop { op: HopOp::AggUnary(AggOp::Sum, direction), ..hop.clone() });
            let count = result.literal(Value::F64(count));
            hop = Hop { op: BinaryOp::Div.into(), inputs: Inputs::from_slice(&[sum, count]), ..hop };
        }
        new_ids[id] = Some(result.push(hop));
    }
    Rebuilt::of(dag, result, new_ids)
}

/// The number of cells that a full or column mean divides by, where it is known.
fn divisor(dag: &HopDag, id: HopId) -> Option<(f64, Direction)> {
    let HopOp::AggUnary(AggOp::Mean, direction) = dag[id].op else { return None };
    let size = dag[dag[id].inputs[0]].size;
    let count = match direction {
        Direction::Full => size.cells()?,
        Direction::Col => size.rows.filter(|_| size.cols.is_some())?,
        Direction::Row => return None,
    };
    (count > 0).then_some((count as f64, direction))
}
