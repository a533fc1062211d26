//! Expressions over sparse matrices that people run: steps of graph algorithms (`GraphBLAS`), text scores, recommender models,
//! sparse generalised linear models, factorisations, and kernels of `SciPy`'s and scikit-learn's sparse code.

/// Matrices that expressions share, as a script makes them.
pub(crate) struct Collection {
    pub(crate) name: &'static str,
    pub(crate) script: &'static str,
    /// The matrices of the script that expressions may read.
    pub(crate) inputs: &'static [&'static str],
}

/// An expression over the matrices of a collection.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    /// Gives R.
    pub(crate) script: &'static str,
}

impl Case {
    /// Whether the expression is kept apart: nobody looks at these while prices and code are worked on. A third of all, as a
    /// hash of the name decides (FNV-1a).
    pub(crate) fn is_kept_apart(&self) -> bool {
        let hash = self
            .name
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        hash.is_multiple_of(3)
    }
}

/// A graph with a few large hubs, in which a fifth of the rows has no edges.
const GRAPH: Collection = Collection {
    name: "graph",
    script: "
n = 50000
A = rbind(rand(rows=2500, cols=n, min=0.1, max=1, sparsity=0.002, seed=1),
          rand(rows=47500, cols=n, min=0.1, max=1, sparsity=0.00003, seed=2))
B = rand(rows=n, cols=n, min=0.1, max=1, sparsity=0.0001, seed=3)
L = rand(rows=4000, cols=4000, min=1, max=1, sparsity=0.002, seed=4)
x = rand(rows=n, cols=1, min=0.1, max=1, seed=5)
d = rand(rows=n, cols=1, min=1, max=9, seed=6)
f = rand(rows=n, cols=1, min=1, max=1, sparsity=0.01, seed=7)
s = rand(rows=n, cols=1, min=1, max=1, sparsity=0.3, seed=8)
Y = rand(rows=n, cols=8, seed=9)
z = rand(rows=4000, cols=1, min=0.1, max=1, seed=10)
",
    inputs: &["A", "B", "L", "x", "d", "f", "s", "Y", "z"],
};

/// Documents by terms.
const TEXT: Collection = Collection {
    name: "text",
    script: "
T = ceil(rand(rows=12000, cols=10000, min=0.1, max=6, sparsity=0.01, seed=11))
idf = rand(rows=1, cols=10000, min=0.1, max=9, seed=12)
q = rand(rows=10000, cols=1, sparsity=0.001, seed=13)
l = rand(rows=12000, cols=1, min=50, max=200, seed=14)
theta = rand(rows=10000, cols=5, min=0.00001, max=0.0001, seed=15)
r = rand(rows=12000, cols=1, min=0.01, max=1, seed=16)
c = rand(rows=1, cols=10000, min=0.01, max=1, seed=17)
",
    inputs: &["T", "idf", "q", "l", "theta", "r", "c"],
};

/// Ratings of users, of whom one in ten rates much.
const RATINGS: Collection = Collection {
    name: "ratings",
    script: "
S = rbind(ceil(rand(rows=2000, cols=3000, min=0.1, max=5, sparsity=0.1, seed=21)),
          ceil(rand(rows=18000, cols=3000, min=0.1, max=5, sparsity=0.01, seed=22)))
U = rand(rows=20000, cols=10, min=0.1, max=1, seed=23)
V = rand(rows=3000, cols=10, min=0.1, max=1, seed=24)
b = rand(rows=20000, cols=1, min=1, max=5, seed=25)
m = rand(rows=1, cols=3000, min=1, max=5, seed=26)
",
    inputs: &["S", "U", "V", "b", "m"],
};

