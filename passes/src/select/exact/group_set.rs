//! Sets of groups, made for many tests of inclusion: what operators read, and what is left to decide about them.

use super::operators::Position;
use smallvec::SmallVec;
use std::ops::Deref;

/// A set of groups, ascending.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct GroupSet {
    groups: SmallVec<[Position; 8]>,
    /// The bit of every group. Groups share bits, so that it can only show that one set does not contain another.
    signature: u64,
}

impl GroupSet {
    pub(super) fn contains(&self, group: Position) -> bool {
        self.signature & bit(group) != 0 && self.groups.contains(&group)
    }

    pub(super) fn is_subset(&self, other: &GroupSet) -> bool {
        self.signature & !other.signature == 0 && self.groups.iter().all(|group| other.groups.contains(group))
    }
}

impl FromIterator<Position> for GroupSet {
    fn from_iter<T: IntoIterator<Item = Position>>(groups: T) -> GroupSet {
        let mut groups: SmallVec<[Position; 8]> = groups.into_iter().collect();
        groups.sort_unstable();
        groups.dedup();
        let signature = groups.iter().fold(0, |signature, &group| signature | bit(group));
        GroupSet { groups, signature }
    }
}

impl Deref for GroupSet {
    type Target = [Position];

    fn deref(&self) -> &[Position] {
        &self.groups
    }
}

fn bit(group: Position) -> u64 {
    1 << (group % u64::BITS as usize)
}
