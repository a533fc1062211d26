//! Which of many candidates read nothing but certain groups: found for all of them at once, with a bit for each.

use super::group_set::GroupSet;
use super::operators::Position;
use fixedbitset::FixedBitSet;

/// Candidates, numbered in the order in which they are added, by the groups that they read.
#[derive(Default)]
pub(super) struct ReadIndex {
    /// The candidates that read each group.
    readers: Vec<(Position, FixedBitSet)>,
    candidates: usize,
}

impl ReadIndex {
    /// Adds a candidate that reads these groups.
    pub(super) fn push(&mut self, reads: &GroupSet) {
        for group in reads.iter() {
            let number = self.readers.iter().position(|(known, _)| *known == group).unwrap_or_else(|| {
                self.readers.push((group, FixedBitSet::new()));
                self.readers.len() - 1
            });
            self.readers[number].1.grow_and_insert(self.candidates);
        }
        self.candidates += 1;
    }

    /// The candidates that read no groups but these, ascending.
    pub(super) fn reading_only(&self, groups: &GroupSet) -> FixedBitSet {
        let mut others = FixedBitSet::with_capacity(self.candidates);
        for (_, readers) in self.readers.iter().filter(|(group, _)| !groups.contains(*group)) {
            others.union_with(readers);
        }
        others.toggle_range(..);
        others
    }

    /// The candidates that read a group.
    pub(super) fn readers(&self, group: Position) -> impl Fn(usize) -> bool + '_ {
        let found = self.readers.iter().find(|(known, _)| *known == group);
        move |candidate| found.is_some_and(|(_, readers)| readers.contains(candidate))
    }
}
