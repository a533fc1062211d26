//! Aggregates of cells, for any order and grouping of them.

use super::cell::{OracleCell, SUBNORMAL, UNIT, saturate};
use super::double_double::{DoubleDouble, RELATIVE_ERROR};
use super::rules::extreme;
use super::taint::Taint;
use fuseline_ir::ops::{AggOp, BinaryOp};

/// The bound `n u / (1 - n u)` on the relative error of `n` roundings.
pub(super) fn gamma(count: usize) -> f64 {
    let roundings = count as f64 * UNIT;
    roundings / (1.0 - roundings)
}

/// A sum of terms while it grows.
#[derive(Clone, Copy)]
struct Sum {
    value: DoubleDouble,
    /// Sum of the terms' radii.
    radius: f64,
    /// Sum of the terms' absolute values and radii.
    absolute: f64,
    /// Bound on the magnitude of all partial sums of finite terms.
    magnitude: f64,
    /// Whether a term is infinite or NaN.
    has_infinite: bool,
    exact: bool,
    taint: Taint,
    count: usize,
}

impl Sum {
    fn new() -> Self {
        Sum {
            value: DoubleDouble::ZERO,
            radius: 0.0,
            absolute: 0.0,
            magnitude: 0.0,
            has_infinite: false,
            exact: true,
            taint: Taint::NONE,
            count: 0,
        }
    }

    fn push(&mut self, value: DoubleDouble, radius: f64, magnitude: f64, exact: bool, taint: Taint) {
        self.value = self.value.add(value);
        self.radius += radius;
        self.absolute += value.high.abs() + radius;
        if magnitude.is_finite() {
            self.magnitude = saturate(self.magnitude + magnitude, true);
        } else {
            self.has_infinite = true;
        }
        self.exact &= exact;
        self.taint |= taint;
        self.count += 1;
    }

    fn push_cell(&mut self, cell: OracleCell) {
        self.push(cell.value, cell.radius, cell.magnitude, cell.exact, cell.taint);
    }

    fn push_product(&mut self, x: OracleCell, y: OracleCell) {
        let (value, radius) = x.product(y);
        let are_finite = x.magnitude.is_finite() && y.magnitude.is_finite();
        let magnitude = saturate(x.magnitude * y.magnitude, are_finite);
        let taint = x.taint | y.taint | x.annihilation(y);
        self.push(value, radius, magnitude, x.exact && y.exact, taint);
    }

    /// The sum, where each term went through so many roundings: those of the additions and `extra` of its own.
    fn finish(self, extra: usize) -> OracleCell {
        let roundings = self.count.saturating_sub(1) + extra;
        let own = self.absolute * self.count as f64 * RELATIVE_ERROR;
        let radius =
            self.radius + gamma(roundings) * self.absolute + own + extra as f64 * self.count as f64 * SUBNORMAL;
        let magnitude = if self.has_infinite { f64::INFINITY } else { self.magnitude };
        // Finite terms that overflow in one order may meet an infinity of the other sign, which in another order or
        // within a fused multiply-add absorbs them.
        let overflows = self.magnitude > f64::MAX / 2.0;
        OracleCell::arithmetic(self.value, radius, magnitude, self.exact, self.taint | overflows)
    }
}

/// A product of factors while it grows.
#[derive(Clone, Copy)]
struct Product {
    value: DoubleDouble,
    /// What the factors' radii make of the product.
    radius: f64,
    /// Bound on the magnitude of all partial products of finite factors.
    greatest: f64,
    /// Bound below all partial products of factors other than zero.
    least: f64,
    has_zero: bool,
    has_uncertain_zero: bool,
    has_infinite: bool,
    has_nan: bool,
    exact: bool,
    taint: Taint,
    count: usize,
}

impl Product {
    fn new() -> Self {
        Product {
            value: DoubleDouble::new(1.0),
            radius: 0.0,
            greatest: 1.0,
            least: 1.0,
            has_zero: false,
            has_uncertain_zero: false,
            has_infinite: false,
            has_nan: false,
            exact: true,
            taint: Taint::NONE,
            count: 0,
        }
    }

    fn push(&mut self, cell: OracleCell) {
        let factor = cell.value.high.abs();
        let spread = |value: f64, radius: f64| if radius == 0.0 { 0.0 } else { value * radius };
        self.radius =
            spread(self.value.high.abs(), cell.radius) + spread(factor, self.radius) + self.radius * cell.radius;
        self.value = self.value.mul(cell.value);
        if factor.is_nan() {
            self.has_nan = true;
        } else if factor.is_infinite() {
            self.has_infinite = true;
        } else {
            self.greatest = saturate(self.greatest * cell.magnitude.max(1.0), true);
            let is_zero = cell.may_be_zero();
            self.has_zero |= is_zero && cell.radius == 0.0;
            self.has_uncertain_zero |= is_zero && cell.radius > 0.0;
            if !is_zero {
                self.least *= (factor - cell.radius).min(1.0);
            }
        }
        self.exact &= cell.exact;
        self.taint |= cell.taint;
        self.count += 1;
    }

