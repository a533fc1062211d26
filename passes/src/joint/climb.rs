//! The guided part of the search: single changes of the best form, where the memo table says that they may matter.
//!
//! A change matters at a value that the plan materialises between two operators on matrices, or at one that another
//! operator would compute so that templates open or fuse there. Such changes are explored, those whose memo tables fuse
//! more edges first, then the ones of least cost; the best plan that comes of it is the next start. A change after which fewer
//! edges can be fused is one where that form costs less by the measure of rewriting.

use super::Search;
use crate::explore::explore;
use crate::facts::Context;
use crate::pipeline::Planned;
use crate::rewrite::{Alternatives, Choices, Flip, Form, RewriteOptions};
use crate::template::TEMPLATES;
use cranelift_entity::EntitySet;
use fuseline_ir::hop::{HopDag, HopId};
use fuseline_ir::memo::MemoTable;

/// A change that is worth fusing, with the form it gives.
struct Proposal {
    flip: Flip,
    form: Form,
    /// Edges between operators on matrices that no template fuses.
    barriers: usize,
}

impl Search<'_> {
    /// Changes single choices of the best form until no proposal helps or the budget ends.
    pub(super) fn climb(&mut self, rewrites: &RewriteOptions) {
        let Some(alternatives) = self.forms.alternatives() else { return };
        let limit = self.priced.len() + rewrites.max_planned;
        while let Some((choices, proposals)) = self.proposals(alternatives, rewrites) {
            let improved = proposals.into_iter().any(|proposal| {
                let is_in_budget = self.priced.len() < limit;
                is_in_budget && self.propose(alternatives.describe(&choices, proposal.flip), proposal.form)
            });
            if !improved {
                break;
            }
        }
    }

    /// Changes of the best choices that may matter, and these choices.
    fn proposals(
        &mut self,
        alternatives: &Alternatives,
        rewrites: &RewriteOptions,
    ) -> Option<(Choices, Vec<Proposal>)> {
        let (best, choices) = self.best_with_choices()?;
        let unfused = unfused_values(&best.form.dag, &best.planned);
        let (barriers, cost) = (barriers(&best.form.dag, &best.planned.memo), best.form.cost);
        let mut flips = alternatives.flips(choices);
        flips.retain(|flip| best.form.hop(flip.class).is_some_and(|id| touches(&best.form.dag, &unfused, id)));
        flips.truncate(rewrites.max_explored - self.explored);
        let choices = choices.clone();
        self.explored += flips.len();
        let explored = flips.into_iter().map(|flip| {
            let form = self.forms.form(alternatives.flipped(&choices, flip));
            let memo = explore(&Context::new(&form.dag, &self.options.template_limits), TEMPLATES);
            Proposal { flip, barriers: self::barriers(&form.dag, &memo), form }
        });
        let may_pay = |proposal: &Proposal| proposal.barriers <= barriers || proposal.form.cost < cost;
        let mut proposals: Vec<Proposal> = explored.filter(may_pay).collect();
        // A stable sort: equally many barriers stay in the order of cost.
        proposals.sort_by_key(|proposal| proposal.barriers);
        Some((choices, proposals))
    }
}

/// Values that operators on matrices hand on through memory: results of basic operators and of fused ones that others
/// read.
fn unfused_values(dag: &HopDag, planned: &Planned) -> EntitySet<HopId> {
    let mut inner = EntitySet::new();
    for cover in &planned.plan.covers {
        inner.extend(cover.members.iter().copied().filter(|member| !cover.roots.contains(member)));
    }
    let mut unfused = EntitySet::new();
    unfused
        .extend(dag.hops.keys().filter(|&id| dag[id].is_matrix() && !dag[id].inputs.is_empty() && !inner.contains(id)));
    unfused
}

/// Whether an operator makes or reads a value that is not fused.
fn touches(dag: &HopDag, unfused: &EntitySet<HopId>, id: HopId) -> bool {
    unfused.contains(id) || dag[id].inputs.iter().any(|&input| unfused.contains(input))
}

/// The number of edges between operators on matrices that no entry of a memo table fuses.
fn barriers(dag: &HopDag, memo: &MemoTable) -> usize {
    let edges = dag.hops.iter().flat_map(|(id, hop)| hop.inputs.iter().map(move |&input| (id, input)));
    let computed = edges.filter(|&(_, input)| dag[input].is_matrix() && !dag[input].inputs.is_empty());
    computed
        .filter(|&(id, input)| !memo.entries(id).iter().any(|entry| entry.references().any(|group| group == input)))
        .count()
}
