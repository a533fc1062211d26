//! How operators grow along the references of the memo table, from a root to all that is not cut off.
//!
//! Going upwards, every group chooses the best open entry that leads on to groups with such entries; going down from the
//! root, the chosen entries say what the operator covers. Of one branch to the next little changes, so that only those
//! groups choose again that something is decided about, or that refer to one that chose differently.

use super::super::prune::needs_rows;
use super::super::space::constructible;
use super::branch::{Branch, Decisions};
use super::group_set::GroupSet;
use super::operators::Position;
use crate::cost::Operator;
use crate::partition::{InterestingPoint, PlanPartition};
use crate::template::{Context, is_elementwise};
use cranelift_entity::SecondaryMap;
use fuseline_ir::hop::{HopId, HopOp};
use fuseline_ir::memo::{MemoEntry, MemoTable, TemplateType};
use smallvec::SmallVec;

/// An entry with its references as positions in the partition.
struct Entry {
    ttype: TemplateType,
    is_valid: bool,
    is_open: bool,
    references: SmallVec<[Position; 3]>,
}

/// One group of a partition.
struct Group {
    id: HopId,
    entries: Vec<Entry>,
    /// The open entries of each template, those with more references first.
    open: [SmallVec<[u32; 4]>; TemplateType::ALL.len()],
    /// The groups that entries refer to.
    references: SmallVec<[Position; 4]>,
    /// The operator's inputs, with their positions in the partition.
    inputs: SmallVec<[(HopId, Option<Position>); 3]>,
    /// Whether all operators over cells that contain the group, or start there, have a matrix to be their main input.
    has_main: bool,
}

/// The entries that a growing operator continues with: its own template's or, for lack of these, Cell's; and those of its
/// Cell parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Choice {
    own: Option<u32>,
    cell: Option<u32>,
}

impl Choice {
    fn of(self, ttype: TemplateType) -> Option<u32> {
        if ttype == TemplateType::Cell { self.cell } else { self.own }
    }
}

/// What an operator covers of a partition, with the template that it is built as.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Cover {
    pub(super) template: TemplateType,
    pub(super) members: GroupSet,
}

/// An operator that has grown.
pub(super) struct Grown {
    pub(super) cover: Cover,
    /// None where it was known.
    pub(super) operator: Option<Operator>,
}

/// The groups of a partition by position, with the choices of the operator that grows.
pub(super) struct Growth<'a> {
    context: &'a Context<'a>,
    groups: Vec<Group>,
    positions: SecondaryMap<HopId, Option<u32>>,
    /// The groups that may be cut off from the operators that refer to them.
    interesting: GroupSet,
    choices: Vec<Choice>,
    /// The same where nothing is decided.
    undecided: Vec<Choice>,
    /// The groups that chose differently.
    changed: Vec<Position>,
    is_changed: Vec<bool>,
    /// Groups visited so far.
    pub(super) visited: u64,
}

impl<'a> Growth<'a> {
    pub(super) fn new(context: &'a Context<'a>, memo: &MemoTable, partition: &'a PlanPartition) -> Self {
        let count = partition.members.len();
        let mut positions = SecondaryMap::<HopId, Option<u32>>::new();
        for (position, &member) in partition.members.iter().enumerate() {
            positions[member] = Some(position as u32);
        }
        let position = |id: HopId| positions[id].map(|position| position as usize);
        let mut groups: Vec<Group> = Vec::with_capacity(count);
        for &id in &partition.members {
            let group = Group::new(context, memo, id, &position, &groups);
            groups.push(group);
        }
        let producers = partition.points.iter().filter_map(|&InterestingPoint { producer, .. }| position(producer));
        Growth {
            context,
            groups,
            interesting: producers.collect(),
            choices: vec![Choice::default(); count],
            undecided: vec![Choice::default(); count],
            changed: Vec::new(),
            is_changed: vec![false; count],
            visited: 0,
            positions,
        }
    }

    pub(super) fn position(&self, id: HopId) -> Option<Position> {
        self.positions[id].map(|position| position as usize)
    }

