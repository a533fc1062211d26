//! Lists: construction, access by position and by name, growth, and conversion of their elements.

use super::Operator;
use crate::error::{ListError, RuntimeError, RuntimeErrorKind};
use crate::value::{List, ListElement, RuntimeValue};
use fuseline_ir::Value;
use fuseline_ir::hop::{CastOp, HopOp, NaryOp, ShapeOp};
use fuseline_kernels as kernels;
use fuseline_matrix::{Collected, Dense, MatrixBlock};
use std::ops::Range;

type Result<T> = std::result::Result<T, RuntimeError>;

impl Operator<'_> {
    /// `list(...)`: the last inputs have names.
    pub(super) fn list(&self, names: &[String]) -> RuntimeValue {
        let unnamed = self.inputs.len() - names.len();
        let name = |position: usize| position.checked_sub(unnamed).map(|named| names[named].clone());
        let element = |(position, &value): (usize, &&RuntimeValue)| ListElement::new(name(position), value.copied());
        List { elements: self.inputs.iter().enumerate().map(element).collect() }.into()
    }

    /// `remove(list, which)`: the other elements, and a list of the removed one without its name.
    pub(super) fn remove_element(&self) -> Result<RuntimeValue> {
        let list = self.as_list(0)?;
        let position = self.positions(list, 1, 1)?;
        let mut rest = list.clone();
        let removed = rest.elements.drain(position).map(|element| element.value).collect::<Vec<_>>();
        Ok(List::unnamed([rest.into(), List::unnamed(removed).into()]).into())
    }

    /// An operation whose first input is a list, or that takes a result out of one; `None` for others.
    pub(super) fn list_operation(&self) -> Option<Result<RuntimeValue>> {
        let RuntimeValue::List(list) = self.inputs.first()? else { return None };
        Some(match &self.hop.op {
            HopOp::Item(position) => self.item(list, *position),
            HopOp::Index => self.slice(list),
            HopOp::LeftIndex => self.replace_elements(list),
            HopOp::Shape(op) => {
                let count = if *op == ShapeOp::Ncol { 1 } else { list.elements.len() };
                Ok(Value::I64(count as i64).into())
            }
            HopOp::Nary(op) if self.inputs.len() == 1 => self.bind_elements(*op, list),
            HopOp::Nary(NaryOp::Cbind) => Ok(self.append(list)),
            HopOp::Cast(op) => self.cast_list(*op, list),
            _ => return None,
        })
    }

    fn as_list(&self, position: usize) -> Result<&List> {
        match self.inputs[position] {
            RuntimeValue::List(list) => Ok(list),
            _ => Err(self.type_error(position, "a list")),
        }
    }

    fn item(&self, list: &List, position: usize) -> Result<RuntimeValue> {
        let missing = || RuntimeErrorKind::Internal(format!("the operator gives no result {position}"));
        Ok(list.elements.get(position).ok_or_else(missing)?.value.copied())
    }

    fn slice(&self, list: &List) -> Result<RuntimeValue> {
        Ok(List { elements: list.elements[self.positions(list, 1, 2)?].to_vec() }.into())
    }

    /// The positions that two inputs delimit, which are positions from 1 or names.
    fn positions(&self, list: &List, first: usize, last: usize) -> Result<Range<usize>> {
        let (first, last) = (self.position(list, first)?, self.position(list, last)?);
        let length = list.elements.len();
        if first < 1 || last < first || last as u64 > length as u64 {
            return Err(ListError::Range { first, last, length }.into());
        }
        Ok(first as usize - 1..last as usize)
    }

    /// The position from 1 that an input gives, as a number or as the name of an element.
    fn position(&self, list: &List, input: usize) -> Result<i64> {
        let RuntimeValue::Scalar(Value::Str(name)) = self.inputs[input] else { return self.integer(input) };
        match list.elements.iter().position(|element| element.name.as_ref() == Some(name)) {
            Some(position) => Ok(position as i64 + 1),
            None => Err(ListError::NoName { name: name.clone(), known: list.names() }.into()),
        }
    }

    /// A list in the place of several elements gives its own; any other value replaces a single element.
    fn replace_elements(&self, list: &List) -> Result<RuntimeValue> {
        let positions = self.positions(list, 2, 3)?;
        let replacement = match self.inputs[1] {
            RuntimeValue::List(new) => new.elements.clone(),
            value => vec![ListElement::new(None, value.copied())],
        };
        let (expected, actual) = (positions.len(), replacement.len());
        if expected != actual {
            return Err(ListError::Replacement { expected, actual }.into());
        }
        let mut result = list.clone();
        for (element, new) in result.elements[positions].iter_mut().zip(replacement) {
            *element = ListElement::new(new.name.or(element.name.take()), new.value);
        }
        Ok(result.into())
    }

    /// The list with the other inputs at its end. A list of a single element gives that element with its name, which is
    /// how `append(L, list(name=value))` adds a named one; a longer list becomes one element.
    fn append(&self, list: &List) -> RuntimeValue {
        let mut result = list.clone();
        for value in &self.inputs[1..] {
            result.elements.push(match value {
                RuntimeValue::List(new) if new.elements.len() == 1 => new.elements[0].clone(),
                value => ListElement::new(None, value.copied()),
            });
        }
        result.into()
    }

    /// The matrices of a list side by side or below each other.
    fn bind_elements(&self, op: NaryOp, list: &List) -> Result<RuntimeValue> {
        let matrix = |element: &'_ ListElement| match &element.value {
            RuntimeValue::Matrix(block) => Ok(block.clone()),
            RuntimeValue::Scalar(value) if value.as_f64().is_some() => {
                Ok(MatrixBlock::single(value.as_f64().unwrap_or_default()))
            }
            _ => Err(self.type_error(0, "a list of matrices")),
        };
        let matrices = list.elements.iter().map(matrix).collect::<Result<Vec<_>>>()?;
        let (context, operands) = (self.engine.kernel_context(), matrices.iter().collect::<Vec<_>>());
        match op {
            NaryOp::Cbind => Ok(kernels::bind_columns(&context, &operands)?.into()),
            NaryOp::Rbind => Ok(kernels::bind_rows(&context, &operands)?.into()),
            _ => Err(self.type_error(0, "matrices or numbers")),
        }
    }

    /// The single element of a list, converted; several numbers to a column.
    fn cast_list(&self, op: CastOp, list: &List) -> Result<RuntimeValue> {
        let [element] = list.elements.as_slice() else {
            if op == CastOp::AsList {
                return Ok(list.clone().into());
            }
            if let (CastOp::AsMatrix, Some(numbers)) = (op, list.numbers()) {
                return Ok(Dense::from_vec(numbers.len(), 1, numbers).into());
            }
            return Err(ListError::NotSingle { operation: op.mnemonic(), length: list.elements.len() }.into());
        };
        match (&element.value, op) {
            (RuntimeValue::List(_), CastOp::AsList) => Ok(element.value.clone()),
            (_, CastOp::AsList) => Ok(list.clone().into()),
            (value, _) => {
                let inputs = [value];
                let element = Operator { inputs: &inputs, ..*self };
                element.frame_operation().unwrap_or_else(|| element.cast(op))
            }
        }
    }

    /// The columns of a matrix.
    pub(super) fn columns_as_list(&self, block: &MatrixBlock) -> Result<RuntimeValue> {
        let context = self.engine.kernel_context();
        let rows = (1, block.rows() as i64);
        let column = |j: i64| Ok(ListElement::new(None, kernels::index(&context, block, rows, (j, j))?.into()));
        let columns: Collected<ListElement> = (1..=block.cols() as i64).map(column).collect::<Result<_>>()?;
        Ok(List { elements: columns.into_vec() }.into())
    }
}

impl List {
    /// The values of a list of numbers.
    fn numbers(&self) -> Option<Vec<f64>> {
        let numbers = self.elements.iter().map(|element| match &element.value {
            RuntimeValue::Scalar(value) => value.as_f64(),
            _ => None,
        });
        numbers.collect()
    }

    /// The names of its elements, for a message.
    fn names(&self) -> String {
        let names: Vec<String> =
            self.elements.iter().filter_map(|element| Some(format!("`{}`", element.name.as_ref()?))).collect();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    }
}
