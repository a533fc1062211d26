//! Binary blocks of SystemML and SystemDS: `SequenceFile`s of blocks, each behind its position in the grid of blocks.
//!
//! A block is empty, a list of cells (ultra-sparse), rows of positions (sparse) or dense. Blocks come in any order, in
//! one file or the parts of a directory; a block that is missing is zero. Dimensions stand in the metadata; else the last
//! blocks tell them.

use super::entries::{Duplicates, Entry, check_dimensions, matrix_of};
use super::error::{IoError, shown};
use super::metadata::Metadata;
use super::sequence_file::{Record, SequenceFile, ValueError};
use super::source::Source;
use crate::block::MatrixBlock;
use crate::budget::{MemoryKind, Reservation};
use crate::dense::Dense;
use crate::growing::Growing;
use crate::run_context::{check_stop, reserve};
use rayon::prelude::*;
use std::collections::HashSet;
use std::io::{BufRead, BufReader, Read};
use std::ops::Range;
use std::path::Path;

/// Rows and columns of a block where the metadata does not say them.
const BLOCK_SIDE: u64 = 1000;

/// Bytes of a key: the position of a block by row and by column, 1-based.
const KEY: usize = 16;

/// Numbers of a dense block that are read at a time.
const CHUNK: usize = 1 << 13;

/// The matrix and the number of its non-zeros.
pub(super) fn read(source: &mut Source<'_>, metadata: &Metadata) -> Result<(MatrixBlock, usize), IoError> {
    let grid = Grid::new(metadata);
    let limit = source.inflation_limit();
    let blocks: Vec<Block> = match source.parts() {
        Some(parts) => {
            let read = |path| grid.read_blocks(path, super::opened::open(path)?, limit);
            let blocks: Result<Vec<Vec<Block>>, IoError> = parts.par_iter().map(|path| read(path)).collect();
            blocks?.into_iter().flatten().collect()
        }
        None => grid.read_blocks(source.path, source.stored(), limit)?,
    };
    grid.check_positions(source.path, &blocks)?;
    let (rows, cols) = grid.dimensions(source.path, &blocks)?;
    let nonzeros = blocks.iter().map(Block::nonzeros).sum();
    let matrix = match dense_dimensions(rows, cols, nonzeros) {
        Some((rows, cols)) => dense(source.path, rows, cols, blocks)?.into(),
        None => {
            let (height, width) = check_dimensions(source, rows, cols)?;
            let mut entries = Growing::new(MemoryKind::File);
            for block in blocks {
                check_stop();
                entries.append(block.into_entries());
            }
            matrix_of(source, height, width, &entries, Duplicates::Refuse)?.into()
        }
    };
    Ok((matrix, nonzeros))
}

/// The dimensions of a matrix that is better kept dense. Then its cells account for its memory.
fn dense_dimensions(rows: u64, cols: u64, nonzeros: usize) -> Option<(usize, usize)> {
    let (rows, cols) = (usize::try_from(rows).ok()?, usize::try_from(cols).ok()?);
    let is_dense = rows > 0 && cols > 0 && !MatrixBlock::best_format(rows, cols, nonzeros).is_sparse();
    is_dense.then_some((rows, cols))
}

/// How a matrix is cut into blocks.
struct Grid {
    rows: Axis,
    cols: Axis,
}

/// The rows or the columns of a matrix, and those of its blocks.
struct Axis {
    /// How many there are, where that is declared.
    extent: Option<u64>,
    /// How many a block has, unless it is the last.
    side: u64,
}

impl Axis {
    fn new(extent: Option<u64>, side: Option<u64>) -> Self {
        Axis { extent, side: side.filter(|&side| side > 0).unwrap_or(BLOCK_SIDE) }
    }

    /// The first row or column of the block at a position that counts from 1, if there may be such a block.
    fn first(&self, position: u64) -> Option<u64> {
        let first = position.checked_sub(1)?.checked_mul(self.side)?;
        // Its end is a number, too.
        first.checked_add(self.side)?;
        self.extent.is_none_or(|extent| first < extent).then_some(first)
    }

