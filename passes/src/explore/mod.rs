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
use crate::template::Template;
use fuseline_ir::hop::{HopId, HopOp};
use fuseline_ir::memo::{CloseStatus, MAX_REFERENCES, MemoEntry, MemoTable};
use smallvec::SmallVec;

/// Finds all valid partial fusion plans.
pub fn explore(context: &Context<'_>, templates: &[&dyn Template]) -> MemoTable {
    let mut memo = MemoTable::for_operators(context.dag.hops.len());
    for id in context.dag.hops.keys().filter(|&id| context.is_live(id)) {
        Explorer { context, templates, hop: id }.explore(&mut memo);
    }
    memo
}

/// The inputs of an operator that entries refer to: an index reads one matrix, a sequence none; bounds are no data.
fn arity(op: &HopOp, inputs: usize) -> usize {
    match op {
        HopOp::Index => 1,
        HopOp::DataGen(_) => 0,
        _ => inputs.min(MAX_REFERENCES),
    }
}

struct Explorer<'a> {
    context: &'a Context<'a>,
    templates: &'a [&'a dyn Template],
    hop: HopId,
}

impl Explorer<'_> {
    fn explore(&self, memo: &mut MemoTable) {
        let hop = self.context.hop(self.hop);
        for template in self.templates {
            if template.open(self.context, self.hop) {
                self.create_plans(memo, None, *template);
            }
        }
        for (position, &input) in hop.inputs.iter().take(arity(&hop.op, hop.inputs.len())).enumerate() {
            if hop.inputs[..position].contains(&input) {
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
        let hop = self.context.hop(self.hop);
        let arity = arity(&hop.op, hop.inputs.len());
        let mut mergeable: SmallVec<[HopId; MAX_REFERENCES]> = SmallVec::new();
        for &input in &hop.inputs[..arity] {
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
            let mut inputs = [None; MAX_REFERENCES];
            for (slot, &input) in inputs.iter_mut().zip(&hop.inputs[..arity]) {
                *slot = Some(input).filter(|&input| is_fused(input));
            }
            let entry =
                MemoEntry { ttype: template.ttype(), inputs, arity: arity as u8, close: CloseStatus::OpenValid };
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
