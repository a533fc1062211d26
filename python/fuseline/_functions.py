"""Functions of arrays, as NumPy names them."""

from __future__ import annotations

import builtins
import operator
from typing import Any, Callable, Literal, TypeVar

import numpy as np

from . import _native
from ._native import Array, matrix

#: Element-wise functions by the name of NumPy's ufunc.
UFUNCS: dict[str, Callable[..., Array]] = {}


def _unary(name: str, op: str, kind: Literal["same", "bool", "float"], doc: str | None = None) -> Callable[[Any], Array]:
    """The function that applies an operation of the engine to each cell; a ufunc where it has no text of its own."""

    def function(x: Any) -> Array:
        return as_array(x)._apply(op, kind)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc or f"``numpy.{name}``, of each cell."
    if doc is None:
        UFUNCS[name] = function
    return function


def _binary(name: str, op: str) -> Callable[[Any, Any], Array]:
    """The ufunc that applies an operation of the engine to each pair of cells."""

    def function(x: Any, y: Any) -> Array:
        return _native.binary(op, x, y, "same")

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"``numpy.{name}``, of each pair of cells."
    UFUNCS[name] = function
    return function


F = TypeVar("F", bound=Callable[..., Array])


def _ufunc(function: F) -> F:
    """Notes a function as the ufunc of this name."""
    UFUNCS[function.__name__] = function
    return function


def as_array(x: Any) -> Array:
    """What is an array, or can be had as one, as an :class:`Array`."""
    return x if isinstance(x, Array) else matrix(x)


sqrt = _unary("sqrt", "sqrt", "float")
exp = _unary("exp", "exp", "float")
expm1 = _unary("expm1", "expm1", "float")
log = _unary("log", "log", "float")
log1p = _unary("log1p", "log1p", "float")
sin = _unary("sin", "sin", "float")
cos = _unary("cos", "cos", "float")
tan = _unary("tan", "tan", "float")
arcsin = _unary("arcsin", "asin", "float")
arccos = _unary("arccos", "acos", "float")
arctan = _unary("arctan", "atan", "float")
sinh = _unary("sinh", "sinh", "float")
cosh = _unary("cosh", "cosh", "float")
tanh = _unary("tanh", "tanh", "float")
floor = _unary("floor", "floor", "same")
ceil = _unary("ceil", "ceil", "same")
absolute = _unary("absolute", "abs", "same")
fabs = _unary("fabs", "abs", "float")
isnan = _unary("isnan", "is_nan", "bool")
isinf = _unary("isinf", "is_inf", "bool")
logical_not = _unary("logical_not", "not", "bool")

sigmoid = _unary("sigmoid", "sigmoid", "float", "``1 / (1 + exp(-x))``.")
erf = _unary("erf", "erf", "float", "The error function.")
normal_cdf = _unary("normal_cdf", "normal_cdf", "float", "The distribution function of the standard normal distribution.")
log_nonzero = _unary("log_nonzero", "log_nz", "float", "The logarithm where the cell is not zero, else 0: zeros stay zeros.")

add = _binary("add", "plus")
subtract = _binary("subtract", "minus")
multiply = _binary("multiply", "mult")
divide = _binary("divide", "div")
floor_divide = _binary("floor_divide", "intdiv")
remainder = _binary("remainder", "mod")
power = _binary("power", "pow")
maximum = _binary("maximum", "max")
minimum = _binary("minimum", "min")
equal = _binary("equal", "eq")
not_equal = _binary("not_equal", "ne")
less = _binary("less", "lt")
less_equal = _binary("less_equal", "le")
greater = _binary("greater", "gt")
greater_equal = _binary("greater_equal", "ge")
logical_and = _binary("logical_and", "and")
logical_or = _binary("logical_or", "or")
logical_xor = _binary("logical_xor", "xor")
bitwise_and = _binary("bitwise_and", "bitwand")
bitwise_or = _binary("bitwise_or", "bitwor")
bitwise_xor = _binary("bitwise_xor", "bitwxor")
left_shift = _binary("left_shift", "bitwshiftl")
right_shift = _binary("right_shift", "bitwshiftr")


@_ufunc
def rint(x: Any) -> Array:
    """The nearest integers; the even one of two."""
    return _native.rint(as_array(x))


@_ufunc
def trunc(x: Any) -> Array:
    """The integers towards zero."""
    x = as_array(x)
    return x if x.dtype.kind != "f" else x._apply("sign", "same") * builtins.abs(x)._apply("floor", "same")


def _numbers(name: str, x: Any) -> Array:
    """An array that is none of truth values, which some ufuncs are not for."""
    x = as_array(x)
    if x.dtype.kind == "b":
        raise TypeError(f"numpy.{name} is not for truth values: write x.astype(int)")
    return x


