//! The machine that the cost model estimates for (section 4.3).
//!
//! A [`Machine`] is a value: plans are functions of the program, the sizes and this value alone. [`Machine::default`]
//! is a stated, typical machine; `fuseline calibrate` measures the one at hand.

mod cache;
mod cluster;

pub use cache::{Bandwidth, Cache};
pub use cluster::Cluster;

use fuseline_ir::work::CELL_BYTES;
use serde::{Deserialize, Serialize};

/// Classes of operations that run at different rates. Within a class the table of operations weighs them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum OperationClass {
    /// What processors have fast instructions for.
    Arithmetic,
    /// Quotients and square roots, which are the work of the same unit.
    Division,
    /// `exp`, `log` and the like.
    Function,
    /// Products inside of fused operators, and unfused ones with a vector, of a sparse matrix, or of a transposed matrix with
    /// few columns: row after row.
    Product,
    /// Unfused products of two matrices, in blocks that stay in cache and registers.
    MatrixProduct,
    /// Drawing random values.
    Random,
    /// Moving cells, or parts of rows, to other places one by one: transposing, indexing, appending columns, and what
    /// products pack and merge.
    Reorganization,
}

impl OperationClass {
    /// All of them, by index.
    pub const ALL: [OperationClass; 7] = [
        OperationClass::Arithmetic,
        OperationClass::Division,
        OperationClass::Function,
        OperationClass::Product,
        OperationClass::MatrixProduct,
        OperationClass::Random,
        OperationClass::Reorganization,
    ];
}

/// Floating-point operations per second of one thread, by class of operation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComputeRates {
    /// Of [`OperationClass::Arithmetic`].
    pub arithmetic: f64,
    /// Of [`OperationClass::Division`], in the flops of the table of operations.
    pub division: f64,
    /// Of [`OperationClass::Function`], in the flops of the table of operations.
    pub function: f64,
    /// Of [`OperationClass::Product`].
    pub product: f64,
    /// Of [`OperationClass::MatrixProduct`].
    pub matrix_product: f64,
    /// Of [`OperationClass::Random`]: values per second.
    pub random: f64,
    /// Of [`OperationClass::Reorganization`]: cells per second.
    pub reorganization: f64,
    /// Cells per second that a loop of a Row operator goes over, apart from its operations: it loads them from the nearest
    /// cache, where an operator over cells keeps them in registers. Laying out sparse rows and storing few of many cells are priced
    /// in such passes.
    pub row_cells: f64,
}

impl ComputeRates {
    /// Every class at one rate.
    pub fn uniform(rate: f64) -> Self {
        ComputeRates {
            arithmetic: rate,
            division: rate,
            function: rate,
            product: rate,
            matrix_product: rate,
            random: rate,
            reorganization: rate,
            row_cells: rate,
        }
    }

    /// The rate of a class.
    pub fn of(&self, class: OperationClass) -> f64 {
        match class {
            OperationClass::Arithmetic => self.arithmetic,
            OperationClass::Division => self.division,
            OperationClass::Function => self.function,
            OperationClass::Product => self.product,
            OperationClass::MatrixProduct => self.matrix_product,
            OperationClass::Random => self.random,
            OperationClass::Reorganization => self.reorganization,
        }
    }
}

/// What sparse formats cost besides the bytes that they store, in seconds of one thread.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SparseAccess {
    /// Visiting one non-zero.
    pub non_zero: f64,
    /// Visiting it once more, while its row is in the nearest cache.
    pub again: f64,
    /// Fetching a cache line for a non-zero, of a factor's row or a vector, from the last cache.
    pub line: f64,
    /// Fetching the cell of a dense matrix in memory that belongs to a non-zero of another matrix, besides the visit.
    pub gather: f64,
    /// Beginning a row, however few non-zeros it has.
    pub row: f64,
    /// Storing a non-zero of a new matrix that a basic operator computes.
    pub store: f64,
    /// Beginning a row of such a matrix.
    pub store_row: f64,
}

/// Seconds to start an operator, however small.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct StartCosts {
    /// A basic operator.
    pub basic: f64,
    /// A basic operator whose result is a single value, which needs no memory.
    pub scalar: f64,
    /// A fused operator over cells.
    pub fused: f64,
    /// A fused operator over rows, which lays out what it needs for a row.
    pub fused_rows: f64,
    /// Sharing the work of an operator among threads, where it is of several blocks: besides its start.
    pub parallel: f64,
    /// Within an operator, a run of values that a product or an aggregation takes in one by one: mostly a row. Adding up
    /// what the lanes of the processor hold, and the loop around it, are nearly all of it for short rows. In seconds of
    /// one thread.
    pub run: f64,
    /// A row of a fused operator over cells that goes row by row. In seconds of one thread.
    pub row: f64,
    /// An element-wise operation or aggregation of a fused operator over rows of few values, for each row: besides its
    /// operations on these. In seconds of one thread.
    pub narrow: f64,
}

