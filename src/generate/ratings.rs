//! Ratings of items by users, and links between pages: few cells, skewed over rows and columns.
//!
//! How many items a user rates is log-normal. The popularity of items falls from the first to the last by a stretched
//! exponential, `exp(-decay * u^power)` at the quantile `u`; its two parameters fit the share of the most popular item
//! and the median of the real data. Both keep their form when the shape is scaled.

use super::Shape;
use super::blocks::{Purpose, generator, sparse};
use fuseline_ir::ops::math;
use fuseline_kernels::random::{exponential, normal};
use fuseline_matrix::{Csr, MatrixBlock};
use rand::seq::SliceRandom;
use rand::{Rng, RngExt};
use rand_distr::Distribution;
use rand_distr::weighted::WeightedAliasIndex;

/// The skew of rows and columns, and the mean of ratings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Profile {
    /// Deviation of the logarithm of a row's number of non-zeros.
    row_deviation: f64,
    /// How steeply the popularity of columns falls ...
    decay: f64,
    /// ... and how early.
    power: f64,
    /// Mean rating before it is rounded to 1 to 5.
    mean: f64,
}

/// The median user rates half as often as the mean; the most popular of 17,770 items has 40 times the mean of ratings,
/// the median item a tenth.
pub(super) const NETFLIX: Profile = Profile { row_deviation: 1.25, decay: 8.25, power: 0.46, mean: 3.6 };

/// Most users rate once or twice; the most popular of millions of items has 2,000 times the mean of ratings, the median
/// item a fifth.
pub(super) const AMAZON: Profile = Profile { row_deviation: 1.4, decay: 10.3, power: 0.15, mean: 4.3 };

/// Pages of a web: most have few links, some very many.
pub(super) const WEB: Profile = Profile { row_deviation: 1.0, decay: 10.3, power: 0.2, mean: 0.0 };

/// Rank of the matrix that ratings are drawn from.
const RANK: usize = 8;

/// Deviation of the low-rank part of a rating, and of its noise.
const SIGNAL: f64 = 0.9;
const NOISE: f64 = 0.6;

/// Ratings from 1 to 5: a matrix of low rank and noise, rounded, at non-zeros of this profile.
pub(super) fn ratings(shape: &Shape, seed: u64, profile: Profile) -> MatrixBlock {
    let chooser = Chooser::new(shape, seed, profile);
    let mut model = generator(seed, Purpose::Model, 0);
    let items: Vec<f64> = (0..shape.cols * RANK).map(|_| normal(&mut model)).collect();
    // The variance of a product of two vectors of normals is their length.
    let strength = SIGNAL / (RANK as f64).sqrt();
    let row_nonzeros = shape.cols as f64 * shape.sparsity;
    let (matrix, _) = sparse(shape.rows, shape.cols, row_nonzeros, seed, |generator, _, rows, labels| {
        let (mut chosen, mut user) = (Vec::new(), [0.0; RANK]);
        for _ in labels {
            let degree = chooser.degree(generator, 0);
            chooser.choose(generator, degree, &mut chosen);
            user.iter_mut().for_each(|factor| *factor = normal(generator));
            for &column in &chosen {
                let item = &items[column as usize * RANK..][..RANK];
                let product: f64 = user.iter().zip(item).map(|(left, right)| left * right).sum();
                let score = profile.mean + strength * product + NOISE * normal(generator);
                rows.columns.push(column);
                rows.values.push(score.round().clamp(1.0, 5.0));
            }
            rows.lengths.push(chosen.len());
        }
    });
    MatrixBlock::from(matrix).in_best_format()
}

/// The link matrix of pages: cell (i, j) is the share of page j's links that lead to page i; columns sum to 1.
pub(super) fn graph(shape: &Shape, seed: u64) -> MatrixBlock {
    let chooser = Chooser::new(shape, seed, WEB);
    let row_nonzeros = shape.cols as f64 * shape.sparsity;
    let (links, _): (Csr, _) = sparse(shape.rows, shape.cols, row_nonzeros, seed, |generator, _, rows, labels| {
        let mut chosen = Vec::new();
        for _ in labels {
            let degree = chooser.degree(generator, 1);
            chooser.choose(generator, degree, &mut chosen);
            rows.columns.extend_from_slice(&chosen);
            rows.values.extend(std::iter::repeat_n(1.0 / chosen.len() as f64, chosen.len()));
            rows.lengths.push(chosen.len());
        }
    });
    MatrixBlock::from(links.transpose()).in_best_format()
}

/// Chooses the non-zeros of rows.
struct Chooser {
    mean_degree: f64,
    row_deviation: f64,
    /// Popularity of each column.
    weights: Vec<f64>,
    /// Draws columns by their popularity.
    columns: WeightedAliasIndex<f64>,
}

impl Chooser {
    fn new(shape: &Shape, seed: u64, profile: Profile) -> Self {
        let cols = shape.cols;
        let popularity = |rank: usize| {
            let quantile = (rank as f64 + 0.5) / cols as f64;
            math::exp(-profile.decay * math::pow(quantile, profile.power))
        };
        let mut weights: Vec<f64> = (0..cols).map(popularity).collect();
        weights.shuffle(&mut generator(seed, Purpose::Columns, 0));
        let columns = WeightedAliasIndex::new(weights.clone()).expect("weights are positive, and there are columns");
        let mean_degree = cols as f64 * shape.sparsity;
        Chooser { mean_degree, row_deviation: profile.row_deviation, weights, columns }
    }

    /// The number of non-zeros of a row.
    fn degree(&self, generator: &mut impl Rng, least: usize) -> usize {
        let deviation = self.row_deviation;
        let degree = self.mean_degree * math::exp(deviation * normal(generator) - deviation * deviation / 2.0);
        // Rounded at random, to keep the mean.
        ((degree + generator.random::<f64>()) as usize).clamp(least, self.weights.len())
    }

    /// Chooses this many different columns, by their popularity, in ascending order.
    fn choose(&self, generator: &mut impl Rng, degree: usize, chosen: &mut Vec<u32>) {
        chosen.clear();
        if degree > self.weights.len() / 8 {
            return self.choose_many(generator, degree, chosen);
        }
        while chosen.len() < degree {
            let missing = degree - chosen.len();
            chosen.extend((0..missing).map(|_| self.columns.sample(generator) as u32));
            chosen.sort_unstable();
            chosen.dedup();
        }
    }

    /// Draws in a single pass over all columns what drawing one by one would: the columns that arrive first in a race of exponential times.
    fn choose_many(&self, generator: &mut impl Rng, degree: usize, chosen: &mut Vec<u32>) {
        let times: Vec<f64> = self.weights.iter().map(|weight| exponential(generator) / weight).collect();
        chosen.extend(0..self.weights.len() as u32);
        if degree < chosen.len() {
            chosen.select_nth_unstable_by(degree, |&left, &right| {
                times[left as usize].total_cmp(&times[right as usize]).then(left.cmp(&right))
            });
            chosen.truncate(degree);
            chosen.sort_unstable();
        }
    }
}
