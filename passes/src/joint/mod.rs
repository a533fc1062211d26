//! One search over rewrites and fusion: which form of a DAG to fuse, by the cost of the fused plan.
//!
//! The paper simplifies first and fuses what comes of it (section 2.1), and names the interplay of the two as future work
//! (section 7): a form with fewer operations may be one that fuses worse. Here saturation keeps every form. The DAG as
//! written, the form that rewriting prefers, and a few that differ from it are each explored, fused and priced as a
//! whole; the cheapest wins. From there single changes are tried where the memo table says that they may matter: at
//! values that the plan leaves unfused, first of all changes after which templates open or fuse what they could not.
//! So the result is never worse than fusing the DAG as written, nor than rewriting first. All budgets count work.

mod climb;
mod price;
#[cfg(test)]
mod tests;

use crate::explain::plan_text;
use crate::pipeline::{OptimizerOptions, Planned, plan_in};
use crate::rewrite::{Form, Forms, RewriteOptions, RewriteReport, Tried};
use crate::select::SelectPolicy;
use crate::template::Context;
use fuseline_ir::hop::HopDag;

pub use price::plan_seconds;

/// The form of a DAG that is fused, with its plan.
#[derive(Debug)]
pub struct Chosen {
    /// The DAG.
    pub dag: HopDag,
    /// Its memo table and fusion plan.
    pub planned: Planned,
    /// What rewriting did and which forms were priced.
    pub report: RewriteReport,
}

/// A form with its plan and price.
struct Priced {
    form: Form,
    planned: Planned,
    price: Price,
}

/// What decides between two forms, in this order.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Price {
    /// Operators on matrices of which sizes are unknown: they have no price, so that none may come in.
    unknown: usize,
    /// Seconds of the whole fused plan.
    seconds: f64,
    /// The cost by the measure of rewriting.
    cost: u128,
}

/// Prices that are this close are equal: sums of the same terms in another order differ by less.
const RELATIVE_TOLERANCE: f64 = 1e-9;

impl Price {
    /// Whether the price is lower than another.
    fn beats(&self, other: &Price) -> bool {
        if self.unknown != other.unknown {
            return self.unknown < other.unknown;
        }
        let tolerance = RELATIVE_TOLERANCE * other.seconds;
        let is_equal = self.seconds == other.seconds || (self.seconds - other.seconds).abs() <= tolerance;
        if is_equal { self.cost < other.cost } else { self.seconds < other.seconds }
    }
}

/// Chooses the form of a DAG together with its fusion plan. Policies that know no cost fuse the form that rewriting
/// prefers; without rewrites the DAG as it is is the only form.
///
/// The same DAG and options always give the same result.
pub fn choose(dag: &HopDag, rewrites: &RewriteOptions, options: &OptimizerOptions) -> Chosen {
    let forms = Forms::of(dag, rewrites);
    let rewritten = forms.rewritten(rewrites);
    let has_choice = rewrites.enabled && matches!(options.policy, SelectPolicy::CostBased | SelectPolicy::Exhaustive);
    let mut search = Search::new(&forms, options);
    search.propose("rewritten", rewritten);
    if has_choice {
        for (name, form) in forms.unrewritten() {
            search.propose(name, form);
        }
    }
    if has_choice && search.has_fusion() {
        search.propose_diverse(rewrites);
        search.climb(rewrites);
    }
    search.finish()
}

/// The forms that were priced, and the best of them.
struct Search<'a> {
    forms: &'a Forms,
    options: &'a OptimizerOptions,
    /// The DAGs that were priced, as text.
    seen: Vec<String>,
    tried: Vec<Tried>,
    explored: usize,
    best: Option<(usize, Priced)>,
}

impl<'a> Search<'a> {
    fn new(forms: &'a Forms, options: &'a OptimizerOptions) -> Self {
        Search { forms, options, seen: Vec::new(), tried: Vec::new(), explored: 0, best: None }
    }

    /// Fuses and prices a form, unless it is one that was priced; whether it is the best so far.
    fn propose(&mut self, name: impl Into<String>, form: Form) -> bool {
        let text = form.dag.to_string();
        if self.seen.contains(&text) {
            return false;
        }
        self.seen.push(text);
        let context = Context::new(&form.dag, &self.options.template_limits);
        let planned = plan_in(&context, self.options);
        let price = Price {
            unknown: price::unknown_operators(&context),
            seconds: plan_seconds(&context, &planned.plan, &self.options.model),
            cost: form.cost,
        };
        let operators = form.dag.hops.len();
        self.tried.push(Tried { name: name.into(), seconds: price.seconds, cost: price.cost, operators });
        let is_best = self.best.as_ref().is_none_or(|(_, best)| price.beats(&best.price));
        if is_best {
            self.best = Some((self.tried.len() - 1, Priced { form, planned, price }));
        }
        is_best
    }

    fn best(&self) -> &Priced {
        &self.best.as_ref().expect("the rewritten form comes first").1
    }

    /// Whether there is anything for which templates matter.
    fn has_fusion(&self) -> bool {
        let mut entries = self.best().planned.memo.groups().flat_map(|(_, entries)| entries);
        self.forms.alternatives().is_some() && entries.next().is_some()
    }

    /// Forms that minimise something else, and those that differ from the best in one choice and cost the least.
    fn propose_diverse(&mut self, rewrites: &RewriteOptions) {
        for (name, form) in self.forms.extremes() {
            self.propose(name, form);
        }
        let Some((alternatives, choices)) = self.forms.alternatives().zip(self.best().form.choices.clone()) else {
            return;
        };
        for flip in alternatives.flips(&choices) {
            if self.tried.len() >= rewrites.max_forms {
                break;
            }
            let name = alternatives.describe(&choices, flip);
            self.propose(name, self.forms.form(alternatives.flipped(&choices, flip)));
        }
    }

    fn finish(self) -> Chosen {
        let (number, Priced { form, planned, .. }) = self.best.expect("the rewritten form comes first");
        let mut report = self.forms.report().of_result(&form.dag, form.cost);
        report.tried = self.tried;
        report.chosen = number;
        report.explored = self.explored;
        Chosen { dag: form.dag, planned, report }
    }
}

/// The forms that were tried with their prices, the chosen form, and its fused operators.
pub fn explain_choice(dag: &HopDag, rewrites: &RewriteOptions, options: &OptimizerOptions) -> String {
    let Chosen { dag, planned, report } = choose(dag, rewrites, options);
    format!("{report}{dag}\n{}", plan_text(&planned.plan))
}
