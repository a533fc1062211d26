//! What variables hold at run time.

use fuseline_ir::ops::math::with_one_nan;
use fuseline_ir::{DataType, SizeInfo, Value};
use fuseline_matrix::run_context::count;
use fuseline_matrix::{
    BufferPool, Csr, CsrError, Dense, Frame, MatrixBlock, MemoryKind, NarrowCsr, NarrowDense, Part, Reservation,
    SMALLEST_RESERVED, copied_text,
};
use ndarray::Array2;
use rayon::ThreadPool;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The value of a variable.
#[derive(Clone, Debug, PartialEq)]
pub enum RuntimeValue {
    /// A matrix.
    Matrix(MatrixBlock),
    /// A scalar.
    Scalar(Value),
    /// A list.
    List(Arc<List>),
    /// A frame.
    Frame(Arc<Frame>),
}

/// Values of any types in order, each of which may have a name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct List {
    /// The elements.
    pub elements: Vec<ListElement>,
}

/// An element of a [`List`].
#[derive(Debug)]
pub struct ListElement {
    /// Its name, where it has one.
    pub name: Option<String>,
    /// Its value.
    pub value: RuntimeValue,
    /// Of a long text.
    _memory: Option<Reservation>,
}

impl Part for ListElement {}

impl ListElement {
    /// A value, and its name where it has one.
    pub fn new(name: Option<String>, value: RuntimeValue) -> Self {
        let memory = value.count_text();
        ListElement { name, value, _memory: memory }
    }
}

/// Copies of long texts take memory of their own. Unwinds where that is refused.
impl Clone for ListElement {
    fn clone(&self) -> Self {
        ListElement::new(self.name.clone(), self.value.copied())
    }
}

impl PartialEq for ListElement {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.value == other.value
    }
}

impl List {
    /// A list of values without names, such as the results of an operator with several.
    pub fn unnamed(values: impl IntoIterator<Item = RuntimeValue>) -> Self {
        List { elements: values.into_iter().map(|value| ListElement::new(None, value)).collect() }
    }
}

/// Lists in lists may be nested deeper than any stack: what nobody else has is dropped without recursion.
impl Drop for List {
    fn drop(&mut self) {
        let mut pending = std::mem::take(&mut self.elements);
        while let Some(element) = pending.pop() {
            if let RuntimeValue::List(inner) = element.value
                && let Some(mut inner) = Arc::into_inner(inner)
            {
                pending.append(&mut inner.elements);
            }
        }
    }
}

impl From<List> for RuntimeValue {
    fn from(list: List) -> Self {
        RuntimeValue::List(Arc::new(list))
    }
}

/// Variables by name.
pub type Variables = BTreeMap<String, RuntimeValue>;

impl RuntimeValue {
    /// The type.
    pub fn data_type(&self) -> DataType {
        match self {
            RuntimeValue::Matrix(_) => DataType::MATRIX,
            RuntimeValue::Scalar(value) => DataType::Scalar(value.scalar_type()),
            RuntimeValue::List(_) => DataType::List,
            RuntimeValue::Frame(_) => DataType::Frame,
        }
    }

    /// The size of a matrix; unknown for others.
    pub fn size(&self) -> SizeInfo {
        match self {
            RuntimeValue::Matrix(block) => block.size(),
            RuntimeValue::Scalar(_) | RuntimeValue::List(_) | RuntimeValue::Frame(_) => SizeInfo::UNKNOWN,
        }
    }

    /// The value as a user knows it: its type, and the size of a matrix.
    pub(crate) fn describe(&self) -> String {
        match self {
            RuntimeValue::Matrix(block) => format!("a {} x {} matrix", block.rows(), block.cols()),
            RuntimeValue::Scalar(scalar) => format!("the {} value {scalar}", scalar.scalar_type().mnemonic()),
            RuntimeValue::List(list) => format!("a list of {} elements", list.elements.len()),
            RuntimeValue::Frame(frame) => format!("a {} x {} frame", frame.rows(), frame.cols()),
        }
    }

    /// Counts the memory of a long text, which is its value's own, for as long as the value is kept. Whoever makes one
    /// asks for the memory beforehand.
    pub(crate) fn count_text(&self) -> Option<Reservation> {
        match self {
            RuntimeValue::Scalar(Value::Str(text)) if text.len() >= SMALLEST_RESERVED => {
                count(MemoryKind::Text, text.len() as u64)
            }
            _ => None,
        }
    }

    /// A copy of the value. Unwinds where there is no memory for a copy of a text; all others share theirs.
    pub(crate) fn copied(&self) -> RuntimeValue {
        match self {
            RuntimeValue::Scalar(Value::Str(text)) => Value::Str(copied_text(text)).into(),
            other => other.clone(),
        }
    }