    /// Whether operators of a template may start at a group.
    pub(super) fn starts(&self, root: Position, template: TemplateType) -> bool {
        self.groups[root].entries.iter().any(|entry| entry.ttype == template && entry.is_valid)
    }

    /// The groups that references lead to from here, ascending, this one included.
    pub(super) fn below(&mut self, root: Position) -> Vec<Position> {
        let mut met = GroupSet::from_iter([root]);
        let mut pending = vec![root];
        while let Some(position) = pending.pop() {
            self.visited += 1;
            pending.extend(self.groups[position].references.iter().filter(|&&reference| met.insert(reference)));
        }
        met.iter().collect()
    }

    /// Chooses entries where nothing is decided, for operators of this template.
    pub(super) fn start(&mut self, template: TemplateType, below: &[Position]) {
        self.changed.clear();
        for &position in below {
            self.is_changed[position] = false;
            self.choices[position] = self.choose(position, template, &Branch::default());
            self.undecided[position] = self.choices[position];
        }
    }

    /// The operators of a branch, and what there is to decide about them. There are several where no entry of the root has
    /// the references of all others. Follows [`Growth::start`] with the same template and groups.
    pub(super) fn grow(
        &mut self,
        root: Position,
        template: TemplateType,
        below: &[Position],
        branch: &Branch,
        is_known: impl Fn(&Cover) -> bool,
    ) -> (SmallVec<[Grown; 1]>, Decisions) {
        self.visited += below.len() as u64;
        self.choose_again(template, below, branch);
        let mut decisions = Decisions::default();
        let mut operators = SmallVec::new();
        let mut taken: SmallVec<[u32; 4]> = SmallVec::new();
        for number in self.start_entries(root, template) {
            let references = |number: u32| &self.groups[root].entries[number as usize].references;
            let contains = |&other: &u32| references(number).iter().all(|id| references(other).contains(id));
            if taken.iter().any(contains) {
                continue;
            }
            let cover = Cover { template, members: self.members(root, number, &mut decisions) };
            if is_known(&cover) {
                taken.push(number);
                operators.push(Grown { cover, operator: None });
            } else if let Some(operator) = constructible(self.context, self.operator(root, &cover)) {
                taken.push(number);
                let cover = Cover { template: operator.template.unwrap_or(template), ..cover };
                operators.push(Grown { cover, operator: Some(operator) });
            }
        }
        decisions.entries.sort_unstable();
        decisions.entries.dedup();
        (operators, decisions)
    }

    /// Whether Cell operators from a root are all that Row operators come to in a branch and those that it leads to.
    ///
    /// So it is where nothing that the operator may come to include needs rows, and has Row and Cell entries that are alike:
    /// of these both templates choose the same references, whatever else is cut off.
    pub(super) fn is_cell_work(&self, root: Position, branch: &Branch) -> bool {
        if !self.groups[root].has_main {
            return false;
        }
        let mut met = GroupSet::from_iter([root]);
        let mut pending: SmallVec<[Position; 16]> = SmallVec::from_slice(&[root]);
        while let Some(position) = pending.pop() {
            let group = &self.groups[position];
            let is_usable = |entry: &&Entry| {
                let has_role = if position == root { entry.is_valid } else { entry.is_open };
                has_role && !entry.references.iter().any(|&reference| branch.cut.contains(reference))
            };
            let of = |ttype: TemplateType| group.entries.iter().filter(move |it| it.ttype == ttype).filter(is_usable);
            let (rows, cells) = (of(TemplateType::Row), of(TemplateType::Cell));
            if !are_alike(rows.clone(), cells.clone()) {
                return false;
            }
            let references = rows.chain(cells).flat_map(|entry| entry.references.iter().copied());
            pending.extend(references.filter(|&reference| met.insert(reference)));
        }
        let ids: SmallVec<[HopId; 32]> = met.iter().map(|position| self.groups[position].id).collect();
        !needs_rows(self.context, &ids, self.groups[root].id)
    }

