//! Functions whose values are frames.

use super::Operator;
use crate::error::{RuntimeError, RuntimeErrorKind};
use crate::map::{self, Over};
use crate::tokenize::tokenize;
use crate::value::RuntimeValue;
use fuseline_ir::hop::FrameFunction;
use fuseline_ir::ops::BinaryOp;
use fuseline_ir::{ScalarType, Value};
use fuseline_kernels::{KernelError, Margin};
use fuseline_matrix::{Collected, Column, Frame, FrameError, copied_text};
use std::cmp::Ordering;

type Result<T> = std::result::Result<T, RuntimeError>;

impl Operator<'_> {
    pub(super) fn function_of_frames(&self, function: FrameFunction, names: &[String]) -> Result<RuntimeValue> {
        Ok(match function {
            FrameFunction::Make => self.made_frame(names)?,
            FrameFunction::ColumnNames => Frame::row_of_texts(self.frame(0)?.names().iter().cloned()),
            FrameFunction::Map => self.mapped(names)?,
            FrameFunction::Tokenize => {
                let most = match self.named(names, "max_tokens") {
                    Some(position) => self.extent(position)?,
                    None => usize::MAX,
                };
                tokenize(self.frame(0)?, self.text(1)?, most)?
            }
            FrameFunction::DetectSchema => {
                let columns = self.frame(0)?.columns().iter();
                Frame::row_of_texts(columns.map(|column| column.detected_type().schema_name().to_owned()))
            }
            FrameFunction::DropInvalidType => {
                let types = self.frame(1)?.columns().iter().map(|column| scalar_type(&first_text(column)));
                self.frame(0)?.without_invalid_types(&types.collect::<Result<Collected<_>>>()?)?
            }
            FrameFunction::DropInvalidLength => {
                self.frame(0)?.without_long_cells(self.matrix(1)?.to_dense().values())?
            }
            FrameFunction::Replicate => self.replicated()?,
            FrameFunction::ReplaceCells => self.frame(0)?.with_replaced(self.scalar(1)?, self.scalar(2)?),
            FrameFunction::Compare => self.compared()?,
        }
        .into())
    }

    fn scalar(&self, position: usize) -> Result<&Value> {
        match self.inputs[position] {
            RuntimeValue::Scalar(value) => Ok(value),
            _ => Err(self.type_error(position, "a scalar")),
        }
    }

    /// `frame(data, rows, cols, schema)`.
    fn made_frame(&self, names: &[String]) -> Result<Frame> {
        let (rows, cols) = (self.extent(1)?, self.extent(2)?);
        let cells = self.cells_of_frame(0)?;
        let cell = |row: usize, col: usize| match cells.len() {
            1 => &cells[0],
            count if count == cols => &cells[col],
            _ => &cells[row * cols + col],
        };
        if cells.len() != 1 && cells.len() != cols && Some(cells.len()) != rows.checked_mul(cols) {
            let problem = format!("{} cells do not fill a frame {rows} x {cols}, nor one of its rows", cells.len());
            return Err(self.argument_error(problem));
        }
        let types = match self.named(names, "schema") {
            None => Collected::filled(cols, ScalarType::Str),
            Some(position) => {
                self.cells_of_frame(position)?.iter().map(|name| scalar_type(name)).collect::<Result<_>>()?
            }
        };
        if types.len() != cols {
            return Err(self.argument_error(format!("a schema of {} types for {cols} columns", types.len())));
        }
        let columns = types.iter().enumerate().map(|(col, &of)| {
            let texts = Column::of_texts((0..rows).map(|row| copied_text(cell(row, col))));
            if of == ScalarType::Str {
                return Ok(texts);
            }
            texts
                .converted(of)
                .ok_or_else(|| self.argument_error(format!("a cell of column {} is no {}", col + 1, of.schema_name())))
        });
        let columns: Collected<_> = columns.collect::<Result<_>>()?;
        Ok(Frame::new(columns.into_vec(), Vec::new())?)
    }

    fn argument_error(&self, problem: String) -> RuntimeError {
        KernelError::Argument { operation: "frame", problem }.into()
    }

    fn extent(&self, position: usize) -> Result<usize> {
        usize::try_from(self.integer(position)?).map_err(|_| self.type_error(position, "a count that is not negative"))
    }

    /// The texts of a scalar or of a list of scalars.
    fn cells_of_frame(&self, position: usize) -> Result<Collected<String>> {
        match self.inputs[position] {
            RuntimeValue::List(list) => {
                list.elements.iter().map(|element| self.text_of_scalar(position, &element.value)).collect()
            }
            value => Ok(Collected::filled(1, self.text_of_scalar(position, value)?)),
        }
    }

    fn text_of_scalar(&self, position: usize, value: &RuntimeValue) -> Result<String> {
        match value {
            RuntimeValue::Scalar(value) => Ok(Column::single(value).text(0)),
            _ => Err(self.type_error(position, "a scalar or a list of scalars")),
        }
    }

    /// `map(target, function, margin)`.
    fn mapped(&self, names: &[String]) -> Result<Frame> {
        let margin = self.named(names, "margin").map_or(Ok(0.0), |position| self.number(position))?;
        let over = match margin {
            0.0 => Over::Cells,
            1.0 => Over::Rows,
            2.0 => Over::Columns,
            _ => {
                let problem = format!("there is no margin {margin}: 0 is for cells, 1 for rows, 2 for columns");
                return Err(KernelError::Argument { operation: "map", problem }.into());
            }
        };
        let made;
        let frame = match self.inputs[0] {
            RuntimeValue::Matrix(block) => {
                made = Frame::from_matrix(block);
                &made
            }
            _ => self.frame(0)?,
        };
        Ok(map::map(frame, self.text(1)?, over)?)
    }

    /// The second frame, of one row, as often as the first has rows.
    fn replicated(&self) -> Result<Frame> {
        let (frame, row) = (self.frame(0)?, self.frame(1)?);
        if row.rows() != 1 {
            return Err(self.type_error(1, "a frame of one row"));
        }
        if row.cols() != frame.cols() {
            return Err(FrameError::Bind { left: frame.cols(), right: row.cols(), of: "columns" }.into());
        }
        Ok(row.select_rows(&Collected::filled(frame.rows(), 0)).with_names_of(frame))
    }

    /// Cells as numbers where both are, else as texts.
    fn compared(&self) -> Result<Frame> {
        let (left, right, op) = (self.frame(0)?, self.frame(1)?, self.text(2)?);
        let (size, other) = ((left.rows(), left.cols()), (right.rows(), right.cols()));
        if size != other {
            let (left, right, of) =
                if size.0 == other.0 { (size.1, other.1, "columns") } else { (size.0, other.0, "rows") };
            return Err(FrameError::Bind { left, right, of }.into());
        }
        let known = BinaryOp::ALL.iter().copied().find(|known| known.dml() == Some(op));
        let op = known.ok_or_else(|| RuntimeErrorKind::Internal(format!("frames have no comparison {op}")))?;
        let column = |(left, right): (&Column, &Column)| {
            Column::of_truth_values((0..left.len()).map(|row| holds(op, compare(left, right, row))))
        };
        let columns: Collected<_> = left.columns().iter().zip(right.columns()).map(column).collect();
        Ok(Frame::new(columns.into_vec(), Vec::new())?.with_names_of(left))
    }

    /// `removeEmpty` of a frame.
    pub(super) fn remove_empty_of_frame(&self, frame: &Frame, names: &[String]) -> Result<RuntimeValue> {
        let margin = self.margin(names)?;
        let extent = if margin == Margin::Rows { frame.rows() } else { frame.cols() };
        let stays = match self.named(names, "select") {
            Some(position) => {
                let select = self.matrix(position)?;
                if select.rows() * select.cols() != extent || select.rows().min(select.cols()) > 1 {
                    return Err(self.type_error(position, "a vector with a cell for each row or column as `select`"));
                }
                select.to_dense().values().iter().map(|&cell| cell != 0.0).collect::<Collected<_>>()
            }
            None if margin == Margin::Rows => frame.nonempty_rows(),
            None => frame.nonempty_columns(),
        };
        let kept: Collected<usize> = (0..extent).filter(|&at| stays[at]).collect();
        let keeps_one = kept.is_empty() && self.flag(names, "empty.return", true)?;
        if keeps_one {
            let (rows, cols) = if margin == Margin::Rows { (1, frame.cols()) } else { (frame.rows(), 1) };
            let column = || Column::of_optional_texts(std::iter::repeat_n(None, rows));
            let columns: Collected<_> = (0..cols).map(|_| column()).collect();
            return Ok(Frame::new(columns.into_vec(), Vec::new())?.with_names_of(frame).into());
        }
        Ok(if margin == Margin::Rows { frame.select_rows(&kept) } else { frame.select_columns(&kept) }.into())
    }
}

