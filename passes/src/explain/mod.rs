//! The stages' results as text, and why a plan is what it is: what `fuseline explain` prints and file tests compare.

mod alternative;
mod execution;
mod formula;
mod memo;
mod plan;
mod reasons;
pub mod report;
#[cfg(test)]
mod tests;
mod text;

pub(crate) use execution::execution;
pub use memo::memo_text;
pub use plan::report;
pub use text::{report_text, seconds_text};

use crate::construct::{CoverInput, construct};
use crate::explore::explore;
use crate::facts::Context;
use crate::partition::{PlanPartition, partition};
use crate::pipeline::{OptimizerOptions, Planned, Selection};
use crate::select::{FusionPlan, prepare, select};
use crate::template::TEMPLATES;
use fuseline_ir::hop::{FusionCover, HopDag, HopId};
use std::collections::BTreeSet;
use std::fmt::Write;
use text::{point_text, points_text};

/// The memo table, in the paper's notation.
pub fn explain_memo(dag: &HopDag, options: &OptimizerOptions) -> String {
    let context = options.context(dag);
    explore(&context, TEMPLATES).display(dag)
}

fn ids(ids: &[HopId]) -> String {
    if ids.is_empty() {
        return "none".to_owned();
    }
    ids.iter().map(|id| id.as_u32().to_string()).collect::<Vec<_>>().join(" ")
}

fn points(partition: &PlanPartition, assignment: Option<&[bool]>) -> String {
    let points = partition.points.iter().enumerate().map(|(position, point)| {
        let is_materialized = assignment.is_some_and(|assignment| assignment[position]);
        point_text(point.consumer.as_u32(), point.producer.as_u32(), is_materialized)
    });
    points_text(&points.collect::<Vec<_>>())
}

/// The plan partitions with their roots, inputs and interesting points, as the chosen policy searches them.
pub fn explain_partitions(dag: &HopDag, options: &OptimizerOptions) -> String {
    let context = options.context(dag);
    let memo = prepare(&context, &explore(&context, TEMPLATES), options.policy);
    let mut text = String::new();
    for (number, partition) in partition(&context, &memo).iter().enumerate() {
        let _ = writeln!(text, "partition {}: {}", number + 1, ids(&partition.members));
        let _ = writeln!(text, "  roots: {}", ids(&partition.roots));
        let _ = writeln!(text, "  inputs: {}", ids(&partition.inputs));
        let _ = writeln!(text, "  materialization points: {}", ids(&partition.materialization_points));
        let _ = writeln!(text, "  externally consumed: {}", ids(&partition.externally_consumed));
        let _ = writeln!(text, "  interesting points: {}", points(partition, None));
    }
    text
}

fn cover_line(cover: &FusionCover) -> String {
    format!("{} roots: {} members: {}", cover.template, ids(&cover.roots), ids(&cover.members))
}

/// The chosen covers, and per partition the points that are materialised (`+`).
pub fn explain_plan(dag: &HopDag, options: &OptimizerOptions) -> String {
    let context = options.context(dag);
    plan_text(&selected(&context, options))
}

/// What the numbers of fused operators stand for, as the paper labels operators.
pub fn operator_legend(dag: &HopDag, plan: &FusionPlan) -> String {
    let members: BTreeSet<HopId> = plan.covers.iter().flat_map(|cover| cover.members.iter().copied()).collect();
    let labels: Vec<String> = members.into_iter().map(|id| text::labelled(dag, id.as_u32())).collect();
    if labels.is_empty() { String::new() } else { format!("operators: {}\n", labels.join(", ")) }
}

/// [`explain_plan`] of a plan at hand.
pub fn plan_text(plan: &FusionPlan) -> String {
    let mut text = String::new();
    for (number, chosen) in plan.partitions.iter().enumerate() {
        let points = points(&chosen.partition, Some(&chosen.assignment));
        let _ = writeln!(text, "partition {}: {points}", number + 1);
    }
    for cover in &plan.covers {
        let _ = writeln!(text, "{}", cover_line(cover));
    }
    text
}

fn input_text(input: &CoverInput) -> String {
    match *input {
        CoverInput::Hop(id) => id.as_u32().to_string(),
        CoverInput::Transpose(id) => format!("t({})", id.as_u32()),
        CoverInput::Scalar(id) => format!("as.scalar({})", id.as_u32()),
    }
}

fn selected(context: &Context<'_>, options: &OptimizerOptions) -> FusionPlan {
    let memo = explore(context, TEMPLATES);
    select(context, &memo, options.policy, &options.model, &options.search_limits)
}

/// The chosen plan with the reasons for it: [`report()`] as text.
pub fn explain_reasons(dag: &HopDag, options: &OptimizerOptions) -> String {
    let context = options.context(dag);
    let Planned { memo, plan } = Planned::of(&context, options);
    report_text(dag, &report(&Selection { context: &context, memo: &memo, options, plan: &plan }))
}

/// The CPlans of the chosen covers with their inputs, and the covers that have none.
pub fn explain_cplans(dag: &HopDag, options: &OptimizerOptions) -> String {
    let context = options.context(dag);
    let (constructed, rejected) = construct(&context, &selected(&context, options).covers);
    let mut text = String::new();
    for plan in &constructed {
        let inputs: Vec<String> = plan.inputs.iter().map(input_text).collect();
        let transposed = if plan.transposed_output { ", output transposed" } else { "" };
        let outputs: Vec<String> = plan.outputs.iter().map(u32::to_string).collect();
        let outputs = if plan.outputs.len() > 1 { format!(" outputs: {}", outputs.join(" ")) } else { String::new() };
        let _ = writeln!(text, "{} inputs: {}{outputs}{transposed}", cover_line(&plan.cover), inputs.join(" "));
        let _ = writeln!(text, "{}", plan.cplan);
    }
    for rejection in &rejected {
        let _ = writeln!(text, "{} unfused: {}", cover_line(&rejection.cover), rejection.reason);
    }
    text
}
