//! Random numbers of common distributions, on the elementary functions of the op table: the same generator gives the same
//! numbers on every machine, whatever its C library.

use fuseline_ir::ops::math;
use rand::{Rng, RngExt};

/// A normal number with mean 0 and deviation 1 (G. Box and M. Muller, 1958; one of the pair suffices).
pub fn normal(generator: &mut impl Rng) -> f64 {
    let radius = (2.0 * exponential(generator)).sqrt();
    radius * math::cos(std::f64::consts::TAU * generator.random::<f64>())
}

/// An exponential number with mean 1.
pub fn exponential(generator: &mut impl Rng) -> f64 {
    -math::log(1.0 - generator.random::<f64>())
}

/// A count of the Poisson distribution with a finite mean: how many factors between 0 and 1 it takes to fall below
/// `exp(-mean)`; large means in parts, since counts of independent parts add up.
pub fn poisson(generator: &mut impl Rng, mean: f64) -> f64 {
    const PART: f64 = 500.0;
    let (mut count, mut rest) = (0_u64, mean);
    while rest > 0.0 {
        let limit = math::exp(-rest.min(PART));
        let mut product = 1.0 - generator.random::<f64>();
        while product > limit {
            count += 1;
            product *= 1.0 - generator.random::<f64>();
        }
        rest -= PART;
    }
    count as f64
}

/// The number of zeros before the next non-zero where this share of cells is not zero: geometrically distributed.
pub fn gap(generator: &mut impl Rng, sparsity: f64) -> usize {
    if sparsity <= 0.0 {
        return usize::MAX;
    }
    if sparsity >= 1.0 {
        return 0;
    }
    (math::log(1.0 - generator.random::<f64>()) / math::log1p(-sparsity)) as usize
}
