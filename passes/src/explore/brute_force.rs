//! Exploration against an enumeration of all partial fusion plans that follows from the definition of the conditions
//! alone (section 3.2), and its growth with the size of the DAG.

use super::*;
use crate::facts::TemplateLimits;
use crate::hops::over_windows;
use crate::template::TEMPLATES;
use crate::testing::{Dag, Random, random_dag};
use fuseline_ir::TemplateType;
use fuseline_ir::hop::{HopDag, NaryOp};
use fuseline_ir::ops::{AggOp, Direction, UnaryOp};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};

/// A set of fused inputs with the status that its template closes with.
type Plans = BTreeSet<(Vec<HopId>, CloseStatus)>;

/// All plans of a DAG by definition, by operator and template.
///
/// A set of distinct inputs is a plan of a template at an operator if the template may start there and merges all of
/// them, or continues an open plan at one of them and merges the others. It is kept if the template is valid or open
/// after the operator, and if it is open or fuses anything.
struct Definition<'a> {
    context: &'a Context<'a>,
    plans: BTreeMap<(HopId, TemplateType), Plans>,
}

impl<'a> Definition<'a> {
    fn of(context: &'a Context<'a>) -> Self {
        let mut definition = Definition { context, plans: BTreeMap::new() };
        for id in context.dag.hops.keys().filter(|&id| context.is_live(id)) {
            for template in TEMPLATES {
                let plans = definition.plans_at(id, *template);
                definition.plans.insert((id, template.ttype()), plans);
            }
        }
        definition
    }

    fn is_open(&self, id: HopId, ttype: TemplateType) -> bool {
        self.plans.get(&(id, ttype)).is_some_and(|plans| plans.iter().any(|(_, status)| status.is_open()))
    }

    fn plans_at(&self, id: HopId, template: &dyn Template) -> Plans {
        let (context, ttype) = (self.context, template.ttype());
        let hop = context.hop(id);
        let considered = match hop.op {
            HopOp::Index => 1,
            HopOp::DataGen(_) => 0,
            HopOp::Parameterized { .. } if over_windows(context.dag, id).is_some() => 1,
            _ => hop.inputs.len(),
        };
        let inputs: BTreeSet<HopId> = hop.inputs[..considered].iter().copied().collect();
        let inputs: Vec<HopId> = inputs.into_iter().collect();
        let parts: Vec<TemplateType> =
            TEMPLATES.iter().map(|part| part.ttype()).filter(|&part| template.continues_with(part)).collect();
        let merges =
            |input: HopId| parts.iter().any(|&part| self.is_open(input, part)) && template.merge(context, id, input);
        let fuses = |input: HopId| self.is_open(input, ttype) && template.fuse(context, id, input);
        let status = template.close(context, id);
        let mut plans = Plans::new();
        for subset in 0..1_u32 << inputs.len() {
            let fused: Vec<HopId> = inputs
                .iter()
                .enumerate()
                .filter(|(place, _)| subset >> place & 1 == 1)
                .map(|(_, &input)| input)
                .collect();
            let others_merge = |one: HopId| fused.iter().all(|&input| input == one || merges(input));
            let starts = template.open(context, id) && fused.iter().all(|&input| merges(input));
            let continues = fused.iter().any(|&input| fuses(input) && others_merge(input));
            let is_kept = status != CloseStatus::ClosedInvalid && (status.is_open() || !fused.is_empty());
            if (starts || continues) && is_kept {
                plans.insert((fused, status));
            }
        }
        plans
    }
}

fn explored(memo: &MemoTable, id: HopId, ttype: TemplateType) -> Plans {
    let entries = memo.entries(id).iter().filter(|entry| entry.ttype == ttype);
    let references = |entry: &MemoEntry| entry.references().collect::<BTreeSet<_>>().into_iter().collect();
    entries.map(|entry| (references(entry), entry.close)).collect()
}

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// P094: the explored plans are those that follow from the conditions, on random DAGs of up to ten operators, also under
/// strict IEEE semantics and without lower limits on sizes. `FUSELINE_SEED=N` starts at another seed, `FUSELINE_CASES=N`
/// checks more.
#[test]
fn explored_plans_equal_brute_force() {
    let (first, cases) = (variable("FUSELINE_SEED").unwrap_or(0), variable("FUSELINE_CASES").unwrap_or(2_000));
    let (mut plans, mut templates) = (0, BTreeSet::new());
    for seed in first..first + cases {
        let mut random = Random(seed);
        let operations = 1 + random.below(10);
        let dag = random_dag(&mut random, operations);
        let limits = TemplateLimits { strict_ieee: seed % 3 == 2, ..TemplateLimits::default() };
        let context = Context::new(&dag, &limits);
        let memo = explore(&context, TEMPLATES);
        let definition = Definition::of(&context);
        for (&(id, ttype), expected) in &definition.plans {
            let found = explored(&memo, id, ttype);
            assert_eq!(&found, expected, "FUSELINE_SEED={seed} FUSELINE_CASES=1: {ttype} at {id} of {dag}");
            plans += found.len() as u64;
            templates.extend(Some(ttype).filter(|_| !found.is_empty()));
        }
        let all: usize = memo.groups().map(|(_, entries)| entries.len()).sum();
        let defined: usize = definition.plans.values().map(BTreeSet::len).sum();
        assert_eq!(all, defined, "FUSELINE_SEED={seed} FUSELINE_CASES=1: entries twice, or of other templates");
    }
    if cases >= 2_000 {
        assert!(plans > 3 * cases && templates.len() == TEMPLATES.len(), "{plans} plans of {templates:?}");
    }
}

