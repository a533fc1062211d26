//! Strips of rows (ADR 0044): whoever reduces them, in whatever order and wherever, the result has the same bits. Here
//! owners run the operator on strips as matrices of their own, and hand over what they have.

mod common;

use common::plans::{Example, ShapeOf, example, gradient, sum_of_products};
use common::{Random, Values, bits, buffers, compile, matrix, pools, stored};
use fuseline_ir::ops::AggOp;
use fuseline_ir::schedule::strips::{Strips, halves};
use fuseline_ir::work::csr_row_bytes;
use fuseline_matrix::{Csr, Dense, Layout, MatrixBlock};
use fuseline_skeletons::{CompiledCPlan, Counters, Execution};
use fuseline_vecprims::Isa;
use std::ops::Range;

const FULL: ShapeOf = |m, n| (m, n);
const COLUMN: ShapeOf = |m, _| (m, 1);
const ROW: ShapeOf = |_, n| (1, n);

/// A plan that reduces its rows to so many cells, which merge by this function.
struct Case {
    example: Example,
    sums: fn(usize) -> usize,
    merge: AggOp,
}

fn cases() -> Vec<Case> {
    let case = |example, sums, merge| Case { example, sums, merge };
    let beside = "%0 = main
        %1 = side_cell in1
        %2 = side_row_scalar in2
        %3 = mult %1, %2
        %4 = mult %0, %3
        out %4";
    let by_row = "%0 = main
        %1 = side_row in1
        %2 = side_row_scalar in2
        %3 = mult %1, %2
        %4 = mult %0, %3
        out %4";
    let weights = "%0 = main
        %1 = outer_product
        %2 = mult %0, %1
        out %2";
    let factors: &[ShapeOf] = &[|m, _| (m, 3), |_, n| (n, 3)];
    let sides: &[ShapeOf] = &[FULL, COLUMN];
    let columns = "%0 = main
        %1 = side_col_scalar in1
        %2 = mult %0, %1
        out %2 agg=sum";
    let squares = "%0 = main
        %1 = side_cell in1
        %2 = mult %0, %1
        out %0 agg=sumsq
        out %2 agg=sum";
    vec![
        case(sum_of_products(), |_| 1, AggOp::Sum),
        case(example("cell full_agg", true, sides, &format!("{beside} agg=min")), |_| 1, AggOp::Min),
        case(example("cell full_agg", true, &[ROW], columns), |_| 1, AggOp::Sum),
        case(example("cell col_agg", true, sides, &format!("{beside} agg=sum")), |n| n, AggOp::Sum),
        case(example("magg full_agg", true, &[FULL], squares), |_| 1, AggOp::Sum),
        case(gradient(), |n| n, AggOp::Sum),
        case(example("row full_agg", true, sides, &format!("{by_row} agg=sum")), |_| 1, AggOp::Sum),
        case(example("row col_agg", true, sides, &format!("{by_row} agg=max")), |n| n, AggOp::Max),
        case(example("outer full_agg", true, factors, &format!("{weights} agg=sum")), |_| 1, AggOp::Sum),
        case(example("outer left_mm", true, factors, weights), |n| 3 * n, AggOp::Sum),
    ]
}

fn run(compiled: &CompiledCPlan, inputs: &[MatrixBlock], strip_bytes: u64, pool: usize) -> (MatrixBlock, u64) {
    let (buffers, counters) = (buffers(), Counters::default());
    let primitives = fuseline_vecprims::primitives(Isa::detect());
    let (pool, strict_ieee) = (&pools()[pool], false);
    let env = Execution { pool, buffers: &buffers, counters: &counters, primitives, strict_ieee, strip_bytes };
    let result = fuseline_skeletons::execute(compiled, inputs, &[], &env).unwrap_or_else(|error| panic!("{error}"));
    (result, counters.strips())
}

/// The rows of a matrix that belong to some rows of the main input: those, or all of a matrix of other rows.
fn part(matrix: &Dense, rows: &Range<usize>, of: usize) -> Dense {
    if matrix.rows() != of {
        return matrix.clone();
    }
    Dense::from_fn(rows.len(), matrix.cols(), |i, j| matrix.get(rows.start + i, j))
}

/// What owners have: results of nodes of the tree.
type Bag = Vec<(Range<usize>, Dense)>;

/// Merges all neighbours of which a bag has both.
fn fold(bag: &mut Bag, all: Range<usize>, merge: AggOp) {
    let Some([left, right]) = halves(all.clone()) else { return };
    fold(bag, left.clone(), merge);
    fold(bag, right.clone(), merge);
    let place = |bag: &Bag, node: &Range<usize>| bag.iter().position(|(known, _)| known == node);
    if let (Some(_), Some(_)) = (place(bag, &left), place(bag, &right)) {
        let [left, right] = [left, right].map(|node| bag.swap_remove(place(bag, &node).unwrap()).1);
        let cells = left.values().iter().zip(right.values()).map(|(&x, &y)| merge.of_partials().merge(x, y)).collect();
        bag.push((all, Dense::from_vec(left.rows(), left.cols(), cells)));
    }
}

