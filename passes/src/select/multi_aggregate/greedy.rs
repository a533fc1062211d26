//! Merging aggregates one after the other, in ascending order, each into the first pass that it can join.
//!
//! A pass takes in any number of aggregates, as long as none depends on another and the cost model finds the merged
//! operator no slower. What is visited for an aggregate is limited: each attempt prices all of the pass, so that none
//! grows beyond what the limit allows to price, where an aggregate more or less hardly matters to what it reads.

use super::independence::{PassOf, is_independent};
use super::{Pass, outside_partitions};
use crate::cost::CostModel;
use crate::facts::Context;
use crate::select::PartitionPlan;
use crate::select::effort::Effort;
use cranelift_entity::SecondaryMap;
use fuseline_ir::hop::HopId;
use smallvec::SmallVec;

/// The aggregates of the chosen operators and from outside of the partitions, merged within the effort that is made for
/// each of them, and the groups visited.
pub(in crate::select) fn greedy(
    context: &Context<'_>,
    model: &CostModel,
    partitions: &[PartitionPlan],
    effort: impl Fn() -> Effort,
) -> (Vec<Pass>, u64) {
    let outside = outside_partitions(context, partitions);
    let operators = partitions.iter().flat_map(|plan| &plan.operators).chain(&outside);
    let single = |operator| Pass::of(context, operator, model.operator_seconds(context, operator));
    let mut singles: Vec<Pass> = operators.filter_map(single).collect();
    if singles.len() < 2 {
        return (singles, 0);
    }
    singles.sort_by_key(|single| single.operator.root());

    let readers = SecondaryMap::with_capacity(context.dag.hops.len());
    let passes = Vec::with_capacity(singles.len());
    let mut merging = Merging { context, model, passes, pass_of: PassOf::default(), readers };
    let mut visits = 0;
    for single in singles {
        let effort = effort();
        merging.add_aggregate(single, &effort);
        visits += effort.spent();
    }
    (merging.passes, visits)
}

/// The passes so far.
struct Merging<'a> {
    context: &'a Context<'a>,
    model: &'a CostModel,
    passes: Vec<Pass>,
    pass_of: PassOf,
    /// The numbers of the passes that read an operator, and perhaps of some that did until it became one of their own.
    readers: SecondaryMap<HopId, SmallVec<[u32; 4]>>,
}

impl Merging<'_> {
    /// Merges an aggregate into the first pass that it can join, else adds it as one of its own.
    fn add_aggregate(&mut self, single: Pass, effort: &Effort) {
        let candidates = self.candidates(&single, effort).into_iter().map(|number| number as usize);
        let found = candidates
            .take_while(|_| !effort.is_spent())
            .find_map(|number| Some((number, self.joined(number, &single, effort)?)));
        let (number, joined) = found.unwrap_or((self.passes.len(), single));
        for &input in &joined.operator.inputs {
            if self.passes.get(number).is_none_or(|before| before.operator.inputs.binary_search(&input).is_err()) {
                self.readers[input].push(number as u32);
            }
        }
        self.pass_of.insert(number, &joined);
        match self.passes.get_mut(number) {
            Some(pass) => *pass = joined,
            None => self.passes.push(joined),
        }
    }

    /// The passes that may share an input with an aggregate, ascending.
    fn candidates(&self, single: &Pass, effort: &Effort) -> SmallVec<[u32; 16]> {
        let most = usize::try_from(effort.left()).unwrap_or(usize::MAX);
        let readers = single.operator.inputs.iter().flat_map(|&input| self.readers[input].iter().take(most));
        let mut numbers: SmallVec<[u32; 16]> = readers.copied().collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    /// A pass with an aggregate in it, where this can be, and is no slower.
    fn joined(&self, number: usize, single: &Pass, effort: &Effort) -> Option<Pass> {
        let pass = &self.passes[number];
        effort.spend(1);
        let members = pass.operator.members.len() + single.operator.members.len();
        if !effort.allows_plan(members) || !pass.can_merge(self.context, single) {
            return None;
        }
        effort.spend_on_plan(members);
        let joined = pass.merge(self.context, self.model, single)?;
        let unmerged = pass.seconds + single.seconds;
        // Where a constraint forbids everything, passes would only need more memory.
        let is_cheaper = joined.seconds.is_finite() && joined.seconds <= unmerged;
        (is_cheaper && is_independent(self.context, &self.passes, &self.pass_of, &joined, effort)).then_some(joined)
    }
}
