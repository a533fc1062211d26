//! Lower bounds of costs (section 4.4, cost-based pruning).
//!
//! True points separate regions (see [`super::reachability`]), and the cost of a plan is a sum over regions. Within a
//! region it is a sum of `T_write + max(T_read, T_compute)` over operators, so no less than all writes plus the largest of
//! all reads, all computation, and what the operators that certainly start spend one by one. These are bounded from
//! below:
//! - at every group that is certain to be materialised an operator starts, and the group is written;
//! - every value that is certain to come from memory for an operator of the region is read there once at least, and
//!   its non-zeros are visited if it is sparse;
//! - every group is computed once at least.
//!
//! Of a machine whose computation hides the share `h` of writes where it takes longer than reading, an operator spends
//! `(1 - h) * (T_write + max(T_read, T_compute)) + h * max(T_write + T_read, T_compute)`, of which the same holds.
//!
//! Points that become true later only add to this: they separate more, and make more groups certain.
//!
//! The paper's bound has one term for the whole partition, in which the computation of one operator hides the reads of
//! another.

use super::ROUNDING;
use super::reachability::{Connections, Points, Region};
use super::shares::LeastShares;
use super::space::SearchSpace;
use crate::cost::{self, CostModel};
use crate::facts::{Context, bytes_of, sparsity};
use crate::partition::InterestingPoint;
use bumpalo::collections::Vec as BumpVec;
use fuseline_ir::hop::{HopId, HopOp};
use smallvec::{SmallVec, smallvec};

/// Lower bounds of the plans of a partition.
pub(crate) struct Bound<'a> {
    space: &'a SearchSpace<'a>,
    /// Seconds by group: to start an operator there and to write its output, but for what computation may hide.
    write: BumpVec<'a, f64>,
    /// Seconds by group of writing that computation may hide.
    hideable: BumpVec<'a, f64>,
    /// Seconds by group, in whatever operator.
    compute: BumpVec<'a, f64>,
    /// Seconds by group, in an operator that starts there.
    compute_at_start: BumpVec<'a, f64>,
    /// In the order of readers.
    reads: BumpVec<'a, Read>,
    /// Positions in `reads`, in the order of what is read.
    by_value: BumpVec<'a, usize>,
}

/// A value that a group reads.
struct Read {
    value: HopId,
    reader: usize,
    /// The position of the value if it is a group, too.
    group: Option<usize>,
    /// The point that materialises it for the reader.
    point: Option<usize>,
    /// Seconds, if it comes from memory.
    seconds: f64,
    /// Seconds of computation to visit its non-zeros then, if it is sparse.
    visit: f64,
    /// Seconds, if it comes from memory for an operator that starts at the reader.
    seconds_at_start: f64,
}

/// What a region spends at least.
#[derive(Clone, Copy, Default)]
struct Spent {
    write: f64,
    hideable: f64,
    read: f64,
    compute: f64,
    /// The longer of read and computation of each operator that certainly starts.
    operators: f64,
}

impl Spent {
    /// On a machine whose computation hides this share of writes.
    fn seconds(&self, hidden: f64) -> f64 {
        let longest = self.read.max(self.compute).max(self.operators);
        self.write + (1.0 - hidden) * longest + (self.hideable + hidden * self.read).max(hidden * longest)
    }
}

impl<'a> Bound<'a> {
    pub(crate) fn new(space: &'a SearchSpace<'a>) -> Self {
        let (machine, context, members) = (&space.model.machine, space.context, &space.partition.members);
        let shares = LeastShares::new(space);
        let compute = |(&id, &share): (&HopId, &f64)| {
            let share = share.min(own_share(space, id));
            space.model.least_compute_time(context, id, |_| share)
        };
        let read = |value: HopId, share: f64| machine.read_time(bytes_of(context, value) * share);
        let scratch = space.scratch;
        let mut reads: BumpVec<'_, Read> = BumpVec::with_capacity_in(2 * members.len(), scratch);
        for (reader, &consumer) in members.iter().enumerate() {
            reads.extend(context.hop(consumer).inputs.iter().map(|&value| {
                let least = cost::least_read(context, consumer, value);
                Read {
                    value,
                    reader,
                    group: members.binary_search(&value).ok(),
                    point: space.partition.points.binary_search(&InterestingPoint { consumer, producer: value }).ok(),
                    seconds: read(value, least * shares.containing[reader]),
                    visit: cost::least_visits(context, consumer)
                        * machine.visit_time(cost::stored_non_zeros(context, value) * shares.containing[reader]),
                    seconds_at_start: read(value, least * shares.starting[reader]),
                }
            }));
        }
        let mut by_value = BumpVec::from_iter_in(0..reads.len(), scratch);
        by_value.sort_unstable_by_key(|&number| (reads[number].value, number));
        let write = members.iter().map(|&id| least_seconds_to_write(space.model, context, id));
        let hideable = members.iter().map(|&id| machine.hidden_write * seconds_to_write(space.model, context, id));
        Bound {
            space,
            write: BumpVec::from_iter_in(write, scratch),
            hideable: BumpVec::from_iter_in(hideable, scratch),
            compute: BumpVec::from_iter_in(members.iter().zip(&shares.containing).map(compute), scratch),
            compute_at_start: BumpVec::from_iter_in(members.iter().zip(&shares.starting).map(compute), scratch),
            reads,
            by_value,
        }
    }

