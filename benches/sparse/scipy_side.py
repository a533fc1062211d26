"""The expressions of `./x bench sparse` as users of SciPy write them, run on request.

usage: scipy_side.py FOLDER

It first writes its versions and, separated by tabs, the names of its expressions, a line each. Then it answers each
line that it is sent with one line:

    dense NAME ROWS COLS    reads the cells of a matrix, FOLDER/NAME.values; one row or column has one dimension
    sparse NAME ROWS COLS   reads a matrix of CSR parts, FOLDER/NAME.{offsets,columns,values}
    value EXPRESSION        writes what it gives, as R in FOLDER; whether that is dense or sparse
    seconds EXPRESSION      the seconds that it takes
"""

import sys
from pathlib import Path
from time import perf_counter
from types import SimpleNamespace

import numpy as np
import scipy
from scipy.sparse import csr_array, issparse

FOLDER = Path(sys.argv[1])
EXPRESSIONS = {}


def expression(name):
    def add(function):
        EXPRESSIONS[name] = function
        return function

    return add


# What users of CSR matrices have helpers for, as scikit-learn has: other values at the same positions, and what a
# vector holds for the row or the column of each position.


def with_values(X, values):
    return csr_array((values, X.indices, X.indptr), shape=X.shape)


def by_row(X, vector):
    return np.repeat(vector, np.diff(X.indptr))


def by_column(X, vector):
    return vector[X.indices]


def count_by_column(X):
    return np.bincount(X.indices, minlength=X.shape[1])


def products(m):
    """U %*% t(V) at the positions of S."""
    rows = np.repeat(np.arange(m.S.shape[0]), np.diff(m.S.indptr))
    return np.einsum("ij,ij->i", m.U[rows], m.V[m.S.indices])


EPSILON = 0.000000000000001

GRAPH = {
    "breadth-first step": lambda m: (m.A.T @ m.f > 0) & (m.s == 0),
    "page rank step": lambda m: 0.85 * (m.A.T @ (m.x / m.d)) + 0.15 / 50000,
    "triangles": lambda m: (m.L @ m.L).multiply(m.L).sum(),
    "row-normalised graph": lambda m: with_values(m.A, m.A.data / by_row(m.A, m.d)),
    "symmetrically normalised graph": lambda m: with_values(
        m.A, m.A.data / by_row(m.A, np.sqrt(m.d)) / by_column(m.A, np.sqrt(m.d))
    ),
    "Laplacian times vector": lambda m: m.d * m.x - m.A @ m.x,
    "label propagation": lambda m: 0.9 * ((m.A @ m.Y) / m.d[:, None]) + 0.1 * m.Y,
    "heavy edges": lambda m: np.count_nonzero(m.A.data > 0.5),
    "modularity term": lambda m: m.z @ (m.L @ m.z),
    "difference of graphs": lambda m: abs(m.A - m.B).sum(),
    "edges of one graph alone": lambda m: ((m.A != 0) != (m.B != 0)).sum(),
    "cosine of graphs": lambda m: m.A.multiply(m.B).sum()
    / np.sqrt((m.A.data @ m.A.data) * (m.B.data @ m.B.data)),
    "out-strength": lambda m: m.A.sum(axis=1) + m.B.sum(axis=1),
    "union of graphs by row": lambda m: m.A.maximum(m.B).max(axis=1).toarray(),
}


@expression("hubs and authorities")
def hubs_and_authorities(m):
    hubs = m.A @ (m.A.T @ m.x)
    return hubs / np.sqrt(hubs @ hubs)


