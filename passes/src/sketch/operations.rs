//! Sketches of results from sketches of operands.

use super::remembered::Remembered;
use super::{Counts, HALF, Sketch};
use fuseline_ir::ops::math;
use std::ops::Range;

impl Sketch {
    /// The transpose.
    pub fn transpose(&self) -> Sketch {
        Sketch { rows: self.cols.clone(), cols: self.rows.clone(), ..*self }
    }

    /// The rows from the last to the first.
    pub fn reverse_rows(&self) -> Sketch {
        Sketch { rows: self.rows.reversed(), ..self.clone() }
    }

    /// The matrix product with a matrix of as many rows as this one has columns.
    ///
    /// Where one side selects, so that no two terms meet in a cell, every pair of non-zeros gives one. Else non-zeros
    /// are taken to be spread evenly within the occupied rows and columns.
    pub fn product(&self, right: &Sketch) -> Sketch {
        let pairs = self.cols.zip(&right.rows, |left, right| left * right).sum();
        let non_zeros = if self.selects_by_row() || right.selects_by_column() {
            pairs
        } else {
            let room = self.occupied_rows() * right.occupied_cols();
            let met = self.spread_pairs(right, room);
            met.max(self.half_full_rows() * right.half_full_cols()).min(room).min(pairs)
        };
        let rows = self.rows.scaled_to(non_zeros, right.cols.len() as f64);
        let cols = right.cols.scaled_to(non_zeros, self.rows.len() as f64);
        Sketch::expected(rows, cols).with_negative(self.negative_products(right))
    }

    /// The share of products of non-zeros of two matrices that is negative, when their signs are independent.
    pub fn negative_products(&self, other: &Sketch) -> f64 {
        self.negative * (1.0 - other.negative) + other.negative * (1.0 - self.negative)
    }

    /// The share of the non-zeros of both that is negative.
    pub(super) fn mean_negative(&self, other: &Sketch) -> f64 {
        let (own, others) = (self.non_zeros(), other.non_zeros());
        let all = own + others;
        if all > 0.0 { (self.negative * own + other.negative * others) / all } else { HALF }
    }

    /// Cells of `room` that some of the pairs of non-zeros fall into, each independently of the others.
    fn spread_pairs(&self, right: &Sketch, room: f64) -> f64 {
        if room <= 0.0 {
            return 0.0;
        }
        let mut log_missed = Remembered::new(|share: f64| math::log1p(-share));
        let pairs = self.cols.zip(&right.rows, |left, right| log_missed.of((left * right / room).min(1.0)));
        let log_missed = pairs.sum();
        room * -math::expm1(log_missed)
    }

    /// Rows in which more than half of the columns are not zero: two such vectors surely meet.
    fn half_full_rows(&self) -> f64 {
        let half = self.cols.len() as f64 / 2.0;
        if self.is_exact { self.rows.map(|count| f64::from(u8::from(count > half))).sum() } else { 0.0 }
    }

    fn half_full_cols(&self) -> f64 {
        self.transpose().half_full_rows()
    }

    /// The element-wise product with a matrix of the same dimensions, or any other operation that a zero of either
    /// operand annihilates.
    pub fn intersection(&self, other: &Sketch) -> Sketch {
        let (rows, cols) = self.meetings(other);
        Sketch::expected(rows, cols)
    }

    /// Such a share of its non-zeros, whichever they are.
    pub(super) fn part(&self, share: f64) -> Sketch {
        let of = |counts: &Counts| counts.map(|count| share * count);
        Sketch::expected(of(&self.rows), of(&self.cols))
    }

    /// The intersection of two matrices whose non-zeros are among those of a third one, when which of them each has is
    /// independent.
    pub fn intersection_inside(&self, other: &Sketch, common: &Sketch) -> Sketch {
        let met = |one: &Counts, other: &Counts, common: &Counts| {
            let pairs = one.zip(other, |one, other| one * other);
            let met = pairs.zip(common, |pairs, common| if common > 0.0 { pairs / common } else { 0.0 });
            met.zip(&one.zip(other, f64::min), f64::min)
        };
        let rows = met(&self.rows, &other.rows, &common.rows);
        Sketch::expected(rows, met(&self.cols, &other.cols, &common.cols))
    }

    /// The element-wise sum with a matrix of the same dimensions, or any other operation that is zero where both are.
    pub fn union(&self, other: &Sketch) -> Sketch {
        self.union_of_shares(other, [1.0, 1.0])
    }

    /// The minimum, which a positive value leaves zero beside a zero, or any other operation of which such shares of the
    /// non-zeros of either matrix are left where the other one is zero.
    pub fn union_of_shares(&self, other: &Sketch, [of_one, of_other]: [f64; 2]) -> Sketch {
        let (met_rows, met_cols) = self.meetings(other);
        let joined = |one: &Counts, other: &Counts, met: &Counts| {
            let alone = |counts: &Counts, share: f64| counts.zip(met, |count, met| (count - met) * share);
            alone(one, of_one).zip(&alone(other, of_other), |one, other| one + other).zip(met, |alone, met| alone + met)
        };
        Sketch::expected(joined(&self.rows, &other.rows, &met_rows), joined(&self.cols, &other.cols, &met_cols))
    }

