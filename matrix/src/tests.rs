//! Formats convert into each other without loss, borrow from `ndarray` and `sprs` without copies, and recycle memory.

use crate::{
    AllocationFailure, BufferPool, Csr, CsrError, CsrRows, Dense, Layout, MatrixBlock, Refusal, SparseRow, StoredRows,
    SuitedRows,
};
use ndarray::{Array2, ShapeBuilder, array};

fn sample() -> Dense {
    Dense::from_fn(7, 5, |i, j| if (i * 5 + j) % 3 == 0 { (i * 10 + j) as f64 } else { 0.0 })
}

#[test]
fn dense_and_csr_convert_without_loss() {
    for dense in [sample(), Dense::zeros(0, 4), Dense::zeros(4, 0), Dense::from_vec(1, 2, vec![f64::NAN, -0.0])] {
        let csr = Csr::from_dense(&dense);
        assert_eq!(csr.nnz(), dense.count_nonzeros());
        let back = csr.to_dense();
        assert_eq!((back.rows(), back.cols()), (dense.rows(), dense.cols()));
        for (x, y) in back.values().iter().zip(dense.values()) {
            assert!(x == y || x.is_nan() && y.is_nan());
        }
    }
    assert_eq!(Csr::from_dense(&sample()).transpose().transpose(), Csr::from_dense(&sample()));
    assert_eq!(Csr::from_dense(&sample()).transpose().get(3, 0), sample().get(0, 3));
}

#[test]
fn the_format_follows_the_density() {
    let at = |nnz: usize| {
        let cells = (0..100).map(|index| f64::from(u8::from(index < nnz))).collect();
        MatrixBlock::from(Dense::from_vec(10, 10, cells)).in_best_format().format().is_sparse()
    };
    assert!(at(29) && !at(30), "sparse where non-zeros and rows are less than 0.4 of the cells");
    let column: MatrixBlock = Dense::zeros(10, 1).into();
    assert!(!column.in_best_format().format().is_sparse(), "a single column stays dense");
    let dense: MatrixBlock = sample().into();
    let sparse: MatrixBlock = Csr::from_dense(&sample()).into();
    assert_eq!(dense, sparse);
}

#[test]
fn ndarray_matrices_are_taken_and_viewed_without_copies() {
    let array: Array2<f64> = array![[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]];
    let address = array.as_ptr();
    let dense = Dense::from_ndarray(array);
    assert_eq!(dense.values().as_ptr(), address, "row-major arrays keep their memory");
    assert_eq!(dense.view().as_ptr(), address);
    assert_eq!(dense.view()[[2, 1]], 6.0);
    let columns = Array2::from_shape_vec((2, 2).f(), vec![1.0, 3.0, 2.0, 4.0]).unwrap();
    assert_eq!(Dense::from_ndarray(columns).values(), [1.0, 2.0, 3.0, 4.0]);
}

#[test]
fn sprs_matrices_are_taken_and_viewed_without_copies() {
    let csr = Csr::from_dense(&sample());
    let address = csr.values().as_ptr();
    assert_eq!(csr.view().get(0, 3), Some(&3.0));
    let theirs = csr.clone().into_sprs();
    let back = Csr::from_sprs(theirs.clone()).unwrap();
    assert_eq!(back, csr);
    let kept = csr.into_sprs();
    assert_eq!(kept.data().as_ptr(), address);
    assert_eq!(Csr::from_sprs(theirs.to_csc()).unwrap(), back, "other orders are converted");
}

#[test]
fn parts_that_form_no_matrix_are_refused() {
    let new = |offsets: &[usize], columns: &[u32]| {
        Csr::new(2, 3, offsets.to_vec(), columns.to_vec(), vec![1.0; columns.len()]).unwrap_err()
    };
    assert_eq!(new(&[0, 1], &[0]), CsrError::Offsets);
    assert_eq!(new(&[0, 2, 1], &[0]), CsrError::Offsets);
    assert_eq!(new(&[0, 2, 2], &[1, 1]), CsrError::Columns { row: 0, cols: 3 });
    assert_eq!(new(&[0, 0, 1], &[3]), CsrError::Columns { row: 1, cols: 3 });
    let wide = Csr::new(0, 1 << 33, vec![0], vec![], vec![]);
    assert_eq!(wide.unwrap_err(), CsrError::TooManyColumns { cols: 1 << 33 });
}

