//! Tests of frames in CSV files.

use crate::io::{Metadata, read_frame, write_frame};
use crate::{Column, Frame};
use std::fs;
use std::path::PathBuf;

/// A file of this content in a folder of its own.
fn file(content: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("frame.csv");
    fs::write(&path, content).expect("a file");
    (folder, path)
}

/// Texts, of which the empty ones are missing.
fn texts(cells: &[&str]) -> Column {
    Column::of_optional_texts(cells.iter().map(|&cell| (!cell.is_empty()).then(|| cell.to_owned())))
}

fn with_header() -> Metadata {
    Metadata { header: Some(true), ..Metadata::default() }
}

const PEOPLE: &str = "name,age,height,member\n\"Ann, \"\"A.\"\"\",31,1.5,TRUE\nBob,25,,false\n";

#[test]
fn columns_are_texts_unless_a_schema_says_otherwise() {
    let (_folder, path) = file(PEOPLE);
    let plain = read_frame(&path, &with_header()).expect("a frame");
    assert_eq!(plain.names(), ["name", "age", "height", "member"]);
    assert_eq!(plain.columns()[2], texts(&["1.5", ""]));
    let schema = Some("STRING, INT64,FP64,BOOLEAN".to_owned());
    let typed = read_frame(&path, &Metadata { schema, ..with_header() }).expect("a frame");
    assert_eq!(typed.columns()[0], texts(&["Ann, \"A.\"", "Bob"]));
    assert_eq!(typed.columns()[1], Column::I64(vec![31, 25]));
    assert_eq!(typed.columns()[3], Column::Bool(vec![true, false]));
    let Column::F64(heights) = &typed.columns()[2] else { panic!("a column of doubles") };
    assert!(heights[0] == 1.5 && heights[1].is_nan());
}

#[test]
fn frames_read_back_as_they_were_written() {
    let (_folder, path) = file(PEOPLE);
    let schema = Some("STRING,INT64,STRING,BOOLEAN".to_owned());
    let frame = read_frame(&path, &Metadata { schema, ..with_header() }).expect("a frame");
    let copy = path.with_file_name("copy.csv.gz");
    write_frame(&frame, &copy, &Metadata { sep: Some(";".to_owned()), ..with_header() }).expect("it can be written");
    assert_eq!(read_frame(&copy, &Metadata::default()).expect("its metadata says how"), frame);
}

#[test]
fn missing_values_are_no_texts_and_nan() {
    let (_folder, path) = file("1,NA\n,x\n");
    let schema = Some("FP64,STRING".to_owned());
    let metadata = Metadata { schema, na_strings: Some("NA".to_owned()), ..Metadata::default() };
    let frame = read_frame(&path, &metadata).expect("a frame");
    assert_eq!(frame.columns()[1], texts(&["", "x"]));
    assert!(matches!(&frame.columns()[0], Column::F64(cells) if cells[0] == 1.0 && cells[1].is_nan()));
    let filled = Metadata { fill: Some(true), default: Some(-1.0), ..metadata };
    let frame = read_frame(&path, &filled).expect("a frame");
    assert_eq!(frame.columns()[0], Column::F64(vec![1.0, -1.0]));
}

#[test]
fn what_does_not_fit_is_said_with_its_place() {
    let problem = |content: &str, schema: Option<&str>, rows: Option<u64>| {
        let (_folder, path) = file(content);
        let metadata = Metadata { schema: schema.map(str::to_owned), rows, ..Metadata::default() };
        let message = read_frame(&path, &metadata).expect_err("wrong").to_string();
        message.rsplit_once("frame.csv:").map_or(message.clone(), |(_, problem)| problem.to_owned())
    };
    assert_eq!(problem("a,b\nc\n", None, None), "2:1: the row has 1 cells, those before have 2");
    assert_eq!(problem("1\nx\n", Some("INT64"), None), "2:1: column 1: `x` is not an integer");
    assert!(problem("1\n\"\"\n", Some("INT64"), None).contains("a missing value needs a column of type FP64"));
    assert!(problem("yes\n", Some("BOOLEAN"), None).contains("`yes` is not a truth value"));
    assert!(problem("a,b\n", Some("STRING"), None).contains("the schema has 1 types, the frame 2 columns"));
    assert!(problem("a,b\n", Some("STRING,TEXT"), None).contains("`text` is no value type"));
    assert!(problem("a,b\n", None, Some(3)).contains("3 x ?"));
}

#[test]
fn empty_files_are_empty_frames_and_other_formats_are_refused() {
    let (_folder, path) = file("a,b\n");
    let frame = read_frame(&path, &with_header()).expect("a frame without rows");
    assert_eq!((frame.rows(), frame.cols(), frame.names()[1].as_str()), (0, 2, "b"));
    let text = Metadata { format: Some("text".to_owned()), ..Metadata::default() };
    let error = write_frame(&Frame::default(), &path, &text).expect_err("only csv");
    assert!(error.to_string().contains("frames are read and written as csv, not as text"), "{error}");
}
