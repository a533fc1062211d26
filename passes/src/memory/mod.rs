//! Memory estimates: bytes of the output and of the inputs of every operator, from worst-case sizes. They decide
//! between execution types and feed the cost model (sections 2.1 and 4.3).
//!
//! No output takes more than its estimate (P015), with one exception: how many values `rand(sparsity=s)` draws is up to
//! chance, so that its estimate, and those of what is computed from it, may be exceeded, once in a billion runs.
//! Estimates of dense outputs are what these take, those of sparse ones take every position for a non-zero that may be
//! one.

use crate::hops::drawn_share;
use cranelift_entity::{EntitySet, SecondaryMap};
use fuseline_ir::hop::{Hop, HopDag, HopId, HopOp, NaryOp, ReorgOp, infer};
use fuseline_ir::ops::BinaryZero;
pub use fuseline_ir::size::bytes_text;
use fuseline_ir::types::{DataType, Element};
use fuseline_ir::work::CELL_BYTES;
use fuseline_ir::{Format, SizeInfo};

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
    let outputs = OutputBytes::of(dag);
    let mut estimates = SecondaryMap::with_capacity(dag.hops.len());
    for (id, hop) in &dag.hops {
        let distinct = hop.inputs.iter().enumerate().filter(|(i, input)| !hop.inputs[..*i].contains(input));
        let inputs = distinct.map(|(_, &input)| outputs.get(input));
        let inputs = inputs.reduce(|a, b| Some(a?.saturating_add(b?))).unwrap_or(Some(0));
        estimates[id] = MemoryEstimate { output: outputs.get(id), inputs };
    }
    estimates
}

/// Bytes of the outputs of a DAG's operators.
#[derive(Clone, Debug, Default)]
pub struct OutputBytes {
    bytes: SecondaryMap<HopId, Option<u64>>,
}

impl OutputBytes {
    /// Estimates for a DAG with sizes.
    pub fn of(dag: &HopDag) -> Self {
        let drawn = with_drawn_sizes(dag);
        let sized = drawn.as_ref().unwrap_or(dag);
        let dense = dense_outputs(sized);
        let mut bytes = SecondaryMap::with_capacity(dag.hops.len());
        for (id, hop) in &sized.hops {
            let size = if dense.contains(id) { hop.size.without_nnz() } else { hop.size };
            bytes[id] = drawn_bytes(sized, hop).or_else(|| bytes_of_size(hop.data_type, &size));
        }
        OutputBytes { bytes }
    }

    /// Bytes of an operator's output.
    pub fn get(&self, id: HopId) -> Option<u64> {
        self.bytes[id]
    }
}

fn bytes_of_size(data_type: DataType, size: &SizeInfo) -> Option<u64> {
    match data_type {
        DataType::Matrix(Element::F64) => size.bytes(),
        DataType::Scalar(_) => Some(CELL_BYTES),
        // No operator gives a matrix of other elements.
        DataType::Matrix(Element::F32 | Element::I32 | Element::U8) => None,
        DataType::List | DataType::Frame | DataType::Unknown => None,
    }
}

/// The operators whose outputs are stored dense, however few non-zeros these have: kernels decide by the formats of
/// their inputs, and few look at what they computed.
pub(crate) fn dense_outputs(dag: &HopDag) -> EntitySet<HopId> {
    let mut dense = EntitySet::with_capacity(dag.hops.len());
    for (id, hop) in dag.hops.iter().filter(|(_, hop)| hop.is_matrix()) {
        if !hop.size.format().is_sparse() || is_computed_dense(dag, hop, &dense) {
            dense.insert(id);
        }
    }
    dense
}

/// Whether the output is dense where these inputs are.
fn is_computed_dense(dag: &HopDag, hop: &Hop, dense: &EntitySet<HopId>) -> bool {
    let is_dense = |input: &HopId| dense.contains(*input);
    let mut inputs = hop.inputs.iter();
    let mut cells = hop.inputs.iter().filter(|&&input| dag[input].is_matrix() && dag[input].size.same_dims(&hop.size));
    match &hop.op {
        HopOp::AggUnary(..) => true,
        HopOp::MatMul => inputs.any(is_dense),
        HopOp::Binary(op) if op.zero() == BinaryZero::Annihilates => cells.all(is_dense),
        HopOp::Unary(_)
        | HopOp::Binary(_)
        | HopOp::Ternary(_)
        | HopOp::Nary(NaryOp::Min | NaryOp::Max | NaryOp::Plus) => cells.any(is_dense),
        HopOp::Reorg(ReorgOp::Transpose | ReorgOp::Rev) | HopOp::Index | HopOp::DataGen(_) => {
            inputs.next().is_some_and(is_dense)
        }
        _ => false,
    }
}

/// The DAG with the most non-zeros that its operators of random values draw, and what follows from these; none if it
/// has no such operators.
fn with_drawn_sizes(dag: &HopDag) -> Option<HopDag> {
    dag.hops.values().find(|hop| most_drawn(dag, hop).is_some())?;
    let mut sized = dag.clone();
    let mut changed = EntitySet::<HopId>::new();
    for (id, hop) in &dag.hops {
        let follows = hop.is_matrix() && hop.inputs.iter().any(|&input| changed.contains(input));
        let nnz = most_drawn(dag, hop).or_else(|| if follows { inferred_non_zeros(&sized, hop) } else { None });
        if let Some(nnz) = nnz.filter(|&nnz| hop.size.nnz.is_none_or(|known| nnz < known)) {
            sized.hops[id].size.nnz = Some(nnz);
            changed.insert(id);
        }
    }
    Some(sized)
}

