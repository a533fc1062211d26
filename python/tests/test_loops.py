"""`fl.while_loop` and `fl.fori_loop`: loops that the engine runs, by themselves and within compiled functions."""

import collections

import numpy as np
import pytest
import scipy.sparse as sp

import fuseline as fl


def eager_while(condition, body, value):
    """The loop as Python runs it over arrays of NumPy."""
    while condition(value):
        value = body(value)
    return value


def test_a_loop_ends_when_the_condition_does():
    assert float(fl.while_loop(lambda x: x < 100, lambda x: x * 2, 1.0)) == 128.0
    total = fl.fori_loop(0, 10, lambda i, x: x + i, fl.matrix(np.zeros(3)))
    np.testing.assert_array_equal(total.numpy(), 45.0)


@pytest.mark.parametrize("stop", [-1, 0, 1, 7])
def test_a_loop_may_run_no_iteration(stop):
    x = np.arange(3.0)
    result = fl.fori_loop(0, stop, lambda i, x: x * 2 + i, x)
    expected = x
    for i in range(stop):
        expected = expected * 2 + i
    np.testing.assert_array_equal(result.numpy(), expected)


def test_bounds_may_be_computed():
    x = fl.matrix(np.arange(5.0))
    n = (x > 1).sum()
    assert float(fl.fori_loop(n - 2, n + 2, lambda i, total: total + i, 0.0)) == 1 + 2 + 3 + 4


def test_values_change_together():
    """Each value of an iteration is made of those before it."""
    a, b = fl.fori_loop(0, 10, lambda i, s: (s[1], s[0] + s[1]), (0, 1))
    assert (int(a), int(b)) == (55, 89)


def gradient_descent(X, y, w, lr, tolerance):
    def unsettled(state):
        return state.change > tolerance

    def step(state):
        gradient = X.T @ (X @ state.w - y)
        return State(state.w - lr * gradient, abs(gradient).sum(), state.steps + 1)

    State = collections.namedtuple("State", ["w", "change", "steps"])
    initial = State(w, np.inf, 0)
    return unsettled, step, initial


@pytest.mark.parametrize("layout", [np.ascontiguousarray, np.asfortranarray, sp.csr_array])
def test_gradient_descent_within_a_compiled_function(layout):
    generator = np.random.default_rng(1)
    X, w = generator.standard_normal((200, 7)), np.zeros(7)
    y = X @ np.arange(7.0) + 0.1 * generator.standard_normal(200)

    @fl.jit
    def fitted(X, y, w, lr, tolerance):
        return fl.while_loop(*gradient_descent(X, y, w, lr, tolerance))

    expected = eager_while(*gradient_descent(X, y, w, 1e-3, 1e-6))
    result = fitted(layout(X), y, w, 1e-3, 1e-6)
    assert type(result).__name__ == "State"
    assert int(result.steps) == expected.steps > 20
    np.testing.assert_allclose(result.w.numpy(), expected.w, rtol=1e-10)
    # Other rows, and another tolerance, compile nothing.
    rows = fitted(layout(X[:100]), y[:100], w, 1e-3, 1e-2)
    expected = eager_while(*gradient_descent(X[:100], y[:100], w, 1e-3, 1e-2))
    np.testing.assert_allclose(rows.w.numpy(), expected.w, rtol=1e-10)
    assert fitted.traces == 1


def newton_root(a):
    """Loops in a loop: the inner one halves a step that depends on the outer one's state."""

    def outer(x):
        step = (x * x - a) / (2 * x)
        damped = fl.while_loop(lambda step: abs(step) > 1.0, lambda step: step / 2, step)
        return x - damped

    return fl.while_loop(lambda x: abs(x * x - a) > 1e-12 * a, outer, a)


def newton_root_of_python(a):
    x = a
    while abs(x * x - a) > 1e-12 * a:
        step = (x * x - a) / (2 * x)
        while abs(step) > 1.0:
            step = step / 2
        x = x - step
    return x


DIAGONAL = np.diag([2.0, 4.0, 8.0])
FUNCTIONS_THAT_MAY_FAIL = {
    "median": np.median,
    "solve": lambda x: np.linalg.solve(DIAGONAL, x).sum(),
    "cholesky": lambda x: np.linalg.cholesky(DIAGONAL * (1.0 + x.sum())).sum(),
    "min": lambda x: x.min(),
}


