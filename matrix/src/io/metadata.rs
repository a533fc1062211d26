//! `.mtd` files.

use super::error::{IoError, shown, within_memory};
use super::format::{Format, is_tab_separated};
use super::output::Output;
use super::source::read_short;
use crate::collected::Collected;
use fuseline_ir::ScalarType;
use serde::{Deserialize, Deserializer, Serialize};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Metadata files that programs write have some hundred bytes.
const LONGEST: u64 = 1 << 20;

/// Characters of JSON's own messages that are shown at most.
const LONGEST_MESSAGE: usize = 160;

/// Separates texts in [`Metadata::na_strings`], as in SystemDS.
const NA_SEPARATOR: char = '·';

/// What is known of a data file besides its cells; absent fields are unknown.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Metadata {
    /// `matrix`, `frame` or `scalar`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_type: Option<String>,
    /// `double`, `int`, `boolean` or `string`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value_type: Option<String>,
    /// Rows.
    #[serde(default, deserialize_with = "count", skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
    /// Columns.
    #[serde(default, deserialize_with = "count", skip_serializing_if = "Option::is_none")]
    pub cols: Option<u64>,
    /// Non-zeros.
    #[serde(default, deserialize_with = "count", skip_serializing_if = "Option::is_none")]
    pub nnz: Option<u64>,
    /// Binary blocks of SystemDS: the rows of a block, 1000 unless given.
    #[serde(default, deserialize_with = "count", skip_serializing_if = "Option::is_none")]
    pub rows_in_block: Option<u64>,
    /// Binary blocks of SystemDS: the columns of a block, 1000 unless given.
    #[serde(default, deserialize_with = "count", skip_serializing_if = "Option::is_none")]
    pub cols_in_block: Option<u64>,
    /// A [`Format`] by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// CSV: whether the first line names the columns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header: Option<bool>,
    /// CSV and libsvm: what separates cells or entries, one character.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sep: Option<String>,
    /// libsvm: what separates an index from its value, one character; a colon unless given.
    #[serde(rename = "indSep", skip_serializing_if = "Option::is_none")]
    pub ind_sep: Option<String>,
    /// CSV: whether empty cells are allowed and take the default value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fill: Option<bool>,
    /// CSV: the value of empty cells, 0 unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<f64>,
    /// CSV: texts that stand for NaN, separated by `·`.
    #[serde(rename = "naStrings", default, deserialize_with = "texts", skip_serializing_if = "Option::is_none")]
    pub na_strings: Option<String>,
    /// Frames: the types of the columns, separated by commas.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// What the data is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// A number; SystemDS writes -1 for what is unknown.
fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let number: Option<i64> = Option::deserialize(deserializer)?;
    Ok(number.and_then(|number| u64::try_from(number).ok()))
}

/// One text or a list.
fn texts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Texts {
        One(String),
        Several(Vec<String>),
    }
    Ok(Option::deserialize(deserializer)?.map(|texts| match texts {
        Texts::One(text) => text,
        Texts::Several(texts) => texts.join(&NA_SEPARATOR.to_string()),
    }))
}

