"""Options of what is computed, and threads that others grant."""

from __future__ import annotations

import contextlib
import threading
from typing import Any, Iterator

from . import _native


class _Levels(threading.local):
    """What holds in a thread: the options of nested ``with`` statements, innermost last, each with what is outside of it."""

    def __init__(self) -> None:
        self.levels: list[dict[str, Any]] = [{}]


_LEVELS = _Levels()


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
    chosen = {
        "threads": threads,
        "memory": _bytes(memory),
        "mode": mode,
        "backend": backend,
        "strict_ieee": strict_ieee,
        "verbose": verbose,
    }
    levels = _LEVELS.levels
    levels.append(levels[-1] | {name: value for name, value in chosen.items() if value is not None})
    try:
        _apply()
        yield
    finally:
        levels.pop()
        _apply()


def _apply() -> None:
    """Tells the native module, which knows nothing of levels, of the innermost options."""
    _native.set_options(**_LEVELS.levels[-1])


def threads() -> int:
    """The threads that compute what this thread asks for."""
    return _LEVELS.levels[-1].get("threads") or _native.default_threads()


def limit_threads(number: int) -> None:
    """Has this thread's computations take that many threads, up to the end of the innermost ``with`` statement of options."""
    if number == threads():
        return
    level = _LEVELS.levels[-1]
    level.pop("threads", None)
    # What the default is anyway needs no option, and so no compilation of its own.
    if number != _native.default_threads():
        level["threads"] = number
    _apply()


def _bytes(memory: int | str | None) -> int | None:
    if not isinstance(memory, str):
        return memory
    units = {"k": 10, "m": 20, "g": 30, "t": 40}
    text = memory.strip().lower().removesuffix("b")
    if text and text[-1] in units:
        return int(float(text[:-1]) * (1 << units[text[-1]]))
    return int(text)
