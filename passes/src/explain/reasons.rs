//! Why edges are not fused. Every reason is found by asking again: the templates which condition fails, exploration
//! whether a limit stands in the way, and the cost model what the plan with the edge fused would cost.

use super::alternative::{Alternative, Alternatives};
use super::execution::{exploited_sparsity, is_on_matrices};
use super::report::{Comparison, Effect, FailedCondition, Reason, TemplateCondition, TemplateLimit, UnfusedEdge};
use super::text::sentence;
use crate::cost::CostModel;
use crate::cover::Operator;
use crate::explore::{explore, is_left_out};
use crate::facts::{Context, TemplateLimits};
use crate::hops::is_transpose;
use crate::template::{TEMPLATES, Template};
use cranelift_entity::EntitySet;
use fuseline_ir::hop::{HopId, HopOp};
use fuseline_ir::memo::{MAX_REFERENCES, MemoTable, TemplateType};
use std::collections::BTreeMap;

/// Costs that differ by less, relatively, are equal.
const EQUAL_COST: f64 = 1e-9;

/// Explains the edges of one plan.
pub(crate) struct Reasons<'a> {
    alternatives: Alternatives<'a>,
    /// The memo table as explored.
    explored: &'a MemoTable,
    /// What exploration finds without one of the limits.
    relaxed: Vec<(TemplateLimit, MemoTable)>,
    /// Estimated seconds of the plan.
    seconds: f64,
    /// What the plan's operators compute.
    computed: EntitySet<HopId>,
}

impl<'a> Reasons<'a> {
    pub(crate) fn new(alternatives: Alternatives<'a>, explored: &'a MemoTable) -> Self {
        let Alternatives { context, model, operators, .. } = alternatives;
        let seconds = operators.iter().map(|operator| model.operator_seconds(context, operator)).sum();
        let mut computed = EntitySet::new();
        computed.extend(operators.iter().flat_map(|operator| operator.roots.iter().copied()));
        Reasons { alternatives, explored, relaxed: relaxed_tables(context), seconds, computed }
    }

    /// The edges that carry matrices from one operator of the plan to another, with their reasons.
    pub(crate) fn unfused(&self) -> Vec<UnfusedEdge> {
        let context = self.alternatives.context;
        let mut edges = Vec::new();
        for reader in self.alternatives.operators.iter().filter(|reader| is_on_matrices(context, reader)) {
            for &consumer in reader.members.iter().filter(|&&id| !context.hop(id).op.is_effect()) {
                let inputs = &context.hop(consumer).inputs;
                for (position, &producer) in inputs.iter().enumerate() {
                    if is_computed(context, producer)
                        && !reader.covers(producer)
                        && !inputs[..position].contains(&producer)
                    {
                        edges.push(self.edge(reader, consumer, producer));
                    }
                }
            }
        }
        edges
    }

    fn edge(&self, reader: &Operator, consumer: HopId, producer: HopId) -> UnfusedEdge {
        let edge = UnfusedEdge {
            consumer: consumer.as_u32(),
            producer: producer.as_u32(),
            reader: reader.roots[0].as_u32(),
            reason: self.reason(reader, consumer, producer),
            sentence: String::new(),
        };
        UnfusedEdge { sentence: sentence(self.alternatives.context.dag, &edge), ..edge }
    }

    fn reason(&self, reader: &Operator, consumer: HopId, producer: HopId) -> Reason {
        let context = self.alternatives.context;
        if let Some(unknown) = [producer, consumer].into_iter().find(|&id| is_unknown(context, id)) {
            return Reason::UnknownSize { hop: unknown.as_u32() };
        }
        if !refers(self.explored, consumer, producer) {
            if is_left_out(context, self.explored, consumer, producer) {
                return Reason::Limit { limit: TemplateLimit::Operands { count: MAX_REFERENCES as u64 } };
            }
            let limit = self.relaxed.iter().find(|(_, memo)| refers(memo, consumer, producer));
            return match limit {
                Some(&(limit, _)) => Reason::Limit { limit },
                None => self.without_template(consumer, producer),
            };
        }
        let Some(alternative) = self.alternatives.with_fused(reader, consumer, producer) else {
            return Reason::NoOperator;
        };
        let difference = alternative.seconds - self.seconds;
        let comparison = self.compare(reader, producer, &alternative);
        if difference.abs() <= EQUAL_COST * self.seconds {
            Reason::AsDear(comparison)
        } else if difference > 0.0 {
            Reason::Dearer(comparison)
        } else {
            Reason::NotConsidered(comparison)
        }
    }

    /// Why no template fuses the two. Conditions on a size that is not known fail whatever it will be.
    fn without_template(&self, consumer: HopId, producer: HopId) -> Reason {
        let context = self.alternatives.context;
        let inputs = [producer, consumer].into_iter().flat_map(|id| &context.hop(id).inputs);
        if let Some(&unknown) = inputs.into_iter().find(|&&id| is_unknown(context, id)) {
            return Reason::UnknownSize { hop: unknown.as_u32() };
        }
        let mut opening = TEMPLATES.iter().filter(|template| template.open(context, consumer));
        if is_right_transpose(context, consumer, producer)
            && opening.any(|template| template.absorbed_transpose(context, consumer) == Some(producer))
        {
            return Reason::ReadThrough;
        }
        Reason::NoTemplate { conditions: self.failed_conditions(consumer, producer) }
    }

    /// What fails, by template.
    fn failed_conditions(&self, consumer: HopId, producer: HopId) -> Vec<TemplateCondition> {
        let conditions = TEMPLATES.iter().map(|template| TemplateCondition {
            template: template.ttype(),
            fails: self.failed_condition(*template, consumer, producer),
        });
        conditions.collect()
    }

