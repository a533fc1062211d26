//! Simplification rewrites on HOP DAGs by equality saturation (section 2.1 places them before fusion): [`simplify`] when
//! a program is compiled, before sizes are known, and [`rewrite`] for the sizes that each block meets.
//!
//! Common subexpressions are merged and operations on literals evaluated; then the [rules](all_rules) saturate an
//! e-graph, and the cheapest DAG is extracted from it. Node and iteration limits bound the work, never time, so results
//! are reproducible. The e-graph and its ids live and die inside of [`rewrite`].

mod alternatives;
mod chains;
mod classes;
mod compile;
mod cost;
mod dag;
mod egraph;
mod exchange;
mod extract;
mod forms;
mod guards;
mod means;
mod operator;
mod report;
mod rules;
mod saturate;
mod summary;
#[cfg(test)]
mod tests;

pub(crate) use alternatives::{Alternatives, Choices, Flip};
pub(crate) use forms::{Form, Forms};
pub use report::{RewriteReport, Tried, explain_rewrites};
pub use rules::{Change, Each, Guard, Rule, all as all_rules};
pub use summary::{RewriteSummary, summarize_rewrites};

use fuseline_ir::hop::HopDag;
use serde::Serialize;

/// What rewriting may do, and how far it goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RewriteOptions {
    /// Whether to rewrite at all; if not, the DAG passes as it is.
    pub enabled: bool,
    /// Whether every cell must keep its IEEE bits: excludes rules that change a rounding or the sign of a zero.
    pub strict_ieee: bool,
    /// Whether to compute as with real numbers: allows rules after which terms may cancel or overflow that did not
    /// before, and which NaN and infinities give away. Without effect under strict IEEE.
    pub algebraic: bool,
    /// DAGs of more operators only get common subexpressions and constants folded.
    pub max_operators: usize,
    /// Saturation stops when the e-graph has this many nodes.
    pub max_nodes: usize,
    /// Saturation stops after this many rounds.
    pub max_iterations: usize,
    /// Forms of a DAG that are fused and priced before the search asks for particular ones.
    pub max_forms: usize,
    /// Single changes of the best form that the search explores.
    pub max_explored: usize,
    /// Single changes of the best form that the search fuses and prices.
    pub max_planned: usize,
}

impl Default for RewriteOptions {
    fn default() -> Self {
        RewriteOptions {
            enabled: true,
            strict_ieee: false,
            algebraic: false,
            max_operators: 2_000,
            max_nodes: 10_000,
            max_iterations: 12,
            max_forms: 6,
            max_explored: 64,
            max_planned: 16,
        }
    }
}

/// Which rules run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    /// All, and chains.
    All,
    /// Families that pay whatever is fused afterwards.
    AlwaysPaying,
}

/// The DAG after the rewrites that pay whatever the sizes and whatever is fused afterwards: equal outputs, effects in the
/// same order, at most the cost of the input (P012; sizes that are known already count, too). All others wait for
/// [`rewrite`], and so for the search over rewrites and fusion.
///
/// Ids are fresh and topologically ordered, dead operators are gone, surviving operators keep the place where they were
/// written (merged ones the first). Fusion covers of the input, which name its operators, do not survive.
pub fn simplify(dag: &HopDag, options: &RewriteOptions) -> HopDag {
    Forms::in_scope(dag, options, Scope::AlwaysPaying).simplified()
}

/// The DAG after all rewrites, for the sizes that it carries (P014): those of [`simplify`]; and means of which sizes are
/// known become sums and quotients.
///
/// What [`simplify`] says of ids, places and covers holds here, too.
pub fn rewrite(dag: &HopDag, options: &RewriteOptions) -> HopDag {
    rewrite_with_report(dag, options).0
}

/// [`rewrite`], with what was done.
pub fn rewrite_with_report(dag: &HopDag, options: &RewriteOptions) -> (HopDag, RewriteReport) {
    let forms = Forms::of(dag, options);
    let form = forms.rewritten(options);
    let report = forms.report().of_result(&form.dag, form.cost);
    (form.dag, report)
}
