//! The functions to about 100 bits, by other ways than those of `ops::math`: Taylor series, Newton's iteration and
//! continued fractions on double doubles.

use crate::double_double::{DoubleDouble, Scaled, double, pair, two_product, two_sum};

const LN_2: DoubleDouble = pair(std::f64::consts::LN_2, 2.319_046_813_846_299_6e-17);
const TWO_OVER_SQRT_PI: DoubleDouble = pair(std::f64::consts::FRAC_2_SQRT_PI, 1.533_545_961_316_588e-17);
const SQRT_HALF: DoubleDouble = pair(std::f64::consts::FRAC_1_SQRT_2, -4.833_646_656_726_457e-17);
/// pi/2 in four parts.
const QUARTER: [f64; 4] =
    [std::f64::consts::FRAC_PI_2, 6.123_233_995_736_766e-17, -1.497_384_904_859_169_8e-33, 5.562_271_104_316_826e-50];

/// `exp(x) - 1` and the factor's exponent: `exp(x) = (1 + value) * 2^k`. Taylor series of `x / 1024`, squared ten times.
fn expm1_parts(x: DoubleDouble) -> (DoubleDouble, i32) {
    let k = (x.high / LN_2.high).round();
    let reduced = (x - LN_2 * double(k)).scaled(-10);
    let mut series = double(0.0);
    for n in (1..=12).rev() {
        series = (series + double(1.0)) * reduced / double(f64::from(n));
    }
    for _ in 0..10 {
        series = series * (series + double(2.0));
    }
    (series, k as i32)
}

fn exp_of(x: DoubleDouble) -> Scaled {
    let (series, k) = expm1_parts(x);
    Scaled { value: series + double(1.0), k }
}

/// `exp(x) - 1` for `x <= 700`.
fn expm1_of(x: DoubleDouble) -> DoubleDouble {
    if x.high < -200.0 {
        return double(-1.0);
    }
    let (series, k) = expm1_parts(x);
    if k == 0 { series } else { (series + double(1.0)).scaled(k) - double(1.0) }
}

pub(crate) fn exp(x: f64) -> Scaled {
    exp_of(double(x))
}

pub(crate) fn expm1(x: f64) -> Scaled {
    if x > 600.0 {
        exp(x)
    } else if x.abs() < 1e-200 {
        double(x).into()
    } else {
        expm1_of(double(x)).into()
    }
}

/// `log(1 + f)` for `1 + f` around 1: one step of Halley's iteration from the platform's result.
fn log1p_near(f: DoubleDouble) -> DoubleDouble {
    if f.high.abs() < 1e-200 {
        return f;
    }
    let first = double(f.high.ln_1p());
    let exponential = expm1_of(first);
    first + double(2.0) * (f - exponential) / (double(2.0) + f + exponential)
}

/// The logarithm of a positive number.
fn log_of(x: DoubleDouble) -> DoubleDouble {
    let (high, shift) = if x.high < 1e-290 { (x.high * 2.0_f64.powi(80), -80) } else { (x.high, 0) };
    let k = ((high.to_bits() >> 52) as i32) - 1023;
    let k = if high * 2.0_f64.powi(-k / 2) * 2.0_f64.powi(-k + k / 2) > std::f64::consts::SQRT_2 { k + 1 } else { k };
    let down = |value: f64| value * 2.0_f64.powi(-k / 2) * 2.0_f64.powi(-k + k / 2);
    let f = two_sum(down(high), -1.0) + double(down(x.low));
    log1p_near(f) + LN_2 * double(f64::from(k + shift))
}

pub(crate) fn log(x: f64) -> Scaled {
    log_of(double(x)).into()
}

pub(crate) fn log1p(x: f64) -> Scaled {
    let result = if x.abs() < 0.3 { log1p_near(double(x)) } else { log_of(two_sum(1.0, x)) };
    result.into()
}

pub(crate) fn pow(x: f64, y: f64) -> Scaled {
    exp_of(log_of(double(x)) * double(y))
}

pub(crate) fn sigmoid(x: f64) -> Scaled {
    let exponential = exp(-x.abs());
    let sum = double(1.0) + if x.abs() < 200.0 { exponential.value.scaled(exponential.k) } else { double(0.0) };
    if x < 0.0 { Scaled { value: exponential.value / sum, ..exponential } } else { sum.recip().into() }
}

/// `(exp(|x|) + sign * exp(-|x|)) / 2`, where nothing cancels.
fn hyperbolic(x: f64, sign: f64) -> Scaled {
    let Scaled { value, k } = exp(x.abs());
    let inverse = if x.abs() < 100.0 { value.recip().scaled(-2 * k) } else { double(0.0) };
    Scaled { value: value + double(sign) * inverse, k: k - 1 }
}

fn with_sign(result: Scaled, x: f64) -> Scaled {
    if x < 0.0 { Scaled { value: -result.value, ..result } } else { result }
}

pub(crate) fn sinh(x: f64) -> Scaled {
    if x.abs() < 1e-200 {
        return double(x).into();
    }
    if x.abs() > 1.0 {
        return with_sign(hyperbolic(x, -1.0), x);
    }
    let e = expm1_of(double(x));
    (double(0.5) * (e + e / (e + double(1.0)))).into()
}

