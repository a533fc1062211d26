"""The functions of the array API's standard beside `array-api-strict`, on vectors and matrices: lazy and right, or refused."""

import re

import numpy as np
import pytest

import fuseline as fl

strict = pytest.importorskip("array_api_strict")

_RANDOM = np.random.default_rng(7)


def _doubles(*shape):
    """Numbers of both signs, with zeros, halves and ties."""
    return _RANDOM.choice([-2.5, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.25, 2.0, 3.75], shape)


#: What the expressions below are about. All shapes are as small as tells mistakes in the order of cells.
DATA = {
    "v": _doubles(7),
    "w": _doubles(7),
    "A": _doubles(4, 7),
    "B": _doubles(4, 7),
    "row": _doubles(1, 7),
    "column": _doubles(4, 1),
    "one": np.array([[1.5]]),
    "none": np.zeros((0, 3)),
    "scalar": np.array(1.5),
    "special": np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0]),
    "positive": _RANDOM.uniform(0.1, 0.9, (4, 7)),
    "small": _RANDOM.uniform(-0.9, 0.9, (4, 7)),
    "large": _RANDOM.uniform(1.1, 9.0, (4, 7)),
    "i": _RANDOM.integers(-9, 10, 7),
    "I": _RANDOM.integers(-9, 10, (4, 7)),
    "J": _RANDOM.integers(1, 6, (4, 7)),
    "bits": _RANDOM.integers(0, 8, (4, 7)),
    "p": _RANDOM.random(7) < 0.5,
    "P": _RANDOM.random((4, 7)) < 0.5,
    "Q": _RANDOM.random((4, 7)) < 0.5,
    "f": _doubles(4, 7).astype("float32"),
    "square": _RANDOM.normal(size=(4, 4)) + 4 * np.eye(4),
    "definite": np.diag([4.0, 1.0, 2.0, 3.0]) + 0.25,
    "index": np.array([2, 0, 3, 3]),
}

_UNARY = {
    "A I P f special scalar none one row": ["abs", "negative", "positive", "sign", "square"],
    "A I f special scalar": ["ceil", "floor", "round", "trunc", "conj", "real"],
    "A I P f special none scalar": ["isfinite", "isinf", "isnan", "signbit"],
    "A f special": ["exp", "expm1", "sin", "cos", "tan", "sinh", "cosh", "tanh", "atan", "asinh", "imag"],
    "positive special": ["log", "log1p", "log2", "log10", "sqrt", "reciprocal"],
    "small": ["acos", "asin", "atanh"],
    "large": ["acosh"],
    "P p": ["logical_not"],
    "I P i": ["bitwise_invert"],
}
_BINARY = {
    "A,B A,row A,column A,scalar v,w A,v I,J P,Q f,f A,f I,A row,column special,v none,none": ["add", "multiply", "maximum"],
    "A,B A,row A,column I,J f,f I,A special,v": ["subtract", "minimum", "less", "less_equal", "greater", "greater_equal"],
    "A,B I,J P,Q A,I special,special A,row column,row": ["equal", "not_equal"],
    "A,large I,J f,f A,column special,v": ["divide", "hypot", "copysign", "atan2", "nextafter", "logaddexp"],
    "A,large I,J large,J f,positive": ["floor_divide", "remainder"],
    "large,A J,J positive,column special,v": ["pow"],
    "P,Q p,P": ["logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor"],
    "I,J bits,bits": ["bitwise_and", "bitwise_or", "bitwise_xor"],
    "J,bits": ["bitwise_left_shift", "bitwise_right_shift"],
}
_REDUCED = "A I f none v i one row".split()
_REDUCTIONS = ["sum", "prod", "mean", "max", "min", "std", "var", "all", "any", "argmax", "argmin", "count_nonzero"]
_AXES = ["", ", axis=0", ", axis=-1", ", axis=1, keepdims=True", ", axis=None, keepdims=True", ", axis=(0, 1)", ", axis=()"]


def _elementwise():
    for arrays, names in _UNARY.items():
        yield from (f"xp.{name}({array})" for name in names for array in arrays.split())
    for pairs, names in _BINARY.items():
        yield from (f"xp.{name}({pair.replace(',', ', ')})" for name in names for pair in pairs.split())


