//! How operators are read off a memo table: which entry of a group continues an operator, and what it then covers.

use crate::template;
use fuseline_ir::hop::HopId;
use fuseline_ir::memo::{MemoEntry, TemplateType};
use smallvec::{SmallVec, smallvec};

/// An entry as walks see it, in whatever way it refers to groups.
pub(crate) trait Entry {
    /// What refers to a group.
    type Reference: Copy;

    /// The template of operators with this entry.
    fn ttype(&self) -> TemplateType;

    /// The groups that the operator goes on to.
    fn references(&self) -> impl Iterator<Item = Self::Reference>;
}

impl Entry for MemoEntry {
    type Reference = HopId;

    fn ttype(&self) -> TemplateType {
        self.ttype
    }

    fn references(&self) -> impl Iterator<Item = HopId> {
        MemoEntry::references(self)
    }
}

/// Whether an operator with this entry has entries to go on with, given those that groups continue such operators with.
/// The parts of one whose template is driven must reach the product of its factors, which only entries of the template
/// lead to.
pub(crate) fn leads_on<'e, E: Entry + 'e>(entry: &E, continued: impl Fn(E::Reference) -> Option<&'e E>) -> bool {
    let template = template::of(entry.ttype());
    let (mut reaches_product, mut is_complete) = (entry.references().next().is_none(), true);
    for reference in entry.references() {
        let next = continued(reference);
        reaches_product |= next.is_some_and(|next| next.ttype() == entry.ttype());
        is_complete &= next.is_some();
    }
    is_complete && (reaches_product || !template.is_driven())
}

/// How good an entry is to continue an operator of this template: its own before others, then those with more
/// references; the greatest is the best, of equals the first.
pub(crate) fn preference(entry: &impl Entry, template: TemplateType) -> (bool, usize) {
    (entry.ttype() == template, entry.references().count())
}

/// Follows references from the entry that an operator starts with. `enter` takes each group that a reference of an entry
/// of some template leads to, possibly again, and gives the entry to go on with, unless the group was met before. Parts
/// of an operator go on with entries of their own template.
pub(crate) fn follow<'e, E: Entry + 'e>(
    start: &'e E,
    mut enter: impl FnMut(E::Reference, TemplateType) -> Option<&'e E>,
) {
    let mut pending: SmallVec<[&E; 16]> = smallvec![start];
    while let Some(entry) = pending.pop() {
        for reference in entry.references() {
            pending.extend(enter(reference, entry.ttype()));
        }
    }
}
