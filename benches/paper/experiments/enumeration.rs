//! Plans that enumeration costs, with and without partitions and prunings (the paper's figure of plan enumeration), and
//! what one search over rewrites and fusion saves.

use super::findings::Findings;
use super::setting::Setting;
use crate::document::Part;
use crate::scripts::{WORKLOADS, Workload};
use crate::searches::{Searched, searched};
use fuseline::ir::hop::{HopDag, HopId};
use fuseline::{BackendKind, CompileOptions};
use fuseline_passes::explore::explore;
use fuseline_passes::joint::{choose, plan_seconds};
use fuseline_passes::partition::PointKinds;
use fuseline_passes::pipeline::{OptimizerOptions, Planned};
use fuseline_passes::rewrite::{RewriteOptions, rewrite};
use fuseline_passes::select::{Enumeration, FusionPlan};
use fuseline_passes::template::TEMPLATES;
use std::collections::BTreeSet;

/// What is compared, in the order of the table.
const KINDS: [Enumeration; 5] =
    [Enumeration::None, Enumeration::Partition, Enumeration::Structure, Enumeration::Cost, Enumeration::All];

/// What was measured of an algorithm.
struct Measured {
    workload: &'static Workload,
    dags: usize,
    /// By [`KINDS`].
    searches: Vec<Searched>,
    /// Of the DAG with the most operators that have partial plans: their number, and the interesting points by partition.
    operators: usize,
    points: Vec<usize>,
    /// Values that a plan both fuses and materialises.
    fused_and_materialised: usize,
    /// Estimated seconds of what rewriting prefers, fused, and of what one search over both gives.
    apart: f64,
    joint: f64,
}

pub(super) fn run(setting: Option<Setting>, findings: &mut Findings) -> Vec<Part> {
    let mut measured = Vec::new();
    if let Some(setting) = setting {
        for workload in WORKLOADS {
            eprintln!("{}", workload.name);
            let row = measure(workload, setting.scale.pick([2_000, 1 << 18, 1 << 18]));
            record(&row, findings);
            measured.push(row);
        }
        let values: usize = measured.iter().map(|row| row.fused_and_materialised).sum();
        let what = "values that one plan both fuses and materialises";
        findings.value("P232", what, "all plans of the six algorithms", values as f64);
    }
    section(&measured)
}

fn measure(workload: &'static Workload, most_plans: u64) -> Measured {
    let backend = BackendKind::for_measurement();
    let (dags, _) = workload.run(CompileOptions { backend, ..CompileOptions::default() });
    let (rewrites, options) = (RewriteOptions::default(), OptimizerOptions::default());
    let rewritten: Vec<HopDag> = dags.iter().map(|dag| rewrite(dag, &rewrites)).collect();
    let planned = |dag: &HopDag| Planned::of(&options.context(dag), &options).plan;
    let seconds = |dag: &HopDag, plan: &FusionPlan| plan_seconds(&options.context(dag), plan, &options.model);
    let apart = rewritten.iter().map(|dag| seconds(dag, &planned(dag))).sum();
    let chosen: Vec<_> = dags.iter().map(|dag| choose(dag, &rewrites, &options)).collect();
    let joint = chosen.iter().map(|chosen| seconds(&chosen.dag, &chosen.planned.plan)).sum();
    let largest = rewritten.iter().max_by_key(|dag| operators_with_plans(dag, &options)).expect("a run meets DAGs");
    let partitions = planned(largest).partitions;
    Measured {
        workload,
        dags: dags.len(),
        searches: KINDS.map(|kind| searched(&rewritten, kind, PointKinds::default(), most_plans)).into(),
        operators: operators_with_plans(largest, &options),
        points: partitions.iter().map(|plan| plan.partition.points.len()).collect(),
        fused_and_materialised: chosen.iter().map(|chosen| fused_and_materialised(&chosen.planned.plan)).sum(),
        apart,
        joint,
    }
}

/// The operators that the memo table has plans of in which they are fused with others.
fn operators_with_plans(dag: &HopDag, options: &OptimizerOptions) -> usize {
    let memo = explore(&options.context(dag), TEMPLATES);
    memo.groups().filter(|(_, entries)| !entries.is_empty()).count()
}

/// Values that leave one fused operator and are computed again within another.
fn fused_and_materialised(plan: &FusionPlan) -> usize {
    let roots: BTreeSet<HopId> = plan.covers.iter().flat_map(|cover| cover.roots.iter().copied()).collect();
    let inner = |cover: &fuseline::ir::hop::FusionCover| {
        let members = cover.members.iter().filter(|member| !cover.roots.contains(member));
        members.filter(|member| roots.contains(member)).copied().collect::<Vec<_>>()
    };
    plan.covers.iter().flat_map(inner).collect::<BTreeSet<_>>().len()
}

