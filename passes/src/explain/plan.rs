//! The explanation of a fusion plan.

use super::alternative::Alternatives;
use super::execution::{execution, exploited_sparsity, is_on_matrices};
use super::formula::formula;
use super::reasons::{Reasons, numbers};
use super::report::{CostReport, OperatorReport, PartitionReport, PlanReport, PointReport, Proof, Transfer};
use crate::construct::construct_cover;
use crate::cost::cost_vector;
use crate::cover::Operator;
use crate::facts::bytes_of;
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
    let transfer = |id: HopId, bytes: f64| Transfer {
        hop: id.as_u32(),
        name: variable(selection, id),
        bytes: (!context.hop(id).is_matrix() || context.hop(id).size.cells().is_some()).then_some(bytes),
    };
    let written =
        |&id: &HopId| transfer(id, if context.hop(id).is_matrix() { bytes_of(context, id) } else { CELL_BYTES as f64 });
    let reads = vector.iter().flat_map(|vector| &vector.inputs);
    OperatorReport {
        template: operator.template,
        variant,
        roots: numbers(&operator.roots),
        members: numbers(&operator.members),
        formulas: operator.roots.iter().map(|&root| formula(context.dag, root, &operator.members)).collect(),
        reads: reads.map(|read| transfer(read.id, read.touched)).collect(),
        writes: operator.roots.iter().map(written).collect(),
        flops: vector.as_ref().map_or(0.0, |vector| vector.work.flops()),
        exploits: exploited_sparsity(context, operator),
        cost: CostReport {
            start: terms.start + terms.once,
            write: terms.write,
            read: terms.read,
            compute: terms.compute,
            seconds: terms.seconds(),
        },
        rejected,
    }
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
