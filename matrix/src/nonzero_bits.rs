//! Which stored values are not zero, in bits.

use fuseline_vecprims::{Isa, primitives};

/// Counts the values of each row that are not zero, given where rows begin and, of the last one, end: `each(row, count)` is told.
///
/// Nobody could foretell where short rows end, so that no loop runs over one: counted are the bits of all.
pub(crate) fn count_nonzeros_of_rows(offsets: &[usize], values: &[f64], mut each: impl FnMut(usize, usize)) {
    let Some((&first, &last)) = offsets.first().zip(offsets.last()) else { return };
    let bits = NonzeroBits::of(&values[first..last]);
    let mut before = 0;
    for (row, &end) in offsets[1..].iter().enumerate() {
        let up_to = bits.up_to(end - first);
        each(row, up_to - before);
        before = up_to;
    }
}

/// Which of some values are not zero.
struct NonzeroBits {
    /// A bit for each value, in one word more than these need.
    words: Vec<u64>,
    /// How many are set in front of each word.
    in_front: Vec<usize>,
}

impl NonzeroBits {
    fn of(values: &[f64]) -> Self {
        let mut words = vec![0; values.len() / 64 + 1];
        primitives(Isa::detect()).nonzero_bits(values, &mut words);
        let mut count = 0;
        let in_front = words.iter().map(|word| {
            let in_front = count;
            count += word.count_ones() as usize;
            in_front
        });
        NonzeroBits { in_front: in_front.collect(), words }
    }

    /// How many of the first so many values are not zero.
    fn up_to(&self, position: usize) -> usize {
        let (word, bit) = (position / 64, position % 64);
        self.in_front[word] + (self.words[word] & ((1 << bit) - 1)).count_ones() as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
