//! Products, variances, counts and cumulative aggregates.

use crate::common::{Random, Values, matrix};
use crate::{Script, row, values};
use fuseline_interp::oracle::OracleCell;
use fuseline_ir::Value;
use fuseline_ir::hop::{CastOp, HopOp};
use fuseline_ir::ops::{AggOp, BinaryOp, Direction};
use fuseline_matrix::Dense;

/// The aggregate of some values.
fn aggregate(op: AggOp, values: &[f64]) -> OracleCell {
    let mut script = Script::default();
    let input = script.read("x", &row(values));
    let result = script.add((op, Direction::Full), &[input]);
    script.scalar(result)
}

#[test]
fn products_accept_any_order_and_reject_what_no_order_gives() {
    let mut random = Random::new(5);
    for length in [1, 2, 17, 200] {
        for _ in 0..50 {
            let x = matrix(1, length, 1.0, Values::Reals, random.below(1 << 40));
            let factors: Vec<f64> = x.values().iter().map(|x| 1.0 + x / 8.0).collect();
            let cell = aggregate(AggOp::Prod, &factors);
            let forward: f64 = factors.iter().product();
            let backward: f64 = factors.iter().rev().product();
            let odd: f64 = factors.iter().skip(1).step_by(2).product();
            let even: f64 = factors.iter().step_by(2).product();
            for actual in [forward, backward, odd * even] {
                assert!(cell.accepts(actual), "length {length}: {actual:e} is not {cell}");
            }
            let beyond = 3.0 * cell.radius();
            assert!(!cell.accepts(cell.value() + beyond) && !cell.accepts(cell.value() - beyond), "{cell}");
            assert!(cell.radius() <= 1.01 * length as f64 * f64::EPSILON * cell.value().abs(), "{cell}");
        }
    }
    assert!(aggregate(AggOp::Prod, &[3.0, -2.0, 7.0]).is_exact());
    // One zero decides, as long as nothing overflows.
    assert!(aggregate(AggOp::Prod, &[0.3, 0.0, 7.7]).is_exact());
    assert!(aggregate(AggOp::Prod, &[1e300, 0.0, 1e300]).is_tainted());
    assert!(aggregate(AggOp::Prod, &[1e300, 1e300, 1e-300]).is_tainted());
    // What underflows in one order only is worth nothing in either.
    let cell = aggregate(AggOp::Prod, &[1e-200, 1e-200, 1e200]);
    assert!(cell.is_tainted() || cell.accepts(0.0) && cell.accepts(1e-200), "{cell}");
    assert!(aggregate(AggOp::Prod, &[1e-200, 1e-200, f64::INFINITY]).is_tainted());
    assert!(aggregate(AggOp::Prod, &[2.0, f64::INFINITY]).accepts(f64::INFINITY));
    let nan = aggregate(AggOp::Prod, &[0.0, f64::INFINITY]);
    assert!(nan.accepts(f64::NAN) && !nan.accepts(0.0), "{nan}");
    assert_eq!(aggregate(AggOp::Prod, &[]).value(), 1.0);
}

#[test]
fn variances_accept_both_ways_to_account_for_zeros() {
    for length in [2, 9, 300] {
        let x = matrix(1, length, 0.4, Values::Reals, length as u64);
        let cell = aggregate(AggOp::Var, x.values());
        let mean = x.values().iter().sum::<f64>() / length as f64;
        let square = |x: f64| (x - mean) * (x - mean);
        let dense: f64 = x.values().iter().map(|&x| square(x)).sum();
        let zeros = x.values().iter().filter(|&&x| x == 0.0).count();
        let sparse: f64 = x.values().iter().filter(|&&x| x != 0.0).map(|&x| square(x)).sum();
        let sparse = (zeros as f64).mul_add(mean * mean, sparse);
        for sum in [dense, sparse] {
            assert!(cell.accepts(sum / (length - 1) as f64), "length {length}: {sum} is not {cell}");
        }
        assert!(!cell.accepts(dense / length as f64) && cell.radius() < 1e-12, "{cell}");
    }
    assert_eq!(aggregate(AggOp::Var, &[4.0]).value(), 0.0);
    assert!(aggregate(AggOp::Var, &[]).value().is_nan());
    assert!(aggregate(AggOp::Var, &[1.0, f64::INFINITY]).accepts(f64::NAN));
}

#[test]
fn counts_are_exact_and_count_nan() {
    let cell = aggregate(AggOp::Nnz, &[0.0, -0.0, 2.0, f64::NAN, f64::INFINITY, 5e-324]);
    assert!(cell.is_exact() && cell.value() == 4.0, "{cell}");
    // 0.1 + 0.2 - 0.3 is zero in some evaluations.
    let mut script = Script::default();
    let inputs = [0.1, 0.2, 0.3].map(|value| script.dag.literal(Value::F64(value)));
    let sum = script.add(BinaryOp::Plus, &inputs[..2]);
    let difference = script.add(BinaryOp::Minus, &[sum, inputs[2]]);
    let difference = script.add(HopOp::Cast(CastOp::AsMatrix), &[difference]);
    let count = script.add((AggOp::Nnz, Direction::Full), &[difference]);
    assert!(script.scalar(count).is_tainted());
}

#[test]
fn cumulative_aggregates_run_down_the_columns() {
    let x = Dense::from_fn(4, 2, |i, j| if j == 0 { (i + 1) as f64 } else { [3.0, -1.0, 5.0, 2.0][i] });
    for (op, expected) in [
        (AggOp::Sum, [1.0, 3.0, 3.0, 2.0, 6.0, 7.0, 10.0, 9.0]),
        (AggOp::Prod, [1.0, 3.0, 2.0, -3.0, 6.0, -15.0, 24.0, -30.0]),
        (AggOp::Min, [1.0, 3.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0]),
        (AggOp::Max, [1.0, 3.0, 2.0, 3.0, 3.0, 5.0, 4.0, 5.0]),
    ] {
        let mut script = Script::default();
        let input = script.read("X", &x);
        let result = script.add(HopOp::Cumulative(op), &[input]);
        let result = script.matrix(result);
        assert_eq!(values(&result), expected, "{op}");
        assert!(result.is_exact());
    }
}
