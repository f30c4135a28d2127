"""What a person does with plain git beside the tool: nothing that the tool keeps is in their way, and nothing of either is lost."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from oneiro_vault.app import App, clone_vault, init_vault
from tests.operations.test_syncing import SETTINGS, remember
from tests.sync.support import bare
from tests.vault.support import git


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[App, App]]:
    """Two copies in step, open, with an index, as they are at work."""
    remote = bare(tmp_path / "remote.git")
    init_vault(tmp_path / "one")
    git(tmp_path / "one", "remote", "add", "origin", str(remote))
    with App.open(tmp_path / "one", SETTINGS) as one:
        remember(one, "The boat is called Petrel.")
        one.call("sync")
        clone_vault(str(remote), tmp_path / "two", SETTINGS)
        with App.open(tmp_path / "two", SETTINGS) as two:
            yield one, two


@pytest.mark.parametrize("how", ["--rebase", "--no-rebase"])
def test_a_pull_by_hand_is_never_blocked_by_our_own_files(pair: tuple[App, App], how: str) -> None:
    """Events that wait for the next commit, indexes, sessions and logs: git sees none of them."""
    one, two = pair
    ident = remember(one, "Kim has the keys.")
    one.call("sync")
    mine = remember(two, "The mast is new.")
    two.call("recall", {"query": "what is the boat called"})
    two.house.vault.use(mine, "use")
    waiting = [event["n"] for event in two.house.vault.events()]
    assert list(two.house.vault.ledger.waiting())
    root = two.house.root
    assert git(root, "status", "--porcelain", "--untracked-files=all") == ""
    git(root, "pull", "-q", how, "--no-edit")
    assert two.call("show", {"id": ident})["body"].strip() == "Kim has the keys."
    assert set(waiting) <= {event["n"] for event in two.house.vault.events()}
    assert two.call("sync")["pushed"]
    assert [event["n"] for event in two.house.vault.ledger.waiting()] == []
    assert git(root, "status", "--porcelain", "--untracked-files=all") == ""
    one.call("sync")
    assert set(waiting) <= {event["n"] for event in one.house.vault.events()}
    assert one.call("show", {"id": mine})["body"].strip() == "The mast is new."


def test_a_pull_with_rebase_merges_what_both_changed(pair: tuple[App, App]) -> None:
    """Ledgers of the same month and one note: the driver that `clone` registered settles each step of the rebase."""
    one, two = pair
    ident = remember(one, "Kim has the keys.")
    for app in (one, two):
        app.call("sync")
    for app, old, new in ((one, "\nKim has the keys.", "\nKim has the keys.\n\nAnd the map."), (two, "\nKim", "\nKim or Ana")):
        note = app.house.root / app.call("show", {"id": ident})["path"]
        note.write_text(note.read_text().replace(old, new))
        app.house.vault.use(ident, "use")
        app.house.vault.commit_edits(quiet=0.0)
        app.house.vault.fold()
    noted = {event["n"] for app in pair for event in app.house.vault.events()}
    one.call("sync")
    git(two.house.root, "pull", "-q", "--rebase")
    found = two.call("show", {"id": ident})["body"]
    assert found.strip() == "Kim or Ana has the keys.\n\nAnd the map."
    assert noted <= {event["n"] for event in two.house.vault.events()}
    two.call("sync")
    one.call("sync")
    assert one.house.vault.repo.tip() == two.house.vault.repo.tip()