/// Rows by features, a tenth of them set.
const FEATURES: Collection = Collection {
    name: "features",
    script: "
X = rand(rows=50000, cols=500, min=-1, max=1, sparsity=0.1, seed=31)
y = rand(rows=50000, cols=1, min=0, max=1, seed=32)
w = rand(rows=500, cols=1, min=-1, max=1, seed=33)
v = rand(rows=500, cols=1, min=-1, max=1, seed=34)
e = rand(rows=50000, cols=1, min=-1, max=1, seed=35)
s = rand(rows=1, cols=500, min=0.5, max=2, seed=36)
W = rand(rows=500, cols=4, min=-1, max=1, seed=37)
C = rand(rows=8, cols=500, min=-1, max=1, sparsity=0.5, seed=38)
P = rand(rows=50000, cols=4, min=0, max=1, seed=39)
",
    inputs: &["X", "y", "w", "v", "e", "s", "W", "C", "P"],
};

/// Three matrices of one size: at three tenths, a tenth, and a hundredth of the cells.
const CELLS: Collection = Collection {
    name: "cells",
    script: "
X = rand(rows=10000, cols=1000, min=-1, max=1, sparsity=0.3, seed=41)
Y = rand(rows=10000, cols=1000, min=-1, max=1, sparsity=0.1, seed=42)
Z = rand(rows=10000, cols=1000, min=-1, max=1, sparsity=0.01, seed=43)
u = rand(rows=10000, cols=1, min=0.1, max=1, seed=44)
r = rand(rows=1, cols=1000, min=0.1, max=1, seed=45)
",
    inputs: &["X", "Y", "Z", "u", "r"],
};

const fn case(name: &'static str, script: &'static str) -> Case {
    Case { name, script }
}

