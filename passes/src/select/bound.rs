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
//! The share `e` of the shorter of reading and computing that shows in every operator adds `e * (R + C - M)` over these, for
//! `M` the sum of the longer ones. Where all of a plan grows with `M` by no less than `e`, which it does for
//! `e <= 1 - h`, that is least where `M` is: so it counts with the longest.
//!
//! Scans add two things: what has several readers is written or computed again (see [`super::repetition`]); and operators
//! that no open decision can change are priced, in the place of what their members spend at least.
//!
//! Points that become true later only add to this: they separate more, and make more groups certain.
//!
//! The paper's bound has one term for the whole partition, in which the computation of one operator hides the reads of
//! another.

use super::ROUNDING;
use super::costing::Determined;
use super::entry::{ByMember, Member, Point};
use super::outline::Outline;
use super::reachability::{Connections, Points, Region};
use super::repetition::{Needs, Repeated};
use super::search::PartitionSearch;
use super::shares::LeastShares;
use super::space::SearchSpace;
use crate::cost::{self, CostModel};
use crate::facts::{Context, bytes_of, sparsity, stored_non_zeros};
use crate::hops::untransposed;
use crate::machine::Machine;
use bumpalo::collections::Vec as BumpVec;
use cranelift_entity::EntityRef;
use fixedbitset::FixedBitSet;
use fuseline_ir::hop::{HopId, HopOp};
use smallvec::{SmallVec, smallvec};
use std::cell::OnceCell;

/// Lower bounds of the plans of a partition.
pub(crate) struct Bound<'a> {
    space: &'a SearchSpace<'a>,
    /// Seconds to start an operator at a group and to write its output, but for what computation may hide.
    write: ByMember<'a, f64>,
    /// Seconds of writing a group that computation may hide.
    hideable: ByMember<'a, f64>,
    /// Seconds to compute a group, in whatever operator.
    compute: ByMember<'a, f64>,
    /// Seconds to compute a group, in an operator that starts there.
    compute_at_start: ByMember<'a, f64>,
    /// Groups that several operators may compute, once a scan asks for them.
    repeated: OnceCell<Vec<Repeated>>,
    /// In the order of readers.
    reads: BumpVec<'a, Read>,
    /// Positions in `reads`, in the order of what is read.
    by_value: BumpVec<'a, usize>,
}

/// A value that a group reads.
struct Read {
    value: HopId,
    reader: Member,
    /// The group that the value is, if it is one.
    group: Option<Member>,
    /// The point that materialises it for the reader.
    point: Option<Point>,
    /// Seconds, if it comes from memory.
    seconds: f64,
    /// Seconds of computation to visit its non-zeros then, if it is sparse.
    visit: f64,
    /// Seconds, if it comes from memory for an operator that starts at the reader.
    seconds_at_start: f64,
}

impl Read {
    /// A value that a group reads as its input, or for a product perhaps through that input, which is a transpose.
    fn new(space: &SearchSpace<'_>, shares: &LeastShares<'_>, reader: Member, input: HopId) -> Read {
        let PartitionSearch { context, model, .. } = space.search;
        let consumer = space.search.id(reader);
        let value = read_through(context, consumer, input);
        let bytes = bytes_of(context, value).min(bytes_of(context, input));
        let least = cost::least_read(context, consumer, value);
        let group = space.search.member(value);
        Read {
            value,
            reader,
            group,
            // Whether the transpose is materialised says nothing of what is behind it.
            point: group.filter(|_| value == input).and_then(|group| space.search.point(reader, group)),
            seconds: model.machine.read_time(bytes * (least * shares.containing[reader])),
            visit: cost::least_visits(context, consumer)
                * model.machine.visit_time(stored_non_zeros(context, value) * shares.containing[reader]),
            seconds_at_start: model.machine.read_time(bytes * (least * shares.starting[reader])),
        }
    }
}

/// Seconds of each group's computation of at least this share of its cells.
fn least_compute_times<'a>(space: &SearchSpace<'a>, shares: &ByMember<'_, f64>) -> ByMember<'a, f64> {
    let PartitionSearch { context, model, scratch, .. } = space.search;
    let seconds = space.search.members().map(|member| {
        let share = shares[member].min(own_share(space, space.search.id(member)));
        model.least_compute_time(context, space.search.id(member), |_| share)
    });
    ByMember::new(seconds, scratch)
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
    fn seconds(&self, machine: &Machine) -> f64 {
        let hidden = machine.hidden_write;
        let longest = self.read.max(self.compute).max(self.operators);
        // The price of an operator that runs on workers has no such share.
        let share = if machine.cluster.is_some() { 0.0 } else { machine.exposed.min(1.0 - hidden) };
        let exposed = share * (self.read + self.compute - longest).max(0.0);
        self.write + (1.0 - hidden) * longest + (self.hideable + hidden * self.read).max(hidden * longest) + exposed
    }
}

