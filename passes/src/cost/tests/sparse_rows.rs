//! Prices of operators over the rows of sparse matrices, and the matrix whose rows they bind.

use super::*;
use crate::cost::schedule::Scheduled;
use crate::cover::Hops;
use crate::sketch::{InputSketches, SparsityEstimates};
use fuseline_ir::ops::{AggOp, Direction};
use fuseline_ir::work::PLACED_COLUMNS;

/// Rows and columns of X, of which one cell in 10,000 is not zero.
const ROWS: u64 = 20_000;
const COLS: u64 = 100_000;
const NON_ZEROS: u64 = 200_000;

/// A Row operator of all operators of an expression but its reads, which ends in the last one.
fn row_operator(dag: &HopDag) -> Operator {
    let is_read = |id: HopId| matches!(dag[id].op, HopOp::Read(_));
    let members: Vec<HopId> = dag.hops.keys().filter(|&id| !is_read(id) && dag[id].is_matrix()).collect();
    let inputs: Vec<HopId> = dag.hops.keys().filter(|&id| is_read(id)).collect();
    operator(Some(TemplateType::Row), &members, &inputs)
}

/// What is computed cell by cell of a matrix.
type Chain = fn(&mut Dag, HopId) -> HopId;

/// The matrix whose rows an operator binds, and the share of its cells that it computes on.
fn main_and_share(dag: &HopDag) -> (HopId, f64) {
    let limits = TemplateLimits::default();
    let context = Context::new(dag, &limits);
    let operator = row_operator(dag);
    let vector = cost_vector(&context, &operator).expect("an operator over rows");
    let dense: f64 = operator.members.iter().map(|&id| context.operation(id).dense_flops).sum();
    (operator.main_input(&context).expect("there is a matrix"), vector.work.flops() / dense)
}

/// P037, P117: what is computed cell by cell of a sparse row costs its non-zeros.
#[test]
fn chains_over_sparse_rows_cost_their_non_zeros() {
    let by_row = |d: &mut Dag, x: HopId| {
        let u = d.read("u", ROWS, 1);
        d.op(BinaryOp::Div, &[x, u])
    };
    let by_column = |d: &mut Dag, x: HopId| {
        let w = d.read("w", 1, COLS);
        d.mult(x, w)
    };
    let squared = |d: &mut Dag, x: HopId| d.op(UnaryOp::Pow2, &[x]);
    let with_dense = |d: &mut Dag, x: HopId| {
        let y = d.read("Y", ROWS, COLS);
        d.mult(x, y)
    };
    let chains: [Chain; 4] = [by_row, by_column, squared, with_dense];
    for (number, chain) in chains.into_iter().enumerate() {
        let mut d = Dag::default();
        let x = d.sparse("X", ROWS, COLS, NON_ZEROS);
        let scaled = chain(&mut d, x);
        let v = d.read("v", COLS, 1);
        d.matmul(scaled, v);
        let (main, share) = main_and_share(&d.dag);
        assert_eq!(main, x, "chain {number}");
        assert_close(share, NON_ZEROS as f64 / (ROWS * COLS) as f64);
    }
}

