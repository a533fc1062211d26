//! CSV: rows of cells, with or without a header line.
//!
//! Cells may stand in double quotes, in which a quote is doubled. A number holds no newline, so that blocks of lines
//! can be parsed apart; names of columns may.

use super::error::{IoError, Problem, shown};
use super::lines::{LineReader, Lines};
use super::metadata::Metadata;
use super::number::{leading_number, parse_number, write_number};
use super::source::Source;
use crate::block::MatrixBlock;
use crate::budget::MemoryKind;
use crate::dense::Dense;
use crate::growing::Growing;
use crate::layout::Layout;
use std::borrow::Cow;
use std::io::Write;

pub(super) fn read(source: &mut Source<'_>, metadata: &Metadata) -> Result<MatrixBlock, IoError> {
    let path = source.path;
    let mut format = CellFormat::new(source, metadata)?;
    let mut lines = LineReader::new(source)?;
    if metadata.header == Some(true) {
        skip_header(&mut lines)?;
    }
    while lines.peek()?.is_some_and(<[u8]>::is_empty) && format.cols != Some(0) {
        lines.take_line()?;
    }
    let first_line = lines.lines() + 1;
    let Some(first) = lines.peek()? else {
        let cols = format.cols.unwrap_or(0);
        metadata.check_dimensions(path, 0, cols as u64)?;
        return Ok(Dense::zeros(0, cols).into());
    };
    let cols = format.cols.unwrap_or_else(|| format.count_cells(first));
    format.cols = Some(cols);
    let (mut rows, mut values) = (0, Growing::new(MemoryKind::Matrix));
    let result = lines.parse_blocks(
        |lines| format.parse(lines),
        |_, _, block: Rows| {
            rows += block.rows;
            values.append(block.values);
            Ok(())
        },
    );
    result.map_err(|error| match error {
        IoError::Content { path, line, column, mut problem } if line == first_line => {
            if metadata.header.is_none() && problem.ends_with("is not a number") {
                problem.push_str(" (if the first line names the columns, say header=TRUE)");
            }
            IoError::Content { path, line, column, problem }
        }
        other => other,
    })?;
    metadata.check_dimensions(path, rows as u64, cols as u64)?;
    Ok(Dense::from_memory(rows, cols, values.into()).into())
}

/// Takes the names of columns.
fn skip_header(lines: &mut LineReader<'_>) -> Result<(), IoError> {
    let mut is_open = false;
    while let Some(line) = lines.take_line()? {
        is_open ^= memchr::memchr_iter(b'"', &line).count() % 2 == 1;
        if !is_open {
            return Ok(());
        }
    }
    if is_open { Err(lines.error(Problem::at(0, "the file ends within quotes"))) } else { Ok(()) }
}

/// Rows of cells.
struct Rows {
    rows: usize,
    values: Vec<f64>,
}

/// How cells are written.
struct CellFormat {
    separator: u8,
    /// Blanks around a number mean nothing, unless they separate.
    skips_spaces: bool,
    /// The value of empty cells, where they are allowed.
    empty: Option<f64>,
    /// Texts that stand for NaN.
    missing: Vec<Vec<u8>>,
    cols: Option<usize>,
    /// Whether the columns were declared, rather than counted in the first row.
    has_declared_cols: bool,
}

impl CellFormat {
    fn new(source: &Source<'_>, metadata: &Metadata) -> Result<Self, IoError> {
        let separator = metadata.separator(source.path)?;
        let cols = match metadata.cols.map(usize::try_from) {
            Some(Err(_)) => return Err(IoError::description(source.path, "that many columns do not fit into memory")),
            Some(Ok(cols)) => Some(cols),
            None => None,
        };
        Ok(CellFormat {
            separator,
            skips_spaces: separator != b' ',
            empty: metadata.fill.unwrap_or(false).then_some(metadata.default.unwrap_or(0.0)),
            missing: metadata.na_texts().map(|text| text.as_bytes().to_vec()).collect(),
            cols,
            has_declared_cols: cols.is_some(),
        })
    }

    fn parse(&self, lines: &mut Lines<'_>) -> Result<Rows, Problem> {
        let cols = self.cols.unwrap_or(0);
        let count = |byte| memchr::memchr_iter(byte, lines.rest()).count();
        let mut block = Rows { rows: 0, values: Vec::with_capacity(count(self.separator) + count(b'\n') + 1) };
        for line in lines {
            if line.is_empty() && cols > 0 {
                continue;
            }
            self.parse_row(line, cols, &mut block.values)?;
            block.rows += 1;
        }
        Ok(block)
    }

