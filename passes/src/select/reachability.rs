//! What a cut set separates (section 4.4): the reachability graph of a partition, and its independent regions.
//!
//! The paper draws the graph over interesting points and calls a cut set valid if the points `S1` that roots reach
//! without it and the points `S2` that it reaches are disjoint. That is not enough: two operators on either side may
//! read one producer over different points, `S1` and `S2` are disjoint, and yet it is written once for both. Therefore
//! the graph is over groups here, and a cut separates what no operator and no decision to materialise connects.
//!
//! **Why regions are independent.** Let the points of a cut be true, and let the other references be *links*. The cost of
//! a plan is the sum over its materialised groups of the cost of the operator that starts there.
//! 1. The members of an operator are connected by links, and the operator is determined by its group and by the points
//!    on links below that group: an entry across a materialised point is unusable, whatever is below.
//! 2. Every group is computed by some operator, but for transposes that products by themselves read through: roots and
//!    externally consumed groups start operators, and what a computed group reads is a member of the same operator or an
//!    input, which starts one. So some groups are *certain*, which is
//!    to say materialised under every assignment that contains the cut: roots and externally consumed groups; groups that
//!    no link leads to; and the producer of a point of the cut if no link leads to it from a group that could be in one
//!    operator with the point's consumer, since then whatever operator computes that consumer reads the producer.
//! 3. Whether any other group is materialised is determined by the operators that contain its consumers.
//!
//! Regions are the connected components of groups under links and, for groups that are not certain, under all reads.
//! By 1 every operator lies within one region and depends on points of this region alone; by 2 and 3, along consumers
//! first, so does the decision to materialise. Hence the cost is a sum over regions of functions of disjoint sets of
//! points, and the optimum of the whole is made of the optima of the regions.

use super::entry::{Member, Point};
use super::search::PartitionSearch;
use crate::partition::PlanPartition;
use crate::union_find::UnionFind;
use cranelift_entity::EntityRef;
use fixedbitset::FixedBitSet;
use fuseline_ir::hop::HopId;
use fuseline_ir::memo::MemoEntry;
use smallvec::SmallVec;

/// Interesting points, by position in [`PlanPartition::points`].
pub(crate) type Points = FixedBitSet;

/// A fusion reference: an operator may extend from a group to one that it reads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reference {
    pub(crate) consumer: Member,
    pub(crate) producer: Member,
    /// The interesting point that materialises the producer for the consumer, if this is one.
    pub(crate) point: Option<Point>,
}

/// The groups of a partition with what connects them.
pub(crate) struct ReachabilityGraph {
    /// Distinct, in ascending order of consumers.
    pub(crate) references: Vec<Reference>,
    /// By group: where its references begin; and where the last ones end.
    first_references: Vec<usize>,
    /// What members read of each other, fused or not: consumer and producer, in ascending order of consumers.
    reads: Vec<(Member, Member)>,
    /// Roots and externally consumed groups.
    starts: Vec<Member>,
    /// Transposes that products by themselves read through, so that nobody may need their values.
    pub(crate) read_through: FixedBitSet,
    /// By point: the points of the same producer whose consumers may be in one operator with its consumer. None if such
    /// a reference is no point.
    rivals: Vec<Option<Points>>,
    groups: usize,
}

/// What is connected under a cut.
pub(crate) struct Connections {
    /// By group: the region, by its first group.
    pub(crate) region_of: SmallVec<[usize; 32]>,
    /// Groups that are materialised under every assignment that contains the cut.
    pub(crate) certain: FixedBitSet,
    /// Groups that a link leads to.
    pub(crate) linked: FixedBitSet,
}

/// Groups that a cut separates from the rest.
#[derive(Clone, Debug)]
pub(crate) struct Region {
    /// Whether each group is in the region.
    pub(crate) groups: FixedBitSet,
    /// Groups of the region that are materialised under every assignment, in ascending order.
    pub(crate) certain: Vec<Member>,
    /// The points on links within the region.
    pub(crate) points: Points,
}

