//! Special values, hard arguments, and the reference held against an arbitrary-precision library.

use crate::double_double::{Scaled, pair};
use crate::points::{Points, Range};
use crate::reference;
use astro_float::{BigFloat, Consts, RoundingMode};
use fuseline_ops::{BinaryOp, ErrorBound, UnaryOp, math};

/// Bits that keep 100 of them right after reducing the largest double.
const PRECISION: usize = 1408;

/// A function of the arbitrary-precision library.
type Exact = fn(&BigFloat, usize, RoundingMode, &mut Consts) -> BigFloat;

/// A function of the reference, the same of the library, and where they meet.
type Meeting = (fn(f64) -> Scaled, Exact, Range);

fn number(value: &BigFloat) -> f64 {
    value.to_string().parse().expect("it prints numbers")
}

/// The value of a function, to about 100 bits.
fn exact(function: Exact, x: f64, precision: usize) -> Scaled {
    let mut constants = Consts::new().expect("memory for constants");
    let result = function(&BigFloat::from_f64(x, precision), precision, RoundingMode::ToEven, &mut constants);
    let high = number(&result);
    let rest = result.sub(&BigFloat::from_f64(high, precision), precision, RoundingMode::ToEven);
    pair(high, number(&rest)).into()
}

#[test]
fn the_reference_is_right_to_ninety_bits() {
    let functions: [Meeting; 11] = [
        (reference::exp, BigFloat::exp, Range::Uniform(-300.0, 300.0)),
        (reference::log, BigFloat::ln, Range::Positive(-300, 300)),
        (|x| reference::sin_cos(x).0, BigFloat::sin, Range::Uniform(-1e8, 1e8)),
        (|x| reference::sin_cos(x).1, BigFloat::cos, Range::Uniform(-1e8, 1e8)),
        (reference::tan, BigFloat::tan, Range::Uniform(-4.0, 4.0)),
        (reference::asin, BigFloat::asin, Range::Uniform(-1.0, 1.0)),
        (reference::acos, BigFloat::acos, Range::Uniform(-1.0, 1.0)),
        (reference::atan, BigFloat::atan, Range::Exponents(-6, 6)),
        (reference::sinh, BigFloat::sinh, Range::Exponents(-6, 6)),
        (reference::cosh, BigFloat::cosh, Range::Exponents(-6, 6)),
        (reference::tanh, BigFloat::tanh, Range::Exponents(-6, 4)),
    ];
    for (index, (reference, function, range)) in functions.into_iter().enumerate() {
        let mut points = Points::new(index as u64);
        for _ in 0..60 {
            let x = points.next(range);
            let (ours, theirs) = (reference(x), exact(function, x, 256));
            let ours = ours.value.scaled(ours.k);
            let difference = (ours.high - theirs.value.high) + (ours.low - theirs.value.low);
            assert!(difference.abs() <= 1e-27 * ours.high.abs(), "function {index} of {x:e}: {ours:?} {theirs:?}");
        }
    }
}

#[test]
fn the_reference_of_the_error_function_joins_its_forms() {
    // Known to 30 digits: erf(1), and the normal distribution at -1 and -10.
    let known = [
        (reference::erf(1.0), pair(0.842_700_792_949_714_9, -2.480_101_178_911_860_2e-17)),
        (reference::normal_cdf(-1.0), pair(0.158_655_253_931_457_05, 4.946_855_290_178_633_5e-18)),
        (reference::normal_cdf(-10.0), pair(7.619_853_024_160_525e-24, 6.154_336_657_928_224_5e-40)),
    ];
    for (actual, expected) in known {
        let actual = actual.value.scaled(actual.k);
        let difference = (actual.high - expected.high) + (actual.low - expected.low);
        assert!(difference.abs() <= 1e-28 * actual.high, "{actual:?} {expected:?}");
    }
    // The series and the continued fraction meet at 2 sqrt(2).
    let (below, above) = (2.0 * std::f64::consts::SQRT_2, (2.0 * std::f64::consts::SQRT_2).next_up());
    let (left, right) = (reference::normal_cdf(-below), reference::normal_cdf(-above));
    let slope = (left.value.scaled(left.k) - right.value.scaled(right.k)).high / (above - below);
    assert!((slope - 0.007_306_882_745_280_776).abs() < 1e-10, "{slope:e}");
}

