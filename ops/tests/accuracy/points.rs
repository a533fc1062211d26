//! Deterministic points.

/// Where points come from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Range {
    /// Evenly from an interval.
    Uniform(f64, f64),
    /// Of either sign, with evenly distributed binary exponents from the first up to the second.
    Exponents(i32, i32),
    /// The same, positive.
    Positive(i32, i32),
}

/// A generator (xorshift).
pub(crate) struct Points(u64);

impl Points {
    pub(crate) fn new(seed: u64) -> Points {
        Points(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x2545_f491_4f6c_dd1d)
    }

    fn bits(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number in `[0, 1)`.
    fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub(crate) fn next(&mut self, range: Range) -> f64 {
        match range {
            Range::Uniform(low, high) => low + (high - low) * self.unit(),
            Range::Positive(low, high) => {
                let exponent = low + (self.unit() * f64::from(high - low)) as i32;
                let mantissa = 1.0 + self.unit();
                // In two steps, since the power may be subnormal.
                mantissa * 2.0_f64.powi(exponent / 2) * 2.0_f64.powi(exponent - exponent / 2)
            }
            Range::Exponents(low, high) => {
                let magnitude = self.next(Range::Positive(low, high));
                if self.bits() >> 63 == 0 { magnitude } else { -magnitude }
            }
        }
    }
}
