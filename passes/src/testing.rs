//! DAGs of the paper's examples, for tests.

use fuseline_ir::hop::{DataGenOp, HopDag, HopId, HopOp, NaryOp, ReorgOp};
use fuseline_ir::ops::{AggOp, BinaryOp, Direction, TernaryOp, UnaryOp};
use fuseline_ir::program::{Predicate, Program, StatementBlock};
use fuseline_ir::{SizeInfo, Value};

/// Builds DAGs with inferred sizes.
#[derive(Default)]
pub(crate) struct Dag {
    pub(crate) dag: HopDag,
}

impl Dag {
    pub(crate) fn read(&mut self, name: &str, rows: u64, cols: u64) -> HopId {
        self.dag.read_matrix(name, SizeInfo::dims(rows, cols))
    }

    pub(crate) fn sparse(&mut self, name: &str, rows: u64, cols: u64, nnz: u64) -> HopId {
        self.dag.read_matrix(name, SizeInfo::with_nnz(rows, cols, nnz))
    }

    pub(crate) fn number(&mut self, value: f64) -> HopId {
        self.dag.literal(Value::F64(value))
    }

    pub(crate) fn op(&mut self, op: impl Into<HopOp>, inputs: &[HopId]) -> HopId {
        self.dag.add(op.into(), inputs, None).expect("test DAGs are well-formed")
    }

    pub(crate) fn mult(&mut self, left: HopId, right: HopId) -> HopId {
        self.op(BinaryOp::Mult, &[left, right])
    }

    pub(crate) fn plus(&mut self, left: HopId, right: HopId) -> HopId {
        self.op(BinaryOp::Plus, &[left, right])
    }

    pub(crate) fn matmul(&mut self, left: HopId, right: HopId) -> HopId {
        self.op(HopOp::MatMul, &[left, right])
    }

    pub(crate) fn t(&mut self, input: HopId) -> HopId {
        self.op(HopOp::Reorg(ReorgOp::Transpose), &[input])
    }

    pub(crate) fn sum(&mut self, input: HopId) -> HopId {
        self.op((AggOp::Sum, Direction::Full), &[input])
    }

    /// `source[, first:last]`, with 1-based columns.
    pub(crate) fn columns(&mut self, source: HopId, first: i64, last: i64) -> HopId {
        let rows = self.dag[source].size.rows.expect("test matrices have known sizes") as i64;
        let [one, rows, first, last] = [1, rows, first, last].map(|bound| self.dag.literal(Value::I64(bound)));
        self.op(HopOp::Index, &[source, one, rows, first, last])
    }

    /// `seq(from, from + (length - 1) * by, by)`.
    pub(crate) fn seq(&mut self, from: f64, by: f64, length: u64) -> HopId {
        let bounds = [from, from + (length - 1) as f64 * by, by].map(|bound| self.number(bound));
        self.op(HopOp::DataGen(DataGenOp::Seq), &bounds)
    }

    /// `rand` with this many rows, columns, and share of non-zeros.
    pub(crate) fn drawn(&mut self, [rows, cols]: [f64; 2], sparsity: f64) -> HopId {
        let numbers = [rows, cols, 0.0, 1.0, sparsity, 7.0].map(|value| self.number(value));
        let density = self.dag.literal(Value::Str("uniform".into()));
        self.op(HopOp::DataGen(DataGenOp::Rand), &[&numbers[..], &[density]].concat())
    }

    pub(crate) fn write(&mut self, name: &str, id: HopId) {
        self.dag.write(name, id);
    }
}

/// `sum(X * Y * Z)`; gives the inner product, the outer one and the sum.
pub(crate) fn sum_of_products() -> (HopDag, [HopId; 3]) {
    let mut d = Dag::default();
    let (x, y, z) = (d.read("X", 1000, 100), d.read("Y", 1000, 100), d.read("Z", 1000, 100));
    let xy = d.mult(x, y);
    let xyz = d.mult(xy, z);
    let sum = d.sum(xyz);
    d.write("s", sum);
    (d.dag, [xy, xyz, sum])
}

