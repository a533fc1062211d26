//! The text of values, as `print` and `toString` give it. The layout is that of SystemDS: numbers with at most (and by
//! default exactly) three digits after the point, as `java.text.DecimalFormat` rounds and pads them; frames under a
//! header of three lines; lists in brackets.

use super::Operator;
use crate::error::RuntimeError;
use crate::value::{List, RuntimeValue};
use fuseline_ir::Value;
use fuseline_matrix::{Column, Frame, MatrixBlock};

/// How a value is laid out.
#[derive(Clone, Debug)]
struct Layout<'a> {
    /// Rows that are shown at most.
    rows: usize,
    /// Columns that are shown at most.
    cols: usize,
    /// Digits after the point that are always shown; negative for none.
    decimal: i64,
    /// Whether a matrix is shown as its non-zeros: row, column, value.
    sparse: bool,
    /// Between the cells of a row.
    separator: &'a str,
    /// After each row.
    line_end: &'a str,
}

impl Default for Layout<'_> {
    fn default() -> Self {
        Layout { rows: 100, cols: 100, decimal: 3, sparse: false, separator: " ", line_end: "\n" }
    }
}

/// More than any double has.
const DIGIT_LIMIT: i64 = 1100;

impl Operator<'_> {
    /// `toString(value, rows=, cols=, decimal=, sparse=, sep=, linesep=)`.
    pub(super) fn laid_out(&self, names: &[String]) -> Result<Value, RuntimeError> {
        let mut layout = Layout::default();
        let first = self.inputs.len() - names.len();
        for (position, name) in (first..).zip(names) {
            // A negative number of rows or columns: all of them.
            let count = || Ok::<_, RuntimeError>(usize::try_from(self.integer(position)?).unwrap_or(usize::MAX));
            match name.as_str() {
                "rows" => layout.rows = count()?,
                "cols" => layout.cols = count()?,
                "decimal" => layout.decimal = self.integer(position)?.min(DIGIT_LIMIT),
                "sparse" => layout.sparse = self.number(position)? != 0.0,
                "sep" => layout.separator = self.text(position)?,
                "linesep" => layout.line_end = self.text(position)?,
                // The front end admits no others.
                _ => {}
            }
        }
        Ok(Value::Str(layout.value(self.inputs[0])))
    }
}

/// A value as `print` shows it.
pub(super) fn of_value(value: &RuntimeValue) -> String {
    Layout::default().value(value)
}