def _reductions():
    for name in _REDUCTIONS:
        for array in _REDUCED:
            for axis in _AXES:
                exists = DATA[array].ndim == 2 or "1" not in axis.replace("-1", "")
                if exists and not (name.startswith("arg") and "(" in axis):
                    yield f"xp.{name}({array}{axis})"


_OTHERS = """
xp.std(A, axis=0, correction=1)
xp.var(A, axis=1, correction=1.0, keepdims=True)
xp.var(v, correction=2)
xp.sum(P, axis=())
xp.prod(xp.astype(I, xp.int8), axis=())
xp.var(A, axis=(), correction=1)
xp.sum(scalar, axis=())
xp.var(v, correction=7)
xp.std(A, axis=0, correction=4.5)
xp.sum(P)
xp.sum(P, axis=0)
xp.prod(P, axis=1)
xp.sum(f, axis=0)
xp.all(P, axis=1)
xp.any(P, axis=0)
xp.max(special)
xp.min(special)
xp.argmax(special)
xp.all(special)
xp.any(special)
xp.cumulative_sum(v)
xp.cumulative_sum(A, axis=0)
xp.cumulative_sum(A, axis=1)
xp.cumulative_sum(I, axis=-1)
xp.cumulative_sum(A, axis=0, include_initial=True)
xp.cumulative_sum(v, include_initial=True)
xp.cumulative_prod(v)
xp.cumulative_prod(A, axis=0)
xp.cumulative_prod(A, axis=1, include_initial=True)
xp.diff(v)
xp.diff(A)
xp.diff(A, axis=0)
xp.diff(A, axis=0, n=2)
xp.diff(A, n=0)
xp.diff(I)
xp.diff(P)
xp.diff(v, prepend=w)
xp.diff(v, prepend=0.0, append=1)
xp.diff(A, prepend=scalar)
xp.diff(A, axis=0, n=2, append=0.5)
xp.diff(i, append=0.5)
xp.diff(v, n=-1)
xp.diff(A, axis=0, append=B)
xp.clip(A, -1.0, 2.0)
xp.clip(A, None, 1.0)
xp.clip(A, min=0.0)
xp.clip(A)
xp.clip(I, -2, 3)
xp.clip(A, row, None)
xp.clip(A, B, 2.0)
xp.clip(A, 2.0, -1.0)
xp.clip(special, -1.0, 1.0)
xp.astype(A, xp.int64)
xp.astype(I, xp.float64)
xp.astype(A, xp.bool)
xp.astype(P, xp.float32)
xp.astype(A, xp.float32)
xp.astype(I, xp.int32)
xp.where(P, A, B)
xp.where(P, A, 0.0)
xp.where(P, A, row)
xp.where(P, I, A)
xp.where(p, A, column)
xp.where(P, f, f)
xp.concat([A, B])
xp.concat([A, B], axis=1)
xp.concat([A, B], axis=-1)
xp.concat([A, B], axis=None)
xp.concat([v, w])
xp.concat([A, I])
xp.concat([A, row], axis=0)
xp.concat([none, none], axis=0)
xp.stack([v, w])
xp.stack([v, w], axis=1)
xp.stack([v, w], axis=-1)
xp.stack([v, w], axis=-2)
xp.stack([scalar, scalar])
xp.unstack(A)
xp.unstack(A, axis=1)
xp.unstack(v)
xp.expand_dims(v, axis=0)
xp.expand_dims(v, axis=1)
xp.expand_dims(v, axis=-1)
xp.expand_dims(v, axis=-2)
xp.expand_dims(scalar, axis=0)
xp.squeeze(row, axis=0)
xp.squeeze(column, axis=1)
xp.squeeze(column, axis=-1)
xp.squeeze(one, axis=(0, 1))
xp.squeeze(one, axis=0)
xp.flip(v)
xp.flip(A)
xp.flip(A, axis=0)
xp.flip(A, axis=-1)
xp.flip(A, axis=(0, 1))
xp.flip(I, axis=1)
xp.permute_dims(A, (1, 0))
xp.permute_dims(A, (0, 1))
xp.permute_dims(v, (0,))
xp.matrix_transpose(A)
xp.matrix_transpose(I)
xp.moveaxis(A, 0, 1)
xp.moveaxis(A, 0, 0)
xp.moveaxis(A, (0, 1), (1, 0))
xp.reshape(A, (7, 4))
xp.reshape(A, (28,))
xp.reshape(A, (-1, 2))
xp.reshape(v, (7, 1))
xp.reshape(v, (1, -1))
xp.reshape(one, ())
xp.reshape(A, (7, 4), copy=True)
xp.reshape(none, (3, 0))
xp.roll(v, 2)
xp.roll(v, -10)
xp.roll(A, 3)
xp.roll(A, 1, axis=0)
xp.roll(A, (1, 2), axis=(0, 1))
xp.repeat(v, 2)
xp.repeat(A, 3, axis=0)
xp.repeat(A, index, axis=0)
xp.tile(v, (2,))
xp.tile(A, (2, 3))
xp.tile(v, (2, 1))
xp.broadcast_to(v, (4, 7))
xp.broadcast_to(column, (4, 7))
xp.broadcast_to(scalar, (2,))
xp.broadcast_arrays(row, column)
xp.meshgrid(v, w)
xp.meshgrid(v, w, indexing="ij")
xp.tril(A)
xp.tril(A, k=1)
xp.tril(I, k=-1)
xp.triu(A)
xp.triu(A, k=-2)
xp.triu(square, k=1)
xp.zeros_like(A)
xp.zeros_like(I)
xp.zeros_like(P)
xp.zeros_like(A, dtype=xp.int64)
xp.ones_like(f)
xp.ones_like(v)
xp.ones_like(scalar)
xp.full_like(A, 2.5)
xp.full_like(I, 3)
xp.full_like(P, True)
xp.empty_like(A) * 0 + 1
xp.take(A, index, axis=0)
xp.take(A, index, axis=1)
xp.take(A, index, axis=-1)
xp.take(v, index)
xp.take(i, index)
xp.take_along_axis(A, index[:, None], axis=1)
xp.nonzero(A)
xp.searchsorted(xp.sort(v), w)
xp.isin(I, J)
xp.sort(v)
xp.sort(A)
xp.sort(A, axis=0)
xp.argsort(v)
xp.argsort(A, axis=0)
xp.unique_values(v)
xp.unique_counts(v)
xp.unique_inverse(v)
xp.unique_all(v)
xp.matmul(A, B.T)
xp.matmul(v, w)
xp.matmul(A, v)
xp.matmul(v, B.T)
xp.matmul(I, J.T)
xp.matmul(f, f.T)
xp.matmul(none.T, none)
xp.tensordot(A, B.T, axes=1)
xp.tensordot(A, B, axes=2)
xp.tensordot(v, w, axes=0)
xp.tensordot(A, B, axes=((1,), (1,)))
xp.vecdot(v, w)
xp.vecdot(A, B)
xp.vecdot(A, B, axis=0)
xp.vecdot(A, v)
xp.linalg.matmul(A, v)
xp.linalg.outer(v, w)
xp.linalg.cross(A[:, :3], B[:, :3])
xp.linalg.diagonal(square)
xp.linalg.diagonal(A)
xp.linalg.diagonal(A, offset=1)
xp.linalg.trace(square)
xp.linalg.trace(A)
xp.linalg.trace(A, offset=2)
xp.linalg.trace(I)
xp.linalg.matrix_transpose(A)
xp.linalg.tensordot(A, B, axes=2)
xp.linalg.vecdot(A, B)
xp.linalg.det(square)
xp.linalg.slogdet(square)
xp.linalg.inv(square)
xp.linalg.pinv(A)
xp.linalg.solve(square, A)
xp.linalg.solve(square, square[:, 0])
xp.linalg.cholesky(definite)
xp.linalg.cholesky(definite, upper=True)
xp.linalg.eigvalsh(definite)
xp.linalg.svdvals(A)
xp.linalg.matrix_rank(A)
xp.linalg.matrix_power(square, 3)
xp.linalg.matrix_norm(A)
xp.linalg.matrix_norm(A, ord=1)
xp.linalg.matrix_norm(A, ord=-1)
xp.linalg.matrix_norm(A, ord=xp.inf)
xp.linalg.matrix_norm(A, ord=-xp.inf)
xp.linalg.matrix_norm(A, ord=2)
xp.linalg.matrix_norm(A, ord="nuc")
xp.linalg.matrix_norm(A, keepdims=True)
xp.linalg.vector_norm(v)
xp.linalg.vector_norm(A)
xp.linalg.vector_norm(A, axis=0)
xp.linalg.vector_norm(A, axis=1, keepdims=True)
xp.linalg.vector_norm(A, ord=1)
xp.linalg.vector_norm(A, ord=xp.inf, axis=1)
xp.linalg.vector_norm(A, ord=-xp.inf, axis=1)
xp.linalg.vector_norm(A, ord=0, axis=1)
xp.linalg.vector_norm(A, ord=3.0)
xp.linalg.vector_norm(f)
A[0, 0]
A[-1, -2]
A[1]
A[-1, ...]
A[..., 2]
A[:, 3]
A[1:3]
A[::-1]
A[::-2, 1:6:3]
A[3:0:-1, :]
A[5:]
A[:, 2:2]
A[None, 1]
v[None]
v[None, :]
v[:, None]
v[..., None]
v[3]
v[-2:]
v[::-3]
v[10:]
A[index]
A[index, ...]
A[P]
v[p]
I[P]
A[index, index]
A[index, index[:1]]
A[index[:1], index]
A[index[:0], index[:0]]
A[index, index[:2]]
A[P.T]
special[None, :][index[:1], index]
A[0, None, index]
A[index, None, 0]
A[None, 0, index]
A[0, index, None]
A[None, index, 0]
A[None, 0, ..., index]
A[index, None, index]
A[index, index, None]
A[None, index, index]
A[P[:, 0], None, 2]
A[1, None, p]
A[P[:, 0], 2]
A[P[:, 0], index[:1]]
A[index[:1], None, p]
A[index[:int(xp.sum(p))], p]
A[P[:, 0], p[:4]]
v[index, None]
v[index[:, None] + index]
A[np.ix_([2, 0, 3], [1, 6])]
A[np.ix_([True, False, True, True], [1, 6])]
A[index[:, None], index]
A[index[:0, None], index]
v[None, index]
A[3::-2, ::2]
A[::2, index]
scalar[...]
scalar[..., None]
scalar[None, None]
scalar[0]
v.mT
f[1]
P[:, 0]
scalar[()]
scalar[None]
A.T
A.mT
A + 1
1 - A
I + 1
I + 1.5 if xp is not strict else xp.astype(I, xp.float64) + 1.5
I // 3
I % 3
-7 // J
-7 % J
A // 0.5
A % -0.75
I // -2
I % -2
large ** 2
large ** -1
large ** 0.5
2 ** J
2.0 ** A
J ** 2
-A
+A
~P
~I
abs(A)
P & Q
P | Q
P ^ Q
bits & 5
bits << 2
bits >> 1
A @ B.T
A @ v
v @ w
A < B
A <= 1
A == B
A != 0.5
I > J
f * 2
f + 1.5
f / 3
f ** 2
f // 1
P * True if xp is not strict else P & True
bool(scalar)
float(scalar)
int(xp.asarray(3)) if xp is strict else int(fl.matrix(np.array(3)))
len(A) if xp is not strict else A.shape[0]
xp.result_type(A, f)
xp.can_cast(I, xp.float64)
xp.isdtype(A.dtype, "real floating")
xp.broadcast_shapes((4, 1), (7,))
"""
EXPRESSIONS = sorted({*_elementwise(), *_reductions(), *filter(None, _OTHERS.split("\n"))})

