"""Memory that evaluations take and give back, as memray sees it: each allocation of the process."""

import subprocess
import sys

import pytest

pytest.importorskip("pytest_memray")

#: Tests for a process of its own, in which memray watches. The second keeps what it computes, so that the first can fail.
WATCHED = """
import numpy as np
import pytest
import scipy.sparse as sp

import fuseline as fl

DENSE, SPARSE, KEPT = np.ones((50, 50)), sp.eye_array(50, format="csr"), []


@fl.jit
def squares(x):
    return (x * x).sum()


def evaluate(count):
    for k in range(count):
        float(((fl.matrix(DENSE) * float(k) + 1) ** 2).sum())
        (fl.matrix(SPARSE) @ DENSE[0] * float(k)).numpy()
        squares(DENSE).compute()
        with fl.options(threads=1):
            yield fl.matrix(DENSE) + float(k)


# What is compiled, and what caches keep, is there afterwards.
for x in evaluate(500):
    x.compute()


@pytest.mark.limit_leaks("100 KB")
def test_nothing_is_kept():
    for x in evaluate(2500):
        x.compute()


@pytest.mark.limit_leaks("100 KB")
def test_values_are_kept():
    for x in evaluate(100):
        x.compute()
        KEPT.append(x)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="memray is for Linux and macOS")
@pytest.mark.thread_unsafe(reason="it starts a process")
def test_ten_thousand_evaluations_leave_nothing(tmp_path):
    (tmp_path / "test_watched.py").write_text(WATCHED)
    command = [sys.executable, "-m", "pytest", "--memray", "--quiet", "-p", "no:cacheprovider", "test_watched.py"]
    finished = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert "1 failed, 1 passed" in finished.stdout, finished.stdout[-5000:] + finished.stderr[-2000:]
    assert "MEMORY PROBLEMS test_watched.py::test_values_are_kept" in finished.stdout
