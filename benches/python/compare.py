"""Fuseline from Python beside NumPy and SciPy, numexpr, numba and JAX, and its estimators beside scikit-learn and others.

    ./x bench python [--scale S] [--rounds N] [FILTER...]

Every workload is computed by each library that is installed and can, in doubles, on the same threads and data, in turn,
round after round; the table shows medians, and how much of each round's time Fuseline's was. Results are compared first.
Estimators are compared at equal accuracy, which the table shows, with the memory that a fit takes at its peak.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import importlib.util
import os
import statistics
import sys
import threading
import time
from typing import Any, Callable

THREADS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_MAX_THREADS"):
    os.environ.setdefault(_variable, str(THREADS))

import numpy as np  # noqa: E402
import scipy.sparse as sp  # noqa: E402

import fuseline as fl  # noqa: E402


def optional(name: str) -> Any:
    """A library, where it is installed."""
    return importlib.import_module(name) if importlib.util.find_spec(name) else None


numexpr, numba, jax = optional("numexpr"), optional("numba"), optional("jax")
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


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of arrays as Fuseline runs it, on arrays that were captured once."""
    run = fl.jit(function)

    def way(*arrays):
        captured = [fl.matrix(x) for x in arrays]
        return lambda: finished(run(*captured))

    return way


def finished(result: Any) -> Any:
    return tuple(finished(x) for x in result) if isinstance(result, tuple) else np.asarray(result)