/// What is paid once, in seconds: not part of what an operator takes each time it runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct OneTimeCosts {
    /// Compiling one fused operator.
    pub compile: f64,
    /// The first write to a page of 4096 bytes. Memory is recycled from operator to operator.
    pub fresh_page: f64,
}

/// Bytes of a cache line.
pub const LINE_BYTES: f64 = 64.0;

/// What a cache line from the second-level cache costs, relative to the machine's `sparse.line`, of one from beyond. Fitted.
const NEAR_LINE_SHARE: f64 = 0.3;

/// What a cache line from memory costs besides, relative to the machine's `sparse.line`. Fitted.
const FAR_LINE: f64 = 2.0;

/// The share of the last cache that keeps lines which are fetched one by one: what streams past them takes the rest. Fitted.
const KEPT_SHARE: f64 = 0.25;

/// Bytes of a page of memory.
pub const PAGE_BYTES: f64 = 4096.0;

/// Sustained rates of a machine.
///
/// Fusion decisions use the machine's full number of threads, never the number that a run was limited to, so that the
/// plan does not depend on it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Caches, the smallest and fastest first. What fits a core's own caches is the work of one thread.
    pub caches: [Cache; 3],
    /// Main memory, with all threads.
    pub memory: Bandwidth,
    /// Compute rates of one thread.
    pub compute: ComputeRates,
    /// Values that are computed at once: rows of fewer take as long as rows of so many, where operators over cells go
    /// row by row.
    pub lanes: usize,
    /// The share of the shorter of reading and computing that Row operators over dense rows hide behind the other, between
    /// 0 and 1: they read a row in their first pass over it alone.
    pub overlap: f64,
    /// The share of the shorter of reading and computing that shows in any operator, between 0 and 1: the two share the
    /// instructions of a core. So of two plans that read the same, the one that computes less is the cheaper one.
    pub exposed: f64,
    /// The share of writing that computation hides where it takes longer than reading, between 0 and 1.
    pub hidden_write: f64,
    /// Sparse formats.
    pub sparse: SparseAccess,
    /// What starting an operator takes.
    pub start: StartCosts,
    /// What is paid once.
    pub once: OneTimeCosts,
    /// Number of hardware threads.
    pub threads: usize,
    /// Bytes that the inputs and the output of one operator may take on this machine; `None` is no constraint. Beyond
    /// it an operator runs on the cluster, or not at all.
    pub memory_budget: Option<f64>,
    /// The workers, where there are any.
    pub cluster: Option<Cluster>,
}

impl Machine {
    /// A typical machine whose registers hold so many values: its rates of computing grow with them, and those of its caches,
    /// which fill such a register as fast; those of memory, of random values and of moving cells do not.
    pub fn typical(lanes: usize) -> Self {
        let typical = Machine::default();
        let wider = lanes.max(1) as f64 / typical.lanes as f64;
        let compute = typical.compute;
        let compute = ComputeRates {
            arithmetic: wider * compute.arithmetic,
            division: wider * compute.division,
            function: wider * compute.function,
            product: wider * compute.product,
            matrix_product: wider * compute.matrix_product,
            row_cells: wider * compute.row_cells,
            ..compute
        };
        let scaled = |Bandwidth { read, write }| Bandwidth { read: wider * read, write: wider * write };
        let caches = typical.caches.map(|cache| Cache { bandwidth: scaled(cache.bandwidth), ..cache });
        Machine { lanes: lanes.max(1), caches, compute, ..typical }
    }

    /// A machine of main memory alone, whose every operation runs at one rate (FLOP per second of all threads) and
    /// whose operators start at once: the machine of the paper's examples.
    pub fn plain(memory: Bandwidth, flops: f64) -> Self {
        Machine {
            caches: [Cache { size: 0.0, capacity: 0.0, reach: 0.0, write_reach: 0.0, bandwidth: memory }; 3],
            memory,
            compute: ComputeRates::uniform(flops),
            lanes: 1,
            overlap: 1.0,
            exposed: 0.0,
            hidden_write: 0.0,
            sparse: SparseAccess {
                non_zero: 0.0,
                again: 0.0,
                line: 0.0,
                gather: 0.0,
                row: 0.0,
                store: 0.0,
                store_row: 0.0,
            },
            start: StartCosts {
                basic: 0.0,
                scalar: 0.0,
                fused: 0.0,
                fused_rows: 0.0,
                parallel: 0.0,
                run: 0.0,
                row: 0.0,
                narrow: 0.0,
            },
            once: OneTimeCosts { compile: 0.0, fresh_page: 0.0 },
            threads: 1,
            memory_budget: None,
            cluster: None,
        }
    }

