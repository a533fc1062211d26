//! Labels that a linear model of the features explains, up to noise.

use super::blocks::{Purpose, generator};
use super::features::{Values, features};
use super::{Shape, Specification};
use fuseline_matrix::{Dense, MatrixBlock};
use rand::Rng;
use rand_distr::{Distribution, Gamma, Poisson, StandardNormal};

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
const GAMMA_SHAPE: f64 = 2.0;

/// Uniform features, and labels. Scores have mean 0 and deviation 1, whatever the shape.
pub(super) fn labelled(specification: &Specification, shape: &Shape, response: Response) -> (MatrixBlock, Dense) {
    let seed = specification.seed;
    let scores = if response == Response::Class { specification.classes } else { 1 };
    // The variance of a uniform feature from -1 to 1 is a third.
    let deviation = (3.0 / (shape.cols as f64 * shape.sparsity)).sqrt();
    let mut model = generator(seed, Purpose::Model, 0);
    let normals = Distribution::<f64>::sample_iter(StandardNormal, &mut model);
    let weights: Vec<f64> = normals.take(shape.cols * scores).map(|weight| weight * deviation).collect();
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
    let mut normal = |deviation: f64| -> f64 {
        let value: f64 = StandardNormal.sample(generator);
        deviation * value
    };
    match response {
        Response::Class => {
            let noisy = (0..scores).map(|number| (score(number) + normal(noise), number));
            let largest = noisy.reduce(|left, right| if right.0 > left.0 { right } else { left });
            largest.map_or(1.0, |(_, number)| (number + 1) as f64)
        }
        Response::Value => score(0) + normal(noise),
        Response::Binomial => f64::from(u8::from(score(0) + normal(1.0) > 0.0)),
        // Distributions of finite positive parameters exist.
        Response::Poisson => Poisson::new(score(0).exp()).map_or(0.0, |counts| counts.sample(generator)),
        Response::Gamma => {
            let scale = score(0).exp() / GAMMA_SHAPE;
            Gamma::new(GAMMA_SHAPE, scale).map_or(scale, |values| values.sample(generator).max(f64::MIN_POSITIVE))
        }
    }
}
