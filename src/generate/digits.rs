//! Look-alikes of Mnist: images of 28 x 28 pixels, each a thick stroke on an empty ground.
//!
//! Every class has a stroke of straight pieces. An image moves it by up to two pixels, draws it thicker or thinner, and
//! grades its grey: integers from 1 to 255, many zeros, pixels at the border always zero.

use super::Shape;
use super::blocks::{Purpose, generator, push_row, sparse};
use fuseline_matrix::{Dense, MatrixBlock};
use rand::{Rng, RngExt};
use rand_pcg::Pcg64Mcg;

const SIDE: usize = 28;
/// Pixels of an image.
pub(super) const PIXELS: usize = SIDE * SIDE;
const CLASSES: usize = 10;

/// Pixels that an image is moved by at most, in each direction.
const SHIFT: usize = 2;
const WIDE: usize = SIDE + 2 * SHIFT;

/// Corners of a stroke.
const CORNERS: usize = 5;

/// Thickness relative to the mean one.
const THICKNESS: [f64; 5] = [0.8, 0.9, 1.0, 1.1, 1.2];

/// Distances to the stroke within which grey fades.
const FADE: f64 = 1.5;

/// Images of the ten classes, and the class of each, from 1.
pub(super) fn digits(shape: &Shape, seed: u64) -> (MatrixBlock, Dense) {
    let mut model = generator(seed, Purpose::Model, 0);
    let distances: Vec<Vec<f64>> = (0..CLASSES).map(|_| stroke_distances(&mut model)).collect();
    let mean_thickness = thickness_for(shape.sparsity, &distances);
    let row_nonzeros = PIXELS as f64 * shape.sparsity;
    let (matrix, labels) = sparse(shape.rows, PIXELS, row_nonzeros, seed, |generator, _, rows, labels| {
        let mut pixels = [0.0; PIXELS];
        for label in labels {
            let class = generator.random_range(0..CLASSES);
            let thickness = mean_thickness * THICKNESS[generator.random_range(0..THICKNESS.len())];
            let (down, right) = (generator.random_range(0..=2 * SHIFT), generator.random_range(0..=2 * SHIFT));
            for (pixel, distance) in pixels.iter_mut().zip(window(&distances[class], down, right)) {
                *pixel = grey(thickness - distance, generator);
            }
            push_row(&pixels, rows);
            *label = (class + 1) as f64;
        }
    });
    (MatrixBlock::from(matrix).in_best_format(), labels)
}

/// The grey of a pixel this deep within the stroke.
fn grey(depth: f64, generator: &mut impl Rng) -> f64 {
    if depth <= 0.0 {
        return 0.0;
    }
    (255.0 * (depth / FADE).min(1.0) * (0.75 + 0.25 * generator.random::<f64>())).ceil()
}

/// Distances of the pixels of a wide image from a random stroke in its middle.
fn stroke_distances(generator: &mut Pcg64Mcg) -> Vec<f64> {
    let mut corner = || {
        let mut coordinate = || WIDE as f64 * (0.22 + 0.56 * generator.random::<f64>());
        (coordinate(), coordinate())
    };
    let corners: Vec<(f64, f64)> = (0..CORNERS).map(|_| corner()).collect();
    let pixels = (0..WIDE * WIDE).map(|pixel| ((pixel / WIDE) as f64, (pixel % WIDE) as f64));
    let nearest =
        |point| corners.windows(2).map(|ends| distance(point, ends[0], ends[1])).fold(f64::INFINITY, f64::min);
    pixels.map(nearest).collect()
}

/// The distance of a point from a straight piece.
fn distance(point: (f64, f64), start: (f64, f64), end: (f64, f64)) -> f64 {
    let (along, from_start) = ((end.0 - start.0, end.1 - start.1), (point.0 - start.0, point.1 - start.1));
    let length = along.0 * along.0 + along.1 * along.1;
    let projected = (along.0 * from_start.0 + along.1 * from_start.1) / length.max(f64::MIN_POSITIVE);
    let share = projected.clamp(0.0, 1.0);
    let (down, right) = (from_start.0 - share * along.0, from_start.1 - share * along.1);
    (down * down + right * right).sqrt()
}

/// The part of a wide image that begins this far down and right, row after row.
fn window(distances: &[f64], down: usize, right: usize) -> impl Iterator<Item = f64> + '_ {
    distances.chunks_exact(WIDE).skip(down).take(SIDE).flat_map(move |row| row[right..right + SIDE].iter().copied())
}

/// The mean thickness for which this share of all pixels is not zero.
fn thickness_for(sparsity: f64, distances: &[Vec<f64>]) -> f64 {
    let shifts = (0..=2 * SHIFT).flat_map(|down| (0..=2 * SHIFT).map(move |right| (down, right)));
    let mut needed = Vec::new();
    for (down, right) in shifts {
        for distances in distances {
            for thickness in THICKNESS {
                needed.extend(window(distances, down, right).map(|distance| distance / thickness));
            }
        }
    }
    let rank = ((needed.len() as f64 * sparsity) as usize).min(needed.len() - 1);
    *needed.select_nth_unstable_by(rank, f64::total_cmp).1
}