impl Output {
    /// Finishes the file together with its metadata, which take their place beside it. A run that is killed between the two
    /// leaves a file that can be read, the old or the new one: beside it stands then what is true of both. A device has no
    /// metadata.
    ///
    /// # Errors
    /// Writing fails.
    pub(super) fn finish_with(self, metadata: &Metadata, path: &Path) -> Result<(), IoError> {
        let failed = |source| IoError::system("write", path, source);
        if self.is_device() {
            return self.finish().map_err(failed);
        }
        // Metadata that cannot be read describe nothing.
        let old = if path.exists() { Metadata::beside(path).ok().flatten() } else { None };
        let failed_beside = |source| IoError::system("write", &Metadata::path_beside(path), source);
        // Both are whole before either takes its name.
        let content = self.complete().map_err(failed)?;
        let new = metadata.prepared(path)?.complete().map_err(failed_beside)?;
        match old {
            Some(old) => {
                let common = old.common(metadata);
                if common != old {
                    common.prepared(path)?.finish().map_err(failed_beside)?;
                }
                content.take_name().map_err(failed)?;
                new.take_name().map_err(failed_beside)
            }
            // Nothing is there, or what is there needs no metadata to be read: the new file does not go without.
            None if !path.exists() => {
                new.take_name().map_err(failed_beside)?;
                content.take_name().map_err(failed)
            }
            None => {
                content.take_name().map_err(failed)?;
                new.take_name().map_err(failed_beside)
            }
        }
    }
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
        within_memory("read", &beside, || Self::parse(&beside, &read_short(&beside, LONGEST)?)).map(Some)
    }

    /// The metadata in the bytes of a `.mtd` file; `path` is for messages.
    ///
    /// # Errors
    /// It is not JSON of the right form.
    pub fn parse(path: &Path, bytes: &[u8]) -> Result<Self, IoError> {
        serde_json::from_slice(bytes).map_err(|error| IoError::Content {
            path: path.to_owned(),
            line: error.line() as u64,
            column: error.column() as u64,
            problem: format!("not valid metadata: {}", without_place(&error)),
        })
    }

    /// The file beside a data file, written but for its name.
    pub(super) fn prepared(&self, path: &Path) -> Result<Output, IoError> {
        let beside = Self::path_beside(path);
        let mut out = Output::create(&beside, false)?;
        let mut json = serde_json::to_string_pretty(self).unwrap_or_default();
        json.push('\n');
        out.write_all(json.as_bytes()).map_err(|source| IoError::system("write", &beside, source))?;
        Ok(out)
    }

    /// What these and other facts agree on.
    pub(super) fn common(&self, other: &Metadata) -> Metadata {
        fn same<T: Clone + PartialEq>(one: &Option<T>, other: &Option<T>) -> Option<T> {
            one.clone().filter(|_| one == other)
        }
        Metadata {
            data_type: same(&self.data_type, &other.data_type),
            value_type: same(&self.value_type, &other.value_type),
            rows: same(&self.rows, &other.rows),
            cols: same(&self.cols, &other.cols),
            nnz: same(&self.nnz, &other.nnz),
            rows_in_block: same(&self.rows_in_block, &other.rows_in_block),
            cols_in_block: same(&self.cols_in_block, &other.cols_in_block),
            format: same(&self.format, &other.format),
            header: same(&self.header, &other.header),
            sep: same(&self.sep, &other.sep),
            ind_sep: same(&self.ind_sep, &other.ind_sep),
            fill: same(&self.fill, &other.fill),
            default: same(&self.default, &other.default),
            na_strings: same(&self.na_strings, &other.na_strings),
            schema: same(&self.schema, &other.schema),
            description: same(&self.description, &other.description),
        }
    }

    /// These facts, completed by others where absent.
    pub fn or(self, other: Metadata) -> Metadata {
        Metadata {
            data_type: self.data_type.or(other.data_type),
            value_type: self.value_type.or(other.value_type),
            rows: self.rows.or(other.rows),
            cols: self.cols.or(other.cols),
            nnz: self.nnz.or(other.nnz),
            rows_in_block: self.rows_in_block.or(other.rows_in_block),
            cols_in_block: self.cols_in_block.or(other.cols_in_block),
            format: self.format.or(other.format),
            header: self.header.or(other.header),
            sep: self.sep.or(other.sep),
            ind_sep: self.ind_sep.or(other.ind_sep),
            fill: self.fill.or(other.fill),
            default: self.default.or(other.default),
            na_strings: self.na_strings.or(other.na_strings),
            schema: self.schema.or(other.schema),
            description: self.description.or(other.description),
        }
    }

    /// Whether the file holds a frame.
    pub fn is_frame(&self) -> bool {
        self.data_type.as_deref().is_some_and(|name| name.eq_ignore_ascii_case("frame"))
    }

    /// Whether the file holds a scalar.
    pub fn is_scalar(&self) -> bool {
        self.data_type.as_deref().is_some_and(|name| name.eq_ignore_ascii_case("scalar"))
    }

    /// Checks that the file holds a matrix, or that nothing is said of it.
    pub(super) fn check_matrix(&self, path: &Path) -> Result<(), IoError> {
        match self.data_type.as_deref() {
            None => Ok(()),
            Some(name) if name.eq_ignore_ascii_case("matrix") => Ok(()),
            Some(other) => {
                let problem = format!("the file holds data of type `{}`, not a matrix", shown(other.as_bytes()));
                Err(IoError::description(path, problem))
            }
        }
    }

    /// The format that is named here, or else that of the file's name; text where that says nothing.
    pub(super) fn format_of(&self, path: &Path) -> Result<Format, IoError> {
        match &self.format {
            Some(name) => name.parse().map_err(|problem: String| IoError::description(path, problem)),
            None => Ok(Format::of_name(path).unwrap_or(Format::Text)),
        }
    }

    pub(super) fn scalar_type(&self, path: &Path) -> Result<ScalarType, IoError> {
        value_type(path, self.value_type.as_deref().unwrap_or("double"))
    }

    /// The types of a frame's columns: those of the schema, else one type for all of them, texts unless it is given.
    pub(super) fn column_types(&self, path: &Path, cols: usize) -> Result<Collected<ScalarType>, IoError> {
        let Some(schema) = &self.schema else {
            let value_type = value_type(path, self.value_type.as_deref().unwrap_or("string"))?;
            return Ok(Collected::filled(cols, value_type));
        };
        let types: Collected<ScalarType> =
            schema.split(',').map(|name| value_type(path, name.trim())).collect::<Result<_, _>>()?;
        if types.len() == cols {
            return Ok(types);
        }
        let problem = format!("the schema has {} types, the frame {cols} columns", types.len());
        Err(IoError::description(path, problem))
    }

    /// The separator of CSV: a tab for files named so, a comma for others, unless it is given.
    pub(super) fn separator_text(&self, path: &Path) -> &str {
        match self.sep.as_deref() {
            Some(sep) => unescaped(sep),
            None if is_tab_separated(path) => "\t",
            None => ",",
        }
    }

    /// The separator as a byte that occurs in no number.
    pub(super) fn separator(&self, path: &Path) -> Result<u8, IoError> {
        separator(path, self.separator_text(path))
    }

    /// The texts that stand for NaN.
    pub(super) fn na_texts(&self) -> impl Iterator<Item = &str> {
        self.na_strings.iter().flat_map(|texts| texts.split(NA_SEPARATOR)).filter(|text| !text.is_empty())
    }

    /// Checks declared dimensions against those of the data.
    pub(super) fn check_dimensions(&self, path: &Path, rows: u64, cols: u64) -> Result<(), IoError> {
        let differs = |declared: Option<u64>, actual: u64| declared.is_some_and(|declared| declared != actual);
        if differs(self.rows, rows) || differs(self.cols, cols) {
            let print = |declared: Option<u64>| declared.map_or("?".to_owned(), |number| number.to_string());
            let declared = format!("{} x {}", print(self.rows), print(self.cols));
            let problem = format!("the file holds a {rows} x {cols} matrix, but {declared} was declared");
            return Err(IoError::description(path, problem));
        }
        Ok(())
    }

    /// Checks the declared number of non-zeros: an upper bound, on which plans rely.
    pub(super) fn check_nonzeros(&self, path: &Path, nonzeros: usize) -> Result<(), IoError> {
        match self.nnz {
            Some(declared) if (nonzeros as u64) > declared => {
                let problem = format!("the file holds {nonzeros} non-zeros, but {declared} were declared");
                Err(IoError::description(path, problem))
            }
            _ => Ok(()),
        }
    }
}

