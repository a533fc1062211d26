//! Rates of vector primitives and basic kernels, with one thread or several.

use super::hardware::{cache_bytes, streamed_share};
use super::{CELL_BYTES, LEVELS, rounds::Probe};
use crate::error::Error;
use fuseline_ir::ops::{AggOp, BinaryOp, UnaryOp};
use fuseline_ir::work::STRIP_BYTES;
use fuseline_kernels::{self as operators, Density, KernelContext, Operand, Primitives, RandomParameters};
use fuseline_matrix::{Buffer, BufferPool, Csr, CsrRows, Dense, MatrixBlock};
use fuseline_vecprims::{Form, Isa, Tile, TileMut, primitives};
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::hint::black_box;
use std::sync::{Arc, Mutex, PoisonError};

/// Values of a row of the streams.
const ROW: usize = 1024;
/// The least bytes that count as main memory.
const MEMORY_BYTES: f64 = 192e6;
/// The most bytes that are streamed, however large the caches are.
const MOST_BYTES: f64 = 1e9;
/// Rows and columns of the factors of a matrix product.
const PRODUCT: usize = 1000;
/// Rows and columns of the matrix that is transposed, which is beyond the caches of a core.
const TRANSPOSED: [usize; 2] = [40_000, 100];
/// Bytes that count as being in the cache that threads share, in second-level caches.
const SHARED_FACTOR: f64 = 8.0;
/// The functions that stand for all: those that scripts use most.
const FUNCTIONS: [UnaryOp; 3] = [UnaryOp::Exp, UnaryOp::Log, UnaryOp::Sigmoid];
/// Rows of the random matrix, enough of them for threads to share evenly.
const RANDOM_ROWS: usize = 512;
/// Rows of the sparse matrix.
const SPARSE_ROWS: usize = 16_384;
/// Distance of the non-zeros of a sparse matrix, in cells.
pub(super) const SPARSE_STEP: usize = 97;
/// Distance of the non-zeros of a sparse matrix with many in a row, in cells.
pub(super) const DENSER_STEP: usize = 7;
/// Rows of the sparse matrix with many non-zeros in a row.
const DENSER_ROWS: usize = 2048;
/// Rows of the matrix that is filled in fresh memory, which is large enough to be mapped.
const FRESH_ROWS: usize = 5120;
/// Values of sparse matrices, and a bound between them.
const VALUES: [f64; 2] = [0.5, 1.5];
const BOUND: f64 = 1.0;
/// Bytes of the smallest pages.
const PAGE: f64 = 4096.0;

/// What a number of threads works with.
#[derive(Debug)]
pub(super) struct Kernels {
    threads: usize,
    pool: ThreadPool,
    /// Memory that is recycled, and memory that is not.
    recycled: Arc<BufferPool>,
    fresh: Arc<BufferPool>,
    table: &'static Primitives,
    /// A stream for each thread.
    streams: Vec<Mutex<Buffer>>,
    source: Buffer,
    factors: [MatrixBlock; 2],
    transposed: MatrixBlock,
    /// A sparse matrix, one with more non-zeros in a row, and a vector of as many rows as they have columns.
    sparse: MatrixBlock,
    denser: MatrixBlock,
    vector: MatrixBlock,
}

impl Kernels {
    pub(super) fn new(threads: usize) -> Result<Self, Error> {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = pool.map_err(|error| Error::Threads(error.to_string()))?;
        let streamed = (2.0 * cache_bytes()[2]).clamp(MEMORY_BYTES, MOST_BYTES) / threads as f64;
        let values = |count: usize| {
            let mut buffer = Buffer::zeroed(count);
            buffer.iter_mut().enumerate().for_each(|(index, value)| *value = 0.5 + (index % 1013) as f64 / 1013.0);
            buffer
        };
        let rows = (streamed / CELL_BYTES) as usize / ROW;
        let dense = |rows: usize, cols: usize| {
            MatrixBlock::from(Dense::from_fn(rows, cols, |i, j| 0.5 + ((i * 7 + j) % 101) as f64 / 101.0))
        };
        Ok(Kernels {
            threads,
            pool,
            recycled: BufferPool::new(1 << 30),
            fresh: BufferPool::new(0),
            table: primitives(Isa::detect()),
            streams: (0..threads).map(|_| Mutex::new(values(rows * ROW))).collect(),
            source: values(ROW),
            factors: [dense(PRODUCT, PRODUCT), dense(PRODUCT, PRODUCT)],
            transposed: dense(TRANSPOSED[0], TRANSPOSED[1]),
            sparse: sparse(SPARSE_ROWS, ROW, SPARSE_STEP),
            denser: sparse(DENSER_ROWS, ROW, DENSER_STEP),
            vector: dense(ROW, 1),
        })
    }

