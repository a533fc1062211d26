//! Non-zeros per row or per column.

use std::sync::Arc;

/// Rounds of spreading what exceeds the limit: each round fills more rows, and few are enough.
const ROUNDS: usize = 16;

/// The longest list that equal counts are spelt out for.
const MOST_SPELT_OUT: usize = 1 << 24;

/// One count for each row, or for each column. Cheap to clone.
#[derive(Clone, Debug, PartialEq)]
pub enum Counts {
    /// All are the same.
    Uniform {
        /// How many there are.
        length: usize,
        /// Each of them.
        count: f64,
    },
    /// One by one.
    Each(Arc<[f64]>),
}

impl From<Vec<f64>> for Counts {
    fn from(counts: Vec<f64>) -> Self {
        Counts::Each(counts.into())
    }
}

impl Counts {
    /// One count, `length` times.
    pub fn uniform(length: usize, count: f64) -> Self {
        Counts::Uniform { length, count }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Counts::Uniform { length, .. } => *length,
            Counts::Each(counts) => counts.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The count of a row or column.
    pub fn at(&self, position: usize) -> f64 {
        match self {
            Counts::Uniform { count, .. } => *count,
            Counts::Each(counts) => counts[position],
        }
    }

    /// All of them together.
    pub fn sum(&self) -> f64 {
        match self {
            Counts::Uniform { length, count } => *length as f64 * count,
            Counts::Each(counts) => counts.iter().sum(),
        }
    }

    /// The largest, 0 of none.
    pub fn max(&self) -> f64 {
        match self {
            Counts::Uniform { count, length } if *length > 0 => *count,
            Counts::Uniform { .. } => 0.0,
            Counts::Each(counts) => counts.iter().copied().fold(0.0, f64::max),
        }
    }

    /// A function of each.
    pub(super) fn map(&self, mut function: impl FnMut(f64) -> f64) -> Counts {
        match self {
            Counts::Uniform { length, count } => Counts::uniform(*length, function(*count)),
            Counts::Each(counts) => counts.iter().map(|&count| function(count)).collect::<Vec<_>>().into(),
        }
    }

    /// A function of each and the one of another list of the same length.
    pub(super) fn zip(&self, other: &Counts, mut function: impl FnMut(f64, f64) -> f64) -> Counts {
        debug_assert_eq!(self.len(), other.len(), "counts of the same dimension");
        match (self, other) {
            (Counts::Uniform { length, count }, Counts::Uniform { count: others, .. }) => {
                Counts::uniform(*length, function(*count, *others))
            }
            _ => (0..self.len())
                .map(|position| function(self.at(position), other.at(position)))
                .collect::<Vec<_>>()
                .into(),
        }
    }

    /// Counts in proportion to these that sum up to `total`, none above `limit`: what exceeds it goes to the others.
    pub(super) fn scaled_to(&self, total: f64, limit: f64) -> Counts {
        let mut scale = total / self.sum().max(f64::MIN_POSITIVE);
        if let Counts::Uniform { length, count } = *self {
            // None takes more than the others, and there may be more of them than can be counted one by one.
            return Counts::uniform(length, if count == 0.0 { 0.0 } else { (count * scale).min(limit) });
        }
        for _ in 0..ROUNDS {
            let (mut full, mut rest) = (0.0, 0.0);
            for count in self.iter() {
                if count * scale >= limit { full += limit } else { rest += count }
            }
            let fitting = if rest > 0.0 { ((total - full) / rest).max(0.0) } else { scale };
            if fitting <= scale {
                break;
            }
            scale = fitting;
        }
        self.map(|count| (count * scale).min(limit))
    }

    /// These, then those of another list.
    pub(super) fn chain(&self, other: &Counts) -> Counts {
        match (self, other) {
            (Counts::Uniform { length, count }, Counts::Uniform { length: more, count: others }) if count == others => {
                Counts::uniform(length + more, *count)
            }
            (Counts::Uniform { .. }, _) | (_, Counts::Uniform { .. }) if self.len() + other.len() > MOST_SPELT_OUT => {
                let length = self.len() + other.len();
                Counts::uniform(length, (self.sum() + other.sum()) / length as f64)
            }
            _ => self.iter().chain(other.iter()).collect::<Vec<_>>().into(),
        }
    }

    /// A range of them.
    pub(super) fn range(&self, first: usize, length: usize) -> Counts {
        match self {
            Counts::Uniform { count, .. } => Counts::uniform(length, *count),
            Counts::Each(counts) => counts[first..first + length].to_vec().into(),
        }
    }

    /// From the last to the first.
    pub(super) fn reversed(&self) -> Counts {
        match self {
            Counts::Uniform { .. } => self.clone(),
            Counts::Each(counts) => counts.iter().rev().copied().collect::<Vec<_>>().into(),
        }
    }

    fn iter(&self) -> impl Iterator<Item = f64> + '_ {
        (0..self.len()).map(|position| self.at(position))
    }
}

#[cfg(test)]
mod tests {
    use super::Counts;

    /// More than could be counted one by one, or spelt out.
    #[test]
    fn equal_counts_of_any_number_are_scaled_and_joined_at_once() {
        let (many, few) = (Counts::uniform(1 << 53, 2.0), Counts::from(vec![1.0, 3.0]));
        let scaled = many.scaled_to((1_u64 << 52) as f64, 5.0);
        assert_eq!((scaled.len(), scaled.at(7)), (1 << 53, 0.5));
        assert_eq!(many.scaled_to(1e300, 5.0).at(0), 5.0);
        assert_eq!(Counts::uniform(1 << 53, 0.0).scaled_to(9.0, 5.0).at(0), 0.0);
        for joined in [many.chain(&few), few.chain(&many), many.chain(&Counts::uniform(1 << 52, 1.0))] {
            assert!(matches!(joined, Counts::Uniform { .. }) && joined.len() > 1 << 53, "{joined:?}");
        }
        assert_eq!(few.chain(&Counts::uniform(1, 9.0)), Counts::from(vec![1.0, 3.0, 9.0]));
    }
}