_NO = r"numpy\.{name} of a fuseline\.Array is not supported"
_UNKNOWN = (
    "acosh argsort asinh atan2 atanh can_cast isin linalg.cross linalg.matrix_rank linalg.pinv linalg.slogdet meshgrid "
    "nextafter nonzero searchsorted signbit sort take_along_axis unique_all unique_counts unique_inverse unique_values"
).split()

#: Patterns of expressions that are refused, and of what is said.
REFUSED = {rf"xp\.{re.escape(name)}\(.*": None for name in _UNKNOWN} | {
    r"xp\.linalg\.cholesky\(.*upper.*": r"numpy\.cholesky .* with upper=",
    r"xp\.linalg\.(trace|diagonal)\(.*offset.*": r"numpy\.(trace|diagonal) .* with offset=",
    r"xp\.linalg\.matrix_norm\(A, ord=(2|-1|-xp\.inf|\"nuc\")\)": "the norm .* of a matrix is not supported",
    r"xp\.tensordot\(.*axes=\(\(.*": r"numpy\.tensordot .* along these axes",
}


def evaluated(expression, xp, convert):
    names = {name: convert(values) for name, values in DATA.items()}
    return eval(expression, {"xp": xp, "strict": strict, "fl": fl, "np": np} | names)


def reference(expression):
    """What the standard says, or where it says nothing NumPy; an error if that is one, too."""
    for xp in (strict, np):
        try:
            return evaluated(expression, xp, xp.asarray)
        except (TypeError, ValueError, IndexError, AttributeError) as error:
            last = error
    return last