    /// A number: that of a scalar, or the cell of a 1 x 1 matrix.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            RuntimeValue::Matrix(block) if block.dims() == (1, 1) => Some(block.get(0, 0)),
            RuntimeValue::Matrix(_) | RuntimeValue::List(_) | RuntimeValue::Frame(_) => None,
            RuntimeValue::Scalar(value) => value.as_f64(),
        }
    }

    /// Checks anew what owners of borrowed matrices within the value may have changed. Threads share the work.
    ///
    /// # Errors
    /// The positions of a sparse matrix do not form one any more.
    pub fn check_borrowed(&self, threads: &ThreadPool) -> Result<(), CsrError> {
        // Lists may be nested deeply.
        let mut left = vec![self];
        while let Some(value) = left.pop() {
            match value {
                RuntimeValue::Matrix(block) => block.check_borrowed_on(threads)?,
                RuntimeValue::List(list) => left.extend(list.elements.iter().map(|element| &element.value)),
                RuntimeValue::Scalar(_) | RuntimeValue::Frame(_) => {}
            }
        }
        Ok(())
    }

    /// Makes a value ready to leave the engine: all NaN within get the same bits, and what another owner may change is
    /// copied, to memory of a pool. Threads share the work.
    pub fn finish(&mut self, threads: &ThreadPool, buffers: &Arc<BufferPool>) {
        // Lists may be nested deeply.
        let mut left = vec![self];
        while let Some(value) = left.pop() {
            match value {
                RuntimeValue::Matrix(block) => {
                    block.detach(threads, buffers);
                    block.unify_nan(threads);
                }
                RuntimeValue::Scalar(Value::F64(number)) => *number = with_one_nan(*number),
                RuntimeValue::List(list) => {
                    left.extend(Arc::make_mut(list).elements.iter_mut().map(|element| &mut element.value));
                }
                RuntimeValue::Frame(frame) => Frame::unify_nan(frame),
                RuntimeValue::Scalar(_) => {}
            }
        }
    }
}

impl From<MatrixBlock> for RuntimeValue {
    fn from(block: MatrixBlock) -> Self {
        RuntimeValue::Matrix(block)
    }
}

impl From<Frame> for RuntimeValue {
    fn from(frame: Frame) -> Self {
        RuntimeValue::Frame(Arc::new(frame))
    }
}

impl From<Value> for RuntimeValue {
    fn from(value: Value) -> Self {
        RuntimeValue::Scalar(value)
    }
}

impl From<f64> for RuntimeValue {
    fn from(value: f64) -> Self {
        RuntimeValue::Scalar(Value::F64(value))
    }
}

/// Without a copy in C order, else with one.
impl From<Array2<f64>> for RuntimeValue {
    fn from(array: Array2<f64>) -> Self {
        RuntimeValue::Matrix(array.into())
    }
}

impl From<Dense> for RuntimeValue {
    fn from(dense: Dense) -> Self {
        RuntimeValue::Matrix(dense.into())
    }
}

impl From<Csr> for RuntimeValue {
    fn from(csr: Csr) -> Self {
        RuntimeValue::Matrix(csr.into())
    }
}

impl From<NarrowDense> for RuntimeValue {
    fn from(dense: NarrowDense) -> Self {
        RuntimeValue::Matrix(dense.into())
    }
}

impl From<NarrowCsr> for RuntimeValue {
    fn from(csr: NarrowCsr) -> Self {
        RuntimeValue::Matrix(csr.into())
    }
}

impl From<i64> for RuntimeValue {
    fn from(value: i64) -> Self {
        RuntimeValue::Scalar(Value::I64(value))
    }
}

impl From<bool> for RuntimeValue {
    fn from(value: bool) -> Self {
        RuntimeValue::Scalar(Value::Bool(value))
    }
}

impl From<&str> for RuntimeValue {
    fn from(value: &str) -> Self {
        RuntimeValue::Scalar(Value::Str(value.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Deeper than the stack of any thread would hold.
    #[test]
    fn lists_in_lists_are_dropped_without_recursion() {
        let nested =
            |depth: usize, inner: RuntimeValue| (0..depth).fold(inner, |inner, _| List::unnamed([inner]).into());
        let shared = nested(1000, RuntimeValue::from(1.0));
        let deep = nested(250_000, shared.clone());
        drop(deep);
        let RuntimeValue::List(list) = &shared else { panic!("a list") };
        assert_eq!((Arc::strong_count(list), list.elements.len()), (1, 1), "what others have stays");
    }
}
