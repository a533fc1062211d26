//! Explanations as text.

use super::formula::value_name;
use super::report::{
    Comparison, CostReport, Effect, FailedCondition, OperatorReport, PartitionReport, PlanReport, Proof, Reason,
    ScheduleReport, TemplateCondition, TemplateLimit, Transfer, UnfusedEdge,
};
use crate::memory::bytes_text;
use fuseline_ir::hop::{HopDag, HopId};
use fuseline_ir::memo::TemplateType;
use std::fmt::Write;

/// An explanation as text; `dag` gives the labels of operators.
pub fn report_text(dag: &HopDag, report: &PlanReport) -> String {
    let mut text = String::new();
    for (number, partition) in report.partitions.iter().enumerate() {
        partition_text(&mut text, number + 1, partition, report.proof);
    }
    for operator in report.operators.iter().filter(|operator| operator.template.is_some()) {
        fused_text(&mut text, operator);
    }
    let basic: Vec<&OperatorReport> = report.operators.iter().filter(|operator| operator.template.is_none()).collect();
    if !basic.is_empty() {
        text.push_str("basic operators:\n");
        for operator in basic {
            basic_text(&mut text, dag, operator);
        }
    }
    if !report.unfused.is_empty() {
        text.push_str("not fused:\n");
        for edge in &report.unfused {
            let _ = writeln!(text, "  {}", edge_text(dag, edge));
        }
    }
    if !report.operators.is_empty() {
        let least = if report.operators.iter().all(OperatorReport::is_priced) { "" } else { "at least " };
        let proof =
            if least.is_empty() { format!(", {}", proof_text(report.seconds, report.proof)) } else { String::new() };
        let _ = writeln!(text, "all operators: {least}{}{proof}", seconds_text(report.seconds));
    }
    text
}

/// What is proven of a plan that takes so many seconds.
fn proof_text(taken: f64, proof: Proof) -> String {
    match proof {
        Proof::Unproven => "with no proof that there is no better plan".to_owned(),
        Proof::Optimal => "proven optimal".to_owned(),
        Proof::AtLeast { seconds } => {
            let gap = percent(1.0 - seconds / taken);
            format!("no plan takes less than {}, a gap of at most {gap}", seconds_text(seconds))
        }
    }
}

fn partition_text(text: &mut String, number: usize, partition: &PartitionReport, proof_of_all: Proof) {
    let points = partition.points.iter().map(|point| point_text(point.consumer, point.producer, point.materialized));
    let points = points_text(&points.collect::<Vec<_>>());
    let _ = writeln!(text, "partition {number}: {points}");
    let proof = match (partition.proof, proof_of_all) {
        // Dearer operators that merge may be worth it.
        (Proof::AtLeast { .. }, Proof::Optimal) => "proven optimal with what multi-aggregates merge".to_owned(),
        (proof, _) => proof_text(partition.seconds, proof),
    };
    let end = if partition.exhausted {
        format!(", ended at the limit: the plan is that of the {}", partition.found_by)
    } else {
        String::new()
    };
    let plans = match (partition.costed, partition.skipped) {
        (0, _) => String::new(),
        (costed, 0) => format!(", {} costed", counted(costed, "plan")),
        (costed, skipped) => format!(", {} costed, {skipped} skipped", counted(costed, "plan")),
    };
    let _ = writeln!(
        text,
        "  {}, {proof}; {} members, {} priced{plans}{end}",
        seconds_text(partition.seconds),
        partition.members.len(),
        counted(partition.priced, "operator"),
    );
}

/// An interesting point, with a mark where it is materialised.
pub(super) fn point_text(consumer: u32, producer: u32, is_materialized: bool) -> String {
    format!("{}{consumer}->{producer}", if is_materialized { "+" } else { "" })
}

/// Interesting points one after the other.
pub(super) fn points_text(points: &[String]) -> String {
    if points.is_empty() { "none".to_owned() } else { points.join(" ") }
}

fn fused_text(text: &mut String, operator: &OperatorReport) {
    let template = operator.template.map_or("", TemplateType::mnemonic);
    let _ = writeln!(text, "{template} roots: {} members: {}", list(&operator.roots), list(&operator.members));
    for (root, formula) in operator.roots.iter().zip(&operator.formulas) {
        let _ = writeln!(text, "  %{root} = {formula}");
    }
    if let Some(variant) = &operator.variant {
        let _ = writeln!(text, "  variant {variant}");
    }
    if let Some(reason) = &operator.rejected {
        let _ = writeln!(text, "  stays unfused: {reason}");
    }
    let _ = writeln!(text, "  reads {}; writes {}", transfers(&operator.reads), transfers(&operator.writes));
    if let Some(sparsity) = operator.exploits {
        let name = operator.reads.iter().find(|read| read.hop == sparsity.driver).map_or(String::new(), value);
        let _ = writeln!(text, "  skips the zeros of {name}: visits {} of the cells", percent(sparsity.share));
    }
    if let Some(schedule) = &operator.schedule {
        let _ = writeln!(text, "  {}", schedule_text(operator, schedule));
    }
    let _ = writeln!(text, "  {}", cost_text(operator));
}

