"""NumPy's functions on arrays: lazy and right, or a `TypeError` that names them."""

import subprocess
import sys
import warnings

import numpy as np
import pytest
from numpy.testing.overrides import get_overridable_numpy_array_functions, get_overridable_numpy_ufuncs

import fuseline as fl

def takes_numbers(function):
    """Whether a ufunc works cell by cell on doubles or integers; others are about texts, dates or whole matrices."""
    inputs = {signature.split("->")[0] for signature in function.types}
    return function.signature is None and function.nin <= 2 and inputs & {kind * function.nin for kind in "dl"}


UFUNCS = sorted(filter(takes_numbers, get_overridable_numpy_ufuncs()), key=lambda f: f.__name__)
FUNCTIONS = sorted(get_overridable_numpy_array_functions(), key=lambda f: f"{f.__module__}.{f.__name__}")

#: Ufuncs of integers alone.
INTEGERS = {"bitwise_and", "bitwise_or", "bitwise_xor", "invert", "left_shift", "right_shift", "bitwise_count", "gcd", "lcm"}


def arguments(function):
    rng = np.random.default_rng(3)
    for shape in [(4,), (3, 4), (3, 1)]:
        for _ in range(2):
            values = rng.uniform(-3, 3, shape)
            values.flat[0], values.flat[-1] = 0.0, 2.0
            if function.__name__ in INTEGERS:
                values = values.round().astype(int)
                if "shift" in function.__name__:
                    values = np.abs(values)
            if function.__name__ in ("arcsin", "arccos", "arctanh"):
                values = values / 3
            yield values


def holds(function):
    """Whether a ufunc is lazy and right; a `TypeError` that names it where it is not supported."""
    samples = list(arguments(function))
    for left, right in zip(samples[::2], samples[1::2]):
        inputs = [left, right][: function.nin]
        with np.errstate(all="ignore"):
            expected = function(*inputs)
        for lazy in range(function.nin):
            mixed = [fl.matrix(x) if position == lazy else x for position, x in enumerate(inputs)]
            try:
                result = function(*mixed)
            except TypeError as error:
                assert function.__name__ in str(error), error
                return False
            assert isinstance(result, fl.Array)
            assert result.dtype == expected.dtype and result.shape == expected.shape
            np.testing.assert_allclose(result.numpy(), expected, rtol=1e-12, atol=1e-15)
    return True


@pytest.mark.parametrize("function", UFUNCS, ids=lambda f: f.__name__)
def test_ufuncs(function):
    """Each is lazy and right, or named."""
    holds(function)


def test_many_ufuncs_work():
    working = [f.__name__ for f in UFUNCS if holds(f)]
    assert len(working) >= 60, (len(working), working)


@pytest.mark.parametrize("function", UFUNCS, ids=lambda f: f.__name__)
def test_ufuncs_of_nan_and_infinities(function):
    """The values that are no numbers, where a ufunc of floating point numbers works."""
    if function.__name__ in INTEGERS:
        return
    special = np.array([np.nan, np.inf, -np.inf, 0.0, 1.0, -1.0])
    inputs = [special] if function.nin == 1 else [np.repeat(special, 6), np.tile(special, 6)]
    with np.errstate(all="ignore"):
        expected = function(*inputs)
    try:
        result = function(fl.matrix(inputs[0]), *inputs[1:])
    except TypeError as error:
        assert function.__name__ in str(error)
        return
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-12)


