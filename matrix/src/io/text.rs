//! The text format: one line `row column value` per non-zero, 1-based, in any order.

use super::{IoError, Metadata, write_cell};
use crate::block::MatrixBlock;
use crate::csr::Csr;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;

pub(super) fn read(path: &Path, file: File, metadata: &Metadata) -> Result<MatrixBlock, IoError> {
    let (Some(rows), Some(cols)) = (metadata.rows, metadata.cols) else {
        let problem = "the text format needs rows and cols, as arguments or in the .mtd file beside it";
        return Err(IoError::description(path, problem));
    };
    let (Ok(rows), Ok(cols)) = (usize::try_from(rows), u32::try_from(cols)) else {
        return Err(IoError::description(path, format!("a matrix cannot have {rows} rows and {cols} columns")));
    };
    let mut cells: Vec<(usize, u32, f64)> = Vec::new();
    for (number, line) in BufReader::with_capacity(1 << 16, file).lines().enumerate() {
        let number = number as u64 + 1;
        let line = line.map_err(|source| IoError::system("read", path, source))?;
        if line.trim().is_empty() {
            continue;
        }
        let (i, j, value) = parse_line(&line).map_err(|problem| IoError::content(path, number, problem))?;
        if i == 0 || j == 0 || i > rows || j > cols {
            let problem = format!("the cell ({i}, {j}) lies outside of a {rows} x {cols} matrix");
            return Err(IoError::content(path, number, problem));
        }
        if value != 0.0 {
            cells.push((i - 1, j - 1, value));
        }
    }
    cells.sort_by_key(|&(i, j, _)| (i, j));
    if let Some(pair) = cells.windows(2).find(|pair| (pair[0].0, pair[0].1) == (pair[1].0, pair[1].1)) {
        let problem = format!("the cell ({}, {}) occurs twice", pair[0].0 + 1, pair[0].1 + 1);
        return Err(IoError::description(path, problem));
    }
    Ok(to_csr(path, rows, cols as usize, &cells)?.into())
}

fn to_csr(path: &Path, rows: usize, cols: usize, cells: &[(usize, u32, f64)]) -> Result<Csr, IoError> {
    let mut row_offsets = Vec::new();
    // Declared rows may be a lie: ask before taking the memory.
    let reserved = rows.checked_add(1).is_some_and(|len| row_offsets.try_reserve_exact(len).is_ok());
    if !reserved {
        return Err(IoError::description(path, format!("a matrix of {rows} rows does not fit into memory")));
    }
    row_offsets.push(0);
    let mut position = 0;
    for i in 0..rows {
        position += cells[position..].iter().take_while(|cell| cell.0 == i).count();
        row_offsets.push(position);
    }
    let columns = cells.iter().map(|cell| cell.1).collect();
    let values = cells.iter().map(|cell| cell.2).collect();
    Csr::new(rows, cols, row_offsets, columns, values).map_err(|error| IoError::description(path, error.to_string()))
}

fn parse_line(line: &str) -> Result<(usize, u32, f64), String> {
    let parts: Vec<&str> = line.split_whitespace().collect();
    let [i, j, value] = parts[..] else {
        return Err(format!("`{}` is not `row column value`", line.trim()));
    };
    let i = i.parse().map_err(|_| format!("`{i}` is not a row number"))?;
    let j = j.parse().map_err(|_| format!("`{j}` is not a column number"))?;
    let value = value.parse().map_err(|_| format!("`{value}` is not a number"))?;
    Ok((i, j, value))
}

pub(super) fn write(block: &MatrixBlock, out: &mut impl Write) -> std::io::Result<()> {
    let csr = block.to_csr();
    for i in 0..csr.rows() {
        let (columns, values) = csr.row(i);
        for (&j, &value) in columns.iter().zip(values) {
            write!(out, "{} {} ", i + 1, j + 1)?;
            write_cell(out, value)?;
            out.write_all(b"\n")?;
        }
    }
    Ok(())
}