/// P037: what fills the zeros of a row is computed at the non-zeros, and laid out for the product, which takes all cells. Where a
/// row vector comes in before, or little is computed, all is done on rows that are laid out at once.
#[test]
fn chains_that_fill_rows_cost_their_non_zeros_until_they_are_laid_out() {
    let product = (ROWS * COLS) as f64 * 2.0;
    let filled = |d: &mut Dag, x: HopId| d.op(UnaryOp::Exp, &[x]);
    let by_row = |d: &mut Dag, x: HopId| {
        let u = d.read("u", ROWS, 1);
        let shifted = d.op(BinaryOp::Plus, &[x, u]);
        d.op(UnaryOp::Exp, &[shifted])
    };
    let by_column = |d: &mut Dag, x: HopId| {
        let w = d.read("w", 1, COLS);
        let shifted = d.op(BinaryOp::Plus, &[x, w]);
        d.op(UnaryOp::Exp, &[shifted])
    };
    let cheap = |d: &mut Dag, x: HopId| {
        let one = d.number(1.0);
        d.op(BinaryOp::Plus, &[x, one])
    };
    let chains: [(Chain, f64, f64); 4] =
        [(filled, 18.0, 0.0), (by_row, 19.0, 0.0), (by_column, 0.0, 19.0), (cheap, 0.0, 1.0)];
    for (number, (chain, by_position, by_cell)) in chains.into_iter().enumerate() {
        let mut d = Dag::default();
        let x = d.sparse("X", ROWS, COLS, NON_ZEROS);
        let filled = chain(&mut d, x);
        let v = d.read("v", COLS, 1);
        d.matmul(filled, v);
        let limits = TemplateLimits::default();
        let context = Context::new(&d.dag, &limits);
        let operator = row_operator(&d.dag);
        let vector = cost_vector(&context, &operator).expect("an operator over rows");
        let flops = product + by_position * NON_ZEROS as f64 + by_cell * (ROWS * COLS) as f64;
        assert_eq!(operator.main_input(&context), Some(x), "chain {number}");
        assert_close(vector.work.flops() / flops, 1.0);
        // The rows are laid out once.
        assert_close(vector.work.laid_out, (ROWS * COLS) as f64);
    }
}

/// The matrix that a sum over rows has for a factor is no better for being one: its other factor, sparse, is read row by row.
#[test]
fn sparse_rows_are_bound_before_the_factors_of_a_sum() {
    let mut d = Dag::default();
    let x = d.sparse("X", ROWS, COLS, NON_ZEROS);
    let squared = d.op(UnaryOp::Pow2, &[x]);
    let u = d.read("u", ROWS, 1);
    let turned = d.t(squared);
    d.matmul(turned, u);
    assert_eq!(main_and_share(&d.dag).0, x);
}

/// Of two sparse matrices whose product is taken, the sparser one drives; of their sum, both.
#[test]
fn the_sparsest_row_drives_products_and_sums_join_rows() {
    let of = |op: BinaryOp| {
        let mut d = Dag::default();
        let x = d.sparse("X", ROWS, COLS, NON_ZEROS);
        let y = d.sparse("Y", ROWS, COLS, NON_ZEROS / 2);
        let both = d.op(op, &[x, y]);
        let v = d.read("v", COLS, 1);
        d.matmul(both, v);
        let limits = TemplateLimits::default();
        let context = Context::new(&d.dag, &limits);
        let operator = row_operator(&d.dag);
        let main = operator.main_input(&context).expect("there is a matrix");
        let found = operator.by_position(&context, main).expect("rows are sparse");
        (main == y, found.joined == Hops::from_slice(&[x]), main_and_share(&d.dag).1)
    };
    let (drives, joins, share) = of(BinaryOp::Mult);
    assert!(drives && !joins);
    assert_close(share, 0.5 * NON_ZEROS as f64 / (ROWS * COLS) as f64);
    let (drives, joins, share) = of(BinaryOp::Plus);
    assert!(drives && joins);
    assert_close(share, 1.5 * NON_ZEROS as f64 / (ROWS * COLS) as f64);
}

/// P117: an operator over cells that are zero only where two sparse matrices are visits the non-zeros of both.
#[test]
fn sums_of_sparse_matrices_visit_the_non_zeros_of_both() {
    let mut d = Dag::default();
    let x = d.sparse("X", ROWS, COLS, NON_ZEROS);
    let y = d.sparse("Y", ROWS, COLS, NON_ZEROS / 2);
    let both = d.op(BinaryOp::Plus, &[x, y]);
    let sum = d.sum(both);
    let vector = vector_of(&d.dag, Some(TemplateType::Cell), &[both, sum], &[x, y]);
    assert_close(vector.work.flops(), 2.0 * 1.5 * NON_ZEROS as f64);
    assert_close(vector.work.non_zeros, 1.5 * NON_ZEROS as f64);
    // So wide rows are merged. Narrower ones are taken in any order by a sum, which costs less.
    assert_close(vector.work.joined, 1.5 * NON_ZEROS as f64);
    let cols = PLACED_COLUMNS as u64;
    let mut d = Dag::default();
    let (x, y) = (d.sparse("X", ROWS, cols, NON_ZEROS), d.sparse("Y", ROWS, cols, NON_ZEROS / 2));
    let both = d.op(BinaryOp::Plus, &[x, y]);
    let sum = d.sum(both);
    let vector = vector_of(&d.dag, Some(TemplateType::Cell), &[both, sum], &[x, y]);
    assert_close(vector.work.joined, 0.57 * 1.5 * NON_ZEROS as f64);
}

