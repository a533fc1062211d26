//! Tests of the pieces that the text forms share.

use super::*;

#[test]
fn quotes_and_escapes_read_back() {
    for text in ["", "plain", "a \"b\" \\ c", "line\nbreak\ttab", "\u{1}\u{7f}\u{2028}ü%{}", "# no comment"] {
        let line = format!("{} end", quoted(text));
        let mut errors = ParseErrors::default();
        let mut cursor = Lines::new(&line, &mut errors).next().expect("one line");
        assert_eq!(cursor.text("a text"), Ok(text.to_owned()), "{line}");
        assert!(cursor.eat_word("end") && cursor.end().is_ok());
    }
}

#[test]
fn values_read_back_as_the_same_bits_of_the_same_type() {
    let doubles =
        [0.0, -0.0, 3.0, 0.1, 1e16, 1e-7, f64::MAX, f64::MIN_POSITIVE, 5e-324, f64::INFINITY, f64::NEG_INFINITY];
    let values = doubles.into_iter().map(Value::F64).chain([i64::MIN, 0, 5].map(Value::I64));
    for expected in values.chain([Value::Bool(true), Value::Bool(false)]) {
        let text = value(&expected);
        let actual = parse_value(&text).expect("printed values parse");
        assert!(actual.same_bits(&expected) && actual.scalar_type() == expected.scalar_type(), "{text}");
    }
    assert!(matches!(parse_value("NaN"), Some(Value::F64(value)) if value.is_nan()));
    for word in ["nan", "inf", "1e", "x1.0", "-inf", "99999999999999999999", "true", "."] {
        assert_eq!(parse_value(word), None, "{word}");
    }
}

#[test]
fn errors_name_line_and_column_and_do_not_hide_each_other() {
    let mut errors = ParseErrors::default();
    let lines: Vec<Cursor<'_>> = Lines::new("ok 1\n  \"open\n# comment\nö = , x", &mut errors).collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(errors.to_string(), "2:3: the text has no closing quote");
    let mut cursor = lines[1].clone();
    assert!(cursor.eat_word("ö") && cursor.eat('='));
    let error = cursor.word("a word").expect_err("a comma is no word");
    assert_eq!(error.to_string(), "4:5: expected a word, found `,`");
}

#[test]
fn names_are_quoted_unless_identifiers() {
    assert_eq!(name("as.x_1"), "as.x_1");
    assert_eq!(name("ns::f"), "\"ns::f\"");
    assert_eq!(name(""), "\"\"");
    assert_eq!(name("1x"), "\"1x\"");
}
