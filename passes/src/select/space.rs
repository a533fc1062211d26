//! The search space of one partition, indexed for fast reading of many plans.
//!
//! Under an assignment entries whose references cross a materialised point are unusable, and so are entries that refer
//! to a group without a usable compatible entry. One ascending sweep finds for each group and template the best entry
//! to continue an operator with. Reading the plan then follows references from the roots; every materialised group
//! starts one operator, with the best entry that gives an operator with a main input.
//!
//! The order among entries is total: to start an operator, entries with references come first, then Outer before Row
//! before Cell, then more references; to continue one, its own template before Cell, then more references; what
//! remains equal is decided by the order of their references.

use super::entry::{ByMember, Entry, EntryIndex, Member, Point, slice};
use super::inseparable::Inseparable;
use super::reachability::{Points, ReachabilityGraph};
use super::search::PartitionSearch;
use crate::cover::{Hops, Operator, outside_inputs};
use crate::template;
use crate::walk::{follow, leads_on, preference};
use cranelift_entity::EntityRef;
use fixedbitset::FixedBitSet;
use fuseline_ir::memo::TemplateType;
use smallvec::{SmallVec, smallvec};
use std::cell::OnceCell;
use std::cmp::Reverse;

/// An entry with what invalidates it.
#[derive(Clone, Copy)]
struct PointedEntry<'a> {
    entry: Entry<'a>,
    /// The interesting points that it crosses: none of these may be materialised.
    points: &'a [Point],
}

/// The best entries of a group to continue an operator with under an assignment, by template.
type Choice = [Option<EntryIndex>; TemplateType::ALL.len()];

/// Memory that readers of one plan after the other use again.
#[derive(Default)]
pub(crate) struct ReaderMemory {
    choices: Vec<Choice>,
    /// The operator that a group was last a member of, by number.
    member_of: Vec<u64>,
    operators: u64,
}

impl ReaderMemory {
    /// Begins with an operator of which no group was met.
    fn next_operator(&mut self) {
        self.operators += 1;
    }

    /// Whether a group was not met before in the operator at hand.
    fn is_new(&mut self, group: Member) -> bool {
        std::mem::replace(&mut self.member_of[group.index()], self.operators) != self.operators
    }
}

/// Points, in the order in which they are met.
pub(crate) type Influences = SmallVec<[Point; 8]>;

/// A partition prepared for search.
pub(crate) struct SearchSpace<'a> {
    pub(crate) search: PartitionSearch<'a>,
    pub(crate) graph: ReachabilityGraph,
    inseparable: OnceCell<Inseparable>,
    entries: ByMember<'a, &'a [PointedEntry<'a>]>,
}

impl<'a> SearchSpace<'a> {
    pub(crate) fn new(search: PartitionSearch<'a>) -> Self {
        let entries = ByMember::new(search.members().map(|member| pointed_entries(&search, member)), search.scratch);
        SearchSpace { search, graph: ReachabilityGraph::new(&search), inseparable: OnceCell::new(), entries }
    }

    /// Number of interesting points.
    pub(crate) fn points(&self) -> usize {
        self.search.partition.points.len()
    }

    /// The points that no plan tells apart.
    pub(crate) fn inseparable(&self) -> &Inseparable {
        self.inseparable.get_or_init(|| Inseparable::new(&self.search, &self.graph))
    }

    /// The assignment in which nothing is materialised that need not be: maximal fusion.
    pub(crate) fn fuse_all(&self) -> Points {
        Points::with_capacity(self.points())
    }

    /// The assignment that materialises every point whose producer several operators consume.
    pub(crate) fn without_redundancy(&self) -> Points {
        let mut assignment = self.fuse_all();
        for (number, point) in self.search.partition.points.iter().enumerate() {
            assignment.set(number, self.search.context.consumer_count(point.producer) > 1);
        }
        assignment
    }

    /// Whether a group has plans of a template.
    pub(crate) fn has_template(&self, group: Member, template: TemplateType) -> bool {
        self.entries[group].iter().any(|entry| entry.entry.ttype == template)
    }

    /// Whether an operator of the template may start at a group.
    pub(crate) fn starts(&self, group: Member, template: TemplateType) -> bool {
        self.entries[group].iter().any(|pointed| pointed.entry.ttype == template && pointed.entry.is_start)
    }

    /// Reads operators of the plan under an assignment.
    pub(crate) fn under<'r>(&'r self, assignment: &'r Points, memory: &'r mut ReaderMemory) -> PlanReader<'r> {
        memory.member_of.resize(self.search.partition.members.len(), 0);
        PlanReader { space: self, assignment, memory, has_chosen: false }
    }

    /// The basic and fused operators of the plan under an assignment.
    pub(crate) fn operators(&self, assignment: &Points) -> Vec<Operator> {
        let memory = &mut ReaderMemory::default();
        let mut reader = self.under(assignment, memory);
        let mut operators = Vec::new();
        let mut materialized = FixedBitSet::with_capacity(self.search.partition.members.len());
        let mut pending: SmallVec<[Member; 32]> = self.search.required.iter().rev().copied().collect();
        while let Some(group) = pending.pop() {
            if !materialized.put(group.index()) {
                let operator = reader.operator(group);
                pending.extend(self.materialized_inputs(&operator).rev());
                operators.push(operator);
            }
        }
        operators
    }

    /// The groups that an operator reads.
    pub(crate) fn materialized_inputs<'b>(
        &'b self,
        operator: &'b Operator,
    ) -> impl DoubleEndedIterator<Item = Member> + 'b {
        operator.inputs.iter().filter_map(|&id| self.search.member(id))
    }

    fn entry(&self, member: Member, index: EntryIndex) -> &Entry<'a> {
        &self.entries[member][index.index()].entry
    }
}

