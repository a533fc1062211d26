"""Nothing that tests write lands in the folder where they run; and the marks that they have."""

import os
import tempfile

os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", os.path.join(tempfile.gettempdir(), "fuseline-hypothesis"))


def pytest_configure(config):
    config.addinivalue_line("markers", "thread_unsafe(reason): runs in one thread alone (the mark is pytest-run-parallel's)")