/// How an operator will run: `runs over X by rows: 16 blocks, 16 private sums`.
fn schedule_text(operator: &OperatorReport, schedule: &ScheduleReport) -> String {
    let main = operator.reads.iter().find(|read| read.hop == schedule.main).map_or(String::new(), value);
    let empty = if schedule.skips_empty_rows { ", without empty rows" } else { "" };
    let strips = if schedule.strips > 1 { format!("{} strips, ", schedule.strips) } else { String::new() };
    let sums = if schedule.private_sums > 0 {
        format!(", {}", counted(schedule.private_sums, "private sum"))
    } else {
        String::new()
    };
    format!("runs over {main} by {}{empty}: {strips}{}{sums}", schedule.driver, counted(schedule.blocks, "block"))
}

fn basic_text(text: &mut String, dag: &HopDag, operator: &OperatorReport) {
    let root = operator.roots[0];
    let time = if operator.is_priced() {
        format!("{}, {}", seconds_text(operator.cost.seconds), deciding(&operator.cost))
    } else {
        "no price without sizes".to_owned()
    };
    let _ = writeln!(
        text,
        "  {} = {}: reads {}; writes {}; {time}",
        labelled(dag, root),
        operator.formulas[0],
        transfers(&operator.reads),
        transfers(&operator.writes),
    );
}

fn cost_text(operator: &OperatorReport) -> String {
    let cost = &operator.cost;
    format!(
        "{} = start {} + write {} + max(read {}, compute {} for {}) + {} of the shorter; {}",
        seconds_text(cost.seconds),
        seconds_text(cost.start),
        seconds_text(cost.write),
        seconds_text(cost.read),
        seconds_text(cost.compute),
        flops_text(operator.flops),
        seconds_text(cost.exposed),
        deciding(cost),
    )
}

/// The term that makes most of the cost.
fn deciding(cost: &CostReport) -> &'static str {
    if cost.start >= cost.write.max(cost.read).max(cost.compute) {
        "starting decides"
    } else if cost.write >= cost.read.max(cost.compute) {
        "writing decides"
    } else if cost.read >= cost.compute {
        "reading decides"
    } else {
        "computing decides"
    }
}

fn edge_text(dag: &HopDag, edge: &UnfusedEdge) -> String {
    let part = if edge.reader == edge.consumer { String::new() } else { format!(" (in {})", edge.reader) };
    format!("{}{part} reads {}: {}", labelled(dag, edge.consumer), labelled(dag, edge.producer), edge.sentence)
}

/// The reason of an edge as a sentence.
pub(crate) fn sentence(dag: &HopDag, edge: &UnfusedEdge) -> String {
    match &edge.reason {
        Reason::UnknownSize { hop } => format!("the size of {hop} is not known before it runs"),
        Reason::NoTemplate { conditions } => conditions_text(dag, edge, conditions),
        Reason::Limit { limit } => limit_text(*limit),
        Reason::ReadThrough => {
            let (product, transpose) = (labelled(dag, edge.consumer), labelled(dag, edge.producer));
            format!("outer operators read through {transpose}, but {product} is part of none")
        }
        Reason::NoOperator => {
            format!("no fused operator has a place for {} besides the rest of {}", edge.producer, edge.reader)
        }
        Reason::Dearer(comparison) => comparison_text(dag, edge, comparison, "would take"),
        Reason::AsDear(comparison) => comparison_text(dag, edge, comparison, "would take as long,"),
        Reason::NotConsidered(comparison) => {
            comparison_text(dag, edge, comparison, "was not considered by the search, and would take")
        }
    }
}

fn limit_text(limit: TemplateLimit) -> String {
    match limit {
        TemplateLimit::NarrowProduct { cols } => {
            format!("row operators take matrix products only where one side has fewer than {cols} columns")
        }
        TemplateLimit::Operands { count } => {
            format!("the plans of an operator decide about {count} operands, and others are as large")
        }
        TemplateLimit::StrictIeee => "exactly IEEE arithmetic lets no zero annihilate".to_owned(),
    }
}

/// The failed conditions, templates that fail the same one together.
fn conditions_text(dag: &HopDag, edge: &UnfusedEdge, conditions: &[TemplateCondition]) -> String {
    let (consumer, producer) = (labelled(dag, edge.consumer), labelled(dag, edge.producer));
    if conditions.iter().all(|condition| condition.fails == FailedCondition::Producer) {
        return format!("no template has a place for {producer}");
    }
    if conditions.iter().all(|c| matches!(c.fails, FailedCondition::Producer | FailedCondition::Consumer)) {
        let [without_consumer, without_producer] = [FailedCondition::Consumer, FailedCondition::Producer]
            .map(|fails| templates(conditions, fails).join(" and "));
        if without_producer.is_empty() {
            return format!("no template has a place for {consumer}");
        }
        return format!(
            "{without_consumer} operators have no place for {consumer}, {without_producer} ones none for {producer}"
        );
    }
    // A template without a place for either says nothing where another comes closer.
    let texts = [
        (FailedCondition::Closed, format!("operators end at {producer}")),
        (FailedCondition::Fuse, format!("operators do not grow from {producer} to {consumer}")),
        (FailedCondition::Merge, format!("operators do not merge {producer} into {consumer}")),
    ];
    let parts = texts.into_iter().filter_map(|(fails, text)| {
        let templates = templates(conditions, fails);
        (!templates.is_empty()).then(|| format!("{} {text}", templates.join(" and ")))
    });
    parts.collect::<Vec<_>>().join(", ")
}

