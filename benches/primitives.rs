//! Vector primitives against loops over single values (P040): each on cells in the nearest cache, timed by `criterion`.
//!
//! `./x bench primitives [NAME]`: those whose names contain the text. The loops call the scalar references of the op table,
//! value by value, as the primitives' contract writes them down; the compiler may do with them what it does by default for
//! this architecture.

#[path = "support/estimates.rs"]
mod estimates;

use criterion::Criterion;
use fuseline_ir::ops::{AggOp, BinaryOp, TernaryOp, UnaryOp};
use fuseline_vecprims::{CsrTile, Form, Isa, Operand, Primitives, Tile, TileMut, primitives};
use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

/// Rows and cells of a row: 16 KiB for each operand.
const ROWS: usize = 16;
const LEN: usize = 128;
/// Columns of what rows are multiplied with, and of sparse rows.
const WIDTH: usize = 16;
const COLS: usize = 4096;

/// The operands of all primitives.
struct Data {
    a: Vec<f64>,
    b: Vec<f64>,
    out: Vec<f64>,
    row_offsets: Vec<usize>,
    columns: Vec<u32>,
    vector: Vec<f64>,
}

/// A primitive and the loop that does the same.
struct Contest {
    name: &'static str,
    primitive: fn(&Primitives, &mut Data),
    scalar: fn(&mut Data),
}

const CONTESTS: &[Contest] = &[
    Contest {
        name: "vect_exp",
        primitive: |table, data| table.unary(UnaryOp::Exp, ROWS, LEN, Tile::new(&data.a, LEN), out(&mut data.out)),
        scalar: |data| map(&data.a, &mut data.out, |x| UnaryOp::Exp.eval(x)),
    },
    Contest {
        name: "vect_sqrt",
        primitive: |table, data| table.unary(UnaryOp::Sqrt, ROWS, LEN, Tile::new(&data.a, LEN), out(&mut data.out)),
        scalar: |data| map(&data.a, &mut data.out, |x| UnaryOp::Sqrt.eval(x)),
    },
    Contest {
        name: "vect_mult_vv",
        primitive: |table, data| {
            let (a, b) = (Tile::new(&data.a, LEN), Tile::new(&data.b, LEN));
            table.binary(BinaryOp::Mult, Form::VectVect, ROWS, LEN, a, b, out(&mut data.out));
        },
        scalar: |data| zip(data, |x, y| BinaryOp::Mult.eval(x, y)),
    },
    Contest {
        name: "vect_max_vv",
        primitive: |table, data| {
            let (a, b) = (Tile::new(&data.a, LEN), Tile::new(&data.b, LEN));
            table.binary(BinaryOp::Max, Form::VectVect, ROWS, LEN, a, b, out(&mut data.out));
        },
        scalar: |data| zip(data, |x, y| BinaryOp::Max.eval(x, y)),
    },
    Contest {
        name: "vect_plusmult",
        primitive: |table, data| {
            let operands = [&data.a, &data.b, &data.a].map(|values| Operand::cells(values, LEN));
            table.ternary(TernaryOp::PlusMult, ROWS, LEN, operands, out(&mut data.out));
        },
        scalar: |data| zip(data, |x, y| TernaryOp::PlusMult.eval(x, y, x)),
    },
    Contest {
        name: "row_sum",
        primitive: |table, data| {
            table.row_agg(AggOp::Sum, ROWS, LEN, Tile::new(&data.a, LEN), TileMut::new(&mut data.out, 1));
        },
        scalar: |data| each_row(data, |a, _| a.iter().sum()),
    },
    Contest {
        name: "row_max",
        primitive: |table, data| {
            table.row_agg(AggOp::Max, ROWS, LEN, Tile::new(&data.a, LEN), TileMut::new(&mut data.out, 1));
        },
        scalar: |data| each_row(data, |a, _| a.iter().fold(f64::NEG_INFINITY, |max, &x| AggOp::Max.merge(max, x))),
    },
    Contest {
        name: "dot_product",
        primitive: |table, data| {
            let (a, b) = (Tile::new(&data.a, LEN), Tile::new(&data.b, LEN));
            table.dot_product(ROWS, LEN, a, b, TileMut::new(&mut data.out, 1));
        },
        scalar: |data| each_row(data, |a, b| a.iter().zip(b).map(|(x, y)| x * y).sum()),
    },
    Contest {
        name: "vect_mat_mult",
        primitive: |table, data| {
            table.vect_mat_mult(ROWS, LEN, WIDTH, Tile::new(&data.a, LEN), &data.b, TileMut::new(&mut data.out, WIDTH));
        },
        scalar: |data| {
            for (a, out) in data.a.chunks_exact(LEN).zip(data.out.chunks_exact_mut(WIDTH)) {
                out.fill(0.0);
                for (value, b) in a.iter().zip(data.b.chunks_exact(WIDTH)) {
                    out.iter_mut().zip(b).for_each(|(sum, factor)| *sum += value * factor);
                }
            }
        },
    },
    Contest {
        name: "segment_row_sum",
        primitive: |table, data| {
            let out = TileMut::new(&mut data.out, 1);
            table.segment_row_agg(AggOp::Sum, &data.row_offsets, &data.a, COLS, out);
        },
        scalar: |data| each_row(data, |a, _| a.iter().sum()),
    },
    Contest {
        name: "segment_spread",
        primitive: |table, data| table.segment_spread(&data.row_offsets, Tile::new(&data.b, 1), &mut data.out),
        scalar: |data| {
            for (r, out) in data.out.chunks_exact_mut(LEN).enumerate() {
                for cell in out {
                    *cell = black_box(data.b[r]);
                }
            }
        },
    },
    Contest {
        name: "sparse_gather",
        primitive: |table, data| {
            table.sparse_gather(&data.row_offsets, &data.columns, Tile::new(&data.vector, 0), &mut data.out);
        },
        scalar: |data| {
            for (cell, &column) in data.out.iter_mut().zip(&data.columns) {
                *cell = data.vector[column as usize];
            }
        },
    },
    Contest {
        name: "sparse_dot_product",
        primitive: |table, data| {
            let out = TileMut::new(&mut data.out, 1);
            table.sparse_dot_product(csr(&data.row_offsets, &data.columns, &data.a), Tile::new(&data.vector, 0), out);
        },
        scalar: |data| {
            for (r, bounds) in data.row_offsets.windows(2).enumerate() {
                let positions = bounds[0]..bounds[1];
                let products = positions.map(|p| data.a[p] * data.vector[data.columns[p] as usize]);
                data.out[r] = products.sum();
            }
        },
    },
];