    /// Seconds that no plan undercuts, in its part that lies in a region, in which the points of the assignment are
    /// materialised, and possibly more. The points that separate the region are among them.
    pub(crate) fn seconds(&self, region: &Region, assignment: &Points) -> f64 {
        let connections = self.space.graph.connections(assignment);
        let mut spent: SmallVec<[Spent; 16]> = smallvec![Spent::default(); self.write.len()];
        for group in region.groups.ones() {
            let spent = &mut spent[connections.region_of[group]];
            spent.compute += self.compute[group];
            if connections.certain.contains(group) {
                spent.write += self.write[group];
                spent.hideable += self.hideable[group];
            }
        }
        self.read_once(region, assignment, &connections, &mut spent);
        self.start_operators(region, assignment, &connections, &mut spent);
        let seconds: f64 = spent.iter().map(|spent| spent.seconds(self.space.model.machine.hidden_write)).sum();
        // A hair below, so that rounding never lifts it over the cost of a plan that attains it.
        seconds * (1.0 - ROUNDING)
    }

    /// Adds what each region reads once at least.
    fn read_once(&self, region: &Region, assignment: &Points, connections: &Connections, spent: &mut [Spent]) {
        let same_value = |one: &usize, other: &usize| self.reads[*one].value == self.reads[*other].value;
        for reads in self.by_value.chunk_by(same_value) {
            // By region: the least of what its operators may read of the value.
            let mut least: SmallVec<[(usize, &Read); 8]> = SmallVec::new();
            for read in reads.iter().map(|&number| &self.reads[number]) {
                if !region.groups.contains(read.reader) || !self.is_certain(read, connections, assignment) {
                    continue;
                }
                let region = connections.region_of[read.reader];
                match least.iter_mut().find(|(known, _)| *known == region) {
                    Some((_, least)) if read.seconds < least.seconds => *least = read,
                    Some(_) => {}
                    None => least.push((region, read)),
                }
            }
            for (region, read) in least {
                spent[region].read += read.seconds;
                spent[region].compute += read.visit;
            }
        }
    }

    /// Adds what the operators that certainly start in each region read or compute at least, each by itself: an operator
    /// computes its members, and of what a member reads it computes or reads each value.
    fn start_operators(&self, region: &Region, assignment: &Points, connections: &Connections, spent: &mut [Spent]) {
        let mut containing: SmallVec<[f64; 32]> = SmallVec::from_slice(&self.compute);
        let mut starting: SmallVec<[f64; 32]> = SmallVec::from_slice(&self.compute_at_start);
        for read in self.reads.iter().filter(|read| region.groups.contains(read.reader)) {
            let fused = read.group.filter(|_| !self.is_certain(read, connections, assignment));
            let below = fused.map_or(f64::INFINITY, |group| containing[group]);
            containing[read.reader] = containing[read.reader].max(below.min(read.seconds));
            starting[read.reader] = starting[read.reader].max(below.min(read.seconds_at_start));
        }
        for group in region.groups.intersection(&connections.certain) {
            spent[connections.region_of[group]].operators += starting[group];
        }
    }

    /// Whether every operator that contains the reader reads the value from memory.
    fn is_certain(&self, read: &Read, connections: &Connections, assignment: &Points) -> bool {
        let is_cut = |point| assignment.contains(point) && self.space.graph.is_read(point, assignment);
        read.group.is_none_or(|group| !connections.linked.contains(group)) || read.point.is_some_and(is_cut)
    }
}

/// The fewest seconds to start an operator that materialises a value, and to write it, but for what computation may hide.
pub(super) fn least_seconds_to_write(model: &CostModel, context: &Context<'_>, id: HopId) -> f64 {
    model.machine.start_time() + (1.0 - model.machine.hidden_write) * seconds_to_write(model, context, id)
}

fn seconds_to_write(model: &CostModel, context: &Context<'_>, id: HopId) -> f64 {
    model.machine.write_time(cost::expected_output_bytes(context, id))
}

/// The share of the cells of its operand that a product or an aggregate by itself visits.
fn own_share(space: &SearchSpace<'_>, id: HopId) -> f64 {
    match space.context.hop(id).op {
        HopOp::MatMul | HopOp::AggUnary(..) => sparsity(space.context, space.context.hop(id).inputs[0]),
        _ => 1.0,
    }
}
