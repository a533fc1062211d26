//! Regular expressions of texts: those of Java that need no memory of what they matched (no look-around, no
//! back-references), so that matching takes linear time.

use super::evaluate::Problem;
use super::methods::{LONGEST, too_long};
use fuseline_matrix::{Collected, StopListener};
use regex_lite::{Captures, Regex};
use std::collections::HashMap;

/// Classes of characters by their names in Java and in POSIX.
const CLASSES: &[(&str, &str)] = &[
    ("Alnum", "alnum"),
    ("Alpha", "alpha"),
    ("ASCII", "ascii"),
    ("Blank", "blank"),
    ("Cntrl", "cntrl"),
    ("Digit", "digit"),
    ("Graph", "graph"),
    ("Lower", "lower"),
    ("Print", "print"),
    ("Punct", "punct"),
    ("Space", "space"),
    ("Upper", "upper"),
    ("XDigit", "xdigit"),
];

/// Compiled patterns by their texts.
#[derive(Debug, Default)]
pub(crate) struct Patterns {
    compiled: HashMap<String, Regex>,
}

impl Patterns {
    fn compiled(&mut self, pattern: &str) -> Result<&Regex, Problem> {
        if !self.compiled.contains_key(pattern) {
            let regex = Regex::new(&translated(pattern)?)
                .map_err(|error| format!("the pattern {pattern:?} is not supported: {error}"))?;
            self.compiled.insert(pattern.to_owned(), regex);
        }
        Ok(&self.compiled[pattern])
    }

    /// A text with up to so many matches replaced. In the replacement `$1` stands for what the first group matched.
    pub(super) fn replace(
        &mut self,
        text: &str,
        pattern: &str,
        replacement: &str,
        most: usize,
    ) -> Result<String, Problem> {
        let parts = replacement_parts(replacement)?;
        let regex = self.compiled(pattern)?;
        let groups = regex.captures_len();
        if let Some(missing) = parts.iter().find_map(|part| part.as_ref().err().filter(|group| **group >= groups)) {
            return Err(format!("the pattern {pattern:?} has no group {missing}"));
        }
        let (mut replaced, mut first) = (String::new(), 0);
        for captures in matches(regex, text).take(most) {
            let range = captures.get(0).map_or(first..first, |found| found.range());
            replaced.push_str(&text[first..range.start]);
            for part in &parts {
                replaced.push_str(match part {
                    Ok(text) => text,
                    Err(group) => captures.get(*group).map_or("", |found| found.as_str()),
                });
            }
            if replaced.len() > LONGEST {
                return Err(too_long());
            }
            first = range.end;
        }
        replaced.push_str(&text[first..]);
        if replaced.len() > LONGEST { Err(too_long()) } else { Ok(replaced) }
    }

    /// Whether a pattern matches the whole text.
    pub(super) fn matches(&mut self, text: &str, pattern: &str) -> Result<bool, Problem> {
        // By itself first, so that no bracket of its own closes ours.
        self.compiled(pattern)?;
        let whole = format!("^(?:{pattern})$");
        Ok(self.compiled(&whole)?.is_match(text))
    }

    /// The texts between the matches of a pattern, without empty ones at the end.
    pub(crate) fn split(&mut self, text: &str, pattern: &str) -> Result<Vec<String>, Problem> {
        let regex = self.compiled(pattern)?;
        let (mut parts, mut first) = (Collected::default(), 0);
        let found = matches(regex, text).filter_map(|captures| captures.get(0));
        for found in found.filter(|found| found.end() > 0) {
            if found.is_empty() && found.start() == text.len() {
                continue;
            }
            parts.push(text[first..found.start()].to_owned());
            first = found.end();
        }
        let is_whole = parts.is_empty();
        parts.push(text[first..].to_owned());
        let mut parts = parts.into_vec();
        while !is_whole && parts.last().is_some_and(String::is_empty) {
            parts.pop();
        }
        Ok(parts)
    }

    /// Where a pattern matches, in bytes.
    pub(crate) fn find(&mut self, text: &str, pattern: &str) -> Result<Collected<(usize, usize)>, Problem> {
        let found = matches(self.compiled(pattern)?, text).filter_map(|captures| captures.get(0));
        Ok(found.map(|found| (found.start(), found.end())).collect())
    }
}

/// The matches in a text, between which a request to stop is heard, as Java finds them: each begins at the end of the one before, or a character behind it where that
/// one was empty.
fn matches<'a>(regex: &'a Regex, text: &'a str) -> impl Iterator<Item = Captures<'a>> {
    let (mut next, stop) = (Some(0), StopListener::current());
    std::iter::from_fn(move || {
        stop.check();
        let captures = regex.captures_at(text, next?)?;
        let all = captures.get(0)?;
        let behind = text[all.end()..].chars().next().map(|character| all.end() + character.len_utf8());
        next = if all.is_empty() { behind } else { Some(all.end()) };
        Some(captures)
    })
}

/// A pattern with the classes that Java names as POSIX does.
fn translated(pattern: &str) -> Result<String, Problem> {
    let (mut result, mut rest, mut is_in_brackets) = (String::new(), pattern, false);
    while let Some(next) = rest.chars().next() {
        let is_class = rest.starts_with(r"\p{") || rest.starts_with(r"\P{");
        if is_class {
            let (name, after) = rest[3..].split_once('}').ok_or_else(|| format!("`}}` is missing in {pattern:?}"))?;
            let class = CLASSES.iter().find(|(java, _)| *java == name.strip_prefix("Is").unwrap_or(name));
            let (_, posix) = class.ok_or_else(|| format!("the pattern {pattern:?} names the unknown class {name}"))?;
            let negation = if rest.starts_with(r"\P") { "^" } else { "" };
            let named = format!("[:{negation}{posix}:]");
            result += &if is_in_brackets { named } else { format!("[{named}]") };
            rest = after;
            continue;
        }
        // What is escaped is no bracket.
        let length =
            next.len_utf8() + if next == '\\' { rest[1..].chars().next().map_or(0, char::len_utf8) } else { 0 };
        is_in_brackets = match next {
            '[' => true,
            ']' => false,
            _ => is_in_brackets,
        };
        result += &rest[..length];
        rest = &rest[length..];
    }
    Ok(result)
}

/// The texts of a replacement, and the numbers of the groups between them.
fn replacement_parts(replacement: &str) -> Result<Vec<Result<String, usize>>, Problem> {
    let mut parts = Vec::new();
    let mut characters = replacement.chars().peekable();
    while let Some(next) = characters.next() {
        match next {
            '$' => {
                let digit = characters.next().and_then(|digit| digit.to_digit(10));
                let group = digit.ok_or_else(|| format!("`$` names no group in the replacement {replacement:?}"))?;
                parts.push(Err(group as usize));
            }
            '\\' => parts.push(Ok(characters.next().map(String::from).unwrap_or_default())),
            other => parts.push(Ok(other.to_string())),
        }
    }
    Ok(parts)
}