@_ufunc
def square(x: Any) -> Array:
    """The square of each cell; truth values become numbers of 8 bits."""
    x = as_array(x)
    return (x.astype("int8") if x.dtype.kind == "b" else x)._apply("pow2", "same")


@_ufunc
def sign(x: Any) -> Array:
    """-1, 0 or 1, and NaN of NaN."""
    return _numbers("sign", x)._apply("sign", "same")


@_ufunc
def log2(x: Any) -> Array:
    """The logarithm to base 2."""
    return _native.binary("log_base", as_array(x), 2.0, "float")


@_ufunc
def log10(x: Any) -> Array:
    """The logarithm to base 10."""
    return _native.binary("log_base", as_array(x), 10.0, "float")


@_ufunc
def exp2(x: Any) -> Array:
    """Powers of 2."""
    return _native.binary("pow", 2.0, as_array(x), "float")


@_ufunc
def reciprocal(x: Any) -> Array:
    """``1 / x``; of integers towards zero."""
    x = as_array(x)
    return 1.0 / x if x.dtype.kind not in "iu" else (1.0 / x).astype(x.dtype)


@_ufunc
def isfinite(x: Any) -> Array:
    """Whether neither infinite nor NaN."""
    x = as_array(x)
    return ~(x._apply("is_nan", "bool") | x._apply("is_inf", "bool"))


@_ufunc
def positive(x: Any) -> Array:
    """The array itself."""
    return +_numbers("positive", x)


@_ufunc
def negative(x: Any) -> Array:
    """The negative."""
    return -as_array(x)


@_ufunc
def invert(x: Any) -> Array:
    """Bits the other way around."""
    return ~as_array(x)


@_ufunc
def deg2rad(x: Any) -> Array:
    """Degrees as radians."""
    return as_array(x)._apply("abs", "float") * sign(x) * (np.pi / 180.0) if _is_integer(x) else as_array(x) * (np.pi / 180.0)


@_ufunc
def rad2deg(x: Any) -> Array:
    """Radians as degrees."""
    return as_array(x) * (180.0 / np.pi)


@_ufunc
def logaddexp(x: Any, y: Any) -> Array:
    """``log(exp(x) + exp(y))``, without overflow."""
    x, y = as_array(x), as_array(y)
    high = maximum(x, y)
    distance = builtins.abs(x - y)
    result = high + (-distance)._apply("exp", "float")._apply("log1p", "float")
    # Equal infinities have no distance.
    return _native.where(_native.binary("eq", x, y, "same"), high + float(np.log(2.0)), result)


@_ufunc
def hypot(x: Any, y: Any) -> Array:
    """``sqrt(x**2 + y**2)``, without overflow."""
    x, y = builtins.abs(as_array(x)), builtins.abs(as_array(y))
    high, low = maximum(x, y), minimum(x, y)
    ratio = low / _native.where(high == 0, 1.0, high)
    result = high * (1.0 + ratio * ratio)._apply("sqrt", "float")
    # The ratio of two infinities is none.
    infinite = x._apply("is_inf", "bool") | y._apply("is_inf", "bool")
    return _native.where(infinite, float("inf"), result)


@_ufunc
def heaviside(x: Any, y: Any) -> Array:
    """0 where negative, 1 where positive, ``y`` where zero."""
    x = as_array(x)
    return _native.where(x == 0, y, _native.where(x._apply("is_nan", "bool"), x, (x > 0) * 1.0))


@_ufunc
def fmax(x: Any, y: Any) -> Array:
    """The larger of two; the other one of a NaN."""
    x, y = as_array(x), as_array(y)
    return _native.where(isnan(x), y, _native.where(isnan(y), x, maximum(x, y)))


@_ufunc
def fmin(x: Any, y: Any) -> Array:
    """The smaller of two; the other one of a NaN."""
    x, y = as_array(x), as_array(y)
    return _native.where(isnan(x), y, _native.where(isnan(y), x, minimum(x, y)))


@_ufunc
def copysign(x: Any, y: Any) -> Array:
    """The size of one with the sign of the other; zeros are positive."""
    x = fabs(x)
    return _native.where(as_array(y) < 0, -x, x)


def _is_integer(x: Any) -> bool:
    return as_array(x).dtype.kind != "f"


def position_of(axis: Any, ndim: int) -> int:
    """The position of an axis, which may count from the last one."""
    axis = operator.index(axis)
    if not -ndim <= axis < ndim:
        raise np.exceptions.AxisError(axis, ndim)
    return axis % ndim


def positions_of(axes: Any, ndim: int) -> list[int]:
    """The positions of an axis, or of several that differ."""
    positions = [position_of(axis, ndim) for axis in (axes if isinstance(axes, (tuple, list)) else (axes,))]
    if len(set(positions)) < len(positions):
        raise ValueError(f"repeated axis in {axes}")
    return positions


