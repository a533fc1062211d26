//! What saturation leaves: for every value of a DAG, all operators known to compute it. The e-graph is gone.
//!
//! From here plans are extracted: the cheapest by the cost of rewriting, others that differ from it in what they
//! minimise or in one choice, and those that the search over rewrites and fusion asks for.

use super::classes::{Candidate, Classes, Plan};
use super::cost::Weights;
use super::dag::finish;
use super::exchange::Exchange;
use super::extract::{completed_input_plan, extract, order};
use cranelift_entity::SecondaryMap;
use fuseline_ir::hop::{Hop, HopDag, HopId, HopOp, Inputs, Span};
use fuseline_ir::size::SizeInfo;
use fuseline_ir::types::DataType;

/// What is known of the value of a class.
#[derive(Clone, Copy, Debug)]
pub(super) struct Value {
    pub(super) data_type: DataType,
    pub(super) size: SizeInfo,
    pub(super) span: Option<Span>,
}

/// All known ways to compute a DAG.
#[derive(Debug)]
pub(crate) struct Alternatives {
    dag: HopDag,
    classes: Classes,
    values: Vec<Value>,
    class_of: SecondaryMap<HopId, usize>,
    roots: Vec<usize>,
}

/// A choice of one operator per value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Choices(Plan);

/// One choice that differs from a plan's: this candidate for this class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flip {
    /// The class.
    pub(crate) class: usize,
    candidate: usize,
}

impl Alternatives {
    pub(super) fn new(
        dag: HopDag,
        classes: Classes,
        values: Vec<Value>,
        class_of: SecondaryMap<HopId, usize>,
    ) -> Alternatives {
        let roots = dag.roots().into_iter().map(|id| class_of[id]).collect();
        Alternatives { dag, classes, values, class_of, roots }
    }

    /// The choices of least weight.
    pub(super) fn cheapest(&self, weights: Weights) -> Choices {
        Choices(extract(&self.classes, &self.roots, weights))
    }

    /// The choices of the input.
    pub(super) fn as_written(&self) -> Choices {
        Choices(completed_input_plan(&self.classes, Weights::Balanced))
    }

    /// A change as text: `b(1-*) of TRead X, TRead Y for b(-) of LIT 1, b(*)`.
    pub(crate) fn describe(&self, choices: &Choices, flip: Flip) -> String {
        let Choices(plan) = choices;
        let label =
            |class: usize| plan[class].map_or_else(String::new, |choice| self.classes[class][choice].op.label());
        let text = |candidate: usize| {
            let Candidate { op, inputs, .. } = &self.classes[flip.class][candidate];
            let inputs: Vec<String> = inputs.iter().map(|&input| label(input)).collect();
            format!("{} of {}", op.label(), inputs.join(", "))
        };
        let previous = plan[flip.class].map_or_else(String::new, |previous| format!(" for {}", text(previous)));
        text(flip.candidate) + &previous
    }

    /// The choices with one of them changed, and the cheapest ones for what is needed by it alone.
    pub(crate) fn flipped(&self, choices: &Choices, flip: Flip) -> Choices {
        let mut exchange = self.exchange(choices);
        exchange.choose_with_new(flip.class, flip.candidate);
        Choices(exchange.into_plan())
    }

    fn exchange(&self, choices: &Choices) -> Exchange<'_> {
        Exchange::new(&self.classes, &self.roots, Weights::Balanced, choices.0.clone())
    }

    /// Every single change of the choices that gives a plan, the one of least cost first. Where neither operator reads a
    /// matrix (shapes, generators, scalars) it makes no difference to fusion which one it is.
    pub(crate) fn flips(&self, choices: &Choices) -> Vec<Flip> {
        let mut exchange = self.exchange(choices);
        let mut flips: Vec<(u128, Flip)> = Vec::new();
        for class in (0..self.classes.len()).filter(|&class| self.classes[class].len() > 1) {
            for candidate in 0..self.classes[class].len() {
                let Some(exchanged) = exchange.choose_with_new(class, candidate) else { continue };
                let (_, previous) = exchanged[0];
                if self.reads_matrix(class, candidate) || self.reads_matrix(class, previous) {
                    flips.push((exchange.cost(), Flip { class, candidate }));
                }
                exchange.take_back(exchanged);
            }
        }
        flips.sort_by_key(|(cost, flip)| (*cost, flip.class, flip.candidate));
        flips.into_iter().map(|(_, flip)| flip).collect()
    }

    fn reads_matrix(&self, class: usize, candidate: usize) -> bool {
        let Candidate { op, inputs, .. } = &self.classes[class][candidate];
        !matches!(op, HopOp::Shape(_)) && inputs.iter().any(|&input| self.values[input].data_type.is_matrix())
    }

    /// The DAG of these choices, and the operator of every class in it. Operators come in the order of the input, so
    /// that effects and draws of random numbers keep theirs; what a rule made comes just before its first user.
    pub(super) fn dag(&self, choices: &Choices) -> (HopDag, Vec<Option<HopId>>) {
        let Choices(plan) = choices;
        let chosen = order(&self.classes, &self.roots, plan).expect("choices have no cycles");
        let mut needed = vec![false; self.classes.len()];
        for class in chosen {
            needed[class] = true;
        }
        let of_input = self.dag.hops.keys().map(|id| self.class_of[id]);
        let in_input_order: Vec<usize> = of_input.filter(|&class| needed[class]).collect();
        let emitted = order(&self.classes, &in_input_order, plan).expect("the same choices");

        let mut result = HopDag::new();
        let mut hops: Vec<Option<HopId>> = vec![None; self.classes.len()];
        for class in emitted {
            let candidate = &self.classes[class][plan[class].expect("ordered classes are in the plan")];
            let inputs: Inputs =
                candidate.inputs.iter().map(|&input| hops[input].expect("inputs come before their users")).collect();
            let Value { data_type, size, span } = self.values[class];
            hops[class] = Some(result.push(Hop { op: candidate.op.clone(), inputs, data_type, size, span }));
        }
        let dag = finish(&self.dag, result, |id| hops[self.class_of[id]].expect("outputs and effects are computed"));
        (dag, hops)
    }
}