/// Expression (1): `((X != 0) * (U %*% t(V))) %*% V + 1e-6 * U * r`; gives the product with V and the final sum.
pub(crate) fn als_update() -> (HopDag, HopId, HopId) {
    let mut d = Dag::default();
    let x = d.sparse("X", 20_000, 10_000, 2_000_000);
    let (u, v, r) = (d.read("U", 20_000, 20), d.read("V", 10_000, 20), d.read("r", 20_000, 1));
    let zero = d.number(0.0);
    let nonzero = d.op(BinaryOp::NotEqual, &[x, zero]);
    let vt = d.t(v);
    let uv = d.matmul(u, vt);
    let weighted = d.mult(nonzero, uv);
    let product = d.matmul(weighted, v);
    let small = d.number(1e-6);
    let scaled = d.mult(small, u);
    let regularized = d.mult(scaled, r);
    let output = d.plus(product, regularized);
    d.write("O", output);
    (d.dag, product, output)
}

/// Expression (2): `Q = P[,1:k] * (X %*% v); H = t(X) %*% (Q - P[,1:k] * rowSums(Q))`, in the order of the
/// paper's figure, whose groups 4 to 11 are 6 to 13 here, since the bounds of the range are leaves too.
pub(crate) fn mlogreg() -> (HopDag, [HopId; 8]) {
    let mut d = Dag::default();
    let (x, v, p) = (d.read("X", 100_000, 100), d.read("v", 100, 4), d.read("P", 100_000, 5));
    let [one, m, k] = [1, 100_000, 4].map(|bound| d.dag.literal(Value::I64(bound)));
    let xv = d.matmul(x, v);
    let range = d.op(HopOp::Index, &[p, one, m, one, k]);
    let q = d.mult(range, xv);
    let sums = d.op((AggOp::Sum, Direction::Row), &[q]);
    let scaled = d.mult(range, sums);
    let difference = d.op(BinaryOp::Minus, &[q, scaled]);
    let xt = d.t(x);
    let h = d.matmul(xt, difference);
    d.write("H", h);
    (d.dag, [xv, range, q, sums, scaled, difference, xt, h])
}

/// `Y + X * (U %*% t(V))`; gives the element-wise product and the sum.
pub(crate) fn outer_plus_dense() -> (HopDag, HopId, HopId) {
    let mut d = Dag::default();
    let x = d.sparse("X", 20_000, 20_000, 400_000);
    let (y, u, v) = (d.read("Y", 20_000, 20_000), d.read("U", 20_000, 100), d.read("V", 20_000, 100));
    let vt = d.t(v);
    let uv = d.matmul(u, vt);
    let product = d.mult(x, uv);
    let sum = d.plus(y, product);
    d.write("O", sum);
    (d.dag, product, sum)
}

/// `sum(X * log(U %*% t(V) + eps))`.
pub(crate) fn cross_entropy() -> HopDag {
    let mut d = Dag::default();
    let x = d.sparse("X", 20_000, 10_000, 200_000);
    let (u, v) = (d.read("U", 20_000, 100), d.read("V", 10_000, 100));
    let vt = d.t(v);
    let uv = d.matmul(u, vt);
    let eps = d.number(1e-15);
    let shifted = d.plus(uv, eps);
    let log = d.op(UnaryOp::Log, &[shifted]);
    let product = d.mult(x, log);
    let sum = d.sum(product);
    d.write("s", sum);
    d.dag
}

/// `sum(X^2)`, `sum(X * Y)`, `sum(Y^2)`.
pub(crate) fn three_sums() -> HopDag {
    let mut d = Dag::default();
    let (x, y) = (d.read("X", 1000, 1000), d.read("Y", 1000, 1000));
    let two = d.number(2.0);
    let xx = d.op(BinaryOp::Pow, &[x, two]);
    let xy = d.mult(x, y);
    let yy = d.op(UnaryOp::Pow2, &[y]);
    for (name, cells) in [("a", xx), ("b", xy), ("c", yy)] {
        let sum = d.sum(cells);
        d.write(name, sum);
    }
    d.dag
}