#[test]
fn freed_memory_is_handed_out_again_within_the_limit() {
    let pool = BufferPool::new(1 << 20);
    let first = Dense::uninit_in(&pool, 100, 100);
    let address = first.values().as_ptr();
    assert_eq!(address as usize % 64, 0, "our buffers are aligned to 64 bytes");
    drop(first);
    let mut second = Dense::uninit_in(&pool, 90, 100);
    assert_eq!(second.values().as_ptr(), address);
    assert_eq!(pool.statistics().fresh_bytes, 80_000);
    assert_eq!(pool.statistics().bytes, 152_000);
    second.values_mut().fill(7.0);
    drop(second);
    let zeros = Dense::zeros_in(&pool, 100, 100);
    assert!(zeros.values().iter().all(|&cell| cell == 0.0), "recycled memory is cleared where zeros are asked for");
    drop(Dense::uninit_in(&pool, 1000, 1000));
    let large = Dense::uninit_in(&pool, 1000, 1000);
    assert_eq!(large.values().len(), 1_000_000);
    assert_eq!(pool.statistics().fresh_bytes, 80_000 + 2 * 8_000_000, "beyond the limit memory goes back");
}

#[test]
fn matrices_with_other_values_share_positions() {
    let csr = Csr::from_dense(&sample());
    let values: Vec<f64> = csr.values().iter().map(|value| value + 0.5).collect();
    let other = csr.with_values(values.into());
    assert_eq!(other.columns().as_ptr(), csr.columns().as_ptr());
    assert_eq!((other.get(0, 3), other.get(0, 1)), (sample().get(0, 3) + 0.5, 0.0));
    drop(csr);
    assert_eq!(Csr::from_sprs(other.clone().into_sprs()).unwrap(), other, "shared positions are copied out");
}

#[test]
fn transposes_are_the_same_on_every_number_of_threads() {
    // Long and short columns, empty ones, and more non-zeros than a single range has.
    for (rows, cols) in [(0, 3), (3, 0), (1, 70_001), (70_001, 1), (2003, 97), (97, 2003), (20_011, 11)] {
        let is_stored = |i: usize, j: usize| j % 7 != 3 && (i * 7 + j * 5).is_multiple_of(j % 3 + 1);
        let cell = |i: usize, j: usize| if is_stored(i, j) { (i * cols + j + 1) as f64 } else { 0.0 };
        let csr = Csr::from_dense(&Dense::from_fn(rows, cols, cell));
        let expected = Csr::from_dense(&Dense::from_fn(cols, rows, |i, j| cell(j, i)));
        assert_eq!(csr.transpose(), expected);
        for threads in [1, 2, 5] {
            let workers = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            // Memory that is handed out a second time is not clear.
            let pool = BufferPool::new(1 << 30);
            for _ in 0..2 {
                assert_eq!(workers.install(|| csr.transpose_in(&pool)), expected, "{rows} x {cols}, {threads} threads");
            }
        }
    }
}

/// More non-zeros than one thread copies, zeros of either sign and NaN among them, and rows that lose all.
#[test]
fn stored_zeros_are_left_out_on_every_number_of_threads() {
    let (rows, cols) = (700, 300);
    let value = |i: usize, j: usize| match (i * 7 + j * 3) % 11 {
        _ if i.is_multiple_of(13) => 0.0,
        0 => -0.0,
        1..4 => 0.0,
        4 => f64::NAN,
        other => other as f64,
    };
    let values: Vec<f64> = (0..rows).flat_map(|i| (0..cols).map(move |j| value(i, j))).collect();
    let offsets = (0..=rows).map(|row| row * cols).collect();
    let columns = (0..rows).flat_map(|_| 0..cols as u32).collect();
    let stored = Csr::new(rows, cols, offsets, columns, values.clone()).unwrap();
    let expected = Csr::from_dense(&Dense::from_vec(rows, cols, values));
    for threads in [1, 3] {
        let workers = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let left = workers.install(|| stored.without_stored_zeros_in(&BufferPool::new(0)));
        assert_eq!((left.row_offsets(), left.columns()), (expected.row_offsets(), expected.columns()));
        let bits = |csr: &Csr| csr.values().iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&left), bits(&expected));
    }
    let none = Csr::new(2, 3, vec![0, 1, 2], vec![0, 2], vec![0.0, -0.0]).unwrap();
    assert_eq!(none.without_stored_zeros(), Csr::empty(2, 3));
}

