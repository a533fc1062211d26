//! Disjoint sets of numbers.

use smallvec::SmallVec;

/// Which of the numbers `0..len` are connected.
pub(crate) struct UnionFind {
    parents: SmallVec<[u32; 32]>,
}

impl UnionFind {
    /// Every number by itself.
    pub(crate) fn new(len: usize) -> Self {
        UnionFind { parents: (0..len as u32).collect() }
    }

    /// The number that stands for all that are connected with this one.
    pub(crate) fn find(&mut self, number: usize) -> usize {
        let mut at = number;
        while self.parents[at] as usize != at {
            let parent = self.parents[at] as usize;
            self.parents[at] = self.parents[parent];
            at = parent;
        }
        at
    }

    /// Connects two numbers; the smaller stands for both.
    pub(crate) fn union(&mut self, one: usize, other: usize) {
        let (one, other) = (self.find(one), self.find(other));
        self.parents[one.max(other)] = one.min(other) as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_number_stands_for_its_set() {
        let mut sets = UnionFind::new(6);
        sets.union(4, 2);
        sets.union(5, 4);
        sets.union(0, 3);
        assert_eq!([0, 1, 2, 3, 4, 5].map(|number| sets.find(number)), [0, 1, 2, 0, 2, 2]);
    }
}