/// What nothing asks for rows visits non-zeros wherever they belong, in a basic operator as in a fused one: a row vector is
/// fetched by columns, what aggregates rows or reads a column vector begins each of them.
#[test]
fn rows_are_begun_where_something_asks_for_them() {
    let rows_begun = |beside: (u64, u64), direction: Direction| {
        let mut d = Dag::default();
        let x = d.sparse("X", ROWS, COLS, NON_ZEROS);
        let y = d.read("y", beside.0, beside.1);
        let scaled = d.mult(x, y);
        let sum = d.op((AggOp::Sum, direction), &[scaled]);
        let fused = vector_of(&d.dag, Some(TemplateType::Cell), &[scaled, sum], &[x, y]);
        [vector_of(&d.dag, None, &[scaled], &[x, y]), fused].map(|vector| vector.work.sparse_rows > 0.0)
    };
    assert_eq!(rows_begun((1, COLS), Direction::Full), [false, false]);
    assert_eq!(rows_begun((1, COLS), Direction::Col), [false, false]);
    assert_eq!(rows_begun((1, COLS), Direction::Row), [false, true]);
    assert_eq!(rows_begun((ROWS, 1), Direction::Full), [true, true]);
    assert_eq!(rows_begun((ROWS, COLS), Direction::Full), [true, true]);
}

/// An operator over rows visits non-zeros where something asks for their columns; sums of rows, beside values of rows, take in
/// values wherever these are.
#[test]
fn row_operators_visit_non_zeros_where_something_asks_for_columns() {
    let visited = |ending: Chain| {
        let mut d = Dag::default();
        let x = d.sparse("X", ROWS, COLS, NON_ZEROS);
        let sums = d.op((AggOp::Sum, Direction::Row), &[x]);
        let scaled = d.mult(x, sums);
        ending(&mut d, scaled);
        let limits = TemplateLimits::default();
        let context = Context::new(&d.dag, &limits);
        cost_vector(&context, &row_operator(&d.dag)).expect("an operator over rows").work.non_zeros
    };
    assert_eq!(visited(|d, scaled| d.op((AggOp::Max, Direction::Row), &[scaled])), 0.0);
    assert_eq!(visited(|d, scaled| d.op((AggOp::Sum, Direction::Col), &[scaled])), NON_ZEROS as f64);
    let times_vector: Chain = |d, scaled| {
        let v = d.read("v", COLS, 1);
        d.matmul(scaled, v)
    };
    // What is looked up is taken in at once.
    assert_eq!(visited(times_vector), 0.9 * NON_ZEROS as f64);
    let beside_vector: Chain = |d, scaled| {
        let w = d.read("w", 1, COLS);
        let both = d.mult(scaled, w);
        d.op((AggOp::Sum, Direction::Row), &[both])
    };
    assert_eq!(visited(beside_vector), 0.9 * NON_ZEROS as f64);
}

/// Rows of two sparse matrices that meet, or are joined, cost more than their visits, whether a fused operator combines them or
/// a basic one.
#[test]
fn rows_that_are_combined_cost_more_than_visits() {
    for (op, is_joined) in [(BinaryOp::Mult, false), (BinaryOp::Plus, true)] {
        let mut d = Dag::default();
        let (x, y) = (d.sparse("X", ROWS, COLS, NON_ZEROS), d.sparse("Y", ROWS, COLS, NON_ZEROS / 2));
        let both = d.op(op, &[x, y]);
        let sum = d.sum(both);
        let fused = vector_of(&d.dag, Some(TemplateType::Cell), &[both, sum], &[x, y]);
        for vector in [vector_of(&d.dag, None, &[both], &[x, y]), fused] {
            let (joined, met) = (vector.work.joined, vector.work.met);
            assert_eq!((joined > 0.0, met > 0.0), (is_joined, !is_joined), "{op:?}");
            assert!(vector.work.combined_rows > 0.0, "{op:?}");
        }
    }
}