impl ReachabilityGraph {
    pub(crate) fn new(search: &PartitionSearch<'_>) -> Self {
        let count = search.partition.members.len();
        let mut references = Vec::with_capacity(2 * count);
        let mut first_references = Vec::with_capacity(count + 1);
        let mut reads = Vec::with_capacity(2 * count);
        for consumer in search.members() {
            let id = search.id(consumer);
            first_references.push(references.len());
            let referenced = search.memo.entries(id).iter().flat_map(MemoEntry::references);
            references.extend(members_among(search, referenced).into_iter().map(|producer| Reference {
                consumer,
                producer,
                point: search.point(consumer, producer),
            }));
            let hop = search.context.hop(id);
            let inputs = hop.inputs.iter().copied().chain(search.context.dag.evaluated_inputs(hop));
            reads.extend(members_among(search, inputs).into_iter().map(|producer| (consumer, producer)));
        }
        first_references.push(references.len());
        let rivals = rivals(&references, search.partition);
        ReachabilityGraph {
            references,
            first_references,
            reads,
            starts: search.required.to_vec(),
            read_through: transposes_of_products(search),
            rivals,
            groups: count,
        }
    }

    /// The references of a group.
    pub(crate) fn references_of(&self, group: Member) -> &[Reference] {
        &self.references[self.first_references[group.index()]..self.first_references[group.index() + 1]]
    }

    /// The references of a group, each with its position among all of them.
    pub(crate) fn numbered_references_of(&self, group: Member) -> impl Iterator<Item = (usize, &Reference)> {
        (self.first_references[group.index()]..).zip(self.references_of(group))
    }

    /// The references that operators may extend over when the points of a cut are true.
    fn links<'a>(&'a self, cut: &'a Points) -> impl Iterator<Item = &'a Reference> {
        self.references.iter().filter(|reference| reference.point.is_none_or(|point| !cut.contains(point.index())))
    }

    /// Whether every operator that contains the consumer of this point of the cut reads its producer.
    pub(crate) fn is_read(&self, point: Point, cut: &Points) -> bool {
        self.rivals[point.index()].as_ref().is_some_and(|rivals| rivals.is_subset(cut))
    }

    /// How many operators read or compute a value at least, of these points, where those of an assignment are true: as many as
    /// there are readers over the others of which no two can be in one operator.
    pub(crate) fn readers_apart(&self, points: &[Point], assignment: &Points) -> usize {
        let mut apart: SmallVec<[Point; 8]> = SmallVec::new();
        for &point in points.iter().filter(|point| !assignment.contains(point.index())) {
            let Some(rivals) = &self.rivals[point.index()] else { continue };
            if !apart.iter().any(|other| rivals.contains(other.index())) {
                apart.push(point);
            }
        }
        apart.len()
    }

    /// What is connected when the points of a cut are true.
    pub(crate) fn connections(&self, cut: &Points) -> Connections {
        let mut linked = FixedBitSet::with_capacity(self.groups);
        let mut components = UnionFind::new(self.groups);
        for link in self.links(cut) {
            linked.insert(link.producer.index());
            components.union(link.consumer.index(), link.producer.index());
        }
        let mut certain = linked.clone();
        certain.toggle_range(..);
        certain.difference_with(&self.read_through);
        certain.extend(self.starts.iter().map(|start| start.index()));
        for reference in &self.references {
            let is_cut = reference.point.is_some_and(|point| cut.contains(point.index()) && self.is_read(point, cut));
            if is_cut && !self.read_through.contains(reference.producer.index()) {
                certain.insert(reference.producer.index());
            }
        }
        for &(consumer, producer) in self.reads.iter().filter(|(_, producer)| !certain.contains(producer.index())) {
            components.union(consumer.index(), producer.index());
        }
        let region_of = (0..self.groups).map(|group| components.find(group)).collect();
        Connections { region_of, certain, linked }
    }

    /// All groups as one region.
    pub(crate) fn whole(&self) -> Region {
        let mut points = Points::with_capacity(self.rivals.len());
        let mut groups = FixedBitSet::with_capacity(self.groups);
        let certain = self.connections(&points).certain.ones().map(Member::new).collect();
        groups.insert_range(..);
        points.insert_range(..);
        Region { groups, certain, points }
    }