/// All expressions, by collection.
pub(crate) const SUITE: &[(&Collection, &[Case])] = &[
    (
        &GRAPH,
        &[
            case("breadth-first step", "R = ((t(A) %*% f) > 0) * (s == 0)"),
            case("page rank step", "R = 0.85 * (t(A) %*% (x / d)) + 0.15 / 50000"),
            case("triangles", "R = sum((L %*% L) * L)"),
            case("row-normalised graph", "R = A / d"),
            case("symmetrically normalised graph", "R = (A / sqrt(d)) / t(sqrt(d))"),
            case("Laplacian times vector", "R = d * x - A %*% x"),
            case("label propagation", "R = 0.9 * ((A / d) %*% Y) + 0.1 * Y"),
            case("heavy edges", "R = sum(A > 0.5)"),
            case("modularity term", "R = sum(L * (z %*% t(z)))"),
            case("hubs and authorities", "h = A %*% (t(A) %*% x)\nR = h / sqrt(sum(h ^ 2))"),
            case("difference of graphs", "R = sum(abs(A - B))"),
            case("edges of one graph alone", "R = sum((A != 0) != (B != 0))"),
            case("cosine of graphs", "R = sum(A * B) / sqrt(sum(A ^ 2) * sum(B ^ 2))"),
            case("out-strength", "R = rowSums(A) + rowSums(B)"),
            case("union of graphs by row", "R = rowMaxs(max(A, B))"),
        ],
    ),
    (
        &TEXT,
        &[
            case("tf-idf", "R = T * idf"),
            case("logarithmic tf-idf", "R = log(T + 1) * idf"),
            case("BM25", "R = rowSums(T * 2.2 / (T + 1.2 * (0.25 + 0.75 * l / 100)) * idf)"),
            case("query score", "R = (T * idf) %*% q"),
            case("unit rows", "R = T / sqrt(rowSums(T ^ 2) + 0.000000001)"),
            case("document frequency", "R = colSums(T > 0)"),
            case("cosine to a query", "R = (T %*% q) / (sqrt(rowSums(T ^ 2)) * sqrt(sum(q ^ 2)) + 0.000000001)"),
            case("entropy of documents", "P = T / l\nR = -rowSums(P * log(P))"),
            case("naive Bayes", "R = T %*% log(theta)"),
            case("pointwise mutual information", "R = sum(T * log(T / (r %*% c)))"),
            case("weighted length", "R = rowSums(T * idf) / l"),
            case("rare terms", "R = T * (colSums(T > 0) < 50)"),
        ],
    ),
    (
        &RATINGS,
        &[
            case("squared error of a factorisation", "R = sum((S != 0) * (S - U %*% t(V)) ^ 2)"),
            case("gradient by users", "R = ((S != 0) * (U %*% t(V)) - S) %*% V + 0.1 * U"),
            case("gradient by items", "R = t((S != 0) * (U %*% t(V)) - S) %*% U"),
            case("error with user biases", "R = sum((S != 0) * (S - U %*% t(V) - b) ^ 2)"),
            case("logarithmic confidence", "R = sum(S * log(U %*% t(V) + 0.000000000000001))"),
            case("Poisson factorisation", "R = sum(U %*% t(V)) - sum(S * log(U %*% t(V) + 0.000000000000001))"),
            case("Kullback-Leibler", "R = sum(S * log(S / (U %*% t(V) + 0.000000000000001)))"),
            case("centred by user", "R = S - (S != 0) * b"),
            case("centred by item", "R = sum(((S != 0) * (S - m)) ^ 2)"),
            case("popularity", "R = colSums(S) / (colSums(S != 0) + 1)"),
            case("weighted residuals", "R = S * (U %*% t(V))"),
            case("two-sided biases", "R = rowSums((S != 0) * (S - b - m))"),
        ],
    ),
    (
        &FEATURES,
        &[
            case("logistic gradient", "R = t(X) %*% (1 / (1 + exp(-(X %*% w))) - y)"),
            case("Hessian times vector", "R = t(X) %*% (e ^ 2 * (X %*% v)) + 0.1 * v"),
            case("squared hinge", "o = 1 - e * (X %*% w)\nR = -(t(X) %*% (e * o * (o > 0)))"),
            case("Poisson gradient", "R = t(X) %*% (exp(X %*% w) - y)"),
            case("scaled features", "R = t(X / s) %*% ((X / s) %*% v)"),
            case("squared features", "R = (X ^ 2) %*% w"),
            case("column norms", "R = sqrt(colSums(X ^ 2))"),
            case("column extremes", "R = colMaxs(abs(X))"),
            case("multinomial gradient", "E = exp(X %*% W)\nR = t(X) %*% (E / rowSums(E) - P)"),
            case("factorisation machine", "R = X %*% w + 0.5 * rowSums((X %*% W) ^ 2 - (X ^ 2) %*% (W ^ 2))"),
            case("gradient of factors", "R = t(X) %*% (e * (X %*% W))"),
            case("distances to centres", "R = rowSums(X ^ 2) - 2 * (X %*% t(C)) + t(rowSums(C ^ 2))"),
            case("binarised", "R = X > 0.2"),
            case("scaled by maxima", "R = X / colMaxs(abs(X))"),
            case("column variances", "R = colSums(X ^ 2) / 50000 - (colSums(X) / 50000) ^ 2"),
            case("soft threshold", "R = sign(X) * max(abs(X) - 0.3, 0)"),
            case("clipped", "R = min(max(X, -0.5), 0.5) %*% w"),
            case("absolute row sums", "R = rowSums(abs(X))"),
        ],
    ),
    (
        &CELLS,
        &[
            case("sum of three products", "R = sum(X * Y * Z)"),
            case("two sums of products", "R = cbind(as.matrix(sum(X * Y)), as.matrix(sum(X * Z)))"),
            case("sum of a union", "R = sum(X + Y)"),
            case("agreement of signs", "R = sum(sign(Y) == sign(Z))"),
            case("distance of rows", "R = sqrt(rowSums((Y - Z) ^ 2))"),
            case("scaled on both sides", "R = sum((Y * u) * r)"),
            case("scaled difference", "R = rowMaxs(Y * 2 - Z)"),
            case("exponentials with their ones", "R = sum(exp(Z))"),
            case("row sums of exponentials", "R = rowSums(exp(Z))"),
            case("soft counts", "R = colSums(1 / (1 + exp(-Y)) - 0.5)"),
            case("products by column", "R = colSums(Y * Z)"),
            case("weighted squares", "R = t(u) %*% (Y ^ 2)"),
        ],
    ),
];
