"""adopt: notes and folders, what is passed over and why."""

from __future__ import annotations

from pathlib import Path

import pytest

from oneiro_vault.errors import NotFound
from tests.operations.conftest import Call, stored


@pytest.fixture
def notes(root: Path) -> Path:
    for name in ("a.md", "folder/b.md", "folder/deep/er/c.md", "folderish/d.md"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"Words of {name}.\n")
    (root / "folder/broken.md").write_bytes(b"\0")
    return root


def adopted(call: Call, *paths: str) -> list[str]:
    return [row["path"] for row in call("adopt", paths=list(paths))["adopted"]]


@pytest.mark.parametrize("folder", ["folder", "folder/", "./folder"])
def test_a_folder_means_everything_below_it(notes: Path, call: Call, folder: str) -> None:
    done = call("adopt", paths=[folder])
    assert [row["path"] for row in done["adopted"]] == ["folder/b.md", "folder/deep/er/c.md"]
    ((path, reason, code),) = [tuple(entry.values()) for entry in done["skipped"]]
    assert (path, code) == ("folder/broken.md", "unreadable")
    assert "NUL" in reason


def test_folders_and_notes_together_and_each_once(notes: Path, call: Call) -> None:
    assert adopted(call, "folder/b.md", "folder/deep", "a.md", "folder/deep/er") == [
        "a.md",
        "folder/b.md",
        "folder/deep/er/c.md",
    ]


@pytest.mark.parametrize("paths", [[], ["."], ["./"], ["a.md", "."]])
def test_everything(notes: Path, call: Call, paths: list[str]) -> None:
    assert adopted(call, *paths) == ["a.md", "folder/b.md", "folder/deep/er/c.md", "folderish/d.md"]
    assert adopted(call) == []


def test_the_good_ones_are_adopted_and_the_others_named(notes: Path, call: Call) -> None:
    ident = stored(call, "Has an id.")
    path = call("show", id=ident)["path"]
    done = call("adopt", paths=["a.md", "nowhere.md", "empty", path])
    assert [row["path"] for row in done["adopted"]] == ["a.md"]
    assert {entry["path"]: entry["code"] for entry in done["skipped"]} == {
        "nowhere.md": "missing",
        "empty": "missing",
        path: "known",
    }
    assert "already has the id" in done["skipped"][-1]["reason"]


@pytest.mark.parametrize("paths", [["nowhere.md"], ["../a.md"], ["/etc/passwd", "fold"]])
def test_nothing_at_all_is_an_error(notes: Path, call: Call, paths: list[str]) -> None:
    with pytest.raises(NotFound, match="there is no note at"):
        call("adopt", paths=paths)


def test_a_note_with_a_secret_is_passed_over_and_stops_no_other(root: Path, call: Call) -> None:
    (root / "keys.md").write_text("The token is ghp_" + "AbCdEf0123456789" * 2 + "abcd\n")
    (root / "good.md").write_text("Nothing special.\n")
    found = call("adopt")
    assert [one["path"] for one in found["adopted"]] == ["good.md"]
    assert found["skipped"] == [
        {"path": "keys.md", "reason": "it holds what looks like a GitHub token", "code": "secret"}
    ]


def test_a_template_is_adopted_only_by_name(root: Path, call: Call) -> None:
    """Each note that is made from it copies the id, and of notes with one id one is found."""
    (root / "Templates").mkdir()
    (root / "Templates/Daily.md").write_text("# {{date:YYYY-MM-DD}}\n\n- [ ] water the plants\n")
    (root / "Templates/Deep.md").write_text("# <% tp.file.title %>\n")
    (root / "a.md").write_text("Jinja writes {{ name }} so.\n")
    done = call("adopt", paths=["."])
    assert [row["path"] for row in done["adopted"]] == ["a.md"]
    assert {row["code"] for row in done["skipped"]} == {"template"}
    assert adopted(call, "Templates/Daily.md") == ["Templates/Daily.md"]
