//! Memo tables: the paper's examples, brute force, and growth.

use super::*;
use crate::facts::TemplateLimits;
use crate::template::{self, TEMPLATES};
use crate::testing::{self, Dag};
use fuseline_ir::TemplateType;
use fuseline_ir::hop::{HopDag, HopOp};
use fuseline_ir::ops::{AggOp, BinaryOp, Direction, UnaryOp};
use std::sync::{Arc, Mutex};

fn memo(dag: &HopDag) -> MemoTable {
    explore(&Context::new(dag, &TemplateLimits::default()), TEMPLATES)
}

fn group(memo: &MemoTable, id: HopId) -> Vec<String> {
    let mut entries: Vec<String> = memo.entries(id).iter().map(ToString::to_string).collect();
    entries.sort();
    entries
}

/// P073, P074, P075.
#[test]
fn expression_2_has_the_papers_memo_table() {
    let (dag, groups) = testing::mlogreg();
    let memo = memo(&dag);
    assert_eq!(memo.groups().map(|(group, _)| group).collect::<Vec<_>>(), groups);
    let [product, range, q, sums, scaled, difference, transpose, last] = groups.map(HopId::as_u32);
    let mut expected =
        [format!("R(-1,{difference})"), format!("R({transpose},-1)"), format!("R({transpose},{difference})")];
    expected.sort();
    assert_eq!(group(&memo, groups[7]), expected);
    assert_eq!(last, transpose + 1);
    assert_eq!(group(&memo, groups[3]), ["C(8)".replace('8', &q.to_string()), "R(-1)".into(), format!("R({q})")]);
    assert_eq!(group(&memo, groups[0]), ["R(-1,-1)"]);
    assert_eq!(group(&memo, groups[1]), ["R(-1)"]);
    let all = |t: char, left: u32, right: u32| {
        ["-1,-1".to_owned(), format!("-1,{right}"), format!("{left},-1"), format!("{left},{right}")]
            .map(|inputs| format!("{t}({inputs})"))
    };
    let has = |id: HopId, entries: &[String]| entries.iter().all(|entry| group(&memo, id).contains(entry));
    assert!(has(groups[2], &all('R', range, product)));
    assert!(has(groups[5], &all('R', q, scaled)));
    assert_eq!(sums, q + 1);
}

/// P071: a reference implies a compatible plan in the group.
fn assert_references_are_compatible(memo: &MemoTable) {
    for (_, entries) in memo.groups() {
        for entry in entries {
            assert!(entry.references().all(|group| has_compatible(memo, group, template::of(entry.ttype))), "{entry}");
        }
    }
}

/// P085: the product opens a Row operator and merges the Cell operator on its right.
#[test]
fn an_opened_product_merges_cells() {
    let mut d = Dag::default();
    let (x, y, z) = (d.read("X", 1000, 100), d.read("y", 1000, 1), d.read("z", 1000, 1));
    let yz = d.mult(y, z);
    let xt = d.t(x);
    let product = d.matmul(xt, yz);
    d.write("o", product);
    let memo = memo(&d.dag);
    assert_eq!(group(&memo, yz), ["C(-1,-1)"]);
    assert!(group(&memo, product).contains(&format!("R({},{})", xt.as_u32(), yz.as_u32())));
    assert!(group(&memo, product).contains(&format!("R(-1,{})", yz.as_u32())));
}

/// P088: closed plans of one operator are dropped.
#[test]
fn a_lone_aggregate_has_no_group() {
    let mut d = Dag::default();
    let x = d.read("X", 1000, 100);
    let sums = d.op((AggOp::Sum, Direction::Col), &[x]);
    d.write("o", sums);
    assert_eq!(memo(&d.dag).groups().count(), 0);
}

#[test]
fn scalars_unknown_sizes_and_dead_operators_have_no_groups() {
    let mut d = Dag::default();
    let x = d.dag.read_matrix("X", fuseline_ir::SizeInfo::UNKNOWN);
    let s = d.dag.read_scalar("s");
    let unknown = d.mult(x, s);
    let scalar = d.mult(s, s);
    let y = d.read("Y", 10, 10);
    let _dead = d.mult(y, y);
    d.write("a", unknown);
    d.write("b", scalar);
    assert_eq!(memo(&d.dag).groups().count(), 0);
}