#: How functions of arrays are called here: those that are not named must refuse an array by a `TypeError`.
A, B, C = np.random.default_rng(1).uniform(0.5, 2, (3, 4)), np.random.default_rng(2).uniform(0.5, 2, (3, 4)), np.arange(1.0, 5.0)
SQUARE = A @ A.T + 3 * np.eye(3)
CALLS = {
    "sum": [lambda np_, a: np_.sum(a), lambda np_, a: np_.sum(a, axis=0), lambda np_, a: np_.sum(a, 1, keepdims=True)],
    "prod": [lambda np_, a: np_.prod(a, axis=1)],
    "mean": [lambda np_, a: np_.mean(a, axis=0)],
    "std": [lambda np_, a: np_.std(a, axis=0, ddof=1)],
    "var": [lambda np_, a: np_.var(a)],
    "max": [lambda np_, a: np_.max(a, axis=0)],
    "min": [lambda np_, a: np_.min(a)],
    "amax": [lambda np_, a: np_.amax(a)],
    "amin": [lambda np_, a: np_.amin(a, axis=1)],
    "any": [lambda np_, a: np_.any(a > 1, axis=0)],
    "all": [lambda np_, a: np_.all(a > 0)],
    "argmax": [lambda np_, a: np_.argmax(a, axis=1)],
    "argmin": [lambda np_, a: np_.argmin(a)],
    "count_nonzero": [lambda np_, a: np_.count_nonzero(a > 1, axis=0)],
    "average": [lambda np_, a: np_.average(a, axis=0), lambda np_, a: np_.average(a, axis=1, weights=C)],
    "ptp": [lambda np_, a: np_.ptp(a, axis=0)],
    "median": [lambda np_, a: np_.median(a)],
    "cumsum": [lambda np_, a: np_.cumsum(a), lambda np_, a: np_.cumsum(a, axis=1)],
    "cumprod": [lambda np_, a: np_.cumprod(a, axis=0)],
    "diff": [lambda np_, a: np_.diff(a), lambda np_, a: np_.diff(a, axis=0)],
    "clip": [lambda np_, a: np_.clip(a, 0.7, 1.5), lambda np_, a: np_.clip(a, None, 1.5)],
    "round": [lambda np_, a: np_.round(a), lambda np_, a: np_.round(a, 2)],
    "around": [lambda np_, a: np_.around(a)],
    "nan_to_num": [lambda np_, a: np_.nan_to_num(a)],
    "where": [lambda np_, a: np_.where(a > 1, a, 0.0)],
    "dot": [lambda np_, a: np_.dot(a, C), lambda np_, a: np_.dot(a, a.T)],
    "vdot": [lambda np_, a: np_.vdot(a, B)],
    "inner": [lambda np_, a: np_.inner(a, B)],
    "outer": [lambda np_, a: np_.outer(a[0], C)],
    "trace": [lambda np_, a: np_.trace(a[:, :3])],
    "diag": [lambda np_, a: np_.diag(a[:, :3]), lambda np_, a: np_.diag(a[0])],
    "diagonal": [lambda np_, a: np_.diagonal(a[:, :3])],
    "transpose": [lambda np_, a: np_.transpose(a)],
    "matrix_transpose": [lambda np_, a: np_.matrix_transpose(a)],
    "swapaxes": [lambda np_, a: np_.swapaxes(a, 0, 1)],
    "reshape": [lambda np_, a: np_.reshape(a, (4, 3))],
    "ravel": [lambda np_, a: np_.ravel(a)],
    "squeeze": [lambda np_, a: np_.squeeze(a[:, :1])],
    "expand_dims": [lambda np_, a: np_.expand_dims(a[0], 0), lambda np_, a: np_.expand_dims(a[0], 1)],
    "atleast_1d": [lambda np_, a: np_.atleast_1d(a)],
    "atleast_2d": [lambda np_, a: np_.atleast_2d(a[0])],
    "concatenate": [lambda np_, a: np_.concatenate([a, B]), lambda np_, a: np_.concatenate([a, B], axis=1)],
    "vstack": [lambda np_, a: np_.vstack([a, C])],
    "hstack": [lambda np_, a: np_.hstack([a, B])],
    "column_stack": [lambda np_, a: np_.column_stack([a, B[:, 0]])],
    "stack": [lambda np_, a: np_.stack([a[0], C]), lambda np_, a: np_.stack([a[0], C], axis=1)],
    "append": [lambda np_, a: np_.append(a, B, axis=0), lambda np_, a: np_.append(a, C)],
    "flip": [lambda np_, a: np_.flip(a), lambda np_, a: np_.flip(a, 1)],
    "flipud": [lambda np_, a: np_.flipud(a)],
    "fliplr": [lambda np_, a: np_.fliplr(a)],
    "tril": [lambda np_, a: np_.tril(a), lambda np_, a: np_.tril(a, -1)],
    "triu": [lambda np_, a: np_.triu(a), lambda np_, a: np_.triu(a, 1)],
    "take": [lambda np_, a: np_.take(a, [2, 0], axis=0), lambda np_, a: np_.take(a, [5, 1])],
    "compress": [lambda np_, a: np_.compress([True, False, True], a, axis=0)],
    "zeros_like": [lambda np_, a: np_.zeros_like(a)],
    "ones_like": [lambda np_, a: np_.ones_like(a)],
    "full_like": [lambda np_, a: np_.full_like(a, 2.5)],
    "copy": [lambda np_, a: np_.copy(a)],
    "shape": [lambda np_, a: np_.shape(a)],
    "ndim": [lambda np_, a: np_.ndim(a)],
    "size": [lambda np_, a: np_.size(a), lambda np_, a: np_.size(a, 1)],
    "real": [lambda np_, a: np_.real(a)],
    "imag": [lambda np_, a: np_.imag(a)],
    "isclose": [lambda np_, a: np_.isclose(a, B)],
    "allclose": [lambda np_, a: np_.allclose(a, a + 1e-12)],
    "array_equal": [lambda np_, a: np_.array_equal(a, A)],
    "cov": [lambda np_, a: np_.cov(a), lambda np_, a: np_.cov(a, rowvar=False)],
    "result_type": [lambda np_, a: np_.result_type(a, np.float32)],
    "norm": [lambda np_, a: np_.linalg.norm(a), lambda np_, a: np_.linalg.norm(a, axis=1)],
    "nansum": [lambda np_, a: np_.nansum(a, axis=0)],
    "nanmean": [lambda np_, a: np_.nanmean(a)],
    "nanmax": [lambda np_, a: np_.nanmax(a)],
    "nanmin": [lambda np_, a: np_.nanmin(a, axis=0)],
    "solve": [lambda np_, a: np_.linalg.solve(a @ a.T + 3 * np.eye(3), B)],
    "inv": [lambda np_, a: np_.linalg.inv(a @ a.T + 3 * np.eye(3))],
    "det": [lambda np_, a: np_.linalg.det(a @ a.T + 3 * np.eye(3))],
    "cholesky": [lambda np_, a: np_.linalg.cholesky(a @ a.T + 3 * np.eye(3))],
}


