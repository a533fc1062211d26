from typing import Any, Callable

__all__: list[str]

def __getattr__(name: str) -> Callable[..., Any]: ...
