//! The oracle: its radii hold for every order of evaluation, exactness and taint are what they claim, and it accepts
//! what fused operators compute.

#[path = "oracle/aggregates.rs"]
mod aggregates;
mod common;
#[path = "oracle/functions.rs"]
mod functions;

use common::plans::{gradient, sum_of_products};
use common::{Random, Values, compile, execute, matrix, pools, stored};
use fuseline_interp::oracle::{OracleCell, OracleError, OracleMatrix, OracleValue, evaluate};
use fuseline_ir::hop::{CastOp, DataGenOp, HopDag, HopId, HopOp, NaryOp, ReorgOp, ShapeOp};
use fuseline_ir::ops::{AggOp, BinaryOp, Direction, TernaryOp, UnaryOp};
use fuseline_ir::{SizeInfo, Value};
use fuseline_matrix::{Dense, MatrixBlock};
use fuseline_skeletons::Counters;
use fuseline_vecprims::Isa;
use std::collections::BTreeMap;

/// A DAG under construction, with the values of its variables.
#[derive(Default)]
struct Script {
    dag: HopDag,
    inputs: BTreeMap<String, OracleValue>,
}

impl Script {
    fn read(&mut self, name: &str, dense: &Dense) -> HopId {
        let block: MatrixBlock = dense.clone().into();
        self.inputs.insert(name.to_owned(), OracleValue::from(&block));
        self.dag.read_matrix(name, SizeInfo::dims(dense.rows() as u64, dense.cols() as u64))
    }

    fn add(&mut self, op: impl Into<HopOp>, inputs: &[HopId]) -> HopId {
        self.dag.add(op.into(), inputs, None).unwrap()
    }

    fn int(&mut self, value: i64) -> HopId {
        self.dag.literal(Value::I64(value))
    }

    fn value(mut self, hop: HopId) -> OracleValue {
        self.dag.write("out", hop);
        evaluate(&self.dag, &self.inputs).unwrap().remove("out").unwrap()
    }

    fn matrix(self, hop: HopId) -> OracleMatrix {
        match self.value(hop) {
            OracleValue::Matrix(matrix) => matrix,
            other => panic!("a matrix, not {other:?}"),
        }
    }

    fn scalar(self, hop: HopId) -> OracleCell {
        match self.value(hop) {
            OracleValue::Scalar(cell) => cell,
            other => panic!("a scalar, not {other:?}"),
        }
    }
}

fn row(values: &[f64]) -> Dense {
    Dense::from_vec(1, values.len(), values.to_vec())
}

/// The result of an element-wise operation on single values.
fn binary(op: BinaryOp, x: f64, y: f64) -> OracleCell {
    let mut script = Script::default();
    let (x, y) = (script.read("x", &row(&[x])), script.read("y", &row(&[y])));
    let result = script.add(op, &[x, y]);
    script.matrix(result).get(0, 0)
}

fn values(matrix: &OracleMatrix) -> Vec<f64> {
    matrix.cells.iter().map(OracleCell::value).collect()
}

