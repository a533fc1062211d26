//! Estimates against the non-zeros of boolean patterns: exact where structure decides, close elsewhere.

use super::*;
use crate::facts::{Context, TemplateLimits};
use crate::testing::{Dag, Random};
use fuseline_ir::Format;
use fuseline_ir::hop::{HopId, HopOp};
use fuseline_ir::ops::{BinaryOp, UnaryOp};
use std::sync::Arc;

/// Where a matrix is not zero.
#[derive(Clone)]
struct Pattern {
    rows: usize,
    cols: usize,
    cells: Vec<bool>,
}

impl Pattern {
    fn new(rows: usize, cols: usize, is_set: impl FnMut(usize) -> bool) -> Self {
        Pattern { rows, cols, cells: (0..rows * cols).map(is_set).collect() }
    }

    fn of(rows: usize, cols: usize, is_set: impl Fn(usize, usize) -> bool) -> Self {
        Pattern::new(rows, cols, |cell| is_set(cell / cols, cell % cols))
    }

    fn random(random: &mut Random, rows: usize, cols: usize, sparsity: f64) -> Self {
        Pattern::new(rows, cols, |_| (random.below(1 << 20) as f64) < sparsity * f64::from(1 << 20))
    }

    /// Columns of very different density, as words in documents.
    fn skewed(random: &mut Random, rows: usize, cols: usize) -> Self {
        Pattern::new(rows, cols, |cell| random.below(1 + cell % cols) == 0)
    }

    fn permutation(random: &mut Random, size: usize) -> Self {
        let mut order: Vec<usize> = (0..size).collect();
        for last in (1..size).rev() {
            order.swap(last, random.below(last + 1));
        }
        Pattern::of(size, size, |row, col| order[row] == col)
    }

    /// A single non-zero in each row, in columns that differ in number.
    fn selection(random: &mut Random, rows: usize, cols: usize) -> Self {
        let chosen: Vec<usize> = (0..rows)
            .map(|_| {
                let bound = 1 + random.below(cols);
                random.below(bound)
            })
            .collect();
        Pattern::of(rows, cols, |row, col| chosen[row] == col)
    }

    fn at(&self, row: usize, col: usize) -> bool {
        self.cells[row * self.cols + col]
    }

    fn non_zeros(&self) -> f64 {
        self.cells.iter().filter(|&&set| set).count() as f64
    }

    fn sketch(&self) -> Sketch {
        let count = |set: usize| set as f64;
        let rows: Vec<f64> =
            (0..self.rows).map(|row| count((0..self.cols).filter(|&col| self.at(row, col)).count())).collect();
        let cols: Vec<f64> =
            (0..self.cols).map(|col| count((0..self.rows).filter(|&row| self.at(row, col)).count())).collect();
        Sketch::exact(rows, cols)
    }

    fn transpose(&self) -> Pattern {
        Pattern::of(self.cols, self.rows, |row, col| self.at(col, row))
    }

    fn product(&self, right: &Pattern) -> Pattern {
        Pattern::of(self.rows, right.cols, |row, col| (0..self.cols).any(|k| self.at(row, k) && right.at(k, col)))
    }

    fn zip(&self, other: &Pattern, op: impl Fn(bool, bool) -> bool) -> Pattern {
        Pattern::of(self.rows, self.cols, |row, col| op(self.at(row, col), other.at(row, col)))
    }
}

/// The larger of estimate over truth and truth over estimate.
fn relative_error(estimate: f64, truth: f64) -> f64 {
    if truth == estimate { 1.0 } else { (estimate / truth).max(truth / estimate) }
}