    /// Everything that is measured, in a fixed order.
    pub(super) fn probes(&self) -> Vec<Probe<'_>> {
        let mut probes = Vec::new();
        for (level, name) in LEVELS.into_iter().enumerate() {
            probes.push(self.read(level, &format!("read {name}")));
        }
        for (level, name) in LEVELS.into_iter().enumerate() {
            probes.push(self.write(level, &format!("write {name}")));
        }
        probes.extend([self.functions(), self.quotients(), self.random(), self.transposition()]);
        probes.extend([self.products(), self.matrix_products()]);
        probes.extend([self.visit(), self.store(), self.store_of_many(), self.fresh_page()]);
        probes
    }

    fn context<'a>(&'a self, buffers: &'a Arc<BufferPool>) -> KernelContext<'a> {
        KernelContext {
            pool: &self.pool,
            buffers,
            primitives: self.table,
            strict_ieee: false,
            strip_bytes: STRIP_BYTES,
        }
    }

    /// Rows of each thread's stream within a level: caches of a core hold a stream each, the others all of them.
    fn rows(&self, level: usize) -> usize {
        let bytes = match cache_bytes().get(level) {
            Some(&cache) if level < 2 => streamed_share(cache),
            // What other cores use, too, is not filled by one matrix.
            Some(&cache) => streamed_share(cache).min(SHARED_FACTOR * cache_bytes()[1]) / self.threads as f64,
            None => f64::INFINITY,
        };
        let most = self.streams[0].lock().unwrap_or_else(PoisonError::into_inner).len() / ROW;
        ((bytes / CELL_BYTES) as usize / ROW).clamp(1, most)
    }

    /// Work of every thread on its own stream.
    fn on_streams(&self, work: impl Fn(&mut [f64]) + Sync) {
        self.pool.broadcast(|thread| {
            work(&mut self.streams[thread.index()].lock().unwrap_or_else(PoisonError::into_inner));
        });
    }

    fn read(&self, level: usize, name: &str) -> Probe<'_> {
        let rows = self.rows(level);
        let passes = passes(rows);
        Probe::rate(name, "GB/s", CELL_BYTES * (self.threads * passes * rows * ROW) as f64, move || {
            self.on_streams(|values| {
                for _ in 0..passes {
                    black_box(self.table.full_agg(AggOp::Sum, rows, ROW, Tile::new(values, ROW)));
                }
            });
        })
    }

    fn write(&self, level: usize, name: &str) -> Probe<'_> {
        let rows = self.rows(level);
        let passes = passes(rows);
        Probe::rate(name, "GB/s", CELL_BYTES * (self.threads * passes * rows * ROW) as f64, move || {
            self.on_streams(|values| {
                for _ in 0..passes {
                    self.table.copy(rows, ROW, Tile::new(&self.source, 0), TileMut::new(values, ROW));
                }
            });
        })
    }

    fn functions(&self) -> Probe<'_> {
        let passes = passes(FUNCTIONS.len());
        let flops = FUNCTIONS.iter().map(|op| op.flops()).sum::<f64>() * (self.threads * passes * ROW) as f64;
        Probe::rate("functions", "GFLOP/s", flops, move || {
            self.on_streams(|values| {
                for _ in 0..passes {
                    for op in FUNCTIONS {
                        self.table.unary(op, 1, ROW, Tile::new(&self.source, ROW), TileMut::new(values, ROW));
                    }
                }
            });
        })
    }

    fn quotients(&self) -> Probe<'_> {
        let passes = passes(1);
        let flops = BinaryOp::Div.flops() * (self.threads * passes * ROW) as f64;
        Probe::rate("quotients", "GFLOP/s", flops, move || {
            self.on_streams(|values| {
                let source = Tile::new(&self.source, ROW);
                for _ in 0..passes {
                    self.table.binary(BinaryOp::Div, Form::VectVect, 1, ROW, source, source, TileMut::new(values, ROW));
                }
            });
        })
    }

    fn transposition(&self) -> Probe<'_> {
        Probe::rate("transposed cells", "G/s", TRANSPOSED.iter().product::<usize>() as f64, move || {
            black_box(operators::transpose(&self.context(&self.recycled), &self.transposed));
        })
    }

    /// Rows times a matrix of few columns, and their transposition times the result, as operators of the Row template do.
    fn products(&self) -> Probe<'_> {
        let (rows, len, cols) = (8, 256, 4);
        let passes = passes(1);
        let flops = (4 * self.threads * passes * rows * len * cols) as f64;
        Probe::rate("products of rows", "GFLOP/s", flops, move || {
            self.on_streams(|values| {
                let (input, output) = values.split_at_mut(rows * len);
                let (product, sums) = output.split_at_mut(rows * cols);
                for _ in 0..passes {
                    let left = Tile::new(input, len);
                    self.table.vect_mat_mult(rows, len, cols, left, &self.source, TileMut::new(product, cols));
                    self.table.outer_mult_add(rows, len, cols, left, Tile::new(product, cols), TileMut::new(sums, len));
                }
            });
        })
    }

    fn random(&self) -> Probe<'_> {
        let values = RANDOM_ROWS * ROW;
        Probe::rate("random values", "G/s", values as f64, move || {
            let parameters = RandomParameters {
                rows: RANDOM_ROWS as i64,
                cols: ROW as i64,
                min: -1.0,
                max: 1.0,
                sparsity: 1.0,
                seed: 1,
                density: Density::Uniform,
            };
            black_box(operators::rand(&self.context(&self.recycled), &parameters).ok());
        })
    }

    fn matrix_products(&self) -> Probe<'_> {
        let [left, right] = &self.factors;
        Probe::rate("matrix products", "GFLOP/s", 2.0 * (PRODUCT as f64).powi(3), move || {
            black_box(operators::matmul(&self.context(&self.recycled), left, right).ok());
        })
    }

    /// A sparse matrix with many non-zeros in a row, whose beginning is none of theirs, times a vector that stays in cache.
    fn visit(&self) -> Probe<'_> {
        by_non_zero("visit of a non-zero", &self.denser, move || {
            black_box(operators::matmul(&self.context(&self.recycled), &self.denser, &self.vector).ok());
        })
    }

    /// The non-zeros of a sparse matrix that are above a bound, of which there are half, as a new sparse matrix.
    fn store(&self) -> Probe<'_> {
        by_non_zero("store of a non-zero", &self.sparse, move || self.compare(&self.sparse))
    }

    /// Half of the non-zeros of a sparse matrix with many in a row, as a new sparse matrix.
    fn store_of_many(&self) -> Probe<'_> {
        by_non_zero("store of one of many", &self.denser, move || self.compare(&self.denser))
    }

    fn compare(&self, sparse: &MatrixBlock) {
        let (context, bound) = (self.context(&self.recycled), Operand::Scalar(BOUND));
        black_box(operators::binary(&context, BinaryOp::Greater, Operand::Matrix(sparse), bound).ok());
    }

    /// Filling a large matrix in memory of its own, by pages of 4096 bytes, however large those of its memory are.
    fn fresh_page(&self) -> Probe<'_> {
        let pages = (FRESH_ROWS * ROW) as f64 * CELL_BYTES / PAGE;
        let result = Box::new(move |seconds: f64| seconds / pages * 1e6);
        let run = move || {
            black_box(operators::fill(&self.context(&self.fresh), 1.0, FRESH_ROWS as i64, ROW as i64).ok());
        };
        Probe { name: "first write to a page".to_owned(), unit: "us", result, run: Box::new(run) }
    }
}

