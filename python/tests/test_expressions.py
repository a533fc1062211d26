"""Shapes, types and values of expressions, beside those of NumPy."""

import itertools
import operator

import numpy as np
import pytest
import scipy.sparse as sp

import fuseline as fl

ARITHMETIC = [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow]
COMPARISONS = [operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge]


def same(result, expected):
    """Checks shape, type and values."""
    assert isinstance(result, fl.Array), type(result)
    expected = np.asarray(expected)
    assert result.shape == expected.shape
    assert result.dtype == expected.dtype
    tolerance = 1e-6 if expected.dtype == np.float32 else 1e-13
    np.testing.assert_allclose(result.numpy(), expected, rtol=tolerance, atol=tolerance, equal_nan=True)


SHAPES = [(), (1,), (4,), (1, 1), (1, 4), (3, 1), (3, 4)]


def cells(shape, seed=0):
    return np.random.default_rng(seed).uniform(0.5, 3, shape)


@pytest.mark.parametrize("left", SHAPES)
@pytest.mark.parametrize("right", SHAPES)
@pytest.mark.parametrize("op", ARITHMETIC + COMPARISONS)
def test_broadcasting(op, left, right):
    a, b = cells(left, 1), cells(right, 2)
    expected = op(a, b)
    same(op(fl.matrix(a), fl.matrix(b)), expected)
    if isinstance(a, np.ndarray):
        same(op(a, fl.matrix(b)), expected)
    same(op(fl.matrix(a), b), expected)


@pytest.mark.parametrize("left, right", [((3,), (4,)), ((3, 4), (3,)), ((3, 4), (4, 3)), ((2, 4), (3, 4))])
def test_shapes_that_do_not_fit(left, right):
    with pytest.raises(ValueError) as caught:
        fl.matrix(cells(left)) + fl.matrix(cells(right))
    message = str(caught.value)
    assert str(left) in message and str(right) in message
    assert "test_expressions.py" in message


PRODUCTS = [
    ((3, 4), (4, 2)),
    ((3, 4), (4,)),
    ((3,), (3, 4)),
    ((3,), (3,)),
    ((1, 4), (4, 1)),
    ((0, 4), (4, 2)),
    ((3, 0), (0, 2)),
]


@pytest.mark.parametrize("left, right", PRODUCTS)
def test_products(left, right):
    a, b = cells(left, 1), cells(right, 2)
    expected = a @ b
    same(fl.matrix(a) @ fl.matrix(b), expected)
    same(a @ fl.matrix(b), expected)
    same(fl.matrix(a) @ b, expected)
    same(np.matmul(fl.matrix(a), b), expected)
    same(fl.matrix(a).dot(b), np.dot(a, b))


def test_products_that_do_not_fit():
    with pytest.raises(ValueError) as caught:
        fl.matrix(cells((3, 4))) @ cells((3,))
    assert "(3, 4)" in str(caught.value) and "(3,)" in str(caught.value)


TYPES = ["bool", "int8", "uint8", "int32", "uint32", "int64", "uint64", "float32", "float64"]


@pytest.mark.parametrize("left, right", list(itertools.product(TYPES, TYPES)))
@pytest.mark.parametrize("op", [operator.add, operator.mul, operator.truediv, operator.lt])
def test_types_of_results(op, left, right):
    a, b = np.ones(3, left), np.ones(3, right)
    same(op(fl.matrix(a), fl.matrix(b)), op(a, b))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("number", [True, 2, 2.5, np.float32(2), np.int64(2)])
@pytest.mark.parametrize("op", [operator.add, operator.mul, operator.truediv])
def test_types_with_numbers(op, dtype, number):
    a = np.ones(3, dtype)
    same(op(fl.matrix(a), number), op(a, number))
    same(op(number, fl.matrix(a)), op(number, a))


def test_truth_values():
    a, b = np.array([True, True, False]), np.array([True, False, False])
    x, y = fl.matrix(a), fl.matrix(b)
    for op in (operator.and_, operator.or_, operator.xor, operator.add, operator.mul):
        same(op(x, y), op(a, b))
    same(~x, ~a)
    for wrong in (lambda: x - y, lambda: -x):
        with pytest.raises(TypeError):
            wrong()


