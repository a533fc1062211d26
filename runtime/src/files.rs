//! `read` and `write` of DML, the text of values, and sizes of files before they are read.

use crate::error::{RuntimeError, RuntimeErrorKind};
use crate::value::RuntimeValue;
use fuseline_ir::{DataType, SizeInfo, Value};
use fuseline_matrix::io::{self, Metadata};
use fuseline_passes::size::FileSizes;
use rayon::ThreadPool;
use std::fmt::Write as _;
use std::path::Path;

/// Rows and columns that a printed matrix shows at most.
const SHOWN: usize = 100;

/// A value as `print` and `toString` show it.
pub(crate) fn to_text(value: &RuntimeValue) -> String {
    let block = match value {
        RuntimeValue::Scalar(scalar) => return scalar.to_string(),
        RuntimeValue::Matrix(block) => block,
    };
    let mut text = String::new();
    for i in 0..block.rows().min(SHOWN) {
        for j in 0..block.cols().min(SHOWN) {
            let separator = if j == 0 { "" } else { " " };
            write!(text, "{separator}{:.3}", block.get(i, j)).expect("strings take writes");
        }
        text.push('\n');
    }
    text
}

/// Named arguments of `read` and `write` as metadata.
fn metadata<'a>(named: impl Iterator<Item = (&'a str, &'a RuntimeValue)>) -> Result<Metadata, RuntimeError> {
    let mut metadata = Metadata::default();
    for (name, value) in named {
        let wrong = |expected: &'static str| {
            let actual = crate::program_executor::describe(value);
            RuntimeErrorKind::Type { operation: format!("the argument `{name}`"), expected, actual }
        };
        let count = || match value.as_f64() {
            // SystemML writes -1 for what is not known.
            Some(-1.0) => Ok(None),
            Some(number) if number >= 0.0 => Ok(Some(number as u64)),
            _ => Err(wrong("a number that is not negative")),
        };
        let text = || match value {
            RuntimeValue::Scalar(Value::Str(text)) => Ok(Some(text.clone())),
            _ => Err(wrong("a text")),
        };
        let truth = || value.as_f64().map(|number| Some(number != 0.0)).ok_or_else(|| wrong("a truth value"));
        match name {
            "data_type" => metadata.data_type = text()?,
            "value_type" => metadata.value_type = text()?,
            "format" => metadata.format = text()?,
            "sep" => metadata.sep = text()?,
            "naStrings" => metadata.na_strings = text()?,
            "description" => metadata.description = text()?,
            "rows" => metadata.rows = count()?,
            "cols" => metadata.cols = count()?,
            "nnz" => metadata.nnz = count()?,
            "header" => metadata.header = truth()?,
            "fill" => metadata.fill = truth()?,
            "default" => metadata.default = Some(value.as_f64().ok_or_else(|| wrong("a number"))?),
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
    let (is_scalar, expects_scalar) = (described.is_scalar(), expected != DataType::Matrix);
    if is_scalar != expects_scalar {
        let name = |is_scalar| if is_scalar { "scalar" } else { "matrix" };
        let (actual, expected) = (name(is_scalar), name(expects_scalar));
        let path = path.display().to_string();
        return Err(RuntimeErrorKind::FileType { path, actual, expected }.into());
    }
    Ok(if is_scalar {
        io::read_scalar(path, &arguments)?.into()
    } else {
        pool.install(|| io::read_matrix(path, &arguments))?.into()
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
