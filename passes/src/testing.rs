//! DAGs of the paper's examples, for tests.

use fuseline_ir::hop::{HopDag, HopId, HopOp, ReorgOp};
use fuseline_ir::ops::{AggOp, BinaryOp, Direction, UnaryOp};
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
