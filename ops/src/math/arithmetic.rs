//! Error-free transformations and polynomials, the bricks of the functions in this folder.

/// `1.5 * 2^52`: adding it rounds to the nearest integer and leaves that integer in the low mantissa bits.
pub(super) const ROUND_SHIFT: f64 = 6_755_399_441_055_744.0;

/// The upper 32 bits of ln 2: its products with exponents are exact.
pub(super) const LN_2_HI: f64 = 6.931_471_803_691_238e-1;
/// What `LN_2_HI` leaves of ln 2.
pub(super) const LN_2_LO: f64 = 1.908_214_929_270_587_7e-10;

/// `yes` or `no`, both of them computed: a branch would keep loops from vectorising.
#[inline(always)]
pub(super) fn select<T>(condition: bool, yes: T, no: T) -> T {
    std::hint::select_unpredictable(condition, yes, no)
}

/// A polynomial by Horner's rule with fused multiply-adds, coefficients from the constant one up.
macro_rules! polynomial {
    ($x:expr, $constant:expr $(,)?) => {
        $constant
    };
    ($x:expr, $constant:expr, $($coefficients:expr),+ $(,)?) => {
        f64::mul_add(polynomial!($x, $($coefficients),+), $x, $constant)
    };
}
pub(super) use polynomial;

/// A number of about 106 bits: `high` is the rounded sum of both parts.
#[derive(Clone, Copy)]
pub(super) struct Pair {
    pub(super) high: f64,
    pub(super) low: f64,
}

impl Pair {
    #[inline(always)]
    pub(super) const fn new(high: f64, low: f64) -> Pair {
        Pair { high, low }
    }

    /// The sum, to about 100 bits unless it cancels.
    #[inline(always)]
    pub(super) fn add(self, other: Pair) -> Pair {
        let sum = two_sum(self.high, other.high);
        fast_two_sum(sum.high, sum.low + (self.low + other.low))
    }

    /// The product, to about 100 bits.
    #[inline(always)]
    pub(super) fn mul(self, other: Pair) -> Pair {
        let product = two_product(self.high, other.high);
        let low = self.high.mul_add(other.low, self.low.mul_add(other.high, product.low));
        fast_two_sum(product.high, low)
    }
}

/// `x + y`, exactly.
#[inline(always)]
pub(super) fn two_sum(x: f64, y: f64) -> Pair {
    let high = x + y;
    let part = high - x;
    Pair { high, low: (x - (high - part)) + (y - part) }
}

/// `x + y`, exactly, where `x` is zero or not below `y` in magnitude.
#[inline(always)]
pub(super) fn fast_two_sum(x: f64, y: f64) -> Pair {
    let high = x + y;
    Pair { high, low: y - (high - x) }
}

/// `x * y`, exactly unless it underflows.
#[inline(always)]
pub(super) fn two_product(x: f64, y: f64) -> Pair {
    let high = x * y;
    Pair { high, low: x.mul_add(y, -high) }
}

/// `2^k` for `-1022 <= k <= 1023`, given as `k + 1.5 * 2^52`.
#[inline(always)]
pub(super) fn power_of_two(shifted: f64) -> f64 {
    f64::from_bits(shifted.to_bits().wrapping_add(1023) << 52)
}

/// `value * 2^k` for `|k| <= 2044`, in two steps so that overflow and gradual underflow round once.
#[inline(always)]
pub(super) fn scale(value: f64, k: f64) -> f64 {
    let half_shifted = k.mul_add(0.5, ROUND_SHIFT);
    let half = half_shifted - ROUND_SHIFT;
    let rest_shifted = (k - half) + ROUND_SHIFT;
    value * power_of_two(half_shifted) * power_of_two(rest_shifted)
}
