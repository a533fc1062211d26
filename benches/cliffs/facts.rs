//! What is known of the values of an expression before it runs: sizes, bounds, rounding errors, and shares of non-zeros.
//!
//! They decide which expressions are drawn: no value is NaN or infinite, no comparison sees a rounding error, and nothing
//! that a basic operator writes is larger than [`MOST_BYTES`].

use crate::expression::{Aggregate, Binary, Direction, Expression, Op, Unary};

/// Bytes of the largest value.
const MOST_BYTES: f64 = 1e9;
/// Multiplications of a matrix product.
const MOST_MULTIPLICATIONS: f64 = 3e9;
/// The largest argument of an exponential, beyond which rounding errors would be as large as values usually are.
const LARGEST_EXPONENT: f64 = 8.0;
/// The largest magnitude.
const LARGEST: f64 = 1e30;
/// The relative error of an operation on numbers; functions are within four of these.
const ROUNDING: f64 = 4.0 * f64::EPSILON;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Scalar,
    Matrix { rows: usize, cols: usize },
}

impl Shape {
    pub(crate) fn cells(self) -> f64 {
        match self {
            Shape::Scalar => 1.0,
            Shape::Matrix { rows, cols } => rows as f64 * cols as f64,
        }
    }
}

/// Facts of one value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts {
    pub(crate) shape: Shape,
    /// Bounds of all cells.
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// How far a computed cell may be from the exact one. Sums of n numbers err by the square root of n roundings of the sum
    /// of their magnitudes: rounding errors are independent.
    pub(crate) error: f64,
    /// The share of cells that are not zero, at most, where non-zeros are spread evenly.
    pub(crate) density: f64,
}

impl Expression {
    /// The facts of all nodes; `None` where sizes do not fit, a value may be outside of its operator's domain, or something
    /// is too large.
    pub(crate) fn facts(&self) -> Option<Vec<Facts>> {
        let mut facts: Vec<Facts> = Vec::new();
        for node in &self.nodes {
            let operands: Vec<Facts> = node.operands.iter().map(|&operand| facts[operand]).collect();
            facts.push(Facts::of(node.op, &operands)?);
        }
        Some(facts)
    }
}

impl Facts {
    /// The facts of an operator's value.
    pub(crate) fn of(op: Op, operands: &[Facts]) -> Option<Facts> {
        let facts = match (op, operands) {
            (Op::Input(input), []) => {
                let zero = if input.is_sparse() { 0.0 } else { input.low };
                Facts {
                    shape: Shape::Matrix { rows: input.rows, cols: input.cols },
                    low: input.low.min(zero),
                    high: input.high.max(zero),
                    error: 0.0,
                    density: input.density,
                }
            }
            (Op::Number(number), []) => Facts {
                shape: Shape::Scalar,
                low: number,
                high: number,
                error: 0.0,
                density: f64::from(u8::from(number != 0.0)),
            },
            (Op::Unary(unary), [operand]) => operand.unary(unary)?,
            (Op::Binary(binary), [left, right]) => left.binary(binary, right)?,
            (Op::Product, [left, right]) => left.product(right)?,
            (Op::Transpose, [operand]) => {
                let Shape::Matrix { rows, cols } = operand.shape else { return None };
                Facts { shape: Shape::Matrix { rows: cols, cols: rows }, ..*operand }
            }
            (Op::Aggregate(aggregate, direction), [operand]) => operand.aggregate(aggregate, direction)?,
            _ => return None,
        };
        (facts.magnitude() <= LARGEST && facts.bytes() <= MOST_BYTES).then_some(facts)
    }

    fn magnitude(&self) -> f64 {
        self.low.abs().max(self.high.abs())
    }

    /// Bytes of the value, stored sparse where that is less.
    fn bytes(&self) -> f64 {
        self.shape.cells() * (12.0 * self.density).min(8.0)
    }

    fn unary(&self, unary: Unary) -> Option<Facts> {
        let &Facts { low, high, error, .. } = self;
        let rounded = |low: f64, high: f64, error: f64, density: f64| {
            let error = error + ROUNDING * low.abs().max(high.abs());
            Some(Facts { low, high, error, density, ..*self })
        };
        match unary {
            Unary::Abs => {
                let least = if low > 0.0 || high < 0.0 { low.abs().min(high.abs()) } else { 0.0 };
                Some(Facts { low: least, high: self.magnitude(), ..*self })
            }
            Unary::Sign if error == 0.0 => Some(Facts { low: -1.0, high: 1.0, ..*self }),
            Unary::Round if error == 0.0 => Some(Facts { low: low - 0.5, high: high + 0.5, ..*self }),
            Unary::Exp if high <= LARGEST_EXPONENT => rounded(low.exp(), high.exp(), high.exp() * error, 1.0),
            Unary::Sigmoid => {
                let sigmoid = |value: f64| 1.0 / (1.0 + (-value).exp());
                rounded(sigmoid(low), sigmoid(high), error, 1.0)
            }
            Unary::Log if low >= 1e-3 => rounded(low.ln(), high.ln(), error / low, 1.0),
            Unary::Sqrt if low >= 0.0 => {
                let slope = if low > 0.0 { error / low.sqrt() } else { error.sqrt() };
                rounded(low.sqrt(), high.sqrt(), slope, self.density)
            }
            _ => None,
        }
    }

