"""What an owner does between requests: the index follows the disk, resting edits become commits,
vectors appear."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from oneiro_vault.app import App
from oneiro_vault.operations import background
from oneiro_vault.settings.definitions import Settings, Value
from tests.box import patient
from tests.operations.remember.test_write import git

QUICK: dict[str, Value] = {
    "embed.model": "hash",
    "disk.reserve": 0,
    "edits.quiet": 0.3,
    "watch.debounce": 0.05,
    "watch.reconcile": 1.0,
}


@pytest.fixture
def owner(root: Path) -> Iterator[App]:
    app = App.open(root, Settings(QUICK), owner=True)
    app.start()
    yield app
    app.close()


def until(condition: Callable[[], bool], seconds: float = 15.0) -> None:
    end = time.monotonic() + patient(seconds)
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)


def test_an_edit_is_indexed_and_then_committed_as_the_persons(root: Path, owner: App) -> None:
    note = root / "garden.md"
    note.write_text("# Garden\n\nThe quinces are ripe.\n")
    until(lambda: owner.house.index.by_path("garden.md") is not None)
    until(lambda: git(root, "log", "-1", "--format=%an: %s") == "Pat Person: edit: Garden\n")
    until(lambda: git(root, "status", "--porcelain") == "")
    note.unlink()
    until(lambda: owner.house.index.by_path("garden.md") is None)
    until(lambda: git(root, "ls-files", "garden.md") == "")


def test_a_note_that_is_moved_is_one_edit_and_never_served_twice(root: Path, owner: App) -> None:
    """From the root, which has a watch of its own, into a folder, which has another; the file keeps
    its old time."""
    ident = owner.call(
        "remember", {"items": [{"text": "The heron stands in the reeds.", "path": "heron.md"}]}
    )["results"][0]["id"]
    os.utime(root / "heron.md", (1e9, 1e9))
    (root / "birds").mkdir()
    until(lambda: not owner.busy())
    before = int(git(root, "rev-list", "--count", "HEAD"))
    (root / "heron.md").rename(root / "birds/grey heron.md")
    served: set[int] = set()

    def moved() -> bool:
        rows = owner.house.index.get(ident)
        served.add(len(rows))
        return [row.path for row in rows] == ["birds/grey heron.md"] and git(
            root, "status", "--porcelain"
        ) == ""

    until(moved)
    assert served <= {0, 1}
    assert int(git(root, "rev-list", "--count", "HEAD")) == before + 1
    shown = git(root, "show", "--no-renames", "--name-status", "--format=%an: %s")
    assert shown.split("\n")[0] == "Pat Person: edit: The heron stands in the reeds."
    assert sorted(shown.split("\n")[2:-1]) == ["A\tbirds/grey heron.md", "D\theron.md"]


def test_a_missed_event_is_made_good_by_the_comparison(root: Path, owner: App) -> None:
    until(lambda: not owner.busy())
    assert owner.house.indexing.watching
    owner._background._watcher.stop()  # type: ignore[union-attr]  # it is there: the test made it
    (root / "unseen.md").write_text("Nobody saw this being written.\n")
    until(lambda: owner.house.index.by_path("unseen.md") is not None)


def test_vectors_appear_by_themselves(owner: App) -> None:
    owner.call("remember", {"items": [{"text": "The ferry leaves at seven."}]})
    until(lambda: owner.house.index.pending()[0] == 0)
    assert owner.call("recall", {"query": "ferry"})["degraded"] is None


def test_a_big_change_is_indexed_beside_the_answers(
    root: Path, owner: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("oneiro_vault.operations.indexing.INLINE", 5)
    until(lambda: not owner.busy())
    for number in range(30):
        (root / f"n{number}.md").write_text(f"number {number} of many pelicans\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "many")
    found = owner.call("recall", {"query": "pelicans", "k": 50})
    assert found["behind"] >= 0
    until(lambda: len(owner.call("recall", {"query": "pelicans", "k": 50})["results"]) == 30)
    assert owner.call("status")["behind"] == 0


def test_uses_get_a_commit_of_their_own_after_a_day(
    root: Path, owner: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    ident = owner.call("remember", {"items": [{"text": "The ferry leaves at seven."}]})["results"][
        0
    ]["id"]
    owner.call("show", {"id": ident})
    monkeypatch.setattr(background, "LEDGER_LOOK", 0.0)
    assert owner.house.vault.ledger.waiting()
    assert not owner.house.vault.ledger.overdue(background.LEDGER_AFTER)
    monkeypatch.setattr(background, "LEDGER_AFTER", 0.0)
    until(lambda: git(root, "log", "-1", "--format=%s").startswith("ledger:"))
    until(lambda: git(root, "status", "--porcelain") == "")


def test_a_failing_step_does_not_end_the_owner(root: Path, owner: App) -> None:
    until(lambda: not owner.busy())
    git(root, "checkout", "-q", "--detach")
    (root / "fresh.md").write_text("written while the head is detached\n")
    until(lambda: owner.house.index.by_path("fresh.md") is not None)
    time.sleep(0.6)
    git(root, "checkout", "-q", "main")
    assert owner.call("recall", {"query": "detached"})["results"]


def test_fast_recall_answers_from_keywords_first(root: Path) -> None:
    with App.open(root, Settings(QUICK)) as app:
        app.call("remember", {"items": [{"text": "The ferry leaves at seven."}]})
        found = app.call("recall", {"query": "ferry", "fast": True})
        assert found["results"]
        assert found["degraded"] in ("embedder warming", None)
