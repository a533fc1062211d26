//! The workloads of the operators: shapes, densities and what must be reached.

use crate::by_hand::{dense, outer, sparse};
use crate::workload::{Bound, Data, Loop, PARTS, Workload};

/// How large inputs are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    /// A fifth of the rows, or a fifth of rows and columns.
    Quick,
    /// What takes minutes; the report does without.
    Default,
    Full,
}

impl Scale {
    pub(crate) fn of(self, rows: usize) -> usize {
        match self {
            Scale::Quick => rows / 5,
            Scale::Default | Scale::Full => rows,
        }
    }

    /// What belongs to the scale, of quick, default and full.
    pub(crate) fn pick<T>(self, choices: [T; 3]) -> T {
        let [quick, default, full] = choices;
        match self {
            Scale::Quick => quick,
            Scale::Default => default,
            Scale::Full => full,
        }
    }
}

/// All of them, in the order of the report.
pub(crate) fn all(scale: Scale) -> Vec<Workload> {
    let mut workloads = Vec::new();
    for (rows, bounds) in
        [(scale.of(100_000), [Bound::Read(0.95), Bound::Base(2.0)]), (1000, [Bound::ByHand(0.9), Bound::Base(1.0)])]
    {
        workloads.extend(cells(rows, &bounds));
    }
    workloads.extend(sparse_cells(scale.of(100_000)));
    for (rows, cols) in [(scale.of(100_000), 1000), (scale.of(10_000_000), 10)] {
        workloads.extend(chains(rows, cols));
    }
    for sparsity in ["0.1", "0.01"] {
        workloads.extend(sparse_chains(scale.of(100_000), sparsity));
    }
    workloads.extend([(1_000_000, 100), (10_000_000, 10)].map(|(rows, cols)| expression_2(scale.of(rows), cols)));
    let side = scale.of(20_000);
    // Base's intermediates are dense whatever X is: 3.2 GB each at full scale.
    let has_base = |sparsity: &str| scale == Scale::Quick || sparsity == "1";
    workloads.extend(DENSITIES.map(|sparsity| logs(side, sparsity, has_base(sparsity))));
    workloads.extend([20, 100].into_iter().flat_map(|rank| updates(side, rank)));
    workloads
}

/// Densities of the driver of an Outer operator.
pub(crate) const DENSITIES: [&str; 5] = ["1", "0.1", "0.01", "0.001", "0.0001"];

fn dense_data(names: &[&str], rows: usize, cols: usize) -> String {
    random(names, rows, cols, "1")
}

/// Uniform between 0.5 and 1.5, so that sums do not cancel.
pub(crate) fn random(names: &[&str], rows: usize, cols: usize, sparsity: &str) -> String {
    let assign = |(seed, name): (usize, &&str)| {
        format!("{name} = rand(rows={rows}, cols={cols}, min=0.5, max=1.5, sparsity={sparsity}, seed={})\n", seed + 1)
    };
    names.iter().enumerate().map(assign).collect()
}

fn workload(name: &'static str, on: String, data: String, flops: f64, bounds: &[Bound]) -> Workload {
    Workload {
        name,
        on,
        data,
        script: "",
        flops,
        by_hand: |_| Vec::new(),
        loops: Vec::new(),
        bounds: bounds.to_vec(),
        has_base: true,
        has_heuristics: false,
    }
}

/// Cell and MAgg, dense.
pub(crate) fn cells(rows: usize, bounds: &[Bound]) -> [Workload; 3] {
    let on = || format!("dense, {rows} x 1000");
    let cells = (rows * 1000) as f64;
    let three = || dense_data(&["X", "Y", "Z"], rows, 1000);
    fn values(data: &Data) -> [&[f64]; 3] {
        ["X", "Y", "Z"].map(|name| data.dense(name).values())
    }
    [
        Workload {
            script: "R = sum(X * Y * Z)",
            by_hand: |data| {
                let [x, y, z] = values(data);
                vec![dense::sum_products(x, y, z)]
            },
            ..workload("sum(X*Y*Z)", on(), three(), 3.0 * cells, bounds)
        },
        Workload {
            script: "R = sum(X ^ 2)",
            by_hand: |data| vec![dense::sum_squares(data.dense("X").values())],
            ..workload("sum(X^2)", on(), dense_data(&["X"], rows, 1000), 2.0 * cells, bounds)
        },
        Workload {
            script: "R = sum(X * Y)\nS = sum(X * Z)",
            has_heuristics: true,
            by_hand: |data| {
                let [x, y, z] = values(data);
                dense::two_sums(x, y, z).to_vec()
            },
            ..workload("sum(X*Y), sum(X*Z)", on(), three(), 4.0 * cells, bounds)
        },
    ]
}

/// The same, sparse.
pub(crate) fn sparse_cells(rows: usize) -> [Workload; 3] {
    let bounds = [Bound::ByHand(0.9), Bound::Base(4.0)];
    let on = || format!("sparse 0.1, {rows} x 1000");
    let positions = (rows * 100) as f64;
    let three = || random(&["X", "Y", "Z"], rows, 1000, "0.1");
    [
        Workload {
            script: "R = sum(X * Y * Z)",
            by_hand: |data| vec![sparse::sum_products(data.csr("X"), data.csr("Y"), data.csr("Z"))],
            ..workload("sum(X*Y*Z)", on(), three(), 3.0 * positions, &bounds)
        },
        Workload {
            script: "R = sum(X ^ 2)",
            by_hand: |data| vec![sparse::sum_squares(data.csr("X"))],
            ..workload("sum(X^2)", on(), random(&["X"], rows, 1000, "0.1"), 2.0 * positions, &bounds)
        },
        Workload {
            script: "R = sum(X * Y)\nS = sum(X * Z)",
            has_heuristics: true,
            by_hand: |data| sparse::two_sums(data.csr("X"), data.csr("Y"), data.csr("Z")).to_vec(),
            ..workload("sum(X*Y), sum(X*Z)", on(), three(), 4.0 * positions, &bounds)
        },
    ]
}

