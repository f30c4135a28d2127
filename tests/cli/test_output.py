from __future__ import annotations

import pytest

from oneiro_vault.cli import render, terminal
from oneiro_vault.cli.output import Style, cut, error_text, line, safe
from oneiro_vault.daemon.protocol import Terminal
from oneiro_vault.errors import NotFound

PLAIN = Style(Terminal())
ROW = {
    "id": "0123456789ab",
    "title": "T",
    "description": "What it says.",
    "created": "2026-03-05T10:00:00Z",
    "score": 0.5,
    "why": {"words": 0.25, "links": [], "names": ["Ana"]},
}


@pytest.mark.parametrize(("text", "shown"), [("a\x1b[31mb", "a�[31mb"), ("a\r\nb\tc", "a\nb\tc"), ("\x9b1m\x00\x7f", "�1m��")])
def test_notes_cannot_steer_the_terminal(text: str, shown: str) -> None:
    assert safe(text) == shown


def test_line_and_cut() -> None:
    assert line(" a\n\n b\x07 ") == "a b�"
    assert [cut("abcdef", n) for n in (0, 6, 5, 1)] == ["abcdef", "abcdef", "abcd…", "…"]


def test_a_row() -> None:
    assert render.rows([ROW], PLAIN) == "2026-03-05 · T · 01234567 · What it says."


def test_a_row_explained() -> None:
    assert render.rows([ROW], PLAIN, explain=True).splitlines()[1] == "    0.500  words=0.250  names=Ana"


def test_a_row_fits_the_terminal() -> None:
    row = ROW | {"description": "word " * 50}
    assert len(render.rows([row], Style(Terminal(80)))) <= 80


def test_a_row_of_a_note_without_id_and_date() -> None:
    row = ROW | {"id": "notes/a.md", "created": "", "description": "T"}
    assert render.rows([row], PLAIN) == "no date    · T · notes/a.md"


def test_colours_only_where_they_are_wanted() -> None:
    assert "\x1b[" in render.rows([ROW], Style(Terminal(80, color=True)))
    assert "\x1b[" not in render.rows([ROW], Style(Terminal(80)))


def test_problems_say_what_to_do() -> None:
    found = [
        {"level": "error", "message": "bad", "hint": "do this", "fixable": False, "fixed": False, "path": "a.md"},
        {"level": "warning", "message": "stale", "hint": "", "fixable": True, "fixed": False},
        {"level": "warning", "message": "old", "hint": "gone", "fixable": True, "fixed": True},
    ]
    assert render.problems(found, PLAIN).splitlines() == [
        "error  a.md: bad",
        "    do this",
        "warning  stale",
        "    `oneiro doctor --fix` mends it",
        "mended  old",
    ]


def test_an_error_in_three_lines() -> None:
    assert error_text(NotFound("what", kept="safe", hint="do")) == "oneiro: what\n  safe: safe\n  next: do\n"


def test_gaps() -> None:
    assert render.gaps({"degraded": "embedder warming", "behind": 2}) == "keywords only: embedder warming\n2 commits are not indexed yet"
    assert render.gaps({"degraded": None, "behind": 0}) == ""


def test_what_utf8_cannot_say_is_escaped() -> None:
    assert terminal.encode("a\udce9") == b"a\\udce9"


def test_nothing_is_shown_without_a_terminal() -> None:
    waiting = terminal.Waiting("x")
    for _ in range(20):
        waiting()
    waiting.close()  # nothing was written: standard error is no terminal under pytest
    assert not waiting._shows
