//! `tokenize`: the texts of a column of a frame, cut into tokens.
//!
//! The specification is JSON as in SystemDS: `{algo: "split", algo_params: {regex: "\\s+"}, out: "position",
//! out_params: {}, id_cols: [1], tokenize_col: 2, format_wide: false}`. Each row is a document, which the columns
//! `id_cols` name. With `algo: "ngram"` every run of `min_gram` to `max_gram` tokens is one, or of characters of a token.

use crate::map::Patterns;
use fuseline_matrix::{
    Collected, Column, Frame, MemoryKind, Part, SMALLEST_RESERVED, StopListener, Tally, run_context,
};
use indexmap::IndexMap;
use serde::Deserialize;
use std::ops::RangeInclusive;
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
    /// At the matches of a pattern, and runs of what lies between.
    Ngram,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct AlgorithmParameters {
    regex: Option<String>,
    /// The shortest run of `ngram`: one where nothing is said.
    min_gram: Option<usize>,
    /// The longest: two.
    max_gram: Option<usize>,
    #[serde(default)]
    ngram_type: RunsOf,
}

/// What the runs of `ngram` are made of.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum RunsOf {
    /// The tokens of a document.
    #[default]
    #[serde(alias = "DOCUMENT")]
    Document,
    /// The characters of a token.
    #[serde(alias = "TOKEN")]
    Token,
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

impl Part for Token {
    fn own_bytes(&self) -> usize {
        self.text.len()
    }
}

/// The tokens of a text.
type Document = Vec<Token>;

/// What the result says of one document: texts or numbers in two columns, one row for each token.
struct Entries {
    first: Column,
    second: Column,
}

impl Part for Entries {
    fn own_bytes(&self) -> usize {
        self.first.own_bytes() + self.second.own_bytes()
    }
}

/// The tokens of the texts of a frame, at most so many of each document.
///
/// # Errors
/// The specification is not valid, or does not fit the frame.
pub(crate) fn tokenize(frame: &Frame, specification: &str, most: usize) -> Result<Frame, TokenizeError> {
    let specification: Specification = json5::from_str(specification)
        .map_err(|error| TokenizeError::Specification(error.to_string().trim().to_owned()))?;
    let texts = column_of(frame, specification.tokenize_col)?;
    let ids = specification.id_cols.iter().map(|&id| column_of(frame, id)).collect::<Result<Vec<_>, _>>()?;
    let documents = documents(texts, &specification)?;
    let (mut columns, rows) = if specification.format_wide {
        (wide(&documents, &specification, most)?, Collected::filled(documents.len(), 1))
    } else {
        let entries: Collected<_> =
            documents.iter().map(|tokens| entries(tokens, &specification, most)).collect::<Result<_, _>>()?;
        let rows: Collected<usize> = entries.iter().map(|entries| entries.first.len()).collect();
        (long(&entries), rows)
    };
    let mut all: Collected<Column> = ids.into_iter().map(|id| repeated(id, &rows)).collect();
    all.extend(columns.drain(..));
    Frame::new(all.into_vec(), Vec::new()).map_err(|error| TokenizeError::Specification(error.to_string()))
}

/// A column by its 1-based position.
fn column_of(frame: &Frame, position: usize) -> Result<&Column, TokenizeError> {
    let missing = TokenizeError::NoColumn { column: position, cols: frame.cols() };
    position.checked_sub(1).and_then(|at| frame.columns().get(at)).ok_or(missing)
}

/// Each cell of a column so many times.
fn repeated(id: &Column, times: &[usize]) -> Column {
    let cells = times.iter().enumerate();
    Column::of_texts(cells.flat_map(|(row, &times)| std::iter::repeat_n(crate::map::cell_text(id, row), times)))
}