/// The bound that an operator's non-zeros have by the sizes of its inputs.
fn inferred_non_zeros(sized: &HopDag, hop: &Hop) -> Option<u64> {
    infer::output(sized, &hop.op, &hop.inputs).ok().and_then(|(_, size)| size.nnz)
}

/// By how much a sum of independent draws exceeds its mean, at most, but for once in a billion times (the inequality of
/// S. N. Bernstein for sums of this variance).
fn excess(variance: f64) -> f64 {
    /// The logarithm of a billion.
    const LOGARITHM: f64 = 20.723;
    LOGARITHM / 3.0 + (LOGARITHM * LOGARITHM / 9.0 + 2.0 * LOGARITHM * variance).sqrt()
}

/// The most non-zeros that an operator of random values draws, where that is not all cells.
fn most_drawn(dag: &HopDag, hop: &Hop) -> Option<u64> {
    let share = drawn_share(dag, hop).filter(|share| *share < 1.0)?;
    let cells = hop.size.cells()?;
    let mean = cells as f64 * share;
    let most = if share > 0.0 { mean + excess(mean * (1.0 - share)) } else { 0.0 };
    Some((most.ceil() as u64).min(cells))
}

/// Bytes of the output of an operator of random values, which is stored as suits the number that it draws on average.
fn drawn_bytes(dag: &HopDag, hop: &Hop) -> Option<u64> {
    let share = drawn_share(dag, hop)?;
    let ((rows, cols), nnz) = (hop.size.known_dims()?, most_drawn(dag, hop)?);
    let mean = (rows as f64 * cols as f64 * share).floor();
    Some(Format::suited_to(rows as f64, cols as f64, mean).bytes(rows, cols, nnz))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fuseline_ir::Value;
    use fuseline_ir::hop::DataGenOp;
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

    fn draw(dag: &mut HopDag, rows: i64, cols: i64, share: f64) -> HopId {
        let density = Value::Str("uniform".to_owned());
        let [seed, min, max, share] = [Value::I64(7), Value::F64(0.0), Value::F64(1.0), Value::F64(share)];
        let [rows, cols] = [rows, cols].map(Value::I64);
        let inputs = [rows, cols, min, max, share, seed, density].map(|value| dag.literal(value));
        dag.add(HopOp::DataGen(DataGenOp::Rand), &inputs, None).expect("fits")
    }

    /// What is computed of random values has their number, too; what is stored, and how, follows from it.
    #[test]
    fn random_values_count_as_often_as_they_are_drawn() {
        let mut dag = HopDag::new();
        let drawn = draw(&mut dag, 1000, 1000, 0.1);
        let two = dag.literal(Value::F64(2.0));
        let doubled = dag.add(BinaryOp::Mult.into(), &[drawn, two], None).expect("fits");
        let shifted = dag.add(BinaryOp::Plus.into(), &[drawn, two], None).expect("fits");
        let transposed = dag.add(HopOp::Reorg(ReorgOp::Transpose), &[doubled], None).expect("fits");
        let many = draw(&mut dag, 1000, 1000, 0.5);
        let all = draw(&mut dag, 1000, 1000, 1.0);
        let none = draw(&mut dag, 1000, 2000, 0.0);
        let bytes = OutputBytes::of(&dag);
        let of_mean = Format::Sparse.bytes(1000, 1000, 100_000);
        for id in [drawn, doubled, transposed] {
            let bytes = bytes.get(id).expect("sizes are known");
            assert!(bytes > of_mean && bytes < of_mean + of_mean / 40, "{id}: {bytes} of {of_mean}");
        }
        assert_eq!([shifted, many, all].map(|id| bytes.get(id)), [Some(8_000_000); 3]);
        assert_eq!(bytes.get(none), Some(Format::Sparse.bytes(1000, 2000, 0)));
        assert_eq!(dag[drawn].size.nnz, None, "sizes hold what is sure");
    }

    /// Products with a dense operand and aggregates are dense, and so is what is computed of them alone.
    #[test]
    fn outputs_of_few_non_zeros_may_be_dense() {
        let mut dag = HopDag::new();
        let h = dag.read_matrix("H", SizeInfo::with_nnz(20_000, 5000, 200));
        let g = dag.read_matrix("G", SizeInfo::with_nnz(5000, 30, 150_000));
        let sums = dag.add((AggOp::Sum, Direction::Col).into(), &[h], None).expect("fits");
        let product = dag.add(HopOp::MatMul, &[h, g], None).expect("fits");
        let two = dag.literal(Value::F64(2.0));
        let scaled = dag.add(BinaryOp::Mult.into(), &[product, two], None).expect("fits");
        let by_column = dag.add(BinaryOp::Mult.into(), &[h, sums], None).expect("fits");
        let bytes = OutputBytes::of(&dag);
        let expected = [5000 * 8, 20_000 * 30 * 8, 20_000 * 30 * 8, Format::Sparse.bytes(20_000, 5000, 200)];
        assert_eq!([sums, product, scaled, by_column].map(|id| bytes.get(id)), expected.map(Some));
    }
}