/// Rows that are much longer than what is joined are searched for it: their non-zeros cost no visit each.
#[test]
fn long_rows_are_searched_for_joined_ones() {
    let met = |of_long: u64| {
        let mut d = Dag::default();
        let [x, y, z] = [("X", ROWS), ("Y", ROWS), ("Z", of_long)].map(|(name, nnz)| d.sparse(name, ROWS, COLS, nnz));
        let (joined, v) = (d.plus(x, y), d.read("v", COLS, 1));
        let product = d.mult(joined, z);
        let root = d.matmul(product, v);
        vector_of(&d.dag, Some(TemplateType::Row), &[joined, product, root], &[x, y, z, v]).work.met
    };
    assert_eq!(met(20 * ROWS), 20.0 * ROWS as f64);
    assert_eq!([40, 80].map(|times| met(times * ROWS)), [24.0 * ROWS as f64; 2]);
}

/// Non-zeros add to rows of dense sums, even where the other factor has few non-zeros.
#[test]
fn sums_of_sparse_factors_are_dense() {
    let lines = |non_zeros: u64| {
        let mut d = Dag::default();
        let (x, b) = (d.sparse("X", ROWS, COLS, NON_ZEROS), d.sparse("B", ROWS, 16, non_zeros));
        let transposed = d.t(x);
        let product = d.matmul(transposed, b);
        vector_of(&d.dag, Some(TemplateType::Row), &[transposed, product], &[x, b]).work.lines
    };
    assert_eq!(lines(ROWS), lines(16 * ROWS));
    assert!(lines(ROWS) > NON_ZEROS as f64);
}

/// Rows that meet go from the emptiest on: what two of them have left searches a third one, however few times as long as the
/// first of them this one is.
#[test]
fn what_others_have_left_searches_longer_rows() {
    const CELLS: u64 = 10_000 * 1_000;
    let read = |middle: u64, with_middle: bool| {
        let mut d = Dag::default();
        let z = d.sparse("Z", 10_000, 1_000, CELLS / 100);
        let y = d.sparse("Y", 10_000, 1_000, middle);
        let x = d.sparse("X", 10_000, 1_000, CELLS / 5);
        let (product, inputs) = if with_middle { (d.mult(z, y), vec![z, y, x]) } else { (z, vec![z, x]) };
        let all = d.mult(product, x);
        let sum = d.sum(all);
        let members = if with_middle { vec![product, all, sum] } else { vec![all, sum] };
        let vector = vector_of(&d.dag, Some(TemplateType::Cell), &members, &inputs);
        let of_x = vector.inputs.iter().find(|read| read.id == x).expect("X is read");
        of_x.touched / of_x.bytes
    };
    assert_close(read(0, false), 1.0);
    // One in a thousand is left of Y and Z, so that X has 200 times as many; each search is 24 visits.
    assert_close(read(CELLS / 10, true), 24.0 / 200.0);
    assert_close(read(CELLS / 20, true), 24.0 / 400.0);
}

/// Row vectors and sums in which non-zeros fetch lines share the caches: each line takes longer, the more of them there are.
#[test]
fn what_lines_are_fetched_of_shares_the_caches() {
    let of_vectors = |number: u64| {
        let mut d = Dag::default();
        let x = d.sparse("X", ROWS, COLS, NON_ZEROS);
        let vectors: Vec<HopId> = (0..number).map(|name| d.read(&format!("r{name}"), 1, COLS)).collect();
        let scaled = vectors.iter().fold(x, |scaled, &vector| d.mult(scaled, vector));
        d.op((AggOp::Sum, Direction::Col), &[scaled]);
        let vector = cost_vector(&Context::new(&d.dag, &TemplateLimits::default()), &row_operator(&d.dag));
        vector.expect("an operator over rows").work
    };
    let row = 8.0 * COLS as f64;
    for number in 1..4 {
        let work = of_vectors(number);
        assert_close(work.line_bytes, row * (number + 1) as f64);
        assert_close(work.lines, of_vectors(1).lines);
    }
    let time = |number: u64| Machine::default().line_time(of_vectors(number).line_bytes);
    assert!(time(3) > time(1));
}

