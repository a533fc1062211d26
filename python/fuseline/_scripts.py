"""Scripts in DML over arrays."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Iterable, Mapping

from . import _native


class Results(SimpleNamespace):
    """What a script computed, by name: attributes, and items."""

    def __getitem__(self, name: str) -> Any:
        return vars(self)[name]

    def __iter__(self):
        return iter(vars(self))

    def keys(self):
        return vars(self).keys()


def dml(
    text: str,
    *,
    outputs: Iterable[str] | None = None,
    arguments: Mapping[str, Any] | None = None,
    name: str = "<dml>",
    **inputs: Any,
) -> Results:
    """Runs a script in DML on arrays and numbers, and gives what it assigns, or these outputs.

    A vector is a column; matrices come back with two dimensions. ``arguments`` are the values of ``$name``.

    >>> import fuseline as fl, numpy as np
    >>> fl.dml("s = sum(X * X)", X=np.eye(3)).s
    3.0
    """
    wanted = None if outputs is None else list(outputs)
    texts = [(key, str(value)) for key, value in (arguments or {}).items()]
    return Results(**_native.run_script(name, text, inputs, wanted, texts))


def script(
    path: str | os.PathLike[str],
    *,
    outputs: Iterable[str] | None = None,
    arguments: Mapping[str, Any] | None = None,
    **inputs: Any,
) -> Results:
    """Runs the script of a file, as :func:`dml` does."""
    return dml(Path(path).read_text(), outputs=outputs, arguments=arguments, name=os.fspath(path), **inputs)
