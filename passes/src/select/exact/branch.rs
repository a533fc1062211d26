//! Branches of the search for operators: what is decided about the operators that are to grow, and what is left to decide
//! about those that have.

use super::group_set::GroupSet;
use super::operators::Position;
use smallvec::SmallVec;

/// A branch of the search for operators: the producers that are cut off, and those that are included for good.
#[derive(Clone, Default)]
pub(super) struct Branch {
    pub(super) cut: SmallVec<[Position; 8]>,
    included: SmallVec<[Position; 16]>,
    /// Entries, by group and number, that are not continued with.
    pub(super) refused: SmallVec<[(Position, usize); 2]>,
}

/// What can be decided about operators that have grown.
#[derive(Default)]
pub(super) struct Decisions {
    /// The interesting producers among the members.
    pub(super) producers: Vec<Position>,
    /// The entries that were continued with though another one has references that they lack: an Outer operator reaches
    /// one product or the other.
    pub(super) entries: Vec<(Position, usize)>,
}

impl Branch {
    /// The first group about which something is decided.
    pub(super) fn first_decided(&self) -> Option<Position> {
        self.cut.iter().copied().chain(self.refused.iter().map(|&(position, _)| position)).min()
    }

    /// The producers that may still be cut off.
    pub(super) fn undecided(&self, decisions: &Decisions) -> GroupSet {
        decisions.producers.iter().filter(|producer| !self.included.contains(producer)).copied().collect()
    }

    /// For each of these producers the branch that cuts it off and includes what comes after it; for each of these
    /// entries, which have alternatives, the branch that refuses it.
    pub(super) fn split(&self, open: &GroupSet, entries: &[(Position, usize)], branches: &mut Vec<Branch>) {
        for (number, &producer) in open.iter().enumerate() {
            let mut branch = self.clone();
            branch.cut.push(producer);
            branch.included.extend_from_slice(&open[number + 1..]);
            branches.push(branch);
        }
        for &entry in entries {
            let mut branch = self.clone();
            branch.refused.push(entry);
            branches.push(branch);
        }
    }
}
