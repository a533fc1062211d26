//! The explanation of a fusion plan.

use super::alternative::Alternatives;
use super::execution::{execution, exploited_sparsity, is_on_matrices};
use super::formula::formula;
use super::reasons::{Reasons, numbers};
use super::report::{
    CostReport, OperatorReport, PartitionReport, PlanReport, PointReport, Proof, ScheduleReport, Transfer,
};
use crate::construct::construct_cover;
use crate::cost::{Scheduled, cost_vector};
use crate::cover::Operator;
use crate::facts::{Context, bytes_of};
use crate::pipeline::Selection;
use crate::select::{FusionPlan, PartitionPlan, prepare};
use fuseline_ir::hop::{HopId, HopOp};
use fuseline_ir::work::CELL_BYTES;

/// Explains a plan: its operators with their costs, its partitions, and why each edge that is not fused is not.
pub fn report(selection: &Selection<'_>) -> PlanReport {
    let Selection { context, memo, options, plan } = *selection;
    let operators = execution(context, &plan.covers);
    let searched = prepare(context, memo, options.policy);
    let alternatives = Alternatives { context, memo: &searched, model: &options.model, operators: &operators };
    let on_matrices = operators.iter().filter(|operator| is_on_matrices(context, operator));
    let seconds = operators.iter().map(|operator| options.model.operator_seconds(context, operator)).sum();
    PlanReport {
        policy: options.policy.mnemonic().to_owned(),
        seconds,
        proof: proof_of_all(plan, seconds),
        partitions: plan.partitions.iter().map(partition).collect(),
        operators: on_matrices.map(|operator| operator_report(selection, operator)).collect(),
        unfused: Reasons::new(alternatives, memo).unfused(),
    }
}

/// What is proven of all operators, given their seconds: what selection does not decide about is in every plan.
fn proof_of_all(plan: &FusionPlan, seconds: f64) -> Proof {
    match plan.gap() {
        None => Proof::Unproven,
        Some(_) if plan.is_optimal() => Proof::Optimal,
        Some(_) => Proof::AtLeast { seconds: seconds - (plan.seconds - plan.bound) },
    }
}

fn partition(plan: &PartitionPlan) -> PartitionReport {
    let points = plan.partition.points.iter().zip(&plan.assignment);
    PartitionReport {
        members: numbers(&plan.partition.members),
        points: points
            .map(|(point, &materialized)| PointReport {
                consumer: point.consumer.as_u32(),
                producer: point.producer.as_u32(),
                materialized,
            })
            .collect(),
        seconds: plan.seconds,
        proof: if plan.is_optimal() { Proof::Optimal } else { Proof::AtLeast { seconds: plan.bound } },
        priced: plan.stats.operators,
        costed: plan.stats.costed(),
        skipped: plan.stats.skipped(),
        exhausted: plan.stats.exhausted > 0,
        found_by: plan.found_by.name().to_owned(),
    }
}

fn operator_report(selection: &Selection<'_>, operator: &Operator) -> OperatorReport {
    let context = selection.context;
    let (variant, rejected) = variant(selection, operator);
    let vector = cost_vector(context, operator);
    let terms = selection.options.model.operator_terms(context, operator);
    let reads = vector.iter().flat_map(|vector| &vector.inputs);
    OperatorReport {
        template: operator.template,
        variant,
        roots: numbers(&operator.roots),
        members: numbers(&operator.members),
        formulas: operator.roots.iter().map(|&root| formula(context.dag, root, &operator.members)).collect(),
        reads: reads.map(|read| transfer(selection, read.id, read.touched)).collect(),
        writes: operator.roots.iter().map(|&root| transfer(selection, root, output_bytes(context, root))).collect(),
        flops: vector.as_ref().map_or(0.0, |vector| vector.work.flops()),
        exploits: exploited_sparsity(context, operator),
        schedule: Scheduled::of(context, operator).map(|scheduled| schedule_report(&scheduled)),
        cost: CostReport {
            start: terms.start + terms.once,
            write: terms.write,
            read: terms.read,
            compute: terms.compute,
            exposed: terms.exposed,
            seconds: terms.seconds(),
        },
        rejected,
    }
}

fn schedule_report(scheduled: &Scheduled) -> ScheduleReport {
    let outline = scheduled.outline();
    ScheduleReport {
        main: scheduled.main.as_u32(),
        driver: scheduled.schedule.driver.to_string(),
        skips_empty_rows: scheduled.schedule.skips_empty_rows,
        strips: outline.strips as u64,
        blocks: outline.blocks as u64,
        private_sums: outline.private_sums as u64,
        cells: outline.cells as u64,
        calls: outline.units.map(|units| units as u64),
    }
}

/// So many bytes of a value, where its size is known.
fn transfer(selection: &Selection<'_>, id: HopId, bytes: f64) -> Transfer {
    let hop = selection.context.hop(id);
    Transfer {
        hop: id.as_u32(),
        name: variable(selection, id),
        bytes: (!hop.is_matrix() || hop.size.cells().is_some()).then_some(bytes),
    }
}

/// Expected bytes of an operator's output.
fn output_bytes(context: &Context<'_>, id: HopId) -> f64 {
    if context.hop(id).is_matrix() { bytes_of(context, id) } else { CELL_BYTES as f64 }
}

/// The variant of a fused operator's CPlan, or why it has none.
fn variant(selection: &Selection<'_>, operator: &Operator) -> (Option<String>, Option<String>) {
    let Some(cover) = operator.to_cover() else { return (None, None) };
    match construct_cover(selection.context, &cover) {
        Ok(constructed) => (Some(constructed.cplan.variant.mnemonic().to_owned()), None),
        Err(error) => (None, Some(error.to_string())),
    }
}

/// The variable that an operator reads, or that takes its value.
fn variable(selection: &Selection<'_>, id: HopId) -> Option<String> {
    let dag = selection.context.dag;
    match &dag[id].op {
        HopOp::Read(name) => Some(name.clone()),
        _ => dag.outputs.iter().find(|output| output.hop == id).map(|output| output.name.clone()),
    }
}
