"""What an array is captured as: layouts, types, and the bytes that are copied for them."""

import operator

import numpy as np
import pytest
import scipy.sparse as sp

import fuseline as fl


def copied(make):
    """What capturing gives, and the bytes that it copied."""
    before = fl.stats()["copied_bytes"]
    array = make()
    return array, fl.stats()["copied_bytes"] - before


def base(rows=40, cols=30, dtype="float64"):
    return (np.arange(rows * cols).reshape(rows, cols) % 7 - 3).astype(dtype)


def unaligned(a):
    raw = np.empty(a.nbytes + 1, dtype=np.uint8)
    view = raw[1:].view(a.dtype).reshape(a.shape)
    view[...] = a
    return view


def read_only(a):
    a = a.copy()
    a.flags.writeable = False
    return a


CELLS = 40 * 30
DENSE = {
    "C order": (lambda a: a, 0),
    "read-only": (read_only, 0),
    "rows of an array": (lambda a: np.vstack([a, a])[40:], 0),
    "Fortran order": (np.asfortranarray, 0),
    "transposed": (lambda a: np.ascontiguousarray(a.T).T, 0),
    "columns with gaps": (lambda a: np.repeat(a, 2, axis=1)[:, ::2], 8 * CELLS),
    "negative stride": (lambda a: a[::-1].copy()[::-1], 8 * CELLS),
    "unaligned": (unaligned, 8 * CELLS),
    "big-endian": (lambda a: a.astype(">f8"), 8 * CELLS),
    "repeated by broadcasting": (lambda a: np.broadcast_to(a[:1], a.shape), 8 * CELLS),
}


@pytest.mark.thread_unsafe(reason="it counts what the whole process copies")
@pytest.mark.parametrize("layout", DENSE)
def test_dense_layouts(layout):
    change, bytes_expected = DENSE[layout]
    a = change(base())
    x, bytes_copied = copied(lambda: fl.matrix(a))
    assert bytes_copied == bytes_expected
    np.testing.assert_array_equal((x + 1).numpy(), a + 1)
    np.testing.assert_array_equal(x.numpy(), a)


@pytest.mark.thread_unsafe(reason="it counts what the whole process copies")
@pytest.mark.parametrize("layout", ["C order", "columns with gaps", "negative stride"])
def test_vectors(layout):
    a = np.arange(10.0)
    a = {"C order": a, "columns with gaps": np.repeat(a, 2)[::2], "negative stride": a[::-1]}[layout]
    x, bytes_copied = copied(lambda: fl.matrix(a))
    assert bytes_copied == (0 if layout == "C order" else 80)
    assert x.shape == (10,)
    np.testing.assert_array_equal(x.numpy(), a)


DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64"]


@pytest.mark.thread_unsafe(reason="it counts what the whole process copies")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("rows", [40, 30_000])
def test_types(dtype, rows):
    a = np.abs(base(rows, dtype="float64")).astype(dtype)
    x, bytes_copied = copied(lambda: fl.matrix(a))
    assert x.dtype == a.dtype
    narrow = rows > 40 and dtype in ("bool", "int32", "uint8", "float32")
    expected = 0 if dtype == "float64" else a.nbytes if narrow else 8 * a.size
    assert bytes_copied == expected
    result = (x * 2).compute()
    assert result.dtype == (a * 2).dtype
    np.testing.assert_array_equal(result, a * 2)
    np.testing.assert_array_equal(x.sum(axis=0).numpy(), a.sum(axis=0))


@pytest.mark.parametrize(
    "a",
    [
        np.zeros((2, 2), complex),
        np.array(["a", "b"]),
        np.array([object()]),
        np.array(["2020-01-01"], "datetime64[D]"),
        np.zeros(3, "float16"),
        np.zeros(3, [("x", float)]),
    ],
)
def test_types_that_are_refused(a):
    with pytest.raises(TypeError, match="not supported"):
        fl.matrix(a)


@pytest.mark.parametrize("shape", [(2, 2, 2), (1, 1, 1, 1)])
def test_more_dimensions_are_refused(shape):
    with pytest.raises(ValueError, match="dimensions"):
        fl.matrix(np.zeros(shape))


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (0, 0), (1,), (1, 1)])
def test_few_cells(shape):
    a = np.ones(shape)
    x = fl.matrix(a)
    assert x.shape == shape and len(x) == shape[0]
    np.testing.assert_array_equal((x + 1).numpy(), a + 1)
    assert float(x.sum()) == a.sum()


@pytest.mark.parametrize("value", [3, 2.5, True, np.float32(1.5), np.int8(3), np.bool_(True), np.array(2.5)])
def test_scalars(value):
    x = fl.matrix(value)
    assert x.shape == () and x.dtype == np.asarray(value).dtype
    result = x.compute()
    assert result == value and isinstance(result, np.generic)


def sparse(dtype="float64"):
    return sp.random_array((50, 40), density=0.1, format="csr", rng=7).astype(dtype)


