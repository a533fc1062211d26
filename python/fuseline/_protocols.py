"""What NumPy's functions mean where one of their arguments is an :class:`Array`: ufuncs, and functions of arrays."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

from . import _functions as f
from . import _native, linalg
from ._native import Array

#: Reductions of ufuncs: ``np.add.reduce`` is a sum.
_REDUCTIONS = {
    "add": "sum",
    "multiply": "prod",
    "maximum": "max",
    "minimum": "min",
    "logical_and": "all",
    "logical_or": "any",
}

_ALIASES = {"true_divide": "divide", "mod": "remainder", "conjugate": "positive", "degrees": "rad2deg", "radians": "deg2rad"}


def _unsupported(name: str, why: str = "") -> TypeError:
    reason = f" {why}" if why else ""
    return TypeError(
        f"numpy.{name} of a fuseline.Array is not supported{reason}: write x.numpy() for an array of NumPy"
    )


def ufunc(function: np.ufunc, method: str, inputs: tuple, kwargs: dict) -> Any:
    """A ufunc of NumPy on arrays."""
    name = _ALIASES.get(function.__name__, function.__name__)
    if method == "reduce" and name in _REDUCTIONS:
        return _reduced(name, inputs[0], dict(kwargs))
    if method == "accumulate" and name in ("add", "multiply"):
        along = getattr(inputs[0], "cumsum" if name == "add" else "cumprod")
        return along(kwargs.pop("axis", 0))
    if method == "outer" and name in f.UFUNCS and len(inputs) == 2:
        left, right = (f.as_array(x) for x in inputs)
        if left.ndim == right.ndim == 1:
            return f.UFUNCS[name](left[:, None], right[None, :])
    if method != "__call__":
        raise _unsupported(f"{name}.{method}")
    options = {key: value for key, value in kwargs.items() if key not in ("casting", "order", "subok") and value is not None}
    dtype = options.pop("dtype", None)
    axis = options.pop("axis", -1) if name == "vecdot" else -1
    if options:
        raise _unsupported(name, f"with {', '.join(options)}=")
    if name == "matmul":
        result = _native.matmul(*inputs)
    elif name == "vecdot":
        result = f.multiply(*inputs).sum(axis)
    elif name in f.UFUNCS:
        result = f.UFUNCS[name](*inputs)
    else:
        raise _unsupported(name)
    return result if dtype is None else result.astype(dtype)


def _reduced(name: str, array: Array, kwargs: dict) -> Array:
    axis = kwargs.pop("axis", 0)
    keepdims = kwargs.pop("keepdims", False)
    left = [key for key, value in kwargs.items() if value is not None and value is not np._NoValue]
    if left:
        raise _unsupported(f"{name}.reduce", f"with {', '.join(left)}=")
    return getattr(f.as_array(array), _REDUCTIONS[name])(axis, keepdims=keepdims)


_FUNCTIONS: dict[Callable, Callable] = {}


def _newer(*names: str) -> list[Callable]:
    """The functions of these names, as far as this version of NumPy has them."""
    found = [getattr(np.linalg if "linalg." in name else np, name.removeprefix("linalg."), None) for name in names]
    return [function for function in found if function is not None]


def _means(*functions: Callable):
    """Registers what functions of NumPy mean."""

    def register(meaning: Callable) -> Callable:
        for function in functions:
            _FUNCTIONS[function] = meaning
        return meaning

    return register


def function(function: Callable, types: Any, args: tuple, kwargs: dict) -> Any:
    """A function of NumPy on arrays."""
    meaning = _FUNCTIONS.get(function)
    if meaning is None:
        raise _unsupported(getattr(function, "__name__", str(function)))
    kwargs = {key: value for key, value in kwargs.items() if value is not np._NoValue and not (key == "out" and value is None)}
    try:
        return meaning(*args, **kwargs)
    except TypeError as error:
        if "unexpected keyword argument" in str(error):
            unknown = str(error).rsplit(" ", 1)[-1].strip("'")
            raise _unsupported(function.__name__, f"with {unknown}=") from None
        raise


def _reduction(name: str):
    def meaning(a, axis=None, *, keepdims=False, **options):
        return getattr(f.as_array(a), name)(axis, keepdims=keepdims, **_known(options))

    return meaning


def _known(options: dict) -> dict:
    """Options that say something: NumPy hands on the defaults of some."""
    for key, value in list(options.items()):
        if value is None or key == "where" and value is True:
            del options[key]
    if "dtype" in options or "out" in options or "initial" in options or "where" in options:
        name = next(key for key in ("dtype", "out", "initial", "where") if key in options)
        raise TypeError(f"unexpected keyword argument '{name}'")
    return options


def _spread(name: str):
    def meaning(a, axis=None, *, ddof=0.0, correction=None, keepdims=False, **options):
        ddof = ddof if correction is None else correction
        return getattr(f.as_array(a), name)(axis, ddof=ddof, keepdims=keepdims, **_known(options))

    return meaning


_means(np.std)(_spread("std"))
_means(np.var)(_spread("var"))
for _name in ("sum", "prod", "mean", "any", "all", "argmax", "argmin", "count_nonzero"):
    _means(getattr(np, _name))(_reduction(_name))
_means(np.max, np.amax)(_reduction("max"))
_means(np.min, np.amin)(_reduction("min"))


@_means(np.average)
def _average(a, axis=None, weights=None, *, keepdims=False):
    a = f.as_array(a)
    if weights is None:
        return a.mean(axis, keepdims=keepdims)
    weights = f.as_array(weights)
    if weights.ndim < a.ndim and axis is not None:
        weights = weights[:, None] if f.position_of(axis, a.ndim) == 0 else weights[None, :]
    scale = (weights + f.zeros_like(a)).sum(axis, keepdims=keepdims)
    return (a * weights).sum(axis, keepdims=keepdims) / scale


@_means(np.ptp)
def _ptp(a, axis=None, *, keepdims=False):
    return a.max(axis, keepdims=keepdims) - a.min(axis, keepdims=keepdims)


@_means(np.median)
def _median(a, axis=None, *, keepdims=False):
    if axis is not None or keepdims:
        raise TypeError("unexpected keyword argument 'axis'")
    return linalg.median(f.as_array(a).ravel())


@_means(np.cumsum)
def _cumsum(a, axis=None):
    return a.cumsum(axis)


@_means(np.cumprod)
def _cumprod(a, axis=None):
    return a.cumprod(axis)


def _cumulated(name: str):
    """A cumulation of the array API's standard, which can start with what the first cell is joined to."""

    def meaning(x, /, *, axis=None, include_initial=False):
        x = f.as_array(x)
        if axis is None and x.ndim > 1:
            raise ValueError("an array of two dimensions is cumulated along an axis=")
        axis = f.position_of(axis or 0, x.ndim)
        cumulated = getattr(x, name)(axis)
        if not include_initial:
            return cumulated
        extents = tuple(1 if position == axis else extent for position, extent in enumerate(x.shape))
        return f.concatenate([f.full(extents, int(name == "cumprod")).astype(x.dtype), cumulated], axis)

    return meaning


