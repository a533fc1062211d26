//! Descriptions beside data files decide the type of `read`.

use fuseline_lang::{ParseOptions, parse};
use std::path::Path;

/// The program of a script that reads the file `f`, beside which stands this description, or its errors.
fn read(arguments: &str, description: &str) -> String {
    let loader = |path: &Path| match path.to_str() {
        Some("f.mtd") => Ok(description.to_owned()),
        _ => Err(std::io::Error::other("not found")),
    };
    let options = ParseOptions {
        arguments: [("file".to_owned(), "f".into())].into(),
        loader: &loader,
        ..ParseOptions::from_files()
    };
    let text = format!("x = read($file{arguments})");
    parse("test.dml", &text, &options).map_or_else(|errors| errors.to_string(), |program| program.to_string())
}

#[test]
fn types_come_from_arguments_then_descriptions() {
    for (arguments, description, expected) in [
        ("", "{}", "f64[?x?]"),
        ("", "not JSON", "f64[?x?]"),
        ("", "{\"data_type\": \"matrix\", \"rows\": 3}", "f64[?x?]"),
        ("", "{\"data_type\": \"scalar\"}", ": f64\n"),
        ("", "{\"data_type\": \"SCALAR\", \"value_type\": \"INT64\"}", ": i64\n"),
        ("", "{\"data_type\": \"scalar\", \"value_type\": \"string\"}", ": str\n"),
        (", data_type=\"matrix\"", "{\"data_type\": \"scalar\"}", "f64[?x?]"),
        (", data_type=\"scalar\"", "{\"value_type\": \"boolean\"}", ": bool\n"),
        (", value_type=\"double\"", "{\"data_type\": \"scalar\", \"value_type\": \"int\"}", ": f64\n"),
        ("", "{\"data_type\": \"frame\"}", ": frame\n"),
        ("", "{\"data_type\": \"list\"}", "test.dml:1:5: `read` gives a matrix, a frame or a scalar; `list` is not"),
        ("", "{\"data_type\": \"scalar\", \"value_type\": \"x\"}", "test.dml:1:5: there is no value type `x`"),
    ] {
        let program = read(arguments, description);
        assert!(program.contains(expected), "{arguments} {description}: {program}");
    }
}