/// Products in which one side selects, and operations that keep the pattern.
#[test]
fn structure_is_estimated_exactly() {
    let mut random = Random(7);
    for _ in 0..20 {
        let (m, n) = (10 + random.below(40), 10 + random.below(40));
        let x = Pattern::skewed(&mut random, m, n);
        let permutation = Pattern::permutation(&mut random, m);
        let selection = Pattern::selection(&mut random, 30, m);
        let diagonal = Pattern::of(n, n, |row, col| row == col && row % 3 != 0);
        let exact: [(&str, Sketch, Pattern); 8] = [
            ("permutation", permutation.sketch().product(&x.sketch()), permutation.product(&x)),
            ("selection", selection.sketch().product(&x.sketch()), selection.product(&x)),
            ("diagonal", x.sketch().product(&diagonal.sketch()), x.product(&diagonal)),
            (
                "selection transposed",
                x.transpose().sketch().product(&selection.transpose().sketch()),
                x.transpose().product(&selection.transpose()),
            ),
            ("transpose", x.sketch().transpose(), x.transpose()),
            (
                "cbind",
                x.sketch().bind_columns(&permutation.sketch()),
                Pattern::of(m, n + m, |row, col| if col < n { x.at(row, col) } else { permutation.at(row, col - n) }),
            ),
            ("sums of rows", x.sketch().row_sums(), Pattern::of(m, 1, |row, _| (0..n).any(|col| x.at(row, col)))),
            ("sums of columns", x.sketch().column_sums(), Pattern::of(1, n, |_, col| (0..m).any(|row| x.at(row, col)))),
        ];
        for (name, sketch, truth) in exact {
            let (estimate, truth) = (sketch.non_zeros(), truth.non_zeros());
            assert!((estimate - truth).abs() < 1e-6 * truth.max(1.0), "{name}: {estimate}, not {truth}");
            assert_eq!(sketch.rows().sum().round(), sketch.cols().sum().round(), "{name}");
        }
    }
}

/// Prints what the estimates are off by; structured and random cases.
#[test]
fn estimates_are_close() {
    let mut random = Random(11);
    let mut cases: Vec<(String, f64, f64)> = Vec::new();
    let mut case = |name: &str, sketch: Sketch, truth: Pattern| {
        assert_eq!((sketch.rows().len(), sketch.cols().len()), (truth.rows, truth.cols), "{name}");
        cases.push((name.to_owned(), sketch.non_zeros(), truth.non_zeros()));
    };
    for sparsity in [0.003, 0.01, 0.03, 0.1, 0.3] {
        let a = Pattern::random(&mut random, 200, 150, sparsity);
        let b = Pattern::random(&mut random, 150, 180, sparsity);
        let c = Pattern::random(&mut random, 200, 150, sparsity);
        let d = Pattern::random(&mut random, 180, 100, sparsity);
        let (sa, sb, sc, sd) = (a.sketch(), b.sketch(), c.sketch(), d.sketch());
        case(&format!("A %*% B, {sparsity}"), sa.product(&sb), a.product(&b));
        case(&format!("A %*% B %*% D, {sparsity}"), sa.product(&sb).product(&sd), a.product(&b).product(&d));
        case(&format!("t(A) %*% C, {sparsity}"), sa.transpose().product(&sc), a.transpose().product(&c));
        case(&format!("A + C, {sparsity}"), sa.union(&sc), a.zip(&c, |a, c| a || c));
        if sparsity >= 0.03 {
            case(&format!("A * C, {sparsity}"), sa.intersection(&sc), a.zip(&c, |a, c| a && c));
        }
    }
    let words = Pattern::skewed(&mut random, 200, 150);
    let embedding = Pattern::of(150, 40, |row, _| row % 10 != 0);
    case("skewed %*% rows without zeros", words.sketch().product(&embedding.sketch()), words.product(&embedding));
    let first = Pattern::of(150, 150, |row, col| col == 0 && row < 75 || row == col);
    case("skewed %*% one full column", words.sketch().product(&first.sketch()), words.product(&first));
    let other = Pattern::skewed(&mut random, 200, 150);
    case("skewed * skewed", words.sketch().intersection(&other.sketch()), words.zip(&other, |a, b| a && b));
    case("skewed + skewed", words.sketch().union(&other.sketch()), words.zip(&other, |a, b| a || b));
    let outer = (Pattern::of(200, 1, |row, _| row % 5 == 0), Pattern::of(1, 150, |_, col| col % 7 == 0));
    case("outer product", outer.0.sketch().product(&outer.1.sketch()), outer.0.product(&outer.1));

    let errors: Vec<f64> = cases.iter().map(|&(_, estimate, truth)| relative_error(estimate, truth)).collect();
    for ((name, estimate, truth), error) in cases.iter().zip(&errors) {
        println!("{name:<32} estimated {estimate:>9.1}, true {truth:>7}, error {error:.3}");
        assert!(*error < 1.75, "{name}: {estimate}, not {truth}");
    }
    let mean = (errors.iter().map(|error| error.ln()).sum::<f64>() / errors.len() as f64).exp();
    println!("geometric mean of {} errors: {mean:.3}", errors.len());
    assert!(mean < 1.1, "{mean}");
}

