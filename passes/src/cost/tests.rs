//! Costs against hand-computed ones.

use super::*;
use crate::template::TemplateLimits;
use crate::testing::{self, Dag};

fn operator(template: Option<TemplateType>, members: &[HopId], inputs: &[HopId]) -> Operator {
    let root = *members.last().expect("an operator has members");
    Operator { template, root, members: members.to_vec(), inputs: inputs.to_vec() }
}

/// P112, P114 to P116, P119: a fused operator reads each distinct input once and writes its output alone.
#[test]
fn fused_operators_save_intermediates() {
    let (dag, [xy, xyz, sum]) = testing::sum_of_products();
    let limits = TemplateLimits::default();
    let context = Context::new(&dag, &limits);
    let [x, y, z] = [0, 1, 2].map(HopId::from_u32);
    let fused = cost_vector(&context, &operator(Some(TemplateType::Cell), &[xy, xyz, sum], &[x, y, z]));
    assert_eq!(fused, CostVector { output: 8.0, compute: 3e5, input: 3.0 * 8e5 });
    let basic = cost_vector(&context, &operator(None, &[xy], &[x, y]));
    assert_eq!(basic, CostVector { output: 8e5, compute: 1e5, input: 2.0 * 8e5 });
}

#[test]
fn time_is_write_and_the_longer_of_read_and_compute() {
    let machine = Machine { read_bandwidth: 10.0, write_bandwidth: 5.0, flops_per_thread: 2.0, threads: 2 };
    let model = CostModel::new(machine);
    assert_eq!(model.seconds(&CostVector { output: 5.0, compute: 4.0, input: 20.0 }), 3.0);
    assert_eq!(model.seconds(&CostVector { output: 5.0, compute: 12.0, input: 20.0 }), 4.0);
}

/// P117: the computation of a sparsity-exploiting operator scales with the sparsity of its main input.
#[test]
fn sparse_drivers_scale_the_computation() {
    let compute = |sparsity: f64| {
        let mut d = Dag::default();
        let x = d.sparse("X", 1000, 1000, (sparsity * 1e6) as u64);
        let y = d.read("Y", 1000, 1000);
        let product = d.mult(x, y);
        let sum = d.sum(product);
        d.write("s", sum);
        let limits = TemplateLimits::default();
        let context = Context::new(&d.dag, &limits);
        cost_vector(&context, &operator(Some(TemplateType::Cell), &[product, sum], &[x, y])).compute
    };
    assert_eq!(compute(1.0), 2e6);
    assert!((compute(0.1) - 2e5).abs() < 1e-6);
    assert!((compute(1e-4) - 2e2).abs() < 1e-6);
}

#[test]
fn an_outer_operator_without_a_driver_is_impossible() {
    let mut d = Dag::default();
    let (u, v) = (d.read("U", 1000, 10), d.read("V", 10, 1000));
    let product = d.matmul(u, v);
    let sum = d.sum(product);
    d.write("s", sum);
    let limits = TemplateLimits::default();
    let context = Context::new(&d.dag, &limits);
    let cost = cost_vector(&context, &operator(Some(TemplateType::Outer), &[product, sum], &[u, v]));
    assert_eq!(CostModel::default().seconds(&cost), f64::INFINITY);
}