#[test]
fn large_angles_are_reduced_right() {
    // The double nearest to a multiple of a quarter turn, and others that cancel many bits.
    let hard = [6_381_956_970_095_103.0 * 2.0_f64.powi(797), 16_367_173.0 * 2.0_f64.powi(72), 2.0_f64.powi(120)];
    let mut points = Points::new(5);
    let random: Vec<f64> = (0..60).map(|_| points.next(Range::Exponents(28, 1024))).collect();
    let edges = [268_435_456.0_f64, 4_503_599_627_370_496.0, f64::MAX];
    let near_edges = edges.iter().flat_map(|&edge| [edge.next_down(), edge, -edge]);
    for x in hard.into_iter().chain(random).chain(near_edges) {
        let functions: [(UnaryOp, Exact); 3] =
            [(UnaryOp::Sin, BigFloat::sin), (UnaryOp::Cos, BigFloat::cos), (UnaryOp::Tan, BigFloat::tan)];
        for (op, function) in functions {
            let ErrorBound::Ulp(bound) = op.error() else { panic!("{op} is not exact") };
            let ulps = exact(function, x, PRECISION).ulps_to(op.eval(x));
            assert!(ulps <= bound, "{op}({x:e}) = {:e}: {ulps} ulp", op.eval(x));
        }
    }
}

/// Equal, signs of zero included, or both NaN.
fn same(actual: f64, expected: f64) -> bool {
    actual.to_bits() == expected.to_bits() || actual.is_nan() && expected.is_nan()
}

#[test]
fn special_values_are_exact() {
    use UnaryOp::*;
    const INF: f64 = f64::INFINITY;
    const NAN: f64 = f64::NAN;
    const TINY: f64 = f64::from_bits(1);
    // The values at -Inf, -0.0, 0.0, Inf.
    let rows = [
        (Exp, [0.0, 1.0, 1.0, INF]),
        (Expm1, [-1.0, -0.0, 0.0, INF]),
        (Log, [NAN, -INF, -INF, INF]),
        (Log1p, [NAN, -0.0, 0.0, INF]),
        (Sigmoid, [0.0, 0.5, 0.5, 1.0]),
        (Sinh, [-INF, -0.0, 0.0, INF]),
        (Cosh, [INF, 1.0, 1.0, INF]),
        (Tanh, [-1.0, -0.0, 0.0, 1.0]),
        (Sin, [NAN, -0.0, 0.0, NAN]),
        (Cos, [NAN, 1.0, 1.0, NAN]),
        (Tan, [NAN, -0.0, 0.0, NAN]),
        (Asin, [NAN, -0.0, 0.0, NAN]),
        (Acos, [NAN, std::f64::consts::FRAC_PI_2, std::f64::consts::FRAC_PI_2, NAN]),
        (Atan, [-std::f64::consts::FRAC_PI_2, -0.0, 0.0, std::f64::consts::FRAC_PI_2]),
        (Erf, [-1.0, -0.0, 0.0, 1.0]),
        (NormalCdf, [0.0, 0.5, 0.5, 1.0]),
    ];
    for (op, values) in rows {
        for (x, expected) in [-INF, -0.0, 0.0, INF].into_iter().zip(values) {
            assert!(same(op.eval(x), expected), "{op}({x}) = {:e}", op.eval(x));
        }
        assert!(op.eval(NAN).is_nan(), "{op}(NaN)");
    }
    // Functions that begin like x keep subnormals, which they would else lose bits of.
    for op in [Expm1, Log1p, Sinh, Tanh, Sin, Tan, Asin, Atan] {
        for x in [TINY, -TINY, 5.0 * TINY, f64::MIN_POSITIVE, -f64::MIN_POSITIVE.next_down()] {
            assert!(same(op.eval(x), x), "{op}({x:e}) = {:e}", op.eval(x));
        }
    }
    let values = [
        (Exp, 709.782_712_893_384, f64::MAX * (1.0 - 3e-14), true),
        (Log, TINY, -744.440_071_921_381_2, true),
        (Log, 1.0, 0.0, false),
        (Log1p, -1.0, -INF, false),
        (Log1p, -1.5, NAN, false),
        (Log, -TINY, NAN, false),
        (Asin, 1.0, std::f64::consts::FRAC_PI_2, false),
        (Asin, 1.0_f64.next_up(), NAN, false),
        (Acos, 1.0, 0.0, false),
        (Acos, -1.0, std::f64::consts::PI, false),
        (Acos, -1.0_f64.next_up(), -1.0_f64.next_up(), true),
        (Atan, f64::MAX, std::f64::consts::FRAC_PI_2, false),
        (Exp, 709.782_712_893_385, INF, false),
        (Exp, -745.2, 0.0, false),
        (Expm1, 709.782_712_893_385, INF, false),
        (Expm1, -40.0, -1.0, false),
        (Sinh, 710.475_860_073_945, INF, false),
        (Sinh, -710.475_860_073_945, -INF, false),
        (Cosh, -710.475_860_073_945, INF, false),
        (Tanh, 19.1, 1.0, false),
        (Erf, -6.0, -1.0, false),
        (NormalCdf, -38.6, 0.0, false),
        (NormalCdf, 8.3, 1.0, false),
    ];
    for (op, x, expected, is_near) in values {
        let actual = op.eval(x);
        if is_near && expected.abs() > 2.0 {
            assert!(((actual - expected) / expected).abs() < 1e-12, "{op}({x:e}) = {actual:e}");
        } else if !is_near {
            assert!(same(actual, expected), "{op}({x:e}) = {actual:e}");
        }
    }
}

