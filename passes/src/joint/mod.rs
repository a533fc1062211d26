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
use crate::pipeline::{OptimizerOptions, Planned};
use crate::rewrite::{Choices, Form, Forms, RewriteOptions, RewriteReport, Tried};
use crate::select::{Recall, SearchLimits, SelectPolicy};
use fuseline_ir::hop::{Hop, HopDag};

use price::Price;

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

/// Chooses the form of a DAG together with its fusion plan. Policies that know no cost fuse the form that rewriting
/// prefers; without rewrites the DAG as it is is the only form.
///
/// Equal DAGs and options always give equal results.
pub fn choose(dag: &HopDag, rewrites: &RewriteOptions, options: &OptimizerOptions) -> Chosen {
    let forms = Forms::of(dag, rewrites);
    let mut search = Search::new(&forms, options);
    search.propose("rewritten", forms.rewritten(rewrites));
    if rewrites.enabled && matches!(options.policy, SelectPolicy::CostBased | SelectPolicy::Exhaustive) {
        search.propose_unrewritten();
        if search.has_fusion() {
            search.propose_diverse(rewrites);
            search.climb(rewrites);
            search.propose_separate_transposes();
        }
    }
    search.finish()
}

/// The forms that were priced, and the best of them.
struct Search<'a> {
    forms: &'a Forms,
    options: &'a OptimizerOptions,
    priced: Vec<Priced>,
    names: Vec<String>,
    best: usize,
    explored: usize,
    /// Forms for which the budget of plan selection ended early.
    exhausted: u32,
    /// Groups that plan selection visited for all forms so far.
    visits: u64,
    /// What was decided about the parts that forms have in common.
    recall: Recall,
}

/// So many forms may use up the whole budget of plan selection: the one that rewriting prefers, and the one as written.
/// Each further one that does leaves a quarter of it to the next, so that the search over forms stays bounded.
const FULL_BUDGETS: u32 = 2;

/// The fewest steps of each search for the plan of a form.
const LEAST_STEPS: u64 = 64;

impl<'a> Search<'a> {
    fn new(forms: &'a Forms, options: &'a OptimizerOptions) -> Self {
        Search {
            forms,
            options,
            priced: Vec::new(),
            names: Vec::new(),
            best: 0,
            explored: 0,
            exhausted: 0,
            visits: 0,
            recall: Recall::default(),
        }
    }

    /// How far plan selection looks at the next form.
    fn limits(&self) -> SearchLimits {
        let limits = &self.options.search_limits;
        let quarters = self.exhausted.saturating_sub(FULL_BUDGETS - 1).min(u64::BITS / 2 - 1);
        let budget = limits.budget.quartered(quarters, LEAST_STEPS);
        SearchLimits { budget, visits: limits.visits.min(self.visits_left()), ..limits.clone() }
    }

    /// Visits per operator that the next form may use: half of what the forms before it left to all others.
    fn visits_left(&self) -> u64 {
        let operators = self.priced.iter().map(|priced| priced.form.dag.hops.len()).max().unwrap_or(1).max(1) as u64;
        let all = self.options.search_limits.visits.saturating_mul(FULL_BUDGETS.into());
        all.saturating_sub(self.visits / operators) / 2
    }

    /// Fuses and prices a form, unless it is one that was priced; whether it is the best so far.
    fn propose(&mut self, name: impl Into<String>, form: Form) -> bool {
        if self.priced.iter().any(|other| is_same(&other.form.dag, &form.dag)) {
            return false;
        }
        let context = self.options.context(&form.dag);
        let planned = Planned::within(&context, self.options, &self.limits(), &mut self.recall);
        self.exhausted += u32::from(planned.plan.stats().exhausted > 0);
        self.visits += planned.plan.visits;
        let price = Price::of(&context, &planned.plan, self.options, form.cost);
        let is_best = self.priced.get(self.best).is_none_or(|best| price.beats(&best.price));
        if is_best {
            self.best = self.priced.len();
        }
        self.priced.push(Priced { form, planned, price });
        self.names.push(name.into());
        is_best
    }

    /// The best form whose choices are known, so that single ones can be changed.
    fn best_with_choices(&self) -> Option<(&Priced, &Choices)> {
        let with_choices = self.priced.iter().filter_map(|priced| Some((priced, priced.form.choices.as_ref()?)));
        with_choices.reduce(|best, other| if other.0.price.beats(&best.0.price) { other } else { best })
    }

    /// Whether there is anything for which templates matter.
    fn has_fusion(&self) -> bool {
        self.priced.iter().any(|priced| priced.planned.memo.groups().next().is_some())
    }

    fn propose_unrewritten(&mut self) {
        for (name, form) in self.forms.unrewritten() {
            self.propose(name, form);
        }
        // A rule may have turned the best form into one whose transposes are worth sharing: not of it alone.
        for number in 0..self.priced.len() {
            if self.priced[number].form.choices.is_none() {
                self.propose_separate_transposes_of(number);
            }
        }
    }

    /// Forms that minimise something else, and those that differ from the best in one choice and cost the least.
    fn propose_diverse(&mut self, rewrites: &RewriteOptions) {
        for (name, form) in self.forms.extremes() {
            self.propose(name, form);
        }
        let start = self.best_with_choices().map(|(_, choices)| choices.clone());
        let Some((alternatives, choices)) = self.forms.alternatives().zip(start) else { return };
        for flip in alternatives.flips(&choices) {
            if self.priced.len() >= rewrites.max_forms {
                break;
            }
            let name = alternatives.describe(&choices, flip);
            self.propose(name, self.forms.form(alternatives.flipped(&choices, flip)));
        }
    }

    /// The best form with its common transposes computed for each consumer, which may fuse what sharing does not.
    fn propose_separate_transposes(&mut self) {
        self.propose_separate_transposes_of(self.best);
    }

    fn propose_separate_transposes_of(&mut self, number: usize) {
        if let Some(form) = self.priced[number].form.with_separate_transposes() {
            self.propose(format!("{}, separate transposes", self.names[number]), form);
        }
    }

    fn finish(mut self) -> Chosen {
        let tried = self.priced.iter().zip(self.names).map(|(priced, name)| Tried {
            name,
            seconds: priced.price.total_seconds(),
            cost: priced.price.cost,
            operators: priced.form.dag.hops.len(),
        });
        let tried = tried.collect();
        let Priced { form, planned, .. } = self.priced.swap_remove(self.best);
        let report = self.forms.report().of_result(&form.dag, form.cost);
        let report = RewriteReport { tried, chosen: self.best, explored: self.explored, visits: self.visits, ..report };
        Chosen { dag: form.dag, planned, report }
    }
}

/// Whether two DAGs are the same, but for places in scripts.
fn is_same(one: &HopDag, other: &HopDag) -> bool {
    one.hops.len() == other.hops.len()
        && one.outputs == other.outputs
        && one.effects == other.effects
        && one.hops.values().zip(other.hops.values()).all(|(one, other)| is_same_operator(one, other))
}

/// Whether two operators are the same but for where they come from.
fn is_same_operator(one: &Hop, other: &Hop) -> bool {
    one.op == other.op && one.inputs == other.inputs && one.data_type == other.data_type && one.size == other.size
}

/// The forms that were tried with their prices, the chosen form, and its fused operators.
pub fn explain_choice(dag: &HopDag, rewrites: &RewriteOptions, options: &OptimizerOptions) -> String {
    let Chosen { dag, planned, report } = choose(dag, rewrites, options);
    format!("{report}{dag}\n{}", plan_text(&planned.plan))
}
