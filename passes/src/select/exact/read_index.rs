//! Which of many candidates read nothing but certain groups: found for all of them at once, with a bit for each.

use super::super::entry::Member;
use super::group_set::GroupSet;
use smallvec::SmallVec;

/// Candidates as bits.
type Bits = SmallVec<[u64; 4]>;

const BITS: usize = u64::BITS as usize;

/// The places of the bits that are set, ascending.
fn ones(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let place = (word != 0).then(|| word.trailing_zeros() as usize)?;
        word &= word - 1;
        Some(place)
    })
}

/// Candidates, numbered in the order in which they are added, by the groups that they read.
#[derive(Default)]
pub(super) struct ReadIndex {
    /// The candidates that read each group.
    readers: SmallVec<[(Member, Bits); 8]>,
    candidates: usize,
}

impl ReadIndex {
    /// Adds a candidate that reads these groups.
    pub(super) fn push(&mut self, reads: &GroupSet) {
        let (word, bit) = (self.candidates / BITS, self.candidates % BITS);
        for group in reads.iter() {
            let number = self.readers.iter().position(|(known, _)| *known == group).unwrap_or_else(|| {
                self.readers.push((group, Bits::new()));
                self.readers.len() - 1
            });
            let readers = &mut self.readers[number].1;
            if readers.len() <= word {
                readers.resize(word + 1, 0);
            }
            readers[word] |= 1 << bit;
        }
        self.candidates += 1;
    }

    /// The candidates that read no groups but these, ascending.
    pub(super) fn reading_only<'a>(&'a self, groups: &'a GroupSet) -> impl Iterator<Item = usize> + 'a {
        let others = self.readers.iter().filter(|(group, _)| !groups.contains(*group));
        let words = 0..self.candidates.div_ceil(BITS);
        let only = move |number: usize| {
            let reading_others = others.clone().filter_map(|(_, readers)| readers.get(number));
            ones(!reading_others.fold(0, |all, readers| all | readers)).map(move |bit| number * BITS + bit)
        };
        let count = self.candidates;
        words.flat_map(only).take_while(move |&candidate| candidate < count)
    }

    /// Whether a candidate reads a group.
    pub(super) fn reads(&self, candidate: usize, group: Member) -> bool {
        let found = self.readers.iter().find(|(known, _)| *known == group);
        let word = found.and_then(|(_, readers)| readers.get(candidate / BITS));
        word.is_some_and(|word| word >> (candidate % BITS) & 1 == 1)
    }
}
