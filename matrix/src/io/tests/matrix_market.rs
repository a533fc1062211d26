//! MatrixMarket.

use super::*;

/// Files under this banner: its last three words, sizes and data, and cells.
#[track_caller]
fn assert_reads_under(table: &[(&str, &str, &[&[f64]])]) {
    for (banner, content, rows) in table {
        assert_reads("a.mtx", &none(), &[(&format!("%%MatrixMarket matrix {banner}\n{content}"), rows)]);
    }
}

#[test]
fn entries_are_read() {
    assert_reads_under(&[
        ("coordinate real general", "2 3 2\n1 1 1.5\n2 3 -2\n", &[&[1.5, 0.0, 0.0], &[0.0, 0.0, -2.0]]),
        ("coordinate real general", "% a\n%\n\n2 2 1\n\n2 1 3", &[&[0.0, 0.0], &[3.0, 0.0]]),
        ("coordinate real general", "1 2 2\n1 2 1\n% late\n1 1 2\n", &[&[2.0, 1.0]]),
        ("coordinate integer general", "1 2 2\n1 1 -7\n1 2 +8\n", &[&[-7.0, 8.0]]),
        ("coordinate pattern general", "2 2 2\n1 2\n2 1\n", &[&[0.0, 1.0], &[1.0, 0.0]]),
        ("coordinate real symmetric", "2 2 2\n1 1 1\n2 1 3\n", &[&[1.0, 3.0], &[3.0, 0.0]]),
        ("coordinate pattern symmetric", "2 2 2\n2 2\n2 1\n", &[&[0.0, 1.0], &[1.0, 1.0]]),
        ("coordinate real skew-symmetric", "2 2 1\n2 1 3\n", &[&[0.0, -3.0], &[3.0, 0.0]]),
        ("coordinate integer skew-symmetric", "1 1 0\n", &[&[0.0]]),
        ("coordinate real general", "2 2 0\n", &[&[0.0, 0.0], &[0.0, 0.0]]),
        ("coordinate real general", "0 0 0\n", &[]),
        ("coordinate real general", "1 1 1\n1 1 NaN\n", &[&[f64::NAN]]),
        ("coordinate\treal  general", "1\t1 1\n\t1 1\t2 \n", &[&[2.0]]),
        ("coordinate real general", "1 1 1\n1 1 -inf\n", &[&[f64::NEG_INFINITY]]),
        ("COORDINATE Real General", "1 1 1\n1 1 2\n", &[&[2.0]]),
        ("coordinate double general", "1 1 1\n1 1 2\n", &[&[2.0]]),
        ("coordinate unsigned-integer general", "1 1 1\n1 1 2\n", &[&[2.0]]),
        ("coordinate real general\r", "1 1 1\r\n1 1 2\r\n", &[&[2.0]]),
        ("coordinate integer general", "1 1 1\n1 1 9007199254740993\n", &[&[9007199254740992.0]]),
    ]);
}

#[test]
fn marks_of_the_encoding_are_told() {
    let content = "\u{feff}%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 2\n";
    assert_reads("a.mtx", &none(), &[(content, &[&[2.0]])]);
    for mark in [[0xff, 0xfe], [0xfe, 0xff]] {
        assert_eq!(failure("a.mtx", mark, &none()), "a.mtx:1:1: the file is UTF-16; text must be UTF-8");
    }
}

#[test]
fn entries_of_the_same_cell_are_added_up() {
    assert_reads_under(&[
        ("coordinate real general", "1 2 3\n1 1 1\n1 2 5\n1 1 2\n", &[&[3.0, 5.0]]),
        ("coordinate real general", "1 1 2\n1 1 1\n1 1 -1\n", &[&[0.0]]),
        // In the order of the file: the other order gives 1.
        ("coordinate real general", "1 1 3\n1 1 1e16\n1 1 1\n1 1 -1e16\n", &[&[0.0]]),
        ("coordinate pattern general", "1 1 2\n1 1\n1 1\n", &[&[2.0]]),
        ("coordinate real symmetric", "2 2 2\n2 1 1\n2 1 2\n", &[&[0.0, 3.0], &[3.0, 0.0]]),
    ]);
}

#[test]
fn arrays_stand_column_after_column() {
    assert_reads_under(&[
        ("array real general", "2 3\n1\n2\n3\n4\n5\n6\n", &[&[1.0, 3.0, 5.0], &[2.0, 4.0, 6.0]]),
        ("array integer general", "2 1\n%\n1\n\n2", &[&[1.0], &[2.0]]),
        ("array real symmetric", "2 2\n1\n2\n3\n", &[&[1.0, 2.0], &[2.0, 3.0]]),
        ("array real skew-symmetric", "3 3\n1\n2\n3\n", &[&[0.0, -1.0, -2.0], &[1.0, 0.0, -3.0], &[2.0, 3.0, 0.0]]),
        ("array real skew-symmetric", "1 1\n", &[&[0.0]]),
        ("array real symmetric", "0 0\n", &[]),
        ("array real general", "0 7\n", &[]),
    ]);
}

