//! Memory estimates: bytes of the output and of the inputs of every operator, from worst-case sizes. They decide
//! between execution types and feed the cost model (sections 2.1 and 4.3).

use cranelift_entity::SecondaryMap;
use fuseline_ir::hop::{Hop, HopDag, HopId};
pub use fuseline_ir::size::bytes_text;
use fuseline_ir::types::{DataType, Element};
use fuseline_ir::work::CELL_BYTES;

/// Memory of one operator in bytes; unknown is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryEstimate {
    /// Its output.
    pub output: Option<u64>,
    /// Its inputs, each counted once.
    pub inputs: Option<u64>,
}

impl MemoryEstimate {
    /// Inputs and output together.
    pub fn total(&self) -> Option<u64> {
        Some(self.inputs?.saturating_add(self.output?))
    }
}

/// The memory that every operator of a DAG needs.
pub fn estimate_memory(dag: &HopDag) -> SecondaryMap<HopId, MemoryEstimate> {
    let mut estimates = SecondaryMap::with_capacity(dag.hops.len());
    for (id, hop) in &dag.hops {
        let distinct = hop.inputs.iter().enumerate().filter(|(i, input)| !hop.inputs[..*i].contains(input));
        let inputs = distinct.map(|(_, &input)| output_bytes(&dag[input]));
        let inputs = inputs.reduce(|a, b| Some(a?.saturating_add(b?))).unwrap_or(Some(0));
        estimates[id] = MemoryEstimate { output: output_bytes(hop), inputs };
    }
    estimates
}

/// Bytes of an operator's output.
pub fn output_bytes(hop: &Hop) -> Option<u64> {
    match hop.data_type {
        DataType::Matrix(Element::F64) => hop.size.bytes(),
        DataType::Scalar(_) => Some(CELL_BYTES),
        // No operator gives a matrix of other elements.
        DataType::Matrix(Element::F32 | Element::I32 | Element::U8) => None,
        DataType::List | DataType::Frame | DataType::Unknown => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fuseline_ir::SizeInfo;
    use fuseline_ir::ops::{AggOp, BinaryOp, Direction};

    #[test]
    fn operators_count_inputs_once() {
        let mut dag = HopDag::new();
        let x = dag.read_matrix("X", SizeInfo::dims(100, 10));
        let square = dag.add(BinaryOp::Mult.into(), &[x, x], None).expect("fits");
        let sum = dag.add((AggOp::Sum, Direction::Full).into(), &[square], None).expect("fits");
        let unknown = dag.read_matrix("Y", SizeInfo::UNKNOWN);
        let total = dag.add(BinaryOp::Mult.into(), &[unknown, sum], None).expect("fits");
        let estimates = estimate_memory(&dag);
        assert_eq!(estimates[square], MemoryEstimate { output: Some(8_000), inputs: Some(8_000) });
        assert_eq!(estimates[sum].total(), Some(8_008));
        assert_eq!(estimates[total], MemoryEstimate::default());
    }
}