impl<'a> Bound<'a> {
    pub(crate) fn new(space: &'a SearchSpace<'a>) -> Self {
        let PartitionSearch { context, model, scratch, .. } = space.search;
        let shares = LeastShares::new(space);
        let mut reads: BumpVec<'_, Read> = BumpVec::with_capacity_in(2 * space.search.partition.members.len(), scratch);
        let may_be_left_out = |reader: &Member| space.graph.read_through.contains(reader.index());
        for reader in space.search.members().filter(|reader| !may_be_left_out(reader)) {
            let inputs = &context.hop(space.search.id(reader)).inputs;
            reads.extend(inputs.iter().map(|&value| Read::new(space, &shares, reader, value)));
        }
        let mut by_value = BumpVec::from_iter_in(0..reads.len(), scratch);
        by_value.sort_unstable_by_key(|&number| (reads[number].value, number));
        let ids = || space.search.partition.members.iter().copied();
        let write = ByMember::new(ids().map(|id| least_seconds_to_write(model, context, id)), scratch);
        let compute = least_compute_times(space, &shares.containing);
        Bound {
            space,
            repeated: OnceCell::new(),
            write,
            hideable: ByMember::new(
                ids().map(|id| model.machine.hidden_write * seconds_to_write(model, context, id)),
                scratch,
            ),
            compute,
            compute_at_start: least_compute_times(space, &shares.starting),
            reads,
            by_value,
        }
    }

    /// Seconds that no plan undercuts, in its part that lies in a region, in which the points of the assignment are
    /// materialised, and possibly more. The points that separate the region are among them. What a plan spends on writing
    /// values that not every plan materialises comes on top of these.
    pub(crate) fn seconds(&self, region: &Region, assignment: &Points) -> f64 {
        self.spent(region, assignment, &Determined::default(), &[])
    }

    /// [`Self::seconds`], with what values that several operators need add at least, and the operators that are determined.
    pub(crate) fn seconds_of_scan(&self, region: &Region, assignment: &Points, determined: &Determined) -> f64 {
        let all = || Repeated::all(self.space, &self.compute, &self.write);
        self.spent(region, assignment, determined, self.repeated.get_or_init(all))
    }

    fn spent(&self, region: &Region, assignment: &Points, determined: &Determined, repeated: &[Repeated]) -> f64 {
        let connections = self.space.graph.connections(assignment);
        let count = self.space.search.partition.members.len();
        let mut spent: SmallVec<[Spent; 16]> = smallvec![Spent::default(); count];
        for group in region.groups.ones().map(Member::new) {
            let spent = &mut spent[connections.region_of[group.index()]];
            if !determined.computed.contains(group.index()) {
                spent.compute += self.compute[group];
            }
            let is_materialized =
                connections.certain.contains(group.index()) || determined.materialized.contains(group.index());
            if is_materialized && !determined.started.contains(group.index()) {
                spent.write += self.write[group];
                spent.hideable += self.hideable[group];
            }
        }
        for repeated in repeated.iter().filter(|repeated| region.groups.contains(repeated.group.index())) {
            let group = repeated.group.index();
            let count = |has: fn(&Outline) -> &FixedBitSet| {
                determined.outlines.iter().filter(|outline| has(outline).contains(group)).count()
            };
            let needs = Needs {
                is_computed: determined.computed.contains(group),
                is_written: connections.certain.contains(group) || determined.materialized.contains(group),
                computing: count(|outline| &outline.members),
                open: count(|outline| &outline.either),
            };
            spent[connections.region_of[group]].compute += repeated.seconds(&self.space.graph, assignment, needs);
        }
        self.read_once(region, assignment, &connections, determined, &mut spent);
        self.start_operators(region, assignment, &connections, determined, &mut spent);
        let machine = &self.space.search.model.machine;
        let mut one_by_one: SmallVec<[f64; 16]> = smallvec![0.0; count];
        for outline in &determined.outlines {
            one_by_one[connections.region_of[outline.start.index()]] += self.outlined(outline).seconds(machine);
        }
        let regions = spent.iter().zip(one_by_one);
        let seconds: f64 =
            determined.seconds + regions.map(|(spent, one_by_one)| spent.seconds(machine).max(one_by_one)).sum::<f64>();
        // A hair below, so that rounding never lifts it over the cost of a plan that attains it.
        seconds * (1.0 - ROUNDING)
    }

