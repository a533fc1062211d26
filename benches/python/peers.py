"""The paper's operators beside other compilers of array expressions (section 5.1; P163, P164, P169).

    ./x bench peers [--scale S] [--rounds N] [--json FILE] [PART...]

The paper compares with Julia without and with fused loops, and with TensorFlow without and with its compiler. Here these
are numba (array expressions that it compiles, and loops written by hand) and JAX and PyTorch, each eager and compiled;
NumPy, or SciPy where the data are sparse, stands for no compiler at all. All compute in doubles on the same number of
threads, which is checked, on the same data, in turn, round after round; results are compared first. `--json` writes
down how many times as fast Fuseline is, with the commit, the machine and the command, for `./x bench paper`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import time
import warnings
from typing import Any, Callable

from compare import THREADS, machine  # Sets the variables that libraries read while they are imported: first of all.

import numpy as np
import scipy.sparse as sp

import fuseline as fl
from conditions import check_threads
from workloads import (
    Workload,
    compiled,
    dense,
    jax,
    jnp,
    numba,
    numba_outer,
    numba_sum_of_products,
    optional,
    placed,
    plain,
    print_table,
    rows,
    vector,
    with_jax,
    with_numba,
)

torch = optional("torch")
LIBRARIES = ["fuseline", "numpy", "numba", "numba_loops", "jax", "jax_jit", "torch", "torch_compile"]
COLUMNS, RANK = 1_000, 100

#: For which items of the paper each library is compared.
ITEMS = {
    "numba": "P163",
    "numba_loops": "P163",
    "jax": "P164",
    "jax_jit": "P164",
    "torch": "P164",
    "torch_compile": "P164",
}


def tensor(x):
    """An array as a tensor over the same memory; a sparse matrix with its offsets and columns."""
    if not sp.issparse(x):
        return torch.from_numpy(x)
    parts = (torch.from_numpy(part) for part in (x.indptr.astype("int64"), x.indices.astype("int64"), x.data))
    return torch.sparse_csr_tensor(*parts, size=x.shape)


def with_torch(function: Callable[..., Any]) -> dict[str, Callable[..., Any]]:
    """A function of tensors as PyTorch runs it, operator by operator and compiled."""
    if not torch:
        return {}
    run = torch.compile(function, dynamic=False)
    return {"torch": placed(function, tensor), "torch_compile": placed(run, tensor)}


def everywhere(function: Callable[[Any], Callable[..., Any]], **others: Callable[..., Any] | None) -> dict[str, Any]:
    """An expression that all libraries write alike, given the module of their functions."""
    ways = {"fuseline": compiled(function(fl)), "numpy": plain(function(np))}
    if jax:
        ways |= {"jax": placed(function(jnp), jnp.asarray), "jax_jit": with_jax(function(jnp))}
    if torch:
        ways |= with_torch(function(torch))
    if numba:
        ways["numba"] = plain(numba.njit(parallel=True)(function(np)))
    return ways | others


def numba_two_sums():
    @numba.njit(parallel=True, fastmath=True)
    def run(X, Y, Z):
        first = second = 0.0
        for i in numba.prange(X.shape[0]):
            for j in range(X.shape[1]):
                first += X[i, j] * Y[i, j]
                second += X[i, j] * Z[i, j]
        return first, second

    return run


def numba_normal():
    """X' (X v), each row read once while it is in the cache."""

    @numba.njit(parallel=True, fastmath=True)
    def run(X, v):
        rows, columns = X.shape
        parts = np.zeros((64, columns))
        for part in numba.prange(64):
            for i in range(part * rows // 64, (part + 1) * rows // 64):
                dot = 0.0
                for j in range(columns):
                    dot += X[i, j] * v[j]
                for j in range(columns):
                    parts[part, j] += dot * X[i, j]
        return parts.sum(axis=0)

    return run


def numba_normal_sparse():
    @numba.njit(parallel=True, fastmath=True)
    def run(data, indices, indptr, v):
        rows = len(indptr) - 1
        parts = np.zeros((64, len(v)))
        for part in numba.prange(64):
            for i in range(part * rows // 64, (part + 1) * rows // 64):
                dot = 0.0
                for position in range(indptr[i], indptr[i + 1]):
                    dot += data[position] * v[indices[position]]
                for position in range(indptr[i], indptr[i + 1]):
                    parts[part, indices[position]] += dot * data[position]
        return parts.sum(axis=0)

    return lambda X, v: run(X.data, X.indices, X.indptr, v)


def numba_outer_dense():
    @numba.njit(parallel=True, fastmath=True)
    def run(X, U, V):
        total = 0.0
        for i in numba.prange(X.shape[0]):
            for j in range(X.shape[1]):
                dot = 0.0
                for k in range(U.shape[1]):
                    dot += U[i, k] * V[j, k]
                total += X[i, j] * np.log(dot + 1e-15)
        return total

    return run


def sparse(height: int, width: int, density: float) -> sp.csr_array:
    return sp.random_array((height, width), density=density, format="csr", rng=1)


def triple(height: int) -> Callable[[float], tuple]:
    return lambda scale: tuple(dense(rows(scale, height), COLUMNS, seed) for seed in range(3))


def outer_data(density: float | None) -> Callable[[float], tuple]:
    """X with factors, positive as the logarithm needs them; dense without a density."""

    def data(scale: float) -> tuple:
        # Cells, not rows, grow with the scale.
        size = max(100, int((4_000 if density is None else 20_000) * scale**0.5))
        X = abs(dense(size, size)) if density is None else sparse(size, size, density)
        return X, abs(dense(size, RANK, 2)), abs(dense(size, RANK, 3))

    return data


def sum_of_products(_):
    return lambda X, Y, Z: (X * Y * Z).sum()


def two_sums(_):
    return lambda X, Y, Z: ((X * Y).sum(), (X * Z).sum())


def normal(_):
    return lambda X, v: X.T @ (X @ v)


def outer(functions):
    log = functions.log
    return lambda X, U, V: (X * log(U @ V.T + 1e-15)).sum()


def weighted_outer_scipy(X, U, V):
    """What SciPy computes of the expression as it is written: the whole product."""
    return X.multiply(np.log(U @ V.T + 1e-15)).sum()


#: Names begin with the paper's item whose expression and data they are.
WORKLOADS = [
    *(
        Workload(
            f"P166 sum(X * Y * Z), {height} x {COLUMNS}",
            triple(height),
            **everywhere(sum_of_products, numba_loops=with_numba(numba_sum_of_products)),
        )
        for height in (1_000, 10_000, 100_000)
    ),
    Workload(
        f"P171 sum(X * Y), sum(X * Z), 100000 x {COLUMNS}",
        triple(100_000),
        **everywhere(two_sums, numba_loops=with_numba(numba_two_sums)),
    ),
    Workload(
        f"P173 X' (X v), 100000 x {COLUMNS}",
        lambda s: (dense(rows(s, 100_000), COLUMNS), vector(COLUMNS)),
        **everywhere(normal, numba_loops=with_numba(numba_normal)),
    ),
    Workload(
        f"P174 X' (X V), 2 columns, 100000 x {COLUMNS}",
        lambda s: (dense(rows(s, 100_000), COLUMNS), dense(COLUMNS, 2, 5)),
        **everywhere(normal),
    ),
    Workload(
        f"P173 X' (X v), density 0.1, 100000 x {COLUMNS}",
        lambda s: (sparse(rows(s, 100_000), COLUMNS, 0.1), vector(COLUMNS)),
        fuseline=compiled(normal(fl)),
        numpy=plain(normal(np)),
        numba_loops=with_numba(numba_normal_sparse),
        # PyTorch computes with the transpose of a matrix by rows as with one by columns.
        torch=with_torch(lambda X, v: X.transpose(0, 1) @ (X @ v)).get("torch"),
    ),
    Workload(
        "P175 sum(X * log(U V' + eps)), dense",
        outer_data(None),
        **everywhere(outer, numba_loops=with_numba(numba_outer_dense)),
    ),
    *(
        Workload(
            f"P175 sum(X * log(U V' + eps)), density {density:g}",
            outer_data(density),
            fuseline=compiled(outer(fl)),
            numba_loops=with_numba(numba_outer),
        )
        for density in (1e-2, 1e-3, 1e-4)
    ),
    Workload(
        "P175 sum(X * log(U V' + eps)), density 0.01, small enough for the whole product",
        lambda scale: outer_data(1e-2)(0.04 * scale),
        fuseline=compiled(outer(fl)),
        numpy=plain(weighted_outer_scipy),
        numba_loops=with_numba(numba_outer),
    ),
]


def check_conditions() -> None:
    """Doubles everywhere and the same number of threads, or nothing is compared (P165)."""
    check_threads(THREADS)
    if torch:
        assert torch.from_numpy(dense(2, 2)).dtype == torch.float64
    if jax:
        assert jnp.asarray(dense(2, 2)).dtype == np.float64


def commit() -> str:
    """The commit that is checked out, with a mark where files differ from it."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=12", "--match", "no tags"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", help="a file for what `./x bench paper` reads")
    parser.add_argument("parts", nargs="*")
    options = parser.parse_args()
    # Libraries warn of loops that they find nothing parallel in, and of sparse tensors that may still change.
    warnings.simplefilter("ignore")
    check_conditions()
    print(f"Milliseconds on {machine()}, doubles, {THREADS} threads each; medians of {options.rounds} rounds, scale {options.scale:g}.")
    picked = [
        workload for workload in WORKLOADS if not options.parts or any(part in workload.name for part in options.parts)
    ]
    measured = print_table(picked, LIBRARIES, options.scale, options.rounds)
    if options.json:
        write(options, measured)


def write(options: argparse.Namespace, measured: dict[str, dict[str, float]]) -> None:
    """How many times as fast Fuseline is as each library, for `./x bench paper`."""
    rows = []
    for name, times in measured.items():
        for library, item in ITEMS.items():
            if library in times:
                rows.append({"item": item, "peer": library, "on": name, "speed": times[library] / times["fuseline"]})
    largest = [name for name in measured if name.startswith("P166") and "torch" in measured[name]][-1:]
    rows += [
        {"item": "P169", "peer": "torch", "on": name, "speed": measured[name]["torch"] / measured[name]["fuseline"]}
        for name in largest
    ]
    command = " ".join([f"./x bench peers --scale {options.scale:g} --rounds {options.rounds}", *options.parts])
    made_by = f"Made by `{command}` of {commit()} on {machine()}, {time.strftime('%Y-%m-%d')}."
    with open(options.json, "w") as file:
        json.dump({"made_by": made_by, "rows": rows}, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
