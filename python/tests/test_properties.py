"""Random expressions, beside NumPy in extended precision, with bounds of the error.

Each value is computed twice: by Fuseline, and by NumPy in ``longdouble`` together with a bound of what rounding may have
done to doubles: each operation adds half a unit in the last place of its result, and hands on the bounds of its operands
by its derivatives. A value outside of its bound is wrong.
"""

from __future__ import annotations

import os

import hypothesis
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import fuseline as fl

EPSILON = np.longdouble(2.0) ** -53
EXAMPLES = int(os.environ.get("FUSELINE_CASES", "1000"))

if np.finfo(np.longdouble).nmant < 60:
    pytest.skip("no extended precision here", allow_module_level=True)

settings.register_profile(
    "expressions",
    max_examples=EXAMPLES,
    deadline=None,
    derandomize="FUSELINE_SEED" not in os.environ,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("expressions")

SIZES = [0, 1, 2, 7, 64, 1000]


class Bounded:
    """A value in extended precision, and how far a double may lie from it."""

    def __init__(self, value, error):
        self.value = np.asarray(value, dtype=np.longdouble)
        self.error = np.asarray(error, dtype=np.longdouble)

    def rounded(self, units=1.0):
        """The value after an operation that is right to so many units in the last place."""
        finite = np.where(np.isfinite(self.value), abs(self.value), 0)
        return Bounded(self.value, self.error + units * 2 * EPSILON * (finite + self.error) + 1e-300)


class Both:
    """An expression of Fuseline, and what it must be."""

    def __init__(self, lazy, bounded):
        self.lazy, self.bounded = lazy, bounded

    @property
    def shape(self):
        return self.bounded.value.shape

    def check(self):
        assert isinstance(self.lazy, fl.Array)
        assert self.lazy.shape == self.shape
        expected, error = self.bounded.value, self.bounded.error
        # Plans may use that a zero annihilates a NaN, unless they are told not to.
        with fl.options(strict_ieee=bool(np.isnan(expected).any())):
            result = np.asarray(self.lazy.numpy(), dtype=np.longdouble)
        # What is beyond doubles is infinite, and what is near that may be.
        near = abs(expected) + error > 1.7e308
        special = ~np.isfinite(expected) | near
        np.testing.assert_array_equal(np.isnan(result)[~near], np.isnan(expected)[~near])
        exact = ~np.isfinite(expected) & ~near & ~np.isnan(expected)
        np.testing.assert_array_equal(result[exact], expected[exact])
        distance = abs(result - expected)[~special]
        bound = error[~special]
        assert (distance <= bound).all(), (distance.max(), bound[np.argmax(distance - bound)])


def add(x, y, sign=1):
    value = x.value + sign * y.value
    return Bounded(value, x.error + y.error).rounded()


def multiply(x, y):
    with np.errstate(all="ignore"):
        value = x.value * y.value
        error = np.nan_to_num(abs(x.value)) * y.error + np.nan_to_num(abs(y.value)) * x.error + x.error * y.error
    return Bounded(value, error).rounded()


def extreme(x, y, choose):
    return Bounded(choose(x.value, y.value), np.maximum(x.error, y.error))




def sigmoid(x):
    with np.errstate(all="ignore"):
        return 1 / (1 + np.exp(-x))


UNARY = {
    "negative": (lambda x: -x, lambda x: Bounded(-x.value, x.error)),
    "absolute": (np.abs, lambda x: Bounded(abs(x.value), x.error)),
    "square": (np.square, lambda x: multiply(x, x)),
    "tanh": (np.tanh, lambda x: Bounded(np.tanh(x.value), x.error).rounded(4)),
    "sin": (np.sin, lambda x: Bounded(np.sin(x.value), x.error).rounded(2)),
    "sigmoid": (fl.sigmoid, lambda x: Bounded(sigmoid(x.value), x.error).rounded(4)),
    "sqrt of a size": (
        lambda x: np.sqrt(1 + abs(x)),
        lambda x: Bounded(np.sqrt(1 + abs(x.value)), x.error + 2 * EPSILON * (1 + abs(x.value))).rounded(),
    ),
    "log of a size": (
        lambda x: np.log(1 + abs(x)),
        lambda x: Bounded(np.log(1 + abs(x.value)), x.error + 2 * EPSILON * (1 + abs(x.value))).rounded(2),
    ),
    "exp of less": (
        lambda x: np.exp(-abs(x)),
        lambda x: Bounded(np.exp(-abs(x.value)), x.error).rounded(2),
    ),
}
BINARY = {
    "+": (lambda x, y: x + y, add),
    "-": (lambda x, y: x - y, lambda x, y: add(x, y, -1)),
    "*": (lambda x, y: x * y, multiply),
    "maximum": (np.maximum, lambda x, y: extreme(x, y, np.maximum)),
    "minimum": (np.minimum, lambda x, y: extreme(x, y, np.minimum)),
}


def reduced(x, axis, keepdims):
    """A sum, in any order."""
    count = x.value.size if axis is None else x.value.shape[axis]
    sizes = np.sum(np.abs(np.nan_to_num(x.value)), axis=axis, keepdims=keepdims)
    error = np.sum(x.error, axis=axis, keepdims=keepdims)
    with np.errstate(all="ignore"):
        value = np.sum(x.value, axis=axis, keepdims=keepdims)
    return Bounded(value, error + (count + 2) * 2 * EPSILON * (sizes + error))


def product(x, y):
    inner = x.value.shape[-1]
    size = abs(x.value) @ abs(y.value)
    error = abs(x.value) @ y.error + x.error @ abs(y.value) + x.error @ y.error
    return Bounded(x.value @ y.value, error + (inner + 2) * 2 * EPSILON * (size + error))


@st.composite
def leaves(draw, shape):
    """Data of a shape: dense in some layout and type, or sparse."""
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    kind = draw(st.sampled_from(["dense", "dense", "fortran", "float32", "integers", "strided", "special", "sparse"]))
    values = rng.uniform(-2, 2, shape)
    if kind == "float32":
        values = values.astype("float32").astype("float64").astype("float32")
    elif kind == "integers":
        values = rng.integers(-3, 4, shape)
    elif kind == "fortran":
        values = np.asfortranarray(values)
    elif kind == "strided":
        values = np.repeat(values, 2, axis=0)[::2]
    elif kind == "special" and values.size:
        values.flat[:: max(1, values.size // 3)] = rng.choice([np.nan, 0.0, -0.0, 1.0])
    elif kind == "sparse" and len(shape) == 2:
        values = np.where(rng.uniform(size=shape) < 0.1, values, 0.0)
        return Both(fl.matrix(sp.csr_array(values)), Bounded(values, np.zeros(shape)))
    lazy = fl.matrix(values)
    if kind in ("float32", "integers"):
        lazy = lazy.astype("float64")
    return Both(lazy, Bounded(values, np.zeros(shape)))


def shapes_beside(shape):
    """Shapes that NumPy broadcasts with one."""
    if len(shape) == 1:
        return [shape, (), (1,)]
    rows, cols = shape
    return [shape, (cols,), (1, cols), (rows, 1), (1, 1), ()]


@st.composite
def expressions(draw):
    shape = draw(st.sampled_from([(n,) for n in SIZES] + [(m, n) for m in SIZES for n in SIZES if m * n <= 64_000]))
    x = draw(leaves(shape))
    for _ in range(draw(st.integers(1, 6))):
        kind = draw(st.sampled_from(["unary", "binary", "binary", "reduce", "product", "index", "transpose", "itself"]))
        if kind == "unary" or not x.shape:
            name = draw(st.sampled_from(sorted(UNARY)))
            lazy, bounded = UNARY[name]
            x = Both(lazy(x.lazy), bounded(x.bounded))
        elif kind in ("binary", "itself"):
            other = x if kind == "itself" else draw(leaves_beside(x.shape))
            lazy, bounded = BINARY[draw(st.sampled_from(sorted(BINARY)))]
            pair = (x, other) if draw(st.booleans()) else (other, x)
            x = Both(lazy(*(p.lazy for p in pair)), bounded(*(p.bounded for p in pair)))
        elif kind == "reduce":
            axis = draw(st.sampled_from([None, *range(len(x.shape))]))
            keepdims = draw(st.booleans())
            x = Both(x.lazy.sum(axis=axis, keepdims=keepdims), reduced(x.bounded, axis, keepdims))
        elif kind == "product" and not np.isnan(x.bounded.value).any():
            inner = x.shape[-1]
            shape = draw(st.sampled_from([(inner,), (inner, 1), (inner, 3)]))
            rng = np.random.default_rng(draw(st.integers(0, 1000)))
            values = rng.uniform(-1, 1, shape)
            other = Bounded(values, np.zeros(shape))
            x = Both(x.lazy @ values, product(x.bounded, other))
        elif kind == "index" and x.shape[0] > 1:
            key = draw(st.sampled_from([slice(1, None), slice(None, None, -1), slice(0, 1), 0, -1]))
            x = Both(x.lazy[key], Bounded(x.bounded.value[key], x.bounded.error[key]))
        elif kind == "transpose":
            x = Both(x.lazy.T, Bounded(x.bounded.value.T, x.bounded.error.T))
    return x


@st.composite
def leaves_beside(draw, shape):
    beside = draw(st.sampled_from(shapes_beside(shape)))
    if beside == ():
        number = draw(st.sampled_from([0.0, 1.0, 2.0, -0.5, 3.25]))
        return Both(fl.matrix(number), Bounded(number, 0.0))
    return draw(leaves(beside))


@given(expressions())
def test_expressions(x):
    x.check()


@settings(max_examples=max(50, EXAMPLES // 10))
@given(expressions(), st.sampled_from(["base", "gen-fa", "gen-fnr", "fused"]))
def test_modes(x, mode):
    with fl.options(mode=mode):
        x.check()
