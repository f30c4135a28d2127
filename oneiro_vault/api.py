"""Every operation of a vault as a method, wherever it runs. `api.pyi` has them with their types:
`make golden` writes it from the operations themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Progress = Callable[[str, int, int], None]
"""(stage, done, total): what a person who waits is shown."""


def quiet(_stage: str, _done: int, _total: int) -> None:
    """Progress nobody watches."""


class Operations:
    """`vault.recall(query="…")` is the operation `recall`; arguments are given by name.

    Whoever inherits brings `call`. The answers are those of `answers`; an operation that takes long
    says so through `progress`. Raises OneiroError.
    """

    call: Callable[[str, Mapping[str, Any], Progress | None], Any]

    def __getattr__(self, op: str) -> Callable[..., Any]:
        if op.startswith("_"):
            raise AttributeError(op)

        def operation(*, progress: Progress | None = None, **given: Any) -> Any:
            return self.call(op, given, progress)

        return operation


class Calls(Operations):
    """The operations over a function that carries one out."""

    def __init__(self, call: Callable[[str, Mapping[str, Any], Progress | None], Any]) -> None:
        self.call = call


AsyncCalls = Calls
"""The same over a function whose answer is awaited."""