/// Nanoseconds for each non-zero of a matrix.
fn by_non_zero<'a>(name: &str, sparse: &MatrixBlock, run: impl FnMut() + 'a) -> Probe<'a> {
    let non_zeros = sparse.nnz() as f64;
    let result = Box::new(move |seconds: f64| seconds / non_zeros * 1e9);
    Probe { name: name.to_owned(), unit: "ns", result, run: Box::new(run) }
}

/// Rows for each non-zero of a sparse matrix.
pub(super) fn row_share(step: usize) -> f64 {
    step as f64 / ROW as f64
}

/// Passes over so many rows, so that a run is long enough for threads to meet.
fn passes(rows: usize) -> usize {
    (4096 / rows).max(1)
}

/// A matrix with a non-zero in every `step`-th cell.
fn sparse(rows: usize, cols: usize, step: usize) -> MatrixBlock {
    let mut result = CsrRows::default();
    for row in 0..rows {
        let before = result.columns.len();
        let first = (step - row * cols % step) % step;
        for column in (first..cols).step_by(step) {
            result.columns.push(column as u32);
            result.values.push(VALUES[result.values.len() % 2]);
        }
        result.lengths.push(result.columns.len() - before);
    }
    MatrixBlock::from(Csr::from_blocks(cols, &[result]))
}