def plain(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *arrays: lambda: function(*arrays)


def with_jax(function: Callable[..., Any]) -> Callable[..., Any] | None:
    if not jax:
        return None
    run = jax.jit(function)

    def way(*arrays):
        placed = [jnp.asarray(x) for x in arrays]
        return lambda: finished(run(*placed))

    return way


def with_numexpr(text: str, *names: str) -> Callable[..., Any] | None:
    if not numexpr:
        return None
    return lambda *arrays: lambda: numexpr.evaluate(text, local_dict=dict(zip(names, arrays)))


def with_numba(make: Callable[[], Callable[..., Any]]) -> Callable[..., Any] | None:
    return plain(make()) if numba else None


def numba_sum_of_products():
    @numba.njit(parallel=True)
    def run(X, Y, Z):
        total = 0.0
        for i in numba.prange(X.shape[0]):
            for j in range(X.shape[1]):
                total += X[i, j] * Y[i, j] * Z[i, j]
        return total

    return run


def numba_logistic():
    @numba.njit(parallel=True)
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
    @numba.njit(parallel=True)
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
    ),
    Workload(
        "logistic gradient",
        lambda s: (dense(rows(s, 200_000), 100), vector(100), (vector(rows(s, 200_000), 3) > 0) * 1.0),
        fuseline=compiled(lambda X, w, y: X.T @ (fl.sigmoid(X @ w) - y)),
        numpy=plain(lambda X, w, y: X.T @ (sigmoid(X @ w) - y)),
        numba=with_numba(numba_logistic),
        jax=with_jax(lambda X, w, y: X.T @ (jax.nn.sigmoid(X @ w) - y)) if jax else None,
    ),
    Workload(
        "k-means step, 10 centres",
        lambda s: (dense(rows(s, 200_000), 20), dense(10, 20, 5)),
        fuseline=compiled(lambda X, C: ((C * C).sum(axis=1) - 2 * (X @ C.T)).min(axis=1).sum()),
        numpy=plain(lambda X, C: ((C * C).sum(axis=1) - 2 * (X @ C.T)).min(axis=1).sum()),
        jax=with_jax(lambda X, C: ((C * C).sum(axis=1) - 2 * (X @ C.T)).min(axis=1).sum()),
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
    ready = {name: way(*data) for name, way in workload.ways.items()}
    expected = None
    for name, run in ready.items():
        result = finished(run())
        for _ in range(3):
            run()
        if expected is None:
            expected = result
        np.testing.assert_allclose(result, expected, rtol=1e-6, atol=1e-8, err_msg=f"{workload.name}: {name}")
    times: dict[str, list[float]] = {name: [] for name in ready}
    for _ in range(rounds):
        for name, run in ready.items():
            start = time.perf_counter()
            run()
            times[name].append(1e3 * (time.perf_counter() - start))
    return {name: statistics.median(values) for name, values in times.items()}


LIBRARIES = ["fuseline", "numpy", "scipy", "numexpr", "numba", "jax"]


def compare_workloads(scale: float, rounds: int, chosen: Callable[[str], bool]) -> None:
    print(f"Milliseconds, {THREADS} threads, medians of {rounds} rounds in turn, scale {scale:g}; how often Fuseline's time.\n")
    print("| workload | " + " | ".join(LIBRARIES) + " |")
    print("|---|" + "---|" * len(LIBRARIES))
    for workload in WORKLOADS:
        if not chosen(workload.name):
            continue
        times = measure(workload, scale, rounds)
        ours = times["fuseline"]
        cells = [
            "" if name not in times else f"{times[name]:.2f}" + ("" if name == "fuseline" else f" ({times[name] / ours:.2f})")
            for name in LIBRARIES
        ]
        print(f"| {workload.name} | " + " | ".join(cells) + " |", flush=True)
        gc.collect()


def peak_during(work: Callable[[], Any]) -> tuple[Any, float, float]:
    """The result of some work, its seconds, and the megabytes that the process grew by at its peak."""
    gc.collect()
    done, highest, before = threading.Event(), [0.0], resident()

    def watch() -> None:
        while not done.wait(0.002):
            highest[0] = max(highest[0], resident())

    watcher = threading.Thread(target=watch)
    watcher.start()
    start = time.perf_counter()
    result = work()
    seconds = time.perf_counter() - start
    done.set()
    watcher.join()
    return result, seconds, max(0.0, highest[0] - before)


def score_of(model: Any, data: Any, target: np.ndarray) -> float:
    """The score of scikit-learn; of components the share of the variance that they explain."""
    ratio = getattr(model, "explained_variance_ratio_", None)
    return model.score(data, target) if ratio is None else float(ratio.sum())


def resident() -> float:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def compare_estimators(scale: float, rounds: int, chosen: Callable[[str], bool]) -> None:
    if not optional("sklearn") or not os.path.exists("/proc/self/statm"):
        return
    from sklearn import cluster, decomposition, linear_model, svm

    import fuseline.sklearn as ours

    glum, implicit = optional("glum"), optional("implicit")
    X, S = dense(rows(scale, 100_000), 50), sp.random_array((rows(scale, 50_000), 2_000), density=0.005, format="csr", rng=1)
    y = {id(data): data @ vector(data.shape[1], 5) + 0.1 * vector(data.shape[0], 6) for data in (X, S)}
    labels = {key: (value > np.median(value)) * 1 for key, value in y.items()}
    counts = {key: np.random.default_rng(1).poisson(np.exp(np.clip(value, -3, 3))) for key, value in y.items()}
    tasks = [
        ("Ridge", y, {"fuseline": ours.Ridge(), "sklearn": linear_model.Ridge()}),
        (
            "LogisticRegression",
            labels,
            {
                "fuseline": ours.LogisticRegression(tol=1e-6),
                "sklearn": linear_model.LogisticRegression(tol=1e-6, max_iter=1000),
            },
        ),
        (
            "LinearSVC",
            labels,
            {"fuseline": ours.LinearSVC(tol=1e-6), "sklearn": svm.LinearSVC(tol=1e-6, max_iter=10_000)},
        ),
        (
            "PoissonRegressor",
            counts,
            {
                "fuseline": ours.PoissonRegressor(alpha=1e-3),
                "sklearn": linear_model.PoissonRegressor(alpha=1e-3, max_iter=1000),
                **({"glum": glum.GeneralizedLinearRegressor(family="poisson", alpha=1e-3)} if glum else {}),
            },
        ),
        (
            "KMeans",
            y,
            {
                "fuseline": ours.KMeans(8, n_init=1, random_state=1),
                "sklearn": cluster.KMeans(8, n_init=1, random_state=1),
            },
        ),
        ("PCA", y, {"fuseline": ours.PCA(10), "sklearn": decomposition.PCA(10)}),
    ]
    print("\nSeconds of a fit, the score on the training data, and megabytes at the peak beyond those before the fit.\n")
    print("| estimator | data | library | seconds | score | MB |\n|---|---|---|---|---|---|")
    for name, targets, models in tasks:
        if not chosen(name):
            continue
        for kind, data in (("dense", X), ("sparse", S)):
            for library, model in models.items():
                fits = [peak_during(lambda: model.fit(data, targets[id(data)])) for _ in range(max(3, rounds // 3))]
                seconds = statistics.median(fit[1] for fit in fits)
                score = score_of(model, data, targets[id(data)])
                memory = max(fit[2] for fit in fits)
                print(f"| {name} | {kind} | {library} | {seconds:.3f} | {score:.6g} | {memory:.0f} |", flush=True)
    if implicit and chosen("ALS"):
        print("| ALS | implicit is for implicit feedback alone: its objective is another one | | | | |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("filters", nargs="*")
    options = parser.parse_args()

    def chosen(name: str) -> bool:
        return not options.filters or any(text in name for text in options.filters)

    compare_workloads(options.scale, options.rounds, chosen)
    compare_estimators(options.scale, options.rounds, chosen)


if __name__ == "__main__":
    sys.exit(main())
