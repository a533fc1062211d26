//! The forms of a DAG: as written, as the cost of rewriting would have it, and every other that saturation found.

use super::alternatives::{Alternatives, Choices};
use super::cost::{Weights, dag_cost};
use super::dag::{Rebuilt, canonicalize, separate_transposes, sweep};
use super::saturate::saturate;
use super::{RewriteOptions, RewriteReport, Scope, means};
use fuseline_ir::hop::{HopDag, HopId};

/// Everything that rewriting knows of a DAG.
pub(crate) struct Forms {
    /// The DAG as it came, without dead operators.
    swept: HopDag,
    /// The DAG with common subexpressions merged and constants folded.
    canonical: HopDag,
    alternatives: Option<Alternatives>,
    report: RewriteReport,
}

/// One form of a DAG.
#[derive(Debug)]
pub(crate) struct Form {
    /// Its operators.
    pub(crate) dag: HopDag,
    /// Its cost by the measure of rewriting.
    pub(crate) cost: u128,
    /// What was chosen; nothing where no rule was asked.
    pub(crate) choices: Option<Choices>,
    /// For every class of [`Alternatives`], its operator here.
    hops: Vec<Option<HopId>>,
}

impl Form {
    /// The operator that computes a class; nothing where this form does without.
    pub(crate) fn hop(&self, class: usize) -> Option<HopId> {
        self.hops.get(class).copied().flatten()
    }

    /// The form with a transpose for every consumer of one; nothing where no transpose has several.
    pub(crate) fn with_separate_transposes(&self) -> Option<Form> {
        let separate = separate_transposes(&self.dag).dag;
        (separate.hops.len() > self.dag.hops.len()).then(|| Form::without_choices(separate))
    }

    fn without_choices(dag: HopDag) -> Form {
        Form { cost: dag_cost(&dag), dag, choices: None, hops: Vec::new() }
    }
}

impl Forms {
    /// Saturates a DAG. Without rewrites, the DAG as it is is its only form.
    pub(crate) fn of(dag: &HopDag, options: &RewriteOptions) -> Forms {
        Forms::in_scope(dag, options, Scope::All)
    }

    /// Saturates a DAG by these rules.
    pub(super) fn in_scope(dag: &HopDag, options: &RewriteOptions, scope: Scope) -> Forms {
        let mut report = RewriteReport::new(dag);
        if !options.enabled {
            return Forms { swept: dag.clone(), canonical: dag.clone(), alternatives: None, report };
        }
        let canonical = canonicalize(dag).dag;
        let mut alternatives = None;
        if canonical.hops.len() > options.max_operators {
            report.too_large = true;
        } else {
            (alternatives, report.applied) = saturate(&canonical, options, scope);
        }
        Forms { swept: sweep(dag).dag, canonical, alternatives, report }
    }

    /// What the rules did, so far without an outcome.
    pub(crate) fn report(&self) -> &RewriteReport {
        &self.report
    }

    /// All choices, where there are any.
    pub(crate) fn alternatives(&self) -> Option<&Alternatives> {
        self.alternatives.as_ref()
    }

    /// The form in which nothing was done, the one in which only common subexpressions are merged and constants folded,
    /// and the one that no rule but what sizes decide has changed.
    pub(crate) fn unrewritten(&self) -> Vec<(&'static str, Form)> {
        let form = |dag: &HopDag| Form::without_choices(dag.clone());
        let mut forms =
            vec![("as written", form(&self.swept)), ("common subexpressions merged", form(&self.canonical))];
        let choices = self.alternatives.as_ref().map(Alternatives::as_written);
        forms.extend(choices.map(|choices| ("without rules", self.form(choices))));
        forms
    }

    /// The form that the cost of rewriting prefers, for the sizes that the DAG carries.
    pub(crate) fn rewritten(&self, options: &RewriteOptions) -> Form {
        match &self.alternatives {
            Some(alternatives) => self.form(alternatives.cheapest(Weights::Balanced)),
            None if options.enabled => Form::without_choices(finish_for_sizes(canonicalize(&self.canonical)).dag),
            None => Form::without_choices(self.swept.clone()),
        }
    }

    /// The DAG that is cheapest whatever is fused, for any sizes.
    pub(super) fn simplified(&self) -> HopDag {
        match &self.alternatives {
            Some(alternatives) => canonicalize(&alternatives.dag(&alternatives.cheapest(Weights::Balanced)).0).dag,
            None => self.canonical.clone(),
        }
    }

    /// Forms that read and write least, and that have the fewest operators.
    pub(crate) fn extremes(&self) -> Vec<(&'static str, Form)> {
        let all = [("least traffic", Weights::Traffic), ("fewest operators", Weights::Operators)];
        let form = |(name, weights)| Some((name, self.form(self.alternatives.as_ref()?.cheapest(weights))));
        all.into_iter().filter_map(form).collect()
    }

    /// The form of some choices.
    ///
    /// # Panics
    /// There is nothing to choose.
    pub(crate) fn form(&self, choices: Choices) -> Form {
        let alternatives = self.alternatives.as_ref().expect("choices come from alternatives");
        let (dag, hops) = alternatives.dag(&choices);
        // Constants that the rules uncovered may make operators equal.
        let rebuilt = finish_for_sizes(canonicalize(&dag));
        let hops = hops.into_iter().map(|id| id.and_then(|id| rebuilt.new_ids[id])).collect();
        Form { cost: dag_cost(&rebuilt.dag), dag: rebuilt.dag, choices: Some(choices), hops }
    }
}

/// What is not a rule, because it pays only in what fusion makes of it.
fn finish_for_sizes(rebuilt: Rebuilt) -> Rebuilt {
    rebuilt.then(means::expand).then(canonicalize)
}
