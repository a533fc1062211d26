"""Signals, threads, forks, copies, and memory."""

import asyncio
import contextvars
import copy
import gc
import multiprocessing
import os
import pickle
import pty
import re
import signal
import subprocess
import sys
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp

import fuseline as fl
from fuseline import _options


@fl.jit
def squares(x):
    return (x * x).sum()


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies(copied):
    a = np.arange(6.0).reshape(2, 3)
    for x in (fl.matrix(a), fl.matrix(a) + 1, fl.matrix(sp.csr_array(a)), fl.matrix(a).sum(), fl.matrix(np.arange(3))):
        y = copied(x)
        assert y.shape == x.shape and y.dtype == x.dtype
        np.testing.assert_array_equal(y.numpy(), x.numpy())


def test_compiled_functions_are_pickled_by_name():
    assert float(pickle.loads(pickle.dumps(squares))(np.ones(3))) == 3.0


def test_joblib(tmp_path):
    joblib = pytest.importorskip("joblib")
    joblib.dump(fl.matrix(np.arange(3.0)) * 2, tmp_path / "x")
    np.testing.assert_array_equal(joblib.load(tmp_path / "x").numpy(), [0, 2, 4])


@pytest.mark.thread_unsafe(reason="it has threads of its own")
def test_many_threads_at_once():
    X = np.random.default_rng(0).normal(size=(200, 20))
    x, failures = fl.matrix(X), []

    def work(seed):
        try:
            for k in range(20):
                c = float(seed + k)
                np.testing.assert_allclose(float(((x * c + 1) ** 2).sum()), ((X * c + 1) ** 2).sum())
                np.testing.assert_allclose(float(squares(X + c)), ((X + c) ** 2).sum())
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not failures, failures[0]


@pytest.mark.thread_unsafe(reason="it has threads of its own")
def test_one_expression_in_many_threads():
    x = fl.matrix(np.ones((100, 100)))
    y, results = ((x + 1) * 2).sum(), []
    threads = [threading.Thread(target=lambda: results.append(float(y))) for _ in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert results == [40_000.0] * 8


@pytest.mark.thread_unsafe(reason="it has threads of its own")
def test_python_goes_on_while_something_is_computed():
    x = fl.rand(3000, 3000, seed=1)
    counted, done = 0, threading.Event()

    def work():
        (x @ x @ x).sum().compute()
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    while not done.is_set():
        counted += 1
        time.sleep(0.001)
    thread.join()
    assert counted > 20


def started(program, stderr):
    return subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=stderr, text=True)


LONG = """
import time, sys, fuseline as fl
x = fl.rand(4000, 4000, seed=1)
x.compute()
print("started", flush=True)
start = time.monotonic()
try:
    for _ in range(200):
        x = x @ x / 4000.0
    x.compute()
except KeyboardInterrupt:
    print("interrupted", time.monotonic() - start, flush=True)
    print(float(fl.matrix([1.0, 2.0]).sum()), flush=True)
"""


@pytest.mark.thread_unsafe(reason="it starts a process")
@pytest.mark.skipif(not hasattr(signal, "SIGINT") or sys.platform == "win32", reason="signals of POSIX")
def test_ctrl_c_ends_a_computation():
    process = started(LONG, subprocess.PIPE)
    assert process.stdout.readline() == "started\n"
    time.sleep(1.0)
    sent = time.monotonic()
    process.send_signal(signal.SIGINT)
    line = process.stdout.readline()
    took = time.monotonic() - sent
    # Not `communicate`, which loses what came together with the line before.
    rest, errors = process.stdout.read(), process.stderr.read()
    process.wait(timeout=60)
    assert line.startswith("interrupted"), line
    # The limit of the product is 0.3 s on an idle machine.
    assert took < 3.0
    assert (rest, errors, process.returncode) == ("3.0\n", "", 0)


EXIT = """
import fuseline as fl, numpy as np
x, y = fl.matrix(np.random.rand(300, 40)), fl.matrix(np.random.rand(300, 40) + 1)
for k in range(4):
    ((x * float(k + 3) % y).sum() + fl.exp(x - y // 3).sum(axis=0).max() + fl.tanh(x.T @ y).sum()).compute()
"""


@pytest.mark.thread_unsafe(reason="it starts a process")
def test_a_process_ends_while_code_is_generated(tmp_path):
    for attempt in range(6):
        environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path / str(attempt))}
        finished = subprocess.run([sys.executable, "-c", EXIT], capture_output=True, text=True, env=environment)
        assert finished.returncode == 0, (finished.returncode, finished.stderr[-500:])


@pytest.mark.thread_unsafe(reason="arrays of indexes are read-only as long as any thread computes")
def test_indexes_cannot_be_written_while_they_are_read():
    s = sp.random_array((3000, 3000), density=0.02, format="csr", rng=1)
    x, v = fl.matrix(s), np.ones(3000)
    expected, stop, refused = s @ v, threading.Event(), []

    def write():
        while not stop.is_set():
            before = s.indices[-1]
            try:
                s.indices[-1] = 2**31 - 1
                s.indices[-1] = before
            except ValueError:
                refused.append(True)

    thread = threading.Thread(target=write)
    thread.start()
    for k in range(30):
        try:
            result = ((x * float(k + 1)) @ v).numpy()
        except ValueError:
            continue
        np.testing.assert_allclose(result, expected * (k + 1), rtol=1e-10)
    stop.set()
    thread.join()
    assert s.indices.flags.writeable


def total(n):
    return float((fl.matrix(np.ones(n)) * 2).sum())


