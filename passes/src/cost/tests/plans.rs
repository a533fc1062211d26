//! Plans that constraints of memory and of a cluster decide.

use super::super::*;
use crate::explore::explore;
use crate::facts::TemplateLimits;
use crate::machine::{Bandwidth, Cluster, Machine};
use crate::select::{Enumeration, SearchLimits, SelectPolicy, select};
use crate::template::TEMPLATES;
use crate::testing::Dag;
use fuseline_ir::hop::{FusionCover, HopDag};

/// Of 32 GB/s and 10 GFLOP/s, with this memory budget and cluster.
fn model(budget: f64, cluster: Option<Cluster>) -> CostModel {
    let machine = Machine::plain(Bandwidth { read: 32e9, write: 16e9 }, 10e9);
    CostModel::new(Machine { memory_budget: Some(budget), cluster, ..machine })
}

/// The covers that a way of enumeration chooses.
fn covers(dag: &HopDag, model: &CostModel, enumeration: Enumeration) -> Vec<FusionCover> {
    let limits = TemplateLimits::default();
    let context = Context::new(dag, &limits);
    let memo = explore(&context, TEMPLATES);
    let search_limits = SearchLimits { enumeration, ..SearchLimits::default() };
    select(&context, &memo, SelectPolicy::CostBased, model, &search_limits).covers
}

/// Whether the plan has an operator in a fused one, which every way of enumeration agrees on.
#[track_caller]
fn fuses(dag: &HopDag, model: &CostModel, id: HopId) -> bool {
    let fuses = |enumeration| covers(dag, model, enumeration).iter().any(|cover| cover.members.contains(&id));
    let exact = fuses(Enumeration::Exact);
    for &other in Enumeration::ALL {
        assert_eq!(fuses(other), exact, "{other:?}");
    }
    exact
}

/// `sum(X * Y * Z)` and `sum(X * Y * W)` of 0.8 MB each; gives `X * Y`.
fn shared_product() -> (HopDag, HopId) {
    let mut d = Dag::default();
    let [x, y, z, w] = ["X", "Y", "Z", "W"].map(|name| d.read(name, 1000, 100));
    let xy = d.mult(x, y);
    for (name, factor) in [("a", z), ("b", w)] {
        let product = d.mult(xy, factor);
        let sum = d.sum(product);
        d.write(name, sum);
    }
    (d.dag, xy)
}

/// P096: within the budget both sums recompute the product; below it they read it.
#[test]
fn the_memory_budget_changes_the_plan() {
    let (dag, xy) = shared_product();
    assert!(fuses(&dag, &model(3.3e6, None), xy));
    let tight = model(2.4e6, None);
    assert!(!fuses(&dag, &tight, xy));
    let limits = TemplateLimits::default();
    let context = Context::new(&dag, &limits);
    let constrained = covers(&dag, &tight, Enumeration::Exact);
    assert!(!constrained.is_empty());
    assert!(constrained.iter().all(|cover| tight.cover_seconds(&context, cover).is_finite()));
}

/// P098: the input that fusing the product adds moves the sums to the cluster. A slow one is avoided, a fast one used.
#[test]
fn one_more_input_makes_an_operator_distributed() {
    let (dag, xy) = shared_product();
    let slow = Cluster { start: 1.0, ..Cluster::for_tests() };
    let fast = Cluster { read_bandwidth: 1e12, broadcast_bandwidth: 1e12, ..Cluster::for_tests() };
    assert!(fuses(&dag, &model(3.3e6, Some(slow.clone())), xy));
    assert!(!fuses(&dag, &model(2.4e6, Some(slow)), xy));
    assert!(fuses(&dag, &model(2.4e6, Some(fast)), xy));
}

/// `t(X) %*% (X %*% v)` over a matrix of so many columns.
fn gram_product(cols: u64) -> (HopDag, HopId) {
    let mut d = Dag::default();
    let (x, v) = (d.read("X", 1_000_000, cols), d.read("v", cols, 1));
    let xv = d.matmul(x, v);
    let xt = d.t(x);
    let product = d.matmul(xt, xv);
    d.write("g", product);
    (d.dag, xv)
}