    /// The union with a matrix that has non-zeros wherever this one has, of which such a share is left elsewhere.
    pub(super) fn union_inside(&self, outer: &Sketch, share: f64) -> Sketch {
        let joined = |own: &Counts, outer: &Counts| own.zip(outer, |own, outer| own + (outer - own).max(0.0) * share);
        Sketch::expected(joined(&self.rows, &outer.rows), joined(&self.cols, &outer.cols))
    }

    /// Cells by row and by column in which two matrices of the same dimensions both have non-zeros, when rows and
    /// columns are independent.
    fn meetings(&self, other: &Sketch) -> (Counts, Counts) {
        let by_row = self.rows.zip(&other.rows, |one, other| one * other);
        let by_col = self.cols.zip(&other.cols, |one, other| one * other);
        let pairs = (self.non_zeros() * other.non_zeros()).max(f64::MIN_POSITIVE);
        let (row_rate, col_rate) = (by_col.sum() / pairs, by_row.sum() / pairs);
        let limit = |one: &Counts, other: &Counts, met: &Counts, rate: f64| {
            let least = one.zip(other, f64::min);
            met.zip(&least, |met, least| (met * rate).min(least))
        };
        (limit(&self.rows, &other.rows, &by_row, row_rate), limit(&self.cols, &other.cols, &by_col, col_rate))
    }

    /// The element-wise product with a column vector that repeats along the columns, and is taken to turn no signs.
    pub fn masked_by_column(&self, vector: &Sketch) -> Sketch {
        let present = vector.row_occupancies();
        let rows = self.rows.zip(&present, |count, present| count * present);
        let kept = if self.non_zeros() > 0.0 { rows.sum() / self.non_zeros() } else { 0.0 };
        Sketch::expected(rows, self.cols.map(|count| count * kept)).with_negative(self.negative)
    }

    /// The matrix of so many rows and columns in which a vector repeats; any other one as it is.
    pub fn repeated(&self, rows: usize, cols: usize) -> Sketch {
        let [down, across] = [(rows, &self.rows), (cols, &self.cols)].map(|(all, own)| all / own.len().max(1));
        let repeat = |counts: &Counts, all: usize, crosswise: usize| {
            let times = crosswise as f64;
            if counts.len() == all {
                counts.map(|count| count * times)
            } else {
                Counts::uniform(all, counts.sum() * times)
            }
        };
        let (of_rows, of_cols) = (repeat(&self.rows, rows, across), repeat(&self.cols, cols, down));
        Sketch::expected(of_rows, of_cols).with_negative(self.negative)
    }

    /// The element-wise product with a row vector that repeats along the rows.
    pub fn masked_by_row(&self, vector: &Sketch) -> Sketch {
        self.transpose().masked_by_column(&vector.transpose()).transpose()
    }

    /// The diagonal matrix of this column vector.
    pub fn diagonal_matrix(&self) -> Sketch {
        Sketch { rows: self.rows.clone(), cols: self.rows.clone(), ..*self }
    }

    /// The column vector of the diagonal of this square matrix.
    pub fn diagonal(&self) -> Sketch {
        let non_zeros = self.non_zeros().max(f64::MIN_POSITIVE);
        let rows = self.rows.zip(&self.cols, |row, col| (row * col / non_zeros).min(1.0));
        let total = rows.sum();
        Sketch::expected(rows, vec![total]).with_negative(self.negative)
    }

    /// The column vector of sums of rows.
    pub fn row_sums(&self) -> Sketch {
        let rows = self.row_occupancies();
        let total = rows.sum();
        Sketch { rows, cols: vec![total].into(), ..*self }
    }

    /// The row vector of sums of columns.
    pub fn column_sums(&self) -> Sketch {
        self.transpose().row_sums().transpose()
    }

    /// This matrix and another of as many rows, side by side.
    pub fn bind_columns(&self, right: &Sketch) -> Sketch {
        Sketch {
            rows: self.rows.zip(&right.rows, |left, right| left + right),
            cols: self.cols.chain(&right.cols),
            is_exact: self.is_exact && right.is_exact,
            negative: self.mean_negative(right),
        }
    }

    /// This matrix above another of as many columns.
    pub fn bind_rows(&self, below: &Sketch) -> Sketch {
        self.transpose().bind_columns(&below.transpose()).transpose()
    }

    /// A range of rows and columns, counted from 0.
    pub fn range(&self, rows: Range<usize>, cols: Range<usize>) -> Sketch {
        let (by_row, by_col) = (self.rows.range(rows.start, rows.len()), self.cols.range(cols.start, cols.len()));
        let (rows, cols, total) = (rows.len(), cols.len(), self.non_zeros());
        let [row_share, col_share] =
            [&by_row, &by_col].map(|counts| if total > 0.0 { counts.sum() / total } else { 0.0 });
        let is_whole = rows == self.rows.len() && cols == self.cols.len();
        let is_exact = self.is_exact && is_whole;
        Sketch {
            rows: by_row.map(|count| (count * col_share).min(cols as f64)),
            cols: by_col.map(|count| (count * row_share).min(rows as f64)),
            is_exact,
            negative: self.negative,
        }
    }
}
