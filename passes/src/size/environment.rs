//! What is known of variables at one point of a program.

use fuseline_ir::SizeInfo;
use fuseline_ir::hop::Span;
use fuseline_ir::types::{DataType, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// What is known of the value of a variable.
#[derive(Clone, Debug)]
pub struct VariableFacts {
    /// Matrix or scalar.
    pub data_type: DataType,
    /// The size of a matrix; [`SizeInfo::UNKNOWN`] for scalars.
    pub size: SizeInfo,
    /// The value of a scalar that is known.
    pub value: Option<Value>,
    /// Whether computing the value may fail, so that the variable may have none.
    pub may_be_missing: bool,
    /// Where the variable got its value, for messages; not part of equality.
    pub origin: Option<Span>,
}

impl VariableFacts {
    /// Nothing but the type is known.
    pub fn of_type(data_type: DataType) -> Self {
        VariableFacts { data_type, size: SizeInfo::UNKNOWN, value: None, may_be_missing: false, origin: None }
    }

    /// A matrix of this size.
    pub fn matrix(size: SizeInfo) -> Self {
        VariableFacts { size, ..VariableFacts::of_type(DataType::MATRIX) }
    }

    /// A scalar of this value.
    pub fn scalar(value: Value) -> Self {
        let data_type = DataType::Scalar(value.scalar_type());
        VariableFacts { value: Some(value), ..VariableFacts::of_type(data_type) }
    }

    /// What holds of either: facts in which the two differ are lost. Of the numbers of non-zeros the larger holds, or
    /// none where `widen` asks for facts that no repetition changes further.
    fn join(&self, other: &Self, widen: bool) -> Self {
        let nnz = match (self.size.nnz, other.size.nnz) {
            (Some(a), Some(b)) if a == b || !widen => Some(a.max(b)),
            _ => None,
        };
        let rows = self.size.rows.filter(|_| self.size.rows == other.size.rows);
        let cols = self.size.cols.filter(|_| self.size.cols == other.size.cols);
        let size = SizeInfo { rows, cols, nnz };
        let value = self.value.clone().filter(|_| same_value(self.value.as_ref(), other.value.as_ref()));
        let data_type = if self.data_type == other.data_type { self.data_type } else { DataType::Unknown };
        let origin = self.origin.filter(|_| self.origin == other.origin);
        VariableFacts { data_type, size, value, may_be_missing: self.may_be_missing || other.may_be_missing, origin }
    }

    fn one_sided(&self, only_once: OneSided) -> Self {
        match only_once {
            OneSided::KeepsSize => VariableFacts { value: None, ..self.clone() },
            OneSided::KeepsType => {
                let &VariableFacts { data_type, may_be_missing, origin, .. } = self;
                VariableFacts { may_be_missing, origin, ..VariableFacts::of_type(data_type) }
            }
        }
    }
}

fn same_value(a: Option<&Value>, b: Option<&Value>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => a.same_bits(b),
        (a, b) => a.is_none() && b.is_none(),
    }
}

/// Values are compared by their bits, so that NaN equals itself.
impl PartialEq for VariableFacts {
    fn eq(&self, other: &Self) -> bool {
        self.data_type == other.data_type
            && self.size == other.size
            && self.may_be_missing == other.may_be_missing
            && same_value(self.value.as_ref(), other.value.as_ref())
    }
}

/// What is known of every variable at one point of a program.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SizeEnvironment {
    variables: BTreeMap<String, VariableFacts>,
    /// Whether the program ended before this point.
    is_unreachable: bool,
}

impl SizeEnvironment {
    /// No variable is known.
    pub fn new() -> Self {
        Self::default()
    }

    /// What is known of a variable.
    pub fn get(&self, name: &str) -> Option<&VariableFacts> {
        self.variables.get(name)
    }

    /// Sets what is known of a variable.
    pub fn set(&mut self, name: &str, facts: VariableFacts) {
        self.variables.insert(name.to_owned(), facts);
    }

    /// Every variable with its facts, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &VariableFacts)> {
        self.variables.iter().map(|(name, facts)| (name.as_str(), facts))
    }

    /// Forgets a variable.
    pub(super) fn take(&mut self, name: &str) -> Option<VariableFacts> {
        self.variables.remove(name)
    }

    /// What is known of these variables alone.
    pub(super) fn part(&self, names: &BTreeSet<Rc<str>>) -> SizeEnvironment {
        let known = names.iter().filter_map(|name| self.variables.get_key_value(&**name));
        let variables = known.map(|(name, facts)| (name.clone(), facts.clone())).collect();
        SizeEnvironment { variables, is_unreachable: self.is_unreachable }
    }

    /// Replaces what was known of some variables by what a part says of them.
    pub(super) fn update(&mut self, part: SizeEnvironment) {
        self.variables.extend(part.variables);
        self.is_unreachable = part.is_unreachable;
    }

    /// Says that the program ends before this point: nothing is asked of what follows, and where paths join, the other
    /// path alone counts.
    pub(super) fn end(&mut self) {
        self.is_unreachable = true;
    }

    pub(super) fn is_unreachable(&self) -> bool {
        self.is_unreachable
    }

    /// What holds after either of two branches.
    pub(super) fn join(self, other: Self, only_once: OneSided) -> Self {
        self.merge(other, false, only_once)
    }

    /// What holds before and after one more repetition of a loop's body.
    pub(super) fn join_repetition(self, after: Self, only_once: OneSided) -> Self {
        self.merge(after, true, only_once)
    }

    fn merge(mut self, mut other: Self, widen: bool, only_once: OneSided) -> Self {
        if self.is_unreachable || other.is_unreachable {
            return if self.is_unreachable { other } else { self };
        }
        for (name, facts) in &mut self.variables {
            *facts = match other.variables.remove(name) {
                Some(others) => facts.join(&others, widen),
                None => facts.one_sided(only_once),
            };
        }
        let only_there = other.variables.into_iter();
        self.variables.extend(only_there.map(|(name, facts)| (name, facts.one_sided(only_once))));
        self
    }
}

/// What is known of a variable that only one of two paths sets. It may have no value at all, so that its use is an
/// error at run time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OneSided {
    /// Its size: what a use would compute has that size, or there is the error.
    KeepsSize,
    /// Its type alone, so that what its size says does not hide the error.
    KeepsType,
}

impl<N: Into<String>> FromIterator<(N, VariableFacts)> for SizeEnvironment {
    fn from_iter<I: IntoIterator<Item = (N, VariableFacts)>>(variables: I) -> Self {
        let variables = variables.into_iter().map(|(name, facts)| (name.into(), facts)).collect();
        SizeEnvironment { variables, ..SizeEnvironment::default() }
    }
}

/// Sizes of files, from their metadata.
pub trait FileSizes {
    /// The size of the matrix in the file `path`; `None` where it cannot be told without reading it.
    fn size(&self, path: &str) -> Option<SizeInfo>;
}

/// No file is known.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFiles;

impl FileSizes for NoFiles {
    fn size(&self, _path: &str) -> Option<SizeInfo> {
        None
    }
}