def test_negative_powers_of_integers_are_refused():
    for call in (lambda i: i**-1, lambda i: i ** np.int64(-2), lambda i: np.power(i, -1)):
        for i in (np.array([1, 2]), fl.matrix([1, 2])):
            with pytest.raises(ValueError, match="[Ii]ntegers .*negative integer powers"):
                call(i)
    same(fl.matrix([1, 2]) ** -1.0, np.array([1.0, 0.5]))


def test_bits():
    a, b = np.array([5, 6, -7]), np.array([3, 1, 2])
    x, y = fl.matrix(a), fl.matrix(b)
    for op in (operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift):
        same(op(x, y), op(a, b))
    same(~x, ~a)
    with pytest.raises(TypeError):
        x.astype(float) & 1


REDUCTIONS = ["sum", "prod", "mean", "var", "std", "min", "max", "argmin", "argmax", "any", "all"]


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("shape", [(5,), (1,), (3, 4), (1, 4), (3, 1), (1, 1)])
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "bool"])
def test_reductions(name, shape, keepdims, dtype):
    a = (cells(shape) * 2 - 3).round().astype(dtype)
    for axis in [None, *range(-len(shape), len(shape))]:
        expected = getattr(np, name)(a, axis=axis, keepdims=keepdims)
        same(getattr(fl.matrix(a), name)(axis=axis, keepdims=keepdims), expected)
        same(getattr(np, name)(fl.matrix(a), axis=axis, keepdims=keepdims), expected)


def test_axes_that_are_not_there():
    with pytest.raises(np.exceptions.AxisError, match="axis 2 is out of bounds for array of dimension 2"):
        fl.matrix(cells((3, 4))).sum(axis=2)
    with pytest.raises(np.exceptions.AxisError, match="axis -2 is out of bounds for array of dimension 1"):
        fl.matrix(cells(3)).cumsum(axis=-2)
    with pytest.raises(ValueError, match="axis -1 is given twice"):
        fl.matrix(cells((3, 4))).sum(axis=(1, -1))
    for axes in ([0, 1], 1.0, "0"):
        with pytest.raises(TypeError):
            fl.matrix(cells((3, 4))).sum(axis=axes)
    with pytest.raises(TypeError):
        fl.matrix(cells((3, 4))).argmax(axis=(0, 1))


def test_variances_of_too_few_cells():
    x = fl.matrix(cells(3))
    for ddof in (3, 4):
        with pytest.warns(RuntimeWarning, match="Degrees of freedom") as warned:
            same(x.var(ddof=ddof), np.float64(np.inf))
        assert warned[0].filename == __file__
    with pytest.warns(RuntimeWarning, match="Degrees of freedom"):
        same(np.std(x[:1], ddof=1), np.float64(np.nan))


def test_variances_of_samples():
    a = cells((7, 3))
    for axis in (None, 0, 1):
        same(fl.matrix(a).var(axis=axis, ddof=1), a.var(axis=axis, ddof=1))


def test_sums_of_nothing():
    a = np.zeros((0, 3))
    same(fl.matrix(a).sum(axis=0), a.sum(axis=0))
    assert float(fl.matrix(a).sum()) == 0.0
    with pytest.raises(ValueError):
        fl.matrix(a).max(axis=0)


@pytest.mark.parametrize("shape", [(5,), (3, 4)])
def test_cumulative(shape):
    a = cells(shape)
    for axis in [None, *range(len(shape))]:
        same(fl.matrix(a).cumsum(axis), a.cumsum(axis))
        same(np.cumprod(fl.matrix(a), axis=axis), a.cumprod(axis))


KEYS = [
    0,
    -1,
    slice(None),
    slice(1, 3),
    slice(2, None),
    slice(None, -1),
    slice(None, None, -1),
    slice(None, None, 2),
    slice(3, 0, -2),
    slice(2, 2),
    slice(-100, 100),
    [0, 2],
    [-1, 0, 0],
    np.array([True, False, True, False, True]),
    Ellipsis,
    None,
    (slice(None), None),
    (None, slice(None)),
    (Ellipsis, None),
]


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_parts_of_vectors(key):
    a = np.arange(5.0)
    same(fl.matrix(a)[key], a[key])


