//! Every kernel against plain loops, over formats, shapes, values and numbers of threads.

mod aggregates;
mod convolution;
mod elementwise;
mod fourier;
mod fused;
mod generate;
mod linear_algebra;
mod patterns;
mod products;
mod reorganise;
mod select;
mod statistics;
mod table;
mod triangle;

use crate::{KernelContext, KernelError, Operand};
use fuseline_ir::work::STRIP_BYTES;
use fuseline_matrix::{BufferPool, Csr, Dense, MatrixBlock, NarrowDense};
use fuseline_vecprims::{Isa, primitives};
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::LazyLock;

static POOLS: LazyLock<Vec<ThreadPool>> = LazyLock::new(|| {
    [1, 2, 3, 7].into_iter().map(|threads| ThreadPoolBuilder::new().num_threads(threads).build().unwrap()).collect()
});

/// Runs on one thread.
pub(crate) fn alone<T>(strict_ieee: bool, operation: impl FnOnce(&KernelContext<'_>) -> T) -> T {
    let buffers = BufferPool::new(0);
    let primitives = primitives(Isa::detect());
    operation(&KernelContext { pool: &POOLS[0], buffers: &buffers, primitives, strict_ieee, strip_bytes: STRIP_BYTES })
}

/// Runs with 1, 2, 3 and 7 threads.
pub(crate) fn with_each_pool<T>(operation: impl Fn(&KernelContext<'_>) -> T) -> impl Iterator<Item = T> {
    POOLS.iter().map(move |pool| {
        let buffers = BufferPool::new(1 << 24);
        let primitives = primitives(Isa::detect());
        operation(&KernelContext { pool, buffers: &buffers, primitives, strict_ieee: false, strip_bytes: STRIP_BYTES })
    })
}

/// Runs with 1, 2, 3 and 7 threads and checks that all give the same bits.
fn run<T: Bits>(operation: impl Fn(&KernelContext<'_>) -> T) -> T {
    let mut results = with_each_pool(operation);
    let first = results.next().unwrap();
    for other in results {
        assert_eq!(first.bits(), other.bits(), "the same bits for every number of threads");
    }
    first
}

trait Bits {
    fn bits(&self) -> Vec<u64>;
}

impl Bits for MatrixBlock {
    fn bits(&self) -> Vec<u64> {
        self.to_dense().values().iter().map(|value| value.to_bits()).collect()
    }
}

impl Bits for f64 {
    fn bits(&self) -> Vec<u64> {
        vec![self.to_bits()]
    }
}

/// A number without a pattern, below 2^16.
pub(crate) fn hash(i: usize, j: usize, seed: usize) -> usize {
    (i * 31 + j * 17 + seed * 7 + (i * j) % 13 + 1) * 2_654_435_761 % 4_294_967_296 / 65_536
}

/// Small integers, so that every order of summation gives the same bits; about `density` tenths are not zero.
fn matrix(rows: usize, cols: usize, density: usize, seed: usize) -> MatrixBlock {
    let cell = |i, j| {
        let hash = hash(i, j, seed);
        if hash % 10 < density { (hash / 10 % 7) as f64 - 3.0 } else { 0.0 }
    };
    Dense::from_fn(rows, cols, cell).into()
}

/// Zeros of both signs, numbers, infinities and, in every other matrix, NaN.
fn special_matrix(rows: usize, cols: usize, seed: usize) -> MatrixBlock {
    let nan = if seed.is_multiple_of(2) { f64::NAN } else { -2.0 };
    let values = [0.0, 0.0, 0.0, -0.0, 1.0, -2.0, 0.5, 1e300, f64::INFINITY, f64::NEG_INFINITY, nan];
    Dense::from_fn(rows, cols, |i, j| values[hash(i, j, seed) % values.len()]).into()
}

/// The matrix dense, sparse, and dense of narrow values if these hold its own exactly.
fn all_formats(block: &MatrixBlock) -> [MatrixBlock; 3] {
    let dense = block.to_dense();
    let narrow: Vec<f32> = dense.values().iter().map(|&value| value as f32).collect();
    let is_exact =
        narrow.iter().zip(dense.values()).all(|(&narrow, value)| f64::from(narrow).to_bits() == value.to_bits());
    let narrow = if is_exact {
        NarrowDense::from_vec(dense.rows(), dense.cols(), narrow).into()
    } else {
        dense.clone().into_owned().into()
    };
    [dense.clone().into_owned().into(), Csr::from_dense(&dense).into(), narrow]
}

fn dense(rows: usize, cols: usize, cells: &[f64]) -> MatrixBlock {
    Dense::from_vec(rows, cols, cells.to_vec()).into()
}

/// Equal, or both NaN.
fn same(actual: f64, expected: f64) -> bool {
    actual == expected || actual.is_nan() && expected.is_nan()
}

fn assert_cells(actual: &MatrixBlock, rows: usize, cols: usize, expected: impl Fn(usize, usize) -> f64) {
    assert_eq!(actual.dims(), (rows, cols));
    let actual = actual.to_dense();
    for i in 0..rows {
        for j in 0..cols {
            let (actual, expected) = (actual.get(i, j), expected(i, j));
            assert!(same(actual, expected), "({i}, {j}) of {rows} x {cols}: {actual} != {expected}");
        }
    }
}

/// Empty, single, vectors, narrow, wide and prime.
const SMALL_SHAPES: [(usize, usize); 8] = [(0, 3), (3, 0), (1, 1), (1, 9), (9, 1), (2, 2), (33, 7), (13, 101)];

/// Those, and larger than a block of work.
const SHAPES: [(usize, usize); 10] = {
    let mut shapes = [(300, 400); 10];
    let mut next = 0;
    while next < SMALL_SHAPES.len() {
        shapes[next] = SMALL_SHAPES[next];
        next += 1;
    }
    shapes[9] = (5, 20_011);
    shapes
};
