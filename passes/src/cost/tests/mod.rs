//! Costs against hand-computed ones.

mod operations;
mod plans;
mod products;
mod sparse_rows;

use super::*;
use crate::cover::UNKNOWN_DRIVER_SPARSITY;
use crate::facts::TemplateLimits;
use crate::machine::{Bandwidth, Cluster, ComputeRates, Machine, OperationClass, StartCosts};
use crate::testing::{self, Dag};
use fuseline_ir::hop::{DataGenOp, HopDag, HopOp};
use fuseline_ir::ops::{BinaryOp, UnaryOp};
use fuseline_ir::types::Value;

/// Of the paper's example: 32 GB/s for reads, half of it for writes, 10 GFLOP/s, nothing else.
fn paper() -> CostModel {
    CostModel::new(Machine::plain(Bandwidth { read: 32e9, write: 16e9 }, 10e9))
}

fn operator(template: Option<TemplateType>, members: &[HopId], inputs: &[HopId]) -> Operator {
    let root = *members.last().expect("an operator has members");
    Operator { template, roots: vec![root].into(), members: members.into(), inputs: inputs.into() }
}

fn vector_of(dag: &HopDag, template: Option<TemplateType>, members: &[HopId], inputs: &[HopId]) -> CostVector {
    let limits = TemplateLimits::default();
    let context = Context::new(dag, &limits);
    cost_vector(&context, &operator(template, members, inputs)).expect("the operator is possible")
}

fn terms_of(model: &CostModel, dag: &HopDag, members: &[HopId], inputs: &[HopId]) -> CostTerms {
    let limits = TemplateLimits::default();
    let template = (members.len() > 1).then_some(TemplateType::Cell);
    model.operator_terms(&Context::new(dag, &limits), &operator(template, members, inputs))
}

#[track_caller]
fn assert_close(actual: f64, expected: f64) {
    assert!((actual - expected).abs() <= 1e-9 * expected.abs(), "{actual}, not {expected}");
}

/// P114, P119: a fused operator reads each distinct input once and writes its output alone.
#[test]
fn fused_operators_save_intermediates() {
    let (dag, [xy, xyz, sum]) = testing::sum_of_products();
    let [x, y, z] = [0, 1, 2].map(HopId::from_u32);
    let fused = vector_of(&dag, Some(TemplateType::Cell), &[xy, xyz, sum], &[x, y, z]);
    assert_eq!((fused.output, fused.work.flops(), fused.input()), (8.0, 3e5, 3.0 * 8e5));
    let basic = vector_of(&dag, None, &[xy], &[x, y]);
    assert_eq!((basic.output, basic.work.flops(), basic.input()), (8e5, 1e5, 2.0 * 8e5));
}

/// P112, P114, P115: the terms of `sum(X * Y * Z)`, unfused and fused, by hand.
#[test]
fn a_plan_costs_the_sum_of_its_operators() {
    let (dag, [xy, xyz, sum]) = testing::sum_of_products();
    let [x, y, z] = [0, 1, 2].map(HopId::from_u32);
    let model = paper();
    let seconds = |members: &[HopId], inputs: &[HopId]| terms_of(&model, &dag, members, inputs).seconds();
    // A matrix has 0.8 MB: 25 us to read, 50 us to write; 0.1 MFLOP take 10 us.
    assert_close(seconds(&[xy], &[x, y]), 50e-6 + 50e-6);
    assert_close(seconds(&[xyz], &[z, xy]), 50e-6 + 50e-6);
    assert_close(seconds(&[sum], &[xyz]), 25e-6 + 8.0 / 16e9);
    assert_close(seconds(&[xy, xyz, sum], &[x, y, z]), 75e-6 + 8.0 / 16e9);
}

