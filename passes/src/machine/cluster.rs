//! A cluster of workers, for operators that exceed the memory budget of this machine, its driver (sections 2.1 and 4.3).

use super::{is_cost, is_rate};
use serde::{Deserialize, Serialize};

/// A declared cluster. Rates are in bytes per second.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cluster {
    /// Number of workers, each as fast as this machine.
    pub workers: usize,
    /// Bytes of the largest matrix that is sent to every worker; larger side inputs are joined.
    pub broadcast_memory: f64,
    /// Columns of a block of a distributed matrix, the paper's `B_c`.
    pub block_size: u64,
    /// Rate at which the workers together read and write distributed matrices.
    pub read_bandwidth: f64,
    /// Rate at which a matrix reaches every worker.
    pub broadcast_bandwidth: f64,
    /// Rate at which two distributed matrices are brought together.
    pub join_bandwidth: f64,
    /// Seconds to start a distributed operator.
    pub start: f64,
}

impl Cluster {
    /// Whether a side input of this many bytes is sent to every worker rather than joined.
    pub fn is_broadcast(&self, bytes: f64) -> bool {
        bytes <= self.broadcast_memory
    }

    /// Seconds to bring a side input of this many bytes to the workers.
    pub fn side_input_time(&self, bytes: f64) -> f64 {
        bytes / if self.is_broadcast(bytes) { self.broadcast_bandwidth } else { self.join_bandwidth }
    }

    /// Seconds to read a part of the main input, in bytes.
    pub fn read_time(&self, bytes: f64) -> f64 {
        bytes / self.read_bandwidth
    }

    /// Seconds to write a distributed matrix of this many bytes.
    pub fn write_time(&self, bytes: f64) -> f64 {
        bytes / self.read_bandwidth
    }

    /// The fewest seconds in which any input of a distributed operator is read.
    pub(super) fn least_read_time(&self, bytes: f64) -> f64 {
        bytes / self.read_bandwidth.max(self.broadcast_bandwidth).max(self.join_bandwidth)
    }

    pub(super) fn is_consistent(&self) -> bool {
        let rates = [self.read_bandwidth, self.broadcast_bandwidth, self.join_bandwidth];
        let costs = [self.broadcast_memory, self.start];
        rates.into_iter().all(is_rate) && costs.into_iter().all(is_cost) && self.workers > 0 && self.block_size > 0
    }
}
