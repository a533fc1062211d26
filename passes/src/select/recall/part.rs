//! Some operators of a DAG, such that equal ones stand for the same in every form of it.

use crate::facts::Context;
use cranelift_entity::SecondaryMap;
use foldhash::HashMap;
use fuseline_ir::SizeInfo;
use fuseline_ir::hop::{HopId, HopOp};
use fuseline_ir::types::DataType;
use smallvec::SmallVec;

/// Operators with what they read, directly and through one more, in the order of the DAG, which numbers them.
#[derive(PartialEq)]
pub(super) struct Part(Vec<PartOperator>);

/// What decisions may look at of an operator besides its value: what it reads and what reads it, by their numbers where
/// these are in the part.
#[derive(PartialEq)]
struct PartOperator {
    value: u32,
    inputs: Numbers,
    consumers: Numbers,
    leaves_dag: bool,
}

type Numbers = SmallVec<[Option<HopId>; 4]>;

/// The number of one of some operators, which ascend.
pub(super) fn number(ids: &[HopId], id: HopId) -> Option<HopId> {
    ids.binary_search(&id).ok().map(|number| HopId::from_u32(number as u32))
}

impl Part {
    /// The part about these operators, with the ids of all that it has, ascending; given the number of each value.
    pub(super) fn new(
        context: &Context<'_>,
        values: &SecondaryMap<HopId, u32>,
        about: impl Iterator<Item = HopId>,
    ) -> (Part, Vec<HopId>) {
        let mut ids: Vec<HopId> = about.collect();
        // What an operator reads, it may read through: a transpose.
        for _ in 0..2 {
            let inputs: Vec<HopId> = ids.iter().flat_map(|&id| context.hop(id).inputs.iter().copied()).collect();
            ids.extend(inputs);
            ids.sort_unstable();
            ids.dedup();
        }
        let operator = |&id: &HopId| PartOperator {
            value: values[id],
            inputs: context.hop(id).inputs.iter().map(|&input| number(&ids, input)).collect(),
            consumers: context.consumers(id).iter().map(|&consumer| number(&ids, consumer)).collect(),
            leaves_dag: context.leaves_dag(id),
        };
        (Part(ids.iter().map(operator).collect()), ids)
    }
}

/// Numbers for values: equal ones are computed by the same operations from equal ones, and have the same sizes.
#[derive(Default)]
pub(super) struct Values {
    by_facts: HashMap<Facts, SmallVec<[(HopOp, u32); 1]>>,
    count: u32,
}

/// What two operators with the same value have in common, besides the operation.
#[derive(PartialEq, Eq, Hash)]
struct Facts {
    inputs: SmallVec<[u32; 4]>,
    data_type: DataType,
    size: SizeInfo,
    expected_size: SizeInfo,
}

impl Values {
    /// The numbers of the values of a DAG.
    pub(super) fn number(&mut self, context: &Context<'_>) -> SecondaryMap<HopId, u32> {
        let mut numbers = SecondaryMap::with_capacity(context.dag.hops.len());
        for (id, hop) in &context.dag.hops {
            let inputs = hop.inputs.iter().map(|&input| numbers[input]).collect();
            let facts =
                Facts { inputs, data_type: hop.data_type, size: hop.size, expected_size: context.expected_size(id) };
            let alike = self.by_facts.entry(facts).or_default();
            numbers[id] = match alike.iter().find(|(op, _)| *op == hop.op) {
                Some(&(_, number)) => number,
                None => {
                    alike.push((hop.op.clone(), self.count));
                    self.count += 1;
                    self.count - 1
                }
            };
        }
        numbers
    }
}
