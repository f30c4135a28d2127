"""Are a caller's values what an operation says it takes? Asked once for all operations, by their
annotations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import NoneType, UnionType
from typing import Any, Final, Union, get_args, get_origin, get_type_hints

from oneiro_vault.errors import InvalidInput, shown

_WORDS: Final[Mapping[Any, str]] = {
    str: "text", int: "a whole number", float: "a number", bool: "true or false", NoneType: "null",
    list: "a list", Sequence: "a list",
    dict: "an object", Mapping: "an object",
}  # fmt: skip
"""How a person says it; a type that is not here is not checked."""


def check(op: str, run: Callable[..., Any], given: Mapping[str, Any]) -> None:
    """Raise InvalidInput for the first value that is not of its parameter's type. A number without
    fraction is a number too.

    Of lists only those of texts are looked into: an operation that takes objects refuses a bad one
    and goes on with the others.
    """
    hints = _hints(run)
    for name, value in given.items():
        if name in hints and not _fits(value, hints[name]):
            raise InvalidInput(f"{op}: {name} must be {_said(hints[name])}, not {shown(value)}")


@cache
def _hints(run: Callable[..., Any]) -> dict[str, Any]:
    return get_type_hints(run)


def _fits(value: Any, hint: Any) -> bool:
    origin, inner = get_origin(hint) or hint, get_args(hint)
    if origin in (Union, UnionType):
        return any(_fits(value, one) for one in inner)
    if origin in (int, float) and isinstance(value, bool):
        return False
    if origin is float:
        return isinstance(value, int | float)
    if origin in (list, Sequence):
        return isinstance(value, list | tuple) and (
            inner != (str,) or all(isinstance(one, str) for one in value)
        )
    if origin in (dict, Mapping):
        return isinstance(value, Mapping)
    return origin not in _WORDS or isinstance(value, origin)


def _said(hint: Any) -> str:
    origin, inner = get_origin(hint) or hint, get_args(hint)
    if origin in (Union, UnionType):
        return " or ".join(dict.fromkeys(_said(one) for one in inner if one is not NoneType))
    return "a list of texts" if inner == (str,) else _WORDS.get(origin, str(hint))
