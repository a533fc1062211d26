"""Fuseline: linear algebra, fused and compiled.

An :class:`Array` is built of arrays of NumPy and matrices of SciPy with operators and functions as NumPy has them, and
is computed when its value is asked for: all operators of an expression together, fused by cost and compiled, over dense
and sparse data.

>>> import fuseline as fl
>>> import numpy as np
>>> X = fl.matrix(np.arange(6.0).reshape(3, 2))
>>> centred = X - X.mean(axis=0)
>>> (centred.T @ centred / len(X)).numpy()
array([[2.66666667, 2.66666667],
       [2.66666667, 2.66666667]])
"""

from __future__ import annotations

import contextlib as _contextlib
import importlib as _importlib
from typing import Any

from . import _native
from ._functions import (
    abs,
    absolute,
    add,
    arange,
    arccos,
    arcsin,
    arctan,
    bitwise_and,
    bitwise_or,
    bitwise_xor,
    cbind,
    ceil,
    concatenate,
    copysign,
    cos,
    cosh,
    deg2rad,
    diag,
    divide,
    equal,
    erf,
    exp,
    exp2,
    expm1,
    eye,
    fabs,
    floor,
    floor_divide,
    fmax,
    fmin,
    full,
    full_like,
    greater,
    greater_equal,
    heaviside,
    hstack,
    hypot,
    invert,
    isfinite,
    isinf,
    isnan,
    left_shift,
    less,
    less_equal,
    linspace,
    log,
    log10,
    log1p,
    log2,
    log_nonzero,
    logaddexp,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    maximum,
    minimum,
    multiply,
    negative,
    normal_cdf,
    not_equal,
    ones,
    ones_like,
    positive,
    power,
    rad2deg,
    rand,
    randn,
    rbind,
    read,
    reciprocal,
    remainder,
    right_shift,
    rint,
    sigmoid,
    sign,
    sin,
    sinh,
    sqrt,
    square,
    stack_columns,
    subtract,
    tan,
    tanh,
    trunc,
    vstack,
    zeros,
    zeros_like,
)
from ._jit import fori_loop, jit, while_loop
from ._look import Explanation, explain, stats
from ._native import Array, CompileError, ExecutionError, compute, matrix, where
from ._options import options
from ._scripts import dml, script
from . import lib, linalg

with _contextlib.suppress(ImportError):
    from . import _threadpools as _threadpools

__version__ = _native.__version__
#: Whether fused operators become machine code; without LLVM they are interpreted.
HAS_LLVM = _native.HAS_LLVM

__all__ = [
    "HAS_LLVM",
    "Array",
    "CompileError",
    "ExecutionError",
    "Explanation",
    "abs",
    "absolute",
    "add",
    "arange",
    "arccos",
    "arcsin",
    "arctan",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "cbind",
    "ceil",
    "compute",
    "concatenate",
    "copysign",
    "cos",
    "cosh",
    "deg2rad",
    "diag",
    "divide",
    "dml",
    "equal",
    "erf",
    "exp",
    "exp2",
    "explain",
    "expm1",
    "eye",
    "fabs",
    "floor",
    "floor_divide",
    "fmax",
    "fmin",
    "fori_loop",
    "full",
    "full_like",
    "greater",
    "greater_equal",
    "heaviside",
    "hstack",
    "hypot",
    "invert",
    "isfinite",
    "isinf",
    "isnan",
    "jit",
    "left_shift",
    "less",
    "less_equal",
    "lib",
    "linalg",
    "linspace",
    "log",
    "log10",
    "log1p",
    "log2",
    "log_nonzero",
    "logaddexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "matrix",
    "maximum",
    "minimum",
    "multiply",
    "negative",
    "normal_cdf",
    "not_equal",
    "ones",
    "ones_like",
    "options",
    "positive",
    "power",
    "rad2deg",
    "rand",
    "randn",
    "rbind",
    "read",
    "reciprocal",
    "remainder",
    "right_shift",
    "rint",
    "script",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "stack_columns",
    "stats",
    "subtract",
    "tan",
    "tanh",
    "trunc",
    "vstack",
    "where",
    "while_loop",
    "zeros",
    "zeros_like",
]


def _restore(value: Any) -> Array:
    """An array of a value that was pickled."""
    return matrix(value)


def _restore_jit(module: str, name: str) -> Any:
    """A compiled function, by the name that it has in its module."""
    found: Any = _importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found
