"""Estimators beside those of scikit-learn and others: time, accuracy, and memory at the peak.

Each library fits in a process of its own, so that its memory can be told from that of the others. All take turns, fit
after fit, and wait for each other.
"""

from __future__ import annotations

import gc
import importlib
import importlib.util
import multiprocessing
import os
import statistics
import time
import warnings
from multiprocessing.connection import Connection
from typing import Any, Callable, NamedTuple

import numpy as np
import scipy.sparse as sp

from compare import let_others_sleep


class Task(NamedTuple):
    """What is fitted to which target, and how good a fit is: for each library a function that makes its estimator."""

    name: str
    target: str | None
    score: Callable[[Any, Any, Any], float]
    makers: dict[str, Callable[[], Any]]
    kinds: tuple[str, ...] = ("dense", "sparse")


#: The penalty of factors of implicit feedback, their number, and the rounds that both libraries make.
REGULARIZATION, FACTORS, ROUNDS = 0.01, 32, 15


def vector(n: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1, 1, n)


def samples(kind: str, scale: float) -> Any:
    def rows(count: int) -> int:
        return max(200, int(count * scale))

    if kind == "dense":
        return np.random.default_rng(1).uniform(-1, 1, (rows(100_000), 50))
    return sp.random_array((rows(50_000), 2_000), density=0.005, format="csr", rng=1)


def confidence(X: Any) -> Any:
    """Implicit feedback: how often each thing was seen."""
    return sp.csr_array((np.ceil(20 * X.data), X.indices, X.indptr), X.shape)


def targets(kind: str | None, X: Any) -> Any:
    score = X @ vector(X.shape[1], 5) + 0.1 * vector(X.shape[0], 6)
    if kind == "classes":
        return (score > np.median(score)) * 1
    if kind == "counts":
        return np.random.default_rng(1).poisson(np.exp(np.clip(score, -3, 3))).astype(float)
    return score if kind else None


def ours(name: str, **parameters: Any) -> Callable[[], Any]:
    def make() -> Any:
        import fuseline.sklearn

        return getattr(fuseline.sklearn, name)(**parameters)

    return make


def from_module(module: str, name: str, **parameters: Any) -> Callable[[], Any]:
    return lambda: getattr(importlib.import_module(module), name)(**parameters)


def score(model: Any, X: Any, y: Any) -> float:
    return model.score(X, y)


def accuracy(model: Any, X: Any, y: Any) -> float:
    """The share of right classes, also of a model that predicts probabilities."""
    return float(np.mean((model.predict(X) > 0.5) == y))


def explained_deviance(model: Any, X: Any, y: Any) -> float:
    from sklearn.metrics import d2_tweedie_score

    return d2_tweedie_score(y, model.predict(X), power=1)


def explained_variance(model: Any, X: Any, y: Any) -> float:
    return float(model.explained_variance_ratio_.sum())


def mean_loss(model: Any, X: Any, y: Any) -> float:
    """The loss of implicit feedback, for each cell of the matrix."""
    U, V = np.asarray(model.user_factors, dtype=float), np.asarray(model.item_factors, dtype=float)
    known = np.einsum("ij,ij->i", U[np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))], V[X.indices])
    loss = ((U.T @ U) * (V.T @ V)).sum() + (X.data * (1 - known) ** 2 - known**2).sum()
    return float(loss + REGULARIZATION * ((U * U).sum() + (V * V).sum())) / (X.shape[0] * X.shape[1])


