//! DAGs with fused operators in place of covers.

use super::*;
use crate::testing::{self, Dag};

#[test]
fn without_covers_nothing_changes() {
    let (dag, _) = testing::mlogreg();
    assert_eq!(replace(&dag, &[]).dag.to_string(), dag.to_string());
}

#[test]
fn dead_operators_disappear() {
    let mut d = Dag::default();
    let (x, y) = (d.read("X", 10, 10), d.read("Y", 10, 10));
    let _dead = d.mult(x, y);
    let kept = d.plus(x, x);
    d.write("o", kept);
    let labels: Vec<String> = replace(&d.dag, &[]).dag.hops.values().map(|hop| hop.op.label()).collect();
    assert_eq!(labels, ["TRead X", "b(+)"]);
}
