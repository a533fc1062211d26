"""Single operations on arrays of NumPy and SciPy, as these compute them and as `fl.jit` does: where we take longer.

Arrays are lent, as users have them, and results are dropped after each call. What an operation gives as a view or reads
from what is stored beside the cells has no peer here: nobody can compute it faster.
"""

from __future__ import annotations

import statistics
import time
from typing import Any, Callable

import numpy as np
import scipy.sparse as sp

import fuseline as fl
from compare import let_others_sleep
from conditions import check_threads
from workloads import spread_threads

Operation = tuple[str, tuple, Callable[..., Any], Callable[..., Any]]


def sparse(rows: int, columns: int, density: float, seed: int) -> sp.csr_matrix:
    rng = np.random.default_rng(seed)
    count = int(rows * columns * density)
    places = (rng.integers(0, rows, count), rng.integers(0, columns, count))
    return sp.csr_matrix((rng.random(count) + 0.1, places), shape=(rows, columns))


def both(name: str, arrays: tuple, function: Callable[..., Any]) -> Operation:
    """What is written alike for both."""
    return name, arrays, function, function


def of_dense(scale: float) -> list[Operation]:
    rng, rows = np.random.default_rng(1), int(100_000 * scale)
    X, Y, u, v = rng.random((rows, 100)), rng.random((rows, 100)), rng.random((rows, 1)), rng.random((1, 100))
    W, Q, x = rng.random((100, 10)), rng.random((1000, 1000)), rng.random(10 * rows)
    picked, kept = rng.permutation(rows)[: rows // 2], rng.random(rows) > 0.5
    return [
        both("X * Y", (X, Y), lambda X, Y: X * Y),
        both("X + u", (X, u), lambda X, u: X + u),
        both("X + v", (X, v), lambda X, v: X + v),
        ("sqrt(X)", (X,), fl.sqrt, np.sqrt),
        ("exp(X)", (X,), fl.exp, np.exp),
        both("X > 0.5", (X,), lambda X: X > 0.5),
        ("where(X > 0.5, X, Y)", (X, Y), lambda X, Y: fl.where(X > 0.5, X, Y), lambda X, Y: np.where(X > 0.5, X, Y)),
        both("X.clip(0.2, 0.8)", (X,), lambda X: X.clip(0.2, 0.8)),
        both("X.round(2)", (X,), lambda X: X.round(2)),
        both("X ** Y", (X, Y), lambda X, Y: X**Y),
        both("X.sum()", (X,), lambda X: X.sum()),
        both("X.sum(axis=0)", (X,), lambda X: X.sum(axis=0)),
        both("X.sum(axis=1)", (X,), lambda X: X.sum(axis=1)),
        both("X.max(axis=1)", (X,), lambda X: X.max(axis=1)),
        both("X.min()", (X,), lambda X: X.min()),
        both("X.std(axis=0)", (X,), lambda X: X.std(axis=0)),
        both("X.argmax()", (X,), lambda X: X.argmax()),
        both("X.argmax(axis=0)", (X,), lambda X: X.argmax(axis=0)),
        both("X.argmax(axis=1)", (X,), lambda X: X.argmax(axis=1)),
        both("X.cumsum(axis=0)", (X,), lambda X: X.cumsum(axis=0)),
        both("X.cumprod(axis=1)", (X,), lambda X: X.cumprod(axis=1)),
        both("X @ W", (X, W), lambda X, W: X @ W),
        both("X.T @ u", (X, u), lambda X, u: X.T @ u),
        both("X.T @ X", (X,), lambda X: X.T @ X),
        both("Q @ Q", (Q,), lambda Q: Q @ Q),
        ("X.T", (X,), lambda X: X.T, lambda X: np.ascontiguousarray(X.T)),
        ("X[1000:, 5:60]", (X,), lambda X: X[1000:, 5:60], lambda X: X[1000:, 5:60].copy()),
        ("X[::-1]", (X,), lambda X: X[::-1], lambda X: X[::-1].copy()),
        ("X[::2]", (X,), lambda X: X[::2], lambda X: X[::2].copy()),
        both("X[positions]", (X,), lambda X: X[picked]),
        both("X[mask]", (X,), lambda X: X[kept]),
        both("X[:, positions]", (X,), lambda X: X[:, [1, 5, 9, 30]]),
        both("x[1:] - x[:-1]", (x,), lambda x: x[1:] - x[:-1]),
        ("hstack([X, Y])", (X, Y), lambda X, Y: fl.hstack([X, Y]), lambda X, Y: np.hstack([X, Y])),
        ("vstack([X, Y])", (X, Y), lambda X, Y: fl.vstack([X, Y]), lambda X, Y: np.vstack([X, Y])),
    ]


def of_sparse(scale: float) -> list[Operation]:
    rng, rows = np.random.default_rng(2), int(20_000 * scale)
    S, T = sparse(rows, 3000, 0.05, 1), sparse(rows, 3000, 0.05, 2)
    u, v, W, V = rng.random((rows, 1)), rng.random((1, 3000)), rng.random((3000, 10)), rng.random((rows, 10))
    G, x = sparse(50_000, 50_000, 0.0002, 3), rng.random((50_000, 1))
    picked = np.arange(0, rows, 3)
    return [
        ("S * u", (S, u), lambda S, u: S * u, lambda S, u: S.multiply(u).tocsr()),
        ("S * v", (S, v), lambda S, v: S * v, lambda S, v: S.multiply(v).tocsr()),
        ("S * T", (S, T), lambda S, T: S * T, lambda S, T: S.multiply(T)),
        both("S + T", (S, T), lambda S, T: S + T),
        ("maximum(S, T)", (S, T), fl.maximum, lambda S, T: S.maximum(T)),
        both("abs(S)", (S,), abs),
        ("sqrt(S)", (S,), fl.sqrt, lambda S: S.sqrt()),
        ("S ** 2", (S,), lambda S: S**2, lambda S: S.power(2)),
        both("S > 0.5", (S,), lambda S: S > 0.5),
        both("S.sum(axis=0)", (S,), lambda S: S.sum(axis=0)),
        both("S.sum(axis=1)", (S,), lambda S: S.sum(axis=1)),
        ("S.max(axis=1)", (S,), lambda S: S.max(axis=1), lambda S: S.max(axis=1).toarray()),
        both("S.argmax(axis=1)", (S,), lambda S: S.argmax(axis=1)),
        both("S @ W", (S, W), lambda S, W: S @ W),
        both("S.T @ V", (S, V), lambda S, V: S.T @ V),
        both("G @ x", (G, x), lambda G, x: G @ x),
        both("G.T @ x", (G, x), lambda G, x: G.T @ x),
        both("G @ G", (G,), lambda G: G @ G),
        ("S.T", (S,), lambda S: S.T, lambda S: S.T.tocsr()),
        both("S[1000:, 100:2000]", (S,), lambda S: S[1000:, 100:2000]),
        both("S[positions]", (S,), lambda S: S[picked]),
        both("S[:, positions]", (S,), lambda S: S[:, [1, 50, 900]]),
        ("vstack([S, T])", (S, T), lambda S, T: fl.vstack([S, T]), lambda S, T: sp.vstack([S, T], format="csr")),
        ("hstack([S, T])", (S, T), lambda S, T: fl.hstack([S, T]), lambda S, T: sp.hstack([S, T], format="csr")),
    ]


def differ(ours: Any, theirs: Any) -> bool:
    """Whether results differ, however many axes they have."""
    if sp.issparse(theirs):
        return abs(ours.scipy() - theirs).max() > 1e-9 * max(abs(theirs).max(), 1)
    own, other = np.asarray(ours, dtype=float).squeeze(), np.asarray(theirs, dtype=float).squeeze()
    return own.shape != other.shape or not np.allclose(own, other, rtol=1e-9, atol=1e-12)


def seconds(call: Callable[[], Any]) -> float:
    let_others_sleep()
    spread_threads(call)
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def compare_operations(scale: float, rounds: int, threads: int) -> None:
    """Prints a line for each operation: medians in turn, and how many times as long as the other library ours takes."""
    check_threads(threads)
    print(f"\nOperations, {threads} threads, medians of {rounds} rounds in turn, scale {scale:g}.\n")
    print("| operation | Fuseline | NumPy, SciPy | ratio |\n|---|---:|---:|---:|")
    longer = []
    for name, arrays, ours, theirs in of_dense(scale) + of_sparse(scale):
        compiled = fl.jit(ours)
        if differ(compiled(*arrays), theirs(*arrays)):
            raise SystemExit(f"{name}: the two differ")
        times = [(seconds(lambda: compiled(*arrays)), seconds(lambda: theirs(*arrays))) for _ in range(rounds)]
        own, other = (statistics.median(column) * 1e3 for column in zip(*times))
        longer += [name] if own > 1.05 * other else []
        print(f"| `{name}` | {own:.2f} ms | {other:.2f} ms | {own / other:.2f} |", flush=True)
    print(f"\n{len(longer)} take more than 1.05 times as long: {', '.join(longer) or 'none'}.")
