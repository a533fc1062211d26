//! Functions of counts, most of which are equal to one of few others.

/// How many values are remembered.
const SLOTS: usize = 256;

/// A function with the last values that it gave, by argument.
pub(super) struct Remembered<F> {
    function: F,
    /// Bits of the argument and the value, each at a place that the bits decide.
    known: [Option<(u64, f64)>; SLOTS],
}

impl<F: Fn(f64) -> f64> Remembered<F> {
    /// Nothing is known.
    pub(super) fn new(function: F) -> Self {
        Remembered { function, known: [None; SLOTS] }
    }

    /// The value for this argument.
    pub(super) fn of(&mut self, argument: f64) -> f64 {
        let bits = argument.to_bits();
        // Fibonacci hashing: the upper bits of the product depend on all of the argument's.
        let slot = &mut self.known[(bits.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as usize];
        match *slot {
            Some((known, value)) if known == bits => value,
            _ => {
                let value = (self.function)(argument);
                *slot = Some((bits, value));
                value
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_those_of_the_function() {
        let mut remembered = Remembered::new(|x: f64| x * x);
        // More arguments than are remembered, each twice.
        for number in (0..1000).chain(0..1000) {
            let argument = f64::from(number) * 0.37 - 5.0;
            assert_eq!(remembered.of(argument), argument * argument);
        }
    }
}
