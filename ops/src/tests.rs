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
    // Also across the numbers of operands: symbols and patterns name operations by their mnemonics alone.
    let unary = UnaryOp::ALL.iter().map(|op| op.mnemonic());
    let mnemonics: Vec<&str> = unary
        .chain(BinaryOp::ALL.iter().map(|op| op.mnemonic()))
        .chain(TernaryOp::ALL.iter().map(|op| op.mnemonic()))
        .collect();
    let unique: std::collections::BTreeSet<&str> = mnemonics.iter().copied().collect();
    assert_eq!(unique.len(), mnemonics.len());
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

/// What preserves zeros makes others where it rounds, or asks a question.
#[test]
fn zeros_are_made_by_what_rounds_or_asks() {
    let preserving = UnaryOp::ALL.iter().copied().filter(|op| op.zero() == UnaryZero::Preserves);
    let making: Vec<UnaryOp> = preserving.filter(|op| op.makes_zeros()).collect();
    assert_eq!(making, [UnaryOp::Round, UnaryOp::Floor, UnaryOp::Ceil, UnaryOp::IsNan, UnaryOp::IsInf]);
    let making = |op: BinaryOp| op.makes_zeros();
    assert!([BinaryOp::Less, BinaryOp::GreaterEqual, BinaryOp::Equal, BinaryOp::IntDiv].into_iter().all(making));
    assert!(
        ![BinaryOp::Plus, BinaryOp::Mult, BinaryOp::Min, BinaryOp::NotEqual, BinaryOp::Pow].into_iter().any(making)
    );
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
    for &op in TernaryOp::ALL {
        if let Lowering::Expand(steps) = op.lowering() {
            for &a in VALUES {
                for &b in VALUES {
                    assert!(same(expand(steps, &[a, b, 0.5]), op.eval(a, b, 0.5)), "{op} {a} {b}");
                    assert!(same(expand(steps, &[a, b, f64::NAN]), op.eval(a, b, f64::NAN)), "{op} {a} {b}");
                }
            }
        }
    }
}

#[test]
fn operations_do_what_their_rows_say() {
    let nan = f64::NAN;
    let binary = [
        (BinaryOp::Xor, 2.0, 0.0, 1.0),
        (BinaryOp::Xor, -1.0, nan, 0.0),
        (BinaryOp::BitwAnd, 12.9, 10.0, 8.0),
        (BinaryOp::BitwAnd, -1.0, 1e300, i64::MAX as f64),
        (BinaryOp::BitwAnd, nan, 7.0, 0.0),
        (BinaryOp::BitwOr, 12.9, 3.0, 15.0),
        (BinaryOp::BitwOr, nan, 7.0, 7.0),
        (BinaryOp::BitwXor, 12.0, 10.0, 6.0),
        (BinaryOp::BitwXor, -1.0, 0.0, -1.0),
        (BinaryOp::BitwShiftL, 5.0, 2.0, 20.0),
        (BinaryOp::BitwShiftL, 1.0, 64.0, 1.0),
        (BinaryOp::BitwShiftR, 20.0, 2.0, 5.0),
        (BinaryOp::BitwShiftR, -5.0, 1.0, -3.0),
        (BinaryOp::LogBase, 8.0, 2.0, 3.0),
        (BinaryOp::LogNzBase, 0.0, nan, 0.0),
        (BinaryOp::MinusNz, 0.0, 5.0, 0.0),
        (BinaryOp::MinusNz, 3.0, 5.0, -2.0),
    ];
    for (op, x, y, expected) in binary {
        assert!(same(op.eval(x, y), expected), "{op} {x} {y}");
    }
    let unary = [
        (UnaryOp::LogNz, 0.0, 0.0),
        (UnaryOp::LogNz, -1.0, nan),
        (UnaryOp::Mult2, 0.25, 0.5),
        (UnaryOp::IsNan, nan, 1.0),
        (UnaryOp::IsNan, f64::INFINITY, 0.0),
        (UnaryOp::IsInf, f64::NEG_INFINITY, 1.0),
        (UnaryOp::IsInf, nan, 0.0),
    ];
    for (op, x, expected) in unary {
        assert!(same(op.eval(x), expected), "{op} {x}");
    }
    let replace = [(nan, nan, 1.5), (2.0, 2.0, 1.5), (0.0, -0.0, 1.5), (2.0, nan, 2.0), (nan, 2.0, nan)];
    for (x, pattern, expected) in replace {
        assert!(same(TernaryOp::Replace.eval(x, pattern, 1.5), expected), "{x} {pattern}");
    }
}
