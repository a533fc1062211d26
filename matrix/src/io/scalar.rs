//! Scalars: files of one value.

use super::error::{IoError, Problem, shown, within_memory};
use super::metadata::Metadata;
use super::number::parse_number;
use super::output::Output;
use super::source::read_short;
use crate::collected::copied_text;
use fuseline_ir::{ScalarType, Value};
use std::io::Write;
use std::path::Path;

/// Texts may be long; numbers are not.
const LONGEST: u64 = 64 << 20;

/// Reads a scalar of the type that the metadata or the arguments say; a double otherwise.
///
/// # Errors
/// A missing or unreadable file, or content of another type.
pub fn read_scalar(path: &Path, arguments: &Metadata) -> Result<Value, IoError> {
    within_memory("read", path, || read(path, arguments))
}

fn read(path: &Path, arguments: &Metadata) -> Result<Value, IoError> {
    let bytes = read_short(path, LONGEST)?;
    let metadata = arguments.clone().or(Metadata::beside(path)?.unwrap_or_default());
    parse(&bytes, metadata.scalar_type(path)?).ok_or_else(|| {
        let expected = metadata.value_type.as_deref().unwrap_or("double");
        let problem = format!("`{}` is not a scalar of type {expected}", shown(bytes.trim_ascii()));
        IoError::content(path, 1, Problem::at(0, problem))
    })
}

fn parse(bytes: &[u8], scalar_type: ScalarType) -> Option<Value> {
    let text = std::str::from_utf8(bytes).ok()?.trim_end_matches(['\n', '\r']);
    let trimmed = text.trim();
    match scalar_type {
        ScalarType::Str => Some(Value::Str(copied_text(text))),
        ScalarType::F64 => parse_number(trimmed.as_bytes()).ok().map(Value::F64),
        ScalarType::I64 => trimmed.parse().ok().map(Value::I64),
        ScalarType::Bool => match trimmed {
            "TRUE" | "true" => Some(Value::Bool(true)),
            "FALSE" | "false" => Some(Value::Bool(false)),
            _ => None,
        },
    }
}

/// Writes a scalar and the metadata beside it.
///
/// # Errors
/// The file cannot be written.
pub fn write_scalar(value: &Value, path: &Path, arguments: &Metadata) -> Result<(), IoError> {
    let mut out = Output::create(path, false)?;
    writeln!(out, "{value}").map_err(|source| IoError::system("write", path, source))?;
    let value_type = match value.scalar_type() {
        ScalarType::F64 => "double",
        ScalarType::I64 => "int",
        ScalarType::Bool => "boolean",
        ScalarType::Str => "string",
    };
    let metadata = Metadata {
        data_type: Some("scalar".to_owned()),
        value_type: Some(value_type.to_owned()),
        format: Some("text".to_owned()),
        description: arguments.description.clone(),
        ..Metadata::default()
    };
    out.finish_with(&metadata, path)
}