MATRIX_KEYS = [
    0,
    -1,
    slice(1, 3),
    slice(None, None, -1),
    slice(None, None, 2),
    slice(2, 2),
    [0, 2],
    np.array([True, False, True, False, True]),
    (0, 1),
    (-1, -1),
    (slice(None), 1),
    (1, slice(None)),
    (slice(1, 3), slice(0, 2)),
    (slice(None), slice(None, None, -1)),
    (slice(None), [2, 0]),
    ([1, 0], slice(0, 2)),
    (slice(None), np.array([True, False, True])),
    (0, slice(1, 1)),
    (slice(0, 0), slice(0, 0)),
    Ellipsis,
    (Ellipsis, 1),
    (1, Ellipsis),
    (0, None),
    (slice(None), 1, None),
    (None, slice(None), 1),
]


@pytest.mark.parametrize("key", MATRIX_KEYS, ids=str)
@pytest.mark.parametrize("is_sparse", [False, True])
def test_parts_of_matrices(key, is_sparse):
    a = np.arange(15.0).reshape(5, 3)
    x = fl.matrix(sp.csr_array(a) if is_sparse else a)
    same(x[key], a[key])


def test_parts_of_three_dimensions_are_refused():
    x = fl.matrix(cells((5, 4)))
    for key in [(0, None, None, [1]), (None, [0, 1]), ([0, 1], slice(None), None), (None, None, 0)]:
        with pytest.raises(IndexError, match="3 dimensions"):
            x[key]


def test_columns_that_are_not_selected_do_not_count():
    """A product with zeros made NaN of cells beside NaN and infinities."""
    a = cells((1000, 70))
    a[7, 1], a[9, 4], a[11, 69] = np.nan, np.inf, -np.inf
    for columns in [[0, 2], [3], [2, 0, 2], [5, 6, 7, 2], list(range(60, 4, -2))]:
        for function in [
            lambda x: (x * 2)[:, columns],
            lambda x: x[:, columns] * 3,
            lambda x: x[:, columns].sum(axis=1),
            lambda x: (x[:, columns] ** 2).sum(axis=0),
        ]:
            same(fl.jit(function)(a), function(a))
            same(function(fl.matrix(a)), function(a))


def test_masks_beside_lists():
    a = cells((5, 4))
    x, mask = fl.matrix(a), np.array([True, False, True, False, True])
    same(x[x[:, 0] > 1.5, 0], a[a[:, 0] > 1.5, 0])
    same(x[mask, [0, 3, 1]], a[mask, [0, 3, 1]])
    same(x[mask, [True, True, True, False]], a[mask, [True, True, True, False]])
    with pytest.raises(IndexError, match="lists of 3 and 2 positions"):
        x[mask, [0, 1]]
    for key in ((mask[:3], [0, 1]), mask[:3], (0, mask[:3])):
        with pytest.raises(IndexError, match="a mask of 3 cells along an axis of [45]"):
            x[key]
    none = x[:, 0] > 100.0
    same(x[none, 1], a[a[:, 0] > 100.0, 1])
    same(x[none, 1:3], a[a[:, 0] > 100.0, 1:3])
    same(x[none, ::2], a[a[:, 0] > 100.0, ::2])


def test_masks():
    a = cells((5, 4))
    x = fl.matrix(a)
    same(x[x > 1.5], a[a > 1.5])
    same(x[a > 1.5], a[a > 1.5])
    same(x[x[:, 0] > 1.5], a[a[:, 0] > 1.5])
    same(x[x > 100], a[a > 100])


def test_positions_that_are_not_there():
    x = fl.matrix(cells((5, 4)))
    for key, message in [(5, "index 5 is out of bounds for axis 0 with size 5"), ((0, -5), "index -5"), ([7], "index 7")]:
        with pytest.raises(IndexError, match=message):
            x[key]
    for key in [(0, 0, 0), "a", 1.5, {}]:
        with pytest.raises(IndexError):
            x[key]
    with pytest.raises(TypeError, match="fl.where"):
        x[0] = 1


