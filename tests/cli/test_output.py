from __future__ import annotations

from typing import Any

import pytest

from oneiro_vault.cli import render, terminal
from oneiro_vault.cli.output import Style, cut, error_text, line, safe, settled
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


@pytest.mark.parametrize(
    ("text", "shown"),
    [("a\x1b[31mb", "a�[31mb"), ("a\r\nb\tc", "a\nb\tc"), ("\x9b1m\x00\x7f", "�1m��")],
)
def test_notes_cannot_steer_the_terminal(text: str, shown: str) -> None:
    assert safe(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("gate \u202eedoc", "gate �edoc"),
        ("a\u2066b\u2069c\u200fd\u061ce", "a�b�c�d�e"),
        (
            "pass\u200bword, soft\u00adhyphen, \ufeffmark, a\u200db, x\u2060y",
            "password, softhyphen, mark, ab, xy",
        ),
        ("tags \U000e0041\U000e0042 \u2028 line", "tags �� � line"),
        ("👩\u200d💻 می\u200cخواهم क\u094d\u200dष", "👩\u200d💻 می\u200cخواهم क\u094d\u200dष"),
        ("Größe, naïve, 北京, 🌱, e\u0301", "Größe, naïve, 北京, 🌱, e\u0301"),
    ],
)
def test_what_hides_or_turns_text_round_never_reaches_the_terminal(text: str, shown: str) -> None:
    assert safe(text) == shown


def test_a_whole_output_keeps_only_our_colours() -> None:
    ours = Style(Terminal(80, color=True))("bold", "bold")
    assert settled(f"{ours}\n\x1b]0;title\x07 \x1b[2J \u202e") == f"{ours}\n�]0;title� �[2J �"


def test_line_and_cut() -> None:
    assert line(" a\n\n b\x07 ") == "a b�"
    assert [cut("abcdef", n) for n in (0, 6, 5, 1)] == ["abcdef", "abcdef", "abcd…", "…"]
    assert [cut("北京大学", n) for n in (8, 7, 5, 2)] == ["北京大学", "北京大…", "北京…", "…"]


def test_a_row() -> None:
    assert render.rows([ROW], PLAIN) == "2026-03-05 · T · 01234567 · What it says."


SHOWN: Any = {
    "id": "a" * 12, "path": "x.md", "meta": {"title": "T"}, "strength": 0.5, "links": [],
    "backlinks": [], "problems": [], "body": "words",
}  # fmt: skip


def test_a_row_explained() -> None:
    assert (
        render.rows([ROW], PLAIN, explain=True).splitlines()[1]
        == "    0.500  words=0.250  names=Ana"
    )


def test_a_row_fits_the_terminal() -> None:
    row = ROW | {"description": "word " * 50}
    assert len(render.rows([row], Style(Terminal(80)))) <= 80


def test_a_row_of_a_note_without_id_and_date() -> None:
    row = ROW | {"id": "notes/a.md", "created": "", "description": "T"}
    assert render.rows([row], PLAIN) == "no date    · T · notes/a.md"


HIT = ROW | {
    "title": "House",
    "description": "About the house.",
    "snippet": "The pump is broken; Jan brings an impeller.",
}
COLORS = Style(Terminal(80, color=True))


def test_the_line_that_answers_stands_below_its_row() -> None:
    assert render.rows([HIT], PLAIN, query="pumps").splitlines() == [
        "2026-03-05 · House · 01234567 · About the house.",
        "    The pump is broken; Jan brings an impeller.",
    ]


@pytest.mark.parametrize(
    "change",
    [{"description": HIT["snippet"]}, {"title": f"{HIT['snippet']} Really."}, {"snippet": ""}],
)
def test_a_line_that_is_seen_already_is_not_repeated(change: dict[str, str]) -> None:
    assert len(render.rows([HIT | change], PLAIN, query="pump").splitlines()) == 1


