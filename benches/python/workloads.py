"""Expressions beside those of NumPy and SciPy, numexpr, numba, JAX and KeOps."""

from __future__ import annotations

import gc
import importlib
import importlib.util
import statistics
import time
from typing import Any, Callable

import numpy as np
import scipy.sparse as sp

import fuseline as fl
from compare import let_others_sleep
from conditions import check_doubles, check_threads


def optional(name: str) -> Any:
    """A library, where it is installed."""
    return importlib.import_module(name) if importlib.util.find_spec(name) else None


numexpr, numba, jax, keops = optional("numexpr"), optional("numba"), optional("jax"), optional("pykeops")
if jax:
    jax.config.update("jax_enable_x64", True)
    jnp = jax.numpy


class Workload:
    """What is computed: the data, and a function for each library that gives an array of NumPy or a number."""

    def __init__(self, name: str, data: Callable[[float], tuple], **ways: Callable[..., Any]):
        self.name, self.data, self.ways = name, data, {k: w for k, w in ways.items() if w is not None}


def dense(rows: int, columns: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1, 1, (rows, columns))


def vector(n: int, seed: int = 2) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1, 1, n)


def placed(run: Callable[..., Any], place: Callable[[Any], Any]) -> Callable[..., Any]:
    """A function of a library on arrays that were made that library's once."""

    def way(*arrays):
        own = [place(x) for x in arrays]
        return lambda: finished(run(*own))

    return way


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of arrays as Fuseline runs it, on arrays that were captured once."""
    return placed(fl.jit(function), fl.matrix)


def finished(result: Any) -> Any:
    return tuple(finished(x) for x in result) if isinstance(result, tuple) else np.asarray(result)


def plain(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *arrays: lambda: function(*arrays)


def with_jax(function: Callable[..., Any]) -> Callable[..., Any] | None:
    return placed(jax.jit(function), jnp.asarray) if jax else None


def with_numexpr(text: str, *names: str) -> Callable[..., Any] | None:
    if not numexpr:
        return None
    return lambda *arrays: lambda: numexpr.evaluate(text, local_dict=dict(zip(names, arrays)))


def with_numba(make: Callable[[], Callable[..., Any]]) -> Callable[..., Any] | None:
    return plain(make()) if numba else None


def with_keops(function: Callable[..., Any]) -> Callable[..., Any] | None:
    """A function of symbolic tensors of KeOps, which compiles it with the C++ compiler of the machine.

    KeOps reduces over pairs of samples, or of samples and centres: what has no such reduction is not written with it.
    """
    if not keops:
        return None
    keops.set_verbose(False)
    from pykeops.numpy import LazyTensor

    return lambda *arrays: function(LazyTensor, *arrays)


def keops_centres(lazy, X, C):
    x, c, squares = lazy(X[:, None, :]), lazy(C[None, :, :]), lazy((C * C).sum(axis=1)[None, :, None])
    return lambda: (squares - 2 * (x | c)).min(axis=1).sum()


def keops_logistic(lazy, X, w, y):
    x, labels, weights = lazy(X[:, None, :]), lazy(y[:, None, None]), lazy(w[None, None, :])
    return lambda: ((1 / (1 + (-(x | weights)).exp()) - labels) * x).sum(axis=0).ravel()


def keops_normal(lazy, X, v):
    x, direction = lazy(X[:, None, :]), lazy(v[None, None, :])
    return lambda: ((x | direction) * x).sum(axis=0).ravel()


def numba_sum_of_products():
    @numba.njit(parallel=True, fastmath=True)
    def run(X, Y, Z):
        total = 0.0
        for i in numba.prange(X.shape[0]):
            for j in range(X.shape[1]):
                total += X[i, j] * Y[i, j] * Z[i, j]
        return total

    return run


def numba_logistic():
    @numba.njit(parallel=True, fastmath=True)
    def run(X, w, y):
        rows, columns = X.shape
        parts = np.zeros((64, columns))
        for part in numba.prange(64):
            for i in range(part * rows // 64, (part + 1) * rows // 64):
                score = 0.0
                for j in range(columns):
                    score += X[i, j] * w[j]
                factor = 1.0 / (1.0 + np.exp(-score)) - y[i]
                for j in range(columns):
                    parts[part, j] += factor * X[i, j]
        return parts.sum(axis=0)

    return run


def numba_outer():
    @numba.njit(parallel=True, fastmath=True)
    def run(data, indices, indptr, U, V):
        total = 0.0
        for i in numba.prange(len(indptr) - 1):
            for position in range(indptr[i], indptr[i + 1]):
                dot = 0.0
                for k in range(U.shape[1]):
                    dot += U[i, k] * V[indices[position], k]
                total += data[position] * np.log(dot + 1e-15)
        return total

    compiled_loop = run
    return lambda X, U, V: compiled_loop(X.data, X.indices, X.indptr, U, V)


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


def rows(scale: float, count: int) -> int:
    return max(100, int(count * scale))


WORKLOADS = [
    Workload(
        "sum(X * Y * Z), dense",
        lambda s: tuple(dense(rows(s, 200_000), 50, k) for k in range(3)),
        fuseline=compiled(lambda X, Y, Z: (X * Y * Z).sum()),
        numpy=plain(lambda X, Y, Z: (X * Y * Z).sum()),
        numexpr=with_numexpr("sum(X * Y * Z)", "X", "Y", "Z"),
        numba=with_numba(numba_sum_of_products),
        jax=with_jax(lambda X, Y, Z: (X * Y * Z).sum()),
    ),
    Workload(
        "a polynomial and a root of each cell",
        lambda s: (dense(rows(s, 200_000), 50),),
        fuseline=compiled(lambda X: 2 * X + X**2 - fl.sqrt(abs(X))),
        numpy=plain(lambda X: 2 * X + X**2 - np.sqrt(abs(X))),
        numexpr=with_numexpr("2 * X + X**2 - sqrt(abs(X))", "X"),
        jax=with_jax(lambda X: 2 * X + X**2 - jnp.sqrt(abs(X))) if jax else None,
    ),
    Workload(
        "X' (X v)",
        lambda s: (dense(rows(s, 200_000), 100), vector(100)),
        fuseline=compiled(lambda X, v: X.T @ (X @ v)),
        numpy=plain(lambda X, v: X.T @ (X @ v)),
        jax=with_jax(lambda X, v: X.T @ (X @ v)),
        keops=with_keops(keops_normal),
    ),
    Workload(
        "logistic gradient",
        lambda s: (dense(rows(s, 200_000), 100), vector(100), (vector(rows(s, 200_000), 3) > 0) * 1.0),
        fuseline=compiled(lambda X, w, y: X.T @ (fl.sigmoid(X @ w) - y)),
        numpy=plain(lambda X, w, y: X.T @ (sigmoid(X @ w) - y)),
        numba=with_numba(numba_logistic),
        jax=with_jax(lambda X, w, y: X.T @ (jax.nn.sigmoid(X @ w) - y)) if jax else None,
        keops=with_keops(keops_logistic),
    ),
    Workload(
        "k-means step, 10 centres",
        lambda s: (dense(rows(s, 200_000), 20), dense(10, 20, 5)),
        fuseline=compiled(lambda X, C: ((C * C).sum(axis=1) - 2 * (X @ C.T)).min(axis=1).sum()),
        numpy=plain(lambda X, C: ((C * C).sum(axis=1) - 2 * (X @ C.T)).min(axis=1).sum()),
        jax=with_jax(lambda X, C: ((C * C).sum(axis=1) - 2 * (X @ C.T)).min(axis=1).sum()),
        keops=with_keops(keops_centres),
    ),
    Workload(
        "rows divided by their norms",
        lambda s: (dense(rows(s, 200_000), 50),),
        fuseline=compiled(lambda X: X / fl.sqrt((X * X).sum(axis=1, keepdims=True))),
        numpy=plain(lambda X: X / np.sqrt((X * X).sum(axis=1, keepdims=True))),
        jax=with_jax(lambda X: X / jnp.sqrt((X * X).sum(axis=1, keepdims=True))) if jax else None,
    ),
    Workload(
        "standardised columns, summed by row",
        lambda s: (dense(rows(s, 200_000), 50),),
        fuseline=compiled(lambda X: ((X - X.mean(axis=0)) / X.std(axis=0)).sum(axis=1)),
        numpy=plain(lambda X: ((X - X.mean(axis=0)) / X.std(axis=0)).sum(axis=1)),
        jax=with_jax(lambda X: ((X - X.mean(axis=0)) / X.std(axis=0)).sum(axis=1)),
    ),
    Workload(
        "sum(X * log(U V' + eps)), X sparse",
        lambda s: (
            sp.random_array((rows(s, 20_000), 20_000), density=1e-3, format="csr", rng=1),
            abs(dense(rows(s, 20_000), 10)),
            abs(dense(20_000, 10, 2)),
        ),
        fuseline=compiled(lambda X, U, V: (X * fl.log(U @ V.T + 1e-15)).sum()),
        scipy=plain(lambda X, U, V: outer_by_positions(X, U, V)),
        numba=with_numba(numba_outer),
    ),
    Workload(
        "X' (w * (X v)), X sparse",
        lambda s: (
            sp.random_array((rows(s, 200_000), 2_000), density=0.01, format="csr", rng=1),
            vector(2_000),
            abs(vector(rows(s, 200_000), 3)),
        ),
        fuseline=compiled(lambda X, v, w: X.T @ (w * (X @ v))),
        scipy=plain(lambda X, v, w: X.T @ (w * (X @ v))),
    ),
    Workload(
        "tf-idf, rows of norm 1, X sparse",
        lambda s: (
            sp.random_array((rows(s, 100_000), 5_000), density=0.01, format="csr", rng=1),
            abs(vector(5_000)) + 0.1,
            vector(5_000),
        ),
        fuseline=compiled(lambda X, d, v: weighted(X, d) @ v),
        scipy=plain(lambda X, d, v: tf_idf_scipy(X, d) @ v),
    ),
]


def outer_by_positions(X, U, V):
    """What a careful user of SciPy writes: the products at the positions of X alone."""
    row_of = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    return (X.data * np.log(np.einsum("ij,ij->i", U[row_of], V[X.indices]) + 1e-15)).sum()


def weighted(X, d):
    T = X * d
    return T / fl.sqrt((T * T).sum(axis=1, keepdims=True) + 1e-30)


def tf_idf_scipy(X, d):
    T = X @ sp.diags_array(d)
    return sp.diags_array(1.0 / np.sqrt(T.power(2).sum(axis=1) + 1e-30)) @ T


def measure(workload: Workload, scale: float, rounds: int) -> dict[str, float]:
    """Medians in milliseconds, after the results were compared."""
    data = workload.data(scale)
    check_doubles(workload.name, data)
    ready = {name: way(*data) for name, way in workload.ways.items()}
    expected = None
    for name, run in ready.items():
        result = finished(run())
        check_doubles(f"{workload.name}: {name}", result)
        for _ in range(3):
            run()
        if expected is None:
            expected = result
        np.testing.assert_allclose(result, expected, rtol=1e-6, atol=1e-8, err_msg=f"{workload.name}: {name}")
    times: dict[str, list[float]] = {name: [] for name in ready}
    for _ in range(rounds):
        for name, run in ready.items():
            let_others_sleep()
            spread_threads(run)
            start = time.perf_counter()
            run()
            times[name].append(1e3 * (time.perf_counter() - start))
    return {name: statistics.median(values) for name, values in times.items()}


#: Seconds after which an operating system has given each thread of a library a core of its own.
SPREAD = 0.03


def spread_threads(run: Callable[[], Any]) -> None:
    """Runs it until its threads, which may all wake up on one core, have a core each."""
    end = time.perf_counter() + SPREAD
    run()
    while time.perf_counter() < end:
        run()


LIBRARIES = ["fuseline", "numpy", "scipy", "numexpr", "numba", "jax", "keops"]


def compare_workloads(
    scale: float, rounds: int, threads: int, chosen: Callable[[str], bool]
) -> dict[str, dict[str, float]]:
    """Prints a table, and gives the medians by workload and library."""
    picked = [workload for workload in WORKLOADS if chosen(workload.name)]
    if not picked:
        return {}
    check_threads(threads)
    print(f"\nMilliseconds, {threads} threads, medians of {rounds} rounds in turn, scale {scale:g}.")
    return print_table(picked, LIBRARIES, scale, rounds)


def print_table(
    workloads: list[Workload], libraries: list[str], scale: float, rounds: int
) -> dict[str, dict[str, float]]:
    """A row for each workload, as it is measured, and the medians by workload and library. Fuseline is the first."""
    print("In brackets: how often Fuseline's time that is.\n")
    print("| workload | " + " | ".join(libraries) + " |\n|---|" + "---|" * len(libraries))
    measured = {}
    for workload in workloads:
        times = measured[workload.name] = measure(workload, scale, rounds)
        ours = times["fuseline"]
        cells = [f"{ours:.2f}"] + [beside(times.get(name), ours) for name in libraries[1:]]
        print(f"| {workload.name} | " + " | ".join(cells) + " |", flush=True)
        gc.collect()
    return measured


def beside(time: float | None, ours: float) -> str:
    return "" if time is None else f"{time:.2f} ({time / ours:.2f})"
