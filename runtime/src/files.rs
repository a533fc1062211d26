//! `read` and `write` of DML, and sizes of files before they are read.

use crate::error::{RuntimeError, RuntimeErrorKind};
use crate::value::RuntimeValue;
use fuseline_ir::{DataType, SizeInfo, Value};
use fuseline_matrix::io::{self, Metadata};
use fuseline_passes::size::FileSizes;
use rayon::ThreadPool;
use std::path::Path;

/// A named argument of `read` or `write`.
#[derive(Clone, Copy)]
struct Argument<'a> {
    name: &'a str,
    value: &'a RuntimeValue,
}

impl Argument<'_> {
    fn wrong(self, expected: &'static str) -> RuntimeErrorKind {
        let actual = self.value.describe();
        RuntimeErrorKind::Type { operation: format!("the argument `{}`", self.name), expected, actual }
    }

    /// A count, where it is known: SystemML writes -1 for what is not.
    fn count(self) -> Result<Option<u64>, RuntimeErrorKind> {
        match self.value.as_f64() {
            Some(-1.0) => Ok(None),
            Some(number) if number >= 0.0 => Ok(Some(number as u64)),
            _ => Err(self.wrong("a number that is not negative")),
        }
    }

    fn text(self) -> Result<String, RuntimeErrorKind> {
        match self.value {
            RuntimeValue::Scalar(Value::Str(text)) => Ok(text.clone()),
            _ => Err(self.wrong("a text")),
        }
    }

    fn number(self) -> Result<f64, RuntimeErrorKind> {
        self.value.as_f64().ok_or_else(|| self.wrong("a number"))
    }

    fn truth(self) -> Result<bool, RuntimeErrorKind> {
        let number = self.value.as_f64().ok_or_else(|| self.wrong("a truth value"))?;
        Ok(number != 0.0)
    }
}

/// Named arguments of `read` and `write` as metadata.
fn metadata<'a>(named: impl Iterator<Item = (&'a str, &'a RuntimeValue)>) -> Result<Metadata, RuntimeError> {
    let mut metadata = Metadata::default();
    for (name, value) in named {
        let argument = Argument { name, value };
        match name {
            "data_type" => metadata.data_type = Some(argument.text()?),
            "value_type" => metadata.value_type = Some(argument.text()?),
            "format" => metadata.format = Some(argument.text()?),
            "sep" => metadata.sep = Some(argument.text()?),
            "indSep" => metadata.ind_sep = Some(argument.text()?),
            "naStrings" => metadata.na_strings = Some(argument.text()?),
            "schema" => metadata.schema = Some(argument.text()?),
            "description" => metadata.description = Some(argument.text()?),
            "rows" => metadata.rows = argument.count()?,
            "cols" => metadata.cols = argument.count()?,
            "nnz" => metadata.nnz = argument.count()?,
            "rows_in_block" => metadata.rows_in_block = argument.count()?,
            "cols_in_block" => metadata.cols_in_block = argument.count()?,
            "header" => metadata.header = Some(argument.truth()?),
            "fill" => metadata.fill = Some(argument.truth()?),
            "default" => metadata.default = Some(argument.number()?),
            // The front end checks names against the builtin's signature; what is left describes, but changes nothing.
            _ => {}
        }
    }
    Ok(metadata)
}

/// `read(path, ...)`, of a file that the script was compiled to find a value of this type in.
pub(crate) fn read<'a>(
    pool: &ThreadPool,
    path: &str,
    named: impl Iterator<Item = (&'a str, &'a RuntimeValue)>,
    expected: DataType,
) -> Result<RuntimeValue, RuntimeError> {
    let arguments = metadata(named)?;
    let path = Path::new(path);
    let described = arguments.clone().or(Metadata::beside(path)?.unwrap_or_default());
    let actual = match () {
        () if described.is_scalar() => "scalar",
        () if described.is_frame() => "frame",
        () => "matrix",
    };
    let expected = match expected {
        DataType::Matrix(_) => "matrix",
        DataType::Frame => "frame",
        _ => "scalar",
    };
    if actual != expected {
        let path = path.display().to_string();
        return Err(RuntimeErrorKind::FileType { path, actual, expected }.into());
    }
    Ok(match actual {
        "scalar" => io::read_scalar(path, &arguments)?.into(),
        "frame" => io::read_frame(path, &arguments)?.into(),
        _ => pool.install(|| io::read_matrix(path, &arguments))?.into(),
    })
}

/// `write(value, path, ...)`.
pub(crate) fn write<'a>(
    value: &RuntimeValue,
    path: &str,
    named: impl Iterator<Item = (&'a str, &'a RuntimeValue)>,
) -> Result<(), RuntimeError> {
    let arguments = metadata(named)?;
    match value {
        RuntimeValue::Matrix(block) => io::write_matrix(block, Path::new(path), &arguments)?,
        RuntimeValue::Scalar(scalar) => io::write_scalar(scalar, Path::new(path), &arguments)?,
        RuntimeValue::Frame(frame) => io::write_frame(frame, Path::new(path), &arguments)?,
        RuntimeValue::List(_) => {
            let (operation, expected) = ("write".to_owned(), "a matrix, a frame or a scalar");
            let actual = value.describe();
            return Err(RuntimeErrorKind::Type { operation, expected, actual }.into());
        }
    }
    Ok(())
}

/// Sizes of data files from the metadata beside them.
#[derive(Clone, Copy, Debug, Default)]
pub struct MetadataSizes;

impl FileSizes for MetadataSizes {
    fn size(&self, path: &str) -> Option<SizeInfo> {
        let metadata = Metadata::beside(Path::new(path)).ok().flatten()?;
        Some(SizeInfo { rows: metadata.rows, cols: metadata.cols, nnz: metadata.nnz })
    }
}