@pytest.mark.parametrize("name", FUNCTIONS_THAT_MAY_FAIL)
@pytest.mark.parametrize("first", [0, 1])
def test_values_of_loops_that_do_not_run_are_not_read(name, first):
    """What is shared by a loop in a body and what follows it is computed in each iteration, and not only where both are."""
    function = FUNCTIONS_THAT_MAY_FAIL[name]

    def program(loop):
        def outer(i, x):
            p = function(x)
            y = loop(i, 1, lambda j, z: loop(0, first, lambda k, w: w, z + p) + p, x)
            return y + p

        return outer

    def plain(start, stop, body, value):
        for i in range(start, stop):
            value = body(i, value)
        return value

    x = np.array([1.0, 2.0, 3.0])
    expected = plain(0, 3, program(plain), x)
    np.testing.assert_allclose(fl.fori_loop(0, 3, program(fl.fori_loop), x).numpy(), expected, rtol=1e-12)


def test_what_follows_a_loop_reads_nothing_of_its_body():
    m = np.median(fl.matrix(np.array([1.0, 2.0, 3.0])))
    r = fl.fori_loop(0, 0, lambda i, s: fl.fori_loop(0, 2, lambda j, z: z, s + m) + m, 0.0)
    assert float(r + m) == 2.0


def test_what_may_fail_is_not_computed_for_a_loop_that_does_not_run():
    Z, b = fl.matrix(np.zeros((3, 3))), fl.matrix(np.ones(3))
    assert float(fl.fori_loop(0, 0, lambda i, x: x + np.linalg.solve(Z, b).sum(), 0.0)) == 0.0
    inner = lambda i, x: x + fl.fori_loop(0, 2, lambda j, z: z + np.linalg.solve(Z, b), b)  # noqa: E731
    np.testing.assert_array_equal(fl.fori_loop(0, 0, inner, np.zeros(3)).numpy(), 0.0)


def test_loops_in_loops():
    for a in [2.0, 100.0, 12345.0]:
        assert float(newton_root(a)) == newton_root_of_python(a)
        assert float(fl.jit(newton_root)(a)) == newton_root_of_python(a)


