//! Random leaves: classes of values, densities, formats, extents.

use super::case::Leaf;
use super::text::sparse;
use fuseline::{Dense, MatrixBlock};
use rand::RngExt;
use rand::seq::IndexedRandom;
use rand_pcg::Pcg64Mcg;

/// Which values the leaves of a case hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueClass {
    /// Small integers, and operations that keep integers: all plans agree bit for bit.
    IntegerExact,
    Uniform,
    Normal,
    /// Powers of two from 2^-300 to 2^300 as magnitudes.
    WideExponents,
    /// Numbers around the smallest normal one, and below.
    Subnormal,
    FewDistinct,
    /// Zeros of either sign among small numbers.
    SignedZeros,
    /// NaN and infinities among small numbers.
    NonFinite,
}

/// Classes with their shares of all cases, in percent.
const CLASSES: [(ValueClass, u32); 8] = [
    (ValueClass::IntegerExact, 66),
    (ValueClass::Uniform, 7),
    (ValueClass::Normal, 5),
    (ValueClass::WideExponents, 3),
    (ValueClass::Subnormal, 3),
    (ValueClass::FewDistinct, 4),
    (ValueClass::SignedZeros, 4),
    (ValueClass::NonFinite, 8),
];

impl ValueClass {
    pub(crate) fn draw(random: &mut Pcg64Mcg) -> Self {
        let mut ticket = random.random_range(0..100);
        for (class, share) in CLASSES {
            if ticket < share {
                return class;
            }
            ticket -= share;
        }
        ValueClass::IntegerExact
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            ValueClass::IntegerExact => "integers",
            ValueClass::Uniform => "uniform",
            ValueClass::Normal => "normal",
            ValueClass::WideExponents => "exponents",
            ValueClass::Subnormal => "subnormal",
            ValueClass::FewDistinct => "few",
            ValueClass::SignedZeros => "zeros",
            ValueClass::NonFinite => "non-finite",
        }
    }

    pub(crate) fn names() -> impl Iterator<Item = &'static str> {
        CLASSES.iter().map(|(class, _)| class.name())
    }

    pub(crate) fn value(self, random: &mut Pcg64Mcg) -> f64 {
        let uniform = |random: &mut Pcg64Mcg| random.random_range(-2.0..2.0);
        match self {
            ValueClass::IntegerExact => f64::from(random.random_range(-4_i32..=4)),
            ValueClass::Uniform => uniform(random),
            ValueClass::Normal => (0..12).map(|_| random.random_range(-0.5..0.5)).sum(),
            ValueClass::WideExponents => uniform(random) * 2_f64.powi(random.random_range(-300..=300)),
            ValueClass::Subnormal => uniform(random) * f64::MIN_POSITIVE,
            ValueClass::FewDistinct => *[0.5, -1.25, 3.0, 1.0].choose(random).expect("values"),
            ValueClass::SignedZeros => match random.random_range(0..4) {
                0 => -0.0,
                1 => 0.0,
                _ => uniform(random),
            },
            ValueClass::NonFinite => match random.random_range(0..40) {
                0 => f64::NAN,
                1 => f64::INFINITY,
                2 => f64::NEG_INFINITY,
                _ => uniform(random),
            },
        }
    }
}

/// Extents of matrices: small ones, those around powers of two, and some beyond blocks and tiles.
pub(crate) const EXTENTS: [usize; 28] =
    [0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 127, 128, 129, 255, 256, 257, 300, 1000, 1024];

/// An extent of at most this much.
pub(crate) fn extent(random: &mut Pcg64Mcg, most: usize) -> usize {
    let fitting = EXTENTS.iter().position(|&extent| extent > most).unwrap_or(EXTENTS.len());
    // Empty matrices say little beyond that they are possible.
    let first = usize::from(!random.random_bool(0.25));
    EXTENTS[random.random_range(first.min(fitting - 1)..fitting)]
}

/// Rows and columns, mostly of small matrices.
pub(crate) fn extents(random: &mut Pcg64Mcg) -> (usize, usize) {
    let most_cells = match random.random_range(0..100) {
        0..75 => 400,
        75..97 => 3_000,
        97..99 => 20_000,
        // Outer operators have several tiles.
        _ => 90_000,
    };
    let least_cells = if most_cells > 80_000 { 66_100 } else { 0 };
    loop {
        let (m, n) = (extent(random, 1024), extent(random, 1024));
        if (least_cells..=most_cells).contains(&(m * n)) && (least_cells == 0 || m.min(n) > 256) {
            return (m, n);
        }
    }
}

/// The formats of leaves.
pub(crate) const FORMATS: [&str; 6] = ["dense", "csr", "csr-empty-rows", "csr-stored-zeros", "ultra-sparse", "empty"];
pub(crate) const DENSITIES: [&str; 8] = ["0", "cell", "0.0001", "0.01", "0.1", "0.39", "0.41", "1"];

fn density(random: &mut Pcg64Mcg, cells: usize) -> (&'static str, f64) {
    let name = if random.random_bool(0.35) { "1" } else { *DENSITIES.choose(random).expect("densities") };
    let density = match name {
        "cell" => 1.0 / cells.max(1) as f64,
        number => number.parse().expect("densities are numbers"),
    };
    (name, density)
}

/// A random matrix, and the names of its format and density.
pub(crate) fn matrix(
    random: &mut Pcg64Mcg,
    class: ValueClass,
    rows: usize,
    cols: usize,
) -> (Leaf, &'static str, &'static str) {
    let cells = rows * cols;
    let mut format = if random.random_bool(0.45) { "dense" } else { *FORMATS.choose(random).expect("formats") };
    let (mut density_name, mut density) = density(random, cells);
    if format == "empty" {
        (density_name, density) = ("0", 0.0);
    } else if format == "ultra-sparse" {
        (density_name, density) = ("0.0001", 1e-4_f64.max(1.0 / cells.max(1) as f64));
    }
    let single = (density_name == "cell" && cells > 0).then(|| random.random_range(0..cells));
    let mut skipped_rows = vec![false; rows];
    if format == "csr-empty-rows" {
        skipped_rows.iter_mut().for_each(|skipped| *skipped = random.random_bool(0.6));
    }
    let mut draw = |position: usize| {
        let is_set = single.map_or_else(|| random.random::<f64>() < density, |single| single == position);
        if is_set && !skipped_rows[position / cols] { class.value(random) } else { 0.0 }
    };
    let values: Vec<f64> = (0..cells).map(&mut draw).collect();
    if format == "empty" && random.random_bool(0.5) {
        return (Leaf::Matrix(Dense::from_vec(rows, cols, values).into()), format, density_name);
    }
    if cells == 0 && format != "dense" {
        format = "csr";
    }
    let block: MatrixBlock = match format {
        "dense" => Dense::from_vec(rows, cols, values).into(),
        "csr-stored-zeros" => {
            let keeps: Vec<bool> = (0..cells).map(|_| random.random_bool(0.1)).collect();
            sparse(rows, cols, |position| Some(values[position]).filter(|&value| value != 0.0 || keeps[position]))
                .into()
        }
        _ => sparse(rows, cols, |position| Some(values[position]).filter(|&value| value != 0.0)).into(),
    };
    (Leaf::Matrix(block), format, density_name)
}
