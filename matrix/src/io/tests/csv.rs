//! CSV.

use super::*;

const NAN: f64 = f64::NAN;
const INF: f64 = f64::INFINITY;

#[test]
fn cells_are_read_as_they_are_meant() {
    assert_reads(
        "a.csv",
        &none(),
        &[
            ("1,2\n3,4\n", &[&[1.0, 2.0], &[3.0, 4.0]]),
            ("1,2\n3,4", &[&[1.0, 2.0], &[3.0, 4.0]]),
            ("1,2\r\n3,4\r\n", &[&[1.0, 2.0], &[3.0, 4.0]]),
            ("\u{feff}1,2\n", &[&[1.0, 2.0]]),
            ("\n1,2\n\n\r\n3,4\n\n", &[&[1.0, 2.0], &[3.0, 4.0]]),
            (" 1 ,\t2\t\n", &[&[1.0, 2.0]]),
            ("\"1\",\"2.5\"\n", &[&[1.0, 2.5]]),
            (" \"1\" , \" 2 \" \n", &[&[1.0, 2.0]]),
            ("+1,-.5,5.,1E2,1e-3\n", &[&[1.0, -0.5, 5.0, 100.0, 0.001]]),
            ("inf,-Infinity,nan,NaN\n", &[&[INF, -INF, NAN, NAN]]),
            ("1e-400,4.9e-324,1.7976931348623157e308\n", &[&[0.0, 5e-324, f64::MAX]]),
            ("0.1,0.30000000000000004,9007199254740993\n", &[&[0.1, 0.30000000000000004, 9007199254740992.0]]),
            ("7\n8\n", &[&[7.0], &[8.0]]),
            ("", &[]),
            ("\n\n", &[]),
        ],
    );
}

#[test]
fn options_change_what_is_read() {
    let header = Metadata { header: Some(true), ..none() };
    assert_reads(
        "a.csv",
        &header,
        &[
            ("a,b\n1,2\n", &[&[1.0, 2.0]]),
            ("\"a\nb\",\"say \"\"c\"\"\"\n1,2\n", &[&[1.0, 2.0]]),
            ("one name\n1,2\n", &[&[1.0, 2.0]]),
            ("a,b\n", &[]),
            ("a,b", &[]),
        ],
    );
    let filled = Metadata { fill: Some(true), ..none() };
    assert_reads("a.csv", &filled, &[("1,,\"\"\n,2, \n", &[&[1.0, 0.0, 0.0], &[0.0, 2.0, 0.0]])]);
    let with_default = Metadata { default: Some(-1.0), ..filled };
    assert_reads("a.csv", &with_default, &[("1,\n,2\n", &[&[1.0, -1.0], &[-1.0, 2.0]])]);
    let missing = Metadata { na_strings: Some("NA·?·-".into()), ..none() };
    assert_reads("a.csv", &missing, &[("NA,?,-,-1,\" NA\"\n", &[&[NAN, NAN, NAN, -1.0, NAN]])]);
    for (sep, content) in [(";", "1;2"), ("\t", "1\t2"), ("\\t", "1\t2"), (" ", "1 2"), ("|", "1| 2"), ("'", "1'2")] {
        let arguments = Metadata { sep: Some(sep.into()), ..none() };
        assert_reads("a.csv", &arguments, &[(content, &[&[1.0, 2.0]])]);
    }
    assert_reads("a.tsv", &none(), &[("1\t2\n", &[&[1.0, 2.0]])]);
    assert_reads("a.csv", &dimensions(2, 0), &[("\n\n", &[&[], &[]])]);
}

