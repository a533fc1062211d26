"""scikit-learn's own tests, with the estimators of Fuseline in the place of scikit-learn's."""

import os
import pathlib
import subprocess
import sys

import pytest

sklearn = pytest.importorskip("sklearn")
from patched_sklearn_differences import DIFFERENCES, VERSION  # noqa: E402

IS_LONG = int(os.environ.get("FUSELINE_CASES", "0")) > 10_000


@pytest.mark.skipif(not sklearn.__version__.startswith(f"{VERSION}."), reason=f"the tests of scikit-learn {VERSION} are meant")
def test_estimators_pass_the_tests_of_scikit_learn(tmp_path):
    here = str(pathlib.Path(__file__).parent)
    path = os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH")]))
    # Threads wait for each other on data as small as these.
    environment = os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "pytest", "--quiet", "-p", "no:cacheprovider", "-p", "patched_sklearn", "-W", "ignore"]
    command += ["--pyargs", *DIFFERENCES, *(["--all-of-sklearn"] if IS_LONG else [])]
    finished = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert finished.returncode == 0, finished.stdout[-10_000:] + finished.stderr[-2000:]
