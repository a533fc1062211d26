//! Explanations of the paper's examples.

use super::execution::{PlannedOperator, execution};
use super::formula::formula;
use super::report::{Comparison, Effect, FailedCondition, PlanReport, Reason, TemplateLimit};
use super::{report, report_text};
use crate::explore::explore_in;
use crate::pipeline::{OptimizerOptions, Selection};
use crate::select::{SelectPolicy, select_in};
use crate::template::{Context, TEMPLATES};
use crate::testing::{self, Dag};
use fuseline_ir::hop::{HopDag, HopId};
use fuseline_ir::memo::TemplateType;

fn explained(dag: &HopDag, options: &OptimizerOptions) -> PlanReport {
    let context = Context::new(dag, &options.template_limits);
    let memo = explore_in(&context, TEMPLATES);
    let plan = select_in(&context, &memo, options.policy, &options.model, &options.search_limits);
    report(&Selection { context: &context, memo: &memo, options, plan: &plan })
}

#[test]
fn show() {
    let options = OptimizerOptions::default();
    for dag in [
        testing::als_update().0,
        testing::mlogreg().0,
        testing::outer_plus_dense().0,
        testing::sum_of_products().0,
        testing::cross_entropy(),
    ] {
        println!("{dag}\n{}", report_text(&dag, &explained(&dag, &options)));
    }
}