/// P089: R(10,-1) is dominated; R(-1,8) is not, since group 6 has two consumers.
#[test]
fn dominated_plans_are_pruned_only_over_operators_that_are_consumed_once() {
    let (dag, groups) = testing::mlogreg();
    let limits = TemplateLimits::default();
    let context = Context::new(&dag, &limits);
    let mut memo = memo(&dag);
    prune_dominated(&context, &mut memo);
    let [_, _, q, _, scaled, difference, transpose, _] = groups.map(HopId::as_u32);
    assert_eq!(group(&memo, groups[7]), [format!("R({transpose},{difference})")]);
    let entries = group(&memo, groups[5]);
    assert!(entries.contains(&format!("R({q},{scaled})")) && entries.contains(&format!("R({q},-1)")));
    assert!(!entries.contains(&format!("R(-1,{scaled})")));
}

/// What the explorer asks a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Open,
    Fuse,
    Merge,
    Close,
}

/// A template that notes what it is asked, and about which operator.
#[derive(Debug)]
struct Noting {
    template: &'static dyn Template,
    notes: Arc<Mutex<Vec<(HopId, Step)>>>,
}

impl Noting {
    fn note(&self, hop: HopId, step: Step) {
        self.notes.lock().expect("no thread panics").push((hop, step));
    }
}

impl Template for Noting {
    fn ttype(&self) -> TemplateType {
        self.template.ttype()
    }

    fn open(&self, context: &Context<'_>, hop: HopId) -> bool {
        self.note(hop, Step::Open);
        self.template.open(context, hop)
    }

    fn fuse(&self, context: &Context<'_>, hop: HopId, input: HopId) -> bool {
        self.note(hop, Step::Fuse);
        self.template.fuse(context, hop, input)
    }

    fn merge(&self, context: &Context<'_>, hop: HopId, input: HopId) -> bool {
        self.note(hop, Step::Merge);
        self.template.merge(context, hop, input)
    }

    fn close(&self, context: &Context<'_>, hop: HopId) -> CloseStatus {
        self.note(hop, Step::Close);
        self.template.close(context, hop)
    }
}

/// P083, P084: operators are explored once each, after their inputs. Of one, all templates are asked whether they open, with
/// the plans that merge, then what fuses, with the plans that merge, then how what there is closes.
#[test]
fn templates_are_asked_in_the_order_of_the_algorithm() {
    let (dag, groups) = testing::mlogreg();
    let notes = Arc::new(Mutex::new(Vec::new()));
    let noting: Vec<Noting> = TEMPLATES.iter().map(|&template| Noting { template, notes: notes.clone() }).collect();
    let templates: Vec<&dyn Template> = noting.iter().map(|noting| noting as &dyn Template).collect();
    explore(&Context::new(&dag, &TemplateLimits::default()), &templates);
    let notes = notes.lock().expect("no thread panics");
    let by_operator: Vec<&[(HopId, Step)]> = notes.chunk_by(|one, other| one.0 == other.0).collect();
    let order: Vec<HopId> = by_operator.iter().map(|notes| notes[0].0).collect();
    assert_eq!(order, dag.hops.keys().collect::<Vec<_>>());
    for notes in by_operator {
        let steps: Vec<Step> = notes.iter().map(|&(_, step)| step).collect();
        let last = |sought| steps.iter().rposition(|&step| step == sought);
        let first = |sought| steps.iter().position(|&step| step == sought).unwrap_or(steps.len());
        assert_eq!(steps.iter().filter(|&&step| step == Step::Open).count(), TEMPLATES.len());
        assert!(last(Step::Open) < Some(first(Step::Fuse)), "{steps:?}");
        assert!(last(Step::Fuse).max(last(Step::Merge)) < Some(first(Step::Close)), "{steps:?}");
    }
    let of = |id: HopId| notes.iter().filter(|note| note.0 == id).map(|note| note.1).collect::<Vec<_>>();
    // The product with t(X) opens a Row operator, which may merge both inputs; each of these may be fused, too, and merge
    // the other one.
    use Step::{Close, Fuse, Merge, Open};
    assert_eq!(of(groups[7]), [Open, Merge, Merge, Open, Open, Fuse, Merge, Fuse, Merge, Fuse, Close]);
}

