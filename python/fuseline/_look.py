"""Plans and counters."""

from __future__ import annotations

from typing import Any

from . import _native
from ._native import Array

_GRAPHS = ("hops", "rewritten", "memo", "plan")


class Explanation(str):
    """A stage of a compilation as text, which notebooks show as a drawing."""

    _svg: str | None = None

    def _repr_svg_(self) -> str | None:
        return self._svg


def explain(*arrays: Array, stage: str = "plan") -> Explanation:
    """What the compiler makes of arrays that are computed together, without computing them.

    Stages are ``hops``, ``rewritten``, ``memo``, ``plan``, ``cplan``, ``llvm``, ``asm`` and ``runtime``.
    """
    known = [x for x in arrays if x.is_computed]
    if known and len(known) == len(arrays):
        raise ValueError("the arrays are there already: explain them before they are computed")
    pending = [x for x in arrays if not x.is_computed]
    explanation = Explanation(_native.explain_text(pending, stage))
    if stage in _GRAPHS:
        explanation._svg = _native.explain_svg(pending, stage)
    return explanation


def stats() -> dict[str, Any]:
    """Counters of the last evaluation of this thread, and the bytes of arrays that were copied so far."""
    return _native.stats()
