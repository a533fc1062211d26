"""Functions that are compiled, and loops that depend on data."""

from __future__ import annotations

import functools
from typing import Any, Callable, TypeVar

from . import _native

F = TypeVar("F", bound=Callable[..., Any])


def jit(function: F) -> F:
    """Compiles a function of arrays.

    The function is traced once for each combination of types and numbers of dimensions, with arrays that have no values
    yet, and then runs as one compiled program; other numbers of rows compile nothing. Arguments may be arrays of NumPy,
    matrices of SciPy, :class:`Array` and numbers, also in tuples, lists and dictionaries; other objects are part of what
    the trace is for, and are told apart by ``==``. What else the function reads, attributes of an object and variables
    outside of it, is what it was when the function was traced.

    >>> import fuseline as fl, numpy as np
    >>> @fl.jit
    ... def loss(X, w, y):
    ...     return ((X @ w - y) ** 2).sum()
    >>> float(loss(np.eye(2), np.array([1.0, 2.0]), np.zeros(2)))
    5.0
    """
    return functools.update_wrapper(_native.Jit(function), function)  # type: ignore[return-value]


def _refuse_within_jit(value: Any) -> None:
    """Loops run outside of compiled functions: what is traced has no values to decide by."""
    values = value if isinstance(value, (tuple, list)) else [value]
    if any(isinstance(x, _native.Array) and x._is_traced for x in values):
        raise TypeError(
            "fl.while_loop and fl.fori_loop run outside of functions under fl.jit: call them from a function that is not "
            "compiled (their bodies are compiled, too)"
        )


def while_loop(condition: Callable[[Any], Any], body: Callable[[Any], Any], initial: Any) -> Any:
    """Applies ``body`` to a value, or a tuple of values, as long as ``condition`` holds of it.

    Both are compiled. The loop itself runs outside of compiled functions.
    """
    _refuse_within_jit(initial)
    step, holds = jit(body), jit(condition)
    value = initial
    while bool(holds(value)):
        value = step(value)
    return value


def fori_loop(start: int, stop: int, body: Callable[[int, Any], Any], initial: Any) -> Any:
    """Applies ``body`` to each number from ``start`` to before ``stop`` and a value, or a tuple of values.

    The body is compiled. The loop itself runs outside of compiled functions.
    """
    _refuse_within_jit(initial)
    step = jit(body)
    value = initial
    for i in range(start, stop):
        value = step(i, value)
    return value
