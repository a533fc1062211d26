//! Frames: CSV files whose columns have types of their own.

use super::error::{IoError, Problem, shown, within_memory};
use super::format::{Format, is_gzip_name};
use super::metadata::Metadata;
use super::number::{parse_number, write_number};
use super::output::Output;
use super::source::{Limits, Source};
use crate::budget::MemoryKind;
use crate::collected::{Collected, Part, Tally, copied_text};
use crate::frame::{Column, Frame};
use crate::growing::Growing;
use csv::{Terminator, Writer, WriterBuilder};
use csv_core::ReadRecordResult;
use fuseline_ir::ScalarType;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;

/// Reads records: the cells of lines, of which those without a cell are passed over. Nothing but the budget bounds their
/// length.
struct Records<R> {
    reader: BufReader<R>,
    parser: csv_core::Reader,
    /// The cells of the record that was read last, one after the other, and room for more.
    cells: Growing<u8>,
    /// Where each cell ends, and room for more.
    ends: Growing<usize>,
    /// How many cells there are.
    count: usize,
    /// The line in which the record begins, from 1.
    line: u64,
}

impl<R: Read> Records<R> {
    fn new(reader: R, separator: u8) -> Self {
        Records {
            reader: BufReader::new(reader),
            parser: csv_core::ReaderBuilder::new().delimiter(separator).build(),
            cells: Growing::new(MemoryKind::File),
            ends: Growing::new(MemoryKind::File),
            count: 0,
            line: 0,
        }
    }

    /// Reads the next record, if there is one.
    fn read(&mut self) -> io::Result<bool> {
        let (mut filled, mut ended) = (0, 0);
        self.line = self.parser.line();
        loop {
            let input = self.reader.fill_buf()?;
            let (cells, ends) = (&mut self.cells[filled..], &mut self.ends[ended..]);
            let (result, taken, written, finished) = self.parser.read_record(input, cells, ends);
            self.reader.consume(taken);
            filled += written;
            ended += finished;
            match result {
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull => self.cells.extend_with(filled.max(LEAST_ROOM), 0),
                ReadRecordResult::OutputEndsFull => self.ends.extend_with(ended.max(LEAST_ROOM), 0),
                ReadRecordResult::Record => {
                    self.count = ended;
                    return Ok(true);
                }
                ReadRecordResult::End => return Ok(false),
            }
        }
    }

    /// The cells of the record that was read last.
    fn cells(&self) -> impl Iterator<Item = &[u8]> {
        let ends = &self.ends[..self.count];
        let starts = std::iter::once(0).chain(ends.iter().copied());
        starts.zip(ends).map(|(start, &end)| &self.cells[start..end])
    }

    /// The error of a problem in the record that was read last.
    fn error(&self, path: &Path, problem: impl Into<String>) -> IoError {
        IoError::content(path, self.line, Problem::at(0, problem))
    }
}

/// Bytes, and cells, that records have room for at first.
const LEAST_ROOM: usize = 256;

/// Reads a frame from CSV; `arguments` override the metadata beside the file.
///
/// The columns hold texts, unless a schema or a value type says otherwise. An empty cell, and one of the texts that
/// stand for a missing value, is an empty text or NaN; integers and truth values cannot be missing.
///
/// # Errors
/// A missing or unreadable file, rows of several lengths, cells that are not of their column's type, sizes that
/// contradict the data.
pub fn read_frame(path: &Path, arguments: &Metadata) -> Result<Frame, IoError> {
    within_memory("read", path, || read(path, arguments))
}

fn read(path: &Path, arguments: &Metadata) -> Result<Frame, IoError> {
    let mut source = Source::of_file(path, Limits::default())?;
    let metadata = arguments.clone().or(Metadata::beside(path)?.unwrap_or_default());
    check_format(path, &metadata)?;
    let separator = metadata.separator(path)?;
    let mut records = Records::new(source.content()?, separator);
    let unreadable = |error| IoError::system("read", path, error);
    let mut names = Vec::new();
    if metadata.header == Some(true) && records.read().map_err(unreadable)? {
        names = records.cells().map(text).collect::<Collected<_>>().into_vec();
    }
    let mut columns: Option<Columns<'_>> = None;
    let mut rows = 0;
    while records.read().map_err(unreadable)? {
        let columns = match &mut columns {
            Some(columns) => columns,
            None => columns.insert(Columns::new(path, &metadata, records.count)?),
        };
        columns.push(&records)?;
        rows += 1;
    }
    let columns = match columns {
        Some(columns) => columns,
        None => Columns::new(path, &metadata, names.len())?,
    };
    metadata.check_dimensions(path, rows, columns.columns.len() as u64)?;
    Frame::new(columns.columns, names).map_err(|error| IoError::description(path, error.to_string()))
}

fn check_format(path: &Path, metadata: &Metadata) -> Result<(), IoError> {
    // What nothing says the format of is CSV, the only one.
    let is_stated = metadata.format.is_some() || Format::of_name(path).is_some();
    match metadata.format_of(path)? {
        Format::Csv => Ok(()),
        _ if !is_stated => Ok(()),
        other => Err(IoError::description(path, format!("frames are read and written as csv, not as {other}"))),
    }
}