    fn binary(&self, binary: Binary, right: &Facts) -> Option<Facts> {
        let left = self;
        let shape = broadcast(left.shape, right.shape)?;
        let [sizes_left, sizes_right] = [left.magnitude(), right.magnitude()];
        let either = (left.density + right.density).min(1.0);
        let both = left.density.min(right.density);
        let of_corners = |operation: fn(f64, f64) -> f64, error: f64, density: f64| {
            let corners = [left.low, left.high].map(|l| [right.low, right.high].map(|r| operation(l, r)));
            let corners = corners.as_flattened();
            let low = corners.iter().copied().fold(f64::INFINITY, f64::min);
            let high = corners.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            Some(Facts { shape, low, high, error: error + ROUNDING * low.abs().max(high.abs()), density })
        };
        let errors = left.error + right.error;
        match binary {
            Binary::Plus => of_corners(|l, r| l + r, errors, either),
            Binary::Minus => of_corners(|l, r| l - r, errors, either),
            Binary::Mult => of_corners(|l, r| l * r, left.error * sizes_right + right.error * sizes_left, both),
            Binary::Div if right.low > 0.0 => {
                let error = (left.error + sizes_left / right.low * right.error) / right.low;
                of_corners(|l, r| l / r, error, left.density)
            }
            Binary::Power if [right.low, right.high] == [2.0; 2] => {
                let square = of_corners(|l, _| l * l, 2.0 * left.error * sizes_left, left.density)?;
                Some(Facts { low: 0.0, ..square })
            }
            Binary::Min | Binary::Max => {
                let operation = if binary == Binary::Min { f64::min } else { f64::max };
                let is_joint = binary == Binary::Min && left.low >= 0.0 && right.low >= 0.0;
                let density = if is_joint { both } else { either };
                let (low, high) = (operation(left.low, right.low), operation(left.high, right.high));
                Some(Facts { shape, low, high, error: left.error.max(right.error), density })
            }
            Binary::NotEqual | Binary::Greater | Binary::LessEqual if errors == 0.0 => {
                let density = match binary {
                    Binary::NotEqual => either,
                    Binary::Greater if right.low >= 0.0 => left.density,
                    _ => 1.0,
                };
                Some(Facts { shape, low: 0.0, high: 1.0, error: 0.0, density })
            }
            _ => None,
        }
    }

    fn product(&self, right: &Facts) -> Option<Facts> {
        let (Shape::Matrix { rows, cols: inner }, Shape::Matrix { rows: inner_of_right, cols }) =
            (self.shape, right.shape)
        else {
            return None;
        };
        if inner != inner_of_right {
            return None;
        }
        let shape = Shape::Matrix { rows, cols };
        let term = Facts { shape, ..self.without_shape().binary(Binary::Mult, &right.without_shape())? };
        let density = 1.0 - (1.0 - self.density * right.density).powf(inner as f64);
        let multiplications = shape.cells() * inner as f64 * term.density;
        (multiplications <= MOST_MULTIPLICATIONS).then(|| Facts { density, ..term.sum(inner as f64) })
    }

    fn aggregate(&self, aggregate: Aggregate, direction: Direction) -> Option<Facts> {
        let Shape::Matrix { rows, cols } = self.shape else { return None };
        let (shape, count) = match direction {
            Direction::Full => (Shape::Scalar, rows as f64 * cols as f64),
            Direction::Row => (Shape::Matrix { rows, cols: 1 }, cols as f64),
            Direction::Col => (Shape::Matrix { rows: 1, cols }, rows as f64),
        };
        let of_cells = Facts { shape, density: 1.0, ..*self };
        Some(match aggregate {
            Aggregate::Min | Aggregate::Max => of_cells,
            Aggregate::Sum => Facts { density: 1.0, ..Facts { shape, ..*self }.sum(count) },
            Aggregate::Mean => {
                let sum = Facts { shape, ..*self }.sum(count);
                Facts { error: sum.error / count + ROUNDING * self.magnitude(), ..of_cells }
            }
        })
    }

    /// The sum of so many such numbers.
    fn sum(&self, count: f64) -> Facts {
        // Four times as many non-zeros as are expected, and some more where these are few.
        let terms = (4.0 * count * self.density + 100.0).min(count);
        let error = terms * (self.error + terms.sqrt() * ROUNDING * self.magnitude());
        Facts { low: count * self.low, high: count * self.high, error, ..*self }
    }

    fn without_shape(&self) -> Facts {
        Facts { shape: Shape::Scalar, ..*self }
    }
}

/// The shape of an element-wise operation, where one operand may be a scalar, or a row or a column of the other.
fn broadcast(left: Shape, right: Shape) -> Option<Shape> {
    let (Shape::Matrix { rows, cols }, Shape::Matrix { rows: right_rows, cols: right_cols }) = (left, right) else {
        return Some(if left == Shape::Scalar { right } else { left });
    };
    let fits = |own: usize, other: usize| own == other || other == 1;
    if fits(rows, right_rows) && fits(cols, right_cols) {
        Some(left)
    } else {
        (fits(right_rows, rows) && fits(right_cols, cols)).then_some(right)
    }
}
