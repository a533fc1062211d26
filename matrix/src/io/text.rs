//! The text format: one line `row column value` per non-zero, 1-based, in any order.

use super::entries::{Duplicates, Entry, check_dimensions, matrix_of};
use super::error::{IoError, Problem};
use super::lines::{LineReader, Lines};
use super::metadata::Metadata;
use super::number::{Fields, write_number};
use super::source::Source;
use crate::block::MatrixBlock;
use crate::budget::MemoryKind;
use crate::growing::Growing;
use std::io::Write;

pub(super) fn read(source: &mut Source<'_>, metadata: &Metadata) -> Result<MatrixBlock, IoError> {
    let (Some(rows), Some(cols)) = (metadata.rows, metadata.cols) else {
        let problem = "the text format needs rows and cols, as arguments or in the .mtd file beside it";
        return Err(IoError::description(source.path, problem));
    };
    let (height, width) = check_dimensions(source, rows, cols)?;
    let mut entries = Growing::new(MemoryKind::File);
    LineReader::new(source)?.parse_blocks(
        |lines| parse(lines, rows, cols),
        |_, _, block| {
            entries.append(block);
            Ok(())
        },
    )?;
    Ok(matrix_of(source, height, width, &entries, Duplicates::Refuse)?.into())
}

fn parse(lines: &mut Lines<'_>, rows: u64, cols: u64) -> Result<Vec<Entry>, Problem> {
    let mut entries = Vec::new();
    for line in lines {
        let mut fields = Fields::of(line);
        if fields.clone().next().is_none() {
            continue;
        }
        let row = fields.index("row number", rows)? - 1;
        let column = (fields.index("column number", cols)? - 1) as u32;
        let value = fields.number("value")?;
        fields.end()?;
        entries.push(Entry { row, column, value });
    }
    Ok(entries)
}

pub(super) fn write(block: &MatrixBlock, out: &mut impl Write) -> std::io::Result<()> {
    let csr = block.to_csr();
    for i in 0..csr.rows() {
        let (columns, values) = csr.row(i);
        for (&j, &value) in columns.iter().zip(values) {
            write!(out, "{} {} ", i + 1, u64::from(j) + 1)?;
            write_number(out, value)?;
            out.write_all(b"\n")?;
        }
    }
    Ok(())
}
