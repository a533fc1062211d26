//! Types and sizes of functions: those with effects or named arguments.

use super::{Context, SCALAR, ShapeError};
use crate::hop::{FrameFunction, Function, HopId};
use crate::size::SizeInfo;
use crate::types::{DataType, Value};

impl Context<'_> {
    pub(super) fn function(&self, function: Function, names: &[String]) -> Result<(DataType, SizeInfo), ShapeError> {
        let matrix = |size: SizeInfo| Ok((DataType::MATRIX, size));
        match function {
            Function::Read => matrix(SizeInfo::UNKNOWN),
            Function::ToString => Ok((DataType::STR, SCALAR)),
            Function::Numeric(function) => self.numeric(function, names),
            Function::Frame(function) => self.frame_function(function, names),
            Function::List => Ok((DataType::List, SCALAR)),
            Function::Remove => {
                self.expect_type(0, DataType::List, "a list")?;
                self.expect_scalar(1)?;
                Ok((DataType::List, SCALAR))
            }
            Function::TransformEncode | Function::TransformApply | Function::TransformDecode => {
                self.transform(function)
            }
            Function::TypeOf => {
                self.expect_type(0, DataType::Frame, "a frame")?;
                Ok((DataType::Frame, SCALAR))
            }
            Function::Time => Ok((DataType::I64, SCALAR)),
            Function::Write | Function::Print | Function::Stop | Function::Assert => Ok((DataType::BOOL, SCALAR)),
            Function::Order => {
                self.expect_matrix(0)?;
                match self.named(names, "index.return").map(|input| self.dag.literal_value(input)) {
                    None | Some(Some(Value::Bool(false))) => matrix(self.size(0)),
                    Some(Some(_)) => matrix(SizeInfo { cols: Some(1), nnz: None, ..self.size(0) }),
                    Some(None) => matrix(SizeInfo { cols: None, nnz: None, ..self.size(0) }),
                }
            }
            Function::RemoveEmpty if self.data_type(0) == DataType::Frame => Ok((DataType::Frame, SCALAR)),
            Function::RemoveEmpty if self.data_type(0) == DataType::Unknown => Ok((DataType::Unknown, SCALAR)),
            Function::RemoveEmpty => {
                self.expect_matrix(0)?;
                let size = SizeInfo { nnz: self.size(0).nnz, ..SizeInfo::UNKNOWN };
                match self.named(names, "margin").and_then(|input| self.dag.literal_value(input)) {
                    Some(Value::Str(margin)) if margin == "rows" => {
                        matrix(SizeInfo { cols: self.size(0).cols, ..size })
                    }
                    Some(Value::Str(margin)) if margin == "cols" => {
                        matrix(SizeInfo { rows: self.size(0).rows, ..size })
                    }
                    _ => matrix(size),
                }
            }
            Function::Table => {
                for position in 0..3 {
                    self.expect_number(position)?;
                }
                let dimension = |name| self.named(names, name).and_then(|input| self.dim_of(input));
                let size = SizeInfo { rows: dimension("dim1"), cols: dimension("dim2"), nnz: None };
                matrix(SizeInfo {
                    nnz: self.table_pairs().map(|pairs| size.cells().unwrap_or(pairs).min(pairs)),
                    ..size
                })
            }
            Function::RowIndexMax | Function::RowIndexMin => {
                self.expect_matrix(0)?;
                matrix(SizeInfo { cols: Some(1), nnz: None, ..self.size(0) })
            }
        }
    }

    /// How many pairs of positions a table counts, each of which adds to one of its cells: as many as the cells of any
    /// of its matrices.
    fn table_pairs(&self) -> Option<u64> {
        let matrices = (0..3).filter(|&position| !matches!(self.data_type(position), DataType::Scalar(_)));
        matrices.filter_map(|position| self.size(position).cells()).next()
    }

    fn transform(&self, function: Function) -> Result<(DataType, SizeInfo), ShapeError> {
        match function {
            Function::TransformDecode => self.expect_matrix(0)?,
            _ => self.expect_type(0, DataType::Frame, "a frame")?,
        }
        self.expect_type(1, DataType::STR, "a text")?;
        if function != Function::TransformEncode {
            self.expect_type(2, DataType::Frame, "a frame")?;
        }
        Ok(match function {
            Function::TransformEncode => (DataType::List, SCALAR),
            Function::TransformDecode => (DataType::Frame, SCALAR),
            // Every row of the frame becomes one of the matrix.
            _ => (DataType::MATRIX, SizeInfo::UNKNOWN),
        })
    }

    /// A function whose value is a frame.
    fn frame_function(&self, function: FrameFunction, names: &[String]) -> Result<(DataType, SizeInfo), ShapeError> {
        self.arity(function.positional_inputs() + names.len())?;
        match function {
            FrameFunction::Make => (1..3).try_for_each(|position| self.expect_scalar(position))?,
            FrameFunction::Map => {
                match self.data_type(0) {
                    DataType::Matrix(_) | DataType::Frame | DataType::Unknown => {}
                    _ => return Err(self.type_error(0, "a frame or a matrix")),
                }
                self.expect_type(1, DataType::STR, "a text")?;
            }
            FrameFunction::ColumnNames | FrameFunction::DetectSchema => {
                self.expect_type(0, DataType::Frame, "a frame")?;
            }
            FrameFunction::Tokenize => {
                self.expect_type(0, DataType::Frame, "a frame")?;
                self.expect_type(1, DataType::STR, "a text")?;
            }
            FrameFunction::DropInvalidLength => {
                self.expect_type(0, DataType::Frame, "a frame")?;
                self.expect_matrix(1)?;
            }
            FrameFunction::ReplaceCells => {
                self.expect_type(0, DataType::Frame, "a frame")?;
                (1..3).try_for_each(|position| self.expect_scalar(position))?;
            }
            FrameFunction::DropInvalidType | FrameFunction::Replicate | FrameFunction::Compare => {
                (0..2).try_for_each(|position| self.expect_type(position, DataType::Frame, "a frame"))?;
            }
        }
        Ok((DataType::Frame, SCALAR))
    }

    /// The input that was passed under this name.
    pub(super) fn named(&self, names: &[String], name: &str) -> Option<HopId> {
        let first = self.inputs.len().checked_sub(names.len())?;
        names.iter().position(|other| other == name).map(|position| self.inputs[first + position])
    }
}
