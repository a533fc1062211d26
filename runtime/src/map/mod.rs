//! `map`: a function of cells, applied to a frame.

mod evaluate;
mod methods;
mod pattern;
mod stem;
#[cfg(test)]
mod tests;
mod whole;

use evaluate::{Cell, Evaluation};
use fuseline_ir::Value;
use fuseline_ir::cell_function::{self, CellFunction, CellFunctionError, MapFunction};
use fuseline_matrix::run_context::check_stop;
use fuseline_matrix::{Collected, Column, Frame, MemoryKind, Tally, copied_text};
pub(crate) use pattern::Patterns;
use thiserror::Error;

/// What a function is applied to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Over {
    /// Each cell; or each pair of cells of a column, where the function has two parameters.
    Cells,
    /// The cells of each row, for a new row.
    Rows,
    /// The cells of each column, for a new column.
    Columns,
}

/// A function that cannot be applied to a frame.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MapError {
    /// A text that is no function.
    #[error("`map` cannot apply its function: {0}")]
    Function(#[from] CellFunctionError),
    /// A cell to which the function cannot be applied.
    #[error("`map` cannot apply {function:?} to {place}: {problem}")]
    Cell {
        /// The function.
        function: String,
        /// Where the cell is.
        place: String,
        /// What is wrong.
        problem: String,
    },
    /// A frame of a shape that the function is not for.
    #[error("{0}")]
    Shape(String),
}

/// The frame that a function gives for a frame; one of texts, where the function is not of the whole frame. Columns keep
/// their names where the function is of cells.
///
/// # Errors
/// The text is no function, or it cannot be applied to a cell.
pub(crate) fn map(frame: &Frame, text: &str, over: Over) -> Result<Frame, MapError> {
    let function = match cell_function::parse_map(text)? {
        MapFunction::Cells(function) => function,
        MapFunction::Frame(function) if over == Over::Cells => return whole::apply(&function, frame),
        MapFunction::Frame(_) => return Err(MapError::Shape("a function of a whole frame has no margin".into())),
    };
    let mut mapping = Mapping { text, function: &function, evaluation: Evaluation::default() };
    match over {
        Over::Cells if function.parameters.len() == 2 => mapping.pairs(frame),
        _ if function.parameters.len() == 2 => Err(MapError::Shape(
            "a function of two cells has no margin: it is for pairs of the cells of a column".into(),
        )),
        Over::Cells => mapping.cells(frame),
        Over::Rows => mapping.rows(frame),
        Over::Columns => mapping.columns(frame),
    }
}

struct Mapping<'a> {
    text: &'a str,
    function: &'a CellFunction,
    evaluation: Evaluation,
}

impl Mapping<'_> {
    fn apply(&mut self, arguments: &[Cell], place: impl Fn() -> String) -> Result<Cell, MapError> {
        check_stop();
        let failed = |problem| MapError::Cell { function: self.text.to_owned(), place: place(), problem };
        self.evaluation.value(&self.function.body, arguments).map_err(failed)
    }

    /// The text of a single value.
    fn text(&mut self, arguments: &[Cell], place: impl Fn() -> String) -> Result<String, MapError> {
        match self.apply(arguments, &place)? {
            Cell::Texts(_) => {
                let problem = "it gives several texts, where each cell is one".to_owned();
                Err(MapError::Cell { function: self.text.to_owned(), place: place(), problem })
            }
            value => Ok(value.to_string()),
        }
    }

    fn several(&mut self, texts: Collected<String>, place: impl Fn() -> String) -> Result<Vec<String>, MapError> {
        match self.apply(&[Cell::Texts(texts.into_vec())], &place)? {
            Cell::Texts(texts) => Ok(texts),
            _ => {
                let problem = "it gives no `new String[]{...}`".to_owned();
                Err(MapError::Cell { function: self.text.to_owned(), place: place(), problem })
            }
        }
    }

    fn cells(&mut self, frame: &Frame) -> Result<Frame, MapError> {
        let mut columns = Collected::default();
        for (column, name) in frame.columns().iter().zip(frame.names()) {
            let texts = (0..column.len()).map(|row| {
                let place = || format!("row {} of the column `{name}`, {:?}", row + 1, cell_text(column, row));
                let text = self.text(&[Cell::Text(cell_text(column, row))], place)?;
                // A missing cell of which a function makes nothing is missing still.
                Ok::<_, MapError>(Some(text).filter(|text| !text.is_empty() || !column.is_missing(row)))
            });
            columns.push(Column::Str(texts.collect::<Result<Collected<_>, _>>()?.into_vec()));
        }
        Ok(frame_of(columns)?.with_names_of(frame))
    }

    /// A square of what the function gives for each cell and a later one, above the diagonal; zeros elsewhere.
    fn pairs(&mut self, frame: &Frame) -> Result<Frame, MapError> {
        let [column] = frame.columns() else {
            let message = format!("a function of two cells is for a frame of one column, not of {}", frame.cols());
            return Err(MapError::Shape(message));
        };
        let cells: Collected<String> = (0..column.len()).map(|row| cell_text(column, row)).collect();
        let mut columns = Collected::default();
        for later in 0..cells.len() {
            let mut texts = Collected::default();
            for earlier in 0..later {
                let place = || format!("the rows {} and {}", earlier + 1, later + 1);
                texts.push(Some(self.text(&[earlier, later].map(|row| Cell::Text(copied_text(&cells[row]))), place)?));
            }
            texts.extend(std::iter::repeat_n(Some("0.0".to_owned()), cells.len() - later));
            columns.push(Column::Str(texts.into_vec()));
        }
        frame_of(columns)
    }

    fn rows(&mut self, frame: &Frame) -> Result<Frame, MapError> {
        let (mut columns, mut held) = (Collected::<Vec<Option<String>>>::default(), Tally::new(MemoryKind::Frame));
        for row in 0..frame.rows() {
            let texts = frame.columns().iter().map(|column| cell_text(column, row)).collect();
            let new = self.several(texts, || format!("row {}", row + 1))?;
            if row == 0 {
                columns = Collected::filled(new.len(), Vec::new());
            }
            if new.len() != columns.len() {
                let (first, other) = (columns.len(), new.len());
                let message = format!("`map` gives {first} cells for the first row and {other} for row {}", row + 1);
                return Err(MapError::Shape(message));
            }
            for (column, cell) in columns.iter_mut().zip(new) {
                held.add(cell.len());
                held.push(column, Some(cell));
            }
        }
        frame_of(columns.into_vec().into_iter().map(Column::Str).collect())
    }

    fn columns(&mut self, frame: &Frame) -> Result<Frame, MapError> {
        let mut columns = Collected::default();
        for (column, name) in frame.columns().iter().zip(frame.names()) {
            let texts = (0..column.len()).map(|row| cell_text(column, row)).collect();
            columns.push(Column::of_texts(self.several(texts, || format!("the column `{name}`"))?));
        }
        Ok(frame_of(columns)?.with_names_of(frame))
    }
}

fn frame_of(columns: Collected<Column>) -> Result<Frame, MapError> {
    Frame::new(columns.into_vec(), Vec::new()).map_err(|error| MapError::Shape(error.to_string()))
}

/// The text that a function sees: a double that is an integer is written as one.
pub(crate) fn cell_text(column: &Column, row: usize) -> String {
    match column.get(row) {
        Value::F64(number) if number.fract() == 0.0 && number.abs() < 1e15 => (number as i64).to_string(),
        _ => column.text(row),
    }
}
