"""How ``threadpoolctl`` finds and limits the threads of Fuseline, where it is installed."""

from __future__ import annotations

import os

import threadpoolctl

from . import _native, _options

_FILE = os.path.realpath(_native.__file__)


class Controller(threadpoolctl.LibController):
    """The limit is that of the thread or task which sets it, as the options of Fuseline are."""

    user_api = "fuseline"
    internal_api = "fuseline"
    filename_prefixes = ("_native.",)
    check_symbols = ("PyInit__native",)

    def get_num_threads(self) -> int:  # type: ignore[override]
        return _options.threads()

    def set_num_threads(self, num_threads: int) -> None:
        _options.limit_threads(num_threads)

    def get_version(self) -> str:  # type: ignore[override]
        return _native.__version__

    def set_additional_attributes(self) -> None:
        # Modules of other packages have this name, too: without symbols they are passed over.
        if os.path.realpath(str(self.filepath)) != _FILE:
            self.dynlib = None


threadpoolctl.register(Controller)
