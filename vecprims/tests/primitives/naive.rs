//! The contract's rules, written out value by value: what every primitive must compute, bit for bit.

use fuseline_ops::AggOp;

/// One step of an aggregation function: the value joins the accumulator.
fn step(op: AggOp, accumulator: f64, value: f64) -> f64 {
    match op {
        AggOp::SumSq => value.mul_add(value, accumulator),
        AggOp::Nnz => accumulator + if value == 0.0 { 0.0 } else { 1.0 },
        AggOp::Sum | AggOp::Mean | AggOp::Var | AggOp::Min | AggOp::Max | AggOp::Prod => op.merge(accumulator, value),
    }
}

/// The tree at the end of rule 3.
fn merge_lanes(op: AggOp, mut lanes: [f64; 32]) -> f64 {
    for width in [16, 8, 4, 2, 1] {
        for lane in 0..width {
            lanes[lane] = op.merge(lanes[lane], lanes[lane + width]);
        }
    }
    lanes[0]
}

/// Rules 3 and 4: the aggregate of several rows, each of which starts at lane 0. No division for the mean.
pub(crate) fn aggregate(op: AggOp, rows: &[&[f64]]) -> f64 {
    let mut lanes = [op.neutral(); 32];
    for row in rows {
        for (position, &value) in row.iter().enumerate() {
            lanes[position % 32] = step(op, lanes[position % 32], value);
        }
    }
    merge_lanes(op, lanes)
}

/// Rule 3: the aggregate of a run.
pub(crate) fn aggregate_run(op: AggOp, run: &[f64]) -> f64 {
    aggregate_sparse_row(op, run, run.len())
}

/// Rule 7: the aggregate of a sparse row of `cols` cells.
pub(crate) fn aggregate_sparse_row(op: AggOp, values: &[f64], cols: usize) -> f64 {
    let result = aggregate(op, &[values]);
    let zeros = cols.saturating_sub(values.len());
    match op {
        AggOp::Mean => result / cols as f64,
        AggOp::Var => {
            let mean = result / cols as f64;
            let distances: Vec<f64> = values.iter().map(|value| value - mean).collect();
            let sum = dot(distances.iter().copied(), distances.iter().copied());
            let sum = if zeros > 0 { (zeros as f64).mul_add(mean * mean, sum) } else { sum };
            sum / [0.0, 1.0].get(cols).copied().unwrap_or(cols as f64 - 1.0)
        }
        AggOp::Min | AggOp::Max | AggOp::Prod if zeros > 0 => op.merge(result, 0.0),
        AggOp::Min | AggOp::Max | AggOp::Prod | AggOp::Sum | AggOp::SumSq | AggOp::Nnz => result,
    }
}

/// Rule 3, cumulative.
pub(crate) fn cumulative(op: AggOp, run: &[f64]) -> Vec<f64> {
    let mut partial: Vec<f64> = Vec::new();
    for &value in run {
        partial.push(partial.last().map_or(value, |&so_far| op.merge(so_far, value)));
    }
    partial
}

/// Rule 5: one value joins a cell of a column aggregate.
pub(crate) fn accumulate(op: AggOp, cell: &mut f64, value: f64) {
    *cell = step(op, *cell, value);
}

/// Rule 3 for dot products.
pub(crate) fn dot(a: impl IntoIterator<Item = f64>, b: impl IntoIterator<Item = f64>) -> f64 {
    let mut lanes = [0.0_f64; 32];
    for (position, (x, y)) in a.into_iter().zip(b).enumerate() {
        lanes[position % 32] = x.mul_add(y, lanes[position % 32]);
    }
    merge_lanes(AggOp::Sum, lanes)
}
