//! Second names of the parameters of a library function, as the header of its file declares them:
//!
//! ```text
//! # SECOND NAMES
//! #   tol = epsilon, maxIter = maxIterations
//! ```
//!
//! A call may write `tol=` for the parameter `epsilon`. Documentation, help texts and positions know first names alone.

use fuseline_ir::hop::Span;

/// `name = parameter`, and its place.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SecondName {
    pub(crate) name: String,
    pub(crate) parameter: String,
    pub(crate) span: Span,
}

/// The line that opens the section.
const TITLE: &str = "# SECOND NAMES";

/// The second names in the comment that opens a file, or the place of what is none in their section.
pub(crate) fn second_names(source: u32, text: &str) -> Result<Vec<SecondName>, Span> {
    let mut names = Vec::new();
    let mut is_within = false;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let Some(comment) = line.strip_prefix('#') else { break };
        if is_within && comment.trim().is_empty() {
            break;
        }
        if is_within {
            let mut from = start + 1;
            for part in comment.trim_end().trim_end_matches(',').split(',') {
                names.push(second_name(source, part, from)?);
                from += part.len() + 1;
            }
        }
        is_within |= line.trim_end() == TITLE;
        start += line.len();
    }
    Ok(names)
}

/// A second name from the text of its declaration, which begins at `from`.
fn second_name(source: u32, part: &str, from: usize) -> Result<SecondName, Span> {
    let declaration = part.trim();
    let start = from + part.len() - part.trim_start().len();
    let span = Span { source, start: start as u32, end: (start + declaration.len()) as u32 };
    let (name, parameter) = declaration.split_once('=').ok_or(span)?;
    let (name, parameter) = (name.trim().to_owned(), parameter.trim().to_owned());
    if is_identifier(&name) && is_identifier(&parameter) { Ok(SecondName { name, parameter, span }) } else { Err(span) }
}

fn is_identifier(text: &str) -> bool {
    let is_letter = text.starts_with(|first: char| first.is_ascii_alphabetic());
    is_letter && text.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn second_names_stand_in_their_section_of_the_header() {
        let text =
            "# A function.\n#\n# SECOND NAMES\n#   a = b, c=d,\n#   e = f\n#\n# g = h\n\n# SECOND NAMES\n#   i = j\n";
        let names = second_names(7, text).expect("all are well formed");
        let found: Vec<(&str, &str, &str)> = names
            .iter()
            .map(|found| (&*found.name, &*found.parameter, &text[found.span.start as usize..found.span.end as usize]))
            .collect();
        assert_eq!(found, [("a", "b", "a = b"), ("c", "d", "c=d"), ("e", "f", "e = f")]);
        assert_eq!(second_names(7, "# a = b\nx = 1\n# SECOND NAMES\n# a = b\n"), Ok(Vec::new()));
    }

    #[test]
    fn what_is_no_second_name_is_found() {
        for (text, wrong) in [("# SECOND NAMES\n#   a = b, c\n", "c"), ("# SECOND NAMES\n# a b = c\n", "a b = c")] {
            let span = second_names(0, text).expect_err(text);
            assert_eq!(&text[span.start as usize..span.end as usize], wrong);
        }
    }
}