/// P078: a template that the explorer has never heard of.
#[test]
fn a_toy_template_needs_no_change_of_the_explorer() {
    #[derive(Debug)]
    struct Exponentials;
    impl Template for Exponentials {
        fn ttype(&self) -> TemplateType {
            TemplateType::MAgg
        }
        fn open(&self, context: &Context<'_>, hop: HopId) -> bool {
            context.hop(hop).op == HopOp::Unary(UnaryOp::Exp)
        }
        fn fuse(&self, context: &Context<'_>, hop: HopId, _: HopId) -> bool {
            self.open(context, hop)
        }
        fn merge(&self, _: &Context<'_>, _: HopId, _: HopId) -> bool {
            false
        }
        fn close(&self, _: &Context<'_>, _: HopId) -> CloseStatus {
            CloseStatus::OpenValid
        }
    }
    let mut d = Dag::default();
    let x = d.read("X", 10, 10);
    let one = d.op(UnaryOp::Exp, &[x]);
    let two = d.op(UnaryOp::Exp, &[one]);
    d.write("o", two);
    let memo = explore(&Context::new(&d.dag, &TemplateLimits::default()), &[&Exponentials]);
    assert_eq!(group(&memo, two), ["M(-1)".to_owned(), format!("M({})", one.as_u32())]);
}

/// P091, P092: one pass without recursion over a long chain; the number of entries per operator is bounded.
#[test]
fn exploration_of_a_long_chain_is_linear() {
    let mut d = Dag::default();
    let x = d.read("X", 1000, 100);
    let mut last = x;
    for _ in 0..100_000 {
        last = d.plus(last, x);
    }
    d.write("o", last);
    let memo = memo(&d.dag);
    assert_eq!(memo.groups().count(), 100_000);
    assert!(memo.groups().all(|(_, entries)| entries.len() <= 4 * TEMPLATES.len()));
}

/// P094: on random element-wise DAGs the Cell plans of an operator are exactly all subsets of its fusable inputs.
#[test]
fn cell_plans_equal_brute_force() {
    let mut state = 7_u64;
    let mut random = |bound: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % bound
    };
    for _ in 0..200 {
        let mut d = Dag::default();
        let mut hops = vec![d.read("X", 30, 20), d.read("y", 30, 1), d.read("Z", 30, 20)];
        for _ in 0..10 {
            let (left, right) = (hops[random(hops.len())], hops[random(hops.len())]);
            let op = [BinaryOp::Plus, BinaryOp::Mult, BinaryOp::Less][random(3)];
            hops.push(match random(4) {
                0 => d.op(UnaryOp::Exp, &[left]),
                1 => d.op((AggOp::Sum, Direction::Row), &[left]),
                _ => d.op(op, &[left, right]),
            });
        }
        for (number, &id) in hops.iter().enumerate() {
            d.write(&number.to_string(), id);
        }
        let memo = memo(&d.dag);
        assert_references_are_compatible(&memo);
        for &id in &hops[3..] {
            let hop = &d.dag[id];
            let is_open = |input: HopId| matches!(d.dag[input].op, HopOp::Unary(_) | HopOp::Binary(_));
            let mut distinct = hop.inputs.to_vec();
            distinct.dedup();
            let fusable = distinct.iter().filter(|&&input| is_open(input)).count();
            let is_aggregate = matches!(hop.op, HopOp::AggUnary(..));
            let expected = (1_usize << fusable) - usize::from(is_aggregate);
            let cells = memo.entries(id).iter().filter(|entry| entry.ttype == TemplateType::Cell).count();
            assert_eq!(cells, expected, "{} of {}", id, d.dag);
        }
    }
}