/// More cells than one thread goes through, zeros of either sign and NaN among them, rows without non-zeros, and a block that
/// ends with some.
#[test]
fn dense_matrices_lose_their_zeros_on_every_number_of_threads() {
    for (rows, cols) in [(0, 3), (3, 0), (1, 300_001), (300_001, 1), (1700, 301), (7, 131_072)] {
        let dense = Dense::from_fn(rows, cols, |i, j| match (i * 7 + j * 3) % 11 {
            _ if i.is_multiple_of(13) && i > 0 => 0.0,
            0 => -0.0,
            4 => f64::NAN,
            10 => j as f64,
            _ => 0.0,
        });
        let expected = Csr::from_dense(&dense);
        let is_sparse = MatrixBlock::best_format(rows, cols, expected.nnz()).is_sparse();
        for threads in [1, 3] {
            let workers = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            // Memory that is handed out a second time is not clear.
            let pool = BufferPool::new(1 << 30);
            for _ in 0..2 {
                let csr = workers.install(|| Csr::from_dense_in(&pool, &dense));
                assert_eq!((csr.row_offsets(), csr.columns()), (expected.row_offsets(), expected.columns()));
                let bits = |csr: &Csr| csr.values().iter().map(|value| value.to_bits()).collect::<Vec<_>>();
                assert_eq!(bits(&csr), bits(&expected), "{rows} x {cols}, {threads} threads");
                let stored = workers.install(|| MatrixBlock::from(dense.clone()).in_best_format_in(&pool));
                assert_eq!(stored.format().is_sparse(), is_sparse, "{rows} x {cols}");
                if let Layout::Sparse(stored) = stored.layout() {
                    assert_eq!((stored.row_offsets(), stored.columns()), (expected.row_offsets(), expected.columns()));
                    assert_eq!(bits(&stored), bits(&expected), "{rows} x {cols}, {threads} threads");
                }
            }
        }
    }
}

/// Blocks with few non-zeros and with many make the matrix that all cells are, in whichever format suits it.
#[test]
fn blocks_are_put_together_in_the_format_that_suits_all_of_them() {
    let (rows, cols, height) = (50, 40, 7);
    let pool = BufferPool::new(1 << 20);
    let mut formats = Vec::new();
    // Of so many blocks the first have few non-zeros.
    for few in [0, 1, 4, 7, 8] {
        let cell = |i: usize, j: usize| {
            if i / height < few && !j.is_multiple_of(11) { 0.0 } else { (i * cols + j) as f64 - 9.0 }
        };
        let cells = Dense::from_fn(rows, cols, cell);
        for threads in [1, 3] {
            let workers = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            // What is not written holds what was there before.
            let mut dense = Dense::from_fn(rows, cols, |_, _| f64::NAN);
            let places = dense.values_mut().chunks_mut(height * cols).zip(cells.values().chunks(height * cols));
            let of_block = |(place, cells): (&mut [f64], &[f64])| {
                SuitedRows::new(&pool, cols, cells, |cells| place.copy_from_slice(cells))
            };
            let blocks = places.map(of_block).collect();
            let matrix = workers.install(|| SuitedRows::put_together(&pool, dense, blocks));
            let expected = MatrixBlock::from(cells.clone()).in_best_format();
            assert_eq!(matrix.format(), expected.format(), "{few} blocks");
            assert_eq!(matrix.to_dense().values(), cells.values(), "{few} blocks, {threads} threads");
            if let (Layout::Sparse(matrix), Layout::Sparse(expected)) = (matrix.layout(), expected.layout()) {
                assert_eq!(matrix, expected);
            }
            formats.push(matrix.format().is_sparse());
        }
    }
    assert_eq!(formats, [false, false, false, false, false, false, true, true, true, true]);
}

