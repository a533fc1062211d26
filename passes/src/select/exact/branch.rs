//! Branches of the search for operators: what is decided about the operators that are to grow, and what is left to decide
//! about those that have.

use super::super::entry::{EntryIndex, Member};
use super::group_set::GroupSet;
use smallvec::SmallVec;

/// A branch of the search for operators: the producers that are cut off, and those that are included for good.
#[derive(Clone, Default)]
pub(super) struct Branch {
    pub(super) cut: GroupSet,
    included: GroupSet,
    /// Entries that are not continued with.
    pub(super) refused: SmallVec<[(Member, EntryIndex); 2]>,
}

/// What can be decided about operators that have grown.
#[derive(Default)]
pub(super) struct Decisions {
    /// The interesting producers among the members.
    pub(super) producers: GroupSet,
    /// The entries that were continued with though another one has references that they lack: an Outer operator reaches
    /// one product or the other.
    pub(super) entries: SmallVec<[(Member, EntryIndex); 2]>,
}

impl Branch {
    /// The groups about which something is decided.
    pub(super) fn decided(&self) -> GroupSet {
        self.refused.iter().fold(self.cut.clone(), |mut decided, &(member, _)| {
            decided.insert(member);
            decided
        })
    }

    /// The producers that may still be cut off.
    pub(super) fn undecided(&self, decisions: &Decisions) -> GroupSet {
        decisions.producers.without(&self.included)
    }

    /// For each of these producers the branch that cuts it off and includes what comes after it; for each of these
    /// entries, which have alternatives, the branch that refuses it.
    pub(super) fn split(&self, open: &GroupSet, entries: &[(Member, EntryIndex)], branches: &mut Vec<Branch>) {
        for producer in open.iter() {
            let mut branch = self.clone();
            branch.cut.insert(producer);
            branch.included = branch.included.union(&open.after(producer));
            branches.push(branch);
        }
        for &entry in entries {
            let mut branch = self.clone();
            branch.refused.push(entry);
            branches.push(branch);
        }
    }
}