    /// One thread of this machine, which has its part of what the threads share.
    pub fn of_one_thread(&self) -> Machine {
        let [first, second, last] = self.caches;
        let caches = [first, second, Cache { bandwidth: self.part(last.bandwidth), ..last }];
        Machine { caches, memory: self.part(self.memory), threads: 1, ..self.clone() }
    }

    /// The part of a bandwidth that one of the threads has.
    fn part(&self, of_all: Bandwidth) -> Bandwidth {
        let threads = self.threads as f64;
        Bandwidth { read: of_all.read / threads, write: of_all.write / threads }
    }

    /// The bandwidth at which a matrix of this many bytes moves: that of the smallest level that holds it, or of several
    /// that hold a share each.
    pub fn bandwidth(&self, bytes: f64) -> Bandwidth {
        self.caches.iter().rev().fold(self.memory, |outer, cache| cache.shared(bytes, outer))
    }

    /// Seconds of one thread to fetch a cache line of a matrix of this many bytes for a non-zero, whose lines lie anywhere in
    /// it: the share of them that no level keeps comes from the next one.
    pub fn line_time(&self, matrix: f64) -> f64 {
        let beyond = |kept: f64| (1.0 - kept / matrix.max(1.0)).max(0.0);
        let [first, second, last] = &self.caches;
        let near = NEAR_LINE_SHARE * beyond(first.size) + (1.0 - NEAR_LINE_SHARE) * beyond(second.size);
        self.sparse.line * (near + FAR_LINE * beyond(KEPT_SHARE * last.size))
    }

    /// Seconds to read a part of a matrix, both in bytes, from the level that holds the matrix.
    pub fn read_part_time(&self, part: f64, matrix: f64) -> f64 {
        part / self.bandwidth(matrix).read
    }

    /// Seconds of one thread to fetch a cell of a dense matrix of this many bytes: the slower, the further away it is.
    pub fn gather_time(&self, matrix: f64) -> f64 {
        self.sparse.gather * self.memory.read / self.bandwidth(matrix).read
    }

    /// The fewest seconds in which a matrix of this many bytes is read, wherever the operator runs. Ascends.
    pub fn read_time(&self, bytes: f64) -> f64 {
        let local = self.read_part_time(bytes, bytes);
        self.cluster.as_ref().map_or(local, |cluster| local.min(cluster.least_read_time(bytes)))
    }

    /// The fewest seconds in which a matrix of this many bytes is written, wherever the operator runs. Ascends.
    pub fn write_time(&self, bytes: f64) -> f64 {
        let local = self.local_write_time(bytes);
        self.cluster.as_ref().map_or(local, |cluster| local.min(cluster.write_time(bytes)))
    }

    /// Seconds to write a matrix of this many bytes to the level that holds it.
    pub fn local_write_time(&self, bytes: f64) -> f64 {
        bytes / self.bandwidth(bytes).write
    }

    /// Seconds in which all threads of this machine compute so many floating-point operations.
    pub fn local_compute_time(&self, class: OperationClass, flops: f64) -> f64 {
        flops / (self.compute.of(class) * self.threads as f64)
    }

    /// The fewest seconds of computation, wherever the operator runs.
    pub fn compute_time(&self, class: OperationClass, flops: f64) -> f64 {
        self.local_compute_time(class, flops) / self.workers()
    }

    /// The fewest seconds in which an operator starts whose output has so many bytes, wherever it runs.
    pub fn start_time(&self, output: f64) -> f64 {
        let StartCosts { fused, fused_rows, .. } = self.start;
        let here = self.basic_start(output).min(fused).min(fused_rows);
        self.cluster.as_ref().map_or(here, |cluster| here.min(cluster.start))
    }

    /// Seconds to start a basic operator whose output has so many bytes.
    pub fn basic_start(&self, output: f64) -> f64 {
        if output <= CELL_BYTES as f64 { self.start.scalar } else { self.start.basic }
    }

    /// Seconds in which this machine visits so many non-zeros of sparse matrices.
    pub fn local_visit_time(&self, non_zeros: f64) -> f64 {
        non_zeros * self.sparse.non_zero / self.threads as f64
    }

    /// The fewest seconds of visiting non-zeros, wherever the operator runs.
    pub fn visit_time(&self, non_zeros: f64) -> f64 {
        self.local_visit_time(non_zeros) / self.workers()
    }

    /// Workers of the cluster, or this machine alone.
    fn workers(&self) -> f64 {
        self.cluster.as_ref().map_or(1.0, |cluster| cluster.workers.max(1) as f64)
    }