_means(*_newer("cumulative_sum"))(_cumulated("cumsum"))
_means(*_newer("cumulative_prod"))(_cumulated("cumprod"))


def _slice_like(part, a, axis):
    """What goes before or behind an array along an axis: a number as one row or column of it."""
    part = f.as_array(part)
    if part.ndim:
        return part
    return f.full(tuple(1 if position == axis else extent for position, extent in enumerate(a.shape)), part)


@_means(np.diff)
def _diff(a, n=1, axis=-1, prepend=None, append=None):
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n}")
    a = f.as_array(a)
    axis = f.position_of(axis, a.ndim)
    parts = [_slice_like(part, a, axis) for part in (prepend, a, append) if part is not None]
    a = f.concatenate(parts, axis) if len(parts) > 1 else a
    for _ in range(n):
        later, earlier = (a[1:], a[:-1]) if axis == 0 else (a[:, 1:], a[:, :-1])
        a = later != earlier if a.dtype.kind == "b" else later - earlier
    return a


@_means(np.clip)
def _clip(a, a_min=None, a_max=None, *, min=None, max=None):
    return f.as_array(a).clip(a_min if min is None else min, a_max if max is None else max)


@_means(np.round, np.around)
def _round(a, decimals=0):
    return a.round(decimals)


@_means(np.nan_to_num)
def _nan_to_num(x, copy=True, nan=0.0, posinf=None, neginf=None):
    big = np.finfo(x.dtype).max if x.dtype.kind == "f" else 0.0
    high, low = big if posinf is None else posinf, -big if neginf is None else neginf
    x = _native.where(f.isnan(x), nan, x)
    return _native.where(f.isinf(x), _native.where(x > 0, float(high), float(low)), x)


