//! `tokenize`: the texts of a column of a frame, cut into tokens.
//!
//! The specification is JSON as in SystemDS: `{algo: "split", algo_params: {regex: "\\s+"}, out: "position",
//! out_params: {}, id_cols: [1], tokenize_col: 2, format_wide: false}`. Each row is a document, which the columns
//! `id_cols` name.

use crate::map::Patterns;
use crate::memory;
use fuseline_matrix::run_context::check_stop;
use fuseline_matrix::{Column, Frame};
use serde::Deserialize;
use std::collections::HashMap;
use thiserror::Error;

/// What keeps texts from being cut into tokens.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TokenizeError {
    /// A specification that is not of the right form.
    #[error("the specification of tokens is not valid: {0}")]
    Specification(String),
    /// A column that the frame does not have.
    #[error("the specification of tokens names the column {column} of a frame of {cols} columns")]
    NoColumn {
        /// Its position, from 1.
        column: usize,
        /// How many columns there are.
        cols: usize,
    },
}

/// The most columns of a wide result.
const MAX_WIDTH: usize = 1_000_000;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Specification {
    algo: Algorithm,
    #[serde(default)]
    algo_params: AlgorithmParameters,
    out: Output,
    #[serde(default)]
    out_params: OutputParameters,
    id_cols: Vec<usize>,
    tokenize_col: usize,
    #[serde(default)]
    format_wide: bool,
}

/// How texts are cut.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Algorithm {
    /// At the matches of a pattern.
    #[serde(alias = "whitespace")]
    Split,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct AlgorithmParameters {
    regex: Option<String>,
}

/// What is said of the tokens of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Output {
    /// How often each different one occurs.
    Count,
    /// Where each begins, in characters from 1.
    Position,
    /// How many fall into each of `num_features` classes, by their hash codes.
    Hash,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct OutputParameters {
    /// Whether counted tokens stand in the order of the alphabet, else in that of their first appearance.
    #[serde(default)]
    sort_alpha: bool,
    num_features: Option<usize>,
}

/// A token: its text and its position in characters, from 1.
struct Token {
    text: String,
    position: i64,
}

/// What the result says of one document: texts or numbers in two columns, one row for each token.
struct Entries {
    first: Column,
    second: Column,
}

/// The tokens of the texts of a frame, at most so many of each document.
///
/// # Errors
/// The specification is not valid, or does not fit the frame.
pub(crate) fn tokenize(frame: &Frame, specification: &str, most: usize) -> Result<Frame, TokenizeError> {
    let invalid = |problem: String| TokenizeError::Specification(problem);
    let specification: Specification =
        json5::from_str(specification).map_err(|error| invalid(error.to_string().trim().to_owned()))?;
    let column = |position: usize| {
        let missing = TokenizeError::NoColumn { column: position, cols: frame.cols() };
        position.checked_sub(1).and_then(|at| frame.columns().get(at)).ok_or(missing)
    };
    let texts = column(specification.tokenize_col)?;
    let ids = specification.id_cols.iter().map(|&id| column(id)).collect::<Result<Vec<_>, _>>()?;
    let documents = documents(texts, &specification)?;
    let (mut columns, rows) = if specification.format_wide {
        (wide(&documents, &specification, most)?, vec![1; documents.len()])
    } else {
        let entries =
            documents.iter().map(|tokens| entries(tokens, &specification, most)).collect::<Result<Vec<_>, _>>()?;
        let rows: Vec<usize> = entries.iter().map(|entries| entries.first.len()).collect();
        (long(&entries), rows)
    };
    let repeated = |id: &Column| {
        let cell = |(row, &times): (usize, &usize)| std::iter::repeat_n(crate::map::cell_text(id, row), times);
        Column::Str(rows.iter().enumerate().flat_map(cell).collect())
    };
    let mut all: Vec<Column> = ids.into_iter().map(repeated).collect();
    all.append(&mut columns);
    Frame::new(all, Vec::new()).map_err(|error| invalid(error.to_string()))
}

fn documents(texts: &Column, specification: &Specification) -> Result<Vec<Vec<Token>>, TokenizeError> {
    let Algorithm::Split = specification.algo;
    let pattern = specification.algo_params.regex.as_deref().unwrap_or(r"\s+");
    let mut patterns = Patterns::default();
    (0..texts.len())
        .map(|row| {
            check_stop();
            let text = texts.text(row);
            let matches = patterns.find(&text, pattern).map_err(TokenizeError::Specification)?;
            Ok(tokens_between(&text, &matches))
        })
        .collect()
}

