//! Passes that wait for themselves: one that reads what depends on another of its results.

use super::Pass;
use crate::cover::Operator;
use crate::facts::Context;
use crate::select::effort::Effort;
use cranelift_entity::{EntitySet, SecondaryMap};
use fuseline_ir::hop::HopId;
use smallvec::SmallVec;

/// The number of the pass that computes an operator, for those that one does.
#[derive(Default)]
pub(super) struct PassOf(SecondaryMap<HopId, Option<u32>>);

impl PassOf {
    fn new(passes: &[Pass]) -> PassOf {
        let mut pass_of = PassOf::default();
        passes.iter().enumerate().for_each(|(number, pass)| pass_of.insert(number, pass));
        pass_of
    }

    /// Takes in the pass of a number, or what became of it.
    pub(super) fn insert(&mut self, number: usize, pass: &Pass) {
        if pass.is_shared() {
            pass.operator.roots.iter().for_each(|&root| self.0[root] = Some(number as u32));
        }
    }
}

/// Whether none of these passes waits for itself. What cannot be said within the effort does.
pub(in crate::select) fn are_independent(context: &Context<'_>, passes: &[Pass], effort: &Effort) -> bool {
    let pass_of = PassOf::new(passes);
    passes.iter().filter(|pass| pass.is_shared()).all(|pass| is_independent(context, passes, &pass_of, pass, effort))
}

/// Whether no input of a pass depends on one of its roots, given the other passes, each of which is one operator that
/// needs all of its inputs. What cannot be said within the effort does.
pub(super) fn is_independent(
    context: &Context<'_>,
    passes: &[Pass],
    pass_of: &PassOf,
    pass: &Pass,
    effort: &Effort,
) -> bool {
    let Operator { roots, inputs, .. } = &pass.operator;
    let mut pending: SmallVec<[HopId; 32]> = SmallVec::from_slice(inputs);
    let mut seen = EntitySet::new();
    while let Some(id) = pending.pop() {
        if roots.binary_search(&id).is_ok() || effort.is_spent() {
            return false;
        }
        if seen.insert(id) {
            effort.spend(1);
            pending.extend_from_slice(&context.hop(id).inputs);
            let pass = pass_of.0[id].map(|number| &passes[number as usize]);
            pending.extend(pass.into_iter().flat_map(|pass| pass.operator.inputs.iter().copied()));
        }
    }
    true
}
