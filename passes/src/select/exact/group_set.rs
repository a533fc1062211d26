//! Sets of groups as bits, made for many tests of inclusion: what operators cover and read, and what is left to decide
//! about them.

use super::operators::Position;
use smallvec::SmallVec;

const BITS: usize = u64::BITS as usize;

/// A set of groups.
///
/// Only the words between its least and its greatest group are stored, so that sets of neighbours are small in partitions
/// of any size. Neither the first nor the last word is zero: equal sets are equal values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct GroupSet {
    /// The number of the first stored word.
    first: usize,
    words: SmallVec<[u64; 2]>,
}

impl GroupSet {
    pub(super) fn contains(&self, group: Position) -> bool {
        self.word(group / BITS) & bit(group) != 0
    }

    /// Adds a group; whether it was not there.
    pub(super) fn insert(&mut self, group: Position) -> bool {
        let number = group / BITS;
        if self.words.is_empty() {
            self.first = number;
        }
        if number < self.first {
            self.words.insert_many(0, std::iter::repeat_n(0, self.first - number));
            self.first = number;
        }
        let index = number - self.first;
        if index >= self.words.len() {
            self.words.resize(index + 1, 0);
        }
        let is_new = self.words[index] & bit(group) == 0;
        self.words[index] |= bit(group);
        is_new
    }

    pub(super) fn is_subset(&self, other: &GroupSet) -> bool {
        // The first and the last word of a set are not zero.
        let Some(skipped) = self.first.checked_sub(other.first) else { return self.is_empty() };
        let others = other.words.get(skipped..skipped + self.words.len());
        others.is_some_and(|others| self.words.iter().zip(others).all(|(word, other)| word & !other == 0))
    }

    /// Takes out a group, if it is there.
    pub(super) fn remove(&mut self, group: Position) {
        if self.contains(group) {
            *self = self.without(&GroupSet::from_iter([group]));
        }
    }

    /// Adds the groups of another set.
    pub(super) fn insert_all(&mut self, other: &GroupSet) {
        if !other.is_subset(self) {
            *self = self.union(other);
        }
    }

    /// The groups of both sets.
    pub(super) fn union(&self, other: &GroupSet) -> GroupSet {
        if self.words.is_empty() || other.words.is_empty() {
            return if self.words.is_empty() { other.clone() } else { self.clone() };
        }
        let first = self.first.min(other.first);
        let end = (self.first + self.words.len()).max(other.first + other.words.len());
        GroupSet { first, words: (first..end).map(|number| self.word(number) | other.word(number)).collect() }
    }

    /// The groups that are not in another set.
    pub(super) fn without(&self, other: &GroupSet) -> GroupSet {
        GroupSet::of_words(self.first, self.numbered().map(|(number, word)| word & !other.word(number)).collect())
    }

    /// The groups that are in another set, too.
    pub(super) fn within(&self, other: &GroupSet) -> GroupSet {
        GroupSet::of_words(self.first, self.numbered().map(|(number, word)| word & other.word(number)).collect())
    }

    /// Those after a group.
    pub(super) fn after(&self, group: Position) -> GroupSet {
        let kept = |number: usize| match number.cmp(&(group / BITS)) {
            std::cmp::Ordering::Less => 0,
            // Two shifts, because the last group of a word has none after it.
            std::cmp::Ordering::Equal => u64::MAX << (group % BITS) << 1,
            std::cmp::Ordering::Greater => u64::MAX,
        };
        GroupSet::of_words(self.first, self.numbered().map(|(number, word)| word & kept(number)).collect())
    }

    /// How many groups there are.
    pub(super) fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The groups, ascending.
    pub(super) fn iter(&self) -> impl Iterator<Item = Position> + '_ {
        let (mut words, mut word, mut next) = (self.words.iter(), 0_u64, self.first * BITS);
        std::iter::from_fn(move || {
            while word == 0 {
                word = *words.next()?;
                next += BITS;
            }
            let group = next - BITS + word.trailing_zeros() as usize;
            word &= word - 1;
            Some(group)
        })
    }

    fn of_words(mut first: usize, mut words: SmallVec<[u64; 2]>) -> GroupSet {
        while words.last() == Some(&0) {
            words.pop();
        }
        let zeros = words.iter().take_while(|&&word| word == 0).count();
        words.drain(..zeros);
        first = if words.is_empty() { 0 } else { first + zeros };
        GroupSet { first, words }
    }

    fn word(&self, number: usize) -> u64 {
        self.words.get(number.wrapping_sub(self.first)).copied().unwrap_or(0)
    }

    fn numbered(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        self.words.iter().enumerate().map(|(index, &word)| (self.first + index, word))
    }
}

impl FromIterator<Position> for GroupSet {
    fn from_iter<T: IntoIterator<Item = Position>>(groups: T) -> GroupSet {
        let mut set = GroupSet::default();
        for group in groups {
            set.insert(group);
        }
        set
    }
}

fn bit(group: Position) -> u64 {
    1 << (group % BITS)
}
