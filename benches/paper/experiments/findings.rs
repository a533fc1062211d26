//! What experiments found out, by claim and bound.

use super::claims::CLAIMS;
use super::judge::{Finding, Outcome};

/// The best value that could be, and what would give it.
pub(crate) type Best<'a> = (Option<f64>, &'a str);

/// Findings in the order in which they were made.
#[derive(Default)]
pub(crate) struct Findings(Vec<Finding>);

impl Findings {
    /// What was measured for a bound.
    pub(crate) fn value(&mut self, item: &str, what: &str, on: &str, value: f64) {
        self.add(item, what, on, Outcome::Value(value));
    }

    /// What was measured for a bound, where both that are compared were run.
    pub(crate) fn value_of(&mut self, item: &str, what: &str, on: &str, value: Option<f64>) {
        if let Some(value) = value {
            self.value(item, what, on, value);
        }
    }

    /// What was measured for a bound, with the best that could be, and what would give it, where that is known.
    pub(crate) fn value_within(&mut self, item: &str, what: &str, on: &str, value: Option<f64>, best: Best<'_>) {
        let Some(value) = value else { return };
        match best {
            (Some(best), by) => self.add(item, what, on, Outcome::Within { value, best, by: by.to_owned() }),
            (None, _) => self.value(item, what, on, value),
        }
    }

    /// What a bound was not measured on.
    pub(crate) fn not_run(&mut self, item: &str, what: &str, on: &str, reason: &str) {
        self.add(item, what, on, Outcome::NotRun(reason.to_owned()));
    }

    fn add(&mut self, item: &str, what: &str, on: &str, outcome: Outcome) {
        let is_asked = CLAIMS.iter().any(|claim| claim.item == item && claim.bounds.iter().any(|it| it.what == what));
        assert!(is_asked, "{item} does not ask for: {what}");
        self.0.push(Finding { item: item.to_owned(), what: what.to_owned(), on: on.to_owned(), outcome });
    }

    pub(crate) fn into_list(self) -> Vec<Finding> {
        self.0
    }
}
