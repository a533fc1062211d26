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


def while_loop(condition: Callable[[Any], Any], body: Callable[[Any], Any], initial: Any) -> Any:
    """Applies ``body`` to a value as long as ``condition`` holds of it, and gives the value that is left.

    The value is an array or a number, or a tuple, list or dictionary of such; ``body`` leaves one of the same structure.
    Both functions are called once or a few times, with arrays that have no values yet, and the loop then runs as one
    compiled program, within functions under :func:`jit`, too. The result is lazy, as all are.

    Shapes may change from iteration to iteration, numbers of dimensions may not. Types widen to what iterations leave.

    >>> import fuseline as fl
    >>> float(fl.while_loop(lambda x: x <= 1000.0, lambda x: x * 2.0, 1.0))
    1024.0
    """
    return _native.while_loop(condition, body, initial)


def fori_loop(start: Any, stop: Any, body: Callable[[Any, Any], Any], initial: Any) -> Any:
    """Applies ``body`` to each integer from ``start`` to before ``stop`` and a value, and gives the value that is left.

    Like :func:`while_loop`; ``start`` and ``stop`` may be integers that are yet to be computed.

    >>> import fuseline as fl
    >>> int(fl.fori_loop(1, 6, lambda i, product: product * i, 1))
    120
    """
    return _native.fori_loop(start, stop, body, initial)
