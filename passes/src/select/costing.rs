//! Costs of plans (section 4.3): the paper's `getPlanCost`.
//!
//! Where the paper memoises pairs of operators and cost vectors within one plan, operators are remembered across plans
//! here: the operator that starts at a group is determined by the materialised points that end it, so most of the
//! operators of a plan are known from earlier ones, with their costs.

use super::entry::Member;
use super::reachability::{Points, Region};
use super::space::{Influences, ReaderMemory, SearchSpace};
use cranelift_entity::EntityRef;
use fixedbitset::FixedBitSet;
use foldhash::{HashMap, HashMapExt};
use smallvec::SmallVec;

/// Operators to remember before all are forgotten.
const MOST_OPERATORS: usize = 1 << 18;

/// An operator as far as plans need it.
struct Priced {
    seconds: f64,
    /// The groups that it reads.
    inputs: SmallVec<[Member; 6]>,
}

/// A plan that was to be priced.
#[cfg(test)]
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) assignment: Points,
    pub(crate) limit: f64,
    /// Its price, unless it exceeds the limit.
    pub(crate) seconds: Option<f64>,
}

/// Prices plans of one partition.
pub(crate) struct Costing<'a> {
    space: &'a SearchSpace<'a>,
    /// By group and the points that determine its operator.
    known: HashMap<(Member, Influences), Priced>,
    memory: ReaderMemory,
    materialized: FixedBitSet,
    pending: Vec<Member>,
    /// Operators priced, each time that it was not remembered.
    pub(crate) operators: u64,
    /// Operators met in plans, remembered or not.
    pub(crate) operators_of_plans: u64,
    /// What was priced, in order.
    #[cfg(test)]
    pub(crate) requests: Vec<Request>,
}

impl<'a> Costing<'a> {
    pub(crate) fn new(space: &'a SearchSpace<'a>) -> Self {
        Costing {
            space,
            known: HashMap::new(),
            memory: ReaderMemory::default(),
            materialized: FixedBitSet::with_capacity(space.search.partition.members.len()),
            pending: Vec::new(),
            operators: 0,
            operators_of_plans: 0,
            #[cfg(test)]
            requests: Vec::new(),
        }
    }

    /// Seconds of the part of a plan that lies in a region, or `None` as soon as they exceed `limit`.
    pub(crate) fn cost(&mut self, assignment: &Points, region: &Region, limit: f64) -> Option<f64> {
        let seconds = self.price(assignment, region, limit);
        #[cfg(test)]
        self.requests.push(Request { assignment: assignment.clone(), limit, seconds });
        seconds
    }

    fn price(&mut self, assignment: &Points, region: &Region, limit: f64) -> Option<f64> {
        if self.known.len() > MOST_OPERATORS {
            self.known.clear();
        }
        self.materialized.clear();
        self.pending.clear();
        self.pending.extend(region.certain.iter().rev());
        let mut reader = self.space.under(assignment, &mut self.memory);
        let mut seconds = 0.0;
        while let Some(group) = self.pending.pop() {
            if self.materialized.put(group.index()) {
                continue;
            }
            self.operators_of_plans += 1;
            let key = (group, reader.influences(group));
            if !self.known.contains_key(&key) {
                self.operators += 1;
                let operator = reader.operator(group);
                let inputs = self.space.materialized_inputs(&operator).collect();
                let seconds = self.space.search.model.operator_seconds(self.space.search.context, &operator);
                self.known.insert(key.clone(), Priced { seconds, inputs });
            }
            let priced = &self.known[&key];
            seconds += priced.seconds;
            if seconds > limit {
                return None;
            }
            let within = priced.inputs.iter().rev().filter(|input| region.groups.contains(input.index()));
            self.pending.extend(within);
        }
        Some(seconds)
    }
}
