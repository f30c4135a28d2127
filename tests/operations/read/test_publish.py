"""The rendering that a hook reads: it is there, it is what `orient` says, and its stamps tell when
it is not any more."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from oneiro_vault.app import App
from oneiro_vault.core.markdown.orientation import Block, delta, render, stamp
from oneiro_vault.settings.definitions import Settings
from tests.operations.conftest import QUICK, Call, stored
from tests.operations.read.test_orient import orientation
from tests.operations.remember.test_write import git
from tests.operations.test_background import until


def text(root: Path) -> str:
    return (root / ".oneiro" / "orientation.md").read_text()


def record(root: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((root / ".oneiro" / "orientation.json").read_text())
    return found


def fresh(root: Path) -> bool:
    """What a hook asks before it trusts the rendering."""
    known = record(root)
    place, folder = root.stat(), root / "orientation"

    def now(path: Path) -> tuple[int | None, int | None]:
        return (path.stat().st_size, path.stat().st_mtime_ns) if path.exists() else (None, None)

    return (
        known["root"] == [place.st_dev, place.st_ino]
        and known["folder"] == (folder.stat().st_mtime_ns if folder.exists() else None)
        and all((one["size"], one["mtime_ns"]) == now(root / one["path"]) for one in known["notes"])
        and known["stamp"] == stamp(text(root))
    )


def test_any_command_leaves_it(root: Path, call: Call) -> None:
    orientation(root, "team", "Four people build boats.", core="true")
    (root / "elsewhere.md").write_text("---\ntype: orientation\ntitle: Elsewhere\n---\nWords.\n")
    call("list")
    assert text(root) == call("orient")["text"]
    assert fresh(root)
    assert [one["path"] for one in record(root)["notes"]] == ["elsewhere.md", "orientation/team.md"]


def test_nothing_to_wake_into_is_published_too(root: Path, call: Call) -> None:
    call("list")
    assert text(root) == ""
    assert fresh(root)


@pytest.mark.parametrize("change", ["edit", "add", "delete", "rename", "sleep"])
def test_a_change_makes_it_stale_and_the_next_command_mends_it(
    root: Path, call: Call, change: str
) -> None:
    note = orientation(root, "team", "Four people build boats.")
    call("list")
    assert fresh(root)
    if change == "edit":
        note.write_text(note.read_text().replace("Four", "Five"))
    elif change == "add":
        orientation(root, "place", "The workshop is in the harbour.")
    elif change == "delete":
        note.unlink()
    elif change == "rename":
        note.rename(note.with_name("crew.md"))
    else:
        note.write_text(note.read_text().replace("title:", "status: dormant\ntitle:"))
    assert not fresh(root)
    call("list")
    assert fresh(root)
    assert text(root) == call("orient")["text"]
    assert ("Four people" in text(root)) == (change in ("add", "rename"))


def test_blocks_are_enough_to_render_and_to_compare(root: Path, call: Call) -> None:
    """A hook that resumes a session needs no note: the record holds every section."""
    orientation(root, "team", "Four people 🚀.", core="true", priority=2)
    orientation(root, "place", "The harbour.", created="2026-01-01T00:00:00Z")
    call("list")
    listed = record(root)["blocks"]
    blocks = [
        Block(
            *(
                one[name]
                for name in ("id", "path", "title", "text", "priority", "core", "timestamp", "when")
            )
        )
        for one in listed
    ]
    assert render(blocks).text == text(root)
    assert delta(blocks, listed) == ""
    assert "Four people" in delta(blocks, listed[1:])
    assert [one["stamp"] for one in listed] == [one.stamp for one in blocks]


def test_other_notes_touch_nothing(root: Path, call: Call) -> None:
    orientation(root, "team", "Four people.")
    call("list")
    before = (root / ".oneiro" / "orientation.json").stat().st_mtime_ns
    stored(call, "The boat is called Petrel.")
    call("list")
    assert (root / ".oneiro" / "orientation.json").stat().st_mtime_ns == before


def test_it_is_not_in_git_and_comes_back_when_deleted(root: Path) -> None:
    orientation(root, "team", "Four people.")
    with App.open(root, QUICK) as app:
        app.call("list")
    shutil.rmtree(root / ".oneiro")
    with App.open(root, QUICK) as app:
        app.call("list")
        assert "Four people." in text(root)
    assert ".oneiro/" in git(root, "status", "--porcelain", "--ignored")
    assert ".oneiro" not in git(root, "ls-files")


def test_indexes_elsewhere_make_no_difference(root: Path, tmp_path: Path) -> None:
    orientation(root, "team", "Four people.")
    with App.open(
        root,
        Settings({"embed.model": "hash", "disk.reserve": 0, "index.dir": str(tmp_path / "away")}),
    ) as app:
        app.call("list")
    assert "Four people." in text(root)


def test_a_folder_that_cannot_be_written_stops_no_command(root: Path, tmp_path: Path) -> None:
    orientation(root, "team", "Four people.")
    (root / ".oneiro").write_text("in the way")
    with App.open(
        root,
        Settings({"embed.model": "hash", "disk.reserve": 0, "index.dir": str(tmp_path / "away")}),
    ) as app:
        assert "Four people." in app.call("orient")["text"]
    assert (root / ".oneiro").read_text() == "in the way"


def test_a_note_that_cannot_be_read_is_published_as_it_was(root: Path, call: Call) -> None:
    note = orientation(root, "team", "Four people.", id="7k2m9x4q8w3n")
    call("list")
    call("reframe", id="7k2m9x4q8w3n", text="Five people.")
    note.write_bytes(b"---\ntitle: [unclosed\n---\nx\n")
    call("list")
    assert "Five people." in text(root)
    assert fresh(root)


def test_leftovers_are_not_left(root: Path, call: Call) -> None:
    for number in range(5):
        orientation(root, "team", f"{number} people.")
        call("list")
    assert sorted(path.name for path in (root / ".oneiro").glob("*orientation*")) == [
        "orientation.json",
        "orientation.md",
    ]
    assert not list((root / ".oneiro").glob(".orientation*"))


@pytest.fixture
def owner(root: Path) -> Iterator[App]:
    orientation(root, "team", "Four people.")
    app = App.open(root, QUICK.but(watch_debounce=0.05, watch_reconcile=60.0), owner=True)
    app.start()
    yield app
    app.close()


def test_an_owner_publishes_at_its_start_and_as_files_change(root: Path, owner: App) -> None:
    until(lambda: (root / ".oneiro" / "orientation.json").exists() and "Four people." in text(root))
    orientation(root, "place", "The harbour.")
    until(lambda: "The harbour." in text(root) and fresh(root))
    (root / "orientation" / "team.md").unlink()
    until(lambda: "Four people." not in text(root) and fresh(root))


def test_a_reader_never_sees_half_of_it(root: Path, call: Call) -> None:
    """Text and record are replaced one after the other; the stamp of the text says whether they
    belong together."""
    orientation(root, "team", "Four people.")
    call("list")
    (root / ".oneiro" / "orientation.md").write_text("torn")
    assert not fresh(root)
    time.sleep(0.01)
    orientation(root, "team", "Five people.")
    call("list")
    assert fresh(root)