/// A DAG over a sparse matrix: a product with its transpose, scaled.
fn gram() -> (Dag, [fuseline_ir::hop::HopId; 3]) {
    let mut d = Dag::default();
    let x = d.sparse("X", 1000, 1000, 1000);
    let xt = d.t(x);
    let gram = d.matmul(xt, x);
    let two = d.number(2.0);
    let scaled = d.mult(gram, two);
    d.write("G", scaled);
    (d, [x, gram, scaled])
}

/// The bound of a product stands in sizes, the estimate in the context alone.
#[test]
fn contexts_expect_what_sketches_tell() {
    let (d, [x, gram, scaled]) = gram();
    let limits = TemplateLimits::default();
    assert_eq!(d.dag[gram].size.nnz, Some(1_000_000));
    let diagonal = Arc::new(Sketch::exact(vec![1.0; 1000], vec![1.0; 1000]));
    let inputs = InputSketches::from([("X".to_owned(), diagonal)]);
    let context = Context::with_estimates(&d.dag, &limits, SparsityEstimates::new(&d.dag, &inputs));
    for id in [x, gram, scaled] {
        assert_eq!(context.expected_size(id).nnz, Some(1000));
    }
    // Without structure a product of random matrices is expected.
    let unstructured = SparsityEstimates::new(&d.dag, &InputSketches::new());
    let expected = Context::with_estimates(&d.dag, &limits, unstructured).expected_size(gram).nnz;
    assert!(expected.is_some_and(|nnz| (900..1100).contains(&nnz)), "{expected:?}");
    assert_eq!(Context::new(&d.dag, &limits).expected_size(gram).nnz, Some(1_000_000));
    assert_eq!(inputs_worth_a_sketch(&d.dag).into_iter().collect::<Vec<_>>(), ["X"]);
}

/// A product of a sparse and a dense matrix is computed dense, and nobody counts non-zeros where there may be many.
#[test]
fn products_that_may_have_many_non_zeros_are_expected_to_be_dense() {
    let format = |non_zeros: u64| {
        let mut d = Dag::default();
        let (x, u) = (d.sparse("X", 500, 100_000, non_zeros), d.read("U", 500, 16));
        let transposed = d.t(x);
        let product = d.matmul(transposed, u);
        let limits = TemplateLimits::default();
        let estimates = SparsityEstimates::new(&d.dag, &InputSketches::new());
        let context = Context::with_estimates(&d.dag, &limits, estimates);
        // Columns that share a row leave others empty.
        assert!(context.expected_size(product).format().is_sparse(), "{non_zeros}");
        context.storage(product).format
    };
    // Of 1.6 million cells two fifths, but for 100,000 rows.
    assert_eq!([30_000, 34_000].map(format), [Format::Sparse, Format::Dense]);
}

/// `rand(..., sparsity=0.01)` makes a sparse matrix, and products with it are small; but chance decides how many
/// non-zeros there are, so that no bound may say so.
#[test]
fn drawn_matrices_are_expected_to_be_as_sparse_as_the_text_says() {
    let mut d = Dag::default();
    let [sparse, dense] = [0.01, 1.0].map(|sparsity| d.drawn([1000.0, 500.0], sparsity));
    let product = d.mult(sparse, dense);
    d.write("O", product);
    let estimates = SparsityEstimates::new(&d.dag, &InputSketches::new());
    assert_eq!([sparse, dense, product].map(|id| d.dag[id].size.nnz), [None; 3]);
    assert_eq!([sparse, dense].map(|id| estimates.non_zeros(id)), [Some(5000), None]);
    assert!(
        estimates.non_zeros(product).is_some_and(|nnz| (4999..=5001).contains(&nnz)),
        "{:?}",
        estimates.non_zeros(product)
    );
}

