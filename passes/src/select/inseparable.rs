//! Interesting points that no plan tells apart (section 4.4, structural pruning).
//!
//! A polynomial by Horner's rule reads its argument once per coefficient: as many points, and one decision. Where every
//! operator that contains the reader of one point contains that of another one of the same value, it has the value at hand as
//! soon as one of them is false, whatever the others are: the plan is that in which all are false. So they are one digit of
//! the search space, true together or false together.
//!
//! **When readers are always in the same operators.** Call a group *free* if its entries are of Cell alone, one for every set
//! of what they refer to. Operators continue, and start, with an entry of the most references that are usable, so that with
//! a free group they take in all that they can. A free group is always fused into a reader that is free, too, where both
//! are element-wise over the same cells and no point of theirs is true: the entry without references is always usable, so
//! that the reader's operator never stops before the group. Neither does one that starts at the reader: it is refused only
//! without a main input, and below an element-wise group that reads a matrix of its size, and so on down to one from
//! outside of the partition, there is one. A group whose only reader fuses it so, over no point, is *drawn in*. Hence
//! readers that are drawn in, one after the other, by the same group are in its operators, and in no others.

use super::entry::{ByMember, Member, Point};
use super::reachability::{ReachabilityGraph, Reference};
use super::search::PartitionSearch;
use crate::hops::is_elementwise;
use crate::template::PART;
use cranelift_entity::EntityRef;
use fixedbitset::FixedBitSet;
use fuseline_ir::hop::HopId;
use fuseline_ir::memo::MemoEntry;
use smallvec::SmallVec;

/// The most references of a group for which sets of them are counted.
const MOST_REFERENCES: usize = 8;

/// Points that are true together.
pub(crate) type Together = SmallVec<[Point; 1]>;

/// The points of a partition, those that no plan tells apart together.
pub(crate) struct Inseparable {
    /// By point: all that are true with it, itself included, if it is the first of them.
    classes: Vec<Together>,
    /// By reference: whether every operator of the reader computes what it reads, unless the point of it is true.
    fused: FixedBitSet,
}

impl Inseparable {
    pub(crate) fn new(search: &PartitionSearch<'_>, graph: &ReachabilityGraph) -> Self {
        let mut keyed: Vec<((Member, Option<Member>), Point)> = Vec::new();
        let drawing = Drawing::new(search, graph);
        let mut fused = FixedBitSet::with_capacity(graph.references.len());
        for (number, reference) in graph.references.iter().enumerate() {
            fused.set(number, drawing.is_fused(search, reference) || drawing.is_aggregated(search, reference));
            let Some(point) = reference.point else { continue };
            let top = drawing.is_free[reference.consumer].then(|| drawing.top[reference.consumer]);
            keyed.push(((reference.producer, top), point));
        }
        keyed.sort_unstable();
        let mut classes: Vec<Together> = vec![Together::new(); search.partition.points.len()];
        for alike in keyed.chunk_by(|one, other| one.0 == other.0 && one.0.1.is_some()) {
            classes[alike[0].1.index()] = alike.iter().map(|(_, point)| *point).collect();
        }
        Inseparable { classes, fused }
    }

    /// Whether every operator that contains the reader of a reference computes what it reads, unless the point of it is true.
    pub(crate) fn is_fused(&self, reference: usize) -> bool {
        self.fused.contains(reference)
    }

    /// Whether a point stands for all that are true with it.
    pub(crate) fn is_first(&self, point: Point) -> bool {
        !self.classes[point.index()].is_empty()
    }

    /// The points that are true with the first of them.
    pub(crate) fn with(&self, first: Point) -> &[Point] {
        &self.classes[first.index()]
    }
}

/// Which groups their only readers draw in.
struct Drawing<'a> {
    is_free: ByMember<'a, bool>,
    reads_cells: ByMember<'a, bool>,
    /// The group that draws each of them in last: itself if none does.
    top: ByMember<'a, Member>,
}

impl<'a> Drawing<'a> {
    fn new(search: &PartitionSearch<'a>, graph: &ReachabilityGraph) -> Self {
        let scratch = search.scratch;
        let is_free = ByMember::new(search.members().map(|group| is_free(search, group)), scratch);
        let top = ByMember::new(search.members(), scratch);
        let mut drawing = Drawing { is_free, reads_cells: reading_cells(search), top };
        // Readers follow what they read.
        for reference in graph.references.iter().rev() {
            let Reference { consumer, producer, point } = *reference;
            let is_only_reader = search.context.single_consumer(search.id(producer)) == Some(search.id(consumer));
            if point.is_none() && is_only_reader && drawing.is_fused(search, reference) {
                drawing.top[producer] = drawing.top[consumer];
            }
        }
        drawing
    }

    /// Whether every operator that contains the reader contains what it reads, unless a point of theirs is true.
    fn is_fused(&self, search: &PartitionSearch<'_>, reference: &Reference) -> bool {
        let Reference { consumer, producer, .. } = *reference;
        let [reader, read] = [consumer, producer].map(|group| search.context.hop(search.id(group)));
        self.is_free[consumer]
            && self.is_free[producer]
            && self.reads_cells[producer]
            && is_elementwise(search.context.dag, search.id(consumer))
            && reader.size.same_dims(&read.size)
    }

    /// Whether the reader refers to nothing else, by entries of Cell that all do: then it is no better off without.
    fn is_aggregated(&self, search: &PartitionSearch<'_>, reference: &Reference) -> bool {
        let Reference { consumer, producer, .. } = *reference;
        let refers = |entry: &MemoEntry| {
            entry.ttype == PART && entry.close.is_valid() && entry.references().eq([search.id(producer)])
        };
        self.is_free[producer]
            && self.reads_cells[producer]
            && search.memo.entries(search.id(consumer)).iter().all(refers)
    }
}

/// Whether the entries of a group are of Cell alone, one for each set of what they refer to.
fn is_free(search: &PartitionSearch<'_>, group: Member) -> bool {
    let entries = search.memo.entries(search.id(group));
    let mut references: SmallVec<[HopId; MOST_REFERENCES]> = entries.iter().flat_map(MemoEntry::references).collect();
    references.sort_unstable();
    references.dedup();
    let is_of_cells = |entry: &MemoEntry| entry.ttype == PART && entry.close.is_open();
    references.len() <= MOST_REFERENCES && entries.len() == 1 << references.len() && entries.iter().all(is_of_cells)
}

/// By group: whether it is element-wise and reads a matrix of its size from outside, or through such groups.
fn reading_cells<'a>(search: &PartitionSearch<'a>) -> ByMember<'a, bool> {
    let context = search.context;
    let mut reads: ByMember<'_, bool> = ByMember::with_capacity(search.partition.members.len(), search.scratch);
    for group in search.members() {
        let (id, hop) = (search.id(group), context.hop(search.id(group)));
        let leads_outside = |&input: &HopId| {
            let is_of_size = context.hop(input).is_matrix() && context.hop(input).size.same_dims(&hop.size);
            is_of_size && search.member(input).is_none_or(|input| reads[input])
        };
        let reads_cells = is_elementwise(context.dag, id) && hop.inputs.iter().any(leads_outside);
        reads.push(reads_cells);
    }
    reads
}
