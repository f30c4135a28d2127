"""blame, diff and the past in recall as a person reads them: short, with nothing of a note that
steers a terminal; and a curve: rows, width, and a sentence for each case."""

from __future__ import annotations

import math
from typing import Any

import pytest
from rich.cells import cell_len

from oneiro_vault.cli import render
from oneiro_vault.cli.commands import history
from oneiro_vault.cli.commands.history import ROWS, drawn
from oneiro_vault.cli.output import Style
from oneiro_vault.daemon.protocol import Terminal
from tests.box import Box
from tests.cli.commands.test_maintenance import at_a_terminal

OUT_OF_ORDER = "dates are out of order here"
STYLE = Style(Terminal())
POINT: Any = {
    "asked": "then",
    "until": "2026-10-19T00:00:00+00:00",
    "commit": "c" * 40,
    "when": "2026-10-13T11:26:57+00:00",
    "title": "remember: O\x1b[31m",
}
WHY = {
    "commit": "d" * 40,
    "when": "2026-10-13T11:26:57+00:00",
    "op": "merge",
    "actor": "dream",
    "reason": None,
    "run": "r",
    "judge": "offline",
}
LISTS: dict[str, Any] = {
    kind: [] for kind in ("new", "revised", "merged", "retired", "moved", "contradicted", "pending")
}
EMPTY = {"from": POINT, "to": POINT, **LISTS, "orientation": {"before": [], "after": [], "changes": []}, "kept": 0, "captures": 0, "runs": 0, "unreadable": []}  # fmt: skip


def row(**more: object) -> dict[str, Any]:
    return {
        "id": "abcdefghjkmn",
        "path": "a.md",
        "title": "Boat\x1b[2J",
        "type": "semantic",
        "why": WHY,
        **more,
    }


def shown(**found: Any) -> list[str]:
    text = history._changes({**EMPTY, **found}, STYLE)
    assert "\x1b" not in text
    return text.splitlines()


def test_nothing_changed() -> None:
    assert shown()[-1] == "nothing that is believed changed"
    assert shown(**{"from": None})[0] == "from before the first commit"
    assert shown()[0].startswith("from 2026-10-13 11:26 · cccccccccc · remember: O")


def test_each_kind_says_what_there_is_to_say() -> None:
    lines = shown(
        new=[row(says="It is\nblue.", id=None, why=None)],
        revised=[row(words=[["same", "one two three four five six seven eight nine ten eleven "
                                     "twelve thirteen "], ["gone", "red"], ["new", "blue"]])],
        merged=[row(said="It is red.", fate="superseded", into={"id": "z" * 12, "title": "Ship"})],
        retired=[row(said="It is old.", fate="forgotten", into=None)],
        moved=[row(was="b.md")],
        contradicted=[row(doubts=["conflict"], says="It is red.")],
        pending=[row(says="Maybe.")],
        orientation={"before": [], "after": [{}], "changes": [row(words=[["new", "All."]])]},
        kept=2, unreadable=["x.md"],
    )  # fmt: skip
    text = "\n".join(lines)
    assert "  Boat�[2J  a.md  by hand\n      It is blue." in text
    assert "      … eight nine ten eleven twelve thirteen [-red-] {+blue+}" in text
    assert "superseded, now Ship" in text
    assert "  Boat�[2J  abcdefgh  dddddddddd  merge (judged by offline)\n      It is red." in text
    assert "      forgotten" in text
    assert "      b.md -> a.md" in text
    assert "      conflict\n      It is red." in text
    assert "orientation, 0 blocks before, 1 after (1)" in text
    assert lines[-1] == "2 only in their frontmatter; not readable: x.md"


def test_a_long_list_ends() -> None:
    lines = shown(new=[row(says="x") for _ in range(history.SHOWN + 3)])
    assert lines[-1] == "  and 3 more (--json has all)"


