//! The operators that the cost model is held against: expressions of every template and variant over shapes, densities
//! and ranks. Constants of the model were fitted to some of them ([`families`]); others ([`kept_apart`]), of other shapes, are
//! looked at as a whole alone, and nothing may be fitted to them.

use crate::workloads::Scale;
use fuseline::Mode;

/// Expressions on the same matrices.
pub(super) struct Family {
    /// The matrices in words.
    pub(super) on: String,
    /// Assigns them.
    pub(super) data: String,
    /// Run with everything fused, and with nothing fused.
    pub(super) fused: &'static [&'static str],
    pub(super) basic: &'static [&'static str],
}

impl Family {
    /// The expressions with the mode that each runs in: every operator is there as it is written, whatever a cost model
    /// makes of it.
    pub(super) fn expressions(&self) -> impl Iterator<Item = (Mode, &'static str)> {
        let of = |mode: Mode| move |text: &&'static str| (mode, *text);
        self.fused.iter().map(of(Mode::GenFuseAll)).chain(self.basic.iter().map(of(Mode::Base)))
    }
}

/// All families.
pub(super) fn families(scale: Scale) -> Vec<Family> {
    let largest = |quick: usize, full: usize| if scale == Scale::Full { full } else { quick };
    let cells =
        [(32, 32), (100, 100), (1000, 100), (100_000, 1), (1000, 1000), (100_000, 10), (largest(2000, 10_000), 1000)];
    let rows = [
        (100, 10),
        (1000, 100),
        (1000, 1000),
        (100_000, 2),
        (100_000, 10),
        (20_000, 100),
        (largest(200_000, 1_000_000), 10),
    ];
    let sparse = [
        (1000, 1000, "0.1"),
        (1000, 1000, "0.01"),
        (largest(5000, 10_000), 1000, "0.1"),
        (largest(5000, 10_000), 1000, "0.01"),
        (largest(5000, 10_000), 1000, "0.001"),
        (100_000, 50, "0.1"),
    ];
    let outer = [
        (500, 10, "1"),
        (500, 100, "0.1"),
        (1000, 10, "0.1"),
        (1000, 100, "1"),
        (2000, 20, "0.01"),
        (2000, 100, "0.01"),
        (largest(2000, 4000), 10, "0.001"),
        (largest(2000, 4000), 100, "0.001"),
    ];
    let mut families = Vec::new();
    families.extend(cells.map(over_cells));
    families.extend(rows.map(over_rows));
    families.extend(sparse.map(over_non_zeros));
    families.extend(outer.map(over_products));
    families
        .extend([(10, 10, 10), (200, 200, 200), (1000, 100, 1000), (10_000, 100, 10), (512, 784, 500)].map(products));
    families
}

/// Families that no constant was fitted to.
pub(super) fn kept_apart() -> Vec<Family> {
    let mut families = Vec::new();
    families.extend([(300, 700), (50_000, 20), (2000, 2000)].map(apart_over_cells));
    families.extend([(3000, 400), (50_000, 30), (300_000, 5)].map(apart_over_rows));
    families.extend([(3000, 3000, "0.02"), (20_000, 1000, "0.003"), (40_000, 200, "0.03")].map(apart_over_non_zeros));
    families
        .extend([(700, 8, "1"), (1200, 60, "0.3"), (1500, 30, "0.02"), (3000, 50, "0.002")].map(apart_over_products));
    families
}

/// Uniform between 0.5 and 1.5.
fn uniform(name: &str, rows: usize, cols: usize, sparsity: &str) -> String {
    let seed = name.bytes().map(usize::from).sum::<usize>();
    format!("{name} = rand(rows={rows}, cols={cols}, min=0.5, max=1.5, sparsity={sparsity}, seed={seed})\n")
}

