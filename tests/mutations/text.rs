//! Mutations of programs.

use crate::one_of;
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use std::ops::Range;

/// A change of a program by chance. One that finds nothing to change leaves the program as it is.
pub(crate) type Mutation = fn(&str, &mut Pcg64Mcg) -> String;

pub(crate) const MUTATIONS: &[(&str, Mutation)] = &[
    ("types swapped", swap_type),
    ("size off by one", |text, random| {
        let change: i64 = if random.random() { 1 } else { -1 };
        change_number(text, random, |number| {
            number.parse::<i64>().map_or(number.to_owned(), |n| (n + change).to_string())
        })
    }),
    ("dimension 0", |text, random| change_number(text, random, |_| "0".to_owned())),
    ("dimension 2^31", |text, random| change_number(text, random, |_| "2147483648".to_owned())),
    ("dimension 2^53", |text, random| change_number(text, random, |_| "9007199254740993".to_owned())),
    ("negative number", |text, random| change_number(text, random, |number| format!("(-{number})"))),
    ("number too large", |text, random| change_number(text, random, |number| format!("{number}e308"))),
    ("keyword misspelt", misspell),
    ("argument dropped", drop_argument),
    ("argument doubled", double_argument),
    ("name swapped", swap_names),
    ("token dropped", |text, random| change_token(text, random, |_| String::new())),
    ("token doubled", |text, random| change_token(text, random, |token| format!("{token} {token}"))),
    ("bracket changed", change_bracket),
    ("line dropped", drop_line),
    ("line doubled", double_line),
    ("program truncated", truncate),
    ("byte flipped", flip_bytes),
];

pub(crate) fn names() -> Vec<&'static str> {
    MUTATIONS.iter().map(|(name, _)| *name).collect()
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Number,
    Word,
    Text,
    Sign,
}

/// The tokens of a program, comments left out.
fn tokens(text: &str) -> Vec<(Kind, Range<usize>)> {
    let bytes = text.as_bytes();
    let (mut tokens, mut at) = (Vec::new(), 0);
    let run = |from: usize, keeps: &dyn Fn(u8) -> bool| {
        from + bytes[from..].iter().position(|&byte| !keeps(byte)).unwrap_or(bytes.len() - from)
    };
    while at < bytes.len() {
        let start = at;
        let (kind, end) = match bytes[at] {
            b'#' => (None, run(at, &|byte| byte != b'\n')),
            b'"' => (Some(Kind::Text), (run(at + 1, &|byte| byte != b'"' && byte != b'\n') + 1).min(bytes.len())),
            byte if byte.is_ascii_digit() => {
                (Some(Kind::Number), run(at, &|byte| byte.is_ascii_digit() || byte == b'.'))
            }
            byte if byte.is_ascii_alphabetic() || byte == b'$' => {
                (Some(Kind::Word), run(at + 1, &|byte| byte.is_ascii_alphanumeric() || b"_.".contains(&byte)))
            }
            byte if byte.is_ascii_graphic() => (Some(Kind::Sign), at + 1),
            _ => (None, at + 1),
        };
        at = end;
        tokens.extend(kind.map(|kind| (kind, start..end)));
    }
    tokens
}

/// One of the tokens that are wanted.
fn token(text: &str, random: &mut Pcg64Mcg, wanted: impl Fn(Kind, &str) -> bool) -> Option<Range<usize>> {
    let places: Vec<Range<usize>> = tokens(text)
        .into_iter()
        .filter(|(kind, range)| text.is_char_boundary(range.end) && wanted(*kind, &text[range.clone()]))
        .map(|(_, range)| range)
        .collect();
    if places.is_empty() { None } else { Some(one_of(random, &places).clone()) }
}

fn replaced(text: &str, range: &Range<usize>, with: &str) -> String {
    [&text[..range.start], with, &text[range.end..]].concat()
}

fn change_where(
    text: &str,
    random: &mut Pcg64Mcg,
    wanted: impl Fn(Kind, &str) -> bool,
    change: impl Fn(&str, &mut Pcg64Mcg) -> String,
) -> String {
    match token(text, random, wanted) {
        Some(range) => replaced(text, &range, &change(&text[range.clone()], random)),
        None => text.to_owned(),
    }
}