/// An iteration of k-means: the sum of the least distances, the sizes of the clusters, and the sums of their points.
pub(crate) fn kmeans() -> (HopDag, [HopId; 3]) {
    let mut d = Dag::default();
    let (points, centers) = (d.read("X", 1_000_000, 10), d.read("C", 10, 5));
    let (norms, factor) = (d.read("n", 1, 5), d.number(-2.0));
    let product = d.matmul(points, centers);
    let scaled = d.mult(product, factor);
    let distances = d.plus(scaled, norms);
    let nearest = d.op((AggOp::Min, Direction::Row), &[distances]);
    let is_nearest = d.op(BinaryOp::LessEqual, &[distances, nearest]);
    let ties = d.op((AggOp::Sum, Direction::Row), &[is_nearest]);
    let shares = d.op(BinaryOp::Div, &[is_nearest, ties]);
    let total = d.sum(nearest);
    let sizes = d.op((AggOp::Sum, Direction::Col), &[shares]);
    let transposed = d.t(shares);
    let sums = d.matmul(transposed, points);
    d.write("total", total);
    d.write("sizes", sizes);
    d.write("sums", sums);
    (d.dag, [total, sizes, sums])
}

/// A reproducible source of choices.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }

    pub(crate) fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }
}

/// A random DAG of every operation that templates know, over dense and sparse matrices, vectors, single cells and
/// scalars of a few sizes.
pub(crate) fn random_dag(random: &mut Random, operations: usize) -> HopDag {
    let mut d = Dag::default();
    let (m, n, k) = (1500, 300, 4);
    let mut values = vec![d.read("X", m, n), d.read("Y", m, n), d.sparse("S", m, n, 900), d.read("P", m, k)];
    values.extend([d.read("y", m, 1), d.read("r", 1, n), d.read("v", n, 1), d.read("B", n, k), d.read("c", 1, 1)]);
    // Where sizes are unknown or known in part, nothing may be taken for granted.
    let (rows, cols) =
        (SizeInfo { rows: Some(m), ..SizeInfo::UNKNOWN }, SizeInfo { cols: Some(1), ..SizeInfo::UNKNOWN });
    for (name, size) in [("Q", SizeInfo::UNKNOWN), ("R", rows), ("q", cols)] {
        values.push(d.dag.read_matrix(name, size));
    }
    let (u, w) = (d.read("U", m, k), d.read("W", k, n));
    values.extend([u, d.matmul(u, w), d.number(2.0), d.number(0.0), d.dag.read_scalar("s")]);
    for _ in 0..operations {
        // Recent values more often, so that expressions get deep.
        let any = |random: &mut Random| {
            let recent = values.len().min(5);
            values[if random.below(2) == 0 {
                random.below(values.len())
            } else {
                values.len() - 1 - random.below(recent)
            }]
        };
        let [a, b, c] = [any(random), any(random), any(random)];
        let hop = match random.below(8) {
            0 => random_update(&mut d, random, a, [values[2], u, w]),
            _ => random_operation(&mut d, random, &values, [a, b, c]),
        };
        values.extend(hop);
    }
    let is_total = |&id: &HopId| matches!(d.dag[id].op, HopOp::AggUnary(_, Direction::Full));
    let totals: Vec<HopId> = values.iter().copied().filter(is_total).collect();
    for (number, hop) in values.into_iter().rev().take(1 + random.below(4)).chain(totals).enumerate() {
        d.write(&format!("o{number}"), hop);
    }
    d.dag
}

/// A step of a factorisation `s ~ u %*% w`: values weighted with `s`, these times a factor, or an aggregate of `s`.
fn random_update(d: &mut Dag, random: &mut Random, a: HopId, [s, u, w]: [HopId; 3]) -> Option<HopId> {
    let t = HopOp::Reorg(ReorgOp::Transpose);
    match random.below(6) {
        0 => {
            let wt = d.t(w);
            d.dag.add(HopOp::MatMul, &[a, wt], None).ok()
        }
        1 => {
            let ut = d.t(u);
            d.dag.add(HopOp::MatMul, &[ut, a], None).ok()
        }
        2 => {
            let at = d.dag.add(t, &[a], None).ok()?;
            d.dag.add(HopOp::MatMul, &[at, u], None).ok()
        }
        3 => {
            let product = d.matmul(u, w);
            d.dag.add(BinaryOp::Mult.into(), &[s, product], None).ok()
        }
        4 => d.dag.add((random.pick(&[AggOp::Sum, AggOp::Min]), Direction::Full).into(), &[s], None).ok(),
        _ => d.dag.add(BinaryOp::Mult.into(), &[s, a], None).ok(),
    }
}

