//! Which stored values are not zero, in bits.

use fuseline_vecprims::{Isa, primitives};

/// Counts the values of each row that are not zero, given where rows begin and, of the last one, end: `each(row, count)` is told.
///
/// Nobody could foretell where short rows end, so that no loop runs over one: counted are the bits of all.
pub(crate) fn count_nonzeros_of_rows(offsets: &[usize], values: &[f64], mut each: impl FnMut(usize, usize)) {
    let Some((&first, &last)) = offsets.first().zip(offsets.last()) else { return };
    let bits = NonzeroBits::of(&values[first..last]);
    let (in_front, mut before) = (bits.in_front(), 0);
    for (row, &end) in offsets[1..].iter().enumerate() {
        let (word, bit) = ((end - first) / 64, (end - first) % 64);
        let up_to = in_front[word] + (bits.words[word] & ((1 << bit) - 1)).count_ones() as usize;
        each(row, up_to - before);
        before = up_to;
    }
}

/// Which of some values are not zero.
pub(crate) struct NonzeroBits {
    /// A bit for each value, in one word more than these need.
    words: Vec<u64>,
}

impl NonzeroBits {
    pub(crate) fn of(values: &[f64]) -> Self {
        let mut words = vec![0; values.len() / 64 + 1];
        primitives(Isa::detect()).nonzero_bits(values, &mut words);
        NonzeroBits { words }
    }

    /// How many values are not zero.
    pub(crate) fn count(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Calls `each` with the positions of the values that are not zero, in order.
    pub(crate) fn for_each(&self, mut each: impl FnMut(usize)) {
        for (number, &word) in self.words.iter().enumerate() {
            let mut left = word;
            while left != 0 {
                each(64 * number + left.trailing_zeros() as usize);
                left &= left - 1;
            }
        }
    }

    /// How many are not zero in front of each word.
    fn in_front(&self) -> Vec<usize> {
        let mut count = 0;
        let in_front = self.words.iter().map(|word| {
            let in_front = count;
            count += word.count_ones() as usize;
            in_front
        });
        in_front.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn positions(bits: &NonzeroBits) -> Vec<usize> {
        let mut positions = vec![];
        bits.for_each(|position| positions.push(position));
        positions
    }

    #[test]
    fn positions_are_those_of_what_is_not_zero() {
        for len in [0, 1, 63, 64, 65, 1000] {
            let values: Vec<f64> = (0..len).map(|i| f64::from(i % 5 == 0 || i > 500)).collect();
            let bits = NonzeroBits::of(&values);
            let expected: Vec<usize> = (0..values.len()).filter(|&i| values[i] != 0.0).collect();
            assert_eq!(positions(&bits), expected);
            assert_eq!(bits.count(), expected.len());
        }
        assert_eq!(positions(&NonzeroBits::of(&[-0.0, f64::NAN, 0.0])), [1]);
    }

    /// Rows of all lengths, none and whole words among them, that begin behind other rows.
    #[test]
    fn rows_are_counted_by_definition() {
        for longest in [1, 3, 64, 65, 200] {
            let lengths: Vec<usize> = (0..300).map(|row| row * 7 % (longest + 1)).chain([64, 0, 128, 0]).collect();
            let ends = lengths.iter().scan(5, |end, length| {
                *end += length;
                Some(*end)
            });
            let offsets: Vec<usize> = [5].into_iter().chain(ends).collect();
            let value = |position: usize| [0.0, -0.0, 1.0, f64::NAN, 0.0, -3.0, 0.0][position * position % 7];
            let values: Vec<f64> = (0..offsets[offsets.len() - 1]).map(value).collect();
            let mut counts = vec![usize::MAX; lengths.len()];
            count_nonzeros_of_rows(&offsets, &values, |row, count| counts[row] = count);
            let of_row = |row: &[usize]| values[row[0]..row[1]].iter().filter(|&&value| value != 0.0).count();
            assert_eq!(counts, offsets.windows(2).map(of_row).collect::<Vec<_>>(), "rows of up to {longest}");
        }
    }
}
