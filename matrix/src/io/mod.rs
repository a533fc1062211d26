//! Readers and writers of file formats.
//!
//! Data files have their metadata beside them, in `FILE.mtd` (JSON, as in SystemML and SystemDS); arguments given by
//! the caller override it. Errors name the file and the line and column, or the byte, where they were found. Declared
//! sizes are checked against the data and never trusted for memory: see [`Limits`].

mod binary;
mod csv;
mod entries;
mod error;
mod format;
mod frame;
mod hadoop;
mod libsvm;
mod lines;
mod matrix_market;
mod metadata;
mod npy;
mod npy_header;
mod npz;
mod number;
mod opened;
mod output;
mod parts;
mod scalar;
mod sequence_file;
mod source;
mod stream;
mod temporary;
#[cfg(test)]
mod tests;
mod text;

pub use error::IoError;
pub use format::Format;
pub use frame::{read_frame, write_frame};
pub use metadata::Metadata;
pub use output::Output;
pub use scalar::{read_scalar, write_scalar};
pub use source::Limits;
pub use stream::StreamWriter;

use crate::block::MatrixBlock;
use crate::memory::Memory;
use crate::run_context::check_stop;
use bytemuck::Pod;
use error::within_memory;
use source::Source;
use std::io::Write;
use std::path::Path;

/// Reads a matrix, sparse if few of its cells are non-zero. Values that the file holds as `f32`, `i32` or `u8` stay so where
/// they are many.
///
/// The format is that of the arguments, or else of the metadata beside the file, or else of the file's name; text where
/// none says it. CSV, text and libsvm may come in the parts of a directory. Files compressed by gzip, and binary blocks
/// of SystemDS where neither arguments nor metadata say a format, are recognised by their content. `arguments` override
/// the metadata; rows and columns among them lift the [`Limits`], since the caller vouches for them. Uses the current
/// rayon pool; the result does not depend on its size.
///
/// # Errors
/// A missing or unreadable file, content that the format does not allow, sizes that contradict the data.
pub fn read_matrix(path: &Path, arguments: &Metadata) -> Result<MatrixBlock, IoError> {
    let is_vouched = arguments.rows.is_some() && arguments.cols.is_some();
    let limits = if is_vouched { Limits::NONE } else { Limits::default() };
    let mut source = Source::of_file(path, limits)?;
    let metadata = arguments.clone().or(Metadata::beside(path)?.unwrap_or_default());
    within_memory("read", path, || read_source(&mut source, &metadata))
}

/// Reads a matrix from the bytes of a file of this name, as [`read_matrix`] would within these limits.
///
/// # Errors
/// Content that the format does not allow, sizes that contradict the data.
pub fn read_matrix_from(
    bytes: &[u8],
    name: &Path,
    metadata: &Metadata,
    limits: Limits,
) -> Result<MatrixBlock, IoError> {
    within_memory("read", name, || read_source(&mut Source::of_bytes(name, bytes, limits), metadata))
}

fn read_source(source: &mut Source<'_>, metadata: &Metadata) -> Result<MatrixBlock, IoError> {
    let path = source.path;
    metadata.check_matrix(path)?;
    let mut starts_with = |start: &[u8]| source.starts_with(start).map_err(|error| source.unreadable(error));
    let format = match metadata.format {
        None if starts_with(sequence_file::START)? => Format::Binary,
        _ => metadata.format_of(path)?,
    };
    let is_hadoop = format == Format::Binary && starts_with(sequence_file::MAGIC)?;
    if !format.has_parts() && !is_hadoop {
        source.check_single()?;
    }
    let block = match format {
        Format::Binary => {
            let read = if is_hadoop { hadoop::read } else { binary::read };
            let (block, nonzeros) = read(source, metadata)?;
            return finish(path, metadata, block, nonzeros);
        }
        Format::Csv => csv::read(source, metadata)?,
        Format::Text => text::read(source, metadata)?,
        Format::MatrixMarket => matrix_market::read(source, metadata)?,
        Format::Libsvm => libsvm::read(source, metadata)?,
        Format::Npy => npy::read(source, metadata)?,
        Format::Npz => npz::read(source, metadata)?,
    };
    let nonzeros = block.nnz();
    finish(path, metadata, block, nonzeros)
}

/// Checks the non-zeros, and keeps few of them sparse, and few values wide.
fn finish(path: &Path, metadata: &Metadata, block: MatrixBlock, nonzeros: usize) -> Result<MatrixBlock, IoError> {
    metadata.check_nonzeros(path, nonzeros)?;
    Ok(block.in_format_for(nonzeros).wide_if_small())
}