/// A pass over rows leaves all its results in one column, and those that are matrices are copied out of it.
#[test]
fn results_of_a_pass_are_copied_out_of_it() {
    let mut d = Dag::default();
    let (x, u, w) = (d.read("X", ROWS, 100), d.read("u", ROWS, 1), d.read("W", ROWS, 4));
    let transposed = d.t(x);
    let (one, other) = (d.matmul(transposed, u), d.matmul(transposed, w));
    let copied = |roots: &[HopId]| {
        let members = [&[transposed][..], roots].concat();
        let operator = Operator { roots: roots.into(), ..operator(Some(TemplateType::Row), &members, &[x, u, w]) };
        cost_vector(&Context::new(&d.dag, &TemplateLimits::default()), &operator).expect("an operator over rows").copied
    };
    assert_eq!([copied(&[one]), copied(&[one, other])], [0.0, 800.0 + 2.0 * 3200.0]);
}

/// Of a short vector beside a long factor each line is fetched so often that little comes in between; of the factor all of
/// it does.
#[test]
fn what_is_fetched_often_stays_near() {
    let mut d = Dag::default();
    let (x, r) = (d.sparse("X", ROWS, COLS, NON_ZEROS), d.read("r", 1, COLS));
    let b = d.read("B", COLS, 64);
    let scaled = d.mult(x, r);
    d.matmul(scaled, b);
    let vector = cost_vector(&Context::new(&d.dag, &TemplateLimits::default()), &row_operator(&d.dag));
    let vector = vector.expect("an operator over rows");
    let read = |id: HopId| vector.inputs.iter().find(|read| read.id == id).expect("it is read");
    let (short, long) = (read(r), read(b));
    assert_close(long.line_bytes, short.bytes + long.bytes);
    assert_close(short.line_bytes, short.bytes * (1.0 + long.lines / short.lines));
    assert!(short.line_bytes < long.line_bytes / 4.0);
}

/// What has the non-zeros of the driver leaves all of them: a longer matrix is read whole beside `X` and `X^2`, and beside
/// two matrices that have nothing to do with each other it is searched for the few that these share.
#[test]
fn what_has_the_same_pattern_leaves_all() {
    let read = |is_related: bool| {
        let mut d = Dag::default();
        let x = d.sparse("X", 10_000, 1_000, 100_000);
        let other = if is_related { d.op(UnaryOp::Pow2, &[x]) } else { d.sparse("Z", 10_000, 1_000, 100_000) };
        let y = d.sparse("Y", 10_000, 1_000, 1_000_000);
        let product = d.mult(x, y);
        let all = d.mult(other, product);
        let sum = d.sum(all);
        let limits = TemplateLimits::default();
        let context = Context::with_estimates(&d.dag, &limits, SparsityEstimates::new(&d.dag, &InputSketches::new()));
        let operator = operator(Some(TemplateType::Cell), &[product, all, sum], &[x, other, y]);
        let vector = cost_vector(&context, &operator).expect("the operator is possible");
        let of_y = vector.inputs.iter().find(|read| read.id == y).expect("Y is read");
        of_y.touched / of_y.bytes
    };
    assert_close(read(true), 1.0);
    assert_close(read(false), 24.0 / 1_000.0);
}

/// Rows of a product of low rank beside a sparse matrix are stored for all columns, and looked up at the non-zeros, whose columns
/// are read for that.
#[test]
fn rows_of_products_are_stored_and_looked_up() {
    let work = |takes_product: bool| {
        let mut d = Dag::default();
        let x = d.sparse("X", ROWS, 100, NON_ZEROS);
        let (u, v) = (d.read("U", ROWS, 2), d.read("V", 2, 100));
        let other = if takes_product { d.matmul(u, v) } else { d.read("u", ROWS, 1) };
        d.mult(x, other);
        let limits = TemplateLimits::default();
        cost_vector(&Context::new(&d.dag, &limits), &row_operator(&d.dag)).expect("an operator over rows").work
    };
    let (with_product, by_value) = (work(true), work(false));
    assert_close(with_product.row_cells - by_value.row_cells, (ROWS * 100) as f64);
    assert_eq!((with_product.non_zeros, by_value.non_zeros), (NON_ZEROS as f64, 0.0));
}

