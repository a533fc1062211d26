//! The binary format: the buffers of a dense or sparse matrix as they lie in memory, behind a header.
//!
//! Buffers are aligned, so that programs may map the file; see `binary_header` for the layout. Reading copies it into
//! memory that is ours: machine code relies on indexes that were checked, and a mapped file may change under it. On
//! huge pages the copy runs at the speed of memory (`cargo run --release -p fuseline-matrix --example
//! binary_throughput`).

use super::binary_header::{Header, LENGTH, Layout};
use super::error::IoError;
use super::metadata::Metadata;
use super::source::{AtRest, Source};
use crate::block::MatrixBlock;
use crate::csr::{Csr, are_columns};
use crate::dense::Dense;
use crate::memory::Memory;
use bytemuck::{Pod, cast_slice, cast_slice_mut};
use fuseline_ir::ops::math::with_one_nan;
use rayon::prelude::*;
use std::io::{self, Write};
use std::path::Path;

/// Values that a thread reads at a time: they stay in its cache until they are checked.
const CHUNK: usize = 1 << 15;

/// The matrix and the number of its non-zeros.
pub(super) fn read(source: &mut Source<'_>, metadata: &Metadata) -> Result<(MatrixBlock, usize), IoError> {
    let path = source.path;
    let content = source.at_rest()?;
    let mut start = [0; LENGTH];
    let available = usize::try_from(content.length()).unwrap_or(LENGTH).min(LENGTH);
    let file = File { path, content };
    file.fill(&mut start[..available], 0)?;
    let header = Header::decode(&start[..available], file.content.length())
        .map_err(|(offset, problem)| IoError::binary(path, offset as u64, problem))?;
    metadata.check_dimensions(path, header.rows, header.cols)?;
    match header.layout {
        Layout::Dense => file.dense(&header),
        Layout::Csr => file.csr(&header),
    }
}

struct File<'a> {
    path: &'a Path,
    content: AtRest<'a>,
}

impl File<'_> {
    fn error(&self, offset: u64, problem: impl Into<String>) -> IoError {
        IoError::binary(self.path, offset, problem)
    }

    fn dense(&self, header: &Header) -> Result<(MatrixBlock, usize), IoError> {
        let (rows, cols) = (self.to_usize(header.rows)?, self.to_usize(header.cols)?);
        let cells = self.to_usize((header.length - header.values) / size_of::<f64>() as u64)?;
        let (values, nonzeros) = self.values(header.values, cells)?;
        if nonzeros as u64 != header.nnz {
            let problem = format!("the header says {} non-zeros, the values hold {nonzeros}", header.nnz);
            return Err(self.error(32, problem));
        }
        Ok((Dense::from_memory(rows, cols, values).into(), nonzeros))
    }

    fn csr(&self, header: &Header) -> Result<(MatrixBlock, usize), IoError> {
        let (cols, nnz) = (self.to_usize(header.cols)?, self.to_usize(header.nnz)?);
        let row_offsets = self.row_offsets(header, nnz)?;
        let columns = self.columns(header, &row_offsets)?;
        let (values, nonzeros) = self.values(header.values, nnz)?;
        let matrix = Csr::from_memory(cols, row_offsets, columns, values);
        let matrix = if nonzeros < nnz { matrix.without_stored_zeros() } else { matrix };
        Ok((matrix.into(), nonzeros))
    }

    /// Values and how many of them are not zero.
    fn values(&self, offset: u64, count: usize) -> Result<(Memory<f64>, usize), IoError> {
        let mut values = Memory::<f64>::zeroed(count);
        let counts: Result<Vec<usize>, IoError> = values
            .par_chunks_mut(CHUNK)
            .enumerate()
            .map(|(chunk, values)| {
                self.fill(values, offset + (chunk * CHUNK * size_of::<f64>()) as u64)?;
                values.iter_mut().for_each(|value| *value = f64::from_bits(u64::from_le(value.to_bits())));
                Ok(values.iter().filter(|&&value| value != 0.0).count())
            })
            .collect();
        Ok((values, counts?.into_iter().sum()))
    }

    fn row_offsets(&self, header: &Header, nnz: usize) -> Result<Memory<usize>, IoError> {
        let mut row_offsets = Memory::<usize>::zeroed(self.to_usize(header.rows)? + 1);
        let are_sorted: Result<Vec<bool>, IoError> = row_offsets
            .par_chunks_mut(CHUNK)
            .enumerate()
            .map(|(chunk, row_offsets)| {
                let offset = header.row_offsets + (chunk * CHUNK * size_of::<u64>()) as u64;
                let mut stored = vec![0_u64; row_offsets.len()];
                self.fill(&mut stored, offset)?;
                for (row_offset, stored) in row_offsets.iter_mut().zip(&stored) {
                    *row_offset = usize::try_from(u64::from_le(*stored)).unwrap_or(usize::MAX);
                }
                Ok(row_offsets.is_sorted())
            })
            .collect();
        let meet = |edge: usize| row_offsets[edge * CHUNK - 1] <= row_offsets[edge * CHUNK];
        let are_sorted = are_sorted?;
        let ascend = are_sorted.iter().all(|&is_sorted| is_sorted) && (1..are_sorted.len()).all(meet);
        if !ascend || row_offsets.first() != Some(&0) || row_offsets.last() != Some(&nnz) {
            return Err(self.error(header.row_offsets, format!("the row offsets do not ascend from 0 to {nnz}")));
        }
        Ok(row_offsets)
    }

    /// Column indexes, checked row by row.
    fn columns(&self, header: &Header, row_offsets: &[usize]) -> Result<Memory<u32>, IoError> {
        let mut columns = Memory::<u32>::zeroed(row_offsets[row_offsets.len() - 1]);
        let wrong_rows: Result<Vec<Option<usize>>, IoError> = rows_of_chunks(row_offsets, &mut columns)
            .into_par_iter()
            .map(|(first_row, columns)| {
                let start = row_offsets[first_row];
                self.fill(columns, header.columns + (start * size_of::<u32>()) as u64)?;
                columns.iter_mut().for_each(|column| *column = u32::from_le(*column));
                let end = start + columns.len();
                let rows = row_offsets[first_row..].windows(2).take_while(|row| row[1] <= end && row[0] < end);
                let is_wrong =
                    |row: &[usize]| !are_columns(&columns[row[0] - start..row[1] - start], header.cols as usize);
                Ok(rows.enumerate().find(|(_, row)| is_wrong(row)).map(|(row, _)| first_row + row))
            })
            .collect();
        if let Some(row) = wrong_rows?.into_iter().flatten().next() {
            let offset = header.columns + (row_offsets[row] * size_of::<u32>()) as u64;
            let problem = format!("the column indexes of row {} do not ascend below {}", row + 1, header.cols);
            return Err(self.error(offset, problem));
        }
        Ok(columns)
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
}

