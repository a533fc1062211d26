//! Readers and writers of file formats.
//!
//! Data files have their metadata beside them, in `FILE.mtd` (JSON, as in SystemML and SystemDS); arguments given by
//! the caller override it. Errors name file and line. Declared sizes are checked against the data, never trusted for
//! memory.

mod csv;
mod metadata;
#[cfg(test)]
mod tests;
mod text;

pub use metadata::Metadata;

use crate::block::MatrixBlock;
use fuseline_ir::{ScalarType, Value};
use std::fmt;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use thiserror::Error;

/// A file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Comma-separated rows of cells.
    Csv,
    /// One line `row column value` per non-zero, 1-based.
    Text,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Format::Csv => "csv",
            Format::Text => "text",
        })
    }
}

impl FromStr for Format {
    type Err = String;
    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "csv" => Ok(Format::Csv),
            "text" | "ijv" => Ok(Format::Text),
            other => Err(format!("the format `{other}` is not known; csv and text are")),
        }
    }
}

/// A file that cannot be read or written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum IoError {
    /// The operating system says no.
    #[error("cannot {action} {}: {source}", path.display())]
    System {
        /// `open`, `read` or `write`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A directory where a file is needed.
    #[error("{} is a directory, not a file", path.display())]
    Directory {
        /// The path.
        path: PathBuf,
    },
    /// Content that is not what the format says.
    #[error("{}:{line}: {problem}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// 1-based.
        line: u64,
        /// What is wrong.
        problem: String,
    },
    /// Metadata or arguments that make no sense.
    #[error("{}: {problem}", path.display())]
    Description {
        /// The data file or its metadata file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
}

impl IoError {
    pub(crate) fn system(action: &'static str, path: &Path, source: std::io::Error) -> Self {
        IoError::System { action, path: path.to_owned(), source }
    }

    pub(crate) fn content(path: &Path, line: u64, problem: impl Into<String>) -> Self {
        IoError::Content { path: path.to_owned(), line, problem: problem.into() }
    }

    pub(crate) fn description(path: &Path, problem: impl Into<String>) -> Self {
        IoError::Description { path: path.to_owned(), problem: problem.into() }
    }
}

/// Opens a file, with a clear error for directories.
pub(crate) fn open(path: &Path) -> Result<File, IoError> {
    let file = File::open(path).map_err(|source| IoError::system("open", path, source))?;
    match file.metadata() {
        Ok(metadata) if metadata.is_dir() => Err(IoError::Directory { path: path.to_owned() }),
        _ => Ok(file),
    }
}

/// Reads a matrix.
///
/// `arguments` override the metadata beside the file. Without a format, files whose name ends in `.csv` are CSV and
/// others are text.
///
/// # Errors
/// A missing or unreadable file, content that the format does not allow, sizes that contradict the data.
pub fn read_matrix(path: &Path, arguments: &Metadata) -> Result<MatrixBlock, IoError> {
    let file = open(path)?;
    let metadata = arguments.clone().or(Metadata::beside(path)?.unwrap_or_default());
    let block = match metadata.format_of(path)? {
        Format::Csv => csv::read(path, file, &metadata)?,
        Format::Text => text::read(path, file, &metadata)?,
    };
    Ok(block.in_best_format())
}

/// Reads a scalar of the type that the metadata or the arguments say; a double otherwise.
///
/// # Errors
/// A missing or unreadable file, or content of another type.
pub fn read_scalar(path: &Path, arguments: &Metadata) -> Result<Value, IoError> {
    open(path)?;
    let metadata = arguments.clone().or(Metadata::beside(path)?.unwrap_or_default());
    let content = std::fs::read_to_string(path).map_err(|source| IoError::system("read", path, source))?;
    let content = content.trim_end_matches(['\n', '\r']);
    let trimmed = content.trim();
    let value = match metadata.scalar_type(path)? {
        ScalarType::Str => Some(Value::Str(content.to_owned())),
        ScalarType::F64 => trimmed.parse().ok().map(Value::F64),
        ScalarType::I64 => trimmed.parse().ok().map(Value::I64),
        ScalarType::Bool => match trimmed {
            "TRUE" | "true" => Some(Value::Bool(true)),
            "FALSE" | "false" => Some(Value::Bool(false)),
            _ => None,
        },
    };
    let expected = metadata.value_type.as_deref().unwrap_or("double");
    value.ok_or_else(|| IoError::content(path, 1, format!("`{trimmed}` is not a scalar of type {expected}")))
}

/// Writes a matrix and the metadata beside it.
///
/// # Errors
/// The file cannot be written.
pub fn write_matrix(block: &MatrixBlock, path: &Path, arguments: &Metadata) -> Result<(), IoError> {
    let format = arguments.format_of(path)?;
    let mut out = create(path)?;
    let written = match format {
        Format::Csv => csv::write(block, &mut out, arguments),
        Format::Text => text::write(block, &mut out),
    };
    written.and_then(|()| out.flush()).map_err(|source| IoError::system("write", path, source))?;
    Metadata {
        data_type: Some("matrix".to_owned()),
        value_type: Some("double".to_owned()),
        rows: Some(block.rows() as u64),
        cols: Some(block.cols() as u64),
        nnz: Some(block.nnz() as u64),
        format: Some(format.to_string()),
        header: (format == Format::Csv).then_some(arguments.header.unwrap_or(false)),
        sep: (format == Format::Csv).then(|| arguments.sep.clone().unwrap_or_else(|| ",".to_owned())),
        ..Metadata::default()
    }
    .write_beside(path)
}

/// Writes a scalar and the metadata beside it.
///
/// # Errors
/// The file cannot be written.
pub fn write_scalar(value: &Value, path: &Path) -> Result<(), IoError> {
    let mut out = create(path)?;
    writeln!(out, "{value}").and_then(|()| out.flush()).map_err(|source| IoError::system("write", path, source))?;
    let value_type = match value.scalar_type() {
        ScalarType::F64 => "double",
        ScalarType::I64 => "int",
        ScalarType::Bool => "boolean",
        ScalarType::Str => "string",
    };
    Metadata {
        data_type: Some("scalar".to_owned()),
        value_type: Some(value_type.to_owned()),
        format: Some("text".to_owned()),
        ..Metadata::default()
    }
    .write_beside(path)
}

fn create(path: &Path) -> Result<BufWriter<File>, IoError> {
    if path.is_dir() {
        return Err(IoError::Directory { path: path.to_owned() });
    }
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        std::fs::create_dir_all(parent).map_err(|source| IoError::system("create", parent, source))?;
    }
    let file = File::create(path).map_err(|source| IoError::system("create", path, source))?;
    Ok(BufWriter::with_capacity(1 << 16, file))
}

/// A cell as text that reads back as the same bits.
pub(crate) fn write_cell(out: &mut impl Write, value: f64) -> std::io::Result<()> {
    if value.fract() == 0.0 && value.abs() < 1e15 && !(value == 0.0 && value.is_sign_negative()) {
        write!(out, "{}", value as i64)
    } else {
        write!(out, "{}", Value::F64(value))
    }
}