/// Rows are told apart, empty ones among them, whether non-zeros are picked one by one or registers are compressed, and at the border
/// between the two.
#[test]
fn few_non_zeros_are_stored_in_their_rows() {
    let pool = BufferPool::new(1 << 20);
    for (rows, cols) in [(97, 1), (64, 7), (5, 160), (16, 64)] {
        for non_zeros in [0, 1, rows * cols / 16, rows * cols / 16 + 1, rows * cols / 8] {
            let value = |place: usize| if place.is_multiple_of(3) { f64::NAN } else { place as f64 + 1.0 };
            let first = (rows / 3) * cols;
            let is_kept =
                |cell: usize| cell >= first && (cell - first).is_multiple_of(2) && (cell - first) / 2 < non_zeros;
            let cells = Dense::from_fn(rows, cols, |i, j| if is_kept(i * cols + j) { value(i + j) } else { -0.0 });
            let block = SuitedRows::in_place(&pool, cols, cells.values(), cells.count_nonzeros());
            assert!(block.are_few() || cols == 1);
            let matrix = SuitedRows::put_together(&pool, cells.clone(), vec![block]);
            let expected = Csr::from_dense(&cells);
            let Layout::Sparse(csr) = matrix.layout() else { continue };
            assert_eq!(csr.row_offsets(), expected.row_offsets(), "{rows} x {cols}, {non_zeros}");
            assert_eq!(csr.columns(), expected.columns());
            let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(csr.values()), bits(expected.values()));
        }
    }
}

/// Hardly any of the cells is not zero: none of these is lost, wherever it lies, and a zero of either sign is none.
#[test]
fn rare_non_zeros_are_found_wherever_they_lie() {
    let pool = BufferPool::new(1 << 20);
    let (rows, cols) = (3, 77);
    for place in 0..cols {
        let value = if place % 5 == 0 { f64::NAN } else { f64::MIN_POSITIVE / 2.0 };
        let zero = |i: usize| if i == 0 { -0.0 } else { 0.0 };
        let cells = Dense::from_fn(rows, cols, |i, j| if (i, j) == (1, place) { value } else { zero(i) });
        let block = SuitedRows::new(&pool, cols, cells.values(), |_| panic!("few are not written"));
        let matrix = SuitedRows::put_together(&pool, Dense::zeros(rows, cols), vec![block]);
        let Layout::Sparse(csr) = matrix.layout() else { panic!("one of 231 cells makes a sparse matrix") };
        assert_eq!((csr.row_offsets(), csr.columns()), (&[0, 0, 1, 1][..], &[place as u32][..]));
        assert_eq!(csr.values()[0].to_bits(), value.to_bits());
    }
}

/// The format changes at one and the same number of non-zeros, whichever it was before.
#[test]
fn the_number_of_non_zeros_decides_on_the_format() {
    let (rows, cols) = (500, 400);
    let turn = (0..rows * cols).find(|&nnz| !MatrixBlock::best_format(rows, cols, nnz).is_sparse()).unwrap();
    let pool = BufferPool::new(0);
    for nonzeros in [turn - 1, turn] {
        // The last rows hold all of them: what is counted first does not tell.
        let first = rows * cols - nonzeros;
        let dense = Dense::from_fn(rows, cols, |i, j| f64::from(u8::from(i * cols + j >= first)));
        let sparse: MatrixBlock = Csr::from_dense(&dense).into();
        assert_eq!(sparse.stays_sparse(), nonzeros < turn);
        for block in [dense.into(), sparse] {
            let stored = block.clone().in_best_format_in(&pool);
            assert_eq!(stored.format().is_sparse(), nonzeros < turn, "{nonzeros} non-zeros");
            assert_eq!(stored.to_dense().values(), block.to_dense().values());
        }
    }
}