/// What has no bound has an estimate, as far as zeros stay zeros.
#[test]
fn estimates_go_on_through_element_wise_operations() {
    let mut d = Dag::default();
    let drawn = d.drawn([1000.0, 500.0], 0.01);
    let (three, scalar) = (d.number(3.0), d.op(HopOp::Read("a".into()), &[]));
    let scaled = d.mult(drawn, scalar);
    let root = d.op(UnaryOp::Sqrt, &[scaled]);
    let powers = d.op(BinaryOp::Pow, &[root, three]);
    let filled = d.op(UnaryOp::Exp, &[powers]);
    let moved = d.plus(drawn, three);
    let estimates = SparsityEstimates::new(&d.dag, &InputSketches::new());
    assert_eq!([scaled, root, powers].map(|id| estimates.non_zeros(id)), [Some(5000); 3]);
    assert_eq!([filled, moved].map(|id| estimates.non_zeros(id)), [None; 2]);
}

/// What several operations make of one matrix and numbers has its non-zeros, if its zeros are zeros again in the end.
#[test]
fn zeros_that_come_back_are_estimated() {
    let mut d = Dag::default();
    let drawn = d.drawn([1000.0, 500.0], 0.01);
    let (one, scalar) = (d.number(1.0), d.op(HopOp::Read("a".into()), &[]));
    let beside_one = d.plus(drawn, one);
    let logarithm = d.op(UnaryOp::Log, &[beside_one]);
    let exponential = d.op(UnaryOp::Exp, &[drawn]);
    let excess = d.op(BinaryOp::Minus, &[exponential, one]);
    let square = d.op(UnaryOp::Pow2, &[excess]);
    let far = d.op(BinaryOp::Minus, &[exponential, scalar]);
    let doubled = d.plus(beside_one, one);
    let not_back = d.op(UnaryOp::Log, &[doubled]);
    let estimates = SparsityEstimates::new(&d.dag, &InputSketches::new());
    assert_eq!([logarithm, excess, square].map(|id| estimates.non_zeros(id)), [Some(5000); 3]);
    assert_eq!([beside_one, exponential, far, not_back].map(|id| estimates.non_zeros(id)), [None; 4]);
}

/// Non-zeros of one matrix are not spread independently of those of what was made of it.
#[test]
fn what_comes_of_one_matrix_has_its_pattern() {
    let mut d = Dag::default();
    let (x, y) = (d.sparse("X", 1000, 500, 5000), d.sparse("Y", 1000, 500, 25_000));
    let half = d.number(0.5);
    let square = d.mult(x, x);
    let is_large = d.op(BinaryOp::Greater, &[x, half]);
    let large = d.mult(x, is_large);
    let total = d.plus(square, large);
    let both = d.mult(x, y);
    let weighted = d.mult(both, total);
    let again = d.mult(weighted, y);
    let quotient = d.op(BinaryOp::Div, &[again, y]);
    let either = d.plus(y, quotient);
    let estimates = SparsityEstimates::new(&d.dag, &InputSketches::new());
    assert_eq!([square, is_large, large, total].map(|id| estimates.non_zeros(id)), [Some(5000); 4]);
    assert_eq!([both, weighted, again, quotient].map(|id| estimates.non_zeros(id)), [Some(250); 4]);
    assert_eq!(estimates.non_zeros(either), Some(25_000));
}