/// Closes an operator over rows.
type Close = fn(&mut Dag, HopId);

fn sum_by_row(d: &mut Dag, rows: HopId) {
    d.op(HopOp::AggUnary(AggOp::Sum, Direction::Row), &[rows]);
}

fn sum_by_column(d: &mut Dag, rows: HopId) {
    d.op(HopOp::AggUnary(AggOp::Sum, Direction::Col), &[rows]);
}

/// The product of the transpose of 100 rows with so many columns.
fn multiply_transpose<const COLUMNS: u64>(d: &mut Dag, rows: HopId) {
    let (transposed, w) = (d.t(rows), d.read("W", 100, COLUMNS));
    d.matmul(transposed, w);
}

/// `min(X, U %*% V)`, X 100 x `cols` and sparse, closed by something.
fn least_of_rows(cols: u64, close: Close) -> Dag {
    let mut d = Dag::default();
    let x = d.sparse("X", 100, cols, 10 * cols);
    let (u, v) = (d.read("U", 100, 2), d.read("V", 2, cols));
    let product = d.matmul(u, v);
    let least = d.op(BinaryOp::Min, &[x, product]);
    close(&mut d, least);
    d
}

/// What an operator stores of each row is fetched from beyond the caches of a core where rows are long: sums by column, sparse rows
/// that are laid out, rows of products, and those that are computed for a product. The product of a transpose with a column is such
/// a sum.
#[test]
fn vectors_of_long_rows_leave_the_caches_of_a_core() {
    let read = |cols: u64, vectors: f64, close: Close| {
        let d = least_of_rows(cols, close);
        let mut model = paper();
        model.machine.caches[1].size = vectors * 8.0 * 20_000.0;
        let limits = TemplateLimits::default();
        let vector = cost_vector(&Context::new(&d.dag, &limits), &row_operator(&d.dag)).expect("an operator over rows");
        let of_rows = vector.sweeps.iter().find(|sweep| sweep.of == Swept::Vectors).copied();
        let of_rows = of_rows.expect("some vectors for each row");
        assert_eq!(of_rows.bytes, vectors * 8.0 * cols as f64);
        assert_eq!(of_rows.times, 99.0);
        of_rows.seconds(&model.machine, 1.0)
    };
    let closes: [(f64, Close); 4] =
        [(2.0, sum_by_row), (3.0, sum_by_column), (3.0, multiply_transpose::<2>), (4.0, multiply_transpose::<1>)];
    for (vectors, close) in closes {
        let all = |cols: u64| 99.0 * vectors * 8.0 * cols as f64 * (1.0 / 32e9 + 1.0 / 16e9);
        assert_eq!(read(20_000, vectors, close), 0.0);
        assert_close(read(30_000, vectors, close), 0.5 * all(30_000));
        assert_close(read(40_000, vectors, close), all(40_000));
        assert_close(read(50_000, vectors, close), all(50_000));
    }
}

/// Long rows leave no room in the caches of a core for the vectors that they are multiplied with; those that stay sparse read
/// few cells of these.
#[test]
fn long_rows_push_vectors_of_columns_out_of_the_caches_of_a_core() {
    let sweep = |cols: u64, is_sparse: bool| {
        let mut d = Dag::default();
        let x = if is_sparse { d.sparse("X", 100, cols, 10 * cols) } else { d.read("X", 100, cols) };
        let (r, v) = (d.read("r", 1, cols), d.read("v", cols, 1));
        let scaled = d.mult(x, r);
        let product = d.matmul(scaled, v);
        let vector = vector_of(&d.dag, Some(TemplateType::Row), &[scaled, product], &[x, r, v]);
        vector.sweeps.iter().find(|sweep| sweep.of == Swept::OfColumns).copied()
    };
    let mut machine = paper().machine;
    machine.caches[1].size = 3.0 * 8.0 * 20_000.0;
    for (cols, missing) in [(20_000, 0.0), (30_000, 0.5), (40_000, 1.0), (50_000, 1.0)] {
        let vectors = sweep(cols, false).expect("two vectors");
        let bytes = 2.0 * 8.0 * cols as f64;
        assert!(vectors.bytes == bytes && vectors.times > 9.0, "{vectors:?}");
        assert_close(vectors.seconds(&machine, 1.0), missing * vectors.times * bytes / 32e9);
    }
    assert_eq!(sweep(50_000, true), None);
}