@_means(np.where)
def _where(condition, x=None, y=None):
    if x is None or y is None:
        raise TypeError("numpy.where of one argument gives positions: write np.nonzero(x.numpy())")
    return _native.where(condition, x, y)


@_means(np.dot)
def _dot(a, b):
    return f.as_array(a).dot(b)


@_means(np.vdot)
def _vdot(a, b):
    return f.as_array(a).ravel().dot(f.as_array(b).ravel())


@_means(np.inner)
def _inner(a, b):
    a, b = f.as_array(a), f.as_array(b)
    return a.dot(b.T if b.ndim == 2 else b)


@_means(*_newer("linalg.matmul"))
def _matmul(x1, x2):
    return _native.matmul(x1, x2)


@_means(*_newer("linalg.vecdot"))
def _vecdot(x1, x2, *, axis=-1):
    return (f.as_array(x1) * f.as_array(x2)).sum(axis)


@_means(np.tensordot, *_newer("linalg.tensordot"))
def _tensordot(a, b, axes=2):
    a, b = f.as_array(a), f.as_array(b)
    if axes == 0 and a.ndim == b.ndim == 1:
        return _outer(a, b)
    if axes == 1 and a.ndim and b.ndim:
        return a.dot(b)
    if axes == 2 and a.ndim == b.ndim == 2:
        return (a * b).sum()
    raise _unsupported("tensordot", "along these axes")


@_means(np.outer, *_newer("linalg.outer"))
def _outer(a, b):
    return f.as_array(a).ravel()[:, None] * f.as_array(b).ravel()[None, :]


@_means(np.trace, *_newer("linalg.trace"))
def _trace(a):
    return _diag(a).sum()


@_means(np.diag, np.diagonal, *_newer("linalg.diagonal"))
def _diag(v):
    if v.ndim == 2 and not v._is_traced:
        v = v[: v.shape[1], : v.shape[0]]
    return f.diag(v)


@_means(np.transpose, *_newer("matrix_transpose", "linalg.matrix_transpose"))
def _transpose(a, axes=None):
    if axes is None:
        return a.T
    if len(axes) != a.ndim:
        raise ValueError("axes don't match array")
    return a if f.positions_of(axes, a.ndim) == list(range(a.ndim)) else a.T


@_means(np.swapaxes)
def _swapaxes(a, axis1, axis2):
    return a.T if f.position_of(axis1, a.ndim) != f.position_of(axis2, a.ndim) else a


@_means(np.moveaxis)
def _moveaxis(a, source, destination):
    source, destination = f.positions_of(source, a.ndim), f.positions_of(destination, a.ndim)
    if len(source) != len(destination):
        raise ValueError("moveaxis: as many sources as destinations")
    return a.T if source != destination else a


@_means(np.reshape)
def _reshape(a, shape, *, copy=None):
    return a.reshape(shape)


@_means(np.ravel)
def _ravel(a):
    return a.ravel()


@_means(np.squeeze)
def _squeeze(a, axis=None):
    axes = range(a.ndim) if axis is None else f.positions_of(axis, a.ndim)
    if axis is not None and any(a.shape[position] != 1 for position in axes):
        raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    return a.reshape(tuple(extent for position, extent in enumerate(a.shape) if extent != 1 or position not in axes))


@_means(np.expand_dims)
def _expand_dims(a, axis):
    position = f.position_of(axis, a.ndim + 1)
    if a.ndim == 2:
        raise ValueError("arrays have at most two dimensions")
    return a[None] if position == 0 else a[..., None]


@_means(np.atleast_1d)
def _atleast_1d(a):
    return a if a.ndim else a.reshape((1,))


@_means(np.atleast_2d)
def _atleast_2d(a):
    return a if a.ndim == 2 else a.reshape((1, -1))


@_means(np.concatenate)
def _concatenate(arrays, axis=0):
    if axis is None:
        return f.concatenate([f.as_array(x).ravel() for x in arrays], 0)
    return f.concatenate(arrays, axis)


_means(np.vstack)(lambda tup: f.vstack(tup))
_means(np.hstack)(lambda tup: f.hstack(tup))
_means(np.column_stack)(lambda tup: f.stack_columns(tup))