fn documents(texts: &Column, specification: &Specification) -> Result<Collected<Document>, TokenizeError> {
    let parameters = &specification.algo_params;
    let pattern = parameters.regex.as_deref().unwrap_or(r"\s+");
    let lengths = lengths(parameters)?;
    let mut patterns = Patterns::default();
    (0..texts.len())
        .map(|row| {
            let text = texts.text(row);
            let matches = patterns.find(&text, pattern).map_err(TokenizeError::Specification)?;
            let tokens = tokens_between(&text, &matches);
            Ok(match (specification.algo, parameters.ngram_type) {
                (Algorithm::Split, _) => tokens,
                (Algorithm::Ngram, RunsOf::Document) => runs_of_tokens(&tokens, lengths.clone()),
                (Algorithm::Ngram, RunsOf::Token) => runs_of_characters(&tokens, lengths.clone()),
            })
        })
        .collect()
}

/// How long the runs of `ngram` are.
fn lengths(parameters: &AlgorithmParameters) -> Result<RangeInclusive<usize>, TokenizeError> {
    let (least, most) = (parameters.min_gram.unwrap_or(1), parameters.max_gram.unwrap_or(2));
    if least == 0 || most < least {
        let problem = format!("`min_gram` is at least 1 and at most `max_gram`, not {least} and {most}");
        return Err(TokenizeError::Specification(problem));
    }
    Ok(least..=most)
}

/// The runs of the tokens of a document, the shortest first: as SystemDS writes them, `"('a', 'b')"` for two.
fn runs_of_tokens(tokens: &[Token], lengths: RangeInclusive<usize>) -> Document {
    let bytes = tokens.iter().map(|token| token.text.len() + "'', ".len()).sum();
    refuse_what_does_not_fit(bytes_of_runs(tokens.len(), bytes, lengths.clone()));
    let lengths = lengths.take_while(|length| *length <= tokens.len());
    lengths.flat_map(|length| tokens.windows(length).map(run_of)).collect::<Collected<_>>().into_vec()
}

/// The token that a run of tokens is.
fn run_of(tokens: &[Token]) -> Token {
    let quoted = || tokens.iter().map(|token| format!("'{}'", token.text)).collect::<Vec<_>>().join(", ");
    let text = if let [token] = tokens { token.text.clone() } else { format!("\"({})\"", quoted()) };
    Token { text, position: tokens[0].position }
}

/// Unwinds where so many bytes are not to be had: before a part of them is made.
fn refuse_what_does_not_fit(bytes: u64) {
    if bytes >= SMALLEST_RESERVED as u64 {
        drop(run_context::reserve(MemoryKind::Frame, bytes));
    }
}

/// The runs of the characters of each token, the shortest first.
fn runs_of_characters(tokens: &[Token], lengths: RangeInclusive<usize>) -> Document {
    let bytes = |token: &Token| bytes_of_runs(token.text.chars().count(), token.text.len(), lengths.clone());
    refuse_what_does_not_fit(tokens.iter().map(bytes).fold(0, u64::saturating_add));
    let mut runs = Collected::default();
    for token in tokens {
        let mut bounds: Collected<usize> = token.text.char_indices().map(|(start, _)| start).collect();
        bounds.push(token.text.len());
        for length in lengths.clone().take_while(|length| *length < bounds.len()) {
            let starts = (0..bounds.len() - length).zip(token.position..);
            runs.extend(starts.map(|(first, position)| {
                let text = token.text[bounds[first]..bounds[first + length]].to_owned();
                Token { text, position }
            }));
        }
    }
    runs.into_vec()
}

/// The memory of all runs of so many parts that take so many bytes together.
fn bytes_of_runs(parts: usize, bytes: usize, lengths: RangeInclusive<usize>) -> u64 {
    let average = bytes.div_ceil(parts.max(1)) as u64;
    let of_lengths = lengths.take_while(|length| *length <= parts).map(|length| {
        let run = size_of::<Token>() as u64 + average.saturating_mul(length as u64);
        run.saturating_mul((parts - length + 1) as u64)
    });
    of_lengths.fold(0, u64::saturating_add)
}

/// The parts of a text that lie between matches, which are ranges of bytes.
fn tokens_between(text: &str, matches: &[(usize, usize)]) -> Document {
    let mut tokens = Collected::default();
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
    tokens.into_vec()
}

