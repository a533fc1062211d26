//! Simplification rewrites on HOP DAGs by equality saturation (section 2.1 places them before fusion): [`simplify`] when
//! a program is compiled, before sizes are known, and [`rewrite`] for the sizes that each block meets.
//!
//! Common subexpressions are merged and operations on literals evaluated; then the [rules](all_rules) saturate an
//! e-graph, and the cheapest DAG is extracted from it. Node and iteration limits bound the work, never time, so results
//! are reproducible. The e-graph and its ids live and die inside of [`rewrite`].

mod compile;
mod cost;
mod dag;
mod egraph;
mod extract;
pub(crate) mod fold;
mod guards;
mod means;
mod operator;
mod report;
mod rules;
mod saturate;
#[cfg(test)]
mod tests;

pub use report::{RewriteReport, explain_rewrites};
pub use rules::{Change, Each, Guard, Rule, all as all_rules};

use fuseline_ir::hop::HopDag;

/// What rewriting may do, and how far it goes.
#[derive(Clone, Debug, PartialEq, Eq)]
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
        }
    }
}

/// The DAG after the rewrites that hold and pay whatever the sizes: equal outputs, effects in the same order, at most the
/// cost of the input (P012; sizes that are known already count, too).
///
/// Ids are fresh and topologically ordered, dead operators are gone, surviving operators keep the place where they were
/// written (merged ones the first). Fusion covers of the input, which name its operators, do not survive.
pub fn simplify(dag: &HopDag, options: &RewriteOptions) -> HopDag {
    simplify_with_report(dag, options).0
}

fn simplify_with_report(dag: &HopDag, options: &RewriteOptions) -> (HopDag, RewriteReport) {
    let mut report = RewriteReport::new(dag);
    if !options.enabled {
        return (dag.clone(), report);
    }
    let canonical = dag::canonicalize(dag);
    let result = if canonical.hops.len() <= options.max_operators {
        let (rewritten, applied) = saturate::saturate(&canonical, options);
        report.applied = applied;
        // Constants that the rules uncovered may make operators equal.
        dag::canonicalize(&rewritten)
    } else {
        report.too_large = true;
        canonical
    };
    report.finish(&result);
    (result, report)
}

/// The DAG after all rewrites, for the sizes that it carries (P014): those of [`simplify`]; and means of which sizes are
/// known become sums and quotients.
///
/// What [`simplify`] says of ids, places and covers holds here, too.
pub fn rewrite(dag: &HopDag, options: &RewriteOptions) -> HopDag {
    rewrite_with_report(dag, options).0
}

/// As [`rewrite`], with what was done.
pub fn rewrite_with_report(dag: &HopDag, options: &RewriteOptions) -> (HopDag, RewriteReport) {
    let (simplified, report) = simplify_with_report(dag, options);
    if !options.enabled {
        return (simplified, report);
    }
    // Not a rule: it pays only in what fusion makes of it.
    (dag::canonicalize(&means::expand(&simplified)), report)
}