/// The parts of a text that lie between matches, which are ranges of bytes.
fn tokens_between(text: &str, matches: &[(usize, usize)]) -> Vec<Token> {
    let mut tokens = Vec::new();
    // The end of the last match, in bytes, and where it lies in characters.
    let (mut first, mut position) = (0, 1);
    for &(start, end) in matches.iter().chain([&(text.len(), text.len())]) {
        let token = &text[first..start];
        if !token.is_empty() {
            tokens.push(Token { text: token.to_owned(), position });
        }
        position += text[first..end].chars().count() as i64;
        first = end;
    }
    tokens
}

fn entries(tokens: &[Token], specification: &Specification, most: usize) -> Result<Entries, TokenizeError> {
    Ok(match specification.out {
        Output::Position => {
            let kept = || tokens.iter().take(most);
            Entries {
                first: Column::I64(kept().map(|token| token.position).collect()),
                second: Column::Str(kept().map(|token| token.text.clone()).collect()),
            }
        }
        Output::Count => {
            let counts = counts(tokens, specification.out_params.sort_alpha);
            let kept = || counts.iter().take(most);
            Entries {
                first: Column::Str(kept().map(|(token, _)| (*token).to_owned()).collect()),
                second: Column::I64(kept().map(|(_, count)| *count).collect()),
            }
        }
        Output::Hash => {
            let counts = hashed(tokens, features(specification)?);
            let kept = || (1..).zip(&counts).filter(|(_, count)| **count > 0).take(most);
            Entries {
                first: Column::I64(kept().map(|(class, _)| class).collect()),
                second: Column::I64(kept().map(|(_, count)| *count).collect()),
            }
        }
    })
}

/// The columns of all documents, one below the other.
fn long(documents: &[Entries]) -> Vec<Column> {
    let all = |part: fn(&Entries) -> &Column| Column::concatenated(&documents.iter().map(part).collect::<Vec<_>>());
    vec![all(|entries| &entries.first), all(|entries| &entries.second)]
}

/// A row for each document: its first tokens, or the counts of all classes.
fn wide(documents: &[Vec<Token>], specification: &Specification, most: usize) -> Result<Vec<Column>, TokenizeError> {
    match specification.out {
        Output::Count => Err(TokenizeError::Specification(
            "counts of tokens have no wide format: leave `format_wide` out".to_owned(),
        )),
        Output::Position => {
            let longest = documents.iter().map(Vec::len).max().unwrap_or(0);
            let width = if most == usize::MAX { longest } else { checked_width(most)? };
            let _held = memory::of_cells(documents.len(), width);
            let cell = |at: usize| documents.iter().map(move |tokens| tokens.get(at).map_or("", |token| &token.text));
            Ok((0..width).map(|at| Column::Str(cell(at).map(str::to_owned).collect())).collect())
        }
        Output::Hash => {
            let width = checked_width(features(specification)?)?;
            // Each count is kept by row, then by column.
            let _held = memory::of_cells(documents.len(), width);
            let counts: Vec<Vec<i64>> = documents.iter().map(|tokens| hashed(tokens, width)).collect();
            Ok((0..width).map(|at| Column::I64(counts.iter().map(|counts| counts[at]).collect())).collect())
        }
    }
}

fn checked_width(width: usize) -> Result<usize, TokenizeError> {
    if width > MAX_WIDTH {
        let problem = format!("a wide result has at most {MAX_WIDTH} columns, not {width}");
        return Err(TokenizeError::Specification(problem));
    }
    Ok(width)
}

fn features(specification: &Specification) -> Result<usize, TokenizeError> {
    match specification.out_params.num_features {
        Some(features) if features > 0 => checked_width(features),
        _ => {
            Err(TokenizeError::Specification("`hash` needs `out_params: {num_features: ...}` of at least 1".to_owned()))
        }
    }
}

fn counts(tokens: &[Token], sorts: bool) -> Vec<(&str, i64)> {
    let (mut counts, mut places): (Vec<(&str, i64)>, HashMap<&str, usize>) = (Vec::new(), HashMap::new());
    for token in tokens {
        let place = *places.entry(&token.text).or_insert(counts.len());
        if place == counts.len() {
            counts.push((&token.text, 0));
        }
        counts[place].1 += 1;
    }
    if sorts {
        counts.sort_by_key(|(token, _)| *token);
    }
    counts
}

/// How many tokens fall into each class.
fn hashed(tokens: &[Token], features: usize) -> Vec<i64> {
    let mut counts = vec![0; features];
    for token in tokens {
        counts[i64::from(hash_code(&token.text)).rem_euclid(features as i64) as usize] += 1;
    }
    counts
}

/// The hash code of a text in Java.
fn hash_code(text: &str) -> i32 {
    text.encode_utf16().fold(0, |code: i32, unit| code.wrapping_mul(31).wrapping_add(i32::from(unit)))
}