def assert_same(found, expected):
    if isinstance(expected, (tuple, list)):
        assert len(found) == len(expected)
        for one, other in zip(found, expected):
            assert_same(one, other)
    elif isinstance(expected, np.ndarray | np.generic) or hasattr(expected, "__array_namespace__"):
        expected = np.asarray(expected)
        assert isinstance(found, fl.Array), type(found)
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
        tolerance = 1e-6 if expected.dtype == np.float32 else 1e-13
        np.testing.assert_allclose(found.numpy(), expected, rtol=10 * tolerance, atol=tolerance)
    else:
        assert str(found) == str(expected).removeprefix("array_api_strict.")


def refusal(expression):
    """The pattern of what is said of an expression that is refused."""
    for pattern, text in REFUSED.items():
        if re.fullmatch(pattern, expression):
            name = expression.split("(")[0].removeprefix("xp.").removeprefix("linalg.")
            # NumPy has two names for some functions. Where positions are searched for in what is sorted, sorting is refused.
            name = "sort" if name == "searchsorted" else getattr(getattr(np, name, None), "__name__", name)
            return text or _NO.format(name=name)
    return None


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_expressions(expression):
    expected, text = reference(expression), refusal(expression)
    if text is not None:
        with pytest.raises((TypeError, ValueError, IndexError, AttributeError), match=text):
            evaluated(expression, np, fl.matrix)
    elif isinstance(expected, Exception):
        with pytest.raises((TypeError, ValueError, IndexError)):
            evaluated(expression, np, fl.matrix)
    else:
        assert_same(evaluated(expression, np, fl.matrix), expected)


def test_all_functions_of_the_standard_are_called():
    #: What makes arrays, and what is about types or the namespace alone.
    others = {"asarray", "arange", "empty", "eye", "from_dlpack", "full", "linspace", "ones", "zeros", "finfo", "iinfo"}
    functions = {name for name in strict.__all__ if callable(getattr(strict, name)) and not isinstance(getattr(strict, name), type)}
    functions = {name for name in functions if "strict" not in name and not name.startswith("_")} - others
    called = {name for expression in EXPRESSIONS for name in re.findall(r"xp\.(\w+)\(", expression)}
    assert functions <= called, functions - called


def test_results_are_lazy():
    """Where the values of an array decide nothing, no function asks for them."""
    x = fl.matrix(DATA["A"]) * 2.0
    for expression in ("xp.roll(A, 1, axis=0)", "xp.tile(A, (2, 2))", "xp.cumulative_sum(A, axis=0)", "xp.unstack(A)[1]"):
        y = eval(expression, {"xp": np, "A": x})
        assert not x.is_computed and not y.is_computed
