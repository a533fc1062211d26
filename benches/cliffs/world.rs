//! The sizes of an expression, drawn from a seed.

use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Sizes, and the densities that matrices of this size may have, each as likely as it is often there.
struct Extents {
    rows: usize,
    cols: usize,
    densities: &'static [f64],
}

/// From tall to wide. Dense matrices have up to 80 MB, sparse ones some millions of non-zeros.
const EXTENTS: &[Extents] = &[
    Extents { rows: 1_000_000, cols: 4, densities: &[1.0] },
    Extents { rows: 1_000_000, cols: 10, densities: &[1.0, 1.0, 0.2] },
    Extents { rows: 300_000, cols: 30, densities: &[1.0, 1.0, 0.2, 0.05] },
    Extents { rows: 100_000, cols: 100, densities: &[1.0, 1.0, 1.0, 0.2, 0.05, 0.01] },
    Extents { rows: 100_000, cols: 5_000, densities: &[0.01, 0.001] },
    Extents { rows: 20_000, cols: 2_000, densities: &[0.1, 0.01, 0.001] },
    Extents { rows: 10_000, cols: 1_000, densities: &[1.0, 1.0, 1.0, 0.2, 0.1, 0.01] },
    Extents { rows: 3_000, cols: 3_000, densities: &[1.0, 1.0, 1.0, 0.2, 0.05, 0.001] },
    Extents { rows: 1_000, cols: 1_000, densities: &[1.0, 1.0, 0.1, 0.01] },
    Extents { rows: 1_000, cols: 10_000, densities: &[1.0, 1.0, 1.0, 0.2, 0.1, 0.01] },
    Extents { rows: 2_000, cols: 20_000, densities: &[0.1, 0.01, 0.001] },
    Extents { rows: 500, cols: 100_000, densities: &[0.05, 0.01, 0.001] },
    Extents { rows: 100, cols: 100_000, densities: &[1.0, 1.0, 0.1, 0.01] },
    Extents { rows: 20_000, cols: 100_000, densities: &[0.001, 0.0001] },
];

/// The sizes of one expression.
#[derive(Clone, Copy, Debug)]
pub(crate) struct World {
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    /// Columns of narrow matrices.
    pub(crate) narrow: usize,
    /// Densities of the matrices `X`, `Y` and `Z`.
    pub(crate) densities: [f64; 3],
}

impl World {
    pub(crate) fn draw(random: &mut Pcg64Mcg) -> World {
        let extents = one_of(EXTENTS, random);
        let first = *one_of(extents.densities, random);
        let mut other = || if random.random_bool(0.5) { first } else { *one_of(extents.densities, random) };
        let densities = [first, other(), other()];
        World { rows: extents.rows, cols: extents.cols, narrow: *one_of(&[2, 4, 8, 16], random), densities }
    }
}

/// The generator of an expression: of this number, in the sequence of this seed.
pub(crate) fn generator(seed: u64, number: u64) -> Pcg64Mcg {
    Pcg64Mcg::seed_from_u64(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ number)
}

/// A choice, all being as likely.
pub(crate) fn one_of<'a, T>(choices: &'a [T], random: &mut Pcg64Mcg) -> &'a T {
    choices.choose(random).expect("there is a choice")
}
