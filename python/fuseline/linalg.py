"""Solvers and decompositions."""

from __future__ import annotations

from typing import Any

from . import _native
from ._functions import as_array
from ._native import Array


def solve(a: Any, b: Any) -> Array:
    """The solution ``x`` of ``a @ x = b``; of an overdetermined system the one of least squares."""
    b = as_array(b)
    return _native.numeric("solve", [as_array(a), b], [b.ndim])[0]


def inv(a: Any) -> Array:
    """The inverse."""
    return _native.numeric("inv", [as_array(a)], [2])[0]


def det(a: Any) -> Array:
    """The determinant."""
    return _native.numeric("det", [as_array(a)], [0])[0]


def cholesky(a: Any) -> Array:
    """The lower triangular factor ``L`` with ``L @ L.T = a``."""
    return _native.numeric("cholesky", [as_array(a)], [2])[0]


def eigh(a: Any) -> tuple[Array, Array]:
    """The eigenvalues of a symmetric matrix, ascending, and its eigenvectors as columns."""
    values, vectors = _native.numeric("eigen", [as_array(a)], [1, 2])
    return values, vectors


def svd(a: Any) -> tuple[Array, Array, Array]:
    """The singular value decomposition ``u @ diag(s) @ vt = a``."""
    u, s, v = _native.numeric("svd", [as_array(a)], [2, 2, 2])
    return u, _native.diag(s), v.T


def qr(a: Any) -> tuple[Array, Array]:
    """Householder vectors and the triangular factor, as DML's ``qr`` gives them."""
    h, r = _native.numeric("qr", [as_array(a)], [2, 2])
    return h, r


def norm(x: Any, ord: Any = None, axis: int | None = None, keepdims: bool = False) -> Array:
    """A norm of a vector, or of the cells of a matrix: 1, 2 (None, ``"fro"``), or infinite."""
    x = as_array(x)
    size = abs(x)
    if x.ndim == 2 and axis is None and ord not in (None, "fro"):
        if ord == 1:
            return size.sum(axis=0).max()
        if ord == float("inf"):
            return size.sum(axis=1).max()
        raise TypeError(f"the norm {ord!r} of a matrix is not supported: use fl.linalg.svd")
    if ord in (None, 2, "fro"):
        return (x * x).sum(axis, keepdims=keepdims)._apply("sqrt", "float")
    if ord == 1:
        return size.sum(axis, keepdims=keepdims)
    if ord == float("inf"):
        return size.max(axis, keepdims=keepdims)
    if ord == float("-inf"):
        return size.min(axis, keepdims=keepdims)
    if ord == 0:
        return x.count_nonzero(axis, keepdims=keepdims).astype("float64")
    return (size**ord).sum(axis, keepdims=keepdims) ** (1.0 / ord)


def median(x: Any) -> Array:
    """The median of a vector."""
    return _native.numeric("median", [as_array(x)], [0])[0]