def test_the_line_is_cut_around_the_word_and_fits() -> None:
    long = HIT | {
        "snippet": "lorem ipsum " * 12 + "the pump is broken " + "dolor sit " * 6,
        "description": "word " * 50,
    }
    first, second = render.rows([long], Style(Terminal(60)), query="pump").splitlines()
    assert max(len(first), len(second)) <= 60
    assert " pump " in second
    assert (second[:5], second[-1]) == ("    …", "…")


def test_a_long_line_that_is_the_description_takes_its_place() -> None:
    text = "The skis are in the attic, behind the boxes with the winter coats, next to the radio."
    row = HIT | {"snippet": text, "description": text}
    assert render.rows([row], Style(Terminal(60)), query="radio").splitlines() == [
        "2026-03-05 · House · 01234567",
        "    …the boxes with the winter coats, next to the radio.",
    ]


def test_the_words_are_emphasised_where_colours_are_wanted() -> None:
    assert "The \x1b[1mpump\x1b[0m is broken" in render.rows([HIT], COLORS, query="pumps")
    assert "The pump is broken" in render.rows([HIT], PLAIN, query="pumps")


def test_weaker_rows_stand_apart_and_show_less() -> None:
    weak = HIT | {"title": "Filler", "weak": True}
    shown = render.rows([HIT, weak, HIT | {"title": "Good too"}], PLAIN, query="pump").splitlines()
    assert [text.split(" · ")[1] if " · " in text else text for text in shown] == [
        "House", f"    {HIT['snippet']}", "Good too", f"    {HIT['snippet']}", "weaker:", "Filler",
    ]  # fmt: skip
    assert (
        render.rows([weak], PLAIN, query="pump").splitlines()[0]
        == "nothing fits well; the nearest:"
    )


@pytest.mark.parametrize(
    ("change", "mark"),
    [
        ({"status": "pending"}, "[pending]"),
        ({"status": "superseded", "faded": True}, "[superseded, faded]"),
        ({"gone": True}, "[file gone]"),
        ({"status": "active", "faded": False, "gone": False}, ""),
    ],
)
def test_a_row_says_when_a_memory_is_not_in_full_force(
    change: dict[str, object], mark: str
) -> None:
    found = render.rows([ROW | change], PLAIN)
    assert found == " · ".join(filter(None, ("2026-03-05 · T · 01234567", mark, "What it says.")))


def test_hostile_titles_and_paths_are_neutralised() -> None:
    row = ROW | {
        "title": "T\u202ex\x1b[31m",
        "id": "a\u202e/b.md",
        "description": "d\u200be",
        "snippet": "s\x07",
    }
    shown = render.rows([row], PLAIN, query="x")
    assert not {"\u202e", "\x1b", "\u200b", "\x07"} & set(shown)


def entry(**changes: object) -> Any:
    return {
        "commit": "c" * 40,
        "op": "remember",
        "title": "Tea",
        "when": "2026-03-05T10:00:00Z",
        "actor": "user",
    } | changes


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({}, "remember: Tea  user"),
        ({"op": "", "title": "fix a typo", "actor": "", "author": "Pat"}, "fix a typo  Pat"),
        ({"op": "", "title": ""}, "(no message)  user"),
        ({"op": "", "title": "tidy", "removed": ["a.md"]}, "tidy  (took out a.md)  user"),
        ({"op": "forget", "reason": "old", "removed": ["a.md"]}, "forget: Tea  (old)  user"),
        ({"op": "restore", "title": "undo abc remember: Tea", "reason": "undo of abc", "undoes": "abc", "removed": ["a.md"]},
         "undo: abc remember: Tea  (took out a.md)  user"),
        ({"op": "restore", "title": "redo abc remember: Tea", "reason": "undo of def", "undoes": "def"}, "redo: abc remember: Tea  user"),
        ({"op": "edit", "title": "3 files", "removed": ["a.md", "b.md"]}, "edit: 3 files  (took "
                                                                          "out 2 files)  user"),
    ],
)  # fmt: skip
def test_a_commit_in_the_log(changes: dict[str, object], what: str) -> None:
    assert render.entries([entry(**changes)], PLAIN) == f"cccccccccc  2026-03-05 10:00  {what}"


