//! `.mtd` files.

use super::{Format, IoError, open};
use fuseline_ir::ScalarType;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// What is known of a data file besides its cells; absent fields are unknown.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Metadata {
    /// `matrix` or `scalar`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_type: Option<String>,
    /// `double`, `int`, `boolean` or `string`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value_type: Option<String>,
    /// Rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
    /// Columns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cols: Option<u64>,
    /// Non-zeros.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nnz: Option<u64>,
    /// A [`Format`] by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// CSV: whether the first line names the columns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header: Option<bool>,
    /// CSV: the separator, one character.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sep: Option<String>,
    /// CSV: whether empty cells are allowed and take the default value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fill: Option<bool>,
    /// CSV: the value of empty cells, 0 unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<f64>,
}

impl Metadata {
    /// Where the metadata of a data file stands.
    pub fn path_beside(path: &Path) -> PathBuf {
        let mut name = path.as_os_str().to_owned();
        name.push(".mtd");
        PathBuf::from(name)
    }

    /// The metadata beside a data file, if there is any.
    ///
    /// # Errors
    /// It cannot be read or is not JSON of the right form.
    pub fn beside(path: &Path) -> Result<Option<Self>, IoError> {
        let beside = Self::path_beside(path);
        if !beside.exists() {
            return Ok(None);
        }
        let file = open(&beside)?;
        let parsed = serde_json::from_reader(std::io::BufReader::new(file));
        parsed.map(Some).map_err(|error| IoError::description(&beside, format!("not valid metadata: {error}")))
    }

    pub(super) fn write_beside(&self, path: &Path) -> Result<(), IoError> {
        let beside = Self::path_beside(path);
        let mut json = serde_json::to_string_pretty(self).unwrap_or_default();
        json.push('\n');
        std::fs::write(&beside, json).map_err(|source| IoError::system("write", &beside, source))
    }

    /// These facts, completed by others where absent.
    pub fn or(self, other: Metadata) -> Metadata {
        Metadata {
            data_type: self.data_type.or(other.data_type),
            value_type: self.value_type.or(other.value_type),
            rows: self.rows.or(other.rows),
            cols: self.cols.or(other.cols),
            nnz: self.nnz.or(other.nnz),
            format: self.format.or(other.format),
            header: self.header.or(other.header),
            sep: self.sep.or(other.sep),
            fill: self.fill.or(other.fill),
            default: self.default.or(other.default),
        }
    }

    /// Whether the file holds a scalar.
    pub fn is_scalar(&self) -> bool {
        self.data_type.as_deref() == Some("scalar")
    }

    pub(super) fn format_of(&self, path: &Path) -> Result<Format, IoError> {
        match &self.format {
            Some(name) => name.parse().map_err(|problem: String| IoError::description(path, problem)),
            None if path.extension().is_some_and(|extension| extension == "csv") => Ok(Format::Csv),
            None => Ok(Format::Text),
        }
    }

    pub(super) fn scalar_type(&self, path: &Path) -> Result<ScalarType, IoError> {
        match self.value_type.as_deref().unwrap_or("double").to_ascii_lowercase().as_str() {
            "double" => Ok(ScalarType::F64),
            "int" | "integer" => Ok(ScalarType::I64),
            "boolean" => Ok(ScalarType::Bool),
            "string" => Ok(ScalarType::Str),
            other => Err(IoError::description(path, format!("`{other}` is no value type"))),
        }
    }

    pub(super) fn separator(&self, path: &Path) -> Result<u8, IoError> {
        match self.sep.as_deref().unwrap_or(",") {
            "\\t" => Ok(b'\t'),
            sep if sep.len() == 1 => Ok(sep.as_bytes()[0]),
            sep => Err(IoError::description(path, format!("the separator is one character, not `{sep}`"))),
        }
    }

    /// Checks declared dimensions against those of the data.
    pub(super) fn check(&self, path: &Path, rows: usize, cols: usize) -> Result<(), IoError> {
        let differs = |declared: Option<u64>, actual: usize| declared.is_some_and(|declared| declared != actual as u64);
        if differs(self.rows, rows) || differs(self.cols, cols) {
            let print = |declared: Option<u64>| declared.map_or("?".to_owned(), |number| number.to_string());
            let declared = format!("{} x {}", print(self.rows), print(self.cols));
            let problem = format!("the file holds a {rows} x {cols} matrix, but {declared} was declared");
            return Err(IoError::description(path, problem));
        }
        Ok(())
    }
}
