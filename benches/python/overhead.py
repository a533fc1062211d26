"""What calls and expressions over little data cost beside the operators themselves."""

from __future__ import annotations

import time
from typing import Any, Callable

import numpy as np

import fuseline as fl

CALLS, WARM_UP = 5_000, 500


def five_operators(X: Any, Y: Any, Z: Any, v: Any) -> Any:
    return ((X * Y - Z) @ v).sum() * 0.5


def data(size: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(1)
    return (*(rng.uniform(-1, 1, (size, size)) for _ in range(3)), rng.uniform(-1, 1, size))


def microseconds(call: Callable[[], Any]) -> np.ndarray:
    """Times of calls, after those for which code is generated; collections of garbage are part of them."""
    for _ in range(WARM_UP):
        call()
    times = np.empty(CALLS)
    for i in range(CALLS):
        start = time.perf_counter_ns()
        call()
        times[i] = time.perf_counter_ns() - start
    return times / 1e3


def in_operators(call: Callable[[], Any]) -> float:
    """Median of what the engine counts as time in operators, in microseconds."""

    def seconds() -> float:
        call()
        return fl.stats()["execute_seconds"]

    return 1e6 * float(np.median([seconds() for _ in range(WARM_UP)]))


def measure_overhead() -> None:
    """Five operators over 100 x 100, and over 2 x 2, where they have next to nothing to do: what all else costs."""
    run = fl.jit(five_operators)
    print(f"Microseconds of {CALLS} calls; five operators. What 2 x 2 takes is to stay below the goal.\n")
    print("| | data | median | 99 of 100 | in operators | goal |\n|---|---|---|---|---|---|")
    for size in (100, 2):
        arrays = data(size)
        captured = tuple(fl.matrix(x) for x in arrays)
        ways = [
            ("a call of a function under fl.jit", lambda: run(*captured), 15),
            ("the same of arrays of NumPy", lambda: run(*arrays), None),
            ("built anew and evaluated", lambda: five_operators(*captured).compute(), 40),
        ]
        for name, call, goal in ways:
            goal = goal if size == 2 else None
            print(line(name, size, microseconds(call), f"{in_operators(call):.1f}", goal), flush=True)
        X, Y, _, _ = captured
        print(line("one operator built", size, microseconds(lambda: X * Y), "", 2), flush=True)


def line(name: str, size: int, times: np.ndarray, in_operators: str, goal: int | None) -> str:
    median, most = np.percentile(times, [50, 99])
    return f"| {name} | {size} x {size} | {median:.1f} | {most:.1f} | {in_operators} | {goal or ''} |"