/// P116: reads and computation overlap; the longer one decides.
#[test]
fn the_longer_of_read_and_compute_counts() {
    let mut d = Dag::default();
    let x = d.read("X", 1000, 1000);
    let cheap = d.op(UnaryOp::Abs, &[x]);
    let dear = d.op(UnaryOp::Exp, &[x]);
    let model = paper();
    // 8 MB: 0.25 ms to read, 0.5 ms to write; 1 MFLOP takes 0.1 ms, the 18 MFLOP of exp 1.8 ms.
    let terms = terms_of(&model, &d.dag, &[cheap], &[x]);
    assert_eq!(
        terms,
        CostTerms { start: 0.0, write: 0.5e-3, read: 0.25e-3, compute: 0.1e-3, exposed: 0.0, ..CostTerms::FREE }
    );
    assert_close(terms.seconds(), 0.75e-3);
    assert_close(terms_of(&model, &d.dag, &[dear], &[x]).seconds(), 0.5e-3 + 1.8e-3);
}

/// `sum(X * Y)` over a matrix of so many non-zeros.
fn weighted_sum(non_zeros: u64) -> (HopDag, [HopId; 2], [HopId; 2]) {
    let mut d = Dag::default();
    let x = d.sparse("X", 1000, 1000, non_zeros);
    let y = d.read("Y", 1000, 1000);
    let product = d.mult(x, y);
    let sum = d.sum(product);
    d.write("s", sum);
    (d.dag, [product, sum], [x, y])
}

/// P117: a sparsity-exploiting operator scales with the sparsity of its main input.
#[test]
fn sparse_drivers_scale_the_computation() {
    let vector = |sparsity: f64| {
        let (dag, members, inputs) = weighted_sum((sparsity * 1e6) as u64);
        vector_of(&dag, Some(TemplateType::Cell), &members, &inputs)
    };
    for (sparsity, input) in [(1.0, 16e6), (0.1, 1.2e6 + 8008.0 + 0.8e6), (1e-4, 1.2e3 + 8008.0 + 0.8e3)] {
        let vector = vector(sparsity);
        assert_close(vector.work.flops(), 2e6 * sparsity);
        assert_close(vector.input(), input);
        assert_eq!(vector.sparsity, sparsity);
        assert_eq!(vector.driver.is_some(), sparsity < 1.0);
    }
    assert_eq!(vector(1.0).work.non_zeros, 0.0);
    assert_close(vector(0.1).work.non_zeros, 1e5);
    assert_close(vector(0.1).inputs[1].gathers, 1e5);
}

/// Fetching cells one by one costs more than a stream of them, and never more than reading the whole matrix.
#[test]
fn gathers_cost_up_to_the_whole_matrix() {
    let mut model = paper();
    model.machine.sparse.gather = 1e-9;
    let terms = |model: &CostModel, non_zeros: u64| {
        let (dag, members, inputs) = weighted_sum(non_zeros);
        terms_of(model, &dag, &members, &inputs)
    };
    // What a stream would take is reading; beyond that the loop over the non-zeros waits.
    let (few, many) = (terms(&model, 1000), terms(&model, 300_000));
    assert_close(few.read, (12e3 + 8008.0 + 8e3) / 32e9);
    assert_close(few.compute, 2000.0 / 10e9 + 1000.0 * 1e-9 - 8e3 / 32e9);
    assert_close(many.read, (3.6e6 + 8008.0 + 2.4e6) / 32e9);
    assert_close(many.compute, 600_000.0 / 10e9 + (8e6 - 2.4e6) / 32e9);
    model.machine.sparse.non_zero = 1e-6;
    assert_close(terms(&model, 1000).compute, few.compute + 1000.0 * 1e-6);
}

/// A chain whose matrices fit a cache runs at its bandwidth.
#[test]
fn small_intermediates_stay_in_cache() {
    let seconds = |rows: u64| {
        let mut d = Dag::default();
        let x = d.read("X", rows, 100);
        let square = d.mult(x, x);
        let terms = terms_of(&CostModel::default(), &d.dag, &[square], &[x]);
        (terms.read, terms.write)
    };
    assert_eq!(seconds(400), (320e3 / 64e9, 320e3 / 32e9));
    assert_eq!(seconds(4_000), (3.2e6 / 48e9, 3.2e6 / 24e9));
    assert_eq!(seconds(400_000), (320e6 / 32e9, 320e6 / 16e9));
}