TEXT = {
    "tf-idf": lambda m: with_values(m.T, m.T.data * by_column(m.T, m.idf)),
    "logarithmic tf-idf": lambda m: with_values(m.T, np.log1p(m.T.data) * by_column(m.T, m.idf)),
    "query score": lambda m: m.T @ (m.idf * m.q),
    "unit rows": lambda m: with_values(
        m.T, m.T.data / by_row(m.T, np.sqrt(m.T.power(2).sum(axis=1) + 0.000000001))
    ),
    "document frequency": lambda m: count_by_column(m.T),
    "cosine to a query": lambda m: (m.T @ m.q)
    / (np.sqrt(m.T.power(2).sum(axis=1)) * np.sqrt(m.q @ m.q) + 0.000000001),
    "naive Bayes": lambda m: m.T @ np.log(m.theta),
    "pointwise mutual information": lambda m: m.T.data
    @ np.log(m.T.data / (by_row(m.T, m.r) * by_column(m.T, m.c))),
    "weighted length": lambda m: (m.T @ m.idf) / m.l,
    "rare terms": lambda m: with_values(m.T, m.T.data * by_column(m.T, count_by_column(m.T) < 50)),
}


@expression("BM25")
def bm25(m):
    saturation = by_row(m.T, 1.2 * (0.25 + 0.75 * m.l / 100))
    return with_values(m.T, m.T.data * 2.2 / (m.T.data + saturation) * by_column(m.T, m.idf)).sum(axis=1)


@expression("entropy of documents")
def entropy_of_documents(m):
    shares = m.T.data / by_row(m.T, m.l)
    return -with_values(m.T, shares * np.log(shares)).sum(axis=1)


RATINGS = {
    "gradient by users": lambda m: with_values(m.S, products(m) - m.S.data) @ m.V + 0.1 * m.U,
    "gradient by items": lambda m: with_values(m.S, products(m) - m.S.data).T @ m.U,
    "logarithmic confidence": lambda m: m.S.data @ np.log(products(m) + EPSILON),
    "Poisson factorisation": lambda m: m.U.sum(axis=0) @ m.V.sum(axis=0)
    - m.S.data @ np.log(products(m) + EPSILON),
    "Kullback-Leibler": lambda m: m.S.data @ np.log(m.S.data / (products(m) + EPSILON)),
    "centred by user": lambda m: with_values(m.S, m.S.data - by_row(m.S, m.b)),
    "popularity": lambda m: m.S.sum(axis=0) / (count_by_column(m.S) + 1),
    "weighted residuals": lambda m: with_values(m.S, m.S.data * products(m)),
    "two-sided biases": lambda m: with_values(
        m.S, m.S.data - by_row(m.S, m.b) - by_column(m.S, m.m)
    ).sum(axis=1),
}


@expression("squared error of a factorisation")
def squared_error(m):
    error = m.S.data - products(m)
    return error @ error


@expression("error with user biases")
def error_with_user_biases(m):
    error = m.S.data - products(m) - by_row(m.S, m.b)
    return error @ error


@expression("centred by item")
def centred_by_item(m):
    error = m.S.data - by_column(m.S, m.m)
    return error @ error


FEATURES = {
    "logistic gradient": lambda m: m.X.T @ (1 / (1 + np.exp(-(m.X @ m.w))) - m.y),
    "Hessian times vector": lambda m: m.X.T @ (m.e**2 * (m.X @ m.v)) + 0.1 * m.v,
    "Poisson gradient": lambda m: m.X.T @ (np.exp(m.X @ m.w) - m.y),
    "scaled features": lambda m: (m.X.T @ (m.X @ (m.v / m.s))) / m.s,
    "squared features": lambda m: m.X.power(2) @ m.w,
    "column norms": lambda m: np.sqrt(m.X.power(2).sum(axis=0)),
    "column extremes": lambda m: abs(m.X).max(axis=0).toarray(),
    "factorisation machine": lambda m: m.X @ m.w
    + 0.5 * ((m.X @ m.W) ** 2 - m.X.power(2) @ m.W**2).sum(axis=1),
    "gradient of factors": lambda m: m.X.T @ (m.e[:, None] * (m.X @ m.W)),
    "binarised": lambda m: m.X > 0.2,
    "scaled by maxima": lambda m: with_values(
        m.X, m.X.data / by_column(m.X, abs(m.X).max(axis=0).toarray())
    ),
    "column variances": lambda m: m.X.power(2).sum(axis=0) / 50000 - (m.X.sum(axis=0) / 50000) ** 2,
    "soft threshold": lambda m: with_values(
        m.X, np.sign(m.X.data) * np.maximum(np.abs(m.X.data) - 0.3, 0)
    ),
    "clipped": lambda m: with_values(m.X, np.clip(m.X.data, -0.5, 0.5)) @ m.w,
    "absolute row sums": lambda m: abs(m.X).sum(axis=1),
}