@pytest.mark.thread_unsafe(reason="it forks the process")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks of POSIX")
def test_forks_make_their_own_threads():
    assert total(10) == 20.0
    context = multiprocessing.get_context("fork")
    with context.Pool(4) as pool:
        result = pool.map_async(total, range(1, 20))
        assert result.get(timeout=60) == [2.0 * n for n in range(1, 20)]
    assert total(10) == 20.0


def test_memory_is_given_back():
    freed = []

    class Owner(np.ndarray):
        pass

    a = np.ones((100, 100)).view(Owner)
    weakref.finalize(a, lambda: freed.append(True))
    x = fl.matrix(a)
    y = (x + 1).sum()
    del a, x
    gc.collect()
    assert not freed, "the expression reads the array"
    assert float(y) == 20_000.0
    gc.collect()
    float(fl.matrix([1.0]).sum())
    assert freed, "nothing reads the array any more"


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.thread_unsafe(reason="it measures the memory of the process")
@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="no /proc")
def test_no_growth_over_many_evaluations():
    a = np.ones((50, 50))

    def rounds(count):
        for k in range(count):
            float(((fl.matrix(a) * float(k) + 1) ** 2).sum())
            squares(a)

    rounds(1000)
    before = resident()
    rounds(3000)
    assert resident() - before < 8 << 20


def test_memory_budgets():
    with fl.options(memory="64m"):
        with pytest.raises(MemoryError):
            (fl.rand(4000, 4000, seed=1) + 1).compute()
    assert float(fl.rand(10, 10, seed=1).sum()) > 0


def test_options():
    X = np.random.default_rng(0).normal(size=(2000, 30))
    results = []
    for options in ({}, {"threads": 1}, {"backend": "interp"}, {"mode": "base"}, {"threads": 3, "backend": "llvm"}):
        with fl.options(**options):
            results.append((fl.matrix(X).T @ (fl.matrix(X) * 2)).numpy())
    for result in results[1:]:
        np.testing.assert_allclose(result, results[0])
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])
    for wrong in ({"mode": "fast"}, {"backend": "gpu"}, {"threads": -1}, {"memory": "lots"}):
        with pytest.raises(ValueError):
            with fl.options(**wrong):
                pass


def test_options_are_those_of_a_task():
    """Tasks that take turns in one thread do not mix their options; what a task starts begins with those of the task."""
    granted = _options.threads
    before = granted()

    async def task(number):
        with fl.options(threads=before + number):
            await asyncio.sleep(0)
            with fl.options(backend="interp"):
                await asyncio.sleep(0)
                seen = granted()
                threaded = await asyncio.to_thread(granted)
                float(fl.matrix(np.ones(3)).sum())
            await asyncio.sleep(0)
            return seen, threaded, granted()

    async def tasks():
        with fl.options(threads=before + 7):
            results = await asyncio.gather(*(task(number) for number in (1, 2, 3)))
            return results, granted()

    results, around = asyncio.run(tasks())
    assert results == [(before + number,) * 3 for number in (1, 2, 3)]
    assert (around, granted()) == (before + 7, before)


def test_new_threads_start_with_the_defaults():
    granted = _options.threads
    before = granted()
    with fl.options(threads=before + 1), ThreadPoolExecutor(1) as pool:
        assert pool.submit(granted).result() == before
        assert pool.submit(contextvars.copy_context().run, granted).result() == before + 1


def test_options_of_a_function():
    @fl.options(threads=1)
    def alone():
        return _options.threads()

    before = _options.threads()
    assert (alone(), _options.threads()) == (1, before)


def test_errors_are_exceptions_of_python():
    with pytest.raises(fl.CompileError, match="x = \\("):
        fl.dml("x = (")
    with pytest.raises(fl.ExecutionError, match="on purpose"):
        fl.dml('stop("on purpose")')
    assert issubclass(fl.CompileError, ValueError) and issubclass(fl.ExecutionError, RuntimeError)


ENDLESS = """
import fuseline as fl

print("started", flush=True)
with fl.options(verbose={verbose}):
    try:
        fl.while_loop(lambda x: x >= 0, lambda x: x + 1, 0).compute()
    except KeyboardInterrupt:
        print("interrupted")
"""


def test_long_work_shows_how_far_it_is():
    with started(ENDLESS.format(verbose=True), subprocess.PIPE) as process:
        line = process.stderr.readline()
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=60)
    assert re.fullmatch(r"fuseline: \d+ s, ([\d,]+ operators, )?[\d,]+ iterations, [\d,]+ MB in use\n", line)
    assert output == "started\ninterrupted\n"


def test_a_terminal_is_left_clean():
    """On a terminal progress is shown unasked, in one line, which goes when the work ends."""
    ours, theirs = pty.openpty()
    with started(ENDLESS.format(verbose=None), theirs) as process:
        os.close(theirs)
        shown = os.read(ours, 1000)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=60)
        shown += os.read(ours, 10_000)
    os.close(ours)
    assert shown.startswith(b"\r\x1b[Kfuseline: 1 s") and shown.endswith(b"\r\x1b[K")
    assert output == "started\ninterrupted\n"


def test_nothing_is_shown_unasked_where_there_is_no_terminal():
    with started(ENDLESS.format(verbose=None), subprocess.PIPE) as process:
        assert process.stdout.readline() == "started\n"
        time.sleep(2)
        process.send_signal(signal.SIGINT)
        # Not `communicate`, which loses what came together with the line before.
        output, errors = process.stdout.read(), process.stderr.read()
    assert (output, errors) == ("interrupted\n", "")