/// Sums with several columns, too, though the rows that are added to them have few non-zeros: they are computed for all columns.
#[test]
fn rows_that_are_computed_for_all_columns_are_added_to_all_sums() {
    let d = least_of_rows(50_000, multiply_transpose::<2>);
    let limits = TemplateLimits::default();
    let vector = cost_vector(&Context::new(&d.dag, &limits), &row_operator(&d.dag)).expect("an operator over rows");
    let sums = vector.sweeps.iter().find(|sweep| sweep.of == Swept::Sums).expect("sums that outgrow the caches");
    assert_eq!((sums.bytes, sums.times), (2.0 * 8.0 * 50_000.0, 99.0));
}

/// What aggregates the values of rows alone, or multiplies them with one vector, begins them sooner than what lays them out or
/// meets them twice.
#[test]
fn rows_of_a_single_use_are_begun_sooner() {
    let mut d = Dag::default();
    let x = d.sparse("X", ROWS, 100, 20 * ROWS);
    let (u, v, one) = (d.read("u", ROWS, 1), d.read("v", 100, 1), d.number(1.0));
    let transposed = d.t(x);
    let single = d.matmul(transposed, u);
    let product = d.matmul(x, v);
    let twice = d.matmul(transposed, product);
    let filled = d.plus(x, one);
    let exponential = d.op(UnaryOp::Exp, &[filled]);
    let laid_out = d.matmul(exponential, v);
    let squared = d.op(UnaryOp::Pow2, &[x]);
    let by_row = |d: &mut Dag, of: HopId| d.op(HopOp::AggUnary(AggOp::Max, Direction::Row), &[of]);
    let of_row = d.plus(x, u);
    let (aggregated, of_filled) = (by_row(&mut d, squared), by_row(&mut d, of_row));
    let begun = |template: TemplateType, members: &[HopId], inputs: &[HopId]| {
        vector_of(&d.dag, Some(template), members, inputs).work.sparse_rows / ROWS as f64
    };
    assert_close(begun(TemplateType::Row, &[transposed, single], &[x, u]), 0.75);
    assert_close(begun(TemplateType::Row, &[product, transposed, twice], &[x, v]), 1.0);
    assert_close(begun(TemplateType::Row, &[filled, exponential, laid_out], &[x, v]), 1.0);
    assert_close(begun(TemplateType::Cell, &[squared, aggregated], &[x]), 0.5);
    assert_close(begun(TemplateType::Cell, &[of_row, of_filled], &[x, u]), 1.0);
}

/// Rows without non-zeros of the matrix at whose non-zeros an operator goes are hardly begun, neither its own nor those beside them.
#[test]
fn empty_rows_are_passed_over() {
    let begun = |non_zeros: u64, template: TemplateType| {
        let mut d = Dag::default();
        let (x, y) = (d.sparse("X", ROWS, 100, non_zeros), d.sparse("Y", ROWS, 100, NON_ZEROS));
        let (product, v) = (d.mult(x, y), d.read("v", 100, 1));
        let (root, inputs) = match template {
            TemplateType::Row => (d.matmul(product, v), vec![x, y, v]),
            _ => (d.op(HopOp::AggUnary(AggOp::Max, Direction::Row), &[product]), vec![x, y]),
        };
        let work = vector_of(&d.dag, Some(template), &[product, root], &inputs).work;
        (work.sparse_rows, work.combined_rows)
    };
    for template in [TemplateType::Row, TemplateType::Cell] {
        let (all, combined) = begun(2 * ROWS, template);
        assert_eq!(all, 2.0 * ROWS as f64);
        let (few, few_combined) = begun(ROWS / 5, template);
        assert_close(few, 0.3 * all);
        if template == TemplateType::Row {
            assert_close(few_combined, 0.3 * combined);
        }
    }
}

