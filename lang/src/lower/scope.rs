//! The variables that may be assigned at a point of a script, and their types.

use fuseline_ir::types::DataType;
use std::collections::BTreeMap;

/// What is known of a variable that some path to a point assigns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Variable {
    /// The type.
    pub(super) data_type: DataType,
    /// Whether every path to this point assigns it.
    pub(super) is_certain: bool,
}

/// The variables that some path to a point assigns. What a branch changes is noted, so that it can be taken back and
/// joined with what another one changes by as many steps as there are changes.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope {
    variables: BTreeMap<String, Variable>,
    /// Within branches, the variables that were changed and what was known of them before.
    changes: Vec<(String, Option<Variable>)>,
    branches: usize,
}

/// What a branch changed, with what is known after it.
#[derive(Debug)]
pub(super) struct Changes(BTreeMap<String, Option<Variable>>);

impl Scope {
    pub(super) fn get(&self, name: &str) -> Option<DataType> {
        self.variables.get(name).map(|variable| variable.data_type)
    }

    pub(super) fn set(&mut self, name: &str, data_type: DataType) {
        self.change(name, Some(Variable { data_type, is_certain: true }));
    }

    /// What is known of a variable.
    pub(super) fn variable(&self, name: &str) -> Option<Variable> {
        self.variables.get(name).copied()
    }

    /// Replaces what is known of a variable.
    pub(super) fn change(&mut self, name: &str, variable: Option<Variable>) {
        let before = match variable {
            Some(variable) => self.variables.insert(name.to_owned(), variable),
            None => self.variables.remove(name),
        };
        if self.branches > 0 {
            self.changes.push((name.to_owned(), before));
        }
    }

    /// Whether the variable is assigned here: on all paths, on none, or (without an answer) on some.
    pub(super) fn is_assigned(&self, name: &str) -> Option<bool> {
        match self.variables.get(name) {
            None => Some(false),
            Some(variable) => variable.is_certain.then_some(true),
        }
    }

    /// The names that a script can write.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.variables.keys().map(String::as_str).filter(|name| !name.starts_with('_'))
    }

    /// Begins a branch; the result is for its end.
    pub(super) fn begin_branch(&mut self) -> usize {
        self.branches += 1;
        self.changes.len()
    }

    /// Ends the branch that began there, and takes back what it changed.
    pub(super) fn end_branch(&mut self, start: usize) -> Changes {
        self.branches -= 1;
        let mut after = BTreeMap::new();
        for (name, before) in self.changes.split_off(start).into_iter().rev() {
            let now = match before {
                Some(before) => self.variables.insert(name.clone(), before),
                None => self.variables.remove(&name),
            };
            after.entry(name).or_insert(now);
        }
        Changes(after)
    }

    /// Makes this what holds where either of two branches may have been taken.
    pub(super) fn join(&mut self, one: &Changes, other: &Changes) {
        for name in one.0.keys().chain(other.0.keys().filter(|name| !one.0.contains_key(*name))) {
            let after = |branch: &Changes| branch.0.get(name).copied().unwrap_or_else(|| self.variable(name));
            let joined = match (after(one), after(other)) {
                (Some(one), Some(other)) => Some(Variable {
                    data_type: merge(one.data_type, other.data_type),
                    is_certain: one.is_certain && other.is_certain,
                }),
                (one, other) => one.or(other).map(|variable| Variable { is_certain: false, ..variable }),
            };
            self.change(name, joined);
        }
    }
}

/// The type of a variable that one path gives the one and another path the other type. Numbers of several types are
/// doubles: that is the type of what is computed from them.
pub(super) fn merge(left: DataType, right: DataType) -> DataType {
    if left == right {
        left
    } else if left.is_number() && right.is_number() {
        DataType::F64
    } else {
        DataType::Unknown
    }
}