def piece(**more: object) -> Any:
    none = dict.fromkeys(
        (
            "commit",
            "learned",
            "dated",
            "op",
            "actor",
            "author",
            "run",
            "loop",
            "judge",
            "reason",
            "source",
        )
    )
    return {"paragraph": 0, "text": "Words.", **none, **more}


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ({}, "not committed yet"),
        ({"commit": "c" * 40, "learned": "2026-10-13T1", "op": "edit", "actor": "user", "author": "Ada"}, "learned 2026-10-13  Ada, by hand"),
        ({"commit": "c" * 40, "learned": "2026-10-13T1", "author": "Ada"}, "learned 2026-10-13  "
                                                                           "Ada, by hand"),
        ({"commit": "c" * 40, "learned": "2026-10-13T1", "op": "remember", "actor": "user", "reason": "so"}, "a person (remember)  so"),
        (
            {"commit": "c" * 40, "learned": "2026-10-13T1", "dated": "2023-01-01T0", "op": "merge", "actor": "dream", "loop": "consolidate", "run": "r1", "judge": "offline", "source": "z" * 12},
            "cccccccccc  learned 2026-10-13, dated 2023-01-01  dream (consolidate), run r1, "
            "judged by offline  words of zzzzzzzz",
        ),
        ({"commit": "c" * 40, "learned": "2026-10-13T1", "dated": "2026-10-13T0", "op": "remember", "actor": "model"}, "learned 2026-10-13  model (remember)"),
    ],
)  # fmt: skip
def test_who_said_it_and_when(found: dict[str, Any], said: str) -> None:
    memory: Any = {
        "id": "a" * 12,
        "title": "Boat",
        "path": "a.md",
        "forgotten": False,
        "names": ["a.md", "b.md"],
        "notice": None,
    }
    sources: Any = [
        {"id": "z" * 12, "relation": "supersedes", "title": "Ship", "status": "superseded"}
    ]
    lines = history._blamed(
        memory | {"pieces": [piece(**found)], "sources": sources}, STYLE
    ).splitlines()
    assert lines[2] == "was b.md"
    assert lines[4].endswith(said)
    assert lines[5] == "    Words."
    assert lines[-1] == "replaced zzzzzzzz  Ship  [superseded]"
    gone = history._blamed(
        memory | {"forgotten": True, "names": [], "pieces": [], "sources": []}, STYLE
    )
    assert "forgotten; its last words" in gone


def test_rows_of_the_past_say_what_became_of_them_and_for_how_long_they_held() -> None:
    valid = {
        "from": "2020-01-01T00:00:00+00:00",
        "until": "2024-06-01T00:00:00+00:00",
        "stated": True,
    }
    one = {
        "id": "abcdefghjkmn",
        "title": "Ana",
        "created": "2026-01-01",
        "status": "superseded",
        "now": "revised",
        "valid": valid,
    }
    assert "[superseded, since revised, held 2020-01-01 to 2024-06-01]" in render.rows([one], STYLE)
    assert render.since({"now": "same", "valid": {**valid, "until": None}}) == [
        "holds since 2020-01-01"
    ]
    assert render.since({"valid": {"from": None, "until": None, "stated": False}}) == ["holds"]
    assert render.since({"valid": {**valid, "from": None}}) == ["held … to 2024-06-01"]


def test_an_answer_begins_with_its_moment_and_ends_with_what_it_left_out() -> None:
    found = {
        "as_of": POINT,
        "valid_at": {"asked": "last\x1b May", "from": None, "until": None, "undated": 2},
    }
    assert render.heading(found, STYLE) == [
        "as of 2026-10-13 11:26 · cccccccccc · remember: O�[31m",
        "what held: last� May",
    ]
    assert render.gaps(found | {"degraded": "3 of 9 passages"}) == (
        "incomplete: 3 of 9 passages\nleft out: 2 memories that were learned later, without a "
        "word since when that holds"
    )
    assert render.left_out({"valid_at": {"undated": 1}}).startswith(
        "left out: 1 memory that was learned later"
    )
    assert render.left_out({}) == ""


def test_dates_that_are_out_of_order_are_said() -> None:
    assert OUT_OF_ORDER not in render.point(POINT)
    assert OUT_OF_ORDER in render.point(POINT | {"disordered": True})


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


def test_influence_as_bars_and_as_a_chart(fresh: Box) -> None:
    box = fresh.init()
    assert box.ok("influence", "--plot").strip() == "there are no principles"
    assert "there are no principles" in box.ok("influence", "--svg", "chart.svg")
    ident = box.json("learn", "Ask before deleting.")["results"][0]["id"]
    box.ok("learn", "Sleep on it.")
    box.ok("useful", ident)
    box.ok("show", ident)
    said = box.ok("influence", "--plot").splitlines()
    assert said[0].startswith("Ask before deleting.")
    assert said[1].split() == ["looked", "at", "████", "1"]
    assert said[2].split() == ["called", "useful", "████", "1"]
    assert said[4].strip() == "nobody has looked at it yet"
    assert "a bar is a day, the highest is 1" in said[-1]
    assert "Ask before" not in box.ok("influence", box.remember("Red.")["id"], "--plot")
    chart = box.folder / "chart.svg"
    for _ in range(2):  # a chart of ours is drawn anew
        assert str(chart) in box.ok("influence", "--svg", str(chart))
        assert "Ask before deleting." in chart.read_text()
    assert box.ok("influence", "--svg", "-").startswith("<svg")
    chart.write_text("mine")
    for place in (chart, box.folder / "no" / "such.svg"):
        refused = box("influence", "--svg", str(place))
        assert refused.returncode in (2, 10)
        assert b"No file was changed." in refused.stderr
    assert chart.read_text() == "mine"
