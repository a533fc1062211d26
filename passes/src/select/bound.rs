//! Lower bounds of costs (section 4.4, cost-based pruning).
//!
//! True points separate regions (see [`super::reachability`]), and the cost of a plan is a sum over regions. Within a
//! region it is a sum of `T_write + max(T_read, T_compute)` over operators, so no less than all writes plus the larger of
//! all reads and all computation, and each of these is bounded from below:
//! - every group that is certain to be materialised is written;
//! - every value that is certain to come from memory for an operator of the region is read there once at least;
//! - every group is computed once at least.
//!
//! Points that become true later only add to this: they separate more, and make more groups certain.
//!
//! The paper's bound has one term for the whole partition, in which the computation of one operator hides the reads of
//! another, and it leaves open which sparsity it assumes; that of the sparsest matrix makes it useless where a single
//! Outer operator is. Here each group counts with the least share of cells that an operator which contains it can visit.

use super::prune::needs_rows;
use super::reachability::{Connections, Points, Region};
use super::space::SearchSpace;
use crate::cost;
use crate::partition::InterestingPoint;
use fuseline_ir::hop::{HopId, HopOp};
use fuseline_ir::memo::TemplateType;
use fuseline_ir::ops::{BinaryOp, BinaryZero};
use smallvec::SmallVec;

/// Lower bounds of the plans of a partition.
pub(crate) struct Bound<'a> {
    space: &'a SearchSpace<'a>,
    /// Seconds by group.
    write: Vec<f64>,
    compute: Vec<f64>,
    /// In the order of what is read.
    reads: Vec<Read>,
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
}

/// What a region spends at least.
#[derive(Clone, Copy, Default)]
struct Spent {
    write: f64,
    read: f64,
    compute: f64,
}

impl<'a> Bound<'a> {
    pub(crate) fn new(space: &'a SearchSpace<'a>) -> Self {
        let (machine, context, members) = (&space.model.machine, space.context, &space.partition.members);
        let shares = least_shares(space);
        let compute = |(&id, &share): (&HopId, &f64)| {
            let share = share.min(own_share(space, id));
            space.model.least_compute_time(context, id, |_| share)
        };
        let mut reads: Vec<Read> = Vec::new();
        for (reader, &consumer) in members.iter().enumerate() {
            reads.extend(context.hop(consumer).inputs.iter().map(|&value| Read {
                value,
                reader,
                group: members.binary_search(&value).ok(),
                point: space.partition.points.binary_search(&InterestingPoint { consumer, producer: value }).ok(),
                seconds: machine.read_time(cost::bytes_of(context, value) * shares[reader]),
            }));
        }
        reads.sort_by_key(|read| (read.value, read.reader));
        Bound {
            space,
            write: members.iter().map(|&id| machine.write_time(cost::bytes_of(context, id))).collect(),
            compute: members.iter().zip(&shares).map(compute).collect(),
            reads,
        }
    }

    /// Seconds that no plan undercuts, in its part that lies in a region, in which the points of the assignment are
    /// materialised, and possibly more. The points that separate the region are among them.
    pub(crate) fn seconds(&self, region: &Region, assignment: &Points) -> f64 {
        let connections = self.space.graph.connections(assignment);
        let mut spent = vec![Spent::default(); self.write.len()];
        for group in region.groups.ones() {
            let spent = &mut spent[connections.region_of[group]];
            spent.compute += self.compute[group];
            if connections.certain.contains(group) {
                spent.write += self.write[group];
            }
        }
        for reads in self.reads.chunk_by(|one, other| one.value == other.value) {
            // By region: the least of what its operators may read of the value.
            let mut least: SmallVec<[(usize, f64); 8]> = SmallVec::new();
            for read in reads.iter().filter(|read| region.groups.contains(read.reader)) {
                if !self.is_certain(read, &connections, assignment) {
                    continue;
                }
                let region = connections.region_of[read.reader];
                match least.iter_mut().find(|(known, _)| *known == region) {
                    Some((_, seconds)) => *seconds = seconds.min(read.seconds),
                    None => least.push((region, read.seconds)),
                }
            }
            least.iter().for_each(|&(region, seconds)| spent[region].read += seconds);
        }
        let seconds: f64 = spent.iter().map(|spent| spent.write + spent.read.max(spent.compute)).sum();
        // A hair below, so that rounding never lifts it over the cost of a plan that attains it.
        seconds * (1.0 - 1e-12)
    }

