"""One expression over a sparse matrix of SciPy, from Python and as a script of the program: time and memory."""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import tempfile
import time

import numpy as np
import scipy.sparse as sp

import fuseline as fl

from estimators import forget_peak, memory

WARM_UP = 20
SCRIPT = """
X = read($X); U = read($U); V = read($V)
for (i in 1:$count) {
  before = time()
  s = sum(X * log(U %*% t(V) + 1e-15 * i))
  print(s + " " + (time() - before))
}
"""


def loss(X: fl.Array, U: np.ndarray, V: np.ndarray, epsilon: float) -> float:
    return float((X * fl.log(fl.matrix(U) @ V.T + epsilon)).sum())


def data(size: int, density: float) -> tuple[sp.csr_array, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    X = sp.random_array((size, size), density=density, format="csr", rng=rng)
    return X, rng.uniform(size=(size, 10)), rng.uniform(size=(size, 10))


def measure_loss(scale: float, rounds: int, program: str | None) -> None:
    """Evaluations in turn: those of Python, and those of the program's process, which are timed within the script."""
    size = max(100, int(20_000 * scale))
    X, U, V = data(size, 1e-3)
    program = program or shutil.which("fuseline")
    print(f"\nsum(X * log(U V' + eps)), X sparse of SciPy, {size} x {size}: medians of {rounds} turns.\n")
    print("| | milliseconds |\n|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        files = {name: os.path.join(folder, f"{name}.bin") for name in ("X", "U", "V")}
        for file, value in zip(files.values(), (X, U, V)):
            fl.dml(f"write(M, '{file}', format='binary')", M=value)
        turns = [(in_python(X, U, V), in_program(program, folder, files)) for _ in range(rounds)]
    ours, theirs = (statistics.median(milliseconds) for milliseconds in zip(*turns))
    print(f"| Python, the expression built anew | {ours:.2f} |")
    print(f"| the program | {theirs:.2f} |" if program else "| the program | not found: name it with --program |")
    print_memory(size)


def in_python(X: sp.csr_array, U: np.ndarray, V: np.ndarray) -> float:
    """Median milliseconds of an evaluation."""
    captured, times = fl.matrix(X), []
    for i in range(1, 2 * WARM_UP + 1):
        start = time.perf_counter()
        loss(captured, U, V, 1e-15 * i)
        times.append(1e3 * (time.perf_counter() - start))
    return statistics.median(times[WARM_UP:])


def in_program(program: str | None, folder: str, files: dict[str, str]) -> float:
    if not program:
        return float("nan")
    script = os.path.join(folder, "loss.dml")
    with open(script, "w") as file:
        file.write(SCRIPT)
    values = [f"{name}={file}" for name, file in files.items()] + [f"count={2 * WARM_UP}"]
    command = [program, "run", script, "--nvargs", *values]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return statistics.median([1e-6 * float(line.split()[1]) for line in output.splitlines()][WARM_UP:])


def print_memory(size: int) -> None:
    """What an evaluation adds to the memory of the process at its peak, and what of it the engine reserves."""
    if not os.path.exists("/proc/self/clear_refs"):
        return
    print("\n| non-zeros | MB of the matrix | MB more at the peak | MB that the engine reserves |\n|---|---|---|---|")
    for density in (1e-3, 2e-3, 4e-3, 8e-3):
        X, U, V = data(size, density)
        before = forget_peak()
        loss(fl.matrix(X), U, V, 1e-15)
        reserved = fl.stats()["memory_peak"] / 1e6
        megabytes = (X.data.nbytes + X.indices.nbytes + X.indptr.nbytes) / 1e6
        print(f"| {X.nnz} | {megabytes:.1f} | {memory('VmHWM') - before:.1f} | {reserved:.1f} |")