#[test]
fn every_element_wise_operation_accepts_its_scalar_reference_and_little_else() {
    let samples = [-7.25, -2.0, -1.0, -0.3, 0.0, 0.3, 1.0, 2.0, 5.5, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
    for &op in UnaryOp::ALL {
        for x in samples {
            let mut script = Script::default();
            let input = script.read("x", &row(&[x]));
            let result = script.add(op, &[input]);
            let cell = script.matrix(result).get(0, 0);
            assert!(cell.accepts(op.eval(x)), "{op}({x}) = {} is not {cell}", op.eval(x));
            assert!(
                !cell.is_tainted() && !cell.accepts(op.eval(x) + 0.01) || !op.eval(x).is_finite(),
                "{op}({x}): {cell}"
            );
        }
    }
    for &op in BinaryOp::ALL {
        for (x, y) in samples.iter().flat_map(|&x| samples.iter().map(move |&y| (x, y))) {
            let cell = binary(op, x, y);
            assert!(cell.accepts(op.eval(x, y)), "{op}({x}, {y}) = {} is not {cell}", op.eval(x, y));
        }
    }
    for &op in TernaryOp::ALL {
        for a in samples {
            let mut script = Script::default();
            let inputs = [a, 0.3, -2.0].map(|value| script.dag.literal(Value::F64(value)));
            let result = script.add(op, &inputs);
            let cell = script.scalar(result);
            assert!(cell.accepts(op.eval(a, 0.3, -2.0)), "{op}({a}): {cell}");
        }
    }
}

#[test]
fn sums_and_products_accept_any_order_and_reject_what_no_order_gives() {
    let mut random = Random::new(3);
    for length in [1, 2, 17, 400] {
        for _ in 0..50 {
            let dense = matrix(2, length, 1.0, Values::Reals, random.below(1 << 40));
            let (x, y) = (dense.row(0), dense.row(1));
            let mut script = Script::default();
            let (left, right) = (script.read("x", &row(x)), script.read("y", &row(y)));
            let transposed = script.add(HopOp::Reorg(ReorgOp::Transpose), &[right]);
            let product = script.add(HopOp::MatMul, &[left, transposed]);
            let cell = script.matrix(product).get(0, 0);
            let forward = x.iter().zip(y).fold(0.0, |sum, (x, y)| sum + x * y);
            let backward = x.iter().zip(y).rev().fold(0.0, |sum, (x, y)| x.mul_add(*y, sum));
            let (even, odd): (Vec<_>, Vec<_>) =
                x.iter().zip(y).enumerate().partition(|(position, _)| position % 2 == 0);
            let half = |pairs: &[(usize, (&f64, &f64))]| pairs.iter().fold(0.0, |sum, (_, (x, y))| x.mul_add(**y, sum));
            for actual in [forward, backward, half(&even) + half(&odd)] {
                assert!(cell.accepts(actual), "length {length}: {actual:e} is not {cell}");
            }
            let beyond = 3.0 * cell.radius();
            assert!(!cell.accepts(cell.value() + beyond) && !cell.accepts(cell.value() - beyond), "{cell}");
            // The radius is of the size of the roundings.
            let absolute: f64 = x.iter().zip(y).map(|(x, y)| (x * y).abs()).sum();
            assert!(cell.radius() <= (length + 1) as f64 * f64::EPSILON / 2.0 * absolute + 1e-300, "{cell}");
        }
    }
}

/// `(x * y) * (x * y)` may be `x^2 * y^2`, whose square may overflow where the product is zero: such cells are open, and no
/// others are, nor in strict arithmetic.
#[test]
fn multiplications_leave_open_what_some_order_overflows() {
    let cells = [(0.0, 1e162), (1e162, 1e-100), (1e-162, 1e162), (0.0, 3.0), (2.0, 3.0), (0.0, 0.0), (1.0, 1e100)];
    let [left, right] = [cells.map(|(x, _)| x), cells.map(|(_, y)| y)].map(|values| row(&values));
    let mut script = Script::default();
    let (x, y) = (script.read("x", &left), script.read("y", &right));
    let once = script.add(BinaryOp::Mult, &[x, y]);
    let square = script.add(BinaryOp::Mult, &[once, once]);
    let value = script.matrix(square);
    let tainted: Vec<bool> = value.cells.iter().map(OracleCell::is_tainted).collect();
    assert_eq!(tainted, [true, true, true, false, false, false, false]);
    assert!(value.strict_ieee().cells.iter().all(|cell| !cell.is_tainted()));
    // Two factors have one order.
    let mut script = Script::default();
    let (x, y) = (script.read("x", &left), script.read("y", &right));
    let once = script.add(BinaryOp::Mult, &[x, y]);
    assert!(script.matrix(once).cells.iter().all(|cell| !cell.is_tainted()));
}

#[test]
fn chains_widen_the_radius_but_stay_useful() {
    let x = matrix(6, 40, 1.0, Values::Reals, 5);
    let mut script = Script::default();
    let input = script.read("X", &x);
    let one = script.dag.literal(Value::F64(1.0));
    let exp = script.add(UnaryOp::Exp, &[input]);
    let sums = script.add((AggOp::Sum, Direction::Row), &[exp]);
    let shares = script.add(BinaryOp::Div, &[exp, sums]);
    let shifted = script.add(BinaryOp::Plus, &[shares, one]);
    let logs = script.add(UnaryOp::Log, &[shifted]);
    let total = script.add((AggOp::Sum, Direction::Full), &[logs]);
    let cell = script.scalar(total);
    let actual: f64 = (0..6)
        .map(|i| {
            let exps: Vec<f64> = x.row(i).iter().map(|x| x.exp()).collect();
            let sum: f64 = exps.iter().sum();
            exps.iter().map(|exp| (exp / sum + 1.0).ln()).sum::<f64>()
        })
        .sum();
    assert!(cell.accepts(actual), "{actual:e} is not {cell}");
    assert!(cell.radius() < 1e-12 && !cell.is_tainted() && !cell.is_exact(), "{cell}");
}

#[test]
fn integers_are_exact_until_sums_leave_the_integers_that_doubles_hold() {
    let x = matrix(30, 30, 0.8, Values::Integers, 7);
    let mut script = Script::default();
    let input = script.read("X", &x);
    let product = script.add(HopOp::MatMul, &[input, input]);
    let result = script.matrix(product);
    assert!(result.is_exact());
    let plain = Dense::from_fn(30, 30, |i, j| (0..30).map(|k| x.get(i, k) * x.get(k, j)).sum());
    assert_eq!(result.accepts(&plain.clone().into()), Ok(()));
    let off_by_one_bit =
        Dense::from_fn(30, 30, |i, j| if (i, j) == (4, 5) { plain.get(4, 5) + 1e-12 } else { plain.get(i, j) });
    assert!(result.accepts(&off_by_one_bit.into()).is_err());

    // The sum cancels, but its parts do not fit into 53 bits.
    let mut script = Script::default();
    let input = script.read("X", &row(&[9.0e15, 5.0, -9.0e15]));
    let sum = script.add((AggOp::Sum, Direction::Full), &[input]);
    let cell = script.scalar(sum);
    assert!(!cell.is_exact() && cell.value() == 5.0 && cell.radius() > 0.0, "{cell}");
}

#[test]
fn zeros_that_may_annihilate_taint_and_everything_else_is_ieee() {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    for (op, x, y, is_tainted) in [
        (BinaryOp::Mult, 0.0, nan, true),
        (BinaryOp::Mult, inf, 0.0, true),
        (BinaryOp::Mult, 1.0, nan, false),
        (BinaryOp::Mult, 0.0, 2.0, false),
        (BinaryOp::Div, 0.0, 0.0, true),
        (BinaryOp::Div, 0.0, inf, true),
        (BinaryOp::Div, 1.0, 3.0, false),
        (BinaryOp::Plus, 0.0, nan, false),
        (BinaryOp::Minus, inf, inf, false),
        (BinaryOp::Min, 0.0, nan, false),
    ] {
        assert_eq!(binary(op, x, y).is_tainted(), is_tainted, "{op}({x}, {y})");
    }
    // In strict IEEE arithmetic these are NaN; only the sign of a zero is not specified.
    for (op, x, y) in [(BinaryOp::Mult, 0.0, nan), (BinaryOp::Mult, inf, 0.0), (BinaryOp::Div, 0.0, 0.0)] {
        let strict = binary(op, x, y).strict_ieee();
        assert!(strict.accepts(nan) && !strict.accepts(0.0), "{op}({x}, {y})");
    }
    assert!(binary(BinaryOp::Div, 1.0, 0.0).strict_ieee().is_tainted());
    assert!(binary(BinaryOp::Minus, inf, inf).accepts(nan) && !binary(BinaryOp::Minus, inf, inf).accepts(0.0));
    // Taint spreads through sums and products.
    let mut script = Script::default();
    let (x, y) = (script.read("x", &row(&[0.0, 1.0])), script.read("y", &row(&[nan, 2.0])));
    let product = script.add(BinaryOp::Mult, &[x, y]);
    let sum = script.add((AggOp::Sum, Direction::Full), &[product]);
    assert!(script.scalar(sum).is_tainted());
    let mut script = Script::default();
    let (x, y) = (script.read("x", &row(&[0.0, 1.0])), script.read("y", &row(&[nan, 2.0])));
    let y = script.add(HopOp::Reorg(ReorgOp::Transpose), &[y]);
    let product = script.add(HopOp::MatMul, &[x, y]);
    assert!(script.matrix(product).get(0, 0).is_tainted());
}

#[test]
fn decisions_within_the_radius_taint() {
    // 0.1 + 0.2 against 0.3: legal evaluations fall on both sides.
    let mut script = Script::default();
    let (x, y, z) = (script.read("x", &row(&[0.1])), script.read("y", &row(&[0.2])), script.read("z", &row(&[0.3])));
    let sum = script.add(BinaryOp::Plus, &[x, y]);
    let equal = script.add(BinaryOp::Equal, &[sum, z]);
    assert!(script.matrix(equal).get(0, 0).is_tainted());
    // Far from each other they decide.
    assert!(!binary(BinaryOp::Less, 0.1, 0.2).is_tainted());
    // A quotient that is almost an integer.
    let mut script = Script::default();
    let (x, y) = (script.read("x", &row(&[0.3])), script.read("y", &row(&[0.1])));
    let quotient = script.add(BinaryOp::Div, &[x, y]);
    let floor = script.add(UnaryOp::Floor, &[quotient]);
    assert!(script.matrix(floor).get(0, 0).is_tainted());
}

#[test]
fn overflow_depends_on_the_order() {
    let mut script = Script::default();
    let input = script.read("X", &row(&[1.0e308, 1.0e308, -1.0e308]));
    let sum = script.add((AggOp::Sum, Direction::Full), &[input]);
    assert!(script.scalar(sum).is_tainted());
    // The product overflows alone, and vanishes in a fused multiply-add to the infinity.
    let mut script = Script::default();
    let x = script.read("x", &row(&[1.0, 1.0e300]));
    let y = script.read("y", &row(&[f64::NEG_INFINITY, 1.0e300]));
    let y = script.add(HopOp::Reorg(ReorgOp::Transpose), &[y]);
    let product = script.add(HopOp::MatMul, &[x, y]);
    assert!(script.matrix(product).get(0, 0).is_tainted());
}

#[test]
fn broadcasting_and_structure_follow_the_definitions() {
    let x = Dense::from_fn(3, 4, |i, j| (10 * i + j) as f64);
    let mut script = Script::default();
    let input = script.read("X", &x);
    let column = script.add((AggOp::Max, Direction::Row), &[input]);
    let maxima = script.add(BinaryOp::Minus, &[input, column]);
    let minima = script.add((AggOp::Min, Direction::Col), &[input]);
    let result = script.add(BinaryOp::Plus, &[maxima, minima]);
    assert_eq!(values(&script.matrix(result))[4..8], [-3.0, -1.0, 1.0, 3.0]);

    let mut script = Script::default();
    let input = script.read("X", &x);
    let range = [2, 3, 1, 2].map(|bound| script.int(bound));
    let part = script.add(HopOp::Index, &[&[input][..], &range].concat());
    let doubled = script.add(BinaryOp::Plus, &[part, part]);
    let replaced = script.add(HopOp::LeftIndex, &[&[input, doubled][..], &range].concat());
    let both = script.add(HopOp::Nary(NaryOp::Cbind), &[replaced, input]);
    let result = script.matrix(both);
    assert_eq!((result.rows, result.cols), (3, 8));
    assert_eq!(values(&result)[8..16], [20.0, 22.0, 12.0, 13.0, 10.0, 11.0, 12.0, 13.0]);

    let mut script = Script::default();
    let input = script.read("X", &x);
    let below = script.add(HopOp::Nary(NaryOp::Rbind), &[input, input]);
    let transposed = script.add(HopOp::Reorg(ReorgOp::Transpose), &[below]);
    let result = script.matrix(transposed);
    assert_eq!((result.rows, result.cols), (4, 6));
    assert_eq!(values(&result)[6..12], [1.0, 11.0, 21.0, 1.0, 11.0, 21.0]);
}

#[test]
fn generators_casts_and_shapes_follow_the_definitions() {
    let mut script = Script::default();
    let bounds = [1.0, 2.0, 0.25].map(|value| script.dag.literal(Value::F64(value)));
    let seq = script.add(HopOp::DataGen(DataGenOp::Seq), &bounds);
    let rows = script.add(HopOp::Shape(ShapeOp::Nrow), &[seq]);
    let two = script.int(2);
    let filled = script.add(HopOp::DataGen(DataGenOp::Matrix), &[rows, two, rows]);
    assert_eq!(values(&script.matrix(filled)), [5.0; 10]);

    let mut script = Script::default();
    let text = script.dag.literal(Value::Str("1 2 3 4 5 6".to_owned()));
    let (two, three) = (script.int(2), script.int(3));
    let filled = script.add(HopOp::DataGen(DataGenOp::Matrix), &[text, two, three]);
    let ones = [2, 2, 3, 3].map(|bound| script.int(bound));
    let single = script.add(HopOp::Index, &[&[filled][..], &ones].concat());
    let scalar = script.add(HopOp::Cast(CastOp::AsScalar), &[single]);
    let half = script.dag.literal(Value::F64(2.5));
    let quotient = script.add(BinaryOp::Div, &[scalar, half]);
    let whole = script.add(HopOp::Cast(CastOp::AsInteger), &[quotient]);
    let cell = script.scalar(whole);
    assert!(cell.value() == 2.0 && cell.is_exact(), "{cell}");
}

#[test]
fn aggregates_of_no_cells_are_neutral() {
    for (agg, expected) in [(AggOp::Sum, 0.0), (AggOp::Min, f64::INFINITY), (AggOp::Max, f64::NEG_INFINITY)] {
        let mut script = Script::default();
        let input = script.read("X", &Dense::zeros(3, 0));
        let aggregated = script.add((agg, Direction::Row), &[input]);
        assert_eq!(values(&script.matrix(aggregated)), [expected; 3]);
    }
}

#[test]
fn what_is_no_function_of_the_inputs_is_refused() {
    let mut dag = HopDag::new();
    let x = dag.read_matrix("X", SizeInfo::UNKNOWN);
    dag.write("out", x);
    let missing = evaluate(&dag, &BTreeMap::new());
    assert_eq!(missing, Err(OracleError::Missing { name: "X".to_owned() }));
    let mut dag = HopDag::new();
    let text = dag.literal(Value::Str("uniform".to_owned()));
    let number = dag.literal(Value::F64(1.0));
    let rand = HopOp::DataGen(DataGenOp::Rand);
    let rand = dag.add(rand, &[number, number, number, number, number, number, text], None).unwrap();
    dag.write("out", rand);
    assert!(matches!(evaluate(&dag, &BTreeMap::new()), Err(OracleError::Unsupported { .. })));
}

#[test]
fn fused_operators_are_accepted_and_wrong_results_are_not() {
    for (rows, cols) in [(1, 1), (33, 7), (700, 90)] {
        let (x, y) = (matrix(rows, cols, 0.6, Values::Reals, 1), matrix(rows, cols, 0.6, Values::Reals, 2));
        let mut script = Script::default();
        let inputs = [script.read("X", &x), script.read("Y", &y)];
        let product = script.add(BinaryOp::Mult, &inputs);
        let sum = script.add((AggOp::Sum, Direction::Full), &[product]);
        let as_matrix = script.add(HopOp::Cast(CastOp::AsMatrix), &[sum]);
        let expected = script.matrix(as_matrix);
        let compiled = compile(&sum_of_products().plan, Isa::detect());
        for is_sparse in [false, true] {
            let blocks = [stored(&x, is_sparse), stored(&y, is_sparse)];
            let actual = execute(&compiled, &blocks, &[], &pools()[2], &Counters::default()).unwrap();
            assert_eq!(expected.accepts(&actual), Ok(()));
            let wrong = MatrixBlock::single(actual.get(0, 0) + 3.0 * expected.get(0, 0).radius() + 1e-9);
            assert!(expected.accepts(&wrong).is_err());
        }

        let v = matrix(cols, 1, 1.0, Values::Reals, 3);
        let mut script = Script::default();
        let inputs = [script.read("X", &x), script.read("v", &v)];
        let product = script.add(HopOp::MatMul, &inputs);
        let transposed = script.add(HopOp::Reorg(ReorgOp::Transpose), &[inputs[0]]);
        let result = script.add(HopOp::MatMul, &[transposed, product]);
        let expected = script.matrix(result);
        let compiled = compile(&gradient().plan, Isa::detect());
        for is_sparse in [false, true] {
            let blocks = [stored(&x, is_sparse), v.clone().into()];
            let actual = execute(&compiled, &blocks, &[], &pools()[3], &Counters::default()).unwrap();
            assert_eq!(expected.accepts(&actual), Ok(()), "{rows} x {cols}, sparse: {is_sparse}");
        }
    }
}

/// Scalings by vectors are factors of chains: of exact sums that cancel, the terms may be scaled, and rounded.
#[test]
fn scaled_products_allow_for_other_orders() {
    let (large, scale) = (row(&[1e9, -1e9, 3.0]), 0.7);
    let mut script = Script::default();
    let a = script.read("A", &large);
    let rows = script.add(HopOp::Nary(NaryOp::Rbind), &[a, a]);
    let b = script.read("b", &Dense::from_vec(3, 1, vec![1.0, 1.0, 1.0]));
    let r = script.read("r", &Dense::from_vec(2, 1, vec![scale, 1e-3]));
    let product = script.add(HopOp::MatMul, &[rows, b]);
    let scaled = script.add(BinaryOp::Mult, &[product, r]);
    let cell = script.matrix(scaled).get(0, 0);
    let rounded_up = 1e9 * scale * (1.0 + f64::EPSILON) - 1e9 * scale + 3.0 * scale;
    assert!(!cell.is_tainted() && cell.accepts(rounded_up), "{cell}");
    assert!(!cell.accepts(3.0 * scale + 1e-5), "{cell}");
}

/// Where a divisor is zero, the order decides what is infinite and what is NaN; strict IEEE arithmetic has one order.
#[test]
fn divisions_by_zeros_leave_the_order_open() {
    for divisor in [0.0, 1e-300, 2.0] {
        let mut script = Script::default();
        let x = script.read("X", &Dense::from_vec(2, 2, vec![1.0, 2.0, 3.0, 4.0]));
        let s = script.read("s", &row(&[divisor, 1.0]));
        let v = script.read("v", &Dense::from_vec(2, 1, vec![1.0, 1.0]));
        let scaled = script.add(BinaryOp::Div, &[x, s]);
        let product = script.add(HopOp::MatMul, &[scaled, v]);
        let cell = script.matrix(product).get(0, 0);
        assert_eq!(cell.is_tainted(), divisor != 2.0, "{divisor}: {cell}");
        assert!(!cell.strict_ieee().is_tainted() || divisor == 0.0, "{divisor}: {cell}");
    }
}