/// A random operation on these values, if they fit it.
fn random_operation(d: &mut Dag, random: &mut Random, values: &[HopId], [a, b, c]: [HopId; 3]) -> Option<HopId> {
    let (rows, cols) = d.dag[a].size.known_dims().unwrap_or((1, 1));
    let merging = AggOp::ALL[random.below(AggOp::ALL.len())];
    let (op, inputs) = match random.below(17) {
        0 | 1 => (HopOp::Unary(random.pick(UnaryOp::ALL)), vec![a]),
        2..=5 => (HopOp::Binary(random.pick(BinaryOp::ALL)), vec![a, b]),
        6 => (HopOp::Ternary(random.pick(TernaryOp::ALL)), vec![a, b, c]),
        7 => {
            // Up to five, most of them alike, so that they fit each other.
            let more = (0..random.below(3)).map(|_| values[values.len() - 1 - random.below(values.len().min(4))]);
            let operands = [a, b, c].into_iter().chain(more).collect();
            (HopOp::Nary(random.pick(&[NaryOp::Min, NaryOp::Plus, NaryOp::Cbind, NaryOp::Cbind])), operands)
        }
        8 | 9 => (HopOp::AggUnary(merging, random.pick(Direction::ALL)), vec![a]),
        10 => (HopOp::MatMul, vec![a, b]),
        11 => {
            let at = d.dag.add(HopOp::Reorg(ReorgOp::Transpose), &[a], None).ok()?;
            (HopOp::MatMul, vec![at, b])
        }
        12 if cols > 1 => {
            let first = 1 + random.below(cols as usize - 1) as i64;
            return Some(d.columns(a, first, if random.below(2) == 0 { first } else { (first + 2).min(cols as i64) }));
        }
        13 if rows > 1 => return Some(d.seq(random.below(3) as f64, 0.5, rows)),
        14 if cols == 1 => (HopOp::Reorg(ReorgOp::Transpose), vec![a]),
        14 => {
            let inner = d.dag.add(HopOp::Reorg(ReorgOp::Transpose), &[a], None).ok()?;
            let sums = d.dag.add(HopOp::Cumulative(random.pick(&[AggOp::Sum, AggOp::Min])), &[inner], None).ok()?;
            (HopOp::Reorg(ReorgOp::Transpose), vec![sums])
        }
        15 => (HopOp::Cumulative(random.pick(&[AggOp::Sum, AggOp::Min, AggOp::Max])), vec![a]),
        _ => (HopOp::Outer(random.pick(BinaryOp::ALL)), vec![a, b]),
    };
    d.dag.add(op, &inputs, None).ok()
}

/// A program of so many loops, each in the body of the one before. Every level counts in a variable of its own, adds that
/// to a common sum, and writes a variable that nothing reads.
pub(crate) fn nested_loops(depth: usize) -> Program {
    let start = |name: &str| {
        let mut dag = HopDag::new();
        let zero = dag.literal(Value::F64(0.0));
        dag.write(name, zero);
        StatementBlock::Basic(dag)
    };
    let inner = (0..depth).rev().fold(Vec::new(), |inner, level| {
        let counter = format!("i{level}");
        let mut condition = HopDag::new();
        let (count, two) = (condition.read_scalar(&counter), condition.literal(Value::F64(2.0)));
        let holds = condition.add(HopOp::Binary(BinaryOp::Less), &[count, two], None).expect("two numbers");
        condition.write(Predicate::VALUE, holds);
        let mut step = HopDag::new();
        let (count, sum, one) = (step.read_scalar(&counter), step.read_scalar("sum"), step.literal(Value::F64(1.0)));
        let next = step.add(HopOp::Binary(BinaryOp::Plus), &[count, one], None).expect("two numbers");
        let total = step.add(HopOp::Binary(BinaryOp::Plus), &[sum, count], None).expect("two numbers");
        step.write(&counter, next);
        step.write("sum", total);
        step.write(&format!("unread{level}"), total);
        let body = [start(&format!("i{}", level + 1))].into_iter().chain(inner).chain([StatementBlock::Basic(step)]);
        let predicate = Predicate { prelude: Vec::new(), dag: condition };
        vec![StatementBlock::While { predicate, body: body.collect(), span: None }]
    });
    Program { body: [start("sum"), start("i0")].into_iter().chain(inner).collect(), ..Program::default() }
}
