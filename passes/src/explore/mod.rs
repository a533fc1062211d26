//! Candidate exploration (section 3.2): Algorithm 1, which fills the memo table with the valid partial fusion plans of
//! every operator in one bottom-up pass.
//!
//! Ids are in topological order, so the pass is a loop where the paper recurses. It knows templates only through
//! [`Template`].

#[cfg(test)]
mod brute_force;
#[cfg(test)]
mod tests;

use crate::facts::Context;
use crate::hops::inputs_by_row;
use crate::template::Template;
use cranelift_entity::EntitySet;
use cranelift_entity::packed_option::PackedOption;
use fuseline_ir::hop::{HopId, HopOp};
use fuseline_ir::memo::{CloseStatus, MAX_REFERENCES, MemoEntry, MemoTable};
use smallvec::SmallVec;
use std::cmp::Reverse;

/// Finds all valid partial fusion plans.
pub fn explore(context: &Context<'_>, templates: &[&dyn Template]) -> MemoTable {
    let mut memo = MemoTable::for_operators(context.dag.hops.len());
    for id in context.dag.hops.keys().filter(|&id| context.is_live(id)) {
        let operands = operands(context, &memo, id);
        Explorer { context, templates, hop: id, operands }.explore(&mut memo);
    }
    memo
}

/// The inputs of an operator that entries may refer to, by position: an index and a function of images read one matrix, a
/// sequence none; bounds and shapes are no data, and filters are read as a whole.
fn data<'a>(context: &Context<'a>, id: HopId) -> &'a [HopId] {
    let hop = context.hop(id);
    match hop.op {
        HopOp::Index => &hop.inputs[..1],
        HopOp::DataGen(_) => &[],
        _ => inputs_by_row(context.dag, id),
    }
}

/// The operands of an operator that its plans decide about: all inputs, or of more than [`MAX_REFERENCES`] the largest among
/// those that have plans, by position.
fn operands(context: &Context<'_>, memo: &MemoTable, id: HopId) -> SmallVec<[HopId; MAX_REFERENCES]> {
    let inputs = data(context, id);
    if inputs.len() <= MAX_REFERENCES {
        return SmallVec::from_slice(inputs);
    }
    let mut seen = EntitySet::new();
    let mut places: Vec<usize> = Vec::new();
    for (place, &input) in inputs.iter().enumerate() {
        if memo.contains(input) && seen.insert(input) {
            places.push(place);
        }
    }
    places.sort_by_key(|&place| (Reverse(context.hop(inputs[place]).size.cells()), place));
    places.truncate(MAX_REFERENCES);
    places.sort_unstable();
    places.into_iter().map(|place| inputs[place]).collect()
}

/// Whether plans of the consumer do not decide about a producer that has plans, since there are others that are as large.
pub(crate) fn is_left_out(context: &Context<'_>, memo: &MemoTable, consumer: HopId, producer: HopId) -> bool {
    let has_plans = memo.contains(producer) && data(context, consumer).contains(&producer);
    has_plans && !operands(context, memo, consumer).contains(&producer)
}

struct Explorer<'a> {
    context: &'a Context<'a>,
    templates: &'a [&'a dyn Template],
    hop: HopId,
    /// What plans of the operator decide about.
    operands: SmallVec<[HopId; MAX_REFERENCES]>,
}

impl Explorer<'_> {
    fn explore(&self, memo: &mut MemoTable) {
        for template in self.templates {
            if template.open(self.context, self.hop) {
                self.create_plans(memo, None, *template);
            }
        }
        for (position, &input) in self.operands.iter().enumerate() {
            if self.operands[..position].contains(&input) {
                continue;
            }
            for template in self.templates {
                let is_open = memo.entries(input).iter().any(|e| e.ttype == template.ttype() && e.close.is_open());
                if is_open && template.fuse(self.context, self.hop, input) {
                    self.create_plans(memo, Some(input), *template);
                }
            }
        }
        self.close(memo);
        prune_redundant(memo, self.hop);
    }

    /// Adds a plan of this template with or without a fused input, in all combinations with further inputs that can
    /// be merged. Positions that hold the same input are fused together.
    fn create_plans(&self, memo: &mut MemoTable, fused: Option<HopId>, template: &dyn Template) {
        let mut mergeable: SmallVec<[HopId; MAX_REFERENCES]> = SmallVec::new();
        for &input in &self.operands {
            if Some(input) != fused
                && !mergeable.contains(&input)
                && has_compatible(memo, input, template)
                && template.merge(self.context, self.hop, input)
            {
                mergeable.push(input);
            }
        }
        for combination in 0..1_u32 << mergeable.len() {
            let is_fused = |input: HopId| {
                Some(input) == fused
                    || mergeable.iter().position(|&m| m == input).is_some_and(|k| combination >> k & 1 == 1)
            };
            let mut inputs = [PackedOption::default(); MAX_REFERENCES];
            for (slot, &input) in inputs.iter_mut().zip(&self.operands) {
                *slot = Some(input).filter(|&input| is_fused(input)).into();
            }
            let arity = self.operands.len() as u8;
            let entry = MemoEntry { ttype: template.ttype(), inputs, arity, close: CloseStatus::OpenValid };
            memo.insert(self.hop, entry);
        }
    }

    fn close(&self, memo: &mut MemoTable) {
        for template in self.templates {
            if memo.entries(self.hop).iter().any(|entry| entry.ttype == template.ttype()) {
                let status = template.close(self.context, self.hop);
                for entry in memo.entries_mut(self.hop).iter_mut().filter(|entry| entry.ttype == template.ttype()) {
                    entry.close = status;
                }
            }
        }
        memo.retain(self.hop, |entry| entry.close != CloseStatus::ClosedInvalid);
    }
}

/// Whether a fused operator of this template can continue at the group: it has open plans to continue with.
pub(crate) fn has_compatible(memo: &MemoTable, group: HopId, template: &dyn Template) -> bool {
    memo.entries(group).iter().any(|entry| entry.close.is_open() && template.continues_with(entry.ttype))
}

/// Drops closed plans that cover a single operator; duplicates never enter the table.
fn prune_redundant(memo: &mut MemoTable, group: HopId) {
    memo.retain(group, |entry| entry.close.is_open() || entry.has_references());
}

/// Drops dominated plans: those whose references all point to operators consumed once, where another plan of the same
/// template refers to a strict superset. Valid only for policies that decide at materialisation points alone.
pub fn prune_dominated(context: &Context<'_>, memo: &mut MemoTable) {
    let groups: Vec<HopId> = memo.groups().map(|(group, _)| group).collect();
    for group in groups {
        let entries: SmallVec<[MemoEntry; 8]> = SmallVec::from_slice(memo.entries(group));
        memo.retain(group, |entry| {
            let consumed_once = |id: HopId| context.consumer_count(id) == 1;
            let dominated = entries.iter().any(|other| {
                other.ttype == entry.ttype
                    && other.close == entry.close
                    && other.references().count() > entry.references().count()
                    && entry.inputs.iter().zip(&other.inputs).all(|(own, theirs)| own.is_none() || own == theirs)
            });
            !(dominated && entry.references().all(consumed_once))
        });
    }
}
