//! What rewriting did, for explanations.

use super::cost::dag_cost;
use super::{RewriteOptions, rewrite_with_report};
use fuseline_ir::hop::HopDag;
use std::fmt;

/// How often each rule found something new.
pub(super) type Applied = Vec<(&'static str, usize)>;

/// What rewriting did to one DAG.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RewriteReport {
    /// The rules that found something new, in the order of the tables, with how often they did.
    pub applied: Vec<(&'static str, usize)>,
    /// Whether the DAG was too large for rules.
    pub too_large: bool,
    /// Operators before and after.
    pub operators: (usize, usize),
    /// Cost before and after: floating-point operations plus values read and written.
    pub cost: (u128, u128),
    /// The forms that were fused and priced, in order; none where rewriting was not part of a search.
    pub tried: Vec<Tried>,
    /// Which of them was chosen.
    pub chosen: usize,
    /// Changes of a form that were explored, to find out whether to fuse and price them.
    pub explored: usize,
    /// Groups that plan selection visited for all forms.
    pub visits: u64,
}

/// A form of a DAG that was fused and priced.
#[derive(Clone, Debug, PartialEq)]
pub struct Tried {
    /// Where it comes from.
    pub name: String,
    /// Seconds of the whole DAG as fused.
    pub seconds: f64,
    /// Cost by the measure of rewriting.
    pub cost: u128,
    /// Number of operators.
    pub operators: usize,
}

impl RewriteReport {
    /// The forms that were priced as comments of the text form, one per line, the chosen one marked; nothing where there
    /// was no choice.
    pub fn tried_as_comments(&self) -> String {
        if self.tried.len() > 1 { self.tried_text("# ") } else { String::new() }
    }

    fn tried_text(&self, prefix: &str) -> String {
        let line = |(number, form): (usize, &Tried)| {
            let mark = if number == self.chosen { "*" } else { " " };
            format!("{prefix}{mark} {form}\n")
        };
        self.tried.iter().enumerate().map(line).collect()
    }

    pub(super) fn new(dag: &HopDag) -> Self {
        let (operators, cost) = (dag.hops.len(), dag_cost(dag));
        RewriteReport { operators: (operators, operators), cost: (cost, cost), ..RewriteReport::default() }
    }

    /// The report, with what came of it.
    pub(crate) fn of_result(&self, result: &HopDag, cost: u128) -> RewriteReport {
        let mut report = self.clone();
        report.operators.1 = result.hops.len();
        report.cost.1 = cost;
        report
    }
}

/// Prints the rules, one per line with its count, then operators and cost before and after.
impl fmt::Display for RewriteReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (rule, count) in &self.applied {
            writeln!(f, "{rule} {count}")?;
        }
        if self.too_large {
            writeln!(f, "too large for rules")?;
        }
        writeln!(f, "operators {} -> {}", self.operators.0, self.operators.1)?;
        writeln!(f, "cost {} -> {}", self.cost.0, self.cost.1)?;
        f.write_str(&self.tried_text(""))
    }
}

/// Prints `3.1250e-5 s, 12 operators: rewritten`.
impl fmt::Display for Tried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.4e} s, {} operators: {}", self.seconds, self.operators, self.name)
    }
}

/// What rewriting does to a DAG, then the rewritten DAG in its text form.
pub fn explain_rewrites(dag: &HopDag, options: &RewriteOptions) -> String {
    let (rewritten, report) = rewrite_with_report(dag, options);
    format!("{report}{rewritten}\n")
}