    /// Chooses the entries of a branch.
    fn choose_again(&mut self, template: TemplateType, below: &[Position], branch: &Branch) {
        for position in self.changed.drain(..) {
            self.choices[position] = self.undecided[position];
            self.is_changed[position] = false;
        }
        let decided = branch.decided();
        // Groups below all that is decided choose as they do where nothing is.
        let first = decided.iter().next().map_or(below.len(), |first| below.partition_point(|&group| group < first));
        for &position in &below[first..] {
            let is_affected = decided.contains(position)
                || self.groups[position].references.iter().any(|&reference| self.is_changed[reference]);
            if is_affected {
                let choice = self.choose(position, template, branch);
                if choice != self.undecided[position] {
                    self.choices[position] = choice;
                    self.is_changed[position] = true;
                    self.changed.push(position);
                }
            }
        }
    }

    /// The best usable open entries of a group, for operators of this template and for Cell parts of them.
    fn choose(&self, position: Position, template: TemplateType, branch: &Branch) -> Choice {
        if branch.cut.contains(position) {
            return Choice::default();
        }
        let group = &self.groups[position];
        let best = |ttype: TemplateType| {
            let is_free = |number: u32| !branch.refused.contains(&(position, number));
            let mut open = group.open[ttype as usize].iter().copied();
            open.find(|&number| is_free(number) && self.is_usable(&group.entries[number as usize]))
        };
        let cell = best(TemplateType::Cell);
        let own = if template == TemplateType::Cell { cell } else { best(template).or(cell) };
        Choice { own, cell }
    }

    fn is_usable(&self, entry: &Entry) -> bool {
        let resumed = |position: Position| self.choices[position].of(entry.ttype);
        let is_outer = |position: Position, number: u32| {
            self.groups[position].entries[number as usize].ttype == TemplateType::Outer
        };
        // An Outer operator must reach its product, which only Outer entries lead to.
        let reaches_product = entry.ttype != TemplateType::Outer
            || entry.references.is_empty()
            || entry.references.iter().any(|&reference| resumed(reference).is_some_and(|it| is_outer(reference, it)));
        reaches_product && entry.references.iter().all(|&reference| resumed(reference).is_some())
    }

    /// The usable entries of a template to start an operator with, those with more references first.
    fn start_entries(&self, root: Position, template: TemplateType) -> SmallVec<[u32; 8]> {
        let is_start = |entry: &Entry| entry.ttype == template && entry.is_valid && self.is_usable(entry);
        by_references(&self.groups[root].entries, is_start)
    }

    /// Whether another open Outer entry of the group has references that this one lacks.
    fn has_alternative(&self, position: Position, number: u32) -> bool {
        let group = &self.groups[position];
        let own = &group.entries[number as usize];
        let lacks = |other: &Entry| other.references.iter().any(|reference| !own.references.contains(reference));
        own.ttype == TemplateType::Outer
            && group.open[TemplateType::Outer as usize]
                .iter()
                .map(|&other| &group.entries[other as usize])
                .any(|other| lacks(other) && self.is_usable(other))
    }

    /// The members of the operator that an entry of a group starts; collects what there is to decide about it.
    fn members(&self, root: Position, number: u32, decisions: &mut Decisions) -> GroupSet {
        let mut members = GroupSet::default();
        let mut pending: SmallVec<[(Position, u32); 16]> = SmallVec::from_slice(&[(root, number)]);
        while let Some((position, number)) = pending.pop() {
            let entry = &self.groups[position].entries[number as usize];
            for &reference in &entry.references {
                if !members.insert(reference) {
                    continue;
                }
                // A Cell entry inside of another template continues with Cell entries.
                if let Some(number) = self.choices[reference].of(entry.ttype) {
                    if self.has_alternative(reference, number) {
                        decisions.entries.push((reference, number));
                    }
                    pending.push((reference, number));
                }
            }
        }
        decisions.producers = decisions.producers.union(&members.within(&self.interesting));
        members.insert(root);
        members
    }