#[test]
fn classes_of_operations_have_their_own_rates() {
    let mut d = Dag::default();
    let (x, w, v) = (d.read("X", 1000, 100), d.read("W", 100, 50), d.read("v", 100, 1));
    let ops = [d.op(UnaryOp::Abs, &[x]), d.op(UnaryOp::Exp, &[x]), d.matmul(x, v), d.matmul(x, w)];
    let classes =
        [OperationClass::Arithmetic, OperationClass::Function, OperationClass::Product, OperationClass::MatrixProduct];
    for (op, class) in ops.into_iter().zip(classes) {
        let vector = vector_of(&d.dag, None, &[op], &d.dag[op].inputs);
        let (own, moved) = (vector.work.flops(), vector.work.moved);
        assert_eq!(vector.work.flops_of(class), own, "{class:?}");
        let mut machine = Machine::plain(Bandwidth { read: 1e9, write: 1e9 }, 1e9);
        machine.compute.matrix_product = 8e9;
        let faster = if class == OperationClass::MatrixProduct { 8.0 } else { 1.0 };
        assert_close(vector.work.seconds(&machine, 1.0), own / 1e9 / faster + moved / 1e9);
    }
    // Row after row, a product within a fused operator does not reach the rate of an unfused one.
    let fused = vector_of(&d.dag, Some(TemplateType::Row), &[ops[3]], &[x, w]);
    assert_eq!(fused.work.flops_of(OperationClass::Product), 1e7);
}

/// X13: compilation and fresh memory count only when it is known how often an operator runs.
#[test]
fn what_is_paid_once_counts_by_its_share() {
    let (dag, [xy, xyz, sum]) = testing::sum_of_products();
    let [x, y, z] = [0, 1, 2].map(HopId::from_u32);
    let mut model = paper();
    model.machine.once.compile = 1e-3;
    model.machine.once.fresh_page = 4.096e-6;
    let once = |model: &CostModel, members: &[HopId], inputs: &[HopId]| terms_of(model, &dag, members, inputs).once;
    assert_eq!(once(&model, &[xy, xyz, sum], &[x, y, z]), 0.0);
    model.executions = Some(10.0);
    assert_close(once(&model, &[xy, xyz, sum], &[x, y, z]), (1e-3 + 8.0 * 1e-9) / 10.0);
    assert_close(once(&model, &[xy], &[x, y]), 8e5 * 1e-9 / 10.0);
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
    let operator = operator(Some(TemplateType::Outer), &[product, sum], &[u, v]);
    assert_eq!(cost_vector(&context, &operator), None);
    assert_eq!(CostModel::default().operator_seconds(&context, &operator), f64::INFINITY);
}

/// Where non-zeros are not known, data may be sparse; products, `1 - X ^ 2` and what is drawn for each cell are not.
#[test]
fn outer_drivers_of_unknown_sparsity_are_data() {
    let mut d = Dag::default();
    let (x, u, v, w) = (d.read("X", 1000, 1000), d.read("U", 1000, 10), d.read("V", 10, 1000), d.read("W", 1000, 1000));
    let one = d.number(1.0);
    let (square, product, other) = (d.mult(x, x), d.matmul(u, v), d.matmul(x, w));
    let difference = d.op(BinaryOp::Minus, &[one, square]);
    let drawn = d.drawn([1000.0, 1000.0], 1.0);
    let unknown = [x, square].map(|driver| (driver, UNKNOWN_DRIVER_SPARSITY));
    let drivers = [unknown[0], unknown[1], (difference, 1.0), (other, 1.0), (drawn, 1.0)];
    let masked = drivers.map(|(driver, _)| d.mult(product, driver));
    for (number, root) in masked.into_iter().enumerate() {
        d.write(&format!("r{number}"), root);
    }
    for ((driver, expected), root) in drivers.into_iter().zip(masked) {
        let vector = vector_of(&d.dag, Some(TemplateType::Outer), &[product, root], &[u, v, driver]);
        assert_eq!((vector.driver, vector.sparsity), (Some(driver), expected));
    }
}

