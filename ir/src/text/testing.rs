//! Random structures and damaged texts for the tests of the text forms.

use crate::types::Value;

/// A small generator with a seed (splitmix64).
#[derive(Clone, Debug)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number in `0..bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    pub(crate) fn chance(&mut self) -> bool {
        self.next() & 1 == 1
    }

    pub(crate) fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())].clone()
    }

    pub(crate) fn f64(&mut self) -> f64 {
        let special = [0.0, -0.0, 1.0, 0.1, 1e300, 1e-9, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
        if self.chance() { self.pick(&special) } else { f64::from_bits(self.next()) }
    }

    pub(crate) fn name(&mut self) -> String {
        let names =
            ["X", "y.1", "_p", "ns::f", "", "two words", "\"q\"", "#", "%1", "}", "a\nb\\", "out", "write", "ü"];
        self.pick(&names).to_owned()
    }

    pub(crate) fn value(&mut self) -> Value {
        match self.below(4) {
            0 => Value::F64(self.f64()),
            1 => Value::I64(self.next() as i64),
            2 => Value::Bool(self.chance()),
            _ => Value::Str(self.name()),
        }
    }

    /// The text with a few characters or lines removed, repeated or replaced.
    pub(crate) fn damaged(&mut self, text: &str) -> String {
        let mut characters: Vec<char> = text.chars().collect();
        for _ in 0..=self.below(4) {
            let position = self.below(characters.len());
            let end = (position + 1 + self.below(12)).min(characters.len());
            match self.below(4) {
                0 => drop(characters.drain(position..end)),
                1 => {
                    let copy = characters[position..end].to_vec();
                    let target = self.below(characters.len());
                    characters.splice(target..target, copy);
                }
                _ => {
                    characters[position] =
                        self.pick(&['%', '}', '{', '"', '\\', '\n', '9', '-', ',', '=', 'x', 'ß', '#', ' ']);
                }
            }
            if characters.is_empty() {
                characters.push('{');
            }
        }
        characters.into_iter().collect()
    }
}
