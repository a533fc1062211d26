//! Frames: CSV files whose columns have types of their own.

use super::error::{IoError, Problem, shown, within_memory};
use super::format::{Format, is_gzip_name};
use super::metadata::Metadata;
use super::number::{parse_number, write_number};
use super::output::Output;
use super::source::{Limits, Source};
use crate::budget::MemoryKind;
use crate::frame::{Column, Frame};
use crate::growing::Tally;
use csv::{ByteRecord, ReaderBuilder, Terminator, Writer, WriterBuilder};
use fuseline_ir::ScalarType;
use std::io::{self, Read, Write};
use std::path::Path;

/// A reader that reserves the memory of the record that is being read: nothing else bounds its length.
struct Unfinished<R> {
    reader: R,
    held: Tally,
}

impl<R: Read> Unfinished<R> {
    fn new(reader: R) -> Self {
        Unfinished { reader, held: Tally::new(MemoryKind::File) }
    }

    /// The record is complete.
    fn finish(&mut self) {
        self.held.clear();
    }
}

impl<R: Read> Read for Unfinished<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.reader.read(buffer)?;
        // Twice: what holds the record doubles when it is full.
        self.held.add(2 * length);
        Ok(length)
    }
}

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
    let mut reader = ReaderBuilder::new()
        .delimiter(metadata.separator(path)?)
        .has_headers(metadata.header == Some(true))
        .flexible(true)
        .from_reader(Unfinished::new(source.content()?));
    let broken = |error: csv::Error| broken(path, error);
    let names = match metadata.header {
        Some(true) => reader.byte_headers().map_err(broken)?.iter().map(text).collect(),
        _ => Vec::new(),
    };
    let mut columns: Option<Columns<'_>> = None;
    let mut record = ByteRecord::new();
    let (mut rows, mut held) = (0, Tally::new(MemoryKind::Frame));
    while reader.read_byte_record(&mut record).map_err(broken)? {
        reader.get_mut().finish();
        held.add(record.as_slice().len() + record.len() * size_of::<String>());
        let columns = match &mut columns {
            Some(columns) => columns,
            None => columns.insert(Columns::new(path, &metadata, record.len())?),
        };
        columns.push(&record)?;
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

fn broken(path: &Path, error: csv::Error) -> IoError {
    let line = error.position().map_or(0, csv::Position::line);
    match error.into_kind() {
        csv::ErrorKind::Io(error) => IoError::system("read", path, error),
        kind => IoError::content(path, line, Problem::at(0, format!("{kind:?}"))),
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The columns while they are read.
struct Columns<'a> {
    path: &'a Path,
    columns: Vec<Column>,
    /// Texts that stand for a missing value.
    missing: Vec<&'a [u8]>,
    /// The number of a missing double.
    default: f64,
}

impl<'a> Columns<'a> {
    fn new(path: &'a Path, metadata: &'a Metadata, cols: usize) -> Result<Self, IoError> {
        let column = |scalar| match scalar {
            ScalarType::F64 => Column::F64(Vec::new()),
            ScalarType::I64 => Column::I64(Vec::new()),
            ScalarType::Bool => Column::Bool(Vec::new()),
            ScalarType::Str => Column::Str(Vec::new()),
        };
        let columns = metadata.column_types(path, cols)?.into_iter().map(column).collect();
        let default = if metadata.fill == Some(true) { metadata.default.unwrap_or(0.0) } else { f64::NAN };
        Ok(Columns { path, columns, missing: metadata.na_texts().map(str::as_bytes).collect(), default })
    }

    /// Appends a row.
    fn push(&mut self, record: &ByteRecord) -> Result<(), IoError> {
        let line = record.position().map_or(0, csv::Position::line);
        let (cells, cols) = (record.len(), self.columns.len());
        if cells != cols {
            let problem = format!("the row has {cells} cells, those before have {cols}");
            return Err(IoError::content(self.path, line, Problem::at(0, problem)));
        }
        for (position, (cell, column)) in record.iter().zip(&mut self.columns).enumerate() {
            let is_missing = cell.is_empty() || self.missing.contains(&cell);
            append(column, cell, is_missing, self.default).map_err(|problem| {
                let problem = format!("column {}: {problem}", position + 1);
                IoError::content(self.path, line, Problem::at(0, problem))
            })?;
        }
        Ok(())
    }
}

fn append(column: &mut Column, cell: &[u8], is_missing: bool, default: f64) -> Result<(), String> {
    let trimmed = cell.trim_ascii();
    match column {
        Column::Str(cells) => cells.push(if is_missing { String::new() } else { text(cell) }),
        Column::F64(cells) => cells.push(if is_missing { default } else { parse_number(trimmed)? }),
        Column::I64(_) | Column::Bool(_) if is_missing => {
            return Err("a missing value needs a column of type FP64 or STRING".to_owned());
        }
        Column::I64(cells) => {
            let number = std::str::from_utf8(trimmed).ok().and_then(|text| text.parse().ok());
            cells.push(number.ok_or_else(|| format!("`{}` is not an integer", shown(cell)))?);
        }
        Column::Bool(cells) => cells.push(match trimmed.to_ascii_lowercase().as_slice() {
            b"true" | b"t" | b"1" => true,
            b"false" | b"f" | b"0" => false,
            _ => return Err(format!("`{}` is not a truth value", shown(cell))),
        }),
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
