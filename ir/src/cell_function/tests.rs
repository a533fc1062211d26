//! Functions of cells that are well formed, and messages for those that are not.

use super::*;

#[test]
fn operations_bind_as_in_java() {
    let parsed = |text: &str| parse(text).expect(text).body;
    assert_eq!(parsed("x -> 1 + 2 * 3"), parsed("x -> 1 + (2 * 3)"));
    assert_eq!(parsed("x -> 1 - 2 - 3"), parsed("x -> (1 - 2) - 3"));
    assert_eq!(parsed("x -> !x.isEmpty() & 1 < 2 || true"), parsed("x -> ((!(x.isEmpty())) & (1 < 2)) || true"));
    assert_eq!(parsed("x -> true ? false ? 1 : 2 : 3"), parsed("x -> true ? (false ? 1 : 2) : 3"));
    assert_eq!(parsed("x -> -x.length()"), parsed("x -> -(x.length())"));
}

#[test]
fn texts_have_escapes() {
    let text = |function: &str| match parse(function).expect(function).body {
        CellExpression::Text(text) => text,
        other => panic!("{other:?}"),
    };
    assert_eq!(text(r#"x -> "a\tb\"c\\d""#), "a\tb\"c\\d");
    assert_eq!(text(r#"x -> "[^a-z\s]""#), r"[^a-z\s]");
    assert_eq!(text("x -> 'c'"), "c");
}

#[test]
fn wrong_functions_are_refused_by_name() {
    let message = |text: &str| parse(text).expect_err(text).to_string();
    let cases = [
        ("x -> x.shout()", "texts have no method `shout`, at character 8"),
        ("x -> UtilFunctions.guess(x)", "there is no function `UtilFunctions.guess`, at character 6"),
        ("UtilFunctions.patterns(0.8,NA)", "there is no function `UtilFunctions.patterns` of a whole frame"),
        ("x -> y", "`y` is no parameter of the function, at character 6"),
        ("x -> x.substring()", "`substring` takes 1 or 2 arguments, not 0, at character 17"),
        ("x -> x.length() +", "a value is missing, at character 18"),
        ("x -> x.length", "length"),
        ("(a, b, c) -> a", "a function of cells has one or two parameters"),
        ("x -> \"open", "a text without an end, at character 6"),
        ("x -> 12abc", "`12abc` is no number"),
        ("x -> x ? 1", "`:` is missing, at character 11"),
        ("x -> x x", "the function should end here, at character 8"),
        ("x -> new Integer[]{x}", "only `new String[]{...}` can be made"),
        ("x -> #", "unexpected `#`, at character 6"),
    ];
    for (text, expected) in cases {
        match parse(text) {
            Err(error) => assert!(error.to_string().contains(expected), "{}", message(text)),
            Ok(_) => assert_eq!(text, "x -> x.length"),
        }
    }
    assert!(message(&format!("x -> {}1", "(".repeat(500))).contains("more than 100 levels deep"));
}

/// Functions that would exhaust a stack are refused.
#[test]
fn long_functions_are_refused() {
    let chain = |terms: usize| format!("x -> {}", vec!["1"; terms].join(" + "));
    assert!(parse(&chain(900)).is_ok());
    for text in
        [chain(100_000), format!("x -> x{}", ".trim()".repeat(100_000)), format!("x -> {}1", "!".repeat(100_000))]
    {
        assert!(parse(&text).expect_err("too long").to_string().contains("more than 2000 tokens"));
    }
}
