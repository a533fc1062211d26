//! Labels that a linear model of the features explains, up to noise.

use super::blocks::{Purpose, generator};
use super::features::{Values, features};
use super::{Shape, Specification};
use fuseline_ir::ops::math;
use fuseline_kernels::random;
use fuseline_matrix::{Dense, MatrixBlock};
use rand::Rng;

/// What the model's scores become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Response {
    /// The number of the largest of several scores, from 1, after noise.
    Class,
    /// The score and noise.
    Value,
    /// A count with mean `exp(score)`.
    Poisson,
    /// A positive number with mean `exp(score)`.
    Gamma,
    /// 1 with the probability that a normal variable is below the score (probit), else 0.
    Binomial,
}

/// The shape parameter of gamma responses: their dispersion is its inverse.
const GAMMA_SHAPE: u32 = 2;

/// The largest mean of counts, which takes as many steps. Scores have deviation 1, so that none comes near.
const MOST_COUNTS: f64 = 1e6;

/// Uniform features, and labels. Scores have mean 0 and deviation 1, whatever the shape.
pub(super) fn labelled(specification: &Specification, shape: &Shape, response: Response) -> (MatrixBlock, Dense) {
    let seed = specification.seed;
    let scores = if response == Response::Class { specification.classes } else { 1 };
    // The variance of a uniform feature from -1 to 1 is a third.
    let deviation = (3.0 / (shape.cols as f64 * shape.sparsity)).sqrt();
    let mut model = generator(seed, Purpose::Model, 0);
    let weights: Vec<f64> = (0..shape.cols * scores).map(|_| random::normal(&mut model) * deviation).collect();
    features(shape, Values::Uniform, seed, |generator, columns, values| {
        let score = |number: usize| -> f64 {
            let weight = |column: usize| weights[column * scores + number];
            match columns {
                None => values.iter().enumerate().map(|(column, value)| value * weight(column)).sum(),
                Some(columns) => {
                    columns.iter().zip(values).map(|(&column, value)| value * weight(column as usize)).sum()
                }
            }
        };
        respond(response, scores, score, specification.noise, generator)
    })
}

fn respond(
    response: Response,
    scores: usize,
    score: impl Fn(usize) -> f64,
    noise: f64,
    generator: &mut impl Rng,
) -> f64 {
    let mut normal = |deviation: f64| deviation * random::normal(generator);
    match response {
        Response::Class => {
            let noisy = (0..scores).map(|number| (score(number) + normal(noise), number));
            let largest = noisy.reduce(|left, right| if right.0 > left.0 { right } else { left });
            largest.map_or(1.0, |(_, number)| (number + 1) as f64)
        }
        Response::Value => score(0) + normal(noise),
        Response::Binomial => f64::from(u8::from(score(0) + normal(1.0) > 0.0)),
        Response::Poisson => random::poisson(generator, math::exp(score(0)).min(MOST_COUNTS)),
        Response::Gamma => {
            let scale = math::exp(score(0)) / f64::from(GAMMA_SHAPE);
            // A number of the gamma distribution with a whole shape is the sum of as many exponential ones.
            let sum: f64 = (0..GAMMA_SHAPE).map(|_| random::exponential(generator)).sum();
            (scale * sum).max(f64::MIN_POSITIVE)
        }
    }
}
