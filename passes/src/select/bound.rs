//! Lower bounds of costs (section 4.4, cost-based pruning).
//!
//! The cost of a plan is a sum of `T_write + max(T_read, T_compute)` over operators, so it is no less than the sum of
//! all writes plus the larger of the sums of all reads and of all computation, and each of these is bounded from below:
//! - every group that is materialised under every assignment is written;
//! - every value from outside, and every group that is always read from memory, is read by an operator at least;
//! - every group is computed once at least;
//! - a group with a true point is written and read once more at least, if no operator that reads it could have it at
//!   hand: an operator that fuses the group for one consumer does not read it for another one.
//!
//! What an operator computes and reads shrinks with the sparsity that it exploits. The paper leaves open which sparsity
//! its bound assumes; one for the whole partition, that of the sparsest matrix, makes the bound useless where a single
//! Outer operator is. Here each group counts with the least share of cells that an operator which contains it can visit.

use super::prune::needs_rows;
use super::reachability::{Points, Reference, Region};
use super::space::SearchSpace;
use crate::cost;
use fixedbitset::FixedBitSet;
use fuseline_ir::hop::{HopId, HopOp};
use fuseline_ir::memo::TemplateType;
use fuseline_ir::ops::{BinaryOp, BinaryZero};

/// The lower bound of the costs of a region.
#[derive(Debug)]
pub(crate) struct Bound {
    /// Seconds that every plan spends on each.
    write: f64,
    read: f64,
    compute: f64,
    materializations: Vec<Materialization>,
}

/// What materialising a group costs at least.
#[derive(Debug)]
struct Materialization {
    write: f64,
    read: f64,
    /// The points of the group, each with the others that must be true, too, to make sure of a read.
    points: Vec<(usize, Points)>,
}

impl Bound {
    /// The bound of a region, given the shares of [`least_shares`].
    pub(crate) fn new(space: &SearchSpace<'_>, region: &Region, cut: &Points, shares: &[f64]) -> Self {
        let machine = &space.model.machine;
        let (context, members) = (space.context, &space.partition.members);
        let write = |group: usize| machine.write_time(cost::bytes_of(context, members[group]));
        let compute = |group: usize| {
            let id = members[group];
            let share = shares[group].min(own_share(space, id));
            space.model.least_compute_time(context, id, |_| share)
        };
        let links: Vec<Reference> =
            space.graph.links(cut).filter(|link| region.groups.contains(link.consumer)).copied().collect();
        Bound {
            write: region.certain.iter().map(|&group| write(group)).sum(),
            read: always_read(space, region, &links, shares),
            compute: region.groups.ones().map(compute).sum(),
            materializations: materializations(space, region, &links, shares),
        }
    }

    /// Seconds that no plan undercuts in which the points of the assignment are materialised, and possibly more.
    pub(crate) fn seconds(&self, assignment: &Points) -> f64 {
        let (mut read, mut write) = (self.read, self.write);
        for materialization in &self.materializations {
            if materialization.is_certain(assignment) {
                read += materialization.read;
                write += materialization.write;
            }
        }
        // A hair below, so that rounding never lifts it over the cost of a plan that attains it.
        (write + read.max(self.compute)) * (1.0 - 1e-12)
    }
}

impl Materialization {
    fn is_certain(&self, assignment: &Points) -> bool {
        self.points.iter().any(|(point, rivals)| assignment.contains(*point) && rivals.is_subset(assignment))
    }
}

/// Seconds to read a value in a region at least once, where these groups read it.
fn least_read(space: &SearchSpace<'_>, id: HopId, readers: impl Iterator<Item = usize>, shares: &[f64]) -> f64 {
    let share = readers.map(|reader| shares[reader]).fold(1.0, f64::min);
    space.model.machine.read_time(cost::bytes_of(space.context, id) * share)
}

/// Seconds to read what operators of the region read under every assignment: what no link leads to.
fn always_read(space: &SearchSpace<'_>, region: &Region, links: &[Reference], shares: &[f64]) -> f64 {
    let members = &space.partition.members;
    let mut linked = FixedBitSet::with_capacity(members.len());
    linked.extend(links.iter().map(|link| link.producer));
    let mut reads: Vec<(HopId, usize)> = Vec::new();
    for reader in region.groups.ones() {
        for &input in &space.context.hop(members[reader]).inputs {
            if members.binary_search(&input).map_or(true, |group| !linked.contains(group)) {
                reads.push((input, reader));
            }
        }
    }
    reads.sort_unstable();
    let values = reads.chunk_by(|one, other| one.0 == other.0);
    values.map(|reads| least_read(space, reads[0].0, reads.iter().map(|&(_, reader)| reader), shares)).sum()
}

/// The groups of the region that points materialise.
fn materializations(
    space: &SearchSpace<'_>,
    region: &Region,
    links: &[Reference],
    shares: &[f64],
) -> Vec<Materialization> {
    let mut by_producer: Vec<Reference> = links.to_vec();
    by_producer.sort_by_key(|link| link.producer);
    let groups = by_producer.chunk_by(|one, other| one.producer == other.producer);
    let materialization = |links_of: &[Reference]| {
        let producer = links_of[0].producer;
        let id = space.partition.members[producer];
        let is_written = region.certain.binary_search(&producer).is_ok();
        let write = if is_written { 0.0 } else { space.model.machine.write_time(cost::bytes_of(space.context, id)) };
        let read = least_read(space, id, links_of.iter().map(|link| link.consumer), shares);
        let above: Vec<FixedBitSet> = links_of.iter().map(|link| ancestors(link.consumer, region, links)).collect();
        let points = (0..links_of.len()).filter_map(|number| rivals(space, links_of, &above, number)).collect();
        Materialization { write, read, points }
    };
    groups.filter(|links| links.iter().any(|link| link.point.is_some())).map(materialization).collect()
}

/// A point, and the points of the same producer whose consumers may be in one operator with its consumer. None if such
/// a reference is no point.
fn rivals(
    space: &SearchSpace<'_>,
    links_of: &[Reference],
    above: &[FixedBitSet],
    number: usize,
) -> Option<(usize, Points)> {
    let mut rivals = Points::with_capacity(space.points());
    for other in (0..links_of.len()).filter(|&other| other != number && !above[other].is_disjoint(&above[number])) {
        rivals.insert(links_of[other].point?);
    }
    Some((links_of[number].point?, rivals))
}

/// The groups at which an operator that contains this one may start.
fn ancestors(group: usize, region: &Region, links: &[Reference]) -> FixedBitSet {
    let mut ancestors = FixedBitSet::with_capacity(region.groups.len());
    ancestors.insert(group);
    for link in links {
        if ancestors.contains(link.producer) {
            ancestors.insert(link.consumer);
        }
    }
    ancestors
}

/// By group: the least share of its cells that an operator which contains it visits.
pub(crate) fn least_shares(space: &SearchSpace<'_>) -> Vec<f64> {
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
