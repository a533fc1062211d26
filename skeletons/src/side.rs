//! Side inputs: what they are read for, in which format, and which of their columns.

use crate::roles::Role;
use crate::source::Source;
use fuseline_ir::schedule::MAX_UNIT_ROWS;
use std::collections::BTreeSet;
use std::ops::Range;

/// A side input with its role.
pub(crate) struct SideInput<'a> {
    pub(crate) role: Role,
    /// What is read, stored as it was given where skeletons lay rows or cells out unit by unit. Whole vectors and matrices, row vectors and the factors
    /// of Outer plans are made dense once, since every row reads them.
    pub(crate) source: Box<dyn Source + 'a>,
    pub(crate) cols: usize,
    /// What is read of each row, where the side is read by row.
    pub(crate) columns: Columns,
    /// What dense vectors are multiplied with, if it is the matrix.
    pub(crate) factor: Factor,
}

/// A matrix as a factor of dense vectors.
pub(crate) enum Factor {
    /// It is none.
    None,
    /// The cells of its transpose, for dot products.
    Transposed(Vec<f64>),
    /// Its own cells.
    Stored,
}

impl SideInput<'_> {
    /// Whether units read the side by row.
    pub(crate) fn is_by_row(&self) -> bool {
        matches!(self.role, Role::Row | Role::RowScalar | Role::FactorU)
    }

    /// What dense vectors are multiplied with: nothing if they are not.
    pub(crate) fn factor(&self) -> &[f64] {
        match &self.factor {
            Factor::None => &[],
            Factor::Transposed(values) => values,
            Factor::Stored => self.values(),
        }
    }

    /// The cells of an input whose role makes it dense.
    pub(crate) fn values(&self) -> &[f64] {
        let dense = self.source.dense();
        dense.expect("vectors, factors and whole matrices are made dense when they are bound").values()
    }
}

/// The columns that a plan reads of a side input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Columns {
    /// All of a range.
    Range(Range<usize>),
    /// Single ones.
    Single {
        /// Their numbers, ascending.
        columns: Vec<u32>,
        /// The distance between the rows of a copy.
        row_stride: usize,
    },
}

impl Columns {
    /// Single columns, in any order.
    pub(crate) fn single(columns: impl IntoIterator<Item = u32>) -> Self {
        let distinct: BTreeSet<u32> = columns.into_iter().collect();
        let columns: Vec<u32> = distinct.into_iter().collect();
        let row_stride = distinct_stride(&columns, MAX_UNIT_ROWS);
        Columns::Single { columns, row_stride }
    }

    /// One more than the last column.
    pub(crate) fn end(&self) -> usize {
        match self {
            Columns::Range(range) => range.end,
            Columns::Single { columns, .. } => columns.last().map_or(0, |&column| column as usize + 1),
        }
    }

    /// The distance between the rows of a copy.
    pub(crate) fn row_stride(&self) -> usize {
        match self {
            Columns::Range(range) => range.len(),
            Columns::Single { row_stride, .. } => *row_stride,
        }
    }
}

/// The smallest distance of rows at which the cells of these columns, column `j` of row `r` at `r * stride + j`, have
/// places of their own. Far columns thus need little more memory than close ones.
fn distinct_stride(columns: &[u32], rows: usize) -> usize {
    let is_distinct = |stride: &usize| {
        let mut places: Vec<(usize, usize)> =
            columns.iter().map(|&column| (column as usize % stride, column as usize / stride)).collect();
        places.sort_unstable();
        places.windows(2).all(|pair| pair[0].0 != pair[1].0 || pair[1].1 - pair[0].1 >= rows)
    };
    (1..).find(is_distinct).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_of_fixed_columns_have_places_of_their_own() {
        for (columns, rows) in [(vec![0], 9), (vec![3, 4], 9), (vec![0, 4, 8], 9), (vec![0, 999_999], 4096)] {
            let stride = distinct_stride(&columns, rows);
            assert!(stride <= columns.len() + 1, "{columns:?}: {stride}");
            let places = (0..rows).flat_map(|r| columns.iter().map(move |&j| r * stride + j as usize));
            let distinct: BTreeSet<usize> = places.collect();
            assert_eq!(distinct.len(), rows * columns.len());
        }
    }
}
