//! Reading of binary files, whose pieces threads share: each is checked while it is in the cache.

use super::description::{Description, Element, Kind, Layout, Section};
use super::header::field;
use super::version_2::PIECE_BYTES;
use super::{HEADER_BYTES, MAGIC, Problem, version_1, version_2};
use crate::block::MatrixBlock;
use crate::budget::MemoryKind;
use crate::buffer::Buffer;
use crate::csr::Csr;
use crate::dense::{Dense, count_nonzeros};
use crate::growing::Growing;
use crate::io::error::IoError;
use crate::io::metadata::Metadata;
use crate::io::source::{AtRest, Source};
use crate::memory::Memory;
use crate::narrow::{NarrowCsr, NarrowDense};
use crate::pattern::{Pattern, are_columns};
use bytemuck::{Pod, cast_slice, cast_slice_mut};
use rayon::prelude::*;
use std::path::Path;
use std::sync::Arc;

/// The matrix and the number of its non-zeros.
pub(in crate::io) fn read(source: &mut Source<'_>, metadata: &Metadata) -> Result<(MatrixBlock, usize), IoError> {
    let path = source.path;
    let content = source.at_rest()?;
    let file = File { path, content };
    let description = file.describe(metadata)?;
    match description.shape.element {
        Element::F32 => file.matrix::<f32>(&description),
        Element::I32 => file.matrix::<i32>(&description),
        Element::U8 => file.matrix::<u8>(&description),
        Element::F64 | Element::U32 | Element::U64 => file.matrix::<f64>(&description),
    }
}

/// A type of values, which are held as they are in the file.
trait Value: Pod + PartialEq + Send {
    /// The value whose bytes are these in the order of files.
    fn of_little_endian(self) -> Self;
    fn dense(rows: usize, cols: usize, values: Memory<Self>) -> MatrixBlock;
    fn csr(cols: usize, pattern: Pattern, values: Memory<Self>) -> MatrixBlock;
}

impl Value for f64 {
    fn of_little_endian(self) -> f64 {
        f64::from_bits(u64::from_le(self.to_bits()))
    }

    fn dense(rows: usize, cols: usize, values: Memory<f64>) -> MatrixBlock {
        Dense::from_memory(rows, cols, values).into()
    }

    fn csr(cols: usize, pattern: Pattern, values: Memory<f64>) -> MatrixBlock {
        Csr::of_pattern(cols, Arc::new(pattern), values.into()).into()
    }
}

macro_rules! narrow_values {
    ($($narrow:ty: $of_little_endian:expr;)*) => {
        $(impl Value for $narrow {
            fn of_little_endian(self) -> Self {
                let of_little_endian: fn(Self) -> Self = $of_little_endian;
                of_little_endian(self)
            }

            fn dense(rows: usize, cols: usize, values: Memory<Self>) -> MatrixBlock {
                NarrowDense::from_memory(rows, cols, values).into()
            }

            fn csr(cols: usize, pattern: Pattern, values: Memory<Self>) -> MatrixBlock {
                NarrowCsr::of_pattern(cols, pattern, values).into()
            }
        })*
    };
}

narrow_values! {
    f32: |value| f32::from_bits(u32::from_le(value.to_bits()));
    i32: i32::from_le;
    u8: |value| value;
}

struct File<'a> {
    path: &'a Path,
    content: AtRest<'a>,
}

