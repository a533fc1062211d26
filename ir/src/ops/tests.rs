//! The table tests itself: every declared fact is checked against the scalar reference.

use super::*;

/// One value of each class that an operation may meet.
const VALUES: &[f64] = &[
    0.0,
    -0.0,
    1.0,
    -1.0,
    2.0,
    -2.0,
    0.5,
    -0.5,
    3.75,
    -7.25,
    1e-300,
    -1e-300,
    1e300,
    5e-324,
    709.0,
    -745.0,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
];

fn same(x: f64, y: f64) -> bool {
    x == y || (x.is_nan() && y.is_nan())
}

/// Evaluates an expansion with the scalar references of its steps.
fn expand(steps: &[Step], args: &[f64]) -> f64 {
    let mut stack: Vec<f64> = Vec::new();
    for step in steps {
        let value = match *step {
            Step::Arg(position) => args[usize::from(position)],
            Step::Const(value) => value,
            Step::Unary(op) => op.eval(stack.pop().unwrap()),
            Step::Binary(op) => {
                let y = stack.pop().unwrap();
                op.eval(stack.pop().unwrap(), y)
            }
            Step::Ternary(op) => {
                let c = stack.pop().unwrap();
                let b = stack.pop().unwrap();
                op.eval(stack.pop().unwrap(), b, c)
            }
        };
        stack.push(value);
    }
    assert_eq!(stack.len(), 1, "an expansion leaves one value");
    stack[0]
}

#[test]
fn mnemonics_round_trip_and_are_unique() {
    for &op in UnaryOp::ALL {
        assert_eq!(UnaryOp::from_mnemonic(op.mnemonic()), Some(op));
        assert!(!op.mnemonic().contains(['(', ')', ' ']));
    }
    for &op in BinaryOp::ALL {
        assert_eq!(BinaryOp::from_mnemonic(op.mnemonic()), Some(op));
    }
    for &op in TernaryOp::ALL {
        assert_eq!(TernaryOp::from_mnemonic(op.mnemonic()), Some(op));
    }
    for &op in AggOp::ALL {
        assert_eq!(op.mnemonic().parse(), Ok(op));
    }
    for &direction in Direction::ALL {
        assert_eq!(direction.mnemonic().parse(), Ok(direction));
    }
}

#[test]
fn declared_zero_behaviour_is_that_of_the_reference() {
    let finite: Vec<f64> = VALUES.iter().copied().filter(|value| value.is_finite()).collect();
    for &op in UnaryOp::ALL {
        assert_eq!(op.zero() == UnaryZero::Preserves, op.eval(0.0) == 0.0 && op.eval(-0.0) == 0.0, "{op}");
    }
    for &op in BinaryOp::ALL {
        let left = finite.iter().filter(|&&y| y != 0.0).all(|&y| op.eval(0.0, y) == 0.0);
        let right = finite.iter().filter(|&&x| x != 0.0).all(|&x| op.eval(x, 0.0) == 0.0);
        let joint = op.eval(0.0, 0.0) == 0.0 && op.eval(-0.0, 0.0) == 0.0;
        let measured = match (left, right, joint) {
            (true, true, true) => BinaryZero::Annihilates,
            (true, false, _) => BinaryZero::LeftAnnihilates,
            (_, _, true) => BinaryZero::Joint,
            _ => BinaryZero::Fills,
        };
        assert_eq!(op.zero(), measured, "{op}");
    }
}

#[test]
fn declared_algebra_is_that_of_the_reference() {
    for &op in BinaryOp::ALL {
        for &x in VALUES {
            for &y in VALUES {
                if op.algebra().commutative {
                    assert!(same(op.eval(x, y), op.eval(y, x)), "{op} {x} {y}");
                }
                if op.algebra().boolean {
                    assert!([0.0, 1.0].contains(&op.eval(x, y)), "{op} {x} {y}");
                }
            }
        }
    }
}

#[test]
fn expansions_equal_the_reference() {
    for &op in UnaryOp::ALL {
        if let Lowering::Expand(steps) = op.lowering() {
            for &x in VALUES {
                assert!(same(expand(steps, &[x]), op.eval(x)), "{op} {x}");
            }
        }
    }
    for &op in BinaryOp::ALL {
        if let Lowering::Expand(steps) = op.lowering() {
            for &x in VALUES {
                for &y in VALUES {
                    assert!(same(expand(steps, &[x, y]), op.eval(x, y)), "{op} {x} {y}");
                }
            }
        }
    }
}

/// Distance in units in the last place of the exact value.
fn ulps(actual: f64, expected: f64) -> f64 {
    if actual == expected || (actual.is_nan() && expected.is_nan()) {
        return 0.0;
    }
    let ulp = f64::from_bits(expected.abs().to_bits() + 1) - expected.abs();
    (actual - expected).abs() / ulp
}

#[test]
fn exp_and_log_stay_close_to_the_platform_and_keep_special_values() {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    for _ in 0..200_000 {
        let x = next() * 1480.0 - 750.0;
        // The platform's own half ULP comes on top of ours.
        assert!(ulps(math::exp(x), x.exp()) <= 1.5, "exp({x:e})");
        let y = f64::from_bits((next() * 9.2e18) as u64);
        assert!(ulps(math::log(y), y.ln()) <= 1.5, "log({y:e}): {:e} for {:e}", math::log(y), y.ln());
        let z = 0.5 + next() * 1.5;
        assert!(ulps(math::log(z), z.ln()) <= 1.5, "log({z:e})");
    }
    assert_eq!(math::exp(f64::NEG_INFINITY), 0.0);
    assert_eq!(math::exp(f64::INFINITY), f64::INFINITY);
    assert_eq!(math::exp(0.0), 1.0);
    assert_eq!(math::exp(710.0), f64::INFINITY);
    assert!(math::exp(f64::NAN).is_nan());
    assert_eq!(math::log(0.0), f64::NEG_INFINITY);
    assert_eq!(math::log(-0.0), f64::NEG_INFINITY);
    assert_eq!(math::log(f64::INFINITY), f64::INFINITY);
    assert_eq!(math::log(1.0), 0.0);
    assert!(math::log(-1.0).is_nan() && math::log(f64::NAN).is_nan() && math::log(f64::NEG_INFINITY).is_nan());
}