@pytest.mark.parametrize("name", CALLS)
def test_functions(name):
    for call in CALLS[name]:
        expected, result = call(np, A), call(np, fl.matrix(A))
        if isinstance(expected, np.ndarray | np.floating):
            assert isinstance(result, fl.Array), type(result)
            assert result.shape == expected.shape and result.dtype == expected.dtype
            np.testing.assert_allclose(result.numpy(), expected, rtol=1e-10, atol=1e-14)
        elif isinstance(expected, np.bool_ | np.integer):
            assert result.compute() == expected
        else:
            assert result == expected


def test_many_functions_work():
    assert len(CALLS) >= 60


#: Functions whose first argument is no array, that need a square matrix, or an axis of a matrix.
OTHERS = {"arange", "fromfile", "genfromtxt", "tri", "eigh", "eigvalsh", "cumulative_sum", "cumulative_prod"}


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f"{f.__module__}.{f.__name__}")
def test_other_functions_are_refused_by_name(function):
    """Never an array of objects, and never one that was computed without asking."""
    if function.__name__ in CALLS or function.__name__ in OTHERS:
        return
    try:
        result = function(fl.matrix(A))
    except TypeError:
        return
    except Exception as error:
        pytest.fail(f"{type(error).__name__}: {error}")
    assert not (isinstance(result, np.ndarray) and result.dtype == object), result


@pytest.mark.parametrize("call", [lambda a: np.sort(a), lambda a: np.fft.fft(a), lambda a: np.histogram(a)])
def test_messages_say_what_to_write(call):
    with pytest.raises(TypeError, match=r"write x\.numpy\(\)"):
        call(fl.matrix(A))