#[test]
fn wrong_rows_and_cells_are_located() {
    assert_refuses(
        "a.csv",
        &none(),
        &[
            ("1,2\n3\n", "2:2", "the row has 1 cells, those before have 2"),
            ("1,2\n3,4,5\n", "2:5", "the row has 3 cells, those before have 2"),
            ("1,2\n3,4,\n", "2:5", "the row has 3 cells"),
            ("1,2\n\n3,4\n5\n", "4:2", "the row has 1 cells"),
            ("1\n2,3\n", "2:3", "the row has 2 cells"),
            ("1,2\n3,x\n", "2:3", "column 2: `x` is not a number"),
            ("1,2\n3,4x\n", "2:3", "`4x` is not a number"),
            ("a,b\n1,2\n", "1:1", "`a` is not a number (if the first line names the columns, say header=TRUE)"),
            ("1,\n", "1:3", "column 2: the cell is empty (say fill=TRUE to allow that)"),
            (",1\n", "1:1", "column 1: the cell is empty"),
            ("1,  \n", "1:5", "the cell is empty"),
            ("1,\"\"\n", "1:3", "the cell is empty"),
            ("1,\"2\n", "1:3", "the line ends within quotes"),
            ("1,\"2\n\"\n", "1:3", "the line ends within quotes"),
            ("1,\"2\"3\n", "1:3", "text follows the closing quote"),
            ("1,\"2\"\"3\"\n", "1:3", "`2\\\"3` is not a number"),
            ("1,2\"3\"\n", "1:3", "`2\\\"3\\\"` is not a number"),
            ("1;2\n", "1:1", "`1;2` is not a number"),
            ("1e400,1\n", "1:1", "`1e400` is beyond the range of doubles"),
            ("-1e309\n", "1:1", "beyond the range"),
            ("1,2\0\n", "1:3", "`2\\0` is not a number"),
            ("\0\n", "1:1", "`\\0` is not a number"),
            ("1_000\n", "1:1", "`1_000` is not a number"),
            ("0x10\n", "1:1", "`0x10` is not a number"),
            ("1e\n", "1:1", "`1e` is not a number"),
            ("--1\n", "1:1", "`--1` is not a number"),
            ("1 2\n", "1:1", "`1 2` is not a number"),
            ("TRUE\n", "1:1", "`TRUE` is not a number"),
            ("NA\n", "1:1", "`NA` is not a number"),
            ("infinit\n", "1:1", "`infinit` is not a number"),
            ("∞\n", "1:1", "`∞` is not a number"),
            ("１\n", "1:1", "`１` is not a number"),
            ("1,2\r3,4\n", "1:3", "`2\\r3` is not a number"),
            (" \n", "1:2", "the cell is empty"),
            ("1\n \n", "2:2", "the cell is empty"),
            ("%%MatrixMarket\n", "1:1", "is not a number"),
            ("\u{feff}x\n", "1:1", "`x` is not a number"),
            ("1.2.3\n", "1:1", "`1.2.3` is not a number"),
            ("1,.\n", "1:3", "`.` is not a number"),
            ("1,-\n", "1:3", "`-` is not a number"),
            ("1,e5\n", "1:3", "`e5` is not a number"),
            ("1d5\n", "1:1", "`1d5` is not a number"),
            ("1,#N/A\n", "1:3", "`#N/A` is not a number"),
            ("1,2023-01-01\n", "1:3", "`2023-01-01` is not a number"),
            ("$5\n", "1:1", "`$5` is not a number"),
            ("5%\n", "1:1", "`5%` is not a number"),
            ("(5)\n", "1:1", "`(5)` is not a number"),
            ("1\u{a0}000\n", "1:1", "is not a number"),
            ("1,2\n3,\"4\n5\",6\n", "2:3", "the line ends within quotes"),
        ],
    );
    let semicolons = Metadata { sep: Some(";".into()), ..none() };
    assert_refuses(
        "a.csv",
        &semicolons,
        &[
            ("1,5;2\n", "1:1", "`1,5` has a decimal comma; numbers are written with a point"),
            ("1;2,5e3\n", "1:3", "decimal comma"),
            ("1,000,5;1\n", "1:1", "`1,000,5` is not a number"),
            ("1,2,3\n", "1:1", "`1,2,3` is not a number"),
        ],
    );
    let header = Metadata { header: Some(true), ..none() };
    assert_refuses(
        "a.csv",
        &header,
        &[
            ("a,b\n1,x\n", "2:3", "`x` is not a number"),
            ("\"a\nb\"\n1\nx\n", "4:1", "`x` is not a number"),
            ("\"a,b\n1,2\n", "2:1", "the file ends within quotes"),
            ("a\n1,2\n3\n", "3:2", "the row has 1 cells, those before have 2"),
        ],
    );
    let filled = Metadata { fill: Some(true), ..none() };
    assert_refuses("a.csv", &filled, &[("1,2\n,\n3\n", "3:2", "the row has 1 cells")]);
    let message = failure("a.csv", b"1,2\n3,\xff\n", &none());
    assert_eq!(message, "a.csv:2:3: column 2: `\u{fffd}` is not a number");
    let message = failure("a.csv", b"\xff\xfe1\0", &none());
    assert_eq!(message, "a.csv:1:1: the file is UTF-16; text must be UTF-8");
}

#[test]
fn other_dimensions_than_declared_are_refused() {
    let message = failure("a.csv", "1,2\n", &Metadata { rows: Some(2), ..none() });
    assert_eq!(message, "a.csv: the file holds a 1 x 2 matrix, but 2 x ? was declared");
    let message = failure("a.csv", "1,2\n3,4\n", &dimensions(1, 2));
    assert_eq!(message, "a.csv: the file holds a 2 x 2 matrix, but 1 x 2 was declared");
    let message = failure("a.csv", "1,2\n", &Metadata { cols: Some(3), ..none() });
    assert_eq!(message, "a.csv:1:4: the row has 2 cells, declared are 3");
    let message = failure("a.csv", "1,2\n", &dimensions(1, 1));
    assert_eq!(message, "a.csv:1:3: the row has 2 cells, declared are 1");
    let message = failure("a.csv", "1,2\n3\n", &dimensions(2, 2));
    assert_eq!(message, "a.csv:2:2: the row has 1 cells, declared are 2");
    let message = failure("a.csv", "1\n", &dimensions(1, 0));
    assert_eq!(message, "a.csv:1:1: the row has 1 cells, declared are 0");
    let message = failure("a.csv", "", &dimensions(3, 2));
    assert_eq!(message, "a.csv: the file holds a 0 x 2 matrix, but 3 x 2 was declared");
    let message = failure("a.csv", "1,2\n", &Metadata { nnz: Some(1), ..none() });
    assert_eq!(message, "a.csv: the file holds 2 non-zeros, but 1 were declared");
    let message = failure("a.csv", "1\n", &dimensions(9_000_000_000_000_000_000, 9_000_000_000));
    assert_eq!(message, "a.csv:1:2: the row has 1 cells, declared are 9000000000");
}

#[test]
fn a_million_columns_are_read() {
    let cols = 1_000_000;
    let mut line = "0,".repeat(cols - 1);
    line.push_str("7\n");
    let block = read("a.csv", line.repeat(3), &none()).unwrap();
    assert_eq!(block.dims(), (3, cols));
    assert!(block.format().is_sparse());
    assert_eq!((block.nnz(), block.get(2, cols - 1)), (3, 7.0));
}

#[test]
fn cells_of_any_length_are_read_and_shown_in_part() {
    let long = format!("0.{}1,2\n", "0".repeat(2_000_000));
    assert_eq!(read("a.csv", &long, &none()).unwrap().get(0, 1), 2.0);
    let message = failure("a.csv", "x".repeat(1_000_000), &none());
    assert!(message.len() < 300, "{message}");
}