#[test]
fn wrong_banners_are_located() {
    let banners = [
        ("", "1:1", "the line ends before the banner"),
        ("\n", "1:1", "the line ends before the banner"),
        ("x\n", "1:1", "does not begin with `%%MatrixMarket`"),
        ("%MatrixMarket matrix coordinate real general\n", "1:1", "does not begin"),
        ("%% MatrixMarket matrix coordinate real general\n", "1:1", "does not begin"),
        ("\n%%MatrixMarket matrix coordinate real general\n", "1:1", "the line ends before the banner"),
        ("%%MatrixMarket\0 matrix coordinate real general\n", "1:1", "does not begin"),
        ("%%MatrixMarket,matrix,coordinate,real,general\n", "1:1", "does not begin"),
        ("1 1 1\n1 1 1\n", "1:1", "does not begin"),
        ("%%MatrixMarket\n", "1:15", "the line ends before the object"),
        ("%%MatrixMarket matrix\n", "1:22", "the line ends before the format"),
        ("%%MatrixMarket matrix coordinate\n", "1:33", "the line ends before the field"),
        ("%%MatrixMarket matrix coordinate real\n", "1:38", "the line ends before the symmetry"),
        ("%%MatrixMarket vector coordinate real general\n", "1:16", "the object `vector` is not supported"),
        ("%%MatrixMarket matrix sparse real general\n", "1:23", "the format `sparse` is not supported"),
        ("%%MatrixMarket matrix coordinate complex general\n", "1:34", "the field `complex` is not supported"),
        ("%%MatrixMarket matrix coordinate logical general\n", "1:34", "the field `logical` is not supported"),
        ("%%MatrixMarket matrix coordinate real hermitian\n", "1:39", "the symmetry `hermitian` is not supported"),
        ("%%MatrixMarket matrix coordinate real diagonal\n", "1:39", "the symmetry `diagonal` is not supported"),
        ("%%MatrixMarket matrix array pattern general\n", "1:29", "a pattern has coordinates"),
        ("%%MatrixMarket matrix coordinate pattern skew-symmetric\n", "1:42", "has no signs"),
        ("%%MatrixMarket matrix coordinate real general x\n", "1:47", "`x` stands where the line should end"),
        ("%%MatrixMarket matrix coordinate real general", "1:1", "the file ends before the line of sizes"),
        ("%%MatrixMarket matrix coordinate real general\n% c\n\n", "3:1", "the file ends before the line of sizes"),
    ];
    assert_refuses("a.mtx", &none(), &banners);
}

/// Files under this banner: sizes and data, place, and part of the message.
#[track_caller]
fn assert_refuses_under(banner: &str, table: &[(&str, &str, &str)]) {
    for (content, place, part) in table {
        let content = format!("%%MatrixMarket matrix {banner}\n{content}");
        assert_refuses("a.mtx", &none(), &[(&content, place, part)]);
    }
}

#[test]
fn wrong_sizes_are_located() {
    assert_refuses_under(
        "coordinate real general",
        &[
            ("1 1\n", "2:4", "the line ends before the number of entries"),
            ("1\n", "2:2", "the line ends before the number of columns"),
            ("1 1 1 1\n1 1 1\n", "2:7", "`1` stands where the line should end"),
            ("x 1 1\n", "2:1", "`x` is not a number of rows"),
            ("-1 1 1\n", "2:1", "`-1` is not a number of rows"),
            ("1 1.0 1\n", "2:3", "`1.0` is not a number of columns"),
            ("1 1 1e3\n", "2:5", "`1e3` is not a number of entries"),
            ("1 1 18446744073709551616\n", "2:5", "is not a number of entries"),
        ],
    );
    assert_refuses_under(
        "coordinate real symmetric",
        &[("2 3 0\n", "2:1", "2 rows and 3 columns cannot be symmetric")],
    );
    assert_refuses_under("array real skew-symmetric", &[("3 2\n", "2:1", "cannot be symmetric")]);
    assert_refuses_under(
        "array real general",
        &[
            ("2 2 4\n", "2:5", "`4` stands where the line should end"),
            ("4294967296 4294967296\n", "2:1", "does not fit into memory"),
            ("18446744073709551615 2\n", "2:1", "does not fit into memory"),
        ],
    );
}

