//! What was learnt of a frame, as a frame of texts.

use super::{Codes, Encoding, Learnt, Specification, TransformError};
use fuseline_ir::Value;
use fuseline_matrix::{Collected, Column, Frame, StopListener};

/// Between the two parts of an entry.
const SEPARATOR: char = '·';

/// What was learnt, as a frame with the same columns; the shorter ones end in missing cells.
pub(crate) fn to_frame(learnt: &[Learnt]) -> Frame {
    let rows = learnt.iter().map(Learnt::count).max().unwrap_or(0);
    let columns = learnt.iter().map(|learnt| {
        let missing = std::iter::repeat_n(None, rows - learnt.count());
        Column::of_optional_texts(learnt.entries().map(Some).chain(missing))
    });
    let columns: Collected<_> = columns.collect();
    let names: Collected<_> = learnt.iter().map(|learnt| learnt.name.clone()).collect();
    // All columns have `rows` cells.
    Frame::new(columns.into_vec(), names.into_vec()).unwrap_or_default()
}

/// What a frame says was learnt, of a frame with these columns.
///
/// # Errors
/// It has other columns, or entries that the specification does not ask for.
pub(crate) fn from_frame(frame: &Frame, specification: &Specification) -> Result<Collected<Learnt>, TransformError> {
    let expected = specification.columns.len();
    if frame.cols() != expected {
        return Err(TransformError::Columns { what: "the learnt frame", expected, actual: frame.cols() });
    }
    let columns = frame.columns().iter().zip(frame.names()).zip(&specification.columns);
    let learnt = columns.map(|((column, name), specification)| {
        let mut learnt = Learnt {
            name: name.clone(),
            encoding: match specification.bin {
                Some(_) => Encoding::Bin(Collected::default()),
                None if specification.recode => Encoding::Recode(Codes::default()),
                None => Encoding::PassThrough,
            },
            dummycode: specification.dummycode,
            replacement: None,
        };
        let entries = (0..column.len()).map(|row| column.text(row)).filter(|entry| !entry.is_empty());
        let stop = StopListener::current();
        for entry in entries {
            stop.check();
            learnt.add_entry(&entry).map_err(|problem| TransformError::Meta { column: name.clone(), problem })?;
        }
        Ok(learnt)
    });
    learnt.collect()
}

/// The two parts of an entry.
pub(crate) fn split_entry(entry: &str) -> Option<(&str, &str)> {
    entry.rsplit_once(SEPARATOR)
}

impl Learnt {
    /// How many entries there are.
    fn count(&self) -> usize {
        let encoded = match &self.encoding {
            Encoding::PassThrough => 0,
            Encoding::Recode(codes) => codes.categories.len(),
            Encoding::Bin(bins) => bins.len(),
        };
        encoded + self.replacement.iter().len()
    }

    fn entries(&self) -> Box<dyn Iterator<Item = String> + '_> {
        let replacement = self.replacement.iter().map(|value| format!("{SEPARATOR}{value}"));
        match &self.encoding {
            Encoding::PassThrough => Box::new(replacement),
            Encoding::Recode(codes) => {
                let coded = codes.categories.keys().zip(1..).map(|(text, code)| format!("{text}{SEPARATOR}{code}"));
                Box::new(coded.chain(replacement))
            }
            Encoding::Bin(bins) => {
                let text = |&(lower, upper)| format!("{}{SEPARATOR}{}", Value::F64(lower), Value::F64(upper));
                Box::new(bins.iter().map(text).chain(replacement))
            }
        }
    }

    fn add_entry(&mut self, entry: &str) -> Result<(), String> {
        let unexpected = || format!("has the unexpected entry `{entry}`");
        let (first, second) = split_entry(entry).ok_or_else(unexpected)?;
        if first.is_empty() {
            self.replacement = Some(second.to_owned());
            return Ok(());
        }
        match &mut self.encoding {
            Encoding::PassThrough => return Err(unexpected()),
            Encoding::Recode(codes) => {
                codes.insert(first.to_owned());
                // Entries stand in the order of their codes.
                if second.parse() != Ok(codes.categories.len()) {
                    return Err(format!("has the entry `{entry}` out of order"));
                }
            }
            Encoding::Bin(bins) => {
                let bounds = first.parse().ok().zip(second.parse().ok());
                bins.push(bounds.ok_or_else(unexpected)?);
            }
        }
        Ok(())
    }
}