@_means(np.stack)
def _stack(arrays, axis=0):
    arrays = [f.as_array(x) for x in arrays]
    position = f.position_of(axis, arrays[0].ndim + 1)
    if not arrays[0].ndim:
        return f.concatenate([x.reshape((1,)) for x in arrays], 0)
    if arrays[0].ndim == 2:
        raise ValueError("a stack of matrices has three dimensions: arrays have at most two")
    stacked = f.concatenate([x[:, None] for x in arrays], 1)
    return stacked if position == 1 else stacked.T


@_means(*_newer("unstack"))
def _unstack(x, /, *, axis=0):
    x = x if f.position_of(axis, x.ndim) == 0 else x.T
    return tuple(x[position] for position in range(x.shape[0]))


@_means(np.roll)
def _roll(a, shift, axis=None):
    if axis is None:
        return _roll(a.ravel(), shift, 0).reshape(a.shape)
    for distance, axis in np.broadcast(shift, axis):
        position = f.position_of(axis, a.ndim)
        start = -distance % max(a.shape[position], 1)
        parts = (slice(start, None), slice(start))
        a = f.concatenate([a[part] if position == 0 else a[:, part] for part in parts], position)
    return a


@_means(np.repeat)
def _repeat(a, repeats, axis=None):
    a = a if axis is not None else a.ravel()
    axis = f.position_of(axis or 0, a.ndim)
    return _take(a, np.repeat(np.arange(a.shape[axis]), np.asarray(repeats)), axis)


@_means(np.tile)
def _tile(A, reps):
    reps = tuple(np.atleast_1d(reps))
    if len(reps) > 2 or not A.ndim:
        raise _unsupported("tile", "to more than two dimensions" if A.ndim else "for a scalar")
    A = A[None] if len(reps) > A.ndim else A
    reps = (1,) * (A.ndim - len(reps)) + reps
    for axis, count in enumerate(reps):
        A = _take(A, np.tile(np.arange(A.shape[axis]), count), axis)
    return A


@_means(np.broadcast_to)
def _broadcast_to(array, shape):
    array, shape = f.as_array(array), tuple(np.atleast_1d(shape))
    if np.broadcast_shapes(array.shape, shape) != shape:
        raise ValueError(f"an array of the shape {array.shape} is not broadcast to {shape}")
    return _native.where(f.full(shape, True), array, array)


@_means(np.broadcast_arrays)
def _broadcast_arrays(*args):
    shape = np.broadcast_shapes(*(x.shape for x in args))
    return tuple(_broadcast_to(x, shape) for x in args)


@_means(np.append)
def _append(arr, values, axis=None):
    return _concatenate([arr, f.as_array(values)], axis)


@_means(np.flip)
def _flip(m, axis=None):
    axes = range(m.ndim) if axis is None else f.positions_of(axis, m.ndim)
    for position in axes:
        m = m[::-1] if position == 0 else m[:, ::-1]
    return m


_means(np.flipud)(lambda m: m[::-1])
_means(np.fliplr)(lambda m: m[:, ::-1])


@_means(np.tril)
def _tril(m, k=0):
    return _native.where(np.tri(*m.shape, k=k, dtype=bool), m, 0)


@_means(np.triu)
def _triu(m, k=0):
    return _native.where(np.tri(*m.shape, k=k - 1, dtype=bool), 0, m)


@_means(np.take)
def _take(a, indices, axis=None):
    if axis is None:
        return a.ravel()[indices]
    return a[indices] if f.position_of(axis, a.ndim) == 0 else a[:, indices]


@_means(np.compress)
def _compress(condition, a, axis=None):
    return _take(a, np.flatnonzero(np.asarray(condition)), axis)


@_means(np.zeros_like)
def _zeros_like(a, dtype=None):
    return f.zeros_like(a) if dtype is None else f.zeros_like(a).astype(dtype)


@_means(np.ones_like)
def _ones_like(a, dtype=None):
    return f.ones_like(a) if dtype is None else f.ones_like(a).astype(dtype)


@_means(np.full_like)
def _full_like(a, fill_value, dtype=None):
    return f.full_like(a, fill_value) if dtype is None else f.full_like(a, fill_value).astype(dtype)


@_means(np.empty_like)
def _empty_like(prototype, dtype=None):
    return _zeros_like(prototype, dtype)


@_means(*_newer("astype"))
def _astype(x, dtype, /, *, copy=True):
    return x.astype(dtype)


@_means(np.copy)
def _copy(a):
    return +a


@_means(np.shape)
def _shape(a):
    return a.shape


@_means(np.ndim)
def _ndim(a):
    return a.ndim


