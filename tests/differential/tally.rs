//! What was run: counts per value of every axis of the tests, and the share of cells about which plans may disagree.

use super::configuration::{Configuration, Plan, THREADS, cpus};
use super::leaves::{DENSITIES, FORMATS, ValueClass};
use fuseline_ir::hop::{HopOp, NaryOp, ReorgOp};
use fuseline_ir::ops::{AggOp, BinaryOp, Direction, TernaryOp, UnaryOp};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Counts by axis and value.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) cases: u64,
    pub(crate) exact_cases: u64,
    pub(crate) llvm_cases: u64,
    pub(crate) executions: u64,
    axes: BTreeMap<&'static str, BTreeMap<String, u64>>,
    /// Operators per class in cases of finite values, and the sum of their shares of tainted cells.
    taint: BTreeMap<String, (u64, f64)>,
}

/// A value of an axis must be drawn this share of what it would get if all values were alike.
const LEAST_SHARE: f64 = 0.01;
/// The most that may be open of the results of a class of operators.
const MOST_TAINT: f64 = 0.05;
/// Operators of a class from which its share of tainted cells means something.
const ENOUGH: u64 = 50;

impl Tally {
    pub(crate) fn count(&mut self, axis: &'static str, value: impl Into<String>) {
        self.add(axis, value, 1);
    }

    pub(crate) fn add(&mut self, axis: &'static str, value: impl Into<String>, count: u64) {
        *self.axes.entry(axis).or_default().entry(value.into()).or_default() += count;
    }

    /// An operator with the share of its cells that are tainted.
    pub(crate) fn operator(&mut self, op: &HopOp, tainted_share: Option<f64>) {
        let name = op.to_string();
        if let Some(share) = tainted_share {
            let (count, sum) = self.taint.entry(name.clone()).or_default();
            *count += 1;
            *sum += share;
        }
        self.count("operator", name);
    }

    pub(crate) fn execution(&mut self, configuration: Configuration) {
        let Configuration { plan, rules, tier } = configuration;
        self.executions += 1;
        self.count("plan", plan.name());
        self.count("arithmetic", if rules.strict_ieee { "strict" } else { "default" });
        self.count("rewrites", if rules.rewrites { "on" } else { "off" });
        self.count("backend", format!("{:?}", tier.backend));
        self.count("cpu", format!("{:?}", tier.cpu));
        self.count("threads", tier.threads.to_string());
        if tier.backend != fuseline::BackendKind::Interp {
            self.count("primitives", format!("{:?}", tier.primitives));
            self.count("llvm", format!("{:?}", tier.llvm));
        }
    }

    /// How often a value of an axis was met.
    pub(crate) fn count_of(&self, axis: &str, value: &str) -> u64 {
        self.axes.get(axis).and_then(|values| values.get(value)).copied().unwrap_or(0)
    }

    pub(crate) fn merge(&mut self, other: Tally) {
        self.cases += other.cases;
        self.exact_cases += other.exact_cases;
        self.llvm_cases += other.llvm_cases;
        self.executions += other.executions;
        for (axis, values) in other.axes {
            for (value, count) in values {
                self.add(axis, value, count);
            }
        }
        for (name, (count, sum)) in other.taint {
            let own = self.taint.entry(name).or_default();
            own.0 += count;
            own.1 += sum;
        }
    }

    /// Everything that was drawn too rarely, and every class of operators of which too much is open.
    pub(crate) fn complaints(&self) -> Vec<String> {
        let mut complaints = Vec::new();
        for (axis, values) in wanted(self.llvm_cases > 0) {
            let counts = self.axes.get(axis);
            let count = |value: &String| counts.and_then(|counts| counts.get(value)).copied().unwrap_or(0);
            let total: u64 = counts.map_or(0, |counts| counts.values().sum());
            let least = LEAST_SHARE * total as f64 / values.len() as f64;
            let rare = values.iter().filter(|value| (count(value) as f64) < least || count(value) == 0);
            complaints.extend(rare.map(|value| format!("{axis} {value}: {} of {total}", count(value))));
        }
        for (name, (count, sum)) in &self.taint {
            let share = sum / *count as f64;
            if *count >= ENOUGH && share > MOST_TAINT {
                complaints.push(format!("{name}: {:.1} % of the cells are tainted", 100.0 * share));
            }
        }
        if self.exact_cases * 5 < self.cases * 3 {
            complaints.push(format!("only {} of {} cases are exact", self.exact_cases, self.cases));
        }
        complaints
    }

    /// The counts, one axis per line.
    pub(crate) fn text(&self) -> String {
        let mut text = format!(
            "{} cases ({} exact, {} on LLVM), {} executions\n",
            self.cases, self.exact_cases, self.llvm_cases, self.executions
        );
        for (axis, values) in &self.axes {
            let counts: Vec<String> = values.iter().map(|(value, count)| format!("{value}={count}")).collect();
            let _ = writeln!(text, "  {axis}: {}", counts.join(" "));
        }
        text
    }

    /// The counts of the axes on one line.
    pub(crate) fn line(&self) -> String {
        let values = self.axes.iter().flat_map(|(axis, values)| {
            values.iter().map(move |(value, count)| format!("{axis}:{value}={count}").replace(' ', "-"))
        });
        values.collect::<Vec<_>>().join(" ")
    }
}

/// The axes with the values that must be met.
fn wanted(has_llvm: bool) -> Vec<(&'static str, Vec<String>)> {
    let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    let mut wanted = vec![
        ("plan", names(&Plan::NAMES)),
        ("class", ValueClass::names().map(str::to_owned).collect()),
        ("format", names(&FORMATS)),
        ("density", names(&DENSITIES)),
        ("threads", THREADS.iter().map(ToString::to_string).collect()),
        ("cpu", cpus().iter().map(|cpu| format!("{cpu:?}")).collect()),
        ("arithmetic", names(&["default", "strict"])),
        ("rewrites", names(&["on", "off"])),
        ("template", names(&["cell", "row", "magg", "outer"])),
        ("operator", operators()),
    ];
    if has_llvm {
        wanted.push(("backend", names(&["Interp", "Llvm", "Tiered"])));
        wanted.push(("primitives", names(&["Auto", "Shared", "Inlined"])));
        wanted.push(("llvm", names(&["Direct", "O3"])));
    }
    wanted
}

/// Every operator that the oracle evaluates and templates may meet.
fn operators() -> Vec<String> {
    let mut operators: Vec<HopOp> = Vec::new();
    operators.extend(UnaryOp::ALL.iter().map(|&op| HopOp::Unary(op)));
    operators.extend(BinaryOp::ALL.iter().map(|&op| HopOp::Binary(op)));
    operators.extend(TernaryOp::ALL.iter().map(|&op| HopOp::Ternary(op)));
    operators.extend(NaryOp::ALL.iter().map(|&op| HopOp::Nary(op)));
    operators.extend(ReorgOp::ALL.iter().map(|&op| HopOp::Reorg(op)));
    for &op in AggOp::ALL {
        operators.extend(Direction::ALL.iter().map(|&direction| HopOp::AggUnary(op, direction)));
        operators.extend(op.is_cumulative().then_some(HopOp::Cumulative(op)));
    }
    operators.extend([HopOp::MatMul, HopOp::Index, HopOp::LeftIndex]);
    let mut names: Vec<String> = operators.iter().map(ToString::to_string).collect();
    let others = ["outer.mult", "seq", "matrix", "expand", "order", "removeEmpty", "table", "rowIndexMax"];
    names.extend(others.map(str::to_owned));
    names
}