def test_functions_that_leave_nan_out():
    a = np.array([[np.nan, 1.0], [np.nan, np.nan], [2.0, -1.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for function in (np.nanmax, np.nanmin, np.nansum, np.nanmean):
            for axis in (None, 0, 1):
                np.testing.assert_allclose(function(fl.matrix(a), axis=axis).numpy(), function(a, axis=axis))
    assert np.nansum(fl.matrix(np.arange(3))).dtype == np.int64


OLD = """
import numpy as np

for module, names in ((np, ["astype", "cumulative_sum", "cumulative_prod", "matrix_transpose", "unstack", "vecdot"]),
                      (np.linalg, ["diagonal", "matmul", "matrix_norm", "matrix_transpose", "outer", "vector_norm"])):
    for name in names:
        if hasattr(module, name):
            delattr(module, name)

import fuseline as fl
print(float(np.sum(fl.matrix([1.0, 2.0]))), np.transpose(fl.matrix(np.ones((2, 3)))).shape)
"""


def test_older_versions_of_numpy_lack_some_functions():
    finished = subprocess.run([sys.executable, "-c", OLD], capture_output=True, text=True)
    assert finished.stdout == "3.0 (3, 2)\n", finished.stderr


def test_axes_that_cannot_be_squeezed():
    with pytest.raises(ValueError, match="squeeze"):
        np.squeeze(fl.matrix(np.ones((3, 1))), axis=0)
    assert np.squeeze(fl.matrix(np.ones((3, 1))), axis=1).shape == (3,)


AXES_THAT_ARE_NOT_THERE = {
    "average": lambda x: np.average(x, axis=2, weights=[1.0, 2.0, 3.0, 4.0]),
    "append": lambda x: np.append(x, x, axis=2),
    "compress": lambda x: np.compress([True], x, axis=2),
    "concatenate": lambda x: np.concatenate([x, x], axis=-3),
    "cumprod": lambda x: np.cumprod(x, axis=2),
    "diff": lambda x: np.diff(x, axis=2),
    "expand_dims": lambda x: np.expand_dims(x[0], axis=2),
    "flip": lambda x: np.flip(x, axis=2),
    "moveaxis": lambda x: np.moveaxis(x, 0, 2),
    "nanmax": lambda x: np.nanmax(x, axis=2),
    "norm": lambda x: np.linalg.norm(x, axis=2),
    "ptp": lambda x: np.ptp(x, axis=2),
    "repeat": lambda x: np.repeat(x, 2, axis=2),
    "roll": lambda x: np.roll(x, 1, axis=2),
    "size": lambda x: np.size(x, 2),
    "squeeze": lambda x: np.squeeze(x, axis=2),
    "stack": lambda x: np.stack([x[0], x[1]], axis=2),
    "swapaxes": lambda x: np.swapaxes(x, 0, 2),
    "take": lambda x: np.take(x, [0], axis=2),
    "transpose": lambda x: np.transpose(x, (0, 2)),
    "var": lambda x: np.var(x, axis=-3),
    "vecdot": lambda x: np.multiply(x, x).sum(axis=2),
}


@pytest.mark.parametrize("name", AXES_THAT_ARE_NOT_THERE)
def test_axes_that_are_not_there(name):
    call = AXES_THAT_ARE_NOT_THERE[name]
    for x in (A, fl.matrix(A)):
        with pytest.raises(np.exceptions.AxisError, match="axis (2|-3) is out of bounds for array of dimension 2"):
            call(x)


def test_axes_that_do_not_go_together():
    x = fl.matrix(A)
    for call in (
        lambda x: np.flip(x, axis=(0, 0)),
        lambda x: np.transpose(x, (0,)),
        lambda x: np.transpose(x, (1, 1)),
        lambda x: np.moveaxis(x, (0, 0), (0, 1)),
        lambda x: np.moveaxis(x, (0, 1), (0,)),
        lambda x: np.moveaxis(x, 0, (0, 1)),
        lambda x: np.sum(x, axis=(0, 0)),
    ):
        for array in (A, x):
            with pytest.raises(ValueError):
                call(array)
    np.testing.assert_array_equal(np.roll(x, 1, axis=(0, 1)).numpy(), np.roll(A, 1, axis=(0, 1)))
    with pytest.raises(ValueError, match="three dimensions"):
        np.stack([x, x])


def test_outputs_and_masks_of_ufuncs_are_refused():
    x = fl.matrix(A)
    with pytest.raises(TypeError, match="out="):
        np.exp(x, out=np.empty((3, 4)))
    with pytest.raises(TypeError, match="where="):
        np.exp(x, where=A > 1)


def test_reciprocals_of_integers():
    for dtype in ("int64", "uint8", "float32"):
        a = np.array([1, 2, 5], dtype)
        result = np.reciprocal(fl.matrix(a))
        assert result.dtype == a.dtype
        np.testing.assert_array_equal(result.numpy(), np.reciprocal(a))


def test_reductions_of_ufuncs():
    x = fl.matrix(A)
    np.testing.assert_allclose(np.add.reduce(x).numpy(), np.add.reduce(A))
    np.testing.assert_allclose(np.maximum.reduce(x, axis=1).numpy(), np.maximum.reduce(A, axis=1))
    np.testing.assert_allclose(np.multiply.outer(x[0], C).numpy(), np.multiply.outer(A[0], C))
    np.testing.assert_allclose(np.add.accumulate(x).numpy(), np.add.accumulate(A))
