//! Tests of transformations.

use super::*;
use fuseline_matrix::run_context::Abort;
use fuseline_matrix::{BufferPool, MatrixBlock, RunContext, StopFlag};

fn texts(cells: &[&str]) -> Column {
    Column::of_optional_texts(cells.iter().map(|&cell| (!cell.is_empty()).then(|| cell.to_owned())))
}

/// Cities, numbers with a missing one, and yes or no.
fn frame() -> Frame {
    let columns = vec![
        texts(&["graz", "wien", "graz", "linz", ""]),
        Column::F64(vec![1.0, 2.0, f64::NAN, 4.0, 9.0]),
        texts(&["yes", "no", "yes", "yes", "no"]),
    ];
    Frame::new(columns, vec!["city".into(), "size".into(), "capital".into()]).expect("columns of five rows")
}

fn learnt(json: &str) -> Collected<Learnt> {
    let specification = Specification::parse(json, frame().names()).expect("a valid specification");
    learn(&frame(), &specification).expect("it fits")
}

fn rows(matrix: &MatrixBlock) -> Vec<Vec<f64>> {
    (0..matrix.rows()).map(|i| (0..matrix.cols()).map(|j| matrix.get(i, j)).collect()).collect()
}

/// Equal, where NaN equals NaN.
fn same(actual: &MatrixBlock, expected: &[&[f64]]) -> bool {
    let rows = rows(actual);
    rows.len() == expected.len()
        && rows.iter().zip(expected).all(|(actual, expected)| {
            actual.len() == expected.len()
                && actual.iter().zip(*expected).all(|(x, y)| x == y || x.is_nan() && y.is_nan())
        })
}

#[test]
fn codes_follow_first_appearance_and_missing_cells_are_nan() {
    let nan = f64::NAN;
    let matrix = encode(&frame(), &learnt("{ids: true, recode: [1, 3]}")).expect("it fits");
    let expected: [&[f64]; 5] =
        [&[1.0, 1.0, 1.0], &[2.0, 2.0, 2.0], &[1.0, nan, 1.0], &[3.0, 4.0, 1.0], &[nan, 9.0, 2.0]];
    assert!(same(&matrix, &expected), "{:?}", rows(&matrix));
}

#[test]
fn dummy_coding_gives_each_category_a_column_and_nothing_to_missing_cells() {
    let json =
        r#"{"dummycode": ["city"], "recode": ["capital"], "impute": [{"name": "size", "method": "global_mean"}]}"#;
    let matrix = encode(&frame(), &learnt(json)).expect("it fits");
    let expected: [&[f64]; 5] = [
        &[1.0, 0.0, 0.0, 1.0, 1.0],
        &[0.0, 1.0, 0.0, 2.0, 2.0],
        &[1.0, 0.0, 0.0, 4.0, 1.0],
        &[0.0, 0.0, 1.0, 4.0, 1.0],
        &[0.0, 0.0, 0.0, 9.0, 2.0],
    ];
    assert!(same(&matrix, &expected), "{:?}", rows(&matrix));
}

#[test]
fn bins_have_their_upper_bounds() {
    let bounds = |json: &str| match &learnt(json)[1].encoding {
        Encoding::Bin(bins) => bins.to_vec(),
        other => panic!("{other:?} are no bins"),
    };
    let width = "{ids: true, recode: [1, 3], bin: [{id: 2, method: 'equi-width', numbins: 4}]}";
    assert_eq!(bounds(width), [(1.0, 3.0), (3.0, 5.0), (5.0, 7.0), (7.0, 9.0)]);
    let height = "{ids: true, recode: [1, 3], bin: [{id: 2, method: 'equi-height', numbins: 2}]}";
    assert_eq!(bounds(height), [(1.0, 2.0), (2.0, 9.0)]);
    let sizes = |cells: Vec<f64>| {
        let columns = vec![texts(&["graz"; 5]), Column::F64(cells), texts(&["no"; 5])];
        let matrix = encode(&Frame::new(columns, Vec::new()).expect("fits"), &learnt(width)).expect("it fits");
        (0..5).map(|row| matrix.get(row, 1)).collect::<Vec<_>>()
    };
    assert_eq!(sizes(vec![1.0, 3.0, 3.1, 100.0, -5.0]), [1.0, 1.0, 2.0, 4.0, 1.0]);
}

