//! Sets of groups as bits, made for many tests of inclusion: what operators cover and read, and what is left to decide
//! about them.

use super::super::entry::Member;
use cranelift_entity::EntityRef;
use smallvec::SmallVec;
use std::marker::PhantomData;

const BITS: usize = u64::BITS as usize;

/// A set of groups.
pub(super) type GroupSet = IndexSet<Member>;

/// A set of what has an index.
///
/// Only the words between its least and its greatest element are stored, so that sets of neighbours are small in
/// partitions of any size. Neither the first nor the last word is zero: equal sets are equal values.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct IndexSet<E> {
    /// The number of the first stored word.
    first: usize,
    words: SmallVec<[u64; 2]>,
    elements: PhantomData<E>,
}

impl<E> Default for IndexSet<E> {
    fn default() -> Self {
        IndexSet { first: 0, words: SmallVec::new(), elements: PhantomData }
    }
}

impl<E: EntityRef> IndexSet<E> {
    pub(super) fn contains(&self, element: E) -> bool {
        self.word(element.index() / BITS) & bit(element) != 0
    }

    /// Adds an element; whether it was not there.
    pub(super) fn insert(&mut self, element: E) -> bool {
        let number = element.index() / BITS;
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
        let is_new = self.words[index] & bit(element) == 0;
        self.words[index] |= bit(element);
        is_new
    }

    pub(super) fn is_subset(&self, other: &IndexSet<E>) -> bool {
        // The first and the last word of a set are not zero.
        let Some(skipped) = self.first.checked_sub(other.first) else { return self.is_empty() };
        let others = other.words.get(skipped..skipped + self.words.len());
        others.is_some_and(|others| self.words.iter().zip(others).all(|(word, other)| word & !other == 0))
    }

    /// Takes out an element, if it is there.
    pub(super) fn remove(&mut self, element: E) {
        if self.contains(element) {
            *self = self.without(&IndexSet::from_iter([element]));
        }
    }

    /// Adds the elements of another set.
    pub(super) fn insert_all(&mut self, other: &IndexSet<E>) {
        if !other.is_subset(self) {
            *self = self.union(other);
        }
    }

    /// The elements of both sets.
    pub(super) fn union(&self, other: &IndexSet<E>) -> IndexSet<E> {
        if self.words.is_empty() || other.words.is_empty() {
            return if self.words.is_empty() { other.clone() } else { self.clone() };
        }
        let first = self.first.min(other.first);
        let end = (self.first + self.words.len()).max(other.first + other.words.len());
        IndexSet {
            first,
            elements: PhantomData,
            words: (first..end).map(|number| self.word(number) | other.word(number)).collect(),
        }
    }

    /// The elements that are not in another set.
    pub(super) fn without(&self, other: &IndexSet<E>) -> IndexSet<E> {
        IndexSet::of_words(self.first, self.numbered().map(|(number, word)| word & !other.word(number)).collect())
    }

    /// The elements that are in another set, too.
    pub(super) fn within(&self, other: &IndexSet<E>) -> IndexSet<E> {
        IndexSet::of_words(self.first, self.numbered().map(|(number, word)| word & other.word(number)).collect())
    }

    /// The elements after one of them.
    pub(super) fn after(&self, element: E) -> IndexSet<E> {
        let kept = |number: usize| match number.cmp(&(element.index() / BITS)) {
            std::cmp::Ordering::Less => 0,
            // Two shifts, because the last group of a word has none after it.
            std::cmp::Ordering::Equal => u64::MAX << (element.index() % BITS) << 1,
            std::cmp::Ordering::Greater => u64::MAX,
        };
        IndexSet::of_words(self.first, self.numbered().map(|(number, word)| word & kept(number)).collect())
    }

    /// How many elements there are.
    pub(super) fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The elements, ascending.
    pub(super) fn iter(&self) -> impl Iterator<Item = E> + '_ {
        let (mut words, mut word, mut next) = (self.words.iter(), 0_u64, self.first * BITS);
        std::iter::from_fn(move || {
            while word == 0 {
                word = *words.next()?;
                next += BITS;
            }
            let index = next - BITS + word.trailing_zeros() as usize;
            word &= word - 1;
            Some(E::new(index))
        })
    }

    fn of_words(mut first: usize, mut words: SmallVec<[u64; 2]>) -> IndexSet<E> {
        while words.last() == Some(&0) {
            words.pop();
        }
        let zeros = words.iter().take_while(|&&word| word == 0).count();
        words.drain(..zeros);
        first = if words.is_empty() { 0 } else { first + zeros };
        IndexSet { first, words, elements: PhantomData }
    }

    fn word(&self, number: usize) -> u64 {
        self.words.get(number.wrapping_sub(self.first)).copied().unwrap_or(0)
    }

    fn numbered(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        self.words.iter().enumerate().map(|(index, &word)| (self.first + index, word))
    }
}

impl<E: EntityRef> FromIterator<E> for IndexSet<E> {
    fn from_iter<T: IntoIterator<Item = E>>(elements: T) -> IndexSet<E> {
        let mut set = IndexSet::default();
        for element in elements {
            set.insert(element);
        }
        set
    }
}

fn bit(element: impl EntityRef) -> u64 {
    1 << (element.index() % BITS)
}
