//! NumPy arrays: `.npy` files of numbers or truth values, of at most two dimensions.
//!
//! The header is a Python dictionary. Of that language only the literals that NumPy writes there are read.

use super::error::IoError;
use super::metadata::Metadata;
use super::npy_header::{ByteOrder, ElementType, Header, Order};
use super::source::Source;
use super::transposed;
use crate::block::MatrixBlock;
use crate::budget::MemoryKind;
use crate::dense::Dense;
use crate::growing::Growing;
use crate::memory::Memory;
use crate::narrow::{NarrowDense, NarrowValue};
use bytemuck::Pod;
use fuseline_ir::ops::math::with_one_nan;
use std::io::{self, Read, Write};
use std::path::Path;

const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// Headers that NumPy writes have some hundred bytes.
const LONGEST_HEADER: usize = 1 << 16;

/// Values that are converted at a time.
const CHUNK: usize = 1 << 13;

pub(super) fn read(source: &mut Source<'_>, metadata: &Metadata) -> Result<MatrixBlock, IoError> {
    let path = source.path;
    let mut content = source.content()?;
    read_array(path, &mut content, metadata)
}

/// Reads the array that is all of `content`.
pub(super) fn read_array(path: &Path, content: &mut dyn Read, metadata: &Metadata) -> Result<MatrixBlock, IoError> {
    let mut bytes = Bytes { path, content, offset: 0 };
    let header = read_header(&mut bytes)?;
    let (rows, cols) = dimensions(&header.shape).map_err(|problem| bytes.error(problem))?;
    metadata.check_dimensions(path, rows, cols)?;
    let count = rows.checked_mul(cols).and_then(|count| usize::try_from(count).ok());
    let count =
        count.ok_or_else(|| bytes.error(format!("an array of {rows} x {cols} values does not fit into memory")))?;
    let array = Array { rows: rows as usize, cols: cols as usize, order: header.order };
    let block = read_block(&mut bytes, &header, &array, count)?;
    if !bytes.fill(&mut [0])?.is_empty() {
        return Err(bytes.error("the array ends, the file goes on"));
    }
    Ok(block)
}

/// The shape of an array, and the order of its elements.
struct Array {
    rows: usize,
    cols: usize,
    order: Order,
}

impl Array {
    /// The elements row after row.
    fn by_row<T: Pod>(&self, elements: Growing<T>) -> Memory<T> {
        match self.order {
            Order::RowMajor => elements.into(),
            Order::ColumnMajor => transposed(self.rows, self.cols, &elements),
        }
    }

    fn narrow<T: NarrowValue>(&self, elements: Growing<T>) -> MatrixBlock {
        NarrowDense::from_memory(self.rows, self.cols, self.by_row(elements)).into()
    }
}

/// Elements of types that are held narrow stay what they are, all others are converted to doubles.
fn read_block(bytes: &mut Bytes<'_>, header: &Header, array: &Array, count: usize) -> Result<MatrixBlock, IoError> {
    Ok(match (header.element, header.byte_order) {
        (ElementType::F32, ByteOrder::Little) => array.narrow(read_elements(bytes, count, f32::from_le_bytes)?),
        (ElementType::F32, ByteOrder::Big) => array.narrow(read_elements(bytes, count, f32::from_be_bytes)?),
        (ElementType::I32, ByteOrder::Little) => array.narrow(read_elements(bytes, count, i32::from_le_bytes)?),
        (ElementType::I32, ByteOrder::Big) => array.narrow(read_elements(bytes, count, i32::from_be_bytes)?),
        (ElementType::U8, _) => array.narrow(read_elements(bytes, count, u8::from_le_bytes)?),
        (element, byte_order) => {
            let append = |bytes: &[u8], values: &mut Vec<f64>| element.append(bytes, byte_order, values);
            let values = read_values(bytes, element.size(), count, append)?;
            Dense::from_memory(array.rows, array.cols, array.by_row(values)).into()
        }
    })
}

/// Elements as they are in the file.
fn read_elements<T, const SIZE: usize>(
    bytes: &mut Bytes<'_>,
    count: usize,
    element: impl Fn([u8; SIZE]) -> T,
) -> Result<Growing<T>, IoError> {
    let append = |bytes: &[u8], values: &mut Vec<T>| {
        let (elements, _) = bytes.as_chunks::<SIZE>();
        values.extend(elements.iter().map(|&bytes| element(bytes)));
    };
    read_values(bytes, SIZE, count, append)
}