    /// How many rows or columns the block has that begins here; at most, where the extent is not declared.
    fn length(&self, first: u64) -> u64 {
        self.extent.map_or(self.side, |extent| self.side.min(extent - first))
    }

    /// Whether a block that begins here may have so many rows or columns.
    fn admits(&self, first: u64, length: u64) -> bool {
        let most = self.length(first);
        length == most || self.extent.is_none() && (1..most).contains(&length)
    }

    /// How many rows or columns there are: as declared, or as far as these blocks reach.
    fn extent<'a>(&self, blocks: impl Iterator<Item = &'a Range<u64>>) -> Option<u64> {
        self.extent.or_else(|| blocks.map(|block| block.end).max())
    }

    /// Whether a block is as long as it must be in a matrix of this extent.
    fn fits(&self, extent: u64, block: &Range<u64>) -> bool {
        block.end - block.start == self.side || block.end == extent
    }
}

/// A block and where it lies.
struct Block {
    rows: Range<u64>,
    cols: Range<u64>,
    content: Content,
    /// The memory of the content.
    _held: Option<Reservation>,
}

enum Content {
    /// Cells by row.
    Dense(Vec<f64>),
    /// Cells, with their rows and columns within the block.
    Sparse(Vec<Entry>),
}

impl Content {
    fn bytes(&self) -> usize {
        match self {
            Content::Dense(cells) => size_of_val(&cells[..]),
            Content::Sparse(entries) => size_of_val(&entries[..]),
        }
    }
}

/// How the content of a block is stored.
#[derive(Clone, Copy)]
enum Layout {
    Empty,
    UltraSparse,
    Sparse,
    Dense,
}

impl Layout {
    const fn of_tag(tag: u8) -> Option<Self> {
        match tag {
            0 => Some(Layout::Empty),
            1 => Some(Layout::UltraSparse),
            2 => Some(Layout::Sparse),
            3 => Some(Layout::Dense),
            _ => None,
        }
    }
}

impl Grid {
    fn new(metadata: &Metadata) -> Self {
        Grid {
            rows: Axis::new(metadata.rows, metadata.rows_in_block),
            cols: Axis::new(metadata.cols, metadata.cols_in_block),
        }
    }

    /// The rows and columns of the matrix.
    fn dimensions(&self, path: &Path, blocks: &[Block]) -> Result<(u64, u64), IoError> {
        let rows = self.rows.extent(blocks.iter().map(|block| &block.rows));
        let cols = self.cols.extent(blocks.iter().map(|block| &block.cols));
        let Some((rows, cols)) = rows.zip(cols) else {
            let problem = "no block tells rows and cols: say them as arguments, or in a .mtd file beside the data";
            return Err(IoError::description(path, problem));
        };
        let misfits = |block: &&Block| !self.rows.fits(rows, &block.rows) || !self.cols.fits(cols, &block.cols);
        let Some(block) = blocks.iter().find(misfits) else { return Ok((rows, cols)) };
        let (height, width) = block.sides();
        let problem = format!(
            "the block {} has {height} x {width} cells, blocks before the last have {} x {}; if not so, say \
             rows_in_block and cols_in_block",
            self.position(block),
            self.rows.side,
            self.cols.side
        );
        Err(IoError::description(path, problem))
    }

    /// Where a block stands in the grid, from (1, 1).
    fn position(&self, block: &Block) -> String {
        format!("({}, {})", block.rows.start / self.rows.side + 1, block.cols.start / self.cols.side + 1)
    }