def test_shapes():
    a = np.arange(6.0).reshape(2, 3)
    x = fl.matrix(a)
    same(x.T, a.T)
    same(x.reshape(3, 2), a.reshape(3, 2))
    same(x.reshape((6,)), a.reshape(6))
    same(x.reshape(-1, 2), a.reshape(-1, 2))
    same(x.ravel(), a.ravel())
    same(fl.matrix(np.arange(3.0)).T, np.arange(3.0))
    with pytest.raises(ValueError, match="cannot reshape"):
        x.reshape(4, 2)
    assert [row.numpy().tolist() for row in x] == a.tolist()


def test_casts():
    a = np.array([-1.7, 0.0, 2.5])
    for dtype in ("int64", "bool", "float32"):
        same(fl.matrix(a).astype(dtype), a.astype(dtype))
    assert int(fl.matrix(2.7)) == 2 and float(fl.matrix([2.5])) == 2.5
    assert bool(fl.matrix(3.0)) and not bool(fl.matrix(np.zeros((1, 1))))
    with pytest.raises(ValueError, match="ambiguous"):
        bool(fl.matrix(a))


def test_first_of_equal_extremes():
    for a in ([[1.0, 3.0, 3.0], [2.0, 2.0, 0.0]], [[np.nan, 1.0, 0.0], [1.0, np.inf, np.nan]], [[-np.inf, np.nan, 1.0]]):
        a = np.array(a)
        for axis in (None, 0, 1):
            same(fl.matrix(a).argmax(axis), a.argmax(axis))
            same(fl.matrix(a).argmin(axis), a.argmin(axis))


def test_sequences():
    for n in (0, 1, 2, 50, 99, 104):
        same(fl.linspace(0, 1, n), np.linspace(0, 1, n))
        same(fl.arange(n), np.arange(n))
    same(fl.arange(1.0, 2.0, 0.25), np.arange(1.0, 2.0, 0.25))


def test_integers_come_in_at_the_other_end():
    a, b = np.array([1, 200, 0], "u1"), np.array([2, 100, 1], "u1")
    x, y = fl.matrix(a), fl.matrix(b)
    same(x - y, a - b)
    same((x - y) > 0, (a - b) > 0)
    same(x + y, a + b)
    same(x * y, a * b)
    same(~x, ~a)
    same(-x, -a)
    same(fl.matrix(np.array([300.0, -1.0])).astype("u1") * 1.0, np.array([300, -1]).astype("u1") * 1.0)
    c = np.array([100, -100], "i1")
    same(fl.matrix(c) + fl.matrix(c), c + c)


def test_products_of_truth_values():
    a = np.array([[True, False], [True, True]])
    same(fl.matrix(a) @ fl.matrix(a), a @ a)
    same(fl.matrix(a[0]) @ a[1], a[0] @ a[1])


def test_shapes_that_data_decides():
    a, m = np.arange(4.0), np.array([True, False, True, True])
    x = fl.matrix(a)
    same(x[m][:, None] * x, a[m][:, None] * a)
    same(x - x[m][:, None], a - a[m][:, None])
    same(fl.where(x[m][:, None] > x, 1.0, 0.0), np.where(a[m][:, None] > a, 1.0, 0.0))


def test_scalars_in_the_place_of_vectors():
    a = np.array([3.0, 9.0, 1.0])
    assert float(fl.matrix(a)[fl.matrix(a).argmax()]) == 9.0
    five = fl.matrix(5.0)
    assert float(five.sum(axis=0)) == 5.0 and int(five.argmax()) == 0
    assert int(fl.matrix(np.array(1e300))) == int(1e300)
    with pytest.raises(ValueError):
        int(fl.matrix(np.array(np.nan)))
    with pytest.raises(OverflowError):
        fl.zeros((2**40, 2**40)).size


def test_rounding():
    a = np.array([-2.5, -1.5, -0.4, 0.5, 1.5, 2.5, 2.6, np.inf, np.nan])
    same(np.rint(fl.matrix(a)), np.rint(a))
    same(fl.matrix(a).round(), a.round())
    same(np.trunc(fl.matrix(a)), np.trunc(a))