impl Measured {
    fn of(&self, kind: Enumeration) -> &Searched {
        self.searches.iter().find(|search| search.enumeration == kind).expect("all kinds are measured")
    }

    /// Powers of ten by which each step leaves fewer plans of the largest DAG: to interesting points, and to partitions.
    fn orders_saved(&self) -> [f64; 2] {
        let points: usize = self.points.iter().sum();
        let of_partitions: f64 = self.points.iter().map(|points| (*points as f64).exp2()).sum();
        let power = |exponent: usize| exponent as f64 * 2.0_f64.log10();
        [power(self.operators) - power(points), power(points) - of_partitions.log10()]
    }
}

fn record(row: &Measured, findings: &mut Findings) {
    let name = row.workload.name;
    let (none, partition, all) = (row.of(Enumeration::None), row.of(Enumeration::Partition), row.of(Enumeration::All));
    let what = "plans that partitions and both prunings leave, of all there are";
    findings.value("P192", what, name, all.costed() / none.plans);
    findings.value("P193", "plans costed with both prunings", name, all.costed());
    if all.is_capped() {
        let reason = format!("the search ended at its limit, after {} plans", all.costed());
        findings.not_run("P193", "plans costed with both prunings", name, &reason);
    }
    match name {
        "autoencoder_2layer" => {
            let [by_points, by_partitions] = row.orders_saved();
            findings.value("P194", "plans that interesting points save", name, by_points);
            findings.value("P194", "plans that partitions save", name, by_partitions);
            findings.value("P194", "operators with partial plans", name, row.operators as f64);
        }
        "glm" if all.is_capped() => {
            findings.not_run("P195", "plans that pruning saves", name, "the search ended at its limit of plans");
        }
        "glm" => findings.value("P195", "plans that pruning saves", name, (partition.costed() / all.costed()).log10()),
        _ => {}
    }
    let (by_cost, by_structure) = (row.of(Enumeration::Cost), row.of(Enumeration::Structure));
    let what = "plans costed with pruning by structure alone over those by cost alone";
    if by_cost.is_capped() && by_structure.is_capped() {
        findings.not_run("P196", what, name, "both searches ended at their limits of plans");
    } else {
        // One that ended at its limit has more plans to cost than it counts.
        findings.value("P196", what, name, by_structure.costed() / by_cost.costed());
    }
    let what = "time of one search's plans over that of rewrites, then fusion";
    findings.value("P233", what, name, row.joint / row.apart);
}

fn section(measured: &[Measured]) -> Vec<Part> {
    let header = [
        "algorithm",
        "data and configuration",
        "DAGs",
        "none",
        "partition",
        "structure",
        "cost",
        "all",
        "skipped by cost",
        "by structure",
        "proven optimal",
        "most operators with plans",
        "points by partition",
        "one search over rewrites, then fusion",
    ];
    let rows = measured.iter().map(|row| {
        let all = row.of(Enumeration::All);
        let points: Vec<String> = row.points.iter().filter(|points| **points > 0).map(usize::to_string).collect();
        let counts = row.searches.iter().map(count);
        let first = [row.workload.name.to_owned(), row.workload.configuration.to_owned(), row.dags.to_string()];
        let rest = [
            large(all.stats.skipped_by_cost as f64),
            large(all.stats.skipped_by_structure as f64),
            format!("{} of {}", all.proven, all.spaces),
            row.operators.to_string(),
            points.join(" "),
            format!("{:.3}", row.joint / row.apart),
        ];
        first.into_iter().chain(counts).chain(rest).collect()
    });
    vec![
        Part::heading("Plan enumeration"),
        Part::text(
            "Plans that each kind of enumeration costs over all distinct DAGs of an algorithm: of the whole DAG (*none*), of \
             each partition, with pruning by cut sets (*structure*), with pruning by lower bounds (*cost*), and with both \
             (*all*); of *none* and *partition* all that there are. A search that ended at its limit is marked by `>`; *proven optimal* is how many searches by \
             *all* end with a proof. The largest DAG is that with the most \
             operators that have partial plans. Last, the estimated time of the plans that one search over rewrites and \
             fusion finds, over that of what rewriting prefers, fused. `docs/optimizer.md` has what the exact solver does, \
             which is the default and costs no plans.",
        ),
        Part::table(&header, rows.collect()),
    ]
}

fn count(searched: &Searched) -> String {
    let is_open = searched.is_capped() && matches!(searched.enumeration, Enumeration::Cost | Enumeration::All);
    format!("{}{}", if is_open { "> " } else { "" }, large(searched.costed()))
}

/// A number that may be very large.
fn large(number: f64) -> String {
    if number < 1e7 { format!("{number:.0}") } else { format!("{number:.1e}") }
}
