"""Plans, counters and options."""

from __future__ import annotations

import contextlib
from typing import Any, Iterator

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


@contextlib.contextmanager
def options(
    *,
    threads: int | None = None,
    memory: int | str | None = None,
    mode: str | None = None,
    backend: str | None = None,
    strict_ieee: bool | None = None,
    verbose: bool | None = None,
) -> Iterator[None]:
    """Options of what is computed within a ``with`` statement, in this thread.

    ``threads`` is their number; ``memory`` the bytes that a computation may hold, also as ``"4g"``; ``mode`` is
    ``"base"``, ``"fused"``, ``"gen"``, ``"gen-fa"`` or ``"gen-fnr"``; ``backend`` is ``"llvm"``, ``"interp"`` or
    ``"tiered"``; ``strict_ieee`` asks for exactly the arithmetic of IEEE. ``verbose`` says whether computations of more
    than a second show on standard error how far they are; without it they do on terminals.
    """
    _native.push_options(threads, _bytes(memory), mode, backend, strict_ieee, verbose)
    try:
        yield
    finally:
        _native.pop_options()


def _bytes(memory: int | str | None) -> int | None:
    if not isinstance(memory, str):
        return memory
    units = {"k": 10, "m": 20, "g": 30, "t": 40}
    text = memory.strip().lower().removesuffix("b")
    if text and text[-1] in units:
        return int(float(text[:-1]) * (1 << units[text[-1]]))
    return int(text)
