//! The machine that the cost model estimates for (section 4.3).

/// Peak rates of a machine. Bandwidths are in bytes per second, compute in floating-point operations per second.
///
/// Fusion decisions use the machine's full number of threads, never the number that a run was limited to, so that the
/// plan does not depend on it.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// Read bandwidth of main memory with all threads.
    pub read_bandwidth: f64,
    /// Write bandwidth of main memory with all threads, page faults of fresh memory included.
    pub write_bandwidth: f64,
    /// Compute rate of one thread.
    pub flops_per_thread: f64,
    /// Number of hardware threads.
    pub threads: usize,
}

impl Machine {
    /// Compute rate of all threads.
    pub fn flops(&self) -> f64 {
        self.flops_per_thread * self.threads as f64
    }

    /// Seconds to read this many bytes.
    pub fn read_time(&self, bytes: f64) -> f64 {
        bytes / self.read_bandwidth
    }

    /// Seconds to write this many bytes.
    pub fn write_time(&self, bytes: f64) -> f64 {
        bytes / self.write_bandwidth
    }

    /// Seconds to compute this many floating-point operations.
    pub fn compute_time(&self, flops: f64) -> f64 {
        flops / self.flops()
    }
}

/// A current two-channel machine: the paper's 32 GB/s for reads, half of that for writes (each written cache line is
/// read first), and 4 GFLOP/s for each of 8 threads, which is what streaming vector code sustains rather than a peak.
impl Default for Machine {
    fn default() -> Self {
        Machine { read_bandwidth: 32e9, write_bandwidth: 16e9, flops_per_thread: 4e9, threads: 8 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// P113: 100M x 10 dense values at 32 GB/s take a quarter of a second.
    #[test]
    fn reads_the_papers_example_in_a_quarter_second() {
        let seconds = Machine::default().read_time(1e9 * 8.0);
        assert!((seconds - 0.25).abs() < 1e-12);
    }
}
