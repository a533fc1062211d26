//! libsvm files: one line `label index:value ...` per row, indexes 1-based and ascending.
//!
//! The matrix of a file has the features in its first columns and the label in the last one. Blanks separate entries, or
//! commas, which SystemDS writes, or what the metadata says.

use super::entries::check_dimensions;
use super::error::{IoError, Problem, shown};
use super::lines::{LineReader, Lines};
use super::metadata::{Metadata, separator};
use super::number::{Fields, parse_count, parse_number, write_number};
use super::source::Source;
use crate::block::MatrixBlock;
use crate::budget::MemoryKind;
use crate::csr::Csr;
use crate::growing::Growing;
use crate::run_context::StopListener;
use std::io::Write;
use std::path::Path;

/// What stands between the parts of a line.
#[derive(Clone, Copy)]
pub(super) struct Separators {
    /// Between entries, beside blanks; a comma is read where nothing is said, and a blank written.
    entries: Option<u8>,
    /// Between an index and its value.
    index: u8,
}

impl Separators {
    /// # Errors
    /// They are no single characters, or the parts of a line cannot be told by them.
    pub(super) fn new(path: &Path, metadata: &Metadata) -> Result<Self, IoError> {
        let byte = |text: &String| separator(path, text);
        let entries = metadata.sep.as_ref().map(byte).transpose()?;
        let index = metadata.ind_sep.as_ref().map(byte).transpose()?.unwrap_or(b':');
        if entries == Some(index) || b" \t".contains(&index) || [entries, Some(index)].contains(&Some(b'#')) {
            let problem = "`sep` stands between entries and `indSep` between an index and its value: they are two \
                           characters, of which the second is no blank, and `#` begins a comment";
            return Err(IoError::description(path, problem));
        }
        Ok(Separators { entries, index })
    }
}

/// Rows: labels, and features one row after the other.
#[derive(Default)]
struct Rows {
    labels: Vec<f64>,
    lengths: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f64>,
}

/// The rows of all blocks.
struct AllRows {
    labels: Growing<f64>,
    lengths: Growing<usize>,
    columns: Growing<u32>,
    values: Growing<f64>,
}

/// Reads a matrix of as many columns as the metadata says (the label's included), or else as the largest index asks.
pub(super) fn read(source: &mut Source<'_>, metadata: &Metadata) -> Result<MatrixBlock, IoError> {
    let path = source.path;
    if metadata.cols == Some(0) {
        return Err(IoError::description(path, "the label needs a column"));
    }
    let separators = Separators::new(path, metadata)?;
    let last_feature = metadata.cols.map_or(u64::from(u32::MAX) - 1, |cols| cols - 1);
    check_dimensions(source, 0, last_feature + 1)?;
    let mut all = AllRows {
        labels: Growing::new(MemoryKind::File),
        lengths: Growing::new(MemoryKind::File),
        columns: Growing::new(MemoryKind::File),
        values: Growing::new(MemoryKind::File),
    };
    LineReader::new(source)?.parse_blocks(
        |lines| parse(lines, separators, last_feature),
        |_, _, block| {
            all.labels.append(block.labels);
            all.lengths.append(block.lengths);
            all.columns.append(block.columns);
            all.values.append(block.values);
            Ok(())
        },
    )?;
    let features = all.columns.iter().max().map_or(0, |&column| u64::from(column) + 1);
    let cols = metadata.cols.unwrap_or(features + 1);
    metadata.check_dimensions(path, all.labels.len() as u64, cols)?;
    with_labels(&all, cols as usize).map_err(|error| IoError::description(path, error.to_string())).map(Into::into)
}

fn parse(lines: &mut Lines<'_>, separators: Separators, last_feature: u64) -> Result<Rows, Problem> {
    let mut rows = Rows::default();
    for line in lines {
        let line = memchr::memchr(b'#', line).map_or(line, |comment| &line[..comment]);
        let mut fields = Fields::separated_by(separators.entries.unwrap_or(b','), line);
        if fields.clone().next().is_none() {
            continue;
        }
        rows.labels.push(fields.number("label")?);
        let (start, mut last) = (rows.columns.len(), 0);
        for (offset, field) in fields {
            let (index, value) =
                feature(field, separators.index, last_feature).map_err(|message| Problem::at(offset, message))?;
            if index <= last {
                return Err(Problem::at(
                    offset,
                    format!("the index {index} does not exceed the one before it, {last}"),
                ));
            }
            last = index;
            if value != 0.0 {
                rows.columns.push((index - 1) as u32);
                rows.values.push(value);
            }
        }
        rows.lengths.push(rows.columns.len() - start);
    }
    Ok(rows)
}

fn feature(field: &[u8], separator: u8, last_feature: u64) -> Result<(u64, f64), String> {
    let parts = memchr::memchr(separator, field).map(|at| (&field[..at], &field[at + 1..]));
    let Some((index, value)) = parts else {
        return Err(format!("`{}` is not `index{}value`", shown(field), shown(&[separator])));
    };
    match parse_count(index) {
        Some(number) if (1..=last_feature).contains(&number) => Ok((number, parse_number(value)?)),
        Some(number) => Err(format!("the index {number} is not within 1 to {last_feature}")),
        None => Err(format!("`{}` is not an index", shown(index))),
    }
}

fn with_labels(rows: &AllRows, cols: usize) -> Result<Csr, crate::error::CsrError> {
    let size = rows.columns.len() + rows.labels.len();
    let mut columns = Growing::with_capacity(MemoryKind::Matrix, size);
    let mut values = Growing::with_capacity(MemoryKind::Matrix, size);
    let mut row_offsets = Growing::with_capacity(MemoryKind::Matrix, rows.labels.len() + 1);
    row_offsets.push(0);
    let (mut start, stop) = (0, StopListener::current());
    for (&label, &length) in rows.labels.iter().zip(&*rows.lengths) {
        stop.check();
        columns.extend_from_slice(&rows.columns[start..start + length]);
        values.extend_from_slice(&rows.values[start..start + length]);
        start += length;
        if label != 0.0 {
            columns.push((cols - 1) as u32);
            values.push(label);
        }
        row_offsets.push(values.len());
    }
    Csr::new(rows.labels.len(), cols, row_offsets.into_vec(), columns.into_vec(), values.into_vec())
}

/// Writes a matrix whose last column holds the labels.
pub(super) fn write(block: &MatrixBlock, out: &mut impl Write, separators: Separators) -> std::io::Result<()> {
    let csr = block.to_csr();
    let Some(label_column) = csr.cols().checked_sub(1) else {
        return Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, "the label needs a column"));
    };
    for i in 0..csr.rows() {
        let (columns, values) = csr.row(i);
        let features = columns.partition_point(|&column| (column as usize) < label_column);
        write_number(out, values.get(features).copied().unwrap_or(0.0))?;
        for (&column, &value) in columns.iter().zip(values).take(features) {
            out.write_all(&[separators.entries.unwrap_or(b' ')])?;
            write!(out, "{}", u64::from(column) + 1)?;
            out.write_all(&[separators.index])?;
            write_number(out, value)?;
        }
        out.write_all(b"\n")?;
    }
    Ok(())
}
