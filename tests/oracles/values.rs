//! Values for the holes of templates, written as DML.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::fmt::Write;

/// Dimensions that the values of one call share.
struct Shape {
    rows: usize,
    cols: usize,
}

/// Which numbers matrices hold.
#[derive(Clone, Copy)]
enum Numbers {
    /// From -5 to 5.
    Integers,
    /// Multiples of an eighth from -4 to 4.
    Eighths,
    /// Many of them zero.
    Sparse,
}

const ALL_NUMBERS: [Numbers; 3] = [Numbers::Integers, Numbers::Eighths, Numbers::Sparse];

/// The template with its holes filled, the same for the same seed.
pub(crate) fn fill(template: &str, seed: u64) -> String {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let shape = Shape { rows: random.random_range(2..=6), cols: random.random_range(1..=5) };
    let numbers = ALL_NUMBERS[random.random_range(0..ALL_NUMBERS.len())];
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, hole, after)) = next_hole(rest) {
        text.push_str(before);
        text.push_str(&value(hole, &shape, numbers, &mut random));
        rest = after;
    }
    text + rest
}

/// The text before the next hole of one character in braces, the character, and the text behind it.
fn next_hole(text: &str) -> Option<(&str, char, &str)> {
    text.char_indices().find_map(|(start, brace)| {
        let mut rest = text[start..].chars();
        let hole = (brace == '{').then(|| (rest.next(), rest.next(), rest.next()));
        match hole {
            Some((_, Some(kind), Some('}'))) if kind.is_ascii_alphabetic() => {
                Some((&text[..start], kind, &text[start + 3..]))
            }
            _ => None,
        }
    })
}

fn value(kind: char, shape: &Shape, numbers: Numbers, random: &mut Pcg64Mcg) -> String {
    let &Shape { rows, cols } = shape;
    let mut of = |rows, cols, cell: fn(&mut Pcg64Mcg) -> f64| {
        let cells: Vec<f64> = (0..rows * cols).map(|_| cell(random)).collect();
        matrix(rows, cols, &cells)
    };
    let cell = match numbers {
        Numbers::Integers => integer,
        Numbers::Eighths => eighth,
        Numbers::Sparse => often_zero,
    };
    match kind {
        'X' => of(rows, cols, cell),
        'Y' => of(cols, 3, cell),
        'C' => of(rows, 1, cell),
        'H' => of(1, cols, cell),
        'S' => of(rows, rows, eighth),
        'A' => of(rows + cols + 1, cols, eighth),
        'L' => of(rows + cols + 1, 1, eighth),
        'P' => definite(rows, random),
        'Q' => symmetric(rows, random),
        'Z' => with_empty_rows(rows, cols, random),
        // Images and filters of the templates, and gradients of what is computed from them.
        'M' => of(2, 18, eighth),
        'F' => of(3, 8, eighth),
        'D' => of(2, 12, eighth),
        'O' => of(2, 8, eighth),
        'b' => of(2, 1, eighth),
        'U' => of(4, 8, eighth),
        'B' => of(rows, cols, bit),
        'E' => selection(rows, random),
        'I' => of(rows, cols, |random| f64::from(random.random_range(0..100_u32))),
        'G' => of(rows, 1, |random| f64::from(random.random_range(1..=4_u32))),
        'W' => of(rows, 1, |random| f64::from(random.random_range(1..=5_u32))),
        's' | 't' => number(eighth(random)),
        'p' => number(f64::from(random.random_range(1..100_u32)) / 100.0),
        'n' => random.random_range(1..=3_u32).to_string(),
        other => panic!("no value is of kind {other}"),
    }
}

fn integer(random: &mut Pcg64Mcg) -> f64 {
    f64::from(random.random_range(-5..=5_i32))
}

fn eighth(random: &mut Pcg64Mcg) -> f64 {
    f64::from(random.random_range(-32..=32_i32)) / 8.0
}

fn often_zero(random: &mut Pcg64Mcg) -> f64 {
    if random.random_range(0..4) == 0 { integer(random) } else { 0.0 }
}

fn bit(random: &mut Pcg64Mcg) -> f64 {
    f64::from(random.random_range(0..2_u32))
}

/// Whether each row is selected; at least one is.
fn selection(rows: usize, random: &mut Pcg64Mcg) -> String {
    let mut cells: Vec<f64> = (0..rows).map(|_| bit(random)).collect();
    cells[0] = 1.0;
    matrix(rows, 1, &cells)
}

/// Some rows and columns without a non-zero; the first cell is not zero.
fn with_empty_rows(rows: usize, cols: usize, random: &mut Pcg64Mcg) -> String {
    let row_bits: Vec<f64> = (0..rows).map(|_| bit(random)).collect();
    let col_bits: Vec<f64> = (0..cols).map(|_| bit(random)).collect();
    let mut cells: Vec<f64> =
        (0..rows * cols).map(|at| row_bits[at / cols] * col_bits[at % cols] * integer(random)).collect();
    cells[0] = 3.0;
    matrix(rows, cols, &cells)
}

fn symmetric(size: usize, random: &mut Pcg64Mcg) -> String {
    let mut cells = vec![0.0; size * size];
    for i in 0..size {
        for j in 0..=i {
            cells[i * size + j] = eighth(random);
            cells[j * size + i] = cells[i * size + j];
        }
    }
    matrix(size, size, &cells)
}

/// Symmetric, and positive definite since its diagonal dominates.
fn definite(size: usize, random: &mut Pcg64Mcg) -> String {
    let mut cells = vec![0.0; size * size];
    for i in 0..size {
        for j in 0..i {
            cells[i * size + j] = eighth(random);
            cells[j * size + i] = cells[i * size + j];
        }
        cells[i * size + i] = 4.0 * size as f64 + i as f64;
    }
    matrix(size, size, &cells)
}

fn matrix(rows: usize, cols: usize, cells: &[f64]) -> String {
    let mut text = String::new();
    for cell in cells {
        let separator = if text.is_empty() { "" } else { " " };
        write!(text, "{separator}{cell}").expect("strings take writes");
    }
    format!("matrix(\"{text}\", rows={rows}, cols={cols})")
}

/// A literal, in parentheses where it is negative.
fn number(value: f64) -> String {
    if value < 0.0 { format!("({value})") } else { format!("{value}") }
}