/// What vectors scale has the pattern that it had, and what two masks leave of one matrix is spread within it alone.
#[test]
fn vectors_without_zeros_leave_patterns_alone() {
    let mut d = Dag::default();
    let x = d.sparse("X", 1000, 500, 50_000);
    let (row, column) = (d.read("r", 1, 500), d.read("u", 1000, 1));
    let by_row = d.mult(x, row);
    let by_column = d.mult(x, column);
    let both = d.mult(by_row, by_column);
    let either = d.plus(by_row, by_column);
    let [few, some] = [("m", 100), ("n", 200)].map(|(name, nnz)| d.sparse(name, 1000, 1, nnz));
    let [one, other] = [few, some].map(|mask| d.mult(x, mask));
    let left = d.mult(one, other);
    let estimates = SparsityEstimates::new(&d.dag, &InputSketches::new());
    assert_eq!([by_row, by_column, both, either].map(|id| estimates.non_zeros(id)), [Some(50_000); 4]);
    // A tenth and a fifth of the rows.
    assert_eq!([one, other].map(|id| estimates.non_zeros(id)), [Some(5000), Some(10_000)]);
    assert_eq!(estimates.non_zeros(left), Some(1000));
}

/// Estimates exceed neither bounds nor cells, whatever the DAG and the sketches.
#[test]
fn estimates_stay_below_bounds() {
    let mut random = Random(3);
    let mut estimated = 0;
    for _ in 0..500 {
        let dag = crate::testing::random_dag(&mut random, 12);
        let structured = Sketch::exact(
            (0..1500).map(|row| f64::from(u8::from(row < 900))).collect::<Vec<_>>(),
            (0..300).map(|_| 3.0).collect::<Vec<_>>(),
        );
        let inputs = InputSketches::from([("S".to_owned(), Arc::new(structured))]);
        let limits = TemplateLimits::default();
        let estimates = SparsityEstimates::new(&dag, &inputs);
        let context = Context::with_estimates(&dag, &limits, estimates.clone());
        for (id, hop) in &dag.hops {
            let expected = context.expected_size(id);
            assert!(expected.nnz.unwrap_or(u64::MAX) <= hop.size.nnz.unwrap_or(u64::MAX));
            if let Some(estimate) = estimates.non_zeros(id) {
                estimated += 1;
                assert!(Some(estimate) <= hop.size.cells(), "{id} of {dag}");
            }
        }
    }
    assert!(estimated > 500, "{estimated} estimates");
}

/// A row of a single cell that is surely not zero is occupied, not by chance.
#[test]
fn dense_vectors_leave_all_non_zeros() {
    let matrix = Sketch::uniform(200, 5000, 100_000.0);
    for masked in [
        matrix.masked_by_row(&Sketch::uniform(1, 5000, 5000.0)),
        matrix.masked_by_column(&Sketch::uniform(200, 1, 200.0)),
    ] {
        assert!((masked.non_zeros() - 100_000.0).abs() < 1.0, "{}", masked.non_zeros());
    }
    let half = matrix.masked_by_row(&Sketch::uniform(1, 5000, 2500.0));
    assert!((half.non_zeros() - 50_000.0).abs() < 1.0, "{}", half.non_zeros());
}

/// What is joined of a matrix and others meets that matrix in its own cells, not where chance has it: `(Y * r) * (min(Y, Z) - X)`
/// has a non-zero wherever Y has a negative one, and `Z * (X + Y)` few.
#[test]
fn unions_meet_what_they_join_in_its_own_cells() {
    const NON_ZEROS: u64 = 4000;
    let mut d = Dag::default();
    let [x, y, z] = ["X", "Y", "Z"].map(|name| d.sparse(name, 2000, 2000, NON_ZEROS));
    let r = d.read("r", 1, 2000);
    let scaled = d.mult(y, r);
    let least = d.op(BinaryOp::Min, &[y, z]);
    let difference = d.op(BinaryOp::Minus, &[least, x]);
    let met = d.mult(scaled, difference);
    let all = d.mult(x, difference);
    let sum = d.op(BinaryOp::Plus, &[x, y]);
    let chance = d.mult(z, sum);
    let estimates = SparsityEstimates::new(&d.dag, &InputSketches::new());
    let non_zeros = |id: HopId| estimates.non_zeros(id).expect("an estimate") as f64 / NON_ZEROS as f64;
    // Half of the values are taken to be negative.
    assert!((non_zeros(met) - 0.5).abs() < 0.01, "{}", non_zeros(met));
    assert!((non_zeros(all) - 1.0).abs() < 0.01, "{}", non_zeros(all));
    assert!(non_zeros(chance) < 0.01, "{}", non_zeros(chance));
}