#[test]
fn wrong_entries_are_located() {
    assert_refuses_under(
        "coordinate real general",
        &[
            ("2 2 1\n0 1 1\n", "3:1", "the row number 0 is not within 1 to 2"),
            ("2 2 1\n1 0 1\n", "3:3", "the column number 0 is not within 1 to 2"),
            ("2 2 1\n3 1 1\n", "3:1", "the row number 3 is not within 1 to 2"),
            ("2 2 1\n1 3 1\n", "3:3", "the column number 3 is not within 1 to 2"),
            ("2 2 1\n-1 1 1\n", "3:1", "`-1` is not a row number"),
            ("2 2 1\n1 1.5 1\n", "3:3", "`1.5` is not a column number"),
            ("2 2 1\n99999999999999999999 1 1\n", "3:1", "is not a row number"),
            ("2 2 1\n1 1\n", "3:4", "the line ends before the value"),
            ("2 2 1\n1\n", "3:2", "the line ends before the column number"),
            ("2 2 1\n1 1 1 1\n", "3:7", "`1` stands where the line should end"),
            ("2 2 1\n1 1 x\n", "3:5", "`x` is not a number"),
            ("2 2 1\n1 1 1e400\n", "3:5", "`1e400` is beyond the range of doubles"),
            ("2 2 1\n1 1 1,5\n", "3:5", "`1,5` is not a number"),
            ("2 2 1\n1 1 \0\n", "3:5", "`\\0` is not a number"),
            ("2 2 1\n1,1,1\n", "3:1", "`1,1,1` is not a row number"),
            ("2 2 1\n1 1 1\r1 2 2\n", "3:5", "is not a number"),
            ("2 2 1\n1 1 0x1\n", "3:5", "`0x1` is not a number"),
            ("2 2 1\n1 1 1.5.2\n", "3:5", "`1.5.2` is not a number"),
            ("2 2 1\n1 1 1d5\n", "3:5", "`1d5` is not a number"),
            ("2 2 1\n1 1 infinit\n", "3:5", "`infinit` is not a number"),
            ("2 2 1\n1 \u{661} 1\n", "3:3", "is not a column number"),
            ("2 2 1\n1 1 1 % c\n", "3:7", "`%` stands where the line should end"),
        ],
    );
    assert_refuses_under(
        "coordinate integer general",
        &[
            ("1 1 1\n1 1 1.5\n", "3:5", "`1.5` is not an integer"),
            ("1 1 1\n1 1 1e3\n", "3:5", "`1e3` is not an integer"),
            ("1 1 1\n1 1 inf\n", "3:5", "`inf` is not an integer"),
        ],
    );
    assert_refuses_under(
        "coordinate pattern general",
        &[("2 2 1\n1 1 1\n", "3:5", "`1` stands where the line should end")],
    );
    assert_refuses_under(
        "coordinate real symmetric",
        &[("2 2 1\n1 2 1\n", "3:1", "above the diagonal; a symmetric file holds the lower triangle")],
    );
    assert_refuses_under(
        "coordinate real skew-symmetric",
        &[
            ("2 2 1\n1 1 1\n", "3:1", "does not lie below the diagonal"),
            ("2 2 1\n1 2 1\n", "3:1", "below the diagonal"),
        ],
    );
    assert_refuses_under(
        "array real general",
        &[
            ("1 2\n1 2\n", "3:3", "`2` stands where the line should end"),
            ("1 2\n1\nx\n", "4:1", "`x` is not a number"),
            ("1 2\n1\n1e999\n", "4:1", "beyond the range of doubles"),
        ],
    );
    assert_refuses_under("array integer general", &[("1 1\n0.5\n", "3:1", "`0.5` is not an integer")]);
}

#[test]
fn more_or_fewer_lines_than_promised_are_located() {
    assert_refuses_under(
        "coordinate real general",
        &[
            ("2 2 2\n1 1 1\n", "3:1", "promises 2 lines of data, the file ends after 1"),
            ("2 2 1\n", "2:1", "promises 1 lines of data, the file ends after 0"),
            ("2 2 1\n\n% x\n", "4:1", "the file ends after 0"),
            ("2 2 1\n1 1 1\n\n2 2 2\n", "5:1", "promises 1 lines of data, this is one more"),
            ("2 2 0\n% x\n1 1 1\n", "4:1", "promises 0 lines of data, this is one more"),
            ("9 9 1000000000000000000\n1 1 1\n", "3:1", "the file ends after 1"),
        ],
    );
    assert_refuses_under(
        "array real general",
        &[
            ("2 2\n1\n2\n3\n", "5:1", "promises 4 lines of data, the file ends after 3"),
            ("1 1\n1\n2\n", "4:1", "promises 1 lines of data, this is one more"),
            ("1000000000 1000000000\n1\n", "3:1", "the file ends after 1"),
        ],
    );
    assert_refuses_under("array real symmetric", &[("2 2\n1\n2\n", "4:1", "promises 3 lines of data")]);
}

#[test]
fn other_dimensions_than_declared_are_refused() {
    let content = "%%MatrixMarket matrix coordinate real general\n2 2 0\n";
    let message = failure("a.mtx", content, &dimensions(2, 3));
    assert_eq!(message, "a.mtx: the file holds a 2 x 2 matrix, but 2 x 3 was declared");
    let content = "%%MatrixMarket matrix coordinate real general\n1 4294967296 0\n";
    let message = failure("a.mtx", content, &none());
    assert_eq!(message, "a.mtx: a sparse matrix cannot have 1 rows and 4294967296 columns");
}