/// P097: rows in several blocks cannot be read as a whole by workers; on this machine they can.
#[test]
fn row_operators_need_rows_in_one_block() {
    let is_fused = |cols: u64, budget: f64| {
        let (dag, xv) = gram_product(cols);
        fuses(&dag, &model(budget, Some(Cluster::for_tests())), xv)
    };
    assert_eq!(Cluster::for_tests().block_size, 1000);
    assert!(is_fused(1000, 1e9));
    assert!(!is_fused(1001, 1e9));
    assert!(is_fused(1001, 1e10));
}

/// P143: what no feasible operator contains leaves the memo table before the search.
#[test]
fn impossible_row_entries_are_pruned() {
    let has_row_entries = |cols: u64, budget: f64| {
        let (dag, xv) = gram_product(cols);
        let limits = TemplateLimits::default();
        let context = Context::new(&dag, &limits);
        let mut memo = explore(&context, TEMPLATES);
        prune_impossible(&context, &model(budget, Some(Cluster::for_tests())), &mut memo);
        memo.entries(xv).iter().any(|entry| entry.ttype == TemplateType::Row)
    };
    assert!(has_row_entries(1000, 1e9));
    assert!(!has_row_entries(1001, 1e9));
    assert!(has_row_entries(1001, 1e10));
}

/// P125: two distributed sums use `u * v`. Where these vectors are small both compute it; where broadcasts take longer
/// than the multiplication on the driver, the product is computed there and broadcast instead of its factors.
#[test]
fn broadcasts_change_the_plan_with_the_size_of_the_vector() {
    let is_recomputed = |rows: u64, cols: u64| {
        let mut d = Dag::default();
        let [x, z] = ["X", "Z"].map(|name| d.read(name, rows, cols));
        let [u, v] = ["u", "v"].map(|name| d.read(name, rows, 1));
        let uv = d.mult(u, v);
        for (name, matrix) in [("a", x), ("b", z)] {
            let product = d.mult(matrix, uv);
            let sum = d.sum(product);
            d.write(name, sum);
        }
        let mut model = model(1e9, Some(Cluster::for_tests()));
        model.machine.start.basic = 2e-6;
        fuses(&d.dag, &model, uv)
    };
    assert!(is_recomputed(10, 100_000_000));
    assert!(!is_recomputed(1_000_000, 1000));
}

/// With every operator beyond the budget there is no feasible plan; selection still ends with one.
#[test]
fn a_hopeless_budget_gives_some_plan() {
    let (dag, _) = shared_product();
    for &enumeration in Enumeration::ALL {
        covers(&dag, &model(1.0, None), enumeration);
    }
}

/// A sketch tells how sparse a product is, and with it what exploits its zeros costs.
#[test]
fn sketches_change_costs() {
    use crate::sketch::{InputSketches, Sketch, SparsityEstimates};
    use std::sync::Arc;
    let mut d = Dag::default();
    let x = d.sparse("X", 2000, 2000, 2000);
    let y = d.read("Y", 2000, 2000);
    let z = d.read("Z", 2000, 2000);
    let xt = d.t(x);
    let gram = d.matmul(xt, x);
    let weighted = d.mult(gram, y);
    let total = d.mult(weighted, z);
    let sum = d.sum(total);
    d.write("s", sum);
    let limits = TemplateLimits::default();
    let seconds = |inputs: &InputSketches| {
        let context = Context::with_estimates(&d.dag, &limits, SparsityEstimates::new(&d.dag, inputs));
        let members = vec![weighted, total, sum].into();
        let (roots, inputs) = (vec![sum].into(), vec![y, z, gram].into());
        let operator = Operator { template: Some(TemplateType::Cell), roots, members, inputs };
        CostModel::default().operator_seconds(&context, &operator)
    };
    let structured = |sketch: Sketch| InputSketches::from([("X".to_owned(), Arc::new(sketch))]);
    // A diagonal gives 2000 non-zeros, a full row 4 million.
    let diagonal = structured(Sketch::exact(vec![1.0; 2000], vec![1.0; 2000]));
    let mut rows = vec![0.0; 2000];
    rows[0] = 2000.0;
    let full_row = structured(Sketch::exact(rows, vec![1.0; 2000]));
    assert!(seconds(&diagonal) * 20.0 < seconds(&full_row), "{} {}", seconds(&diagonal), seconds(&full_row));
}