@expression("squared hinge")
def squared_hinge(m):
    o = 1 - m.e * (m.X @ m.w)
    return -(m.X.T @ (m.e * o * (o > 0)))


@expression("multinomial gradient")
def multinomial_gradient(m):
    E = np.exp(m.X @ m.W)
    return m.X.T @ (E / E.sum(axis=1, keepdims=True) - m.P)


@expression("distances to centres")
def distances_to_centres(m):
    C = m.C.toarray() if issparse(m.C) else m.C
    return m.X.power(2).sum(axis=1)[:, None] - 2 * (m.X @ C.T) + (C**2).sum(axis=1)


CELLS = {
    "sum of three products": lambda m: m.Z.multiply(m.Y).multiply(m.X).sum(),
    "two sums of products": lambda m: [m.X.multiply(m.Y).sum(), m.X.multiply(m.Z).sum()],
    "sum of a union": lambda m: (m.X + m.Y).sum(),
    "agreement of signs": lambda m: 10000 * 1000 - (m.Y.sign() != m.Z.sign()).sum(),
    "distance of rows": lambda m: np.sqrt((m.Y - m.Z).power(2).sum(axis=1)),
    "scaled on both sides": lambda m: m.u @ (m.Y @ m.r),
    "scaled difference": lambda m: (m.Y * 2 - m.Z).max(axis=1).toarray(),
    "exponentials with their ones": lambda m: 10000 * 1000 + np.expm1(m.Z.data).sum(),
    "row sums of exponentials": lambda m: 1000 + m.Z.expm1().sum(axis=1),
    "soft counts": lambda m: with_values(m.Y, 1 / (1 + np.exp(-m.Y.data)) - 0.5).sum(axis=0),
    "products by column": lambda m: m.Y.multiply(m.Z).sum(axis=0),
    "weighted squares": lambda m: m.u @ m.Y.power(2),
}

EXPRESSIONS |= GRAPH | TEXT | RATINGS | FEATURES | CELLS


def part(name, kind):
    return np.fromfile(FOLDER / name, dtype=kind)


def read_dense(name, rows, cols):
    cells = part(f"{name}.values", np.float64)
    return cells if 1 in (rows, cols) else cells.reshape(rows, cols)


def read_sparse(name, rows, cols):
    offsets, columns = part(f"{name}.offsets", np.int64), part(f"{name}.columns", np.int32)
    return csr_array((part(f"{name}.values", np.float64), columns, offsets), shape=(rows, cols))


def write(result):
    """Writes a result as R; what it is."""
    if not issparse(result):
        np.asarray(result, dtype=np.float64).tofile(FOLDER / "R.values")
        return "dense"
    result = csr_array(result)
    result.sort_indices()
    result.indptr.astype(np.int64).tofile(FOLDER / "R.offsets")
    result.indices.astype(np.int32).tofile(FOLDER / "R.columns")
    result.data.astype(np.float64).tofile(FOLDER / "R.values")
    return "sparse"


def seconds(function, matrices):
    start = perf_counter()
    function(matrices)
    return perf_counter() - start


def answer(request, matrices):
    what, rest = request.split(" ", 1)
    if what == "value":
        return write(EXPRESSIONS[rest](matrices))
    if what == "seconds":
        return seconds(EXPRESSIONS[rest], matrices)
    name, rows, cols = rest.split(" ")
    read = read_dense if what == "dense" else read_sparse
    setattr(matrices, name, read(name, int(rows), int(cols)))
    return "read"


def main():
    matrices = SimpleNamespace()
    print(f"SciPy {scipy.__version__} with NumPy {np.__version__}")
    print("\t".join(EXPRESSIONS), flush=True)
    for line in sys.stdin:
        print(answer(line.rstrip("\n"), matrices), flush=True)


main()