#[test]
fn one_nan_takes_the_place_of_all() {
    let (other, pool) =
        (f64::from_bits(0xfff8_0000_0000_0123), rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap());
    let dense: MatrixBlock = Dense::from_fn(3, 5000, |i, j| if (i, j) == (2, 4000) { other } else { j as f64 }).into();
    let sparse: MatrixBlock = Csr::new(2, 3, vec![0, 1, 2], vec![0, 2], vec![1.5, other]).unwrap().into();
    for (block, (row, col)) in [(dense, (2, 4000)), (sparse, (1, 2))] {
        let mut unified = block.clone();
        unified.unify_nan(&pool);
        assert_eq!(unified.get(row, col).to_bits(), f64::NAN.to_bits());
        assert_eq!(block.get(row, col).to_bits(), other.to_bits(), "who shares the cells keeps them");
        assert_eq!(unified.get(0, 0), block.get(0, 0));
        let before = unified.clone();
        unified.unify_nan(&pool);
        assert!(before.is_same(&unified), "nothing is copied where nothing changes");
    }
}

/// Whether this panics with a message that contains the text.
fn refuses<T>(make: impl FnOnce() -> T, expected: &str) -> bool {
    let payload = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(make()))).err();
    let message =
        payload.as_ref().map(|payload| match (payload.downcast_ref::<String>(), payload.downcast_ref::<&str>()) {
            (Some(text), _) => text.as_str(),
            (_, Some(text)) => text,
            _ => "",
        });
    message.is_some_and(|message| message.contains(expected))
}

#[test]
fn parts_that_form_no_sparse_matrix_are_refused_in_any_build() {
    let misfits = [
        (vec![0, 1], vec![2], vec![1.0]),
        (vec![0, 1], vec![u32::MAX], vec![1.0]),
        (vec![0, 2], vec![1, 0], vec![1.0, 2.0]),
        (vec![0, 2], vec![1, 1], vec![1.0, 2.0]),
        (vec![0, 1], vec![0], vec![]),
        (vec![0, usize::MAX], vec![], vec![]),
        (vec![1, 0], vec![], vec![]),
        (vec![], vec![], vec![]),
    ];
    for (offsets, columns, values) in misfits {
        let error =
            Csr::new(1, 2, offsets.clone(), columns.clone(), values.clone()).expect_err("no matrix").to_string();
        assert!(refuses(move || Csr::from_parts(1, 2, offsets, columns, values), &error), "{error}");
    }
    assert!(refuses(|| Csr::from_parts(usize::MAX, 2, vec![], vec![], vec![]), "row offsets"));
}

#[test]
fn blocks_that_form_no_sparse_matrix_are_refused_in_any_build() {
    let block = |lengths: &[usize], columns: &[u32]| {
        let mut rows = CsrRows::default();
        rows.lengths.extend_from_slice(lengths);
        rows.columns.extend_from_slice(columns);
        rows.values.extend(columns.iter().map(|_| 1.0));
        rows
    };
    let good = block(&[0, 2, 1], &[0, 1, 1]);
    assert_eq!(Csr::from_blocks(2, &[good.clone(), good.clone()]).nnz(), 6);
    for bad in [block(&[1], &[2]), block(&[2], &[1, 0]), block(&[1, 2], &[0, 1, 1])] {
        assert!(refuses(|| Csr::from_blocks(2, &[good.clone(), bad]), "ascend and stay below 2"));
    }
    // Lengths that contradict the cells, and such whose sum wraps.
    for lengths in [&[1][..], &[3], &[usize::MAX, 3], &[usize::MAX]] {
        let bad = block(lengths, &[0, 1]);
        assert!(std::panic::catch_unwind(|| Csr::from_blocks(2, &[bad])).is_err(), "{lengths:?}");
    }
    let pool = BufferPool::new(0);
    let build = || Csr::build_in(&pool, 2, &[usize::MAX, 3], |_, lengths| lengths.fill(0), |_, _, _| {});
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(build)).is_err());
}