    /// Whether every operator that contains the reader reads the value from memory.
    fn is_certain(&self, read: &Read, connections: &Connections, assignment: &Points) -> bool {
        let is_cut = |point| assignment.contains(point) && self.space.graph.is_read(point, assignment);
        read.group.is_none_or(|group| !connections.linked.contains(group)) || read.point.is_some_and(is_cut)
    }
}

/// By group: the least share of its cells that an operator which contains it visits.
fn least_shares(space: &SearchSpace<'_>) -> Vec<f64> {
    let shares = |template| shares_within(space, template);
    let pairs = shares(TemplateType::Cell).into_iter().zip(shares(TemplateType::Outer));
    pairs.map(|(cell, outer)| cell.min(outer)).collect()
}

/// [`least_shares`] of the operators of a template that exploits sparsity, Cell or Outer.
fn shares_within(space: &SearchSpace<'_>, template: TemplateType) -> Vec<f64> {
    let mut shares = driven_shares(space, template);
    let has_place: Vec<bool> = (0..shares.len()).map(|group| has_place(space, group, template)).collect();
    for (group, share) in shares.iter_mut().enumerate() {
        if !has_place[group] || template == TemplateType::Outer && !space.has_template(group, template) {
            *share = 1.0;
        }
    }
    // An operator visits what its root needs, wherever above it starts. References ascend by consumer.
    for reference in space.graph.references.iter().rev().filter(|reference| has_place[reference.producer]) {
        shares[reference.producer] = shares[reference.producer].min(shares[reference.consumer]);
    }
    shares
}

/// Whether an operator of the template may contain the group: Row operators that need no rows are Cell operators.
fn has_place(space: &SearchSpace<'_>, group: usize, template: TemplateType) -> bool {
    let id = space.partition.members[group];
    template == TemplateType::Outer || space.has_template(group, template) || !needs_rows(space.context, &[id], id)
}

/// By group: the sparsity of the sparsest matrix that determines the group's cells where it is zero.
fn driven_shares(space: &SearchSpace<'_>, template: TemplateType) -> Vec<f64> {
    let members = &space.partition.members;
    let driver_share = |id: HopId| match space.context.hop(id).is_matrix() {
        false => 1.0,
        true if template == TemplateType::Outer => cost::driver_sparsity(space.context, id),
        true => cost::sparsity(space.context, id),
    };
    let mut shares: Vec<f64> = Vec::with_capacity(members.len());
    for &id in members {
        let inputs = &space.context.hop(id).inputs;
        let literal = |input: HopId| space.context.dag.literal_f64(input);
        let share = |input: HopId| {
            let group = members[..shares.len()].binary_search(&input);
            group.map_or(1.0, |group| shares[group]).min(driver_share(input))
        };
        // Where one operand determines the result, and where all do.
        let any =
            || inputs.iter().map(|&id| if literal(id) == Some(0.0) { 0.0 } else { share(id) }).fold(1.0, f64::min);
        let all = || inputs.iter().map(|&id| if literal(id).is_some() { 0.0 } else { share(id) }).fold(0.0, f64::max);
        let driven = match space.context.hop(id).op {
            HopOp::Binary(op) | HopOp::Outer(op) if needs_all(op) => all(),
            HopOp::Nary(op) if op.fold().is_none_or(needs_all) => all(),
            HopOp::Index => share(inputs[0]),
            HopOp::DataGen(_) => 1.0,
            _ => any(),
        };
        shares.push(driven.min(driver_share(id)));
    }
    shares
}

/// Whether no zero of one operand determines the result of an operation.
fn needs_all(op: BinaryOp) -> bool {
    matches!(op.zero(), BinaryZero::Joint | BinaryZero::Fills) && op != BinaryOp::Minus1Mult
}

/// The share of the cells of its operand that a product or an aggregate by itself visits.
fn own_share(space: &SearchSpace<'_>, id: HopId) -> f64 {
    match space.context.hop(id).op {
        HopOp::MatMul | HopOp::AggUnary(..) => cost::sparsity(space.context, space.context.hop(id).inputs[0]),
        _ => 1.0,
    }
}