def test_where():
    a, b = cells((3, 4), 1), cells((4,), 2)
    x, y = fl.matrix(a), fl.matrix(b)
    same(fl.where(x > y, x, y), np.where(a > b, a, b))
    same(fl.where(x > 1, x, 0.0), np.where(a > 1, a, 0.0))
    same(fl.where(y > 1, 1, 0), np.where(b > 1, 1, 0))
    same(fl.where(y[:, None] > 1, y, 0), np.where(b[:, None] > 1, b, 0))
    same(np.where(x > 1, x, b), np.where(a > 1, a, b))


FOREIGN = {
    "ndarray": lambda a: a,
    "list": lambda a: a.tolist(),
    "csr_array": sp.csr_array,
    "csr_matrix": sp.csr_matrix,
    "coo_array": sp.coo_array,
    "csc_array": sp.csc_array,
    "float": lambda a: 2.0,
    "int": lambda a: 2,
    "numpy scalar": lambda a: np.float64(2.0),
    "pandas": lambda a: pytest.importorskip("pandas").DataFrame(a),
    "polars": lambda a: pytest.importorskip("polars").DataFrame(a),
}


@pytest.mark.parametrize("kind", FOREIGN)
@pytest.mark.parametrize("op", [operator.add, operator.sub, operator.mul, operator.truediv, operator.matmul, operator.lt])
@pytest.mark.parametrize("is_left", [False, True])
def test_operands_of_others(kind, op, is_left):
    """Lazy and right, or a `TypeError`; never an array of objects."""
    a = cells((4, 4))
    a[a < 1] = 0
    other = FOREIGN[kind](a)
    x = fl.matrix(a + 1)
    dense = np.asarray(other.toarray() if sp.issparse(other) else other)
    # SciPy, pandas and polars do not ask what stands on the right of some of their operators.
    do_not_ask = ("csr_matrix", "csr_array", "coo_array", "csc_array", "pandas", "polars")
    try:
        result = op(other, x) if is_left else op(x, other)
    except Exception as error:
        if op is operator.matmul and dense.ndim == 0:
            return
        assert is_left and kind in do_not_ask, error
        assert isinstance(error, TypeError) or kind == "polars", error
        return
    with np.errstate(divide="ignore"):
        expected = op(dense, a + 1) if is_left else op(a + 1, dense)
    same(result, expected)


def test_objects_that_are_no_operands():
    x = fl.matrix(np.ones(3))
    for other in (None, "text", {}, object(), 1j):
        with pytest.raises(TypeError):
            x + other
        with pytest.raises(TypeError):
            other + x
    assert (x == None) is False  # noqa: E711


def test_values_are_computed_together_and_kept():
    x = fl.matrix(cells((50, 4)))
    low, high, total = x.min(), x.max(), (x * x).sum()
    assert not low.is_computed
    results = fl.compute(low, high, total)
    assert low.is_computed and high.is_computed
    a = x.numpy()
    np.testing.assert_allclose(results, [a.min(), a.max(), (a * a).sum()])


def test_an_array_that_is_written_twice_is_read_once():
    X, v = fl.matrix(np.ones((1000, 20))), np.ones(20)
    rewritten = fl.explain((X @ v).sum(), abs(X @ v).max(), stage="rewritten")
    assert rewritten.count("matmul") == 1
    S = sp.random_array((50, 20), density=0.1, format="csr", rng=1)
    assert fl.explain((X @ S.T).sum(), abs(X @ S.T).max(), stage="rewritten").count("matmul") == 1


def test_text_forms():
    x = fl.matrix(np.ones((3, 2)))
    assert repr(x) == "fuseline.Array(shape=(3, 2), dtype=float64, dense)"
    assert repr(x + 1) == "fuseline.Array(shape=(3, 2), dtype=float64, lazy)"
    assert "density 3.33e-1" in repr(fl.matrix(sp.csr_array(np.eye(3))))


def test_attributes_of_results():
    x = fl.matrix(np.arange(3))
    assert x.tolist() == [0, 1, 2] and isinstance(x.sum().item(), int)
    assert x.ndim == 1 and x.size == 3 and x.dtype == np.dtype("int64")
