"""JSON and JSONC as everybody else reads them, and every position where it says."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings

from oneiro_vault.clients.edit.jsonc import Document, JsonError, place
from tests.clients import texts


@given(texts.wild(comments=True))
@settings(deadline=None)
def test_reads_what_was_written_and_knows_where_it_stands(made: tuple[str, Any]) -> None:
    text, value = made
    document = Document(text)
    assert document.root.value() == value
    for node in texts.everything(document.root):
        assert Document(text[node.start : node.stop]).root.value() == node.value()


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("", 1, 1),
        ("\ufeff  x", 1, 3),
        ("{\n\n  'a': 1}", 3, 3),
        ('{"a": 1} }', 1, 10),
        ('{"a": tru}', 1, 7),
        ('{"a": 01}', 1, 8),
        ('{"a": +1}', 1, 7),
        ('{"a": 1.}', 1, 8),
        ('{"a": "\\x"}', 1, 7),
        ('{"a": "\t"}', 1, 7),
        ('{"a"}', 1, 5),
        ("[1 2]", 1, 4),
        ("[,]", 1, 2),
        ("[1,,2]", 1, 4),
        ("[1}", 1, 3),
        ("{1: 2}", 1, 2),
        ("[/]", 1, 2),
        ("{\r\n\r\n]", 3, 1),
        ("{\r\r]", 3, 1),
        ('{"a": 1', 1, 8),
    ],
)
def test_where_it_is_broken(text: str, line: int, column: int) -> None:
    with pytest.raises(JsonError) as caught:
        Document(text)
    assert (caught.value.line, caught.value.column) == (line, column)
    with pytest.raises(json.JSONDecodeError):
        json.loads(text.removeprefix("\ufeff"))


def test_json_knows_no_comments_and_no_last_comma() -> None:
    for text in ("// c\n{}", "{/* c */}", "[1,]", '{"a": 1,}'):
        assert Document(text).root.kind in ("object", "array")
        with pytest.raises(JsonError):
            Document(text, comments=False)


def test_numbers_of_any_length_and_the_last_of_two_names() -> None:
    document = Document('{"a": 1, "a": ' + "9" * 5000 + ', "b": -1.5e3, "c": 1e999}')
    found = document.root.get("a")
    assert found is not None
    assert found.node.value() == float("inf")
    assert document.root.value()["b"] == -1500
    assert document.root.get("x") is None


def test_place_counts_every_kind_of_line_end() -> None:
    assert place("a\r\nb\rc\nd", 7) == (4, 1)
    assert place("\ufeffab", 2) == (1, 2)
