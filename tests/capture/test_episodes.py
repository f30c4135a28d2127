"""Captured words as notes can hold them: whole, in order, under a title that says what it was
about."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneiro_vault.capture.episodes import clean, of_entry, parts, title


def test_what_a_note_cannot_hold_is_taken_out_or_indented() -> None:
    text = (
        "a\0b <private>x</private>\r\n<<<<<<< ours\r\n=======\r\n>>>>>>> theirs\r\n========= "
        "kept\nhalf \ud800\n"
    )
    assert (
        clean(text)
        == "ab \n    <<<<<<< ours\n    =======\n    >>>>>>> theirs\n========= kept\nhalf ?"
    )


@pytest.mark.parametrize(
    ("text", "kind", "expected"),
    [
        (
            "User: What is the boat called?\n\nAssistant: Petrel.",
            "session",
            "Conversation: What is the boat called?",
        ),
        ("# We built a boat\n\nIt floats.", "compaction", "Summary: We built a boat"),
        ("buy milk", "note", "buy milk"),
        ("---\n***\n", "note", "untitled"),
        (
            "User: " + "long words " * 20,
            "turns",
            "Conversation: long words long words long words long words long words long words long…",
        ),
    ],
)
def test_titles(text: str, kind: str, expected: str) -> None:
    assert title(text, kind) == expected


@given(st.text(alphabet="aä漢\n ", max_size=400), st.integers(8, 60))
def test_parts_fit_and_lose_no_word(text: str, limit: int) -> None:
    found = parts(text, limit)
    assert all(len(piece.encode()) <= limit for piece in found)
    assert "".join("".join(found).split()) == "".join(text.split())


def test_parts_are_cut_between_paragraphs_where_that_is_possible() -> None:
    assert parts("one\n\ntwo\n\nthree", 10) == ["one\n\ntwo", "three"]
    assert parts("one\ntwo\nthree", 8) == ["one\ntwo", "three"]
    assert parts("short", 10) == ["short"]


@pytest.mark.parametrize(
    "entry", [{}, {"text": 3, "kind": "turns"}, {"text": "x"}, {"text": "x", "kind": "gossip"}]
)
def test_an_entry_without_sense_is_refused(entry: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="neither"):
        of_entry(entry)


def test_an_entry_becomes_parameters() -> None:
    entry = {
        "schema": 1,
        "text": "x",
        "kind": "turns",
        "session": "s",
        "client": "codex",
        "project": "",
        "when": None,
        "to": 7,
    }
    assert of_entry(entry) == {"text": "x", "kind": "turns", "session": "s", "client": "codex"}
