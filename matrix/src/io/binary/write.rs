//! Writing of binary files, in one pass over the matrix: what is known only then stands at their end.

use super::description::{Element, Layout, Section, Shape};
use super::version_2::{Header, PIECE_BYTES, encode_trailer};
use crate::block::MatrixBlock;
use crate::csr::Csr;
use crate::dense::Dense;
use bytemuck::{Pod, cast_slice};
use fuseline_ir::ops::math::with_one_nan;
use fuseline_ir::work::{CELL_BYTES, NON_ZERO_BYTES, ROW_BYTES, strip_rows};
use std::io::{self, Write};

/// Writes a matrix as it is stored, without explicit zeros.
pub(in crate::io) fn write(block: &MatrixBlock, nonzeros: usize, out: &mut impl Write) -> io::Result<()> {
    match block.layout() {
        crate::Layout::Dense(dense) => write_dense(&dense, nonzeros, out),
        crate::Layout::Sparse(csr) if csr.has_stored_zeros() => write_csr(&csr.without_stored_zeros(), out),
        crate::Layout::Sparse(csr) => write_csr(&csr, out),
    }
}

fn write_dense(dense: &Dense, nonzeros: usize, out: &mut impl Write) -> io::Result<()> {
    let (rows, cols) = (dense.rows() as u64, dense.cols() as u64);
    let strip_rows = strip_rows(cols * CELL_BYTES);
    let shape = Shape { layout: Layout::Dense, element: Element::F64, rows, cols, nnz: nonzeros as u64, strip_rows };
    let mut writer = Writer::begin(shape, |_| 0, out)?;
    for strip in 0..shape.strips() {
        let first = (strip * strip_rows * cols) as usize;
        let cells = (shape.rows_of(strip) * cols) as usize;
        writer.section(&dense.values()[first..first + cells], stored_value)?;
    }
    writer.end()
}

fn write_csr(csr: &Csr, out: &mut impl Write) -> io::Result<()> {
    let (rows, cols, nnz) = (csr.rows() as u64, csr.cols() as u64, csr.nnz() as u64);
    let strip_rows = strip_rows(ROW_BYTES + (nnz * NON_ZERO_BYTES).div_ceil(rows.max(1)));
    let shape = Shape { layout: Layout::Csr, element: Element::F64, rows, cols, nnz, strip_rows };
    let offsets_of = |strip: u64| {
        let first = (strip * strip_rows) as usize;
        &csr.row_offsets()[first..=first + shape.rows_of(strip) as usize]
    };
    let positions_of = |strip: u64| {
        let offsets = offsets_of(strip);
        offsets[0]..offsets[offsets.len() - 1]
    };
    let mut writer = Writer::begin(shape, |strip| positions_of(strip).len() as u64, out)?;
    for strip in 0..shape.strips() {
        let positions = positions_of(strip);
        writer.section(offsets_of(strip), |offset| ((offset - positions.start) as u64).to_le())?;
        writer.section(&csr.columns()[positions.clone()], u32::to_le)?;
        writer.section(&csr.values()[positions], stored_value)?;
    }
    writer.end()
}

fn stored_value(value: f64) -> u64 {
    with_one_nan(value).to_bits().to_le()
}

/// A file of which the sections are written one after the other.
struct Writer<'a, W> {
    out: &'a mut W,
    sections: Vec<Section>,
    /// How many of them are written.
    written: usize,
    /// Bytes that are written.
    position: u64,
    /// Where the table begins.
    table: u64,
    checksums: Vec<u32>,
}

impl<'a, W: Write> Writer<'a, W> {
    /// Writes the header of a matrix of which strips have so many stored positions.
    fn begin(shape: Shape, positions: impl Fn(u64) -> u64, out: &'a mut W) -> io::Result<Self> {
        let too_large = || io::Error::other("the matrix is too large for a file");
        let sections = shape.sections(positions).ok_or_else(too_large)?;
        let header = Header::new(shape, &sections).ok_or_else(too_large)?;
        let bytes = header.encode();
        out.write_all(&bytes)?;
        let position = bytes.len() as u64;
        Ok(Writer { out, sections, written: 0, position, table: header.table, checksums: Vec::new() })
    }

    /// Writes the numbers of the next section as they are stored.
    fn section<T: Copy, S: Pod>(&mut self, numbers: &[T], stored: impl Fn(T) -> S) -> io::Result<()> {
        let Section { kind, offset, bytes, .. } = self.sections[self.written];
        debug_assert_eq!(bytes, size_of::<S>() as u64 * numbers.len() as u64, "{kind:?}");
        self.pad_to(offset)?;
        let per_piece = PIECE_BYTES / size_of::<S>();
        let mut buffer: Vec<S> = Vec::with_capacity(numbers.len().min(per_piece));
        for piece in numbers.chunks(per_piece) {
            buffer.clear();
            buffer.extend(piece.iter().map(|&number| stored(number)));
            self.checksums.push(crc32c::crc32c(cast_slice(&buffer)));
            self.out.write_all(cast_slice(&buffer))?;
        }
        self.position += bytes;
        self.written += 1;
        Ok(())
    }

    /// Writes what stands behind the sections.
    fn end(mut self) -> io::Result<()> {
        self.pad_to(self.table)?;
        self.out.write_all(&encode_trailer(&self.sections, &self.checksums))
    }

    /// Writes zeros up to this byte, which is less than 64 away.
    fn pad_to(&mut self, offset: u64) -> io::Result<()> {
        self.out.write_all(&[0; 64][..(offset - self.position) as usize])?;
        self.position = offset;
        Ok(())
    }
}
