//! Inputs of plans.

use crate::axes::{Factors, Formats, MainFormat, Stored};
use crate::narrow::narrowed;
use crate::plans::{Part, Plan};
use fuseline_matrix::{Csr, Dense, MatrixBlock};

/// What numbers a matrix holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Numbers {
    /// Small integers, so that all sums of products are exact.
    Integers,
    /// Any between -1 and 1.
    Reals,
}

/// A small generator of pseudo-random numbers.
struct Random(u64);

impl Random {
    fn new(seed: usize) -> Self {
        Random((seed as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    fn number(&mut self, numbers: Numbers) -> f64 {
        match numbers {
            // Two out of three are ones, so that products of rows have all signs and few are zero.
            Numbers::Integers => [1.0, -1.0, 1.0, -1.0, 2.0, -3.0][self.below(6) as usize],
            Numbers::Reals => (self.below(1 << 30) as f64 + 0.5) / f64::from(1 << 29) - 1.0,
        }
    }
}

/// How the non-zeros of a matrix lie.
#[derive(Clone, Copy)]
enum Pattern {
    /// This share of all cells, in thousands.
    Share(u64),
    /// Two cells in each of this share of rows, in thousands.
    FewRows(u64),
}

fn matrix((rows, cols): (usize, usize), pattern: Pattern, numbers: Numbers, seed: usize) -> Dense {
    let mut random = Random::new(seed);
    let mut matrix = Dense::zeros(rows, cols);
    match pattern {
        Pattern::Share(share) => {
            for cell in matrix.values_mut() {
                if random.below(1000) < share {
                    *cell = random.number(numbers);
                }
            }
        }
        Pattern::FewRows(share) if cols > 0 => {
            for row in matrix.values_mut().chunks_exact_mut(cols) {
                if random.below(1000) < share {
                    for _ in 0..2 {
                        row[random.below(cols as u64) as usize] = random.number(numbers);
                    }
                }
            }
        }
        Pattern::FewRows(_) => {}
    }
    matrix
}

fn stored(dense: &Dense, stored: Stored) -> MatrixBlock {
    match stored {
        Stored::Dense => dense.clone().into(),
        Stored::Sparse => Csr::from_dense(dense).into(),
        Stored::Narrow => narrowed(&dense.clone().into()),
    }
}

/// The inputs of a plan, dense as the evaluator sees them, and as stored.
pub(crate) struct Data {
    pub(crate) dense: Vec<Dense>,
    pub(crate) stored: Vec<MatrixBlock>,
    pub(crate) scalars: Vec<f64>,
}

impl Data {
    /// Inputs for a main input of this shape.
    pub(crate) fn new(plan: &Plan, shape: (usize, usize), formats: Formats, numbers: Numbers) -> Data {
        let mut data = Data { dense: Vec::new(), stored: Vec::new(), scalars: vec![3.0; plan.cplan.scalars().count()] };
        for (position, (part, shape_of)) in plan.matrices.iter().enumerate() {
            let (pattern, format) = match (part, formats.main) {
                (Part::Main, MainFormat::Dense) => (Pattern::Share(800), Stored::Dense),
                (Part::Main, MainFormat::Csr) => (Pattern::Share(300), Stored::Sparse),
                (Part::Main, MainFormat::UltraSparse) => (Pattern::FewRows(120), Stored::Sparse),
                (Part::Main, MainFormat::Empty) => (Pattern::Share(0), Stored::Sparse),
                (Part::Main, MainFormat::Narrow) => (Pattern::Share(800), Stored::Narrow),
                (Part::Factor, _) if formats.factors == Factors::Sparse => (Pattern::Share(700), Stored::Sparse),
                (Part::Factor, _) => (Pattern::Share(700), Stored::Dense),
                (Part::Side, _) => (Pattern::Share(700), formats.side.stored()),
            };
            let seed = 31 * shape.0 + 17 * shape.1 + position;
            let mut dense = matrix(shape_of(shape.0, shape.1), pattern, numbers, seed);
            if format == Stored::Narrow {
                dense.values_mut().iter_mut().for_each(|value| *value = f64::from(*value as f32));
            }
            data.stored.push(stored(&dense, format));
            data.dense.push(dense);
        }
        data
    }
}