def with_int64(s):
    s = s.copy()
    s.indices, s.indptr = s.indices.astype("int64"), s.indptr.astype("int64")
    return s


def unsorted(s):
    s = s.copy()
    for row in range(s.shape[0]):
        part = slice(s.indptr[row], s.indptr[row + 1])
        s.indices[part], s.data[part] = s.indices[part][::-1].copy(), s.data[part][::-1].copy()
    s.has_sorted_indices = False
    s.has_canonical_format = False
    return s


def duplicated(s):
    s = s.tocoo()
    rows, cols = np.concatenate([s.row, s.row]), np.concatenate([s.col, s.col])
    order = np.argsort(rows, kind="stable")
    data = np.concatenate([s.data, s.data])[order] / 2
    offsets = np.searchsorted(rows[order], np.arange(s.shape[0] + 1))
    return sp.csr_array((data, cols[order], offsets), shape=s.shape)


def with_zeros(s):
    s = s.copy()
    s.data[::3] = 0.0
    return s


NNZ, OFFSETS = 200, 51 * 8
SPARSE = {
    "csr_array": (lambda s: s, OFFSETS),
    "csr_matrix": (sp.csr_matrix, OFFSETS),
    "int64 offsets and indices": (with_int64, OFFSETS + 4 * NNZ),
    "stored zeros": (with_zeros, OFFSETS),
    "unsorted": (unsorted, OFFSETS + 12 * NNZ),
    "duplicates": (duplicated, None),
    "csc": (lambda s: s.tocsc(), 41 * 8),
    "coo": (lambda s: s.tocoo(), OFFSETS + 12 * NNZ),
    "lil": (lambda s: s.tolil(), None),
    "dok": (lambda s: s.todok(), None),
    "dia": (lambda s: s.todia(), None),
    "float32": (lambda s: s.astype("float32"), OFFSETS + 8 * NNZ),
}


@pytest.mark.thread_unsafe(reason="it counts what the whole process copies")
@pytest.mark.parametrize("layout", SPARSE)
def test_sparse_layouts(layout):
    change, bytes_expected = SPARSE[layout]
    s = change(sparse())
    x, bytes_copied = copied(lambda: fl.matrix(s))
    if bytes_expected is not None:
        assert bytes_copied == bytes_expected
    assert x.shape == s.shape and x.dtype == s.dtype
    result = (x * 2).compute()
    assert sp.issparse(result) and result.format == "csr"
    np.testing.assert_array_equal(result.toarray(), (s * 2).toarray())
    np.testing.assert_array_equal(x.numpy(), s.toarray())


def test_invalid_sparse_matrices_are_refused():
    s = sparse()
    s.indices[3] = 1000
    with pytest.raises(ValueError):
        fl.matrix(s)


def test_results_are_the_callers():
    x = fl.matrix(base())
    y = x + 1
    first = y.numpy()
    first[0, 0] = 99.0
    assert y.numpy()[0, 0] == base()[0, 0] + 1
    view = np.asarray(y)
    assert not view.flags.writeable
    with pytest.raises(ValueError):
        view[0, 0] = 1.0


def test_what_is_captured_is_read_when_it_is_evaluated():
    a = base()
    x, snapshot = fl.matrix(a), fl.matrix(a, copy=True)
    total, total_then = x.sum(), snapshot.sum()
    before = a.sum()
    a += 1
    assert float(total) == a.sum()
    assert float(total_then) == before


def test_indices_that_change_are_found():
    s = sparse()
    x = fl.matrix(s)
    s.indices[0] = 10_000
    with pytest.raises(ValueError):
        float(x.sum())


def test_values_that_are_there_are_checked_too():
    s = sparse()
    x = fl.matrix(s)
    s.indices[0] = 10_000
    for use in (lambda: x.numpy(), lambda: x.compute(), lambda: x.scipy(), lambda: np.asarray(x)):
        with pytest.raises(ValueError):
            use()


def test_plans_of_empty_matrices_serve_these_alone():
    empty, one = sp.csr_array((3, 3)), sp.csr_array(([5.0], ([0], [1])), shape=(3, 3))
    for s in (empty, one, empty, one):
        x = fl.matrix(s)
        np.testing.assert_array_equal(x.sum(axis=1).numpy(), s.toarray().sum(axis=1))
        np.testing.assert_allclose(float(fl.log(x + 1).sum()), np.log(s.toarray() + 1).sum())
        np.testing.assert_allclose(fl.exp(x).numpy(), np.exp(s.toarray()))


def test_masked_arrays_are_refused():
    with pytest.raises(TypeError, match="filled"):
        fl.matrix(np.ma.masked_array([1.0, 2.0], [True, False]))
    masked, x = np.ma.masked_array([1.0, 2.0], [True, False]), fl.matrix([1.0, 2.0]) * 2.0
    for operation in (operator.add, operator.truediv, operator.pow, operator.lt, operator.eq):
        for operands in ((masked, x), (x, masked)):
            with pytest.raises(TypeError, match="filled"):
                operation(*operands)
    assert not x.is_computed