fn text(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => copied_text(text),
        Err(_) => String::from_utf8_lossy(bytes).into_owned(),
    }
}

/// The columns while they are read.
struct Columns<'a> {
    path: &'a Path,
    columns: Vec<Column>,
    /// Texts that stand for a missing value.
    missing: Vec<&'a [u8]>,
    /// The number of a missing double.
    default: f64,
    /// The memory of the cells.
    held: Tally,
}

impl<'a> Columns<'a> {
    fn new(path: &'a Path, metadata: &'a Metadata, cols: usize) -> Result<Self, IoError> {
        let column = |scalar| match scalar {
            ScalarType::F64 => Column::F64(Vec::new()),
            ScalarType::I64 => Column::I64(Vec::new()),
            ScalarType::Bool => Column::Bool(Vec::new()),
            ScalarType::Str => Column::Str(Vec::new()),
        };
        let columns =
            metadata.column_types(path, cols)?.iter().copied().map(column).collect::<Collected<_>>().into_vec();
        let default = if metadata.fill == Some(true) { metadata.default.unwrap_or(0.0) } else { f64::NAN };
        let missing = metadata.na_texts().map(str::as_bytes).collect();
        Ok(Columns { path, columns, missing, default, held: Tally::new(MemoryKind::Frame) })
    }

    /// Appends a row.
    fn push(&mut self, record: &Records<impl Read>) -> Result<(), IoError> {
        let (cells, cols) = (record.count, self.columns.len());
        if cells != cols {
            return Err(record.error(self.path, format!("the row has {cells} cells, those before have {cols}")));
        }
        for (position, (cell, column)) in record.cells().zip(&mut self.columns).enumerate() {
            let is_missing = cell.is_empty() || self.missing.contains(&cell);
            append(&mut self.held, column, cell, is_missing, self.default)
                .map_err(|problem| record.error(self.path, format!("column {}: {problem}", position + 1)))?;
        }
        Ok(())
    }
}

fn append(held: &mut Tally, column: &mut Column, cell: &[u8], is_missing: bool, default: f64) -> Result<(), String> {
    let trimmed = cell.trim_ascii();
    match column {
        Column::Str(cells) => {
            let text = (!is_missing).then(|| text(cell));
            held.add(text.own_bytes());
            held.push(cells, text);
        }
        Column::F64(cells) => held.push(cells, if is_missing { default } else { parse_number(trimmed)? }),
        Column::I64(_) | Column::Bool(_) if is_missing => {
            return Err("a missing value needs a column of type FP64 or STRING".to_owned());
        }
        Column::I64(cells) => {
            let number = std::str::from_utf8(trimmed).ok().and_then(|text| text.parse().ok());
            held.push(cells, number.ok_or_else(|| format!("`{}` is not an integer", shown(cell)))?);
        }
        Column::Bool(cells) => held.push(
            cells,
            match trimmed.to_ascii_lowercase().as_slice() {
                b"true" | b"t" | b"1" => true,
                b"false" | b"f" | b"0" => false,
                _ => return Err(format!("`{}` is not a truth value", shown(cell))),
            },
        ),
    }
    Ok(())
}

/// Writes a frame as CSV, and the metadata beside it.
///
/// # Errors
/// The file cannot be written, or another format is asked for.
pub fn write_frame(frame: &Frame, path: &Path, arguments: &Metadata) -> Result<(), IoError> {
    check_format(path, arguments)?;
    let separator = arguments.separator(path)?;
    let has_header = arguments.header.unwrap_or(false);
    let mut out = Output::create(path, is_gzip_name(path))?;
    let failed = |error: std::io::Error| IoError::system("write", path, error);
    let mut writer = WriterBuilder::new().delimiter(separator).terminator(Terminator::Any(b'\n')).from_writer(&mut out);
    write_rows(frame, has_header, &mut writer).map_err(|error| failed(error.into()))?;
    drop(writer);
    let schema: Vec<&str> = frame.schema().map(ScalarType::schema_name).collect();
    let metadata = Metadata {
        data_type: Some("frame".to_owned()),
        rows: Some(frame.rows() as u64),
        cols: Some(frame.cols() as u64),
        format: Some(Format::Csv.to_string()),
        header: Some(has_header),
        sep: Some(arguments.separator_text(path).to_owned()),
        schema: Some(schema.join(",")),
        description: arguments.description.clone(),
        ..Metadata::default()
    };
    out.finish_with(&metadata, path)
}

fn write_rows(frame: &Frame, has_header: bool, writer: &mut Writer<impl Write>) -> csv::Result<()> {
    if has_header {
        writer.write_record(frame.names())?;
    }
    for row in 0..frame.rows() {
        for column in frame.columns() {
            writer.write_field(cell_text(column, row))?;
        }
        writer.write_record(None::<&[u8]>)?;
    }
    Ok(writer.flush()?)
}

fn cell_text(column: &Column, row: usize) -> Vec<u8> {
    match column {
        Column::F64(cells) if cells[row].is_nan() => Vec::new(),
        Column::F64(cells) => {
            let mut text = Vec::new();
            write_number(&mut text, cells[row]).map_or_else(|_| Vec::new(), |()| text)
        }
        _ => column.text(row).into_bytes(),
    }
}
