"""Functions under `fl.jit`, loops, and loops of Python over lazy arrays."""

import gc
import warnings
import weakref
from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp

import fuseline as fl


def data(rows=40, cols=5, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(rows, cols)), rng.normal(size=cols), rng.normal(size=rows)


def test_one_trace_serves_all_numbers_of_rows():
    @fl.jit
    def gradient(X, w, y):
        return X.T @ (X @ w - y), ((X @ w - y) ** 2).sum()

    for rows in (40, 1000, 3):
        X, w, y = data(rows)
        g, loss = gradient(X, w, y)
        np.testing.assert_allclose(g.numpy(), X.T @ (X @ w - y), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(float(loss), ((X @ w - y) ** 2).sum())
    assert gradient.traces == 1


def test_another_number_of_rows_generates_no_code():
    @fl.jit
    def f(X, w):
        return (X * 3.25 + 1.75).sum() + (X @ w).sum()

    with fl.options(backend="llvm", threads=1):
        X, w, _ = data(100)
        f(X, w)
        X, w, _ = data(200)
        f(X, w)
        assert fl.stats()["operators_compiled"] == 0


def test_types_and_numbers_of_dimensions_are_traces_of_their_own():
    @fl.jit
    def double(x):
        return x * 2

    for x in (np.ones(3), np.ones((3, 2)), np.ones(3, "float32"), np.ones(3, int), 2.5):
        result = double(x)
        assert result.dtype == (np.asarray(x) * 2).dtype and result.shape == np.shape(x)
    assert double.traces == 5
    double(np.zeros(1000))
    assert double.traces == 5


def test_numbers_are_arguments():
    @fl.jit
    def scaled(x, c):
        return x * c

    for c in (0.1, 0.2, 0.3):
        np.testing.assert_allclose(scaled(np.ones(3), c).numpy(), c)
        assert scaled(np.ones(3, "float32"), c).dtype == np.float32
    assert scaled.traces == 2


def test_other_arguments_are_part_of_the_trace():
    @fl.jit
    def norm(x, kind="l2", flag=False):
        return fl.sqrt((x * x).sum()) if kind == "l2" else abs(x).sum()

    x = np.array([3.0, -4.0])
    assert float(norm(x)) == 5.0 and float(norm(x, kind="l1")) == 7.0 and float(norm(x, flag=True)) == 5.0
    assert norm.traces == 3
    assert float(norm(x, flag=np.bool_(True))) == 5.0 and "norm" in repr(norm)


def test_containers():
    @fl.jit
    def f(parts, options):
        a, b = parts
        return {"sum": a + b, "scaled": [a * options["c"]], "text": "kept"}

    result = f((np.ones(3), np.arange(3.0)), {"c": 2.0})
    np.testing.assert_allclose(result["sum"].numpy(), 1 + np.arange(3))
    np.testing.assert_allclose(result["scaled"][0].numpy(), 2.0)
    assert result["text"] == "kept"


def test_sparse_arguments():
    @fl.jit
    def f(X, v):
        return X.T @ (X @ v)

    S = sp.random_array((60, 40), density=0.1, format="csr", rng=1)
    v = np.arange(40.0)
    np.testing.assert_allclose(f(S, v).numpy(), S.T @ (S @ v))


def test_functions_that_look_at_shapes():
    @fl.jit
    def mean(x):
        return x.sum() / x.shape[0]

    for n in (4, 10):
        assert float(mean(np.full(n, 3.0))) == 3.0
    assert mean.traces == 2


def test_lengths_of_one_repeat():
    @fl.jit
    def add(x, y):
        return x + y

    np.testing.assert_allclose(add(np.ones((3, 2)), np.ones((3, 1))).numpy(), 2.0)
    np.testing.assert_allclose(add(np.ones((3, 2)), np.ones((1, 2))).numpy(), 2.0)
    np.testing.assert_allclose(add(np.ones((3, 1)), np.ones((1, 2))).numpy(), np.full((3, 2), 2.0))


@pytest.mark.parametrize(
    "use", [lambda x: bool(x.sum() > 0), lambda x: float(x.sum()), lambda x: x.numpy(), lambda x: [1][int(x.sum())]]
)
def test_values_within_a_function_are_refused(use):
    @fl.jit
    def f(x):
        use(x)
        return x

    with pytest.raises(TypeError, match="fl.where.*while_loop"):
        f(np.ones(3))


def test_functions_within_functions_and_methods():
    @fl.jit
    def inner(x):
        return x + 1

    class Model:
        def __init__(self, c):
            self.c = c

        @fl.jit
        def f(self, x):
            return inner(x) * 2

    np.testing.assert_allclose(Model(1).f(np.ones(2)).numpy(), 4.0)


def test_functions_that_close_over_arrays_of_others():
    @fl.jit
    def outer(x, y):
        inner = fl.jit(lambda z: z + x)
        return inner(np.full(2, 10.0)) + y

    np.testing.assert_allclose(outer(np.ones(2), np.full(2, 5.0)).numpy(), 16.0)
    np.testing.assert_allclose(outer(np.full(2, 2.0), np.full(2, 5.0)).numpy(), 17.0)


def test_arrays_that_leak_out_of_a_function_are_refused():
    leaked = []
    fl.jit(lambda x: leaked.append(x) or x)(np.ones(2))
    with pytest.raises(TypeError, match="no value yet"):
        leaked[0].numpy()
    result = fl.jit(lambda y: y + leaked[0])(np.ones(2))
    with pytest.raises(TypeError, match="no value yet"):
        result.numpy()


class Pair(NamedTuple):
    a: object
    b: object


def test_tuples_with_names():
    f = fl.jit(lambda p: Pair(p.a * 2, p.b + 1))
    result = f(Pair(np.ones(2), np.zeros(2)))
    assert isinstance(result, Pair)
    np.testing.assert_allclose(result.a.numpy(), 2.0)
    np.testing.assert_allclose(result.b.numpy(), 1.0)


def test_functions_of_objects_are_let_go():
    class Model:
        def __init__(self):
            self.step = fl.jit(self._step)

        def _step(self, x):
            return x + 1

    model = Model()
    model.step(np.ones(2))
    gone = weakref.ref(model)
    del model
    gc.collect()
    assert gone() is None


def test_many_traces_warn():
    @fl.jit
    def f(x, name):
        return x + len(name)

    with pytest.warns(UserWarning, match="f was traced 21 times: an argument that is no array changes"):
        for n in range(1, 25):
            f(np.ones(3), "a" * n)

    @fl.jit
    def g(x):
        return x / x.shape[0]

    with pytest.warns(UserWarning, match="the shape or type of array argument 0 changes"):
        for n in range(1, 25):
            g(np.ones(n))


def test_errors_name_the_line():
    @fl.jit
    def f(X, w):
        return X @ w  # the line

    with pytest.raises(ValueError, match="X @ w  # the line"):
        f(np.ones((3, 2)), np.ones(3))


def test_docstrings_stay():
    @fl.jit
    def f(x):
        """What it does."""
        return x

    assert f.__doc__ == "What it does." and f.__name__ == "f" and f.__wrapped__(1) == 1


def test_long_loops_of_python():
    """A loop that builds one expression on top of the other is one program, run often."""
    X, w0, y = data(30, 5)
    Xf, yf, w = fl.matrix(X), fl.matrix(y), fl.matrix(w0)
    compiled = 0
    for _ in range(3000):
        w = w - 0.001 * (Xf.T @ (Xf @ w - yf))
    w.numpy()
    expected = w0
    for _ in range(3000):
        expected = expected - 0.001 * (X.T @ (X @ expected - y))
    np.testing.assert_allclose(w.numpy(), expected, rtol=1e-9, atol=1e-12)


def test_loops_of_several_values():
    X, w0, y = data(30, 5)
    Xf, yf = fl.matrix(X), fl.matrix(y)
    w, v = fl.matrix(w0), fl.matrix(np.zeros(5))
    a, b = w0, np.zeros(5)
    for _ in range(1500):
        g = Xf.T @ (Xf @ w - yf)
        v = 0.9 * v - 0.0005 * g
        w = w + v
        ga = X.T @ (X @ a - y)
        b = 0.9 * b - 0.0005 * ga
        a = a + b
    np.testing.assert_allclose(w.numpy(), a, rtol=1e-8, atol=1e-10)


def test_deep_expressions_that_are_no_loop():
    rng = np.random.default_rng(0)
    x = fl.matrix(np.ones(3))
    expected = np.ones(3)
    for k in rng.integers(0, 4, 2500):
        c = float(rng.uniform(0.9, 1.1))
        x = [x * c, x + c, c - x, fl.maximum(x, c)][k]
        expected = [expected * c, expected + c, c - expected, np.maximum(expected, c)][k]
    np.testing.assert_allclose(x.numpy(), expected, rtol=1e-9)


def test_no_warnings_in_ordinary_use():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        X, w, y = data()
        float(((fl.matrix(X) @ w - y) ** 2).sum())
