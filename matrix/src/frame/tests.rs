//! Tests of frames.

use super::*;
use crate::BufferPool;
use crate::run_context::{Abort, RunContext, StopFlag};

fn texts(cells: &[&str]) -> Column {
    Column::of_texts(cells.iter().map(|&cell| cell.to_owned()))
}

fn people() -> Frame {
    let columns = vec![texts(&["anna", "bob", ""]), Column::I64(vec![31, 25, 47]), Column::F64(vec![1.5, -2.0, 1e9])];
    Frame::new(columns, vec!["name".into(), "age".into()]).expect("columns of three rows")
}

#[test]
fn columns_without_a_name_are_called_by_position_and_lengths_must_agree() {
    let frame = people();
    assert_eq!((frame.rows(), frame.cols()), (3, 3));
    assert_eq!(frame.names(), ["name", "age", "C3"]);
    let ragged = Frame::new(vec![Column::I64(vec![1]), Column::I64(vec![])], Vec::new());
    assert_eq!(ragged, Err(FrameError::Length { column: 2, expected: 1, actual: 0 }));
}

#[test]
fn one_nan_takes_the_place_of_all() {
    let other = f64::from_bits(0xfff8_0000_0000_0123);
    let columns = vec![Column::F64(vec![other, 1.0]), texts(&["NaN", ""])];
    let shared = Arc::new(Frame::new(columns, Vec::new()).expect("columns of two rows"));
    let bits = |frame: &Frame| match frame.columns() {
        [Column::F64(cells), texts] if texts.text(0) == "NaN" && cells[1] == 1.0 => cells[0].to_bits(),
        others => panic!("other columns: {others:?}"),
    };
    let mut unified = Arc::clone(&shared);
    Frame::unify_nan(&mut unified);
    assert_eq!((bits(&unified), bits(&shared)), (f64::NAN.to_bits(), other.to_bits()));
    let before = Arc::clone(&unified);
    Frame::unify_nan(&mut unified);
    assert!(Arc::ptr_eq(&before, &unified), "nothing is copied where nothing changes");
}

#[test]
fn slices_are_one_based_and_inclusive_and_lie_inside() {
    let slice = people().slice((2, 3), (1, 2)).expect("inside");
    let expected = vec![texts(&["bob", ""]), Column::I64(vec![25, 47])];
    assert_eq!(slice, Frame::new(expected, vec!["name".into(), "age".into()]).expect("fits"));
    for (rows, cols) in [((0, 1), (1, 1)), ((2, 1), (1, 1)), ((1, 4), (1, 1)), ((1, 1), (1, 4))] {
        let error = people().slice(rows, cols);
        let outside = FrameError::Range { first: (rows.0, cols.0), last: (rows.1, cols.1), size: (3, 3) };
        assert_eq!(error, Err(outside));
    }
}

#[test]
fn binding_keeps_or_widens_types() {
    let frame = people();
    let wide = Frame::bind_columns(&[&frame, &frame]).expect("equal rows");
    assert_eq!((wide.rows(), wide.cols()), (3, 6));
    assert_eq!(wide.names(), ["name", "age", "C3", "name", "age", "C6"]);
    assert_eq!(wide.select_columns(&[5, 0]).names(), ["C1", "name"]);
    assert_eq!(wide.slice((1, 1), (2, 3)).expect("inside").names(), ["age", "C2"]);
    let numbers = frame.slice((1, 1), (2, 3)).expect("inside");
    let swapped = Frame::new(vec![numbers.columns()[1].clone(), Column::Bool(vec![true])], Vec::new()).expect("fits");
    let tall = Frame::bind_rows(&[&numbers, &swapped]).expect("equal columns");
    assert_eq!(tall.columns()[0], Column::F64(vec![31.0, 1.5]));
    assert_eq!(tall.columns()[1], texts(&["1.5", "true"]));
    assert!(Frame::bind_rows(&[&frame, &numbers]).is_err());
    assert!(Frame::bind_columns(&[&frame, &numbers]).is_err());
}

#[test]
fn replacements_have_the_size_of_the_range() {
    let new = Frame::new(vec![Column::I64(vec![1]), Column::I64(vec![2])], Vec::new()).expect("fits");
    let replaced = people().replace((2, 2), (2, 3), &new).expect("inside");
    assert_eq!(replaced.columns()[1], Column::I64(vec![31, 1, 47]));
    assert_eq!(replaced.columns()[2], Column::F64(vec![1.5, 2.0, 1e9]));
    let wrong = people().replace((1, 2), (2, 3), &new);
    assert_eq!(wrong, Err(FrameError::Replacement { expected: (2, 2), actual: (1, 2) }));
}

#[test]
fn numbers_convert_and_texts_only_when_they_are_numbers() {
    let error = people().to_matrix().expect_err("names are no numbers");
    assert_eq!(error, FrameError::NoNumber { row: 1, column: "name".into(), text: "anna".into() });
    let texts = Column::Str(vec![Some("1e3".into()), None]);
    let frame = Frame::new(vec![texts, Column::Bool(vec![true, false])], Vec::new()).expect("fits");
    let matrix = frame.to_matrix().expect("numbers");
    assert_eq!((matrix.get(0, 0), matrix.get(0, 1), matrix.get(1, 1)), (1000.0, 1.0, 0.0));
    assert!(matrix.get(1, 0).is_nan());
    let back = Frame::from_matrix(&MatrixBlock::from(matrix));
    assert_eq!(back.columns()[1], Column::F64(vec![1.0, 0.0]));
}

/// Each of them is one pass over all cells, for each of which memory is asked.
#[test]
fn a_request_to_stop_is_heard() {
    let context = RunContext::new(BufferPool::new(0), StopFlag::default());
    let (frame, names) = (people(), people().names().len());
    let column = &frame.columns()[1];
    context.stop().raise();
    let operations: [&dyn Fn(); 9] = [
        &|| drop(frame.clone()),
        &|| drop(frame.slice((1, 2), (1, 2))),
        &|| drop(frame.select_rows(&[0])),
        &|| drop(Frame::bind_rows(&[&frame, &frame])),
        &|| drop(Frame::bind_columns(&[&frame, &frame])),
        &|| drop(frame.slice((1, 3), (2, 3)).map(|numbers| numbers.to_matrix())),
        &|| drop(frame.nonempty_columns()),
        &|| drop(column.converted(ScalarType::Str)),
        &|| drop(Frame::from_matrix(&Dense::zeros(names, 1).into())),
    ];
    for (number, operation) in operations.into_iter().enumerate() {
        assert_eq!(context.run(operation), Err(Abort::Stopped), "operation {number}");
    }
}
