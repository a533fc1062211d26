//! Reorganisations and functions with named arguments.

use crate::{Script, row, values};
use fuseline_interp::oracle::{OracleError, OracleMatrix, evaluate};
use fuseline_ir::Value;
use fuseline_ir::hop::{CastOp, DataGenOp, Function, HopOp, NaryOp, ReorgOp};
use fuseline_ir::ops::BinaryOp;
use fuseline_matrix::Dense;

#[test]
fn reorganisations_follow_the_definitions() {
    let x = Dense::from_fn(3, 3, |i, j| (3 * i + j) as f64);
    let mut script = Script::default();
    let input = script.read("X", &x);
    let reversed = script.add(HopOp::Reorg(ReorgOp::Rev), &[input]);
    let column = script.add(HopOp::Reorg(ReorgOp::Diag), &[reversed]);
    let square = script.add(HopOp::Reorg(ReorgOp::Diag), &[column]);
    assert_eq!(values(&script.matrix(square)), [6.0, 0.0, 0.0, 0.0, 4.0, 0.0, 0.0, 0.0, 2.0]);

    let mut script = Script::default();
    let (u, v) = (script.read("u", &Dense::from_vec(2, 1, vec![2.0, 3.0])), script.read("v", &row(&[1.0, 5.0, 2.0])));
    let outer = script.add(HopOp::Outer(BinaryOp::Minus), &[u, v]);
    let zero = script.dag.literal(Value::F64(0.0));
    let least = script.add(HopOp::Nary(NaryOp::Min), &[outer, zero, u]);
    assert_eq!(values(&script.matrix(least)), [0.0, -3.0, 0.0, 0.0, -2.0, 0.0]);

    let mut script = Script::default();
    let input = script.read("v", &row(&[1.0, 5.0]));
    let six = script.int(6);
    let expanded = script.add(HopOp::DataGen(DataGenOp::Expand), &[input, six]);
    assert_eq!(values(&script.matrix(expanded)), [1.0, 1.0, 1.0, 5.0, 5.0, 5.0]);
}

/// A function of `X` and then of literals under these names.
fn call(function: Function, x: &Dense, arguments: &[(&str, Value)]) -> Script {
    let mut script = Script::default();
    let mut inputs = vec![script.read("X", x)];
    inputs.extend(arguments.iter().map(|(_, value)| script.dag.literal(value.clone())));
    let names = arguments.iter().map(|(name, _)| (*name).to_owned()).collect();
    let result = script.add(HopOp::Parameterized { function, names }, &inputs);
    script.dag.write("out", result);
    script
}

fn called(function: Function, x: &Dense, arguments: &[(&str, Value)]) -> OracleMatrix {
    let script = call(function, x, arguments);
    let result = script.dag.outputs[0].hop;
    script.matrix(result)
}

#[test]
fn sorting_selection_and_positions_follow_the_definitions() {
    let x = Dense::from_vec(4, 2, vec![2.0, 10.0, f64::NAN, 20.0, 1.0, 30.0, 2.0, 40.0]);
    let flag = |name, value| (name, Value::Bool(value));
    let sorted = called(Function::Order, &x, &[("by", Value::I64(1)), flag("index.return", true)]);
    assert_eq!(values(&sorted), [3.0, 1.0, 4.0, 2.0]);
    let decreasing = [flag("decreasing", true), flag("index.return", true)];
    assert_eq!(values(&called(Function::Order, &x, &decreasing)), [1.0, 4.0, 3.0, 2.0]);

    let x = Dense::from_vec(3, 3, vec![0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2.0, 3.0]);
    let margin = |name: &str| ("margin", Value::Str(name.to_owned()));
    let kept = called(Function::RemoveEmpty, &x, &[margin("rows")]);
    assert_eq!((kept.rows, kept.cols, values(&kept)), (2, 3, vec![0.0, 1.0, 0.0, 0.0, 2.0, 3.0]));
    let kept = called(Function::RemoveEmpty, &x, &[margin("cols")]);
    assert_eq!((kept.rows, kept.cols, values(&kept)), (3, 2, vec![1.0, 0.0, 0.0, 0.0, 2.0, 3.0]));
    let empty = called(Function::RemoveEmpty, &Dense::zeros(2, 3), &[margin("rows")]);
    assert_eq!((empty.rows, empty.cols), (1, 3));

    let x = Dense::from_vec(3, 3, vec![1.0, 5.0, 5.0, 7.0, f64::NAN, 9.0, -1.0, -3.0, -3.0]);
    assert_eq!(values(&called(Function::RowIndexMax, &x, &[])), [3.0, 3.0, 1.0]);
    assert_eq!(values(&called(Function::RowIndexMin, &x, &[])), [1.0, 1.0, 3.0]);
    let first = [("first", Value::Bool(true))];
    assert_eq!(values(&called(Function::RowIndexMax, &x, &first)), [2.0, 2.0, 1.0]);
    assert_eq!(values(&called(Function::RowIndexMin, &x, &first)), [1.0, 2.0, 2.0]);
}

#[test]
fn tables_sum_weights_by_category() {
    // Of vectors, one may be a row and another a column.
    for (rows, cols) in [(4, 1), (1, 4)] {
        let mut script = Script::default();
        let a = script.read("a", &Dense::from_vec(4, 1, vec![1.0, 2.0, 2.0, f64::NAN]));
        let b = script.read("b", &Dense::from_vec(rows, cols, vec![1.0, 3.0, 3.0, 1.0]));
        let weight = script.dag.literal(Value::F64(0.5));
        let table = HopOp::Parameterized { function: Function::Table, names: Vec::new() };
        let result = script.add(table, &[a, b, weight]);
        let result = script.matrix(result);
        assert_eq!((result.rows, result.cols, values(&result)), (2, 3, vec![0.5, 0.0, 0.0, 0.0, 0.0, 1.0]));
    }
}

#[test]
fn a_size_that_depends_on_uncertain_cells_is_refused() {
    let mut script = Script::default();
    let inputs = [0.1, 0.2, 0.3].map(|value| script.dag.literal(Value::F64(value)));
    let sum = script.add(BinaryOp::Plus, &inputs[..2]);
    let difference = script.add(BinaryOp::Minus, &[sum, inputs[2]]);
    let difference = script.add(HopOp::Cast(CastOp::AsMatrix), &[difference]);
    let margin = script.dag.literal(Value::Str("rows".to_owned()));
    let remove = HopOp::Parameterized { function: Function::RemoveEmpty, names: vec!["margin".to_owned()] };
    let result = script.add(remove, &[difference, margin]);
    script.dag.write("out", result);
    assert!(matches!(evaluate(&script.dag, &script.inputs), Err(OracleError::Undecided { .. })));
}
