"""What the pages call things, and the drawings."""

from __future__ import annotations

from typing import Any

import pytest

from oneiro_vault.web.views import wording
from oneiro_vault.web.views.memory import HEIGHT, WIDTH, curve

ENTRY: dict[str, Any] = {
    "op": "reframe", "actor": "user", "author": "Pat", "loop": "", "undoes": "", "reason": "",
    "commit": "abc",
}  # fmt: skip


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({}, "Reworded by you"),
        ({"actor": "model"}, "Reworded by the connected model"),
        ({"op": "remember", "actor": "capture"}, "Written from a conversation"),
        ({"op": "distil", "actor": "dream", "loop": "distil"}, "Distilled by a night (distil)"),
        ({"op": "import", "actor": "import:mem0"}, "Imported from mem0"),
        ({"op": "edit", "actor": ""}, "Edited by Pat, in an editor"),
        ({"op": "", "actor": ""}, "Changed with git by Pat, with git"),
        ({"op": "restore", "reason": "undo of abc"}, "Taken back by you"),
        ({"op": "unheard"}, "Unheard by you"),
    ],
)
def test_who_did_what(more: dict[str, str], told: str) -> None:
    entry = ENTRY | more
    assert f"{wording.did(entry)} {wording.who(entry)}" == told


@pytest.mark.parametrize(
    ("meta", "told"),
    [
        ({}, "You wrote it down yourself."),
        (
            {"source": "dream", "trust": "said"},
            "You said it in a conversation, and a night kept it.",
        ),
        ({"source": "dream", "trust": "model"}, "A night drew it from other memories."),
        ({"source": "model", "trust": "model"}, "A connected model noted it."),
        ({"source": "import:mem0", "trust": "external"}, "It was imported from mem0."),
        (
            {"source": "user", "trust": "external"},
            "It comes from outside, and nobody has confirmed it.",
        ),
        (
            {"source": "capture", "client": "codex"},
            "It is a conversation, kept as it was, through codex.",
        ),
    ],
)
def test_where_it_comes_from(meta: dict[str, str], told: str) -> None:
    assert wording.origin(meta) == told


def test_a_bar_is_as_long_as_the_score() -> None:
    why = {"parts": {"vector": 0.4, "words": 0.2, "strength": -0.1, "its date": 0.0001}}
    pieces = wording.bar(why, 1.0)
    assert [one.group for one in pieces] == ["meaning", "words"]
    assert sum(one.width for one in pieces) == pytest.approx(500, abs=2)
    assert [one.name for one in wording.parts(why)] == [
        "meaning",
        "words",
        "how much of it is left",
    ]
    assert wording.bar({}, 0.0) == []
    assert wording.bar({"parts": {"vector": -1.0}}, 1.0) == []


def test_only_a_little_of_what_stayed() -> None:
    long = "word " * 100
    brief = wording.in_brief([("same", long), ("gone", "x"), ("same", long)])
    assert brief[0][1].startswith("… ")
    assert brief[2][1].endswith(" …")
    assert all(len(text) < 120 for _, text in brief)
    assert wording.in_brief([("same", "short")]) == [("same", "short")]


def test_of_lists_only_what_differs() -> None:
    found = wording.key_changes(
        {"tags": ["a, b", "b, c"], "title": ["x", "y"], "core": ["", "True"]}
    )
    assert [(one.name, one.gone, one.new) for one in found] == [
        ("tags", ["a"], ["c"]),
        ("ratified", [], ["True"]),
    ]


def test_a_curve_stays_in_its_picture() -> None:
    points = [
        {"when": f"2026-10-{day:02d}T00:00:00+00:00", "strength": 1 - day / 20, "ahead": day > 5}
        for day in range(1, 11)
    ]
    found = curve(
        {"points": points, "threshold": 0.05, "strength": 0.75},
        ["2026-10-03", "2020-01-01", "<b>", ""],
    )
    pairs = [tuple(map(float, one.split(","))) for one in f"{found.past} {found.ahead}".split()]
    assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for x, y in pairs)
    assert len(found.uses) == 1
    assert found.past.split()[-1] == found.ahead.split()[0]