/// P096: operators beyond the memory budget are forbidden where there is no cluster.
#[test]
fn a_budget_forbids_operators() {
    let (dag, [xy, xyz, sum]) = testing::sum_of_products();
    let [x, y, z] = [0, 1, 2].map(HopId::from_u32);
    let mut model = paper();
    let mut fits = |budget: f64, members: &[HopId], inputs: &[HopId]| {
        model.machine.memory_budget = Some(budget);
        terms_of(&model, &dag, members, inputs).seconds().is_finite()
    };
    assert!(fits(2.4e6 + 8.0, &[xy, xyz, sum], &[x, y, z]));
    assert!(!fits(2.4e6, &[xy, xyz, sum], &[x, y, z]));
    assert!(fits(2.4e6, &[xy], &[x, y]));
    assert!(!fits(2.3e6, &[xy], &[x, y]));
}

/// P098, P125: one more input moves an operator to the cluster, where small inputs are broadcast and large ones joined.
#[test]
fn execution_follows_from_the_inputs() {
    let mut d = Dag::default();
    let (x, y, z) = (d.read("X", 1000, 100), d.read("Y", 1000, 100), d.read("z", 1000, 1));
    let xy = d.mult(x, y);
    let xyz = d.mult(xy, z);
    let limits = TemplateLimits::default();
    let context = Context::new(&d.dag, &limits);
    let mut model = paper();
    model.machine.memory_budget = Some(2.405e6);
    model.machine.cluster = Some(Cluster { broadcast_memory: 1e6, ..Cluster::for_tests() });
    let execution = |model: &CostModel, members: &[HopId], inputs: &[HopId]| {
        let operator = operator((members.len() > 1).then_some(TemplateType::Cell), members, inputs);
        let vector = cost_vector(&context, &operator).expect("possible");
        model.execution(&context, operator.template, &vector)
    };
    assert_eq!(execution(&model, &[xy], &[x, y]), Some(ExecutionType::Local));
    assert_eq!(execution(&model, &[xyz], &[z, xy]), Some(ExecutionType::Local));
    assert_eq!(execution(&model, &[xy, xyz], &[x, y, z]), Some(ExecutionType::Distributed));
    let read = |model: &CostModel| {
        model.operator_terms(&context, &operator(Some(TemplateType::Cell), &[xy, xyz], &[x, y, z])).read
    };
    assert_close(read(&model), 0.8e6 / 6e9 + 0.8e6 / 0.1e9 + 8e3 / 0.1e9);
    model.machine.cluster = Some(Cluster { broadcast_memory: 0.5e6, ..Cluster::for_tests() });
    assert_close(read(&model), 0.8e6 / 6e9 + 0.8e6 / 0.6e9 + 8e3 / 0.1e9);
}

/// P015: random values count as often as they are drawn, so that an aggregate of a few of them fits where their cells
/// would not.
#[test]
fn a_budget_counts_what_is_drawn() {
    let mut d = Dag::default();
    let [few, all] = [0.01, 1.0].map(|share| {
        let values = [1000.0, 1000.0, 0.0, 1.0, share, 7.0].map(Value::F64);
        let values = values.into_iter().chain([Value::Str("uniform".to_owned())]);
        let inputs: Vec<HopId> = values.map(|value| d.dag.literal(value)).collect();
        d.op(HopOp::DataGen(DataGenOp::Rand), &inputs)
    });
    let sums = [few, all].map(|drawn| d.sum(drawn));
    let mut model = paper();
    model.machine.memory_budget = Some(1e6);
    let is_possible = |sum: HopId, drawn: HopId| terms_of(&model, &d.dag, &[sum], &[drawn]).seconds().is_finite();
    assert_eq!([is_possible(sums[0], few), is_possible(sums[1], all)], [true, false]);
}

