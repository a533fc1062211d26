//! File formats, their names and the names of their files.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

/// A file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Rows of cells, separated by commas or another character.
    Csv,
    /// One line `row column value` per non-zero, 1-based.
    Text,
    /// MatrixMarket: a banner, sizes, then entries or cells.
    MatrixMarket,
    /// One line `label index:value ...` per row; the label is the last column.
    Libsvm,
    /// A NumPy array.
    Npy,
    /// An archive with one NumPy array; can only be read.
    Npz,
    /// The buffers of a dense or sparse matrix behind a header: Fuseline's own. SystemDS' binary blocks, which have the
    /// same name, can be read, too.
    Binary,
}

/// Each format with its names, the first of which is written, and the extensions of its files.
const FORMATS: &[(Format, &[&str], &[&str])] = &[
    (Format::Csv, &["csv"], &["csv", "tsv"]),
    (Format::Text, &["text", "ijv", "textcell"], &["ijv", "txt"]),
    (Format::MatrixMarket, &["mm", "mtx", "matrixmarket"], &["mtx", "mm"]),
    (Format::Libsvm, &["libsvm", "svm", "svmlight"], &["libsvm", "svm"]),
    (Format::Npy, &["npy"], &["npy"]),
    (Format::Npz, &["npz"], &["npz"]),
    (Format::Binary, &["binary"], &["bin"]),
];

impl Format {
    /// The format of a file's name, which may end in `.gz` behind the extension.
    pub fn of_name(path: &Path) -> Option<Self> {
        let extension = extension(path)?;
        FORMATS.iter().find(|(_, _, extensions)| extensions.contains(&extension.as_str())).map(|row| row.0)
    }
}

impl Format {
    /// Whether the lines of several files together are a file of this format.
    pub(super) fn has_parts(self) -> bool {
        match self {
            Format::Csv | Format::Text | Format::Libsvm => true,
            Format::MatrixMarket | Format::Npy | Format::Npz | Format::Binary => false,
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let row = FORMATS.iter().find(|row| row.0 == *self);
        f.write_str(row.map_or("", |row| row.1[0]))
    }
}

impl FromStr for Format {
    type Err = String;
    fn from_str(name: &str) -> Result<Self, String> {
        let lower = name.to_ascii_lowercase();
        let found = FORMATS.iter().find(|(_, names, _)| names.contains(&lower.as_str()));
        found.map(|row| row.0).ok_or_else(|| {
            let names: Vec<&str> = FORMATS.iter().map(|row| row.1[0]).collect();
            let shown = super::error::shown(name.as_bytes());
            format!("the format `{shown}` is not known; {} are", names.join(", "))
        })
    }
}

/// Whether the file's name asks for compression.
pub(super) fn is_gzip_name(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("gz"))
}

/// Whether the file's name says that tabs separate cells.
pub(super) fn is_tab_separated(path: &Path) -> bool {
    extension(path).is_some_and(|extension| extension == "tsv")
}

/// The extension in lower case, that before `.gz` where the file is compressed.
fn extension(path: &Path) -> Option<String> {
    let uncompressed = path.with_extension("");
    let path = if is_gzip_name(path) { &uncompressed } else { path };
    Some(path.extension()?.to_str()?.to_ascii_lowercase())
}