pub(crate) fn cosh(x: f64) -> Scaled {
    hyperbolic(x, 1.0)
}

pub(crate) fn tanh(x: f64) -> Scaled {
    if x.abs() < 1e-200 {
        return double(x).into();
    }
    let e = expm1_of(double(2.0 * x.abs().min(100.0)));
    with_sign((e / (e + double(2.0))).into(), x)
}

/// Sine and cosine of at most an eighth turn, by their Taylor series.
fn series(x: DoubleDouble) -> (DoubleDouble, DoubleDouble) {
    let square = -(x * x);
    let (mut sine, mut cosine) = (double(0.0), double(0.0));
    for n in (1..=15).rev() {
        let n = f64::from(2 * n);
        sine = square * (sine + double(1.0)) / double(n * (n + 1.0));
        cosine = square * (cosine + double(1.0)) / double(n * (n - 1.0));
    }
    (x + x * sine, cosine + double(1.0))
}

/// Sine and cosine of a number below `2^40`.
fn sin_cos_of(x: f64) -> (DoubleDouble, DoubleDouble) {
    let n = (x / QUARTER[0]).round();
    let parts = QUARTER.map(|part| two_product(-n, part));
    // The first two terms cancel: the terms in order of magnitude, exactly summed.
    let first = two_sum(x, parts[0].high);
    let rest = first + (double(parts[0].low) + parts[1]) + (parts[2] + parts[3]);
    let (sine, cosine) = series(rest);
    match (n as i64).rem_euclid(4) {
        0 => (sine, cosine),
        1 => (cosine, -sine),
        2 => (-sine, -cosine),
        _ => (-cosine, sine),
    }
}

pub(crate) fn sin_cos(x: f64) -> (Scaled, Scaled) {
    if x.abs() < 1e-100 {
        return (double(x).into(), double(1.0).into());
    }
    let (sine, cosine) = sin_cos_of(x);
    (sine.into(), cosine.into())
}

pub(crate) fn tan(x: f64) -> Scaled {
    if x.abs() < 1e-100 {
        return double(x).into();
    }
    let (sine, cosine) = sin_cos_of(x);
    (sine / cosine).into()
}

/// The arc tangent: the platform's result, corrected by the arc tangent of what it leaves.
fn atan_of(x: DoubleDouble) -> DoubleDouble {
    if x.high.abs() < 1e-100 {
        return x;
    }
    let first = x.high.atan();
    let (sine, cosine) = sin_cos_of(first);
    let rest = if x.high.abs() < 1.0 {
        (x * cosine - sine) / (cosine + x * sine)
    } else {
        (cosine - sine / x) / (cosine / x + sine)
    };
    double(first) + rest
}

pub(crate) fn atan(x: f64) -> Scaled {
    if x.abs() > 1e200 {
        return with_sign(pair(QUARTER[0], QUARTER[1]).into(), x);
    }
    atan_of(double(x)).into()
}

pub(crate) fn asin(x: f64) -> Scaled {
    if x.abs() < 1e-100 {
        return double(x).into();
    }
    let cosine = (two_sum(1.0, -x) * two_sum(1.0, x)).sqrt();
    atan_of(double(x) / cosine).into()
}

pub(crate) fn acos(x: f64) -> Scaled {
    let half = atan_of((two_sum(1.0, -x) / two_sum(1.0, x)).sqrt());
    (double(2.0) * half).into()
}

/// The error function of `0 <= x <= 6`: a series without cancellation.
fn erf_of(x: DoubleDouble) -> DoubleDouble {
    let square = x * x;
    let (mut term, mut sum, mut n) = (x, x, 1.0);
    while term.high > sum.high * 1e-33 {
        term = term * double(2.0) * square / double(2.0 * n + 1.0);
        sum = sum + term;
        n += 1.0;
    }
    let Scaled { value, k } = exp_of(-square);
    TWO_OVER_SQRT_PI * value.scaled(k) * sum
}

/// One less the error function of `x >= 2`: a continued fraction.
fn erfc_far(x: DoubleDouble) -> Scaled {
    let depth = 40 + (700.0 / (x.high * x.high)) as i32;
    let mut fraction = x;
    for n in (1..=depth).rev() {
        fraction = x + double(0.5 * f64::from(n)) / fraction;
    }
    let Scaled { value, k } = exp_of(-(x * x));
    Scaled { value: double(0.5) * TWO_OVER_SQRT_PI * value / fraction, k }
}

pub(crate) fn erf(x: f64) -> Scaled {
    if x.abs() < 1e-100 {
        return (TWO_OVER_SQRT_PI * double(x)).into();
    }
    with_sign(erf_of(double(x.abs())).into(), x)
}

pub(crate) fn normal_cdf(x: f64) -> Scaled {
    let scaled = double(x.abs()) * SQRT_HALF;
    if scaled.high < 2.0 {
        let half = double(0.5) * erf_of(scaled);
        return (double(0.5) + if x < 0.0 { -half } else { half }).into();
    }
    let Scaled { value, k } = erfc_far(scaled);
    let tail = Scaled { value: double(0.5) * value, k };
    if x < 0.0 { tail } else { (double(1.0) - tail.value.scaled(tail.k)).into() }
}