/// Within a fused operator over rows each product and each aggregate starts a run per row; in one over cells a full
/// aggregate has long runs, and an outer product a run per cell that is visited.
#[test]
fn short_rows_take_a_moment_each() {
    let run = 1e-6;
    let machine = Machine { start: StartCosts { run, ..paper().machine.start }, ..paper().machine };
    let runs = |dag: &HopDag, template: Option<TemplateType>, members: &[HopId], inputs: &[HopId]| {
        let work = vector_of(dag, template, members, inputs).work;
        let difference = work.seconds(&machine, 1.0) - work.seconds(&paper().machine, 1.0);
        assert!((difference - work.runs * run).abs() < 1e-9 * difference.max(run), "{difference} of {work:?}");
        work.runs
    };
    let mut d = Dag::default();
    let (x, v) = (d.read("X", 1000, 10), d.read("V", 10, 3));
    let product = d.matmul(x, v);
    let transposed = d.t(x);
    let gram = d.matmul(transposed, product);
    let sum = d.sum(product);
    assert_eq!(runs(&d.dag, None, &[product], &[x, v]), 400.0, "short rows go side by side");
    assert_eq!(runs(&d.dag, None, &[gram], &[transposed, product]), 1000.0, "rows are added up for few columns");
    assert_eq!(runs(&d.dag, Some(TemplateType::Row), &[product, transposed, gram], &[x, v]), 2000.0);
    assert_eq!(runs(&d.dag, None, &[sum], &[product]), 0.0);
    assert_eq!(runs(&d.dag, Some(TemplateType::Row), &[product, sum], &[x, v]), 2000.0);
    let (u, w) = (d.read("U", 500, 10), d.read("W", 10, 400));
    let outer = d.matmul(u, w);
    assert_eq!(runs(&d.dag, None, &[outer], &[u, w]), 0.0, "blocks have no runs");
    let s = d.sparse("S", 500, 400, 2000);
    let masked = d.mult(s, outer);
    let total = d.sum(masked);
    let visited = runs(&d.dag, Some(TemplateType::Outer), &[outer, masked, total], &[s, u, w]);
    assert_close(visited, 2000.0);
    let work = vector_of(&d.dag, Some(TemplateType::Outer), &[outer, masked, total], &[s, u, w]).work;
    assert_close(work.lines, 2000.0 * (10.0 * 8.0 / 64.0 + 1.0));
}

/// Random values are none of the operations of arithmetic.
#[test]
fn random_values_have_a_rate_of_their_own() {
    let mut d = Dag::default();
    let numbers = [1000.0, 10.0, 0.0, 1.0, 1.0, 7.0].map(|value| d.number(value));
    let density = d.dag.literal(Value::Str("uniform".into()));
    let inputs = [&numbers[..], &[density]].concat();
    let drawn = d.op(HopOp::DataGen(DataGenOp::Rand), &inputs);
    let work = vector_of(&d.dag, None, &[drawn], &inputs).work;
    assert_eq!((work.flops_of(OperationClass::Random), work.flops()), (1e4, 1e4));
    let machine = Machine { compute: ComputeRates { random: 1e6, ..ComputeRates::uniform(1e9) }, ..paper().machine };
    assert_close(work.seconds(&machine, 1.0), 1e-2);
}

/// A block of cells is the work of one thread; threads that share several take a moment to meet.
#[test]
fn threads_share_what_is_of_several_blocks() {
    let mut model = paper();
    model.machine.threads = 4;
    model.machine.start = StartCosts { basic: 3e-6, fused: 2e-6, parallel: 8e-6, ..model.machine.start };
    let terms = |rows: u64| {
        let mut d = Dag::default();
        let (x, y) = (d.read("X", rows, 8), d.read("Y", rows, 8));
        let product = d.mult(x, y);
        let sum = d.sum(product);
        let basic = terms_of(&model, &d.dag, &[product], &[x, y]).start;
        (terms_of(&model, &d.dag, &[product, sum], &[x, y]), basic)
    };
    let ((one, basic), (several, _)) = (terms(4096), terms(4097));
    // Blocks of basic operators hold twice as many cells.
    let [(_, basic_of_one), (_, basic_of_several)] = [terms(8192), terms(8193)];
    assert_close(basic_of_one, 3e-6);
    assert_close(one.start, 2e-6);
    assert_close(basic, 3e-6);
    assert_close(several.start, 10e-6);
    assert_close(basic_of_several, 11e-6);
    assert_close(one.compute, 2.0 * 32768.0 / 10e9);
    assert_close(several.compute, 2.0 * 32776.0 / 40e9);
}

