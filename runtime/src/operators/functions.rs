//! Functions with effects or named arguments.

use super::{Operator, text};
use crate::error::{RuntimeError, RuntimeErrorKind};
use crate::files;
use crate::format::formatted;
use crate::value::RuntimeValue;
use fuseline_ir::Value;
use fuseline_ir::hop::Function;
use fuseline_kernels::{self as kernels, Choice, Extreme, Margin, TableDims};
use fuseline_matrix::MatrixBlock;
use std::borrow::Cow;
use std::io::Write;

impl Operator<'_> {
    pub(super) fn function(
        &self,
        function: Function,
        names: &[String],
        output: &mut (dyn Write + Send),
    ) -> Result<RuntimeValue, RuntimeError> {
        let done = || Ok(RuntimeValue::Scalar(Value::Bool(true)));
        let positional = self.inputs.len() - names.len();
        let named = || names.iter().map(String::as_str).zip(self.inputs[positional..].iter().copied());
        match function {
            Function::Print => {
                writeln!(output, "{}", self.printed()?)?;
                done()
            }
            Function::Stop => Err(RuntimeErrorKind::Stop(text::of_value(self.inputs[0]).into_owned()).into()),
            Function::Assert if self.number(0)? != 0.0 => done(),
            Function::Assert => Err(match self.inputs.get(1) {
                Some(&message) => RuntimeErrorKind::Stop(text::of_value(message).into_owned()).into(),
                None => RuntimeErrorKind::Assert.into(),
            }),
            Function::ToString => Ok(self.laid_out(names)?.into()),
            Function::Time => {
                let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
                Ok(Value::I64(since.map_or(0, |elapsed| elapsed.as_nanos() as i64)).into())
            }
            Function::Read => files::read(self.engine.threads.pool(), self.text(0)?, named(), self.hop.data_type),
            Function::Write => {
                files::write(self.inputs[0], self.text(1)?, named())?;
                done()
            }
            Function::Order => self.order(names).map(RuntimeValue::Matrix),
            Function::RemoveEmpty => self.remove_empty(names),
            Function::Table => self.table(names).map(RuntimeValue::Matrix),
            Function::RowIndexMax => self.row_index(Extreme::Max, names),
            Function::RowIndexMin => self.row_index(Extreme::Min, names),
            Function::List => Ok(self.list(names)),
            Function::Numeric(function) => self.numeric(function, names),
            Function::Frame(function) => self.function_of_frames(function, names),
            Function::Remove => self.remove_element(),
            Function::TransformEncode | Function::TransformApply | Function::TransformDecode | Function::TypeOf => {
                self.frame_function(function)
            }
        }
    }

    /// A value, or values in the places of a format.
    fn printed(&self) -> Result<Cow<'_, str>, RuntimeError> {
        if let [value] = self.inputs {
            return Ok(text::of_value(value));
        }
        let scalar = |position: usize| match self.inputs[position] {
            RuntimeValue::Scalar(value) => Ok(value),
            _ => Err(self.type_error(position, "scalars and texts")),
        };
        let values = (1..self.inputs.len()).map(scalar).collect::<Result<Vec<_>, _>>()?;
        Ok(formatted(self.text(0)?, &values)?.into())
    }

    /// The position of the input of this name.
    pub(super) fn named(&self, names: &[String], name: &str) -> Option<usize> {
        let position = names.iter().position(|known| known == name)?;
        Some(self.inputs.len() - names.len() + position)
    }

    /// A named truth value.
    pub(super) fn flag(&self, names: &[String], name: &str, default: bool) -> Result<bool, RuntimeError> {
        self.named(names, name).map_or(Ok(default), |position| Ok(self.number(position)? != 0.0))
    }

    /// With `first`, the first of equals, and NaN before any number; scripts have no such argument.
    fn row_index(&self, extreme: Extreme, names: &[String]) -> Result<RuntimeValue, RuntimeError> {
        let choice = if self.flag(names, "first", false)? { Choice::First } else { Choice::Last };
        Ok(kernels::row_index(&self.engine.kernel_context(), extreme, choice, self.matrix(0)?).into())
    }

    fn order(&self, names: &[String]) -> Result<MatrixBlock, RuntimeError> {
        let by = match self.named(names, "by") {
            None => vec![1.0],
            Some(position) => match self.inputs[position] {
                RuntimeValue::Matrix(columns) => columns.to_dense().values().to_vec(),
                _ => vec![self.number(position)?],
            },
        };
        let decreasing = self.flag(names, "decreasing", false)?;
        let order = if self.flag(names, "index.return", false)? { kernels::order_index } else { kernels::order };
        Ok(order(&self.engine.kernel_context(), self.matrix(0)?, &by, decreasing)?)
    }

    /// Rows or columns, by the text of `margin`.
    pub(super) fn margin(&self, names: &[String]) -> Result<Margin, RuntimeError> {
        match self.named(names, "margin").map(|position| self.text(position)).transpose()? {
            Some("rows") => Ok(Margin::Rows),
            Some("cols") => Ok(Margin::Cols),
            other => {
                let (operation, expected) = ("removeEmpty".to_owned(), "\"rows\" or \"cols\" as `margin`");
                let actual = other.map_or("none".to_owned(), |text| format!("{text:?}"));
                Err(RuntimeErrorKind::Type { operation, expected, actual }.into())
            }
        }
    }

    fn remove_empty(&self, names: &[String]) -> Result<RuntimeValue, RuntimeError> {
        if let RuntimeValue::Frame(frame) = self.inputs[0] {
            return self.remove_empty_of_frame(frame, names);
        }
        let margin = self.margin(names)?;
        let select = self.named(names, "select").map(|position| self.matrix(position)).transpose()?;
        let keeps_one = self.flag(names, "empty.return", true)?;
        let context = self.engine.kernel_context();
        Ok(kernels::remove_empty(&context, self.matrix(0)?, margin, select, keeps_one)?.into())
    }

    fn table(&self, names: &[String]) -> Result<MatrixBlock, RuntimeError> {
        let dims = match (self.named(names, "dim1"), self.named(names, "dim2")) {
            (Some(rows), Some(cols)) => {
                let refuses_small = !self.flag(names, "ignore", true)?;
                Some(TableDims { rows: self.integer(rows)?, cols: self.integer(cols)?, refuses_small })
            }
            _ => None,
        };
        let (rows, cols, weights) = (self.operand(0)?, self.operand(1)?, self.operand(2)?);
        Ok(kernels::table(&self.engine.kernel_context(), rows, cols, weights, dims)?)
    }
}