class ImplicitALS:
    """The method of implicit's AlternatingLeastSquares, as its users would write it with Fuseline.

    Cells that are 0 count, with the weight 1. Rows are solved for all at once, by three steps of conjugate gradients.
    """

    def fit(self, X: Any, y: Any) -> ImplicitALS:
        import fuseline as fl
        from fuseline.sklearn.recommend import conjugate_step

        @fl.jit
        def gram(V):
            return V.T @ V

        @fl.jit
        def residual(X, excess, U, V, G):
            R = X @ V - (excess * (U @ V.T)) @ V - U @ G
            return R, (R * R).sum(axis=1)

        @fl.jit
        def curvature(excess, S, V, G):
            return (excess * (S @ V.T)) @ V + S @ G

        def solved(X, excess, U, V):
            G = gram(V).numpy() + REGULARIZATION * np.eye(FACTORS)
            R, size = residual(X, excess, U, V, G)
            S = R
            for _ in range(3):
                U, R, S, size = conjugate_step(U, R, S, curvature(excess, S, V, G), size)
            return U

        random = np.random.default_rng(1)
        U, V = (fl.matrix(0.01 * random.uniform(size=(n, FACTORS))) for n in X.shape)
        by_user = [fl.matrix(Y) for Y in (X, beyond_one(X))]
        by_item = [fl.matrix(Y) for Y in (X.T.tocsr(), beyond_one(X).T.tocsr())]
        for _ in range(ROUNDS):
            U = solved(*by_user, U, V)
            V = solved(*by_item, V, U)
        self.user_factors, self.item_factors = U.numpy(), V.numpy()
        return self


def beyond_one(X: Any) -> Any:
    return sp.csr_array((X.data - 1, X.indices, X.indptr), X.shape)


class Implicit:
    """implicit's own, with doubles, and with one thread of BLAS beside its own threads, as it asks for."""

    def fit(self, X: Any, y: Any) -> Implicit:
        from implicit.cpu.als import AlternatingLeastSquares
        from threadpoolctl import threadpool_limits

        model = AlternatingLeastSquares(
            FACTORS, regularization=REGULARIZATION, dtype=np.float64, iterations=ROUNDS, random_state=1
        )
        with threadpool_limits(1, "blas"):
            model.fit(sp.csr_matrix(X), show_progress=False)
        self.user_factors, self.item_factors = model.user_factors, model.item_factors
        return self


SKLEARN, INTEL = "sklearn", "scikit-learn-intelex"
TASKS = [
    Task(
        "Ridge",
        "values",
        score,
        {
            "fuseline": ours("Ridge"),
            # Its iterations over sparse data end early; with this tolerance coefficients agree to six digits.
            SKLEARN: from_module("sklearn.linear_model", "Ridge", tol=1e-8),
            f"{SKLEARN}, tol=1e-4": from_module("sklearn.linear_model", "Ridge"),
            INTEL: from_module("sklearnex.linear_model", "Ridge", tol=1e-8),
        },
    ),
    Task(
        "LogisticRegression",
        "classes",
        accuracy,
        {
            "fuseline": ours("LogisticRegression", tol=1e-6),
            SKLEARN: from_module("sklearn.linear_model", "LogisticRegression", tol=1e-6, max_iter=1000),
            INTEL: from_module("sklearnex.linear_model", "LogisticRegression", tol=1e-6, max_iter=1000),
        },
    ),
    Task(
        "LinearSVC",
        "classes",
        accuracy,
        {
            "fuseline": ours("LinearSVC", tol=1e-6),
            SKLEARN: from_module("sklearn.svm", "LinearSVC", tol=1e-6, max_iter=10_000),
        },
    ),
    Task(
        "PoissonRegressor",
        "counts",
        explained_deviance,
        {
            "fuseline": ours("PoissonRegressor", alpha=1e-3, tol=1e-6),
            SKLEARN: from_module("sklearn.linear_model", "PoissonRegressor", alpha=1e-3, tol=1e-6, max_iter=1000),
            "glum": from_module(
                "glum", "GeneralizedLinearRegressor", family="poisson", alpha=1e-3, gradient_tol=1e-6, max_iter=1000
            ),
        },
    ),
    Task(
        "KMeans",
        "values",
        score,
        {
            "fuseline": ours("KMeans", n_clusters=8, n_init=1, random_state=1),
            SKLEARN: from_module("sklearn.cluster", "KMeans", n_clusters=8, n_init=1, random_state=1),
            INTEL: from_module("sklearnex.cluster", "KMeans", n_clusters=8, n_init=1, random_state=1),
        },
    ),
    Task(
        "PCA",
        None,
        explained_variance,
        {
            "fuseline": ours("PCA", n_components=10),
            SKLEARN: from_module("sklearn.decomposition", "PCA", n_components=10),
            INTEL: from_module("sklearnex.decomposition", "PCA", n_components=10),
        },
    ),
    Task(
        "ALS of implicit feedback",
        "confidence",
        mean_loss,
        {"fuseline": ImplicitALS, "implicit": Implicit},
        kinds=("sparse",),
    ),
]

