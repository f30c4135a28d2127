"""The error tree: every class has its place, its codes, and survives a trip across a socket."""

from __future__ import annotations

import pytest

from oneiro_vault.errors import (
    InvalidInput,
    OneiroError,
    UnreadableNote,
    all_errors,
    from_dict,
    shown,
)


@pytest.mark.parametrize("cls", all_errors().values(), ids=lambda cls: cls.__name__)
def test_an_error_crosses_a_socket(cls: type[OneiroError]) -> None:
    error = cls("what happened", kept="what is safe", hint="what to do")
    back = from_dict(error.to_dict())
    assert type(back) is cls
    assert (str(back), back.kept, back.hint) == ("what happened", "what is safe", "what to do")
    assert cls.exit_code > 0
    assert 400 <= cls.http_status < 600
    assert cls.__doc__


def test_classes_with_one_exit_code_are_one_family() -> None:
    families: dict[int, list[type[OneiroError]]] = {}
    for cls in all_errors().values():
        families.setdefault(cls.exit_code, []).append(cls)
    for code, members in families.items():
        assert any(all(issubclass(cls, head) for cls in members) for head in members), code


def test_what_arrives_damaged_is_still_an_error() -> None:
    assert type(from_dict({"error": "Nonsense", "message": "m"})) is OneiroError
    assert str(from_dict({})) == "unknown error"


def test_optional_parts_are_empty() -> None:
    error = UnreadableNote("m")
    assert isinstance(error, InvalidInput)
    assert error.to_dict() == {"error": "UnreadableNote", "message": "m", "kept": "", "hint": ""}


def test_what_somebody_gave_us_is_repeated_in_short() -> None:
    assert shown("zzzz") == "'zzzz'"
    assert shown("a" * 40 + "b" * 100_000, 30) == "'" + "a" * 20 + "…" + "b" * 10 + "'"
    assert shown("x\u202ey\n") == r"'x\u202ey\n'"
    assert shown(7) == "'7'"


def test_no_message_is_longer_than_a_screen() -> None:
    error = InvalidInput(
        f"{'x' * 100_000} is not an id", kept="y" * 100_000, hint=f"{'word ' * 100_000}; do this"
    )
    assert str(error).endswith("xxx is not an id")
    assert max(len(str(error)), len(error.kept), len(error.hint)) < 2100
    assert error.hint.endswith("do this")
    assert from_dict(error.to_dict()).to_dict() == error.to_dict()
