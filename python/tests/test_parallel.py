"""Tests that run in eight threads each, all at once."""

import os
import pathlib
import subprocess
import sys

import pytest

pytest.importorskip("pytest_run_parallel")

#: Tests of the most that the native module does: capturing, tracing, evaluating, handing over.
FILES = ["test_arrays.py", "test_compiled.py", "test_manners.py", "test_numpy.py", "test_scripts.py"]
#: What takes longer.
LONG = ["test_array_api.py", "test_expressions.py"]
IS_LONG = int(os.environ.get("FUSELINE_CASES", "0")) > 10_000


@pytest.mark.thread_unsafe(reason="it starts a process")
def test_threads_share_nothing_that_they_should_not(tmp_path):
    here = pathlib.Path(__file__).parent
    command = [sys.executable, "-m", "pytest", "--quiet", "-p", "no:cacheprovider", "--rootdir", str(tmp_path)]
    command += ["--parallel-threads=8", "--skip-thread-unsafe=true", *(here / file for file in FILES + LONG * IS_LONG)]
    finished = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=600)
    assert finished.returncode == 0, finished.stdout[-10_000:] + finished.stderr[-2000:]
    assert "PARALLEL" not in finished.stdout and " passed" in finished.stdout