def concatenate(arrays: Any, axis: int = 0) -> Array:
    """Arrays one behind the other, along an axis."""
    return _native.concatenate([as_array(x) for x in arrays], axis)


def vstack(arrays: Any) -> Array:
    """Arrays below each other; vectors are rows."""
    return concatenate([x if x.ndim == 2 else x[None, :] for x in map(as_array, arrays)], 0)


def hstack(arrays: Any) -> Array:
    """Arrays side by side."""
    arrays = [as_array(x) for x in arrays]
    return concatenate(arrays, 0 if arrays[0].ndim == 1 else 1)


def stack_columns(arrays: Any) -> Array:
    """Arrays side by side; vectors are columns: NumPy's ``column_stack``."""
    return concatenate([x if x.ndim == 2 else x[:, None] for x in map(as_array, arrays)], 1)


def cbind(*arrays: Any) -> Array:
    """Columns side by side, as in R."""
    return stack_columns(arrays)


def rbind(*arrays: Any) -> Array:
    """Rows below each other, as in R."""
    return vstack(arrays)


def diag(x: Any) -> Array:
    """The diagonal of a square matrix as a vector, or a vector as the diagonal of a matrix."""
    return _native.diag(as_array(x))


def _extents(shape: Any) -> tuple[int, int | None]:
    extents = tuple(operator.index(e) for e in shape) if hasattr(shape, "__iter__") else (operator.index(shape),)
    if len(extents) not in (1, 2):
        raise ValueError(f"arrays have one or two dimensions, not {len(extents)}")
    return extents[0], extents[1] if len(extents) == 2 else None


def full(shape: Any, value: Any) -> Array:
    """An array of equal cells."""
    rows, columns = _extents(shape)
    return _native.full(rows, columns, value)


def zeros(shape: Any) -> Array:
    """An array of zeros, which takes no memory."""
    return full(shape, 0.0)


def ones(shape: Any) -> Array:
    """An array of ones."""
    return full(shape, 1.0)


def eye(n: int) -> Array:
    """The identity matrix, which is sparse."""
    return diag(ones(n))


def full_like(x: Any, value: Any) -> Array:
    """An array of equal cells, with the shape and the type of another."""
    x = as_array(x)
    return (full(x.shape, value) if x.ndim else as_array(value)).astype(x.dtype)


def zeros_like(x: Any) -> Array:
    """Zeros, with the shape and the type of another array."""
    return full_like(x, 0)


def ones_like(x: Any) -> Array:
    """Ones, with the shape and the type of another array."""
    return full_like(x, 1)


def arange(start: float, stop: float | None = None, step: float = 1) -> Array:
    """The numbers from ``start`` (0) to before ``stop``."""
    if stop is None:
        start, stop = 0, start
    count = builtins.max(0, int(np.ceil((stop - start) / step)))
    integer = all(isinstance(x, (int, np.integer)) for x in (start, stop, step))
    if count == 0:
        return full(0, 0 if integer else 0.0)
    return _native.sequence(float(start), float(step), count, integer)


def linspace(start: float, stop: float, num: int = 50) -> Array:
    """Numbers at equal distances, the ends included."""
    if num < 2:
        return full(num, float(start))
    inner = start + arange(num - 1) * ((stop - start) / (num - 1))
    return concatenate([inner, full(1, float(stop))])


def rand(
    rows: int, columns: int, *, low: float = 0.0, high: float = 1.0, density: float = 1.0, seed: int | Array | None = None
) -> Array:
    """Uniform random numbers, of which the seed decides all; few of them make a sparse matrix.

    Without a seed it is 0, and in a loop's body how often the loop has drawn before: each iteration draws other numbers.
    """
    return _native.rand(rows, columns, (low, high), density, seed, False)


def randn(rows: int, columns: int, *, density: float = 1.0, seed: int | Array | None = None) -> Array:
    """Random numbers of the standard normal distribution, of which the seed decides all: see :func:`rand`."""
    return _native.rand(rows, columns, (0.0, 1.0), density, seed, True)


def read(path: Any, **options: Any) -> Array:
    """A matrix of a file: CSV, MatrixMarket, libsvm, NumPy, and Fuseline's own format, by its name or ``format=``.

    Options are those of ``read`` in DML: ``format``, ``header``, ``sep``, ``rows``, ``cols``, and others.
    """
    texts = [(name, "true" if value is True else "false" if value is False else str(value)) for name, value in options.items()]
    return _native.read_file(str(path), texts)


def abs(x: Any) -> Array:
    """The absolute value."""
    return builtins.abs(as_array(x))
