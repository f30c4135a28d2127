"""Who said what in a memory, and since when."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from oneiro_vault.errors import NotFound
from tests.operations.past import life
from tests.vault.support import git


def pieces(found: dict[str, Any], *keys: str) -> list[tuple[object, ...]]:
    return [tuple(piece[key] for key in ("text", *keys)) for piece in found["pieces"]]


def test_each_paragraph_has_its_commit_its_maker_and_two_dates(root: Path) -> None:
    with life(root) as vault:
        ident = vault.remember(
            "Ana lives in Rome.\n\nShe has a dog.\nThe dog is called Rex.",
            title="Ana",
            created="2023-04-01",
        )
        vault.day = 10
        vault.change(
            ident, "revise", "heard twice", "\nIt barks.\n", timestamp="2024-02-03T00:00:00+00:00"
        )
        row = vault.app.house.indexing.resolve(ident)
        vault.day = 11
        (root / row.path).write_text((root / row.path).read_text().replace("Rome", "Milan"))
        vault.app.house.vault.edits.commit()
        git(root, "mv", row.path, "ana.md")
        git(root, "commit", "-qm", "moved")
        (root / "ana.md").write_text((root / "ana.md").read_text() + "\nNot saved yet.\n")
        found = vault("blame", id=ident[:6])
        assert pieces(found, "op", "actor", "run", "loop", "judge", "reason") == [
            ("Ana lives in Milan.", "edit", "user", None, None, None, None),
            ("She has a dog.\nThe dog is called Rex.", "remember", "user", None, None, None, None),
            ("It barks.", "revise", "dream", "r1", "consolidate", "offline", "heard twice"),
            ("Not saved yet.", None, None, None, None, None, None),
        ]
        dates = [str(piece["dated"])[:10] for piece in found["pieces"]]
        assert dates == ["None", "2023-04-01", "2024-02-03", "None"]
        learned = [piece["learned"] and piece["learned"][:10] for piece in found["pieces"]]
        assert learned[1] < learned[2] < learned[0]
        assert found["names"] == ["ana.md", row.path]
        assert [piece["paragraph"] for piece in found["pieces"]] == [0, 1, 2, 3]


def test_a_paragraph_is_of_the_last_who_changed_it(root: Path) -> None:
    with life(root) as vault:
        ident = vault.remember("Bo keeps bees.\nAnd sheep.", title="Bo")
        path = vault.app.house.indexing.resolve(ident).path
        vault.day = 10
        vault.change(ident, "revise", "counted", "And goats.\n")
        found = vault("blame", id=ident)
        assert pieces(found, "op")[-1] == ("Bo keeps bees.\nAnd sheep.\nAnd goats.", "revise")
        (root / path).write_text((root / path).read_text().replace("sheep", "hens"))
        assert vault("blame", id=ident)["pieces"][-1]["commit"] is None


def test_what_was_forgotten_is_told_by_its_last_words(root: Path) -> None:
    with life(root) as vault:
        ident = vault.remember("Bo keeps bees.", title="Bees")
        vault("forget", id=ident)
        found = vault("blame", id=ident)
        assert found["forgotten"]
        assert pieces(found, "op") == [("Bees", "remember"), ("Bo keeps bees.", "remember")]
        with pytest.raises(NotFound):
            vault("blame", id="zzzzzzzz")


def test_what_it_was_made_of_is_named(root: Path) -> None:
    with life(root) as vault:
        one, two, gone = (
            vault.remember(text)
            for text in ("The boat is red.", "The boat is fast.\n\nIt leaks.", "The boat is old.")
        )
        vault("forget", id=gone)
        keeper = vault.remember(
            "The boat is red.\n\nThe boat is\nfast.\n\nIt is Ana's.\n\nThe boat is old.",
            title="Boat", derived_from=[one, two, gone, "0" * 12], supersedes=[one],
        )  # fmt: skip
        found = vault("blame", id=keeper)
        assert pieces(found, "source")[1:] == [
            ("The boat is red.", one), ("The boat is\nfast.", two), ("It is Ana's.", None),
            ("The boat is old.", gone),
        ]  # fmt: skip
        assert [(one["relation"], one["status"]) for one in found["sources"]] == [
            ("derived_from", "active"), ("derived_from", "active"), ("derived_from", "forgotten"),
            ("derived_from", "unknown"),
            ("supersedes", "active"),
        ]  # fmt: skip


def test_a_note_that_cannot_be_read_now_is_told_as_it_last_was(root: Path) -> None:
    with life(root) as vault:
        ident = vault.remember("Bo keeps bees.", title="Bees")
        path = vault.app.house.indexing.resolve(ident).path
        (root / path).write_bytes(b"a\0b")
        found = vault("blame", id=ident)
        assert found["notice"]["path"] == path
        assert pieces(found, "op")[-1] == ("Bo keeps bees.", "remember")
        git(root, "add", "-A")
        git(root, "commit", "-qm", "broken")
        (root / path).write_text(f"---\nid: {ident}\ntitle: Bees\n---\nBo keeps bees. And sheep.\n")
        last = pieces(vault("blame", id=ident), "op")[-1]
        assert str(last[0]).endswith("And sheep.")


def test_a_note_without_an_id(root: Path) -> None:
    with life(root) as vault:
        (root / "plain.md").write_text("By hand.\n")
        git(root, "add", "-A")
        git(root, "commit", "-qm", "mine")
        handle = vault("list", type="note")["results"][0]["id"]
        found = vault("blame", id=handle)
        assert pieces(found, "author", "op")[-1] == ("By hand.", "Ada", None)