def test_the_owner_lives_as_long_as_the_array():
    x = fl.matrix(base().copy())
    junk = [np.ones((40, 30)) for _ in range(50)]
    assert float(x.sum()) == base().sum() and junk


def test_sparse_results_do_not_become_dense_by_accident():
    s = sp.csr_array((np.ones(2), ([0, 9999], [0, 9999])), shape=(10_000, 10_000))
    x = fl.matrix(s) * 2
    with pytest.raises(MemoryError, match=r"\.numpy\(\)"):
        np.asarray(x)
    assert x.compute().nnz == 2


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_frames_and_columns_of_others(library):
    other = pytest.importorskip(library)
    a = np.arange(6.0)
    if library == "pandas":
        assert fl.matrix(other.Series(a)).shape == (6,)
        frame = other.DataFrame({"x": a, "y": a + 1})
    elif library == "polars":
        assert float(fl.matrix(other.Series(a)).sum()) == a.sum()
        frame = other.DataFrame({"x": a, "y": a + 1})
    else:
        chunked = other.chunked_array([[1.0, None], [3.0]])
        np.testing.assert_array_equal(fl.matrix(chunked).numpy(), [1.0, np.nan, 3.0])
        return
    np.testing.assert_array_equal(fl.matrix(frame).numpy(), np.column_stack([a, a + 1]))


def test_what_lies_by_columns_is_turned_once():
    a = np.asfortranarray(base(600, 500))
    for x in (fl.matrix(a), fl.matrix(sp.csc_array(a))):
        product = (x @ np.ones(500)).sum()
        float(product)
        assert not x.is_computed, "a product reads it as it lies"
        np.testing.assert_allclose(float((x * 2 + 1).sum()), (a * 2 + 1).sum())
        assert x.is_computed
        np.testing.assert_array_equal((x + 1).numpy(), a + 1)


@pytest.mark.parametrize("dtype", ["int64", "uint64"])
def test_integers_that_doubles_do_not_hold_are_refused(dtype):
    np.testing.assert_array_equal(fl.matrix(np.array([2**53, 7], dtype)).numpy(), [2**53, 7])
    with pytest.raises(ValueError, match=r"2\*\*53"):
        fl.matrix(np.array([2**53 + 1], dtype))
    with pytest.raises(ValueError, match=r"2\*\*53"):
        fl.matrix(np.ones(2)) * np.array(2**53 + 1, dtype)


def test_integers_of_python_that_their_type_does_not_hold_are_refused():
    """Beside floating point numbers, and where they are compared, integers of Python may have any size, as NumPy's may."""
    i, small, x = fl.matrix(np.array([1, 2])), fl.matrix(np.array([1, 2], "uint8")), fl.matrix(np.array([1.0, 2.0]))
    large = 2**53 + 1
    for refused in (
        lambda: i + large,
        lambda: -large * i,
        lambda: i % large,
        lambda: (i > 1) * large,
        lambda: np.maximum(i, large),
        lambda: fl.where(i > 1, i, large),
        lambda: fl.full(2, large),
        lambda: fl.matrix(large),
        lambda: fl.matrix([large, 1]),
        lambda: fl.jit(lambda n: n + 1)(large),
        lambda: fl.while_loop(lambda n: n < 5, lambda n: n + 1, large),
        lambda: i + 2**70,
    ):
        with pytest.raises(ValueError, match=r"2\*\*53.*float\(n\)"):
            refused()
    for refused in (lambda: small + 256, lambda: small * -1, lambda: 300 // small, lambda: fl.where(small > 1, small, 300)):
        with pytest.raises(OverflowError, match="Python integer -?[0-9]+ out of bounds for uint8"):
            refused()
    for function in (
        lambda x: x + 2**70,
        lambda x: x.astype("float32") * large,
        lambda x: x.astype("int64") < 2**70,
        lambda x: x.astype("int64") / large,
        lambda x: x.astype("int64") * float(2**60),
        lambda x: x.astype("uint8") < 300,
        lambda x: x.astype("uint8") != -1,
        lambda x: x.astype("uint8") / 300,
        lambda x: x.astype("uint8").clip(0, 300),
        lambda x: x.astype("int64").clip(-(2**60), 2**60),
        lambda x: (x > 1) + 300,
        lambda x: x.astype("int64") + 2**52,
    ):
        result, expected = function(x), function(x.numpy())
        assert result.dtype == expected.dtype
        np.testing.assert_array_equal(result.numpy(), expected)


def test_lists_and_what_is_no_array():
    np.testing.assert_array_equal(fl.matrix([[1, 2], [3, 4]]).numpy(), [[1, 2], [3, 4]])
    for value in (None, "text", {1: 2}, object()):
        with pytest.raises(TypeError):
            fl.matrix(value)