def test_a_loop_in_the_condition():
    def digits(x):
        return fl.while_loop(lambda s: s[0] >= 1, lambda s: (s[0] // 10, s[1] + 1), (x, 0))[1]

    assert float(fl.while_loop(lambda x: digits(x) < 4, lambda x: x * 3, 1)) == 2187


def test_what_a_loop_reads_and_leaves_is_read_elsewhere_too():
    X = np.random.default_rng(2).standard_normal((50, 4))
    A = fl.matrix(X)
    gram = A.T @ A
    start = gram.sum(axis=0)
    v, n = fl.while_loop(lambda s: s[1] < 5, lambda s: ((gram @ s[0]) / abs(gram @ s[0]).max(), s[1] + 1), (start, 0))
    again = fl.fori_loop(0, 2, lambda i, u: gram @ u, v)
    total, value = fl.compute((gram.sum() + v.sum() + again.sum() + n), v)
    G = X.T @ X
    u = G.sum(axis=0)
    for _ in range(5):
        u = G @ u / abs(G @ u).max()
    np.testing.assert_allclose(value, u, rtol=1e-12)
    np.testing.assert_allclose(total, G.sum() + u.sum() + (G @ G @ u).sum() + 5, rtol=1e-12)


def test_a_loop_runs_once_for_all_that_it_leaves():
    draws = fl.while_loop(lambda s: s[1] < 3, lambda s: (s[0] + 1, s[1] + 1), (fl.matrix(np.zeros(3)), 0))
    twice = draws[0] * 2
    twice.numpy()
    assert draws[0].is_computed and draws[1].is_computed


def test_shapes_may_change():
    grown = fl.fori_loop(0, 4, lambda i, x: np.concatenate([x, x]), np.arange(3.0))
    np.testing.assert_array_equal(grown.numpy(), np.tile(np.arange(3.0), 16))
    collected = fl.fori_loop(0, 3, lambda i, X: np.vstack([X, np.full((1, 2), 1.0) * i]), np.ones((1, 2)))
    np.testing.assert_array_equal(collected.numpy(), [[1, 1], [0, 0], [1, 1], [2, 2]])
    with pytest.raises(TypeError, match="shape of this array is not known"):
        fl.fori_loop(0, 3, lambda i, X: np.vstack([X, X[:1] * i]), np.ones((1, 2)))


def test_types_widen_to_what_iterations_leave():
    x = fl.fori_loop(0, 2, lambda i, x: x * 0.5, np.array([1, 2, 3]))
    assert x.dtype == np.float64
    np.testing.assert_array_equal(x.numpy(), [0.25, 0.5, 0.75])
    narrow = fl.fori_loop(0, 2, lambda i, x: x * i + 1.5, np.ones(3, np.float32))
    assert narrow.dtype == np.float32 and narrow.numpy().dtype == np.float32
    flag = fl.while_loop(lambda s: ~s[0], lambda s: (s[1] > 2, s[1] + 1), (False, 0))
    assert bool(flag[0]) is True and flag[0].dtype == np.bool_


@pytest.mark.parametrize("rows", [0, 1, 2])
def test_small_arrays(rows):
    X = np.arange(2.0 * rows).reshape(rows, 2)
    result = fl.fori_loop(0, 3, lambda i, X: X * 2 + X.sum(), X)
    expected = X
    for _ in range(3):
        expected = expected * 2 + expected.sum()
    np.testing.assert_array_equal(result.numpy(), expected)


def test_sparse_values_stay_sparse():
    S = sp.random_array((500, 500), density=0.01, rng=np.random.default_rng(3), format="csr")
    result = fl.fori_loop(0, 3, lambda i, S: S * 2, S)
    assert sp.issparse(result.compute())
    assert abs(result.scipy() - S * 8).max() == 0


def test_nan_ends_a_comparison():
    x = fl.while_loop(lambda x: x < 10, lambda x: x * np.nan, 1.0)
    assert np.isnan(float(x))


def test_loops_of_python_over_loops():
    x = fl.matrix(np.ones(2))
    for _ in range(1500):
        x = fl.fori_loop(0, 2, lambda i, x: x * 0.5 + 1, x)
    np.testing.assert_allclose(x.numpy(), 2.0)


def test_dictionaries_are_matched_by_their_keys():
    """Whatever order a body leaves them in; the result has that of the initial value."""
    step = lambda s: {"n": s["n"] + 1, "x": {"b": s["x"]["a"], "a": s["x"]["b"] * 2.0}}  # noqa: E731
    initial = {"x": {"a": np.ones(3), "b": np.zeros(2)[:, None]}, "n": 0}
    swapped = {"x": {"a": 1.0, "b": 2.0}, "n": 0}
    result = fl.while_loop(lambda s: s["n"] < 5, step, swapped)
    expected = eager_while(lambda s: s["n"] < 5, step, swapped)
    assert list(result) == ["x", "n"] and list(result["x"]) == ["a", "b"]
    assert (float(result["x"]["a"]), float(result["x"]["b"])) == (expected["x"]["a"], expected["x"]["b"]) == (16.0, 4.0)
    with pytest.raises(ValueError, match="2 dimensions in the place of one of 1"):
        fl.while_loop(lambda s: s["n"] < 5, step, initial)
    with pytest.raises(TypeError, match=r"it gets \{'a': array, 1: \[array\]\} and leaves \{1: array\}"):
        fl.fori_loop(0, 2, lambda i, s: {1: s["a"]}, {"a": 1.0, 1: [2.0]})


def test_computed_bounds_lie_below_the_integers_that_doubles_hold():
    x = fl.matrix(np.array([3, 2**52]))
    for start, stop, name in ((x[1] * 2, 5, "start"), (x[1] * 2 - 1, x[1] * 2 + 5, "stop"), (0, x[1] * 4, "stop")):
        result = fl.fori_loop(start, stop, lambda i, n: n + 1, 0)
        with pytest.raises(fl.ExecutionError, match=rf"fori_loop: {name} must lie between -2\*\*53 and 2\*\*53"):
            result.compute()
    counted = fl.jit(lambda start, stop: fl.fori_loop(start, stop, lambda i, n: n + i, 0))
    assert float(counted(2, 5)) == float(fl.fori_loop(x[0] - 1, x[0] + 2, lambda i, n: n + i, 0)) == 9.0
    with pytest.raises(fl.ExecutionError, match="start must lie"):
        counted(-(2**53), 5)


def test_each_iteration_draws_other_numbers():
    """Without a seed, what a loop draws are the numbers of seeds 0, 1, 2 and so on, in whatever way loops are nested."""
    drawn = lambda *seeds: sum(fl.rand(4, 2, seed=seed).numpy() for seed in seeds)  # noqa: E731
    add = lambda i, total: total + fl.rand(4, 2)  # noqa: E731
    zeros = np.zeros((4, 2))
    np.testing.assert_allclose(fl.fori_loop(5, 8, add, zeros).numpy(), drawn(0, 1, 2))
    np.testing.assert_array_equal(fl.rand(4, 2).numpy(), fl.rand(4, 2).numpy())
    twice = fl.fori_loop(0, 2, lambda i, total: add(i, add(i, total)), zeros)
    np.testing.assert_allclose(twice.numpy(), drawn(0, 1, 2, 3))
    nested = fl.fori_loop(0, 3, lambda i, total: add(i, fl.fori_loop(0, i, add, total)), zeros)
    np.testing.assert_allclose(nested.numpy(), drawn(*range(6)))
    steps, total = fl.while_loop(lambda s: (s[0] < 3) & (fl.randn(1, 1)[0, 0] < 99.0), lambda s: (s[0] + 1, add(0, s[1])), (0, zeros))
    np.testing.assert_allclose(total.numpy(), drawn(1, 3, 5))
    compiled = fl.jit(lambda total: fl.fori_loop(0, 3, add, total))
    for _ in range(2):
        np.testing.assert_allclose(compiled(zeros).numpy(), drawn(0, 1, 2))
    noise = fl.jit(lambda: fl.rand(4, 2))
    for _ in range(2):
        np.testing.assert_allclose(fl.fori_loop(0, 3, lambda i, total: total + noise(), zeros).numpy(), drawn(0, 1, 2))
        np.testing.assert_array_equal(noise().numpy(), drawn(0))
    noise = fl.jit(lambda: fl.rand(4, 2))
    for _ in range(2):
        result = fl.fori_loop(0, 2, lambda i, total: add(i, total) + noise(), zeros)
        np.testing.assert_allclose(result.numpy(), drawn(0, 1, 2, 3))
    np.testing.assert_array_equal(noise().numpy(), drawn(0))
    known = fl.jit(lambda total: total + noise())
    np.testing.assert_allclose(fl.fori_loop(0, 3, lambda i, total: known(total), zeros).numpy(), drawn(0, 1, 2))
    with pytest.raises(ZeroDivisionError):
        fl.fori_loop(0, 3, lambda i, total: add(i, total) / (1 // 0), zeros)
    np.testing.assert_array_equal(fl.rand(4, 2).numpy(), drawn(0))
    seeded = fl.fori_loop(0, 3, lambda i, total: total + fl.rand(4, 2, seed=7), zeros)
    np.testing.assert_allclose(seeded.numpy(), drawn(7, 7, 7))


def test_a_plan_shows_each_block():
    X = fl.matrix(np.ones((1000, 10)))
    w = fl.fori_loop(0, 3, lambda i, w: w - 0.1 * (X.T @ (X @ w)), np.ones(10))
    plan = str(fl.explain(w))
    assert "# block" in plan and "row" in plan
    assert "# block 2: body of loop 1\n" in plan
    assert fl.explain(w)._repr_svg_().startswith("<svg")


def test_plans_say_which_part_of_a_loop_a_block_is():
    inner = lambda x: fl.while_loop(lambda y: y.sum() < 9.0, lambda y: y * 2.0, x)  # noqa: E731
    loop = fl.while_loop(lambda x: inner(x).max() < 99.0, inner, fl.matrix(np.ones(3)))
    names = [line for line in str(fl.explain(loop + 1.0, stage="hops")).splitlines() if line.startswith("#")]
    condition, body = "in the condition of loop 1", "in the body of loop 1"
    assert [name.partition(": ")[2] for name in names] == [
        "",
        "condition of loop 1",
        f"condition of loop 2, {condition}",
        f"body of loop 2, {condition}",
        "condition of loop 1",
        "body of loop 1",
        f"condition of loop 3, {body}",
        f"body of loop 3, {body}",
        "body of loop 1",
        "",
    ]
    assert [name.split(":")[0] for name in names] == [f"# block {number}" for number in range(10)]
    assert "body of loop 3" in fl.explain(loop + 1.0)._repr_svg_() or "body of loop 1" in fl.explain(loop + 1.0)._repr_svg_()


def test_errors_say_what_does_not_fit():
    with pytest.raises(TypeError, match="no value yet.*fl.where"):
        fl.while_loop(lambda x: x < 1, lambda x: x if x > 0 else -x, 0.0)
    with pytest.raises(TypeError, match="like the one that it gets"):
        fl.while_loop(lambda s: s[0] < 1, lambda s: s[0], (0.0, 1.0))
    with pytest.raises(ValueError, match="2 dimensions in the place of one of 1"):
        fl.fori_loop(0, 2, lambda i, x: x[:, None], np.ones(3))
    with pytest.raises(ValueError, match="not an array of shape"):
        fl.while_loop(lambda x: x < 1, lambda x: x + 1, np.zeros(3))
    with pytest.raises(TypeError, match="truth value, not str"):
        fl.while_loop(lambda x: "yes", lambda x: x + 1, 0.0)
    with pytest.raises(TypeError, match="stop must be an integer"):
        fl.fori_loop(0, 2.5, lambda i, x: x, 0.0)
    with pytest.raises(ValueError, match="between -2..53 and 2..53"):
        fl.fori_loop(0, 2**53, lambda i, x: x, 0.0)
    with pytest.raises(TypeError, match="has none"):
        fl.fori_loop(0, 2, lambda i, x: x, ())
    A = fl.matrix(np.ones((2, 3)))
    with pytest.raises(ValueError, match="shapes"):
        fl.fori_loop(0, 2, lambda i, x: A @ x, np.ones(2)).numpy()


def test_arrays_of_a_body_are_of_no_use_outside():
    leaked = []

    def body(i, x):
        leaked.append(x)
        return x + 1

    fl.fori_loop(0, 2, body, np.zeros(2)).numpy()
    with pytest.raises(TypeError, match="no value yet"):
        leaked[0].numpy()


@pytest.mark.parametrize("layout", [np.ascontiguousarray, np.asfortranarray, sp.csr_array])
def test_the_number_of_an_iteration_selects(layout):
    X = np.arange(60.0).reshape(12, 5)
    M = fl.matrix(layout(X))

    def rows(M):
        return fl.fori_loop(0, 12, lambda i, total: total + M[i] * i, np.zeros(5))

    def columns(M):
        return fl.fori_loop(0, 5, lambda j, total: total + M[:, j] * j, np.zeros(12))

    def batches(M):
        return fl.fori_loop(0, 4, lambda i, total: total + M[3 * i : 3 * i + 3].sum(axis=0) * i, np.zeros(5))

    def cells(M):
        return fl.fori_loop(0, 5, lambda i, total: total + M[i, i], 0.0)

    def prefixes(M):
        return fl.fori_loop(1, 6, lambda i, total: total + M[:i, i - 1 :].sum() + M[0:i].sum(), 0.0)

    expected = {
        rows: np.arange(12) @ X,
        columns: X @ np.arange(5),
        batches: sum(i * X[3 * i : 3 * i + 3].sum(axis=0) for i in range(4)),
        cells: np.trace(X),
        prefixes: sum(X[:i, i - 1 :].sum() + X[0:i].sum() for i in range(1, 6)),
    }
    for loop, value in expected.items():
        for run in (loop, fl.jit(loop)):
            np.testing.assert_allclose(np.asarray(run(M)), value, err_msg=loop.__name__)


def test_arguments_of_compiled_functions_select():
    X = np.arange(60.0).reshape(12, 5)
    pick = fl.jit(lambda X, i: X[i, 1:3])
    # Another position is another value, not another trace.
    for i in (0, 7, 11):
        np.testing.assert_array_equal(pick(X, fl.matrix(np.int64(i))).numpy(), X[i, 1:3])
    assert pick.traces == 1


def test_positions_of_traces_are_whole_numbers_within_the_array():
    X = fl.matrix(np.arange(60.0).reshape(12, 5))
    with pytest.raises(IndexError, match="positions are integers"):
        fl.while_loop(lambda x: x < 3, lambda x: x + X[x, 0], 0.5)
    with pytest.raises(IndexError, match="steps of 1"):
        fl.fori_loop(0, 3, lambda i, total: total + X[i:9:2].sum(), 0.0)
    with pytest.raises(IndexError, match="counts from the start"):
        fl.fori_loop(0, 3, lambda i, total: total + X[i:-1].sum(), 0.0)
    with pytest.raises(fl.ExecutionError, match=r"\[13:13, 1:5\] lies outside of a 12 x 5 matrix"):
        fl.fori_loop(0, 13, lambda i, total: total + X[i].sum(), 0.0).compute()


def test_a_seed_may_be_computed():
    large = fl.rand(4, 2, seed=2**60 + 1).numpy()
    np.testing.assert_array_equal(fl.rand(4, 2, seed=np.int64(2**60 + 1)).numpy(), large)
    drawn = fl.fori_loop(0, 3, lambda i, total: total + fl.rand(4, 2, seed=i + 5), np.zeros((4, 2)))
    expected = sum(fl.rand(4, 2, seed=seed).numpy() for seed in (5, 6, 7))
    np.testing.assert_array_equal(drawn.numpy(), expected)
    with pytest.raises(TypeError, match="a seed is a whole number"):
        fl.rand(2, 2, seed=0.5)