    /// The blocks of a file that are not empty.
    fn read_blocks(&self, path: &Path, stored: impl Read, inflation_limit: u64) -> Result<Vec<Block>, IoError> {
        let mut stored = BufReader::new(stored);
        let mut blocks = Vec::new();
        // Distributed programs leave empty files for tasks without data.
        if stored.fill_buf().map_err(|error| IoError::system("read", path, error))?.is_empty() {
            return Ok(blocks);
        }
        let mut file = SequenceFile::open(path, stored, inflation_limit)?;
        if !file.key_class.ends_with(".MatrixIndexes") || !file.value_class.ends_with(".MatrixBlock") {
            let classes = format!("{} and {}", shown(file.key_class.as_bytes()), shown(file.value_class.as_bytes()));
            return Err(IoError::binary(path, 0, format!("keys and values are {classes}, not blocks of a matrix")));
        }
        while let Some(record) = file.next()? {
            let (first_row, first_col) =
                self.first_cell(&record).map_err(|problem| IoError::binary(path, record.offset, problem))?;
            let (rows, cols, content) = file.value(&record, |value| {
                let (rows, cols) = self.read_sides(value, first_row, first_col)?;
                Ok((rows, cols, read_content(value, rows, cols)?))
            })?;
            let held = reserve(MemoryKind::File, content.bytes() as u64);
            let (rows, cols) = (first_row..first_row + rows, first_col..first_col + cols);
            blocks.push(Block { rows, cols, content, _held: held });
        }
        Ok(blocks)
    }

    /// The first row and column of a block.
    fn first_cell(&self, record: &Record<KEY>) -> Result<(u64, u64), String> {
        let (row, col) = record.key.split_at(KEY / 2);
        let number = |bytes: &[u8]| u64::from_be_bytes(bytes.try_into().unwrap_or_default());
        self.rows.first(number(row)).zip(self.cols.first(number(col))).ok_or_else(|| {
            let shown = |axis: &Axis| axis.extent.map_or("?".to_owned(), |extent| extent.to_string());
            let (rows, cols, sides) = (shown(&self.rows), shown(&self.cols), (self.rows.side, self.cols.side));
            format!("a {rows} x {cols} matrix in blocks of {} x {} has no such block", sides.0, sides.1)
        })
    }

    /// The rows and columns that the block states which begins here.
    fn read_sides(&self, value: &mut dyn Read, first_row: u64, first_col: u64) -> Result<(u64, u64), ValueError> {
        let (rows, cols) = (number(value)?, number(value)?);
        let stated = u64::try_from(rows).ok().zip(u64::try_from(cols).ok());
        let admitted =
            stated.filter(|&(rows, cols)| self.rows.admits(first_row, rows) && self.cols.admits(first_col, cols));
        admitted.ok_or_else(|| {
            let must = (self.rows.length(first_row), self.cols.length(first_col));
            let problem = format!("a block of {rows} x {cols} cells stands where one of {} x {} must", must.0, must.1);
            ValueError::Problem(problem)
        })
    }

    fn check_positions(&self, path: &Path, blocks: &[Block]) -> Result<(), IoError> {
        let mut seen = HashSet::with_capacity(blocks.len());
        match blocks.iter().find(|block| !seen.insert((block.rows.start, block.cols.start))) {
            None => Ok(()),
            Some(block) => Err(IoError::description(path, format!("the block {} occurs twice", self.position(block)))),
        }
    }
}

impl Block {
    /// How many rows and columns it has.
    fn sides(&self) -> (u64, u64) {
        (self.rows.end - self.rows.start, self.cols.end - self.cols.start)
    }

    fn nonzeros(&self) -> usize {
        match &self.content {
            Content::Dense(cells) => cells.iter().filter(|&&cell| cell != 0.0).count(),
            Content::Sparse(entries) => entries.iter().filter(|entry| entry.value != 0.0).count(),
        }
    }

    /// The cells that are not zero, with their rows and columns in the whole matrix.
    fn into_entries(self) -> Vec<Entry> {
        let (_, width) = self.sides();
        let entries = match self.content {
            Content::Sparse(entries) => entries,
            Content::Dense(cells) => {
                let entry = |(at, value)| Entry { row: at as u64 / width, column: (at as u64 % width) as u32, value };
                cells.into_iter().enumerate().filter(|&(_, cell)| cell != 0.0).map(entry).collect()
            }
        };
        let moved = |entry: Entry| Entry {
            row: self.rows.start + entry.row,
            column: self.cols.start as u32 + entry.column,
            value: entry.value,
        };
        entries.into_iter().map(moved).collect()
    }
}

