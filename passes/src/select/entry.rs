//! Entries of a memo table that refer to groups by their places in a partition.

use super::search::PartitionSearch;
use crate::walk;
use bumpalo::Bump;
use bumpalo::collections::Vec as BumpVec;
use cranelift_entity::{EntityRef, entity_impl};
use fuseline_ir::hop::HopId;
use fuseline_ir::memo::{MemoEntry, TemplateType};
use smallvec::SmallVec;
use std::ops::{Index, IndexMut};

/// A group of a partition, by its place in [`crate::partition::PlanPartition::members`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Member(u32);
entity_impl!(Member, "member");

/// An entry of a group, by its place among the group's.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct EntryIndex(u32);
entity_impl!(EntryIndex, "entry");

/// An interesting point, by its place in [`crate::partition::PlanPartition::points`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Point(u32);
entity_impl!(Point, "point");

/// A value for each member.
#[derive(Clone)]
pub(super) struct ByMember<'a, T>(BumpVec<'a, T>);

impl<'a, T: Clone> ByMember<'a, T> {
    /// One value for so many members.
    pub(super) fn filled(value: T, count: usize, scratch: &'a Bump) -> ByMember<'a, T> {
        ByMember(bumpalo::vec![in scratch; value; count])
    }
}

impl<'a, T> ByMember<'a, T> {
    /// Values given for members in their order.
    pub(super) fn new(values: impl IntoIterator<Item = T>, scratch: &'a Bump) -> ByMember<'a, T> {
        ByMember(BumpVec::from_iter_in(values, scratch))
    }

    /// None so far, of so many.
    pub(super) fn with_capacity(count: usize, scratch: &'a Bump) -> ByMember<'a, T> {
        ByMember(BumpVec::with_capacity_in(count, scratch))
    }

    /// By index of members.
    pub(super) fn values(&self) -> &[T] {
        &self.0
    }

    /// The value of the next member.
    pub(super) fn push(&mut self, value: T) {
        self.0.push(value);
    }
}

impl<T> Index<Member> for ByMember<'_, T> {
    type Output = T;
    fn index(&self, member: Member) -> &T {
        &self.0[member.index()]
    }
}

impl<T> IndexMut<Member> for ByMember<'_, T> {
    fn index_mut(&mut self, member: Member) -> &mut T {
        &mut self.0[member.index()]
    }
}

/// An entry with its references as members of the partition.
#[derive(Clone, Copy)]
pub(super) struct Entry<'a> {
    pub(super) ttype: TemplateType,
    /// Whether operators start with it: it is valid, and has references.
    pub(super) is_start: bool,
    pub(super) is_open: bool,
    pub(super) references: &'a [Member],
}

impl walk::Entry for Entry<'_> {
    type Reference = Member;

    fn ttype(&self) -> TemplateType {
        self.ttype
    }

    fn references(&self) -> impl Iterator<Item = Member> {
        self.references.iter().copied()
    }
}

impl<'a> Entry<'a> {
    fn new(search: &PartitionSearch<'a>, entry: &MemoEntry) -> Entry<'a> {
        Entry {
            ttype: entry.ttype,
            is_start: entry.close.is_valid() && entry.has_references(),
            is_open: entry.close.is_open(),
            references: slice(search.scratch, entry.references().filter_map(|id| search.member(id))),
        }
    }

    /// The entries of a group.
    pub(super) fn all_of(search: &PartitionSearch<'a>, id: HopId) -> &'a [Entry<'a>] {
        let mut entries: SmallVec<[MemoEntry; 8]> = SmallVec::from_slice(search.memo.entries(id));
        // The order of exploration decides nothing.
        entries.sort_unstable();
        slice(search.scratch, entries.iter().map(|entry| Entry::new(search, entry)))
    }
}

/// These values as a part of the scratch.
pub(super) fn slice<T: Copy>(scratch: &Bump, values: impl IntoIterator<Item = T>) -> &[T] {
    BumpVec::from_iter_in(values, scratch).into_bump_slice()
}
