//! Costs of plans (section 4.3): the paper's `getPlanCost`.
//!
//! Where the paper memoises pairs of operators and cost vectors within one plan, operators are remembered across plans
//! here: the operator that starts at a group is determined by the materialised points that end it, so most of the
//! operators of a plan are known from earlier ones, with their costs.

use super::entry::{Member, Point};
use super::outline::Outline;
use super::reachability::{Points, Region};
use super::space::{Influences, PlanReader, ReaderMemory, SearchSpace};
use cranelift_entity::EntityRef;
use fixedbitset::FixedBitSet;
use foldhash::{HashMap, HashMapExt};
use smallvec::SmallVec;

/// Operators to remember before all are forgotten.
const MOST_OPERATORS: usize = 1 << 18;

/// An operator as far as plans need it.
struct Priced {
    seconds: f64,
    members: SmallVec<[Member; 6]>,
    /// The groups that it reads.
    inputs: SmallVec<[Member; 6]>,
}

/// What some decisions leave no choice about, whatever is decided about the other points.
#[derive(Debug, Default)]
pub(crate) struct Determined {
    /// Seconds of the operators that all plans with these decisions have.
    pub(crate) seconds: f64,
    /// The groups that these operators compute.
    pub(crate) computed: FixedBitSet,
    /// The groups at which they start.
    pub(crate) started: FixedBitSet,
    /// The groups that they read, and those that every plan materialises.
    pub(crate) materialized: FixedBitSet,
    /// What is known of the operators at the other groups that every plan materialises.
    pub(crate) outlines: Vec<Outline>,
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
            let priced = priced(&mut self.known, &mut self.operators, self.space, &mut reader, key);
            seconds += priced.seconds;
            if seconds > limit {
                return None;
            }
            let within = priced.inputs.iter().rev().filter(|input| region.groups.contains(input.index()));
            self.pending.extend(within);
        }
        Some(seconds)
    }

    /// What is determined within a region by true points, and by those of others that are decided to be false.
    pub(crate) fn determined(&mut self, assignment: &Points, decided: &Points, region: &Region) -> Determined {
        let groups = self.space.search.partition.members.len();
        let [computed, started, materialized] = [(); 3].map(|()| FixedBitSet::with_capacity(groups));
        let mut determined = Determined { seconds: 0.0, computed, started, materialized, outlines: Vec::new() };
        let mut certain = self.space.graph.connections(assignment).certain;
        certain.intersect_with(&region.groups);
        self.pending.clear();
        self.pending.extend(certain.ones().map(Member::new));
        let mut reader = self.space.under(assignment, &mut self.memory);
        while let Some(group) = self.pending.pop() {
            if determined.materialized.put(group.index()) {
                continue;
            }
            let is_decided = |point: Point| decided.contains(point.index());
            let Some(influences) = reader.influences_among(group, is_decided) else {
                let outline = Outline::of(self.space, group, assignment, decided);
                self.pending.extend(outline.inputs.intersection(&region.groups).map(Member::new));
                determined.outlines.push(outline);
                continue;
            };
            let key = (group, influences);
            let priced = priced(&mut self.known, &mut self.operators, self.space, &mut reader, key);
            determined.seconds += priced.seconds;
            determined.started.insert(group.index());
            determined.computed.extend(priced.members.iter().map(|member| member.index()));
            let within = priced.inputs.iter().rev().filter(|input| region.groups.contains(input.index()));
            self.pending.extend(within);
        }
        determined
    }
}

/// The operator that starts at a group under the assignment of a reader, given its influences: priced unless it is known.
fn priced<'k>(
    known: &'k mut HashMap<(Member, Influences), Priced>,
    operators: &mut u64,
    space: &SearchSpace<'_>,
    reader: &mut PlanReader<'_>,
    key: (Member, Influences),
) -> &'k Priced {
    known.entry(key).or_insert_with_key(|(group, _)| {
        *operators += 1;
        let operator = reader.operator(*group);
        Priced {
            seconds: space.search.model.operator_seconds(space.search.context, &operator),
            members: operator.members.iter().filter_map(|&id| space.search.member(id)).collect(),
            inputs: space.materialized_inputs(&operator).collect(),
        }
    })
}