#: The modules of libraries that have other names.
MODULES = {INTEL: "sklearnex", f"{SKLEARN}, tol=1e-4": SKLEARN}


class First(NamedTuple):
    """How good a fit is, and what it took at its peak beyond what was there before."""

    score: float
    megabytes: float


def serve(connection: Connection, number: int, kind: str, library: str, scale: float) -> None:
    """Sends what the first fit is like, and then the seconds of a fit each time that something is received."""
    warnings.simplefilter("ignore")
    task, X = TASKS[number], samples(kind, scale)
    X, y = (confidence(X), None) if task.target == "confidence" else (X, targets(task.target, X))
    model = task.makers[library]()
    # What is loaded or compiled is no memory of a fit.
    model.fit(X[:200], None if y is None else y[:200])
    gc.collect()
    before = forget_peak()
    model.fit(X, y)
    connection.send(First(task.score(model, X, y), memory("VmHWM") - before))
    while connection.recv():
        gc.collect()
        let_others_sleep()
        start = time.perf_counter()
        model.fit(X, y)
        connection.send(time.perf_counter() - start)


def forget_peak() -> float:
    """Makes the memory of now the peak, in megabytes."""
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    return memory("VmRSS")


def memory(kind: str) -> float:
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 / 1e6 for line in file if line.startswith(kind))


class Server:
    """A process that fits one estimator of one library."""

    def __init__(self, *arguments: Any):
        context = multiprocessing.get_context("spawn")
        self.connection, other = context.Pipe()
        self.process = context.Process(target=serve, args=(other, *arguments), daemon=True)
        self.process.start()
        self.seconds: list[float] = []
        other.close()
        self.first: First = self.connection.recv()

    def fit(self) -> None:
        self.connection.send(True)
        self.seconds.append(self.connection.recv())

    def end(self) -> None:
        self.connection.send(False)
        self.process.join()


def is_installed(library: str) -> bool:
    return importlib.util.find_spec(MODULES.get(library, library)) is not None


def compare_estimators(scale: float, rounds: int, chosen: Callable[[str], bool]) -> None:
    picked = [task for task in TASKS if chosen(task.name)]
    if not picked:
        return
    if not is_installed(SKLEARN) or not os.path.exists("/proc/self/clear_refs"):
        print("\nEstimators are compared on Linux, where scikit-learn is installed.")
        return
    print(f"\nSeconds of a fit after the first, medians of {rounds} in turn; how good it is on the training data, for")
    print("ALS a loss; and megabytes of the process at the peak of the first fit, beyond those before it.\n")
    print("| estimator | data | library | seconds | score | MB |\n|---|---|---|---|---|---|")
    for task in picked:
        for kind in task.kinds:
            compare_on(task, kind, scale, rounds)


def compare_on(task: Task, kind: str, scale: float, rounds: int) -> None:
    number = TASKS.index(task)
    servers = {library: Server(number, kind, library, scale) for library in task.makers if is_installed(library)}
    for _ in range(rounds):
        for server in servers.values():
            server.fit()
    for library, server in servers.items():
        server.end()
        row = f"{statistics.median(server.seconds):.3f} | {server.first.score:.7g} | {server.first.megabytes:.0f}"
        print(f"| {task.name} | {kind} | {library} | {row} |", flush=True)