/// Rows are added to all cells of `t(X) %*% Y`, however few of them are non-zeros in the end; a basic product of sparse matrices
/// stores these alone.
#[test]
fn sums_of_few_non_zeros_are_written_in_full() {
    let mut d = Dag::default();
    let (x, y, u) = (d.sparse("X", ROWS, COLS, 100), d.sparse("Y", ROWS, 8, 100), d.read("u", ROWS, 1));
    let scaled = d.mult(y, u);
    let transposed = d.t(x);
    let root = d.matmul(transposed, scaled);
    d.dag.hops[root].size = SizeInfo::with_nnz(COLS, 8, 100);
    let fused = vector_of(&d.dag, Some(TemplateType::Row), &[scaled, transposed, root], &[x, y, u]);
    let basic = vector_of(&d.dag, None, &[root], &[transposed, scaled]);
    assert_eq!(fused.output, (COLS * 8 * 8) as f64);
    assert_eq!(basic.output, d.dag[root].size.bytes().expect("sizes are known") as f64);
}

/// Beside rows without non-zeros of the matrix at whose non-zeros an operator goes nothing is computed and nothing read: the
/// product of `t(X) %*% (Y %*% v)` costs the rows of X.
#[test]
fn nothing_is_computed_beside_empty_rows() {
    let beside = |non_zeros: u64| {
        let mut d = Dag::default();
        let (x, y, v) =
            (d.sparse("X", ROWS, 1000, non_zeros), d.sparse("Y", ROWS, 1000, NON_ZEROS), d.read("v", 1000, 1));
        let product = d.matmul(y, v);
        let turned = d.t(x);
        let root = d.matmul(turned, product);
        let vector = vector_of(&d.dag, Some(TemplateType::Row), &[turned, product, root], &[x, y, v]);
        let read = vector.inputs.iter().find(|read| read.id == y).expect("Y is read");
        (vector.work.flops(), read.touched / read.bytes)
    };
    let (all_flops, all_read) = beside(2 * ROWS);
    let (few_flops, few_read) = beside(ROWS / 5);
    assert_eq!(all_read, 1.0);
    assert_close(few_read, 0.2);
    // The sum itself goes by the non-zeros.
    assert!(few_flops < 0.21 * all_flops, "{few_flops} of {all_flops} flops");
}

/// A transpose that an operator reads through is nothing that it computes for its rows, though a square one has as many.
#[test]
fn transposes_of_square_matrices_are_no_vectors_of_rows() {
    let blocks = |cols: u64| {
        let mut d = Dag::default();
        let (x, v) = (d.sparse("X", 3000, cols, 9000), d.read("v", 3000, 1));
        let turned = d.t(x);
        let root = d.matmul(turned, v);
        let limits = TemplateLimits::default();
        let context = Context::new(&d.dag, &limits);
        let operator = operator(Some(TemplateType::Row), &[turned, root], &[x, v]);
        Scheduled::of(&context, &operator).expect("an operator over rows").outline().blocks
    };
    assert_eq!([2999, 3000, 3001].map(blocks), [1; 3]);
}

/// The rows of a sum over rows are those of its wider factor: of `t(X > 0) %*% V` those of X, beside which V is narrow.
#[test]
fn the_wider_factor_of_a_sum_is_bound() {
    let main = |(cols_of_x, cols_of_v): (u64, u64)| {
        let mut d = Dag::default();
        let (x, v) = (d.read("X", 1000, cols_of_x), d.read("V", 1000, cols_of_v));
        let rounded = d.op(UnaryOp::Round, &[x]);
        let turned = d.t(rounded);
        d.matmul(turned, v);
        [x, v].iter().position(|&id| id == main_and_share(&d.dag).0)
    };
    assert_eq!([(100, 1), (100, 2), (2, 100)].map(main), [Some(0), Some(0), Some(1)]);
}