#[test]
fn powers_keep_the_special_cases_of_ieee_754() {
    let values = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        -0.5,
        2.0,
        -2.0,
        3.0,
        -3.0,
        1.0_f64.next_up(),
        1.0_f64.next_down(),
        1e300,
        -1e-300,
        f64::MAX,
        -f64::MAX,
        f64::MIN_POSITIVE,
        f64::from_bits(1),
        9_007_199_254_740_991.0,
        -9_007_199_254_740_991.0,
        9_007_199_254_740_992.0,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
    ];
    for x in values {
        for y in values {
            let (actual, platform) = (math::pow(x, y), x.powf(y));
            let is_close = ((actual - platform) / platform).abs() < 1e-15;
            assert!(same(actual, platform) || is_close, "pow({x:e}, {y:e}) = {actual:e}, not {platform:e}");
        }
        assert!(same(math::pow(x, 1.0), x), "pow({x:e}, 1)");
        assert!(same(math::pow(x, 2.0), x * x), "pow({x:e}, 2)");
    }
}

#[test]
fn powers_of_integers_are_exact() {
    for base in -60_i64..=60 {
        for exponent in 0..=53_u32 {
            if let Some(power) = base.checked_pow(exponent).filter(|power| power.unsigned_abs() < 1 << 53) {
                let actual = BinaryOp::Pow.eval(base as f64, f64::from(exponent));
                assert_eq!(actual, power as f64, "{base}^{exponent}");
            }
        }
    }
    for exponent in -1074..=1023 {
        let (half, rest) = (exponent / 2, exponent - exponent / 2);
        let expected = 2.0_f64.powi(half) * 2.0_f64.powi(rest);
        assert_eq!(math::pow(2.0, f64::from(exponent)), expected, "2^{exponent}");
    }
    for root in 1..=1000 {
        let root = f64::from(root);
        assert_eq!(math::pow(root * root, 0.5), root);
    }
}

#[test]
fn ordinary_forms_are_the_references_of_ordinary_operands() {
    let mut points = Points::new(8);
    for &op in UnaryOp::ALL {
        for _ in 0..2000 {
            let x = points.next(Range::Exponents(-1074, 1024));
            assert!(!op.is_ordinary(x) || same(op.eval_ordinary(x), op.eval(x)), "{op}({x:e})");
        }
        assert!(op.is_ordinary(1e8) && same(op.eval_ordinary(f64::NAN), op.eval(f64::NAN)), "{op}");
    }
}