/// A stream and how far it is read.
struct Bytes<'a> {
    path: &'a Path,
    content: &'a mut dyn Read,
    offset: u64,
}

impl Bytes<'_> {
    /// An error at this place.
    fn error(&self, problem: impl Into<String>) -> IoError {
        IoError::binary(self.path, self.offset, problem)
    }

    /// Fills a buffer as far as the content goes.
    fn fill<'b>(&mut self, buffer: &'b mut [u8]) -> Result<&'b [u8], IoError> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.content.read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(length) => filled += length,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(IoError::system("read", self.path, error)),
            }
        }
        self.offset += filled as u64;
        Ok(&buffer[..filled])
    }

    fn exactly<const LENGTH: usize>(&mut self) -> Result<[u8; LENGTH], IoError> {
        let mut buffer = [0; LENGTH];
        if self.fill(&mut buffer)?.len() < LENGTH {
            return Err(self.error("the file ends within its header"));
        }
        Ok(buffer)
    }
}

fn read_header(bytes: &mut Bytes<'_>) -> Result<Header, IoError> {
    let magic: [u8; 8] = bytes.exactly()?;
    if !magic.starts_with(MAGIC) {
        return Err(IoError::binary(bytes.path, 0, "the file does not begin as NumPy arrays do"));
    }
    let length = match magic[6] {
        1 => usize::from(u16::from_le_bytes(bytes.exactly()?)),
        2 | 3 => u32::from_le_bytes(bytes.exactly()?) as usize,
        version => return Err(IoError::binary(bytes.path, 6, format!("version {version} of the format is not known"))),
    };
    if length > LONGEST_HEADER {
        return Err(bytes.error(format!("a header of {length} bytes is too long")));
    }
    let start = bytes.offset;
    let mut text = vec![0; length];
    if bytes.fill(&mut text)?.len() < length {
        return Err(bytes.error("the file ends within its header"));
    }
    Header::parse(&text).map_err(|problem| IoError::binary(bytes.path, start + problem.offset as u64, problem.message))
}

/// Rows and columns: a scalar is 1 x 1, a vector a column.
fn dimensions(shape: &[u64]) -> Result<(u64, u64), String> {
    match *shape {
        [] => Ok((1, 1)),
        [rows] => Ok((rows, 1)),
        [rows, cols] => Ok((rows, cols)),
        _ => Err(format!("an array of {} dimensions is no matrix", shape.len())),
    }
}

/// Memory is taken as the values come, whatever the header says.
fn read_values<T>(
    bytes: &mut Bytes<'_>,
    size: usize,
    count: usize,
    append: impl Fn(&[u8], &mut Vec<T>),
) -> Result<Growing<T>, IoError> {
    let mut buffer = vec![0; CHUNK.min(count) * size];
    let mut values = Growing::new(MemoryKind::Matrix);
    while values.len() < count {
        let expected = CHUNK.min(count - values.len());
        let chunk = bytes.fill(&mut buffer[..expected * size])?;
        values.reserve(expected);
        append(chunk, values.vec_mut());
        if chunk.len() < expected * size {
            let problem = format!("the header promises {count} values, the file ends after {}", values.len());
            return Err(bytes.error(problem));
        }
    }
    Ok(values)
}

/// Writes doubles in little-endian row-major order.
pub(super) fn write(block: &MatrixBlock, out: &mut impl Write) -> io::Result<()> {
    let (rows, cols) = block.dims();
    let mut header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({rows}, {cols}), }}");
    // The data begins at a multiple of 64 bytes, behind a newline.
    let unpadded = MAGIC.len() + 4 + header.len() + 1;
    header.extend(std::iter::repeat_n(' ', unpadded.next_multiple_of(64) - unpadded));
    header.push('\n');
    out.write_all(MAGIC)?;
    out.write_all(&[1, 0])?;
    let length = u16::try_from(header.len()).map_err(|_| io::Error::other("the header of the array is too long"))?;
    out.write_all(&length.to_le_bytes())?;
    out.write_all(header.as_bytes())?;
    for value in block.to_dense().values() {
        out.write_all(&with_one_nan(*value).to_le_bytes())?;
    }
    Ok(())
}
