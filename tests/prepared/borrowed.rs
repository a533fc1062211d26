//! Inputs that lie in memory of the caller: read where they are, never written, kept for as long as they are needed.

use super::{X, interface, session};
use bytemuck::cast_slice;
use fuseline::ir::DataType;
use fuseline::{
    BackendKind, BorrowError, Borrowed, CompileOptions, Csr, CsrError, Dense, Error, List, Outcome, RuntimeValue,
    Session,
};
use ndarray::{Array2, s};
use sprs::CsMatI;
use std::cell::UnsafeCell;
use std::sync::Arc;

const W: (&str, DataType) = ("w", DataType::MATRIX);

fn array(rows: usize, cols: usize) -> Array2<f64> {
    Array2::from_shape_fn(
        (rows, cols),
        |(i, j)| if (i * cols + j).is_multiple_of(7) { (i + j) as f64 + 0.5 } else { 0.0 },
    )
}

fn sprs_matrix(rows: usize, cols: usize) -> CsMatI<f64, u32, usize> {
    Csr::from_dense(&Dense::from_ndarray(array(rows, cols))).into_sprs()
}

/// Runs a script on matrices `X` and `w`.
fn run(text: &str, outputs: &[&str], x: impl Into<RuntimeValue>) -> Outcome {
    let session = session();
    let mut script = session.prepare_script("<text>", text, &interface(&[X, W], outputs)).expect("a script");
    let w = Dense::from_fn(40, 2, |i, j| (i * 2 + j) as f64);
    let bound = script.bind("X", x).and_then(|script| script.bind("w", w)).expect("matrices");
    bound.execute(&mut std::io::sink()).expect("a run")
}

const COMPUTE: &str = "Y = X\nZ = t(X) %*% (X %*% w)\ns = sum(X * X + 1)";

fn same_results(borrowed: &Outcome, copied: &Outcome) {
    assert_eq!(borrowed.matrix("Z").unwrap(), copied.matrix("Z").unwrap());
    assert_eq!(borrowed.scalar("s").unwrap(), copied.scalar("s").unwrap());
}

#[test]
fn arrays_of_ndarray_are_read_where_they_are_and_dropped_with_the_last_value() {
    let array = Arc::new(array(3000, 40));
    let outcome = run(COMPUTE, &["Y", "Z", "s"], Dense::borrow_ndarray(Arc::clone(&array)).unwrap());
    assert_eq!(
        outcome.matrix("Y").unwrap().to_dense().values().as_ptr(),
        array.as_ptr(),
        "what is read is what is lent"
    );
    same_results(&outcome, &run(COMPUTE, &["Z", "s"], Dense::from_ndarray((*array).clone())));
    let watch = Arc::downgrade(&array);
    drop(array);
    assert!(watch.upgrade().is_some(), "the outcome has a value that is borrowed");
    drop(outcome);
    assert!(watch.upgrade().is_none());
}

#[test]
fn matrices_of_sprs_are_read_where_they_are_and_dropped_with_the_last_value() {
    let matrix = Arc::new(sprs_matrix(3000, 40));
    let outcome = run(COMPUTE, &["Y", "Z", "s"], Csr::borrow_sprs(&matrix).unwrap());
    let read = outcome.matrix("Y").unwrap();
    assert!(read.format().is_sparse());
    let read = read.to_csr();
    assert_eq!(read.values().as_ptr(), matrix.data().as_ptr());
    assert_eq!(read.columns().as_ptr(), matrix.indices().as_ptr());
    assert_eq!(read.row_offsets().as_ptr(), matrix.indptr().into_raw_storage().as_ptr());
    drop(read);
    same_results(&outcome, &run(COMPUTE, &["Z", "s"], Csr::from_sprs((*matrix).clone()).unwrap()));
    let watch = Arc::downgrade(&matrix);
    drop((matrix, outcome));
    assert!(watch.upgrade().is_none());
}

#[test]
fn what_is_replaced_is_a_copy() {
    let text = "for (i in 1:20) { X[i, ] = X[i, ] + i }\nX[1, 1] = 0 / 0\ns = sum(X[2, ])";
    let lent = Arc::new(array(300, 40));
    let kept = (*lent).clone();
    let outcome = run(text, &["X", "s"], Dense::borrow_ndarray(Arc::clone(&lent)).unwrap());
    assert_eq!(*lent, kept);
    assert_eq!(outcome.scalar("s").unwrap(), lent.row(1).sum() + 80.0);
    assert!(outcome.matrix("X").unwrap().get(0, 0).is_nan());
    let lent = Arc::new(sprs_matrix(300, 40));
    let kept = (*lent).clone();
    run(text, &["X", "s"], Csr::borrow_sprs(&lent).unwrap());
    assert_eq!(*lent, kept);
}