/// Writes a matrix and the metadata beside it.
///
/// The format is that of the arguments, or else of the file's name; text where neither says it. A name that ends in
/// `.gz` asks for compression.
///
/// # Errors
/// The file cannot be written, or the format can only be read.
pub fn write_matrix(block: &MatrixBlock, path: &Path, arguments: &Metadata) -> Result<(), IoError> {
    within_memory("write", path, || write_file(block, path, arguments))
}

fn write_file(block: &MatrixBlock, path: &Path, arguments: &Metadata) -> Result<(), IoError> {
    let format = arguments.format_of(path)?;
    check_writable(block, path, arguments, format)?;
    let nonzeros = block.nnz();
    let mut out = Output::create(path, format::is_gzip_name(path))?;
    write_cells(block, nonzeros, &mut out, format, path, arguments)
        .map_err(|source| IoError::system("write", path, source))?;
    let is_csv = format == Format::Csv;
    let metadata = Metadata {
        data_type: Some("matrix".to_owned()),
        value_type: Some("double".to_owned()),
        rows: Some(block.rows() as u64),
        cols: Some(block.cols() as u64),
        nnz: Some(nonzeros as u64),
        format: Some(format.to_string()),
        header: is_csv.then_some(arguments.header.unwrap_or(false)),
        sep: match format {
            Format::Csv => Some(arguments.separator_text(path).to_owned()),
            Format::Libsvm => arguments.sep.clone(),
            _ => None,
        },
        ind_sep: arguments.ind_sep.clone().filter(|_| format == Format::Libsvm),
        description: arguments.description.clone(),
        ..Metadata::default()
    };
    out.finish_with(&metadata, path)
}

/// Writes a matrix to bytes, as [`write_matrix`] does to a file of this name.
///
/// # Errors
/// The format can only be read.
pub fn write_matrix_to(block: &MatrixBlock, name: &Path, arguments: &Metadata) -> Result<Vec<u8>, IoError> {
    let format = arguments.format_of(name)?;
    check_writable(block, name, arguments, format)?;
    let mut bytes = Vec::new();
    write_cells(block, block.nnz(), &mut bytes, format, name, arguments)
        .map_err(|source| IoError::system("write", name, source))?;
    Ok(bytes)
}

fn check_writable(block: &MatrixBlock, path: &Path, arguments: &Metadata, format: Format) -> Result<(), IoError> {
    let problem = match format {
        Format::Npz => "archives of arrays can only be read; write npy",
        Format::Libsvm if block.cols() == 0 => "libsvm needs a column for the label",
        Format::Libsvm => return libsvm::Separators::new(path, arguments).map(|_| ()),
        Format::Csv => return arguments.separator(path).map(|_| ()),
        _ => return Ok(()),
    };
    Err(IoError::description(path, problem))
}

fn write_cells(
    block: &MatrixBlock,
    nonzeros: usize,
    out: &mut impl Write,
    format: Format,
    path: &Path,
    arguments: &Metadata,
) -> std::io::Result<()> {
    match format {
        Format::Csv => {
            let separator = arguments.separator_text(path);
            csv::write(block, out, separator, arguments.header.unwrap_or(false))
        }
        Format::Text => text::write(block, out),
        Format::MatrixMarket => matrix_market::write(block, out),
        Format::Libsvm => {
            let separators = libsvm::Separators::new(path, arguments).map_err(std::io::Error::other)?;
            libsvm::write(block, out, separators)
        }
        Format::Npy => npy::write(block, out),
        Format::Binary => binary::write(block, nonzeros, out),
        Format::Npz => Err(std::io::ErrorKind::Unsupported.into()),
    }
}

/// Side of the squares in which matrices are transposed, so that lines of the cache are used whole.
const TILE: usize = 32;

/// Cells row after row that stand column after column.
fn transposed<T: Pod>(rows: usize, cols: usize, cells: &[T]) -> Memory<T> {
    let mut values = Memory::zeroed(cells.len());
    for first_row in (0..rows).step_by(TILE) {
        check_stop();
        for first_col in (0..cols).step_by(TILE) {
            for row in first_row..rows.min(first_row + TILE) {
                for col in first_col..cols.min(first_col + TILE) {
                    values[row * cols + col] = cells[col * rows + row];
                }
            }
        }
    }
    values
}
