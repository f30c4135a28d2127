"""A curve a person can read: rows, width, and a sentence for each case."""

from __future__ import annotations

import math
from typing import Any

import pytest
from rich.cells import cell_len

from oneiro_vault.cli.commands.story import ROWS, drawn
from oneiro_vault.cli.output import Style
from oneiro_vault.daemon.protocol import Terminal
from tests.box import Box
from tests.cli.commands.test_purge import at_a_terminal

FOUND: Any = {
    "id": "abcd12345678",
    "title": "The boat \x1b[31mis red",
    "type": "semantic",
    "strength": 0.3679,
    "stability": 30.0,
    "threshold": 0.05,
    "uses": {"days": 0, "last": None},
    "fades": "2027-01-30T00:00:00+00:00",
    "faded": False,
    "points": [
        {
            "when": f"2026-11-{1 + n:02}T00:00:00+00:00",
            "strength": math.exp(-n / 10),
            "ahead": n > 10,
        }
        for n in range(30)
    ],
}


@pytest.mark.parametrize("width", [0, 20, 26, 80])
def test_the_picture(width: int) -> None:
    lines = drawn(FOUND, Style(Terminal(width))).splitlines()
    picture = lines[3 : 3 + ROWS]
    assert picture[0].startswith("100%  █")
    assert picture[ROWS // 2].startswith(" 50%")
    assert picture[-1][6:7] == "█"
    longest = max(cell_len(row) for row in picture)
    assert longest <= (max(width, 26) if width else 36)
    heights = [
        sum(row[6 + at : 7 + at] not in ("", " ") for row in picture) for at in range(longest - 6)
    ]
    assert heights == sorted(heights, reverse=True)
    assert "2026-11-01 … 2026-11-30" in lines[3 + ROWS]


def test_what_is_said() -> None:
    text = drawn(FOUND, Style(Terminal()))
    assert "\x1b" not in text
    assert "37% is left; stability 30 days; not used yet." in text
    assert text.endswith("If nobody looks, it leaves passive recall on 2027-01-30 (below 5%).")
    used = FOUND | {"faded": True, "uses": {"days": 1, "last": "2026-11-02T10:00:00+00:00"}}
    assert "used on 1 day, last on 2026-11-02" in drawn(used, Style(Terminal()))
    assert "It left passive recall on 2027-01-30" in drawn(used, Style(Terminal()))
    assert drawn(FOUND | {"stability": None}, Style(Terminal())).endswith(
        "Memories of this type do not fade."
    )
    assert drawn(FOUND | {"fades": None}, Style(Terminal())).endswith("It does not fade.")
    assert "\x1b[32m" in drawn(FOUND, Style(Terminal(80, color=True)))


@pytest.mark.slow
def test_strength_and_ratify_as_typed(fresh: Box) -> None:
    box = fresh.init()
    ident = box.remember("The boat is called Petrel.")["id"]
    assert "100% is left; stability 30 days; not used yet." in box.ok("strength", ident)
    assert len(box.json("strength", ident, "--days", "10")["points"]) == 61
    assert box("strength", ident, "--days", "0").returncode == 2
    block = box.remember("Four people build boats.", "--type", "orientation")["id"]
    for options in ((), ("--undo",), ("--reason", "it holds")):
        done = box("ratify", block, *options)
        assert done.returncode == 2, "no program ratifies"
        assert b"only a person at a terminal ratifies" in done.stderr
    assert not box.json("show", block)["meta"].get("core")
    assert at_a_terminal(box, "ratify", ident, typed={})[0] == 2
    code, screen = at_a_terminal(box, "ratify", block, "--reason", "it holds", typed={})
    assert (code, "Ratified Four people build boats." in screen) == (0, True), screen
    assert "was core already" in at_a_terminal(box, "ratify", block, typed={})[1]
    assert box("ratify", block, "--undo").returncode == 2
    assert box.json("show", block)["meta"]["core"] is True
    assert "ordinary block again" in at_a_terminal(box, "ratify", block, "--undo", typed={})[1]
    assert '"core": true' in at_a_terminal(box, "--json", "ratify", block, typed={})[1]
    assert "There was no open question" in box.ok("flags", "--resolve", block)
