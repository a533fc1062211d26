//! `.mtd` files.

use super::*;
use std::fs;

fn parse(json: &str) -> Result<Metadata, IoError> {
    Metadata::parse(Path::new("a.mtd"), json.as_bytes())
}

#[test]
fn fields_are_read_as_systemds_writes_them() {
    let json = "{\n \"data_type\": \"matrix\", \"value_type\": \"double\", \"rows\": 3, \"cols\": 2, \"nnz\": -1,\n\
        \"rows_in_block\": 1000, \"cols_in_block\": 1000, \"format\": \"csv\", \"header\": true, \"sep\": \";\",\n\
        \"indSep\": \"=\", \"fill\": false, \"default\": -1, \"naStrings\": [\"NA\", \"?\"], \"author\": \"x\",\n\
        \"description\": \"d\", \"created\": \"2024-01-01\", \"schema\": \"STRING,FP64\", \"other\": {\"a\": [[]]}}";
    let expected = Metadata {
        data_type: Some("matrix".into()),
        value_type: Some("double".into()),
        rows: Some(3),
        cols: Some(2),
        nnz: None,
        rows_in_block: Some(1000),
        cols_in_block: Some(1000),
        format: Some("csv".into()),
        header: Some(true),
        sep: Some(";".into()),
        fill: Some(false),
        default: Some(-1.0),
        ind_sep: Some("=".into()),
        na_strings: Some("NA·?".into()),
        description: Some("d".into()),
        schema: Some("STRING,FP64".into()),
    };
    assert_eq!(parse(json).unwrap(), expected);
    assert_eq!(parse("{}").unwrap(), none());
    assert_eq!(parse("{\"rows\": null, \"sep\": null, \"naStrings\": null}").unwrap(), none());
    assert_eq!(parse("{\"naStrings\": \"NA\"}").unwrap().na_strings.as_deref(), Some("NA"));
}

#[test]
fn wrong_metadata_is_located() {
    let deep = "[".repeat(100_000);
    for (json, place, part) in [
        ("", "1:0", "EOF while parsing"),
        ("{", "1:1", "EOF while parsing"),
        ("{\"rows\": -", "1:10", "EOF while parsing"),
        ("{\n\"rows\": 1.5}", "2:11", "invalid type"),
        ("{\"rows\": \"1\"}", "1:12", "invalid type"),
        ("{\"rows\": 18446744073709551615}", "1:29", "invalid value"),
        ("{\"rows\": 1e3}", "1:12", "invalid type"),
        ("{\"rows\": 1, \"rows\": 2}", "1:18", "duplicate field"),
        ("{\"header\": \"yes\"}", "1:16", "invalid type"),
        ("{\"header\": 1}", "1:12", "invalid type"),
        ("{\"sep\": 1}", "1:9", "invalid type"),
        ("{\"default\": \"x\"}", "1:15", "invalid type"),
        ("{\"default\": 1e999}", "1:17", "number out of range"),
        ("{\"naStrings\": 1}", "1:16", "did not match"),
        ("{\"format\": [\"csv\"]}", "1:11", "invalid type"),
        ("7", "1:1", "invalid type"),
        ("{} x", "1:4", "trailing characters"),
        ("{\"x\": \u{1}}", "1:7", "expected value"),
        ("\u{feff}{}", "1:1", "expected value"),
        (&format!("{{\"x\": {deep}"), "1:100006", "EOF while parsing"),
    ] {
        let message = parse(json).unwrap_err().to_string();
        let shown = &json[..json.len().min(40)];
        assert!(message.starts_with(&format!("a.mtd:{place}: not valid metadata: ")), "{shown}: {message}");
        assert!(message.contains(part), "{shown}: {message}");
    }
}

/// JSON's numbers are rounded as all others are: to the nearest double.
#[test]
fn default_values_are_read_exactly() {
    for value in [-1.111222222222222, 0.1, 1e-300, 0.30000000000000004, 5e-324] {
        assert_eq!(parse(&format!("{{\"default\": {value:e}}}")).unwrap().default, Some(value));
    }
}

#[test]
fn long_values_are_shown_in_part() {
    for value in ["x".repeat(100_000), "\u{7f}é".repeat(10_000)] {
        let message = parse(&format!("{{\"rows\": \"{value}\"}}")).unwrap_err().to_string();
        assert!(message.contains("invalid type: string") && message.len() < 400, "{message}");
    }
}

/// A data file in a folder, with metadata beside it.
fn beside(name: &str, data: &str, json: &str) -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, data).unwrap();
    fs::write(Metadata::path_beside(&path), json).unwrap();
    (folder, path)
}

#[test]
fn the_format_comes_from_arguments_then_metadata_then_the_name() {
    let (_folder, path) = beside("a.csv", "1 2 3\n", "{\"format\": \"text\", \"rows\": 1, \"cols\": 2}");
    assert_eq!(read_matrix(&path, &none()).unwrap().get(0, 1), 3.0);
    let arguments = Metadata { format: Some("csv".into()), sep: Some(" ".into()), cols: Some(3), ..none() };
    assert_eq!(read_matrix(&path, &arguments).unwrap().get(0, 2), 3.0);
    fs::write(Metadata::path_beside(&path), "{\"sep\": \" \"}").unwrap();
    assert_eq!(read_matrix(&path, &none()).unwrap().get(0, 2), 3.0);
}