/// NaN whose bits are not those that leave a session are unified in results, which must not be written into the array.
#[test]
fn bits_of_nan_are_unified_in_a_copy() {
    let other = f64::from_bits(0xfff8_0000_0000_0123);
    let lent = Arc::new(Array2::from_elem((5, 4), other));
    let outcome = run("Y = X", &["Y"], Dense::borrow_ndarray(Arc::clone(&lent)).unwrap());
    assert_eq!(outcome.matrix("Y").unwrap().get(4, 3).to_bits(), f64::NAN.to_bits());
    assert_eq!(lent[[4, 3]].to_bits(), other.to_bits());
}

#[test]
fn borrowed_memory_is_not_part_of_the_budget() {
    let options = CompileOptions {
        backend: BackendKind::Interp,
        threads: 1,
        memory_budget: Some(1 << 20),
        ..CompileOptions::default()
    };
    let session = Session::new(options).expect("a session");
    let mut script = session.prepare_script("<text>", "s = colSums(X)", &interface(&[X], &["s"])).expect("a script");
    let lent = Arc::new(array(20_000, 40));
    script.bind("X", Dense::borrow_ndarray(Arc::clone(&lent)).unwrap()).unwrap();
    let sums = script.execute(&mut std::io::sink()).expect("six times the budget, none of which is ours");
    assert_eq!(sums.matrix("s").unwrap().get(0, 3), lent.column(3).sum());
    script.bind("X", Dense::from_ndarray((*lent).clone())).unwrap();
    assert!(script.execute(&mut std::io::sink()).is_err());
}

#[test]
fn what_is_no_matrix_of_ours_is_refused() {
    let columns = Arc::new(array(30, 40).reversed_axes());
    assert_eq!(Dense::borrow_ndarray(columns).unwrap_err(), BorrowError::Order);
    let gaps = Arc::new(array(30, 40).slice_move(s![.., ..20]));
    assert_eq!(Dense::borrow_ndarray(gaps).unwrap_err(), BorrowError::Order);
    assert!(Dense::borrow_ndarray(Arc::new(Array2::<f64>::zeros((0, 3)))).unwrap().values().is_empty());
    let by_column = Arc::new(sprs_matrix(30, 40).to_csc());
    assert_eq!(Csr::borrow_sprs(&by_column).unwrap_err(), BorrowError::Order);

    let words = Arc::new(vec![1.0_f64, 2.0]);
    let address = words.as_ptr().addr();
    let run = |first: usize, end: usize| Borrowed::<f64>::new(Arc::clone(&words), |w| &cast_slice(&w[..])[first..end]);
    assert_eq!(run(4, 12).unwrap_err(), BorrowError::Bytes { bytes: 8, address: address + 4, width: 8 });
    assert_eq!(run(0, 12).unwrap_err(), BorrowError::Bytes { bytes: 12, address, width: 8 });
    let cells = Dense::borrowed(1, 3, run(0, 16).unwrap()).unwrap_err();
    assert_eq!(cells, BorrowError::Cells { rows: 1, cols: 3, cells: 2 });
}

/// Numbers that change while they are lent, as those of an interpreter's arrays do.
struct Changing<T>(UnsafeCell<Vec<T>>);

// SAFETY: the tests change numbers on one thread, and between evaluations.
unsafe impl<T: Sync> Sync for Changing<T> {}

impl<T: bytemuck::Pod + Send + Sync> Changing<T> {
    fn new(numbers: &[T]) -> Arc<Self> {
        Arc::new(Changing(UnsafeCell::new(numbers.to_vec())))
    }

    fn lent(self: &Arc<Self>) -> Borrowed<T> {
        Borrowed::new(Arc::clone(self), Changing::bytes).unwrap().changing()
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: nothing changes during an evaluation.
        unsafe { cast_slice(&*self.0.get()) }
    }

    fn set(&self, index: usize, number: T) {
        // SAFETY: no evaluation runs.
        let numbers = unsafe { &mut *self.0.get() };
        numbers[index] = number;
    }
}

#[test]
fn results_do_not_change_with_what_they_were_computed_from() {
    let session = session();
    let mut script = session.prepare_script("<text>", "Y = X\ns = sum(X)", &interface(&[X], &["Y", "s"])).unwrap();
    let values = Changing::new(&[1.0, 2.0, 3.0, 4.0]);
    script.bind("X", Dense::borrowed(2, 2, values.lent()).unwrap()).unwrap();
    let before = script.execute(&mut std::io::sink()).unwrap();
    values.set(3, 40.0);
    let after = script.execute(&mut std::io::sink()).unwrap();
    assert_eq!((before.scalar("s").unwrap(), after.scalar("s").unwrap()), (10.0, 46.0));
    assert_eq!((before.matrix("Y").unwrap().get(1, 1), after.matrix("Y").unwrap().get(1, 1)), (4.0, 40.0));
}