    /// Seconds that an operator takes once, before it can run again and again: its compilation if it is fused, and the
    /// pages of its output, in bytes.
    pub fn first_time(&self, is_fused: bool, output: f64) -> f64 {
        let compile = if is_fused { self.once.compile } else { 0.0 };
        compile + output / PAGE_BYTES * self.once.fresh_page
    }

    /// Whether every rate is a positive number, every cost none below zero, and no level is faster than a smaller
    /// one: what the bounds of plan selection rest on.
    pub fn is_consistent(&self) -> bool {
        let rates = OperationClass::ALL.map(|class| self.compute.of(class));
        let levels = self.caches.iter().map(|cache| cache.bandwidth).chain([self.memory]);
        let bandwidths: Vec<Bandwidth> = levels.collect();
        let capacities = self.caches.map(|cache| cache.capacity);
        let reaches = self.caches.map(|cache| cache.reach.max(cache.write_reach));
        let sizes = self.caches.map(|cache| cache.size);
        let StartCosts { basic, scalar, fused, fused_rows, parallel, run, row, narrow } = self.start;
        let starts = [basic, scalar, fused, fused_rows, parallel, run, row, narrow];
        let SparseAccess { non_zero, again, line, gather, row: sparse_row, store, store_row } = self.sparse;
        let sparse = [non_zero, again, line, gather, sparse_row, store, store_row];
        let once = [self.once.compile, self.once.fresh_page];
        rates
            .into_iter()
            .chain([self.compute.row_cells])
            .chain(bandwidths.iter().flat_map(|level| [level.read, level.write]))
            .all(is_rate)
            && bandwidths.windows(2).all(|pair| pair[0].read >= pair[1].read && pair[0].write >= pair[1].write)
            && capacities.windows(2).all(|pair| pair[0] <= pair[1])
            && once.into_iter().chain(sparse).chain(starts).chain(capacities).chain(reaches).chain(sizes).all(is_cost)
            && self.threads > 0
            && self.lanes > 0
            && [self.overlap, self.exposed, self.hidden_write].iter().all(|share| (0.0..=1.0).contains(share))
            && self.memory_budget.is_none_or(is_cost)
            && self.cluster.as_ref().is_none_or(Cluster::is_consistent)
    }
}

/// Whether a number is a rate.
fn is_rate(rate: f64) -> bool {
    rate.is_finite() && rate > 0.0
}

/// Whether a number is a cost.
fn is_cost(cost: f64) -> bool {
    cost.is_finite() && cost >= 0.0
}

/// A cache of which operators find a matrix of so many KiB, half of it, at this rate of reading.
fn typical_cache(kibibytes: f64, read: f64) -> Cache {
    Cache {
        size: 2048.0 * kibibytes,
        capacity: kibibytes * 1024.0,
        reach: kibibytes * 1024.0,
        write_reach: kibibytes * 1024.0,
        bandwidth: Bandwidth { read, write: read / 2.0 },
    }
}

/// A current machine of eight cores, two memory channels and registers of four values (AVX2): the paper's 32 GB/s for reads, half
/// of that for writes (each written cache line is read first), and the caches of server processors of today. Most else is about
/// what calibration finds on machines with AVX2, rounded; with AVX-512 they compute about twice as fast ([`Machine::typical`]).
/// Starts are about twice those of operators in a loop over the smallest matrices, whose code and data are at hand, a third of
/// what calibration finds, which runs others in between. Second visits of non-zeros are free: their price decides between Outer
/// and Row operators by less than it is off. Reading and computing hide each other nearly all of the time, and computing hides no
/// writing.
impl Default for Machine {
    fn default() -> Self {
        Machine {
            caches: [typical_cache(16.0, 96e9), typical_cache(512.0, 64e9), typical_cache(16384.0, 48e9)],
            memory: Bandwidth { read: 32e9, write: 16e9 },
            compute: ComputeRates {
                arithmetic: 16e9,
                division: 40e9,
                function: 12e9,
                product: 24e9,
                matrix_product: 28e9,
                random: 0.5e9,
                reorganization: 1e9,
                row_cells: 8e9,
            },
            lanes: 4,
            overlap: 0.9,
            exposed: 0.05,
            hidden_write: 0.0,
            sparse: SparseAccess {
                non_zero: 1e-9,
                again: 0.0,
                line: 1e-9,
                gather: 4e-9,
                row: 8e-9,
                store: 3e-9,
                store_row: 0.0,
            },
            start: StartCosts {
                basic: 0.7e-6,
                scalar: 0.4e-6,
                fused: 1.5e-6,
                fused_rows: 2e-6,
                parallel: 0.0,
                run: 1e-9,
                row: 1.8e-9,
                narrow: 0.7e-9,
            },
            once: OneTimeCosts { compile: 1e-3, fresh_page: 0.5e-6 },
            threads: 8,
            memory_budget: None,
            cluster: None,
        }
    }
}

#[cfg(test)]
mod tests;