    /// What an operator spends by itself, as far as its outline is known.
    fn outlined(&self, outline: &Outline) -> Spent {
        let (start, members) = (outline.start, &outline.members);
        let mut spent = Spent { write: self.write[start], hideable: self.hideable[start], ..Spent::default() };
        spent.compute = members.ones().map(|group| self.compute[Member::new(group)]).sum();
        for reads in self.by_value.chunk_by(|&one, &other| self.reads[one].value == self.reads[other].value) {
            let certain = reads.iter().map(|&number| &self.reads[number]).filter(|read| {
                members.contains(read.reader.index())
                    && read.group.is_none_or(|group| read.point.is_some() && outline.inputs.contains(group.index()))
            });
            // The least of them: one of its members may hide what another one reads.
            if let Some(least) = certain.min_by(|one, other| one.seconds.total_cmp(&other.seconds)) {
                spent.read += least.seconds;
                spent.compute += least.visit;
            }
        }
        spent
    }

    /// Adds what each region reads once at least.
    fn read_once(
        &self,
        region: &Region,
        assignment: &Points,
        connections: &Connections,
        determined: &Determined,
        spent: &mut [Spent],
    ) {
        for reads in self.by_value.chunk_by(|&one, &other| self.reads[one].value == self.reads[other].value) {
            // By region: the least of what its operators may read of the value.
            let mut least: SmallVec<[(usize, &Read); 8]> = SmallVec::new();
            for read in reads.iter().map(|&number| &self.reads[number]) {
                let is_left =
                    region.groups.contains(read.reader.index()) && !determined.computed.contains(read.reader.index());
                if !is_left || !self.is_certain(read, connections, assignment) {
                    continue;
                }
                let region = connections.region_of[read.reader.index()];
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
    fn start_operators(
        &self,
        region: &Region,
        assignment: &Points,
        connections: &Connections,
        determined: &Determined,
        spent: &mut [Spent],
    ) {
        let mut containing: SmallVec<[f64; 32]> = SmallVec::from_slice(self.compute.values());
        let mut starting: SmallVec<[f64; 32]> = SmallVec::from_slice(self.compute_at_start.values());
        for read in self.reads.iter().filter(|read| region.groups.contains(read.reader.index())) {
            let fused = read.group.filter(|_| !self.is_certain(read, connections, assignment));
            let below = fused.map_or(f64::INFINITY, |group| containing[group.index()]);
            let reader = read.reader.index();
            containing[reader] = containing[reader].max(below.min(read.seconds));
            starting[reader] = starting[reader].max(below.min(read.seconds_at_start));
        }
        let starts = region.groups.intersection(&connections.certain);
        for group in starts.filter(|&group| !determined.started.contains(group)) {
            spent[connections.region_of[group]].operators += starting[group];
        }
    }

    /// Whether every operator that contains the reader reads the value from memory.
    fn is_certain(&self, read: &Read, connections: &Connections, assignment: &Points) -> bool {
        read.group.is_none_or(|group| !connections.linked.contains(group.index()))
            || read
                .point
                .is_some_and(|point| assignment.contains(point.index()) && self.space.graph.is_read(point, assignment))
    }
}

/// What an operator reads of an input by itself: a product reads through a transpose.
fn read_through(context: &Context<'_>, consumer: HopId, input: HopId) -> HopId {
    let is_read = || context.dag.evaluated_inputs(context.hop(consumer)).contains(&input);
    untransposed(context.dag, input).filter(|_| !is_read()).unwrap_or(input)
}

/// The fewest seconds to start an operator that materialises a value, and to write it, but for what computation may hide.
pub(super) fn least_seconds_to_write(model: &CostModel, context: &Context<'_>, id: HopId) -> f64 {
    let output = cost::expected_output_bytes(context, id);
    model.machine.start_time(output) + (1.0 - model.machine.hidden_write) * model.machine.write_time(output)
}

fn seconds_to_write(model: &CostModel, context: &Context<'_>, id: HopId) -> f64 {
    model.machine.write_time(cost::expected_output_bytes(context, id))
}

/// The share of the cells of its operand that a product or an aggregate by itself visits.
fn own_share(space: &SearchSpace<'_>, id: HopId) -> f64 {
    match space.search.context.hop(id).op {
        HopOp::MatMul | HopOp::AggUnary(..) => sparsity(space.search.context, space.search.context.hop(id).inputs[0]),
        _ => 1.0,
    }
}
