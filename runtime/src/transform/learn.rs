//! What a specification asks to learn of a frame.

use super::spec::{BinMethod, ColumnSpecification, Imputation};
use super::{Codes, Encoding, Learnt, Specification, TransformError};
use fuseline_ir::Value;
use fuseline_matrix::run_context::check_stop;
use fuseline_matrix::{Collected, Column, Frame, StopListener};

/// Learns the codes, bins and replacements of a frame.
///
/// # Errors
/// A cell is no number where one is needed.
pub(crate) fn learn(frame: &Frame, specification: &Specification) -> Result<Collected<Learnt>, TransformError> {
    let columns = frame.columns().iter().zip(frame.names()).zip(&specification.columns);
    columns.map(|((column, name), specification)| learn_column(column, name, specification)).collect()
}

fn learn_column(column: &Column, name: &str, specification: &ColumnSpecification) -> Result<Learnt, TransformError> {
    let replacement = match &specification.impute {
        None => None,
        Some(Imputation::Constant(text)) => Some(text.clone()),
        Some(Imputation::Number(number)) => Some(cell_text(column, *number)),
        Some(Imputation::Mode) => mode(column),
        Some(Imputation::Mean) => mean(&numbers(column, name)?).map(|mean| cell_text(column, mean)),
    };
    let encoding = match specification.bin {
        Some((method, count)) => Encoding::Bin(bins(&numbers(column, name)?, method, count)),
        None if specification.recode => Encoding::Recode(codes(column, replacement.as_deref())),
        None => Encoding::PassThrough,
    };
    Ok(Learnt { name: name.to_owned(), encoding, dummycode: specification.dummycode, replacement })
}

/// The text of a number as a cell of a column, which the codes of the column know it by.
fn cell_text(column: &Column, number: f64) -> String {
    match column {
        Column::F64(_) => Value::F64(number).to_string(),
        _ => number.to_string(),
    }
}

/// The cells that are not missing, as numbers.
fn numbers(column: &Column, name: &str) -> Result<Collected<f64>, TransformError> {
    let present = (0..column.len()).filter(|&row| !column.is_missing(row));
    present.map(|row| number(column, name, row)).collect()
}

/// The number in a cell.
pub(super) fn number(column: &Column, name: &str, row: usize) -> Result<f64, TransformError> {
    column.number(row).ok_or_else(|| TransformError::NoNumber {
        row: row + 1,
        column: name.to_owned(),
        text: column.text(row),
    })
}

fn mean(numbers: &[f64]) -> Option<f64> {
    (!numbers.is_empty()).then(|| numbers.iter().sum::<f64>() / numbers.len() as f64)
}

/// The category that most cells have, of several the first.
fn mode(column: &Column) -> Option<String> {
    let (codes, stop) = (codes(column, None), StopListener::current());
    let mut counts = Collected::filled(codes.categories.len(), 0_usize);
    for row in (0..column.len()).filter(|&row| !column.is_missing(row)) {
        stop.check();
        if let Some(code) = codes.code(&column.text(row)) {
            counts[code - 1] += 1;
        }
    }
    let most = counts.iter().max()?;
    let first = counts.iter().position(|count| count == most)?;
    codes.category(first).map(str::to_owned)
}

/// The categories of a column and of what replaces its missing cells, in the order in which they appear.
fn codes(column: &Column, replacement: Option<&str>) -> Codes {
    let (mut codes, stop) = (Codes::default(), StopListener::current());
    for row in 0..column.len() {
        stop.check();
        match (column.is_missing(row), replacement) {
            (false, _) => codes.insert(column.text(row)),
            (true, Some(replacement)) => codes.insert(replacement.to_owned()),
            (true, None) => {}
        }
    }
    codes
}

/// Numbers that are sorted at a time, between which a request to stop is heard.
const SORTED_AT_ONCE: usize = 1 << 16;

fn bins(numbers: &[f64], method: BinMethod, count: usize) -> Collected<(f64, f64)> {
    let mut sorted: Collected<f64> = numbers.iter().copied().filter(|number| !number.is_nan()).collect();
    for run in sorted.chunks_mut(SORTED_AT_ONCE) {
        check_stop();
        run.sort_by(f64::total_cmp);
    }
    // What is left is to merge the runs, which takes a small part of the time.
    sorted.sort_by(f64::total_cmp);
    let (Some(&least), Some(&most)) = (sorted.first(), sorted.last()) else { return Collected::default() };
    let upper = |bin: usize| match method {
        _ if bin == count => most,
        BinMethod::EquiWidth => least + bin as f64 * ((most - least) / count as f64),
        BinMethod::EquiHeight => sorted[((bin * sorted.len()).div_ceil(count)).max(1) - 1],
    };
    (1..=count).map(|bin| (if bin == 1 { least } else { upper(bin - 1) }, upper(bin))).collect()
}
