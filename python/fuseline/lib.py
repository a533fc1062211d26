"""The script library: every function of it, with the names, order and defaults of its arguments.

>>> import fuseline as fl, numpy as np
>>> X, y = np.array([[1.0], [-1.0], [2.0]]), np.array([1.0, -1.0, 1.0])
>>> fl.lib.l2svm(X, y, reg=0.1).shape
(1, 1)
"""

from __future__ import annotations

import inspect
import re
from typing import Any

from . import _native, _scripts

_HEADER = re.compile(
    r"(?P<prefix>[msfl])_(?P<name>\w+)\s*=\s*function\s*\((?P<inputs>.*?)\)\s*return\s*\((?P<outputs>.*?)\)\s*\{", re.S
)
_PARAMETER = re.compile(r"^(?P<type>[\w\[\]]+)\s+(?P<name>\w+)(\s*=\s*(?P<default>.+))?$", re.S)


def _parameters(text: str) -> list[tuple[str, str, str | None]]:
    """Type, name and default of each parameter."""
    parts, depth, quoted, current = [], 0, False, ""
    for character in text:
        quoted ^= character == '"'
        depth += (character in "([") - (character in ")]") if not quoted else 0
        if character == "," and depth == 0 and not quoted:
            parts.append(current)
            current = ""
        else:
            current += character
    parts.append(current)
    found = [_PARAMETER.match(part.strip()) for part in parts if part.strip()]
    return [(m["type"], m["name"], m["default"]) for m in found if m]


def _value(default: str) -> Any:
    """The value of a default, where Python can show it."""
    words = {"TRUE": True, "FALSE": False}
    text = default.strip()
    if text in words:
        return words[text]
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return text.strip('"')


def _function(name: str, text: str):
    header = next((m for m in _HEADER.finditer(text) if m["name"] == name), None)
    if header is None:
        return None
    inputs, outputs = _parameters(header["inputs"]), _parameters(header["outputs"])
    empty = inspect.Parameter.empty
    signature = inspect.Signature(
        [
            inspect.Parameter(
                parameter,
                inspect.Parameter.POSITIONAL_OR_KEYWORD,
                default=empty if default is None else _value(default),
            )
            for _, parameter, default in inputs
        ]
    )
    scalars = {parameter: kind for kind, parameter, _ in inputs if "[" not in kind}
    results = [parameter for _, parameter, _ in outputs]

    def call(*args: Any, **kwargs: Any) -> Any:
        given = signature.bind(*args, **kwargs).arguments
        given = {key: _converted(value, scalars.get(key)) for key, value in given.items()}
        arguments = ", ".join(f"{key}=argument_{key}" for key in given)
        named = [f"result_{result}" for result in results]
        target = named[0] if len(named) == 1 else f"[{', '.join(named)}]"
        values = _scripts.dml(
            f"{target} = {name}({arguments})",
            outputs=named,
            name=f"<fuseline.lib.{name}>",
            **{f"argument_{key}": value for key, value in given.items()},
        )
        if len(results) == 1:
            return values[named[0]]
        return tuple(values[result] for result in named)

    call.__name__ = call.__qualname__ = name
    call.__signature__ = signature  # type: ignore[attr-defined]
    call.__doc__ = _documentation(text)
    return call


def _converted(value: Any, kind: str | None) -> Any:
    """A number as the type that a parameter has."""
    if kind == "Double" and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    return value


def _documentation(text: str) -> str:
    """The comment that opens a script."""
    lines = []
    for line in text.splitlines():
        if not line.startswith("#"):
            break
        lines.append(line.removeprefix("#").removeprefix(" "))
    return "\n".join(lines)


for _name, _text in _native.library():
    _call = _function(_name, _text)
    if _call is not None:
        globals()[_name] = _call

__all__ = sorted(_name for _name, _ in _native.library() if _name in globals())
