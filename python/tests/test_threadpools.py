"""Threads that `threadpoolctl`, joblib and the environment grant."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import fuseline as fl

threadpoolctl = pytest.importorskip("threadpoolctl")
from threadpoolctl import threadpool_info, threadpool_limits  # noqa: E402


def granted():
    """The number of threads that threadpoolctl tells of Fuseline."""
    (own,) = [library for library in threadpool_info() if library["user_api"] == "fuseline"]
    return own["num_threads"]


def test_what_is_told():
    (own,) = [library for library in threadpool_info() if library["user_api"] == "fuseline"]
    assert os.path.samefile(own["filepath"], fl._native.__file__)
    assert own["internal_api"] == "fuseline" and own["version"] == fl.__version__ and own["num_threads"] >= 1


def test_limits_end():
    before = granted()
    for api in (None, "fuseline"):
        with threadpool_limits(before + 3, user_api=api):
            assert granted() == before + 3
            with threadpool_limits({"fuseline": 1}):
                assert granted() == 1
            assert granted() == before + 3
        assert granted() == before
    with threadpool_limits(before + 3, user_api="blas"):
        assert granted() == before
    limit = threadpool_limits(before + 3)
    assert granted() == before + 3
    limit.restore_original_limits()
    assert granted() == before


def test_limits_and_options_end_with_what_they_are_within():
    before = granted()
    with fl.options(threads=before + 1):
        assert granted() == before + 1
        with threadpool_limits(before + 2):
            with fl.options(backend="interp"):
                assert granted() == before + 2
            with fl.options(threads=before + 4):
                assert granted() == before + 4
        assert granted() == before + 1
        threadpool_limits(before + 5)
        assert granted() == before + 5
    assert granted() == before


def test_a_limit_is_of_the_thread_that_sets_it():
    before, barrier, seen = granted(), threading.Barrier(8), {}

    def work(number):
        with threadpool_limits(before + number, user_api="fuseline"):
            barrier.wait()
            seen[number] = granted()
            barrier.wait()
        seen[-number] = granted()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(1, 9)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert seen == {n: before + n for n in range(1, 9)} | {-n: before for n in range(1, 9)}
    assert granted() == before


def test_values_are_the_same_under_a_limit():
    X = np.random.default_rng(0).normal(size=(3000, 30))
    results = []
    for limit in (None, 1, 3):
        with threadpool_limits(limit, user_api="fuseline"):
            results.append((fl.matrix(X).T @ (fl.matrix(X) * 2.0)).numpy())
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])


STARTED = """
import os, sys
import fuseline as fl
from threadpoolctl import threadpool_limits

count = lambda: len(os.listdir("/proc/self/task"))
before = count()
with threadpool_limits(int(sys.argv[1]), user_api="fuseline"):
    X = fl.rand(3000, 300, seed=1)
    (X.T @ (X * 2.0)).sum().compute()
    print(count() - before)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="no /proc")
def test_no_more_threads_start_than_a_limit_grants():
    def started(limit):
        command = [sys.executable, "-c", STARTED, str(limit)]
        return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)

    # One thread may compile beside what computes.
    assert started(1) <= 1
    assert started(9) >= 8


def test_the_environment_grants_threads():
    code = "import fuseline as fl; from fuseline import _options; print(_options.threads())"
    variables = {"FUSELINE_NUM_THREADS": "3", "OMP_NUM_THREADS": "5"}
    outside = {name: value for name, value in os.environ.items() if name not in variables}
    for chosen, expected in ((variables, "3"), ({"OMP_NUM_THREADS": "5"}, "5"), ({"FUSELINE_NUM_THREADS": "2"}, "2")):
        found = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=outside | chosen
        )
        assert found.stdout.strip() == expected


#: Prints on how many processors each thread that computes may run. Two blocks are too few for a thread to move apart from another.
BOUND = """
import os
import numpy as np
import fuseline as fl
(fl.matrix(np.ones((40, 1000))) * 2.0).sum().compute()
for task in os.listdir("/proc/self/task"):
    with open(f"/proc/self/task/{task}/comm") as file:
        if file.read().strip().removeprefix("fuseline-").isdigit():
            print(len(os.sched_getaffinity(int(task))))
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="no /proc")
@pytest.mark.parametrize("value, is_bound", [(None, False), ("0", False), ("1", True), ("TRUE", True)])
def test_the_environment_pins_threads_to_processors(value, is_bound):
    outside = {name: value for name, value in os.environ.items() if name != "FUSELINE_PIN_THREADS"}
    chosen = {} if value is None else {"FUSELINE_PIN_THREADS": value}
    found = subprocess.run(
        [sys.executable, "-c", BOUND], capture_output=True, text=True, check=True, env=outside | chosen
    )
    counts = [int(line) for line in found.stdout.split()]
    processors = len(os.sched_getaffinity(0))
    assert counts and set(counts) == {1 if is_bound else processors}


def threads_of_a_child(_):
    return granted()


def test_children_of_joblib_share_the_processors():
    joblib = pytest.importorskip("joblib")
    with joblib.parallel_config("loky", n_jobs=2, inner_max_num_threads=1):
        assert joblib.Parallel()(joblib.delayed(threads_of_a_child)(i) for i in range(4)) == [1] * 4


def test_threadpoolctl_is_optional():
    code = """
import sys
sys.modules["threadpoolctl"] = None
import fuseline as fl
with fl.options(threads=1):
    assert float(fl.matrix([1.0, 2.0]).sum()) == 3.0
"""
    subprocess.run([sys.executable, "-c", code], check=True)
