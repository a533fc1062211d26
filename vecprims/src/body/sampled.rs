//! Dot products (rules 3 and 6) of rows of two matrices, for the positions of a sparse one alone.

use super::ahead::Ahead;
use super::narrow::{NarrowProduct, RowReduction};
use super::positions::gather_run;
use super::product::{Rows, products};
use super::reduce::{Pending, Run, Sum};
use super::sparse::CsrRows;
use crate::vector::Vector;

/// For each position of a CSR unit the product of its row of `u` with the row of `v` that its column names.
#[inline(always)]
pub(crate) unsafe fn sampled_product<V: Vector, const N: usize>(
    csr: CsrRows,
    rank: usize,
    u: Rows,
    v: Rows,
    out: *mut f64,
) {
    // SAFETY: passed on to the caller.
    unsafe {
        match rank.div_ceil(V::LANES) {
            _ if rank == 1 && v.row == 1 => return scaled_values::<V>(csr, u, v.values, out),
            1 => return narrow_sampled_product::<V, 1>(csr, rank, u, v, out),
            2 => return narrow_sampled_product::<V, 2>(csr, rank, u, v, out),
            3 | 4 => return narrow_sampled_product::<V, 4>(csr, rank, u, v, out),
            _ => {}
        }
        let run = Run::new::<N>(rank);
        let mut pending = Pending::new(|value| value);
        let mut row = 0;
        while row < csr.rows {
            if V::LANES == 8 && csr.has_equal_columns(row, 2) {
                push_pair::<V, N, _>(&mut pending, csr, row, u, v, run, out);
                row += 2;
                continue;
            }
            let std::ops::Range { start: mut position, end } = csr.positions(row);
            let u = u.pointers(row);
            while V::LANES == 8 && position + 4 <= end {
                let mut rows = [v.values; 4];
                for c in 0..4 {
                    [rows[c]] = v.pointers(csr.column(position + c));
                }
                let [registers] = products::<V, f64, N, 1, 4>(u, rows, run, &Ahead::none());
                for c in 0..4 {
                    pending.push::<Sum>(registers[c], out.add(position + c));
                }
                position += 4;
            }
            while position < end {
                let [[register]] =
                    products::<V, f64, N, 1, 1>(u, v.pointers(csr.column(position)), run, &Ahead::none());
                pending.push::<Sum>(register, out.add(position));
                position += 1;
            }
            row += 1;
        }
        pending.flush::<Sum>();
    }
}

/// [`sampled_product`] for factors of one value a row: those that columns name, times that of the row.
#[inline(always)]
unsafe fn scaled_values<V: Vector>(csr: CsrRows, u: Rows, values: *const f64, out: *mut f64) {
    // SAFETY: passed on to the caller.
    unsafe {
        for row in 0..csr.rows {
            let [factor] = u.pointers(row);
            let factor = V::splat(*factor);
            // A sum with lanes that hold zeros: its own zeros are positive.
            let scaled = |register: V| V::add(V::mul(factor, register), V::splat(0.0));
            let positions = csr.positions(row);
            let columns = csr.columns.add(positions.start);
            gather_run(values, columns, positions.len(), out.add(positions.start), scaled);
        }
    }
}

/// The products of two rows with positions in the same columns, as all rows of a dense tile: each load of a row of `v`
/// serves both.
#[inline(always)]
unsafe fn push_pair<V: Vector, const N: usize, F: Fn(f64) -> f64>(
    pending: &mut Pending<V, F>,
    csr: CsrRows,
    row: usize,
    u: Rows,
    v: Rows,
    run: Run<V>,
    out: *mut f64,
) {
    // SAFETY: passed on to the caller.
    unsafe {
        let factors: [*const f64; 2] = u.pointers(row);
        let (first, second) = (csr.positions(row), csr.positions(row + 1).start);
        let len = first.len();
        let mut position = 0;
        while position + 2 <= len {
            let [one] = v.pointers(csr.column(first.start + position));
            let [other] = v.pointers(csr.column(first.start + position + 1));
            let registers = products::<V, f64, N, 2, 2>(factors, [one, other], run, &Ahead::none());
            for c in 0..2 {
                pending.push::<Sum>(registers[0][c], out.add(first.start + position + c));
                pending.push::<Sum>(registers[1][c], out.add(second + position + c));
            }
            position += 2;
        }
        if position < len {
            let last = v.pointers(csr.column(first.start + position));
            let [[one], [other]] = products::<V, f64, N, 2, 1>(factors, last, run, &Ahead::none());
            pending.push::<Sum>(one, out.add(first.start + position));
            pending.push::<Sum>(other, out.add(second + position));
        }
    }
}

/// [`sampled_product`] for ranks in `T` registers: the row of `u` stays in them. Positions run on over the ends of rows, eight
/// at a time, since their products are stored next to each other.
#[inline(always)]
unsafe fn narrow_sampled_product<V: Vector, const T: usize>(
    csr: CsrRows,
    rank: usize,
    u: Rows,
    v: Rows,
    out: *mut f64,
) {
    // SAFETY: passed on to the caller.
    unsafe {
        let of_row = |row| {
            let [factors] = u.pointers(row);
            NarrowProduct::<V, T, true>::new(v, Rows::new(factors, 0), rank)
        };
        let count = csr.count();
        if count == 0 {
            return;
        }
        let mut row = row_with_positions(csr, 0);
        let (mut products, mut end) = (of_row(row), csr.positions(row).end);
        let mut start = 0;
        while start < count {
            let block = (count - start).min(8);
            let mut registers = [V::splat(0.0); 8];
            if start + 8 <= end {
                for index in 0..8 {
                    registers[index] = products.register(csr.column(start + index));
                }
            } else {
                for index in 0..8 {
                    let position = start + index.min(block - 1);
                    if position == end {
                        row = row_with_positions(csr, row + 1);
                        (products, end) = (of_row(row), csr.positions(row).end);
                    }
                    registers[index] = products.register(csr.column(position));
                }
            }
            let merged = V::reduce_eight::<Sum>(registers).map(|value| products.finish(value));
            V::store_block(merged, out.add(start), block);
            start += block;
        }
    }
}

/// The first row from `row` on that has positions; there is one.
#[inline(always)]
unsafe fn row_with_positions(csr: CsrRows, mut row: usize) -> usize {
    // SAFETY: passed on to the caller.
    unsafe {
        while csr.positions(row).is_empty() {
            row += 1;
        }
    }
    row
}