fn entries(tokens: &[Token], specification: &Specification, most: usize) -> Result<Entries, TokenizeError> {
    Ok(match specification.out {
        Output::Position => {
            let kept = tokens.iter().take(most);
            Entries {
                first: Column::of_integers(kept.clone().map(|token| token.position)),
                second: Column::of_texts(kept.map(|token| token.text.clone())),
            }
        }
        Output::Count => {
            let counts = counts(tokens, specification.out_params.sort_alpha);
            let kept = counts.iter().take(most);
            Entries {
                first: Column::of_texts(kept.clone().map(|(token, _)| (*token).to_owned())),
                second: Column::of_integers(kept.map(|(_, count)| *count)),
            }
        }
        Output::Hash => {
            let counts = hashed(tokens, features(specification)?);
            let kept = (1..).zip(&counts).filter(|(_, count)| **count > 0).take(most);
            Entries {
                first: Column::of_integers(kept.clone().map(|(class, _)| class)),
                second: Column::of_integers(kept.map(|(_, count)| *count)),
            }
        }
    })
}

/// The columns of all documents, one below the other.
fn long(documents: &[Entries]) -> Vec<Column> {
    let parts: [fn(&Entries) -> &Column; 2] = [|entries| &entries.first, |entries| &entries.second];
    parts.map(|part| Column::concatenated(&documents.iter().map(part).collect::<Collected<_>>())).into()
}

/// A row for each document: its first tokens, or the counts of the first classes; as many columns as tokens are asked for.
fn wide(documents: &[Document], specification: &Specification, most: usize) -> Result<Vec<Column>, TokenizeError> {
    match specification.out {
        Output::Count => Err(TokenizeError::Specification(
            "counts of tokens have no wide format: leave `format_wide` out".to_owned(),
        )),
        Output::Position => {
            let longest = documents.iter().map(Vec::len).max().unwrap_or(0);
            let width = if most == usize::MAX { longest } else { checked_width(most)? };
            let cell = |tokens: &Document, at: usize| tokens.get(at).map(|token| token.text.clone());
            let column = |at: usize| Column::of_optional_texts(documents.iter().map(|tokens| cell(tokens, at)));
            Ok((0..width).map(column).collect::<Collected<_>>().into_vec())
        }
        Output::Hash => {
            let features = features(specification)?;
            let width = if most == usize::MAX { features } else { checked_width(most)? };
            let counts: Collected<Vec<i64>> =
                documents.iter().map(|tokens| hashed(tokens, features).into_vec()).collect();
            let count = |counts: &Vec<i64>, at: usize| counts.get(at).copied().unwrap_or(0);
            let column = |at: usize| Column::of_integers(counts.iter().map(|counts| count(counts, at)));
            Ok((0..width).map(column).collect::<Collected<_>>().into_vec())
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

/// How often each token occurs, by first appearance or by the alphabet.
fn counts(tokens: &[Token], sorts: bool) -> IndexMap<&str, i64> {
    let (mut counts, mut held) = (IndexMap::new(), Tally::new(MemoryKind::Scratch));
    let stop = StopListener::current();
    for token in tokens {
        stop.check();
        held.make_room_in_map(&mut counts);
        *counts.entry(token.text.as_str()).or_insert(0) += 1;
    }
    if sorts {
        counts.sort_keys();
    }
    counts
}

/// How many tokens fall into each class.
fn hashed(tokens: &[Token], features: usize) -> Collected<i64> {
    let (mut counts, stop) = (Collected::filled(features, 0), StopListener::current());
    for token in tokens {
        stop.check();
        counts[i64::from(hash_code(&token.text)).rem_euclid(features as i64) as usize] += 1;
    }
    counts
}

/// The hash code of a text in Java.
fn hash_code(text: &str) -> i32 {
    text.encode_utf16().fold(0, |code: i32, unit| code.wrapping_mul(31).wrapping_add(i32::from(unit)))
}