@_means(np.size)
def _size(a, axis=None):
    return a.size if axis is None else a.shape[f.position_of(axis, a.ndim)]


@_means(np.real)
def _real(val):
    return val


@_means(np.imag)
def _imag(val):
    return f.zeros_like(val)


@_means(np.isclose)
def _isclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    a, b = f.as_array(a), f.as_array(b)
    close = (f.abs(a - b) <= atol + rtol * f.abs(b)) & f.isfinite(b) | (a == b)
    return close | (f.isnan(a) & f.isnan(b)) if equal_nan else close


@_means(np.allclose)
def _allclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    return bool(_isclose(a, b, rtol, atol, equal_nan).all())


@_means(np.array_equal)
def _array_equal(a1, a2, equal_nan=False):
    a1, a2 = f.as_array(a1), f.as_array(a2)
    if a1.shape != a2.shape:
        return False
    same = a1 == a2
    return bool((same | (f.isnan(a1) & f.isnan(a2)) if equal_nan else same).all())


@_means(np.cov)
def _cov(m, rowvar=True, *, ddof=None):
    m = f.as_array(m)
    m = m.T if rowvar and m.ndim == 2 else m if m.ndim == 2 else m[:, None]
    centred = m - m.mean(axis=0)
    result = centred.T @ centred / (m.shape[0] - (1 if ddof is None else ddof))
    return result if result.shape != (1, 1) else result.reshape(())


@_means(np.result_type)
def _result_type(*arrays_and_dtypes):
    return np.result_type(*[x.dtype if isinstance(x, Array) else x for x in arrays_and_dtypes])


_means(np.linalg.solve)(lambda a, b: linalg.solve(a, b))
_means(np.linalg.inv)(lambda a: linalg.inv(a))
_means(np.linalg.det)(lambda a: linalg.det(a))
_means(np.linalg.cholesky)(lambda a: linalg.cholesky(a))
_means(np.linalg.eigh)(lambda a: linalg.eigh(a))


_means(np.linalg.eigvalsh)(lambda a: linalg.eigh(a)[0])
_means(*_newer("linalg.svdvals"))(lambda x: linalg.svd(x)[1])


@_means(np.linalg.norm)
def _norm(x, ord=None, axis=None, keepdims=False):
    return linalg.norm(x, ord, axis, keepdims)


@_means(*_newer("linalg.vector_norm"))
def _vector_norm(x, /, *, axis=None, keepdims=False, ord=2):
    if axis is None and x.ndim == 2:
        norm = linalg.norm(x.ravel(), ord)
        return norm.reshape((1, 1)) if keepdims else norm
    return linalg.norm(x, ord, axis, keepdims)


@_means(*_newer("linalg.matrix_norm"))
def _matrix_norm(x, /, *, keepdims=False, ord="fro"):
    norm = linalg.norm(x, ord)
    return norm.reshape((1, 1)) if keepdims else norm


@_means(np.linalg.matrix_power)
def _matrix_power(a, n):
    if n < 0:
        return _matrix_power(linalg.inv(a), -n)
    # The binary digits of the exponent, the highest first, say where to square and where to multiply.
    power = None
    for digit in f"{n:b}":
        power = None if power is None else power @ power
        if digit == "1":
            power = a if power is None else power @ a
    return f.eye(a.shape[0]).astype(a.dtype) if power is None else power


@_means(np.nansum)
def _nansum(a, axis=None, *, keepdims=False):
    return (a if a.dtype.kind != "f" else _native.where(f.isnan(a), 0.0, a)).sum(axis, keepdims=keepdims)


@_means(np.nanmean)
def _nanmean(a, axis=None, *, keepdims=False):
    count = (~f.isnan(a)).sum(axis, keepdims=keepdims)
    return _nansum(a, axis, keepdims=keepdims) / count


@_means(np.nanmax)
def _nanmax(a, axis=None, *, keepdims=False):
    return _nanextreme(a, axis, keepdims, "max", float("-inf"))


@_means(np.nanmin)
def _nanmin(a, axis=None, *, keepdims=False):
    return _nanextreme(a, axis, keepdims, "min", float("inf"))


def _nanextreme(a, axis, keepdims, name, neutral):
    """An extreme of the numbers among cells; NaN where there is none."""
    is_number = ~f.isnan(a)
    extreme = getattr(_native.where(is_number, a, neutral), name)(axis, keepdims=keepdims)
    return _native.where(is_number.any(axis, keepdims=keepdims), extreme, float("nan"))