/// Puts blocks together; each is freed as soon as it is copied.
fn dense(path: &Path, rows: usize, cols: usize, blocks: Vec<Block>) -> Result<Dense, IoError> {
    let mut matrix = Dense::zeros(rows, cols);
    let values = matrix.values_mut();
    for block in blocks {
        check_stop();
        let first = block.rows.start as usize * cols + block.cols.start as usize;
        let (_, width) = block.sides();
        match block.content {
            Content::Dense(cells) => {
                for (row, cells) in cells.chunks(width as usize).enumerate() {
                    values[first + row * cols..][..cells.len()].copy_from_slice(cells);
                }
            }
            Content::Sparse(entries) => {
                for Entry { row, column, value } in entries {
                    let cell = &mut values[first + row as usize * cols + column as usize];
                    if *cell != 0.0 {
                        let (row, column) = (block.rows.start + row + 1, block.cols.start + u64::from(column) + 1);
                        return Err(IoError::description(path, format!("the cell ({row}, {column}) occurs twice")));
                    }
                    *cell = value;
                }
            }
        }
    }
    Ok(matrix)
}

/// The content of a block of these dimensions.
fn read_content(value: &mut dyn Read, rows: u64, cols: u64) -> Result<Content, ValueError> {
    let [tag] = bytes(value)?;
    match Layout::of_tag(tag) {
        Some(Layout::Empty) => Ok(Content::Sparse(Vec::new())),
        Some(Layout::UltraSparse) => read_ultra_sparse(value, rows, cols).map(Content::Sparse),
        Some(Layout::Sparse) => read_sparse(value, rows, cols).map(Content::Sparse),
        Some(Layout::Dense) => read_dense(value, rows.saturating_mul(cols)).map(Content::Dense),
        None => Err(ValueError::Problem(format!("blocks of kind {tag} are not known"))),
    }
}

/// The number of cells, then row, column and value of each; columns are left out where there is one.
fn read_ultra_sparse(value: &mut dyn Read, rows: u64, cols: u64) -> Result<Vec<Entry>, ValueError> {
    let mut entries = Vec::new();
    for _ in 0..number(value)?.max(0) {
        let row = below(number(value)?, rows, "row")?;
        let column = if cols == 1 { 0 } else { below(number(value)?, cols, "column")? };
        entries.push(Entry { row: row.into(), column, value: f64::from_be_bytes(bytes(value)?) });
    }
    Ok(entries)
}

/// The number of cells, then for each row the number of its cells, and column and value of each.
fn read_sparse(value: &mut dyn Read, rows: u64, cols: u64) -> Result<Vec<Entry>, ValueError> {
    let declared = number(value)?;
    let mut entries = Vec::new();
    for row in 0..rows {
        for _ in 0..number(value)?.max(0) {
            let column = below(number(value)?, cols, "column")?;
            entries.push(Entry { row, column, value: f64::from_be_bytes(bytes(value)?) });
        }
    }
    if i64::from(declared) != entries.len() as i64 {
        let problem = format!("a sparse block declares {declared} cells and has {}", entries.len());
        return Err(ValueError::Problem(problem));
    }
    Ok(entries)
}

/// Cells by row.
fn read_dense(value: &mut dyn Read, cells: u64) -> Result<Vec<f64>, ValueError> {
    let mut numbers = Vec::new();
    let mut chunk = [0; CHUNK * size_of::<f64>()];
    let mut left = cells;
    while left > 0 {
        let count = left.min(CHUNK as u64);
        let chunk = &mut chunk[..count as usize * size_of::<f64>()];
        value.read_exact(chunk)?;
        let (stored, _) = chunk.as_chunks();
        numbers.extend(stored.iter().map(|&stored| f64::from_be_bytes(stored)));
        left -= count;
    }
    Ok(numbers)
}

fn number(value: &mut dyn Read) -> Result<i32, ValueError> {
    Ok(i32::from_be_bytes(bytes(value)?))
}

fn bytes<const N: usize>(value: &mut dyn Read) -> Result<[u8; N], ValueError> {
    let mut bytes = [0; N];
    value.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn below(number: i32, end: u64, what: &str) -> Result<u32, ValueError> {
    let index = u32::try_from(number).ok().filter(|&index| u64::from(index) < end);
    index.ok_or_else(|| ValueError::Problem(format!("a cell stands in {what} {number} of a block of {end}")))
}
