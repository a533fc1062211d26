//! The judge of selection: every plan that there is, found without any thought for speed.
//!
//! It knows the memo table and the prices, and neither interesting points nor partitions: each reference is fused or not,
//! each template that can start at a value gets its turn with each combination of entries, and each value may be left to
//! its basic operator.

use super::*;
use crate::template::{self, Template};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

/// The most values that may or may not be materialised for which all sets are tried.
const MOST_FREE: usize = 12;

/// The most combinations of members that are followed from one value.
const MOST_COVERS: usize = 20_000;

/// A DAG with what its plans are made of.
pub(in crate::select) struct Judge<'a> {
    pub(in crate::select) context: &'a Context<'a>,
    /// What exploration found.
    pub(in crate::select) memo: &'a MemoTable,
    pub(in crate::select) model: &'a CostModel,
}

/// Members of an operator that grows.
type Members = BTreeSet<HopId>;

impl Judge<'_> {
    /// Whether an operator computes the value.
    fn is_computed(&self, id: HopId) -> bool {
        self.context.is_live(id) && !matches!(self.context.hop(id).op, HopOp::Read(_) | HopOp::Literal(_))
    }

    /// All operators that may compute a value; none where there are too many.
    pub(in crate::select) fn operators(&self, root: HopId) -> Option<Vec<Operator>> {
        let mut operators = vec![Operator::basic(self.context, root)];
        for template in TEMPLATES {
            for members in self.covers(root, *template)? {
                let inputs =
                    crate::cover::outside_inputs(self.context.dag, &members.iter().copied().collect::<Vec<_>>());
                let members = members.into_iter().collect();
                let operator = Operator { template: Some(template.ttype()), roots: vec![root].into(), members, inputs };
                let operator = operator.constructible(self.context).filter(|it| it.is_worth_fusing(self.context));
                operators.extend(operator);
            }
        }
        Some(operators)
    }

    /// What operators of a template that end in a value may cover.
    fn covers(&self, root: HopId, template: &dyn Template) -> Option<BTreeSet<Members>> {
        let mut covers = BTreeSet::new();
        let mut seen = BTreeSet::new();
        let is_start =
            |entry: &&MemoEntry| entry.ttype == template.ttype() && entry.close.is_valid() && entry.has_references();
        let starts = self.memo.entries(root).iter().filter(is_start);
        let mut pending: Vec<(Members, BTreeSet<(HopId, TemplateType)>)> =
            starts.map(|start| (Members::from([root]), references(start))).collect();
        while let Some((members, open)) = pending.pop() {
            if seen.len() > MOST_COVERS {
                return None;
            }
            if !seen.insert((members.clone(), open.clone())) {
                continue;
            }
            // All references to the last group are known: consumers follow what they read.
            let Some(&(group, _)) = open.last() else {
                covers.insert(members);
                continue;
            };
            let (own, rest): (BTreeSet<_>, BTreeSet<_>) = open.into_iter().partition(|(other, _)| *other == group);
            let continues = |entry: &&MemoEntry| {
                entry.close.is_open() && own.iter().any(|&(_, ttype)| template::of(ttype).continues_with(entry.ttype))
            };
            for entry in self.memo.entries(group).iter().filter(continues) {
                let mut more = members.clone();
                more.insert(group);
                pending.push((more, &rest | &references(entry)));
            }
        }
        let opens = |members: &Members| members.iter().any(|&member| template.open(self.context, member));
        covers.retain(|members| !template.is_driven() || opens(members));
        Some(covers)
    }

    /// By values read: the least seconds of the operators of a value.
    fn prices(&self, root: HopId) -> Option<BTreeMap<BTreeSet<HopId>, f64>> {
        let mut prices: BTreeMap<BTreeSet<HopId>, f64> = BTreeMap::new();
        for operator in self.operators(root)? {
            let reads = operator.inputs.iter().copied().filter(|&id| self.is_computed(id)).collect();
            let slot = prices.entry(reads).or_insert(f64::INFINITY);
            *slot = slot.min(self.model.operator_seconds(self.context, &operator));
        }
        Some(prices)
    }

    /// Seconds of the cheapest plan without multi-aggregates; none where there are too many.
    pub(in crate::select) fn optimum(&self) -> Option<f64> {
        let required: BTreeSet<HopId> =
            self.context.dag.roots().into_iter().filter(|&id| self.is_computed(id)).collect();
        let mut prices: BTreeMap<HopId, BTreeMap<BTreeSet<HopId>, f64>> = BTreeMap::new();
        let mut pending: Vec<HopId> = required.iter().copied().collect();
        while let Some(id) = pending.pop() {
            if let Entry::Vacant(slot) = prices.entry(id) {
                let found = slot.insert(self.prices(id)?);
                pending.extend(found.keys().flatten().copied());
            }
        }
        let free: Vec<HopId> = prices.keys().copied().filter(|id| !required.contains(id)).collect();
        if free.len() > MOST_FREE {
            return None;
        }
        let bit = |id: &HopId| free.iter().position(|other| other == id).map_or(0, |place| 1_u32 << place);
        let by_bits: Vec<(u32, Vec<(u32, f64)>)> = prices
            .iter()
            .map(|(id, found)| {
                let own = bit(id);
                (own, found.iter().map(|(reads, &seconds)| (reads.iter().map(bit).sum(), seconds)).collect())
            })
            .collect();
        let cost = |chosen: u32| -> f64 {
            let materialized = by_bits.iter().filter(|(own, _)| own & !chosen == 0);
            let cheapest = |found: &Vec<(u32, f64)>| {
                let possible = found.iter().filter(|(reads, _)| reads & !chosen == 0);
                possible.map(|&(_, seconds)| seconds).fold(f64::INFINITY, f64::min)
            };
            materialized.map(|(_, found)| cheapest(found)).sum()
        };
        Some((0..1_u32 << free.len()).map(cost).fold(f64::INFINITY, f64::min))
    }
}

/// The groups that an entry refers to, as parts of operators of its template.
fn references(entry: &MemoEntry) -> BTreeSet<(HopId, TemplateType)> {
    entry.references().map(|reference| (reference, entry.ttype)).collect()
}
