//! Functions of cells: what each gives, and what is said of those that cannot be applied.

use super::stem::stem;
use super::*;

fn texts(cells: &[&str]) -> Frame {
    Frame::new(vec![Column::of_texts(cells.iter().map(|&cell| cell.to_owned()))], Vec::new()).expect("a column")
}

fn applied(function: &str, cell: &str) -> Result<String, String> {
    let frame = map(&texts(&[cell]), function, Over::Cells).map_err(|error| error.to_string())?;
    Ok(frame.columns()[0].text(0))
}

#[test]
fn functions_give_what_java_gives() {
    let cases = [
        ("x -> x.toLowerCase()", "A.b C", "a.b c"),
        ("x -> x.toUpperCase() + x.length()", "ab", "AB2"),
        ("x -> x.trim().isEmpty() ? \"none\" : x", "  ", "none"),
        ("x->x.split(\",\")[0].equals(\"op\")", "op,1", "true"),
        ("x -> x.split(\",\").length", "a,,b,,", "3"),
        ("x -> x.split(\"x*\")[1]", "abc", "b"),
        ("x -> x.replaceAll(\"[.]\", \"\")", "a.b.c", "abc"),
        (r#"x -> x.replaceAll("[^a-zA-Z\s]", " ")"#, "a1 b-c", "a  b c"),
        (r#"x -> x.replaceAll("[^\p{Alnum}]+", " ").replaceAll("[\s]+", " ")"#, "a--b \t c9", "a b c9"),
        (r#"x -> x.replaceAll("\P{Digit}", "")"#, "a1b22", "122"),
        (r#"x -> x.replaceAll("(a)(b)", "$2$1\\$")"#, "cab", "cba$"),
        ("x -> x.replaceAll(\"b*\", \"-\")", "abc", "-a--c-"),
        ("x -> x.replaceAll(\"\", \"-\")", "äb", "-ä-b-"),
        ("x -> x.split(\"b*\")[1].length() + x.split(\"b*\")[2]", "abc", "0c"),
        ("x -> Math.round(0.49999999999999994) + Math.round(-2.5)", "", "-2"),
        ("x -> Math.round(Double.parseDouble(x))", "NaN", "0"),
        ("x -> Math.round(Double.parseDouble(x))", "1e300", "9223372036854775807"),
        ("x -> Integer.parseInt(x)", "-2147483648", "-2147483648"),
        ("x -> Long.parseLong(x)", "2147483648", "2147483648"),
        ("x -> x.replaceFirst(\"a\", \"b\")", "aaa", "baa"),
        ("x -> x.matches(\"a|ab\")", "ab", "true"),
        ("d -> d.replace(\"True\",\"1\")", "True.", "1."),
        ("x -> x.substring(1, 3) + x.charAt(0) + x.substring(3)", "täxt", "äxtt"),
        ("x -> x.indexOf(\"x\") * 10 + x.lastIndexOf(\"q\")", "täxt", "19"),
        ("x -> x.startsWith(\"a\") && !x.endsWith(\"a\")", "ab", "true"),
        ("x -> x.contains(\"b\") | x.equalsIgnoreCase(\"AC\")", "ac", "true"),
        ("x -> x.repeat(2).concat(\"!\")", "ab", "abab!"),
        ("s -> UtilFunctions.splitRecodeEntry(s)[0]", "a·b·3", "a·b"),
        ("s -> Integer.valueOf(UtilFunctions.splitRecodeEntry(s)[1])", "ab·3", "3"),
        ("s -> UtilFunctions.getAsciiAtIdx(s, 2)", "abc", "98"),
        ("s -> UtilFunctions.getAsciiAtIdx(s, 0)", "abc", "0"),
        ("x -> UtilFunctions.toDouble(x) * 2", "1.5", "3.0"),
        ("x -> Integer.parseInt(x) / 2", "-7", "-3"),
        ("x -> Integer.parseInt(x) % 2 == -1", "-7", "true"),
        ("x -> Long.valueOf(x) / 2.0", "7", "3.5"),
        ("x -> Math.abs(-2.5) + Math.max(1, 2) + Math.min(1.5, 2)", "", "6.0"),
        ("x -> Math.round(2.5) + Math.pow(2, 3) + Math.sqrt(4) + Math.floor(1.5) + Math.ceil(1.5)", "", "16.0"),
        ("x -> 1 < 2 & 2 >= 2 & !(3 != 3)", "", "true"),
        ("x -> String.valueOf(-x.length())", "abc", "-3"),
        ("x -> true || x.charAt(9).isEmpty() ? 'y' : 'n'", "", "y"),
        ("x -> PorterStemmer.stem(x)", "relational", "relat"),
    ];
    for (function, cell, expected) in cases {
        assert_eq!(applied(function, cell).as_deref(), Ok(expected), "{function} of {cell:?}");
    }
}

#[test]
fn what_cannot_be_applied_names_the_cell() {
    let cases = [
        ("x -> Integer.valueOf(x)", "1.5", "to row 1 of the column `C1`, \"1.5\": \"1.5\" is no integer"),
        ("x -> Integer.parseInt(x)", "2147483648", "2147483648 is no integer from -2147483648 to 2147483647"),
        ("x -> x.charAt(3)", "abc", "there is no character 3 of 3, counted from 0"),
        ("x -> x.substring(2, 1)", "abc", "there is no character 1 of 3"),
        ("x -> x.split(\",\")[1]", "abc", "there is no text 1 of 1, counted from 0"),
        ("x -> x.replaceAll(\"(?=a)\", \"\")", "abc", "is not supported"),
        ("x -> x.replaceAll(\"a\", \"$1\")", "abc", "has no group 1"),
        ("x -> x.replaceAll(\"\\p{Greek}\", \"\")", "abc", "names the unknown class Greek"),
        ("x -> x == \"abc\"", "abc", "texts are compared with `equals(...)`"),
        ("x -> x ? 1 : 2", "abc", "a truth value is needed, not a text"),
        ("x -> 1 / 0", "", "an integer is divided by zero"),
        ("x -> 9223372036854775807 + 1", "", "an integer overflows"),
        ("x -> x.repeat(100000000)", "abc", "the text that it makes is longer than 16777216 bytes"),
        ("x -> x.repeat(4000).replace(\"\", x.repeat(4000))", "abc", "the text that it makes is longer"),
        ("x -> x.repeat(4000).replaceAll(\"\", x.repeat(4000))", "abc", "the text that it makes is longer"),
        ("x -> x.split(\"b\")", "abc", "it gives several texts"),
        ("x -> UtilFunctions.splitRecodeEntry(x)[0]", "abc", "\"abc\" is no entry of a code"),
    ];
    for (function, cell, expected) in cases {
        let message = applied(function, cell).expect_err(function);
        assert!(message.contains(expected), "{function}: {message}");
    }
}

#[test]
fn rows_columns_and_pairs_are_functions_of_several_texts() {
    let frame = Frame::bind_columns(&[&texts(&["a b", "a"]), &texts(&["a c d", "b"])]).expect("equal rows");
    let rates = "x -> new String[]{String.valueOf(UtilFunctions.getWordErrorRate(x[0], x[1])), x[0]}";
    let rows = map(&frame, rates, Over::Rows).expect("rows");
    assert_eq!([rows.columns()[0].text(0), rows.columns()[1].text(1)], ["0.6666666666666666", "a"]);
    let columns = map(&frame, "x -> new String[]{x[1], x[0]}", Over::Columns).expect("columns");
    assert_eq!([columns.columns()[0].text(0), columns.columns()[1].text(1)], ["a", "a c d"]);
    let similar = map(&texts(&["abc", "abd", "aabbcc"]), "(x, y) -> UtilFunctions.jaccardSim(x, y)", Over::Cells);
    let matrix = similar.expect("pairs").to_matrix().expect("numbers");
    assert_eq!(matrix.values(), [0.0, 0.5, 1.0, 0.0, 0.0, 0.5, 0.0, 0.0, 0.0]);
    let wrong = map(&frame, "(x, y) -> x", Over::Cells).expect_err("two columns").to_string();
    assert_eq!(wrong, "a function of two cells is for a frame of one column, not of 2");
    let wrong = map(&texts(&["a,b", "a"]), "x -> new String[]{x[0], x[1]}", Over::Rows).expect_err("one text");
    assert!(wrong.to_string().contains("to row 1: there is no text 1 of 1"), "{wrong}");
}

#[test]
fn integral_doubles_are_integers_to_functions() {
    let frame = Frame::new(vec![Column::F64(vec![1.0, 2.5])], Vec::new()).expect("a column");
    let lengths = map(&frame, "x -> x.length()", Over::Cells).expect("lengths");
    assert_eq!([lengths.columns()[0].text(0), lengths.columns()[0].text(1)], ["1", "3"]);
}

/// Words with the stems that the paper gives for them, by the step that they illustrate.
#[test]
fn stems_are_those_of_the_paper() {
    let pairs = "caresses caress ponies poni ties ti caress caress cats cat feed feed agreed agre plastered plaster \
        bled bled motoring motor sing sing conflated conflat troubled troubl sized size hopping hop tanned tan \
        falling fall hissing hiss fizzed fizz failing fail filing file happy happi sky sky relational relat \
        conditional condit rational ration digitizer digit radicalli radic differentli differ vietnamization vietnam \
        operator oper feudalism feudal decisiveness decis hopefulness hope sensitiviti sensit triplicate triplic \
        formalize formal electrical electr goodness good revival reviv allowance allow adjustable adjust \
        replacement replac adoption adopt communism commun effective effect probate probat rate rate cease ceas \
        controll control roll roll generalizations gener oscillators oscil as as say sai";
    let words: Vec<&str> = pairs.split_whitespace().collect();
    for pair in words.chunks(2) {
        assert_eq!(stem(pair[0]), pair[1]);
    }
    assert_eq!(stem(&"y".repeat(100_000)).len(), 100_000);
}

fn numbers(cells: &[f64]) -> Frame {
    Frame::new(vec![Column::F64(cells.to_vec())], Vec::new()).expect("a column")
}

/// What does not look like most of its column is replaced, by the finest patterns of which one is frequent enough.
#[test]
fn cells_of_other_patterns_are_replaced() {
    let found = |cells: &[&str], threshold: f64| {
        let function = format!("UtilFunctions.syntacticalPatternDiscovery({threshold},NA)");
        let frame = map(&texts(cells), &function, Over::Cells).expect("a frame");
        (0..cells.len()).map(|row| frame.columns()[0].text(row)).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(found(&["a1", "b2", "c3", "dd", "e5"], 0.7), "a1 b2 c3 NA e5", "equal lengths");
    assert_eq!(found(&["a1", "b22", "ccc3", "--", "e5"], 0.7), "a1 b22 ccc3 NA e5", "any length");
    assert_eq!(found(&["123456789012", "1", "23", "4", "x"], 0.5), "NA 1 23 4 NA", "up to nine");
    assert_eq!(found(&["Ab", "cD", "EF", "gh", "1"], 0.7), "Ab cD EF gh NA", "letters alike");
    assert_eq!(found(&["1.5", "2", ".25", "10.0", "?"], 0.7), "1.5 2 .25 10.0 NA", "dots within numbers");
    assert_eq!(found(&["a b", "Cd", "e f g", "hi", "4"], 0.7), "a b Cd e f g hi NA", "spaces within words");
    assert_eq!(found(&["1", "a", "-", "?", ""], 0.5), "1 a - ? ", "none is frequent enough");
    assert_eq!(found(&["1", "2", "3", "4", ""], 0.7), "1 2 3 4 NA", "a missing cell");
    let margin = map(&texts(&["a"]), "UtilFunctions.syntacticalPatternDiscovery(0.8,NA)", Over::Rows);
    assert_eq!(margin.expect_err("a margin").to_string(), "a function of a whole frame has no margin");
}

/// Smoothing by hand, for series with a cell missing.
#[test]
fn exponential_smoothing_predicts_each_cell() {
    let smoothed = |series: &[f64], arguments: &str| {
        let function = format!("UtilFunctions.exponentialMovingAverageImputation({arguments})");
        let frame = map(&numbers(series), &function, Over::Cells).map_err(|error| error.to_string())?;
        Ok::<_, String>(frame.to_matrix().expect("numbers").values().to_vec())
    };
    let close = |actual: Result<Vec<f64>, String>, expected: &[f64]| {
        let actual = actual.expect("a prediction");
        let is_close = actual.iter().zip(expected).all(|(one, other)| (one - other).abs() < 1e-12);
        assert!(actual.len() == expected.len() && is_close, "{actual:?} is not {expected:?}");
    };
    let nan = f64::NAN;
    close(smoothed(&[1.0, 3.0, nan, 5.0], "1;single;1;0.5;0.1;0.1"), &[1.0, 2.0, 2.0, 3.5]);
    // Level 3 and trend 2; then 5 for the missing cell, and 7.
    close(smoothed(&[1.0, 3.0, nan, 9.0], "1;double;1;0.5;0.5;0.1"), &[1.0, 5.0, 7.0, 10.5]);
    // A line with a season of two is followed exactly.
    let seasonal: Vec<f64> = (0..8).map(|i| 2.0 * f64::from(i) + f64::from(i % 2) * 10.0).collect();
    let next = smoothed(&seasonal, "1;triple;2;0.2;0.3;0.4").expect("a prediction");
    assert_eq!(next[..2], seasonal[..2]);
    assert_eq!(next.len(), 8);
    // With NaN for a weight several are tried, and the best is at least as near as any by hand.
    let distance = |arguments: &str| {
        let predicted = smoothed(&seasonal, arguments).expect("a prediction");
        seasonal.iter().zip(&predicted).map(|(one, other)| (one - other) * (one - other)).sum::<f64>()
    };
    assert!(distance("50;single;1;NaN;NaN;NaN") <= distance("1;single;1;0.5;0.5;0.5"));
    let message = |series: &[f64], arguments: &str| smoothed(series, arguments).expect_err(arguments);
    assert!(message(&[1.0], "1;double;1;0.5;0.5;0.5").contains("it has 1 cells, and at least 2 are needed"));
    assert!(message(&[1.0], "0;single;1;0.5;0.5;0.5").contains("a count from 1 on is needed, not 0, at character"));
    assert!(message(&[1.0], "1;fourth;1;0.5;0.5;0.5").contains("`single`, `double` or `triple` is needed"));
    assert!(message(&[1.0], "1;single;1;0.5;0.5").contains("the function takes 6 arguments, not 5"));
    assert!(message(&[1.0], "1;single;1;1.5;0.5;0.5").contains("a share from 0 to 1 is needed, not 1.5"));
}