#[test]
fn any_owners_in_any_order_reduce_to_the_same_bits() {
    let (rows, cols, strip_bytes) = (20_000, 12, 5000);
    let mut random = Random::new(11);
    let densities = [(1.0, false), (0.3, true), (0.02, true)];
    for (case, (density, is_sparse)) in cases().iter().flat_map(|case| densities.map(|density| (case, density))) {
        let mut inputs: Vec<Dense> = Vec::new();
        for (number, shape) in case.example.shapes.iter().enumerate() {
            let (rows, cols) = shape(rows, cols);
            let density = if number == 0 { density } else { 1.0 };
            inputs.push(matrix(rows, cols, density, Values::Reals, 7 + number as u64));
        }
        let blocks = |inputs: &[Dense]| -> Vec<MatrixBlock> {
            inputs.iter().enumerate().map(|(number, dense)| stored(dense, is_sparse && number == 0)).collect()
        };
        let compiled = compile(&case.example.plan, Isa::detect());
        let (whole, counted) = run(&compiled, &blocks(&inputs), strip_bytes, 0);
        let row_bytes = match blocks(&inputs)[0].layout() {
            Layout::Dense(_) => 8 * cols as u64,
            Layout::Sparse(csr) => csr_row_bytes(rows as u64, csr.nnz() as u64),
        };
        let strips = Strips::new(rows, row_bytes, strip_bytes, (case.sums)(cols));
        assert!(strips.len() > 2, "{} strips of {}", strips.len(), case.example.plan);
        assert_eq!(counted, strips.len() as u64, "{}", case.example.plan);
        let mut owners: [Bag; 3] = Default::default();
        let mut order: Vec<usize> = (0..strips.len()).collect();
        while !order.is_empty() {
            let strip = order.swap_remove(random.below(order.len() as u64) as usize);
            let own: Vec<Dense> = inputs.iter().map(|input| part(input, &strips.rows_of(strip), rows)).collect();
            let (result, _) = run(&compiled, &blocks(&own), u64::MAX, random.below(4) as usize);
            owners[random.below(3) as usize].push((strip..strip + 1, result.to_dense().into_owned()));
        }
        let all = 0..strips.len();
        owners.iter_mut().for_each(|bag| fold(bag, all.clone(), case.merge));
        let mut bag: Bag = owners.into_iter().flatten().collect();
        fold(&mut bag, all, case.merge);
        assert_eq!(bag.len(), 1);
        let folded = MatrixBlock::from(bag.remove(0).1);
        let kind = if is_sparse { "sparse" } else { "dense" };
        assert!(bits(&folded) == bits(&whole), "{kind} rows of {}", case.example.plan);
        for pool in 1..pools().len() {
            assert!(bits(&run(&compiled, &blocks(&inputs), strip_bytes, pool).0) == bits(&whole));
        }
    }
}

/// The judge can tell: merging in the order of strips gives other bits than the tree.
#[test]
fn other_orders_have_other_bits() {
    let (rows, strip_bytes) = (3000, 2000);
    let inputs = [1, 2].map(|seed| matrix(rows, 12, 1.0, Values::Reals, seed));
    let compiled = compile(&sum_of_products().plan, Isa::detect());
    let blocks = |inputs: &[Dense]| inputs.iter().map(|dense| stored(dense, false)).collect::<Vec<_>>();
    let whole = run(&compiled, &blocks(&inputs), strip_bytes, 0).0.get(0, 0);
    let strips = Strips::new(rows, 96, strip_bytes, 1);
    let in_order = (0..strips.len()).fold(0.0, |sum, strip| {
        let own = inputs.each_ref().map(|input| part(input, &strips.rows_of(strip), rows));
        sum + run(&compiled, &blocks(&own), u64::MAX, 0).0.get(0, 0)
    });
    assert!((whole - in_order).abs() < 1e-9);
    assert_ne!(whole.to_bits(), in_order.to_bits());
}

/// A matrix of one strip keeps the bits that it has without strips.
#[test]
fn one_strip_is_no_strip() {
    let main = Csr::from_dense(&matrix(500, 12, 0.2, Values::Reals, 3));
    let compiled = compile(&gradient().plan, Isa::detect());
    let inputs = [main.into(), matrix(12, 1, 1.0, Values::Reals, 4).into()];
    let (small, large) = (run(&compiled, &inputs, 1 << 16, 0), run(&compiled, &inputs, u64::MAX, 0));
    assert_eq!((small.1, bits(&small.0)), (1, bits(&large.0)));
}
