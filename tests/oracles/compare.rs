//! What two systems answer to one call.

use fuseline::Dense;

/// An answer, or the message of a refusal.
pub(crate) type Answer = Result<Value, String>;

/// A result.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Matrix(Dense),
    Text(String),
}

impl Value {
    pub(crate) fn number(number: f64) -> Self {
        Value::Matrix(Dense::from_vec(1, 1, vec![number]))
    }
}

/// Why two answers differ; none where they agree, or where there is nothing to agree with. Cells may differ by `tolerance`,
/// relative to the larger one or to 1.
pub(crate) fn difference(ours: &Answer, theirs: &Answer, tolerance: f64) -> Option<String> {
    match (ours, theirs) {
        (_, Err(_)) => None,
        (Err(message), Ok(_)) => Some(format!("refused: {}", message.lines().next().unwrap_or_default())),
        (Ok(Value::Matrix(ours)), Ok(Value::Matrix(theirs))) => difference_of_matrices(ours, theirs, tolerance),
        (Ok(Value::Text(ours)), Ok(Value::Text(theirs))) if ours.trim_end() == theirs.trim_end() => None,
        (Ok(ours), Ok(theirs)) => Some(format!("{ours:?}, not {theirs:?}")),
    }
}

fn difference_of_matrices(ours: &Dense, theirs: &Dense, tolerance: f64) -> Option<String> {
    if (ours.rows(), ours.cols()) != (theirs.rows(), theirs.cols()) {
        return Some(format!("{} x {}, not {} x {}", ours.rows(), ours.cols(), theirs.rows(), theirs.cols()));
    }
    let mut cells = ours.values().iter().zip(theirs.values()).enumerate();
    let (at, (ours, theirs)) = cells.find(|(_, (ours, theirs))| !are_close(**ours, **theirs, tolerance))?;
    Some(format!("cell {at} is {ours}, not {theirs}"))
}

fn are_close(ours: f64, theirs: f64, tolerance: f64) -> bool {
    let scale = ours.abs().max(theirs.abs()).max(1.0);
    ours == theirs || ours.is_nan() && theirs.is_nan() || (ours - theirs).abs() <= tolerance * scale
}

/// The matrix of a CSV file without a header, or its text where that is none.
pub(crate) fn parse(text: &str) -> Value {
    let rows: Option<Vec<Vec<f64>>> = text.lines().map(parse_row).collect();
    let rows = rows.filter(|rows| rows.windows(2).all(|pair| pair[0].len() == pair[1].len()));
    match rows {
        Some(rows) => Value::Matrix(Dense::from_vec(rows.len(), rows.first().map_or(0, Vec::len), rows.concat())),
        None => Value::Text(text.to_owned()),
    }
}

fn parse_row(line: &str) -> Option<Vec<f64>> {
    line.split(',').map(|cell| parse_cell(cell.trim())).collect()
}

/// A number as Java or R writes it; an empty cell is zero.
fn parse_cell(cell: &str) -> Option<f64> {
    match cell {
        "Infinity" | "Inf" => Some(f64::INFINITY),
        "-Infinity" | "-Inf" => Some(f64::NEG_INFINITY),
        "" => Some(0.0),
        "NA" => Some(f64::NAN),
        "true" | "TRUE" => Some(1.0),
        "false" | "FALSE" => Some(0.0),
        _ => cell.parse().ok(),
    }
}