def test_a_notice_comes_first_and_says_what_to_do() -> None:
    found = {
        "notice": {
            "path": "a.md",
            "reason": "it has conflict markers",
            "hint": "Correct it.",
            "shown": "the last good version",
        }
    }
    assert render.notice(found, PLAIN) == [
        "a.md: it has conflict markers.",
        "Below is the last good version.",
        "Correct it.",
    ]
    assert render.notice({"notice": None}, PLAIN) == []


def test_colours_only_where_they_are_wanted() -> None:
    assert "\x1b[" in render.rows([ROW], Style(Terminal(80, color=True)))
    assert "\x1b[" not in render.rows([ROW], Style(Terminal(80)))


def test_problems_say_what_to_do() -> None:
    found = [
        {
            "level": "error",
            "message": "bad",
            "hint": "do this",
            "fixable": False,
            "fixed": False,
            "path": "a.md",
        },
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
    assert (
        error_text(NotFound("what", kept="safe", hint="do"))
        == "oneiro: what\n  safe: safe\n  next: do\n"
    )


def test_gaps() -> None:
    assert (
        render.gaps({"degraded": "embedder warming", "behind": 2})
        == "keywords only: embedder warming\ncommits not indexed yet: 2"
    )
    assert render.gaps({"degraded": None, "behind": 0}) == ""
    brake = "25 of 30 files vanished at once"
    assert render.gaps({"degraded": brake, "notices": [brake]}) == ""
    assert (
        render.gaps({"degraded": f"{brake}; embedder warming", "notices": [brake]})
        == "keywords only: embedder warming"
    )


def test_what_utf8_cannot_say_is_escaped() -> None:
    assert terminal.encode("a\udce9") == b"a\\udce9"


def test_nothing_is_shown_without_a_terminal() -> None:
    waiting = terminal.Waiting("x")
    for _ in range(20):
        waiting()
    waiting.close()  # nothing was written: standard error is no terminal under pytest
    assert not waiting._shows


@pytest.mark.parametrize(
    ("value", "lines"),
    [
        (True, ["key: true"]),
        (None, ["key: none"]),
        ([], ["key: none"]),
        (["a", "b"], ["key: a, b"]),
        ([["a", "b"], ["c"]], ["key: a, b; c"]),
        ({"kind": "import", "names": ["x", "y"]}, ["key:", "  kind: import", "  names: x, y"]),
        (
            [{"a": 1, "b": [1, 2]}, {"c": None}, "d"],
            ["key:", "  a: 1; b: 1, 2", "  c: none", "  d"],
        ),
        ({"a": {"b": {"c": False}}}, ["key:", "  a: b c false"]),
        ({"a\n\x1b[31m": "b\nc"}, ["key:", "  a \ufffd[31m: b c"]),
    ],
)
def test_what_people_wrote_into_the_frontmatter_is_text(value: object, lines: list[str]) -> None:
    """No braces and no names of a programming language, and nothing in it begins a line of its
    own."""
    text = render.memory(SHOWN | {"meta": {"title": "T", "key": value}}, PLAIN).splitlines()
    assert text[2 : 2 + len(lines)] == lines
    assert text[2 + len(lines)] == "strength: 0.50"


def test_links_and_where_a_memory_came_from_are_text() -> None:
    other = {
        "id": "qqqq23456789",
        "path": "semantic/y.md",
        "title": "Other",
        "status": "superseded",
    }
    found = SHOWN | {
        "links": [other | {"relation": "derived_from"}],
        "backlinks": [other | {"relation": "mentions", "status": "active"}],
    }
    text = render.memory(found, PLAIN)
    assert (
        "links: derived from qqqq2345  Other  [superseded]\nbacklinks: mentions qqqq2345  Other\n"
        in text
    )
    story: Any = {
        "title": "T",
        "id": "a" * 12,
        "path": "x.md",
        "story": [],
        "lineage": [other],
        "uses": {},
    }
    assert render.story(story, PLAIN).splitlines()[2:] == [
        "not committed yet",
        "from qqqq2345  Other  [superseded]",
        "not used yet",
    ]
    assert not set("{}'") & set(text + render.story(story, PLAIN))