impl Layout<'_> {
    fn value(&self, value: &RuntimeValue) -> String {
        match value {
            RuntimeValue::Scalar(scalar) => scalar.to_string(),
            RuntimeValue::Matrix(block) if self.sparse => self.non_zeros(block),
            RuntimeValue::Matrix(block) => self.matrix(block),
            RuntimeValue::Frame(frame) => self.frame(frame),
            RuntimeValue::List(list) => self.list(list),
        }
    }

    fn line(&self, text: &mut String, cells: impl Iterator<Item = String>) {
        for (position, cell) in cells.enumerate() {
            if position > 0 {
                text.push_str(self.separator);
            }
            text.push_str(&cell);
        }
        text.push_str(self.line_end);
    }

    fn matrix(&self, block: &MatrixBlock) -> String {
        let mut text = String::new();
        let cols = block.cols().min(self.cols);
        for i in 0..block.rows().min(self.rows) {
            self.line(&mut text, (0..cols).map(|j| self.number(block.get(i, j))));
        }
        text
    }

    fn non_zeros(&self, block: &MatrixBlock) -> String {
        let mut text = String::new();
        for i in 0..block.rows().min(self.rows) {
            for j in (0..block.cols().min(self.cols)).filter(|&j| block.get(i, j) != 0.0) {
                let position = [(i + 1).to_string(), (j + 1).to_string()];
                self.line(&mut text, position.into_iter().chain([self.number(block.get(i, j))]));
            }
        }
        text
    }

    fn frame(&self, frame: &Frame) -> String {
        let mut text = format!("# FRAME: nrow = {}, ncol = {}{}", frame.rows(), frame.cols(), self.line_end);
        let cols = frame.cols().min(self.cols);
        for header in [frame.names().to_vec(), frame.schema().map(|of| of.schema_name().to_owned()).collect()] {
            text.push('#');
            text.push_str(self.separator);
            self.line(&mut text, header.into_iter().take(cols));
        }
        for i in 0..frame.rows().min(self.rows) {
            self.line(&mut text, frame.columns()[..cols].iter().map(|column| self.cell(column, i)));
        }
        text
    }

    fn cell(&self, column: &Column, row: usize) -> String {
        match column.get(row) {
            Value::F64(number) => self.number(number),
            Value::Str(missing) if missing.is_empty() => "null".to_owned(),
            other => other.to_string(),
        }
    }

    fn list(&self, list: &List) -> String {
        let mut text = "List containing:\n[".to_owned();
        for (position, element) in list.elements.iter().enumerate() {
            if position > 0 {
                text.push_str(", ");
            }
            text.push_str(match element.value {
                RuntimeValue::Matrix(_) => "\nMatrix:\n",
                RuntimeValue::Frame(_) => "\n",
                RuntimeValue::Scalar(_) | RuntimeValue::List(_) => "",
            });
            text.push_str(&self.value(&element.value));
        }
        text.push(']');
        text
    }

    /// A number of a matrix: rounded half to even, without an exponent, and without a sign for zero.
    fn number(&self, number: f64) -> String {
        if !number.is_finite() {
            return Value::F64(number).to_string();
        }
        let number = if number == 0.0 { 0.0 } else { number };
        let digits = usize::try_from(self.decimal).unwrap_or(0);
        // The shortest digits that read back, where they are no more; else those of the exact value.
        let shortest = number.to_string();
        let (whole, fraction) = shortest.split_once('.').unwrap_or((&shortest, ""));
        match fraction.len() {
            _ if digits == 0 && fraction.is_empty() => whole.to_owned(),
            length if length <= digits => format!("{whole}.{fraction:0<digits$}"),
            _ => format!("{number:.digits$}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(value: f64, decimal: i64) -> String {
        Layout { decimal, ..Layout::default() }.number(value)
    }

    #[test]
    fn numbers_are_rounded_half_to_even_and_padded() {
        let cases = [
            (1.0, 3, "1.000"),
            (0.0625, 3, "0.062"),
            (0.1875, 3, "0.188"),
            (-0.0001, 3, "-0.000"),
            (-0.0, 3, "0.000"),
            (1.23456, 5, "1.23456"),
            (1.23456, 1, "1.2"),
            (-2.25, 1, "-2.2"),
            (0.875, 1, "0.9"),
            (1.5, 1, "1.5"),
            (2.0, 1, "2.0"),
            (2.0, 0, "2"),
            (2.0001, -1, "2"),
            (1e23, 3, "100000000000000000000000.000"),
            (123456.789, 3, "123456.789"),
            (f64::NAN, 3, "NaN"),
            (f64::NEG_INFINITY, 3, "-Infinity"),
        ];
        for (value, decimal, text) in cases {
            assert_eq!(number(value, decimal), text, "{value} with {decimal} digits");
        }
    }

    #[test]
    fn lists_show_their_elements_in_brackets() {
        let inner = List::unnamed([Value::Bool(true).into()]);
        let matrix = RuntimeValue::Matrix(MatrixBlock::single(2.0));
        let list = List::unnamed([RuntimeValue::from(1.5), matrix, inner.into()]);
        let expected = "List containing:\n[1.5, \nMatrix:\n2.000\n, List containing:\n[TRUE]]";
        assert_eq!(of_value(&list.into()), expected);
        assert_eq!(of_value(&List::default().into()), "List containing:\n[]");
    }
}