const CHAIN: &str = "R = t(X) %*% (X %*% V)";

/// Row, dense.
pub(crate) fn chains(rows: usize, cols: usize) -> [Workload; 2] {
    let bounds = [Bound::Read(0.9)];
    let on = || format!("dense, {rows} x {cols}");
    let data = |k: usize| dense_data(&["X"], rows, cols) + &dense_data(&["V"], cols, k);
    let flops = (4 * rows * cols) as f64;
    [
        Workload {
            script: CHAIN,
            by_hand: |data| {
                dense::chain::<1>(data.dense("X").values(), data.dense("X").cols(), data.dense("V").values())
            },
            ..workload("t(X)%*%(X%*%v)", on(), data(1), flops, &bounds)
        },
        Workload {
            script: CHAIN,
            by_hand: |data| {
                dense::chain::<2>(data.dense("X").values(), data.dense("X").cols(), data.dense("V").values())
            },
            ..workload("t(X)%*%(X%*%V), 2 columns", on(), data(2), 2.0 * flops, &bounds)
        },
    ]
}

/// Row, sparse.
pub(crate) fn sparse_chains(rows: usize, sparsity: &str) -> [Workload; 2] {
    let bounds = [Bound::ByHand(0.9), Bound::Base(1.8)];
    let on = || format!("sparse {sparsity}, {rows} x 1000");
    let data = |k: usize| random(&["X"], rows, 1000, sparsity) + &dense_data(&["V"], 1000, k);
    let flops = 4.0 * (rows * 1000) as f64 * sparsity.parse::<f64>().expect("a number");
    [
        Workload {
            script: CHAIN,
            by_hand: |data| sparse::chain::<1>(data.csr("X"), data.dense("V").values()),
            ..workload("t(X)%*%(X%*%v)", on(), data(1), flops, &bounds)
        },
        Workload {
            script: CHAIN,
            by_hand: |data| sparse::chain::<2>(data.csr("X"), data.dense("V").values()),
            ..workload("t(X)%*%(X%*%V), 2 columns", on(), data(2), 2.0 * flops, &bounds)
        },
    ]
}

/// Expression (2) of the paper, the inner loop of MLogreg, with four classes beside the base line.
fn expression_2(rows: usize, cols: usize) -> Workload {
    let data = dense_data(&["X"], rows, cols) + &dense_data(&["V"], cols, 4) + &dense_data(&["P"], rows, 5);
    let flops = (rows * (16 * cols + 16)) as f64;
    Workload {
        script: "Q = P[, 1:4] * (X %*% V)\nR = t(X) %*% (Q - P[, 1:4] * rowSums(Q))",
        by_hand: |data| {
            let x = data.dense("X");
            dense::expression_2::<4>(x.values(), x.cols(), data.dense("V").values(), data.dense("P").values())
        },
        ..workload("Expression (2), k = 4", format!("dense, {rows} x {cols}"), data, flops, &[Bound::Read(0.8)])
    }
}

/// Outer, with a full aggregate.
pub(crate) fn logs(side: usize, sparsity: &'static str, has_base: bool) -> Workload {
    let is_dense = sparsity == "1";
    let data = random(&["X"], side, side, sparsity) + &dense_data(&["U", "V"], side, 100);
    let cells = (side * side) as f64 * sparsity.parse::<f64>().expect("a number");
    let within = Bound::ByHand(1.0 / 1.2);
    let bounds = if is_dense { vec![within, Bound::Parts(0.6)] } else { vec![within] };
    let parts: Loop = |data| outer::products_and_logs(data.dense("U"), data.dense("V"));
    let on = format!("{}, {side} x {side}", if is_dense { "dense".into() } else { format!("sparse {sparsity}") });
    Workload {
        script: "R = sum(X * log(U %*% t(V) + 1e-15))",
        by_hand: if is_dense {
            |data| vec![outer::dense_sum_of_logs(data.dense("X"), data.dense("U"), data.dense("V"))]
        } else {
            |data| vec![outer::sum_of_logs(data.csr("X"), data.dense("U"), data.dense("V"))]
        },
        loops: if is_dense { vec![(PARTS, parts)] } else { Vec::new() },
        has_base,
        ..workload("sum(X*log(U%*%t(V)+1e-15)), rank 100", on, data, 203.0 * cells, &bounds)
    }
}

/// Outer, with a product from the right and from the left: the updates of ALS.
fn updates(side: usize, rank: usize) -> [Workload; 2] {
    let bounds = [Bound::ByHand(1.0 / 1.1)];
    let on = || format!("sparse 0.01, {side} x {side}, rank {rank}");
    let data = || random(&["X"], side, side, "0.01") + &dense_data(&["U", "V"], side, rank);
    let flops = 0.01 * (side * side * 4 * rank) as f64;
    let update = |name, script, by_hand| Workload {
        script,
        by_hand,
        has_base: false,
        ..workload(name, on(), data(), flops, &bounds)
    };
    [
        update("((X!=0)*(U%*%t(V)))%*%V", "R = ((X != 0) * (U %*% t(V))) %*% V", |data: &Data| {
            outer::right_update(data.csr("X"), data.dense("U"), data.dense("V"))
        }),
        update("t((X!=0)*(U%*%t(V)))%*%U", "R = t(t(U) %*% ((X != 0) * (U %*% t(V))))", |data: &Data| {
            outer::left_update(data.csr("X"), data.dense("U"), data.dense("V"))
        }),
    ]
}
