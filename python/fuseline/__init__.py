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

import importlib as _importlib

from . import _native
from ._functions import (
    abs,
    arange,
    cbind,
    concatenate,
    diag,
    eye,
    full,
    full_like,
    hstack,
    linspace,
    maximum,
    minimum,
    ones,
    ones_like,
    power,
    rand,
    randn,
    rbind,
    read,
    stack_columns,
    vstack,
    zeros,
    zeros_like,
)
from ._functions import *  # noqa: F403 - the element-wise functions, which a table makes
from ._jit import fori_loop, jit, while_loop
from ._look import Explanation, explain, options, stats
from ._native import Array, CompileError, ExecutionError, compute, matrix, where
from ._scripts import dml, script
from . import lib, linalg

__version__ = _native.__version__


def _restore(value):
    """An array of a value that was pickled."""
    return matrix(value)


def _restore_jit(module, name):
    """A compiled function, by the name that it has in its module."""
    found = _importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found