/// A minimum of values above zero has non-zeros where both matrices have: whose signs are known says what is left beside zeros.
#[test]
fn signs_say_what_comparisons_leave_beside_zeros() {
    const SHARES: [f64; 4] = [0.0, 0.25, 1.0, 0.5];
    let mut random = Random(11);
    let values: Vec<Vec<f64>> = SHARES
        .iter()
        .map(|&negative| {
            let mut draw = |share: f64| (random.below(1 << 20) as f64) < share * f64::from(1 << 20);
            (0..200 * 100)
                .map(|_| {
                    if !draw(0.1) {
                        0.0
                    } else if draw(negative) {
                        -1.0
                    } else {
                        1.0
                    }
                })
                .collect()
        })
        .collect();
    let sketch_of = |number: usize| {
        let pattern = Pattern::new(200, 100, |cell| values[number][cell] != 0.0);
        Arc::new(pattern.sketch().with_negative(SHARES[number]))
    };
    // Where both are not zero, anything but an equal value is taken to be left.
    let apply = |op: BinaryOp, x: f64, y: f64| if x != 0.0 && y != 0.0 { 1.0 } else { op.eval(x, y) };
    for op in [BinaryOp::Min, BinaryOp::Max, BinaryOp::Less, BinaryOp::Greater, BinaryOp::Plus] {
        for (one, other) in
            (0..4).flat_map(|one| (0..4).map(move |other| (one, other))).filter(|(one, other)| one != other)
        {
            let mut d = Dag::default();
            let (x, y) = (d.sparse("X", 200, 100, 2000), d.sparse("Y", 200, 100, 2000));
            // What keeps signs, or turns all of them, goes on with them.
            let (two, turned) = (d.number(2.0), d.number(-2.0));
            let (doubled, opposite) = (d.mult(x, two), d.mult(x, turned));
            let [compared, compared_opposite] = [doubled, opposite].map(|x| d.op(op, &[x, y]));
            d.write("R", compared);
            assert_eq!(inputs_worth_a_sketch(&d.dag).len(), if op == BinaryOp::Plus { 0 } else { 2 });
            let inputs = InputSketches::from([("X".into(), sketch_of(one)), ("Y".into(), sketch_of(other))]);
            let estimates = SparsityEstimates::new(&d.dag, &inputs);
            for (id, factor) in [(compared, 2.0), (compared_opposite, -2.0)] {
                let pairs = values[one].iter().zip(&values[other]);
                let truth = pairs.filter(|&(&x, &y)| apply(op, factor * x, y) != 0.0).count() as f64;
                let estimate = estimates.non_zeros(id).expect("it is sparse") as f64;
                assert!(
                    relative_error(estimate, truth) < 1.1,
                    "{op:?} {one} {other} {factor}: {estimate}, not {truth}"
                );
            }
        }
    }
}

/// A minimum of a matrix and one within its pattern is as sparse as the signs of the wider one say, which factors turn: of values
/// above zero those of the narrower one are left.
#[test]
fn signs_say_what_is_left_of_a_wider_pattern() {
    const NON_ZEROS: f64 = 2000.0;
    for (of_x, of_u, left) in [(0.0, 0.0, 0.0), (0.0, 1.0, 1.0), (1.0, 1.0, 0.0), (0.25, 0.0, 0.25)] {
        let mut d = Dag::default();
        let (x, z) = (d.sparse("X", 200, 100, NON_ZEROS as u64), d.sparse("Z", 200, 100, NON_ZEROS as u64));
        let u = d.read("u", 200, 1);
        let (inner, outer) = (d.mult(z, x), d.mult(x, u));
        let least = [d.op(BinaryOp::Min, &[inner, outer]), d.op(BinaryOp::Min, &[outer, inner])];
        let sum = d.op(BinaryOp::Plus, &[inner, outer]);
        let sparse = |negative: f64| Arc::new(Sketch::uniform(200, 100, NON_ZEROS).with_negative(negative));
        let inputs = InputSketches::from([
            ("X".into(), sparse(of_x)),
            ("Z".into(), sparse(0.0)),
            ("u".into(), Arc::new(Sketch::dense(200, 1).with_negative(of_u))),
        ]);
        let estimates = SparsityEstimates::new(&d.dag, &inputs);
        let met = NON_ZEROS / 10.0;
        for id in least {
            let estimate = estimates.non_zeros(id).expect("it is sparse") as f64;
            let expected = met + (NON_ZEROS - met) * left;
            assert!((estimate - expected).abs() <= 1.0, "{of_x}, {of_u}: {estimate}, not {expected}");
        }
        assert_eq!(estimates.non_zeros(sum), Some(NON_ZEROS as u64));
        assert!(least.iter().all(|&id| estimates.lies_within(id, x)));
    }
}