/// A separator in which a tab may be written as in programs.
fn unescaped(separator: &str) -> &str {
    if separator == "\\t" { "\t" } else { separator }
}

/// A separator as a byte that occurs in no number.
pub(super) fn separator(path: &Path, text: &str) -> Result<u8, IoError> {
    let problem = match unescaped(text).as_bytes() {
        [byte] if byte.is_ascii_alphanumeric() || b"+-.\"\r\n".contains(byte) => {
            format!("`{}` cannot separate cells, it occurs in them", shown(&[*byte]))
        }
        [byte] => return Ok(*byte),
        sep => format!("the separator is one character, not `{}`", shown(sep)),
    };
    Err(IoError::description(path, problem))
}

/// A type by its name in metadata.
fn value_type(path: &Path, name: &str) -> Result<ScalarType, IoError> {
    match name.to_ascii_lowercase().as_str() {
        "double" | "fp64" | "fp32" => Ok(ScalarType::F64),
        "int" | "integer" | "int64" | "int32" => Ok(ScalarType::I64),
        "boolean" => Ok(ScalarType::Bool),
        "string" => Ok(ScalarType::Str),
        other => Err(IoError::description(path, format!("`{}` is no value type", shown(other.as_bytes())))),
    }
}

/// The message of an error whose place is told apart; it may quote a whole value, which is shown in part.
fn without_place(error: &serde_json::Error) -> String {
    let mut message = error.to_string();
    message.truncate(message.rfind(" at line ").unwrap_or(message.len()));
    if let Some((end, _)) = message.char_indices().nth(LONGEST_MESSAGE) {
        message.truncate(end);
        message.push('…');
    }
    message
}
