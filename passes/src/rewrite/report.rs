//! What rewriting did, for explanations.

use super::cost::dag_cost;
use super::{RewriteOptions, rewrite_with_report};
use fuseline_ir::hop::HopDag;
use std::fmt;

/// What rewriting did to one DAG.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RewriteReport {
    /// The rules that found something new, in the order of the tables, with how often they did.
    pub applied: Vec<(&'static str, usize)>,
    /// Whether the DAG was too large for rules.
    pub too_large: bool,
    /// Operators before and after.
    pub operators: (usize, usize),
    /// Cost before and after: floating-point operations plus values read and written.
    pub cost: (u128, u128),
}

impl RewriteReport {
    pub(super) fn new(dag: &HopDag) -> Self {
        let (operators, cost) = (dag.hops.len(), dag_cost(dag));
        RewriteReport { operators: (operators, operators), cost: (cost, cost), ..RewriteReport::default() }
    }

    pub(super) fn finish(&mut self, result: &HopDag) {
        self.operators.1 = result.hops.len();
        self.cost.1 = dag_cost(result);
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
        writeln!(f, "cost {} -> {}", self.cost.0, self.cost.1)
    }
}

/// What rewriting does to a DAG, then the rewritten DAG in its text form.
pub fn explain_rewrites(dag: &HopDag, options: &RewriteOptions) -> String {
    let (rewritten, report) = rewrite_with_report(dag, options);
    format!("{report}{rewritten}\n")
}
