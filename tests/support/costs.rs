//! The cost model as text, for file tests.

use fuseline_ir::hop::HopDag;
use fuseline_passes::cost::cost_vector;
use fuseline_passes::cover::Operator;
use fuseline_passes::explore::explore;
use fuseline_passes::facts::Context;
use fuseline_passes::pipeline::OptimizerOptions;
use fuseline_passes::select::select;
use fuseline_passes::template::TEMPLATES;
use std::fmt::Write;

/// Per matrix operator what it costs unfused; per partition what the chosen plan costs, and how many plans were costed.
pub(crate) fn explain(dag: &HopDag, options: &OptimizerOptions) -> String {
    let context = Context::new(dag, &options.template_limits);
    let mut text = String::new();
    for (id, hop) in &dag.hops {
        let mut inputs: Vec<_> = hop.inputs.to_vec();
        inputs.dedup();
        if inputs.iter().any(|&input| dag[input].is_matrix()) {
            let operator =
                Operator { template: None, roots: vec![id].into(), members: vec![id].into(), inputs: inputs.into() };
            let cost = cost_vector(&context, &operator).expect("basic operators are possible");
            let seconds = options.model.operator_seconds(&context, &operator);
            let label = hop.op.label();
            writeln!(
                text,
                "{} {label}: write {} B, read {} B, {} FLOP, {seconds:.3e} s",
                id.as_u32(),
                cost.output,
                cost.input(),
                cost.work.flops()
            )
            .expect("strings take writes");
        }
    }
    let memo = explore(&context, TEMPLATES);
    let plan = select(&context, &memo, options.policy, &options.model, &options.search_limits);
    for (number, partition) in plan.partitions.iter().enumerate() {
        let (seconds, stats) = (partition.seconds, partition.stats);
        let (plans, operators) = (stats.costed(), stats.operators);
        let proof =
            if partition.is_optimal() { "optimal".to_owned() } else { format!("at least {:.3e} s", partition.bound) };
        let number = number + 1;
        writeln!(
            text,
            "partition {number}: {seconds:.3e} s, {proof}, {plans} plans costed, {operators} operators priced"
        )
        .expect("strings take writes");
    }
    text
}