/// Sparse sides are walked through whole, row by row, while dense ones are read where the driver is not zero.
#[test]
fn sparse_sides_are_visited_whole() {
    let mut d = Dag::default();
    let (x, z, y) = (d.sparse("X", 1000, 100, 1000), d.sparse("Z", 1000, 100, 20_000), d.read("Y", 1000, 100));
    let with_sparse = d.mult(x, z);
    let with_dense = d.mult(x, y);
    let [sum, other] = [with_sparse, with_dense].map(|product| d.sum(product));
    let vector = vector_of(&d.dag, Some(TemplateType::Cell), &[with_sparse, sum], &[x, z]);
    assert_eq!((vector.work.non_zeros, vector.work.sparse_rows), (21_000.0, 2000.0));
    assert!(vector.inputs.iter().all(|read| read.touched == read.bytes && read.gathers == 0.0));
    let vector = vector_of(&d.dag, Some(TemplateType::Cell), &[with_dense, other], &[x, y]);
    assert_eq!((vector.work.non_zeros, vector.work.sparse_rows), (1000.0, 1000.0));
    assert_close(vector.inputs[1].gathers, 1000.0);
}

/// Beside a dense driver a sparse matrix is read whole: there is nothing that its rows would be searched for.
#[test]
fn a_dense_driver_searches_nothing() {
    let mut d = Dag::default();
    let (x, y, z) = (d.sparse("X", 1000, 100, 1000), d.read("Y", 1000, 100), d.read("Z", 1000, 100));
    let greater = d.op(BinaryOp::Max, &[x, y]);
    let product = d.mult(greater, z);
    let sum = d.sum(product);
    let vector = vector_of(&d.dag, Some(TemplateType::Cell), &[greater, product, sum], &[x, y, z]);
    assert_eq!(vector.driver, Some(z));
    assert!(vector.inputs.iter().all(|read| read.touched == read.bytes), "{:?}", vector.inputs);
}

/// By themselves, sums run over the stored values alone; element-wise operators keep the pattern of one sparse matrix, and
/// store what two of them leave.
#[test]
fn basic_operators_on_sparse_matrices() {
    let mut d = Dag::default();
    let (x, y) = (d.sparse("X", 1000, 100, 1000), d.read("Y", 1000, 100));
    let sum = d.sum(x);
    let z = d.sparse("Z", 1000, 100, 3000);
    let two = d.number(2.0);
    let (doubled, product, of_sparse) = (d.mult(x, two), d.mult(x, y), d.mult(x, z));
    let work = vector_of(&d.dag, None, &[sum], &[x]).work;
    assert_eq!((work.non_zeros, work.flops()), (0.0, 1000.0));
    let work = vector_of(&d.dag, None, &[doubled], &[x, two]).work;
    assert_eq!((work.non_zeros, work.sparse_rows, work.stored, work.flops()), (0.0, 0.0, 0.0, 1000.0));
    let vector = vector_of(&d.dag, None, &[product], &[x, y]);
    assert_eq!((vector.work.non_zeros, vector.work.stored, vector.work.flops()), (750.0, 0.0, 1000.0));
    assert_close(vector.inputs[1].touched, 8e5 / 100.0);
    let work = vector_of(&d.dag, None, &[of_sparse], &[x, z]).work;
    assert_eq!((work.non_zeros, work.stored, work.stored_rows), (4000.0, 1000.0, 1000.0));
}

/// Over a dense driver the products of factors are computed in tiles, as matrix products are.
#[test]
fn outer_operators_over_dense_drivers_multiply_in_tiles() {
    let mut d = Dag::default();
    let (dense, sparse) = (d.sparse("X", 1000, 1000, 900_000), d.sparse("S", 1000, 1000, 10_000));
    let (u, v) = (d.read("U", 1000, 10), d.read("V", 10, 1000));
    let product = d.matmul(u, v);
    let class_of_product = |d: &mut Dag, driver: HopId, class: OperationClass| {
        let masked = d.mult(driver, product);
        let sum = d.sum(masked);
        let inputs = &mut [driver, u, v];
        inputs.sort_unstable();
        vector_of(&d.dag, Some(TemplateType::Outer), &[product, masked, sum], inputs).work.flops_of(class)
    };
    assert_close(class_of_product(&mut d, dense, OperationClass::MatrixProduct), 2e7);
    assert_close(class_of_product(&mut d, sparse, OperationClass::Product), 2e5);
}
