//! Deterministic test data, extents, and bitwise comparison.

use fuseline_vecprims::{Isa, Primitives, primitives};

/// What outputs hold before a primitive runs; cells outside of its tile must keep it.
pub(crate) const UNTOUCHED: f64 = 7.25e77;

/// Numbers of rows that exercise groups of two, four and eight, and what is left of them.
pub(crate) const ROWS: &[usize] = &[0, 1, 2, 3, 7, 8, 9];

/// Lengths that exercise every tail of a register and of a round of 32 lanes.
pub(crate) fn lengths() -> impl Iterator<Item = usize> {
    (0..=70).chain([127, 128, 129, 1000])
}

/// The primitives of every instruction set of this machine.
pub(crate) fn all_primitives() -> Vec<&'static Primitives> {
    Isa::available().into_iter().map(primitives).collect()
}

/// Which values the data holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Of either sign, magnitudes over a few orders.
    Ordinary,
    /// Products underflow to zeros of either sign.
    Tiny,
    /// Ordinary values with NaN, infinities, zeros of either sign, ones, halves and subnormals among them.
    Special,
}

impl Kind {
    pub(crate) const ALL: &[Kind] = &[Kind::Ordinary, Kind::Tiny, Kind::Special];
}

/// Classes of values for the sweep.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Class {
    /// Small integers.
    Integers,
    /// Evenly from -1 to 1.
    Uniform,
    /// Binary exponents from -300 to 300.
    Exponents,
    /// Subnormals of either sign.
    Subnormal,
    /// Zeros of either sign, with a few ones.
    Zeros,
    /// NaN, infinities and other special values, with ordinary ones.
    Special,
}

impl Class {
    pub(crate) const ALL: &[Class] =
        &[Class::Integers, Class::Uniform, Class::Exponents, Class::Subnormal, Class::Zeros, Class::Special];
}

const SPECIAL: &[f64] = &[
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    2.0,
    1.5,
    -2.5,
    5e-324,
    -5e-324,
    1e-310,
    1e308,
    -1e308,
    709.9,
    -745.2,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
];

/// A linear congruential generator.
pub(crate) struct Generator(u64);

impl Generator {
    pub(crate) fn new(seed: u64) -> Generator {
        Generator(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x2545_f491_4f6c_dd1d)
    }

    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % bound
    }

    /// One value.
    pub(crate) fn value(&mut self, kind: Kind) -> f64 {
        if kind == Kind::Special && self.below(24) == 0 {
            return SPECIAL[self.below(SPECIAL.len())];
        }
        let mantissa = 1.0 + self.below(1 << 30) as f64 / (1_u64 << 30) as f64;
        let sign = if self.below(2) == 0 { 1.0 } else { -1.0 };
        let exponent = if kind == Kind::Tiny { -545 } else { self.below(7) as i32 - 3 };
        sign * mantissa * 2.0_f64.powi(exponent)
    }

    /// One value of a class of the sweep.
    pub(crate) fn of_class(&mut self, class: Class) -> f64 {
        let sign = if self.below(2) == 0 { 1.0 } else { -1.0 };
        let fraction = self.below(1 << 30) as f64 / (1_u64 << 30) as f64;
        match class {
            Class::Integers => sign * self.below(20) as f64,
            Class::Uniform => sign * fraction,
            Class::Exponents => sign * (1.0 + fraction) * 2.0_f64.powi(self.below(601) as i32 - 300),
            Class::Subnormal => sign * fraction * f64::MIN_POSITIVE,
            Class::Zeros => sign * if self.below(8) == 0 { 1.0 } else { 0.0 },
            Class::Special if self.below(3) == 0 => SPECIAL[self.below(SPECIAL.len())],
            Class::Special => sign * 8.0 * fraction,
        }
    }

    /// `count` values.
    pub(crate) fn values(&mut self, kind: Kind, count: usize) -> Vec<f64> {
        (0..count).map(|_| self.value(kind)).collect()
    }
}

/// CSR rows: rows of up to `longest` positions (some empty), columns increasing within a row, offsets from 5 on.
pub(crate) struct Csr {
    pub(crate) row_offsets: Vec<usize>,
    pub(crate) columns: Vec<u32>,
    pub(crate) values: Vec<f64>,
}

impl Csr {
    pub(crate) fn new(generator: &mut Generator, kind: Kind, rows: usize, cols: usize, longest: usize) -> Csr {
        let length = |generator: &mut Generator| match generator.below(4) {
            0 => 0,
            _ => generator.below(longest.min(cols) + 1),
        };
        let lengths: Vec<usize> = (0..rows).map(|_| length(generator)).collect();
        Csr::with_lengths(generator, kind, cols, &lengths)
    }

    /// Rows of these lengths.
    pub(crate) fn with_lengths(generator: &mut Generator, kind: Kind, cols: usize, lengths: &[usize]) -> Csr {
        let (mut row_offsets, mut columns) = (vec![5], Vec::new());
        for &len in lengths {
            let gap = cols / len.max(1);
            columns.extend((0..len).map(|index| (index * gap + generator.below(gap)) as u32));
            row_offsets.push(5 + columns.len());
        }
        let values = generator.values(kind, columns.len());
        Csr { row_offsets, columns, values }
    }

    /// Rows of which the first so many have their positions in the same columns.
    pub(crate) fn with_equal_rows(generator: &mut Generator, kind: Kind, rows: usize, equal: usize, len: usize) -> Csr {
        let (mut row_offsets, mut columns) = (vec![5], Vec::new());
        for row in 0..rows {
            let gap = if row < equal { 2 } else { 1 };
            columns.extend((0..len).map(|index| (index * gap) as u32));
            row_offsets.push(5 + columns.len());
        }
        let values = generator.values(kind, columns.len());
        Csr { row_offsets, columns, values }
    }

    pub(crate) fn tile(&self) -> fuseline_vecprims::CsrTile<'_> {
        fuseline_vecprims::CsrTile { row_offsets: &self.row_offsets, columns: &self.columns, values: &self.values }
    }

    /// The positions of a row, from 0 on.
    pub(crate) fn positions(&self, row: usize) -> std::ops::Range<usize> {
        self.row_offsets[row] - 5..self.row_offsets[row + 1] - 5
    }
}

/// Row `row` of a tile.
pub(crate) fn row(values: &[f64], row: usize, stride: usize, len: usize) -> &[f64] {
    if len == 0 { &[] } else { &values[row * stride..row * stride + len] }
}

/// Asserts equal bits, all NaNs being equal.
#[track_caller]
pub(crate) fn assert_same(actual: &[f64], expected: &[f64], what: impl Fn() -> String) {
    assert_eq!(actual.len(), expected.len());
    for (index, (x, y)) in actual.iter().zip(expected).enumerate() {
        let same = x.to_bits() == y.to_bits() || (x.is_nan() && y.is_nan());
        assert!(same, "{}: value {index} is {x:e}, not {y:e}", what());
    }
}
