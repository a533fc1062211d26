//! The levels of the memory hierarchy, and how much of a matrix an operator finds in each.

use serde::{Deserialize, Serialize};

/// Rates at which bytes move between the processor and one level of the memory hierarchy, in bytes per second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bandwidth {
    /// Reads.
    pub read: f64,
    /// Writes, the read of each written cache line included.
    pub write: f64,
}

/// A cache.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cache {
    /// Its bytes: for a cache of a core those of one.
    pub size: f64,
    /// Bytes of a matrix up to which an operator finds it here: a share of the cache, beside what else it touches and what
    /// operators before it have left.
    pub capacity: f64,
    /// Bytes of a matrix from which on an operator finds nothing of it here; below, down to the capacity, it finds a share.
    pub reach: f64,
    /// Bytes of a matrix that is written from which on nothing of it is here: memory of an output that was recycled, or that waits here for its way to memory.
    pub write_reach: f64,
    /// Its bandwidth.
    pub bandwidth: Bandwidth,
}

impl Cache {
    /// The bandwidth of a matrix of this many bytes, of which this cache holds the share that it can and the levels behind
    /// it the rest.
    pub fn shared(&self, bytes: f64, outer: Bandwidth) -> Bandwidth {
        Bandwidth {
            read: mixed(self.share(bytes, self.reach), self.bandwidth.read, outer.read),
            write: mixed(self.share(bytes, self.write_reach), self.bandwidth.write, outer.write),
        }
    }

    /// The share of a matrix of this many bytes that is here, of one of `reach` bytes nothing.
    fn share(&self, bytes: f64, reach: f64) -> f64 {
        if bytes <= self.capacity {
            return 1.0;
        }
        if bytes >= reach { 0.0 } else { (reach - bytes) / (reach - self.capacity) }
    }
}

/// The rate at which a matrix moves of which this share is here and the rest behind.
fn mixed(share: f64, here: f64, behind: f64) -> f64 {
    match share {
        0.0 => behind,
        1.0 => here,
        share => 1.0 / (share / here + (1.0 - share) / behind),
    }
}