fn first_text(column: &Column) -> String {
    if column.is_empty() { String::new() } else { column.text(0) }
}

/// The type of cells that a schema names.
fn scalar_type(name: &str) -> Result<ScalarType> {
    match name.to_ascii_uppercase().as_str() {
        "FP64" | "FP32" | "DOUBLE" => Ok(ScalarType::F64),
        "INT64" | "INT32" | "INT" | "INTEGER" => Ok(ScalarType::I64),
        "BOOLEAN" => Ok(ScalarType::Bool),
        "STRING" | "CHARACTER" => Ok(ScalarType::Str),
        _ => {
            let problem = format!("there is no type {name:?} of cells: they are FP64, INT64, BOOLEAN and STRING");
            Err(KernelError::Argument { operation: "schema", problem }.into())
        }
    }
}

fn compare(left: &Column, right: &Column, row: usize) -> Option<Ordering> {
    match (left.number(row), right.number(row)) {
        (Some(left), Some(right)) if !left.is_nan() && !right.is_nan() => left.partial_cmp(&right),
        _ => Some(left.text(row).cmp(&right.text(row))),
    }
}

fn holds(op: BinaryOp, ordering: Option<Ordering>) -> bool {
    let Some(ordering) = ordering else { return op == BinaryOp::NotEqual };
    match op {
        BinaryOp::Equal => ordering.is_eq(),
        BinaryOp::NotEqual => ordering.is_ne(),
        BinaryOp::Less => ordering.is_lt(),
        BinaryOp::LessEqual => ordering.is_le(),
        BinaryOp::Greater => ordering.is_gt(),
        _ => ordering.is_ge(),
    }
}