    fn failed_condition(&self, template: &dyn Template, consumer: HopId, producer: HopId) -> FailedCondition {
        let context = self.alternatives.context;
        let entries = self.explored.entries(producer).iter();
        let has_open_plan = entries.filter(|entry| entry.ttype == template.ttype()).any(|entry| entry.close.is_open());
        if !takes(template, context, producer) {
            FailedCondition::Producer
        } else if !has_open_plan && !template.close(context, producer).is_open() {
            FailedCondition::Closed
        } else if !has_open_plan {
            // It could grow to the producer, but from nothing that is there.
            FailedCondition::Producer
        } else if !takes(template, context, consumer) {
            FailedCondition::Consumer
        } else if template.open(context, consumer) {
            FailedCondition::Merge
        } else {
            FailedCondition::Fuse
        }
    }

    fn compare(&self, reader: &Operator, producer: HopId, alternative: &Alternative) -> Comparison {
        let Alternatives { context, model, operators, .. } = self.alternatives;
        let fused = seconds_without(context, model, &alternative.operators, operators);
        Comparison {
            template: alternative.operator.template.unwrap_or(TemplateType::Cell),
            members: numbers(&alternative.operator.members),
            chosen: seconds_without(context, model, operators, &alternative.operators),
            fused: Some(fused).filter(|seconds| seconds.is_finite()),
            effects: self.effects(reader, producer, alternative),
        }
    }

    fn effects(&self, reader: &Operator, producer: HopId, alternative: &Alternative) -> Vec<Effect> {
        let Alternatives { context, operators, .. } = self.alternatives;
        let mut effects = Vec::new();
        if alternative.operators.iter().any(|other| other.roots.contains(&producer)) {
            let others = alternative.operators.iter().filter(|other| other.inputs.contains(&producer));
            effects.push(Effect::ComputedAgain { readers: others.map(|other| other.roots[0].as_u32()).collect() });
        }
        let computed_by = operators.iter().find(|other| other.roots.contains(&producer));
        let from = computed_by.and_then(|operator| operator.template);
        if let Some(from) = from.filter(|&from| Some(from) != alternative.operator.template) {
            effects.push(Effect::TemplateSwitch { from });
        }
        let kept = exploited_sparsity(context, &alternative.operator).map(|sparsity| sparsity.driver);
        for operator in computed_by.into_iter().chain([reader]) {
            if let Some(lost) = exploited_sparsity(context, operator).filter(|lost| Some(lost.driver) != kept) {
                let (driver, share) = (lost.driver, lost.share);
                effects.push(Effect::LosesSparsity { driver, share });
            }
        }
        let roots = alternative.operators.iter().flat_map(|other| other.roots.iter().copied());
        let more: Vec<HopId> = roots.filter(|&id| !self.computed.contains(id)).collect();
        if !more.is_empty() {
            effects.push(Effect::Materializes { hops: numbers(&more) });
        }
        if reader.roots.len() > 1 {
            effects.push(Effect::MultiAggregate { roots: numbers(&reader.roots) });
        }
        effects
    }
}

/// The memo tables that exploration finds where one limit at a time does not hold.
fn relaxed_tables(context: &Context<'_>) -> Vec<(TemplateLimit, MemoTable)> {
    let limits = context.limits;
    let narrow = TemplateLimit::NarrowProduct { cols: limits.skinny_cols };
    let mut relaxed = vec![(narrow, TemplateLimits { skinny_cols: u64::MAX, ..limits.clone() })];
    if limits.strict_ieee {
        relaxed.push((TemplateLimit::StrictIeee, TemplateLimits { strict_ieee: false, ..limits.clone() }));
    }
    let tables = relaxed.iter().map(|(limit, limits)| (*limit, explore(&Context::new(context.dag, limits), TEMPLATES)));
    tables.collect()
}

/// Whether a template may have an operator as a member: plans of one that close leave no trace in the memo table.
fn takes(template: &dyn Template, context: &Context<'_>, id: HopId) -> bool {
    template.open(context, id) || context.hop(id).inputs.iter().any(|&input| template.fuse(context, id, input))
}

/// Seconds of the operators that are not among others.
fn seconds_without(context: &Context<'_>, model: &CostModel, operators: &[Operator], others: &[Operator]) -> f64 {
    let others: BTreeMap<HopId, &Operator> = others.iter().map(|other| (other.roots[0], other)).collect();
    let rest = operators.iter().filter(|operator| others.get(&operator.roots[0]) != Some(operator));
    rest.map(|operator| model.operator_seconds(context, operator)).sum()
}

/// Whether this is a matrix that an operator computes.
fn is_computed(context: &Context<'_>, id: HopId) -> bool {
    let hop = context.hop(id);
    hop.is_matrix() && !matches!(hop.op, HopOp::Read(_) | HopOp::Literal(_))
}

/// Whether this is a matrix of which a dimension is not known.
fn is_unknown(context: &Context<'_>, id: HopId) -> bool {
    context.hop(id).is_matrix() && context.hop(id).size.known_dims().is_none()
}

/// Whether the producer is the transpose on the right of a product, as in `U %*% t(V)`.
fn is_right_transpose(context: &Context<'_>, consumer: HopId, producer: HopId) -> bool {
    let hop = context.hop(consumer);
    hop.op == HopOp::MatMul && hop.inputs[1] == producer && is_transpose(context.dag, producer)
}

/// Whether a partial plan of the consumer fuses the producer.
fn refers(memo: &MemoTable, consumer: HopId, producer: HopId) -> bool {
    memo.entries(consumer).iter().any(|entry| entry.references().any(|reference| reference == producer))
}

pub(crate) fn numbers(ids: &[HopId]) -> Vec<u32> {
    ids.iter().map(|id| id.as_u32()).collect()
}