#[test]
fn names_of_formats_are_known_in_any_case() {
    for (name, format) in [
        ("csv", Format::Csv),
        ("CSV", Format::Csv),
        ("text", Format::Text),
        ("ijv", Format::Text),
        ("mm", Format::MatrixMarket),
        ("MatrixMarket", Format::MatrixMarket),
        ("libsvm", Format::Libsvm),
        ("npy", Format::Npy),
        ("npz", Format::Npz),
        ("binary", Format::Binary),
    ] {
        assert_eq!(name.parse(), Ok(format), "{name}");
    }
    let message = "orc".parse::<Format>().unwrap_err();
    assert_eq!(message, "the format `orc` is not known; csv, text, mm, libsvm, npy, npz, binary are");
}

#[test]
fn what_metadata_says_must_fit_the_data() {
    let message = |data: &str, json: &str| {
        let (folder, path) = beside("a.csv", data, json);
        let message = read_matrix(&path, &none()).unwrap_err().to_string();
        message.replace(&format!("{}/", folder.path().display()), "")
    };
    assert_eq!(
        message("1,2\n", "{\"rows\": 2, \"cols\": 2}"),
        "a.csv: the file holds a 1 x 2 matrix, but 2 x 2 was declared"
    );
    assert_eq!(message("1,2\n", "{\"nnz\": 0}"), "a.csv: the file holds 2 non-zeros, but 0 were declared");
    assert_eq!(
        message("1\n", "{\"data_type\": \"frame\"}"),
        "a.csv: the file holds data of type `frame`, not a matrix"
    );
    assert_eq!(
        message("1\n", "{\"data_type\": \"scalar\"}"),
        "a.csv: the file holds data of type `scalar`, not a matrix"
    );
    assert_eq!(message("1\n", "{\"sep\": \"\"}"), "a.csv: the separator is one character, not ``");
    assert_eq!(message("1\n", "{\"sep\": \".\"}"), "a.csv: `.` cannot separate cells, it occurs in them");
    let unknown = message("1\n", "{\"format\": \"orc\"}");
    assert_eq!(unknown, "a.csv: the format `orc` is not known; csv, text, mm, libsvm, npy, npz, binary are");
    assert!(message("1\n", &" ".repeat((1 << 20) + 1)).starts_with("a.csv.mtd: more than 1048576 bytes"));
}

#[test]
fn scalars_of_other_types_are_refused() {
    for (value_type, content, shown) in [
        ("double", "x\n", "`x` is not a scalar of type double"),
        ("double", "", "`` is not a scalar of type double"),
        ("double", "1 2\n", "`1 2` is not a scalar of type double"),
        ("double", "1e999\n", "`1e999` is not a scalar of type double"),
        ("int", "1.5\n", "`1.5` is not a scalar of type int"),
        ("int", "9223372036854775808\n", "is not a scalar of type int"),
        ("boolean", "1\n", "`1` is not a scalar of type boolean"),
    ] {
        let json = format!("{{\"data_type\": \"scalar\", \"value_type\": \"{value_type}\"}}");
        let (_folder, path) = beside("s", content, &json);
        let message = read_scalar(&path, &none()).unwrap_err().to_string();
        assert!(message.contains("s:1:1: ") && message.contains(shown), "{content:?}: {message}");
    }
    let (_folder, path) = beside("s", "1\n", "{\"value_type\": \"frame\"}");
    assert!(read_scalar(&path, &none()).unwrap_err().to_string().contains("`frame` is no value type"));
    let (_folder, path) = beside("s", "7\n", "{\"data_type\": \"SCALAR\", \"value_type\": \"INT64\"}");
    assert!(read_scalar(&path, &none()).unwrap().same_bits(&fuseline_ir::Value::I64(7)));
}

/// What a run leaves that ends between the renaming of the metadata and that of the file: here because that fails.
#[test]
fn what_stands_beside_a_file_is_true_of_the_old_and_the_new_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.csv");
    let csv =
        |rows, cols, header| Metadata { format: Some("csv".into()), header: Some(header), ..dimensions(rows, cols) };
    write_matrix(&Dense::from_fn(2, 3, |_, _| 1.0).into(), &path, &csv(2, 3, false)).unwrap();
    let mut out = Output::create(&path, false).unwrap();
    out.write_all(b"1\n2\n3\n4\n").unwrap();
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    fs::write(path.join("in the way"), "").unwrap();
    assert!(out.finish_with(&csv(4, 1, false), &path).is_err());
    let between = Metadata::beside(&path).unwrap().unwrap();
    assert_eq!((between.rows, between.cols, between.nnz), (None, None, None));
    assert_eq!((between.format.as_deref(), between.header), (Some("csv"), Some(false)));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "no temporary file is left");
}

/// A new file is not there before its metadata are.
#[test]
fn metadata_come_before_a_new_file_and_devices_have_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.data");
    let described = Metadata { format: Some("csv".into()), ..dimensions(1, 1) };
    let mut out = Output::create(&path, false).unwrap();
    out.write_all(b"1\n").unwrap();
    fs::create_dir(Metadata::path_beside(&path)).unwrap();
    assert!(out.finish_with(&described, &path).is_err());
    assert!(!path.exists());
    #[cfg(unix)]
    {
        let null = Path::new("/dev/null");
        Output::create(null, false).unwrap().finish_with(&described, null).unwrap();
        assert!(!Metadata::path_beside(null).exists());
    }
}
