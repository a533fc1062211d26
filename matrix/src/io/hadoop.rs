//! Binary blocks of SystemML and SystemDS: `SequenceFile`s of blocks, each behind its position in the grid of blocks.
//!
//! A block is empty, a list of cells (ultra-sparse), rows of positions (sparse) or dense. Blocks come in any order, in
//! one file or the parts of a directory; a block that is missing is zero. Dimensions stand in the metadata.

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
use std::path::Path;

/// Rows and columns of a block where the metadata does not say them.
const BLOCK_SIDE: u64 = 1000;

/// Bytes of a key: the position of a block by row and by column, 1-based.
const KEY: usize = 16;

/// Numbers of a dense block that are read at a time.
const CHUNK: usize = 1 << 13;

/// The matrix and the number of its non-zeros.
pub(super) fn read(source: &mut Source<'_>, metadata: &Metadata) -> Result<(MatrixBlock, usize), IoError> {
    let grid = Grid::new(source.path, metadata)?;
    let limit = source.inflation_limit();
    let blocks: Vec<Block> = match source.parts() {
        Some(parts) => {
            let read = |path| grid.read_blocks(path, super::source::open(path)?, limit);
            let blocks: Result<Vec<Vec<Block>>, IoError> = parts.par_iter().map(|path| read(path)).collect();
            blocks?.into_iter().flatten().collect()
        }
        None => grid.read_blocks(source.path, source.stored(), limit)?,
    };
    grid.check_positions(source.path, &blocks)?;
    let nonzeros = blocks.iter().map(Block::nonzeros).sum();
    let matrix = match grid.dense_dimensions(nonzeros) {
        Some((rows, cols)) => dense(source.path, rows, cols, blocks)?.into(),
        None => {
            let dimensions = check_dimensions(source, grid.rows, grid.cols)?;
            let mut entries = Growing::new(MemoryKind::File);
            for block in blocks {
                check_stop();
                entries.append(block.into_entries());
            }
            matrix_of(source, dimensions, &entries, Duplicates::Refuse)?.into()
        }
    };
    Ok((matrix, nonzeros))
}

/// How a matrix is cut into blocks.
struct Grid {
    rows: u64,
    cols: u64,
    block_rows: u64,
    block_cols: u64,
}

/// A block and where it lies.
struct Block {
    first_row: u64,
    first_col: u64,
    cols: usize,
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
    fn new(path: &Path, metadata: &Metadata) -> Result<Self, IoError> {
        let (Some(rows), Some(cols)) = (metadata.rows, metadata.cols) else {
            let problem = "blocks of SystemDS need rows and cols, as arguments or in the .mtd file beside them";
            return Err(IoError::description(path, problem));
        };
        let side = |declared: Option<u64>| declared.filter(|&side| side > 0).unwrap_or(BLOCK_SIDE);
        Ok(Grid { rows, cols, block_rows: side(metadata.rows_in_block), block_cols: side(metadata.cols_in_block) })
    }

    /// The dimensions of a matrix that is better kept dense. Then its cells account for its memory.
    fn dense_dimensions(&self, nonzeros: usize) -> Option<(usize, usize)> {
        let (rows, cols) = (usize::try_from(self.rows).ok()?, usize::try_from(self.cols).ok()?);
        let is_dense = rows > 0 && cols > 0 && !MatrixBlock::prefers_sparse(rows, cols, nonzeros);
        is_dense.then_some((rows, cols))
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
                self.position(&record).map_err(|problem| IoError::binary(path, record.offset, problem))?;
            let rows = self.block_rows.min(self.rows - first_row);
            let cols = self.block_cols.min(self.cols - first_col);
            let content = file.value(&record, |value| read_content(value, rows, cols))?;
            let held = reserve(MemoryKind::File, content.bytes() as u64);
            blocks.push(Block { first_row, first_col, cols: cols as usize, content, _held: held });
        }
        Ok(blocks)
    }

    /// The first row and column of a block.
    fn position(&self, record: &Record<KEY>) -> Result<(u64, u64), String> {
        let (row, col) = record.key.split_at(KEY / 2);
        let first = |index: &[u8], side: u64, end: u64| {
            let index = u64::from_be_bytes(index.try_into().unwrap_or_default());
            index.checked_sub(1)?.checked_mul(side).filter(|&first| first < end)
        };
        match (first(row, self.block_rows, self.rows), first(col, self.block_cols, self.cols)) {
            (Some(first_row), Some(first_col)) => Ok((first_row, first_col)),
            _ => {
                let Grid { rows, cols, block_rows, block_cols } = self;
                Err(format!("a {rows} x {cols} matrix in blocks of {block_rows} x {block_cols} has no such block"))
            }
        }
    }

    fn check_positions(&self, path: &Path, blocks: &[Block]) -> Result<(), IoError> {
        let mut seen = HashSet::with_capacity(blocks.len());
        match blocks.iter().find(|block| !seen.insert((block.first_row, block.first_col))) {
            None => Ok(()),
            Some(Block { first_row, first_col, .. }) => {
                let (row, col) = (first_row / self.block_rows + 1, first_col / self.block_cols + 1);
                Err(IoError::description(path, format!("the block ({row}, {col}) occurs twice")))
            }
        }
    }
}

impl Block {
    fn nonzeros(&self) -> usize {
        match &self.content {
            Content::Dense(cells) => cells.iter().filter(|&&cell| cell != 0.0).count(),
            Content::Sparse(entries) => entries.iter().filter(|entry| entry.value != 0.0).count(),
        }
    }

    /// The cells that are not zero, with their rows and columns in the whole matrix.
    fn into_entries(self) -> Vec<Entry> {
        let Block { first_row, first_col, cols, content, .. } = self;
        let entries = match content {
            Content::Sparse(entries) => entries,
            Content::Dense(cells) => {
                let entry = |(at, value)| Entry { row: (at / cols) as u64, column: (at % cols) as u32, value };
                cells.into_iter().enumerate().filter(|&(_, cell)| cell != 0.0).map(entry).collect()
            }
        };
        let moved = |entry: Entry| Entry {
            row: first_row + entry.row,
            column: first_col as u32 + entry.column,
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
        let first = block.first_row as usize * cols + block.first_col as usize;
        match block.content {
            Content::Dense(cells) => {
                for (row, cells) in cells.chunks(block.cols).enumerate() {
                    values[first + row * cols..][..cells.len()].copy_from_slice(cells);
                }
            }
            Content::Sparse(entries) => {
                for Entry { row, column, value } in entries {
                    let cell = &mut values[first + row as usize * cols + column as usize];
                    if *cell != 0.0 {
                        let (row, column) = (block.first_row + row + 1, block.first_col + u64::from(column) + 1);
                        return Err(IoError::description(path, format!("the cell ({row}, {column}) occurs twice")));
                    }
                    *cell = value;
                }
            }
        }
    }
    Ok(matrix)
}

/// The content of a block that must have these dimensions.
fn read_content(value: &mut dyn Read, rows: u64, cols: u64) -> Result<Content, ValueError> {
    let stored = (number(value)?, number(value)?);
    if (u64::try_from(stored.0), u64::try_from(stored.1)) != (Ok(rows), Ok(cols)) {
        let problem = format!("a block of {} x {} cells stands where one of {rows} x {cols} must", stored.0, stored.1);
        return Err(ValueError::Problem(problem));
    }
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