    fn parse_row(&self, line: &[u8], cols: usize, values: &mut Vec<f64>) -> Result<(), Problem> {
        // Behind the end of the line once its last cell is parsed.
        let mut at = if cols == 0 && line.is_empty() { 1 } else { 0 };
        for column in 1..=cols {
            if at > line.len() {
                return Err(self.other_width(line, line.len(), cols));
            }
            if self.skips_spaces && line.get(at) == Some(&b' ') {
                at += line[at..].iter().take_while(|&&byte| byte == b' ').count();
            }
            let (value, length) = match leading_number(&line[at..]) {
                Some((value, length)) if self.ends_cell(line, at + length) => (value, length),
                _ => self.parse_cell(line, at, column)?,
            };
            values.push(value);
            at += length + 1;
        }
        if at <= line.len() { Err(self.other_width(line, at, cols)) } else { Ok(()) }
    }

    fn ends_cell(&self, line: &[u8], at: usize) -> bool {
        line.get(at).is_none_or(|&byte| byte == self.separator)
    }

    /// A cell that does not begin with its number, and its length.
    #[cold]
    fn parse_cell(&self, line: &[u8], at: usize, column: usize) -> Result<(f64, usize), Problem> {
        let located = |message: String| Problem::at(at, format!("column {column}: {message}"));
        let (cell, length) = self.cell(line, at).map_err(|message| located(message.to_owned()))?;
        let text = cell.trim_ascii();
        if self.missing.iter().any(|missing| missing == text) {
            return Ok((f64::NAN, length));
        }
        let value = match (text, self.empty) {
            ([], Some(value)) => Ok(value),
            ([], None) => Err("the cell is empty (say fill=TRUE to allow that)".to_owned()),
            _ => parse_number(text).map_err(|problem| explain_number(text, problem)),
        };
        Ok((value.map_err(located)?, length))
    }

    /// The text of the cell that begins at `at`, without its quotes, and its length.
    fn cell<'a>(&self, line: &'a [u8], at: usize) -> Result<(Cow<'a, [u8]>, usize), &'static str> {
        let rest = &line[at..];
        let blanks = rest.iter().take_while(|&&byte| byte == b' ' && self.skips_spaces).count();
        if rest.get(blanks) != Some(&b'"') {
            let length = memchr::memchr(self.separator, rest).unwrap_or(rest.len());
            return Ok((Cow::Borrowed(&rest[..length]), length));
        }
        let mut end = blanks + 1;
        let mut text = Vec::new();
        loop {
            let quote = end + memchr::memchr(b'"', &rest[end..]).ok_or("the line ends within quotes")?;
            text.extend_from_slice(&rest[end..quote]);
            end = quote + 1;
            if rest.get(end) != Some(&b'"') {
                break;
            }
            text.push(b'"');
            end += 1;
        }
        end += rest[end..].iter().take_while(|&&byte| byte == b' ' && self.skips_spaces).count();
        if !self.ends_cell(rest, end) {
            return Err("text follows the closing quote");
        }
        Ok((Cow::Owned(text), end))
    }

    fn count_cells(&self, line: &[u8]) -> usize {
        let (mut cells, mut at) = (0, 0);
        while at <= line.len() {
            // What follows broken quotes is one cell.
            at += self.cell(line, at).map_or(line.len(), |(_, length)| length) + 1;
            cells += 1;
        }
        cells
    }

    #[cold]
    fn other_width(&self, line: &[u8], at: usize, cols: usize) -> Problem {
        let cells = self.count_cells(line);
        let others = if self.has_declared_cols { "declared are" } else { "those before have" };
        Problem::at(at, format!("the row has {cells} cells, {others} {cols}"))
    }
}

fn explain_number(text: &[u8], problem: String) -> String {
    let with_point: Vec<u8> = text.iter().map(|&byte| if byte == b',' { b'.' } else { byte }).collect();
    if with_point != text && parse_number(&with_point).is_ok() {
        return format!("`{}` has a decimal comma; numbers are written with a point", shown(text));
    }
    problem
}

pub(super) fn write(
    block: &MatrixBlock,
    out: &mut impl Write,
    separator: &str,
    has_header: bool,
) -> std::io::Result<()> {
    if has_header {
        let names: Vec<String> = (1..=block.cols()).map(|column| format!("C{column}")).collect();
        writeln!(out, "{}", names.join(separator))?;
    }
    let (mut row, layout) = (vec![0.0; block.cols()], block.layout());
    for i in 0..block.rows() {
        match &layout {
            Layout::Dense(dense) => row.copy_from_slice(dense.row(i)),
            Layout::Sparse(csr) => {
                row.fill(0.0);
                let (columns, values) = csr.row(i);
                for (&j, &value) in columns.iter().zip(values) {
                    row[j as usize] = value;
                }
            }
        }
        for (j, &value) in row.iter().enumerate() {
            if j > 0 {
                out.write_all(separator.as_bytes())?;
            }
            write_number(out, value)?;
        }
        out.write_all(b"\n")?;
    }
    Ok(())
}
