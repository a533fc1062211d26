"""Nothing that tests write lands in the folder where they run."""

import os
import tempfile

os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", os.path.join(tempfile.gettempdir(), "fuseline-hypothesis"))
