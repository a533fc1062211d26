//! The numbers of `algorithms/reference/reference.json`.

use serde_json::Value;
use std::fs;

/// What other libraries computed for one case.
pub(crate) struct Reference(Value);

impl Reference {
    pub(crate) fn of(case: &str) -> Self {
        let text = fs::read_to_string("algorithms/reference/reference.json").expect("the numbers can be read");
        let mut all: Value = serde_json::from_str(&text).expect("the numbers are JSON");
        Reference(all[case].take())
    }

    fn at(&self, path: &str) -> &Value {
        self.0.pointer(path).unwrap_or_else(|| panic!("no {path} in the reference"))
    }

    pub(crate) fn scalar(&self, path: &str) -> f64 {
        self.at(path).as_f64().expect("a number")
    }

    /// All numbers below a path, row by row.
    pub(crate) fn numbers(&self, path: &str) -> Vec<f64> {
        flat(self.at(path))
    }
}

fn flat(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(parts) => parts.iter().flat_map(flat).collect(),
        number => vec![number.as_f64().expect("a number")],
    }
}
