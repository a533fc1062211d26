//! The variables that may be assigned at a point of a script, and their types.

use fuseline_ir::types::{DataType, ScalarType};
use std::collections::{BTreeMap, BTreeSet};

/// Types by variable. A variable is missing when no path to this point assigns it.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope {
    types: BTreeMap<String, DataType>,
    /// The variables among them that some path to this point does not assign.
    uncertain: BTreeSet<String>,
}

impl Scope {
    pub(super) fn get(&self, name: &str) -> Option<DataType> {
        self.types.get(name).copied()
    }

    pub(super) fn set(&mut self, name: &str, data_type: DataType) {
        self.types.insert(name.to_owned(), data_type);
        self.uncertain.remove(name);
    }

    /// Marks a variable that a path to this point may not assign.
    pub(super) fn set_uncertain(&mut self, name: &str) {
        self.uncertain.insert(name.to_owned());
    }

    /// Whether the variable is assigned here: on all paths, on none, or (without an answer) on some.
    pub(super) fn is_assigned(&self, name: &str) -> Option<bool> {
        if self.uncertain.contains(name) { None } else { Some(self.types.contains_key(name)) }
    }

    /// The names that a script can write.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.types.keys().map(String::as_str).filter(|name| !name.starts_with('_'))
    }

    /// What holds where either of two paths may have been taken.
    pub(super) fn join(mut self, other: Scope) -> Scope {
        let only_in_one = |name: &&String| !self.types.contains_key(*name) || !other.types.contains_key(*name);
        let one_path: Vec<String> = self.types.keys().chain(other.types.keys()).filter(only_in_one).cloned().collect();
        self.uncertain.extend(other.uncertain.into_iter().chain(one_path));
        for (name, data_type) in other.types {
            self.types.entry(name).and_modify(|own| *own = merge(*own, data_type)).or_insert(data_type);
        }
        self
    }
}

/// The type of a variable that one path gives the one and another path the other type. Numbers of several types are
/// doubles: that is the type of what is computed from them.
pub(super) fn merge(left: DataType, right: DataType) -> DataType {
    let is_number = |data_type: DataType| data_type.is_scalar() && data_type != DataType::Scalar(ScalarType::Str);
    if left == right {
        left
    } else if is_number(left) && is_number(right) {
        DataType::F64
    } else {
        DataType::Unknown
    }
}