fn out(values: &mut [f64]) -> TileMut<'_> {
    TileMut::new(values, LEN)
}

fn csr<'a>(row_offsets: &'a [usize], columns: &'a [u32], values: &'a [f64]) -> CsrTile<'a> {
    CsrTile { row_offsets, columns, values }
}

fn map(a: &[f64], out: &mut [f64], op: impl Fn(f64) -> f64) {
    out.iter_mut().zip(a).for_each(|(out, &x)| *out = op(x));
}

fn zip(data: &mut Data, op: impl Fn(f64, f64) -> f64) {
    data.out.iter_mut().zip(data.a.iter().zip(&data.b)).for_each(|(out, (&x, &y))| *out = op(x, y));
}

fn each_row(data: &mut Data, op: impl Fn(&[f64], &[f64]) -> f64) {
    let rows = data.a.chunks_exact(LEN).zip(data.b.chunks_exact(LEN));
    data.out.iter_mut().zip(rows).for_each(|(out, (a, b))| *out = op(a, b));
}

impl Data {
    fn new() -> Self {
        let cells = |seed: usize, len: usize| (0..len).map(|i| ((i * 7 + seed) % 13) as f64 * 0.25 + 0.125).collect();
        let columns = (0..ROWS * LEN).map(|p| ((p % LEN) * (COLS / LEN) + p % 7) as u32).collect();
        Data {
            a: cells(1, ROWS * LEN),
            b: cells(2, ROWS * LEN),
            out: vec![0.0; ROWS * LEN],
            row_offsets: (0..=ROWS).map(|row| row * LEN).collect(),
            columns,
            vector: cells(3, COLS),
        }
    }
}

fn main() {
    let filter = std::env::args().skip(1).find(|argument| !argument.starts_with('-')).unwrap_or_default();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("primitives");
    let mut criterion = Criterion::default()
        .without_plots()
        .output_directory(&folder)
        .sample_size(20)
        .warm_up_time(Duration::from_millis(100))
        .measurement_time(Duration::from_millis(400));
    let table = primitives(Isa::detect());
    let mut lines = Vec::new();
    for contest in CONTESTS.iter().filter(|contest| contest.name.contains(&filter)) {
        let mut data = Data::new();
        let mut group = criterion.benchmark_group(contest.name);
        group.bench_function("primitive", |bencher| bencher.iter(|| (contest.primitive)(table, black_box(&mut data))));
        group.bench_function("scalar", |bencher| bencher.iter(|| (contest.scalar)(black_box(&mut data))));
        group.finish();
        let [primitive, scalar] =
            ["primitive", "scalar"].map(|form| 1e9 * estimates::median(&folder.join(contest.name).join(form)));
        lines.push(format!("{:<20} {primitive:>8.0} ns {scalar:>8.0} ns {:>7.1}", contest.name, scalar / primitive));
    }
    println!(
        "\n{ROWS} rows of {LEN} cells on {}\n{:<20} {:>11} {:>11} {:>7}",
        table.isa(),
        "",
        "primitive",
        "scalar",
        "times"
    );
    lines.iter().for_each(|line| println!("{line}"));
}