fn templates(conditions: &[TemplateCondition], fails: FailedCondition) -> Vec<&'static str> {
    let failing = conditions.iter().filter(|condition| condition.fails == fails);
    failing.map(|condition| condition.template.mnemonic()).collect()
}

fn comparison_text(dag: &HopDag, edge: &UnfusedEdge, comparison: &Comparison, verb: &str) -> String {
    let chosen = seconds_text(comparison.chosen);
    let fused = match comparison.fused {
        None => "more than the machine can do".to_owned(),
        Some(fused) if seconds_text(fused) == chosen && fused > comparison.chosen => {
            format!("{} more than the {chosen} now", seconds_text(fused - comparison.chosen))
        }
        Some(fused) => format!("{} in place of {chosen}", seconds_text(fused)),
    };
    let mut text = format!("one {} operator of {} {verb} {fused}", comparison.template, list(&comparison.members));
    let effects: Vec<String> = comparison.effects.iter().map(|effect| effect_text(dag, edge, effect)).collect();
    if !effects.is_empty() {
        let _ = write!(text, ": {}", effects.join(", "));
    }
    text
}

fn effect_text(dag: &HopDag, edge: &UnfusedEdge, effect: &Effect) -> String {
    let producer = edge.producer;
    match effect {
        Effect::ComputedAgain { readers } if readers.is_empty() => {
            format!("{producer} would be computed again, since it is a result")
        }
        Effect::ComputedAgain { readers } => {
            let reads = if readers.len() == 1 { "reads" } else { "read" };
            format!("{producer} would be computed again, since {} {reads} it too", list(readers))
        }
        Effect::TemplateSwitch { from } => format!("{producer} would leave its {from} operator"),
        Effect::LosesSparsity { driver, share } => {
            let (driver, share) = (value_name(dag, HopId::from_u32(*driver)), percent(*share));
            format!("the zeros of {driver} would no longer be skipped ({share} of the cells are visited now)")
        }
        Effect::Materializes { hops } => format!("{} would be materialised", list(hops)),
        Effect::MultiAggregate { roots } => format!("the multi-aggregate of {} would grow", list(roots)),
    }
}

/// What the numbers of operators stand for, as the paper labels operators.
pub(crate) fn labelled(dag: &HopDag, id: u32) -> String {
    format!("{id} {}", dag[HopId::from_u32(id)].op.label())
}

fn value(transfer: &Transfer) -> String {
    transfer.name.clone().unwrap_or_else(|| format!("%{}", transfer.hop))
}

fn transfers(transfers: &[Transfer]) -> String {
    if transfers.is_empty() {
        return "nothing".to_owned();
    }
    let mut texts = Vec::with_capacity(transfers.len());
    for transfer in transfers {
        let bytes = transfer.bytes.map_or("of unknown size".to_owned(), |bytes| bytes_text(bytes as u64));
        texts.push(format!("{} {bytes}", value(transfer)));
    }
    texts.join(", ")
}

fn list(ids: &[u32]) -> String {
    ids.iter().map(u32::to_string).collect::<Vec<_>>().join(" ")
}

fn counted(number: u64, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// A share as people read it: `1.5 %`. A small one is not taken for none.
pub(crate) fn percent(share: f64) -> String {
    match 100.0 * share {
        percent if percent > 0.0 && percent < 0.001 => "less than 0.001 %".to_owned(),
        percent => format!("{} %", significant(percent)),
    }
}

/// A time as people read it: `27.1 ms`.
pub fn seconds_text(seconds: f64) -> String {
    const UNITS: [(f64, &str); 4] = [(1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")];
    let (scale, unit) = UNITS.into_iter().find(|(scale, _)| seconds >= *scale).unwrap_or(UNITS[3]);
    format!("{} {unit}", significant(seconds / scale))
}

fn flops_text(flops: f64) -> String {
    const UNITS: [(f64, &str); 4] = [(1e12, "TFLOP"), (1e9, "GFLOP"), (1e6, "MFLOP"), (1e3, "kFLOP")];
    let (scale, unit) = UNITS.into_iter().find(|(scale, _)| flops >= *scale).unwrap_or((1.0, "FLOP"));
    format!("{} {unit}", significant(flops / scale))
}

/// Three significant digits, or all before the point.
fn significant(number: f64) -> String {
    let decimals = match number.abs() {
        size if size >= 100.0 || size == 0.0 => 0,
        size if size >= 10.0 => 1,
        size if size >= 1.0 => 2,
        _ => 3,
    };
    let text = format!("{number:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}