/// Reads operators of one plan off the table.
pub(crate) struct PlanReader<'r> {
    space: &'r SearchSpace<'r>,
    assignment: &'r Points,
    memory: &'r mut ReaderMemory,
    /// Whether the choices in the memory are those of this plan.
    has_chosen: bool,
}

impl<'r> PlanReader<'r> {
    /// Of the points of the assignment, those that determine the operator which starts at a group: what lies below a
    /// materialised point has no influence.
    pub(crate) fn influences(&mut self, group: Member) -> Influences {
        self.influences_among(group, |_| true).expect("all points are decided")
    }

    /// [`Self::influences`] where points that are not true are decided or not; none if one that is not could change the
    /// operator.
    pub(crate) fn influences_among(&mut self, group: Member, is_decided: impl Fn(Point) -> bool) -> Option<Influences> {
        let mut influences = Influences::new();
        self.memory.next_operator();
        let mut pending: SmallVec<[Member; 32]> = SmallVec::from_slice(&[group]);
        while let Some(group) = pending.pop() {
            for reference in self.space.graph.references_of(group) {
                match reference.point {
                    Some(point) if self.assignment.contains(point.index()) => influences.push(point),
                    Some(point) if !is_decided(point) => return None,
                    _ if self.memory.is_new(reference.producer) => pending.push(reference.producer),
                    _ => {}
                }
            }
        }
        Some(influences)
    }

    /// The operator that starts at a group: fused by the best entry that gives one which can be constructed, else basic.
    pub(crate) fn operator(&mut self, start: Member) -> Operator {
        if !std::mem::replace(&mut self.has_chosen, true) {
            self.choose();
        }
        let mut refused: SmallVec<[EntryIndex; 4]> = SmallVec::new();
        while let Some(index) = self.start_entry(start, &refused) {
            let operator = self.fused(start, index);
            if let Some(operator) = operator.constructible(self.space.search.context) {
                return operator;
            }
            refused.push(index);
        }
        Operator::basic(self.space.search.context, self.space.search.id(start))
    }

    /// Chooses the best usable open entries of every group.
    fn choose(&mut self) {
        self.memory.choices.clear();
        self.memory.choices.reserve(self.space.search.partition.members.len());
        for member in self.space.search.members() {
            let entries = self.space.entries[member];
            let mut choice = Choice::default();
            for (index, pointed) in entries.iter().enumerate() {
                if pointed.entry.is_open && self.is_usable(pointed) {
                    improve(&mut choice, entries, EntryIndex::new(index));
                }
            }
            self.memory.choices.push(choice);
        }
    }

    fn is_usable(&self, pointed: &PointedEntry<'_>) -> bool {
        let Entry { ttype, .. } = pointed.entry;
        !pointed.points.iter().any(|&point| self.assignment.contains(point.index()))
            && leads_on(&pointed.entry, |reference| self.continued(reference, ttype))
    }

    /// The entry that a group continues operators of a template with.
    fn continued(&self, member: Member, template: TemplateType) -> Option<&'r Entry<'r>> {
        let chosen = self.memory.choices[member.index()][template as usize];
        chosen.map(|index| self.space.entry(member, index))
    }

    /// The best usable entry with references to start an operator with, besides the refused ones.
    fn start_entry(&self, start: Member, refused: &[EntryIndex]) -> Option<EntryIndex> {
        let entries = self.space.entries[start].iter().enumerate();
        let starts = entries.filter(|(index, pointed)| {
            pointed.entry.is_start && !refused.contains(&EntryIndex::new(*index)) && self.is_usable(pointed)
        });
        let best = starts
            .min_by_key(|(_, pointed)| (template::rank(pointed.entry.ttype), Reverse(pointed.entry.references.len())));
        best.map(|(index, _)| EntryIndex::new(index))
    }

    /// The operator that an entry of a group starts.
    fn fused(&mut self, start: Member, index: EntryIndex) -> Operator {
        let PartitionSearch { context, .. } = self.space.search;
        let (entry, root) = (self.space.entry(start, index), self.space.search.id(start));
        self.memory.next_operator();
        let mut members: Hops = smallvec![root];
        follow(entry, |reference, ttype| {
            if !self.memory.is_new(reference) {
                return None;
            }
            members.push(self.space.search.id(reference));
            self.continued(reference, ttype)
        });
        members.sort_unstable();
        let inputs = outside_inputs(context.dag, &members);
        Operator { template: Some(entry.ttype), roots: smallvec![root], members, inputs }
    }
}

/// Makes an entry of a group the choice for all templates to whose operators it is the best so far.
fn improve(choice: &mut Choice, entries: &[PointedEntry<'_>], index: EntryIndex) {
    let entry = &entries[index.index()].entry;
    for (slot, &template) in choice.iter_mut().zip(TemplateType::ALL) {
        let best = slot.map(|best| preference(&entries[best.index()].entry, template));
        if template::of(template).continues_with(entry.ttype)
            && best.is_none_or(|best| preference(entry, template) > best)
        {
            *slot = Some(index);
        }
    }
}

/// The entries of a group.
fn pointed_entries<'a>(search: &PartitionSearch<'a>, member: Member) -> &'a [PointedEntry<'a>] {
    let entries = Entry::all_of(search, search.id(member));
    slice(
        search.scratch,
        entries.iter().map(|&entry| PointedEntry { entry, points: points_of(search, member, &entry) }),
    )
}

/// The interesting points that an entry of a member crosses.
fn points_of<'a>(search: &PartitionSearch<'a>, member: Member, entry: &Entry<'_>) -> &'a [Point] {
    let points = entry.references.iter().filter_map(|&reference| search.point(member, reference));
    slice(search.scratch, points)
}