    /// The product in any order and grouping.
    fn finish(self) -> OracleCell {
        let may_underflow = self.least < f64::MIN_POSITIVE;
        let may_overflow = self.greatest > f64::MAX / 2.0;
        if self.has_nan || self.has_infinite && self.has_zero {
            return OracleCell::decided(f64::NAN, self.taint);
        }
        if self.has_infinite {
            // A partial product that vanishes, or a zero that is none, decides between infinity and NaN.
            let is_unstable = may_underflow || self.has_uncertain_zero;
            return OracleCell::decided(self.value.high, self.taint | is_unstable);
        }
        if may_overflow {
            return OracleCell::decided(self.value.high, Taint::UNSTABLE);
        }
        if self.has_zero {
            return OracleCell::decided(0.0, self.taint);
        }
        // Each rounding is off by a relative error, or by a subnormal number that later factors may multiply.
        let count = self.count as f64;
        let absolute = self.value.high.abs() + self.radius;
        let radius = self.radius
            + gamma(self.count) * absolute
            + absolute * count * RELATIVE_ERROR
            + 2.0 * count * SUBNORMAL * self.greatest;
        OracleCell::arithmetic(self.value, radius, self.greatest, self.exact, self.taint)
    }
}

/// An aggregate that cells are added to, one after the other.
#[derive(Clone, Copy)]
enum Accumulator {
    Sum(Sum),
    SumSq(Sum),
    Product(Product),
    Extreme(BinaryOp, Option<OracleCell>),
    /// The number of cells that are not zero, and the taint.
    Count(u64, Taint),
}

impl Accumulator {
    fn new(op: AggOp) -> Self {
        match op {
            AggOp::Sum | AggOp::Mean | AggOp::Var => Accumulator::Sum(Sum::new()),
            AggOp::SumSq => Accumulator::SumSq(Sum::new()),
            AggOp::Prod => Accumulator::Product(Product::new()),
            AggOp::Min => Accumulator::Extreme(BinaryOp::Min, None),
            AggOp::Max => Accumulator::Extreme(BinaryOp::Max, None),
            AggOp::Nnz => Accumulator::Count(0, Taint::NONE),
        }
    }

    fn push(&mut self, cell: OracleCell) {
        match self {
            Accumulator::Sum(sum) => sum.push_cell(cell),
            Accumulator::SumSq(sum) => sum.push_product(cell, cell),
            Accumulator::Product(product) => product.push(cell),
            Accumulator::Extreme(op, least) => {
                *least = Some(least.map_or(cell, |least| extreme(*op, least, cell)));
            }
            Accumulator::Count(count, taint) => {
                let truth = cell.truth();
                *count += u64::from(truth == Some(true));
                *taint = *taint | cell.taint | truth.is_none();
            }
        }
    }

    fn finish(self, op: AggOp) -> OracleCell {
        match self {
            Accumulator::Sum(sum) => sum.finish(0),
            Accumulator::SumSq(sum) => sum.finish(1),
            Accumulator::Product(product) => product.finish(),
            Accumulator::Extreme(_, least) => least.unwrap_or(OracleCell::given(op.neutral())),
            Accumulator::Count(count, taint) => OracleCell::decided(count as f64, taint),
        }
    }
}

/// The dot product; also of a vector with itself.
pub(crate) fn dot(pairs: impl IntoIterator<Item = (OracleCell, OracleCell)>) -> OracleCell {
    let mut sum = Sum::new();
    for (x, y) in pairs {
        sum.push_product(x, y);
    }
    sum.finish(1)
}

/// The aggregate of cells.
pub(crate) fn aggregate(op: AggOp, cells: impl Iterator<Item = OracleCell> + Clone) -> OracleCell {
    match op {
        AggOp::Mean => mean(cells),
        AggOp::Var => variance(cells),
        _ => {
            let mut accumulator = Accumulator::new(op);
            cells.for_each(|cell| accumulator.push(cell));
            accumulator.finish(op)
        }
    }
}

fn mean(cells: impl Iterator<Item = OracleCell>) -> OracleCell {
    let mut sum = Sum::new();
    cells.for_each(|cell| sum.push_cell(cell));
    match sum.count {
        // The mean of no cells is NaN in every plan.
        0 => OracleCell::given(f64::NAN),
        count => sum.finish(0).div(OracleCell::given(count as f64)),
    }
}

/// The sum of the squared distances from the mean over the number of cells less one.
fn variance(cells: impl Iterator<Item = OracleCell> + Clone) -> OracleCell {
    let mean = mean(cells.clone());
    let mut squares = Sum::new();
    for cell in cells {
        let distance = cell.add(mean.neg());
        squares.push_product(distance, distance);
    }
    match squares.count {
        0 => OracleCell::given(f64::NAN),
        // Besides the multiply-add, the zeros of a sparse matrix count at once: their square is rounded by itself.
        count => squares.finish(2).div(OracleCell::given((count - 1).max(1) as f64)),
    }
}

/// The aggregates of the first cell, the first two cells, and so on.
pub(crate) fn cumulative(op: AggOp, cells: impl Iterator<Item = OracleCell>) -> impl Iterator<Item = OracleCell> {
    cells.scan(Accumulator::new(op), move |accumulator, cell| {
        accumulator.push(cell);
        Some(accumulator.finish(op))
    })
}