/// Cuts column indexes into pieces of whole rows, of about a chunk each, with the first row of each.
fn rows_of_chunks<'a>(row_offsets: &[usize], columns: &'a mut [u32]) -> Vec<(usize, &'a mut [u32])> {
    let mut pieces = Vec::new();
    let (mut left, mut taken) = (columns, 0);
    while !left.is_empty() {
        // The row that holds the first position left, and the first row that begins a chunk behind it.
        let first_row = row_offsets.partition_point(|&offset| offset <= taken) - 1;
        let end_row = row_offsets.partition_point(|&offset| offset < taken + CHUNK).min(row_offsets.len() - 1);
        let (piece, behind) = left.split_at_mut(row_offsets[end_row] - taken);
        left = behind;
        taken = row_offsets[end_row];
        pieces.push((first_row, piece));
    }
    pieces
}

/// Writes a matrix as it is stored, without explicit zeros.
pub(super) fn write(block: &MatrixBlock, nonzeros: usize, out: &mut impl Write) -> io::Result<()> {
    match block {
        MatrixBlock::Dense(dense) => {
            write_header(Layout::Dense, block, nonzeros, out)?;
            write_numbers(dense.values(), |value| with_one_nan(value).to_bits().to_le(), out)
        }
        MatrixBlock::Sparse(csr) if csr.has_stored_zeros() => write(&csr.without_stored_zeros().into(), nonzeros, out),
        MatrixBlock::Sparse(csr) => {
            let header = write_header(Layout::Csr, block, csr.nnz(), out)?;
            write_numbers(csr.row_offsets(), |offset| (offset as u64).to_le(), out)?;
            write_padding(header.row_offsets + (csr.row_offsets().len() * 8) as u64, header.columns, out)?;
            write_numbers(csr.columns(), u32::to_le, out)?;
            write_padding(header.columns + (csr.columns().len() * 4) as u64, header.values, out)?;
            write_numbers(csr.values(), |value| with_one_nan(value).to_bits().to_le(), out)
        }
    }
}

fn write_header(layout: Layout, block: &MatrixBlock, nnz: usize, out: &mut impl Write) -> io::Result<Header> {
    let header = Header::new(layout, block.rows() as u64, block.cols() as u64, nnz as u64)
        .ok_or_else(|| io::Error::other("the matrix is too large for a file"))?;
    out.write_all(&header.encode())?;
    Ok(header)
}

fn write_padding(end: u64, next: u64, out: &mut impl Write) -> io::Result<()> {
    out.write_all(&[0; 64][..(next - end) as usize])
}

/// Writes numbers as they are stored.
fn write_numbers<T: Copy, S: Pod>(numbers: &[T], stored: impl Fn(T) -> S, out: &mut impl Write) -> io::Result<()> {
    let mut buffer = Vec::with_capacity(numbers.len().min(CHUNK));
    for chunk in numbers.chunks(CHUNK) {
        buffer.clear();
        buffer.extend(chunk.iter().map(|&number| stored(number)));
        out.write_all(cast_slice(&buffer))?;
    }
    Ok(())
}
