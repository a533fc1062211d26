//! Instruction sets that the primitives are compiled for.

use std::fmt;
use std::str::FromStr;

/// Bytes from which on a result is written past the caches, where it would not stay anyway: its lines are not read before they
/// are written.
const STREAMED: usize = 64 << 20;

/// Bytes of a cache line.
const LINE_BYTES: usize = 64;

/// An instruction set with primitives of its own. All of them give the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Isa {
    /// x86-64 with AVX-512 F, DQ, VL and BW: registers of 8 values.
    Avx512,
    /// x86-64 with AVX2 and FMA: registers of 4 values.
    Avx2,
    /// What every processor of the target architecture has: registers of 2 values (SSE2, NEON).
    Portable,
}

impl Isa {
    /// Every instruction set, the widest first.
    pub const ALL: &[Isa] = &[Isa::Avx512, Isa::Avx2, Isa::Portable];

    /// The widest instruction set of this machine.
    pub fn detect() -> Isa {
        Isa::ALL.iter().copied().find(|isa| isa.is_available()).expect("the portable set runs everywhere")
    }

    /// Every instruction set of this machine, the widest first.
    pub fn available() -> Vec<Isa> {
        Isa::ALL.iter().copied().filter(|isa| isa.is_available()).collect()
    }

    /// Whether this machine can run it.
    pub fn is_available(self) -> bool {
        match self {
            Isa::Avx512 => has_avx512(),
            Isa::Avx2 => has_avx2(),
            Isa::Portable => true,
        }
    }

    /// Values of type f64 in a register.
    pub fn lanes(self) -> usize {
        match self {
            Isa::Avx512 => 8,
            Isa::Avx2 => 4,
            Isa::Portable => 2,
        }
    }

    /// Whether a result of so many bytes is best computed in a cache, part by part, and copied past it.
    pub fn streams(self, bytes: usize) -> bool {
        self.streams_from().is_some_and(|least| bytes >= least)
    }

    /// The bytes from which on results are written past the caches, where any are.
    pub fn streams_from(self) -> Option<usize> {
        // Lines that come in two halves are as fast to write through, without the copy.
        let writes_lines = self.lanes() * size_of::<f64>() >= LINE_BYTES;
        writes_lines.then_some(STREAMED)
    }

    /// The name, as options and plan-cache keys spell it.
    pub fn name(self) -> &'static str {
        match self {
            Isa::Avx512 => "avx512",
            Isa::Avx2 => "avx2",
            Isa::Portable => "portable",
        }
    }
}

#[cfg(target_arch = "x86_64")]
fn has_avx512() -> bool {
    has_avx2()
        && is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512bw")
}

#[cfg(target_arch = "x86_64")]
fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") && is_x86_feature_detected!("bmi2")
}

#[cfg(not(target_arch = "x86_64"))]
fn has_avx512() -> bool {
    false
}

#[cfg(not(target_arch = "x86_64"))]
fn has_avx2() -> bool {
    false
}

impl fmt::Display for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Isa {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        Isa::ALL
            .iter()
            .copied()
            .find(|isa| isa.name() == text)
            .ok_or_else(|| format!("`{text}` is no instruction set (avx512, avx2, portable)"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_results_are_written_past_the_caches_by_whole_lines() {
        let sets = |bytes| Isa::ALL.iter().copied().filter(|isa| isa.streams(bytes)).collect::<Vec<_>>();
        assert_eq!(sets(STREAMED), [Isa::Avx512]);
        assert_eq!(sets(STREAMED - 1), []);
        assert_eq!([Isa::Avx512, Isa::Avx2].map(Isa::streams_from), [Some(STREAMED), None]);
    }
}
