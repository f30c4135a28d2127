"""What became of each memory between two moments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from oneiro_vault.errors import InvalidInput, NotFound
from tests.operations.past import life
from tests.vault.support import git

LISTS = ("new", "revised", "merged", "retired", "moved", "contradicted", "pending")


def names(found: dict[str, Any]) -> dict[str, list[str]]:
    return {kind: sorted(row["title"] for row in found[kind]) for kind in LISTS if found[kind]}


def test_every_kind_of_change_by_memory(root: Path) -> None:
    with life(root) as vault:
        kinds = ("revised", "merged", "gone", "ended", "moved", "doubted", "same")
        words = [{"text": f"The {name} is red.", "title": name} for name in kinds]
        blocks_ = [
            {"text": "Ana likes short answers.", "title": "Ana"},
            {"text": "Bo is away.", "title": "Bo"},
        ]
        *made, block, other = vault.several(
            *words, *({**one, "type": "orientation"} for one in blocks_)
        )
        ids = dict(zip(kinds, made, strict=True))
        vault.day = 10
        keeper, _ = vault.several(
            {"text": "The boat is blue.", "title": "boat"},
            {"text": "Maybe.", "title": "maybe", "status": "pending"},
        )
        vault("reframe", id=ids["revised"], text="The revised is blue.", reason="said so")
        vault.change(ids["merged"], "merge", "the same", status="superseded", superseded_by=keeper)
        vault("forget", id=ids["gone"])
        vault.change(ids["ended"], "revise", valid_until="2026-01-01")
        vault.change(ids["doubted"], "flag", flags=["contradiction"])
        vault.change(ids["same"], "revise", importance=0.9)
        vault("move", id=ids["moved"], path="elsewhere/moved.md")
        vault("reframe", id=block, text="Ana likes long answers.")
        vault("forget", id=other)
        vault.day = 20
        found = vault("diff", before="15 days ago")
        assert names(found) == {
            "new": ["boat"], "revised": ["revised"], "merged": ["merged"],
            "retired": ["ended", "gone"], "moved": ["moved"],
            "contradicted": ["doubted"], "pending": ["maybe"],
        }  # fmt: skip
        row = found["revised"][0]
        assert row["words"] == [
            ["same", "The revised is "],
            ["gone", "red"],
            ["new", "blue"],
            ["same", "."],
        ]
        assert (row["why"]["op"], row["why"]["reason"], row["why"]["actor"]) == (
            "reframe",
            "said so",
            "user",
        )
        assert found["merged"][0]["into"] == {"id": keeper, "title": "boat"}
        assert found["merged"][0]["why"]["judge"] == "offline"
        assert {row["title"]: row["fate"] for row in found["retired"]} == {
            "ended": "ended",
            "gone": "forgotten",
        }
        assert found["moved"][0]["path"] == "elsewhere/moved.md"
        assert found["moved"][0]["was"].startswith("semantic/")
        assert found["contradicted"][0]["doubts"] == ["contradiction"]
        blocks = found["orientation"]
        assert [block["text"] for block in blocks["before"]] != [
            block["text"] for block in blocks["after"]
        ]
        assert {row["title"]: (row["before"], row["after"]) for row in blocks["changes"]} == {
            "Ana": ("Ana likes short answers.", "Ana likes long answers."),
            "Bo": ("Bo is away.", ""),
        }  # fmt: skip
        assert (len(blocks["before"]), len(blocks["after"])) == (2, 1)
        assert found["kept"] == 1
        swapped = vault("diff", before="now", after="15 days ago")
        assert names(swapped) == names(found)
        assert swapped["from"]["commit"] == found["from"]["commit"]


def test_from_before_the_first_commit_all_is_new(root: Path) -> None:
    with life(root) as vault:
        vault.remember("One.", title="one")
        vault.day = 5
        found = vault("diff", before="1 year ago")
        assert (found["from"], names(found)) == (None, {"new": ["one"]})
        assert names(vault("diff", before="now", after="1 year ago")) == {"new": ["one"]}
        assert names(vault("diff", before="now")) == {}
        with pytest.raises(NotFound, match="begins on"):
            vault("diff", before="1 year ago", after="2 years ago")


@pytest.mark.parametrize("when", ["", "gibberish", "tomorrow", "since May", "--all"])
def test_a_moment_that_is_none(root: Path, when: str) -> None:
    with life(root) as vault:
        for params in ({"before": when}, {"before": "now", "after": when}):
            with pytest.raises(InvalidInput):
                vault("diff", **params)


def test_commits_and_branches_are_moments_too(root: Path) -> None:
    with life(root) as vault:
        vault.remember("One.", title="one")
        git(root, "branch", "side")
        vault.remember("Two.", title="two")
        assert names(vault("diff", before="HEAD~1", after="HEAD")) == {"new": ["two"]}
        assert names(vault("diff", before="side")) == {"new": ["two"]}
        assert vault("diff", before="HEAD~1")["commits"] == 1