impl File<'_> {
    /// What the file says that it holds, which fits what was declared.
    fn describe(&self, metadata: &Metadata) -> Result<Description, IoError> {
        let length = self.content.length();
        let mut start = [0; HEADER_BYTES];
        let available = usize::try_from(length).unwrap_or(HEADER_BYTES).min(HEADER_BYTES);
        self.fill(&mut start[..available], 0)?;
        if !start.starts_with(&MAGIC[..available.min(MAGIC.len())]) {
            return Err(self.error(0, "the file does not begin as binary matrices of Fuseline do"));
        }
        if available < HEADER_BYTES {
            return Err(self.error(length, "the file ends within its header"));
        }
        let located = |(offset, problem): Problem| self.error(offset, problem);
        match u32::from_le_bytes(field(&start, 8)) {
            version_1::VERSION => {
                let description = version_1::decode(&start, length).map_err(located)?;
                metadata.check_dimensions(self.path, description.shape.rows, description.shape.cols)?;
                Ok(description)
            }
            version_2::VERSION => {
                let header = version_2::Header::decode(&start, length).map_err(located)?;
                metadata.check_dimensions(self.path, header.shape.rows, header.shape.cols)?;
                let mut trailer = Growing::filled(MemoryKind::File, self.to_usize(header.trailer_bytes())?, 0_u8);
                self.fill(trailer.vec_mut(), header.table)?;
                header.describe(trailer.vec_mut()).map_err(located)
            }
            other => Err(self.error(8, format!("version {other} of the format is not known"))),
        }
    }

    fn matrix<T: Value>(&self, description: &Description) -> Result<(MatrixBlock, usize), IoError> {
        match description.shape.layout {
            Layout::Dense => self.dense::<T>(description),
            Layout::Csr => self.csr::<T>(description),
        }
    }

    fn dense<T: Value>(&self, description: &Description) -> Result<(MatrixBlock, usize), IoError> {
        let shape = &description.shape;
        let (rows, cols) = (self.to_usize(shape.rows)?, self.to_usize(shape.cols)?);
        // The description fits the file, whose bytes these are.
        let mut values = Memory::<T>::zeroed(self.to_usize(shape.rows * shape.cols)?);
        let mut left = &mut values[..];
        let mut nonzeros = 0;
        for section in self.sections(description) {
            let (strip, behind) = left.split_at_mut(section.section.count() as usize);
            nonzeros += self.values(&section, strip)?;
            left = behind;
        }
        if nonzeros as u64 != shape.nnz {
            let problem = format!("the header says {} non-zeros, the values hold {nonzeros}", shape.nnz);
            return Err(self.error(32, problem));
        }
        Ok((T::dense(rows, cols, values), nonzeros))
    }

    fn csr<T: Value>(&self, description: &Description) -> Result<(MatrixBlock, usize), IoError> {
        let shape = &description.shape;
        let (rows, cols) = (self.to_usize(shape.rows)?, self.to_usize(shape.cols)?);
        let nnz = self.to_usize(shape.nnz)?;
        let mut row_offsets = Buffer::<usize>::zeroed(rows + 1);
        let mut columns = Buffer::<u32>::zeroed(nnz);
        let mut values = Memory::<T>::zeroed(nnz);
        let (mut first_row, mut first, mut nonzeros) = (0, 0, 0);
        let mut sections = self.sections(description);
        while let (Some(offsets_section), Some(columns_section), Some(values_section)) =
            (sections.next(), sections.next(), sections.next())
        {
            let offsets = self.row_offsets(&offsets_section, columns_section.section.count())?;
            let positions = first..first + columns_section.section.count() as usize;
            let strip = &mut columns[positions.clone()];
            self.numbers(&columns_section, strip, |columns: &mut [u32]| {
                columns.iter_mut().for_each(|column| *column = u32::from_le(*column));
                0
            })?;
            self.check_columns(&columns_section.section, first_row, &offsets, strip, cols)?;
            nonzeros += self.values(&values_section, &mut values[positions.clone()])?;
            for (row_offset, &offset) in row_offsets[first_row..].iter_mut().zip(&*offsets) {
                *row_offset = first + offset as usize;
            }
            (first_row, first) = (first_row + offsets.len() - 1, positions.end);
        }
        let stored = T::csr(cols, Pattern::new(row_offsets, columns), values);
        let has_stored_zeros = nonzeros < nnz;
        Ok((if has_stored_zeros { stored.to_csr().without_stored_zeros().into() } else { stored }, nonzeros))
    }

    /// The sections with their checksums.
    fn sections<'a>(&self, description: &'a Description) -> impl Iterator<Item = CheckedSection<'a>> {
        let mut left = description.checksums.as_deref();
        description.sections.iter().map(move |&section| {
            let (checksums, behind) = left.map(|left| left.split_at(version_2::pieces(&section) as usize)).unzip();
            left = behind;
            CheckedSection { section, checksums }
        })
    }

    /// Reads values; how many are not zero.
    fn values<T: Value>(&self, section: &CheckedSection<'_>, values: &mut [T]) -> Result<usize, IoError> {
        self.numbers(section, values, |values: &mut [T]| {
            values.iter_mut().for_each(|value| *value = value.of_little_endian());
            count_nonzeros(values)
        })
    }

    /// The row offsets of a strip, which ascend from 0 to the number of its stored positions.
    fn row_offsets(&self, section: &CheckedSection<'_>, positions: u64) -> Result<Memory<u64>, IoError> {
        let mut offsets = Memory::<u64>::zeroed(self.to_usize(section.section.count())?);
        self.numbers(section, &mut offsets, |offsets: &mut [u64]| {
            offsets.iter_mut().for_each(|offset| *offset = u64::from_le(*offset));
            0
        })?;
        let ascend = offsets.par_windows(2).all(|pair| pair[0] <= pair[1]);
        if !ascend || offsets.first() != Some(&0) || offsets.last() != Some(&positions) {
            let problem = format!("the row offsets do not ascend from 0 to {positions}");
            return Err(self.error(section.section.offset, problem));
        }
        Ok(offsets)
    }

    /// Checks that the column indexes of each row of a strip ascend below the number of columns.
    fn check_columns(
        &self,
        section: &Section,
        first_row: usize,
        offsets: &[u64],
        columns: &[u32],
        cols: usize,
    ) -> Result<(), IoError> {
        debug_assert_eq!(section.kind, Kind::Columns);
        let is_wrong = |pair: &[u64]| !are_columns(&columns[pair[0] as usize..pair[1] as usize], cols);
        let Some(row) = offsets.par_windows(2).position_first(is_wrong) else { return Ok(()) };
        let offset = section.offset + offsets[row] * Element::U32.bytes();
        let problem = format!("the column indexes of row {} do not ascend below {cols}", first_row + row + 1);
        Err(self.error(offset, problem))
    }

    /// Reads numbers as they are stored, piece by piece, each of which is checked and then finished; the sum of what that
    /// returns.
    fn numbers<T: Pod + Send>(
        &self,
        section: &CheckedSection<'_>,
        numbers: &mut [T],
        finish: impl Fn(&mut [T]) -> usize + Sync,
    ) -> Result<usize, IoError> {
        let pieces: Vec<Result<usize, IoError>> = numbers
            .par_chunks_mut(PIECE_BYTES / size_of::<T>())
            .enumerate()
            .map(|(piece, numbers)| {
                let offset = section.section.offset + (piece * PIECE_BYTES) as u64;
                self.fill(numbers, offset)?;
                let is_right = |checksums: &[u32]| crc32c::crc32c(cast_slice(numbers)) == checksums[piece];
                if !section.checksums.is_none_or(is_right) {
                    let bytes = size_of_val(numbers);
                    return Err(self.error(offset, format!("{bytes} bytes are damaged: their checksum is wrong")));
                }
                Ok(finish(numbers))
            })
            .collect();
        pieces.into_iter().sum()
    }

    /// Fills a buffer with what the file holds from this byte on.
    fn fill<T: Pod>(&self, buffer: &mut [T], offset: u64) -> Result<(), IoError> {
        self.content
            .read_exact_at(cast_slice_mut(buffer), offset)
            .map_err(|source| IoError::system("read", self.path, source))
    }

    fn to_usize(&self, number: u64) -> Result<usize, IoError> {
        usize::try_from(number).map_err(|_| IoError::description(self.path, "the matrix does not fit into memory"))
    }

    fn error(&self, offset: u64, problem: impl Into<String>) -> IoError {
        IoError::binary(self.path, offset, problem)
    }
}

/// A section, and the checksums of its pieces if there are any.
struct CheckedSection<'a> {
    section: Section,
    checksums: Option<&'a [u32]>,
}
