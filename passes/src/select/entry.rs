//! Entries of a memo table that refer to groups by their places in a partition.

use crate::walk;
use bumpalo::Bump;
use bumpalo::collections::Vec as BumpVec;
use fuseline_ir::hop::HopId;
use fuseline_ir::memo::{MemoEntry, MemoTable, TemplateType};
use smallvec::SmallVec;

/// An entry with its references as positions in the partition.
#[derive(Clone, Copy)]
pub(super) struct Entry<'a> {
    pub(super) ttype: TemplateType,
    /// Whether operators start with it: it is valid, and has references.
    pub(super) is_start: bool,
    pub(super) is_open: bool,
    pub(super) references: &'a [usize],
}

impl walk::Entry for Entry<'_> {
    type Reference = usize;

    fn ttype(&self) -> TemplateType {
        self.ttype
    }

    fn references(&self) -> impl Iterator<Item = usize> {
        self.references.iter().copied()
    }
}

impl<'a> Entry<'a> {
    fn new(entry: &MemoEntry, position: impl Fn(HopId) -> Option<usize>, scratch: &'a Bump) -> Entry<'a> {
        Entry {
            ttype: entry.ttype,
            is_start: entry.close.is_valid() && entry.has_references(),
            is_open: entry.close.is_open(),
            references: slice(scratch, entry.references().filter_map(position)),
        }
    }

    /// The entries of a group.
    pub(super) fn all_of(
        memo: &MemoTable,
        id: HopId,
        position: impl Fn(HopId) -> Option<usize>,
        scratch: &'a Bump,
    ) -> &'a [Entry<'a>] {
        let mut entries: SmallVec<[MemoEntry; 8]> = SmallVec::from_slice(memo.entries(id));
        // The order of exploration decides nothing.
        entries.sort_unstable();
        slice(scratch, entries.iter().map(|entry| Entry::new(entry, &position, scratch)))
    }
}

/// These values as a part of the scratch.
pub(super) fn slice<T: Copy>(scratch: &Bump, values: impl IntoIterator<Item = T>) -> &[T] {
    BumpVec::from_iter_in(values, scratch).into_bump_slice()
}