/// A template that counts how often its conditions are asked.
#[derive(Debug)]
struct Counting {
    template: &'static dyn Template,
    probes: AtomicU64,
}

impl Counting {
    fn count(&self) {
        self.probes.fetch_add(1, Ordering::Relaxed);
    }
}

impl Template for Counting {
    fn ttype(&self) -> TemplateType {
        self.template.ttype()
    }

    fn open(&self, context: &Context<'_>, hop: HopId) -> bool {
        self.count();
        self.template.open(context, hop)
    }

    fn fuse(&self, context: &Context<'_>, hop: HopId, input: HopId) -> bool {
        self.count();
        self.template.fuse(context, hop, input)
    }

    fn merge(&self, context: &Context<'_>, hop: HopId, input: HopId) -> bool {
        self.count();
        self.template.merge(context, hop, input)
    }

    fn close(&self, context: &Context<'_>, hop: HopId) -> CloseStatus {
        self.count();
        self.template.close(context, hop)
    }
}

/// Condition probes and entries of an exploration.
fn work(dag: &HopDag) -> (u64, u64) {
    let counting: Vec<Counting> =
        TEMPLATES.iter().map(|&template| Counting { template, probes: AtomicU64::new(0) }).collect();
    let templates: Vec<&dyn Template> = counting.iter().map(|counting| counting as &dyn Template).collect();
    let memo = explore(&Context::new(dag, &TemplateLimits::default()), &templates);
    let probes = counting.iter().map(|counting| counting.probes.load(Ordering::Relaxed)).sum();
    (probes, memo.groups().map(|(_, entries)| entries.len() as u64).sum())
}

/// One operator after the other.
fn chain(operators: usize) -> HopDag {
    let mut d = Dag::default();
    let x = d.sparse("X", 1000, 100, 1000);
    let mut last = x;
    for _ in 0..operators {
        last = d.mult(last, x);
    }
    d.write("o", last);
    d.dag
}

/// One operator that many read, each for an output of its own.
fn fan(operators: usize) -> HopDag {
    let mut d = Dag::default();
    let x = d.read("X", 1000, 100);
    let shared = d.op(UnaryOp::Exp, &[x]);
    for number in 1..operators {
        let sums = d.op((AggOp::Sum, Direction::Row), &[shared]);
        d.dag.outputs.push(fuseline_ir::hop::HopOutput { name: format!("o{number}"), hop: sums });
    }
    d.dag
}

/// One operator of many inputs.
fn collector(operators: usize) -> HopDag {
    let mut d = Dag::default();
    let x = d.read("X", 1000, 100);
    let inputs: Vec<HopId> = (1..operators).map(|_| d.op(UnaryOp::Exp, &[x])).collect();
    let all = d.op(HopOp::Nary(NaryOp::Plus), &inputs);
    d.write("o", all);
    d.dag
}

/// Values that are read twice each: `2^n` ways from the first operator to the last.
fn diamonds(operators: usize) -> HopDag {
    let mut d = Dag::default();
    let mut last = d.read("X", 1000, 100);
    for _ in 0..operators / 3 {
        let (left, right) = (d.op(UnaryOp::Exp, &[last]), d.op(UnaryOp::Abs, &[last]));
        last = d.plus(left, right);
    }
    d.write("o", last);
    d.dag
}

/// P091, P092: probes and entries grow with the number of operators and not faster, whatever the shape.
#[test]
fn exploration_is_linear() {
    for (name, shape) in
        [("chain", chain as fn(usize) -> HopDag), ("fan", fan), ("collector", collector), ("diamonds", diamonds)]
    {
        let (small, large) = (work(&shape(999)), work(&shape(99_999)));
        assert!(small.0 > 999, "{name}: {small:?}");
        // A hundred times as many operators, up to what the first and the last ones lack.
        assert!(large.0 <= 101 * small.0 && large.1 <= 101 * small.1, "{name}: {small:?}, {large:?}");
        assert!(large.0 <= 40 * 99_999 && large.1 <= 12 * 99_999, "{name}: {large:?}");
    }
}
