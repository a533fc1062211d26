//! Prints the speed of the main primitives on every instruction set of this machine, in GB of matrix read per second:
//! on tiles that stay in the first-level cache, and streaming from memory.

use fuseline_ir::ops::{AggOp, BinaryOp, UnaryOp};
use fuseline_vecprims::{CsrTile, Form, Isa, Primitives, Tile, TileMut, primitives};
use std::time::Instant;

/// Values aligned to a cache line, as matrices are.
#[repr(C, align(64))]
#[derive(Clone, Copy)]
struct Line([f64; 8]);

/// Memory for `count` values.
fn aligned(count: usize) -> Vec<Line> {
    let mut lines = vec![Line([0.0; 8]); count.div_ceil(8)];
    for (index, line) in lines.iter_mut().enumerate() {
        for (lane, value) in line.0.iter_mut().enumerate() {
            *value = 0.5 + ((index * 8 + lane) % 1013) as f64 / 1013.0;
        }
    }
    lines
}

/// The values of some lines.
fn values(lines: &mut [Line]) -> &mut [f64] {
    // SAFETY: a line is eight values without padding.
    unsafe { std::slice::from_raw_parts_mut(lines.as_mut_ptr().cast(), lines.len() * 8) }
}

/// The best rate of several runs, in GB/s, of a function that reads `bytes`.
fn rate(bytes: usize, mut function: impl FnMut()) -> f64 {
    let repeats = (40_000_000 / bytes).max(1);
    let mut best = f64::INFINITY;
    for _ in 0..7 {
        let start = Instant::now();
        for _ in 0..repeats {
            function();
        }
        best = best.min(start.elapsed().as_secs_f64() / repeats as f64);
    }
    bytes as f64 / best / 1e9
}

/// Prints the rates of every primitive on `rows` rows of `len` values.
fn measure(table: &Primitives, rows: usize, len: usize, memory: &mut [Vec<Line>; 3]) {
    let [a, b, out] = memory;
    let (a, b, out) = (&*values(a), &*values(b), values(out));
    let (tile, bytes) = (Tile::new(a, len), rows * len * 8);
    let mut line = format!("{:8} {rows:>7} x {len:<6}", table.isa().to_string());
    let mut report = |name: &str, rate: f64| line.push_str(&format!(" {name} {rate:.1}"));
    report("row_sum", rate(bytes, || table.row_agg(AggOp::Sum, rows, len, tile, TileMut::new(out, 1))));
    report("row_max", rate(bytes, || table.row_agg(AggOp::Max, rows, len, tile, TileMut::new(out, 1))));
    report("full_sum", rate(bytes, || out[0] = table.full_agg(AggOp::Sum, rows, len, tile)));
    report("col_sum", rate(bytes, || table.col_agg(AggOp::Sum, rows, len, tile, out)));
    report("dot", rate(bytes, || table.dot_product(rows, len, tile, Tile::new(b, 0), TileMut::new(out, 1))));
    for k in [1, 2, 4] {
        let product = || table.vect_mat_mult(rows, len, k, tile, Tile::new(b, len), TileMut::new(out, k));
        report(&format!("vect_mat_mult{k}"), rate(bytes, product));
    }
    for k in [1, 2, 4] {
        let product = || table.outer_mult_add(rows, len, k, tile, Tile::new(b, k), TileMut::new(out, len));
        report(&format!("outer_mult_add{k}"), rate(bytes, product));
    }
    let mult = || {
        table.binary(BinaryOp::Mult, Form::VectVect, rows, len, tile, Tile::new(b, len), TileMut::new(out, len));
    };
    report("mult_vv(a)", rate(bytes, mult));
    let scale =
        || table.binary(BinaryOp::Div, Form::VectScalar, rows, len, tile, Tile::new(b, 1), TileMut::new(out, len));
    report("div_vs", rate(bytes, scale));
    for op in [UnaryOp::Exp, UnaryOp::Log, UnaryOp::Sigmoid] {
        report(op.mnemonic(), rate(bytes, || table.unary(op, rows, len, tile, TileMut::new(out, len))));
    }
    println!("{line}");
}

/// Prints billions of multiply-adds per second of the primitives over sparse rows, for one rank.
fn measure_sparse(table: &Primitives, rank: usize, memory: &mut [Vec<Line>; 3]) {
    let (rows, nnz, cols) = (20, 10, 100);
    let row_offsets: Vec<usize> = (0..=rows).map(|row| row * nnz).collect();
    let columns: Vec<u32> = (0..rows * nnz).map(|position| (position * 37 % cols) as u32).collect();
    let [a, b, out] = memory;
    let (a, b, out) = (&values(a)[..rows * nnz], &*values(b), values(out));
    let (u, csr) = (Tile::new(b, rank), CsrTile { row_offsets: &row_offsets, columns: &columns, values: a });
    let work = rows * nnz * rank;
    let sampled = rate(work, || table.sampled_product(&row_offsets, &columns, rank, u, u, out));
    let right = rate(work, || table.sparse_mat_mult_add(csr, rank, u, TileMut::new(out, rank)));
    let left = rate(work, || table.sparse_outer_mult_add(csr, rank, u, TileMut::new(out, rank)));
    println!(
        "{:8} rank {rank:<4} sampled_product {sampled:.1} sparse_mat_mult_add {right:.1} sparse_outer_mult_add {left:.1} (multiply-adds/ns)",
        table.isa().to_string()
    );
}

fn main() {
    let streaming = 8 << 20;
    let mut memory = [aligned(streaming), aligned(streaming), aligned(streaming)];
    for isa in Isa::available() {
        let table = primitives(isa);
        for (rows, len) in
            [(1, 1000), (8, 100), (100, 10), (40, 10), (16, 64), (streaming / 1000, 1000), (streaming / 10, 10)]
        {
            measure(table, rows, len, &mut memory);
        }
        for rank in [10, 20, 100] {
            measure_sparse(table, rank, &mut memory);
        }
    }
}