/// What was joined has signs of its own: those of both, of a difference those of one turned, and none of a comparison.
#[test]
fn signs_go_through_what_joins_matrices() {
    for (op, left) in
        [(BinaryOp::Plus, 0.0), (BinaryOp::Minus, 0.5), (BinaryOp::NotEqual, 0.0), (BinaryOp::BitwXor, 0.5)]
    {
        let mut d = Dag::default();
        let (x, y, z) = (d.sparse("X", 200, 100, 200), d.sparse("Y", 200, 100, 200), d.sparse("Z", 200, 100, 200));
        let joined = d.op(op, &[x, y]);
        let least = d.op(BinaryOp::Min, &[joined, z]);
        let sketch = Arc::new(Sketch::uniform(200, 100, 200.0).with_negative(0.0));
        let inputs = ["X", "Y", "Z"].map(|name| (name.to_owned(), sketch.clone()));
        let estimates = SparsityEstimates::new(&d.dag, &InputSketches::from(inputs));
        let non_zeros = |id| estimates.non_zeros(id).expect("it is sparse") as f64;
        let met = non_zeros(joined) * 0.01;
        let expected = met + (non_zeros(joined) - met) * left;
        assert!((non_zeros(least) - expected).abs() <= 1.0, "{op:?}: {}, not {expected}", non_zeros(least));
    }
}

/// Beside a sparse matrix the signs of a dense one, or of a vector that repeats, say what a comparison leaves: of values above zero
/// the minimum is zero where the sparse matrix is, and the maximum nowhere.
#[test]
fn signs_of_dense_operands_say_what_is_left_beside_zeros() {
    const NON_ZEROS: f64 = 2000.0;
    for (rows, cols) in [(200, 100), (1, 100), (200, 1)] {
        for negative in [0.0, 0.25, 1.0] {
            let mut d = Dag::default();
            let (x, y) = (d.sparse("X", 200, 100, NON_ZEROS as u64), d.read("Y", rows, cols));
            let (least, most) = (d.op(BinaryOp::Min, &[x, y]), d.op(BinaryOp::Max, &[y, x]));
            let (v, w) = (d.read("v", 100, 1), d.read("W", 100, 2));
            let (times_vector, product) = (d.matmul(x, v), d.matmul(x, w));
            for root in [least, most, times_vector, product] {
                d.write("R", root);
            }
            // A dense factor has no structure, and its signs do not matter.
            assert_eq!(inputs_worth_a_sketch(&d.dag).into_iter().collect::<Vec<_>>(), ["X", "Y"]);
            let signed = Sketch::dense(rows, cols).with_negative(negative);
            let inputs = InputSketches::from([
                ("X".into(), Arc::new(Sketch::uniform(200, 100, NON_ZEROS))),
                ("Y".into(), Arc::new(signed)),
            ]);
            let estimates = SparsityEstimates::new(&d.dag, &inputs);
            let left = |share: f64| NON_ZEROS + (20_000.0 - NON_ZEROS) * share;
            for (id, share) in [(least, negative), (most, 1.0 - negative)] {
                let estimate = estimates.non_zeros(id).unwrap_or(20_000) as f64;
                assert!((estimate - left(share)).abs() <= 1.0, "{rows} x {cols}, {negative}: {estimate}");
            }
        }
    }
}