fn change_number(text: &str, random: &mut Pcg64Mcg, change: impl Fn(&str) -> String) -> String {
    change_where(text, random, |kind, _| kind == Kind::Number, |number, _| change(number))
}

fn change_token(text: &str, random: &mut Pcg64Mcg, change: impl Fn(&str) -> String) -> String {
    change_where(text, random, |_, _| true, |token, _| change(token))
}

fn swap_type(text: &str, random: &mut Pcg64Mcg) -> String {
    const OTHERS: &[&str] =
        &["\"text\"", "TRUE", "1.5", "matrix(1, 2, 2)", "list(1, \"a\")", "NaN", "\"\"", "as.frame(matrix(1, 1, 1))"];
    let is_value = |kind, token: &str| match kind {
        Kind::Number | Kind::Text => true,
        Kind::Word => token == "TRUE" || token == "FALSE" || token.len() <= 2,
        Kind::Sign => false,
    };
    change_where(text, random, is_value, |_, random| (*one_of(random, OTHERS)).to_owned())
}

fn misspell(text: &str, random: &mut Pcg64Mcg) -> String {
    let change = |word: &str, random: &mut Pcg64Mcg| {
        let (mut letters, place) = (word.as_bytes().to_vec(), random.random_range(0..word.len() - 1));
        match random.random_range(0..3) {
            0 => letters.swap(place, place + 1),
            1 => _ = letters.remove(place),
            _ => letters.insert(place, b'x'),
        }
        String::from_utf8(letters).expect("words are ASCII")
    };
    change_where(text, random, |kind, token| kind == Kind::Word && token.len() > 2, change)
}

/// The arguments of a call or index, each with the comma before it: places from a comma to the next one on its level.
fn later_arguments(text: &str) -> Vec<Range<usize>> {
    let (mut arguments, mut open) = (Vec::new(), Vec::new());
    for (_, range) in tokens(text) {
        match text.as_bytes()[range.start] {
            b'(' | b'[' | b'{' => open.push(None),
            b')' | b']' | b'}' => {
                if let Some(Some(start)) = open.pop() {
                    arguments.push(start..range.start);
                }
            }
            b',' => {
                if let Some(last) = open.last_mut()
                    && let Some(start) = last.replace(range.start)
                {
                    arguments.push(start..range.start);
                }
            }
            _ => {}
        }
    }
    arguments
}

fn drop_argument(text: &str, random: &mut Pcg64Mcg) -> String {
    let arguments = later_arguments(text);
    if arguments.is_empty() { text.to_owned() } else { replaced(text, one_of(random, &arguments), "") }
}

fn double_argument(text: &str, random: &mut Pcg64Mcg) -> String {
    let arguments = later_arguments(text);
    if arguments.is_empty() {
        return text.to_owned();
    }
    let range = one_of(random, &arguments);
    replaced(text, range, &text[range.clone()].repeat(2))
}

/// A name in the place of another.
fn swap_names(text: &str, random: &mut Pcg64Mcg) -> String {
    let is_word = |kind, _: &str| kind == Kind::Word;
    let Some(other) = token(text, random, is_word) else { return text.to_owned() };
    change_where(text, random, is_word, |_, _| text[other.clone()].to_owned())
}

fn change_bracket(text: &str, random: &mut Pcg64Mcg) -> String {
    let is_bracket = |_, token: &str| ["(", ")", "[", "]", "{", "}"].contains(&token);
    change_where(text, random, is_bracket, |_, random| {
        (*one_of(random, &["(", ")", "[", "]", "{", "}", "((", "))"])).to_owned()
    })
}

fn drop_line(text: &str, random: &mut Pcg64Mcg) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    if !lines.is_empty() {
        lines.remove(random.random_range(0..lines.len()));
    }
    lines.join("\n")
}

fn double_line(text: &str, random: &mut Pcg64Mcg) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    if !lines.is_empty() {
        let place = random.random_range(0..lines.len());
        lines.insert(place, lines[place]);
    }
    lines.join("\n")
}

fn truncate(text: &str, random: &mut Pcg64Mcg) -> String {
    let mut end = random.random_range(0..text.len().max(1));
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].to_owned()
}

fn flip_bytes(text: &str, random: &mut Pcg64Mcg) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..random.random_range(1..4) {
        if !bytes.is_empty() {
            let place = random.random_range(0..bytes.len());
            bytes[place] ^= 1 << random.random_range(0..8);
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
