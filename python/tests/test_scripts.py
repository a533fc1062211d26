"""Scripts in DML, the script library, and plans."""

import numpy as np
import pytest
import scipy.sparse as sp

import fuseline as fl


def test_scripts():
    X = np.arange(6.0).reshape(3, 2)
    results = fl.dml("Y = X * c\nn = nrow(X)\nname = \"a\" + \"b\"\nflag = n > 2", X=X, c=2)
    np.testing.assert_array_equal(results.Y.numpy(), X * 2)
    assert results.n == 3 and results.name == "ab" and results.flag is True
    assert set(results.keys()) == {"Y", "n", "name", "flag"}
    np.testing.assert_array_equal(results["Y"].numpy(), X * 2)


def test_outputs_that_are_asked_for():
    results = fl.dml("a = sum(X)\nb = a + 1", outputs=["b"], X=np.ones(3))
    assert list(results) == ["b"] and results.b == 4.0
    with pytest.raises(ValueError, match="nothing"):
        fl.dml("a = 1", outputs=["nothing"])


def test_vectors_are_columns_and_lists_are_lists():
    assert fl.dml("r = nrow(x)\nc = ncol(x)", x=np.ones(4)).__dict__ == {"r": 4, "c": 1}
    S = sp.random_array((30, 20), density=0.1, format="csr", rng=1)
    np.testing.assert_allclose(fl.dml("s = rowSums(S)", S=S).s.numpy()[:, 0], S.sum(axis=1))
    assert fl.dml("l = list(1, 2.5)").l == [1, 2.5]


def test_what_is_printed(capsys):
    fl.dml('print("sum: " + sum(X))', X=np.ones(3))
    assert capsys.readouterr().out == "sum: 3.0\n"


def test_arguments(tmp_path):
    path = tmp_path / "s.dml"
    path.write_text("y = $factor * x\n")
    assert fl.script(path, arguments={"factor": 3}, x=2.0).y == 6.0


def test_mistakes_name_the_line(tmp_path):
    path = tmp_path / "wrong.dml"
    path.write_text("a = 1\nb = undefined_function(a)\n")
    with pytest.raises(fl.CompileError, match=r"wrong\.dml:2"):
        fl.script(path)


def test_the_library():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3))
    y = np.sign(X @ np.array([1.0, -2.0, 0.5]))
    w = fl.lib.l2svm(X, y, reg=0.1)
    assert w.shape == (3, 1)
    assert (np.sign(X @ w.numpy()[:, 0]) == y).mean() > 0.95
    beta = fl.lib.lmDS(X, X @ np.array([1.0, 2.0, 3.0]), verbose=False)
    np.testing.assert_allclose(beta.numpy()[:3, 0], [1, 2, 3], atol=1e-4)
    centres, labels = fl.lib.kmeans(X, k=3, seed=1)
    assert centres.shape == (3, 3) and labels.shape == (100, 1)


def test_every_function_has_a_signature_and_a_text():
    assert len(fl.lib.__all__) > 40
    for name in fl.lib.__all__:
        function = getattr(fl.lib, name)
        assert function.__signature__.parameters, name
        assert function.__doc__, name


def test_wrong_arguments_of_the_library():
    with pytest.raises(TypeError):
        fl.lib.l2svm(np.ones((2, 2)))
    with pytest.raises(TypeError):
        fl.lib.l2svm(np.ones((2, 2)), np.ones(2), regularisation=1)


def expression():
    S = sp.random_array((2000, 2000), density=0.001, format="csr", rng=1)
    rng = np.random.default_rng(2)
    U, V = rng.uniform(size=(2000, 8)), rng.uniform(size=(2000, 8))
    return (fl.matrix(S) * fl.log(fl.matrix(U) @ fl.matrix(V).T + 1e-15)).sum(), S, U, V


def test_plans():
    x, S, U, V = expression()
    plan = fl.explain(x)
    assert plan.count("outer roots") == 1 and "skips the zeros" in plan
    assert plan._repr_svg_().startswith("<svg") and x._repr_svg_().startswith("<svg")
    assert not x.is_computed
    np.testing.assert_allclose(float(x), (S.toarray() * np.log(U @ V.T + 1e-15)).sum())
    with pytest.raises(ValueError, match="before they are computed"):
        fl.explain(x)


@pytest.mark.parametrize("stage", ["hops", "rewritten", "memo", "plan", "cplan", "llvm", "asm", "runtime"])
def test_stages(stage):
    x = expression()[0]
    text = fl.explain(x, stage=stage)
    assert text
    if stage == "llvm":
        assert "define" in text
    with pytest.raises(ValueError, match="no stage"):
        fl.explain(x, stage="nothing")


@pytest.mark.thread_unsafe(reason="it counts what the whole process copies")
def test_counters():
    x = fl.matrix(np.ones((1000, 1000)))
    float((x * x + 1).sum())
    stats = fl.stats()
    assert stats["fused_operators"] == {"cell full_agg": 1} and stats["genexec_bytes_read"] == 8_000_000


def test_files(tmp_path):
    a = np.arange(6.0).reshape(2, 3)
    np.save(tmp_path / "a.npy", a)
    np.testing.assert_array_equal(fl.read(tmp_path / "a.npy").numpy(), a)
    (tmp_path / "b.csv").write_text("x,y\n1,2\n3,4\n")
    np.testing.assert_array_equal(fl.read(tmp_path / "b.csv", header=True).numpy(), [[1, 2], [3, 4]])
    with pytest.raises(fl.ExecutionError, match="missing"):
        fl.read(tmp_path / "missing.npy")
