"""Options of what is computed, and threads that others grant."""

from __future__ import annotations

import contextlib
from typing import Iterator

from . import _native


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
    """Options of what is computed within a ``with`` statement, in this thread or task of ``asyncio``.

    ``threads`` is their number; ``memory`` the bytes that a computation may hold, also as ``"4g"``; ``mode`` is
    ``"base"``, ``"fused"``, ``"gen"``, ``"gen-fa"`` or ``"gen-fnr"``; ``backend`` is ``"llvm"``, ``"interp"`` or
    ``"tiered"``; ``strict_ieee`` asks for exactly the arithmetic of IEEE. ``verbose`` says whether computations of more
    than a second show on standard error how far they are; without it they do on terminals.
    """
    if threads is not None and threads < 0:
        raise ValueError(f"threads is their number, or 0 for all of the machine, not {threads}")
    chosen = _native.Options(threads, _bytes(memory), mode, backend, strict_ieee, verbose)
    outside = _native.OPTIONS.set(chosen.within(_native.OPTIONS.get()))
    try:
        yield
    finally:
        _native.OPTIONS.reset(outside)


def threads() -> int:
    """The threads that computations take here."""
    return _native.OPTIONS.get().threads or _native.default_threads()


def limit_threads(number: int) -> None:
    """Has computations take that many threads, up to the end of the innermost ``with`` statement of options."""
    if number != threads():
        # What the default is anyway needs no option, and so no compilation of its own.
        chosen = None if number == _native.default_threads() else number
        _native.OPTIONS.set(_native.OPTIONS.get().with_threads(chosen))


def _bytes(memory: int | str | None) -> int | None:
    if not isinstance(memory, str):
        return memory
    units = {"k": 10, "m": 20, "g": 30, "t": 40}
    text = memory.strip().lower().removesuffix("b")
    try:
        if text and text[-1] in units:
            return int(float(text[:-1]) * (1 << units[text[-1]]))
        return int(text)
    except ValueError:
        raise ValueError(f'memory is a number of bytes, also as "4g", not {memory!r}') from None
