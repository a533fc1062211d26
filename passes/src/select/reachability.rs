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
//! 2. Every group is computed by some operator: roots and externally consumed groups start operators, and what a computed
//!    group reads is a member of the same operator or an input, which starts one. So a group that no link leads to is
//!    materialised under every assignment; call such groups, roots and externally consumed groups *certain*.
//! 3. Whether any other group is materialised is determined by the operators that contain its consumers.
//!
//! Regions are the connected components of groups under links and, for groups that are not certain, under all reads.
//! By 1 every operator lies within one region and depends on points of this region alone; by 2 and 3, along consumers
//! first, so does the decision to materialise. Hence the cost is a sum over regions of functions of disjoint sets of
//! points, and the optimum of the whole is made of the optima of the regions. (It is also as fine as the structure alone
//! allows: whatever one link or shared producer connects can depend on it, for some costs.)

use crate::partition::{InterestingPoint, PlanPartition};
use crate::template::Context;
use crate::union_find::UnionFind;
use fixedbitset::FixedBitSet;
use fuseline_ir::hop::HopId;
use fuseline_ir::memo::{MemoEntry, MemoTable};

/// Interesting points, by position in [`PlanPartition::points`].
pub(crate) type Points = FixedBitSet;

/// A fusion reference: an operator may extend from a group to one that it reads. Groups are positions in
/// [`PlanPartition::members`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reference {
    pub(crate) consumer: usize,
    pub(crate) producer: usize,
    /// The interesting point that materialises the producer for the consumer, if this is one.
    pub(crate) point: Option<usize>,
}

/// The groups of a partition with what connects them.
pub(crate) struct ReachabilityGraph {
    /// Distinct, in ascending order of consumers.
    pub(crate) references: Vec<Reference>,
    /// What members read of each other, fused or not: consumer and producer, in ascending order of consumers.
    pub(crate) reads: Vec<(usize, usize)>,
    /// Roots and externally consumed groups.
    pub(crate) starts: Vec<usize>,
    groups: usize,
    points: usize,
}

/// Groups that a cut separates from the rest.
#[derive(Clone, Debug)]
pub(crate) struct Region {
    /// Whether each group is in the region.
    pub(crate) groups: FixedBitSet,
    /// Groups of the region that are materialised under every assignment, in ascending order.
    pub(crate) certain: Vec<usize>,
    /// The points on links within the region.
    pub(crate) points: Points,
}

impl ReachabilityGraph {
    pub(crate) fn new(context: &Context<'_>, memo: &MemoTable, partition: &PlanPartition) -> Self {
        let position = |id: &HopId| partition.members.binary_search(id).ok();
        let mut references = Vec::new();
        let mut reads = Vec::new();
        for (consumer, &id) in partition.members.iter().enumerate() {
            let mut referenced: Vec<HopId> = memo.entries(id).iter().flat_map(MemoEntry::references).collect();
            referenced.sort_unstable();
            referenced.dedup();
            references.extend(referenced.iter().filter_map(|producer| {
                let point = InterestingPoint { consumer: id, producer: *producer };
                let point = partition.points.binary_search(&point).ok();
                Some(Reference { consumer, producer: position(producer)?, point })
            }));
            let mut inputs = context.hop(id).inputs.to_vec();
            inputs.sort_unstable();
            inputs.dedup();
            reads.extend(inputs.iter().filter_map(|input| Some((consumer, position(input)?))));
        }
        let mut starts: Vec<usize> =
            partition.roots.iter().chain(&partition.externally_consumed).filter_map(position).collect();
        starts.sort_unstable();
        ReachabilityGraph { references, reads, starts, groups: partition.members.len(), points: partition.points.len() }
    }

    /// The references that operators may extend over when the points of a cut are true.
    pub(crate) fn links<'a>(&'a self, cut: &'a Points) -> impl DoubleEndedIterator<Item = &'a Reference> {
        self.references.iter().filter(|reference| reference.point.is_none_or(|point| !cut.contains(point)))
    }

    /// All groups as one region.
    pub(crate) fn whole(&self) -> Region {
        let mut groups = FixedBitSet::with_capacity(self.groups);
        groups.insert_range(..);
        let mut points = Points::with_capacity(self.points);
        points.insert_range(..);
        Region { groups, certain: self.certain(&Points::with_capacity(self.points)).ones().collect(), points }
    }

    /// The groups that are materialised whenever the points of a cut are.
    fn certain(&self, cut: &Points) -> FixedBitSet {
        let mut certain = FixedBitSet::with_capacity(self.groups);
        certain.insert_range(..);
        for link in self.links(cut) {
            certain.remove(link.producer);
        }
        self.starts.iter().for_each(|&start| certain.insert(start));
        certain
    }

    /// The independent regions of a region when the points of a cut are true, in the order of their first groups.
    pub(crate) fn regions(&self, within: &FixedBitSet, cut: &Points) -> Vec<Region> {
        let certain = self.certain(cut);
        let mut components = UnionFind::new(self.groups);
        for link in self.links(cut) {
            components.union(link.consumer, link.producer);
        }
        for &(consumer, producer) in self.reads.iter().filter(|(_, producer)| !certain.contains(*producer)) {
            components.union(consumer, producer);
        }
        let mut regions: Vec<Region> = Vec::new();
        let mut region_of: Vec<Option<usize>> = vec![None; self.groups];
        for group in within.ones() {
            let region = *region_of[components.find(group)].get_or_insert_with(|| {
                regions.push(Region {
                    groups: FixedBitSet::with_capacity(self.groups),
                    certain: Vec::new(),
                    points: Points::with_capacity(self.points),
                });
                regions.len() - 1
            });
            regions[region].groups.insert(group);
            if certain.contains(group) {
                regions[region].certain.push(group);
            }
        }
        for link in self.links(cut).filter(|link| within.contains(link.consumer)) {
            if let (Some(point), Some(region)) = (link.point, region_of[components.find(link.consumer)]) {
                regions[region].points.insert(point);
            }
        }
        regions
    }
}