    /// The operator with a cover.
    fn operator(&self, root: Position, Cover { template, members }: &Cover) -> Operator {
        let groups = || members.iter().map(|position| &self.groups[position]);
        let is_outside = |(_, position): &&(HopId, Option<Position>)| !position.is_some_and(|it| members.contains(it));
        let outside = groups().flat_map(|group| group.inputs.iter().filter(is_outside));
        let mut inputs: SmallVec<[HopId; 32]> = outside.map(|&(id, _)| id).collect();
        inputs.sort_unstable();
        inputs.dedup();
        let mut ids = Vec::with_capacity(members.len());
        ids.extend(groups().map(|group| group.id));
        Operator { template: Some(*template), root: self.groups[root].id, members: ids, inputs: inputs.to_vec() }
    }
}

impl Group {
    fn new(
        context: &Context<'_>,
        memo: &MemoTable,
        id: HopId,
        position: &impl Fn(HopId) -> Option<Position>,
        before: &[Group],
    ) -> Group {
        let mut entries = memo.entries(id).to_vec();
        // The order of exploration decides nothing.
        entries.sort_unstable();
        let index = |entry: &MemoEntry| Entry {
            ttype: entry.ttype,
            is_valid: entry.close.is_valid() && entry.has_references(),
            is_open: entry.close.is_open(),
            references: entry.references().filter_map(position).collect(),
        };
        let entries: Vec<Entry> = entries.iter().map(index).collect();
        let mut open: [SmallVec<[u32; 4]>; TemplateType::ALL.len()] = Default::default();
        for number in by_references(&entries, |entry| entry.is_open) {
            open[entries[number as usize].ttype as usize].push(number);
        }
        let mut references: SmallVec<[Position; 4]> =
            entries.iter().flat_map(|entry| entry.references.iter().copied()).collect();
        references.sort_unstable();
        references.dedup();
        let hop = context.hop(id);
        let inputs: SmallVec<[(HopId, Option<Position>); 3]> =
            hop.inputs.iter().map(|&input| (input, position(input))).collect();
        // A cell of the main input is read wherever the operator ends, at this group or below.
        let space = if matches!(hop.op, HopOp::AggUnary(..)) { context.hop(hop.inputs[0]).size } else { hop.size };
        let is_main = |&(input, position): &(HopId, Option<Position>)| {
            let is_elementwise = |group: &Group| is_elementwise(context.dag, group.id) && group.has_main;
            context.hop(input).size.same_dims(&space)
                && position.is_none_or(|position| is_elementwise(&before[position]))
        };
        let goes_by_cell = is_elementwise(context.dag, id) || matches!(hop.op, HopOp::AggUnary(..));
        let has_main = goes_by_cell && inputs.iter().any(is_main);
        Group { id, entries, open, references, has_main, inputs }
    }
}

/// Whether the best Row entry and the best Cell entry of a group have the same references, whichever of these are usable;
/// or no Row entry is usable, and the Cell entry is taken for lack of one.
///
/// So it is where every Row entry has a Cell entry with its references, and one without such a counterpart has more
/// references together with any Row entry, as a Row entry again: it is never the best where a Row entry is usable.
fn are_alike<'a>(
    rows: impl Iterator<Item = &'a Entry> + Clone,
    cells: impl Iterator<Item = &'a Entry> + Clone,
) -> bool {
    let join = |one: &Entry, other: &Entry, both: &Entry| {
        let is_in = |references: &[Position], entry: &Entry| references.iter().all(|it| entry.references.contains(it));
        is_in(&one.references, both)
            && is_in(&other.references, both)
            && both.references.iter().all(|it| one.references.contains(it) || other.references.contains(it))
    };
    rows.clone().all(|row| cells.clone().any(|cell| cell.references == row.references))
        && cells
            .filter(|cell| !rows.clone().any(|row| row.references == cell.references))
            .all(|cell| rows.clone().all(|row| rows.clone().any(|both| join(row, cell, both))))
}

/// The numbers of the entries that meet a condition, those with more references first.
fn by_references(entries: &[Entry], meets: impl Fn(&Entry) -> bool) -> SmallVec<[u32; 8]> {
    let mut numbers: SmallVec<[u32; 8]> =
        (0..entries.len() as u32).filter(|&number| meets(&entries[number as usize])).collect();
    numbers.sort_by_key(|&number| usize::MAX - entries[number as usize].references.len());
    numbers
}
