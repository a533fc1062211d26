//! Operators on frames.

use super::Operator;
use crate::error::{RuntimeError, RuntimeErrorKind};
use crate::transform::{self, Specification};
use crate::value::{List, RuntimeValue};
use fuseline_ir::Value;
use fuseline_ir::hop::{CastOp, Function, HopOp, NaryOp, ShapeOp};
use fuseline_matrix::{Column, Frame};
use std::borrow::Cow;

type Result<T> = std::result::Result<T, RuntimeError>;

impl Operator<'_> {
    pub(super) fn frame(&self, position: usize) -> Result<&Frame> {
        match self.inputs[position] {
            RuntimeValue::Frame(frame) => Ok(frame),
            _ => Err(self.type_error(position, "a frame")),
        }
    }

    /// An operation whose first input is a frame, or that binds one to others; `None` for others.
    pub(super) fn frame_operation(&self) -> Option<Result<RuntimeValue>> {
        let is_frame = |input: &&RuntimeValue| matches!(input, RuntimeValue::Frame(_));
        if let HopOp::Nary(op) = self.hop.op
            && self.inputs.iter().any(is_frame)
        {
            return Some(self.bind_frames(op));
        }
        let RuntimeValue::Frame(frame) = self.inputs.first()? else { return None };
        Some(match &self.hop.op {
            HopOp::Index => self.ranges(1).and_then(|(rows, cols)| Ok(frame.slice(rows, cols)?.into())),
            HopOp::LeftIndex => self.replace_cells(frame),
            HopOp::Shape(op) => Ok(Value::I64(match op {
                ShapeOp::Nrow => frame.rows() as i64,
                ShapeOp::Ncol => frame.cols() as i64,
                ShapeOp::Length => (frame.rows() * frame.cols()) as i64,
            })
            .into()),
            HopOp::Cast(op) => self.cast_frame(*op, frame),
            _ => return None,
        })
    }

    fn ranges(&self, first: usize) -> Result<((i64, i64), (i64, i64))> {
        Ok((self.range(first)?, self.range(first + 2)?))
    }

    fn replace_cells(&self, frame: &Frame) -> Result<RuntimeValue> {
        let (rows, cols) = self.ranges(2)?;
        let replacement = match self.inputs[1] {
            RuntimeValue::Frame(new) => return Ok(frame.replace(rows, cols, new)?.into()),
            RuntimeValue::Matrix(block) => Frame::from_matrix(block),
            RuntimeValue::Scalar(value) => Frame::new(vec![Column::single(value)], Vec::new())?,
            RuntimeValue::List(_) => return Err(self.type_error(1, "a frame, a matrix or a scalar")),
        };
        Ok(frame.replace(rows, cols, &replacement)?.into())
    }

    fn bind_frames(&self, op: NaryOp) -> Result<RuntimeValue> {
        let frame = |position: usize| match self.inputs[position] {
            RuntimeValue::Matrix(block) => Ok(Cow::Owned(Frame::from_matrix(block))),
            _ => self.frame(position).map(Cow::Borrowed),
        };
        let frames = (0..self.inputs.len()).map(frame).collect::<Result<Vec<_>>>()?;
        let frames: Vec<&Frame> = frames.iter().map(Cow::as_ref).collect();
        match op {
            NaryOp::Cbind => Ok(Frame::bind_columns(&frames)?.into()),
            NaryOp::Rbind => Ok(Frame::bind_rows(&frames)?.into()),
            _ => Err(self.type_error(0, "matrices or numbers")),
        }
    }

    fn cast_frame(&self, op: CastOp, frame: &Frame) -> Result<RuntimeValue> {
        match op {
            CastOp::AsFrame => Ok(frame.clone().into()),
            CastOp::AsMatrix => Ok(fuseline_matrix::MatrixBlock::from(frame.to_matrix()?).in_best_format().into()),
            CastOp::AsList => Err(self.type_error(0, "a matrix or a list")),
            _ if (frame.rows(), frame.cols()) == (1, 1) => {
                let cell = RuntimeValue::Scalar(frame.columns()[0].get(0));
                Operator { inputs: &[&cell], ..*self }.cast(op)
            }
            _ => Err(self.type_error(0, "a frame of one cell")),
        }
    }

    pub(super) fn single_cell_frame(&self, value: &Value) -> Result<RuntimeValue> {
        Ok(Frame::new(vec![Column::single(value)], Vec::new())?.into())
    }

    /// Functions of frames.
    pub(super) fn frame_function(&self, function: Function) -> Result<RuntimeValue> {
        match function {
            Function::TransformEncode => self.transform_encode(),
            Function::TransformApply => self.transform_apply(),
            Function::TransformDecode => self.transform_decode(),
            Function::TypeOf => self.type_of(),
            _ => Err(RuntimeErrorKind::Internal(format!("no operator runs {}", function.mnemonic())).into()),
        }
    }

    fn type_of(&self) -> Result<RuntimeValue> {
        Ok(Frame::row_of_texts(self.frame(0)?.schema().map(|scalar| scalar.schema_name().to_owned())).into())
    }

    fn transform_encode(&self) -> Result<RuntimeValue> {
        let frame = self.frame(0)?;
        let specification = Specification::parse(self.text(1)?, frame.names())?;
        let kept = transform::without_omitted(frame, &specification);
        let frame = kept.as_ref().unwrap_or(frame);
        let learnt = transform::learn(frame, &specification)?;
        let matrix = transform::encode(frame, &learnt)?;
        Ok(List::unnamed([matrix.into(), transform::to_frame(&learnt).into()]).into())
    }

    fn transform_apply(&self) -> Result<RuntimeValue> {
        let (frame, meta) = (self.frame(0)?, self.frame(2)?);
        let specification = Specification::parse(self.text(1)?, frame.names())?;
        let kept = transform::without_omitted(frame, &specification);
        let learnt = transform::from_frame(meta, &specification)?;
        Ok(transform::encode(kept.as_ref().unwrap_or(frame), &learnt)?.into())
    }

    fn transform_decode(&self) -> Result<RuntimeValue> {
        let (matrix, meta) = (self.matrix(0)?, self.frame(2)?);
        let specification = Specification::parse(self.text(1)?, meta.names())?;
        Ok(transform::decode(matrix, &transform::from_frame(meta, &specification)?)?.into())
    }
}