/// Cell and multi-aggregates.
fn over_cells((rows, cols): (usize, usize)) -> Family {
    Family {
        on: format!("dense {rows} x {cols}"),
        data: uniform("X", rows, cols, "1") + &uniform("Y", rows, cols, "1"),
        fused: &[
            "R = sum(X * Y)",
            "R = X * Y + X",
            "R = sum((X - Y) ^ 2)",
            "R = 1 / (1 + exp(-X)) * Y",
            "R = sum(X * log(Y))",
            "R = max(X, Y) * X - Y / X",
            "R = rowSums(X * Y)",
            "R = colSums(X - Y)",
            "R = max(abs(X - Y))",
            "R = sum(X * Y)\nS = sum(X ^ 2)",
            "R = min(X * Y)\nS = sum(X + Y)",
        ],
        basic: &[
            "R = X * Y",
            "R = X * 2",
            "R = exp(X)",
            "R = sum(X)",
            "R = rowSums(X)",
            "R = colSums(X)",
            "R = t(X)",
            "R = X > Y",
            "R = rand(rows=nrow(X), cols=ncol(X), seed=1)",
            "R = rand(rows=nrow(X), cols=ncol(X), sparsity=0.1, seed=1)",
        ],
    }
}

/// Row over dense rows.
fn over_rows((rows, cols): (usize, usize)) -> Family {
    let matrices = [("X", rows, cols), ("v", cols, 1), ("V", cols, 4), ("w", rows, 1), ("W", rows, 4)];
    Family {
        on: format!("dense {rows} x {cols}"),
        data: matrices.map(|(name, rows, cols)| uniform(name, rows, cols, "1")).concat(),
        fused: &[
            "R = t(X) %*% (X %*% v)",
            "R = t(X) %*% (w * (X %*% v))",
            "R = t(X) %*% (X %*% V)",
            "Q = W * (X %*% V)\nR = t(X) %*% (Q - W * rowSums(Q))",
            "R = t(X) %*% (exp(W) / rowSums(exp(W)))",
            "R = X / rowSums(X)",
            "R = colSums(X / rowSums(X))",
            "R = sum((X %*% V) * W)",
            "R = exp(X %*% V)",
            "R = rowSums(exp(X - rowMaxs(X)))",
        ],
        basic: &[
            "R = X %*% v",
            "R = X %*% V",
            "R = t(w) %*% X",
            "R = t(X) %*% W",
            "R = X * w",
            "R = rowMaxs(X)",
            "R = W / w",
        ],
    }
}

/// Cell, multi-aggregates and Row over CSR.
fn over_non_zeros((rows, cols, sparsity): (usize, usize, &str)) -> Family {
    let dense = [("Y", rows, cols), ("v", cols, 1), ("V", cols, 4), ("w", rows, 1), ("W", rows, 4)];
    let dense = dense.map(|(name, rows, cols)| uniform(name, rows, cols, "1")).concat();
    Family {
        on: format!("sparse {sparsity}, {rows} x {cols}"),
        data: uniform("X", rows, cols, sparsity) + &uniform("Z", rows, cols, sparsity) + &dense,
        fused: &[
            "R = sum(X * Y)",
            "R = sum(X * Z)",
            "R = X * Y * 2",
            "R = sum(X * exp(Y))",
            "R = sum(X * Z)\nS = sum(X ^ 2)",
            "R = rowSums(X * Y)",
            "R = t(X) %*% (X %*% v)",
            "R = t(X) %*% (w * (X %*% v))",
            "R = t(X) %*% (X %*% V)",
            "R = t(X) %*% (W * (X %*% V))",
            "R = colSums(X / rowSums(X))",
            "R = sum((X %*% V) * W)",
        ],
        basic: &[
            "R = X * Y",
            "R = X * Z",
            "R = X * 2",
            "R = sum(X)",
            "R = rowSums(X)",
            "R = colSums(X)",
            "R = X %*% v",
            "R = X %*% V",
            "R = t(X) %*% W",
            "R = t(X)",
        ],
    }
}

/// Outer.
fn over_products((side, rank, sparsity): (usize, usize, &str)) -> Family {
    let factors = uniform("U", side, rank, "1") + &uniform("V", side, rank, "1");
    Family {
        on: format!("sparsity {sparsity}, {side} x {side}, rank {rank}"),
        data: uniform("X", side, side, sparsity) + &factors,
        fused: &[
            "R = sum(X * log(U %*% t(V) + 1e-15))",
            "R = sum(X * (U %*% t(V)))",
            "R = (X * (U %*% t(V))) %*% V",
            "R = t(X * (U %*% t(V))) %*% U",
            "R = X * (U %*% t(V))",
            "R = sum((X != 0) * (U %*% t(V) - X) ^ 2)",
        ],
        basic: &["R = U %*% t(V)", "R = t(U) %*% U", "R = X %*% V", "R = t(X) %*% U"],
    }
}

