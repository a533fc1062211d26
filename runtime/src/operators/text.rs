//! The text of values, as `print` and `toString` give it. The layout is that of SystemDS: numbers with at most (and by
//! default exactly) three digits after the point, as `java.text.DecimalFormat` rounds and pads them; frames under a
//! header of three lines; lists in brackets.

use super::Operator;
use crate::error::RuntimeError;
use crate::scalars::text_of;
use crate::value::{List, RuntimeValue};
use fuseline_ir::Value;
use fuseline_matrix::{Column, Frame, MatrixBlock, StopListener, TextBuffer, copied_text};
use std::borrow::Cow;

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
        let mut text = TextBuffer::default();
        layout.value(&mut text, self.inputs[0]);
        Ok(Value::Str(text.into_string()))
    }
}

/// A value as `print` shows it.
pub(super) fn of_value(value: &RuntimeValue) -> Cow<'_, str> {
    if let RuntimeValue::Scalar(scalar) = value {
        return text_of(scalar);
    }
    let mut text = TextBuffer::default();
    Layout::default().value(&mut text, value);
    text.into_string().into()
}

impl Layout<'_> {
    fn value(&self, text: &mut TextBuffer, value: &RuntimeValue) {
        match value {
            RuntimeValue::Scalar(scalar) => text.push_str(&text_of(scalar)),
            RuntimeValue::Matrix(block) if self.sparse => self.non_zeros(text, block),
            RuntimeValue::Matrix(block) => self.matrix(text, block),
            RuntimeValue::Frame(frame) => self.frame(text, frame),
            RuntimeValue::List(list) => self.list(text, list),
        }
    }

    fn line(&self, text: &mut TextBuffer, cells: impl Iterator<Item = String>) {
        for (position, cell) in cells.enumerate() {
            if position > 0 {
                text.push_str(self.separator);
            }
            text.push_str(&cell);
        }
        text.push_str(self.line_end);
    }

    fn matrix(&self, text: &mut TextBuffer, block: &MatrixBlock) {
        let cols = block.cols().min(self.cols);
        for i in 0..block.rows().min(self.rows) {
            self.line(text, (0..cols).map(|j| self.number(block.get(i, j))));
        }
    }

    fn non_zeros(&self, text: &mut TextBuffer, block: &MatrixBlock) {
        let stop = StopListener::current();
        for i in 0..block.rows().min(self.rows) {
            for j in 0..block.cols().min(self.cols) {
                stop.check();
                if block.get(i, j) == 0.0 {
                    continue;
                }
                let position = [(i + 1).to_string(), (j + 1).to_string()];
                self.line(text, position.into_iter().chain([self.number(block.get(i, j))]));
            }
        }
    }

    fn frame(&self, text: &mut TextBuffer, frame: &Frame) {
        text.push_str(&format!("# FRAME: nrow = {}, ncol = {}{}", frame.rows(), frame.cols(), self.line_end));
        let cols = frame.cols().min(self.cols);
        let start = format!("#{}", self.separator);
        text.push_str(&start);
        self.line(text, frame.names()[..cols].iter().cloned());
        text.push_str(&start);
        self.line(text, frame.schema().take(cols).map(|of| of.schema_name().to_owned()));
        for i in 0..frame.rows().min(self.rows) {
            self.line(text, frame.columns()[..cols].iter().map(|column| self.cell(column, i)));
        }
    }

    fn cell(&self, column: &Column, row: usize) -> String {
        match column {
            Column::F64(cells) => self.number(cells[row]),
            Column::Str(cells) => cells[row].as_deref().map_or_else(|| "null".to_owned(), copied_text),
            Column::I64(_) | Column::Bool(_) => column.get(row).to_string(),
        }
    }

    /// Lists in lists may be nested deeper than any stack.
    fn list(&self, text: &mut TextBuffer, list: &List) {
        const START: &str = "List containing:\n[";
        text.push_str(START);
        let mut open = vec![list.elements.iter().enumerate()];
        while let Some(elements) = open.last_mut() {
            let Some((position, element)) = elements.next() else {
                text.push_str("]");
                open.pop();
                continue;
            };
            if position > 0 {
                text.push_str(", ");
            }
            match &element.value {
                RuntimeValue::List(inner) => {
                    text.push_str(START);
                    open.push(inner.elements.iter().enumerate());
                    continue;
                }
                RuntimeValue::Matrix(_) => text.push_str("\nMatrix:\n"),
                RuntimeValue::Frame(_) => text.push_str("\n"),
                RuntimeValue::Scalar(_) => {}
            }
            self.value(text, &element.value);
        }
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

    #[test]
    fn lists_in_lists_are_shown_without_recursion() {
        let depth = 20_000;
        let nested = (0..depth).fold(RuntimeValue::from(1.5), |inner, _| List::unnamed([inner]).into());
        let text = of_value(&nested);
        let start = "List containing:\n[".len() * depth;
        assert_eq!((text.len(), &text[start..start + 5]), (start + 3 + depth, "1.5]]"));
    }
}
