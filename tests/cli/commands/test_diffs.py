"""blame, diff and the past in recall as a person reads them: short, and with nothing of a note that
steers a terminal."""

from __future__ import annotations

from typing import Any

import pytest

from oneiro_vault.cli import render
from oneiro_vault.cli.commands import diffs
from oneiro_vault.cli.output import Style
from oneiro_vault.daemon.protocol import Terminal

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
    text = diffs._changes({**EMPTY, **found}, STYLE)
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
                                     "twelve thirteen"], ["gone", "red"], ["new", "blue"]])],
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
    lines = shown(new=[row(says="x") for _ in range(diffs.ROWS + 3)])
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
    lines = diffs._blamed(
        memory | {"pieces": [piece(**found)], "sources": sources}, STYLE
    ).splitlines()
    assert lines[2] == "was b.md"
    assert lines[4].endswith(said)
    assert lines[5] == "    Words."
    assert lines[-1] == "replaced zzzzzzzz  Ship  [superseded]"
    gone = diffs._blamed(
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
