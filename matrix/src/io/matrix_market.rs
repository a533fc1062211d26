//! MatrixMarket exchange files: a banner, comments, a line of sizes, then entries or cells.
//!
//! Entries of the same cell are added up, as other readers do. Symmetric and skew-symmetric files hold the lower
//! triangle, the latter without the diagonal.

use super::entries::{Duplicates, Entry, check_dimensions, matrix_of};
use super::error::{IoError, Problem, shown};
use super::lines::{LineReader, Lines};
use super::metadata::Metadata;
use super::number::{Fields, parse_count, write_number};
use super::source::Source;
use super::{text, transposed};
use crate::block::MatrixBlock;
use crate::budget::MemoryKind;
use crate::dense::Dense;
use crate::growing::Growing;
use std::io::Write;

/// What the banner says.
#[derive(Clone, Copy, Debug)]
struct Banner {
    layout: Layout,
    field: Field,
    symmetry: Symmetry,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    /// Entries: row, column, value.
    Coordinate,
    /// Cells, column after column.
    Array,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Real,
    Integer,
    /// Positions without values; each stands for 1.
    Pattern,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Symmetry {
    General,
    Symmetric,
    SkewSymmetric,
}

/// What the header says.
#[derive(Clone, Copy, Debug)]
struct Header {
    banner: Banner,
    rows: u64,
    cols: u64,
    /// Entries or cells in the file.
    count: u64,
}

/// Reads a matrix, checked against the metadata's dimensions before its values are read.
pub(super) fn read(source: &mut Source<'_>, metadata: &Metadata) -> Result<MatrixBlock, IoError> {
    let path = source.path;
    let mut lines = LineReader::new(source)?;
    let header = header(&mut lines)?;
    metadata.check_dimensions(path, header.rows, header.cols)?;
    match header.banner.layout {
        Layout::Coordinate => {
            let entries = items(&mut lines, header.count, |fields| entry(fields, &header))?;
            drop(lines);
            let (height, width) = check_dimensions(source, header.rows, header.cols)?;
            let entries = mirrored(entries, header.banner.symmetry);
            Ok(matrix_of(source, height, width, &entries, Duplicates::Sum)?.into())
        }
        Layout::Array => {
            let cells = items(&mut lines, header.count, |fields| value(fields, header.banner.field))?;
            Ok(dense(&header, &cells).into())
        }
    }
}

fn header(lines: &mut LineReader<'_>) -> Result<Header, IoError> {
    let first = lines.take_line()?.unwrap_or_default();
    let banner = banner(&first).map_err(|problem| lines.error(problem))?;
    loop {
        let Some(line) = lines.take_line()? else {
            return Err(lines.error(Problem::at(0, "the file ends before the line of sizes")));
        };
        if !is_skipped(&line) {
            return sizes(&line, banner).map_err(|problem| lines.error(problem));
        }
    }
}

/// Comments and blank lines.
fn is_skipped(line: &[u8]) -> bool {
    line.iter().find(|byte| !byte.is_ascii_whitespace()).is_none_or(|&first| first == b'%')
}

fn banner(line: &[u8]) -> Result<Banner, Problem> {
    let mut fields = Fields::of(line);
    let mut word = |what: &str| -> Result<(usize, String), Problem> {
        let (offset, field) = fields.required(what)?;
        Ok((offset, String::from_utf8_lossy(field).to_ascii_lowercase()))
    };
    let refused = |(offset, word): (usize, String), what: &str, known: &str| {
        let word = shown(word.as_bytes());
        Err(Problem::at(offset, format!("the {what} `{word}` is not supported; {known}")))
    };
    let start = word("banner")?;
    if start.1 != "%%matrixmarket" {
        return Err(Problem::at(start.0, "the file does not begin with `%%MatrixMarket`"));
    }
    let object = word("object")?;
    if object.1 != "matrix" {
        return refused(object, "object", "`matrix` is");
    }
    let layout = word("format")?;
    let layout = match layout.1.as_str() {
        "coordinate" => Layout::Coordinate,
        "array" => Layout::Array,
        _ => return refused(layout, "format", "coordinate and array are"),
    };
    let field = word("field")?;
    let field = match field.1.as_str() {
        "real" | "double" => Field::Real,
        "integer" | "unsigned-integer" => Field::Integer,
        "pattern" if layout == Layout::Coordinate => Field::Pattern,
        "pattern" => return Err(Problem::at(field.0, "a pattern has coordinates, not an array")),
        _ => return refused(field, "field", "real, integer and pattern are"),
    };
    let symmetry = word("symmetry")?;
    let symmetry = match symmetry.1.as_str() {
        "general" => Symmetry::General,
        "symmetric" => Symmetry::Symmetric,
        "skew-symmetric" if field == Field::Pattern => {
            return Err(Problem::at(symmetry.0, "a pattern has no signs to be skew-symmetric"));
        }
        "skew-symmetric" => Symmetry::SkewSymmetric,
        _ => return refused(symmetry, "symmetry", "general, symmetric and skew-symmetric are"),
    };
    fields.end()?;
    Ok(Banner { layout, field, symmetry })
}

fn sizes(line: &[u8], banner: Banner) -> Result<Header, Problem> {
    let mut fields = Fields::of(line);
    let mut size = |what: &str| -> Result<u64, Problem> {
        let (offset, field) = fields.required(what)?;
        parse_count(field).ok_or_else(|| Problem::at(offset, format!("`{}` is not a {what}", shown(field))))
    };
    let (rows, cols) = (size("number of rows")?, size("number of columns")?);
    if banner.symmetry != Symmetry::General && rows != cols {
        let problem = format!("a matrix of {rows} rows and {cols} columns cannot be symmetric");
        return Err(Problem::at(0, problem));
    }
    let count = match banner.layout {
        Layout::Coordinate => size("number of entries")?,
        Layout::Array => stored_cells(rows, cols, banner.symmetry)
            .ok_or_else(|| Problem::at(0, format!("a matrix of {rows} x {cols} cells does not fit into memory")))?,
    };
    fields.end()?;
    Ok(Header { banner, rows, cols, count })
}

/// The cells that an array file holds.
fn stored_cells(rows: u64, cols: u64, symmetry: Symmetry) -> Option<u64> {
    let cells = rows.checked_mul(cols)?;
    Some(match symmetry {
        Symmetry::General => cells,
        Symmetry::Symmetric => (cells - rows) / 2 + rows,
        Symmetry::SkewSymmetric => (cells - rows) / 2,
    })
}

/// The items of the file, one per line, `count` of them.
fn items<T: Send>(
    lines: &mut LineReader<'_>,
    count: u64,
    parse: impl Fn(&mut Fields<'_>) -> Result<T, Problem> + Sync,
) -> Result<Growing<T>, IoError> {
    let mut all = Growing::new(MemoryKind::File);
    let path = lines.path();
    let parse_lines = |lines: &mut Lines<'_>| {
        let mut items = Vec::new();
        for line in lines.filter(|line| !is_skipped(line)) {
            let mut fields = Fields::of(line);
            items.push(parse(&mut fields)?);
            fields.end()?;
        }
        Ok(items)
    };
    lines.parse_blocks(parse_lines, |before, block, items| {
        let left = count - all.len() as u64;
        if items.len() as u64 > left {
            let problem = Problem::at(0, format!("the header promises {count} lines of data, this is one more"));
            let item_lines = Lines::of(block).zip(before + 1..).filter(|(line, _)| !is_skipped(line));
            let surplus = item_lines.skip(left as usize).map(|(_, number)| number).next();
            return Err(IoError::content(path, surplus.unwrap_or(before + 1), problem));
        }
        all.append(items);
        Ok(())
    })?;
    if (all.len() as u64) < count {
        let problem = format!("the header promises {count} lines of data, the file ends after {}", all.len());
        return Err(lines.error(Problem::at(0, problem)));
    }
    Ok(all)
}

fn entry(fields: &mut Fields<'_>, header: &Header) -> Result<Entry, Problem> {
    let row = fields.index("row number", header.rows)?;
    let column = fields.index("column number", header.cols)?;
    let value = match header.banner.field {
        Field::Pattern => 1.0,
        field => value(fields, field)?,
    };
    match header.banner.symmetry {
        Symmetry::Symmetric if row < column => {
            Err(Problem::at(0, "the entry lies above the diagonal; a symmetric file holds the lower triangle"))
        }
        Symmetry::SkewSymmetric if row <= column => {
            Err(Problem::at(0, "the entry does not lie below the diagonal, as all of a skew-symmetric file do"))
        }
        _ => Ok(Entry { row: row - 1, column: (column - 1) as u32, value }),
    }
}

fn value(fields: &mut Fields<'_>, field: Field) -> Result<f64, Problem> {
    let mut as_written = fields.clone();
    let value = fields.number("value")?;
    if field == Field::Integer
        && let Some((offset, text)) = as_written.next()
        && !text.iter().all(|byte| byte.is_ascii_digit() || matches!(byte, b'+' | b'-'))
    {
        return Err(Problem::at(offset, format!("`{}` is not an integer", shown(text))));
    }
    Ok(value)
}

/// The entries of the whole matrix.
fn mirrored(mut entries: Growing<Entry>, symmetry: Symmetry) -> Growing<Entry> {
    let sign = match symmetry {
        Symmetry::General => return entries,
        Symmetry::Symmetric => 1.0,
        Symmetry::SkewSymmetric => -1.0,
    };
    for position in 0..entries.len() {
        let Entry { row, column, value } = entries[position];
        if row != u64::from(column) {
            entries.push(Entry { row: u64::from(column), column: row as u32, value: sign * value });
        }
    }
    entries
}

/// The whole matrix of the cells that an array file holds.
fn dense(header: &Header, cells: &[f64]) -> Dense {
    let (rows, cols) = (header.rows as usize, header.cols as usize);
    let symmetry = header.banner.symmetry;
    if symmetry == Symmetry::General {
        return Dense::from_memory(rows, cols, transposed(rows, cols, cells));
    }
    let mut matrix = Dense::zeros(rows, cols);
    let values = matrix.values_mut();
    let (from_diagonal, sign) = if symmetry == Symmetry::Symmetric { (0, 1.0) } else { (1, -1.0) };
    let mut cells = cells.iter();
    for column in 0..cols {
        for (row, &cell) in (column + from_diagonal..rows).zip(&mut cells) {
            values[column * cols + row] = sign * cell;
            values[row * cols + column] = cell;
        }
    }
    matrix
}

/// Writes entries of a sparse matrix, and all cells of a dense one.
pub(super) fn write(block: &MatrixBlock, out: &mut impl Write) -> std::io::Result<()> {
    let (rows, cols) = block.dims();
    match block.layout() {
        crate::Layout::Sparse(csr) => {
            writeln!(out, "%%MatrixMarket matrix coordinate real general\n{rows} {cols} {}", csr.nnz())?;
            text::write(block, out)
        }
        crate::Layout::Dense(dense) => {
            writeln!(out, "%%MatrixMarket matrix array real general\n{rows} {cols}")?;
            for j in 0..cols {
                for i in 0..rows {
                    write_number(out, dense.get(i, j))?;
                    out.write_all(b"\n")?;
                }
            }
            Ok(())
        }
    }
}