#[test]
fn positions_that_an_owner_changed_are_checked_before_they_are_used() {
    let session = session();
    let inputs = [X, ("L", DataType::List)];
    let text = "Y = X != 0\ns = sum(X %*% matrix(1, rows=3, cols=2)) + sum(as.matrix(L[1]))";
    let mut script = session.prepare_script("<text>", text, &interface(&inputs, &["Y", "s"])).unwrap();
    let (offsets, columns) = (Changing::new(&[0_usize, 2, 3]), Changing::new(&[0_u32, 2, 1]));
    let values = Changing::new(&[1.0, 2.0, 3.0]);
    let matrix = RuntimeValue::from(Csr::borrowed(2, 3, offsets.lent(), columns.lent(), values.lent()).unwrap());
    script.bind("X", matrix.clone()).unwrap().bind("L", List::unnamed([matrix])).unwrap();
    let mut execute = || script.execute(&mut std::io::sink());
    let first = execute().unwrap();
    assert_eq!(first.scalar("s").unwrap(), 18.0);
    let misfit = CsrError::Columns { row: 1, cols: 3 };
    columns.set(2, 1_000_000_000);
    assert!(matches!(execute(), Err(Error::Borrowed { name, error }) if name == "L" && error == misfit));
    columns.set(2, 2);
    offsets.set(1, 7);
    assert!(matches!(execute(), Err(Error::Borrowed { error: CsrError::Offsets, .. })));
    offsets.set(1, 2);
    // A zero that is stored is none that counts.
    values.set(0, 0.0);
    let last = execute().unwrap();
    assert_eq!(last.scalar("s").unwrap(), 15.0);
    assert_eq!(last.matrix("Y").unwrap().nnz(), 2);
    assert_eq!(first.matrix("Y").unwrap().get(1, 1), 1.0, "results have positions of their own");
}

/// Matrices so large that threads share the checks and the copies.
#[test]
fn large_matrices_of_others_are_checked_and_copied_by_all_threads() {
    const ROWS: usize = 4000;
    const OF_A_ROW: usize = 150;
    let session = session();
    let text = "Y = X * u\nZ = X\ns = sum(X)";
    let inputs = [X, ("u", DataType::MATRIX)];
    let mut script = session.prepare_script("<text>", text, &interface(&inputs, &["Y", "Z", "s"])).unwrap();
    let offsets: Vec<usize> = (0..=ROWS).map(|row| row * OF_A_ROW).collect();
    let columns: Vec<u32> = (0..ROWS * OF_A_ROW).map(|position| (position % OF_A_ROW * 2) as u32).collect();
    let values = vec![1.5; columns.len()];
    let (offsets, columns, values) = (Changing::new(&offsets), Changing::new(&columns), Changing::new(&values));
    let lent = Csr::borrowed(ROWS, 300, offsets.lent(), columns.lent(), values.lent()).unwrap();
    let expected = Csr::new(ROWS, 300, lent.row_offsets().to_vec(), lent.columns().to_vec(), lent.values().to_vec());
    script.bind("X", lent).unwrap().bind("u", Dense::from_fn(ROWS, 1, |_, _| 2.0)).unwrap();
    let mut execute = || script.execute(&mut std::io::sink());
    let first = execute().unwrap();
    for row in [0, ROWS / 2, ROWS - 1] {
        let last = row * OF_A_ROW + OF_A_ROW - 1;
        for wrong in [300, u32::MAX, 296] {
            columns.set(last, wrong);
            let misfit = CsrError::Columns { row, cols: 300 };
            assert!(matches!(execute(), Err(Error::Borrowed { error, .. }) if error == misfit), "{wrong} in row {row}");
        }
        columns.set(last, 298);
    }
    values.set(7, 2.5);
    assert_eq!(execute().unwrap().scalar("s").unwrap(), first.scalar("s").unwrap() + 1.0);
    columns.set(0, 1);
    let (of_first, expected) = (first.matrix("Y").unwrap(), expected.unwrap());
    assert_eq!(first.matrix("Z").unwrap(), &expected.clone().into(), "the values that were there");
    assert_eq!((of_first.get(0, 0), of_first.get(0, 1), of_first.get(ROWS - 1, 298)), (3.0, 0.0, 3.0));
    assert_eq!(of_first.to_csr().columns(), expected.columns());
    assert!(of_first.is_nan_free(), "values stay what was seen of them");
}
