"""TOML statements are where they are said to be, and go as whole lines."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import assume, given, settings

from oneiro_vault.clients.edit import toml_spans
from tests.clients import texts


def names(value: Any, path: tuple[str, ...] = ()) -> set[tuple[str, ...]]:
    """Every name on the way to a value that is no table (or an empty or inline one), as tomllib
    sees it."""
    if isinstance(value, dict) and value:
        return {path} | {
            name for key, inner in value.items() for name in names(inner, (*path, key))
        }
    if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        return {path} | {name for item in value for name in names(item, path)}
    return {path}


@given(texts.toml())
@settings(deadline=None)
def test_every_statement_names_something_that_is_there(text: str) -> None:
    plain = text.removeprefix("\ufeff")
    try:
        value = tomllib.loads(plain)
    except tomllib.TOMLDecodeError:
        assume(False)
    known = names(value)
    end = 0
    for found in toml_spans.statements(text):
        assert found.path in known
        assert end <= found.start < found.stop
        end = found.stop
        if found.value is not None:
            written = text[slice(*found.value)]
            assert tomllib.loads(f"x = {written}")["x"] in list(_at(value, found.path))


def _at(value: Any, path: tuple[str, ...]) -> Iterator[Any]:
    """What a name leads to, in every table of a list of tables."""
    if not path:
        yield value
    for table in value if isinstance(value, list) else [value]:
        if path and isinstance(table, dict) and path[0] in table:
            yield from _at(table[path[0]], path[1:])


@given(texts.toml())
@settings(deadline=None)
def test_taking_out_every_top_level_name_leaves_comments_and_blank_lines(text: str) -> None:
    try:
        value = tomllib.loads(text.removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError:
        assume(False)
    for name in value:
        after = toml_spans.remove(text, (name,))
        assert tomllib.loads(after.removeprefix("\ufeff")) == {
            key: item for key, item in value.items() if key != name
        }


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "[a]\nx = 1\n"),
        ("y = 2", "y = 2\n\n[a]\nx = 1\n"),
        ("y = 2\n", "y = 2\n\n[a]\nx = 1\n"),
        ("y = 2\r\n\r\n", "y = 2\r\n\r\n[a]\r\nx = 1\r\n"),
        ("\ufeff", "\ufeff[a]\nx = 1\n"),
    ],
)
def test_append_keeps_a_blank_line_and_the_line_ends(before: str, after: str) -> None:
    text, glue = toml_spans.append(before, ("a",), {"x": 1})
    assert text == after
    assert toml_spans.remove(text, ("a",), glue) == before


def test_remove_without_glue_takes_one_blank_line() -> None:
    assert toml_spans.remove("y = 2\n\n[a]\nx = 1\n", ("a",)) == "y = 2\n"
    assert toml_spans.remove("y = 2\n\n[a]\nx = 1\n\n[b]\n", ("a",)) == "y = 2\n\n[b]\n"
    assert toml_spans.remove("y = 2\n\n[a]\nx = 1\n[b]\n", ("a",)) == "y = 2\n\n[b]\n"


def test_remove_takes_scattered_parts_and_leaves_what_stands_between() -> None:
    text = '[s.a]\nx = 1\n# of z\n[z]\ny = """\n[s.a]\n"""\n[s.a.env] # e\nk = [\n 1, # ]\n]\n# end'
    assert toml_spans.remove(text, ("s", "a")) == '# of z\n[z]\ny = """\n[s.a]\n"""\n# end'


def test_replace_changes_the_value_alone() -> None:
    text = '[s]\n"a"  =  [ 1,\n2 ] # why\r\nb = 1\n'
    assert (
        toml_spans.replace(text, ("s", "a"), ['"', "\\", "\x7f"])
        == '[s]\n"a"  =  ["\\"", "\\\\", "\\u007f"] # why\r\nb = 1\n'
    )
    assert toml_spans.replace(text, ("s", "c"), 1) is None
    assert toml_spans.replace(text, ("s",), 1) is None
