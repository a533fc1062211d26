//! Arrays within tuples, lists and dictionaries: the arguments and results of functions, and what loops change.

use crate::array::Array;
use crate::capture;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyList, PyTuple};

/// What stands at a position of the arguments or results: arrays by number, other objects, and these in tuples, lists and
/// dictionaries.
pub(crate) enum Tree {
    Array(usize),
    Static(Py<PyAny>),
    Tuple(Vec<Tree>),
    /// A tuple whose positions have names, with its class.
    Named(Py<PyAny>, Vec<Tree>),
    List(Vec<Tree>),
    Dict(Vec<(Py<PyAny>, Tree)>),
}

impl Tree {
    /// Whether two have arrays at the same positions, and equal objects at the others.
    pub(crate) fn is_like(&self, py: Python<'_>, other: &Tree) -> PyResult<bool> {
        Ok(self.matched(py, other)?.is_some_and(|numbers| numbers.is_sorted()))
    }

    /// For each array of this one the number that the array in its place has in the other one, whose dictionaries may have
    /// another order; `None` where the two are not alike.
    pub(crate) fn matched(&self, py: Python<'_>, other: &Tree) -> PyResult<Option<Vec<usize>>> {
        let mut numbers = Vec::new();
        Ok(self.matches(py, other, &mut numbers)?.then_some(numbers))
    }

    fn matches(&self, py: Python<'_>, other: &Tree, numbers: &mut Vec<usize>) -> PyResult<bool> {
        let mut all = |one: &[Tree], other: &[Tree]| -> PyResult<bool> {
            if one.len() != other.len() {
                return Ok(false);
            }
            for (one, other) in one.iter().zip(other) {
                if !one.matches(py, other, numbers)? {
                    return Ok(false);
                }
            }
            Ok(true)
        };
        match (self, other) {
            (Tree::Array(_), Tree::Array(number)) => {
                numbers.push(*number);
                Ok(true)
            }
            (Tree::Static(one), Tree::Static(other)) => {
                let (one, other) = (one.bind(py), other.bind(py));
                Ok(one.is(other) || one.get_type().is(other.get_type()) && one.eq(other)?)
            }
            (Tree::Tuple(one), Tree::Tuple(other)) | (Tree::List(one), Tree::List(other)) => all(one, other),
            (Tree::Named(class, one), Tree::Named(other_class, other)) => Ok(class.is(other_class) && all(one, other)?),
            (Tree::Dict(one), Tree::Dict(other)) if one.len() == other.len() => {
                for (position, (key, tree)) in one.iter().enumerate() {
                    // Most have one order.
                    let (before, from) = other.split_at(position);
                    let mut entries = from.iter().chain(before);
                    let found = loop {
                        match entries.next() {
                            Some((other_key, found)) if key.bind(py).eq(other_key.bind(py))? => break found,
                            Some(_) => {}
                            None => return Ok(false),
                        }
                    };
                    if !tree.matches(py, found, numbers)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// The objects as Python writes them, with `array` in the place of each array.
    pub(crate) fn text(&self, py: Python<'_>) -> PyResult<String> {
        let all = |trees: &[Tree]| -> PyResult<String> {
            Ok(trees.iter().map(|tree| tree.text(py)).collect::<PyResult<Vec<_>>>()?.join(", "))
        };
        let written = |object: &Py<PyAny>| Ok::<_, PyErr>(object.bind(py).repr()?.to_string());
        Ok(match self {
            Tree::Array(_) => "array".to_owned(),
            Tree::Static(object) => written(object)?,
            Tree::Tuple(trees) => format!("({})", all(trees)?),
            Tree::Named(class, trees) => {
                format!("{}({})", class.bind(py).getattr("__name__")?, all(trees)?)
            }
            Tree::List(trees) => format!("[{}]", all(trees)?),
            Tree::Dict(entries) => {
                let entry = |(key, tree): &(Py<PyAny>, Tree)| Ok(format!("{}: {}", written(key)?, tree.text(py)?));
                format!("{{{}}}", entries.iter().map(entry).collect::<PyResult<Vec<_>>>()?.join(", "))
            }
        })
    }

    /// The objects, with these in the place of arrays.
    pub(crate) fn filled<'py>(&self, py: Python<'py>, arrays: &[Bound<'py, PyAny>]) -> PyResult<Bound<'py, PyAny>> {
        let all = |trees: &[Tree]| trees.iter().map(|tree| tree.filled(py, arrays)).collect::<PyResult<Vec<_>>>();
        Ok(match self {
            Tree::Array(number) => arrays[*number].clone(),
            Tree::Static(object) => object.bind(py).clone(),
            Tree::Tuple(trees) => PyTuple::new(py, all(trees)?)?.into_any(),
            Tree::Named(class, trees) => class.bind(py).call1(PyTuple::new(py, all(trees)?)?)?,
            Tree::List(trees) => PyList::new(py, all(trees)?)?.into_any(),
            Tree::Dict(trees) => {
                let dict = PyDict::new(py);
                for (key, tree) in trees {
                    dict.set_item(key, tree.filled(py, arrays)?)?;
                }
                dict.into_any()
            }
        })
    }
}

/// Takes arguments apart.
#[derive(Default)]
pub(crate) struct Arguments {
    pub(crate) operands: Vec<capture::Operand>,
    /// Whether truth values change like numbers. A function is traced for each instead.
    pub(crate) with_truth_values: bool,
}

impl Arguments {
    pub(crate) fn tree(&mut self, object: &Bound<'_, PyAny>) -> PyResult<Tree> {
        if let Ok(array) = object.cast::<Array>() {
            return Ok(self.push(array.get().operand()));
        }
        let is_truth_value =
            || Ok::<_, PyErr>(object.is_instance_of::<PyBool>() || crate::numpy::is_truth_value(object)?);
        let is_static = object.is_none() || object.is_callable() || !self.with_truth_values && is_truth_value()?;
        if is_static {
            return Ok(Tree::Static(object.clone().unbind()));
        }
        if let Some(tree) = container(object, &mut |item| self.tree(item))? {
            return Ok(tree);
        }
        match capture::operand(object)? {
            Some(operand) => {
                operand.check_fits(operand.kind.dtype())?;
                Ok(self.push(operand))
            }
            None => Ok(Tree::Static(object.clone().unbind())),
        }
    }

    fn push(&mut self, operand: capture::Operand) -> Tree {
        self.operands.push(operand);
        Tree::Array(self.operands.len() - 1)
    }
}

/// A tuple, a list or a dictionary, taken apart; `None` for other objects.
pub(crate) fn container(
    object: &Bound<'_, PyAny>,
    part: &mut dyn FnMut(&Bound<'_, PyAny>) -> PyResult<Tree>,
) -> PyResult<Option<Tree>> {
    if let Ok(tuple) = object.cast::<PyTuple>() {
        let trees = tuple.iter().map(|item| part(&item)).collect::<PyResult<_>>()?;
        if object.hasattr("_fields")? {
            return Ok(Some(Tree::Named(object.get_type().into_any().unbind(), trees)));
        }
        return Ok(Some(Tree::Tuple(trees)));
    }
    if let Ok(list) = object.cast::<PyList>() {
        return Ok(Some(Tree::List(list.iter().map(|item| part(&item)).collect::<PyResult<_>>()?)));
    }
    if let Ok(dict) = object.cast::<PyDict>() {
        let trees = dict.iter().map(|(key, item)| Ok((key.unbind(), part(&item)?)));
        return Ok(Some(Tree::Dict(trees.collect::<PyResult<_>>()?)));
    }
    Ok(None)
}
