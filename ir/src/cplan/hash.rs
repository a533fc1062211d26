//! Content hashes of CPlans, for plan caches that outlive the process.

use super::CPlan;

impl CPlan {
    /// A hash of the plan's content: the same in every process and on every machine, equal for equal plans.
    ///
    /// 128 bits of the BLAKE3 hash of the text form. Caches compare the plans themselves on a hit.
    pub fn content_hash(&self) -> u128 {
        let hash = blake3::hash(self.to_string().as_bytes());
        let (first, _) = hash.as_bytes().split_first_chunk().expect("a BLAKE3 hash has 32 bytes");
        u128::from_be_bytes(*first)
    }
}
