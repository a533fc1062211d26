//! The plan with one more edge fused: what a decision is compared with.

use super::execution::execution_with;
use crate::cost::CostModel;
use crate::cover::{Operator, outside_inputs};
use crate::facts::Context;
use crate::template::{self, verify_cover};
use crate::walk::{follow, preference};
use fuseline_ir::hop::HopId;
use fuseline_ir::memo::{MemoEntry, MemoTable, TemplateType};
use smallvec::smallvec;
use std::collections::BTreeSet;

/// A plan in which the reader of an edge covers the producer too.
#[derive(Debug)]
pub(crate) struct Alternative {
    /// The reader.
    pub(crate) operator: Operator,
    /// All operators.
    pub(crate) operators: Vec<Operator>,
    /// Estimated seconds of all operators.
    pub(crate) seconds: f64,
}

/// Builds plans with other edges fused, from the memo table that the plan was selected from.
#[derive(Clone, Copy)]
pub(crate) struct Alternatives<'a> {
    pub(crate) context: &'a Context<'a>,
    pub(crate) memo: &'a MemoTable,
    pub(crate) model: &'a CostModel,
    /// What the chosen plan executes.
    pub(crate) operators: &'a [Operator],
}

/// Edges from consumers to producers.
type Edges = BTreeSet<(HopId, HopId)>;

impl Alternatives<'_> {
    /// The cheapest plan, over the templates, in which `reader` covers what it covers now, the producer, and as much as
    /// the template allows of what the producer is fused with now. None where no such operator can be constructed.
    pub(crate) fn with_fused(&self, reader: &Operator, consumer: HopId, producer: HopId) -> Option<Alternative> {
        let mut wanted = Edges::from([(consumer, producer)]);
        self.extend_edges(&mut wanted, reader);
        if let Some(operator) = self.operators.iter().find(|operator| operator.roots.contains(&producer)) {
            self.extend_edges(&mut wanted, operator);
        }
        let candidates = TemplateType::ALL.iter().filter_map(|&template| match reader.roots[..] {
            [root] => self.operator(root, template, &wanted),
            _ => self.larger_multi_aggregate(reader, &wanted),
        });
        let plans = candidates.filter(|operator| operator.covers(producer)).map(|operator| {
            let mut fused: Vec<Operator> = self.operators.to_vec();
            fused.retain(|other| other.roots != reader.roots);
            fused.push(operator.clone());
            let operators = execution_with(self.context, &fused, |root| self.cheapest(root, &wanted));
            let seconds = operators.iter().map(|operator| self.model.operator_seconds(self.context, operator)).sum();
            Alternative { operator, operators, seconds }
        });
        plans.min_by(|one, other| one.seconds.total_cmp(&other.seconds))
    }

    fn extend_edges(&self, edges: &mut Edges, operator: &Operator) {
        for &consumer in &operator.members {
            let inputs = self.context.hop(consumer).inputs.iter();
            edges.extend(inputs.filter(|input| operator.covers(**input)).map(|&producer| (consumer, producer)));
        }
    }

    /// The cheapest operator that computes `root` with some of these edges.
    fn cheapest(&self, root: HopId, wanted: &Edges) -> Operator {
        let basic = Operator::basic(self.context, root);
        let fused = TemplateType::ALL.iter().filter_map(|&template| self.operator(root, template, wanted));
        let seconds = |operator: &Operator| self.model.operator_seconds(self.context, operator);
        fused.fold(basic, |best, operator| {
            let is_cheaper = seconds(&operator) < seconds(&best);
            if is_cheaper { operator } else { best }
        })
    }

    /// The operator of a template at `root` that fuses as many of these edges as the entries of each group allow.
    fn operator(&self, root: HopId, template: TemplateType, wanted: &Edges) -> Option<Operator> {
        let start = self.entry(root, template, true, wanted)?;
        let mut members = smallvec![root];
        let mut is_whole = true;
        follow(start, |reference, ttype| {
            if members.contains(&reference) {
                return None;
            }
            members.push(reference);
            let next = self.entry(reference, ttype, false, wanted);
            is_whole &= next.is_some();
            next
        });
        members.sort_unstable();
        let inputs = outside_inputs(self.context.dag, &members);
        let operator = Operator { template: Some(template), roots: smallvec![root], members, inputs };
        if !is_whole || operator.members.len() < 2 || !operator.is_constructible(self.context) {
            return None;
        }
        let cover = operator.cover(self.context)?;
        verify_cover(self.context, &cover).ok()?;
        Some(Operator::of_cover(self.context, &cover))
    }

    /// The entry of a group that continues (or starts) an operator of a template with the most of these edges.
    fn entry(&self, group: HopId, ttype: TemplateType, is_root: bool, wanted: &Edges) -> Option<&MemoEntry> {
        let entries = self.memo.entries(group).iter().filter(|entry| {
            let has_role = if is_root {
                entry.ttype == ttype && entry.close.is_valid()
            } else {
                template::of(ttype).continues_with(entry.ttype) && entry.close.is_open()
            };
            has_role && entry.references().all(|reference| wanted.contains(&(group, reference)))
        });
        // Of equals the first.
        entries.rev().max_by_key(|&entry| {
            let (is_own, references) = preference(entry, ttype);
            (references, is_own)
        })
    }

    /// A multi-aggregate with the members of the operators that these edges lead into.
    fn larger_multi_aggregate(&self, reader: &Operator, wanted: &Edges) -> Option<Operator> {
        let mut members = reader.members.clone();
        members.extend(wanted.iter().map(|(_, producer)| *producer));
        members.sort_unstable();
        members.dedup();
        let cover = Operator { members, ..reader.clone() }.to_cover()?;
        verify_cover(self.context, &cover).ok()?;
        Some(Operator::of_cover(self.context, &cover))
    }
}
