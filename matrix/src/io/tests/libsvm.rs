//! libsvm.

use super::*;

#[test]
fn labels_are_the_last_column() {
    assert_reads(
        "a.libsvm",
        &none(),
        &[
            ("1 1:0.5 3:2\n-1 2:1\n", &[&[0.5, 0.0, 2.0, 1.0], &[0.0, 1.0, 0.0, -1.0]]),
            ("+1 2:1 # a comment 7:7\n\n# another\n0", &[&[0.0, 1.0, 1.0], &[0.0, 0.0, 0.0]]),
            ("  2.5\t1:1e3 \r\n", &[&[1000.0, 2.5]]),
            ("1 1:0 2:NaN\n", &[&[0.0, f64::NAN, 1.0]]),
            ("3\n4\n", &[&[3.0], &[4.0]]),
            ("", &[]),
        ],
    );
    assert_reads("a.libsvm", &Metadata { cols: Some(4), ..none() }, &[("1 1:2\n", &[&[2.0, 0.0, 0.0, 1.0]])]);
}

/// SystemDS writes commas, of which its metadata says nothing.
#[test]
fn entries_are_separated_by_blanks_commas_or_what_is_said() {
    let rows: &[&[f64]] = &[&[1.5, 0.0, 2.0, 1.0], &[0.0, 0.0, 0.0, -1.0]];
    let separators = |sep: &str, ind_sep: &str| Metadata {
        sep: Some(sep.to_owned()),
        ind_sep: Some(ind_sep.to_owned()),
        cols: Some(4),
        ..none()
    };
    assert_reads("a.libsvm", &none(), &[("1.0,1:1.5,3:2.0\n-1.0\n", rows), ("1, 1:1.5 , 3:2\n-1,\n", rows)]);
    let block = read("a.libsvm", "1 1:1.5 3:2\n-1\n", &none()).unwrap();
    for (sep, ind_sep, text) in
        [(";", "=", "1;1=1.5;3=2\n-1\n"), ("\\t", ":", "1\t1:1.5\t3:2\n-1\n"), (",", ";", "1,1;1.5,3;2\n-1\n")]
    {
        let separators = separators(sep, ind_sep);
        assert_reads("a.libsvm", &separators, &[(text, rows)]);
        assert_eq!(write_matrix_to(&block, Path::new("a.libsvm"), &separators).unwrap(), text.as_bytes());
    }
    assert_refuses("a.libsvm", &separators(";", ":"), &[("1,1:2\n", "1:1", "`1,1:2` is not a number")]);
    assert_refuses("a.libsvm", &separators(" ", "="), &[("1 1:2\n", "1:3", "`1:2` is not `index=value`")]);
    for (sep, ind_sep) in [(":", ":"), (",", " "), ("#", ":"), (",", "#")] {
        assert!(failure("a.libsvm", "1\n", &separators(sep, ind_sep)).contains("they are two characters"), "{sep}");
    }
    assert!(failure("a.libsvm", "1\n", &separators("..", ":")).contains("the separator is one character, not `..`"));
}

#[test]
fn wrong_lines_are_located() {
    assert_refuses(
        "a.libsvm",
        &none(),
        &[
            ("x 1:1\n", "1:1", "`x` is not a number"),
            ("1 1:1\n2,3 1:1\n", "2:3", "`3` is not `index:value`"),
            ("1:1 2:2\n", "1:1", "`1:1` is not a number"),
            ("1 5\n", "1:3", "`5` is not `index:value`"),
            ("1 1:1 qid:3\n", "1:7", "`qid` is not an index"),
            ("1 0:1\n", "1:3", "the index 0 is not within 1 to"),
            ("1 -1:1\n", "1:3", "`-1` is not an index"),
            ("1 1.5:1\n", "1:3", "`1.5` is not an index"),
            ("1 :1\n", "1:3", "`` is not an index"),
            ("1 1:\n", "1:3", "`` is not a number"),
            ("1 1:1:1\n", "1:3", "`1:1` is not a number"),
            ("1 1: 1\n", "1:3", "`` is not a number"),
            ("1 2:1 2:1\n", "1:7", "the index 2 does not exceed the one before it, 2"),
            ("1 3:1 2:1\n", "1:7", "the index 2 does not exceed the one before it, 3"),
            ("1 1:1e999\n", "1:3", "beyond the range of doubles"),
            ("1 4294967295:1\n", "1:3", "the index 4294967295 is not within 1 to 4294967294"),
            ("1 99999999999999999999:1\n", "1:3", "is not an index"),
            ("1 1:\0\n", "1:3", "`\\0` is not a number"),
        ],
    );
    let declared = Metadata { cols: Some(3), ..none() };
    assert_refuses("a.libsvm", &declared, &[("1 3:1\n", "1:3", "the index 3 is not within 1 to 2")]);
    let message = failure("a.libsvm", "1 1:1\n", &dimensions(2, 2));
    assert_eq!(message, "a.libsvm: the file holds a 1 x 2 matrix, but 2 x 2 was declared");
    assert_eq!(failure("a.libsvm", "1\n", &dimensions(1, 0)), "a.libsvm: the label needs a column");
}