#[test]
fn rows_that_are_stored_block_by_block_form_a_matrix_without_zeros() {
    let pool = BufferPool::new(0);
    let mut blocks = [StoredRows::new(&pool, 3, 5), StoredRows::new(&pool, 1, 2)];
    let row = |columns, values| SparseRow { columns, values };
    blocks[0].store(|_| 0, &[0, 2], row(&[0, 2], &[1.0, 0.0]));
    // The row between has none.
    let (columns, values) = blocks[0].room();
    (columns[0], values[0]) = (1, 2.0);
    blocks[0].adopt(2, 1);
    blocks[1].store(|_| 0, &[0, 2], row(&[0, 2], &[f64::NAN, 3.0]));
    let csr = StoredRows::put_together(&pool, 3, &blocks);
    assert_eq!((csr.row_offsets(), csr.columns()), (&[0, 1, 1, 2, 4][..], &[0, 1, 0, 2][..]));
    assert!(csr.values()[2].is_nan());
    assert_eq!([csr.values()[0], csr.values()[1], csr.values()[3]], [1.0, 2.0, 3.0]);
    let mut unordered = StoredRows::new(&pool, 1, 2);
    unordered.store(|_| 0, &[0, 2], row(&[1, 0], &[1.0, 1.0]));
    let build = || StoredRows::put_together(&pool, 3, &[unordered]);
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(build)).is_err());
}

#[test]
fn dimensions_that_wrap_are_refused() {
    let pool = BufferPool::new(0);
    for (rows, cols) in [(1 << 33, 1 << 31), (1 << 63, 2), (usize::MAX, usize::MAX)] {
        assert!(refuses(|| Dense::from_vec(rows, cols, vec![]), "does not have 0 cells"));
        assert!(refuses(|| Dense::zeros(1, 0).reshape(rows, cols), "does not have 0 cells"));
        let made: [&dyn Fn() -> Dense; 4] = [
            &|| Dense::zeros(rows, cols),
            &|| Dense::zeros_in(&pool, rows, cols),
            &|| Dense::uninit_in(&pool, rows, cols),
            &|| Dense::from_fn(rows, cols, |_, _| 0.0),
        ];
        for make in made {
            let payload = std::panic::catch_unwind(std::panic::AssertUnwindSafe(make)).expect_err("too many cells");
            assert_eq!(payload.downcast_ref(), Some(&AllocationFailure { bytes: u64::MAX, refusal: Refusal::System }));
        }
    }
    let rows = std::panic::catch_unwind(|| Csr::empty(usize::MAX, 2)).expect_err("too many rows");
    assert_eq!(rows.downcast_ref(), Some(&AllocationFailure { bytes: u64::MAX, refusal: Refusal::System }));
}

#[test]
fn more_columns_than_can_be_numbered_are_only_for_zeros() {
    let wide = 5_000_000_000;
    assert_eq!(Csr::new(0, wide, vec![0], vec![], vec![]), Err(CsrError::TooManyColumns { cols: wide }));
    for zeros in [Csr::empty(2, wide), Csr::from_parts(2, wide, vec![0; 3], vec![], vec![])] {
        assert_eq!((zeros.cols(), zeros.nnz()), (wide, 0));
    }
}

/// Rows are filled part by part before their non-zeros are written: no part, short row or long one is left out.
#[test]
fn sparse_rows_are_laid_out_beside_what_fills_them() {
    for (rows, cols, every) in
        [(0, 5, 1), (5, 0, 1), (2000, 3, 2), (700, 9, 40), (9, 2048, 3), (5, 2049, 700), (3, 9000, 5)]
    {
        let dense = Dense::from_fn(rows, cols, |i, j| if (i * 31 + j) % every == 0 { (i + j + 1) as f64 } else { 0.0 });
        let csr = Csr::from_dense(&dense);
        let filled = csr.filled_in(&BufferPool::new(0), csr.values(), -7.0);
        let expected = Dense::from_fn(rows, cols, |i, j| if dense.get(i, j) == 0.0 { -7.0 } else { dense.get(i, j) });
        assert_eq!(filled, expected, "{rows} x {cols}");
        let first = rows / 3;
        let mut cells = vec![f64::NAN; (rows - first) * cols];
        csr.write_cells(first, &mut cells);
        assert_eq!(cells, dense.values()[first * cols..], "{rows} x {cols} from {first}");
    }
}
