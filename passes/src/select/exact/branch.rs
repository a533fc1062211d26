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
    /// Seconds of writing what not every plan materialises, which all plans with an operator of the branch spend.
    writes: f64,
    /// Entries that are not continued with.
    pub(super) refused: SmallVec<[(Member, EntryIndex); 2]>,
}

/// What can be decided about operators that have grown.
#[derive(Default)]
pub(super) struct Decisions {
    /// The members that operators may be told to read.
    pub(super) producers: GroupSet,
    /// The entries that were continued with though another one has references that they lack: an Outer operator reaches
    /// one product or the other.
    pub(super) entries: SmallVec<[(Member, EntryIndex); 2]>,
}

impl Branch {
    /// The branch in which nothing is decided, given what its plans spend on writing.
    pub(super) fn first(writes: f64) -> Branch {
        Branch { writes, ..Branch::default() }
    }

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

    /// For each of these producers the branch that cuts it off and includes what comes after it, unless all its plans spend
    /// more than `slack`, given the seconds of `write` for each; for each of these entries, which have alternatives, the branch
    /// that refuses it.
    pub(super) fn split(
        &self,
        open: &GroupSet,
        entries: &[(Member, EntryIndex)],
        write: impl Fn(Member) -> f64,
        slack: f64,
        branches: &mut Vec<Branch>,
    ) {
        for producer in open.iter() {
            let writes = self.writes + write(producer);
            if writes > slack {
                continue;
            }
            let mut branch = Branch { writes, ..self.clone() };
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