    /// The independent regions of a region when the points of a cut are true, in the order of their first groups.
    pub(crate) fn regions(&self, within: &FixedBitSet, cut: &Points) -> Vec<Region> {
        let connections = self.connections(cut);
        let mut regions: Vec<Region> = Vec::new();
        let mut numbers: Vec<Option<usize>> = vec![None; self.groups];
        for group in within.ones() {
            let number = *numbers[connections.region_of[group]].get_or_insert_with(|| {
                regions.push(Region {
                    groups: FixedBitSet::with_capacity(self.groups),
                    certain: Vec::new(),
                    points: Points::with_capacity(self.rivals.len()),
                });
                regions.len() - 1
            });
            regions[number].groups.insert(group);
            if connections.certain.contains(group) {
                regions[number].certain.push(Member::new(group));
            }
        }
        for link in self.links(cut) {
            if let (Some(point), Some(number)) = (link.point, numbers[connections.region_of[link.consumer.index()]]) {
                regions[number].points.insert(point.index());
            }
        }
        regions
    }
}

/// The transposes that products by themselves read through.
fn transposes_of_products(search: &PartitionSearch<'_>) -> FixedBitSet {
    let mut transposes = FixedBitSet::with_capacity(search.partition.members.len());
    for id in search.members().map(|member| search.id(member)) {
        let hop = search.context.hop(id);
        let evaluated = search.context.dag.evaluated_inputs(hop);
        let through = hop.inputs.iter().copied().filter(|input| !evaluated.contains(input));
        transposes.extend(through.filter_map(|input| search.member(input)).map(Member::index));
    }
    transposes
}

/// Partitions with more points than this are not analysed pair by pair: whatever reads the same producer may meet, and
/// there are no cut sets.
pub(crate) const MOST_POINTS: usize = 512;

/// The groups that compute some of these operators, ascending, each once.
fn members_among(search: &PartitionSearch<'_>, ids: impl Iterator<Item = HopId>) -> SmallVec<[Member; 16]> {
    let mut members: SmallVec<[Member; 16]> = ids.filter_map(|id| search.member(id)).collect();
    members.sort_unstable();
    members.dedup();
    members
}

/// By point: see [`ReachabilityGraph::rivals`].
fn rivals(references: &[Reference], partition: &PlanPartition) -> Vec<Option<Points>> {
    let mut above: Vec<Option<FixedBitSet>> = vec![None; partition.members.len()];
    let mut rivals = vec![Some(Points::new()); partition.points.len()];
    let mut by_producer = references.to_vec();
    by_producer.sort_by_key(|reference| reference.producer);
    for group in by_producer.chunk_by(|one, other| one.producer == other.producer).filter(|group| group.len() > 1) {
        for reference in group.iter().filter(|_| partition.points.len() <= MOST_POINTS) {
            above[reference.consumer.index()]
                .get_or_insert_with(|| ancestors(reference.consumer, references, partition));
        }
        for (reference, point) in group.iter().filter_map(|reference| Some((reference, reference.point?))) {
            let rivals = &mut rivals[point.index()];
            for other in group.iter().filter(|other| may_meet(&above, reference.consumer, other.consumer)) {
                match (rivals.as_mut(), other.point) {
                    (Some(rivals), Some(other)) => rivals.grow_and_insert(other.index()),
                    _ => *rivals = None,
                }
            }
        }
    }
    rivals
}

/// Whether two groups may be in one operator, given by group, where that is known, what is above it.
fn may_meet(above: &[Option<FixedBitSet>], one: Member, other: Member) -> bool {
    let sets = above[one.index()].as_ref().zip(above[other.index()].as_ref());
    one != other && sets.is_none_or(|(one, other)| !one.is_disjoint(other))
}

/// The groups at which an operator that contains this one may start.
fn ancestors(group: Member, references: &[Reference], partition: &PlanPartition) -> FixedBitSet {
    let mut ancestors = FixedBitSet::with_capacity(partition.members.len());
    ancestors.insert(group.index());
    // Consumers ascend, and producers come before their consumers.
    for reference in references {
        if ancestors.contains(reference.producer.index()) {
            ancestors.insert(reference.consumer.index());
        }
    }
    ancestors
}