/// Products of matrices by themselves.
fn products((rows, inner, cols): (usize, usize, usize)) -> Family {
    Family {
        on: format!("dense {rows} x {inner} and {inner} x {cols}"),
        data: uniform("X", rows, inner, "1") + &uniform("Y", inner, cols, "1"),
        fused: &["R = exp(X %*% Y)"],
        basic: &["R = X %*% Y", "R = t(Y) %*% t(X)", "R = t(X) %*% X"],
    }
}

fn apart_over_cells((rows, cols): (usize, usize)) -> Family {
    Family {
        on: format!("dense {rows} x {cols}"),
        data: uniform("X", rows, cols, "1") + &uniform("Y", rows, cols, "1"),
        fused: &[
            "R = sum(abs(X - Y) / (Y + 1))",
            "R = sqrt(X) * Y - X",
            "R = sum(X / (1 + exp(Y)))",
            "R = (X > Y) * X + Y",
            "R = rowMaxs(X - Y)",
            "R = colMaxs(X * Y)",
            "R = sum(X * Y)\nS = max(X - Y)\nT = sum(X ^ 2)",
        ],
        basic: &["R = X / Y", "R = sqrt(X)", "R = X - 1", "R = min(X)", "R = colMaxs(X)", "R = rowMeans(X)"],
    }
}

fn apart_over_rows((rows, cols): (usize, usize)) -> Family {
    let matrices = [("X", rows, cols), ("v", cols, 1), ("V", cols, 8), ("w", rows, 1), ("W", rows, 8)];
    Family {
        on: format!("dense {rows} x {cols}"),
        data: matrices.map(|(name, rows, cols)| uniform(name, rows, cols, "1")).concat(),
        fused: &[
            "R = t(X) %*% (1 / (1 + exp(-(X %*% v))))",
            "R = t(X) %*% (w - X %*% v)",
            "R = t(X) %*% (X %*% V)",
            "R = X - rowMeans(X)",
            "R = colSums(X * w)",
            "R = rowSums(X ^ 2)",
            "R = W - X %*% V",
            "R = sum((X %*% v - w) ^ 2)",
        ],
        basic: &["R = X %*% v", "R = X %*% V", "R = t(X) %*% w", "R = rowSums(X)", "R = X / w"],
    }
}

fn apart_over_non_zeros((rows, cols, sparsity): (usize, usize, &str)) -> Family {
    let dense = [("Y", rows, cols), ("v", cols, 1), ("V", cols, 8), ("w", rows, 1), ("W", rows, 8)];
    let dense = dense.map(|(name, rows, cols)| uniform(name, rows, cols, "1")).concat();
    Family {
        on: format!("sparse {sparsity}, {rows} x {cols}"),
        data: uniform("X", rows, cols, sparsity) + &uniform("Z", rows, cols, sparsity) + &dense,
        fused: &[
            "R = sum(X ^ 2 * Y)",
            "R = sum(abs(X) * 2)",
            "R = rowSums(X * Z)",
            "R = colSums(X * Y)",
            "R = X * 3 / Y",
            "R = sum(X * Y)\nS = max(X * 2)",
            "R = t(X) %*% (w - X %*% v)",
            "R = t(X) %*% (1 / (1 + exp(-(X %*% v))))",
            "R = t(X) %*% (X %*% V)",
        ],
        basic: &["R = abs(X)", "R = X + Z", "R = rowMaxs(X)", "R = X %*% V", "R = t(X) %*% w", "R = t(X) %*% W"],
    }
}

fn apart_over_products((side, rank, sparsity): (usize, usize, &str)) -> Family {
    let factors = uniform("U", side, rank, "1") + &uniform("V", side, rank, "1");
    Family {
        on: format!("sparsity {sparsity}, {side} x {side}, rank {rank}"),
        data: uniform("X", side, side, sparsity) + &factors,
        fused: &[
            "R = sum(X * exp(U %*% t(V)))",
            "R = sum((X != 0) * abs(U %*% t(V) - X))",
            "R = (X / (U %*% t(V) + 1)) %*% V",
            "R = t(X / (U %*% t(V) + 1)) %*% U",
            "R = X * log(U %*% t(V))",
        ],
        basic: &["R = U %*% t(V)", "R = X %*% U", "R = t(X) %*% V"],
    }
}
