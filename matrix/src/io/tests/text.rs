//! The text format.

use super::*;

#[test]
fn cells_come_in_any_order() {
    assert_reads(
        "a.ijv",
        &dimensions(2, 3),
        &[
            ("1 1 1.5\n2 3 -2\n", &[&[1.5, 0.0, 0.0], &[0.0, 0.0, -2.0]]),
            ("2 3 -2\n1 3 4\n1 1 1.5", &[&[1.5, 0.0, 4.0], &[0.0, 0.0, -2.0]]),
            ("\u{feff}  2\t3  -2 \r\n\n \n", &[&[0.0, 0.0, 0.0], &[0.0, 0.0, -2.0]]),
            ("1 2 0\n1 3 NaN\n", &[&[0.0, 0.0, f64::NAN], &[0.0, 0.0, 0.0]]),
            ("01 002 1\n", &[&[0.0, 1.0, 0.0], &[0.0, 0.0, 0.0]]),
            ("", &[&[0.0; 3], &[0.0; 3]]),
        ],
    );
}

#[test]
fn wrong_lines_are_located() {
    assert_refuses(
        "a.ijv",
        &dimensions(2, 3),
        &[
            ("1 2\n", "1:4", "the line ends before the value"),
            ("1\n", "1:2", "the line ends before the column number"),
            ("1 1 1\n\n1 2 3 4\n", "3:7", "`4` stands where the line should end"),
            ("1 1 1\n3 1 5\n", "2:1", "the row number 3 is not within 1 to 2"),
            ("1 4 5\n", "1:3", "the column number 4 is not within 1 to 3"),
            ("0 1 5\n", "1:1", "the row number 0 is not within 1 to 2"),
            ("1 0 5\n", "1:3", "the column number 0 is not within 1 to 3"),
            ("-1 1 5\n", "1:1", "`-1` is not a row number"),
            ("1.0 1 5\n", "1:1", "`1.0` is not a row number"),
            ("1 +1 5\n", "1:3", "`+1` is not a column number"),
            ("1 1e0 5\n", "1:3", "`1e0` is not a column number"),
            ("18446744073709551617 1 5\n", "1:1", "is not a row number"),
            ("1 4294967297 5\n", "1:3", "is not within 1 to 3"),
            ("1 1 x\n", "1:5", "`x` is not a number"),
            ("1 1 1e400\n", "1:5", "beyond the range of doubles"),
            ("1 1 \0\n", "1:5", "`\\0` is not a number"),
            ("1,1,5\n", "1:1", "`1,1,5` is not a row number"),
            ("# comment\n", "1:1", "`#` is not a row number"),
            ("1 1 5\r1 2 5\n", "1:5", "is not a number"),
            ("%%MatrixMarket matrix\n", "1:1", "is not a row number"),
        ],
    );
}

#[test]
fn cells_that_occur_twice_are_refused() {
    for content in ["1 1 1\n1 1 5\n", "1 1 1\n2 1 3\n1 1 1\n", "1 1 0\n1 1 5\n"] {
        assert_eq!(failure("a.ijv", content, &dimensions(2, 2)), "a.ijv: the cell (1, 1) occurs twice");
    }
}

#[test]
fn dimensions_are_needed_and_must_make_sense() {
    let needed = "a.ijv: the text format needs rows and cols, as arguments or in the .mtd file beside it";
    assert_eq!(failure("a.ijv", "1 1 1\n", &none()), needed);
    assert_eq!(failure("a.ijv", "1 1 1\n", &Metadata { rows: Some(1), ..none() }), needed);
    let message = failure("a.ijv", "1 1 1\n", &dimensions(1, u64::MAX));
    assert_eq!(message, format!("a.ijv: a sparse matrix cannot have 1 rows and {} columns", u64::MAX));
    assert_eq!(failure("a.ijv", "1 1 1\n", &dimensions(0, 0)), "a.ijv:1:1: the row number 1 is not within 1 to 0");
    let message = failure("a.ijv", "1 1 1\n1 2 1\n", &Metadata { nnz: Some(1), ..dimensions(2, 2) });
    assert_eq!(message, "a.ijv: the file holds 2 non-zeros, but 1 were declared");
}
