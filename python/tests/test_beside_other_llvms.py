"""Fuseline in one process with other packages that have an LLVM of their own: each compiles and runs its code, whichever
is imported first, since no symbol of one is seen by the other."""

import importlib.util
import os
import subprocess
import sys

import fuseline
import pytest

# Each a program that defines `run`: the first call compiles.
PACKAGES = {
    "fuseline": """
import fuseline

def run():
    script = "x = seq(1, 1000)\\ny = seq(1000, 1, -1)\\ns = sum(abs(x - y) * x * y + sqrt(x) * sqrt(x))"
    with fuseline.options(backend="llvm" if fuseline._native.HAS_LLVM else "interp"):
        result = fuseline.dml(script).s
    expected = sum(abs(2 * i - 1001) * i * (1001 - i) + i for i in range(1, 1001))
    assert abs(result - expected) <= 1e-12 * expected, result
""",
    "numba": """
import numba
import numpy

@numba.njit
def total(values):
    result = 0.0
    for value in values:
        result += value * value
    return result

def run():
    assert total(numpy.arange(1000.0)) == 332833500.0
""",
    "jax": """
import jax

@jax.jit
def total(values):
    return (values * values + 1).sum()

def run():
    assert total(jax.numpy.arange(100.0)) == 328450.0
""",
    "torch": """
import torch

total = torch.jit.trace(lambda values: (values * values + 1).sum(), torch.arange(100.0))

def run():
    assert float(total(torch.arange(100.0))) == 328450.0
    assert float(total(torch.arange(100.0))) == 328450.0
""",
}

# Lists the memory with code that is of no file, while scripts run: what a session compiled goes with it.
WATCHED_RUNS = """
import threading

def anonymous_code():
    with open("/proc/self/maps") as mappings:
        fields = [line.split() for line in mappings]
    return {entry[0] for entry in fields if "x" in entry[1] and len(entry) == 5}

def watch():
    while not is_over.is_set():
        seen.update(anonymous_code())

before = anonymous_code()
seen = set()
is_over = threading.Event()
watcher = threading.Thread(target=watch)
watcher.start()
for _ in range(20):
    run()
is_over.set()
watcher.join()
assert seen - before, "no code appeared in memory"
print("done")
"""

OTHERS = [name for name in PACKAGES if name != "fuseline"]


def program(first, second):
    """Imports both, compiles and runs both, and runs both again."""
    return f"""
{PACKAGES[first]}
run_first = run
{PACKAGES[second]}
run_second = run
run_first()
run_second()
run_first()
run_second()
print("done")
"""


def run(text):
    environment = os.environ | {"JAX_PLATFORMS": "cpu"}
    command = [sys.executable, "-c", text]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)


def check(text):
    finished = run(text)
    assert finished.returncode == 0 and finished.stdout.endswith("done\n"), finished.stdout + finished.stderr


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("is_first", [True, False], ids=["fuseline_first", "fuseline_last"])
def test_both_compile_and_run(other, is_first):
    if importlib.util.find_spec(other) is None:
        pytest.skip(f"{other} is not installed")
    order = ("fuseline", other) if is_first else (other, "fuseline")
    check(program(*order))


@pytest.mark.skipif(not fuseline._native.HAS_LLVM, reason="this build interprets fused operators")
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux lists the memory of a process in a file")
def test_the_script_becomes_machine_code():
    """Otherwise the tests above would say nothing about LLVM."""
    check(PACKAGES["fuseline"] + WATCHED_RUNS)
