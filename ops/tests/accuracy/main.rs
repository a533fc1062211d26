//! How far the functions of `ops::math` lie from the exact results: a measurement against a reference of about 100 bits
//! at 100,000 points each (with `FUSELINE_LONG=1` at 3,000,000), and every special value.
//!
//! `cargo test -p fuseline-ops --test accuracy -- --nocapture` prints the largest errors.

mod double_double;
mod points;
mod reference;
mod special;

use double_double::Scaled;
use fuseline_ops::{BinaryOp, ErrorBound, UnaryOp, math};
use points::{Points, Range};

/// Points per function.
fn count() -> usize {
    let long = std::env::var("FUSELINE_LONG").is_ok_and(|value| value != "0");
    if long { 3_000_000 } else { 100_000 }
}

/// The largest error of an operation in units in the last place, and where it lies.
#[derive(Default)]
struct Worst {
    ulps: f64,
    place: String,
}

impl Worst {
    fn take(&mut self, actual: f64, exact: Scaled, place: impl Fn() -> String) {
        let ulps = exact.ulps_to(actual);
        if ulps > self.ulps || ulps.is_nan() {
            *self = Worst { ulps, place: place() };
        }
    }

    /// Prints the error and holds it against the op table.
    fn check(&self, name: &str, bound: ErrorBound) {
        println!("{name:10} {:.3} ulp, {}", self.ulps, self.place);
        let ErrorBound::Ulp(bound) = bound else { panic!("{name} is exact, says the op table") };
        assert!(self.ulps <= bound, "{name}: {} ulp instead of {bound}, {}", self.ulps, self.place);
    }
}

/// Measures a unary operation at points from each of the ranges in turn.
fn measure(op: UnaryOp, reference: impl Fn(f64) -> Scaled, ranges: &[Range]) {
    let mut points = Points::new(op as u64);
    let mut worst = Worst::default();
    for index in 0..count() {
        let x = points.next(ranges[index % ranges.len()]);
        worst.take(op.eval(x), reference(x), || format!("x = {x:e}"));
    }
    worst.check(op.mnemonic(), op.error());
}

use Range::{Exponents, Uniform};

#[test]
fn exp() {
    measure(UnaryOp::Exp, reference::exp, &[Uniform(-745.0, 709.7), Uniform(-1.0, 1.0), Exponents(-60, 9)]);
}

#[test]
fn expm1() {
    let ranges = [Uniform(-40.0, 709.7), Uniform(-1.0, 1.0), Uniform(-3.0, 3.0), Exponents(-1070, 9)];
    measure(UnaryOp::Expm1, reference::expm1, &ranges);
}

#[test]
fn log() {
    let ranges = [Range::Positive(-1074, 1024), Uniform(0.5, 2.0), Uniform(0.99, 1.01), Uniform(1e-9, 100.0)];
    measure(UnaryOp::Log, reference::log, &ranges);
}

#[test]
fn log1p() {
    let ranges = [Uniform(-0.999, 1.0), Uniform(-0.5, 0.5), Range::Positive(-1074, 1024), Exponents(-1074, -1)];
    measure(UnaryOp::Log1p, reference::log1p, &ranges);
}

#[test]
fn sigmoid() {
    measure(UnaryOp::Sigmoid, reference::sigmoid, &[Uniform(-745.0, 40.0), Uniform(-5.0, 5.0), Exponents(-60, 9)]);
}

#[test]
fn hyperbolic_functions() {
    let ranges = [Uniform(-710.4, 710.4), Uniform(-1.0, 1.0), Uniform(-4.0, 4.0), Exponents(-1070, 9)];
    measure(UnaryOp::Sinh, reference::sinh, &ranges);
    measure(UnaryOp::Cosh, reference::cosh, &ranges);
    measure(UnaryOp::Tanh, reference::tanh, &ranges);
}

#[test]
fn trigonometric_functions() {
    let ranges = [Uniform(-0.8, 0.8), Uniform(-10.0, 10.0), Exponents(-1070, 27), Uniform(-2e8, 2e8)];
    measure(UnaryOp::Sin, |x| reference::sin_cos(x).0, &ranges);
    measure(UnaryOp::Cos, |x| reference::sin_cos(x).1, &ranges);
    measure(UnaryOp::Tan, reference::tan, &ranges);
}

#[test]
fn inverse_trigonometric_functions() {
    let ranges = [Uniform(-1.0, 1.0), Uniform(0.9, 1.0), Uniform(-0.55, -0.45), Exponents(-1070, 0)];
    measure(UnaryOp::Asin, reference::asin, &ranges);
    measure(UnaryOp::Acos, reference::acos, &ranges);
    measure(UnaryOp::Atan, reference::atan, &[Uniform(-3.0, 3.0), Exponents(-1070, 1000), Exponents(-4, 4)]);
}

#[test]
fn error_function() {
    measure(UnaryOp::Erf, reference::erf, &[Uniform(-6.0, 6.0), Uniform(-1.0, 1.0), Exponents(-1000, 2)]);
}

#[test]
fn normal_distribution() {
    measure(UnaryOp::NormalCdf, reference::normal_cdf, &[Uniform(-38.4, 8.0), Uniform(-2.0, 2.0), Exponents(-60, 5)]);
}

#[test]
fn pow() {
    let mut points = Points::new(99);
    let mut worst = Worst::default();
    for index in 0..count() {
        let x = points.next([Uniform(0.0, 10.0), Range::Positive(-1074, 1024), Uniform(0.999, 1.001)][index % 3]);
        let y = points.next([Uniform(-744.0, 709.0), Uniform(-20.0, 20.0)][index % 2]) / reference::log(x).to_f64();
        if y != 2.0 && y.abs() < 1e300 {
            worst.take(math::pow(x, y), reference::pow(x, y), || format!("x = {x:e}, y = {y:e}"));
        }
    }
    worst.check("pow", BinaryOp::Pow.error());
}
