//! CSV: rows of cells, with or without a header line.

use super::{IoError, Metadata, write_cell};
use crate::block::MatrixBlock;
use crate::dense::Dense;
use std::fs::File;
use std::io::Write;
use std::path::Path;

pub(super) fn read(path: &Path, file: File, metadata: &Metadata) -> Result<MatrixBlock, IoError> {
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(metadata.header.unwrap_or(false))
        .delimiter(metadata.separator(path)?)
        .flexible(true)
        .buffer_capacity(1 << 16)
        .from_reader(file);
    let mut values: Vec<f64> = Vec::new();
    let mut record = csv::ByteRecord::new();
    let (mut rows, mut cols) = (0, metadata.cols.map(|cols| cols as usize));
    let parsed = |error: csv::Error| {
        let line = error.position().map_or(0, csv::Position::line);
        match error.into_kind() {
            csv::ErrorKind::Io(source) => IoError::system("read", path, source),
            other => IoError::content(path, line, format!("{other:?}")),
        }
    };
    while reader.read_byte_record(&mut record).map_err(parsed)? {
        let line = record.position().map_or(0, csv::Position::line);
        let expected = *cols.get_or_insert(record.len());
        if record.len() != expected {
            let problem = format!("the row has {} cells, those before have {expected}", record.len());
            let problem = if rows == 0 {
                format!("the row has {} cells, but {expected} columns were declared", record.len())
            } else {
                problem
            };
            return Err(IoError::content(path, line, problem));
        }
        for (column, field) in record.iter().enumerate() {
            let value = parse_cell(field, metadata).map_err(|problem| {
                let hint = if rows == 0 && metadata.header.is_none() && problem.ends_with("a number") {
                    " (if the first line names the columns, say header=TRUE)"
                } else {
                    ""
                };
                IoError::content(path, line, format!("column {}: {problem}{hint}", column + 1))
            })?;
            values.push(value);
        }
        rows += 1;
    }
    let cols = cols.unwrap_or(0);
    metadata.check(path, rows, cols)?;
    Ok(Dense::from_vec(rows, cols, values).into())
}

fn parse_cell(field: &[u8], metadata: &Metadata) -> Result<f64, String> {
    let text = std::str::from_utf8(field).map_err(|_| "the cell is not UTF-8 text".to_owned())?.trim();
    if text.is_empty() {
        return match metadata.fill {
            Some(true) => Ok(metadata.default.unwrap_or(0.0)),
            _ => Err("the cell is empty (say fill=TRUE to allow that)".to_owned()),
        };
    }
    text.parse().map_err(|_| format!("`{text}` is not a number"))
}

pub(super) fn write(block: &MatrixBlock, out: &mut impl Write, metadata: &Metadata) -> std::io::Result<()> {
    let sep = metadata.sep.clone().unwrap_or_else(|| ",".to_owned());
    if metadata.header.unwrap_or(false) {
        let names: Vec<String> = (1..=block.cols()).map(|column| format!("C{column}")).collect();
        writeln!(out, "{}", names.join(&sep))?;
    }
    let mut row = vec![0.0; block.cols()];
    for i in 0..block.rows() {
        match block {
            MatrixBlock::Dense(dense) => row.copy_from_slice(dense.row(i)),
            MatrixBlock::Sparse(csr) => {
                row.fill(0.0);
                let (columns, values) = csr.row(i);
                for (&j, &value) in columns.iter().zip(values) {
                    row[j as usize] = value;
                }
            }
        }
        for (j, &value) in row.iter().enumerate() {
            if j > 0 {
                out.write_all(sep.as_bytes())?;
            }
            write_cell(out, value)?;
        }
        out.write_all(b"\n")?;
    }
    Ok(())
}