#[test]
fn what_was_learnt_survives_as_a_frame() {
    for json in [
        "{ids: true, recode: [1, 3]}",
        "{ids: true, dummycode: [1], recode: [3], impute: [{id: 1, method: 'global_mode'}]}",
        "{ids: true, recode: [1, 3], bin: [{id: 2, method: 'equi-width', numbins: 3}], impute: [{id: 2, method: 'constant', value: 0.1}]}",
    ] {
        let specification = Specification::parse(json, frame().names()).expect("valid");
        let learnt = learnt(json);
        assert_eq!(from_frame(&to_frame(&learnt), &specification), Ok(learnt), "{json}");
    }
    let entries = to_frame(&learnt("{ids: true, recode: [1, 3]}"));
    assert_eq!(entries.columns()[0], texts(&["graz·1", "wien·2", "linz·3"]));
    assert_eq!(entries.columns()[2], texts(&["yes·1", "no·2", ""]));
}

#[test]
fn unknown_categories_are_nan_and_decoding_inverts_encoding() {
    let json = "{ids: true, recode: [1], dummycode: [3]}";
    let learnt = learnt(json);
    let other = vec![texts(&["linz", "rom"]), Column::F64(vec![0.5, -1.0]), texts(&["no", "perhaps"])];
    let other = Frame::new(other, frame().names().to_vec()).expect("fits");
    let matrix = encode(&other, &learnt).expect("it fits");
    assert!(same(&matrix, &[&[3.0, 0.5, 0.0, 1.0], &[f64::NAN, -1.0, 0.0, 0.0]]), "{:?}", rows(&matrix));
    let decoded = decode(&matrix, &learnt).expect("it fits");
    assert_eq!(decoded.columns()[0], texts(&["linz", ""]));
    assert_eq!(decoded.columns()[2], texts(&["no", ""]));
    assert_eq!(decoded.names(), frame().names());
}

#[test]
fn rows_with_missing_cells_can_be_omitted() {
    let specification = Specification::parse("{ids: true, recode: [1, 3], omit: [1, 2]}", frame().names());
    let kept = without_omitted(&frame(), &specification.expect("valid")).expect("two rows go");
    assert_eq!(kept.columns()[2], texts(&["yes", "no", "yes"]));
}

#[test]
fn wrong_specifications_say_what_is_wrong() {
    let problem = |json: &str| Specification::parse(json, frame().names()).expect_err("wrong").to_string();
    assert!(
        problem("{recode: ['town']}").contains("`town`, which the frame does not have; its columns are city, size")
    );
    assert!(problem("{ids: true, recode: [4]}").contains("the column 4"));
    assert!(problem("{recode: [1]}").contains("`ids: true`"));
    assert!(problem("{ids: true, hash: [1]}").contains("hash"));
    assert!(problem("{ids: true, recode: [2], bin: [{id: 2, method: 'equi-width', numbins: 3}]}").contains("`size`"));
    assert!(problem("{ids: true").contains("not valid"));
    let specification = Specification::parse("{}", frame().names()).expect("nothing to do");
    let error = encode(&frame(), &learn(&frame(), &specification).expect("nothing to learn"));
    let expected = TransformError::NoNumber { row: 1, column: "city".into(), text: "graz".into() };
    assert_eq!(error.expect_err("cities are no numbers"), expected);
}

/// Each of them is one pass over all cells.
#[test]
fn a_request_to_stop_is_heard() {
    let specification = Specification::parse("{ids: true, recode: [1, 3], omit: [1]}", frame().names()).expect("valid");
    let (learnt, context) =
        (learnt("{ids: true, recode: [1, 3]}"), RunContext::new(BufferPool::new(0), StopFlag::default()));
    let (frame, meta) = (frame(), to_frame(&learnt));
    let matrix = encode(&frame, &learnt).expect("it fits");
    context.stop().raise();
    assert_eq!(context.run(|| learn(&frame, &specification).is_ok()), Err(Abort::Stopped));
    assert_eq!(context.run(|| encode(&frame, &learnt).is_ok()), Err(Abort::Stopped));
    assert_eq!(context.run(|| decode(&matrix, &learnt).is_ok()), Err(Abort::Stopped));
    assert_eq!(context.run(|| to_frame(&learnt).rows()), Err(Abort::Stopped));
    assert_eq!(context.run(|| from_frame(&meta, &specification).is_ok()), Err(Abort::Stopped));
    assert_eq!(context.run(|| without_omitted(&frame, &specification).is_some()), Err(Abort::Stopped));
}
