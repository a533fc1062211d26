"""What makes a comparison one (P165): whoever is compared computes in doubles, on the same number of threads."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from threadpoolctl import threadpool_info


def check_threads(threads: int) -> None:
    """Fails where a library that is loaded has other threads: pools of BLAS and OpenMP, Fuseline's, and those that are asked.

    JAX and KeOps do not say how many they have: those of OpenMP, and as many as this process may run on.
    """
    found = {pool["filepath"] or pool["internal_api"]: pool["num_threads"] for pool in threadpool_info()}
    for name in ("numexpr", "numba", "torch"):
        if name in sys.modules:
            found[name] = sys.modules[name].get_num_threads()
    others = {name: number for name, number in found.items() if number != threads}
    if others or not found:
        raise SystemExit(f"comparisons are of {threads} threads each, but there are {others or 'no pools'}")


def check_doubles(name: str, *values: Any) -> None:
    """Fails where numbers of a workload are real and no doubles: arrays, values of sparse arrays, or tuples of these."""
    for value in values:
        if isinstance(value, tuple):
            check_doubles(name, *value)
            continue
        dtype = np.asarray(value.data if hasattr(value, "indptr") else value).dtype
        if dtype.kind in "fc" and dtype != np.float64:
            raise SystemExit(f"{name}: {dtype} where doubles are compared")
